// The icicle: rectangles whose widths are bytes or allocations, callers above the calls that they make, under their tags.
// Only what is at least three pixels wide becomes an element, and levels are computed when they become visible, so that
// 100,000 sites cost little. Each rectangle is an item of a tree with a name, which the flame graphs of other libraries
// (inferno, d3-flame-graph) lack, as they lack the aggregation of what is too small to see.
// SPDX-License-Identifier: MIT OR Apache-2.0

const NARROW = 3, MOST = 4000;

class Icicle {
  // selected(rows or null): called with the rows of the rectangle that is zoomed into.
  constructor(selected) {
    this.selected = selected;
    this.box = el('div', { class: 'icicle', role: 'tree', 'aria-label': 'Allocations by tag and call site',
      keydown: event => this.key(event) });
    this.status = el('p', { class: 'status' });
    this.elements = new Map();
    const find = event => this.items.get(event.target.closest('[role=treeitem]'));
    this.box.addEventListener('click', event => find(event) && this.zoom(find(event).node));
    this.box.addEventListener('pointerover', event => this.describe((find(event) || this.itemOf(this.current)).node));
    this.box.addEventListener('focusin', event => find(event) && this.focus(find(event), false));
    this.width = 0;
    new ResizeObserver(() => {
      if (this.rows && this.box.clientWidth !== this.width) this.draw();
    }).observe(this.box);
  }

  // order: 'tags', 'callers' or 'newest'; weight: 'bytes', 'count', 'old', 'growth' or 'shrinkage'.
  show(rows, order, weight) {
    this.rows = rows;
    this.weight = weight;
    this.paths = pathsOf(order);
    const { bytes, count, oldBytes } = rows;
    this.weights = {
      bytes: () => bytes,
      count: () => count,
      old: () => oldBytes,
      growth: () => bytes.map((now, row) => Math.max(0, now - oldBytes[row])),
      shrinkage: () => bytes.map((now, row) => Math.max(0, oldBytes[row] - now)),
    }[weight]();
    const all = Uint32Array.from(rows.site.keys());
    this.root = this.node(null, { label: 'all', hue: 210, kind: 'all' }, 0, all);
    this.zoomed = this.current = this.root;
    this.draw();
  }

  highlight(found) {
    this.found = found;
    if (this.rows) this.draw();
  }

  node(parent, key, depth, rows) {
    let value = 0;
    for (const row of rows) value += this.weights[row];
    return { parent, key, depth, rows, value, children: null };
  }

  // The nodes below a node, the largest first; computed once.
  childrenOf(node) {
    if (node.children !== null) return node.children;
    const { start, keys } = this.paths, groups = new Map();
    for (const row of node.rows) {
      const at = start[this.rows.site[row]] + node.depth;
      if (at >= start[this.rows.site[row] + 1] || this.weights[row] === 0) continue;
      const group = groups.get(keys[at]);
      if (group === undefined) groups.set(keys[at], [row]);
      else group.push(row);
    }
    node.children = Array.from(groups, ([key, rows]) => this.node(node, pathKeys[key], node.depth + 1, rows));
    node.children.sort((a, b) => b.value - a.value);
    return node.children;
  }

  // Those that are too narrow, as one rectangle, which can be zoomed into like the others.
  rest(parent, children) {
    const rows = [];
    let value = 0;
    for (const child of children) {
      for (const row of child.rows) rows.push(row);
      value += child.value;
    }
    return { parent, key: { label: exact(children.length) + ' smaller', kind: 'rest' }, depth: parent.depth, rows, value, children };
  }

  // The children of a node as rectangles in so many pixels.
  shownOf(node, width) {
    const children = this.childrenOf(node), narrow = NARROW / width * node.value;
    const first = children.findIndex(child => child.value < narrow);
    if (first < 0 || first + 1 === children.length) return children;
    const shown = children.slice(0, first), others = children.slice(first);
    // Where nothing is wide enough, a further zoom must lead on.
    const part = first === 0 && node === this.zoomed ? Math.ceil(others.length / 16) : others.length;
    for (let at = 0; at < others.length; at += part) shown.push(this.rest(node, others.slice(at, at + part)));
    return shown;
  }

