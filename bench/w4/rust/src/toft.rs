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

impl<const REST: usize> pools::Pool<REST> for DensePool<Value<REST>> {
    type Key = Handle<Value<REST>>;

    #[inline(always)]
    fn insert(&mut self, value: Value<REST>) -> Self::Key {
        self.insert(value)
    }
    #[inline(always)]
    fn get(&self, key: Self::Key) -> u64 {
        self.get(key).unwrap().first
    }
    #[inline(always)]
    fn remove(&mut self, key: Self::Key) -> Option<Value<REST>> {
        self.remove(key)
    }
    #[inline(always)]
    fn sum(&self) -> u64 {
        self.values().map(|value| value.first).sum()
    }
    fn clear(&mut self) {
        self.clear()
    }
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

    #[inline(always)]
    fn put(&mut self, begin: &mut C::Begin, item: Item<P>) {
        self.c.put(begin, item);
    }
    #[inline(always)]
    fn walk(&mut self, begin: C::Begin) -> u64 {
        self.c.walk(begin)
    }
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

impl<M: Memory> Set for OrderedSet<i64, M> {
    #[inline(always)]
    fn add(&mut self, key: i64) {
        self.insert(key);
    }
    #[inline(always)]
    fn has(&self, key: i64) -> bool {
        self.contains(&key)
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

impl<C: Set> Set for Housed<C> {
    #[inline(always)]
    fn add(&mut self, key: i64) {
        self.c.add(key);
    }
    #[inline(always)]
    fn has(&self, key: i64) -> bool {
        self.c.has(key)
    }
    #[inline(always)]
    fn remove(&mut self, key: i64) {
        self.c.remove(key);
    }
    #[inline(always)]
    fn is_empty(&self) -> bool {
        self.c.is_empty()
    }
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
    #[inline(always)]
    fn put(&mut self, key: i64, value: V) {
        self.c.put(key, value);
    }
    #[inline(always)]
    fn has(&self, key: i64) -> bool {
        self.c.has(key)
    }
    #[inline(always)]
    fn agrees(&self, key: i64, value: &V) -> bool {
        self.c.agrees(key, value)
    }
    #[inline(always)]
    fn remove(&mut self, key: i64) {
        self.c.remove(key);
    }
    #[inline(always)]
    fn is_empty(&self) -> bool {
        self.c.is_empty()
    }
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
    #[inline(always)]
    fn insert(&mut self, key: u64) -> bool {
        self.c.insert(key)
    }
    #[inline(always)]
    fn get(&self, key: u64) -> Option<u64> {
        self.c.get(key)
    }
    #[inline(always)]
    fn remove(&mut self, key: u64) -> bool {
        self.c.remove(key)
    }
    fn sum(&self) -> u64 {
        self.c.sum()
    }
    fn len(&self) -> usize {
        self.c.len()
    }
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
