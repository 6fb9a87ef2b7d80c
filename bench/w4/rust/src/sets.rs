//! Sets and dictionaries: n keys j and n keys -j are inserted, looked up, and removed one after the other.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use crate::measure::{weigh, Case, Contender};
use crate::payload::{sum_to, Payload};
use crate::random::{shuffled, Random};
use std::hint::black_box;
use std::rc::Rc;

pub trait Set {
    fn add(&mut self, key: i64);
    fn has(&self, key: i64) -> bool;
    fn remove(&mut self, key: i64);
    fn is_empty(&self) -> bool;
}

pub trait Dict<V> {
    fn put(&mut self, key: i64, value: V);
    fn has(&self, key: i64) -> bool;
    /// Whether the key exists with that value.
    fn agrees(&self, key: i64, value: &V) -> bool;
    fn remove(&mut self, key: i64);
    fn is_empty(&self) -> bool;
}

/// The sum of the keys from one to another, both included.
pub trait Scan {
    fn between(&self, low: i64, high: i64) -> i64;
}

/// The orders of insertion, and of lookup and removal.
#[derive(Clone)]
struct Keys {
    insert_order: Vec<i64>,
    remove_order: Vec<i64>,
}

type Order = fn(usize) -> Keys;

fn ascending(n: usize) -> Keys {
    let keys: Vec<i64> = (1..=n as i64).collect();
    Keys { insert_order: keys.clone(), remove_order: keys }
}

fn random(n: usize) -> Keys {
    let keys = ascending(n).insert_order;
    Keys { insert_order: shuffled(&keys, 1), remove_order: shuffled(&keys, 2) }
}

/// Removes all keys, and looks them up.
macro_rules! emptied {
    ($c:ident, $keys:ident) => {{
        let n = $keys.insert_order.len() as i64;
        let mut right = !$c.has(n + 1) & !$c.has(-n - 1);
        for &j in &$keys.remove_order {
            right &= $c.has(j);
            right &= $c.has(-j);
            $c.remove(j);
            $c.remove(-j);
            right &= !$c.has(j);
            right &= !$c.has(-j);
        }
        right & $c.is_empty()
    }};
}

#[inline(never)]
fn set(c: &mut impl Set, keys: &Keys) -> bool {
    for &j in &keys.insert_order {
        c.add(j);
        c.add(-j);
    }
    let mut right = !c.has(0);
    for &j in &keys.remove_order {
        right &= c.has(j);
        right &= c.has(-j);
    }
    right & emptied!(c, keys)
}

#[inline(never)]
fn dict<V>(c: &mut impl Dict<V>, keys: &Keys, value: impl Fn(i64) -> V) -> bool {
    for &j in &keys.insert_order {
        c.put(j, value(j));
        c.put(-j, value(-j));
    }
    let mut right = !c.has(0);
    for &j in &keys.remove_order {
        right &= c.agrees(j, &value(j));
        right &= c.agrees(-j, &value(-j));
    }
    right & emptied!(c, keys)
}

/// Half of the keys are removed first: the remaining ones must have kept their own values.
#[inline(never)]
fn half<V>(c: &mut impl Dict<V>, keys: &Keys, value: impl Fn(i64) -> V) -> bool {
    for &j in &keys.insert_order {
        c.put(j, value(j));
    }
    let (first, second) = keys.remove_order.split_at(keys.remove_order.len() / 2);
    first.iter().for_each(|&j| c.remove(j));
    let mut right = true;
    for &j in second {
        right &= c.agrees(j, &value(j));
    }
    second.iter().for_each(|&j| c.remove(j));
    right & c.is_empty()
}

// ---- rows ----

pub struct Sets {
    keys: Keys,
    pub all: Vec<Contender>,
}

impl Sets {
    /// The maximum of keys: j and -j.
    pub fn most(&self) -> usize {
        2 * self.keys.insert_order.len()
    }

    pub fn add<C: Set + 'static>(&mut self, name: &str, make: impl Fn() -> C) {
        let (mut c, keys) = (make(), self.keys.clone());
        let held = weigh(self.most(), || {
            let mut c = make();
            keys.insert_order.iter().for_each(|&j| (c.add(j), c.add(-j)).0);
            c
        });
        self.all.push(Contender::whole(name, move || set(&mut c, black_box(&keys))).holding(held));
    }

    /// A contender that is made for each round.
    pub fn fresh<C: Set + 'static>(&mut self, name: &str, make: impl Fn() -> C + 'static) {
        let keys = self.keys.clone();
        self.all.push(Contender::whole(name, move || set(&mut make(), black_box(&keys))));
    }
}

/// The use of a dictionary.
#[derive(Clone, Copy, PartialEq)]
enum Body {
    /// Each key has the same value.
    Same,
    /// Each has its own.
    Own,
    /// Each has its own, and half of the keys are removed.
    Half,
}

pub struct Dicts<const P: usize> {
    keys: Keys,
    body: Body,
    pub all: Vec<Contender>,
}

impl<const P: usize> Dicts<P> {
    pub fn most(&self) -> usize {
        2 * self.keys.insert_order.len()
    }

