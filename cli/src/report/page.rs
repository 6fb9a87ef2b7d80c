//! One self-contained HTML page. Its data are blocks of JSON; the scripts in page/ show them.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::finding;
use super::graph::{visible, Amount, Frame, Graph, Kind};
use super::snapshot::{self, Moment, Report, Stats};
use super::text;
use crate::advice::{self, Advice, Spread};
use base64::Engine;
use serde::{Serialize, Serializer};
use serde_json::{json, Value};

const TEMPLATE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
/// One script. A chart library would not serve: those that draw flame graphs or icicles (inferno in SVG, d3-flame-graph)
/// make an element for each site, have no names for assistive technology, and cannot follow the theme; the rest of the
/// page is a table and three lines.
const SCRIPT: &str = concat!(
    include_str!("page/data.js"),
    include_str!("page/icicle.js"),
    include_str!("page/table.js"),
    include_str!("page/timeline.js"),
    include_str!("page/sites.js"),
    include_str!("page/snapshot.js"),
    include_str!("page/advice.js"),
    include_str!("page/main.js"),
);

/// Columns of the text that a browser without scripts shows.
const TEXT_WIDTH: usize = 100;

/// The largest integer up to which a double has each.
const LARGEST_INTEGER: u64 = (1 << 53) - 1;

/// A number that JavaScript reads exactly: above 2^53 it is a string.
struct Number(u64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            0..=LARGEST_INTEGER => serializer.serialize_u64(self.0),
            large => serializer.collect_str(&large),
        }
    }
}

fn number(number: u64) -> Value {
    json!(Number(number))
}

fn budget(budget: Option<u64>) -> Value {
    budget.map_or(Value::Null, number)
}

/// A page of a series. `compare`: the first snapshot is shown as the base of the last.
pub fn series(moments: &[Moment], title: &str, compare: bool) -> String {
    let mut graph = Graph::new(!compare);
    let mut views: Vec<&str> = Vec::new();
    let mut blocks = String::new();
    let mut shown = Vec::new();
    for (at, moment) in moments.iter().enumerate() {
        let mut stats = serde_json::Map::new();
        for view in &moment.views {
            let number = views.iter().position(|name| *name == view.name).unwrap_or_else(|| {
                views.push(&view.name);
                views.len() - 1
            });
            stats.insert(number.to_string(), statistics(&view.report.stats));
            let amounts = graph.report(&view.report);
            let block = Block::of_report(&view.report, &amounts);
            add_block(&mut blocks, &format!("report-{at}-{number}"), &block);
        }
        let findings: Vec<String> = moment.findings.iter().map(finding::sentence).collect();
        shown.push(json!({"label": visible(&moment.label), "stats": stats, "findings": findings,
            "findingsOf": moment.findings_of.map(number)}));
    }
    let last = &moments[moments.len() - 1];
    let view = views.iter().position(|name| *name == last.views[last.main_view()].name);
    let views: Vec<String> = views.into_iter().map(visible).collect();
    let data = json!({"kind": "snapshot", "moments": shown, "views": views, "view": view,
        "base": if compare { json!(0) } else { json!(null) }});
    let text = match compare {
        true => text::difference(&moments[0], last, 10, TEXT_WIDTH),
        false => text::series(moments, 10, TEXT_WIDTH),
    };
    page(title, &text, data, graph, blocks)
}

fn statistics(of: &Stats) -> Value {
    let [live, allocated, peak] = [of.live, of.allocated, of.peak].map(number);
    let [reserved, wasted, blocks, source_calls] = [of.reserved, of.wasted, of.blocks, of.source_calls].map(number);
    json!([live, allocated, peak, budget(of.budget), reserved, wasted, blocks, source_calls])
}

/// Name, number, live, allocated, budget.
type TagRow = (String, Option<Number>, Number, Number, Option<Number>);

/// Name, bytes, limit.
type BudgetRow = (String, Number, Option<Number>);

/// One report of one snapshot.
#[derive(Serialize)]
struct Block {
    budgets: Vec<BudgetRow>,
    tags: Vec<TagRow>,
    phases: Vec<(String, Number, Number, Value)>,
    site: Vec<u32>,
    count: Vec<Number>,
    bytes: Vec<Number>,
}

impl Block {
    fn of_sites(amounts: &[Amount]) -> Block {
        Block {
            budgets: Vec::new(),
            tags: Vec::new(),
            phases: Vec::new(),
            site: amounts.iter().map(|amount| amount.site).collect(),
            count: amounts.iter().map(|amount| Number(amount.count)).collect(),
            bytes: amounts.iter().map(|amount| Number(amount.bytes)).collect(),
        }
    }

