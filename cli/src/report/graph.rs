//! The call sites of a document, with each name, frame and common part of two stacks stored once. Text, page and exports
//! are made from it.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::snapshot::{self, Report};
use crate::advice;
use crate::frame::{self, Module};
use std::collections::HashMap;
use std::fmt::Write;
use std::hash::Hash;
use std::rc::Rc;

/// Values with numbers from 0, each once.
pub struct Table<T> {
    values: Vec<T>,
    numbers: HashMap<T, u32>,
}

impl<T: Clone + Eq + Hash> Table<T> {
    pub fn new() -> Table<T> {
        Table { values: Vec::new(), numbers: HashMap::new() }
    }

    pub fn add(&mut self, value: T) -> u32 {
        if let Some(number) = self.numbers.get(&value) {
            return *number;
        }
        let number = self.values.len() as u32;
        self.values.push(value.clone());
        self.numbers.insert(value, number);
        number
    }

    pub fn get(&self, number: u32) -> &T {
        &self.values[number as usize]
    }

    pub fn values(&self) -> &[T] {
        &self.values
    }
}

/// One call of a stack. Strings are numbers in [`Graph::strings`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    pub kind: Kind,
    /// The name of the function; of `Unnamed` its address and module, of `Place` the location.
    pub label: u32,
    /// Empty: not known.
    pub file: u32,
    pub line: u64,
    /// Of Rust's sites; 0: not known.
    pub column: u64,
    /// Within the function, if there is no line; distinguishes two calls of one function.
    pub offset: u64,
    /// The program or shared library. Empty: not known.
    pub module: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Call,
    /// A call whose function is not known: the label is its address and module.
    Unnamed,
    /// A call that was inlined into the next one.
    Inlined,
    /// The location of a call whose stack was not recorded.
    Place,
}

/// The end of a stack: a frame and the stack of its callers. Node 0 is the empty stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    pub parent: u32,
    pub frame: u32,
}

/// Allocations from one stack under one tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Site {
    pub tag: u32,
    pub node: u32,
}

pub struct Graph {
    pub strings: Table<Rc<str>>,
    pub frames: Table<Frame>,
    pub nodes: Table<Node>,
    pub sites: Table<Site>,
    /// Of the first call of each frame, behind the call.
    pub addresses: HashMap<u32, u64>,
    /// Of the last report, or of the advice.
    pub modules: Vec<Module>,
    offsets: bool,
}

/// A site of one report, and its allocations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount {
    pub site: u32,
    pub count: u64,
    pub bytes: u64,
}

impl Graph {
    /// `offsets`: whether two calls of one function that have no line are two sites. A difference of two programs
    /// ignores offsets, which change with every change of the code.
    pub fn new(offsets: bool) -> Graph {
        let mut graph = Graph {
            strings: Table::new(),
            frames: Table::new(),
            nodes: Table::new(),
            sites: Table::new(),
            addresses: HashMap::new(),
            modules: Vec::new(),
            offsets,
        };
        let empty = graph.string("");
        let frame = Frame { kind: Kind::Call, label: empty, file: empty, line: 0, column: 0, offset: 0, module: empty };
        let frame = graph.frames.add(frame);
        graph.nodes.add(Node { parent: 0, frame });
        graph
    }

    pub fn string(&mut self, text: &str) -> u32 {
        self.strings.add(visible(text).into())
    }

    pub fn text(&self, number: u32) -> &str {
        self.strings.get(number)
    }

    /// The sites of a report, by bytes.
    pub fn report(&mut self, report: &Report) -> Vec<Amount> {
        self.modules.clone_from(&report.modules);
        let sites = report.sites.iter().map(|site| {
            let tag = self.string(&site.tag);
            let mut node = self.stack_of(&site.stack);
            // A number that is an address of code is that of the stack, or of a header of Toft.
            let number = site.site.number;
            if site.stack.is_empty() || number != 0 && Module::of(&report.modules, number).is_none() {
                let frame = self.place(&site.site);
                node = self.nodes.add(Node { parent: node, frame });
            }
            (self.sites.add(Site { tag, node }), site.count, site.bytes)
        });
        merged(sites.collect())
    }

