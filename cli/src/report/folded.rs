//! Call sites as folded stacks, a line each: `outermost;...;newest 123`. flamegraph.pl and inferno-flamegraph read them.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::graph::{Amount, Graph};
use std::io::Write;

/// The parts of a tag's path are the outermost frames of its stacks. A semicolon in a name becomes a colon. A blank before a number at
/// the end of a name becomes an underscore: inferno reads two numbers as those of a difference.
pub fn write(
    graph: &Graph,
    amounts: &[Amount],
    weight: impl Fn(&Amount) -> u64,
    mut out: impl Write,
) -> std::io::Result<()> {
    for amount in amounts.iter().filter(|amount| weight(amount) != 0) {
        let site = graph.sites.get(amount.site);
        let mut calls: Vec<_> = graph.stack(site.node).map(|frame| graph.text(frame.label).to_string()).collect();
        let parts = graph.text(site.tag).split('/').filter(|part| !part.is_empty());
        calls.extend(parts.rev().map(|part| format!("tag {part}")));
        if calls.is_empty() {
            calls.push("unknown call site".into());
        }
        let line: Vec<_> = calls.iter().rev().map(|call| without_number(&call.replace(';', ":"))).collect();
        writeln!(out, "{} {}", line.join(";"), weight(amount))?;
    }
    Ok(())
}

fn without_number(name: &str) -> String {
    let is_number = |end: &str| !end.is_empty() && end.chars().all(|c| c.is_ascii_digit() || c == '.');
    match name.trim_end().rsplit_once(' ') {
        Some((begin, end)) if is_number(end) => format!("{begin}_{end}"),
        _ => name.trim_end().into(),
    }
}
