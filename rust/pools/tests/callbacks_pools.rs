//! Code of the program that runs during a call of a pool or collection: comparisons, clones, destructors, hashes,
//! formatting, closures and iterators. Each operation of the tables runs with each behaviour: code that reads the same
//! collection through a shared reference and fills another one; that returns random answers; that panics at its n-th
//! call. Afterwards each value exists once, in the collection or dropped, and the collection is usable as before.
//! `callbacks.rs` tests such code with arenas.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "derive")]
// One table serves all types; and the orders are inconsistent on purpose.
#![allow(clippy::redundant_closure, clippy::forget_non_drop, clippy::non_canonical_partial_ord_impl)]

use std::cell::{Cell, RefCell};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem::{forget, take};
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::rc::Rc;

use toft::Heap;
use toft_pools::{Columnar, Columns, Handle, List, OrderedMap, OrderedSet, Pool, Queue, Rows, Stack};

// ---- behaviours of the program's code ----

#[derive(Clone, Copy, Debug, PartialEq)]
enum Behaviour {
    Behaves,
    /// Reads the collection, where it may, and makes and drops another one.
    Enters,
    /// Returns random answers.
    Lies(u64),
    /// At its n-th call.
    Panics(u64),
}

thread_local! {
    static BEHAVIOUR: Cell<Behaviour> = const { Cell::new(Behaviour::Behaves) };
    static CALLS: Cell<u64> = const { Cell::new(0) };
    static DICE: Cell<u64> = const { Cell::new(1) };
    /// The action of `Enters`; `None` while it runs.
    static VISIT: RefCell<Option<Rc<dyn Fn()>>> = const { RefCell::new(None) };
    /// Whether the value of each number is live, and how many are.
    static IS_LIVE: RefCell<Vec<bool>> = const { RefCell::new(Vec::new()) };
    static LIVE: Cell<usize> = const { Cell::new(0) };
    /// A value was dropped twice: recorded, since a panic in a destructor may be caught.
    static TWICE: Cell<bool> = const { Cell::new(false) };
}

fn roll(below: u64) -> u64 {
    let mut x = DICE.get();
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    DICE.set(x);
    x % below
}

/// One call of the program's code. Returns whether it must answer at random.
fn act() -> bool {
    CALLS.set(CALLS.get() + 1);
    match BEHAVIOUR.get() {
        Behaviour::Behaves => false,
        Behaviour::Lies(_) => true,
        Behaviour::Panics(n) => {
            if CALLS.get() == n {
                resume_unwind(Box::new("the program's code")); // a panic without a message
            }
            false
        }
        Behaviour::Enters => {
            let visit = VISIT.with_borrow_mut(Option::take);
            if let Some(visit) = visit {
                visit();
                VISIT.set(Some(visit));
            }
            false
        }
    }
}

/// The answer of a closure about a value.
fn answer(value: impl Number) -> bool {
    let n = value.number();
    match act() {
        true => roll(2) == 0,
        false => n % 3 != 0,
    }
}

/// A value whose trait implementations are all code of the program.
struct Wild {
    number: i64,
    id: usize,
    /// On the heap, so that Miri and sanitizers detect reads of a dropped value.
    memory: Box<i64>,
}

fn wild(number: i64) -> Wild {
    let id = IS_LIVE.with_borrow_mut(|there| {
        there.push(true);
        there.len() - 1
    });
    LIVE.set(LIVE.get() + 1);
    Wild { number, id, memory: Box::new(number) }
}

impl Drop for Wild {
    fn drop(&mut self) {
        let was = IS_LIVE.with_borrow_mut(|there| there.get_mut(self.id).is_some_and(std::mem::take));
        if was && *self.memory == self.number {
            LIVE.set(LIVE.get() - 1);
        } else {
            TWICE.set(true);
        }
        act();
    }
}

impl Clone for Wild {
    fn clone(&self) -> Wild {
        act();
        wild(self.number)
    }
}

impl Ord for Wild {
    fn cmp(&self, other: &Wild) -> Ordering {
        match act() {
            true => [Ordering::Less, Ordering::Equal, Ordering::Greater][roll(3) as usize],
            false => self.memory.cmp(&other.memory),
        }
    }
}

impl PartialOrd for Wild {
    fn partial_cmp(&self, other: &Wild) -> Option<Ordering> {
        match act() && roll(4) == 0 {
            true => None,
            false => Some(self.cmp(other)),
        }
    }
}

