// Tables: sites (searched, sorted, in pages of 100 rows) and the tree of tags.
// SPDX-License-Identifier: MIT OR Apache-2.0

const PAGE = 100;

// The value of a cell with what it is of its whole.
function useBar(live, budget, text) {
  const share = budget > 0 ? live / budget : live > 0 ? 1 : 0;
  const bar = el('i', {}), over = live > budget;
  bar.style.width = Math.min(share, 1) * 100 + '%';
  return el('span', { class: over ? 'use over' : 'use', role: 'meter', 'aria-valuemin': 0, 'aria-valuemax': budget,
    'aria-valuenow': live, 'aria-valuetext': text, 'aria-label': 'use of the budget' }, bar, el('span', {}, text));
}

function changeCell(change, tag = 'td') {
  return el(tag, { class: change > 0 ? 'grew' : change < 0 ? 'shrank' : '' }, signed(change));
}

// A button that opens a row of details below its own row; `fill` makes them when they are first needed.
function opener(label, columns, fill) {
  const button = el('button', {
    class: 'opener', type: 'button', 'aria-expanded': 'false',
    click: () => toggle(button.getAttribute('aria-expanded') !== 'true'),
    keydown: event => event.key === 'Escape' && button.getAttribute('aria-expanded') === 'true' && (event.stopPropagation(), toggle(false)),
  }, label);
  function toggle(open) {
    const row = button.closest('tr');
    button.setAttribute('aria-expanded', String(open));
    row.classList.toggle('open', open);
    if (open) row.after(el('tr', { class: 'open' }, el('td', { class: 'details', colspan: columns }, fill())));
    else row.nextElementSibling.remove();
  }
  return button;
}

class SitesTable {
  // reveal(row): shows a row in the icicle.
  constructor(reveal) {
    this.reveal = reveal;
    this.body = el('tbody');
    this.headers = el('tr');
    this.pages = el('nav', { class: 'pages', 'aria-label': 'Pages of the table of sites' });
    this.status = el('p', { class: 'status', role: 'status' });
    this.element = el('div', {}, this.status,
      el('div', { class: 'scroll' }, el('table', { id: 'sites-table' }, el('caption', { class: 'sr' }, 'Call sites'), el('thead', {}, this.headers), this.body)),
      this.pages);
  }

  show(rows) {
    this.rows = rows;
    const tagged = rows.site.some(site => strings[sites.tag[site]] !== '');
    const number = (title, value, shown, cell) => ({ title, value, cell: cell || (row => el('td', {}, exact(shown[row]))), descending: true });
    const label = row => siteLabel(rows.site[row]);
    this.columns = [{ title: 'Site', value: label, text: true }];
    if (tagged) this.columns.push({ title: 'Tag', value: row => strings[sites.tag[rows.site[row]]], text: true, class: 'words wide',
      cell: row => el('td', { class: 'words wide' }, strings[sites.tag[rows.site[row]]]) });
    const mean = row => rows.count[row] ? rows.bytes[row] / rows.count[row] : 0, change = row => rows.bytes[row] - rows.oldBytes[row];
    const wide = (title, value, shown) => ({ ...number(title, value, null, row => el('td', { class: 'wide' }, shown(row))), class: 'wide' });
    this.columns.push(...(rows.compared
      ? [wide('Before', row => rows.oldBytes[row], row => exact(rows.exactOldBytes[row])),
        number('After', row => rows.bytes[row], rows.exactBytes), number('Change', change, null, row => changeCell(change(row)))]
      : [number('Bytes', row => rows.bytes[row], rows.exactBytes), number('Count', row => rows.count[row], rows.exactCount),
        wide('Mean', mean, row => rows.count[row] ? exact(Math.round(mean(row))) : '')]));
    this.total = rows.bytes.reduce((sum, bytes) => sum + bytes, 0);
    this.within = null;
    this.sorted = null;
    // The rows of one report arrive by bytes, those of a comparison are sorted by change.
    const by = this.columns.findIndex(column => column.title === (rows.compared ? 'Change' : 'Bytes'));
    this.sort(by, true, !rows.compared);
  }

