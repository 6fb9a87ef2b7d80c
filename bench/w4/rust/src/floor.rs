//! Floors: minimal hand-written versions of each structure, without checks.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use crate::ordered::{Map, Ordered, COUNT};
use crate::payload::{Item, Value};
use crate::pools::{Pool, Pools};
use crate::sequences::{Ends, Front, Rows};
use crate::sets::{Scan, Scans, Set, Sets};
use crate::standard::sum_keys;
use std::mem::ManuallyDrop;

/// A vacant slot stores the next vacant one; vacant slots cannot be distinguished from others.
union Slot<T: Copy> {
    value: ManuallyDrop<T>,
    next: u32,
}

const NONE: u32 = u32::MAX;

/// Vec and free list.
struct FreeList<T: Copy> {
    slots: Vec<Slot<T>>,
    free: u32,
    len: usize,
}

impl<T: Copy> FreeList<T> {
    fn new() -> Self {
        FreeList { slots: Vec::new(), free: NONE, len: 0 }
    }

    #[inline(always)]
    fn put(&mut self, value: T) -> u32 {
        self.len += 1;
        let value = Slot { value: ManuallyDrop::new(value) };
        if self.free == NONE {
            self.slots.push(value);
            return self.slots.len() as u32 - 1;
        }
        let i = self.free;
        // SAFETY: the list contains numbers of vacant slots, which store the next one.
        unsafe {
            let slot = self.slots.get_unchecked_mut(i as usize);
            self.free = slot.next;
            *slot = value;
        }
        i
    }

    #[inline(always)]
    fn take(&mut self, i: u32) -> T {
        self.len -= 1;
        // SAFETY: the callers use each result of `put` once.
        unsafe {
            let slot = self.slots.get_unchecked_mut(i as usize);
            let value = *slot.value;
            slot.next = self.free;
            self.free = i;
            value
        }
    }
}

impl<const REST: usize> Pool<REST> for FreeList<Value<REST>> {
    type Key = u32;
    const BLIND: bool = true;

    #[inline(always)]
    fn insert(&mut self, value: Value<REST>) -> u32 {
        self.put(value)
    }
    #[inline(always)]
    fn get(&self, key: u32) -> u64 {
        // SAFETY: as in `take`.
        unsafe { self.slots.get_unchecked(key as usize).value.first }
    }
    #[inline(always)]
    fn remove(&mut self, key: u32) -> Option<Value<REST>> {
        Some(self.take(key))
    }
    #[inline(always)]
    fn sum(&self) -> u64 {
        // SAFETY: a vacant slot had a value earlier.
        self.slots.iter().map(|slot| unsafe { slot.value.first }).sum()
    }
    #[inline(always)]
    fn clear(&mut self) {
        self.slots.clear();
        self.free = NONE;
        self.len = 0;
    }
    #[inline(always)]
    fn len(&self) -> usize {
        self.len
    }
}

pub fn pools<const REST: usize>(rows: &mut Pools<REST>) {
    rows.add("floor free list", FreeList::new);
}

/// Cells linked by number.
struct Cells<const P: usize>(FreeList<(Item<P>, u32)>);

struct Begin(u32);

impl Default for Begin {
    fn default() -> Self {
        Begin(NONE)
    }
}

impl<const P: usize> Front<P> for Cells<P> {
    type Begin = Begin;

    #[inline(always)]
    fn put(&mut self, begin: &mut Begin, item: Item<P>) {
        begin.0 = self.0.put((item, begin.0));
    }
    #[inline(always)]
    fn walk(&mut self, mut begin: Begin) -> u64 {
        let mut sum = 0;
        while begin.0 != NONE {
            let (item, next) = self.0.take(begin.0);
            sum += item.number;
            begin.0 = next;
        }
        sum
    }
}

/// An array with fixed capacity.
struct Array<T, const FRONT: bool> {
    items: Box<[T]>,
    begin: usize,
    end: usize,
}

