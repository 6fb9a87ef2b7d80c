# The tree of a real XML document, in a pool of Toft's and of nodes on Julia's heap: how long it takes to build, what
# garbage that makes, and how long a full collection takes while the tree is alive.
#
# SPDX-License-Identifier: MIT OR Apache-2.0

using Toft

# ---- the document ----

"The place behind the next `mark`, from place `i` on."
function behind(s, i, mark)
    matched = 0
    for place in i:length(s)
        matched = s[place] == mark[matched+1] ? matched + 1 : s[place] == mark[1] ? 1 : 0
        matched == length(mark) && return place + 1
    end
    error("the document ends within its markup")
end

function has_more_than_space(s, from, to)
    for i in from:to
        s[i] > 0x20 && return true
    end
    false
end

"""
Calls `open(first, last)` for the name of each element that begins, `text(first, last)` for each text that is not white
space, and `close()` for each element that ends. Comments, declarations and attributes are passed over: it walks along
the markup of a document that is well-formed, and validates nothing.
"""
function walk_markup(open::O, text::T, close::C, s::Vector{UInt8}) where {O,T,C}
    i = 1
    while i <= length(s)
        lt = something(findnext(isequal(UInt8('<')), s, i), length(s) + 1)
        has_more_than_space(s, i, lt - 1) && text(i, lt - 1)
        lt >= length(s) && break
        mark = s[lt+1]
        if mark == UInt8('!')
            i = s[lt+2] == UInt8('-') ? behind(s, lt + 4, b"-->") :
                s[lt+2] == UInt8('D') ? behind(s, lt, b"]>") : behind(s, lt, b">")
            continue
        end
        i = behind(s, lt, b">")
        if mark == UInt8('/')
            close()
        elseif mark != UInt8('?')
            stop = lt + 1
            while s[stop+1] > 0x20 && s[stop+1] != UInt8('>') && s[stop+1] != UInt8('/')
                stop += 1
            end
            open(lt + 1, stop)
            s[i-2] == UInt8('/') && close()
        end
    end
end

# ---- in a pool: links are indices of 32 bits, and the collector has nothing to follow ----

struct Element
    first::Int32 # of the name, or of the text
    last::Int32
    is_text::Bool
    parent::Int32
    child::Int32 # the last one that came; 0: none
    before::Int32 # the sibling before it
end

function build!(pool, s)
    isempty(pool) || emptyend!(pool)
    top = Int32(allocateend!(pool, Element(1, 0, false, 0, 0, 0)))
    here = Ref(top)
    function add(from, to, is_text)
        parent = here[]
        i = Int32(allocateend!(pool, Element(from, to, is_text, parent, 0, pool[parent, :child])))
        pool[parent, :child] = i
        i
    end
    walk_markup((from, to) -> (here[] = add(from, to, false)), (from, to) -> add(from, to, true),
                () -> (here[] = pool[here[], :parent]), s)
    top
end

function hash_of(pool, i::Int32, s, depth)
    e = pool[i]
    h = mix(UInt64(depth), s, e.first, e.last, e.is_text)
    child = e.child
    while child != 0
        h += hash_of(pool, child, s, depth + 1)
        child = pool[child, :before]
    end
    h
end

# ---- on the heap ----

mutable struct Node
    first::Int32
    last::Int32
    is_text::Bool
    parent::Union{Node,Nothing}
    child::Union{Node,Nothing}
    before::Union{Node,Nothing}
end

function build_nodes(s)
    top = Node(1, 0, false, nothing, nothing, nothing)
    here = Ref(top)
    function add(from, to, is_text)
        parent = here[]
        parent.child = Node(from, to, is_text, parent, nothing, parent.child)
    end
    walk_markup((from, to) -> (here[] = add(from, to, false)), (from, to) -> add(from, to, true),
                () -> (here[] = here[].parent::Node), s)
    top
end

function hash_of(e::Node, s, depth)
    h = mix(UInt64(depth), s, e.first, e.last, e.is_text)
    child = e.child
    while child !== nothing
        h += hash_of(child, s, depth + 1)
        child = child.before
    end
    h
end

function mix(h::UInt64, s, from, to, is_text)
    h = (h << 1 | is_text) * 0x9e3779b97f4a7c15
    for i in from:to
        h = (h ⊻ s[i]) * 0x00000100000001b3
    end
    h
end

# ---- beside each other ----

"Milliseconds of the fastest round; megabytes that a round makes; milliseconds of full collections after it."
function measure(build, rounds = 9)
    kept = build()
    times = [1e3 * @elapsed(kept = build()) for _ in 1:rounds]
    bytes = @allocated (kept = build())
    minimum(times), bytes / 1e6, collections(rounds), kept
end

collections(rounds = 9) = sort([1e3 * @elapsed(GC.gc()) for _ in 1:rounds])

function main(file)
    text = read(file)
    s = repeat(text, 8) # the same document eight times: a database of some size
    idle = collections()
    pool = Allocator{Element,Int32}(nothing)
    toft = measure(() -> build!(pool, s))
    sums = hash_of(pool, toft[4], s, 0)
    count = length(pool) - 1
    heap = measure(() -> build_nodes(s))
    hash_of(heap[4], s, 0) == sums || error("the trees differ")
    # The least times are compared. Half of the times differ from the least one by at most this much.
    noise = maximum(t -> t[(length(t) + 1) ÷ 2] - t[1], (idle, toft[3], heap[3]))
    megabytes = round(length(s) / 1e6, digits = 1)
    println("$megabytes MB of XML, $count elements and texts; both trees are the same (hash ",
            string(sums, base = 16), ").")
    println(rpad("", 28), lpad("built in", 12), lpad("garbage", 12), lpad("a full collection while it is alive", 38))
    more(gc) = gc[1] - idle[1] > noise ? "$(round(gc[1] - idle[1], digits = 1)) ms more than without a tree" :
               "as without a tree, to $(round(noise, digits = 1)) ms"
    for (name, (ms, mb, gc)) in ("a pool (Toft)" => toft, "nodes on the heap (Julia)" => heap)
        println(rpad(name, 28), lpad("$(round(ms, digits = 1)) ms", 12), lpad("$(round(mb, digits = 1)) MB", 12),
                lpad(more(gc), 38))
    end
    println("In short: an XML tree of $count nodes in Julia: $(round(toft[2], digits = 1)) MB of garbage in a pool, ",
            "$(round(heap[2], digits = 1)) on the heap", heap[3][1] - toft[3][1] > noise ?
            "; a collection takes $(round(heap[3][1] - toft[3][1], digits = 1)) ms less with the pool" :
            "; the times of collections differ by less than they vary in this run")
end

main(ARGS[1])