  sort(by, descending, ready = false) {
    this.by = by;
    this.descending = descending;
    const { value, text, title } = this.columns[by], order = Uint32Array.from(this.rows.site.keys());
    if (!ready) {
      const keys = Array.from(order, row => title === 'Change' ? Math.abs(value(row)) : value(row));
      const compare = text ? (a, b) => keys[a] < keys[b] ? -1 : keys[a] > keys[b] ? 1 : a - b : (a, b) => keys[a] - keys[b] || b - a;
      order.sort(descending ? (a, b) => compare(b, a) : compare);
    }
    this.order = order;
    this.headers.replaceChildren(...this.columns.map((column, index) => el('th', {
      scope: 'col', class: column.class || (column.text ? 'words' : ''),
      'aria-sort': index === by ? (descending ? 'descending' : 'ascending') : 'none',
    }, el('button', { type: 'button', click: () => {
      this.sort(index, index === by ? !this.descending : Boolean(column.descending));
      this.headers.children[index].firstChild.focus();
    } }, column.title))));
    this.filter();
  }

  // found: of the search; within: the node of the icicle that is zoomed into.
  filter() {
    const { found, within } = this;
    let shown = this.order;
    if (within) {
      const inside = new Uint8Array(this.rows.site.length);
      for (const row of within.rows) inside[row] = 1;
      shown = shown.filter(row => inside[row]);
    }
    if (found) shown = shown.filter(row => found[this.rows.site[row]]);
    this.shown = shown;
    let bytes = 0;
    for (const row of shown) bytes += this.rows.bytes[row];
    const whole = shown.length === this.rows.site.length;
    this.status.textContent = counted(shown.length, 'site') + ', ' + exact(bytes) + ' bytes' +
      (whole ? '' : ' (' + [percent(bytes, this.total), 'of ' + counted(this.rows.site.length, 'site')].filter(Boolean).join(' ') + ')') +
      (within ? ', within ' + within.key.label : '') + (found ? ', found by the search' : '');
    this.page(0);
  }

  page(number) {
    const last = Math.max(0, Math.ceil(this.shown.length / PAGE) - 1), at = Math.min(Math.max(number, 0), last);
    const rows = this.shown.slice(at * PAGE, (at + 1) * PAGE);
    this.body.replaceChildren(...Array.from(rows, row => this.row(row)));
    if (rows.length === 0) this.body.append(el('tr', {}, el('td', { class: 'empty', colspan: this.columns.length }, 'No sites.')));
    const go = (label, page, able) => el('button', { type: 'button', disabled: !able, click: () => {
      this.page(page);
      const same = Array.from(this.pages.querySelectorAll('button')).find(button => button.textContent === label && !button.disabled);
      (same || this.pages.querySelector('button:not(:disabled)')).focus();
    } }, label);
    this.pages.hidden = last === 0;
    this.pages.replaceChildren(go('First', 0, at > 0), go('Previous', at - 1, at > 0),
      el('span', {}, 'Page ' + exact(at + 1) + ' of ' + exact(last + 1)), go('Next', at + 1, at < last), go('Last', last, at < last));
  }

  row(row) {
    const site = this.rows.site[row], node = sites.node[site], tag = strings[sites.tag[site]];
    const place = node === 0 ? '' : placeOf(nodes.frame[node]);
    const button = opener(el('span', { class: 'mono' }, siteLabel(site)), this.columns.length, () => this.details(row));
    // On a narrow screen the tag has no column.
    const first = el('th', { scope: 'row' }, button, place === '' ? null : el('div', { class: 'where' }, place),
      tag === '' ? null : el('div', { class: 'where narrow' }, tag));
    return el('tr', {}, first, this.columns.slice(1).map(column => column.cell(row)));
  }

  details(row) {
    const site = this.rows.site[row], tag = strings[sites.tag[site]], facts = [
      ['Bytes', exact(this.rows.exactBytes[row])], ['Allocations', exact(this.rows.exactCount[row])],
      ['Share of all bytes', percent(this.rows.bytes[row], this.total)], ['Tag', tag === '' ? 'none' : tag]];
    if (this.rows.compared) facts.unshift(['Bytes before', exact(this.rows.exactOldBytes[row])], ['Allocations before', exact(this.rows.oldCount[row])]);
    return [factList(facts), el('h3', {}, 'Calls, newest first'), stackList(sites.node[site]),
      el('p', {}, el('button', { type: 'button', click: () => this.reveal(row) }, 'Show in the icicle'))];
  }
}

function factList(facts) {
  return el('dl', { class: 'facts' }, facts.map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value))));
}

