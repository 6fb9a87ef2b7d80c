//! Vectors in an arena and in a recycler, and bumpalo's, against the standard library's: random calls, whose iterators may be leaked, and
//! whose comparisons, clones, destructors, closures and iterators panic at a random call of the program's code. Without a
//! panic all contents are equal; with one, those in both kinds of memory. Each element is dropped at most once.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "full")]

#[path = "common/random.rs"]
mod random;
#[path = "common/seeds.rs"]
mod seeds;

use std::cell::Cell;
use std::cmp::Ordering;
use std::mem::forget;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::rc::Rc;

use random::Random;
use seeds::seeds;
use toft::{Arena, Recycler};

const STEPS: usize = 40;

thread_local! {
    /// Calls of the program's code before the one that panics.
    static FUSE: Cell<Option<usize>> = const { Cell::new(None) };
    /// Elements that were not dropped.
    static LIVE: Cell<isize> = const { Cell::new(0) };
    /// Whether an iterator was leaked, or a call panicked.
    static MAY_LEAK: Cell<bool> = const { Cell::new(false) };
}

/// A call of the program's code.
fn act() {
    let Some(left) = FUSE.get() else { return };
    FUSE.set(left.checked_sub(1));
    if left == 0 && !std::thread::panicking() {
        resume_unwind(Box::new("the program's code")); // a panic without a message
    }
}

/// An element that notices a second drop.
#[derive(Debug)]
struct Element(u32, Rc<u32>);

fn element(number: usize) -> Element {
    LIVE.set(LIVE.get() + 1);
    Element(number as u32, Rc::new(number as u32))
}

impl Drop for Element {
    fn drop(&mut self) {
        assert_eq!((*self.1, Rc::strong_count(&self.1)), (self.0, 1));
        LIVE.set(LIVE.get() - 1);
        act();
    }
}

impl Clone for Element {
    fn clone(&self) -> Element {
        act();
        element(self.0 as usize)
    }
}

impl Ord for Element {
    fn cmp(&self, other: &Element) -> Ordering {
        act();
        self.0.cmp(&other.0)
    }
}

