//! Call sites as a profile for pprof: `go tool pprof OUT.pb.gz`.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::graph::{Amount, Frame, Graph, Kind};
use super::snapshot;
use prost::Message;
use std::collections::HashMap;
use std::io::Write;

/// The messages and fields of pprof's proto/profile.proto that this program writes.
mod proto {
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Profile {
        #[prost(message, repeated, tag = "1")]
        pub sample_type: Vec<ValueType>,
        #[prost(message, repeated, tag = "2")]
        pub sample: Vec<Sample>,
        #[prost(message, repeated, tag = "3")]
        pub mapping: Vec<Mapping>,
        #[prost(message, repeated, tag = "4")]
        pub location: Vec<Location>,
        #[prost(message, repeated, tag = "5")]
        pub function: Vec<Function>,
        /// Entry 0 is empty. Strings of the other messages are indices into it.
        #[prost(string, repeated, tag = "6")]
        pub string_table: Vec<String>,
        #[prost(int64, tag = "14")]
        pub default_sample_type: i64,
    }

    #[derive(Clone, Copy, PartialEq, prost::Message)]
    pub struct ValueType {
        #[prost(int64, tag = "1")]
        pub r#type: i64,
        #[prost(int64, tag = "2")]
        pub unit: i64,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Sample {
        /// The newest call first.
        #[prost(uint64, repeated, tag = "1")]
        pub location_id: Vec<u64>,
        #[prost(int64, repeated, tag = "2")]
        pub value: Vec<i64>,
        #[prost(message, repeated, tag = "3")]
        pub label: Vec<Label>,
    }

    #[derive(Clone, Copy, PartialEq, prost::Message)]
    pub struct Label {
        #[prost(int64, tag = "1")]
        pub key: i64,
        #[prost(int64, tag = "2")]
        pub str: i64,
    }

    #[derive(Clone, Copy, PartialEq, prost::Message)]
    pub struct Mapping {
        #[prost(uint64, tag = "1")]
        pub id: u64,
        #[prost(uint64, tag = "2")]
        pub memory_start: u64,
        #[prost(uint64, tag = "3")]
        pub memory_limit: u64,
        #[prost(uint64, tag = "4")]
        pub file_offset: u64,
        #[prost(int64, tag = "5")]
        pub filename: i64,
        #[prost(int64, tag = "6")]
        pub build_id: i64,
        /// These four keep pprof from looking for symbols.
        #[prost(bool, tag = "7")]
        pub has_functions: bool,
        #[prost(bool, tag = "8")]
        pub has_filenames: bool,
        #[prost(bool, tag = "9")]
        pub has_line_numbers: bool,
        #[prost(bool, tag = "10")]
        pub has_inline_frames: bool,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Location {
        #[prost(uint64, tag = "1")]
        pub id: u64,
        #[prost(uint64, tag = "2")]
        pub mapping_id: u64,
        #[prost(uint64, tag = "3")]
        pub address: u64,
        /// The innermost inlined call first.
        #[prost(message, repeated, tag = "4")]
        pub line: Vec<Line>,
    }

    #[derive(Clone, Copy, PartialEq, prost::Message)]
    pub struct Line {
        #[prost(uint64, tag = "1")]
        pub function_id: u64,
        #[prost(int64, tag = "2")]
        pub line: i64,
        #[prost(int64, tag = "3")]
        pub column: i64,
    }

    #[derive(Clone, Copy, PartialEq, prost::Message)]
    pub struct Function {
        #[prost(uint64, tag = "1")]
        pub id: u64,
        #[prost(int64, tag = "2")]
        pub name: i64,
        #[prost(int64, tag = "3")]
        pub system_name: i64,
        #[prost(int64, tag = "4")]
        pub filename: i64,
    }
}

/// The format has signed numbers.
fn signed(number: u64) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

/// The tables of a profile, while it is made.
struct Builder<'a> {
    graph: &'a Graph,
    strings: Vec<String>,
    mapping: Vec<proto::Mapping>,
    function: Vec<proto::Function>,
    location: Vec<proto::Location>,
    /// Numbers of mappings by their begin and path, functions by name and file, and locations by frames.
    mappings: HashMap<(u64, u32), u64>,
    functions: HashMap<(u32, u32), u64>,
    locations: HashMap<Vec<u32>, u64>,
}

impl Builder<'_> {
    fn string(&mut self, text: &str) -> i64 {
        self.strings.push(text.into());
        self.strings.len() as i64 - 1
    }

