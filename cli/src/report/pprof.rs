//! Call sites as a profile for pprof: `go tool pprof OUT.pb.gz`. The numbers of fields are those of its proto/profile.proto.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::graph::{Amount, Graph, Kind, Table};
use super::skip::Skip;
use crate::frame::Module;
use std::collections::{BTreeSet, HashSet};
use std::io::Write;

/// A message of protobuf while it is written. A generator of code would compile longer than this program, for two kinds of fields.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut number: u64) {
        while number > 0x7F {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    /// The format has signed numbers, and 0 where a field is missing.
    fn number(mut self, field: u64, number: u64) -> Message {
        if number != 0 {
            self.varint(field << 3);
            self.varint(number.min(i64::MAX as u64));
        }
        self
    }

    /// A text, a message or a list.
    fn bytes(mut self, field: u64, bytes: &[u8]) -> Message {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    fn numbers(self, field: u64, numbers: &[u64]) -> Message {
        let mut list = Message::default();
        numbers.iter().for_each(|number| list.varint((*number).min(i64::MAX as u64)));
        self.bytes(field, &list.0)
    }
}

/// The tables of a profile. The number of an entry in the file is one more than that in its table.
struct Tables<'a> {
    graph: &'a Graph,
    /// A call and those that are inlined into it, which come before it: numbers of frames.
    locations: Table<Vec<u32>>,
    /// The begin of the module, 0 where it is not known, and the path in the frame.
    mappings: Table<(u64, u32)>,
    /// Name and file.
    functions: Table<(u32, u32)>,
    /// Mappings in which a call has no name.
    unnamed: HashSet<u32>,
}

impl Tables<'_> {
    fn sample(&mut self, amount: &Amount, tag: u64) -> Message {
        let graph = self.graph;
        let site = graph.sites.get(amount.site);
        let (mut locations, mut call) = (Vec::new(), Vec::new());
        for number in graph.stack_numbers(site.node) {
            call.push(number);
            if graph.frames.get(number).kind != Kind::Inlined {
                locations.push(u64::from(self.locations.add(std::mem::take(&mut call))) + 1);
            }
        }
        if !call.is_empty() {
            locations.push(u64::from(self.locations.add(call)) + 1);
        }
        let sample = Message::default().numbers(1, &locations).numbers(2, &[amount.count, amount.bytes]);
        match graph.text(site.tag) {
            "" => sample,
            _ => sample.bytes(3, &Message::default().number(1, tag).number(2, site.tag.into()).0),
        }
    }

    fn location(&mut self, id: u64, numbers: &[u32]) -> Message {
        let graph = self.graph;
        let frames = || numbers.iter().map(|number| graph.frames.get(*number));
        let behind = numbers.first().and_then(|number| graph.addresses.get(number)).copied();
        let module = behind.and_then(|behind| Module::of(&graph.modules, behind));
        let path = frames().next().map_or(0, |frame| frame.module);
        let location = Message::default().number(1, id).number(3, behind.map_or(0, |behind| behind - 1));
        if module.is_none() && graph.text(path).is_empty() {
            return self.with_lines(location, numbers);
        }
        let mapping = self.mappings.add((module.map_or(0, Module::start), path));
        let location = location.number(2, u64::from(mapping) + 1);
        if module.is_some() && frames().any(|frame| frame.kind == Kind::Unnamed) {
            self.unnamed.insert(mapping);
            return location; // pprof looks for the names
        }
        self.with_lines(location, numbers)
    }

    /// The innermost inlined call first.
    fn with_lines(&mut self, location: Message, numbers: &[u32]) -> Message {
        numbers.iter().fold(location, |location, number| {
            let frame = self.graph.frames.get(*number);
            let function = u64::from(self.functions.add((frame.label, frame.file))) + 1;
            let line = Message::default().number(1, function).number(2, frame.line).number(3, frame.column);
            location.bytes(4, &line.0)
        })
    }
}