impl PartialOrd for Element {
    fn partial_cmp(&self, other: &Element) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Element {
    fn eq(&self, other: &Element) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Element {}

/// Takes some elements of an iterator, and drops or leaks it.
fn some<I: Iterator>(mut elements: I, random: &mut Random) {
    (0..random.below(5)).for_each(|_| drop(elements.next()));
    if random.below(5) == 0 {
        MAY_LEAK.set(true);
        forget(elements);
    }
}

fn range(random: &mut Random, len: usize) -> std::ops::Range<usize> {
    let (a, b) = (random.below(len + 1), random.below(len + 1));
    a.min(b)..a.max(b)
}

fn elements(n: usize) -> impl Iterator<Item = Element> {
    (0..n).filter(|i| i % 4 != 3).map(|i| {
        act();
        element(i)
    })
}

const KINDS: usize = 30;

/// A function that makes one of the calls. Those that not every type has are passed: each does the same.
macro_rules! calls {
    ($name:ident, $of:ty, |$v:ident, $i:ident, $n:ident| $($kind:literal => $call:expr),*) => {
        fn $name($v: &mut $of, kind: usize, random: &mut Random) {
            let len = $v.len();
            let ($i, $n) = (random.below(len + 1), random.below(30));
            let filter = |e: &Element| {
                act();
                e.0 as usize % 5 == $n % 5
            };
            match kind {
                0..=2 => $v.push(element($n)),
                3 => _ = $v.pop(),
                4 => $v.insert(random.below(len + 1), element($n)),
                5 if len > 0 => _ = $v.remove(random.below(len)),
                6 if len > 0 => _ = $v.swap_remove(random.below(len)),
                7 => $v.truncate(random.below(len + 3)),
                8 => some($v.drain(range(random, len)), random),
                9 => some($v.drain(range(random, len)).rev(), random),
                10 => some($v.splice(range(random, len), elements($n % 7)), random),
                11 => $v.retain(|e| !filter(e)),
                12 => $v.retain_mut(|e| filter(e)),
                13 => $v.dedup_by(|a, b| {
                    act();
                    a.0 as usize % 7 == b.0 as usize % 7 + $n % 5
                }),
                14 => $v.resize($n, element(3)),
                17 => $v.extend(elements($n % 7)),
                18 => drop($v.split_off(random.below(len + 1))),
                19 => drop($v.clone()),
                20 => $v.dedup(),
                21 => $v.sort(),
                22 => $v.extend_from_slice(&elements($n % 7).collect::<Vec<_>>()),
                23 => $v.sort_unstable(),
                24 => {
                    $v.reserve($n);
                    assert!($v.capacity() >= len + $n);
                }
                $($kind => $call,)*
                _ => $v.shrink_to_fit(),
            }
        }
    };
}

macro_rules! calls_of_ours {
    ($name:ident, $of:ty) => {
        calls!($name, $of, |v, i, n|
            15 => v.resize_with(n, || elements(1).next().unwrap()),
            16 => v.extend_from_within(..i.min(9)),
            25 => v.try_push(element(n)).unwrap(),
            26 => v.try_extend(elements(n % 7)).unwrap(),
            27 => v.try_insert(i, element(n)).unwrap(),
            28 => drop(v.try_remove(i)),
            29 => *v.insert_mut(i, element(1)) = element(n));
    };
}

calls!(call_std, Vec<Element>, |v, i, n|
15 => v.resize_with(n, || elements(1).next().unwrap()),
16 => v.extend_from_within(..i.min(9)),
25 => v.push(element(n)),
26 => v.extend(elements(n % 7)),
27 => v.insert(i, element(n)),
28 => drop((i < v.len()).then(|| v.remove(i))),
29 => {
    v.insert(i, element(1));
    v[i] = element(n);
});
calls!(call_in_bump, toft_bumpalo::collections::Vec<'_, Element>, |v, i, n|
15 => {
    v.truncate(n);
    (v.len()..n).for_each(|_| v.push(elements(1).next().unwrap()));
},
16 => {
        let first = v[..i.min(9)].to_vec();
        v.extend_from_slice(&first);
    },
25 => v.push(element(n)),
26 => v.append(&mut toft_bumpalo::collections::Vec::from_iter_in(elements(n % 7), v.bump())),
27 => v.insert(i, element(n)),
28 => drop((i < v.len()).then(|| v.remove(i))),
29 => {
    v.insert(i, element(1));
    v[i] = element(n);
});
calls_of_ours!(call_in_arena, toft::collections::Vec<'_, Element>);
calls_of_ours!(call_in_recycler, toft::collections::Vec<'_, Element, Recycler>);

fn numbers(v: &[Element]) -> Vec<u32> {
    v.iter().map(|e| e.0).collect()
}

fn stream(seed: u64) {
    let mut random = Random((seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let (arena, recycler, bump) = (Arena::new(), Recycler::new(), toft_bumpalo::Bump::new());
    let (mut std, mut ours) = (Vec::new(), arena.vec());
    let mut bumped = toft_bumpalo::collections::Vec::new_in(&bump);
    let mut recycled = toft::collections::Vec::new_in(&recycler);
    let mut scope = None;
    for step in 0..STEPS {
        match (step + seed as usize) % 9 {
            0 => drop(arena.alloc_slice_fill(random.below(100), 0xFFu8)),
            3 => scope = Some(arena.scope_guard()), // the vector outside of it survives it
            6 => drop(scope.take().map(|scope| drop(scope.vec_from_iter(0..random.below(100))))),
            _ => {}
        }
        let (kind, fuse) = (random.below(KINDS + 1), random.below(36));
        let seed = random.0;
        let panics = |call: &mut dyn FnMut(&mut Random)| {
            FUSE.set((fuse < 12).then_some(fuse));
            let panicked = catch_unwind(AssertUnwindSafe(|| call(&mut Random(seed)))).is_err();
            FUSE.set(None);
            MAY_LEAK.set(MAY_LEAK.get() || panicked);
            panicked
        };
        let of_std = panics(&mut |random| call_std(&mut std, kind, random));
        let of_ours = panics(&mut |random| call_in_arena(&mut ours, kind, random));
        let of_recycled = panics(&mut |random| call_in_recycler(&mut recycled, kind, random));
        assert_eq!((numbers(&ours), of_ours), (numbers(&recycled), of_recycled), "{kind}, {seed}");
        let of_bump = panics(&mut |random| call_in_bump(&mut bumped, kind, random));
        if numbers(&std) != numbers(&ours) || numbers(&bumped) != numbers(&ours) {
            assert!(of_std || of_ours || of_bump, "{kind}, {seed}: {std:?}, {ours:?}, {bumped:?}");
            break; // a panic in the midst of a call leaves the elements that it happens to
        }
    }
}

#[test]
fn vectors_match_those_of_the_standard_library() {
    for seed in seeds(1000) {
        MAY_LEAK.set(false);
        LIVE.set(0);
        stream(seed);
        assert!(LIVE.get() == 0 || MAY_LEAK.get() && LIVE.get() > 0, "{seed}: {} live", LIVE.get());
    }
}
