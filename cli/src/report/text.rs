//! Snapshots, differences and advice as text for a terminal.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::finding;
use super::graph::{visible, Amount, Graph};
use super::layout::{bytes, columns, grouped, percent, seconds, shorten, signed, wrapped, Table};
use super::skip::Skip;
use super::snapshot::{self, Budget, Moment, Phase, Report, Stats, Tag};
use super::tags;
use crate::advice::{self, Advice, Figure, Recipe, Verdict};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::io::IsTerminal;

/// Callers that are shown with a site.
const CALLERS: usize = 3;
/// Of the sites that hold the peak, and of those of temporary objects.
const HOLDERS: usize = 5;

/// Columns of the terminal, at most 160; 80 if the output is no terminal.
pub fn terminal_width() -> usize {
    let out = std::io::stdout();
    let size = if out.is_terminal() { terminal_size::terminal_size_of(out) } else { None };
    size.map_or(80, |(width, _)| usize::from(width.0).clamp(40, 160))
}

fn heading(text: &mut String, title: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(title);
    text.push('\n');
}

fn add(text: &mut String, table: &Table, width: usize) {
    if !table.is_empty() {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&table.text(width));
    }
}

/// A value after its name, in as many lines as it needs.
fn value(text: &mut String, name: &str, value: &str, width: usize) {
    const NAMES: usize = 16;
    let first = format!("  {name}{}", " ".repeat(NAMES - 2 - columns(name)));
    text.push_str(&wrapped(&first, value, NAMES, width));
}

// ---- snapshots ----

/// A series of snapshots, and the last of them in full.
pub fn series(moments: &[Moment], top: usize, width: usize) -> String {
    let last = &moments[moments.len() - 1];
    let mut text = String::new();
    heading(&mut text, &shorten(&format!("Snapshot: {}", visible(&last.label)), width));
    if moments.len() > 1 {
        text += &wrapped("", &format!("The last of {} snapshots.", grouped(moments.len())), 0, width);
        add(&mut text, &changes(moments), width);
    }
    if last.views.len() > 2 {
        let mut table = Table::new(&["Arenas", "live", "allocated", "reserved"]);
        for view in &last.views {
            let of = &view.report.stats;
            table.row(0, visible(&view.name), [of.live, of.allocated, of.reserved].map(grouped).into());
        }
        add(&mut text, &table, width);
    }
    let main = last.main_view();
    for (at, view) in last.views.iter().enumerate() {
        // A frame that is not the first view is shown in full too: it is another moment. A thread is not.
        if at == main || view.name == super::snapshot::FRAME_BEFORE {
            if !view.name.is_empty() {
                heading(&mut text, &shorten(&format!("Of {}", visible(&view.name)), width));
            }
            report(&mut text, &view.report, top, width);
        }
    }
    if !last.findings.is_empty() {
        let of = last.findings_of.map_or(String::new(), |frame| format!(" of frame {frame}"));
        heading(&mut text, &format!("Findings{of}: {}", grouped(last.findings.len())));
        for found in &last.findings {
            text += &wrapped("  - ", &finding::sentence(found), 4, width);
        }
    }
    text
}

/// How the numbers change in a series.
fn changes(moments: &[Moment]) -> Table {
    let main = moments[moments.len() - 1].main_view();
    let name = &moments[moments.len() - 1].views[main].name;
    let stats: Vec<(&str, Stats)> = moments
        .iter()
        .filter_map(|moment| {
            let view = moment.views.iter().find(|view| view.name == *name)?;
            Some((moment.label.as_str(), view.report.stats))
        })
        .collect();
    let mut table = Table::new(&["Series", "first", "lowest", "highest", "last"]);
    let all = |number: fn(&Stats) -> u64| stats.iter().map(|(_, of)| number(of)).collect::<Vec<u64>>();
    let lines =
        [("live", all(|of| of.live)), ("reserved", all(|of| of.reserved)), ("allocated", all(|of| of.allocated))];
    for (name, all) in lines {
        // The last moment is one of them.
        let (low, high) = (all.iter().min().copied().unwrap_or(0), all.iter().max().copied().unwrap_or(0));
        table.row(0, name, [all[0], low, high, all[all.len() - 1]].map(grouped).into());
        if let Some(at) = all.iter().position(|number| *number == high).filter(|_| high != low) {
            table.note(2, format!("highest at {}", visible(stats[at].0)));
        }
    }
    table
}

