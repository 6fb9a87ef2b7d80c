//! Owners and parcels that many threads read. `ui/owner_*` and `ui/parcel_*` are programs that must not share them.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "full")]

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

use toft::{Arena, Leases, Owner};

struct Word<'a> {
    text: &'a str,
    next: Option<&'a Word<'a>>,
}

toft::root!(struct Words => Option<&'a Word<'a>>);
toft::root!(struct Count => &'a AtomicU32);

fn parse<'a>(arena: &'a Arena, text: &str) -> Option<&'a Word<'a>> {
    let mut first = None;
    for word in text.split(' ').rev() {
        first = Some(&*arena.alloc(Word { text: arena.alloc_str(word), next: first }));
    }
    first
}

fn bytes(mut word: Option<&Word<'_>>) -> usize {
    std::iter::from_fn(|| {
        let text = word?.text;
        word = word?.next;
        Some(text.len())
    })
    .sum()
}

#[test]
fn threads_read_one_document() {
    let words = Arc::new(Owner::<Words>::new(Arena::new(), |arena| parse(arena, "what many threads read")));
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let words = words.clone();
            std::thread::spawn(move || {
                assert_eq!(format!("{words:?}"), "Owner { .. }"); // which does not read the arena
                words.with(|first| bytes(*first))
            })
        })
        .collect();
    assert!(threads.into_iter().all(|thread| thread.join().unwrap() == 19));
    assert_eq!(Arc::into_inner(words).unwrap().into_arena().stats().live, 0);
}

#[test]
fn threads_read_one_parcel() {
    let leases = Leases::new();
    let words = leases.parcel::<Words>(|arena| parse(arena, "what many threads read"));
    std::thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| {
                assert_eq!(format!("{words:?}"), "Parcel { .. }");
                assert_eq!(words.with(|first| bytes(*first)), 19);
            });
        }
    });
}

#[test]
fn atomics_in_an_owner_may_be_changed() {
    let count = Owner::<Count>::new(Arena::new(), |arena| arena.alloc(AtomicU32::new(0)));
    std::thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| count.with(|count| count.fetch_add(1, Ordering::Relaxed)));
        }
    });
    assert_eq!(count.with(|count| count.load(Ordering::Relaxed)), 4);
}
