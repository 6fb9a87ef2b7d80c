//! Every interleaving, and every reordering that the memory model allows, of two threads that put into, take out of and
//! empty the same slots; of three threads, those with up to three interruptions. Each value has a cell that whoever has
//! the value writes: two at a time, or one that does not see what the one before wrote, is an error of loom's.
// SPDX-License-Identifier: MIT OR Apache-2.0

use loom::cell::UnsafeCell;
use loom::sync::atomic;
use loom::sync::Arc;
use loom::thread;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

#[path = "../../src/lease/slots.rs"]
#[allow(dead_code)]
mod slots;
use slots::{Line, ReservedSlot, Slots};

/// What waits in a slot.
struct Value {
    uses: UnsafeCell<usize>,
}

/// Slots, and a count of the values that live. The slots' capacity and everything else is small: there are many
/// interleavings.
struct Cache<const LINES: usize, const SLOTS_PER_LINE: usize> {
    slots: Slots<Value, LINES, SLOTS_PER_LINE>,
    bound: usize,
    /// Of the standard library, so that loom does not see it: it is no part of what is tried.
    live: AtomicUsize,
}

impl<const LINES: usize, const SLOTS_PER_LINE: usize> Cache<LINES, SLOTS_PER_LINE> {
    fn new(bound: usize) -> Arc<Self> {
        let line = |_| Line::of(std::array::from_fn(|_| atomic::AtomicPtr::new(std::ptr::null_mut())));
        Arc::new(Cache { slots: Slots::of(std::array::from_fn(line)), bound, live: AtomicUsize::new(0) })
    }

    fn make(&self) -> NonNull<Value> {
        self.live.fetch_add(1, SeqCst);
        NonNull::from(Box::leak(Box::new(Value { uses: UnsafeCell::new(0) })))
    }

    fn end(&self, value: NonNull<Value>) {
        // SAFETY: who ends it has it, and it came of a box.
        unsafe {
            value.as_ref().uses.with_mut(|_| ());
            drop(Box::from_raw(value.as_ptr()));
        }
        self.live.fetch_sub(1, SeqCst);
    }

    fn put(&self, hint: usize, value: NonNull<Value>) {
        if !self.slots.put(hint, self.bound, value) {
            self.end(value);
        }
    }

    /// A lease: taken, or made; used; put back.
    fn lease(&self, hint: usize) {
        let (value, place) = self.take(hint);
        match place {
            Some(place) => place.fill(value),
            None => self.put(hint, value),
        }
    }

    /// A lease that does not come back.
    fn keep(&self, hint: usize) {
        let (value, place) = self.take(hint);
        if let Some(place) = place {
            place.abandon();
        }
        self.end(value);
    }

    fn take(&self, hint: usize) -> (NonNull<Value>, Option<ReservedSlot<'_, Value>>) {
        let (value, place) = self.slots.take(hint, self.bound).unwrap_or_else(|| (self.make(), None));
        // SAFETY: who took it has it; loom sees it if not.
        unsafe { value.as_ref().uses.with_mut(|uses| *uses += 1) };
        (value, place)
    }

    /// Each is looked at, and put back to where it was.
    fn look(&self) {
        self.slots.each(|value| {
            // SAFETY: it is out of its slot.
            unsafe { value.as_ref().uses.with_mut(|uses| *uses += 1) };
            Some(value)
        });
    }

    fn trim(&self) {
        self.slots.each(|value| {
            self.end(value);
            None
        });
    }

    /// Nobody else is there any more: what waits is what lives, and not more than it may be.
    fn finish(&self) -> usize {
        let left = self.slots.full();
        assert!(left <= self.bound, "{left} wait");
        assert_eq!(self.live.load(SeqCst), left, "lost, or in two slots");
        self.trim();
        assert_eq!((self.slots.full(), self.live.load(SeqCst)), (0, 0));
        for hint in 0..self.bound {
            assert!(self.slots.put(hint, self.bound, self.make()), "a slot is lost");
        }
        self.trim();
        left
    }
}

impl<const LINES: usize, const SLOTS_PER_LINE: usize> Drop for Cache<LINES, SLOTS_PER_LINE> {
    fn drop(&mut self) {
        self.trim();
    }
}

/// Runs `work` of each thread, by its number, on a cache that `before` prepared, in all interleavings.
fn each_interleaving<const LINES: usize, const SLOTS_PER_LINE: usize>(
    bound: usize,
    waiting: usize,
    work: &[fn(&Cache<LINES, SLOTS_PER_LINE>, usize)],
) {
    let tried = std::sync::Arc::new(AtomicUsize::new(0));
    let (count, work) = (tried.clone(), work.to_vec());
    let mut model = loom::model::Builder::new();
    // All of them for two threads; of three, those in which a thread is interrupted so many times.
    model.preemption_bound = (work.len() > 2).then_some(3);
    model.check(move || {
        let cache = Cache::new(bound);
        for hint in 0..waiting {
            let value = cache.make();
            cache.put(hint, value);
        }
        let threads: Vec<_> = (1..work.len())
            .map(|i| {
                let (cache, work) = (cache.clone(), work[i]);
                thread::spawn(move || work(&cache, i))
            })
            .collect();
        work[0](&cache, 0);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        cache.finish();
        count.fetch_add(1, SeqCst);
    });
    println!("{} interleavings", tried.load(SeqCst));
}

