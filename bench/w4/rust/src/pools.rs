//! Pools: the lifetime of n values, with a row for each part.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use crate::measure::{weigh, Case, Contender, Phases};
use crate::payload::Value;
use crate::random::shuffled;
use std::hint::black_box;

pub trait Pool<const REST: usize> {
    type Key: Copy;

    fn insert(&mut self, value: Value<REST>) -> Self::Key;
    /// The first number of that value.
    fn get(&self, key: Self::Key) -> u64;
    fn remove(&mut self, key: Self::Key) -> Option<Value<REST>>;
    /// The sum of the first numbers of all values.
    fn sum(&self) -> u64;
    fn clear(&mut self);
    fn len(&self) -> usize;
}

/// The names of the rows.
const PARTS: [&str; 9] =
    ["fresh", "insert", "get", "iterate", "remove half", "iterate half", "refill", "remove", "clear"];
/// Number of iterations over the pool.
const ITERATIONS: u64 = 4;

#[inline(never)]
fn sum_of<const REST: usize>(c: &impl Pool<REST>) -> u64 {
    (0..ITERATIONS).map(|_| black_box(c).sum()).sum()
}

/// Inserts the values with these numbers; returns their keys. Like the others here it is compiled once for each type:
/// its code must not depend on the construction of the contender.
#[inline(never)]
fn fill<const REST: usize, C: Pool<REST>>(c: &mut C, numbers: &[u64], keys: &mut Vec<C::Key>) {
    keys.clear();
    keys.extend(numbers.iter().map(|&j| c.insert(Value::new(j))));
}

/// Removes the values with these keys; returns their sum.
#[inline(never)]
fn take<const REST: usize, C: Pool<REST>>(c: &mut C, keys: &[C::Key]) -> u64 {
    keys.iter().map(|&key| c.remove(key).map_or(0, |value| value.first)).sum()
}

/// The sum of the first numbers of the values with these keys.
#[inline(never)]
fn lookup<const REST: usize, C: Pool<REST>>(c: &C, keys: &[C::Key]) -> u64 {
    keys.iter().map(|&key| c.get(key)).sum()
}

/// The inputs of a lifetime, made outside of the time.
struct Lifetime<K> {
    /// 0 ... n - 1, and the same in random order.
    numbers: Vec<u64>,
    random: Vec<u64>,
    keys: Vec<K>,
    picked: Vec<K>,
    new: Vec<K>,
}

impl<K: Copy> Lifetime<K> {
    fn new(n: usize) -> Self {
        let numbers: Vec<u64> = (0..n as u64).collect();
        let random = shuffled(&numbers, 4);
        let [keys, picked, new] = [n, n, n / 2].map(Vec::with_capacity);
        Lifetime { numbers, random, keys, picked, new }
    }

    fn live<const REST: usize, C: Pool<REST, Key = K>>(
        &mut self,
        c: &mut C,
        make: &impl Fn() -> C,
        phases: &mut Phases,
    ) {
        let Lifetime { numbers, random, keys, picked, new } = self;
        let (n, sum) = (numbers.len(), numbers.iter().sum::<u64>());
        let (removed, kept) = random.split_at(n / 2);
        let (sum_removed, sum_kept) = (removed.iter().sum::<u64>(), kept.iter().sum::<u64>());

        phases.time(0, || {
            let mut fresh = make();
            fill(&mut fresh, numbers, keys);
            fresh
        });

        phases.time(1, || fill(c, numbers, keys));
        phases.check(c.len() == n);
        picked.clear();
        picked.extend(random.iter().map(|&j| keys[j as usize]));

        let got = phases.time(2, || lookup(c, picked));
        phases.check(got == sum);
        let got = phases.time(3, || sum_of(c));
        phases.check(got == ITERATIONS * sum);

        let got = phases.time(4, || take(c, &picked[..n / 2]));
        phases.check(got == sum_removed && c.len() == n - n / 2);
        let got = phases.time(5, || sum_of(c));
        phases.check(got == ITERATIONS * sum_kept);

        phases.time(6, || fill(c, removed, new));
        phases.check(c.len() == n);
        removed.iter().zip(&*new).for_each(|(&j, &key)| keys[j as usize] = key);
        let got = phases.time(7, || take(c, keys));
        phases.check(got == sum && c.len() == 0);

        fill(c, numbers, keys);
        phases.time(8, || c.clear());
        phases.check(c.len() == 0);
    }
}

pub struct Pools<const REST: usize> {
    n: usize,
    pub all: Vec<Contender>,
}

impl<const REST: usize> Pools<REST> {
    pub fn add<C: Pool<REST, Key: 'static> + 'static>(&mut self, name: &str, make: impl Fn() -> C + 'static) {
        let (mut c, mut life) = (make(), Lifetime::new(self.n));
        let held = weigh(self.n, || {
            let mut c = make();
            for &j in &life.numbers {
                c.insert(Value::new(j));
            }
            c
        });
        self.all.push(Contender::life(name, move |phases| life.live(&mut c, &make, phases)).holding(held));
    }

    #[allow(dead_code)] // where ours are left out
    pub fn n(&self) -> usize {
        self.n
    }
}

/// The contenders of the cases.
pub trait Contenders {
    fn pools<const REST: usize>(rows: &mut Pools<REST>);
}

pub fn cases<C: Contenders + 'static>(large: usize) -> Vec<Case> {
    fn of<C: Contenders + 'static, const REST: usize>(n: usize) -> Case {
        let operations = |part: &str| match part {
            "iterate" => ITERATIONS as usize * n,
            "iterate half" => ITERATIONS as usize * (n - n / 2),
            "remove half" | "refill" => n / 2,
            _ => n,
        };
        let name = |part: &str| format!("pool{} {part} {n}", 8 * (1 + REST));
        let rows = PARTS.iter().map(|part| (name(part), operations(part))).collect();
        let contenders = move || {
            let mut rows = Pools::<REST> { n, all: vec![] };
            C::pools(&mut rows);
            rows.all
        };
        Case { rows, contenders: Box::new(contenders) }
    }
    vec![of::<C, 0>(large), of::<C, 9>(large), of::<C, 99>(large)]
}

/// A pool whose methods have the names of slab's.
macro_rules! keyed_pool {
    ($Arena:ident, $Key:ty, $remove:ident) => {
        impl<const REST: usize> $crate::pools::Pool<REST> for $Arena<$crate::payload::Value<REST>> {
            type Key = $Key;

            #[inline(always)]
            fn insert(&mut self, value: $crate::payload::Value<REST>) -> $Key {
                self.insert(value)
            }
            #[inline(always)]
            fn get(&self, key: $Key) -> u64 {
                self[key].first
            }
            #[inline(always)]
            fn remove(&mut self, key: $Key) -> Option<$crate::payload::Value<REST>> {
                self.$remove(key)
            }
            #[inline(always)]
            fn sum(&self) -> u64 {
                self.iter().map(|(_, value)| value.first).sum()
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
pub(crate) use keyed_pool;
