//! Every interleaving of threads that fill one block, and replace it when it is full. Each 8 bytes have a cell that the
//! owner of the bytes writes: loom reports concurrent writes, and a write that does not see the one before it.
// SPDX-License-Identifier: MIT OR Apache-2.0

use loom::cell::UnsafeCell;
use loom::sync::{atomic, Arc};
use loom::thread::{self, yield_now};
use std::ptr::{null_mut, NonNull};

const SPINS: usize = 0;

#[path = "../../src/threads/shared/blocks.rs"]
#[allow(dead_code)]
mod blocks;
#[path = "../../src/base/lock.rs"]
#[allow(dead_code)]
mod lock;
use blocks::{Block, Current};
use lock::Lock;

const WORDS: usize = 3;

struct Arena {
    current: Current,
    /// Written while the lock is held.
    made: UnsafeCell<Vec<NonNull<Block>>>,
    /// Memory of the blocks that may be made, and a cell for each 8 bytes of it.
    memory: Vec<Box<[u64; WORDS]>>,
    cells: Vec<[UnsafeCell<usize>; WORDS]>,
}

// SAFETY: loom's cells report concurrent access.
unsafe impl Send for Arena {}
// SAFETY: as above.
unsafe impl Sync for Arena {}

impl Arena {
    fn new(blocks: usize) -> Arc<Arena> {
        let lock = Lock::of(atomic::AtomicBool::new(false));
        Arc::new(Arena {
            current: Current::of(atomic::AtomicPtr::new(null_mut()), lock),
            made: UnsafeCell::new(vec![]),
            memory: (0..blocks).map(|_| Box::new([0; WORDS])).collect(),
            cells: (0..blocks).map(|_| std::array::from_fn(|_| UnsafeCell::new(0))).collect(),
        })
    }

    fn make(&self) -> Option<NonNull<Block>> {
        // SAFETY: the lock is held; loom reports it otherwise.
        self.made.with_mut(|made| unsafe {
            let i = (*made).len();
            let base = NonNull::from(&**self.memory.get(i)?).cast();
            // The block's header is separate from its memory here; in the crate it is at the front.
            let block = Block::of(base, 8 * WORDS, 0, atomic::AtomicUsize::new(0));
            let block = NonNull::from(Box::leak(Box::new(block)));
            (*made).push(block);
            Some(block)
        })
    }

    fn take(&self, least: usize, most: usize) -> Option<(usize, usize)> {
        let (p, size) = self.current.take(8 * least, 8 * most, 8, || self.make(), || false)?;
        self.write(p.as_ptr() as usize, size);
        Some((p.as_ptr() as usize, size))
    }

    /// Marks these bytes as used by the calling thread.
    fn write(&self, at: usize, size: usize) {
        for (memory, cells) in self.memory.iter().zip(&self.cells) {
            let first = at.wrapping_sub(memory.as_ptr() as usize) / 8;
            if first < WORDS {
                for cell in &cells[first..first + size / 8] {
                    // SAFETY: the bytes were allocated to this thread alone; loom reports it otherwise.
                    cell.with_mut(|uses| unsafe { *uses += 1 });
                }
            }
        }
    }

    fn give(&self, at: usize, size: usize) -> bool {
        self.current.block().is_some_and(|block| block.free_newest(at, at + size))
    }

    /// Returns the number of blocks that were made, and the words allocated in them.
    fn finish(&self) -> (usize, usize) {
        // SAFETY: no other thread is left.
        self.made.with_mut(|made| unsafe {
            let used = (*made).iter().map(|block| block.as_ref().used()).sum::<usize>() / 8;
            let made = std::mem::take(&mut *made);
            made.iter().for_each(|block| drop(Box::from_raw(block.as_ptr())));
            (made.len(), used)
        })
    }
}

fn each_interleaving(blocks: usize, work: &'static [fn(&Arena)], check: fn(usize, usize)) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = (work.len() > 2).then_some(2);
    let count = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let tried = count.clone();
    model.check(move || {
        let arena = Arena::new(blocks);
        if work.len() > 2 {
            // Makes the first block in advance: of three threads two would wait for the lock, and loom would schedule
            // one of them before the holder releases it.
            arena.take(0, 0);
        }
        let threads: Vec<_> = work[1..]
            .iter()
            .map(|work| {
                let arena = arena.clone();
                thread::spawn(move || work(&arena))
            })
            .collect();
        work[0](&arena);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let (made, used) = arena.finish();
        check(made, used);
        tried.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    });
    println!("{} interleavings", count.load(std::sync::atomic::Ordering::SeqCst));
}

fn two(arena: &Arena) {
    assert!(arena.take(1, 1).is_some());
    assert!(arena.take(1, 1).is_some());
}

/// Both threads find no block: one of them makes it, and both fill it until another is needed.
#[test]
fn two_threads_fill_a_block_and_the_next() {
    each_interleaving(2, &[two, two], |made, used| assert_eq!((made, used), (2, 4)));
}

#[test]
fn three_threads_share_one_block() {
    fn one(arena: &Arena) {
        assert!(arena.take(1, 1).is_some());
    }
    each_interleaving(1, &[one, one, one], |made, used| assert_eq!((made, used), (1, 3)));
}

/// A request that does not fit leaves the rest of the block unused; at most two blocks are made.
#[test]
fn a_request_that_does_not_fit_takes_the_next_block() {
    fn large(arena: &Arena) {
        arena.take(2, 2);
        arena.take(2, 2);
    }
    each_interleaving(2, &[large, large], |made, used| assert_eq!((made, used), (2, 4)));
}

/// A range takes the bytes that are left, and returns the unused end if no allocation follows it.
#[test]
fn ranges_return_their_unused_end() {
    fn range(arena: &Arena) {
        let (at, size) = arena.take(1, 3).unwrap();
        if size > 8 {
            arena.give(at + 8, size - 8);
        }
    }
    each_interleaving(2, &[range, two], |made, used| assert!(made <= 2 && (3..=6).contains(&used), "{made} {used}"));
}

/// A freed range is allocated again by either thread.
#[test]
fn freed_bytes_are_allocated_again() {
    fn again(arena: &Arena) {
        for _ in 0..2 {
            let (at, size) = arena.take(1, 1).unwrap();
            arena.give(at, size);
        }
    }
    each_interleaving(2, &[again, again], |made, used| assert!(made <= 2 && used <= 3, "{made} {used}"));
}

/// An allocation grows in place if no other follows it.
#[test]
fn the_last_allocation_grows_in_place() {
    fn grow(arena: &Arena) {
        let (at, size) = arena.take(1, 1).unwrap();
        if arena.current.block().unwrap().extend(at + size, at + size + 8) {
            arena.write(at, size + 8);
        }
    }
    each_interleaving(2, &[grow, grow], |made, used| assert!(made == 1 && (2..=3).contains(&used), "{made} {used}"));
}
