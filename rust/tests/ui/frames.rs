//! Frames.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::sync::RwLock;
use toft::{Arena, Box, Frames, SharedFrames, SteppedFrames};

fn frame_used_after_advance() {
    let mut frames = Frames::new();
    let number = frames.here().alloc(1);
    frames.advance(); //~ E0502
    *number += 1;
}

fn frame_advanced_while_a_thread_uses_it() {
    let mut frames = Frames::new();
    std::thread::scope(|threads| {
        threads.spawn(|| *frames.here().alloc(1));
        frames.advance(); //~ E0502
    });
}

fn frame_arena_sent_to_a_thread() {
    let frames = Frames::new();
    let here = frames.here();
    std::thread::scope(|threads| {
        threads.spawn(|| *here.alloc(1)); //~ E0277
    });
}

fn frame_data_in_a_promoted_value() {
    let (longer, mut frames) = (Arena::new(), Frames::new());
    let here = frames.here();
    let names = here.boxed(vec![&*here.alloc_str("of the frame")]);
    let kept = Box::promote(names, &longer);
    frames.advance(); //~ E0502
    assert_eq!(kept[0], "of the frame");
}

fn frame_outlives_a_lock() {
    let frames = RwLock::new(Frames::new());
    let number = frames.read().unwrap().here().alloc(1); //~ E0716
    frames.write().unwrap().advance();
    *number += 1;
}

fn frame_scope_outlives_it() {
    let mut frames = Frames::new();
    let scope = frames.here().scope_guard();
    frames.advance(); //~ E0502
    scope.alloc(1);
}

fn value_of_a_party_used_after_the_frame() {
    let mut party = SharedFrames::new().join();
    let number = party.here().alloc(1);
    party.arrive_and_wait(); //~ E0502
    *number += 1;
}

fn value_of_a_party_outlives_it() {
    let party = SharedFrames::new().join();
    let number = party.here().alloc(1);
    drop(party); //~ E0505
    *number += 1;
}

fn frames_of_a_party_escape() {
    let mut party = SharedFrames::new().join();
    let frames: &Frames = &party;
    party.arrive_and_wait_with(|ending| { //~ E0502
        frames.here().alloc(1);
        ending.advance();
    });
}

fn value_used_after_a_step() {
    let mut frames = Frames::new();
    let number = frames.here().alloc(1);
    frames.advance_bounded(1); //~ E0502
    *number += 1;
}

fn value_of_a_stepped_frame_used_after_it() {
    let mut frames = SteppedFrames::new();
    let names = frames.here().alloc_drop(vec!["of the frame"]);
    frames.advance(); //~ E0502
    names.clear();
}

fn value_of_a_past_frame_kept_over_a_step() {
    let mut frames = SteppedFrames::new();
    frames.advance();
    let names = frames.here().alloc_drop(vec!["of the new frame"]);
    frames.step(1); //~ E0502
    names.clear();
}

fn main() {}
