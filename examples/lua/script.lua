-- The memory use of a typical program in Lua: documents read and dropped, words counted, trees and closures made.
-- It gets the texts of some documents in JSON and some in English, and a function to call when a part is done; it
-- returns its results as one string that does not depend on addresses.
-- SPDX-License-Identifier: MIT OR Apache-2.0
local documents, texts, part = ...
local found = {}
local function say(format, ...) found[#found + 1] = format:format(...) end

-- A reader of JSON: tables and strings, many short-lived.
local escapes = { b = "\b", f = "\f", n = "\n", r = "\r", t = "\t", ['"'] = '"', ["\\"] = "\\", ["/"] = "/" }
local function read_string(s, at)
  local stop = s:find('["\\]', at)
  if s:byte(stop) == 34 then return s:sub(at, stop - 1), stop + 1 end
  local pieces = {}
  while s:byte(stop) == 92 do
    pieces[#pieces + 1] = s:sub(at, stop - 1)
    local letter = s:sub(stop + 1, stop + 1)
    if letter == "u" then
      pieces[#pieces + 1] = utf8.char(tonumber(s:sub(stop + 2, stop + 5), 16))
      at = stop + 6
    else
      pieces[#pieces + 1] = escapes[letter]
      at = stop + 2
    end
    stop = s:find('["\\]', at)
  end
  pieces[#pieces + 1] = s:sub(at, stop - 1)
  return table.concat(pieces), stop + 1
end

local read
local function read_members(s, at, close, one)
  local into = {}
  at = s:find("%S", at)
  if s:byte(at) == close then return into, at + 1 end
  repeat
    at = one(s, at, into)
    at = s:find("%S", at)
    local more = s:byte(at) == 44
    at = at + 1
  until not more
  return into, at
end

local function read_member(s, at, into)
  local key, value
  at = s:find('"', at, true) + 1
  key, at = read_string(s, at)
  at = s:find(":", at, true) + 1
  value, at = read(s, at)
  into[key] = value
  return at
end

local function read_element(s, at, into)
  local value
  value, at = read(s, at)
  into[#into + 1] = value
  return at
end

function read(s, at)
  at = s:find("%S", at)
  local first = s:byte(at)
  if first == 123 then return read_members(s, at + 1, 125, read_member) end
  if first == 91 then return read_members(s, at + 1, 93, read_element) end
  if first == 34 then return read_string(s, at + 1) end
  local from, to, word = s:find("^([%w%.%-+]+)", at)
  return tonumber(word) or word == "true", to + 1
end

local function write(value, into)
  if type(value) == "table" then
    local keys = {}
    for key in pairs(value) do keys[#keys + 1] = key end
    table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
    into[#into + 1] = "{"
    for _, key in ipairs(keys) do
      into[#into + 1] = key .. "="
      write(value[key], into)
    end
    into[#into + 1] = "}"
  else
    into[#into + 1] = tostring(value) .. ";"
  end
end

for name, text in ipairs(documents) do
  local tree = read(text, 1)
  local pieces = {}
  write(tree, pieces)
  local all = table.concat(pieces)
  say("document %d: %d pieces, %d bytes, %s", name, #pieces, #all, all:sub(-40))
end
part()

-- Words of texts: counted, paired, sorted, joined.
local counts, pairs_of = {}, {}
for _, text in ipairs(texts) do
  local before = ""
  for word in text:gmatch("%a+") do
    word = word:lower()
    counts[word] = (counts[word] or 0) + 1
    local two = before .. " " .. word
    pairs_of[two] = (pairs_of[two] or 0) + 1
    before = word
  end
end
local function most(of, n)
  local list = {}
  for word, count in pairs(of) do list[#list + 1] = { word = word, count = count } end
  table.sort(list, function(a, b)
    if a.count ~= b.count then return a.count > b.count end
    return a.word < b.word
  end)
  for i = 1, n do say("%s: %d", list[i].word, list[i].count) end
end
most(counts, 100)
most(pairs_of, 100)
local long = {}
for _, text in ipairs(texts) do
  long[#long + 1] = text:gsub("(%a+)(%s+)(%a+)", "%3%2%1"):gsub("%l%l%l+", string.upper)
end
say("texts: %d bytes", #table.concat(long, "\n"))
counts, pairs_of, long = nil, nil, nil
part()

-- Trees that are built and dropped while one lives.
local function tree(depth)
  if depth == 0 then return {} end
  return { left = tree(depth - 1), right = tree(depth - 1) }
end
local function nodes(t) return t.left and 1 + nodes(t.left) + nodes(t.right) or 1 end
local lasting = tree(13)
for depth = 4, 12, 2 do
  local sum = 0
  for _ = 1, 1 << (14 - depth) do sum = sum + nodes(tree(depth)) end
  say("trees of depth %d: %d nodes", depth, sum)
end
say("the tree that lasts: %d nodes", nodes(lasting))
part()

-- Objects with methods, closures with state, coroutines, arrays that grow.
local Account = {}
Account.__index = Account
function Account.new(owner)
  local self = setmetatable({ owner = owner, log = {} }, Account)
  local balance = 0
  function self.add(amount) -- keeps `balance` and `self`
    balance = balance + amount
    self.log[#self.log + 1] = owner .. ":" .. amount
    return balance
  end
  return self
end
local total, lines = 0, 0
for round = 1, 20 do
  local accounts = {}
  for i = 1, 500 do accounts[i] = Account.new("owner " .. i) end
  for i = 1, 5000 do total = total + accounts[i * 7 % 500 + 1].add(i % 13) end
  for _, account in ipairs(accounts) do lines = lines + #account.log end
end
local function each(list)
  return coroutine.wrap(function() for _, v in ipairs(list) do coroutine.yield(v) end end)
end
local sum = 0
for i = 1, 2000 do
  for v in each({ i, i + 1, i + 2 }) do sum = sum + v end
end
local queue = {}
for i = 1, 100000 do queue[i] = i end
for i = 1, 100000, 3 do queue[i] = nil end
local matrix = {}
for i = 1, 300 do
  matrix[i] = {}
  for j = 1, 300 do matrix[i][j] = i * j % 7 + 0.5 end
end
local trace = 0
for i = 1, 300 do trace = trace + matrix[i][i] end
say("accounts: %d, %d lines; coroutines: %d; arrays: %d, %.1f", total, lines, sum, #matrix, trace)
part()

return table.concat(found, "\n")
