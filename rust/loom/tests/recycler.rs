//! Every interleaving of threads that look up whose an address is, without a lock, while one adds, removes and moves to a
//! larger table; and of threads that want one lock.
// SPDX-License-Identifier: MIT OR Apache-2.0

use loom::cell::UnsafeCell;
use loom::sync::{atomic, Arc};
use loom::thread::{self, yield_now};
use std::ptr::{null_mut, NonNull};
use std::sync::atomic::{AtomicUsize as Count, Ordering::SeqCst};

/// What the lock waits before it yields: here at once.
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

/// What an address leads to: written before anybody knows of it, and read by whoever frees.
struct Block {
    owner: UnsafeCell<usize>,
}

struct Known {
    directory: Directory<Block, 2>,
    tables: Count,
}

// SAFETY: blocks are in loom's cells, which say so if two threads are in one's way.
unsafe impl Send for Known {}
// SAFETY: as above.
unsafe impl Sync for Known {}

type Memory = Vec<u128>;

impl Known {
    fn new() -> Arc<Known> {
        let slot = |_| Slot::of(atomic::AtomicUsize::new(0), atomic::AtomicPtr::new(null_mut()));
        let few = std::array::from_fn(slot);
        let directory = Directory::of(few, atomic::AtomicPtr::new(null_mut()), atomic::AtomicUsize::new(0));
        Arc::new(Known { directory, tables: Count::new(0) })
    }

    /// A block of that key, and room for it if need be. One thread at a time.
    fn add(&self, key: usize) {
        let bytes = self.directory.table_bytes_for(1);
        let block = NonNull::from(Box::leak(Box::new(Block { owner: UnsafeCell::new(0) })));
        // SAFETY: the memory is as large as was asked for; the block is nobody else's yet.
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

    fn look(&self, key: usize) -> NonNull<Block> {
        // SAFETY: who looks was told of the key by who added it.
        unsafe {
            let block = self.directory.find(key);
            block.as_ref().owner.with(|owner| assert_eq!(*owner, key));
            block
        }
    }

    fn remove(&self, key: usize) {
        let block = self.look(key);
        // SAFETY: nobody looks for it any more.
        unsafe {
            self.directory.remove(key);
            drop(Box::from_raw(block.as_ptr()));
        }
    }

    fn finish(&self, keys: &[usize], tables: usize) {
        keys.iter().for_each(|key| self.remove(*key));
        assert_eq!(self.tables.load(SeqCst), tables);
        // SAFETY: nobody else is left; the tables are of `add`.
        unsafe {
            self.directory.clear(|p, bytes| {
                self.tables.fetch_sub(1, SeqCst);
                drop(Box::from_raw(std::ptr::slice_from_raw_parts_mut(p.as_ptr().cast::<u128>(), bytes / 16)));
            });
        }
        assert_eq!((self.tables.load(SeqCst), self.directory.bytes()), (0, 0));
    }
}

/// One thread is told of a key, and looks while the other goes on adding: first into the few, then into tables.
#[test]
fn looked_up_while_a_table_is_outgrown() {
    for before in [0, 1] {
        loom::model(move || {
            let known = Known::new();
            (0..before).for_each(|key| known.add(key));
            let told = Arc::new(atomic::AtomicUsize::new(0));
            let freer = thread::spawn({
                let (known, told) = (known.clone(), told.clone());
                move || {
                    // Told of the first, or of the first two.
                    (0..told.load(Acquire)).for_each(|key| drop(known.look(key)));
                }
            });
            for key in before..before + 2 {
                known.add(key);
                told.store(key + 1, Release);
            }
            freer.join().unwrap();
            known.finish(&[0, 1, 2][..before + 2], 1);
        });
    }
}

/// Others come and go, and their slots are used again, while a key that stays is looked up.
#[test]
fn looked_up_while_others_are_removed() {
    loom::model(|| {
        let known = Known::new();
        (0..3).for_each(|key| known.add(key));
        let freer = thread::spawn({
            let known = known.clone();
            move || drop((known.look(2), known.look(2)))
        });
        known.remove(0);
        known.add(7);
        known.remove(1);
        known.add(0);
        freer.join().unwrap();
        known.finish(&[0, 2, 7], 1);
    });
}

#[test]
fn two_look_while_one_adds() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let known = Known::new();
        known.add(0);
        let freers = [0, 1].map(|_| {
            let known = known.clone();
            thread::spawn(move || drop(known.look(0)))
        });
        (1..3).for_each(|key| known.add(key));
        freers.into_iter().for_each(|freer| freer.join().unwrap());
        known.finish(&[0, 1, 2], 1);
    });
}

/// Who has the lock has what is behind it alone, and sees what was done there.
#[test]
fn one_at_a_time() {
    struct Shard {
        lock: Lock,
        uses: UnsafeCell<usize>,
    }
    // SAFETY: loom's cells say so if two use one at a time.
    unsafe impl Sync for Shard {}
    // Of three, none waits: loom would run one of two that do in the hope that the other lets go.
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
            let _guard = shard.lock.try_take().expect("nobody has it");
            // SAFETY: as above.
            shard.uses.with(|uses| assert_eq!(unsafe { *uses }, used));
            assert!(used >= 1 && (!waits[0] || used == 2));
        });
    }
}
