//! Operations of programs with frames besides `alloc`: growing collections, batches, values promoted to a longer-lived
//! arena. Collections behave like the standard library's; a destructor runs once, also after panics and refusals.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "full")]

#[path = "common/strict.rs"]
mod strict;

use std::cell::Cell;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::rc::Rc;

use proptest::prelude::*;
use toft::{AllocError, Arena, Box, Options};

/// Fewer under Miri, and with `TOFT_SHORT` (Valgrind).
fn config() -> ProptestConfig {
    let is_short = std::env::var_os("TOFT_SHORT").is_some();
    let cases = if cfg!(miri) { 4 } else { 300 / if is_short { 30 } else { 1 } };
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// Counts its drops, and panics in the first one if the flag is set.
struct Counted(Rc<Cell<u32>>, bool);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
        if self.1 {
            panic!("a destructor's panic");
        }
    }
}

fn counted() -> (Rc<Cell<u32>>, Counted) {
    let drops = Rc::new(Cell::new(0));
    (drops.clone(), Counted(drops, false))
}

// ---- vectors and text ----

/// Under Miri generating a value of a strategy takes about a second.
const MANY: usize = if cfg!(miri) { 10 } else { 80 };

fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(any::<char>(), 0..20).prop_map(String::from_iter)
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_string_behaves_like_the_standard_librarys(parts in proptest::collection::vec(text(), 0..MANY / 2)) {
        let arena = Arena::new();
        let (mut s, mut model) = (arena.string(), String::new());
        let mut t = arena.string_from("start ");
        for (i, part) in parts.iter().enumerate() {
            match i % 4 {
                0 => s.push_str(part),
                1 => s.try_push_str(part).unwrap(),
                2 => s.extend(part.chars()),
                _ => s += part,
            }
            model.push_str(part);
            if i % 5 == 4 {
                prop_assert_eq!(s.pop(), model.pop());
            }
            t.push_str(part); // grows alternately with another one at the cursor
        }
        prop_assert_eq!(s.as_str(), &model);
        prop_assert_eq!(t.len(), 6 + parts.iter().map(|part| part.len()).sum::<usize>());
        prop_assert_eq!(s.into_str(), &model);
    }
}

#[test]
fn elements_are_dropped_with_their_vec_unless_it_becomes_a_slice() {
    strict::balanced(|| {
        let arena = Arena::new();
        let (drops, value) = counted();
        let mut v = arena.vec_with_capacity(1);
        v.push(value);
        v.push(Counted(drops.clone(), false));
        drop(v);
        assert_eq!(drops.get(), 2);
        let kept = arena.vec_from_iter([Counted(drops.clone(), false)]).into_slice();
        assert_eq!(drops.get(), 2);
        // SAFETY: the value has no other owner.
        unsafe { std::ptr::from_mut(&mut kept[0]).drop_in_place() };
        assert_eq!(drops.get(), 3);
    });
}

#[test]
fn a_refused_growth_leaves_the_collection_unchanged() {
    let tight = Options::new().budget(100).create().unwrap();
    let mut v = tight.try_vec_from_iter(0..4u64).unwrap();
    assert!(v.try_extend(4u64..).is_err());
    let many = v.len() as u64;
    assert!((8..=12).contains(&many) && v.iter().copied().eq(0..many), "{v:?}");
    assert!(v.try_push(0).is_err() || v.len() < 12);
    drop(v);

    let mut s = tight.string();
    while s.try_push_str("12345").is_ok() {}
    assert!(s.len() >= 40 && s.len() % 5 == 0 && s.bytes().eq(b"12345".iter().copied().cycle().take(s.len())));
}