    fn of_report(of: &Report, amounts: &[Amount]) -> Block {
        let tags = of.tags.iter().map(|tag| {
            let (live, allocated) = (Number(tag.live), Number(tag.allocated));
            (visible(&tag.name), tag.number.map(Number), live, allocated, tag.budget.map(Number))
        });
        let phases = of.phases.iter().map(|phase| {
            let kept = match phase.kept.unsigned_abs() {
                0..=LARGEST_INTEGER => json!(phase.kept),
                _ => json!(phase.kept.to_string()),
            };
            (visible(&phase.name), Number(phase.entries), Number(phase.allocated), kept)
        });
        let budgets = snapshot::tree(&of.budgets).into_iter().flat_map(|(depth, budget)| {
            let name = format!("{}{}", "\u{2003}".repeat(depth), visible(&budget.name));
            let live = budget.live.map(|of| (format!("{name} (live bytes)"), Number(of.live), of.limit.map(Number)));
            let of = budget.reserved;
            [(name, Number(of.reserved), of.limit.map(Number))].into_iter().chain(live)
        });
        Block { budgets: budgets.collect(), tags: tags.collect(), phases: phases.collect(), ..Block::of_sites(amounts) }
    }
}

pub fn advice(of: &Advice, title: &str) -> String {
    let mut graph = Graph::new(true);
    let amounts = graph.advice(&of.sites);
    let scopes: Vec<Value> = of.scopes.iter().map(|scope| scope_data(&mut graph, scope)).collect();
    let mallocs: Vec<Value> = of
        .mallocs
        .iter()
        .map(|malloc| json!({"name": visible(&malloc.name), "saving": malloc.saving, "faults": malloc.faults}))
        .collect();
    let at_peak = graph.advice(&of.at_peak);
    let at_peak = sites_data(&graph, &at_peak);
    let temporary = graph.advice_by_count(&of.temporary);
    let temporary = sites_data(&graph, &temporary);
    let command: Vec<String> = of.command.iter().map(|part| visible(part)).collect();
    let notes: Vec<String> = of.notes.iter().map(|note| visible(note)).collect();
    let data = json!({"kind": "advice", "advice": {
        "verdict": text::verdict(of.verdict), "summary": visible(&of.summary), "command": command.join(" "),
        "process": visible(&of.process), "cpu": of.cpu, "cpuRecorded": of.cpu_recorded, "faults": of.faults,
        "events": number(of.events), "objects": number(of.objects), "bytes": number(of.bytes),
        "threads": number(of.threads), "peak": number(of.peak), "mallocs": mallocs, "scopes": scopes, "notes": notes,
        "atPeak": at_peak, "temporary": temporary, "temporaryObjects": number(of.temporary_objects),
    }});
    let mut blocks = String::new();
    add_block(&mut blocks, "report-0-0", &Block::of_sites(&amounts));
    page(title, &text::advice(of, TEXT_WIDTH), data, graph, blocks)
}

fn amount(node: u32, count: u64, bytes: u64) -> Value {
    json!({"node": node, "count": number(count), "bytes": number(bytes)})
}

fn sites_data(graph: &Graph, amounts: &[Amount]) -> Vec<Value> {
    amounts.iter().map(|site| amount(graph.sites.get(site.site).node, site.count, site.bytes)).collect()
}

fn scope_data(graph: &mut Graph, scope: &advice::Scope) -> Value {
    let spread = |of: &Spread| json!([number(of.median), number(of.p99), number(of.max)]);
    let calls: Vec<String> = scope.calls.iter().map(|call| visible(call)).collect();
    let sites = graph.advice(&scope.sites);
    let sites = sites_data(graph, &sites);
    let escapes: Vec<Value> = scope
        .escapes
        .iter()
        .map(|escape| {
            let mut shown = amount(graph.stack_of_advice(&escape.allocated), escape.count, escape.bytes);
            shown["freed"] = match escape.freed.is_empty() {
                true => Value::Null,
                false => graph.stack_of_advice(&escape.freed).into(),
            };
            shown
        })
        .collect();
    json!({
        "frame": graph.frame_of_advice(&scope.function), "recipe": text::recipe(scope.recipe), "calls": calls,
        "instances": number(scope.instances), "objects": spread(&scope.objects), "bytes": spread(&scope.bytes),
        "captured": number(scope.captured), "escaped": number(scope.escaped), "trial": scope.trial,
        "reason": visible(&scope.reason), "peakMalloc": number(scope.peak_malloc),
        "peakArena": number(scope.peak_arena), "block": number(scope.block), "sites": sites, "escapes": escapes,
    })
}

/// What all views of the page share. The graph is in columns, which are compact: each is a list of small numbers.
#[derive(Serialize)]
struct Shared<'a> {
    #[serde(flatten)]
    page: Value,
    strings: Vec<&'a str>,
    frames: Frames,
    nodes: Nodes,
    sites: Sites,
}

