//! Frames of threads that live as long as the loop: a frame ends once, when all parties have arrived, whatever party
//! joins, leaves, panics or gives up waiting.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;

use std::time::Duration;

use toft::{FrameParty, SharedFrames};

#[test]
fn all_parties_see_each_frame_end_once() {
    let (frames, drops, many) = (SharedFrames::new(), Drops::default(), rounds(500, 5));
    let ended_by = AtomicUsize::new(0);
    let parties: Vec<FrameParty> = (0..4).map(|_| frames.join()).collect();
    thread::scope(|threads| {
        for mut party in parties {
            let (drops, ended_by) = (&drops, &ended_by);
            threads.spawn(move || {
                for round in 0..many {
                    assert_eq!(party.number(), round as u64);
                    // The other threads' values of this frame may exist, those of earlier ones do not.
                    assert!(drops.count() == 4 * round);
                    party.here().alloc_drop(drops.value());
                    let bytes = party.here().alloc_slice_fill(100, round as u8);
                    assert!(bytes.iter().all(|b| *b == round as u8));
                    let ended = party.arrive_and_wait_with(|frames| {
                        assert_eq!(drops.alive(), 4);
                        frames.advance();
                        assert_eq!(drops.alive(), 0);
                    });
                    ended_by.fetch_add(ended.is_some() as usize, SeqCst);
                }
            });
        }
    });
    assert_eq!((ended_by.load(SeqCst), frames.parties()), (many, (0, 0)));
    assert_eq!(frames.into_frames().unwrap().number(), many as u64);
}

#[test]
fn a_party_that_leaves_lets_the_others_continue() {
    let frames = SharedFrames::new();
    let last = rounds(200, 6);
    let parties: Vec<FrameParty> = (0..4).map(|_| frames.join()).collect();
    let ends: Vec<bool> = thread::scope(|threads| {
        let parties = parties.into_iter().enumerate().map(|(id, mut party)| {
            // Party 0 stays until the last frame; others return, or panic within a frame.
            threads.spawn(move || {
                let frames = if id == 0 { last } else { id };
                for _ in 0..frames {
                    party.here().alloc(id);
                    party.arrive_and_wait();
                }
                if id == 2 {
                    std::panic::resume_unwind(Box::new("within a frame"));
                }
            })
        });
        let threads: Vec<_> = parties.collect();
        threads.into_iter().map(|thread| thread.join().is_ok()).collect()
    });
    assert_eq!(ends, [true, true, false, true]);
    assert_eq!(frames.into_frames().unwrap().number(), last as u64);
}

#[test]
fn parties_join_and_leave_while_frames_end() {
    let (frames, many) = (SharedFrames::new(), rounds(2000, 10));
    let mut steady = frames.join();
    thread::scope(|threads| {
        for seed in 1..4u64 {
            let frames = &frames;
            threads.spawn(move || {
                let mut random = Random(seed * 0x9E37_79B9);
                for _ in 0..many {
                    let mut party = frames.join();
                    for _ in 0..random.below(4) {
                        let text = party.here().alloc_str("of this frame");
                        assert_eq!(text, "of this frame");
                        party.arrive_and_wait();
                    }
                }
            });
        }
        threads.spawn(move || {
            let done = |party: &FrameParty| party.number() >= many as u64;
            while !done(&steady) {
                steady.here().alloc([0u8; 100]);
                steady.arrive_and_wait();
            }
        });
    });
    assert_eq!(frames.parties(), (0, 0));
    assert!(frames.into_frames().unwrap().number() >= many as u64);
}

#[test]
fn a_destructor_that_panics_ends_the_frame_for_all() {
    let (frames, drops) = (SharedFrames::new(), Drops::default());
    let parties: Vec<FrameParty> = (0..3).map(|_| frames.join()).collect();
    let unwound = AtomicUsize::new(0);
    thread::scope(|threads| {
        for mut party in parties {
            let (drops, unwound) = (&drops, &unwound);
            threads.spawn(move || {
                party.here().alloc_drop(drops.bomb());
                unwound.fetch_add(panics(|| party.arrive_and_wait()) as usize, SeqCst);
                assert_eq!((party.number(), drops.count(), party.here().stats().live), (1, 3, 0));
                party.arrive_and_wait();
            });
        }
    });
    assert_eq!((unwound.load(SeqCst), frames.into_frames().unwrap().number()), (1, 2));
}

#[test]
fn a_closure_that_panics_ends_the_wait() {
    let frames = SharedFrames::new();
    let mut party = frames.join();
    assert!(panics(|| _ = party.arrive_and_wait_with(|_| panic!("in the closure"))));
    assert_eq!(frames.parties(), (1, 0));
    party.arrive_and_wait();
    assert_eq!(party.number(), 1);
}

#[test]
fn a_party_that_waited_in_vain_has_not_arrived() {
    let frames = SharedFrames::new();
    let (mut first, mut second) = (frames.join(), frames.join());
    let number = first.here().alloc(7);
    *number += 1;
    assert!(!first.arrive_and_wait_timeout(Duration::ZERO));
    assert_eq!((frames.parties(), first.number()), ((2, 0), 0));
    assert_eq!(first.here().stats().live, 8); // the frame goes on
    thread::scope(|threads| {
        threads.spawn(move || second.arrive_and_wait());
        assert!(first.arrive_and_wait_timeout(Duration::MAX)); // never
    });
    assert_eq!((first.number(), first.here().stats().live), (1, 0));
    assert!(first.arrive_and_wait_timeout(Duration::ZERO)); // the only party that is left
}

#[test]
fn frames_are_not_joined_by_the_thread_that_ends_them() {
    let frames = SharedFrames::new();
    let mut party = frames.join();
    assert!(panics(|| _ = party.arrive_and_wait_with(|_| _ = frames.join())));
    struct Joins(SharedFrames);
    impl Drop for Joins {
        fn drop(&mut self) {
            drop(self.0.join());
        }
    }
    party.here().alloc_drop(Joins(frames.clone()));
    assert!(panics(|| party.arrive_and_wait()));
    assert_eq!(frames.parties(), (1, 0));
    // Another thread waits until the frame has ended.
    let joined = party.arrive_and_wait_with(|ending| {
        let other = frames.clone();
        let thread = thread::spawn(move || other.join().number());
        ending.advance();
        thread
    });
    assert_eq!(joined.unwrap().join().unwrap(), 2);
}

#[test]
fn frames_return_when_no_party_has_them() {
    let frames = SharedFrames::from(Frames::with(|| Options::new().budget(100).create()));
    let party = frames.join();
    assert!(party.here().try_alloc([0u8; 200]).is_err());
    let frames = frames.into_frames().unwrap_err();
    assert_eq!(
        format!("{frames:?} {party:?}"),
        "SharedFrames { parties: 1, arrived: 0 } FrameParty { frames: Frames { number: 0, threads: 1 } }"
    );
    drop(party);
    let again = frames.clone();
    let frames = frames.into_frames().unwrap_err();
    drop(again);
    assert_eq!(frames.into_frames().unwrap().number(), 0);
}