fn report(text: &mut String, report: &Report, top: usize, width: usize) {
    statistics(text, &report.stats, width);
    let mut table = Table::new(&["Tags", "live", "allocated", "budget", "use"]);
    for line in tags::tree(report.tags.iter().map(|tag| (tag.clone(), tag)), |tag| tag.live.max(tag.allocated)) {
        let cells = line.of.map_or_else(
            || vec![String::new(); 4],
            |tag| {
                let budget = tag.budget.map_or(String::new(), grouped);
                vec![grouped(tag.live), grouped(tag.allocated), budget, usage(tag.live, tag.budget)]
            },
        );
        table.row(2 * line.depth, line.name, cells);
    }
    add(text, &table, width);
    add(text, &budgets(&report.budgets), width);
    let mut graph = Graph::new(true);
    let amounts = graph.report(report);
    add(text, &sites(&graph, "Sites", &amounts, sum(&amounts), top), width);
    let mut table = Table::new(&["Phases", "entries", "allocated", "kept"]);
    for phase in &report.phases {
        let cells = vec![grouped(phase.entries), grouped(phase.allocated), grouped(phase.kept)];
        table.row(0, visible(&phase.name), cells);
    }
    add(text, &table, width);
}

fn budgets(of: &[Budget]) -> Table {
    let mut table = Table::new(&["Budgets", "reserved", "peak", "limit", "use", "refusals"]);
    let cells = |used: u64, peak: u64, limit: Option<u64>, refusals: u64| {
        let shown = limit.map_or_else(|| "none".into(), grouped);
        vec![grouped(used), grouped(peak), shown, usage(used, limit), grouped(refusals)]
    };
    for (depth, budget) in snapshot::tree(of) {
        let name = if budget.name.is_empty() { "(no name)".into() } else { visible(&budget.name) };
        let of = budget.reserved;
        table.row(2 * depth, name, cells(of.reserved, of.peak, of.limit, of.refusals));
        if let Some(of) = budget.live {
            table.row(2 * depth + 4, "live bytes", cells(of.live, of.peak, of.limit, of.refusals));
        }
    }
    table
}

fn statistics(text: &mut String, of: &Stats, width: usize) {
    heading(text, "Statistics");
    let budget = of.budget.map_or_else(
        || "none".into(),
        |budget| format!("{}, of which {} is used", bytes(budget), usage(of.live, of.budget)),
    );
    for (at, (name, number)) in of.clone().numbers().enumerate() {
        value(text, name, &if at < 5 { bytes(*number) } else { grouped(*number) }, width);
    }
    value(text, "budget", &budget, width);
}

/// How much of a budget is live.
fn usage(live: u64, budget: Option<u64>) -> String {
    match budget {
        None => String::new(),
        Some(budget) if live > budget => "EXCEEDED".into(),
        Some(0) => "100.0 %".into(),
        Some(budget) => percent(live as f64, budget as f64),
    }
}

/// The first of the sites, with their shares of a whole.
fn sites(graph: &Graph, title: &str, amounts: &[Amount], whole: f64, top: usize) -> Table {
    let title = match amounts.len() {
        all if all > top => format!("{title}, {} of {}", grouped(top), grouped(all)),
        _ => title.into(),
    };
    let mut table = Table::new(&[&title, "bytes", "share", "count"]);
    for amount in amounts.iter().take(top) {
        let cells = vec![grouped(amount.bytes), percent(amount.bytes as f64, whole), grouped(amount.count)];
        site(&mut table, graph, amount.site, cells);
    }
    table
}

fn sum(amounts: &[Amount]) -> f64 {
    amounts.iter().map(|amount| u128::from(amount.bytes)).sum::<u128>() as f64
}

/// The newest call as a row; the tag and the next callers below it.
fn site(table: &mut Table, graph: &Graph, site: u32, cells: Vec<String>) {
    let site = graph.sites.get(site);
    stack(table, 0, graph, site.node, graph.text(site.tag), cells);
}

fn stack(table: &mut Table, indent: usize, graph: &Graph, node: u32, tag: &str, cells: Vec<String>) {
    let stack = calls(graph, node);
    table.row(indent, &stack[0], cells);
    if !tag.is_empty() {
        table.note(indent + 4, format!("tag {tag}"));
    }
    for call in &stack[1..] {
        table.note(indent + 4, format!("from {call}"));
    }
}

