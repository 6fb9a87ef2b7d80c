//! Operations on a pool and on a model, which are compared.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::collections::{HashMap, HashSet};
use std::fmt::Debug;
use std::hash::Hash;

use toft::Memory;
use toft_pools::{CloneIn, Columns, FieldLayout, Key, Pool, Rows};

use crate::ledger::{Counted, Ledger};
use crate::pair::Pair;

/// Operations of a layout on counted values.
pub trait Plays: FieldLayout<Self::T> + CloneIn<Self::T> + Sized {
    type T;
    fn make(value: Counted) -> Self::T;
    fn number(value: Self::Ref<'_>) -> i64;
    fn change(value: Self::Mut<'_>, to: Counted);
    fn back(value: Self::T) -> i64;
    fn retain<K: Key<Self::T>, M: Memory>(
        pool: &mut Pool<Self::T, Self, K, M>,
        keep: impl FnMut(K, &mut Counted) -> bool,
    );
}

impl Plays for Rows {
    type T = Counted;
    fn make(value: Counted) -> Counted {
        value
    }
    fn number(value: &Counted) -> i64 {
        value.number
    }
    fn change(value: &mut Counted, to: Counted) {
        *value = to;
    }
    fn back(value: Counted) -> i64 {
        value.number
    }
    fn retain<K: Key<Counted>, M: Memory>(
        pool: &mut Pool<Counted, Rows, K, M>,
        keep: impl FnMut(K, &mut Counted) -> bool,
    ) {
        pool.retain(keep);
    }
}

impl Plays for Columns {
    type T = Pair<u8, Counted>;
    fn make(value: Counted) -> Self::T {
        Pair(value.number as u8, value)
    }
    fn number((byte, value): (&u8, &Counted)) -> i64 {
        assert_eq!(*byte, value.number as u8);
        value.number
    }
    fn change((byte, value): (&mut u8, &mut Counted), to: Counted) {
        (*byte, *value) = (to.number as u8, to);
    }
    fn back(value: Self::T) -> i64 {
        value.1.number
    }
    fn retain<K: Key<Self::T>, M: Memory>(
        pool: &mut Pool<Self::T, Columns, K, M>,
        mut keep: impl FnMut(K, &mut Counted) -> bool,
    ) {
        pool.retain(|key, (byte, value)| {
            let keeps = keep(key, value);
            *byte = value.number as u8;
            keeps
        });
    }
}

/// An operation, and a number that selects its target.
pub type Step = (u8, u16);

/// The number of kinds of steps.
pub const KINDS: u8 = 24;

/// The values that the pool should hold, and keys that should be stale.
struct Model<K> {
    live: HashMap<K, i64>,
    /// In the order of insertion, for a deterministic choice.
    keys: Vec<K>,
    stale: Vec<K>,
    next: i64,
}

impl<K: Copy + Eq + Hash> Model<K> {
    fn number(&mut self) -> i64 {
        self.next += 1;
        self.next
    }
    fn add(&mut self, key: K, number: i64) {
        assert!(self.live.insert(key, number).is_none(), "a key for two values");
        self.keys.push(key);
    }
    fn any(&self, n: u16) -> Option<K> {
        (!self.keys.is_empty()).then(|| self.keys[usize::from(n) % self.keys.len()])
    }
    fn take(&mut self, key: K) -> i64 {
        self.keys.retain(|k| *k != key);
        self.stale.push(key);
        self.live.remove(&key).unwrap()
    }
    fn clear(&mut self) {
        self.stale.append(&mut self.keys);
        self.live.clear();
    }
}

/// Runs the steps on an empty pool, and checks everything after each.
pub fn play<L: Plays, K: Key<L::T> + Hash + Debug, M: Memory + Clone>(mut pool: Pool<L::T, L, K, M>, steps: &[Step]) {
    let (ledger, fixed) = (Ledger::new(), pool.is_fixed().then(|| pool.capacity()));
    let mut model = Model { live: HashMap::new(), keys: vec![], stale: vec![], next: 0 };
    for &step in steps {
        match step.0 {
            0..=17 => change_one(&mut pool, &mut model, &ledger, fixed, step),
            _ => change_all(&mut pool, &mut model, &ledger, fixed, step),
        }
        check(&pool, &model, &ledger);
    }
    drop(pool);
    ledger.assert_empty();
}

/// A step that changes one or two values of the pool.
fn change_one<L: Plays, K: Key<L::T> + Hash + Debug, M: Memory>(
    pool: &mut Pool<L::T, L, K, M>,
    model: &mut Model<K>,
    ledger: &Ledger,
    fixed: Option<usize>,
    (what, n): Step,
) {
    match what {
        0..=9 => {
            let number = model.number();
            match pool.try_insert(L::make(ledger.value(number))) {
                Ok(key) => model.add(key, number),
                Err(full) => {
                    assert_eq!(L::back(full.into_inner()), number);
                    assert_eq!(fixed, Some(pool.len()), "only a fixed pool is full");
                }
            }
        }
        10..=14 => {
            if let Some(key) = model.any(n) {
                assert_eq!(pool.remove(key).map(L::back), Some(model.take(key)));
            }
        }
        15 => {
            if let Some(key) = model.any(n) {
                let number = model.number();
                L::change(pool.get_mut(key).unwrap(), ledger.value(number));
                model.live.insert(key, number);
            }
        }
        16 => {
            if let (Some(a), Some(b)) = (model.any(n), model.any(n / 3)) {
                let both = pool.get_disjoint_mut([a, b]);
                assert_eq!(both.is_some(), a != b);
                for (key, value) in [a, b].into_iter().zip(both.into_iter().flatten()) {
                    let number = model.number();
                    L::change(value, ledger.value(number));
                    model.live.insert(key, number);
                }
            }
        }
        17 => {
            let number = model.number();
            if fixed.is_none_or(|most| pool.len() < most) {
                let mut passed_key = None;
                let key = pool.insert_with(|key| {
                    passed_key = Some(key);
                    L::make(ledger.value(number))
                });
                assert_eq!(passed_key, Some(key));
                model.add(key, number);
            }
        }
        _ => {}
    }
}

/// A step that concerns all values, or the capacity.
fn change_all<L: Plays, K: Key<L::T> + Hash + Debug, M: Memory + Clone>(
    pool: &mut Pool<L::T, L, K, M>,
    model: &mut Model<K>,
    ledger: &Ledger,
    fixed: Option<usize>,
    (what, n): Step,
) {
    match what {
        18 if n % 4 == 0 => {
            let by = i64::from(n % 5) + 2;
            let mut seen = vec![];
            L::retain(pool, |key, value| {
                seen.push(key);
                assert_eq!(value.number, model.live[&key]);
                *value = ledger.value(value.number);
                value.number % by != 0
            });
            assert_eq!(seen.len(), model.live.len());
            for key in seen {
                if model.live[&key] % by == 0 {
                    model.take(key);
                }
            }
        }
        19 if n % 8 == 0 => {
            pool.clear();
            model.clear();
        }
        20 if n % 4 == 0 => {
            let mut drained: Vec<_> = pool.drain().take(usize::from(n) % 7).collect();
            drained.drain(..).for_each(|(key, value)| assert_eq!(L::back(value), model.live[&key]));
            assert!(pool.is_empty());
            model.clear();
        }
        21 => pool.shrink_to_fit(),
        22 if fixed.is_none() && n < 4096 => {
            pool.reserve(usize::from(n) % 200);
            assert!(pool.capacity() >= pool.len() + usize::from(n) % 200);
        }
        23 if n % 4 == 0 => {
            let copy = pool.clone();
            // Both are equivalent.
            drop(std::mem::replace(pool, copy));
        }
        _ => {}
    }
}

fn check<L: Plays, K: Key<L::T> + Hash + Debug, M: Memory>(
    pool: &Pool<L::T, L, K, M>,
    model: &Model<K>,
    ledger: &Ledger,
) {
    assert_eq!(pool.len(), model.live.len());
    assert_eq!(ledger.live(), model.live.len());
    assert_eq!(pool.is_empty(), model.live.is_empty());
    let mut seen = vec![];
    for (key, value) in pool.iter() {
        assert_eq!(model.live[&key], L::number(value));
        seen.push(key);
    }
    assert_eq!(seen.len(), model.live.len());
    assert_eq!(pool.iter().len(), seen.len());
    assert!(seen.windows(2).all(|w| w[0].index() < w[1].index()), "not in the order of the slots");
    assert!(pool.keys().eq(seen.iter().copied()));
    assert!(pool.iter().rev().map(|(key, _)| key).eq(seen.iter().rev().copied()));
    assert_eq!(pool.values().fold(0, |sum, v| sum + L::number(v)), model.live.values().sum::<i64>());
    for key in &seen {
        assert_eq!(pool.get(*key).map(L::number), Some(model.live[key]));
        assert_eq!(pool.key_at(key.index()), Some(*key));
    }
    if std::any::type_name::<K>().contains("Handle") {
        // The latest ones: earlier generations of present slots.
        for key in model.stale.iter().rev().take(50) {
            assert!(pool.get(*key).is_none() && !pool.contains(*key), "{key:?} is stale");
        }
    } else {
        let live: HashSet<usize> = seen.iter().map(|key| key.index()).collect();
        for i in 0..pool.capacity() + 70 {
            assert_eq!(pool.key_at(i).is_some(), live.contains(&i));
        }
    }
    // From both ends at once.
    let (mut ends, mut order) = (pool.keys(), vec![]);
    while let Some(key) = if order.len() % 3 == 0 { ends.next_back() } else { ends.next() } {
        order.push(key);
    }
    assert_eq!(order.len(), seen.len());
    let (mut rest, n) = (pool.keys(), seen.len() / 3);
    (0..n).for_each(|_| assert!(rest.next_back().is_some()));
    assert!(
        rest.fold(vec![], |mut keys, key| {
            keys.push(key);
            keys
        }) == seen[..seen.len() - n]
    );
    assert_eq!(order.into_iter().collect::<HashSet<_>>().len(), seen.len());
}