    fn value_type(&mut self, name: &str, unit: &str) -> proto::ValueType {
        proto::ValueType { r#type: self.string(name), unit: self.string(unit) }
    }

    /// That of a frame, and whether it has addresses. 0: none.
    fn mapping(&mut self, address: u64, path: u32) -> (u64, bool) {
        let graph = self.graph;
        let module = if address == 0 { None } else { snapshot::Module::of(&graph.modules, address) };
        if module.is_none() && graph.text(path).is_empty() {
            return (0, false);
        }
        let begin = module.map_or(0, snapshot::Module::start);
        if let Some(id) = self.mappings.get(&(begin, path)) {
            return (*id, module.is_some());
        }
        let id = self.mapping.len() as u64 + 1;
        let mut mapping = proto::Mapping {
            id,
            filename: path.into(),
            has_functions: true,
            has_filenames: true,
            has_line_numbers: true,
            has_inline_frames: true,
            ..proto::Mapping::default()
        };
        if let Some(module) = module {
            mapping.memory_start = begin;
            mapping.memory_limit = begin.saturating_add(module.size);
            mapping.file_offset = module.offset;
            mapping.filename = self.string(&module.module);
            mapping.build_id = self.string(module.build_id.as_deref().unwrap_or(""));
        }
        self.mapping.push(mapping);
        self.mappings.insert((begin, path), id);
        (id, module.is_some())
    }

    fn line(&mut self, frame: &Frame) -> proto::Line {
        let function = &mut self.function;
        let function_id = *self.functions.entry((frame.label, frame.file)).or_insert_with(|| {
            let (id, name) = (function.len() as u64 + 1, frame.label.into());
            function.push(proto::Function { id, name, system_name: name, filename: frame.file.into() });
            id
        });
        proto::Line { function_id, line: signed(frame.line), column: signed(frame.column) }
    }

    /// A call and those that are inlined into it, which come before it.
    fn location(&mut self, numbers: Vec<u32>) -> u64 {
        if let Some(id) = self.locations.get(&numbers) {
            return *id;
        }
        let graph = self.graph;
        let frames: Vec<&Frame> = numbers.iter().map(|number| graph.frames.get(*number)).collect();
        let address = numbers.first().and_then(|number| graph.addresses.get(number)).map_or(0, |behind| behind - 1);
        let module = frames.first().map_or(0, |frame| frame.module);
        let (mapping_id, has_address) = self.mapping(if address == 0 { 0 } else { address + 1 }, module);
        let unnamed = has_address && frames.iter().any(|frame| frame.kind == Kind::Unnamed);
        if unnamed {
            // pprof looks for the names.
            let mapping = &mut self.mapping[mapping_id as usize - 1];
            mapping.has_functions = false;
            mapping.has_filenames = false;
            mapping.has_line_numbers = false;
            mapping.has_inline_frames = false;
        }
        let line = if unnamed { Vec::new() } else { frames.into_iter().map(|frame| self.line(frame)).collect() };
        let id = self.location.len() as u64 + 1;
        self.location.push(proto::Location { id, mapping_id, address, line });
        self.locations.insert(numbers, id);
        id
    }

    fn sample(&mut self, amount: &Amount, tag: i64) -> proto::Sample {
        let graph = self.graph;
        let site = graph.sites.get(amount.site);
        let label = (!graph.text(site.tag).is_empty()).then_some(proto::Label { key: tag, str: site.tag.into() });
        let mut location_id = Vec::new();
        let mut call = Vec::new();
        for number in graph.stack_numbers(site.node) {
            call.push(number);
            if graph.frames.get(number).kind != Kind::Inlined {
                location_id.push(self.location(std::mem::take(&mut call)));
            }
        }
        if !call.is_empty() {
            location_id.push(self.location(call));
        }
        let value = vec![signed(amount.count), signed(amount.bytes)];
        proto::Sample { location_id, value, label: label.into_iter().collect() }
    }
}

/// Writes a compressed profile of allocated objects and bytes; tags are labels with the key `tag`.
pub fn write(graph: &Graph, amounts: &[Amount], out: impl Write) -> std::io::Result<()> {
    let mut builder = Builder {
        graph,
        // The graph's strings keep their numbers; the first of both is empty.
        strings: graph.strings.values().iter().map(|text| text.to_string()).collect(),
        mapping: Vec::new(),
        function: Vec::new(),
        location: Vec::new(),
        mappings: HashMap::new(),
        functions: HashMap::new(),
        locations: HashMap::new(),
    };
    let sample_type = vec![builder.value_type("alloc_objects", "count"), builder.value_type("alloc_space", "bytes")];
    let (default_sample_type, tag) = (sample_type[1].r#type, builder.string("tag"));
    // The first mapping, that of an outermost call, is the program.
    if let Some(outermost) =
        amounts.first().and_then(|amount| graph.stack_numbers(graph.sites.get(amount.site).node).last())
    {
        builder.location(vec![outermost]);
    }
    let sample = amounts.iter().map(|amount| builder.sample(amount, tag)).collect();
    let Builder { strings: string_table, mapping, function, location, .. } = builder;
    let profile =
        proto::Profile { sample_type, sample, mapping, location, function, string_table, default_sample_type };
    let mut out = flate2::write::GzEncoder::new(out, flate2::Compression::default());
    out.write_all(&profile.encode_to_vec())?;
    out.finish()?.flush()
}
