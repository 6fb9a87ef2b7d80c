//! Ends of frames in steps: each value is dropped once, in the order of a whole end, whatever the limits, panics and
//! leaks.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;

use std::sync::Mutex;

use toft::SteppedFrames;

/// Records its number when it is dropped; panics if it is a multiple of `bad`.
struct Recorded {
    number: usize,
    bad: usize,
    to: Arc<Mutex<Vec<usize>>>,
}

impl Drop for Recorded {
    fn drop(&mut self) {
        self.to.lock().unwrap_or_else(|e| e.into_inner()).push(self.number);
        if self.bad != 0 && self.number % self.bad == 0 {
            panic!("a destructor's panic");
        }
    }
}

#[derive(Clone, Default)]
struct Order(Arc<Mutex<Vec<usize>>>);

impl Order {
    fn fill(&self, arena: &Arena, numbers: std::ops::Range<usize>, bad: usize) {
        for number in numbers {
            arena.alloc_drop(Recorded { number, bad, to: self.0.clone() });
            arena.alloc([0u8; 40]);
        }
    }

    fn taken(&self) -> Vec<usize> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(|e| e.into_inner()))
    }
}

#[test]
fn steps_drop_in_the_order_of_a_whole_end() {
    let many = rounds(10_000, 60);
    for limit in [1, 7, many - 1, many, usize::MAX] {
        let (mut frames, order) = (Frames::new(), Order::default());
        order.fill(frames.here(), 0..many, 0);
        let mut expected: Vec<usize> = (0..many).rev().collect();
        while !frames.advance_bounded(limit) {
            assert_eq!((frames.number(), live(&mut frames) > 0), (0, true));
            let rest = expected.split_off(limit);
            assert_eq!((order.taken(), !rest.is_empty()), (expected, true));
            expected = rest;
        }
        assert_eq!((order.taken(), frames.number(), live(&mut frames)), (expected, 1, 0));
    }
}

#[test]
fn a_step_counts_the_values_of_all_threads() {
    let (mut frames, drops) = (Frames::new(), Drops::default());
    let all = Barrier::new(4);
    thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                (0..5).for_each(|_| _ = frames.here().alloc_drop(drops.value()));
                all.wait(); // so that no thread reuses another's arena
            });
        }
    });
    for left in [13, 6] {
        assert!(!frames.advance_bounded(7));
        assert_eq!(drops.alive(), left);
    }
    assert!(!frames.advance_bounded(0));
    assert!(frames.advance_bounded(7));
    assert_eq!((drops.alive(), drops.count(), live(&mut frames), frames.number()), (0, 20, 0, 1));
    assert!(frames.advance_bounded(0)); // nothing to drop
    assert_eq!(frames.number(), 2);
}

#[test]
fn a_step_counts_the_values_of_all_frames() {
    let (mut frames, order) = (SteppedFrames::new(), Order::default());
    for first in [0, 2, 4] {
        order.fill(frames.here(), first..first + 2, 0);
        frames.advance();
    }
    for (limit, expected) in [(3, vec![1, 0, 3]), (2, vec![2, 5]), (9, vec![4])] {
        assert_eq!((frames.step(limit), order.taken()), (limit == 9, expected));
    }
}

#[test]
fn a_frame_that_has_not_ended_may_be_used() {
    let (mut frames, order) = (Frames::new(), Order::default());
    order.fill(frames.here(), 0..4, 0);
    assert!(!frames.advance_bounded(2));
    order.fill(frames.here(), 10..12, 0);
    assert!(!frames.advance_bounded(3));
    assert_eq!(order.taken(), [3, 2, 11, 10, 1]);
    frames.advance(); // all at once
    assert_eq!((order.taken(), frames.number()), (vec![0], 1));
}

#[test]
fn a_panic_in_a_step_is_resumed_and_the_next_step_continues() {
    let (mut frames, order) = (Frames::new(), Order::default());
    order.fill(frames.here(), 1..12, 4); // 8 and 4 panic
    assert!(panics(|| _ = frames.advance_bounded(5)));
    assert_eq!((order.taken(), frames.number()), (vec![11, 10, 9, 8, 7], 0));
    assert!(panics(|| _ = frames.advance_bounded(100)));
    assert_eq!((order.taken(), frames.number()), (vec![6, 5, 4, 3, 2, 1], 0));
    assert!(frames.advance_bounded(0));
    assert_eq!((frames.number(), live(&mut frames)), (1, 0));

    let mut stepped = SteppedFrames::new();
    order.fill(stepped.here(), 1..6, 2); // 4 and 2 panic
    stepped.advance();
    order.fill(stepped.here(), 11..12, 0);
    stepped.advance();
    assert!(panics(|| _ = stepped.step(2)));
    assert!(panics(|| _ = stepped.step(2)));
    assert!(stepped.step(2));
    assert_eq!((order.taken(), stepped.waiting()), (vec![5, 4, 3, 2, 1, 11], 0));
}

