//! Every interleaving of threads that fill one block, and of what happens when it is full. Each 8 bytes have a cell that
//! whoever has them writes: two at a time, or one that does not see what the one before wrote, is an error of loom's.
// SPDX-License-Identifier: MIT OR Apache-2.0

use loom::cell::UnsafeCell;
use loom::sync::{atomic, Arc};
use loom::thread::{self, yield_now};
use std::ptr::{null_mut, NonNull};

const SPINS: usize = 0;

#[path = "../../src/shared/blocks.rs"]
#[allow(dead_code)]
mod blocks;
#[path = "../../src/lock.rs"]
#[allow(dead_code)]
mod lock;
use blocks::{Block, Current};
use lock::Lock;

const WORDS: usize = 3;

struct Arena {
    current: Current,
    /// Written behind the lock.
    made: UnsafeCell<Vec<NonNull<Block>>>,
    /// Of the blocks that may be made, the memory, and a cell for each 8 bytes.
    memory: Vec<Box<[u64; WORDS]>>,
    cells: Vec<[UnsafeCell<usize>; WORDS]>,
}

// SAFETY: loom's cells say so if two use what only one may.
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
        // SAFETY: behind the lock; loom sees it if not.
        self.made.with_mut(|made| unsafe {
            let i = (*made).len();
            let base = NonNull::from(&**self.memory.get(i)?).cast();
            // A block begins where it likes here: in the crate it is at the front of its memory.
            let block = Block::of(base, 8 * WORDS, 0, atomic::AtomicUsize::new(0));
            let block = NonNull::from(Box::leak(Box::new(block)));
            (*made).push(block);
            Some(block)
        })
    }

    fn take(&self, least: usize, most: usize) -> Option<(usize, usize)> {
        let (p, size) = self.current.take(8 * least, 8 * most, 8, || self.make())?;
        self.write(p.as_ptr() as usize, size);
        Some((p.as_ptr() as usize, size))
    }

    /// Says whose cells these are.
    fn write(&self, at: usize, size: usize) {
        for (memory, cells) in self.memory.iter().zip(&self.cells) {
            let first = at.wrapping_sub(memory.as_ptr() as usize) / 8;
            if first < WORDS {
                for cell in &cells[first..first + size / 8] {
                    // SAFETY: whoever was given the bytes is alone; loom sees it if not.
                    cell.with_mut(|uses| unsafe { *uses += 1 });
                }
            }
        }
    }

    fn give(&self, at: usize, size: usize) -> bool {
        self.current.block().is_some_and(|block| block.free_newest(at, at + size))
    }

    /// How many blocks were made, and how much of them was given out.
    fn finish(&self) -> (usize, usize) {
        // SAFETY: nobody else is left.
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
            // The first block is there: of three, two would wait for the lock, and loom would run one of them in the hope
            // that the other lets go.
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

/// Both find no block: one makes it, and both fill it until one more is needed.
#[test]
fn two_fill_a_block_and_the_next() {
    each_interleaving(2, &[two, two], |made, used| assert_eq!((made, used), (2, 4)));
}

#[test]
fn three_want_one_block() {
    fn one(arena: &Arena) {
        assert!(arena.take(1, 1).is_some());
    }
    each_interleaving(1, &[one, one, one], |made, used| assert_eq!((made, used), (1, 3)));
}

/// What does not fit leaves the rest of a block; there is no more than two of them.
#[test]
fn larger_ones_and_no_memory() {
    fn large(arena: &Arena) {
        arena.take(2, 2);
        arena.take(2, 2);
    }
    each_interleaving(2, &[large, large], |made, used| assert_eq!((made, used), (2, 4)));
}

/// A range takes what is there; what it does not need goes back, if nobody came after it.
#[test]
fn ranges_that_give_back() {
    fn range(arena: &Arena) {
        let (at, size) = arena.take(1, 3).unwrap();
        if size > 8 {
            arena.give(at + 8, size - 8);
        }
    }
    each_interleaving(2, &[range, two], |made, used| assert!(made <= 2 && (3..=6).contains(&used), "{made} {used}"));
}

/// Who is given what another gave back comes after it.
#[test]
fn taken_given_and_taken_again() {
    fn again(arena: &Arena) {
        for _ in 0..2 {
            let (at, size) = arena.take(1, 1).unwrap();
            arena.give(at, size);
        }
    }
    each_interleaving(2, &[again, again], |made, used| assert!(made <= 2 && used <= 3, "{made} {used}"));
}

/// Grown in place, where nobody came after it.
#[test]
fn grown_in_place() {
    fn grow(arena: &Arena) {
        let (at, size) = arena.take(1, 1).unwrap();
        if arena.current.block().unwrap().extend(at + size, at + size + 8) {
            arena.write(at, size + 8);
        }
    }
    each_interleaving(2, &[grow, grow], |made, used| assert!(made == 1 && (2..=3).contains(&used), "{made} {used}"));
}
