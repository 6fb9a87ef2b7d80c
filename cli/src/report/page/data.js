// The data of the page, elements, and numbers. Every string of the input reaches the document as text, by append or
// setAttribute; nothing is parsed as HTML, and the page's policy refuses it.
// SPDX-License-Identifier: MIT OR Apache-2.0
'use strict';

const data = JSON.parse(document.getElementById('data').textContent);
const { strings, frames, nodes, sites } = data;

function el(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (typeof value === 'function') element.addEventListener(key, value);
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value === true ? '' : value);
  }
  element.append(...children.flat().filter(child => child !== null && child !== undefined && child !== false));
  return element;
}

function section(id, title, tools, ...children) {
  const name = id + '-title';
  const head = el('div', { class: 'head' }, el('h2', { id: name }, title), tools);
  return el('section', { id, 'aria-labelledby': name }, head, ...children);
}

function choice(label, options, value, change) {
  const select = el('select', { change: () => change(select.value) },
    options.map(([value, text]) => el('option', { value }, text)));
  select.value = value;
  return el('label', {}, label, select);
}

// Numbers above 2^53 are strings in the data, so that they are shown exactly. Sums are as exact as a double.
function exact(number) {
  return String(number).replace('-', '−').replace(/\B(?=(\d{3})+$)/g, ',');
}

function signed(number) {
  return (number > 0 ? '+' : number < 0 ? '−' : '') + exact(Math.abs(number));
}

function size(number) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
  let value = Number(number), unit = 0;
  while (Math.abs(value) >= 1023.95 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return (unit === 0 ? exact(value) : value.toFixed(1)) + ' ' + units[unit];
}

function signedSize(number) {
  return (number > 0 ? '+' : number < 0 ? '−' : '') + size(Math.abs(number));
}

function percent(part, whole) {
  if (!(whole > 0)) return '';
  const share = part / whole * 100;
  return part > 0 && share < 0.1 ? '<0.1 %' : part < whole && share > 99.9 ? '>99.9 %' : share.toFixed(1) + ' %';
}

function seconds(time) {
  const size = Math.abs(time);
  if (size >= 100) return time.toFixed(0) + ' s';
  if (size >= 1) return time.toPrecision(3) + ' s';
  if (size >= 0.1) return (time * 1e3).toFixed(0) + ' ms';
  if (size >= 1e-3) return (time * 1e3).toFixed(1) + ' ms';
  return size === 0 ? '0 s' : (time * 1e6).toFixed(1) + ' µs';
}

function counted(number, what) {
  return exact(number) + ' ' + what + (Number(number) === 1 ? '' : 's');
}

// The parts of a tag's path; from the 64th on they are one.
function tagParts(tag) {
  const parts = tag.split('/');
  return parts.length <= 64 ? parts : [...parts.slice(0, 63), parts.slice(63).join('/')];
}

// ---- call sites ----

const PLACE = 2, INLINED = 1; // values of frames.kind

function labelOf(frame) {
  return strings[frames.label[frame]];
}

function placeOf(frame) {
  return strings[frames.place[frame]];
}

// The frames of a stack, newest first.
function stackOf(node) {
  const stack = [];
  for (; node !== 0; node = nodes.parent[node]) stack.push(nodes.frame[node]);
  return stack;
}

function stackList(node) {
  const items = stackOf(node).map(frame => el('li', {}, el('span', { class: 'mono' }, labelOf(frame)), ' ',
    el('span', { class: 'where' }, [placeOf(frame), frames.kind[frame] === INLINED ? '(inlined)' : ''].join(' '))));
  return items.length ? el('ol', {}, items) : el('p', {}, 'unknown call site');
}

function siteOfNode(node) {
  return node === 0 ? 'unknown call site' : labelOf(nodes.frame[node]);
}

function siteLabel(site) {
  return siteOfNode(sites.node[site]);
}

// One report of one snapshot. Its data is parsed when it is first shown.
const parsed = new Map();
function report(moment, view) {
  const id = 'report-' + moment + '-' + view;
  if (!parsed.has(id)) {
    const block = document.getElementById(id);
    parsed.set(id, block === null ? null : JSON.parse(block.textContent));
  }
  return parsed.get(id);
}

// The sites of one report, or of two that are compared: columns with the same index.
function rowsOf(now, before) {
  const rows = { site: now.site, exactBytes: now.bytes, exactCount: now.count, compared: Boolean(before) };
  if (before) {
    const at = new Map(now.site.map((site, row) => [site, row]));
    const extra = before.site.filter(site => !at.has(site));
    rows.site = now.site.concat(extra);
    rows.exactBytes = now.bytes.concat(extra.map(() => 0));
    rows.exactCount = now.count.concat(extra.map(() => 0));
    extra.forEach((site, index) => at.set(site, now.site.length + index));
    rows.exactOldBytes = rows.site.map(() => 0);
    rows.oldCount = new Float64Array(rows.site.length);
    before.site.forEach((site, index) => {
      rows.exactOldBytes[at.get(site)] = before.bytes[index];
      rows.oldCount[at.get(site)] = Number(before.count[index]);
    });
    rows.oldBytes = Float64Array.from(rows.exactOldBytes, Number);
  }
  rows.bytes = Float64Array.from(rows.exactBytes, Number);
  rows.count = Float64Array.from(rows.exactCount, Number);
  return rows;
}

// ---- search ----

let lowercase = null;
// For each site, whether every word occurs in its tag or in its stack; null if there is no word.
function search(text) {
  const words = text.toLowerCase().split(/\s+/).filter(word => word !== '');
  if (words.length === 0) return null;
  lowercase = lowercase || strings.map(string => string.toLowerCase());
  const found = new Uint8Array(sites.node.length).fill(1);
  for (const word of words) {
    const inString = Uint8Array.from(lowercase, string => string.includes(word) ? 1 : 0);
    const inFrame = Uint8Array.from(frames.label, (label, frame) =>
      inString[label] | inString[frames.place[frame]] | inString[frames.module[frame]]);
    const inStack = new Uint8Array(nodes.parent.length);
    for (let node = 1; node < inStack.length; node++) inStack[node] = inStack[nodes.parent[node]] | inFrame[nodes.frame[node]];
    for (let site = 0; site < found.length; site++) found[site] &= inString[sites.tag[site]] | inStack[sites.node[site]];
  }
  return found;
}
