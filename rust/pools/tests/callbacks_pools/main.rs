//! Code of the program that runs during a call of a pool or collection: comparisons, clones, destructors, hashes,
//! formatting, closures and iterators. Each operation of the tables runs with each behaviour: code that reads the same
//! collection through a shared reference and fills another one; that returns random answers; that panics at its n-th
//! call. So do random streams of the operations. Afterwards each value exists once, in the collection or dropped, and the
//! collection is usable as before.
//! `callbacks.rs` tests such code with arenas.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "derive")]
// One table serves all types; and the orders are inconsistent on purpose.
#![allow(clippy::redundant_closure, clippy::forget_non_drop, clippy::non_canonical_partial_ord_impl)]

mod ordered;
mod pools;
#[path = "../../../tests/common/seeds.rs"]
mod seeds;
mod sequences;

use std::cell::{Cell, RefCell};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem::{forget, take};
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::rc::Rc;

use seeds::seeds;
use toft::Heap;
use toft_pools::{Columnar, Columns, DensePool, Handle, List, OrderedMap, OrderedSet, Pool, Queue, Rows, Stack};

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
    /// Checks the structure, where a lying order has not changed it.
    fn check(&self) {}
}

type Changes<C> = &'static [(&'static str, fn(&mut C))];
type Looks<C> = &'static [(&'static str, fn(&C))];

/// Operations of a stream.
const STEPS: usize = if cfg!(miri) { 4 } else { 40 };

/// The names of operations that leak values contain this word.
const FORGETS: &str = "leaked";

/// All behaviours; one per operation, in turn, under Miri and with `TOFT_SHORT` (Valgrind); with `TOFT_PART` for every
/// twelfth operation.
fn behaviours(turn: usize) -> Vec<Behaviour> {
    let part = std::env::var("TOFT_PART").ok().and_then(|part| part.parse().ok());
    if part.is_some_and(|part: usize| turn % 12 != part) {
        return vec![];
    }
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
    seeds(60).for_each(|seed| stream(seed, n, changes, looks));
}

/// An operation, a collection and a behaviour.
struct What<'a>(&'a str, &'a str, Behaviour);

impl fmt::Display for What<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}, {:?}", self.0, self.1, self.2)
    }
}

/// A collection, and the calls of it.
struct Tried<C> {
    collection: Rc<RefCell<C>>,
    forgets: bool,
    lies: bool,
}

impl<C: Subject> Tried<C> {
    fn new(n: i64) -> Tried<C> {
        assert_eq!(LIVE.get(), 0, "{}: live values before the test", std::any::type_name::<C>());
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
        Tried { collection, forgets: false, lies: false }
    }

    /// Runs an operation. Returns whether it panicked, and the number of calls of the program's code.
    fn run(&mut self, what: &What, run: impl Fn(&RefCell<C>)) -> (bool, u64) {
        self.forgets |= what.0.contains(FORGETS);
        self.lies |= matches!(what.2, Behaviour::Lies(_));
        CALLS.set(0);
        BEHAVIOUR.set(what.2);
        let done = catch_unwind(AssertUnwindSafe(|| run(&self.collection)));
        BEHAVIOUR.set(Behaviour::Behaves);
        // Random answers may make an operation panic: a range with its ends swapped, an inconsistent order.
        let may_panic = self.lies || matches!(what.2, Behaviour::Panics(_));
        assert!(done.is_ok() || may_panic, "{what}: panicked");
        (done.is_err(), CALLS.get())
    }

    fn check(&self, what: &What, more: &str) {
        let collection = self.collection.borrow();
        assert!(!TWICE.get(), "{what}{more}: a value was dropped twice");
        assert_eq!(collection.read(), collection.count(), "{what}{more}: values");
        if !self.lies {
            collection.check();
        }
        let live = LIVE.get();
        let own = collection.count() * C::EACH;
        assert!(live == own || live > own && self.forgets, "{what}{more}: {live} live, {own} owned");
    }

    /// The collection is usable, and drops its values.
    fn end(self, what: &What) {
        self.check(what, "");
        self.collection.borrow_mut().fill(1000, 5);
        self.check(what, ", and filled");
        drop(take(&mut *self.collection.borrow_mut()));
        self.collection.borrow_mut().fill(0, 2);
        self.check(what, ", and emptied");
        VISIT.set(None);
        drop(self.collection);
        assert!(!TWICE.get(), "{what}: a value was dropped twice");
        IS_LIVE.take();
        let left = LIVE.take();
        assert!(left == 0 || self.forgets, "{what}: {left} were never dropped");
    }
}

/// Runs one operation. `last`: the number of calls with `Behaves`, beyond which a panic cannot occur.
fn one<C: Subject>(name: &str, behaviour: Behaviour, n: i64, last: u64, run: impl Fn(&RefCell<C>)) -> u64 {
    if matches!(behaviour, Behaviour::Panics(at) if at > last) {
        return last;
    }
    let what = What(name, std::any::type_name::<C>(), behaviour);
    let mut tried = Tried::<C>::new(n);
    DICE.set(if let Behaviour::Lies(seed) = behaviour { seed } else { 1 });
    let (panicked, calls) = tried.run(&what, run);
    assert!(panicked || !matches!(behaviour, Behaviour::Panics(_)) || calls < n as u64 * 9, "{what}: did not panic");
    tried.end(&what);
    match behaviour {
        Behaviour::Behaves => calls,
        _ => last,
    }
}

/// Random operations on one collection, each with a random behaviour: each finds what the earlier ones left.
fn stream<C: Subject>(seed: u64, n: i64, changes: Changes<C>, looks: Looks<C>) {
    let mut tried = Tried::<C>::new(n);
    DICE.set((seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    for _ in 0..STEPS {
        let behaviour = match roll(6) {
            0 | 1 => Behaviour::Behaves,
            2 => Behaviour::Enters,
            3 if seed % 2 == 1 => Behaviour::Lies(seed), // the structure is checked in the other streams
            _ => Behaviour::Panics(1 + roll(n as u64)),
        };
        let at = roll((changes.len() + looks.len()) as u64) as usize;
        let what = |name| What(name, std::any::type_name::<C>(), behaviour);
        if let Some((name, change)) = changes.get(at) {
            tried.run(&what(name), |c| change(&mut c.borrow_mut()));
        } else {
            let (name, look) = looks[at - changes.len()];
            tried.run(&what(name), |c| look(&c.borrow()));
        }
        tried.check(&what(&format!("seed {seed}, {at}")), "");
        if tried.collection.borrow().count() < n as usize {
            tried.collection.borrow_mut().fill(0, n);
        }
    }
    tried.end(&What(&format!("seed {seed}"), std::any::type_name::<C>(), Behaviour::Behaves));
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

macro_rules! subject {
    ($type:ty, $each:expr, |$c:ident, $from:ident, $n:ident| $fill:expr, |$r:ident| $read:expr $(, $check:ident)?) => {
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
            $(fn check(&self) {
                <$type>::$check(self);
            })?
        }
    };
}
pub(crate) use subject;

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
pub(crate) use compared;