impl PartialEq for Wild {
    fn eq(&self, other: &Wild) -> bool {
        match act() {
            true => roll(2) == 0,
            false => self.memory == other.memory,
        }
    }
}

impl Eq for Wild {}

impl Hash for Wild {
    fn hash<H: Hasher>(&self, state: &mut H) {
        act();
        self.memory.hash(state);
    }
}

impl fmt::Debug for Wild {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match act() {
            true if roll(4) == 0 => Err(fmt::Error),
            _ => self.memory.fmt(f),
        }
    }
}

/// Two such values and a number, in columns.
#[derive(Columnar)]
struct Pair {
    a: Wild,
    plain: i64,
    #[columns(group = "cold")]
    b: Wild,
}

fn pair(number: i64) -> Pair {
    Pair { a: wild(number), plain: number, b: wild(number) }
}

/// A value that is too large for a leaf of a map.
struct Large(Wild, #[allow(dead_code)] [u64; 40]);

impl Clone for Large {
    fn clone(&self) -> Large {
        Large(self.0.clone(), self.1)
    }
}

trait Number {
    /// Read from the value's own memory.
    fn number(&self) -> i64;
}

impl Number for &Wild {
    fn number(&self) -> i64 {
        *self.memory
    }
}

impl Number for &mut Wild {
    fn number(&self) -> i64 {
        *self.memory
    }
}

impl Number for &Large {
    fn number(&self) -> i64 {
        *self.0.memory
    }
}

impl Number for &mut Large {
    fn number(&self) -> i64 {
        *self.0.memory
    }
}

impl Number for PairRef<'_> {
    fn number(&self) -> i64 {
        assert_eq!((*self.a.memory, *self.b.memory), (*self.plain, *self.plain));
        *self.plain
    }
}

impl Number for PairMut<'_> {
    fn number(&self) -> i64 {
        assert_eq!((*self.a.memory, *self.b.memory), (*self.plain, *self.plain));
        *self.plain
    }
}

/// Values of an iterator that is code of the program, with a random size hint.
struct Yields<T>(std::ops::Range<i64>, fn(i64) -> T);

impl<T> Iterator for Yields<T> {
    type Item = T;
    fn next(&mut self) -> Option<T> {
        let lies = act();
        let value = self.1(self.0.next()?);
        if lies && roll(8) == 0 {
            return None;
        }
        Some(value)
    }
    fn size_hint(&self) -> (usize, Option<usize>) {
        match act() {
            true => [(0, Some(0)), (500, None), (3, Some(2))][roll(3) as usize],
            false => (self.0.clone().count(), Some(self.0.clone().count())),
        }
    }
}

// ---- running an operation ----

/// The interface of a collection for the tables.
trait Subject: Default + 'static {
    /// The number of `Wild` values in each of its values.
    const EACH: usize;
    /// Adds `n` values, numbered from `from`.
    fn fill(&mut self, from: i64, n: i64);
    fn count(&self) -> usize;
    /// Reads all values; returns their number.
    fn read(&self) -> usize;
}

type Changes<C> = &'static [(&'static str, fn(&mut C))];
type Looks<C> = &'static [(&'static str, fn(&C))];

/// The names of operations that leak values contain this word.
const FORGETS: &str = "leaked";

/// All behaviours; one per operation, in turn, under Miri and with `TOFT_SHORT` (Valgrind).
fn behaviours(turn: usize) -> Vec<Behaviour> {
    if cfg!(miri) || std::env::var_os("TOFT_SHORT").is_some() {
        return vec![[Behaviour::Panics(2), Behaviour::Lies(1), Behaviour::Panics(9), Behaviour::Enters][turn % 4]];
    }
    let mut behaviours = vec![Behaviour::Behaves, Behaviour::Enters];
    behaviours.extend((1..16).map(|seed| Behaviour::Lies(seed * 0x9E37_79B9)));
    behaviours.extend((1..40).chain((40..400).step_by(17)).map(Behaviour::Panics));
    behaviours
}

fn play<C: Subject>(n: i64, changes: Changes<C>, looks: Looks<C>) {
    for (turn, (name, change)) in changes.iter().enumerate() {
        let mut last = u64::MAX;
        for behaviour in behaviours(turn) {
            last = one::<C>(name, behaviour, n, last, |c| change(&mut c.borrow_mut()));
        }
    }
    for (turn, (name, look)) in looks.iter().enumerate() {
        let mut last = u64::MAX;
        for behaviour in behaviours(turn) {
            last = one::<C>(name, behaviour, n, last, |c| look(&c.borrow()));
        }
    }
}

