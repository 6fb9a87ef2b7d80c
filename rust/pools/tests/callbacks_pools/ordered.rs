//! Code of the program in calls of ordered maps and sets.
// SPDX-License-Identifier: MIT OR Apache-2.0

use crate::*;

/// The changes of a map.
macro_rules! changes {
    ($type:ty, $key:ident, $value:ident) => {
        &[
            ("insert", |c| drop(c.insert($key(MAP + 2), $value(1)))),
            ("insert, there", |c| drop(c.insert($key(3), $value(1)))),
            ("remove", |c| drop(c.remove(&$key(3)))),
            ("remove_entry", |c| drop(c.remove_entry(&$key(3)))),
            ("get_mut", |c| _ = c.get_mut(&$key(3)).map(|v| answer(v))),
            ("or_insert_with", |c| {
                c.entry($key(MAP + 2)).or_insert_with(|| {
                    act();
                    $value(1)
                });
            }),
            ("or_insert_with_key", |c| {
                c.entry($key(MAP + 2)).or_insert_with_key(|_| {
                    act();
                    $value(1)
                });
            }),
            ("and_modify", |c| {
                c.entry($key(3)).and_modify(|v| _ = answer(v)).or_insert($value(2));
            }),
            ("insert_entry", |c| drop(c.entry($key(3)).insert_entry($value(2)).remove())),
            ("entry, leaked", |c| forget(c.entry($key(3)))),
            ("pop", |c| drop((c.pop_first(), c.pop_last()))),
            ("first_entry", |c| drop(c.first_entry().map(|entry| entry.remove_entry()))),
            ("range_mut", |c| c.range_mut($key(2)..$key(20)).for_each(|(_, v)| _ = answer(v))),
            ("range_mut, from both ends", |c| {
                let (from, to) = ($key(2), $key(20));
                let mut range = c.range_mut(&from..=&to);
                let mut seen = Vec::new(); // collected, so that Miri detects a value yielded twice
                while let Some(((_, a), b)) = range.next().map(|a| (a, range.next_back())) {
                    seen.push(a);
                    seen.extend(b.map(|b| b.1));
                    act();
                }
                seen.into_iter().for_each(|v| assert!(v.number() >= 0));
            }),
            ("retain", |c| c.retain(|_, v| answer(v))),
            ("extract_if", |c| c.extract_if(.., |_, v| answer(v)).for_each(drop)),
            ("extract_if of a range, some", |c| {
                drop(c.extract_if($key(5)..$key(MAP / 2), |_, v| answer(v)).nth(4));
            }),
            ("split_off", |c| drop(c.split_off(&$key(9)))),
            ("append", |c| {
                let mut other = <$type>::default();
                other.fill(5, MAP / 2);
                c.append(&mut other);
            }),
            ("extend", |c| c.extend(Yields(0..30, |i| ($key(i * 5 % 31), $value(i))))),
            ("collect", |c| *c = Yields(0..60, |i| ($key(i * 5 % 41), $value(i))).collect()),
            ("from_sorted", |c| *c = OrderedMap::any_from_sorted_in(Yields(0..50, |i| ($key(i), $value(i))), Heap)),
            ("clear", |c| c.clear()),
            ("into_iter", |c| drop(take(c).into_iter())),
            ("into_iter, some", |c| some(take(c).into_iter())),
            ("into_iter, leaked", |c| leak(take(c).into_iter())),
            ("into_keys", |c| some(take(c).into_keys())),
            ("into_values", |c| take(c).into_values().for_each(drop)),
            ("values_mut", |c| c.values_mut().for_each(|v| _ = answer(v))),
            ("clone, and the old one is dropped", |c| *c = c.clone()),
            ("shrink_to_fit", |c| {
                c.retain(|_, v| v.number() % 5 == 0);
                c.shrink_to_fit();
            }),
            ("dropped", |c| drop(take(c))),
        ]
    };
}

macro_rules! map {
    ($test:ident, $type:ty, $key:ident, $value:ident, $each:expr) => {
        subject!(
            $type,
            $each,
            |c, from, n| (from..from + n).for_each(|i| drop(c.insert($key(i * 7 % n + from), $value(i)))),
            |c| {
                assert_eq!(c.keys().filter(|key| read_key(*key) < 0).count(), 0);
                c.values().map(|v| v.number())
            },
            check
        );

        #[test]
        fn $test() {
            play::<$type>(
                MAP,
                changes!($type, $key, $value),
                &[
                    ("get", |c| _ = c.get(&$key(3)).map(|v| answer(v))),
                    ("contains_key", |c| _ = c.contains_key(&$key(MAP + 3))),
                    ("range", |c| _ = c.range($key(2)..$key(20)).filter(|(_, v)| answer(*v)).count()),
                    ("clone", |c| drop(c.clone())),
                    ("fold", |c| _ = c.iter().fold(0, |n, (_, v)| n + usize::from(answer(v)))),
                ],
            );
        }
    };
}

/// Several leaves.
const MAP: i64 = if cfg!(miri) { 18 } else { 150 };