/// The newest call of a stack and its next callers.
fn calls(graph: &Graph, node: u32) -> Vec<String> {
    let mut calls: Vec<String> = graph
        .stack(node)
        .take(1 + CALLERS)
        .map(|frame| match (graph.text(frame.label), graph.place_of(frame)) {
            (label, place) if place.is_empty() => label.into(),
            (label, place) => format!("{label} ({place})"),
        })
        .collect();
    if calls.is_empty() {
        calls.push("unknown call site".into());
    }
    calls
}

// ---- the difference of two snapshots ----

/// The numbers of two reports side by side. Rows that are equal in both are left out.
pub fn difference(old: &Moment, new: &Moment, top: usize, width: usize) -> String {
    let mut text = String::new();
    heading(&mut text, "Difference of two snapshots");
    value(&mut text, "before", &visible(&old.label), width);
    value(&mut text, "after", &visible(&new.label), width);
    let view = &new.views[new.main_view()];
    let old = old.views.iter().find(|old| old.name == view.name).unwrap_or(&old.views[old.main_view()]);
    let begin = text.len();
    let (old, new) = (&old.report, &view.report);
    add(&mut text, &statistics_of_both(&old.stats, &new.stats), width);
    for table in tags_of_both(&old.tags, &new.tags) {
        add(&mut text, &table, width);
    }
    add(&mut text, &sites_of_both(old, new, top), width);
    add(&mut text, &phases_of_both(&old.phases, &new.phases), width);
    if text.len() == begin {
        text += "\nNo number differs.\n";
    }
    text
}

fn statistics_of_both(a: &Stats, b: &Stats) -> Table {
    let mut table = Table::new(&["Statistics", "before", "after", "change"]);
    for ((name, before), (_, after)) in a.clone().numbers().zip(b.clone().numbers()) {
        row(&mut table, 0, name, Some(*before), Some(*after));
    }
    budget(&mut table, 0, a.budget, b.budget);
    table
}

/// The live and the allocated bytes.
fn tags_of_both(old: &[Tag], new: &[Tag]) -> [Table; 2] {
    let mut pairs: HashMap<_, (Option<&Tag>, Option<&Tag>)> = HashMap::new();
    let mut order = Vec::new();
    for (is_new, tag) in old.iter().map(|tag| (false, tag)).chain(new.iter().map(|tag| (true, tag))) {
        let pair = pairs.entry(tag.key()).or_insert_with(|| {
            order.push(tag);
            (None, None)
        });
        *(if is_new { &mut pair.1 } else { &mut pair.0 }) = Some(tag);
    }
    let pairs = order.into_iter().map(|tag| (tag.clone(), pairs[&tag.key()]));
    let largest = |tag: Option<&Tag>| tag.map_or(0, |tag| tag.live.max(tag.allocated));
    let lines = tags::tree(pairs, |(old, new)| largest(*old).max(largest(*new)));
    let mut live = Table::new(&["Live bytes of tags", "before", "after", "change"]);
    let mut allocated = Table::new(&["Allocated bytes of tags", "before", "after", "change"]);
    for line in lines {
        let (old, new) = line.of.unwrap_or_default();
        let number = |of: fn(&Tag) -> u64| (old.map(of), new.map(of));
        let ((a, b), (c, d)) = (number(|tag| tag.live), number(|tag| tag.allocated));
        row(&mut live, 2 * line.depth, &line.name, a, b);
        budget(&mut live, 2 * line.depth + 4, old.and_then(|tag| tag.budget), new.and_then(|tag| tag.budget));
        row(&mut allocated, 2 * line.depth, &line.name, c, d);
    }
    [live, allocated]
}

fn sites_of_both(old: &Report, new: &Report, top: usize) -> Table {
    let mut graph = Graph::new(false);
    let mut by_site: HashMap<u32, (u64, u64)> = HashMap::new();
    for amount in graph.report(old) {
        by_site.entry(amount.site).or_default().0 = amount.bytes;
    }
    for amount in graph.report(new) {
        by_site.entry(amount.site).or_default().1 = amount.bytes;
    }
    let mut changed: Vec<_> = by_site.into_iter().filter(|(_, (old, new))| old != new).collect();
    changed.sort_by_key(|(site, (old, new))| (Reverse(old.abs_diff(*new)), *site));
    let title = match changed.len() {
        all if all > top => format!("Sites, {} of {} that changed", grouped(top), grouped(all)),
        _ => "Sites".into(),
    };
    let mut table = Table::new(&[&title, "before", "after", "change"]);
    for (number, (old, new)) in changed.into_iter().take(top) {
        site(&mut table, &graph, number, vec![grouped(old), grouped(new), change(old, new)]);
    }
    table
}

