// The page of snapshots: one report of one of them at a time, alone or compared with another.
// SPDX-License-Identifier: MIT OR Apache-2.0

const STATISTICS = [['live', 'Live'], ['allocated', 'Allocated'], ['peak', 'Peak'], ['budget', 'Budget'],
  ['reserved', 'Reserved'], ['wasted', 'Wasted'], ['blocks', 'Blocks'], ['source_calls', 'Source calls']];

function statisticCards(now, before) {
  return el('dl', { class: 'cards' }, STATISTICS.map(([name, title]) => {
    const value = now[name], isSize = name !== 'blocks' && name !== 'source_calls';
    if (value === null) return el('div', {}, el('dt', {}, title), el('dd', {}, 'none', el('small', {}, 'no limit')));
    const lines = [isSize ? size(value) : exact(value)];
    if (isSize) lines.push(el('small', {}, counted(value, 'byte')));
    const change = before && before[name] !== null ? Number(value) - Number(before[name]) : 0;
    if (change !== 0) {
      lines.push(el('small', {}, isSize ? signedSize(change) : signed(change)));
    }
    return el('div', {}, el('dt', {}, title), el('dd', {}, lines));
  }));
}

function budgets(stats, tags, tree) {
  const lines = stats.budget === null ? [] : [['the whole arena', stats.live, stats.budget]];
  for (const { name, number, live, budget } of tags) {
    if (budget !== null) lines.push([name === '' ? (number ? '#' + number : '(no tag)') : name, live, budget]);
  }
  lines.push(...tree);
  if (lines.length === 0) return null;
  return plainTable('Budgets', [['Budget of'], ['Used'], ['Budget'], ['Use']], lines, ([name, live, budget]) => el('tr', {},
    el('th', { scope: 'row', class: 'mono' }, name), el('td', {}, exact(live)), el('td', {}, budget === null ? 'none' : exact(budget)), budgetCell({ live, budget })));
}

function snapshotPage(main, controls) {
  const { moments, views } = data, sitesView = new SitesView();
  const state = { moment: moments.length - 1, view: data.view, base: data.base };
  const parts = Object.fromEntries(['Statistics', 'Findings', 'Budgets', 'Tags', 'Phases'].map(title =>
    [title, section(title.toLowerCase(), title, null, el('div'))]));
  // A part without content is hidden.
  const fill = (title, content) => {
    parts[title].hidden = !content;
    parts[title].lastChild.replaceChildren(content || '');
  };
  const at = index => moments[index].stats[state.view];
  const names = moments.map((moment, index) => [String(index), moment.label]);

  const set = change => value => {
    change(value);
    update();
  };
  const timeline = new Timeline(set(moment => state.moment = moment));
  const momentChoice = choice('Snapshot', names, String(state.moment), set(value => timeline.go(state.moment = Number(value))));
  const baseChoice = choice('Compare with', [['', 'nothing']].concat(names), state.base === null ? '' : String(state.base),
    set(value => state.base = value === '' ? null : Number(value)));
  const viewChoice = choice('Arenas', views.map((name, index) => [String(index), name]), String(state.view), set(value => {
    state.view = Number(value);
    drawTimeline();
  }));
  controls.prepend(...(views.length > 1 ? [viewChoice] : []), ...(moments.length > 1 ? [momentChoice, baseChoice] : []));

  const timelineSection = section('timeline', 'Timeline', timeline.legend, timeline.status, timeline.element);
  main.append(parts.Statistics, ...(moments.length > 1 && views.length ? [timelineSection] : []), parts.Findings, parts.Budgets,
    ...sitesView.sections, parts.Tags, parts.Phases);

  function drawTimeline() {
    if (moments.length < 2) return;
    const points = moments.map(({ label, stats }) => {
      const of = stats[state.view];
      return of ? { label, live: Number(of.live), allocated: Number(of.allocated), reserved: Number(of.reserved), budget: of.budget === null ? null : Number(of.budget) }
        : { label, live: null, allocated: null, reserved: null, budget: null };
    });
    timeline.show(points, state.moment);
  }

  function update() {
    const now = report(state.moment, state.view), moment = moments[state.moment];
    const before = state.base === null || state.base === state.moment ? null : report(state.base, state.view);
    momentChoice.querySelector('select').value = String(state.moment);
    parts.Findings.querySelector('h2').textContent = 'Findings of frame ' + moment.findings_of + ': ' + exact(moment.findings.length);
    const found = now && moment.findings.length;
    fill('Findings', found && el('ul', { class: 'findings' }, moment.findings.map(finding => el('li', {}, finding))));
    fill('Statistics', now ? statisticCards(at(state.moment), before && at(state.base)) : el('p', { class: 'empty' }, 'This snapshot has no arenas of this name.'));
    fill('Budgets', now && budgets(at(state.moment), now.tags, now.budgets));
    fill('Tags', now && (now.tags.length || before && before.tags.length) && tagTable(now.tags, before && before.tags));
    fill('Phases', now && (now.phases.length || before && before.phases.length) && phaseTable(now.phases, before && before.phases));
    const rows = now && rowsOf(now, before), hasSites = Boolean(rows && rows.site.length);
    for (const part of sitesView.sections) part.hidden = !hasSites;
    if (hasSites) sitesView.show(rows);
  }

  update();
  drawTimeline();
}