    pub fn add<C: Dict<Payload<P>> + 'static>(&mut self, name: &str, make: impl Fn() -> C) {
        let (keys, n) = (&self.keys, if self.body == Body::Half { self.most() / 2 } else { self.most() });
        let held = weigh(n, || {
            let mut c = make();
            for &j in &keys.insert_order {
                c.put(j, Payload::filled(0.0));
                if self.body != Body::Half {
                    c.put(-j, Payload::filled(0.0));
                }
            }
            c
        });
        let c = make();
        self.push(name, Some(held), c, |c| c);
    }

    pub fn fresh<C: Dict<Payload<P>> + 'static>(&mut self, name: &str, make: impl Fn() -> C + 'static) {
        struct Fresh<C>(Option<C>);
        self.push(name, None, Fresh(None), move |fresh: &mut Fresh<C>| {
            fresh.0 = None;
            fresh.0.insert(make())
        });
    }

    /// `begin` returns the collection of a round.
    fn push<S: 'static, C: Dict<Payload<P>> + 'static>(
        &mut self,
        name: &str,
        held: Option<f64>,
        mut state: S,
        begin: impl Fn(&mut S) -> &mut C + 'static,
    ) {
        let (keys, body) = (self.keys.clone(), self.body);
        let own = |j: i64| Payload::filled(j as f64);
        let made = Contender::whole(name, move || {
            let (c, keys) = (begin(&mut state), black_box(&keys));
            match body {
                Body::Same => {
                    let payload = black_box(Payload::filled(0.0));
                    dict(c, keys, |_| payload)
                }
                Body::Own => dict(c, keys, own),
                Body::Half => half(c, keys, own),
            }
        });
        self.all.push(match held {
            Some(held) => made.holding(held),
            None => made,
        });
    }
}

const SCANS: usize = 1000;
const WIDTH: i64 = 100;

pub struct Scans {
    keys: Rc<Vec<i64>>,
    starts: Rc<Vec<i64>>,
    pub all: Vec<Contender>,
}

impl Scans {
    /// Filled once, in random order by `add`, and then only read.
    pub fn add<C: Scan + 'static>(&mut self, name: &str, mut c: C, add: impl Fn(&mut C, i64) -> bool) {
        let (n, starts) = (self.keys.len() as i64, self.starts.clone());
        self.keys.iter().for_each(|&j| assert!(add(&mut c, j)));
        let upto = |j: i64| sum_to(j as usize) as i64;
        self.all.push(Contender::whole(name, move || {
            let mut right = true;
            for &low in black_box(&*starts) {
                let high = n.min(low + WIDTH - 1);
                right &= c.between(low, high) == upto(high) - upto(low - 1);
            }
            right
        }));
    }
}

/// The contenders of the cases.
pub trait Contenders {
    fn sets(rows: &mut Sets);
    fn dicts<const P: usize>(rows: &mut Dicts<P>);
    fn scans(rows: &mut Scans);
}

fn sets<C: Contenders>(keys: Keys) -> Vec<Contender> {
    let mut rows = Sets { keys, all: vec![] };
    C::sets(&mut rows);
    rows.all
}

fn dicts<C: Contenders, const P: usize>(keys: Keys, body: Body) -> Vec<Contender> {
    let mut rows = Dicts::<P> { keys, body, all: vec![] };
    C::dicts(&mut rows);
    rows.all
}

fn scans<C: Contenders>(n: usize) -> Vec<Contender> {
    let (keys, mut from) = (Rc::new(random(n).insert_order), Random(3));
    let most = n.saturating_sub(WIDTH as usize - 1).max(1);
    let starts = Rc::new((0..SCANS).map(|_| 1 + from.below(most) as i64).collect());
    let mut rows = Scans { keys, starts, all: vec![] };
    C::scans(&mut rows);
    rows.all
}

pub fn cases<C: Contenders + 'static>(large: usize, small: usize) -> Vec<Case> {
    fn of(name: &str, n: usize, contenders: impl Fn(usize) -> Vec<Contender> + 'static) -> Case {
        Case { rows: vec![(format!("{name} {n}"), 1)], contenders: Box::new(move || contenders(n)) }
    }
    fn of_payload<C: Contenders + 'static, const P: usize>(large: usize, small: usize, cases: &mut Vec<Case>) {
        let orders: [(&str, Order, usize); 3] =
            [("", ascending, large), ("", ascending, small), (" shuffled", random, large)];
        for (more, order, n) in orders {
            cases.push(of(&format!("dict{more} p{P}"), n, move |n| dicts::<C, P>(order(n), Body::Same)));
        }
    }
    let mut cases = vec![];
    for n in [large, 1000, small] {
        cases.push(of("set", n, |n| sets::<C>(ascending(n))));
        cases.push(of("set shuffled", n, |n| sets::<C>(random(n))));
    }
    of_payload::<C, 1>(large, small, &mut cases);
    of_payload::<C, 10>(large, small, &mut cases);
    of_payload::<C, 100>(large, small, &mut cases);
    cases.push(of("dict distinct p10", large, |n| dicts::<C, 10>(random(n), Body::Own)));
    cases.push(of("dict half p10", 1000, |n| dicts::<C, 10>(random(n), Body::Half)));
    cases.push(of("scan", large, scans::<C>));
    cases
}
