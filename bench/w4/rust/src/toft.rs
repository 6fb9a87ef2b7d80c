//! Ours.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use crate::ordered::Ordered;
use crate::payload::{Item, Value};
use crate::pools::{self, Pools};
use crate::sequences::{Ends, Front, Rows as Sequences};
use crate::sets::{Dicts, Scans, Sets};
use toft::pool::{Columns, ConsList, Handle, Heap, Key, Layout, List, Memory, Pool, Queue, Ring, Rows, Stack};
use toft::Arena;

/// An arena that others point to.
struct Home(*mut Arena);

impl Drop for Home {
    fn drop(&mut self) {
        // SAFETY: it was a box.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

/// What lives in an arena of its own, which ends after it.
struct Housed<C> {
    c: C,
    _home: Home,
}

fn housed<C>(make: impl Fn(&'static Arena) -> C) -> Housed<C> {
    let home = Home(Box::into_raw(Box::new(Arena::new())));
    // SAFETY: the arena ends after `c`, which is dropped first, and which nobody takes out.
    let c = make(unsafe { &*home.0 });
    Housed { c, _home: home }
}

// ---- pools ----

/// A reference to a value, of rows or of columns.
trait First {
    fn first(self) -> u64;
}

impl<const REST: usize> First for &Value<REST> {
    #[inline(always)]
    fn first(self) -> u64 {
        self.first
    }
}

impl<const REST: usize> First for crate::payload::ValueRef<'_, REST> {
    #[inline(always)]
    fn first(self) -> u64 {
        *self.first
    }
}

/// Values that are found in this layout.
trait Lies<const REST: usize>: for<'a> Layout<Value<REST>, Ref<'a>: First> {}
impl<const REST: usize, L: for<'a> Layout<Value<REST>, Ref<'a>: First>> Lies<REST> for L {}

impl<const REST: usize, L: Lies<REST>, K: Key<Value<REST>>, M: Memory> pools::Pool<REST>
    for Pool<Value<REST>, L, K, M>
{
    type Key = K;

    #[inline(always)]
    fn insert(&mut self, value: Value<REST>) -> K {
        self.insert(value)
    }
    #[inline(always)]
    fn get(&self, key: K) -> u64 {
        self.get(key).map_or(0, First::first)
    }
    #[inline(always)]
    fn remove(&mut self, key: K) -> Option<Value<REST>> {
        self.remove(key)
    }
    #[inline(always)]
    fn sum(&self) -> u64 {
        self.values().map(First::first).sum()
    }
    #[inline(always)]
    fn clear(&mut self) {
        self.clear();
    }
    #[inline(always)]
    fn len(&self) -> usize {
        self.len()
    }
}

impl<const REST: usize, P: pools::Pool<REST>> pools::Pool<REST> for Housed<P> {
    type Key = P::Key;

    #[inline(always)]
    fn insert(&mut self, value: Value<REST>) -> P::Key {
        self.c.insert(value)
    }
    #[inline(always)]
    fn get(&self, key: P::Key) -> u64 {
        self.c.get(key)
    }
    #[inline(always)]
    fn remove(&mut self, key: P::Key) -> Option<Value<REST>> {
        self.c.remove(key)
    }
    #[inline(always)]
    fn sum(&self) -> u64 {
        self.c.sum()
    }
    #[inline(always)]
    fn clear(&mut self) {
        self.c.clear();
    }
    #[inline(always)]
    fn len(&self) -> usize {
        self.c.len()
    }
}

type Of<const REST: usize, L, K, M = Heap> = Pool<Value<REST>, L, K, M>;

pub fn pools<const REST: usize>(rows: &mut Pools<REST>) {
    let n = rows.n();
    rows.add("toft", Pool::<Value<REST>>::new);
    rows.add("toft fixed", move || Pool::<Value<REST>>::fixed(n));
    rows.add("toft arena", || housed(Of::<REST, Rows, Handle<Value<REST>>, _>::new_in));
    rows.add("toft columns", Of::<REST, Columns, Handle<Value<REST>>>::default);
    rows.add("toft columns fixed", move || Of::<REST, Columns, Handle<Value<REST>>>::fixed_in(n, Heap));
    rows.add("toft u32", Of::<REST, Rows, u32>::default);
    rows.add("toft u32 fixed", move || Of::<REST, Rows, u32>::fixed_in(n, Heap));
    rows.add("toft u32 columns", Of::<REST, Columns, u32>::default);
    rows.add("toft usize", Of::<REST, Rows, usize>::default);
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
    #[inline(always)]
    fn put(&mut self, item: Item<P>) {
        self.first = Some(self.cells.insert(Cell { item, next: self.first }));
    }
    #[inline(always)]
    fn walk(&mut self) -> u64 {
        let mut sum = 0;
        while let Some(cell) = self.first.and_then(|cell| self.cells.remove(cell)) {
            sum += cell.item.number;
            self.first = cell.next;
        }
        sum
    }
}

/// The number of an item, of rows or of columns.
trait Number {
    fn number(self) -> u64;
}

impl<const P: usize> Number for &Item<P> {
    #[inline(always)]
    fn number(self) -> u64 {
        self.number
    }
}

impl<const P: usize> Number for crate::payload::ItemRef<'_, P> {
    #[inline(always)]
    fn number(self) -> u64 {
        *self.number
    }
}

/// Items that are found in this layout.
trait Holds<const P: usize>: for<'a> Layout<Item<P>, Ref<'a>: Number> {}
impl<const P: usize, L: for<'a> Layout<Item<P>, Ref<'a>: Number>> Holds<P> for L {}

/// A list of a pool of cells: gone over, and given back with all.
struct Cons<const P: usize, L: Layout<Item<P>>, M: Memory> {
    cells: ConsList<Item<P>, L, M>,
    list: Option<Handle<Item<P>>>,
}

fn cons<const P: usize, L: Layout<Item<P>>, M: Memory>(cells: ConsList<Item<P>, L, M>) -> Cons<P, L, M> {
    Cons { cells, list: None }
}

impl<const P: usize, L: Holds<P>, M: Memory> Front<P> for Cons<P, L, M> {
    #[inline(always)]
    fn put(&mut self, item: Item<P>) {
        self.list = Some(self.cells.cons(item, self.list));
    }
    #[inline(always)]
    fn walk(&mut self) -> u64 {
        let sum = self.cells.iter(self.list).map(Number::number).sum();
        self.cells.clear();
        self.list = None;
        sum
    }
}

/// Given back one by one, on the way.
struct OneByOne<C>(C);

impl<const P: usize, L: Layout<Item<P>>, M: Memory> Front<P> for OneByOne<Cons<P, L, M>> {
    #[inline(always)]
    fn put(&mut self, item: Item<P>) {
        self.0.list = Some(self.0.cells.cons(item, self.0.list));
    }
    #[inline(always)]
    fn walk(&mut self) -> u64 {
        let mut sum = 0;
        while let Some((item, tail)) = self.0.cells.uncons(self.0.list) {
            sum += item.number;
            self.0.list = tail;
        }
        sum
    }
}

/// Doubly linked.
impl<const P: usize, L: Holds<P>, M: Memory> Front<P> for List<Item<P>, L, M> {
    #[inline(always)]
    fn put(&mut self, item: Item<P>) {
        self.push_front(item);
    }
    #[inline(always)]
    fn walk(&mut self) -> u64 {
        let sum = self.iter().map(Number::number).sum();
        self.clear();
        sum
    }
}

impl<const P: usize, L: Layout<Item<P>>, M: Memory> Front<P> for OneByOne<List<Item<P>, L, M>> {
    #[inline(always)]
    fn put(&mut self, item: Item<P>) {
        self.0.push_front(item);
    }
    #[inline(always)]
    fn walk(&mut self) -> u64 {
        std::iter::from_fn(|| self.0.pop_front()).map(|item| item.number).sum()
    }
}

impl<const P: usize, C: Front<P>> Front<P> for Housed<C> {
    #[inline(always)]
    fn put(&mut self, item: Item<P>) {
        self.c.put(item);
    }
    #[inline(always)]
    fn walk(&mut self) -> u64 {
        self.c.walk()
    }
}

macro_rules! ends {
    ($type:ty, $push:ident, $pop:ident) => {
        impl<const P: usize, L: Layout<Item<P>>, M: Memory> Ends<P> for $type {
            #[inline(always)]
            fn push(&mut self, item: Item<P>) {
                self.$push(item);
            }
            #[inline(always)]
            fn pop(&mut self) -> Option<Item<P>> {
                self.$pop()
            }
            #[inline(always)]
            fn is_empty(&self) -> bool {
                self.is_empty()
            }
        }
    };
}

ends!(Stack<Item<P>, L, M>, push, pop);
ends!(Queue<Item<P>, L, M>, push_back, pop_front);
ends!(Ring<Item<P>, L, u32, M>, push_end, pop_begin);

impl<const P: usize, C: Ends<P>> Ends<P> for Housed<C> {
    #[inline(always)]
    fn push(&mut self, item: Item<P>) {
        self.c.push(item);
    }
    #[inline(always)]
    fn pop(&mut self) -> Option<Item<P>> {
        self.c.pop()
    }
    #[inline(always)]
    fn is_empty(&self) -> bool {
        self.c.is_empty()
    }
}

pub fn sequences<const P: usize>(rows: &mut Sequences<P>) {
    let n = rows.n();
    rows.list("toft", || cons(ConsList::<Item<P>>::new()));
    rows.list("toft popped", || OneByOne(cons(ConsList::<Item<P>>::new())));
    rows.list("toft fixed", || cons(ConsList::<Item<P>>::fixed(n)));
    rows.list("toft fixed popped", || OneByOne(cons(ConsList::<Item<P>>::fixed(n))));
    rows.list("toft columns", || cons(ConsList::<Item<P>, Columns>::default()));
    rows.list("toft columns popped", || OneByOne(cons(ConsList::<Item<P>, Columns>::default())));
    rows.list("toft columns fixed", || cons(ConsList::<Item<P>, Columns>::fixed_in(n, Heap)));
    rows.list("toft arena", || housed(|arena| cons(ConsList::<Item<P>, Rows, _>::new_in(arena))));
    rows.list("toft List", List::<Item<P>>::new);
    rows.list("toft List popped", || OneByOne(List::<Item<P>>::new()));
    rows.list("toft List fixed", || List::<Item<P>>::fixed(n));
    rows.list("toft List columns", List::<Item<P>, Columns>::default);
    rows.list("toft by hand", || Cells::<P> { cells: Pool::new(), first: None });

    rows.stack("toft", Stack::<Item<P>>::new);
    rows.fresh_stack("toft fresh", Stack::<Item<P>>::new);
    rows.stack("toft fixed", || Stack::<Item<P>>::fixed(n));
    rows.stack("toft columns", Stack::<Item<P>, Columns>::default);
    rows.stack("toft columns fixed", || Stack::<Item<P>, Columns>::fixed_in(n, Heap));
    rows.stack("toft arena", || housed(Stack::<Item<P>, Rows, _>::new_in));

    rows.queue("toft", Queue::<Item<P>>::new);
    rows.fresh_queue("toft fresh", Queue::<Item<P>>::new);
    rows.queue("toft fixed", || Queue::<Item<P>>::fixed(n));
    rows.queue("toft columns", Queue::<Item<P>, Columns>::default);
    rows.queue("toft columns fixed", || Queue::<Item<P>, Columns>::fixed_in(n, Heap));
    rows.queue("toft arena", || housed(Queue::<Item<P>, Rows, _>::new_in));
    rows.queue("toft ring", Ring::<Item<P>>::new);
}
pub fn sets(_: &mut Sets) {}
pub fn dicts<const P: usize>(_: &mut Dicts<P>) {}
pub fn scans(_: &mut Scans) {}
pub fn maps(_: &mut Ordered) {}
pub fn ordered_sets(_: &mut Ordered) {}