fn phases_of_both(old: &[Phase], new: &[Phase]) -> Table {
    let mut table = Table::new(&["Bytes allocated in phases", "before", "after", "change"]);
    let of = |phases: &[Phase], name: &str| phases.iter().find(|phase| phase.name == name).map(|phase| phase.allocated);
    for phase in old {
        row(&mut table, 0, &visible(&phase.name), Some(phase.allocated), of(new, &phase.name));
    }
    for phase in new.iter().filter(|phase| of(old, &phase.name).is_none()) {
        row(&mut table, 0, &visible(&phase.name), None, Some(phase.allocated));
    }
    table
}

fn row(table: &mut Table, indent: usize, name: &str, old: Option<u64>, new: Option<u64>) {
    if old.unwrap_or(0) != new.unwrap_or(0) {
        let shown = |number: Option<u64>| number.map_or_else(|| "none".into(), grouped);
        table.row(indent, name, vec![shown(old), shown(new), change(old.unwrap_or(0), new.unwrap_or(0))]);
    }
}

fn budget(table: &mut Table, indent: usize, old: Option<u64>, new: Option<u64>) {
    if old != new {
        let shown = |budget: Option<u64>| budget.map_or_else(|| "none".into(), grouped);
        let change = old.zip(new).map_or(String::new(), |(old, new)| change(old, new));
        table.row(indent, "budget", vec![shown(old), shown(new), change]);
    }
}

fn change(old: u64, new: u64) -> String {
    signed(i128::from(new) - i128::from(old))
}

// ---- advice ----

pub fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::DoNothing => "Change nothing",
        Verdict::SwitchMalloc => "Switch to another malloc",
        Verdict::UseArenas => "Use arenas",
        Verdict::NotDecided => "Not decided",
    }
}

pub fn recipe(recipe: Recipe) -> &'static str {
    match recipe {
        Recipe::Scratch => "one arena, and a mark and a rewind in each call",
        Recipe::Document => "an arena for each call",
        Recipe::Process => "one arena for the whole program",
        Recipe::Generations => "one arena, and a reset where each generation of objects has ended",
    }
}

/// An advice, in at most `width` columns, without the functions that only pass an allocation on.
pub fn advice(of: &Advice, width: usize) -> String {
    let mut of = of.clone();
    Skip::new(None).advice(&mut of);
    let of = &of;
    let mut text = String::new();
    heading(&mut text, verdict(of.verdict));
    text += &wrapped("  ", &visible(&of.summary), 2, width);
    program(&mut text, of, width);
    curve(&mut text, of, width);

    let mut table = Table::new(&["Other mallocs", "saved", "interval", "runs", "in the system", "page faults saved"]);
    for malloc in &of.mallocs {
        let mut cells = savings(&malloc.saving, of.cpu.median).to_vec();
        cells.push(percent_signed(malloc.system, of.cpu.median));
        cells.push(signed(malloc.faults as i128));
        table.row(0, visible(&malloc.name), cells);
    }
    add(&mut text, &table, width);

    let mut graph = Graph::new(true);
    for (index, scope) in of.scopes.iter().enumerate() {
        let frame = graph.frame(&scope.function);
        let node = graph.nodes.add(super::graph::Node { parent: 0, frame });
        let title = format!("Scope {}: {}", index + 1, calls(&graph, node)[0]);
        heading(&mut text, &shorten(&title, width));
        scope_text(&mut text, of, scope, width);
        for (titles, amounts) in [
            (&["  Sites whose objects the arena serves", "bytes", "count"][..], graph.advice(&scope.sites)),
            (&["  Sites of the last free of a generation", "times"], graph.advice_by_count(&scope.resets)),
        ] {
            let mut table = Table::new(titles);
            for site in amounts.iter().take(CALLERS) {
                let cells = [grouped(site.bytes), grouped(site.count)];
                let node = graph.sites.get(site.site).node;
                stack(&mut table, 2, &graph, node, "", cells[3 - titles.len()..].into());
            }
            add(&mut text, &table, width);
        }
        let mut table = Table::new(&["  Sites whose objects live longer", "bytes", "count"]);
        for escape in scope.escapes.iter().take(CALLERS) {
            let node = graph.stack_of(&escape.allocated);
            stack(&mut table, 2, &graph, node, "", vec![grouped(escape.bytes), grouped(escape.count)]);
            let freed = graph.stack_of(&escape.freed);
            match escape.freed.is_empty() {
                true => table.note(6, "never freed"),
                false => table.note(6, format!("freed by {}", calls(&graph, freed)[0])),
            }
        }
        add(&mut text, &table, width);
    }
    let all = graph.advice(&of.sites);
    add(&mut text, &sites(&graph, "Sites", &all, sum(&all), 10), width);
    for (title, of_kind) in [("Sites that hold the peak", &of.at_peak), ("Sites that only grow", &of.growing)] {
        let amounts = graph.advice(of_kind);
        add(&mut text, &sites(&graph, title, &amounts, of.peak as f64, HOLDERS), width);
    }
    let mut table = Table::new(&["Sites of temporary objects", "count", "share", "bytes"]);
    for site in graph.advice_by_count(&of.temporary).iter().take(HOLDERS) {
        let cells = vec![grouped(site.count), percent(site.count as f64, of.objects as f64), grouped(site.bytes)];
        self::site(&mut table, &graph, site.site, cells);
    }
    add(&mut text, &table, width);
    notes(&mut text, of, width);
    text
}

