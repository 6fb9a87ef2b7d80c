//! Lists, stacks and queues of (number, payload).
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use crate::measure::{weigh, Case, Contender};
use crate::payload::{sum_to, Item, Payload};
use std::hint::black_box;

/// A sequence with one end at which items are pushed.
pub trait Front<const P: usize> {
    /// The head of a list, for contenders whose users keep it in a variable.
    type Begin: Default;

    fn put(&mut self, begin: &mut Self::Begin, item: Item<P>);
    /// The sum of the numbers, newest first; the sequence is empty afterwards.
    fn walk(&mut self, begin: Self::Begin) -> u64;
}

/// Items are pushed at one end, and popped at the same or the other.
pub trait Ends<const P: usize> {
    fn push(&mut self, item: Item<P>);
    fn pop(&mut self) -> Option<Item<P>>;
    fn is_empty(&self) -> bool;
}

#[inline(never)]
fn list<const P: usize, C: Front<P>>(c: &mut C, n: usize) -> bool {
    let (n, payload) = black_box((n, Payload::filled(0.0)));
    let mut begin = C::Begin::default();
    for j in 1..=n as u64 {
        c.put(&mut begin, Item { number: j, payload });
    }
    c.walk(begin) == sum_to(n)
}

#[inline(never)]
fn stack<const P: usize>(c: &mut impl Ends<P>, n: usize) -> bool {
    let (n, payload) = black_box((n, Payload::filled(0.0)));
    for j in 1..=n as u64 {
        c.push(Item { number: j, payload });
    }
    let mut right = true;
    for j in (1..=n as u64).rev() {
        right &= c.pop().is_some_and(|item| item.number == j);
    }
    right & c.is_empty()
}

#[inline(never)]
fn queue<const P: usize>(c: &mut impl Ends<P>, n: usize) -> bool {
    let (n, payload) = black_box((n, Payload::filled(0.0)));
    for j in 1..=n as u64 {
        c.push(Item { number: j, payload });
    }
    let mut right = true;
    for j in 1..=n as u64 {
        right &= c.pop().is_some_and(|item| item.number == j);
    }
    right & c.is_empty()
}

/// The contenders of a case, one after the other.
pub struct Rows<const P: usize> {
    n: usize,
    pub list: Vec<Contender>,
    pub stack: Vec<Contender>,
    pub queue: Vec<Contender>,
}

impl<const P: usize> Rows<P> {
    pub fn list<C: Front<P> + 'static>(&mut self, name: &str, make: impl Fn() -> C) {
        let (mut c, n) = (make(), self.n);
        let put = |(c, begin): &mut (C, C::Begin), item| c.put(begin, item);
        let held = self.weigh(|| (make(), C::Begin::default()), put);
        self.list.push(Contender::whole(name, move || list(&mut c, n)).holding(held));
    }

    pub fn stack<C: Ends<P> + 'static>(&mut self, name: &str, make: impl Fn() -> C) {
        let (mut c, n) = (make(), self.n);
        self.stack.push(Contender::whole(name, move || stack(&mut c, n)).holding(self.weigh(make, C::push)));
    }

    pub fn queue<C: Ends<P> + 'static>(&mut self, name: &str, make: impl Fn() -> C) {
        let (mut c, n) = (make(), self.n);
        self.queue.push(Contender::whole(name, move || queue(&mut c, n)).holding(self.weigh(make, C::push)));
    }

    /// A contender that is made for each round.
    pub fn fresh_list<C: Front<P> + 'static>(&mut self, name: &str, make: impl Fn() -> C + 'static) {
        let n = self.n;
        self.list.push(Contender::whole(name, move || list(&mut make(), n)));
    }

    pub fn fresh_stack<C: Ends<P> + 'static>(&mut self, name: &str, make: impl Fn() -> C + 'static) {
        let n = self.n;
        self.stack.push(Contender::whole(name, move || stack(&mut make(), n)));
    }

    pub fn fresh_queue<C: Ends<P> + 'static>(&mut self, name: &str, make: impl Fn() -> C + 'static) {
        let n = self.n;
        self.queue.push(Contender::whole(name, move || queue(&mut make(), n)));
    }

    fn weigh<C>(&self, make: impl Fn() -> C, put: impl Fn(&mut C, Item<P>)) -> f64 {
        weigh(self.n, || {
            let mut c = make();
            (1..=self.n as u64).for_each(|j| put(&mut c, Item { number: j, payload: Payload::filled(0.0) }));
            c
        })
    }

    pub fn n(&self) -> usize {
        self.n
    }
}

/// The contenders of the cases.
pub trait Contenders {
    fn sequences<const P: usize>(rows: &mut Rows<P>);
}

fn rows<C: Contenders, const P: usize>(n: usize) -> Rows<P> {
    let mut rows = Rows { n, list: vec![], stack: vec![], queue: vec![] };
    C::sequences(&mut rows);
    rows
}

pub fn cases<C: Contenders + 'static>(large: usize, small: usize) -> Vec<Case> {
    fn of<C: Contenders + 'static, const P: usize>(large: usize, small: usize, cases: &mut Vec<Case>) {
        let whole = |name: &str, n| vec![(format!("{name} p{P} {n}"), 1)];
        for n in [large, small] {
            cases.push(Case { rows: whole("list", n), contenders: Box::new(move || rows::<C, P>(n).list) });
            cases.push(Case { rows: whole("stack", n), contenders: Box::new(move || rows::<C, P>(n).stack) });
            cases.push(Case { rows: whole("queue", n), contenders: Box::new(move || rows::<C, P>(n).queue) });
        }
    }
    let mut cases = vec![];
    of::<C, 1>(large, small, &mut cases);
    of::<C, 10>(large, small, &mut cases);
    of::<C, 100>(large, small, &mut cases);
    cases
}