#[test]
fn later_frames_do_not_wait_for_a_large_one() {
    let many = rounds(100_000, 200);
    let (mut frames, drops) = (SteppedFrames::new(), Drops::default());
    (0..many).for_each(|_| _ = frames.here().alloc_drop(drops.value()));
    let first = address(&frames);
    let step = many / 50;
    for frame in 1..=60 {
        frames.advance();
        assert!(frames.here().stats().live == 0);
        let number = frames.here().alloc(frame);
        assert_eq!(*number, frame);
        let done = frames.step(step);
        assert_eq!((drops.count(), done), ((step * frame).min(many), frame >= 50));
    }
    assert_eq!((frames.waiting(), frames.number(), drops.alive()), (0, 60, 0));
    // The arenas of the large frame are used again for a frame that ends while another one waits.
    frames.here().alloc_drop(drops.value());
    frames.advance();
    assert_eq!(address(&frames), first);
    frames.trim(0);
}

#[test]
fn the_number_of_frames_that_are_made_is_bounded() {
    let made = Arc::new(AtomicUsize::new(0));
    let counter = made.clone();
    let (drops, many) = (Drops::default(), rounds(1000, 20));
    let mut frames = SteppedFrames::with_frames(move || {
        counter.fetch_add(1, SeqCst);
        Frames::new()
    });
    for frame in 0..many {
        elsewhere(|| (0..10).for_each(|_| _ = frames.here().alloc_drop(drops.value())));
        frames.advance();
        frames.step(if frame % 3 == 2 { 30 } else { 0 });
    }
    assert!(made.load(SeqCst) <= 4, "{made:?}");
    let waiting = frames.waiting();
    assert_eq!(drops.alive(), 10 * waiting);
    drop(frames);
    assert_eq!((drops.alive(), drops.count()), (0, 10 * many));
}

#[test]
fn a_function_that_makes_no_frames_leaves_the_frame_as_it_was() {
    let mut calls = 0;
    let drops = Drops::default();
    let mut frames = SteppedFrames::with_frames(move || {
        calls += 1;
        assert!(calls != 2, "no second frames");
        Frames::new()
    });
    frames.here().alloc_drop(drops.value());
    assert!(panics(|| frames.advance()));
    assert_eq!((frames.number(), frames.waiting(), drops.alive()), (0, 0, 1));
    frames.advance();
    assert_eq!((frames.number(), frames.waiting(), drops.alive()), (1, 1, 1));
    assert!(frames.step(1));
    assert_eq!(drops.alive(), 0);
}

#[test]
fn leaks_end_with_the_frame() {
    let (mut frames, drops) = (Frames::new(), Drops::default());
    frames.here().alloc_drop(drops.value());
    let scope = frames.here().scope_guard();
    (*scope).alloc_drop(drops.value());
    forget(scope);
    frames.here().alloc_drop(drops.value());
    assert!(!frames.advance_bounded(0));
    assert_eq!(drops.alive(), 3);
    assert!(!frames.advance_bounded(1));
    assert!(frames.advance_bounded(1));
    assert_eq!((drops.alive(), live(&mut frames)), (0, 0));

    let mut frames = Frames::new();
    frames.here().alloc_drop(drops.value());
    forget(frames.here().cursor());
    assert!(frames.advance_bounded(1));
    assert_eq!((drops.alive(), live(&mut frames)), (0, 0));
}

#[test]
fn switches_count_a_frame_that_ends_in_steps() {
    let (mut frames, drops) = (Frames::new(), Drops::default());
    frames.set_metered(true).unwrap();
    frames.set_checked(true).unwrap();
    for round in 1..=3 {
        {
            let _tag = frames.here().tag("kept");
            frames.here().alloc_drop(drops.value());
            frames.here().alloc_drop(drops.value());
        }
        frames.here().alloc(Vec::<u8>::new()); // reported as a leak
        assert!(!frames.advance_bounded(1));
        assert!(frames.advance_bounded(1));
        let summary = frames.summary().unwrap();
        assert_eq!((summary.frame, summary.findings.len(), drops.count()), (round, 1, 2 * round as usize));
        assert!(summary.report.tags[1].live > 0);
    }
    assert_eq!(format!("{:?}", SteppedFrames::default()), "SteppedFrames { number: 0, waiting: 0 }");
}