fn notes(text: &mut String, of: &Advice, width: usize) {
    if !of.failures.is_empty() || !of.notes.is_empty() {
        heading(text, "Notes");
    }
    for note in of.failures.iter().chain(&of.notes) {
        *text += &wrapped("  - ", &visible(note), 4, width);
    }
}

fn program(text: &mut String, of: &Advice, width: usize) {
    heading(text, "Program");
    let command: Vec<_> = of.command.iter().map(|part| visible(part)).collect();
    value(text, "command", &command.join(" "), width);
    value(text, "process", &visible(&of.process), width);
    let Figure { median, low, high, runs } = of.cpu;
    let [median, low, high] = [median, low, high].map(seconds);
    let range = if of.cpu.has_interval() { format!("{low} to {high}, ") } else { String::new() };
    let [system, recorded] = [of.system, of.cpu_recorded].map(seconds);
    let runs = counted(runs, "run");
    let taken = format!("{median} ({range}{runs}), {system} of it in the system; {recorded} under the recorder");
    value(text, "CPU time", &taken, width);
    value(text, "page faults", &grouped(of.faults as u64), width);
    let recorded = format!(
        "{} calls of malloc and free by {}; {}, {}",
        grouped(of.events),
        counted(of.threads, "thread"),
        counted(of.objects, "object"),
        bytes(of.bytes)
    );
    value(text, "recorded", &recorded, width);
    value(text, "peak", &format!("{} live at once", bytes(of.peak)), width);
    let share = percent(of.temporary_objects as f64, of.objects as f64);
    value(text, "temporary", &format!("{share} of the objects end before their thread allocates again"), width);
}

/// What an instance of a scope is.
pub fn instance(recipe: Recipe) -> &'static str {
    ["call", "generation"][usize::from(recipe == Recipe::Generations)]
}

/// The live bytes over the run as a line of blocks, each as high as the most of its part.
fn curve(text: &mut String, of: &Advice, width: usize) {
    const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let (live, end) = (&of.curve.live, seconds(of.curve.seconds));
    let Some(most) = live.iter().copied().max().filter(|most| *most > 0) else { return };
    heading(text, &shorten(&format!("Live bytes over {end}, at most {}", bytes(most)), width));
    let shown = live.len().min(width - 4).min(74);
    let part = |column: usize| &live[column * live.len() / shown..(column + 1) * live.len() / shown];
    let height = |column| (part(column).iter().max().map_or(0, |n| *n) as f64 / most as f64 * 8.0).ceil() as usize;
    let line: String = (0..shown).map(|column| BLOCKS[height(column).min(8)]).collect();
    *text += &format!("  {}\n", line.trim_end());
    *text += &format!("  0 s{end:>0$}\n", shown.saturating_sub(3));
}

