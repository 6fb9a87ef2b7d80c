//! The findings that the library writes, a JSON object each. Equal findings, of one kind at the same places, are one group.
// SPDX-License-Identifier: MIT OR Apache-2.0

use crate::frame::Frame;
use crate::places::Places;
use crate::report::visible;
use serde::Deserialize;
use std::{collections::HashMap, io::BufRead, path::Path};

/// Groups that are shown.
const SHOWN: usize = 100;
/// Calls of a place that are shown.
const CALLS: usize = 3;

/// The kinds of both libraries, in the order in which they are shown. A kind of a later library follows them.
const KINDS: &str = "overrun underrun late-write use-after-release double-free bad-free double-release wrong-size \
    foreign-pointer stale-mark two-threads wrong-thread refused-release outside leak budget lost";

fn position(kind: &str) -> Option<usize> {
    KINDS.split(' ').position(|known| known == kind)
}

/// An argument of --fail-on: a kind or its name, or `any`.
pub fn wanted(text: &str) -> Result<String, String> {
    let found = KINDS.split(' ').chain(["any"]).find(|kind| text == *kind || text == name(kind));
    found.map(str::to_owned).ok_or_else(|| format!("not a kind of finding: any, {}", KINDS.replace(' ', ", ")))
}

/// The name of a kind in sentences.
pub fn name(kind: &str) -> String {
    match kind {
        "two-threads" => "two threads at once".into(),
        "outside" => "pointer out of a region".into(),
        "budget" => "over budget".into(),
        kind if position(kind).is_some() => kind.replace('-', " "),
        kind => kind.into(),
    }
}

#[derive(Deserialize)]
struct Finding {
    kind: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    places: Vec<Place>,
}

/// A call of the program that has to do with a finding.
#[derive(Clone, Deserialize)]
pub struct Place {
    /// `allocated`, `returned`, `running`, `noticed`, or a word of a later library.
    pub role: String,
    /// The operation: `alloc`, `reset` and so on. Empty: not known.
    #[serde(default)]
    pub call: String,
    pub thread: Option<u64>,
    /// Newest call first.
    pub stack: Vec<Frame>,
}

/// Findings of one kind at the same places.
pub struct Group {
    pub kind: String,
    pub count: u64,
    /// Of the first finding, with its kind.
    pub text: String,
    pub places: Vec<Place>,
}

/// The calls of the program's own code, as far as files are known; at least one call, if any is known.
fn own_calls(stack: &[Frame], places: &mut Places) -> Vec<Frame> {
    let calls = stack.iter().flat_map(|frame| calls(frame, places));
    let all: Vec<Frame> = calls.collect();
    let own = |call: &&Frame| call.file.is_some() && call.line.is_some() && !call.is_library();
    let shown: Vec<Frame> = all.iter().filter(own).take(CALLS).cloned().collect();
    Some(shown).filter(|shown| !shown.is_empty()).unwrap_or_else(|| all.into_iter().take(1).collect())
}

/// The calls of a frame, with those that are inlined there. A module without names gives its offset as the function.
fn calls(frame: &Frame, places: &mut Places) -> Vec<Frame> {
    let known = |function| {
        let [line, column] = [frame.line, frame.column].map(|number| number.filter(|number| *number != 0));
        vec![Frame { function, file: frame.file.clone(), line, column, ..Frame::default() }]
    };
    let (Some(module), Some(offset), None) = (&frame.module, frame.module_offset, &frame.file) else {
        return known(frame.function.clone());
    };
    let module = Path::new(module);
    let found = places.calls(module, offset);
    if !found.is_empty() {
        return found;
    }
    let name = module.file_name().unwrap_or_default().to_string_lossy();
    let place = format!("{name}+{offset:#x}");
    known(Some(frame.function.as_ref().map_or(place.clone(), |name| format!("{name} ({place})"))))
}

/// What equal findings have in common: the kind, and the role and first call of each place.
type Key = (String, Vec<(String, Option<Frame>)>);

/// The lines of a file as groups, by kind and then by count. What is no finding is left out.
pub fn group(file: impl BufRead, places: &mut Places) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut known: HashMap<Key, usize> = HashMap::new();
    let lines = file.split(b'\n').map_while(Result::ok);
    for finding in lines.filter_map(|line| serde_json::from_slice::<Finding>(&line).ok()) {
        let Finding { kind, text, places: mut found } = finding;
        for place in &mut found {
            place.stack = own_calls(&place.stack, places);
        }
        let key = found.iter().map(|place| (place.role.clone(), place.stack.first().cloned())).collect();
        let at = *known.entry((kind.clone(), key)).or_insert_with(|| {
            groups.push(Group { kind, count: 0, text, places: found });
            groups.len() - 1
        });
        groups[at].count += 1;
    }
    let order = |kind: &str| position(kind).unwrap_or(usize::MAX);
    // Stable: in the order of time otherwise.
    groups.sort_by(|a, b| (order(&a.kind), &a.kind, b.count).cmp(&(order(&b.kind), &b.kind, a.count)));
    groups
}