/// An operation, a collection and a behaviour.
struct What<'a>(&'a str, &'a str, Behaviour);

impl fmt::Display for What<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}, {:?}", self.0, self.1, self.2)
    }
}

/// Runs one operation. `last`: the number of calls with `Behaves`, beyond which a panic cannot occur.
fn one<C: Subject>(name: &str, behaviour: Behaviour, n: i64, last: u64, run: impl Fn(&RefCell<C>)) -> u64 {
    if matches!(behaviour, Behaviour::Panics(at) if at > last) {
        return last;
    }
    let what = What(name, std::any::type_name::<C>(), behaviour);
    assert_eq!(LIVE.get(), 0, "{what}: live values before the test");
    let collection = Rc::new(RefCell::new(C::default()));
    collection.borrow_mut().fill(0, n);
    let seen = Rc::downgrade(&collection);
    VISIT.set(Some(Rc::new(move || {
        if let Some(collection) = seen.upgrade() {
            if let Ok(collection) = collection.try_borrow() {
                assert_eq!(collection.read(), collection.count());
            }
        }
        let mut other = C::default();
        other.fill(100, 3);
        assert_eq!(other.read(), 3);
    })));
    CALLS.set(0);
    DICE.set(if let Behaviour::Lies(seed) = behaviour { seed } else { 1 });
    BEHAVIOUR.set(behaviour);
    let done = catch_unwind(AssertUnwindSafe(|| run(&collection)));
    BEHAVIOUR.set(Behaviour::Behaves);
    let calls = CALLS.get();
    // Random answers may make an operation panic: a range with its ends swapped, an inconsistent order.
    assert!(done.is_ok() || matches!(behaviour, Behaviour::Panics(_) | Behaviour::Lies(_)), "{what}: panicked");
    assert!(
        done.is_err() || !matches!(behaviour, Behaviour::Panics(_)) || calls < n as u64 * 9,
        "{what}: did not panic"
    );

    let check = |more: &str| {
        let collection = collection.borrow();
        assert!(!TWICE.get(), "{what}{more}: a value was dropped twice");
        assert_eq!(collection.read(), collection.count(), "{what}{more}: values");
        let live = LIVE.get();
        let own = collection.count() * C::EACH;
        assert!(live == own || live > own && name.contains(FORGETS), "{what}{more}: {live} live, {own} owned");
    };
    check("");
    collection.borrow_mut().fill(1000, 5);
    check(", and filled");
    drop(take(&mut *collection.borrow_mut()));
    collection.borrow_mut().fill(0, 2);
    check(", and emptied");
    VISIT.set(None);
    drop(collection);
    assert!(!TWICE.get(), "{what}: a value was dropped twice");
    IS_LIVE.take();
    let left = LIVE.take();
    assert!(left == 0 || name.contains(FORGETS), "{what}: {left} were never dropped");
    match behaviour {
        Behaviour::Behaves => calls,
        _ => last,
    }
}

fn hash(value: &impl Hash) -> u64 {
    let mut state = DefaultHasher::new();
    value.hash(&mut state);
    state.finish()
}

/// Formats a value; the error of a value that refuses is ignored.
fn show(value: &impl fmt::Debug) {
    let mut text = String::new();
    let _ = fmt::Write::write_fmt(&mut text, format_args!("{value:?}"));
}

const N: i64 = if cfg!(miri) { 8 } else { 20 };

/// A collection with the same values, for comparisons.
fn like<C: Subject>(c: &C) -> C {
    let mut other = C::default();
    other.fill(0, c.count() as i64);
    other
}

/// Takes some items of an iterator, from both ends, and drops it with the rest.
fn some<I: DoubleEndedIterator>(mut values: I) {
    drop((values.next(), values.next_back(), values.next()));
}

/// Leaks an iterator after its first item.
fn leak<I: Iterator>(mut values: I) {
    drop(values.next());
    forget(values);
}

// ---- pools ----

macro_rules! subject {
    ($type:ty, $each:expr, |$c:ident, $from:ident, $n:ident| $fill:expr, |$r:ident| $read:expr) => {
        impl Subject for $type {
            const EACH: usize = $each;
            fn fill(&mut self, $from: i64, $n: i64) {
                let $c = self;
                $fill;
            }
            fn count(&self) -> usize {
                self.len()
            }
            fn read(&self) -> usize {
                let $r = self;
                $read.map(|n| usize::from(n >= 0)).sum()
            }
        }
    };
}