#[test]
fn a_panic_while_a_vec_is_extended_leaves_the_elements_before_it() {
    struct Fuse(Rc<Cell<i32>>);
    impl Clone for Fuse {
        fn clone(&self) -> Fuse {
            self.0.set(self.0.get() - 1);
            assert!(self.0.get() >= 0, "a clone's panic");
            Fuse(self.0.clone())
        }
    }
    type Way = fn(&mut toft::collections::Vec<Fuse>, &[Fuse]);
    let ways: [Way; 6] = [
        |v, more| v.extend(more.iter().cloned()),
        |v, more| v.extend(more[..4].iter().chain(&more[4..]).filter(|_| true).cloned()),
        |v, more| v.extend_from_slice(more),
        |v, more| v.resize(10, more[0].clone()),
        |v, more| v.resize_with(10, || more[0].clone()),
        |v, _| {
            while v.len() < 10 {
                v.extend_from_within(..1);
            }
        },
    ];
    for way in ways {
        for k in 1..10 {
            let (arena, fuse) = (Arena::new(), Rc::new(Cell::new(k)));
            let more: Vec<Fuse> = (0..9).map(|_| Fuse(fuse.clone())).collect();
            let mut v = arena.vec_from_iter([Fuse(fuse.clone())]);
            let whole = catch_unwind(AssertUnwindSafe(|| way(&mut v, &more))).is_ok();
            assert_eq!(v.len(), Rc::strong_count(&fuse) - 10, "{k}");
            assert!(whole == (k == 9) && (1..=k as usize + 1).contains(&v.len()), "{k}");
            drop((v, more));
            assert_eq!(Rc::strong_count(&fuse), 1);
        }
    }
}

#[test]
fn a_character_of_any_length_is_appended_to_any_capacity() {
    for ch in ['\0', '\x7F', '\u{80}', '\u{7FF}', '\u{800}', '\u{FFFF}', '\u{10000}', char::MAX] {
        for spare in 0..6 {
            let arena = Arena::new();
            let mut s = arena.string();
            s.reserve_exact(8);
            s.push_str(&"12345678"[spare..]);
            s.push(ch);
            std::fmt::Write::write_char(&mut s, ch).unwrap();
            assert_eq!(s, format!("{}{ch}{ch}", &"12345678"[spare..]));
        }
    }
}

#[test]
fn a_wrong_size_hint_does_not_change_the_length() {
    struct Liar(u32);
    impl Iterator for Liar {
        type Item = u32;
        fn next(&mut self) -> Option<u32> {
            self.0 = self.0.checked_sub(1)?;
            Some(self.0)
        }
        fn size_hint(&self) -> (usize, Option<usize>) {
            (usize::MAX, Some(usize::MAX))
        }
    }
    let arena = Arena::new();
    let mut v = arena.vec_from_iter([7]);
    assert_eq!(v.try_extend(Liar(10)), Err(AllocError)); // it reserves more than the arena has
    assert_eq!(v, [7]);
}

// ---- maps and sets ----

#[cfg(feature = "hashbrown")]
mod maps {
    use super::*;
    use toft::collections::{HashMap, HashSet};

    proptest! {
        #![proptest_config(config())]

        #[test]
        fn a_map_behaves_like_the_standard_librarys(
            edits in proptest::collection::vec((0..6u8, 0..40u16, any::<u32>()), 0..2 * MANY),
        ) {
            let arena = Arena::new();
            let mut map: HashMap<u16, String> = arena.map();
            let mut model = std::collections::HashMap::new();
            let mut set: HashSet<u16> = arena.set();
            for (what, key, value) in edits {
                match what {
                    0 => prop_assert_eq!(map.remove(&key), model.remove(&key)),
                    1 => arena.scope(|inner| {
                        // The outer map grows while a scope is open.
                        let text = inner.string_from("in a scope");
                        map.entry(key).or_default().push_str(&text);
                        model.entry(key).or_insert_with(String::new).push_str(&text);
                    }),
                    2 => {
                        map.retain(|k, _| k % 7 != key % 7);
                        model.retain(|k, _| k % 7 != key % 7);
                    }
                    _ => {
                        prop_assert_eq!(map.insert(key, value.to_string()), model.insert(key, value.to_string()));
                    }
                }
                set.clear();
                set.extend(map.keys().copied());
                prop_assert!(map.len() == model.len() && map.iter().all(|(k, v)| model[k] == *v && set.contains(k)));
            }
        }
    }

    #[test]
    fn a_maps_entries_are_dropped_with_it() {
        strict::balanced(|| {
            let mut arena = Arena::new();
            for _ in 0..3 {
                let mut map = arena.map();
                let mut set = arena.set();
                for i in 0..if cfg!(miri) { 20 } else { 500 } {
                    map.insert(i, format!("value {i}"));
                    set.insert(format!("value {i}"));
                }
                assert_eq!(map[&7], *set.get("value 7").unwrap());
                drop((map, set));
                arena.reset();
            }
        });
    }

