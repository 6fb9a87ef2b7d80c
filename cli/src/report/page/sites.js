// The sites of one report as an icicle and a table, which share a search and a selection.
// SPDX-License-Identifier: MIT OR Apache-2.0

class SitesView {
  constructor() {
    this.icicle = new Icicle(node => {
      this.table.within = node;
      this.table.filter();
    });
    this.table = new SitesTable(row => this.icicle.reveal(row));
    this.input = el('input', {
      type: 'search', id: 'search', placeholder: 'Search ( / )', 'aria-label': 'Search in functions, files, modules and tags',
      'aria-keyshortcuts': '/', autocomplete: 'off', spellcheck: 'false',
      input: () => this.search(),
      keydown: event => {
        if (event.key === 'Escape' && this.input.value !== '') {
          event.preventDefault();
          this.input.value = '';
          this.search();
        } else if (event.key === 'Escape') {
          this.input.blur();
        }
      },
    });
    document.addEventListener('keydown', event => {
      const typing = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
      if (event.key === '/' && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
        event.preventDefault();
        this.input.focus();
        this.input.select();
      }
    });
    this.order = sites.tag.some(tag => strings[tag] !== '') ? 'tags' : 'callers';
    this.weight = 'bytes';
    this.tools = el('div', { class: 'tools' });
    this.sections = [
      section('icicle', 'Allocations by call site', this.tools, this.icicle.status, this.icicle.box),
      section('sites', 'Sites', el('div', { class: 'tools' }, el('label', { class: 'grow' }, this.input)), this.table.element),
    ];
    this.sections[1].tabIndex = -1;
  }

  show(rows) {
    this.rows = rows;
    const orders = [['callers', 'outermost call first'], ['newest', 'newest call first']];
    if (sites.tag.some(tag => strings[tag] !== '')) orders.unshift(['tags', 'tag, then outermost call']);
    const weights = rows.compared
      ? [['bytes', 'bytes after'], ['old', 'bytes before'], ['growth', 'growth'], ['shrinkage', 'shrinkage']]
      : [['bytes', 'bytes'], ['count', 'allocations']];
    if (!weights.some(([weight]) => weight === this.weight)) this.weight = 'bytes';
    const set = name => value => {
      this[name] = value;
      this.redraw();
    };
    this.tools.replaceChildren(
      choice('Levels', orders, this.order, set('order')), choice('Width', weights, this.weight, set('weight')));
    this.table.found = this.icicle.found = search(this.input.value);
    this.table.show(rows);
    this.redraw();
  }

  redraw() {
    this.icicle.show(this.rows, this.order, this.weight);
    if (this.table.within) {
      this.table.within = null;
      this.table.filter();
    }
  }

  search() {
    const found = search(this.input.value);
    this.icicle.highlight(found);
    this.table.found = found;
    this.table.filter();
  }
}