/// With gaps: some values are removed again.
macro_rules! pool {
    ($test:ident, $type:ty, $make:ident, $each:expr) => {
        subject!(
            $type,
            $each,
            |c, from, n| {
                let keys: Vec<_> = (from..from + n + n / 3).map(|i| c.insert($make(i))).collect();
                keys.iter().step_by(4).take((n / 3) as usize).for_each(|key| drop(c.remove(*key)));
            },
            |c| c.values().map(|v| v.number())
        );

        #[test]
        fn $test() {
            play::<$type>(
                N,
                &[
                    ("insert", |c| _ = c.insert($make(1))),
                    ("insert_with", |c| {
                        c.insert_with(|_| {
                            act();
                            $make(1)
                        });
                    }),
                    ("remove", |c| (0..9).for_each(|i| drop(c.key_at(i).map(|key| c.remove(key))))),
                    ("extend", |c| c.extend(Yields(0..30, $make))),
                    ("collect", |c| *c = Yields(0..30, $make).collect()),
                    ("retain", |c| c.retain(|_, v| answer(v))),
                    ("clear", |c| c.clear()),
                    ("drain", |c| drop(c.drain())),
                    ("drain, some", |c| drop(c.drain().nth(2))),
                    ("drain, leaked", |c| leak(c.drain())),
                    ("into_iter", |c| drop(take(c).into_iter())),
                    ("into_iter, some", |c| drop(take(c).into_iter().nth(3))),
                    ("into_iter, leaked", |c| leak(take(c).into_iter())),
                    ("values_mut", |c| c.values_mut().for_each(|v| _ = answer(v))),
                    ("iter_mut, from the back", |c| c.iter_mut().rev().for_each(|(_, v)| _ = answer(v))),
                    ("clone, and the old one is dropped", |c| *c = c.clone()),
                    ("shrink_to_fit", |c| {
                        c.retain(|_, v| v.number() < 4);
                        c.shrink_to_fit();
                    }),
                    ("dropped", |c| drop(take(c))),
                ],
                &[
                    ("clone", |c| drop(c.clone())),
                    ("iter", |c| _ = c.iter().filter(|(_, v)| answer(*v)).count()),
                    ("fold", |c| _ = c.values().fold(0, |n, v| n + usize::from(answer(v)))),
                    ("fmt", |c| c.values().for_each(|v| show_one(&v))),
                ],
            );
        }
    };
}

fn show_one(value: &impl fmt::Debug) {
    show(value);
}

pool!(pools, Pool<Wild>, wild, 1);
pool!(pools_of_columns, Pool<Pair, Columns>, pair, 2);
pool!(pools_by_index, Pool<Wild, Rows, u16>, wild, 1);

// ---- stacks, queues, rings, lists ----

/// Operations shared by collections with ends.
macro_rules! ended {
    ($test:ident, $type:ty, $make:ident, $each:expr, $push:ident, $pop:ident; $($more:tt)*) => {
        subject!($type, $each, |c, from, n| (from..from + n).for_each(|i| _ = c.$push($make(i))), |c| c
            .iter()
            .map(|v| v.number()));

        #[test]
        fn $test() {
        play::<$type>(
            N,
            &[
                ("extend", |c| c.extend(Yields(0..30, $make))),
                ("collect", |c| *c = Yields(0..30, $make).collect()),
                ("pop", |c| (0..3).for_each(|_| drop(c.$pop()))),
                ("clear", |c| c.clear()),
                ("into_iter", |c| drop(take(c).into_iter())),
                ("into_iter, some", |c| some(take(c).into_iter())),
                ("into_iter, leaked", |c| leak(take(c).into_iter())),
                ("iter_mut", |c| c.iter_mut().for_each(|v| _ = answer(v))),
                ("iter_mut, from the back", |c| c.iter_mut().rev().for_each(|v| _ = answer(v))),
                ("iter_mut, any", |c| _ = c.iter_mut().any(|v| !answer(v))),
                ("clone, and the old one is dropped", |c| *c = c.clone()),
                ("dropped", |c| drop(take(c))),
                $($more)*
            ],
            &[
                ("clone", |c| drop(c.clone())),
                ("fold", |c| _ = c.iter().fold(0, |n, v| n + usize::from(answer(v)))),
                ("rfold", |c| _ = c.iter().rfold(0, |n, v| n + usize::from(answer(v)))),
                ("min_by", |c| _ = c.iter().min_by(|_, _| if act() { Ordering::Less } else { Ordering::Equal })),
            ],
        );
        }
    };
}

