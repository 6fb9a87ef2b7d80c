//! Growth in memory that refuses large requests: each collection grows as far as the memory permits, and a refused
//! growth changes nothing.
// SPDX-License-Identifier: MIT OR Apache-2.0

use crate::failing::{Failing, Shared};
use crate::pair::Pair;
use toft_pools::{Columns, FieldLayout, Handle, List, OrderedMap, Pool, Queue, Rows, Stack};

/// The largest request that is served.
const LARGEST: &[usize] =
    if cfg!(miri) { &[0, 8, 300] } else { &[0, 1, 7, 8, 63, 64, 100, 256, 1000, 4096, 5000, 20_000] };

/// `push` adds a value until memory runs out: then as many values fit as `fixed` can allocate. `state` returns the
/// state that a failed call must not change.
fn grows_to_the_limit<'a, C: 'a>(
    name: &str,
    failing: &'a Failing,
    new: impl Fn(Shared<'a>) -> C,
    mut push: impl FnMut(&mut C, u32) -> bool,
    reserve: impl Fn(&mut C, usize) -> bool,
    state: impl Fn(&C) -> (Vec<u32>, usize),
    fixed: impl Fn(usize, Shared<'a>) -> bool,
) {
    for &largest in LARGEST {
        failing.largest.set(Some(largest));
        failing.failed.set(0);
        let mut collection = new(Shared(failing));
        let mut len = 0;
        while push(&mut collection, len as u32) {
            len += 1;
            assert!(len < 100_000);
        }
        assert!(failing.failed.get() > 0);
        let full = (state(&collection), failing.bytes_out());
        assert!(full.0 .0.iter().copied().eq(0..len as u32), "{name} {largest}");
        assert!(!push(&mut collection, 0) && !reserve(&mut collection, 1), "{name} {largest}");
        assert!(!reserve(&mut collection, 100_000) && !reserve(&mut collection, usize::MAX), "{name} {largest}");
        assert!(full == (state(&collection), failing.bytes_out()), "{name} {largest}: a refused growth changed it");
        assert!(fixed(len, Shared(failing)), "{name} {largest}: {len} values");
        assert!(!fixed(len + 1, Shared(failing)), "{name} {largest}: only {len} values");
        // One call may need less than twice the memory.
        let mut reserved = new(Shared(failing));
        let some = len * 3 / 8;
        assert!(reserve(&mut reserved, some) && reserve(&mut reserved, len), "{name} {largest}");
        failing.largest.set(None);
        assert!(push(&mut collection, len as u32), "{name} {largest}");
        drop((collection, reserved));
        assert_eq!(failing.bytes_out(), 0, "{name} {largest}");
    }
}

/// A value of 8 bytes, in two columns of 4.
type Value = Pair<u32, u32>;

fn value(n: u32) -> Value {
    Pair(n, !n)
}

fn pools<L: FieldLayout<Value>>(name: &str, failing: &Failing, number: fn(L::Ref<'_>) -> u32) {
    grows_to_the_limit(
        name,
        failing,
        Pool::<Value, L, Handle<Value>, Shared>::new_in,
        |pool, n| pool.try_insert(value(n)).is_ok(),
        |pool, n| pool.try_reserve(n).is_ok(),
        |pool| (pool.values().map(number).collect(), pool.memory_use()),
        |n, memory| Pool::<Value, L, Handle<Value>, Shared>::try_fixed_in(n, memory).is_ok(),
    );
    grows_to_the_limit(
        name,
        failing,
        Pool::<Value, L, u32, Shared>::new_in,
        |pool, n| pool.try_insert(value(n)).is_ok(),
        |pool, n| pool.try_reserve(n).is_ok(),
        |pool| (pool.values().map(number).collect(), pool.memory_use()),
        |n, memory| Pool::<Value, L, u32, Shared>::try_fixed_in(n, memory).is_ok(),
    );
}

macro_rules! sequences {
    ($failing:expr, $layout:ident, $number:expr, $($name:ident $push:ident)*) => {$(
        grows_to_the_limit(
            concat!(stringify!($name), " of ", stringify!($layout)),
            $failing,
            $name::<Value, $layout, Shared>::new_in,
            |values, n| values.$push(value(n)).is_ok(),
            |values, n| values.try_reserve(n).is_ok(),
            |values| (values.iter().map($number).collect(), values.capacity()),
            |n, memory| $name::<Value, $layout, Shared>::try_fixed_in(n, memory).is_ok(),
        );
    )*};
}

#[test]
fn collections_grow_to_what_the_memory_permits() {
    let failing = &Failing::new();
    pools::<Rows>("pool of rows", failing, |pair| pair.0);
    pools::<Columns>("pool of columns", failing, |pair| *pair.0);
    sequences!(failing, Rows, |pair| pair.0, List try_push_back);
    sequences!(failing, Columns, |pair| *pair.0, Stack try_push Queue try_push_back List try_push_back);
}

/// Memory suffices for more generations, but not for as many values.
#[test]
fn a_pool_that_cannot_grow_returns_its_generations() {
    let failing = Failing::new();
    for values in [0, 100] {
        let mut pool: Pool<Value, Rows, Handle<Value>, _> = Pool::new_in(Shared(&failing));
        for n in 0..values {
            pool.insert(value(n));
        }
        let before = (pool.memory_use(), pool.capacity(), failing.bytes_out());
        failing.largest.set(Some(8000));
        assert!(pool.try_reserve(1500).is_err());
        assert_eq!(before, (pool.memory_use(), pool.capacity(), failing.bytes_out()));
        assert!(pool.values().map(|pair| pair.0).eq(0..values));
        assert!(pool.try_reserve(900).is_ok());
        failing.largest.set(None);
        for n in values..2000 {
            pool.insert(value(n));
        }
        assert!(pool.values().map(|pair| pair.0).eq(0..2000));
    }
    assert_eq!(failing.bytes_out(), 0);
}

#[test]
fn ordered_maps_grow_to_what_the_memory_permits() {
    let failing = Failing::new();
    // Nodes are allocated in chunks of one or a few nodes here.
    failing.largest.set(Some(2048));
    let mut map: OrderedMap<u32, u32, Rows, _> = OrderedMap::new_in(Shared(&failing));
    for n in 0..if cfg!(miri) { 2000 } else { 20_000 } {
        assert!(map.try_insert(n, n).is_ok(), "{n}");
    }
    assert!(failing.failed.get() > 0);
    // A value in columns takes 12 bytes outside of the nodes, including an index; 512 slots doubled are more than 8000
    // bytes.
    failing.largest.set(Some(8000));
    let mut columns: OrderedMap<u32, Value, Columns, _> = OrderedMap::new_in(Shared(&failing));
    let full = (0..).find(|n| columns.try_insert(*n, value(*n)).is_err()).unwrap();
    assert!((600..=8000 / 12).contains(&full), "{full} values");
    let bytes = failing.bytes_out();
    assert!(columns.try_insert(full, value(full)).is_err());
    assert_eq!((columns.len(), failing.bytes_out()), (full as usize, bytes));
    assert!(columns.iter().map(|(key, value)| (*key, *value.0)).eq((0..full).map(|n| (n, n))));
    drop((map, columns));
    assert_eq!(failing.bytes_out(), 0);
}