fn read_key(key: &impl ReadKey) -> i64 {
    key.read()
}

trait ReadKey {
    fn read(&self) -> i64;
}

impl ReadKey for Wild {
    fn read(&self) -> i64 {
        *self.memory
    }
}

impl ReadKey for i64 {
    fn read(&self) -> i64 {
        *self
    }
}

fn number(n: i64) -> i64 {
    n
}

fn large(n: i64) -> Large {
    Large(wild(n), [7; 40])
}

map!(ordered_maps, OrderedMap<Wild, Wild>, wild, wild, 2);
map!(ordered_maps_of_columns, OrderedMap<Wild, Pair, Columns, Heap>, wild, pair, 3);
map!(ordered_maps_of_large_values, OrderedMap<Wild, Large>, wild, large, 2);
map!(ordered_maps_by_number, OrderedMap<i64, Wild>, number, wild, 1);

compared!(ordered_maps_compared, OrderedMap<Wild, Wild>, MAP);

/// A type that is compared with integer keys, and has an inconsistent order.
#[derive(PartialEq, Eq)]
struct Inconsistent(i64);

impl PartialOrd for Inconsistent {
    fn partial_cmp(&self, other: &Inconsistent) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Inconsistent {
    fn cmp(&self, other: &Inconsistent) -> Ordering {
        match act() {
            true => [Ordering::Less, Ordering::Equal, Ordering::Greater][roll(3) as usize],
            false => self.0.cmp(&other.0),
        }
    }
}

static ALL_INCONSISTENT: [Inconsistent; 256] = {
    let mut all = [const { Inconsistent(0) }; 256];
    let mut i = 0;
    while i < 256 {
        all[i] = Inconsistent(i as i64);
        i += 1;
    }
    all
};

impl std::borrow::Borrow<Inconsistent> for u8 {
    fn borrow(&self) -> &Inconsistent {
        act();
        &ALL_INCONSISTENT[usize::from(*self)]
    }
}

subject!(
    OrderedMap<u8, Wild>,
    1,
    |c, from, n| (0..n).for_each(|i| drop(c.insert((i * 7 % n + from % 200) as u8, wild(i)))),
    |c| c.values().map(|v| v.number())
);

#[test]
fn numbers_found_by_another_type() {
    play::<OrderedMap<u8, Wild>>(
        MAP,
        &[
            ("remove", |c| drop(c.remove(&Inconsistent(5)))),
            ("get_mut", |c| _ = c.get_mut(&Inconsistent(5)).map(|v| answer(v))),
            ("range_mut", |c| c.range_mut(Inconsistent(5)..Inconsistent(90)).for_each(|(_, v)| _ = answer(v))),
            ("split_off", |c| drop(c.split_off(&Inconsistent(30)))),
            ("many", |c| (0..50).for_each(|i| drop(c.remove(&Inconsistent(i))))),
        ],
        &[
            ("get", |c| _ = c.get(&Inconsistent(5))),
            ("range", |c| _ = c.range(Inconsistent(5)..Inconsistent(90)).count()),
        ],
    );
}

subject!(OrderedSet<Wild>, 1, |c, from, n| (from..from + n).for_each(|i| _ = c.insert(wild(i * 7 % n + from))), |c| c
    .iter()
    .map(|v| v.number()));

#[test]
fn ordered_sets_with_callbacks() {
    fn other() -> OrderedSet<Wild> {
        let mut other = OrderedSet::default();
        other.fill(5, MAP / 2);
        other
    }
    play::<OrderedSet<Wild>>(
        MAP,
        &[
            ("insert", |c| _ = c.insert(wild(3))),
            ("replace", |c| drop(c.replace(wild(3)))),
            ("take", |c| drop(c.take(&wild(3)))),
            ("retain", |c| c.retain(|v| answer(v))),
            ("append", |c| c.append(&mut other())),
            ("split_off", |c| drop(c.split_off(&wild(9)))),
            ("extend", |c| c.extend(Yields(0..30, |i| wild(i * 5 % 31)))),
            ("collect", |c| *c = Yields(0..60, |i| wild(i * 5 % 41)).collect()),
            ("into_iter, some", |c| some(take(c).into_iter())),
            ("into_iter, leaked", |c| leak(take(c).into_iter())),
            ("the union instead", |c| *c = &*c | &other()),
        ],
        &[
            ("union", |c| drop(c | &other())),
            ("intersection", |c| drop(c & &other())),
            ("difference", |c| drop(c - &other())),
            ("symmetric difference", |c| drop(c ^ &other())),
            ("is_subset", |c| _ = other().is_subset(c)),
            ("is_disjoint", |c| _ = c.is_disjoint(&other())),
            ("range", |c| _ = c.range(wild(2)..wild(20)).filter(|v| answer(*v)).count()),
            ("eq", |c| _ = *c == other()),
            ("hash", |c| _ = hash(c)),
            ("fmt", |c| show(&c.union(&other()))),
        ],
    );
}
