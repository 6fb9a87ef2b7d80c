//! Every public function is listed, and each that allocates is counted.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;

// ---- every public function is listed ----

/// Public functions of a source file as `Type::function`; free functions as `file::function`.
fn public_functions(source: &str, file: &str) -> Vec<String> {
    let mut all = vec![];
    // The impls that enclose this line, with their indentation.
    let mut within: Vec<(usize, String)> = vec![(0, file.to_string())];
    for line in source.lines() {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        if text == "}" && within.len() > 1 && within.last().unwrap().0 == indent {
            within.pop();
        }
        if let Some(rest) =
            text.strip_prefix("impl").filter(|rest| rest.starts_with([' ', '<']) && !rest.ends_with('}'))
        {
            let mut depth = 0;
            // The text after the parameters of the impl, and after a trait.
            let from = rest.char_indices().find(|(_, c)| {
                depth += (*c == '<') as i32 - (*c == '>') as i32;
                depth == 0 && (*c == ' ')
            });
            let rest = &rest[from.map_or(0, |(at, _)| at)..];
            let rest = rest.rsplit(" for ").next().unwrap().trim();
            within.push((indent, rest.split(|c: char| !c.is_alphanumeric()).next().unwrap().to_string()));
        }
        let of = &within.last().unwrap().1;
        for start in ["pub fn ", "pub unsafe fn "] {
            if let Some(rest) = text.strip_prefix(start) {
                let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                all.push(format!("{of}::{name}"));
            }
        }
        // Methods from the macros for all arenas; `fn name | try_name[...]` is a pair.
        let pair = text.strip_prefix("fn ").filter(|rest| rest.contains(" | try_"));
        if let Some(rest) = text.strip_prefix("$vis fn ").filter(|rest| !rest.starts_with('$')).or(pair) {
            for rest in rest.split(" | ").take(if pair.is_some() { 2 } else { 1 }) {
                let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                all.push(format!("Arena::{name}"));
            }
        }
    }
    all
}

fn sources() -> [(&'static str, &'static str); 12] {
    [
        ("arena", include_str!("../../src/memory/arena.rs")),
        ("arena", include_str!("../../src/memory/common_impls.rs")), // the calls of guards
        ("scope", include_str!("../../src/arenas/scope.rs")),
        ("allocate", include_str!("../../src/memory/allocate.rs")),
        ("boxed", include_str!("../../src/memory/boxed.rs")),
        ("drops", include_str!("../../src/arenas/drops.rs")),
        ("cursor", include_str!("../../src/arenas/cursor.rs")),
        ("promote", include_str!("../../src/arenas/promote.rs")),
        ("options", include_str!("../../src/arenas/options.rs")),
        ("collections", include_str!("../../src/memory/collections/mod.rs")),
        ("owner", include_str!("../../src/arenas/owner.rs")),
        ("frames", include_str!("../../src/threads/frames.rs")),
    ]
}

/// Public functions that are on no list, and listed functions that do not exist.
fn unlisted(more: &str) -> (Vec<String>, Vec<&'static str>) {
    let mut there: BTreeSet<String> = BTreeSet::new();
    for (file, source) in sources() {
        there.extend(public_functions(source, file));
    }
    there.extend(public_functions(more, "allocate"));
    for source in [include_str!("../../src/base/abi_types.rs"), include_str!("../../src/provider/dispatch.rs")] {
        let of_the_abi = public_functions(source, "abi");
        // Those that take the caller's location are private to the crate.
        there.extend(of_the_abi.into_iter().filter(|name| name.starts_with("abi::") && !name.ends_with("_by")));
    }
    let listed: BTreeSet<&str> = COUNTED.iter().map(|c| c.name).chain(NON_ALLOCATING.iter().copied()).collect();
    let new = there.iter().filter(|name| !listed.contains(&***name)).cloned().collect();
    // Of vectors and strings, only examples are counted.
    let removed = listed
        .into_iter()
        .filter(|name| !there.contains(*name) && !name.starts_with("Vec::") && !name.starts_with("String::"))
        .collect();
    (new, removed)
}

#[test]
fn every_public_function_that_allocates_is_counted() {
    let (new, removed) = unlisted("");
    assert!(new.is_empty(), "neither in COUNTED nor in NON_ALLOCATING of tests/common/oracle.rs: {new:?}");
    assert!(removed.is_empty(), "on a list of tests/common/oracle.rs, but not in the sources: {removed:?}");
    let (new, _) = unlisted("impl<'a> Arena {\n    pub fn alloc_twice<T>(&self) -> &mut T {\n}\n");
    assert_eq!(new, ["Arena::alloc_twice"]);
}

// ---- one by one ----

#[test]
fn each_call_is_reported() {
    let mut wrong = vec![];
    for Counted { name, line, call } in COUNTED {
        for n in [1, 7, 100, 3000] {
            let mut arena = Arena::new();
            arena.set_checked(true).unwrap();
            let mut tally = Tally::default();
            for _ in 0..3 {
                tally.note(*line, "", call(&arena, n));
            }
            let report = arena.report();
            let result = std::panic::catch_unwind(|| tally.check(&report, "oracle.rs"));
            if result.is_err() {
                wrong.push((name, n, report.sites));
            }
            arena.reset();
            assert_eq!(arena.findings(), [], "{name}");
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
