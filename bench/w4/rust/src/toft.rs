//! Ours.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use crate::ordered::Ordered;
use crate::payload::{Item, Value};
use crate::pools::{self, Pools};
use crate::sequences::{Ends, Front, Rows};
use crate::sets::{Dicts, Scans, Sets};
use toft::pool::{Handle, Heap, Key, Layout, Memory, Pool, Rows as InRows};
use toft::{Arena, Stack};

/// An arena for the rest of the program.
fn arena() -> &'static Arena {
    Box::leak(Box::new(Arena::new()))
}

// ---- pools ----

impl<const REST: usize, K: Key<Value<REST>>, M: Memory> pools::Pool<REST> for Pool<Value<REST>, InRows, K, M> {
    type Key = K;

    fn insert(&mut self, value: Value<REST>) -> K {
        self.insert(value)
    }
    fn get(&self, key: K) -> u64 {
        self[key].first
    }
    fn remove(&mut self, key: K) -> Option<Value<REST>> {
        self.remove(key)
    }
    fn sum(&self) -> u64 {
        self.values().map(|value| value.first).sum()
    }
    fn clear(&mut self) {
        self.clear();
    }
    fn len(&self) -> usize {
        self.len()
    }
}

type Of<T, L, K, M = Heap> = Pool<T, L, K, M>;

pub fn pools<const REST: usize>(rows: &mut Pools<REST>) {
    type V<const REST: usize> = Value<REST>;
    let n = rows.n();
    rows.add("toft", Pool::<V<REST>>::new);
    rows.add("toft fixed", move || Pool::<V<REST>>::fixed(n));
    rows.add("toft u32", Of::<V<REST>, InRows, u32>::default);
    rows.add("toft u32 fixed", move || Of::<V<REST>, InRows, u32>::fixed_in(n, Heap));
    rows.add("toft usize", Of::<V<REST>, InRows, usize>::default);
}

// ---- lists, stacks and queues ----

/// Cells in a pool, which one links oneself.
struct Cell<const P: usize> {
    item: Item<P>,
    next: Option<Handle<Cell<P>>>,
}

struct Cells<const P: usize> {
    cells: Pool<Cell<P>>,
    first: Option<Handle<Cell<P>>>,
}

impl<const P: usize> Front<P> for Cells<P> {
    fn put(&mut self, item: Item<P>) {
        self.first = Some(self.cells.insert(Cell { item, next: self.first }));
    }
    fn walk(&mut self) -> u64 {
        let mut sum = 0;
        while let Some(cell) = self.first.and_then(|cell| self.cells.remove(cell)) {
            sum += cell.item.0;
            self.first = cell.next;
        }
        sum
    }
}

impl<const P: usize, L: Layout<Item<P>>, M: Memory> Ends<P> for Stack<Item<P>, L, M> {
    fn push(&mut self, item: Item<P>) {
        self.push(item);
    }
    fn pop(&mut self) -> Option<Item<P>> {
        self.pop()
    }
    fn is_empty(&self) -> bool {
        self.is_empty()
    }
}

pub fn sequences<const P: usize>(rows: &mut Rows<P>) {
    let n = rows.n();
    rows.list("toft by hand", || Cells::<P> { cells: Pool::new(), first: None });
    rows.stack("toft", Stack::<Item<P>>::new);
    rows.fresh_stack("toft fresh", Stack::<Item<P>>::new);
    rows.stack("toft fixed", || Stack::<Item<P>>::fixed(n));
    rows.stack("toft arena", || Stack::<Item<P>, InRows, _>::new_in(arena()));
}
pub fn sets(_: &mut Sets) {}
pub fn dicts<const P: usize>(_: &mut Dicts<P>) {}
pub fn scans(_: &mut Scans) {}
pub fn maps(_: &mut Ordered) {}
pub fn ordered_sets(_: &mut Ordered) {}
