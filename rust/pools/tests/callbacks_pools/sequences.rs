//! Code of the program in calls of stacks, queues and lists.
// SPDX-License-Identifier: MIT OR Apache-2.0

use crate::*;

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

ended!(stacks_of_columns, Stack<Pair, Columns>, pair, 2, push, pop;
    ("retain", |c| c.retain(|v| answer(v))),
    ("retain_mut", |c| c.retain_mut(|v| answer(v))),
    ("truncate", |c| c.truncate(4)),
    ("drain", |c| drop(c.drain(2..7))),
    ("drain, some", |c| some(c.drain(1..))),
    ("drain, leaked", |c| leak(c.drain(2..6))),
    ("append", |c| c.append(&mut like(c))),
    ("insert and remove", |c| {
        c.insert(3, pair(1));
        drop(c.remove(2));
        drop(c.swap_remove(1));
    }),
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
    ("retain_mut", |c| c.retain_mut(|v| answer(v))),
    ("make_contiguous", |c| {
        c.rotate_left(3);
        c.make_contiguous().iter_mut().for_each(|v| _ = answer(v));
    }),
    ("insert and remove", |c| {
        c.insert(3, wild(1));
        drop(c.remove(1));
    }),
);
compared!(queues_compared, Queue<Wild>, N);

ended!(queues_of_columns, Queue<Pair, Columns>, pair, 2, push_back, pop_front;
    ("retain", |c| c.retain(|v| answer(v))),
    ("append", |c| c.append(&mut like(c))),
    ("truncate", |c| {
        c.push_front(pair(1));
        c.truncate(2);
    }),
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