    /// The sites of an advice, by bytes.
    pub fn advice(&mut self, sites: &[advice::Site]) -> Vec<Amount> {
        let sites = sites.iter().map(|site| {
            let (tag, node) = (self.string(""), self.stack_of(&site.stack));
            (self.sites.add(Site { tag, node }), site.count, site.bytes)
        });
        merged(sites.collect())
    }

    /// The same, by count.
    pub fn advice_by_count(&mut self, sites: &[advice::Site]) -> Vec<Amount> {
        let mut amounts = self.advice(sites);
        amounts.sort_by_key(|amount| std::cmp::Reverse(amount.count));
        amounts
    }

    /// The number of a stack, newest call first.
    pub fn stack_of(&mut self, stack: &[frame::Frame]) -> u32 {
        stack.iter().rev().fold(0, |parent, frame| {
            let frame = self.frame(frame);
            self.nodes.add(Node { parent, frame })
        })
    }

    pub fn frame(&mut self, frame: &frame::Frame) -> u32 {
        let module = frame.module.as_deref().unwrap_or_default();
        let label = match &frame.function {
            Some(function) => self.string(function),
            None if frame.address.is_empty() => {
                self.string(&format!("{}+{:#x}", base(module), frame.offset.unwrap_or(0)))
            }
            None if module.is_empty() => self.string(&frame.address),
            None => self.string(&format!("{} ({})", frame.address, base(module))),
        };
        let line = frame.line.unwrap_or(0);
        let has_offset = line == 0 && self.offsets && frame.function.is_some();
        let known = Frame {
            kind: match &frame.function {
                Some(_) if frame.inlined => Kind::Inlined,
                Some(_) => Kind::Call,
                None => Kind::Unnamed,
            },
            label,
            file: self.string(frame.file.as_deref().unwrap_or_default()),
            line,
            column: 0,
            offset: frame.offset.filter(|_| has_offset).unwrap_or(0),
            module: self.string(module),
        };
        let number = self.frames.add(known);
        let file_offset = frame.offset.filter(|_| frame.address.is_empty());
        let address = file_offset.map(|offset| self.modules.iter().find_map(|of| of.address_of(module, offset)));
        if let Some(address) = address.unwrap_or_else(|| frame.number()) {
            self.addresses.entry(number).or_insert(address);
        }
        number
    }

    fn place(&mut self, place: &snapshot::Place) -> u32 {
        let label = match (place.file.as_str(), place.number) {
            ("", 0) => self.string("unknown call site"),
            ("", number) => self.string(&format!("site {number:#x}")),
            (file, _) if place.column == 0 => self.string(&format!("{file}:{}", place.line)),
            (file, _) => self.string(&format!("{file}:{}:{}", place.line, place.column)),
        };
        let (file, module) = (self.string(&place.file), self.string(""));
        let (line, column) = (place.line, place.column);
        self.frames.add(Frame { kind: Kind::Place, label, file, line, column, offset: 0, module })
    }

    /// The calls of a stack, newest first.
    pub fn stack(&self, node: u32) -> impl Iterator<Item = &Frame> {
        self.stack_numbers(node).map(|frame| self.frames.get(frame))
    }

    /// The numbers of its frames.
    pub fn stack_numbers(&self, node: u32) -> impl Iterator<Item = u32> {
        let mut next = node;
        std::iter::from_fn(move || {
            let node = (next != 0).then(|| self.nodes.get(next))?;
            next = node.parent;
            Some(node.frame)
        })
    }

    /// Where in the source, or else in the function or module, a call is. Empty: not known, or in the label.
    pub fn place_of(&self, frame: &Frame) -> String {
        let (file, module) = (self.text(frame.file), self.text(frame.module));
        if frame.kind == Kind::Place || (frame.kind == Kind::Unnamed && file.is_empty()) {
            String::new()
        } else if !file.is_empty() && frame.line != 0 {
            format!("{file}:{}", frame.line)
        } else if !file.is_empty() {
            file.into()
        } else if frame.offset != 0 {
            format!("+{:#x}{}{}", frame.offset, if module.is_empty() { "" } else { " in " }, base(module))
        } else {
            base(module).into()
        }
    }
}