  layout() {
    const above = [];
    for (let node = this.zoomed.parent; node !== null; node = node.parent) above.unshift(node);
    const items = [];
    for (const node of above.concat(this.zoomed)) {
      items.push({ node, x: 0, width: this.width, level: items.length, above: node !== this.zoomed, up: items.at(-1) || null });
    }
    for (let next = above.length; next < items.length && items.length < MOST; next++) {
      const { node, width, level } = items[next];
      if (node.key.kind === 'rest' && node !== this.zoomed) continue;
      let x = items[next].x;
      for (const child of this.shownOf(node, width)) {
        const share = child.value / node.value * width;
        if (share >= 1) items.push({ node: child, x, width: share, level: level + 1, up: items[next] });
        x += share;
      }
    }
    return items;
  }

  draw() {
    this.width = this.box.clientWidth;
    if (this.width === 0) return;
    const held = this.box.contains(document.activeElement);
    if (this.root.value === 0) {
      this.items = new Map();
      this.box.replaceChildren(el('p', { class: 'empty' }, 'Nothing to show with this width.'));
      this.box.style.height = '';
      this.status.textContent = '';
      return;
    }
    const items = this.layout();
    // The current rectangle may have become part of another one.
    let current = null;
    for (let node = this.current; node !== null && !current; node = node.parent) current = items.find(item => item.node === node);
    current = current || items.find(item => item.node === this.zoomed);
    this.items = new Map();
    const siblings = new Map();
    for (const item of items) {
      const list = siblings.get(item.up) || [];
      siblings.set(item.up, list);
      list.push(item);
    }
    const height = window.matchMedia('(max-width: 44rem)').matches ? 28 : 22;
    let levels = 0;
    for (const item of items) {
      const { node, level } = item, list = siblings.get(item.up);
      const element = el('div', {
        role: 'treeitem', tabindex: item === current ? 0 : -1, 'aria-level': level + 1, 'aria-label': this.describeText(node),
        'aria-setsize': list.length, 'aria-posinset': list.indexOf(item) + 1, 'aria-selected': String(node === this.zoomed),
        class: this.classOf(item),
      }, item.width > 28 ? node.key.label : '');
      element.style.left = item.x / this.width * 100 + '%'; // a printed page has another width
      element.style.width = item.width / this.width * 100 + '%';
      element.style.top = level * height + 'px';
      if (node.key.kind !== 'rest') this.color(element, node);
      item.element = element;
      this.items.set(element, item);
      levels = Math.max(levels, level + 1);
    }
    const inner = el('div', { role: 'none' }, items.map(item => item.element));
    inner.style.height = levels * height + 'px';
    this.box.replaceChildren(inner);
    this.current = current.node;
    this.describe(this.current);
    if (held) current.element.focus({ preventScroll: true });
  }

  classOf({ node, width, above }) {
    const found = this.found && !node.rows.some(row => this.found[this.rows.site[row]]);
    const kind = node.key.kind === 'rest' ? 'rest' : '';
    return [kind, above ? 'above' : '', width <= 28 ? 'thin' : '', found ? 'dim' : ''].filter(Boolean).join(' ');
  }

  color(element, node) {
    if (!this.rows.compared) {
      element.style.setProperty('--hue', node.key.hue);
      return;
    }
    // Red has grown, blue has shrunk: the more, the stronger. The name contains the numbers as well.
    const { now, before } = this.sums(node), most = Math.max(now, before);
    const change = most === 0 ? 0 : (now - before) / most;
    element.style.setProperty('--hue', change > 0 ? 8 : 215);
    element.style.setProperty('--tint', change === 0 ? '0%' : 30 + Math.abs(change) * 50 + '%');
  }

  sums(node) {
    const sums = { now: 0, before: 0, count: 0 };
    for (const row of node.rows) {
      sums.now += this.rows.bytes[row];
      sums.count += this.rows.count[row];
      if (this.rows.compared) sums.before += this.rows.oldBytes[row];
    }
    return sums;
  }

  describeText(node) {
    const { now, before, count } = this.sums(node);
    const change = this.rows.compared ? ', ' + signedSize(now - before) + ' (' + exact(before) + ' bytes before)' : '';
    return node.key.label + ': ' + exact(now) + ' bytes' + change + ', ' + counted(count, 'allocation') + ', ' +
      percent(node.value, this.root.value) + ' of all';
  }

  describe(node) {
    this.status.textContent = this.describeText(node);
  }

  itemOf(node) {
    for (const item of this.items.values()) if (item.node === node) return item;
    return null;
  }

  focus(item, move = true) {
    for (const other of this.items.values()) other.element.tabIndex = -1;
    item.element.tabIndex = 0;
    this.current = item.node;
    this.describe(item.node);
    if (move) item.element.focus();
  }

