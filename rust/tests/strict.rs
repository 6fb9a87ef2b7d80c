//! A typical program under a strict allocator; and tests that this allocator detects faults.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "full")]
#![allow(clippy::undocumented_unsafe_blocks)] // it commits faults on purpose

#[path = "common/strict.rs"]
mod strict;

use std::collections::HashMap;
use toft::{cache, Arena, Keep, Options, Owner, Scope};

struct Node<'a> {
    name: &'a str,
    children: toft::Box<'a, [Node<'a>]>,
    notes: toft::Box<'a, [String]>,
}

/// Parses "a(b(c)d)" into a tree whose nodes have destructors.
fn parse<'a>(arena: &'a Arena, text: &mut std::str::Chars<'_>) -> toft::Box<'a, [Node<'a>]> {
    let mut nodes = vec![];
    let mut name = String::new();
    loop {
        match text.next() {
            Some('(') => {
                let children = parse(arena, text);
                nodes.push((std::mem::take(&mut name), children));
            }
            Some(')') | None => {
                if !name.is_empty() {
                    nodes.push((name, arena.boxed_slice([])));
                }
                break;
            }
            Some(c) => name.push(c),
        }
    }
    arena.boxed_slice(nodes.into_iter().map(|(name, children)| Node {
        name: arena.alloc_str(&name),
        children,
        notes: arena.boxed_slice((0..name.len() % 4).map(|i| format!("note {i}"))),
    }))
}

fn names(nodes: &[Node<'_>]) -> usize {
    nodes.iter().map(|n| n.name.len() + n.notes.len().min(1) + names(&n.children)).sum()
}

toft::root!(struct Tree => toft::Box<'a, [Node<'a>]>);

#[test]
fn a_program_with_many_kinds_of_calls() {
    let text = "root(branch(leaf)twig(bud(petal)thorn)stem)".repeat(if cfg!(miri) { 2 } else { 50 });
    let expected = {
        let arena = Arena::new();
        let tree = parse(&arena, &mut text.chars());
        names(&tree)
    };
    strict::balanced(|| {
        let mut arena = Arena::new();
        let mut counts = HashMap::new();
        for round in 0..20 {
            assert_eq!(names(&parse(&arena, &mut text.chars())), expected);
            arena.alloc_drop(vec![round; 100]);
            arena.scope(|inner| {
                let pack = inner.pack();
                let words: Vec<&str> = text.split(['(', ')']).map(|w| &*pack.alloc_str(w)).collect();
                for word in words {
                    *counts.entry(word.to_string()).or_insert(0) += 1;
                }
                let mut cursor = inner.cursor();
                assert_eq!((0..500u64).map(|i| &*cursor.alloc(i)).sum::<u64>(), 124_750);
            });
            arena.reset_with([Keep::Recent, Keep::All, Keep::Bytes(10_000)][round % 3]);
        }
        let trees: Vec<Owner<Tree>> =
            (0..10).map(|_| Owner::new(Arena::new(), |arena| parse(arena, &mut text.chars()))).collect();
        let total = std::thread::scope(|_| trees.iter().map(|t| t.with(|nodes| names(nodes))).sum::<usize>());
        assert_eq!(total, 10 * expected);
        drop(trees);
        let mut buffer = [std::mem::MaybeUninit::uninit(); 3000];
        let scope = Arena::in_buffer_or_heap(&mut buffer).unwrap();
        names(&parse(&scope, &mut text.chars()));
        scope.alloc_drop(std::rc::Rc::new(1));
        drop(scope);
        let limited = Options::new().budget(5000).reserve(3000).create().unwrap();
        while limited.try_boxed(String::from("text")).map(drop).is_ok() {}
        drop(limited);
        drop(Scope::new());
    });
    assert_eq!(cache::held(), 0);
}

// ---- each fault is committed in its own process, which must abort ----

#[cfg(not(any(miri, toft_plain_heap)))]
mod faults {
    use std::alloc::{alloc, dealloc, Layout};
    use std::process::{Command, Stdio};

    fn layout(size: usize) -> Layout {
        Layout::from_size_align(size, 8).unwrap()
    }

    const FAULTS: &[(&str, fn())] = &[
        // SAFETY (of none of these): each commits the fault that it is named for, in memory that is allocated.
        ("freed twice", || unsafe {
            let p = alloc(layout(64));
            dealloc(p, layout(64));
            dealloc(p, layout(64));
        }),
        ("another layout", || unsafe { dealloc(alloc(layout(64)), layout(72)) }),
        ("bytes behind", || unsafe {
            let p = alloc(layout(64));
            p.add(64).write(0);
            dealloc(p, layout(64));
        }),
        ("bytes before", || unsafe {
            let p = alloc(layout(64));
            p.sub(1).write(0);
            dealloc(p, layout(64));
        }),
        ("written after", || unsafe {
            let p = alloc(layout(64));
            dealloc(p, layout(64));
            p.add(20).write(0);
            (0..1000).for_each(|_| dealloc(alloc(layout(48)), layout(48)));
        }),
        ("blocks left", || std::mem::forget(toft::Arena::new())),
    ];

    #[test]
    fn each_fault_aborts_the_program() {
        if let Ok(name) = std::env::var("TOFT_FAULT") {
            FAULTS.iter().filter(|(fault, _)| *fault == name).for_each(|(_, commit)| commit());
            return;
        }
        for (name, _) in FAULTS {
            let out = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "faults::each_fault_aborts_the_program"])
                .env("TOFT_FAULT", name)
                .stdout(Stdio::null())
                .output()
                .unwrap();
            let message = String::from_utf8_lossy(&out.stderr);
            assert!(!out.status.success() && message.contains("strict allocator"), "{name}: {message}");
        }
    }
}
