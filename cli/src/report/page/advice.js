// The page of an advice.
// SPDX-License-Identifier: MIT OR Apache-2.0

function stackCell(node) {
  const stack = stackOf(node);
  if (stack.length === 0) return ['unknown call site'];
  return stack.slice(0, 3).map((frame, index) => el('div', { class: index === 0 ? '' : 'where' },
    index === 0 ? '' : 'from ', el('span', { class: 'mono' }, labelOf(frame)), ' ', el('span', { class: 'where' }, placeOf(frame))));
}

function stackTable(caption, rows, numbers = ['Bytes', 'Objects']) {
  return plainTable(caption, [[caption], ...numbers.map(title => [title])], rows, ({ node, bytes, count, note }) => el('tr', {},
    el('th', { scope: 'row' }, stackCell(node), note || null), [bytes, count].slice(2 - numbers.length).map(number => el('td', {}, exact(number)))));
}

function scopeDetails(scope) {
  const what = scope.instance, spread = of => exact(of.median) + ' (median), ' + exact(of.p99) + ' (99 %), ' + exact(of.max) + ' (most)';
  const freed = node => el('div', { class: 'where' }, node === 0 ? 'never freed' : ['freed by ', el('span', { class: 'mono' }, siteOfNode(node))]);
  const { trial } = scope;
  return [
    el('h3', {}, 'Calls to use'), el('pre', {}, scope.calls.join('\n')),
    factList([
      ...(trial ? [['Saved, frees called', savedText(trial.hooks)], ['Saved, without traversals', savedText(trial.without_traversal)],
        ...(trial.small_pages ? [['Saved with small pages', savedText(trial.small_pages)]] : []), ['Saved in the system', share(trial.system)],
        ['Page faults saved', signed(Math.round(trial.faults))], ['Objects in arenas', exact(trial.routed)],
        ['An object was alive after', exact(trial.left) + ' of ' + counted(trial.instances, what)]] : []),
      ...(scope.reason ? [['Limits', prose(scope.reason)]] : []), ['With objects in the arena', counted(scope.instances, what)],
      ['Freed within their ' + what, exact(scope.captured)], ['Live longer', exact(scope.escaped)],
      ['Most live bytes, malloc', exact(scope.peak_malloc)], ['Most bytes of an arena', exact(scope.peak_arena)],
      ['Block size', exact(scope.block) + ' bytes']]),
    factList([['Objects of a ' + what, spread(scope.objects)], ['Bytes of a ' + what, spread(scope.bytes)]]),
    ...(scope.sites.length ? [el('h3', {}, 'Sites of these objects'), stackTable('Site', scope.sites)] : []),
    ...(scope.resets.length ? [el('h3', {}, 'Sites of the last free of a generation'), stackTable('Site', scope.resets, ['Times'])] : []),
    ...(scope.escapes.length ? [el('h3', {}, 'Objects that live longer'),
      stackTable('Allocated by', scope.escapes.map(escape => ({ ...escape, note: freed(escape.freed) })))] : []),
  ];
}

