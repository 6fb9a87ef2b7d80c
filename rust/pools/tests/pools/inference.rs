//! Each constructor of each type compiles without annotations: layout, key and memory are inferred.
// SPDX-License-Identifier: MIT OR Apache-2.0

use toft::Arena;
use toft_pools::{Columnar, DensePool, List, OrderedMap, OrderedSet, Pool, Queue, Rows, Stack};

#[derive(Columnar)]
struct Item {
    number: u32,
}

/// Creates the collection by each constructor, and adds a value.
macro_rules! each {
    ($Name:ident, $add:ident $values:tt; $($new:ident($($with:expr),*))*) => {$({
        let mut values = $Name::$new($($with),*);
        values.$add $values;
        assert_eq!(values.len(), 1, stringify!($Name::$new));
    })*};
}

macro_rules! all {
    ($arena:ident: $($Name:ident, $add:ident $values:tt;)*) => {$(
        each!($Name, $add $values; new() with_capacity(3) fixed(3)
            new_in(&$arena) with_capacity_in(3, &$arena) fixed_in(3, &$arena));
    )*};
}

#[test]
fn rows_are_inferred() {
    let arena = Arena::new();
    all! {
        arena:
        Pool, insert(1);
        DensePool, insert(1);
        List, push_back(1);
        Stack, push(1);
        Queue, push_back(1);
        OrderedMap, insert(1, 'a');
        OrderedSet, insert(1);
    }
}

#[test]
fn columns_are_inferred() {
    let arena = Arena::new();
    each!(Pool, insert(Item { number: 1 }); columns() columns_in(&arena));
    each!(DensePool, insert(Item { number: 1 }); columns() columns_in(&arena));
    each!(List, push_back(Item { number: 1 }); columns() columns_in(&arena));
    each!(Stack, push(Item { number: 1 }); columns() columns_in(&arena));
    each!(Queue, push_back(Item { number: 1 }); columns() columns_in(&arena));
    each!(OrderedMap, insert('a', Item { number: 1 }); columns() columns_in(&arena));
    let mut items = Stack::columns();
    items.push(Item { number: 7 });
    assert_eq!(items.as_slice().number, [7]);
}

#[test]
fn the_key_alone_is_named() {
    let arena = Arena::new();
    let mut pool = Pool::<_, Rows, u32>::with_key();
    assert_eq!(pool.insert('a'), 0);
    let mut pool = Pool::<_, Rows, u32, _>::with_key_in(&arena);
    assert_eq!(pool.insert('a'), 0);
    let mut pool = DensePool::<_, Rows, u32>::with_capacity_and_key(9);
    assert_eq!(pool.insert('a'), 0);
}
