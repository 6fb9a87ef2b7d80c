//! Toft.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use crate::hashes::Hashes;
use crate::ordered::{Map, Ordered, COUNT};
use crate::payload::{Item, Payload, Value};
use crate::pools::{self, Pools};
use crate::sequences::{Ends, Front, Rows as Sequences};
use crate::sets::{Dict, Dicts, Scan, Scans, Set, Sets};
use crate::standard::{dict, map_verbs, set, sum_keys, sum_pairs};
use toft::collections::{HashMap, HashSet};
use toft::Arena;
use toft::{Heap, Memory};
use toft_pools::{Columns, DensePool, FieldLayout, Handle, Key, List, Pool, Queue, Rows, Stack};
use toft_pools::{OrderedMap, OrderedSet};

/// An arena that others refer to.
struct Home(*mut Arena);

impl Drop for Home {
    fn drop(&mut self) {
        // SAFETY: it was a box.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

/// A collection with its own arena, which is dropped after it.
struct Housed<C> {
    c: C,
    _home: Home,
}

fn housed<C>(make: impl Fn(&'static Arena) -> C) -> Housed<C> {
    let home = Home(Box::into_raw(Box::new(Arena::new())));
    // SAFETY: the arena is dropped after `c`, which is not moved out.
    let c = make(unsafe { &*home.0 });
    Housed { c, _home: home }
}

/// Methods of a trait, of those that change a collection and of those that read it, as the housed collection has them.
macro_rules! housed {
    ($($name:ident($($arg:ident: $type:ty),*) $(-> $result:ty)?),*; $($read:ident($($of:ident: $t:ty),*) -> $found:ty),*) => {
        $(
            #[inline(always)]
            fn $name(&mut self, $($arg: $type),*) $(-> $result)? {
                self.c.$name($($arg),*)
            }
        )*
        $(
            #[inline(always)]
            fn $read(&self, $($of: $t),*) -> $found {
                self.c.$read($($of),*)
            }
        )*
    };
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

/// Access to values in this layout.
trait Lies<const REST: usize>: for<'a> FieldLayout<Value<REST>, Ref<'a>: First> {}
impl<const REST: usize, L: for<'a> FieldLayout<Value<REST>, Ref<'a>: First>> Lies<REST> for L {}

macro_rules! pool {
    ([$($generics:tt)*] $type:ty, $key:ty) => {
        impl<const REST: usize, $($generics)*> pools::Pool<REST> for $type {
            type Key = $key;

            #[inline(always)]
            fn insert(&mut self, value: Value<REST>) -> $key {
                self.insert(value)
            }
            #[inline(always)]
            fn get(&self, key: $key) -> u64 {
                self.get(key).map_or(0, First::first)
            }
            #[inline(always)]
            fn remove(&mut self, key: $key) -> Option<Value<REST>> {
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
    };
}

pool!([L: Lies<REST>, K: Key<Value<REST>>, M: Memory] Pool<Value<REST>, L, K, M>, K);
pool!([] DensePool<Value<REST>>, Handle<Value<REST>>);

impl<const REST: usize, P: pools::Pool<REST>> pools::Pool<REST> for Housed<P> {
    type Key = P::Key;
    housed!(insert(value: Value<REST>) -> P::Key, remove(key: P::Key) -> Option<Value<REST>>, clear();
            get(key: P::Key) -> u64, sum() -> u64, len() -> usize);
}

type Of<const REST: usize, L, K, M = Heap> = Pool<Value<REST>, L, K, M>;

pub fn pools<const REST: usize>(rows: &mut Pools<REST>) {
    let n = rows.n();
    rows.add("toft", Pool::<Value<REST>>::new);
    rows.add("toft fixed", move || Pool::<Value<REST>>::fixed(n));
    rows.add("toft dense", DensePool::<Value<REST>>::new);
    rows.add("toft arena", || housed(Of::<REST, Rows, Handle<Value<REST>>, _>::new_in));
    rows.add("toft columns", Of::<REST, Columns, Handle<Value<REST>>>::default);
    rows.add("toft columns fixed", move || Of::<REST, Columns, Handle<Value<REST>>>::any_fixed_in(n, Heap));
    rows.add("toft u32", Of::<REST, Rows, u32>::default);
    rows.add("toft u32 fixed", move || Of::<REST, Rows, u32>::any_fixed_in(n, Heap));
    rows.add("toft u32 columns", Of::<REST, Columns, u32>::default);
    rows.add("toft usize", Of::<REST, Rows, usize>::default);
}

// ---- lists, stacks and queues ----

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

/// Access to items in this layout.
trait Holds<const P: usize>: for<'a> FieldLayout<Item<P>, Ref<'a>: Number> {}
impl<const P: usize, L: for<'a> FieldLayout<Item<P>, Ref<'a>: Number>> Holds<P> for L {}

/// Doubly linked.
impl<const P: usize, L: Holds<P>, M: Memory> Front<P> for List<Item<P>, L, M> {
    type Begin = ();

    #[inline(always)]
    fn put(&mut self, (): &mut (), item: Item<P>) {
        self.push_front(item);
    }
    #[inline(always)]
    fn walk(&mut self, (): ()) -> u64 {
        let sum = self.iter().map(Number::number).sum();
        self.clear();
        sum
    }
}

impl<const P: usize, C: Front<P>> Front<P> for Housed<C> {
    type Begin = C::Begin;
    housed!(put(begin: &mut C::Begin, item: Item<P>), walk(begin: C::Begin) -> u64;);
}

macro_rules! ends {
    ([$($generics:tt)*] $type:ty, $push:ident, $pop:ident) => {
        impl<const P: usize, $($generics)*> Ends<P> for $type {
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

ends!([L: FieldLayout<Item<P>>, M: Memory] Stack<Item<P>, L, M>, push, pop);
ends!([L: FieldLayout<Item<P>>, M: Memory] Queue<Item<P>, L, M>, push_back, pop_front);
ends!([] toft::collections::Vec<'static, Item<P>>, push, pop);

impl<const P: usize, C: Ends<P>> Ends<P> for Housed<C> {
    housed!(push(item: Item<P>), pop() -> Option<Item<P>>; is_empty() -> bool);
}

pub fn sequences<const P: usize>(rows: &mut Sequences<P>) {
    let n = rows.n();
    rows.list("toft", List::<Item<P>>::new);
    rows.list("toft fixed", || List::<Item<P>>::fixed(n));
    rows.list("toft columns", List::<Item<P>, Columns>::default);
    rows.list("toft columns fixed", || List::<Item<P>, Columns>::any_fixed_in(n, Heap));
    rows.list("toft arena", || housed(List::<Item<P>, Rows, _>::new_in));

    rows.stack("toft", Stack::<Item<P>, Columns>::columns);
    rows.fresh_stack("toft fresh", Stack::<Item<P>, Columns>::columns);
    rows.stack("toft fixed", || Stack::<Item<P>>::fixed(n));
    rows.stack("toft columns fixed", || Stack::<Item<P>, Columns>::any_fixed_in(n, Heap));
    rows.stack("toft arena", || housed(Arena::vec::<Item<P>>));

    rows.queue("toft", Queue::<Item<P>, Columns>::columns);
    rows.fresh_queue("toft fresh", Queue::<Item<P>, Columns>::columns);
    rows.queue("toft fixed", || Queue::<Item<P>>::fixed(n));
    rows.queue("toft columns fixed", || Queue::<Item<P>, Columns>::any_fixed_in(n, Heap));
    rows.queue("toft arena", || housed(Queue::<Item<P>, Columns, _>::columns_in));
}

// ---- sets and dictionaries ----

set!(OrderedSet<i64, M>, M: Memory);

impl<C: Set> Set for Housed<C> {
    housed!(add(key: i64), remove(key: i64); has(key: i64) -> bool, is_empty() -> bool);
}

/// A reference to a payload, of rows or of columns.
trait Same<const P: usize> {
    fn is(self, payload: &Payload<P>) -> bool;
}

impl<const P: usize> Same<P> for &Payload<P> {
    #[inline(always)]
    fn is(self, payload: &Payload<P>) -> bool {
        self == payload
    }
}

impl<const P: usize> Same<P> for crate::payload::PayloadRef<'_, P> {
    #[inline(always)]
    fn is(self, payload: &Payload<P>) -> bool {
        *self.0 == payload.0
    }
}

impl<const P: usize, L: for<'a> FieldLayout<Payload<P>, Ref<'a>: Same<P>>, M: Memory> Dict<Payload<P>>
    for OrderedMap<i64, Payload<P>, L, M>
{
    #[inline(always)]
    fn put(&mut self, key: i64, value: Payload<P>) {
        self.insert(key, value);
    }
    #[inline(always)]
    fn has(&self, key: i64) -> bool {
        self.contains_key(&key)
    }
    #[inline(always)]
    fn agrees(&self, key: i64, value: &Payload<P>) -> bool {
        self.get(&key).is_some_and(|found| found.is(value))
    }
    #[inline(always)]
    fn remove(&mut self, key: i64) {
        self.remove(&key);
    }
    #[inline(always)]
    fn is_empty(&self) -> bool {
        self.is_empty()
    }
}

impl<V, C: Dict<V>> Dict<V> for Housed<C> {
    housed!(put(key: i64, value: V), remove(key: i64); has(key: i64) -> bool, agrees(key: i64, value: &V) -> bool, is_empty() -> bool);
}

impl Scan for OrderedSet<i64> {
    #[inline(always)]
    fn between(&self, low: i64, high: i64) -> i64 {
        self.range(low..=high).sum()
    }
}

set!(HashSet<'static, i64>);
dict!(HashMap<'static, i64, V>);

fn reserved<C>(mut c: C, reserve: impl FnOnce(&mut C)) -> C {
    reserve(&mut c);
    c
}

pub fn sets(rows: &mut Sets) {
    let most = rows.most();
    rows.add("toft", || housed(|arena| reserved(arena.set(), |set| set.reserve(most))));
    rows.fresh("toft fresh", || housed(Arena::set::<i64>));
    rows.add("toft ordered", OrderedSet::<i64>::new);
    rows.fresh("toft ordered fresh", OrderedSet::<i64>::new);
    rows.add("toft ordered fixed", || OrderedSet::<i64>::fixed(most));
    rows.add("toft ordered arena", || housed(OrderedSet::<i64, _>::new_in));
}

pub fn dicts<const P: usize>(rows: &mut Dicts<P>) {
    let most = rows.most();
    rows.add("toft", || housed(|arena| reserved(arena.map(), |map| map.reserve(most))));
    rows.fresh("toft fresh", || housed(Arena::map::<i64, Payload<P>>));
    rows.add("toft ordered", OrderedMap::<i64, Payload<P>>::new);
    rows.fresh("toft ordered fresh", OrderedMap::<i64, Payload<P>>::new);
    rows.add("toft ordered fixed", || OrderedMap::<i64, Payload<P>>::fixed(most));
    rows.add("toft ordered columns", OrderedMap::<i64, Payload<P>, Columns>::default);
    rows.add("toft ordered columns fixed", || OrderedMap::<i64, Payload<P>, Columns>::any_fixed_in(most, Heap));
    rows.add("toft ordered arena", || housed(OrderedMap::<i64, Payload<P>, Rows, _>::new_in));
}

pub fn scans(rows: &mut Scans) {
    rows.add("toft", OrderedSet::new(), |c, j| c.insert(j));
}

// ---- ordered ----

impl<M: Memory + Default> Map for OrderedMap<u64, u64, Rows, M> {
    crate::standard::map_verbs!();
    #[inline(always)]
    fn range(&self, from: u64) -> Option<u64> {
        Some(sum_pairs(self.range(from..).take(COUNT)))
    }
    fn bulk(ascending: &[u64]) -> Option<Self> {
        Some(Self::from_sorted_in(ascending.iter().map(|&key| (key, key)), M::default()))
    }
}

impl<M: Memory + Default> Map for OrderedSet<u64, M> {
    crate::standard::set_verbs!();
    #[inline(always)]
    fn range(&self, from: u64) -> Option<u64> {
        Some(sum_keys(self.range(from..).take(COUNT)))
    }
    fn bulk(ascending: &[u64]) -> Option<Self> {
        Some(Self::from_sorted_in(ascending.iter().copied(), M::default()))
    }
}

pub fn maps(rows: &mut Ordered) {
    let n = rows.n();
    rows.add("toft", OrderedMap::<u64, u64>::new);
    rows.add("toft fixed", move || OrderedMap::<u64, u64>::fixed(n));
}

pub fn ordered_sets(rows: &mut Ordered) {
    let n = rows.n();
    rows.add("toft", OrderedSet::<u64>::new);
    rows.add("toft fixed", move || OrderedSet::<u64>::fixed(n));
}

// ---- hash maps ----

impl Map for HashMap<'_, u64, u64> {
    map_verbs!();
}

impl<M: Map> Map for Housed<M> {
    housed!(insert(key: u64) -> bool, remove(key: u64) -> bool; get(key: u64) -> Option<u64>, sum() -> u64, len() -> usize);
}

pub fn hash_hits(rows: &mut Hashes) {
    rows.hits("toft", housed(Arena::map));
}

pub fn hash_rounds(rows: &mut Hashes) {
    let mut arena = Arena::new();
    rows.rounds("toft", move |round| {
        round(&mut arena.map::<u64, u64>());
        arena.reset();
    });
}
