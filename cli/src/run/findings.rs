//! The lines that the library writes: one finding each. Equal findings, of one kind at the same places, are one group.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::places::Places;
use std::collections::HashMap;

/// Groups that are shown.
const SHOWN: usize = 100;

/// The kinds of findings of both libraries, in the order in which they are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    Overrun,
    Underrun,
    LateWrite,
    UseAfterRelease,
    DoubleFree,
    BadFree,
    DoubleRelease,
    WrongSize,
    ForeignPointer,
    StaleMark,
    TwoThreads,
    WrongThread,
    RefusedRelease,
    OverwrittenArena,
    Leak,
    OverBudget,
    /// Findings that there was no memory to keep.
    Lost,
    /// Of a later library.
    Other,
}

/// The begin of a line, and the name for --fail-on.
const NAMES: [(Kind, &str, &str); 17] = [
    (Kind::Overrun, "overrun", "overrun"),
    (Kind::Underrun, "underrun", "underrun"),
    (Kind::LateWrite, "late write", "late-write"),
    (Kind::UseAfterRelease, "use after release", "use-after-release"),
    (Kind::DoubleFree, "double free", "double-free"),
    (Kind::BadFree, "bad free", "bad-free"),
    (Kind::DoubleRelease, "double release", "double-release"),
    (Kind::WrongSize, "wrong size", "wrong-size"),
    (Kind::ForeignPointer, "foreign pointer", "foreign-pointer"),
    (Kind::StaleMark, "stale mark", "stale-mark"),
    (Kind::TwoThreads, "two threads at once", "two-threads"),
    (Kind::WrongThread, "wrong thread", "wrong-thread"),
    (Kind::RefusedRelease, "refused release", "refused-release"),
    (Kind::OverwrittenArena, "overwritten arena", "overwritten-arena"),
    (Kind::Leak, "leak", "leak"),
    (Kind::OverBudget, "over budget", "budget"),
    (Kind::Lost, "lost", "lost"),
];

impl Kind {
    fn of(message: &str) -> Kind {
        let begins = |name: &str| message.strip_prefix(name).is_some_and(|rest| rest.starts_with(':'));
        NAMES.iter().find(|(_, name, _)| begins(name)).map_or(Kind::Other, |(kind, ..)| *kind)
    }

    /// An argument of --fail-on; `None`: any.
    pub fn wanted(text: &str) -> Result<Option<Kind>, String> {
        if text == "any" {
            return Ok(None);
        }
        let found = NAMES.iter().find(|(_, name, short)| text == *short || text == *name);
        found.map(|(kind, ..)| Some(*kind)).ok_or_else(|| {
            let names = NAMES.iter().map(|(.., short)| *short).collect::<Vec<_>>().join(", ");
            format!("not a kind of finding: any, {names}")
        })
    }
}

/// Findings of one kind at the same places.
pub struct Group {
    pub kind: Kind,
    pub count: u64,
    /// Parts of the first finding's line.
    clauses: Vec<Clause>,
}

/// A part of a line: words, and the place that they end with.
#[derive(Debug, PartialEq)]
struct Clause {
    words: String,
    place: Option<String>,
}

/// Splits a message where a semicolon or " at " is outside of written bytes in quotes. An address ("at 0x...") is no place;
/// addresses and numbers of threads are left out, since they differ between equal findings.
fn clauses(message: &str) -> Vec<Clause> {
    let mut parts: Vec<String> = vec![String::new()];
    let (mut quoted, mut escaped) = (false, false);
    for c in message.chars() {
        let ends = c == ';' && !quoted;
        quoted ^= c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        match ends {
            true => parts.push(String::new()),
            false => parts.last_mut().expect("there is one").push(c),
        }
    }
    parts.iter().flat_map(|part| split_at_places(part.trim())).collect()
}