    #[test]
    fn a_refused_map_is_an_error() {
        let tight = Options::new().budget(1000).create().unwrap();
        assert!(tight.map::<u64, u64>().try_reserve(1000).is_err());
        assert!(tight.set::<u64>().try_reserve(usize::MAX).is_err());
        assert_eq!(tight.stats().live, 0);
        let mut map = tight.map();
        map.try_reserve(3).unwrap();
        while map.try_reserve(1).is_ok() {
            map.insert(map.len(), 0u64);
        }
        assert!(map.len() >= 14 && (0..map.len()).all(|i| map.contains_key(&i)));
    }
}

// ---- batches ----

#[test]
fn a_batch_is_one_allocation_and_each_value_is_borrowed_by_itself() {
    let arena = Arena::new();
    let [a, b, c] = arena.alloc_batch([1u8, 2, 3]);
    std::mem::swap(a, c);
    *b += 10;
    assert_eq!((*a, *b, *c, arena.stats().live), (3, 12, 1, 8)); // three bytes, contiguous
    let rest = arena.alloc_batch_with::<_, 5>(|i| i * i);
    *rest[4] += 1;
    assert_eq!(rest.map(|x| *x), [0, 1, 4, 9, 17]);
    let none: [&mut u64; 0] = arena.alloc_batch([]);
    assert_eq!(none.len(), 0);

    #[derive(Debug, PartialEq, Clone, Copy)]
    #[repr(align(64))]
    struct Line([u8; 65]);
    for line in arena.alloc_batch([Line([7; 65]); 3]) {
        assert_eq!((std::ptr::from_mut(line).addr() % 64, *line), (0, Line([7; 65])));
    }
    let units = arena.alloc_batch([(); 3]);
    assert_eq!(units, [&mut (), &mut (), &mut ()]);
}

#[test]
fn a_batch_whose_closure_allocates_in_the_arena() {
    let arena = Arena::new();
    let [a, b] = arena.alloc_batch_with(|i| arena.alloc(i));
    assert_eq!((**a, **b), (0, 1));
    *a = b;
    assert_eq!(**a, 1);
}

#[test]
fn refused_and_panicking_batches_drop_their_values() {
    let (drops, value) = counted();
    let tight = Options::new().budget(16).create().unwrap();
    let big = |value| (value, [0u64; 2]);
    assert!(tight.try_alloc_batch([big(value), big(Counted(drops.clone(), false))]).is_err());
    assert_eq!((drops.get(), tight.stats().live), (2, 0));
    assert!(tight.try_alloc_batch_with::<u64, 3>(|_| unreachable!()).is_err());
    assert!(catch_unwind(AssertUnwindSafe(|| tight.alloc_batch([0u64; 3]).len())).is_err());
    assert_eq!(tight.stats().live, 0);

    let arena = Arena::new();
    let made = catch_unwind(AssertUnwindSafe(|| {
        arena
            .alloc_batch_with::<_, 4>(|i| if i < 3 { Counted(drops.clone(), false) } else { panic!("the fourth") })
            .len()
    }));
    assert!(made.is_err());
    assert_eq!((drops.get(), Rc::strong_count(&drops)), (5, 1));
    assert_eq!(*arena.alloc(1), 1);
}

// ---- promotion ----

#[test]
fn a_promoted_value_is_dropped_once_with_its_new_box() {
    strict::balanced(|| {
        let longer = Arena::new();
        let (drops, value) = counted();
        let kept = {
            let mut shorter = Arena::new();
            let kept = Box::promote(shorter.boxed((value, String::from("text"), [1u8; 100])), &longer);
            shorter.alloc_slice_fill(1000, 0xFFu8);
            shorter.reset();
            shorter.alloc_slice_fill(1000, 0xEEu8);
            kept
        };
        assert_eq!((drops.get(), kept.1.as_str(), kept.2), (0, "text", [1; 100]));
        assert!(longer.contains(&*kept));
        drop(kept);
        assert_eq!(drops.get(), 1);
        drop(longer);
        assert_eq!(drops.get(), 1);
    });
}

