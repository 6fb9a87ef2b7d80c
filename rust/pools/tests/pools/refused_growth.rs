//! Collections in memory that refuses requests: what is refused changes nothing, and each collection grows as far as the
//! memory permits.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::cell::Cell;

use crate::ledger::{panics, Counted, Ledger};
use crate::look::{out, twin, Twin};
use crate::ordered_model::{Large, TestKey, TestValue};
use crate::pair::Pair;
use crate::pool_model::Plays;
use crate::refusing::{each_refusal, Refuses, Refusing};
use crate::sequence_model::Sequence;
use toft_pools::{Columns, DensePool, FieldLayout, Handle, List, OrderedMap, Pool, Queue, Rows, Stack};

type Of = &'static Refusing;
type Ordered<K, V, L> = OrderedMap<K, V, L, Of>;

/// The numbers of the values, and their capacity.
type State = (Vec<i64>, usize);

/// A row: a new collection, the insertion of the value of a number, which returns the number if it is refused, the state,
/// and other calls, which return whether they were done.
fn changes_nothing<C: 'static>(
    name: &str,
    new: fn(Of) -> C,
    add: fn(&mut C, &Ledger, i64) -> Result<(), i64>,
    look: fn(&C) -> State,
    others: &[fn(&mut C) -> bool],
) {
    const TIMES: i64 = if cfg!(miri) { 25 } else { 260 };
    each_refusal(
        name,
        TIMES as usize,
        |memory| (new(memory), Ledger::new(), Cell::new(0)),
        |(collection, ledger, calls)| {
            let n = calls.get();
            let done = match others.get((TIMES - 1 - n) as usize) {
                Some(other) => other(collection),
                None => add(collection, ledger, n).map_err(|back| assert_eq!(back, n)).is_ok(),
            };
            calls.set(n + i64::from(done));
            done
        },
        |(collection, ledger, _)| {
            let state = look(collection);
            assert_eq!(ledger.live(), state.0.len(), "{name}");
            state
        },
    );
}

fn pool<L: Plays + 'static>(name: &str)
where
    L::T: 'static,
{
    changes_nothing::<Pool<L::T, L, Handle<L::T>, Of>>(
        name,
        Pool::any_in,
        |pool, ledger, n| {
            pool.try_insert(L::make(ledger.value(n))).map(drop).map_err(|full| L::back(full.into_inner()))
        },
        |pool| (pool.values().map(L::number).collect(), pool.capacity()),
        &[
            |pool| pool.try_reserve(1000).is_ok(),
            |pool| panics(|| pool.reserve(3000)).is_ok(),
            |pool| panics(|| *pool = pool.clone()).is_ok(),
        ],
    );
    changes_nothing::<DensePool<L::T, L, Handle<L::T>, Of>>(
        name,
        DensePool::any_in,
        |pool, ledger, n| {
            pool.try_insert(L::make(ledger.value(n))).map_err(|full| L::back(full.into_inner()))?;
            if n % 3 == 2 {
                pool.remove(pool.keys()[0]);
            }
            Ok(())
        },
        |pool| (pool.values().map(L::number).collect(), 0), // memory that is reserved may stay
        &[|pool| pool.try_reserve(1000).is_ok(), |pool| panics(|| *pool = pool.clone()).is_ok()],
    );
}

fn sequence<S: Sequence + 'static>(name: &str, new: fn(Of) -> S) {
    changes_nothing(
        name,
        new,
        |values, ledger, n| {
            let at = S::place(n as usize, values.size().0);
            values.add_at(at, twin(ledger, n)).map_err(|full| out(full.0))
        },
        |values| (values.numbers().collect(), values.size().1),
        &[
            |values| values.is_reserved(1000),
            |values| panics(|| *values = values.clone()).is_ok(),
            |values| panics(|| values.cut(values.size().0 / 2)).is_ok(),
        ],
    );
}