fn split_at_places(part: &str) -> Vec<Clause> {
    let mut found = Vec::new();
    let (mut words, mut rest) = (String::new(), part);
    while let Some(at) = next_at(rest) {
        words.push_str(&rest[..at]);
        rest = &rest[at + 4..];
        if let Some(hex) = rest.strip_prefix("0x") {
            rest = hex.trim_start_matches(|c: char| c.is_ascii_hexdigit());
            continue;
        }
        let end = rest.find(" by thread ").unwrap_or(rest.len());
        found.push(Clause { words: std::mem::take(&mut words), place: Some(rest[..end].to_owned()) });
        rest = without_thread(&rest[end..]);
    }
    words.push_str(rest);
    let words = match words.find(" by thread ") {
        Some(by) => words[..by].to_owned() + without_thread(&words[by..]),
        None => words,
    };
    if !words.trim().is_empty() || found.is_empty() {
        found.push(Clause { words, place: None });
    }
    for clause in &mut found {
        clause.words = clause.words.trim().trim_start_matches(',').trim().to_owned();
    }
    found
}

/// The next " at " outside of quotes.
fn next_at(text: &str) -> Option<usize> {
    let (mut quoted, mut escaped) = (false, false);
    for (i, c) in text.char_indices() {
        quoted ^= c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        if !quoted && text[i..].starts_with(" at ") && !text[i..].starts_with(" at once:") {
            return Some(i);
        }
    }
    None
}

/// Without " by thread 12" at its beginning.
fn without_thread(text: &str) -> &str {
    text.strip_prefix(" by thread ").map_or(text, |rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()))
}

/// The lines of a file as groups, by kind and then by count.
pub fn group(text: &str) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut known: HashMap<(Kind, Vec<Option<String>>), usize> = HashMap::new();
    for message in text.lines().filter_map(|line| line.strip_prefix("toft: ")) {
        let kind = Kind::of(message);
        let clauses = clauses(message);
        let places = clauses.iter().map(|clause| clause.place.clone()).collect();
        let at = *known.entry((kind, places)).or_insert_with(|| {
            groups.push(Group { kind, count: 0, clauses });
            groups.len() - 1
        });
        groups[at].count += 1;
    }
    groups.sort_by_key(|group| (group.kind, std::cmp::Reverse(group.count))); // stable: in the order of time otherwise
    groups
}

fn times(count: u64) -> String {
    if count == 1 {
        String::new()
    } else {
        format!(" ({count} times)")
    }
}

/// Each group with the source lines of its places, if the files can be read.
pub fn show(groups: &[Group], places: &mut Places) -> String {
    let mut text = String::new();
    for group in groups.iter().take(SHOWN) {
        let mut shown: Vec<String> = Vec::new();
        for (i, clause) in group.clauses.iter().enumerate() {
            let words = match (i, clause.words.split_once(':')) {
                (0, Some((kind, rest))) => format!("toft: {kind}{}:{rest}", times(group.count)),
                (0, None) => format!("toft: {}{}", clause.words, times(group.count)),
                _ => format!("  {}", clause.words),
            };
            text += &words;
            if let Some(place) = &clause.place {
                let (name, line) = places.resolve(place);
                text += &format!(" at {name}");
                if let Some(line) = line.filter(|_| !shown.contains(&name)) {
                    text += &format!("\n{line}");
                }
                shown.push(name);
            }
            text.push('\n');
        }
    }
    if groups.len() > SHOWN {
        text += &format!("toft: {} more kinds and places; --findings FILE keeps all lines\n", groups.len() - SHOWN);
    }
    text
}

