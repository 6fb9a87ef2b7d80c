//! Every interleaving of lock-free lookups of an address's owner with a thread that adds and removes blocks and grows
//! the table; and of threads that contend for one lock.
// SPDX-License-Identifier: MIT OR Apache-2.0

use loom::cell::UnsafeCell;
use loom::sync::{atomic, Arc};
use loom::thread::{self, yield_now};
use std::ptr::{null_mut, NonNull};
use std::sync::atomic::{AtomicUsize as Count, Ordering::SeqCst};

/// Iterations before the lock yields: none here.
const SPINS: usize = 0;

#[path = "../../src/recycler/directory.rs"]
#[allow(dead_code)]
mod directory;
#[path = "../../src/lock.rs"]
#[allow(dead_code)]
mod lock;
use atomic::Ordering::{Acquire, Release};
use directory::{Directory, Slot};
use lock::Lock;

/// The value that the directory stores for an address: written before it is published, and read by the freeing thread.
struct Block {
    owner: UnsafeCell<usize>,
}

struct Fixture {
    directory: Directory<Block, 2>,
    tables: Count,
}

// SAFETY: loom's cells report concurrent access to a block.
unsafe impl Send for Fixture {}
// SAFETY: as above.
unsafe impl Sync for Fixture {}

type Memory = Vec<u128>;

impl Fixture {
    fn new() -> Arc<Fixture> {
        let slot = |_| Slot::of(atomic::AtomicUsize::new(0), atomic::AtomicPtr::new(null_mut()));
        let initial_slots = std::array::from_fn(slot);
        let directory = Directory::of(initial_slots, atomic::AtomicPtr::new(null_mut()), atomic::AtomicUsize::new(0));
        Arc::new(Fixture { directory, tables: Count::new(0) })
    }

    /// Adds a block with this key, and grows the table if it is full. One thread at a time.
    fn add(&self, key: usize) {
        let bytes = self.directory.table_bytes_for(1);
        let block = NonNull::from(Box::leak(Box::new(Block { owner: UnsafeCell::new(0) })));
        // SAFETY: the memory has the requested size; no other thread has the block yet.
        unsafe {
            if bytes != 0 {
                let memory = Box::leak(Memory::from_iter((0..bytes / 16).map(|_| 0)).into_boxed_slice());
                self.directory.grow(NonNull::from(memory).cast(), bytes);
                self.tables.fetch_add(1, SeqCst);
            }
            block.as_ref().owner.with_mut(|owner| *owner = key);
            self.directory.add(key, block);
        }
    }

    fn find(&self, key: usize) -> NonNull<Block> {
        // SAFETY: the key was published by the adding thread.
        unsafe {
            let block = self.directory.find(key);
            block.as_ref().owner.with(|owner| assert_eq!(*owner, key));
            block
        }
    }

    fn remove(&self, key: usize) {
        let block = self.find(key);
        // SAFETY: no thread looks it up any more.
        unsafe {
            self.directory.remove(key);
            drop(Box::from_raw(block.as_ptr()));
        }
    }

    fn finish(&self, keys: &[usize], tables: usize) {
        keys.iter().for_each(|key| self.remove(*key));
        assert_eq!(self.tables.load(SeqCst), tables);
        // SAFETY: no other thread is left; the tables were allocated by `add`.
        unsafe {
            self.directory.clear(|p, bytes| {
                self.tables.fetch_sub(1, SeqCst);
                drop(Box::from_raw(std::ptr::slice_from_raw_parts_mut(p.as_ptr().cast::<u128>(), bytes / 16)));
            });
        }
        assert_eq!((self.tables.load(SeqCst), self.directory.bytes()), (0, 0));
    }
}

/// One thread finds published keys while the other adds more: first into the initial slots, then into tables.
#[test]
fn keys_are_found_while_the_table_grows() {
    for before in [0, 1] {
        loom::model(move || {
            let fixture = Fixture::new();
            (0..before).for_each(|key| fixture.add(key));
            let published = Arc::new(atomic::AtomicUsize::new(0));
            let freer = thread::spawn({
                let (fixture, published) = (fixture.clone(), published.clone());
                move || {
                    // The first key, or the first two.
                    (0..published.load(Acquire)).for_each(|key| drop(fixture.find(key)));
                }
            });
            for key in before..before + 2 {
                fixture.add(key);
                published.store(key + 1, Release);
            }
            freer.join().unwrap();
            fixture.finish(&[0, 1, 2][..before + 2], 1);
        });
    }
}

/// Other keys are removed and added, and their slots reused, while lookups find a key that stays.
#[test]
fn keys_are_found_while_others_are_removed() {
    loom::model(|| {
        let fixture = Fixture::new();
        (0..3).for_each(|key| fixture.add(key));
        let freer = thread::spawn({
            let fixture = fixture.clone();
            move || drop((fixture.find(2), fixture.find(2)))
        });
        fixture.remove(0);
        fixture.add(7);
        fixture.remove(1);
        fixture.add(0);
        freer.join().unwrap();
        fixture.finish(&[0, 2, 7], 1);
    });
}

#[test]
fn two_threads_find_a_key_while_one_adds() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let fixture = Fixture::new();
        fixture.add(0);
        let freers = [0, 1].map(|_| {
            let fixture = fixture.clone();
            thread::spawn(move || drop(fixture.find(0)))
        });
        (1..3).for_each(|key| fixture.add(key));
        freers.into_iter().for_each(|freer| freer.join().unwrap());
        fixture.finish(&[0, 1, 2], 1);
    });
}

/// The holder of the lock has exclusive access, and sees the writes of earlier holders.
#[test]
fn the_lock_excludes_other_threads() {
    struct Shard {
        lock: Lock,
        uses: UnsafeCell<usize>,
    }
    // SAFETY: loom's cells report concurrent access.
    unsafe impl Sync for Shard {}
    // No thread of three waits: with two waiting threads loom would schedule one of them before the holder releases the
    // lock.
    for waits in [&[false, false, false][..], &[true, true]] {
        loom::model(move || {
            let shard = Arc::new(Shard { lock: Lock::of(atomic::AtomicBool::new(false)), uses: UnsafeCell::new(0) });
            let use_it = |shard: &Shard, waits: bool| {
                let guard = if waits { Some(shard.lock.take()) } else { shard.lock.try_take() };
                // SAFETY: the lock is held.
                guard.map(|_guard| shard.uses.with_mut(|uses| unsafe { *uses += 1 })).is_some() as usize
            };
            let start = |waits: &bool| {
                let (shard, waits) = (shard.clone(), *waits);
                thread::spawn(move || use_it(&shard, waits))
            };
            let threads: Vec<_> = waits[1..].iter().map(start).collect();
            let mut used = use_it(&shard, waits[0]);
            used += threads.into_iter().map(|thread| thread.join().unwrap()).sum::<usize>();
            let _guard = shard.lock.try_take().expect("the lock is free");
            // SAFETY: as above.
            shard.uses.with(|uses| assert_eq!(unsafe { *uses }, used));
            assert!(used >= 1 && (!waits[0] || used == 2));
        });
    }
}