// A table of which the first 500 rows are made, and more when they are wanted. `make` makes the row of a line.
function plainTable(caption, head, lines, make) {
  const body = el('tbody');
  const more = el('button', { type: 'button', click: () => add() });
  const pages = el('div', { class: 'pages' }, more);
  let made = 0;
  function add() {
    const next = lines.slice(made, made + 500);
    body.append(...next.map(make));
    made += next.length;
    pages.hidden = made === lines.length;
    more.textContent = exact(lines.length - made) + ' more';
  }
  add();
  const columns = head.map(([title, kind]) => el('th', { scope: 'col', class: kind || '' }, title));
  return el('div', {}, el('div', { class: 'scroll' }, el('table', {}, el('caption', { class: 'sr' }, caption),
    el('thead', {}, el('tr', {}, columns)), body)), pages);
}

// ---- tags ----

// The tags of one report, or of two, as lines of a tree: {depth, name, now, before}.
function tagLines(now, before) {
  const root = { children: new Map(), weight: 0 };
  const add = (tags, which) => {
    for (const { name, number, live, allocated, budget } of tags || []) {
      const parts = name === '' ? [number ? '#' + number : '(no tag)'] : tagParts(name);
      let node = root;
      const path = [];
      for (const part of parts) {
        if (!node.children.has(part)) node.children.set(part, { name: part, children: new Map(), weight: 0 });
        node = node.children.get(part);
        path.push(node);
      }
      if (name !== '' && number) node.number = number;
      node[which] = { live, allocated, budget };
      for (const part of path) part.weight += Math.max(Number(live), Number(allocated));
    }
  };
  add(now, 'now');
  add(before, 'before');
  const lines = [];
  const walk = (node, depth) => {
    for (const child of Array.from(node.children.values()).sort((a, b) => b.weight - a.weight)) {
      lines.push({ depth, name: child.name + (child.number ? ' #' + child.number : ''), now: child.now, before: child.before });
      walk(child, depth + 1);
    }
  };
  walk(root, 0);
  return lines;
}

function budgetCell(of) {
  if (!of || of.budget === null) return el('td', {}, '');
  const live = Number(of.live), budget = Number(of.budget);
  const text = live > budget ? 'exceeded' : percent(live, budget) || '100.0 %';
  return el('td', { class: live > budget ? 'exceeded' : '' }, useBar(live, budget, text));
}

function tagTable(now, before) {
  const compared = Boolean(before), none = { live: 0, allocated: 0 };
  const head = compared
    ? [['Tag'], ['Live before', 'wide'], ['Live'], ['Change'], ['Allocated', 'wide'], ['Change', 'wide']]
    : [['Tag'], ['Live'], ['Allocated', 'wide'], ['Budget'], ['Use']];
  return plainTable('Tags', head, tagLines(now, before), line => {
    const name = el('th', { scope: 'row', class: 'mono' }, line.name);
    name.style.paddingLeft = 0.6 + line.depth * 1.2 + 'rem';
    const own = line.now || none, old = line.before || none, blank = !line.now && !line.before;
    const number = (value, wide) => el('td', { class: wide ? 'wide' : '' }, blank ? '' : exact(value));
    const change = (a, b, wide) => {
      const cell = changeCell(Number(a) - Number(b));
      if (wide) cell.classList.add('wide');
      return blank ? el('td', { class: wide ? 'wide' : '' }) : cell;
    };
    return el('tr', {}, name, compared
      ? [number(old.live, true), number(own.live), change(own.live, old.live), number(own.allocated, true), change(own.allocated, old.allocated, true)]
      : [number(own.live), number(own.allocated, true), el('td', {}, line.now && line.now.budget !== null ? exact(line.now.budget) : ''), budgetCell(line.now)]);
  });
}

function phaseTable(now, before) {
  const compared = Boolean(before), old = new Map((before || []).map(phase => [phase.name, phase])), names = new Set(now.map(phase => phase.name));
  const head = compared ? [['Phase'], ['Entries', 'wide'], ['Allocated before'], ['Allocated'], ['Change']]
    : [['Phase'], ['Entries'], ['Allocated'], ['Kept']];
  const gone = (before || []).filter(phase => !names.has(phase.name)).map(phase => ({ name: phase.name, entries: 0, allocated: 0, kept: 0 }));
  return plainTable('Phases', head, now.concat(gone), ({ name, entries, allocated, kept }) => {
    const was = old.has(name) ? old.get(name).allocated : 0;
    return el('tr', {}, el('th', { scope: 'row', class: 'mono' }, name), el('td', { class: compared ? 'wide' : '' }, exact(entries)), compared
      ? [el('td', {}, exact(was)), el('td', {}, exact(allocated)), changeCell(Number(allocated) - Number(was))]
      : [el('td', {}, exact(allocated)), el('td', {}, exact(kept))]);
  });
}