/// One line: how much of each kind.
pub fn summary(groups: &[Group]) -> String {
    if groups.is_empty() {
        return "toft: no findings\n".into();
    }
    let total: u64 = groups.iter().map(|group| group.count).sum();
    let mut kinds: Vec<String> = Vec::new();
    for kind in groups.chunk_by(|a, b| a.kind == b.kind) {
        let count: u64 = kind.iter().map(|group| group.count).sum();
        let name =
            NAMES.iter().find(|(known, ..)| *known == kind[0].kind).map_or("of another kind", |(_, name, _)| name);
        kinds.push(format!("{count} {name}"));
    }
    let plural = |n: u64| if n == 1 { "" } else { "s" };
    let places = groups.len() as u64;
    let (s, of_places) = (plural(total), plural(places));
    format!("toft: {total} finding{s} at {places} place{of_places}: {}\n", kinds.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(message: &str) -> Vec<(String, Option<String>)> {
        clauses(message).into_iter().map(|clause| (clause.words, clause.place)).collect()
    }

    fn part(words: &str, place: Option<&str>) -> (String, Option<String>) {
        (words.into(), place.map(str::to_owned))
    }

    #[test]
    fn a_line_of_the_c_library() {
        let line = r#"late write: byte 16 of 20 bytes at 0x5615a2c4f250 was written: 2 bytes " at \"; x" after reset at serve (server.c:14) by thread 1; allocated at serve (server.c:10) by thread 1; noticed by reset at 2f by thread 31"#;
        assert_eq!(
            parts(line),
            [
                part(
                    r#"late write: byte 16 of 20 bytes was written: 2 bytes " at \"; x" after reset"#,
                    Some("serve (server.c:14)")
                ),
                part("allocated", Some("serve (server.c:10)")),
                part("noticed by reset", Some("2f")),
            ]
        );
        let line = "two threads at once: alloc at f (a.c:1) by thread 1 has not returned; noticed by free at g+0x6d (p+0x12ac) by thread 2";
        assert_eq!(
            parts(line),
            [
                part("two threads at once: alloc", Some("f (a.c:1)")),
                part("has not returned", None),
                part("noticed by free", Some("g+0x6d (p+0x12ac)")),
            ]
        );
        let line = "use after release: the arena at 0x7f12 was released at f (a.c:1) by thread 1; noticed by alloc by thread 2";
        assert_eq!(
            parts(line),
            [part("use after release: the arena was released", Some("f (a.c:1)")), part("noticed by alloc", None)]
        );
    }

    #[test]
    fn a_line_of_the_crate() {
        let line = "over budget: 10008 bytes of a soft budget of 10000; the last of them allocated at src/main.rs:7:9";
        assert_eq!(
            parts(line),
            [
                part("over budget: 10008 bytes of a soft budget of 10000", None),
                part("the last of them allocated", Some("src/main.rs:7:9")),
            ]
        );
    }

    #[test]
    fn equal_findings_are_one_group() {
        let overrun = |address, line, thread| {
            format!("toft: overrun: byte 16 of 16 bytes at {address} was written: 1 byte \"!\"; allocated at f (a.c:{line}) by thread {thread}\n")
        };
        let text = [
            "toft: leak: a value of 24 bytes; allocated at a.rs:1:1\n".to_owned(),
            overrun("0x10", 1, 1),
            overrun("0x20", 2, 1),
            overrun("0x30", 2, 7),
            "not a finding\n".to_owned(),
            "toft: something new: of a later library\n".to_owned(),
        ];
        let groups = group(&text.concat());
        let seen: Vec<_> = groups.iter().map(|group| (group.kind, group.count)).collect();
        assert_eq!(seen, [(Kind::Overrun, 2), (Kind::Overrun, 1), (Kind::Leak, 1), (Kind::Other, 1)]);
        assert_eq!(summary(&groups), "toft: 5 findings at 4 places: 3 overrun, 1 leak, 1 of another kind\n");
        assert_eq!(summary(&[]), "toft: no findings\n");
    }

    #[test]
    fn kinds_for_an_exit_code() {
        assert_eq!(Kind::wanted("any"), Ok(None));
        assert_eq!(Kind::wanted("late-write"), Ok(Some(Kind::LateWrite)));
        assert_eq!(Kind::wanted("late write"), Ok(Some(Kind::LateWrite)));
        assert_eq!(Kind::wanted("budget"), Ok(Some(Kind::OverBudget)));
        assert!(Kind::wanted("everything").unwrap_err().contains("leak"));
    }
}