impl<const P: usize, const FRONT: bool> Ends<P> for Array<Item<P>, FRONT> {
    #[inline(always)]
    fn push(&mut self, item: Item<P>) {
        // SAFETY: its capacity is the number of pushes.
        unsafe { *self.items.get_unchecked_mut(self.end) = item }
        self.end += 1;
    }
    #[inline(always)]
    fn pop(&mut self) -> Option<Item<P>> {
        // SAFETY: there are no more pops than pushes.
        unsafe {
            if !FRONT {
                self.end -= 1;
                return Some(*self.items.get_unchecked(self.end));
            }
            let item = *self.items.get_unchecked(self.begin);
            self.begin += 1;
            if self.begin == self.end {
                (self.begin, self.end) = (0, 0);
            }
            Some(item)
        }
    }
    #[inline(always)]
    fn is_empty(&self) -> bool {
        self.begin == self.end
    }
}

fn array<T: Copy, const FRONT: bool>(n: usize, item: T) -> Array<T, FRONT> {
    Array { items: vec![item; n].into(), begin: 0, end: 0 }
}

pub fn sequences<const P: usize>(rows: &mut Rows<P>) {
    let (n, item) = (rows.n(), Item { number: 0, payload: crate::payload::Payload::filled(0.0) });
    rows.list("floor free list", || Cells::<P>(FreeList::new()));
    rows.stack("floor array", || array::<Item<P>, false>(n, item));
    rows.queue("floor array", || array::<Item<P>, true>(n, item));
}

/// A sorted vector.
struct Sorted(Vec<i64>);

impl Set for Sorted {
    #[inline(always)]
    fn add(&mut self, key: i64) {
        if let Err(at) = self.0.binary_search(&key) {
            self.0.insert(at, key);
        }
    }
    #[inline(always)]
    fn has(&self, key: i64) -> bool {
        self.0.binary_search(&key).is_ok()
    }
    #[inline(always)]
    fn remove(&mut self, key: i64) {
        if let Ok(at) = self.0.binary_search(&key) {
            self.0.remove(at);
        }
    }
    #[inline(always)]
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Scan for Sorted {
    #[inline(always)]
    fn between(&self, low: i64, high: i64) -> i64 {
        let begin = self.0.partition_point(|&key| key < low);
        self.0[begin..].iter().take_while(|&&key| key <= high).sum()
    }
}

/// An insertion moves half of the vector: only for sizes where that is cheap.
pub fn sets(rows: &mut Sets) {
    if rows.most() <= 2000 {
        rows.add("floor sorted Vec", || Sorted(vec![]));
    }
}

pub fn scans(rows: &mut Scans) {
    let sorted = Sorted((1..=rows.n() as i64).collect());
    rows.add("floor sorted Vec", sorted, |_, _| true);
}

/// The same with another type of numbers; it is only read.
struct Ascending(Vec<u64>);

impl Map for Ascending {
    const IS_READ: bool = true;

    #[inline(always)]
    fn insert(&mut self, _: u64) -> bool {
        false
    }
    #[inline(always)]
    fn get(&self, key: u64) -> Option<u64> {
        self.0.binary_search(&key).ok().map(|at| self.0[at])
    }
    #[inline(always)]
    fn remove(&mut self, _: u64) -> bool {
        false
    }
    #[inline(always)]
    fn sum(&self) -> u64 {
        sum_keys(self.0.iter())
    }
    #[inline(always)]
    fn range(&self, from: u64) -> Option<u64> {
        let begin = self.0.partition_point(|&key| key < from);
        Some(sum_keys(self.0[begin..].iter().take(COUNT)))
    }
    fn bulk(ascending: &[u64]) -> Option<Self> {
        Some(Ascending(ascending.to_vec()))
    }
    #[inline(always)]
    fn len(&self) -> usize {
        self.0.len()
    }
}

pub fn ordered_sets(rows: &mut Ordered) {
    rows.add("floor sorted Vec", || Ascending(vec![]));
}