/// Comparisons of collections of rows.
macro_rules! compared {
    ($test:ident, $type:ty, $n:expr) => {
        #[test]
        fn $test() {
            play::<$type>(
                $n,
                &[],
                &[
                    ("eq", |c| _ = *c == like(c)),
                    ("partial_cmp", |c| _ = c.partial_cmp(&like(c))),
                    ("cmp", |c| _ = c.cmp(&like(c))),
                    ("hash", |c| _ = hash(c)),
                    ("fmt", |c| show(c)),
                ],
            );
        }
    };
}

ended!(stacks, Stack<Wild>, wild, 1, push, pop;
    ("retain", |c| c.retain(|v| answer(v))),
    ("retain_mut", |c| c.retain_mut(|v| answer(v))),
    ("pop_if", |c| drop(c.pop_if(|v| answer(v)))),
    ("truncate", |c| c.truncate(4)),
    ("extend_from_slice", |c| {
        let more = [wild(1), wild(2), wild(3)];
        c.extend_from_slice(&more);
    }),
    ("drain", |c| drop(c.drain(2..7))),
    ("drain, some", |c| some(c.drain(1..))),
    ("drain, leaked", |c| leak(c.drain(2..6))),
    ("append", |c| c.append(&mut like(c))),
    ("sort", |c| c.sort()),
    ("sort_by", |c| c.sort_unstable_by(|a, b| b.cmp(a))),
    ("into a Vec", |c| drop(Vec::from(take(c)))),
    ("from a slice", |c| *c = Stack::from(&[wild(1), wild(2)][..])),
);
compared!(stacks_compared, Stack<Wild>, N);

#[test]
fn stacks_with_callbacks() {
    play::<Stack<Wild>>(
        N,
        &[],
        &[
            ("contains", |c| _ = c.contains(&wild(5))),
            ("binary_search", |c| _ = c.binary_search(&wild(5))),
            ("eq of a slice", |c| _ = *c == [wild(0), wild(1)][..]),
        ],
    );
}

ended!(stacks_of_columns, Stack<Pair, Columns>, pair, 2, push, pop;
    ("retain", |c| c.retain(|v| answer(v))),
    ("retain_mut", |c| c.retain_mut(|v| answer(v))),
    ("truncate", |c| c.truncate(4)),
    ("drain", |c| drop(c.drain(2..7))),
    ("drain, some", |c| some(c.drain(1..))),
    ("drain, leaked", |c| leak(c.drain(2..6))),
    ("append", |c| c.append(&mut like(c))),
    ("set", |c| c.iter_mut().for_each(|mut v| v.set(pair(7)))),
    ("replace", |c| c.iter_mut().for_each(|mut v| drop(v.replace(pair(7))))),
    ("fields", |c| c.iter_mut().take(3).for_each(|v| {
        *v.a = wild(v.a.number);
        *v.b = wild(v.b.number);
    })),
);

#[test]
fn stacks_of_columns_with_callbacks() {
    play::<Stack<Pair, Columns>>(
        N,
        &[],
        &[
            ("eq", |c| _ = *c == like(c)),
            ("fmt", |c| show(c)),
            ("to_value", |c| c.iter().for_each(|v| drop(v.to_value()))),
            ("eq of rows", |c| _ = c.iter().filter(|v| *v == pair(3)).count()),
            ("slices", |c| _ = c.as_slice() == like(c).as_slice()),
            ("fmt of slices", |c| show(&c.as_slice())),
        ],
    );
}

