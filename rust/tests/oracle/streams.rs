//! Streams of operations, by site.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;

/// Counts and bytes by site and tag are exact in a checked arena, with tags, and scopes that end in any order.
fn check_counts(rounds: &[Vec<Op>]) {
    let mut arena = Arena::new();
    arena.set_metered(true).unwrap();
    arena.set_checked(true).unwrap();
    for round in rounds {
        let mut tally = Tally::default();
        {
            // Each scope, with its previous tag.
            let mut scopes: Vec<(Scope<'_>, usize)> = vec![];
            let (mut tags, mut now): (Vec<toft::Tag<'_>>, Vec<usize>) = (vec![], vec![0]);
            for op in round {
                let ground = *now.last().unwrap();
                let (at, tag) = scopes.last().map_or((&arena, ground), |(scope, tag)| (&**scope, *tag));
                match op {
                    Op::Call(k, n) => {
                        let call = &COUNTED[k % COUNTED.len()];
                        tally.note(call.line, TAGS[tag], (call.call)(at, *n));
                    }
                    Op::Alloc(n) => {
                        let call = COUNTED.iter().find(|c| c.name == "Arena::alloc_layout").unwrap();
                        tally.note(call.line, TAGS[ground], (call.call)(&arena, *n));
                        // outside of the scopes
                    }
                    Op::Tag(k) if *k != 0 => {
                        tags.push(arena.tag(&format!("/{}", TAGS[*k])));
                        now.push(*k);
                    }
                    Op::Untag => {
                        if let Some(tag) = tags.pop() {
                            drop(tag);
                            now.pop();
                        }
                    }
                    Op::Open if scopes.len() < 4 => scopes.push((arena.scope_guard(), ground)),
                    Op::Close(k) if !scopes.is_empty() => drop(scopes.swap_remove(k % scopes.len())),
                    Op::Take => {
                        tally.check(&arena.take_report(), "oracle.rs");
                        tally = Tally::default();
                    }
                    _ => {}
                }
            }
            tally.check(&arena.report(), "oracle.rs");
            while tags.pop().is_some() {}
        }
        tally.check(&arena.take_report(), "oracle.rs");
        arena.reset();
        assert_eq!((arena.findings(), arena.stats().live), (vec![], 0));
        assert!(arena.report().tags.iter().all(|tag| tag.live == 0));
    }
}

proptest! {
    #![proptest_config(config(100))]

    #[test]
    fn counts_by_site_and_tag_are_exact(rounds in rounds()) {
        check_counts(&rounds);
    }
}
