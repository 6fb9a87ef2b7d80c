//! Call sites as a profile for pprof: `go tool pprof OUT.pb.gz`.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::graph::{Amount, Graph};
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
        #[prost(int64, tag = "5")]
        pub filename: i64,
        /// These two keep pprof from looking for symbols.
        #[prost(bool, tag = "7")]
        pub has_functions: bool,
        #[prost(bool, tag = "8")]
        pub has_filenames: bool,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Location {
        #[prost(uint64, tag = "1")]
        pub id: u64,
        #[prost(uint64, tag = "2")]
        pub mapping_id: u64,
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

/// Writes a compressed profile of allocated objects and bytes; tags are labels with the key `tag`.
pub fn write(graph: &Graph, amounts: &[Amount], out: impl Write) -> std::io::Result<()> {
    // The graph's strings keep their numbers; the first of both is empty.
    let mut strings: Vec<String> = graph.strings.values().iter().map(|text| text.to_string()).collect();
    let mut string = |text: &str| {
        strings.push(text.into());
        strings.len() as i64 - 1
    };
    let mut value_type = |name: &str, unit: &str| proto::ValueType { r#type: string(name), unit: string(unit) };
    let sample_type = vec![value_type("alloc_objects", "count"), value_type("alloc_space", "bytes")];
    let (default_sample_type, tag) = (sample_type[1].r#type, string("tag"));

    let (mut mapping, mut function, mut location) = (Vec::new(), Vec::new(), Vec::new());
    let (mut modules, mut functions) = (HashMap::new(), HashMap::new());
    // Frame 0 is that of the empty stack. The first mapping, that of an outermost call, is the program.
    for (number, frame) in graph.frames.values().iter().enumerate().skip(1) {
        let mapping_id = match graph.text(frame.module) {
            "" => 0,
            _ => *modules.entry(frame.module).or_insert_with(|| {
                let id = mapping.len() as u64 + 1;
                let filename = frame.module.into();
                mapping.push(proto::Mapping { id, filename, has_functions: true, has_filenames: true });
                id
            }),
        };
        let function_id = *functions.entry((frame.label, frame.file)).or_insert_with(|| {
            let (id, name) = (function.len() as u64 + 1, frame.label.into());
            function.push(proto::Function { id, name, system_name: name, filename: frame.file.into() });
            id
        });
        let line = vec![proto::Line { function_id, line: signed(frame.line), column: signed(frame.column) }];
        location.push(proto::Location { id: number as u64, mapping_id, line });
    }
    let sample = amounts.iter().map(|amount| {
        let site = graph.sites.get(amount.site);
        let label = (!graph.text(site.tag).is_empty()).then_some(proto::Label { key: tag, str: site.tag.into() });
        proto::Sample {
            location_id: graph.stack_numbers(site.node).map(u64::from).collect(),
            value: vec![signed(amount.count), signed(amount.bytes)],
            label: label.into_iter().collect(),
        }
    });
    let sample = sample.collect();
    let profile =
        proto::Profile { sample_type, sample, mapping, location, function, string_table: strings, default_sample_type };
    let mut out = flate2::write::GzEncoder::new(out, flate2::Compression::default());
    out.write_all(&profile.encode_to_vec())?;
    out.finish()?.flush()
}