fn map<K: TestKey + 'static, V: TestValue + 'static, L: crate::ordered_model::Look<V> + 'static>(name: &str) {
    changes_nothing::<Ordered<K, V, L>>(
        name,
        OrderedMap::any_in,
        |map, ledger, n| {
            let (key, value) = (K::key(ledger, n as u16 * 37), V::value(ledger, n));
            let done = map.try_insert(key, value).map(drop).map_err(|full| full.into_inner().1.number());
            map.check();
            done
        },
        |map| (map.iter().map(|(_, value)| L::number(value)).collect(), 0),
        &[
            |map| map.try_reserve(3000).is_ok(),
            |map| {
                let middle = map.keys().nth(map.len() / 2).unwrap().clone();
                panics(|| map.split_off(&middle).len()).is_ok()
            },
        ],
    );
}

#[test]
fn refused_requests_change_nothing() {
    std::panic::set_hook(Box::new(|_| ()));
    pool::<Rows>("pool of rows");
    pool::<Columns>("pool of columns");
    sequence("stack", Stack::<Twin, Columns, Of>::any_in);
    sequence("queue", Queue::<Twin, Columns, Of>::any_in);
    sequence("list of rows", List::<Twin, Rows, Of>::new_in);
    sequence("list of columns", List::<Twin, Columns, Of>::any_in);
    map::<i64, Pair<Counted, i64>, Rows>("map of integers");
    map::<Large, Pair<Counted, i64>, Columns>("map of large keys");
    map::<String, Pair<Counted, [i64; 9]>, Rows>("map of large values");
    let _ = std::panic::take_hook();
}

/// The largest request that is served.
const LARGEST: &[usize] =
    if cfg!(miri) { &[0, 8, 300] } else { &[0, 1, 7, 8, 63, 64, 100, 256, 1000, 4096, 5000, 20_000] };