  zoom(node) {
    this.zoomed = this.current = node;
    this.draw();
    this.box.scrollTop = 0;
    this.selected(node === this.root ? null : node);
  }

  // Zooms to the rectangle of one row.
  reveal(row) {
    const { start, keys } = this.paths, site = this.rows.site[row];
    let node = this.root;
    for (let at = start[site]; at < start[site + 1]; at++) {
      const child = this.childrenOf(node).find(child => child.key === pathKeys[keys[at]]);
      if (child === undefined) break;
      node = child;
    }
    this.zoom(node);
    this.box.scrollIntoView({ block: 'nearest' });
    this.itemOf(node).element.focus();
  }

  key(event) {
    const item = this.items.get(document.activeElement);
    if (!item || event.ctrlKey || event.metaKey || event.altKey) return;
    const row = level => Array.from(this.items.values()).filter(other => other.level === level);
    const beside = step => row(item.level)[row(item.level).indexOf(item) + step];
    const moves = {
      ArrowLeft: () => beside(-1),
      ArrowRight: () => beside(1),
      ArrowUp: () => item.up,
      ArrowDown: () => row(item.level + 1).find(other => other.up === item),
      Home: () => this.itemOf(this.root),
    };
    if (event.key in moves) {
      const next = moves[event.key]();
      if (next) this.focus(next);
    } else if (event.key === 'Enter' || event.key === ' ') {
      this.zoom(item.node);
    } else if ((event.key === 'Escape' || event.key === 'Backspace') && this.zoomed !== this.root) {
      const from = this.zoomed;
      this.zoom(from.parent);
      if (this.itemOf(from)) this.focus(this.itemOf(from));
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}

// ---- the path of each site through the icicle ----

const pathKeys = [], pathNumbers = new Map(), pathsByOrder = new Map();

function pathKey(kind, label, group) {
  const name = kind + '\n' + label;
  if (!pathNumbers.has(name)) {
    let hash = 7;
    for (let index = 0; index < group.length; index++) hash = (hash * 31 + group.charCodeAt(index)) >>> 0;
    pathNumbers.set(name, pathKeys.length);
    // Twelve hues, so that neighbours differ visibly.
    pathKeys.push({ kind, label, hue: hash % 12 * 30 });
  }
  return pathNumbers.get(name);
}

// The keys of all sites' paths in one array; start[site] is where those of a site begin.
function pathsOf(order) {
  if (pathsByOrder.has(order)) return pathsByOrder.get(order);
  const count = frames.label.length;
  const inner = new Int32Array(count).fill(-1), leaf = new Int32Array(count).fill(-1), file = new Int32Array(count).fill(-1);
  const group = frame => strings[frames.file[frame]] || strings[frames.module[frame]] || labelOf(frame);
  const make = (table, frame, label, kind) => {
    if (table[frame] < 0) table[frame] = pathKey(kind, label, kind === 'file' ? label : group(frame));
    return table[frame];
  };
  const tagPaths = new Map(), keys = [], start = new Uint32Array(sites.node.length + 1);
  const tagged = order === 'tags' && sites.tag.some(tag => strings[tag] !== '');
  const tagPath = tag => {
    if (!tagPaths.has(tag)) {
      const parts = strings[tag] === '' ? ['(no tag)'] : tagParts(strings[tag]);
      tagPaths.set(tag, parts.map((part, index) => pathKey('tag' + index, part, parts[0])));
    }
    return tagPaths.get(tag);
  };
  for (let site = 0; site < sites.node.length; site++) {
    start[site] = keys.length;
    if (tagged) keys.push(...tagPath(sites.tag[site]));
    const begin = keys.length;
    let newest = true;
    for (let node = sites.node[site]; node !== 0; node = nodes.parent[node]) {
      const frame = nodes.frame[node], place = placeOf(frame);
      keys.push(newest ? make(leaf, frame, labelOf(frame) + (place === '' ? '' : ' (' + place + ')'), 'leaf')
        : make(inner, frame, labelOf(frame), 'call'));
      if (newest && frames.kind[frame] === PLACE && strings[frames.file[frame]] !== '') {
        keys.push(make(file, frame, strings[frames.file[frame]], 'file'));
      }
      newest = false;
    }
    if (order !== 'newest') {
      for (let a = begin, b = keys.length - 1; a < b; a++, b--) [keys[a], keys[b]] = [keys[b], keys[a]];
    }
  }
  start[sites.node.length] = keys.length;
  const paths = { start, keys: Int32Array.from(keys) };
  pathsByOrder.set(order, paths);
  return paths;
}
