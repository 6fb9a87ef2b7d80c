//! The findings of a run as one JSON document, or in SARIF 2.1.0, which code views of forges show.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::findings::{name, place_of, Group, Place};
use crate::frame::Frame;
use crate::places::Places;
use serde_json::{json, Value};
use std::{collections::HashMap, ffi::OsString, fmt::Write, os::unix::ffi::OsStrExt, path::Path};

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people, with source lines.
    Text,
    /// One object with all groups of findings.
    Json,
    /// SARIF 2.1.0, for a forge's code view.
    Sarif,
}

/// The names of the members are those of docs/run.md.
pub fn json(groups: &[Group], command: &[OsString], code: Option<i32>, signal: Option<i32>) -> Value {
    let call = |of: &Frame| json!({"function": of.function, "file": of.file, "line": of.line, "column": of.column});
    let place = |place: &Place| {
        let stack: Vec<Value> = place.stack.iter().map(call).collect();
        json!({"role": place.role, "call": place.call, "thread": place.thread, "stack": stack})
    };
    let group = |group: &Group| {
        let places: Vec<Value> = group.places.iter().map(place).collect();
        json!({"kind": group.kind, "count": group.count, "text": group.text, "places": places})
    };
    let command: Vec<_> = command.iter().map(|part| part.to_string_lossy()).collect();
    let groups: Vec<Value> = groups.iter().map(group).collect();
    json!({"version": 1, "command": command, "exit_code": code, "signal": signal, "findings": groups})
}

/// The bytes of a path as a part of a URI.
fn uri(path: &Path) -> String {
    let mut uri = String::new();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => uri.push(char::from(*byte)),
            byte => {
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri
}

/// The base of relative locations: the current folder.
const BASE: &str = "SRCROOT";

fn location(call: &Frame, places: &Places, folder: &Path) -> Option<Value> {
    let file = Path::new(call.file.as_ref()?);
    let path = places.source(file).unwrap_or_else(|| file.to_owned());
    let path = path.canonicalize().unwrap_or(path);
    let artifact = match path.strip_prefix(folder) {
        Ok(within) => json!({"uri": uri(within), "uriBaseId": BASE}),
        Err(_) if path.is_relative() => json!({"uri": uri(&path), "uriBaseId": BASE}),
        Err(_) => json!({"uri": format!("file://{}", uri(&path))}),
    };
    let mut physical = json!({"artifactLocation": artifact});
    if let Some(line) = call.line {
        physical["region"] = json!({"startLine": line});
    }
    if let Some(column) = call.column {
        physical["region"]["startColumn"] = json!(column);
    }
    let mut location = json!({"physicalLocation": physical});
    if let Some(function) = &call.function {
        location["logicalLocations"] = json!([{"fullyQualifiedName": function, "kind": "function"}]);
    }
    Some(location)
}

/// The place to show a finding at: the call that is wrong, or the allocation whose bytes were written.
fn main_place(group: &Group) -> usize {
    let memory = ["overrun", "underrun", "late-write", "leak"].contains(&group.kind.as_str());
    let role = if memory { "allocated" } else { "noticed" };
    let has_file = |place: &Place| place.stack.first().is_some_and(|call| call.file.is_some());
    let places = || group.places.iter();
    let found = places().position(|place| place.role == role && has_file(place));
    found.or_else(|| places().position(has_file)).unwrap_or(0)
}

/// Without lines, so that a change elsewhere in a file leaves it as it is.
fn fingerprint(group: &Group) -> String {
    let mut text = group.kind.clone();
    for place in &group.places {
        let first = place.stack.first();
        let function = first.and_then(|call| call.function.as_deref()).unwrap_or("");
        let file = first.and_then(|call| call.file.as_deref()).unwrap_or("");
        text += &format!("\0{}\0{function}\0{}", place.role, file.rsplit('/').next().unwrap_or(file));
    }
    hmac_sha256::Hash::hash(text.as_bytes()).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

fn result(group: &Group, places: &Places, folder: &Path, times: &mut HashMap<String, u32>) -> Value {
    let main = main_place(group);
    let text: Vec<String> = group
        .places
        .iter()
        .filter_map(|place| Some(format!("{} at {}", place.words(), place_of(place.stack.first()?))))
        .collect();
    let message = [vec![group.sentence()], text].concat().join("; ");
    let print = fingerprint(group);
    let same = times.entry(print.clone()).or_default();
    *same += 1;
    let mut result = json!({
        "ruleId": group.kind,
        "level": level(&group.kind),
        "message": {"text": message},
        "occurrenceCount": group.count,
        "partialFingerprints": {"toftPlaces/v1": format!("{print}:{same}")},
    });
    let found = group.places.get(main).and_then(|place| location(place.stack.first()?, places, folder));
    let program = Frame { file: Some(places.executable.to_string_lossy().into()), ..Frame::default() };
    result["locations"] = json!([found.or_else(|| location(&program, places, folder))]);
    let others = group.places.iter().enumerate().filter(|(at, _)| *at != main);
    let mut related: Vec<Value> = Vec::new();
    for (_, place) in others {
        if let Some(mut found) = place.stack.first().and_then(|call| location(call, places, folder)) {
            found["message"] = json!({"text": place.words()});
            found["id"] = json!(related.len() + 1);
            related.push(found);
        }
    }
    result["relatedLocations"] = json!(related);
    result
}

fn level(kind: &str) -> &'static str {
    match kind {
        "leak" | "budget" | "lost" => "warning",
        _ => "error",
    }
}

pub fn sarif(groups: &[Group], places: &Places) -> Value {
    let folder = std::env::current_dir().and_then(|folder| folder.canonicalize()).unwrap_or_default();
    let mut rules: Vec<Value> = Vec::new();
    for kind in groups.chunk_by(|a, b| a.kind == b.kind) {
        let kind = &kind[0].kind;
        rules.push(json!({"id": kind, "name": kind, "shortDescription": {"text": name(kind)},
            "defaultConfiguration": {"level": level(kind)}}));
    }
    let mut times = HashMap::new();
    let results: Vec<Value> = groups.iter().map(|group| result(group, places, &folder, &mut times)).collect();
    let base = format!("file://{}/", uri(&folder).trim_end_matches('/'));
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {"name": "toft run", "version": env!("CARGO_PKG_VERSION"), "rules": rules}},
            "originalUriBaseIds": {BASE: {"uri": base}},
            "results": results,
        }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_escaped() {
        assert_eq!(uri(Path::new("we at; home/a\n%.c")), "we%20at%3B%20home/a%0A%25.c");
    }
}