/// Writes a compressed profile of allocated objects and bytes; tags are labels with the key `tag`. pprof does not show wrappers.
pub fn write(graph: &Graph, amounts: &[Amount], skip: &Skip, out: impl Write) -> std::io::Result<()> {
    // The graph's strings keep their numbers; the first of both is empty.
    let mut strings: Vec<&str> = graph.strings.values().iter().map(|text| &**text).collect();
    let mut string = |text| {
        strings.push(text);
        strings.len() as u64 - 1
    };
    let wrappers = wrappers(graph, amounts, skip);
    let [objects, count, space, bytes, tag] =
        ["alloc_objects", "count", "alloc_space", "bytes", "tag"].map(&mut string);
    let mut profile = Message::default().number(14, space);
    for (kind, unit) in [(objects, count), (space, bytes)] {
        profile = profile.bytes(1, &Message::default().number(1, kind).number(2, unit).0);
    }
    let (locations, mappings, functions) = (Table::new(), Table::new(), Table::new());
    let mut tables = Tables { graph, locations, mappings, functions, unnamed: HashSet::new() };
    // The first mapping, that of an outermost call, is the program.
    if let Some(outermost) =
        amounts.first().and_then(|first| graph.stack_numbers(graph.sites.get(first.site).node).last())
    {
        tables.locations.add(vec![outermost]);
    }
    for amount in amounts {
        profile = profile.bytes(2, &tables.sample(amount, tag).0);
    }
    let locations = std::mem::replace(&mut tables.locations, Table::new());
    for (id, numbers) in (1..).zip(locations.values()) {
        profile = profile.bytes(4, &tables.location(id, numbers).0);
    }
    for (id, (name, file)) in (1..).zip(tables.functions.values()) {
        let function = Message::default().number(1, id).number(2, (*name).into()).number(3, (*name).into());
        profile = profile.bytes(5, &function.number(4, (*file).into()).0);
    }
    for (id, (begin, path)) in (1..).zip(tables.mappings.values()) {
        let mut mapping = Message::default().number(1, id);
        mapping = match graph.modules.iter().find(|module| *begin != 0 && module.start() == *begin) {
            Some(of) => {
                let end = begin.saturating_add(of.size);
                mapping = mapping.number(2, *begin).number(3, end).number(4, of.offset).number(5, string(&of.module));
                mapping.number(6, string(of.build_id.as_deref().unwrap_or("")))
            }
            None => mapping.number(5, (*path).into()),
        };
        // These four keep pprof from looking for symbols.
        let is_named = u64::from(!tables.unnamed.contains(&(id as u32 - 1)));
        profile = profile.bytes(3, &(7..=10).fold(mapping, |mapping, field| mapping.number(field, is_named)).0);
    }
    profile = profile.number(7, string(&wrappers));
    let profile = strings.iter().fold(profile, |profile, text| profile.bytes(6, text.as_bytes()));
    let mut out = flate2::write::GzEncoder::new(out, flate2::Compression::default());
    out.write_all(&profile.0)?;
    out.finish()?.flush()
}

/// The expression by which pprof drops wrappers at the ends of stacks. It drops all calls that a matching one makes, and compares
/// names without arguments: it contains those that call nothing but wrappers.
fn wrappers(graph: &Graph, amounts: &[Amount], skip: &Skip) -> String {
    let (mut dropped, mut kept) = (BTreeSet::new(), HashSet::new());
    for amount in amounts {
        let stack = graph.stack(graph.sites.get(amount.site).node);
        let names: Vec<&str> = stack.map(|frame| graph.text(frame.label)).collect();
        let first = names.iter().position(|name| !skip.is_wrapper(name)).unwrap_or(0);
        dropped.extend(names[..first].iter().copied());
        kept.extend(names[first..].iter().copied());
    }
    let name = |name: &&str| {
        let end = name.match_indices('(').find(|(at, _)| !name[*at..].starts_with("(anonymous namespace)"));
        end.map_or(regex_lite::escape(name), |(at, _)| regex_lite::escape(&name[..at]) + r"(\(.*)?")
    };
    dropped.iter().filter(|name| !kept.contains(*name)).map(name).collect::<Vec<_>>().join("|")
}