/// Both want the one that waits.
#[test]
fn two_take_from_one_slot() {
    each_interleaving::<1, 1>(1, 1, &[|c, _| c.lease(0), |c, _| c.lease(0)]);
}

/// None waits: two come back, and one slot is there.
#[test]
fn two_put_into_one_slot() {
    each_interleaving::<1, 1>(1, 0, &[|c, _| c.lease(0), |c, _| c.lease(0)]);
}

/// What one thread put, the other takes, and sees what was written.
#[test]
fn two_rounds_each() {
    let twice: fn(&Cache<1, 1>, usize) = |c, _| (0..2).for_each(|_| c.lease(0));
    each_interleaving(1, 0, &[twice, twice]);
}

/// Each has a line of its own, and goes to the other's when there is nothing in it.
#[test]
fn two_lines() {
    each_interleaving::<2, 1>(2, 1, &[|c, i| c.lease(i), |c, i| c.lease(i)]);
}

/// One line, two slots in it.
#[test]
fn one_wide_line() {
    each_interleaving::<1, 2>(2, 1, &[|c, _| c.lease(0), |c, _| c.lease(0)]);
}

#[test]
fn three_threads() {
    let lease: fn(&Cache<1, 1>, usize) = |c, _| c.lease(0);
    each_interleaving(1, 1, &[lease, lease, lease]);
}

#[test]
fn three_threads_and_two_lines() {
    let lease: fn(&Cache<2, 1>, usize) = |c, i| c.lease(i);
    each_interleaving(2, 1, &[lease, lease, lease]);
}

#[test]
fn trimmed_meanwhile() {
    each_interleaving::<2, 1>(2, 2, &[|c, _| c.trim(), |c, i| c.lease(i)]);
    each_interleaving::<1, 1>(1, 1, &[|c, _| c.trim(), |c, _| c.lease(0), |c, _| c.lease(0)]);
}

/// Looked at, one by one, and put back to where it was.
#[test]
fn looked_at_meanwhile() {
    each_interleaving::<1, 1>(1, 1, &[|c, _| c.look(), |c, _| c.lease(0), |c, _| c.lease(0)]);
}

/// A line's first slot is kept for what was taken there, if there are others.
#[test]
fn kept_slots() {
    type Cache2 = Cache<1, 2>;
    assert_eq!(Slots::<Value, 1, 2>::RESERVE_MIN, 2);
    let lease: fn(&Cache2, usize) = |c, _| c.lease(0);
    let keep: fn(&Cache2, usize) = |c, _| c.keep(0);
    let twice: fn(&Cache2, usize) = |c, _| (0..2).for_each(|_| c.lease(0));
    each_interleaving(2, 1, &[twice, twice]);
    each_interleaving(2, 2, &[lease, lease, lease]);
    each_interleaving(2, 2, &[lease, keep, lease]);
    each_interleaving(2, 1, &[lease, keep, |c, _| c.trim()]);
    each_interleaving(2, 1, &[lease, |c, _| c.look(), |c, _| c.trim()]);
    each_interleaving(2, 2, &[lease, |c, _| c.look(), |c, _| c.look()]);
    let lines: fn(&Cache<2, 2>, usize) = |c, i| c.lease(i);
    each_interleaving(4, 1, &[lines, lines]);
}

/// What one thread took another returns, to where it was.
#[test]
fn returned_by_another_thread() {
    loom::model(|| {
        let cache = Cache::<1, 2>::new(2);
        let value = cache.make();
        cache.put(0, value);
        let other = cache.clone();
        let taker = thread::spawn(move || {
            let (value, place) = other.take(0);
            // SAFETY: the cache lives until both have ended.
            let place = place.map(|place| unsafe {
                std::mem::transmute::<ReservedSlot<'_, Value>, ReservedSlot<'static, Value>>(place)
            });
            (value.as_ptr() as usize, place)
        });
        cache.lease(0);
        let (value, place) = taker.join().unwrap();
        let value = NonNull::new(value as *mut Value).unwrap();
        let returner = thread::spawn({
            let (cache, value) = (cache.clone(), value.as_ptr() as usize);
            move || {
                let value = NonNull::new(value as *mut Value).unwrap();
                match place {
                    Some(place) => place.fill(value),
                    None => cache.put(0, value),
                }
            }
        });
        cache.lease(0);
        returner.join().unwrap();
        assert!(cache.finish() >= 1);
    });
}

/// The slots end while values wait in them: none is left.
#[test]
fn dropped_by_the_last_thread() {
    loom::model(|| {
        let cache = Cache::<1, 1>::new(1);
        let other = cache.clone();
        let thread = thread::spawn(move || {
            other.lease(0);
            drop(other);
        });
        cache.lease(0);
        drop(cache);
        thread.join().unwrap();
    });
}
