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
  const spread = of => exact(of[0]) + ' (median), ' + exact(of[1]) + ' (99 %), ' + exact(of[2]) + ' (most)';
  const freed = node => el('div', { class: 'where' }, node === null ? 'never freed' : ['freed by ', el('span', { class: 'mono' }, siteOfNode(node))]);
  return [
    el('h3', {}, 'Calls to use'), el('pre', {}, scope.calls.join('\n')),
    factList([
      ['Saved, repeated', seconds(scope.saving)], ['Saved, first round', seconds(scope.savingFirst)],
      ['Saved in traversals that free', seconds(scope.traversal)], ['Calls that allocate', exact(scope.instances)],
      ['Freed within their call', exact(scope.captured)], ['Live longer', exact(scope.escaped)],
      ['Most live bytes, malloc', exact(scope.peakMalloc)], ['Most bytes of an arena', exact(scope.peakArena)],
      ['Block size', exact(scope.block) + ' bytes']]),
    factList([['Objects of a call', spread(scope.objects)], ['Bytes of a call', spread(scope.bytes)]]),
    ...(scope.sites.length ? [el('h3', {}, 'Sites of these objects'), stackTable('Site', scope.sites)] : []),
    ...(scope.escapes.length ? [el('h3', {}, 'Objects that live longer'),
      stackTable('Allocated by', scope.escapes.map(escape => ({ ...escape, note: freed(escape.freed) })))] : []),
  ];
}

function siteOfNode(node) {
  return node === 0 ? 'unknown call site' : labelOf(nodes.frame[node]);
}

function scopeTable(advice) {
  const head = [['Function'], ['Use', 'words wide'], ['Saved'], ['Share'], ['Calls', 'wide'], ['Live longer', 'wide']];
  return plainTable('Scopes', head, advice.scopes, scope => {
    const button = opener(el('span', { class: 'mono' }, labelOf(scope.frame)), head.length, () => scopeDetails(scope));
    return el('tr', {}, el('th', { scope: 'row' }, button, el('div', { class: 'where' }, placeOf(scope.frame)), el('div', { class: 'where narrow' }, scope.recipe)),
      el('td', { class: 'words wide' }, scope.recipe), el('td', {}, seconds(scope.saving)), el('td', {}, percent(scope.saving, advice.cpu)),
      el('td', { class: 'wide' }, exact(scope.instances)), el('td', { class: 'wide' }, exact(scope.escaped)));
  });
}

function mallocTable(advice) {
  const head = [['Malloc'], ['CPU time, measured'], ['Saved'], ['Predicted', 'wide'], ['Error', 'wide']];
  const bar = time => {
    const fill = el('i', {}), most = Math.max(advice.cpu, ...advice.mallocs.map(malloc => malloc.measured));
    fill.style.width = time / most * 100 + '%';
    return el('span', { class: 'use' }, fill, el('span', {}, seconds(time)));
  };
  const share = value => (value < 0 ? '−' : '') + percent(Math.abs(value), advice.cpu);
  const row = ([name, time, saved, predicted]) => el('tr', {}, el('th', { scope: 'row', class: 'mono' }, name), el('td', {}, bar(time)), el('td', {}, saved),
    el('td', { class: 'wide' }, predicted === null ? '' : seconds(predicted)), el('td', { class: 'wide' }, predicted === null ? '' : share(predicted - time)));
  const lines = advice.mallocs.map(malloc => [malloc.name, malloc.measured, share(advice.cpu - malloc.measured), malloc.predicted]);
  return plainTable('Mallocs', head, [['the malloc of the program', advice.cpu, '', null], ...lines], row);
}

function advicePage(main) {
  const { advice } = data, rows = rowsOf(report(0, 0), null);
  const card = (title, value, small) => el('div', {}, el('dt', {}, title), el('dd', {}, value, el('small', {}, small)));
  main.append(
    el('section', { class: 'verdict', 'aria-label': 'Verdict' }, el('strong', {}, advice.verdict), el('p', {}, advice.summary),
      el('p', { class: 'soft' }, 'Command: ', el('code', {}, advice.command)), el('p', { class: 'soft' }, 'Process: ', el('code', {}, advice.process))),
    el('dl', { class: 'cards' },
      card('CPU time', seconds(advice.cpu), seconds(advice.cpuRecorded) + ' under the recorder'),
      card('Allocation', seconds(advice.allocation), percent(advice.allocation, advice.cpu) + ' of the CPU time'),
      card('Objects', exact(advice.objects), counted(advice.events, 'recorded call')),
      card('Allocated', size(advice.bytes), exact(advice.bytes) + ' bytes'),
      card('Peak', size(advice.peak), exact(advice.peak) + ' bytes live'),
      card('Threads', exact(advice.threads), 'that allocate')));
  if (advice.scopes.length) main.append(section('scopes', 'Scopes that an arena can serve', null, scopeTable(advice)));
  if (advice.mallocs.length) main.append(section('mallocs', 'Other mallocs', null, mallocTable(advice)));
  if (rows.site.length) {
    const sitesView = new SitesView();
    main.append(...sitesView.sections);
    sitesView.show(rows);
  }
  if (advice.notes.length) main.append(section('notes', 'Notes', null, el('ul', {}, advice.notes.map(note => el('li', {}, note)))));
}
