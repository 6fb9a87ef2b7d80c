// The numbers of a series: live and reserved bytes share an axis, allocated bytes have their own below.
// SPDX-License-Identifier: MIT OR Apache-2.0

function svg(name, attributes, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

const MARGIN = 74, PANEL = 110, GAP = 26;

class Timeline {
  // points: [{label, live, reserved, allocated, budget}]; move(index): called when another snapshot is chosen.
  constructor(move) {
    this.move = move;
    this.drawing = svg('svg', { 'aria-hidden': 'true' });
    this.element = el('div', {
      class: 'timeline', role: 'slider', tabindex: 0, 'aria-label': 'Snapshot', 'aria-valuemin': 1,
      keydown: event => this.key(event), pointerdown: event => this.point(event),
      pointermove: event => event.buttons === 1 && this.point(event),
    }, this.drawing);
    this.legend = el('div', { class: 'legend' });
    this.status = el('p', { class: 'status' });
    new ResizeObserver(() => this.points && this.element.clientWidth !== this.width && this.draw()).observe(this.element);
  }

  show(points, at) {
    this.points = points;
    this.at = at;
    this.element.setAttribute('aria-valuemax', points.length);
    const names = ['live', 'reserved', 'allocated'].concat(points.some(point => point.budget !== null) ? ['budget'] : []);
    this.legend.replaceChildren(...names.map(name => el('span', {},
      svg('svg', { 'aria-hidden': 'true' }, svg('line', { class: name, x1: 0, x2: 26, y1: 4, y2: 4 })), name)));
    this.draw();
  }

  x(index) {
    return MARGIN + (this.points.length < 2 ? 0 : index / (this.points.length - 1) * (this.width - MARGIN - 12));
  }

  draw() {
    this.width = this.element.clientWidth;
    if (this.width === 0) return;
    const height = 2 * PANEL + GAP + 28;
    this.drawing.setAttribute('viewBox', '0 0 ' + this.width + ' ' + height);
    this.drawing.setAttribute('height', height);
    const most = names => Math.max(1, ...names.map(name => this.points.reduce((most, point) => Math.max(most, point[name] || 0), 0)));
    const top = most(['live', 'reserved']);
    // A budget far above what is used would flatten the lines: it is drawn if it fits into twice the height.
    const budget = most(['budget']), scale = budget <= 2 * top ? Math.max(top, budget) : top;
    this.drawing.replaceChildren(
      ...this.panel(8, scale, budget <= 2 * top ? ['reserved', 'live', 'budget'] : ['reserved', 'live']),
      ...this.panel(8 + PANEL + GAP, most(['allocated']), ['allocated']),
      svg('text', { x: this.x(0), y: height - 6 }, this.points[0].label),
      svg('text', { x: this.width - 12, y: height - 6, 'text-anchor': 'end' }, this.points.at(-1).label));
    this.cursor = svg('line', { class: 'now', y1: 8, y2: 8 + 2 * PANEL + GAP });
    this.drawing.append(this.cursor);
    this.mark();
  }

  panel(y, most, names) {
    const parts = [];
    for (const share of [0, 0.5, 1]) {
      const at = y + PANEL - share * PANEL;
      parts.push(svg('line', { class: 'grid', x1: MARGIN, x2: this.width - 12, y1: at, y2: at }),
        svg('text', { x: MARGIN - 6, y: at + 4, 'text-anchor': 'end' }, size(most * share)));
    }
    for (const name of names) {
      for (const line of this.line(name, value => y + PANEL - value / most * PANEL)) {
        parts.push(svg('polyline', { class: name, points: line.join(' ') }));
      }
    }
    return parts;
  }

  // A point without a value ends a line.
  line(name, y) {
    const lines = [[]];
    this.points.forEach((point, index) => {
      if (point[name] !== null) lines.at(-1).push(this.x(index).toFixed(1) + ',' + y(point[name]).toFixed(1));
      else if (lines.at(-1).length) lines.push([]);
    });
    return lines;
  }

  mark() {
    const point = this.points[this.at];
    this.cursor.setAttribute('x1', this.x(this.at));
    this.cursor.setAttribute('x2', this.x(this.at));
    this.element.setAttribute('aria-valuenow', this.at + 1);
    const number = name => point[name] === null ? '' : ', ' + name + ' ' + size(point[name]);
    this.status.textContent = point.label + number('live') + number('reserved') + number('allocated');
    this.element.setAttribute('aria-valuetext', this.status.textContent);
  }

  go(index) {
    const at = Math.min(Math.max(index, 0), this.points.length - 1);
    if (at === this.at) return;
    this.at = at;
    this.mark();
    this.move(at);
  }

  point(event) {
    const x = event.clientX - this.element.getBoundingClientRect().left;
    this.go(Math.round((x - MARGIN) / (this.width - MARGIN - 12) * (this.points.length - 1)));
  }

  key(event) {
    const page = Math.max(1, Math.round(this.points.length / 10));
    const to = { ArrowLeft: this.at - 1, ArrowDown: this.at - 1, ArrowRight: this.at + 1, ArrowUp: this.at + 1,
      PageDown: this.at - page, PageUp: this.at + page, Home: 0, End: this.points.length - 1 }[event.key];
    if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.go(to);
  }
}