ended!(queues, Queue<Wild>, wild, 1, push_back, pop_front;
    ("retain", |c| c.retain(|v| answer(v))),
    ("retain_mut", |c| {
        c.rotate_left(5);
        c.retain_mut(|v| answer(v));
    }),
    ("truncate", |c| c.truncate(4)),
    ("resize, less", |c| c.resize(3, wild(1))),
    ("resize, more", |c| c.resize(30, wild(1))),
    ("resize_with", |c| c.resize_with(30, || {
        act();
        wild(2)
    })),
    ("drain", |c| drop(c.drain(2..7))),
    ("drain, some", |c| {
        c.push_front(wild(1));
        some(c.drain(1..5));
    }),
    ("drain, leaked", |c| leak(c.drain(2..6))),
    ("append", |c| c.append(&mut like(c))),
    ("split_off", |c| drop(c.split_off(4))),
    ("insert and remove", |c| {
        c.insert(3, wild(1));
        drop(c.remove(2));
        drop(c.swap_remove_back(1));
    }),
    ("sort", |c| {
        c.push_front(wild(1));
        c.make_contiguous().sort();
    }),
    ("range_mut", |c| c.range_mut(2..5).for_each(|v| _ = answer(v))),
    ("into a Vec", |c| drop(Vec::from(take(c)))),
);
compared!(queues_compared, Queue<Wild>, N);

#[test]
fn queues_with_callbacks() {
    play::<Queue<Wild>>(
        N,
        &[],
        &[
            ("contains", |c| _ = c.contains(&wild(5))),
            ("binary_search", |c| _ = c.binary_search(&wild(5))),
            ("binary_search_by_key", |c| _ = c.binary_search_by_key(&wild(5), |v| wild(v.number))),
            ("partition_point", |c| assert!(c.partition_point(|v| answer(v)) <= c.len())),
            ("eq of an array", |c| _ = *c == [wild(0), wild(1)]),
        ],
    );
}

ended!(queues_of_columns, Queue<Pair, Columns>, pair, 2, push_back, pop_front;
    ("retain", |c| {
        c.rotate_left(5);
        c.retain(|v| answer(v));
    }),
    ("retain_mut", |c| c.retain_mut(|v| answer(v))),
    ("drain, some", |c| some(c.drain(1..5))),
    ("drain, leaked", |c| leak(c.drain(2..6))),
    ("split_off", |c| drop(c.split_off(4))),
    ("truncate", |c| c.truncate(2)),
);

#[test]
fn queues_of_columns_with_callbacks() {
    play::<Queue<Pair, Columns>>(N, &[], &[("eq", |c| _ = *c == like(c)), ("fmt", |c| show(c))]);
}

ended!(lists, List<Wild>, wild, 1, push_back, pop_front;
    ("retain", |c| c.retain(|v| answer(v))),
    ("retain_mut", |c| c.retain_mut(|v| answer(v))),
    ("append", |c| c.append(&mut like(c))),
    ("split_off", |c| drop(c.split_off(4))),
    ("remove", |c| {
        let handles: Vec<Handle<Wild>> = c.handles().step_by(2).collect();
        handles.into_iter().for_each(|handle| drop(c.remove(handle)));
    }),
    ("cursor", |c| {
        let mut cursor = c.cursor_front_mut();
        while let Some(value) = cursor.current() {
            match answer(value) {
                true => cursor.move_next(),
                false => {
                    cursor.insert_before(wild(1));
                    drop(cursor.remove_current());
                }
            }
        }
    }),
);
compared!(lists_compared, List<Wild>, N);

#[test]
fn lists_with_callbacks() {
    play::<List<Wild>>(N, &[], &[("contains", |c| _ = c.contains(&wild(5)))]);
}

ended!(lists_of_columns, List<Pair, Columns>, pair, 2, push_back, pop_front;
    ("retain", |c| c.retain(|v| answer(v))),
    ("retain_mut", |c| c.retain_mut(|v| answer(v))),
    ("split_off", |c| drop(c.split_off(4))),
    ("append", |c| c.append(&mut like(c))),
);

#[test]
fn lists_of_columns_with_callbacks() {
    play::<List<Pair, Columns>>(N, &[], &[("eq", |c| _ = *c == like(c)), ("fmt", |c| show(c))]);
}

// ---- ordered ----

