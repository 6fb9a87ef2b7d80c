//! Every interleaving of the ends of a thread and of a frame: the next thread takes the arena (a cell here) of the first
//! only when that has exited, and then sees its writes.
// SPDX-License-Identifier: MIT OR Apache-2.0

use loom::cell::UnsafeCell;
use loom::sync::{atomic, Arc, Mutex};
use loom::thread;

#[path = "../../src/threads/frames/thread_flag.rs"]
#[allow(dead_code)]
mod thread_flag;
use thread_flag::{AnyExited, ThreadFlag};

struct Arena(UnsafeCell<usize>);
// SAFETY: loom's cells report concurrent access.
unsafe impl Send for Arena {}
// SAFETY: as above.
unsafe impl Sync for Arena {}

impl Arena {
    fn fill(&self) {
        // SAFETY: as above.
        self.0.with_mut(|uses| unsafe { *uses += 1 });
    }
}

#[test]
fn the_next_thread_gets_the_arena_of_an_exited_thread() {
    loom::model(|| {
        let (arena, flag) = (Arc::new(Arena(UnsafeCell::new(0))), ThreadFlag::new(AnyExited::new()));
        assert!(!flag.is_shared() && flag.is_running());
        let first = thread::spawn({
            let (arena, flag) = (arena.clone(), flag.clone());
            move || {
                arena.fill();
                flag.set_exited(); // the only signal: a scope does not wait for this code of its threads
            }
        });
        // The frame ends once before the thread does, and once after.
        let mut got = 0;
        let slot_lock = Mutex::new(());
        for _ in 0..2 {
            if !flag.is_running() {
                let locked = slot_lock.lock().unwrap();
                flag.set_running();
                drop(locked);
                got += 1;
                thread::spawn({
                    let (arena, flag) = (arena.clone(), flag.clone());
                    move || {
                        assert!(flag.is_running());
                        arena.fill();
                    }
                })
                .join()
                .unwrap();
                break;
            }
        }
        first.join().unwrap();
        // SAFETY: no other thread is left.
        arena.0.with(|uses| assert_eq!(unsafe { *uses }, 1 + got));
    });
}

/// Two threads end while frames end. Each slot is found free once, though a frame reads the flags only if one was set;
/// and the frame sees the thread's writes.
#[test]
fn no_ended_thread_is_missed() {
    loom::model(|| {
        let any_exited = AnyExited::new();
        let slots: [_; 2] = std::array::from_fn(|_| {
            (Arc::new(Arena(UnsafeCell::new(0))), ThreadFlag::new(any_exited.clone()), std::cell::Cell::new(false))
        });
        let frame = || {
            if any_exited.is_clear() {
                return;
            }
            any_exited.clear();
            for (arena, flag, free) in &slots {
                if !free.get() && !flag.is_running() {
                    free.set(true);
                    arena.fill();
                }
            }
        };
        let threads = [0, 1].map(|i| {
            let (arena, flag) = (slots[i].0.clone(), slots[i].1.clone());
            thread::spawn(move || {
                arena.fill();
                flag.set_exited();
            })
        });
        frame();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        frame();
        for (arena, _, free) in &slots {
            assert!(free.get());
            // SAFETY: no other thread is left.
            arena.0.with(|uses| assert_eq!(unsafe { *uses }, 2));
        }
    });
}