/// `push` adds a value until memory runs out: then as many values fit as `fixed` can allocate. `state` returns the
/// state that a failed call must not change.
fn grows_to_the_limit<'a, C: 'a>(
    name: &str,
    failing: &'a Refusing,
    new: impl Fn(&'a Refusing) -> C,
    mut push: impl FnMut(&mut C, u32) -> bool,
    reserve: impl Fn(&mut C, usize) -> bool,
    state: impl Fn(&C) -> (Vec<u32>, usize),
    fixed: impl Fn(usize, &'a Refusing) -> bool,
) {
    for &largest in LARGEST {
        failing.refuse(Refuses::Above(largest));
        failing.state().refused = 0;
        let mut collection = new(failing);
        let mut len = 0;
        while push(&mut collection, len as u32) {
            len += 1;
            assert!(len < 100_000);
        }
        assert!(failing.refused() > 0);
        let full = (state(&collection), failing.bytes());
        assert!(full.0 .0.iter().copied().eq(0..len as u32), "{name} {largest}");
        assert!(!push(&mut collection, 0) && !reserve(&mut collection, 1), "{name} {largest}");
        assert!(!reserve(&mut collection, 100_000) && !reserve(&mut collection, usize::MAX), "{name} {largest}");
        assert!(full == (state(&collection), failing.bytes()), "{name} {largest}: a refused growth changed it");
        assert!(fixed(len, failing), "{name} {largest}: {len} values");
        assert!(!fixed(len + 1, failing), "{name} {largest}: only {len} values");
        // One call may need less than twice the memory.
        let mut reserved = new(failing);
        let some = len * 3 / 8;
        assert!(reserve(&mut reserved, some) && reserve(&mut reserved, len), "{name} {largest}");
        failing.refuse(Refuses::Nothing);
        assert!(push(&mut collection, len as u32), "{name} {largest}");
        drop((collection, reserved));
        assert_eq!(failing.bytes(), 0, "{name} {largest}");
    }
}

/// A value of 8 bytes, in two columns of 4.
type Value = Pair<u32, u32>;

fn value(n: u32) -> Value {
    Pair(n, !n)
}

fn pools<L: FieldLayout<Value>>(name: &str, failing: &Refusing, number: fn(L::Ref<'_>) -> u32) {
    grows_to_the_limit(
        name,
        failing,
        Pool::<Value, L, Handle<Value>, &Refusing>::any_in,
        |pool, n| pool.try_insert(value(n)).is_ok(),
        |pool, n| pool.try_reserve(n).is_ok(),
        |pool| (pool.values().map(number).collect(), pool.memory_use()),
        |n, memory| Pool::<Value, L, Handle<Value>, &Refusing>::try_any_fixed_in(n, memory).is_ok(),
    );
    grows_to_the_limit(
        name,
        failing,
        Pool::<Value, L, u32, &Refusing>::any_in,
        |pool, n| pool.try_insert(value(n)).is_ok(),
        |pool, n| pool.try_reserve(n).is_ok(),
        |pool| (pool.values().map(number).collect(), pool.memory_use()),
        |n, memory| Pool::<Value, L, u32, &Refusing>::try_any_fixed_in(n, memory).is_ok(),
    );
}

macro_rules! sequences {
    ($failing:expr, $layout:ident, $number:expr, $($name:ident $push:ident)*) => {$(
        grows_to_the_limit(
            concat!(stringify!($name), " of ", stringify!($layout)),
            $failing,
            $name::<Value, $layout, &Refusing>::any_in,
            |values, n| values.$push(value(n)).is_ok(),
            |values, n| values.try_reserve(n).is_ok(),
            |values| (values.iter().map($number).collect(), values.capacity()),
            |n, memory| $name::<Value, $layout, &Refusing>::try_any_fixed_in(n, memory).is_ok(),
        );
    )*};
}

#[test]
fn collections_grow_to_what_the_memory_permits() {
    let failing = &Refusing::default();
    pools::<Rows>("pool of rows", failing, |pair| pair.0);
    pools::<Columns>("pool of columns", failing, |pair| *pair.0);
    sequences!(failing, Rows, |pair| pair.0, List try_push_back);
    sequences!(failing, Columns, |pair| *pair.0, Stack try_push Queue try_push_back List try_push_back);
}

/// Memory suffices for more generations, but not for as many values.
#[test]
fn a_pool_that_cannot_grow_returns_its_generations() {
    let failing = Refusing::default();
    for values in [0, 100] {
        let mut pool: Pool<Value, Rows, Handle<Value>, _> = Pool::new_in(&failing);
        for n in 0..values {
            pool.insert(value(n));
        }
        let before = (pool.memory_use(), pool.capacity(), failing.bytes());
        failing.refuse(Refuses::Above(8000));
        assert!(pool.try_reserve(1500).is_err());
        assert_eq!(before, (pool.memory_use(), pool.capacity(), failing.bytes()));
        assert!(pool.values().map(|pair| pair.0).eq(0..values));
        assert!(pool.try_reserve(900).is_ok());
        failing.refuse(Refuses::Nothing);
        for n in values..2000 {
            pool.insert(value(n));
        }
        assert!(pool.values().map(|pair| pair.0).eq(0..2000));
    }
    assert_eq!(failing.bytes(), 0);
}

#[test]
fn ordered_maps_grow_to_what_the_memory_permits() {
    let failing = Refusing::default();
    // Nodes are allocated in chunks of one or a few nodes here.
    failing.refuse(Refuses::Above(2048));
    let mut map: OrderedMap<u32, u32, Rows, _> = OrderedMap::new_in(&failing);
    for n in 0..if cfg!(miri) { 2000 } else { 20_000 } {
        assert!(map.try_insert(n, n).is_ok(), "{n}");
    }
    assert!(failing.refused() > 0);
    // A value in columns takes 12 bytes outside of the nodes, including an index; 512 slots doubled are more than 8000
    // bytes.
    failing.refuse(Refuses::Above(8000));
    let mut columns: OrderedMap<u32, Value, Columns, _> = OrderedMap::any_in(&failing);
    let full = (0..).find(|n| columns.try_insert(*n, value(*n)).is_err()).unwrap();
    assert!((600..=8000 / 12).contains(&full), "{full} values");
    let bytes = failing.bytes();
    assert!(columns.try_insert(full, value(full)).is_err());
    assert_eq!((columns.len(), failing.bytes()), (full as usize, bytes));
    assert!(columns.iter().map(|(key, value)| (*key, *value.0)).eq((0..full).map(|n| (n, n))));
    drop((map, columns));
    assert_eq!(failing.bytes(), 0);
}