macro_rules! map {
    ($test:ident, $type:ty, $key:ident, $value:ident, $each:expr) => {
        subject!(
            $type,
            $each,
            |c, from, n| (from..from + n).for_each(|i| drop(c.insert($key(i * 7 % n + from), $value(i)))),
            |c| {
                assert_eq!(c.keys().filter(|key| read_key(*key) < 0).count(), 0);
                c.values().map(|v| v.number())
            }
        );

        #[test]
        fn $test() {
            play::<$type>(
                MAP,
                &[
                    ("insert", |c| drop(c.insert($key(MAP + 2), $value(1)))),
                    ("insert, there", |c| drop(c.insert($key(3), $value(1)))),
                    ("remove", |c| drop(c.remove(&$key(3)))),
                    ("remove_entry", |c| drop(c.remove_entry(&$key(3)))),
                    ("get_mut", |c| _ = c.get_mut(&$key(3)).map(|v| answer(v))),
                    ("or_insert_with", |c| {
                        c.entry($key(MAP + 2)).or_insert_with(|| {
                            act();
                            $value(1)
                        });
                    }),
                    ("or_insert_with_key", |c| {
                        c.entry($key(MAP + 2)).or_insert_with_key(|_| {
                            act();
                            $value(1)
                        });
                    }),
                    ("and_modify", |c| {
                        c.entry($key(3)).and_modify(|v| _ = answer(v)).or_insert($value(2));
                    }),
                    ("insert_entry", |c| drop(c.entry($key(3)).insert_entry($value(2)).remove())),
                    ("entry, leaked", |c| forget(c.entry($key(3)))),
                    ("pop", |c| drop((c.pop_first(), c.pop_last()))),
                    ("first_entry", |c| drop(c.first_entry().map(|entry| entry.remove_entry()))),
                    ("range_mut", |c| c.range_mut($key(2)..$key(20)).for_each(|(_, v)| _ = answer(v))),
                    ("range_mut, from both ends", |c| {
                        let (from, to) = ($key(2), $key(20));
                        let mut range = c.range_mut(&from..=&to);
                        let mut seen = Vec::new(); // collected, so that Miri detects a value yielded twice
                        while let Some(((_, a), b)) = range.next().map(|a| (a, range.next_back())) {
                            seen.push(a);
                            seen.extend(b.map(|b| b.1));
                            act();
                        }
                        seen.into_iter().for_each(|v| assert!(v.number() >= 0));
                    }),
                    ("retain", |c| c.retain(|_, v| answer(v))),
                    ("split_off", |c| drop(c.split_off(&$key(9)))),
                    ("append", |c| {
                        let mut other = <$type>::default();
                        other.fill(5, MAP / 2);
                        c.append(&mut other);
                    }),
                    ("extend", |c| c.extend(Yields(0..30, |i| ($key(i * 5 % 31), $value(i))))),
                    ("collect", |c| *c = Yields(0..60, |i| ($key(i * 5 % 41), $value(i))).collect()),
                    ("from_sorted", |c| *c = OrderedMap::from_sorted_in(Yields(0..50, |i| ($key(i), $value(i))), Heap)),
                    ("clear", |c| c.clear()),
                    ("into_iter", |c| drop(take(c).into_iter())),
                    ("into_iter, some", |c| some(take(c).into_iter())),
                    ("into_iter, leaked", |c| leak(take(c).into_iter())),
                    ("into_keys", |c| some(take(c).into_keys())),
                    ("into_values", |c| take(c).into_values().for_each(drop)),
                    ("values_mut", |c| c.values_mut().for_each(|v| _ = answer(v))),
                    ("clone, and the old one is dropped", |c| *c = c.clone()),
                    ("shrink_to_fit", |c| {
                        c.retain(|_, v| v.number() % 5 == 0);
                        c.shrink_to_fit();
                    }),
                    ("dropped", |c| drop(take(c))),
                ],
                &[
                    ("get", |c| _ = c.get(&$key(3)).map(|v| answer(v))),
                    ("contains_key", |c| _ = c.contains_key(&$key(MAP + 3))),
                    ("range", |c| _ = c.range($key(2)..$key(20)).filter(|(_, v)| answer(*v)).count()),
                    ("clone", |c| drop(c.clone())),
                    ("fold", |c| _ = c.iter().fold(0, |n, (_, v)| n + usize::from(answer(v)))),
                ],
            );
        }
    };
}

/// Several leaves.
const MAP: i64 = if cfg!(miri) { 18 } else { 150 };

fn read_key(key: &impl ReadKey) -> i64 {
    key.read()
}

trait ReadKey {
    fn read(&self) -> i64;
}

impl ReadKey for Wild {
    fn read(&self) -> i64 {
        *self.memory
    }
}

impl ReadKey for i64 {
    fn read(&self) -> i64 {
        *self
    }
}

fn number(n: i64) -> i64 {
    n
}

fn large(n: i64) -> Large {
    Large(wild(n), [7; 40])
}