/// One amount for each site, the largest first.
fn merged(all: Vec<(u32, u64, u64)>) -> Vec<Amount> {
    let mut at = HashMap::new();
    let mut amounts: Vec<Amount> = Vec::with_capacity(all.len());
    for (site, count, bytes) in all {
        let index = *at.entry(site).or_insert(amounts.len());
        match amounts.get_mut(index) {
            Some(amount) => {
                amount.count = amount.count.saturating_add(count);
                amount.bytes = amount.bytes.saturating_add(bytes);
            }
            None => amounts.push(Amount { site, count, bytes }),
        }
    }
    amounts.sort_by_key(|amount| std::cmp::Reverse((amount.bytes, amount.count)));
    amounts
}

/// The file's name without its folders.
fn base(module: &str) -> &str {
    module.rsplit(['/', '\\']).next().unwrap_or(module)
}

/// The text with escapes for the characters that a terminal or browser obeys instead of showing: controls, and those that
/// change the direction of the text or have no width.
pub fn visible(text: &str) -> String {
    let mut visible = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => visible.push_str("\\n"),
            '\t' => visible.push_str("\\t"),
            '\u{AD}'
            | '\u{61C}'
            | '\u{200B}'..='\u{200F}'
            | '\u{2028}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}'
            | '\u{FEFF}' => {
                let _ = write!(visible, "\\u{{{:x}}}", u32::from(c));
            }
            c if c.is_control() => {
                let _ = write!(visible, "\\x{:02x}", u32::from(c));
            }
            c => visible.push(c),
        }
    }
    visible
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn graph(offsets: bool, sites: serde_json::Value) -> (Graph, Vec<Amount>) {
        let report = json!({"version": 1, "stats": {"live": 0, "allocated": 0, "peak": 0, "budget": null, "reserved": 0,
            "wasted": 0, "blocks": 0, "source_calls": 0}, "tags": [], "phases": [], "sites": sites});
        let mut graph = Graph::new(offsets);
        let amounts = graph.report(&serde_json::from_value(report).unwrap());
        (graph, amounts)
    }

    fn site(tag: &str, bytes: u64, stack: serde_json::Value) -> serde_json::Value {
        json!({"site": {"file": "", "line": 0, "column": 0, "number": 0}, "tag": tag, "count": 1, "bytes": bytes, "stack": stack})
    }

    #[test]
    fn common_parts_of_stacks_are_stored_once() {
        let main = json!({"address": "0x1", "function": "main", "offset": 1, "module": "/bin/game"});
        let f = |line| json!({"address": "0x2", "function": "f", "offset": line, "file": "f.c", "line": line});
        let sites = json!([
            site("a", 1, json!([f(1), main])),
            site("a", 2, json!([f(2), main])),
            site("a", 4, json!([f(1), main]))
        ]);
        let (graph, amounts) = graph(true, sites);
        assert_eq!((graph.nodes.values().len(), graph.sites.values().len()), (4, 2));
        assert_eq!(amounts.iter().map(|amount| (amount.count, amount.bytes)).collect::<Vec<_>>(), [(2, 5), (1, 2)]);
        let stack: Vec<_> = graph.stack(graph.sites.get(amounts[0].site).node).collect();
        let shown: Vec<_> = stack.iter().map(|frame| (graph.text(frame.label), graph.place_of(frame))).collect();
        assert_eq!(shown, [("f", "f.c:1".to_string()), ("main", "+0x1 in game".to_string())]);
    }

    #[test]
    fn a_difference_ignores_offsets_and_addresses() {
        let f = |offset: u64| json!([{"address": format!("{offset:#x}"), "function": "f", "offset": offset}]);
        let sites = json!([site("", 1, f(1)), site("", 2, f(2))]);
        assert_eq!(graph(true, sites.clone()).1.len(), 2);
        assert_eq!(graph(false, sites).1.len(), 1);
    }

    #[test]
    fn sites_without_a_stack_have_a_label() {
        let place = |file: &str, line: u64, column: u64, number: u64| {
            json!({"site": {"file": file, "line": line, "column": column, "number": number}, "tag": "", "count": 1,
                "bytes": line})
        };
        let sites = json!([place("a.rs", 3, 5, 0), place("a.c", 2, 0, 0), place("", 1, 0, 255), place("", 0, 0, 0)]);
        let (graph, amounts) = graph(true, sites);
        let labels: Vec<_> = amounts
            .iter()
            .map(|amount| graph.text(graph.stack(graph.sites.get(amount.site).node).next().unwrap().label))
            .collect();
        assert_eq!(labels, ["a.rs:3:5", "a.c:2", "site 0xff", "unknown call site"]);
    }
}
