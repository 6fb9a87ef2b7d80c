//! One self-contained HTML page. Its data are blocks of JSON; the scripts in page/ show them.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::finding;
use super::graph::{visible, Amount, Frame, Graph, Kind};
use super::snapshot::{self, Moment, Report};
use super::text;
use crate::advice::{self, Advice};
use base64::Engine;
use serde::Serialize;
use serde_json::{json, Value};
use std::collections::BTreeMap;

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
const LARGEST_INTEGER: u128 = (1 << 53) - 1;

/// The value with texts that a browser only shows, and with strings for the numbers that JavaScript does not read exactly.
fn shown(value: Value) -> Value {
    match value {
        Value::String(text) => visible(&text).into(),
        Value::Number(number) if number.as_i128().is_some_and(|n| n.unsigned_abs() > LARGEST_INTEGER) => {
            number.to_string().into()
        }
        Value::Array(list) => list.into_iter().map(shown).collect(),
        Value::Object(members) => members.into_iter().map(|(name, value)| (name, shown(value))).collect(),
        other => other,
    }
}

/// A page of a series. `compare`: the first snapshot is shown as the base of the last.
pub fn series(moments: &[Moment], title: &str, compare: bool) -> String {
    let mut graph = Graph::new(!compare);
    let mut views: Vec<&str> = Vec::new();
    let mut blocks = String::new();
    let mut all = Vec::new();
    for (at, moment) in moments.iter().enumerate() {
        let mut stats = serde_json::Map::new();
        for view in &moment.views {
            let number = views.iter().position(|name| *name == view.name).unwrap_or_else(|| {
                views.push(&view.name);
                views.len() - 1
            });
            stats.insert(number.to_string(), json!(view.report.stats));
            let amounts = graph.report(&view.report);
            add_block(&mut blocks, &format!("report-{at}-{number}"), &shown(report(&view.report, &amounts)));
        }
        let findings: Vec<String> = moment.findings.iter().map(finding::sentence).collect();
        all.push(
            json!({"label": moment.label, "stats": stats, "findings": findings, "findings_of": moment.findings_of}),
        );
    }
    let last = &moments[moments.len() - 1];
    let view = views.iter().position(|name| *name == last.views[last.main_view()].name);
    let data = json!({"kind": "snapshot", "moments": all, "views": views, "view": view,
        "base": if compare { json!(0) } else { json!(null) }});
    let text = match compare {
        true => text::difference(&moments[0], last, 10, TEXT_WIDTH),
        false => text::series(moments, 10, TEXT_WIDTH),
    };
    page(title, &text, data, graph, blocks)
}

/// One report of one snapshot.
fn report(of: &Report, amounts: &[Amount]) -> Value {
    let budgets = snapshot::tree(&of.budgets).into_iter().flat_map(|(depth, budget)| {
        let name = format!("{}{}", "\u{2003}".repeat(depth), budget.name);
        let live = budget.live.map(|of| json!([format!("{name} (live bytes)"), of.live, of.limit]));
        let of = budget.reserved;
        [json!([name, of.reserved, of.limit])].into_iter().chain(live)
    });
    let mut block = sites(amounts);
    block["budgets"] = budgets.collect();
    block["tags"] = json!(of.tags);
    block["phases"] = json!(of.phases);
    block
}

fn sites(amounts: &[Amount]) -> Value {
    let column = |of: fn(&Amount) -> u64| amounts.iter().map(of).collect::<Vec<u64>>();
    let (site, count, bytes) = (column(|of| of.site.into()), column(|of| of.count), column(|of| of.bytes));
    json!({"site": site, "count": count, "bytes": bytes})
}

/// The data are the members of the advice, with numbers of the graph in place of functions and stacks.
pub fn advice(of: &Advice) -> String {
    let mut graph = Graph::new(true);
    let amounts = graph.advice(&of.sites);
    let mut data = json!(Advice { sites: Vec::new(), modules: Vec::new(), ..of.clone() });
    data["verdict"] = text::verdict(of.verdict).into();
    data["at_peak"] = stacks(&mut graph, &of.at_peak, false);
    data["growing"] = stacks(&mut graph, &of.growing, false);
    data["temporary"] = stacks(&mut graph, &of.temporary, true);
    for (at, scope) in of.scopes.iter().enumerate() {
        let data = &mut data["scopes"][at];
        data["function"] = graph.frame(&scope.function).into();
        data["recipe"] = text::recipe(scope.recipe).into();
        data["instance"] = text::instance(scope.recipe).into();
        data["sites"] = stacks(&mut graph, &scope.sites, false);
        data["resets"] = stacks(&mut graph, &scope.resets, true);
        for (at, escape) in scope.escapes.iter().enumerate() {
            let (node, freed) = (graph.stack_of(&escape.allocated), graph.stack_of(&escape.freed));
            data["escapes"][at] = json!({"node": node, "freed": freed, "count": escape.count, "bytes": escape.bytes});
        }
    }
    let mut blocks = String::new();
    add_block(&mut blocks, "report-0-0", &shown(sites(&amounts)));
    let title = format!("Advice: {}", of.command.join(" "));
    page(&title, &text::advice(of, TEXT_WIDTH), json!({"kind": "advice", "advice": data}), graph, blocks)
}

fn stacks(graph: &mut Graph, sites: &[advice::Site], by_count: bool) -> Value {
    let amounts = if by_count { graph.advice_by_count(sites) } else { graph.advice(sites) };
    let stack = |of: &Amount| json!({"node": graph.sites.get(of.site).node, "count": of.count, "bytes": of.bytes});
    amounts.iter().map(stack).collect()
}

/// What all views of the page share. The graph is in columns, which are compact: each is a list of small numbers.
#[derive(Serialize)]
struct Shared<'a> {
    #[serde(flatten)]
    page: Value,
    strings: Vec<&'a str>,
    #[serde(flatten)]
    tables: BTreeMap<&'a str, BTreeMap<&'a str, Vec<u32>>>,
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
    let frames = [("label", label), ("file", file), ("place", place), ("module", module), ("kind", kind)];
    let (nodes, sites) = (graph.nodes.values().iter(), graph.sites.values().iter());
    let nodes = [("parent", nodes.clone().map(|n| n.parent).collect()), ("frame", nodes.map(|n| n.frame).collect())];
    let sites = [("tag", sites.clone().map(|s| s.tag).collect()), ("node", sites.map(|s| s.node).collect())];
    let shared = Shared {
        page: shown(data),
        strings: graph.strings.values().iter().map(|text| &**text).collect(),
        tables: [("frames", frames.into()), ("nodes", nodes.into()), ("sites", sites.into())].into(),
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
    fn scripts_neither_parse_markup_nor_load() {
        let script = SCRIPT.replace("http://www.w3.org/2000/svg", "");
        let parse = "innerHTML outerHTML insertAdjacentHTML document.write DOMParser eval( Function(";
        let load = "http:// https:// url( @import fetch( XMLHttpRequest WebSocket import(";
        for name in parse.split(' ').chain(load.split(' ')) {
            assert!(![&script, STYLE, TEMPLATE].iter().any(|text| text.contains(name)), "{name}");
        }
        assert!(!SCRIPT.contains("</") && !STYLE.contains("</"));
    }
}
