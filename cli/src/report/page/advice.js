// The page of an advice.
// SPDX-License-Identifier: MIT OR Apache-2.0

function stackCell(node) {
  const stack = stackOf(node);
  if (stack.length === 0) return ['unknown call site'];
  return stack.slice(0, 3).map((frame, index) => el('div', { class: index === 0 ? '' : 'where' },
    index === 0 ? '' : 'from ', el('span', { class: 'mono' }, labelOf(frame)), ' ', el('span', { class: 'where' }, placeOf(frame))));
}

function stackTable(caption, rows) {
  return plainTable(caption, [[caption], ['Bytes'], ['Objects']], rows, ({ node, bytes, count, note }) => el('tr', {},
    el('th', { scope: 'row' }, stackCell(node), note || null), el('td', {}, exact(bytes)), el('td', {}, exact(count))));
}

function scopeDetails(scope) {
  const spread = of => exact(of.median) + ' (median), ' + exact(of.p99) + ' (99 %), ' + exact(of.max) + ' (most)';
  const freed = node => el('div', { class: 'where' }, node === 0 ? 'never freed' : ['freed by ', el('span', { class: 'mono' }, siteOfNode(node))]);
  return [
    el('h3', {}, 'Calls to use'), el('pre', {}, scope.calls.join('\n')),
    factList([
      ...(scope.trial ? [['Saved, frees called', savedText(scope.trial.hooks)], ['Saved, without traversals', savedText(scope.trial.without_traversal)],
        ['Page faults saved', exact(Math.round(scope.trial.faults))], ['Objects in arenas', exact(scope.trial.routed)],
        ['Calls after which an object was alive', exact(scope.trial.left)]] : []),
      ...(scope.reason ? [['Limits', scope.reason]] : []), ['Calls that allocate', exact(scope.instances)],
      ['Freed within their call', exact(scope.captured)], ['Live longer', exact(scope.escaped)],
      ['Most live bytes, malloc', exact(scope.peak_malloc)], ['Most bytes of an arena', exact(scope.peak_arena)],
      ['Block size', exact(scope.block) + ' bytes']]),
    factList([['Objects of a call', spread(scope.objects)], ['Bytes of a call', spread(scope.bytes)]]),
    ...(scope.sites.length ? [el('h3', {}, 'Sites of these objects'), stackTable('Site', scope.sites)] : []),
    ...(scope.escapes.length ? [el('h3', {}, 'Objects that live longer'),
      stackTable('Allocated by', scope.escapes.map(escape => ({ ...escape, note: freed(escape.freed) })))] : []),
  ];
}

// Of the program's CPU time.
function share(value) {
  return (value < 0 ? '−' : '') + percent(Math.abs(value), data.advice.cpu.median);
}

// Fewer runs have none.
function interval(figure) {
  return figure.runs < 6 ? '' : share(figure.low) + ' to ' + share(figure.high);
}

function savedText(figure) {
  return [share(figure.median), interval(figure), counted(figure.runs, 'pair')].filter(Boolean).join(', ');
}

function figureCells(figure) {
  return figure ? [el('td', {}, share(figure.median)), el('td', {}, interval(figure))] : [el('td', {}, ''), el('td', {}, '')];
}

function siteOfNode(node) {
  return node === 0 ? 'unknown call site' : labelOf(nodes.frame[node]);
}

function scopeTable(advice) {
  const head = [['Function'], ['Use', 'words wide'], ['Saved'], ['Interval'], ['Calls', 'wide'], ['Live longer', 'wide']];
  return plainTable('Scopes', head, advice.scopes, scope => {
    const button = opener(el('span', { class: 'mono' }, labelOf(scope.function)), head.length, () => scopeDetails(scope));
    return el('tr', {}, el('th', { scope: 'row' }, button, el('div', { class: 'where' }, placeOf(scope.function)), el('div', { class: 'where narrow' }, scope.recipe)),
      el('td', { class: 'words wide' }, scope.recipe), ...figureCells(scope.trial && scope.trial.hooks),
      el('td', { class: 'wide' }, exact(scope.instances)), el('td', { class: 'wide' }, exact(scope.escaped)));
  });
}

function mallocTable(advice) {
  const head = [['Malloc'], ['Saved'], ['Interval'], ['Runs', 'wide'], ['Page faults saved', 'wide']];
  return plainTable('Mallocs', head, advice.mallocs, malloc => el('tr', {}, el('th', { scope: 'row', class: 'mono' }, malloc.name),
    ...figureCells(malloc.saving), el('td', { class: 'wide' }, exact(malloc.saving.runs)), el('td', { class: 'wide' }, exact(Math.round(malloc.faults)))));
}

function advicePage(main) {
  const { advice } = data, rows = rowsOf(report(0, 0), null);
  const card = (title, value, small) => el('div', {}, el('dt', {}, title), el('dd', {}, value, el('small', {}, small)));
  main.append(
    el('section', { class: 'verdict', 'aria-label': 'Verdict' }, el('strong', {}, advice.verdict), el('p', {}, advice.summary),
      el('p', { class: 'soft' }, 'Command: ', el('code', {}, advice.command.join(' '))), el('p', { class: 'soft' }, 'Process: ', el('code', {}, advice.process))),
    el('dl', { class: 'cards' },
      card('CPU time', seconds(advice.cpu.median), seconds(advice.cpu_recorded) + ' under the recorder'),
      card('Page faults', exact(Math.round(advice.faults)), counted(advice.cpu.runs, 'run')),
      card('Objects', exact(advice.objects), counted(advice.events, 'recorded call')),
      card('Allocated', size(advice.bytes), exact(advice.bytes) + ' bytes'),
      card('Peak', size(advice.peak), exact(advice.peak) + ' bytes live'),
      card('Threads', exact(advice.threads), 'that allocate')));
  if (advice.scopes.length) main.append(section('scopes', 'Scopes that an arena can serve', null, scopeTable(advice)));
  if (advice.mallocs.length) main.append(section('mallocs', 'Other mallocs', null, mallocTable(advice)));
  if (advice.at_peak.length) main.append(section('peak', 'Sites that hold the peak', null, stackTable('Site', advice.at_peak)));
  if (advice.temporary.length) {
    main.append(section('temporary', 'Temporary objects', null, el('p', { class: 'soft' }, percent(advice.temporary_objects, advice.objects),
      ' of the objects end before their thread allocates again.'), stackTable('Site', advice.temporary)));
  }
  if (rows.site.length) {
    const sitesView = new SitesView();
    main.append(...sitesView.sections);
    sitesView.show(rows);
  }
  const notes = [...advice.failures, ...advice.notes];
  if (notes.length) main.append(section('notes', 'Notes', null, el('ul', {}, notes.map(note => el('li', {}, note)))));
}
