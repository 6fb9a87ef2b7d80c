//! Tests that stacks, queues and lists have in common.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::cell::RefCell;

use crate::look::Step;
use proptest::prelude::{any, Strategy};

/// Streams of steps of `kinds` kinds, with a full check after each step: a quarter of the length, for Miri, takes a
/// tenth of the time.
pub fn steps(kinds: u8, most: usize) -> impl Strategy<Value = Vec<Step>> {
    proptest::collection::vec((0..kinds, any::<u8>(), any::<u8>()), 0..if cfg!(miri) { most / 4 } else { most })
}

thread_local!(static DROPPED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) });

/// A value that is not on the heap: only its destructor detects a leak.
pub struct Noted(pub u8);

impl Drop for Noted {
    fn drop(&mut self) {
        DROPPED.with_borrow_mut(|dropped| dropped.push(self.0));
    }
}

impl Noted {
    /// The numbers of the values that this thread dropped.
    pub fn dropped() -> Vec<u8> {
        DROPPED.take()
    }
}

/// Values with the alignment of a page.
#[repr(align(4096))]
#[derive(Clone, Debug, PartialEq)]
pub struct Page(pub u64);

impl Page {
    pub fn is_aligned(&self) -> bool {
        core::ptr::from_ref(self) as usize % 4096 == 0
    }
}

macro_rules! sequence_tests {
    ($Name:ident, $push:ident) => {
        fn play_all<L: Look>(steps: &[crate::look::Step]) {
            use crate::sequence_model::play;
            for n in [13, 8, 0] {
                play($Name::<Twin, L, _>::any_fixed_in(n, Heap), steps);
            }
            play($Name::<Twin, L, _>::any_in(Heap), steps);
            let mut values = $Name::<Twin, L, _>::any_in(Heap);
            values.reserve(9);
            play(values, steps);
            play($Name::<Twin, L, _>::any_in(&Arena::new()), steps);
            play($Name::<Twin, L, _>::any_in(Blocks(Pages::new())), steps);
            let memory = Refusing::default();
            play($Name::<Twin, L, _>::any_in(&memory), steps);
            assert_eq!(memory.bytes(), 0);
        }

        proptest::proptest! {
            #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, ..Default::default() })]

            #[test]
            fn values_match_the_model(steps in crate::sequences::steps(kinds::<$Name<Twin>>(), 140)) {
                play_all::<Rows>(&steps);
                play_all::<Columns>(&steps);
            }
        }

        #[test]
        fn alignments_are_kept() {
            fn aligned<M: Memory>(memory: M) {
                let mut values = $Name::<Page, Rows, M>::fixed_in(20, memory);
                for n in 0..20 {
                    values.$push(Page(n));
                    assert!(values.iter().all(Page::is_aligned));
                }
                assert!(values.iter().map(|page| page.0).eq(0..20));
            }
            aligned(Heap);
            aligned(Arena::new());
            aligned(Blocks(Pages::new()));
        }

        #[test]
        fn it_grows_while_a_scope_of_its_arena_is_open() {
            let mut arena = Arena::new();
            {
                let pair = |n: i64| Pair(n, -n);
                let mut values = $Name::<Pair<i64, i64>, Columns, _>::any_in(&arena);
                values.extend((0..5).map(pair));
                arena.scope(|scope| {
                    let inner = scope.alloc(7_u64);
                    let mut other = $Name::<Pair<i64, i64>, Columns, _>::any_in(scope);
                    for n in 5..500 {
                        values.$push(pair(n));
                        other.$push(pair(n));
                    }
                    assert!(*inner == 7 && other.iter().map(|(a, b)| (*a, -*b)).eq((5..500).map(|n| (n, n))));
                });
                assert!(values.iter().map(|(a, b)| (*a, -*b)).eq((0..500).map(|n| (n, n))));
            }
            arena.reset();
        }
    };
}
pub(crate) use sequence_tests;
