//! Streams of operations against a shadow model, on arenas of every kind.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "full")]

#[path = "common/disguise.rs"]
mod disguise;
#[path = "common/fixed.rs"]
mod fixed;
#[path = "common/pages.rs"]
mod pages;
#[path = "common/pattern.rs"]
mod pattern;
#[path = "common/shadow.rs"]
mod shadow;
#[path = "common/strict.rs"]
mod strict;

use std::mem::MaybeUninit;

use pages::Pages;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestError, TestRng, TestRunner};
use shadow::{Rules, Step, TestArena, World};
use toft::{Arena, Limited, Options, Reserve, Scope};

const ENDLESS: Rules = Rules { may_refuse: false, is_foreign: false, is_checked: false };
const BOUNDED: Rules = Rules { may_refuse: true, ..ENDLESS };
const FOREIGN: Rules = Rules { may_refuse: true, is_foreign: true, ..ENDLESS };
const CHECKED: Rules = Rules { is_checked: true, ..ENDLESS };

/// Number and length of the streams: `PROPTEST_CASES` sets the number, as for all property tests.
fn streams() -> (u32, usize) {
    let few = if cfg!(miri) { 2 } else { 120 };
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(few);
    (cases, if cfg!(miri) { 60 } else { 400 })
}

/// Runs streams, and shrinks one that fails. They are deterministic, as tests must be; the fuzz target has others.
fn play(kind: u8, mut stream: impl FnMut(&[Step])) {
    let (cases, length) = streams();
    let config = ProptestConfig { cases, failure_persistence: None, max_shrink_iters: 20_000, ..Default::default() };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[kind; 32]);
    let step = (0u8..32, any::<u8>(), any::<u16>()).prop_map(|(what, pick, size)| Step { what, pick, size });
    let stream = std::cell::RefCell::new(&mut stream);
    quietly(true);
    let result = TestRunner::new_with_rng(config, rng).run(&vec(step, 0..length), |steps| {
        stream.borrow_mut()(&steps);
        Ok(())
    });
    quietly(false);
    match result {
        Err(TestError::Fail(why, steps)) => panic!("{why}\n{steps:?}"),
        other => other.unwrap(),
    }
}

/// Suppresses panic messages while a stream is shrunk, which fails some hundred times: only the last failure is
/// printed.
fn quietly(quiet: bool) {
    thread_local!(static QUIET: std::cell::Cell<bool> = const { std::cell::Cell::new(false) });
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let loud = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                loud(panic)
            }
        }));
    });
    QUIET.set(quiet);
}

fn on(test_arena: &mut dyn TestArena, rules: Rules, steps: &[Step]) {
    World::new(test_arena, rules).play(steps);
    // The same arena runs the stream a second time.
    World::new(test_arena, rules).play(steps);
}

#[test]
fn on_the_heap() {
    play(1, |steps| on(&mut Arena::new(), ENDLESS, steps));
}

#[test]
fn on_the_heap_with_a_reserve() {
    play(2, |steps| on(&mut Arena::with_capacity(100_000), ENDLESS, steps));
}

#[test]
fn on_pages_of_the_system() {
    play(3, |steps| on(&mut Options::new().source(toft::Pages::new()).create().unwrap(), ENDLESS, steps));
}

#[test]
fn on_a_source_of_the_callers() {
    play(4, |steps| {
        let pages = Pages::new();
        let mut scope = Scope::from_source(&pages).unwrap();
        on(&mut scope, ENDLESS, steps);
        assert_eq!(scope.stats().reserved, pages.bytes.get());
        assert_eq!(scope.stats().source_calls, pages.calls.get());
        drop(scope);
        assert_eq!(pages.bytes.get(), 0);
    });
}

#[test]
fn on_reserved_addresses() {
    let max = if cfg!(miri) { 1 << 18 } else { 4 << 20 };
    play(5, |steps| on(&mut Options::new().source(Reserve::new(max).unwrap()).create().unwrap(), BOUNDED, steps));
}

#[test]
fn in_a_buffer() {
    play(6, |steps| {
        let mut buffer = vec_of(20_001);
        on(&mut Arena::in_buffer(&mut buffer[1..]).unwrap(), BOUNDED, steps);
    });
}

#[test]
fn in_a_buffer_with_overflow() {
    play(7, |steps| {
        let mut buffer = vec_of(5003);
        on(&mut Arena::in_buffer_or_heap(&mut buffer[3..]).unwrap(), ENDLESS, steps);
        let pages = Pages::new();
        on(&mut Scope::in_buffer_or(&mut buffer, &pages).unwrap(), ENDLESS, steps);
    });
}

#[test]
fn on_a_limited_source() {
    play(8, |steps| {
        let source = Limited::new(Pages::new(), 100_000);
        let mut scope = Scope::from_source(&source).unwrap();
        on(&mut scope, BOUNDED, steps);
        assert_eq!(scope.stats().reserved, source.used() as u64);
        drop(scope);
        assert_eq!(source.used(), 0);
    });
}

#[test]
fn on_a_source_that_fails_now_and_then() {
    play(9, |steps| {
        let pages = Pages::failing_at((2..2000).filter(|n| n % 3 == 0));
        on(&mut Scope::from_source(&pages).unwrap(), BOUNDED, steps);
    });
}

#[test]
fn within_a_scope() {
    play(10, |steps| {
        let arena = Arena::new();
        let kept = arena.alloc_slice_fill(100, 5u8);
        on(&mut arena.scope_guard(), ENDLESS, steps);
        assert!(kept.iter().all(|b| *b == 5));
        assert_eq!(arena.stats().live, 104);
    });
}

#[test]
fn in_a_foreign_buffer() {
    play(11, |steps| {
        let mut memory = fixed::Memory::new(60_000);
        // SAFETY: a live head without another owner.
        on(&mut unsafe { Arena::from_raw(memory.make()) }.unwrap(), FOREIGN, steps);
        assert!(memory.is_released());
    });
}

#[test]
fn in_a_foreign_arena_that_grows() {
    play(12, |steps| on(disguise::Disguised::new(Arena::new()).arena(), FOREIGN, steps));
}

#[test]
fn within_a_scope_of_a_foreign_arena() {
    play(13, |steps| {
        let arena = disguise::Disguised::new(Arena::new());
        on(&mut arena.scope_guard(), ENDLESS, steps);
    });
}

#[test]
fn metered_and_sampled() {
    play(14, |steps| {
        let mut arena = Arena::new();
        arena.set_metered(true).unwrap();
        on(&mut arena, ENDLESS, steps);
        arena.set_sampling(500).unwrap();
        on(&mut arena, ENDLESS, steps);
        let mut scope = arena.scope_guard();
        on(&mut scope, ENDLESS, steps);
        assert!(scope.findings().is_empty());
    });
}

#[test]
fn checked() {
    play(15, |steps| {
        let mut arena = Arena::new();
        arena.set_checked(true).unwrap();
        on(&mut arena, CHECKED, steps);
        arena.reset();
        let wrong = |found: &toft::Finding| !matches!(found, toft::Finding::Leak { .. });
        assert_eq!(arena.findings().into_iter().find(wrong), None);
    });
}

fn vec_of(n: usize) -> Vec<MaybeUninit<u8>> {
    vec![MaybeUninit::uninit(); n]
}
