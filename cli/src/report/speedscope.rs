//! Call sites in the file format of speedscope: two profiles, of bytes and of allocations.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::graph::{Amount, Graph};
use serde_json::json;
use std::collections::HashMap;
use std::io::Write;

/// The parts of a tag's path are the outermost frames of its stacks.
pub fn write(graph: &Graph, amounts: &[Amount], name: &str, mut out: impl Write) -> std::io::Result<()> {
    let mut frames: Vec<_> = graph
        .frames
        .values()
        .iter()
        .map(|frame| {
            let mut shown = json!({"name": graph.text(frame.label)});
            for (member, text) in [("file", graph.text(frame.file))] {
                if !text.is_empty() {
                    shown[member] = text.into();
                }
            }
            for (member, number) in [("line", frame.line), ("col", frame.column)] {
                if number != 0 {
                    shown[member] = number.into();
                }
            }
            shown
        })
        .collect();
    let mut tags = HashMap::new();
    let stacks: Vec<Vec<u32>> = amounts
        .iter()
        .map(|amount| {
            let site = graph.sites.get(amount.site);
            let mut stack: Vec<u32> = graph.stack_numbers(site.node).collect();
            stack.reverse();
            let parts = graph.text(site.tag).split('/').filter(|part| !part.is_empty());
            let mut whole: Vec<u32> = parts
                .map(|part| {
                    *tags.entry(part).or_insert_with(|| {
                        frames.push(json!({"name": format!("tag {part}")}));
                        frames.len() as u32 - 1
                    })
                })
                .collect();
            whole.append(&mut stack);
            whole
        })
        .collect();
    let profile = |what: &str, unit: &str, weight: fn(&Amount) -> u64| {
        let weights: Vec<u64> = amounts.iter().map(weight).collect();
        let end: u64 = weights.iter().fold(0, |sum, weight| sum.saturating_add(*weight));
        json!({"type": "sampled", "name": what, "unit": unit, "startValue": 0, "endValue": end, "samples": stacks,
               "weights": weights})
    };
    let file = json!({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "name": name,
        "activeProfileIndex": 0,
        "exporter": concat!("toft ", env!("CARGO_PKG_VERSION")),
        "shared": {"frames": frames},
        "profiles": [
            profile("allocated bytes", "bytes", |amount| amount.bytes),
            profile("allocations", "none", |amount| amount.count),
        ],
    });
    serde_json::to_writer(&mut out, &file)?;
    out.flush()
}