#[test]
fn slices_and_text_are_promoted_whole() {
    strict::balanced(|| {
        let longer = Arena::new();
        let (drops, value) = counted();
        let (slice, text, empty, units, nothing) = longer.scope(|scope| {
            let slice = scope.boxed_slice([value, Counted(drops.clone(), false), Counted(drops.clone(), false)]);
            (
                Box::promote(slice, &longer),
                Box::promote(scope.boxed_str("of the scope"), &longer),
                Box::promote(scope.boxed_slice(Vec::<String>::new()), &longer),
                Box::promote(scope.boxed_slice([(); 9]), &longer),
                Box::promote(scope.boxed(()), &longer),
            )
        });
        longer.scope(|scope| scope.alloc_slice_fill(1000, 0xFFu8).len());
        assert_eq!((slice.len(), &*text, empty.len(), units.len(), *nothing), (3, "of the scope", 0, 9, ()));
        assert_eq!(drops.get(), 0);
        drop(slice);
        assert_eq!(drops.get(), 3);
    });
}

#[test]
fn a_promoted_value_keeps_its_alignment() {
    #[repr(align(128))]
    struct Wide(u8);
    #[repr(align(256))]
    struct Nothing;
    let (longer, shorter) = (Arena::new(), Arena::new());
    for i in 0..10 {
        longer.alloc(i);
        let wide = Box::promote(shorter.boxed(Wide(i)), &longer);
        assert_eq!((std::ptr::from_ref(&*wide).addr() % 128, wide.0), (0, i));
        let wides = Box::promote(shorter.boxed_slice([Wide(1), Wide(2)]), &longer);
        assert_eq!((std::ptr::from_ref(&*wides).addr() % 128, wides[1].0), (0, 2));
        let nothing = Box::promote(shorter.boxed(Nothing), &longer);
        assert_eq!(std::ptr::from_ref(&*nothing).addr() % 256, 0);
    }
}

#[test]
fn a_refused_promotion_returns_the_box() {
    let arena = Arena::new();
    let tight = Options::new().budget(8).create().unwrap();
    let (drops, value) = counted();
    let refused = Box::try_promote(arena.boxed((value, [0u64; 4])), &tight);
    let Err(back) = refused else { panic!("more than the budget") };
    assert_eq!((drops.get(), tight.stats().live), (0, 0));
    let again = Box::try_promote(back, &arena).ok().expect("there is room here"); // within budget
    assert_eq!(drops.get(), 0);
    assert!(catch_unwind(AssertUnwindSafe(|| drop(Box::promote(again, &tight)))).is_err());
    assert_eq!((drops.get(), tight.stats().live), (1, 0)); // dropped by the panic
    assert!(Box::try_promote(arena.boxed_slice([String::from("a")]), &tight).is_err());
    assert_eq!(&*Box::try_promote(arena.boxed_str("nine bytes"), &tight).unwrap_err(), "nine bytes");
}

#[test]
fn a_promoted_value_whose_destructor_panics_is_dropped_once() {
    let (longer, drops) = (Arena::new(), Rc::new(Cell::new(0)));
    let bomb = longer.scope(|scope| Box::promote(scope.boxed(Counted(drops.clone(), true)), &longer));
    assert_eq!(drops.get(), 0);
    assert!(catch_unwind(AssertUnwindSafe(|| drop(bomb))).is_err());
    assert_eq!(drops.get(), 1);

    // The other elements of a slice are dropped as well.
    let drops = Rc::new(Cell::new(0));
    let bombs = longer.scope(|scope| {
        let bombs = scope.boxed_slice([false, true, false].map(|panics| Counted(drops.clone(), panics)));
        Box::promote(bombs, &longer)
    });
    assert!(catch_unwind(AssertUnwindSafe(|| drop(bombs))).is_err());
    assert_eq!((drops.get(), Rc::strong_count(&drops)), (3, 1));
    drop(longer);
    assert_eq!(drops.get(), 3);
}

#[test]
fn a_trait_object_is_promoted_before_it_becomes_one() {
    let longer = Arena::new();
    let things = longer.scope(|scope| {
        let text = Box::promote(scope.boxed(String::from("two")), &longer);
        [
            toft::unsize!(Box::promote(scope.boxed(1), &longer) => dyn std::fmt::Display),
            toft::unsize!(text => dyn std::fmt::Display),
        ]
    });
    assert_eq!(format!("{} {}", things[0], things[1]), "1 two");
}
