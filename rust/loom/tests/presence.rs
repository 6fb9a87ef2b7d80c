//! Every interleaving of a thread that ends and a frame that ends: the thread's arena, a cell here, is the next thread's
//! only when the one before has left, and then the next one sees what was written there.
// SPDX-License-Identifier: MIT OR Apache-2.0

use loom::cell::UnsafeCell;
use loom::sync::{atomic, Arc, Mutex};
use loom::thread;

#[path = "../../src/frames/presence.rs"]
#[allow(dead_code)]
mod presence;
use presence::{Door, Presence};

struct Arena(UnsafeCell<usize>);
// SAFETY: loom's cells say so if two use one at a time.
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
fn the_next_thread_gets_the_arena_of_one_that_has_left() {
    loom::model(|| {
        let (arena, presence) = (Arc::new(Arena(UnsafeCell::new(0))), Presence::new(Door::new()));
        assert!(!presence.is_shared() && presence.is_here());
        let first = thread::spawn({
            let (arena, presence) = (arena.clone(), presence.clone());
            move || {
                arena.fill();
                presence.leave(); // nothing else tells: whoever waits for a scope's threads does not wait for this
            }
        });
        // The frame ends, once before and once after the thread does.
        let mut got = 0;
        let seat = Mutex::new(());
        for _ in 0..2 {
            if !presence.is_here() {
                let locked = seat.lock().unwrap();
                presence.come();
                drop(locked);
                got += 1;
                thread::spawn({
                    let (arena, presence) = (arena.clone(), presence.clone());
                    move || {
                        assert!(presence.is_here());
                        arena.fill();
                    }
                })
                .join()
                .unwrap();
                break;
            }
        }
        first.join().unwrap();
        // SAFETY: nobody else is left.
        arena.0.with(|uses| assert_eq!(unsafe { *uses }, 1 + got));
    });
}

/// Two threads end beside frames that end. Each seat is found free once, though a frame looks at seats only after a
/// knock; and whoever finds it sees what its thread wrote.
#[test]
fn no_seat_is_overlooked() {
    loom::model(|| {
        let door = Door::new();
        let seats: [_; 2] = std::array::from_fn(|_| {
            (Arc::new(Arena(UnsafeCell::new(0))), Presence::new(door.clone()), std::cell::Cell::new(false))
        });
        let frame = || {
            if door.is_quiet() {
                return;
            }
            door.hush();
            for (arena, presence, free) in &seats {
                if !free.get() && !presence.is_here() {
                    free.set(true);
                    arena.fill();
                }
            }
        };
        let threads = [0, 1].map(|i| {
            let (arena, presence) = (seats[i].0.clone(), seats[i].1.clone());
            thread::spawn(move || {
                arena.fill();
                presence.leave();
            })
        });
        frame();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        frame();
        for (arena, _, free) in &seats {
            assert!(free.get());
            // SAFETY: nobody else is left.
            arena.0.with(|uses| assert_eq!(unsafe { *uses }, 2));
        }
    });
}
