//! The hook of a profiler: it gets each phase and each end of a frame, and may do what programs do, panics included.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "full")]

#[path = "common/strict.rs"]
mod strict;

use std::cell::RefCell;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Mutex, MutexGuard, PoisonError};

use toft::ProfileEvent::{self, *};
use toft::{on_profile, Arena, Frames, SteppedFrames};

thread_local! {
    static HEARD: RefCell<Vec<ProfileEvent>> = const { RefCell::new(Vec::new()) };
}

/// The hook is that of the process: one test at a time uses it.
struct Hooked(#[allow(dead_code)] MutexGuard<'static, ()>);

fn with_hook(hook: fn(&ProfileEvent)) -> Hooked {
    static ONE: Mutex<()> = Mutex::new(());
    let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    HEARD.take();
    on_profile(Some(hook));
    Hooked(one)
}

impl Drop for Hooked {
    fn drop(&mut self) {
        on_profile(None);
    }
}

fn record(event: &ProfileEvent) {
    HEARD.with_borrow_mut(|heard| heard.push(*event));
}

fn heard() -> Vec<ProfileEvent> {
    HEARD.take()
}

#[test]
fn phases_are_reported_with_their_bytes_if_metered() {
    let _hooked = with_hook(record);
    let arena = Arena::new();
    {
        let _outer = arena.phase("outer");
        arena.alloc(1u64);
        let scope = arena.scope_guard();
        drop(scope.phase("inner"));
    }
    let plain = |name| PhaseEnd { name, allocated: None };
    assert_eq!(heard(), [PhaseBegin { name: "outer" }, PhaseBegin { name: "inner" }, plain("inner"), plain("outer")]);

    arena.set_metered(true).unwrap();
    {
        let _outer = arena.phase("outer");
        arena.alloc([0u64; 4]);
        let inner = arena.phase("inner");
        arena.alloc(1u64);
        drop(inner);
    }
    let ends: Vec<_> = heard().into_iter().skip(2).collect();
    let end = |name, bytes| PhaseEnd { name, allocated: Some(bytes) };
    assert_eq!(ends, [end("inner", 8), end("outer", 40)]);
    assert_eq!(arena.report().phases.len(), 2);
}

#[test]
fn ends_of_frames_are_reported_with_their_bytes() {
    let _hooked = with_hook(record);
    let mut frames = Frames::new();
    frames.advance();
    frames.here().alloc([0u8; 1000]);
    std::thread::scope(|threads| {
        threads.spawn(|| _ = frames.here().alloc([0u8; 24]));
    });
    frames.advance();
    frames.set_metered(true).unwrap();
    frames.here().alloc(1u64);
    frames.advance();
    let frame = |frame, bytes| {
        [AdvanceBegin { frame, live: bytes }, AdvanceEnd { frame, freed: bytes }, FrameEnd { frame: frame + 1 }]
    };
    assert_eq!(heard(), [frame(0, 0), frame(1, 1024), frame(2, 8)].concat());
}

#[test]
fn a_begin_and_its_end_go_to_the_same_hook() {
    fn other(_: &ProfileEvent) {
        panic!("no event begins while this is the hook");
    }
    let _hooked = with_hook(record);
    let arena = Arena::new();
    let phase = arena.phase("begun");
    let before = on_profile(Some(other)).unwrap();
    assert!(heard().len() == 1);
    before(&FrameEnd { frame: 7 });
    drop(phase);
    assert!(on_profile(None).is_some());
    let unheard = arena.phase("without a hook");
    assert!(on_profile(Some(record)).is_none());
    drop(unheard);
    assert_eq!(heard(), [FrameEnd { frame: 7 }, PhaseEnd { name: "begun", allocated: None }]);
}

#[test]
fn a_hook_may_use_arenas_and_is_not_called_for_itself() {
    thread_local! {
        static ARENA: Arena = Arena::new();
    }
    fn busy(event: &ProfileEvent) {
        ARENA.with(|arena| {
            arena.alloc([0u8; 100]);
            drop(arena.phase("of the hook"));
        });
        let mut frames = Frames::new();
        frames.here().alloc([0u8; 100]);
        frames.advance();
        if on_profile(Some(busy)).is_some() {
            record(event);
        }
    }
    let _hooked = with_hook(busy);
    ARENA.with(|arena| {
        arena.set_metered(true).unwrap();
        let phase = arena.phase("used by its own hook");
        arena.alloc([0u8; 8]);
        drop(phase);
    });
    let name = "used by its own hook";
    assert_eq!(heard(), [PhaseBegin { name }, PhaseEnd { name, allocated: Some(8) }]);
    Frames::new().advance();
    assert_eq!(heard().len(), 3);
}

#[test]
fn a_panic_of_the_hook_is_caught() {
    fn bomb(event: &ProfileEvent) {
        record(event);
        panic!("in the hook");
    }
    let _hooked = with_hook(bomb);
    let mut frames = Frames::new();
    frames.here().alloc(1u64);
    drop(frames.here().phase("update"));
    frames.advance();
    assert_eq!((heard().len(), frames.number(), frames.here().stats().live), (5, 1, 0));
}

#[test]
fn an_end_is_reported_when_a_destructor_panics() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("a destructor's panic");
        }
    }
    fn panics_too(event: &ProfileEvent) {
        record(event);
        if let AdvanceEnd { .. } = event {
            panic!("in the hook, while the destructor's panic unwinds");
        }
    }
    let _hooked = with_hook(panics_too);
    let mut frames = Frames::new();
    frames.here().alloc_drop(Bomb);
    let live = frames.here().stats().live;
    assert!(catch_unwind(AssertUnwindSafe(|| frames.advance())).is_err());
    assert_eq!(heard(), [AdvanceBegin { frame: 0, live }, AdvanceEnd { frame: 0, freed: live }, FrameEnd { frame: 1 }]);
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        let _phase = frames.here().phase("unwound");
        panic!("in a phase");
    }));
    assert!(unwound.is_err());
    assert_eq!(heard().len(), 2);
}

#[test]
fn steps_of_a_frame_are_reported_and_its_end_once() {
    let _hooked = with_hook(record);
    let mut frames = SteppedFrames::new();
    frames.here().alloc_drop(vec![1]);
    frames.here().alloc_drop(vec![2]);
    let live = frames.here().stats().live;
    frames.advance();
    assert_eq!(heard(), [AdvanceBegin { frame: 0, live }, AdvanceEnd { frame: 0, freed: 0 }, FrameEnd { frame: 1 }]);
    assert!(!frames.step(1));
    assert_eq!(heard(), [AdvanceBegin { frame: 1, live }, AdvanceEnd { frame: 1, freed: 0 }]);
    assert!(frames.step(1));
    assert_eq!(heard(), [AdvanceBegin { frame: 1, live }, AdvanceEnd { frame: 1, freed: live }]);

    let mut frames = Frames::new();
    frames.here().alloc_drop(vec![1]);
    assert!(!frames.advance_bounded(0));
    assert!(frames.advance_bounded(1));
    assert_eq!(heard().iter().filter(|event| matches!(event, FrameEnd { frame: 1 })).count(), 1);
}