map!(ordered_maps, OrderedMap<Wild, Wild>, wild, wild, 2);
map!(ordered_maps_of_columns, OrderedMap<Wild, Pair, Columns, Heap>, wild, pair, 3);
map!(ordered_maps_of_large_values, OrderedMap<Wild, Large>, wild, large, 2);
map!(ordered_maps_by_number, OrderedMap<i64, Wild>, number, wild, 1);

compared!(ordered_maps_compared, OrderedMap<Wild, Wild>, MAP);

/// A type that is compared with integer keys, and has an inconsistent order.
#[derive(PartialEq, Eq)]
struct Inconsistent(i64);

impl PartialOrd for Inconsistent {
    fn partial_cmp(&self, other: &Inconsistent) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Inconsistent {
    fn cmp(&self, other: &Inconsistent) -> Ordering {
        match act() {
            true => [Ordering::Less, Ordering::Equal, Ordering::Greater][roll(3) as usize],
            false => self.0.cmp(&other.0),
        }
    }
}

static ALL_INCONSISTENT: [Inconsistent; 256] = {
    let mut all = [const { Inconsistent(0) }; 256];
    let mut i = 0;
    while i < 256 {
        all[i] = Inconsistent(i as i64);
        i += 1;
    }
    all
};

impl std::borrow::Borrow<Inconsistent> for u8 {
    fn borrow(&self) -> &Inconsistent {
        act();
        &ALL_INCONSISTENT[usize::from(*self)]
    }
}

subject!(
    OrderedMap<u8, Wild>,
    1,
    |c, from, n| (0..n).for_each(|i| drop(c.insert((i * 7 % n + from % 200) as u8, wild(i)))),
    |c| c.values().map(|v| v.number())
);

#[test]
fn numbers_found_by_another_type() {
    play::<OrderedMap<u8, Wild>>(
        MAP,
        &[
            ("remove", |c| drop(c.remove(&Inconsistent(5)))),
            ("get_mut", |c| _ = c.get_mut(&Inconsistent(5)).map(|v| answer(v))),
            ("range_mut", |c| c.range_mut(Inconsistent(5)..Inconsistent(90)).for_each(|(_, v)| _ = answer(v))),
            ("split_off", |c| drop(c.split_off(&Inconsistent(30)))),
            ("many", |c| (0..50).for_each(|i| drop(c.remove(&Inconsistent(i))))),
        ],
        &[
            ("get", |c| _ = c.get(&Inconsistent(5))),
            ("range", |c| _ = c.range(Inconsistent(5)..Inconsistent(90)).count()),
        ],
    );
}

subject!(OrderedSet<Wild>, 1, |c, from, n| (from..from + n).for_each(|i| _ = c.insert(wild(i * 7 % n + from))), |c| c
    .iter()
    .map(|v| v.number()));

#[test]
fn ordered_sets_with_callbacks() {
    fn other() -> OrderedSet<Wild> {
        let mut other = OrderedSet::default();
        other.fill(5, MAP / 2);
        other
    }
    play::<OrderedSet<Wild>>(
        MAP,
        &[
            ("insert", |c| _ = c.insert(wild(3))),
            ("replace", |c| drop(c.replace(wild(3)))),
            ("take", |c| drop(c.take(&wild(3)))),
            ("retain", |c| c.retain(|v| answer(v))),
            ("append", |c| c.append(&mut other())),
            ("split_off", |c| drop(c.split_off(&wild(9)))),
            ("extend", |c| c.extend(Yields(0..30, |i| wild(i * 5 % 31)))),
            ("collect", |c| *c = Yields(0..60, |i| wild(i * 5 % 41)).collect()),
            ("into_iter, some", |c| some(take(c).into_iter())),
            ("into_iter, leaked", |c| leak(take(c).into_iter())),
            ("the union instead", |c| *c = &*c | &other()),
        ],
        &[
            ("union", |c| drop(c | &other())),
            ("intersection", |c| drop(c & &other())),
            ("difference", |c| drop(c - &other())),
            ("symmetric difference", |c| drop(c ^ &other())),
            ("is_subset", |c| _ = other().is_subset(c)),
            ("is_disjoint", |c| _ = c.is_disjoint(&other())),
            ("range", |c| _ = c.range(wild(2)..wild(20)).filter(|v| answer(*v)).count()),
            ("eq", |c| _ = *c == other()),
            ("hash", |c| _ = hash(c)),
            ("fmt", |c| show(&c.union(&other()))),
        ],
    );
}