fn scope_text(text: &mut String, of: &Advice, scope: &advice::Scope, width: usize) {
    let what = instance(scope.recipe);
    value(text, "use", recipe(scope.recipe), width);
    for line in &scope.calls {
        let line = format!("    {}", visible(line));
        *text += &if columns(&line) <= width { line + "\n" } else { wrapped("    ", &line, 8, width) };
    }
    if let Some(trial) = &scope.trial {
        for (name, figure) in [("frees called", &trial.hooks), ("no traversal", &trial.without_traversal)] {
            value(text, name, &saved(figure, of.cpu.median), width);
        }
        if let Some(figure) = &trial.small_pages {
            value(text, "small pages", &format!("frees called, {}", saved(figure, of.cpu.median)), width);
        }
        let system = percent_signed(trial.system, of.cpu.median);
        value(text, "in the system", &format!("{system} of the CPU time saved, frees called"), width);
        value(text, "page faults", &format!("{} saved", signed(trial.faults as i128)), width);
        let kept = format!(
            "{} objects in arenas; an object was alive after {} of {}",
            grouped(trial.routed),
            grouped(trial.left),
            counted(trial.instances, what)
        );
        value(text, "trial", &kept, width);
    }
    if !scope.reason.is_empty() {
        value(text, "limits", &visible(&scope.reason), width);
    }
    value(text, "instances", &format!("{} with objects in the arena", counted(scope.instances, what)), width);
    for (name, spread) in [("objects", &scope.objects), ("bytes", &scope.bytes)] {
        let [median, p99, max] = [spread.median, spread.p99, spread.max].map(grouped);
        value(text, name, &format!("{median} in a {what} (median), {p99} (99 % of them), {max} (all)"), width);
    }
    let [freed, longer] = [scope.captured, scope.escaped].map(grouped);
    value(text, "lifetimes", &format!("{freed} objects freed within their {what}, {longer} live longer"), width);
    value(text, "peak, malloc", &bytes(scope.peak_malloc), width);
    value(text, "peak, arena", &bytes(scope.peak_arena), width);
    value(text, "block size", &bytes(scope.block), width);
}

pub fn counted(number: impl Into<u64>, what: &str) -> String {
    let number = number.into();
    format!("{} {what}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// A saving of CPU time with its interval.
fn saved(of: &Figure, cpu: f64) -> String {
    let [share, interval, _] = savings(of, cpu);
    let interval = if interval.is_empty() { interval } else { interval + ", " };
    format!("{share} of the CPU time ({interval}{}), {}", counted(of.runs, "pair"), seconds(of.median))
}

/// The saving, its interval if there is one, and the runs.
fn savings(of: &Figure, cpu: f64) -> [String; 3] {
    let [share, low, high] = [of.median, of.low, of.high].map(|part| percent_signed(part, cpu));
    let interval = if of.has_interval() { format!("{low} to {high}") } else { String::new() };
    [share, interval, grouped(of.runs)]
}

/// The verdict, the savings and the notes of an advice, for a comment or a page of a repository.
pub fn markdown(of: &Advice) -> String {
    let shown = |text: &str| visible(text).replace('<', "&lt;").replace('|', "\\|");
    let mut text = format!("## {}\n\n{}\n\n", verdict(of.verdict), shown(&of.summary));
    text += "| way | saved | interval | pairs |\n|---|---:|---:|---:|\n";
    let mut graph = Graph::new(true);
    let scopes = of.scopes.iter().filter_map(|scope| {
        let frame = graph.frame(&scope.function);
        let name = format!("{}: {}", graph.text(graph.frames.get(frame).label), recipe(scope.recipe));
        Some((name, scope.trial?.hooks))
    });
    for (name, saving) in scopes.chain(of.mallocs.iter().map(|m| (m.name.clone(), m.saving))) {
        text += &format!("| {} | {} |\n", shown(&name), savings(&saving, of.cpu.median).join(" | "));
    }
    let notes: String = of.failures.iter().chain(&of.notes).map(|note| format!("* {}\n", shown(note))).collect();
    text + "\n" + &notes
}

fn percent_signed(part: f64, whole: f64) -> String {
    match part < 0.0 {
        true => format!("-{}", percent(-part, whole)),
        false => percent(part, whole),
    }
}
