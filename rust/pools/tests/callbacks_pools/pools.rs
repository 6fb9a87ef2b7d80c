//! Code of the program in calls of pools.
// SPDX-License-Identifier: MIT OR Apache-2.0

use crate::*;

/// With gaps, or with values that were moved to the places of removed ones: some values are removed again.
macro_rules! pool {
    ($test:ident, $type:ty, $make:ident, $each:expr; $($more:tt)*) => {
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
                    ("extend", |c| c.extend(Yields(0..30, $make))),
                    ("collect", |c| *c = Yields(0..30, $make).collect()),
                    ("retain", |c| c.retain(|_, v| answer(v))),
                    ("clear", |c| c.clear()),
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
                    $($more)*
                ],
                &[
                    ("clone", |c| drop(c.clone())),
                    ("iter", |c| _ = c.iter().filter(|(_, v)| answer(*v)).count()),
                    ("fold", |c| _ = c.values().fold(0, |n, v| n + usize::from(answer(v)))),
                    ("fmt", |c| c.values().for_each(|v| show(&v))),
                ],
            );
        }
    };
}

macro_rules! slots {
    ($test:ident, $type:ty, $make:ident, $each:expr) => {
        pool!($test, $type, $make, $each;
            ("insert_with", |c| {
                c.insert_with(|_| {
                    act();
                    $make(1)
                });
            }),
            ("remove", |c| (0..9).for_each(|i| drop(c.key_at(i).map(|key| c.remove(key))))),
            ("drain", |c| drop(c.drain())),
            ("drain, some", |c| drop(c.drain().nth(2))),
            ("drain, leaked", |c| leak(c.drain())),
        );
    };
}

macro_rules! dense {
    ($test:ident, $type:ty, $make:ident, $each:expr) => {
        pool!($test, $type, $make, $each;
            ("remove", |c| {
                let keys = c.keys().to_vec();
                keys.iter().take(9).for_each(|key| drop(c.remove(*key)));
            }),
        );
    };
}

slots!(pools, Pool<Wild>, wild, 1);
slots!(pools_of_columns, Pool<Pair, Columns>, pair, 2);
slots!(pools_by_index, Pool<Wild, Rows, u16>, wild, 1);

dense!(dense_pools, DensePool<Wild>, wild, 1);
dense!(dense_pools_of_columns, DensePool<Pair, Columns>, pair, 2);
dense!(dense_pools_by_index, DensePool<Wild, Rows, u16>, wild, 1);