// A text with one kind of minus, and options that are not broken.
function prose(text) {
  return text.replace(/(^|[ (])-(?=\d)/g, '$1−').split(/(--[a-z-]{1,20})/).map((part, index) => index % 2 ? el('span', { class: 'option' }, part) : part);
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
  return [el('td', {}, share(figure.median)), el('td', {}, interval(figure))];
}

function scopeTable(advice) {
  const head = [['Function'], ['Use', 'words wide'], ['Saved'], ['Interval'], ['Instances', 'wide'], ['Live longer', 'wide']];
  return plainTable('Scopes', head, advice.scopes, scope => {
    const button = opener(el('span', { class: 'mono' }, labelOf(scope.function)), head.length, () => scopeDetails(scope));
    return el('tr', {}, el('th', { scope: 'row' }, button, el('div', { class: 'where' }, placeOf(scope.function)), el('div', { class: 'where narrow' }, scope.recipe)),
      el('td', { class: 'words wide' }, scope.recipe), scope.trial ? figureCells(scope.trial.hooks) : el('td', { class: 'words', colspan: 2 }, prose(scope.reason)),
      el('td', { class: 'wide' }, exact(scope.instances)), el('td', { class: 'wide' }, exact(scope.escaped)));
  });
}

function mallocTable(advice) {
  const head = [['Malloc'], ['Saved'], ['Interval'], ['Pairs', 'wide'], ['In the system', 'wide'], ['Page faults saved', 'wide']];
  return plainTable('Mallocs', head, advice.mallocs, malloc => el('tr', {}, el('th', { scope: 'row', class: 'mono' }, malloc.name), figureCells(malloc.saving),
    [exact(malloc.saving.runs), share(malloc.system), signed(Math.round(malloc.faults))].map(text => el('td', { class: 'wide' }, text))));
}

// The median and the interval of each way on one axis, with lines at 0 and at the 3 % of a verdict. The text beside has the numbers.
function waysChart({ scopes, mallocs, cpu }) {
  const ways = scopes.filter(scope => scope.trial).map(scope => [labelOf(scope.function), scope.recipe, scope.trial.hooks])
    .concat(mallocs.map(malloc => [malloc.name, 'another malloc', malloc.saving]));
  if (ways.length === 0 || !(cpu.median > 0)) return null;
  const part = value => value / cpu.median * 100;
  const all = ways.flatMap(([, , of]) => of.runs < 6 ? [of.median] : [of.low, of.median, of.high]).map(part);
  const low = Math.max(-60, Math.min(-2, ...all)), high = Math.min(100, Math.max(8, ...all));
  const at = value => Math.min(Math.max((value - low) / (high - low), 0), 1) * 100;
  const mark = (kind, from, to, text) => {
    const made = el('i', { class: kind }, text || '');
    made.style.left = at(from) + '%';
    if (from !== to) made.style.width = at(to) - at(from) + '%';
    return made;
  };
  const row = (name, use, of) => el('li', {}, el('span', { class: 'way' }, el('span', { class: 'mono' }, name), el('span', { class: 'where' }, ' ' + use)),
    el('span', { class: 'plot', 'aria-hidden': 'true' }, mark('zero', 0, 0), mark('least', 3, 3),
      of.runs < 6 ? null : mark('whisker', part(of.low), part(of.high)), mark('dot', part(of.median), part(of.median))), el('span', {}, savedText(of)));
  const axis = el('li', { class: 'axis', 'aria-hidden': 'true' }, el('span', { class: 'way' }), el('span', { class: 'plot' }, mark('zero', 0, 0, '0 %'), mark('least', 3, 3, '3 %')));
  return section('ways', 'CPU time saved', null, el('p', { class: 'soft' }, 'Medians, with intervals from six pairs of runs on. A verdict needs 3 %.'),
    el('ul', { class: 'ways' }, ways.map(way => row(...way)), axis));
}

function curveSection({ curve, growing, peak }) {
  const { live } = curve, most = Math.max(...live.map(Number), 0);
  if (most === 0) return null;
  const time = part => seconds(part / live.length * curve.seconds), left = live.map((bytes, part) => part + ',' + (100 - bytes / most * 100).toFixed(2) + ' ' + (part + 1) + ',' + (100 - bytes / most * 100).toFixed(2));
  const drawing = svg('svg', { viewBox: '0 0 ' + live.length + ' 100', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
    svg('polygon', { points: '0,100 ' + left.join(' ') + ' ' + live.length + ',100' }), svg('polyline', { points: left.join(' ') }));
  const label = (kind, text) => el('span', { class: kind }, text);
  return section('time', 'Live bytes over the run', null,
    el('p', { class: 'soft' }, 'The most is ' + size(peak) + ', after ' + time(live.findIndex(bytes => Number(bytes) === most)) + ' of ' + time(live.length) + '; at the end ' + size(live.at(-1)) + ' are live.'),
    el('div', { class: 'curve', 'aria-hidden': 'true' }, label('top', size(most)), label('half', size(most / 2)), label('bottom', '0 B'), drawing, label('begin', '0 s'), label('end', time(live.length))),
    ...(growing.length ? [el('h3', {}, 'Sites that only grow'), el('p', { class: 'soft' }, 'They have more live bytes after each quarter of the run; the bytes are those at its end.'), stackTable('Site', growing)] : []));
}

function advicePage(main) {
  const { advice } = data, rows = rowsOf(report(0, 0), null);
  const card = (title, value, small) => el('div', {}, el('dt', {}, title), el('dd', {}, value, el('small', {}, small)));
  main.append(
    el('section', { class: 'verdict', 'aria-label': 'Verdict' }, el('strong', {}, advice.verdict), el('p', {}, prose(advice.summary)),
      el('p', { class: 'soft' }, 'Command: ', el('code', {}, advice.command.join(' '))), el('p', { class: 'soft' }, 'Process: ', el('code', {}, advice.process))),
    waysChart(advice) || '',
    el('dl', { class: 'cards' },
      card('CPU time', seconds(advice.cpu.median), seconds(advice.system) + ' in the system; ' + seconds(advice.cpu_recorded) + ' under the recorder'),
      card('Page faults', exact(Math.round(advice.faults)), counted(advice.cpu.runs, 'run')),
      card('Objects', exact(advice.objects), counted(advice.events, 'recorded call')),
      card('Allocated', size(advice.bytes), exact(advice.bytes) + ' bytes'),
      card('Peak', size(advice.peak), exact(advice.peak) + ' bytes live'),
      card('Threads', exact(advice.threads), 'that allocate')));
  main.append(curveSection(advice) || '');
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
  if (notes.length) main.append(section('notes', 'Notes', null, el('ul', {}, notes.map(note => el('li', {}, prose(note))))));
}
