//! Every interleaving, and every reordering that the memory model allows, of two threads that put values into, take
//! them out of and empty the same slots; of three threads, those with up to three preemptions. Each value has a cell
//! that its owner writes: loom reports concurrent writes, and a write that does not see the one before it.
// SPDX-License-Identifier: MIT OR Apache-2.0

use loom::cell::UnsafeCell;
use loom::sync::atomic;
use loom::sync::Arc;
use loom::thread;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

#[path = "../../src/threads/lease/slots.rs"]
#[allow(dead_code)]
mod slots;
use slots::{Line, ReservedSlot, Slots};

/// A value that the slots hold.
struct Value {
    uses: UnsafeCell<usize>,
}

/// Slots, and a count of live values. Capacities are small, since the number of interleavings grows fast.
struct Cache<const LINES: usize, const SLOTS_PER_LINE: usize> {
    slots: Slots<Value, LINES, SLOTS_PER_LINE>,
    bound: usize,
    /// Of the standard library, so that loom does not explore its interleavings.
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
        // SAFETY: the caller owns the value, which came from a box.
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

    /// A lease: takes or makes a value, uses it, and puts it back.
    fn lease(&self, hint: usize) {
        let (value, place) = self.take(hint);
        match place {
            Some(place) => place.fill(value),
            None => self.put(hint, value),
        }
    }

    /// A lease that is not returned.
    fn keep(&self, hint: usize) {
        let (value, place) = self.take(hint);
        if let Some(place) = place {
            place.abandon();
        }
        self.end(value);
    }

    fn take(&self, hint: usize) -> (NonNull<Value>, Option<ReservedSlot<'_, Value>>) {
        let (value, place) = self.slots.take(hint, self.bound).unwrap_or_else(|| (self.make(), None));
        // SAFETY: taking a value gives ownership; loom reports it otherwise.
        unsafe { value.as_ref().uses.with_mut(|uses| *uses += 1) };
        (value, place)
    }

    /// Visits each value, and puts it back into its slot.
    fn visit(&self) {
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

    /// When no other thread is left: the slots hold all live values, and no more than the bound.
    fn finish(&self) -> usize {
        let left = self.slots.full();
        assert!(left <= self.bound, "{left} wait");
        assert_eq!(self.live.load(SeqCst), left, "a value was lost, or is in two slots");
        self.trim();
        assert_eq!((self.slots.full(), self.live.load(SeqCst)), (0, 0));
        for hint in 0..self.bound {
            assert!(self.slots.put(hint, self.bound, self.make()), "a slot was lost");
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

/// Runs each thread's `work` with the thread's index, in all interleavings, on a cache with `waiting` values.
fn each_interleaving<const LINES: usize, const SLOTS_PER_LINE: usize>(
    bound: usize,
    waiting: usize,
    work: &[fn(&Cache<LINES, SLOTS_PER_LINE>, usize)],
) {
    let tried = std::sync::Arc::new(AtomicUsize::new(0));
    let (count, work) = (tried.clone(), work.to_vec());
    let mut model = loom::model::Builder::new();
    // All interleavings of two threads; of three, those with at most this number of preemptions.
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

/// Both threads take from the slot that holds the only value.
#[test]
fn two_take_from_one_slot() {
    each_interleaving::<1, 1>(1, 1, &[|c, _| c.lease(0), |c, _| c.lease(0)]);
}

/// The cache is empty: two values are returned to one slot.
#[test]
fn two_return_to_one_slot() {
    each_interleaving::<1, 1>(1, 0, &[|c, _| c.lease(0), |c, _| c.lease(0)]);
}

/// A thread that takes a value sees the writes of the thread that returned it.
#[test]
fn two_threads_lease_twice() {
    let twice: fn(&Cache<1, 1>, usize) = |c, _| (0..2).for_each(|_| c.lease(0));
    each_interleaving(1, 0, &[twice, twice]);
}

/// Each thread has its own line, and uses the other's when its own is empty.
#[test]
fn each_thread_has_its_own_line() {
    each_interleaving::<2, 1>(2, 1, &[|c, i| c.lease(i), |c, i| c.lease(i)]);
}

/// One line with two slots.
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
fn leases_during_a_trim() {
    each_interleaving::<2, 1>(2, 2, &[|c, _| c.trim(), |c, i| c.lease(i)]);
    each_interleaving::<1, 1>(1, 1, &[|c, _| c.trim(), |c, _| c.lease(0), |c, _| c.lease(0)]);
}

/// Values are visited one by one, and put back into their slots.
#[test]
fn leases_during_a_visit() {
    each_interleaving::<1, 1>(1, 1, &[|c, _| c.visit(), |c, _| c.lease(0), |c, _| c.lease(0)]);
}

/// A line's first slot is reserved for the value that was taken from it, if the line has other slots.
#[test]
fn a_reserved_slot_keeps_its_value() {
    type Cache2 = Cache<1, 2>;
    assert_eq!(Slots::<Value, 1, 2>::RESERVE_MIN, 2);
    let lease: fn(&Cache2, usize) = |c, _| c.lease(0);
    let keep: fn(&Cache2, usize) = |c, _| c.keep(0);
    let twice: fn(&Cache2, usize) = |c, _| (0..2).for_each(|_| c.lease(0));
    each_interleaving(2, 1, &[twice, twice]);
    each_interleaving(2, 2, &[lease, lease, lease]);
    each_interleaving(2, 2, &[lease, keep, lease]);
    each_interleaving(2, 1, &[lease, keep, |c, _| c.trim()]);
    each_interleaving(2, 1, &[lease, |c, _| c.visit(), |c, _| c.trim()]);
    each_interleaving(2, 2, &[lease, |c, _| c.visit(), |c, _| c.visit()]);
    let lines: fn(&Cache<2, 2>, usize) = |c, i| c.lease(i);
    each_interleaving(4, 1, &[lines, lines]);
}

/// A value that one thread took is returned by another, to its slot.
#[test]
fn another_thread_returns_a_value() {
    loom::model(|| {
        let cache = Cache::<1, 2>::new(2);
        let value = cache.make();
        cache.put(0, value);
        let other = cache.clone();
        let taker = thread::spawn(move || {
            let (value, place) = other.take(0);
            // SAFETY: the cache lives until both threads have ended.
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

/// Values that are still in the slots are dropped with them.
#[test]
fn the_last_thread_drops_the_values() {
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