#[derive(Serialize)]
struct Frames {
    label: Vec<u32>,
    file: Vec<u32>,
    place: Vec<u32>,
    module: Vec<u32>,
    kind: Vec<u32>,
}

#[derive(Serialize)]
struct Nodes {
    parent: Vec<u32>,
    frame: Vec<u32>,
}

#[derive(Serialize)]
struct Sites {
    tag: Vec<u32>,
    node: Vec<u32>,
}

fn page(title: &str, text: &str, data: Value, mut graph: Graph, blocks: String) -> String {
    let places: Vec<String> = graph.frames.values().iter().map(|frame| graph.place_of(frame)).collect();
    let place: Vec<u32> = places.iter().map(|place| graph.string(place)).collect();
    let column = |of: fn(&Frame) -> u32| graph.frames.values().iter().map(of).collect();
    let kind = column(|frame| match frame.kind {
        Kind::Call | Kind::Unnamed => 0,
        Kind::Inlined => 1,
        Kind::Place => 2,
    });
    let (label, file, module) = (column(|frame| frame.label), column(|frame| frame.file), column(|frame| frame.module));
    let (nodes, sites) = (graph.nodes.values(), graph.sites.values());
    let shared = Shared {
        page: data,
        strings: graph.strings.values().iter().map(|text| &**text).collect(),
        frames: Frames { label, file, place, module, kind },
        nodes: Nodes {
            parent: nodes.iter().map(|node| node.parent).collect(),
            frame: nodes.iter().map(|node| node.frame).collect(),
        },
        sites: Sites {
            tag: sites.iter().map(|site| site.tag).collect(),
            node: sites.iter().map(|site| site.node).collect(),
        },
    };
    let policy = format!(
        "default-src 'none'; img-src data:; style-src '{}'; script-src '{}'; base-uri 'none'; form-action 'none'; \
         require-trusted-types-for 'script'; trusted-types 'none'",
        hash(STYLE),
        hash(SCRIPT)
    );
    let mut page = String::new();
    // The inserted texts are not searched for names.
    for (index, part) in TEMPLATE.split("{{").enumerate() {
        let Some((name, rest)) = part.split_once("}}").filter(|_| index > 0) else {
            page.push_str(part);
            continue;
        };
        match name {
            "policy" => page.push_str(&policy),
            "title" => page.push_str(&escaped(&visible(title))),
            "generator" => page.push_str(concat!("toft report ", env!("CARGO_PKG_VERSION"))),
            "style" => page.push_str(STYLE),
            "script" => page.push_str(SCRIPT),
            "text" => page.push_str(&escaped(text)),
            _ => {
                add_block(&mut page, "data", &shared);
                page.push_str(&blocks);
            }
        }
        page.push_str(rest);
    }
    page
}

/// JSON that the page reads when it shows it. Without `<` it cannot end its element.
fn add_block(page: &mut String, id: &str, value: &impl Serialize) {
    // No map of these types has keys that are not strings, the only cause of an error.
    let json = serde_json::to_string(value).unwrap_or_default().replace('<', "\\u003c");
    page.push_str(&format!("<script type=\"application/json\" id=\"{id}\">{json}</script>\n"));
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}

/// The source expression by which a policy allows one text of a script or style.
fn hash(text: &str) -> String {
    format!("sha256-{}", base64::engine::general_purpose::STANDARD.encode(hmac_sha256::Hash::hash(text.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_never_parse_markup() {
        for name in
            ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "DOMParser", "eval(", "Function("]
        {
            assert!(!SCRIPT.contains(name), "{name}");
        }
        assert!(!SCRIPT.contains("</") && !STYLE.contains("</"));
    }

    #[test]
    fn nothing_is_loaded() {
        for name in ["http://", "https://", "url(", "@import", "fetch(", "XMLHttpRequest", "WebSocket", "import("] {
            let script = SCRIPT.replace("http://www.w3.org/2000/svg", "");
            assert!(!script.contains(name) && !STYLE.contains(name) && !TEMPLATE.contains(name), "{name}");
        }
    }

    #[test]
    fn a_block_cannot_be_ended_by_its_data() {
        let mut page = String::new();
        add_block(&mut page, "x", &json!(["</script><!--", number(1 << 53), number((1 << 53) - 1)]));
        let inside = page
            .strip_prefix("<script type=\"application/json\" id=\"x\">")
            .and_then(|page| page.strip_suffix("</script>\n"));
        let inside = inside.unwrap();
        assert!(!inside.contains('<'));
        let read: Value = serde_json::from_str(inside).unwrap();
        assert_eq!(read, json!(["</script><!--", "9007199254740992", 9007199254740991u64]));
    }
}