impl Group {
    /// The finding and how often it was, without its places.
    pub fn sentence(&self) -> String {
        let times = if self.count == 1 { String::new() } else { format!(" ({} times)", self.count) };
        match self.text.split_once(':') {
            Some((kind, rest)) => visible(&format!("{kind}{times}:{rest}")),
            None => visible(&format!("{}{times}", self.text)),
        }
    }
}

impl Place {
    pub fn words(&self) -> String {
        match self.role.as_str() {
            "noticed" if !self.call.is_empty() => format!("noticed by {}", self.call),
            "returned" => self.call.clone(),
            "running" => format!("{}, which has not returned,", self.call),
            role => role.into(),
        }
    }
}

/// `function (file:line)`, as far as known.
pub fn place_of(call: &Frame) -> String {
    let file = call.file.clone().map(|file| match (call.line, call.column) {
        (None, _) => file,
        (Some(line), None) => format!("{file}:{line}"),
        (Some(line), Some(column)) => format!("{file}:{line}:{column}"),
    });
    visible(&match (call.function.clone(), file) {
        (Some(function), Some(file)) => format!("{function} ({file})"),
        (one, other) => one.or(other).unwrap_or_else(|| "an unknown place".into()),
    })
}

/// Each group with its places and the source lines of these, if the files can be read.
pub fn show(groups: &[Group], places: &mut Places) -> String {
    let mut text = String::new();
    for group in groups.iter().take(SHOWN) {
        text += &format!("toft: {}\n", group.sentence());
        let mut shown: Vec<&Frame> = Vec::new();
        for place in &group.places {
            let first = place.stack.first();
            let at = first.map_or(String::new(), |call| format!(" at {}", place_of(call)));
            text += &visible(&format!("  {}{at}", place.words()));
            text.push('\n');
            let Some(first) = first else { continue };
            let line = first.file.as_ref().and_then(|file| places.line(file, first.line?));
            if !shown.contains(&first) {
                text.extend(line.map(|line| line + "\n"));
                let callers = place.stack[1..].iter();
                text.extend(callers.map(|call| format!("    from {}\n", place_of(call))));
            }
            shown.push(first);
        }
    }
    if groups.len() > SHOWN {
        text += &format!("toft: {} more kinds and places; --format json has them all\n", groups.len() - SHOWN);
    }
    text
}

/// One line: how much of each kind.
pub fn summary(groups: &[Group]) -> String {
    if groups.is_empty() {
        return "toft: no findings\n".into();
    }
    let total: u64 = groups.iter().map(|group| group.count).sum();
    let kinds: Vec<String> = groups
        .chunk_by(|a, b| a.kind == b.kind)
        .map(|kind| format!("{} {}", kind.iter().map(|group| group.count).sum::<u64>(), visible(&name(&kind[0].kind))))
        .collect();
    let plural = |n: u64| if n == 1 { "" } else { "s" };
    let (s, places) = (plural(total), groups.len() as u64);
    format!("toft: {total} finding{s} at {places} place{}: {}\n", plural(places), kinds.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn found(kind: &str, file: &str, line: u32, thread: u64) -> String {
        let stack = json!([{"address": "0x1", "function": "f", "file": file, "line": line}]);
        let place = json!({"role": "returned", "call": "reset", "thread": thread, "stack": stack});
        let text = format!("{}: byte 1 of 2 bytes was written after reset", name(kind));
        json!({"kind": kind, "library": "toft-c", "text": text, "size": 2, "places": [place], "later": 1}).to_string()
    }

    #[test]
    fn equal_findings_are_one_group() {
        let text = [
            found("leak", "a.rs", 1, 1),
            found("overrun", "a.c", 1, 1),
            found("overrun", "a.c", 2, 1),
            found("overrun", "a.c", 2, 7),
            "not a finding".to_owned(),
            found("of-a-later-library", "a.c", 2, 7),
        ];
        let groups = group(text.join("\n").as_bytes(), &mut Places::default());
        let seen: Vec<_> = groups.iter().map(|group| (group.kind.as_str(), group.count)).collect();
        assert_eq!(seen, [("overrun", 2), ("overrun", 1), ("leak", 1), ("of-a-later-library", 1)]);
        assert_eq!(summary(&groups), "toft: 5 findings at 4 places: 3 overrun, 1 leak, 1 of-a-later-library\n");
        assert_eq!(summary(&[]), "toft: no findings\n");
        let shown = show(&groups[..1], &mut Places::default());
        let expected = "toft: overrun (2 times): byte 1 of 2 bytes was written after reset\n  reset at f (a.c:2)\n";
        assert_eq!(shown, expected);
    }

    #[test]
    fn kinds_for_an_exit_code() {
        assert_eq!(wanted("any"), Ok("any".into()));
        assert_eq!((wanted("late-write"), wanted("late write")), (Ok("late-write".into()), Ok("late-write".into())));
        assert!(wanted("everything").unwrap_err().contains("leak"));
    }
}
