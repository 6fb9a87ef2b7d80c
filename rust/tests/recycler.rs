//! Recyclers, unsynchronized and synchronized: their allocations do not overlap, keep their contents, are counted and
//! returned, and memory is bounded.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "full")]

#[path = "common/recycled.rs"]
mod recycled;
#[path = "common/refusing.rs"]
mod refusing;
#[path = "common/strict.rs"]
mod strict;

use std::alloc::Layout;
use std::sync::mpsc::channel;
use std::sync::Barrier;
use std::thread;

use proptest::collection::vec;
use proptest::prelude::*;
use recycled::{check, Object, Recycling, Step, World};
use refusing::{Refuses, Refusing};
use toft::Heap;
use toft::{Limited, Pages, Recycler, SyncRecycler};
use toft_pools::Pool;

const MIRI: bool = cfg!(miri);
const THREADS: usize = if MIRI { 3 } else { 8 };

fn layout(size: usize, align: usize) -> Layout {
    Layout::from_size_align(size, align).unwrap()
}

fn config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(if MIRI { 2 } else { 40 });
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (any::<u8>(), any::<u16>(), any::<u16>()).prop_map(|(what, pick, size)| Step { what, pick, size });
    vec(step, 0..if MIRI { 60 } else { 300 })
}

fn play(r: &impl Recycling, steps: &[Step], refuses: bool) {
    for _ in 0..2 {
        let mut world = World::default();
        steps.iter().for_each(|step| world.step(r, *step, refuses));
        world.verify(r);
        world.clear(r);
    }
    r.shrink(0);
    let s = r.numbers();
    assert_eq!((s.live, s.pinned, s.kept), (0, 0, 0), "{s:?}");
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn streams_on_the_heap(steps in steps()) {
        strict::balanced(|| play(&Recycler::new(), &steps, false));
    }

    #[test]
    fn streams_on_blocks_that_begin_anywhere(steps in steps(), shift in 0usize..512) {
        let source = Refusing::shifted(shift);
        let mut r = Recycler::from_source(&source);
        play(&r, &steps, false);
        r.release();
        assert_eq!((source.bytes(), r.stats().reserved), (0, 0));
        play(&r, &steps, false);
    }

    #[test]
    fn streams_on_a_budget(steps in steps(), limit in 0usize..1 << 21) {
        let r = Recycler::from_source(Limited::new(Refusing::shifted(3), limit));
        play(&r, &steps, true);
        assert!(r.source().used() <= limit);
    }

    #[test]
    fn streams_on_a_synchronized_recycler(steps in steps(), shift in 0usize..512) {
        play(&SyncRecycler::from_source(&Refusing::shifted(shift)), &steps, false);
        strict::balanced(|| play(&SyncRecycler::new(), &steps, false));
    }
}

#[test]
fn each_call_of_the_source_fails_once() {
    let stream: Vec<Step> = (0..if MIRI { 40 } else { 400u16 })
        .map(|i| Step { what: (i.wrapping_mul(37) >> 2) as u8, pick: i.wrapping_mul(2749), size: i.wrapping_mul(9973) })
        .collect();
    for fails in 1.. {
        let source = Refusing::shifted(5);
        source.refuse(Refuses::Once(fails));
        {
            let r = Recycler::from_source(&source);
            play(&r, &stream, true);
        }
        assert_eq!(source.bytes(), 0);
        if source.refused() == 0 {
            assert!(fails > if MIRI { 2 } else { 5 }, "{fails}");
            return;
        }
    }
}

#[test]
fn freed_memory_is_reused() {
    let r = Recycler::new();
    // Objects are freed in any order: a block without objects is filled again without calling the source.
    let mut calls = 0;
    for round in 0..if MIRI { 4 } else { 50 } {
        let mut objects: Vec<Object> =
            (0..if MIRI { 300 } else { 20_000 }).map(|i| Object::of(&r, layout(40, 8), i as u8).unwrap()).collect();
        let n = objects.len();
        match round % 3 {
            0 => objects.reverse(),
            1 => (0..n).for_each(|i| objects.swap(i, i * 7919 % n)),
            _ => {}
        }
        objects.into_iter().for_each(|object| object.free(&r));
        if round == 1 {
            calls = r.stats().source_calls;
        }
    }
    assert_eq!(r.stats().source_calls, calls);
    check(&r.stats(), 0);
}

#[test]
fn freed_objects_of_pinned_slabs_are_reused() {
    let r = Recycler::new();
    let n = if MIRI { 2000 } else { 100_000 };
    let mut objects: Vec<Option<Object>> = (0..n).map(|i| Object::of(&r, layout(48, 8), i as u8)).collect();
    let before = r.stats().reserved;
    for (i, object) in objects.iter_mut().enumerate() {
        if i % 4 != 0 {
            object.take().unwrap().free(&r);
        }
    }
    assert!(r.stats().pinned as usize > n * 48 / 2, "{:?}", r.stats());
    let again: Vec<Object> = (0..n * 3 / 4).map(|i| Object::of(&r, layout(48, 8), i as u8).unwrap()).collect();
    assert!(r.stats().reserved <= before + before / 8 + (64 << 10), "{:?}", r.stats());
    again.into_iter().chain(objects.into_iter().flatten()).for_each(|object| object.free(&r));
}

#[test]
fn memory_stays_bounded() {
    let r = Recycler::new();
    let mut random = 1u64;
    let mut below = |n: u64| {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (random >> 33) % n
    };
    let mut live: Vec<Object> = vec![];
    let mut most = 0;
    for i in 0..if MIRI { 500 } else { 300_000 } {
        if live.len() < 500 || below(2) == 0 {
            let size = if below(100) == 0 { below(200_000) } else { 1 + below(300) };
            live.push(Object::of(&r, layout(size as usize, 8), i as u8).unwrap());
        }
        while live.len() > 500 {
            live.swap_remove(below(500) as usize).free(&r);
        }
        if i == 50_000 {
            most = r.stats().reserved;
        }
    }
    let s = r.stats();
    assert!(MIRI || s.reserved <= 2 * most, "{} after {most}", s.reserved);
    live.into_iter().for_each(|object| object.free(&r));
}

/// Objects that are freed in random order are reused after the rest of a slab, before other memory.
#[test]
fn freed_objects_of_a_class_are_reused_first() {
    let r = Recycler::new();
    for size in [24, 100, 700, 4096] {
        let many: Vec<_> = (0..40).map(|_| [size, size / 2].map(|size| r.alloc_layout(layout(size, 8)))).collect();
        let freed = [3, 30, 7, 22, 15, 11, 34, 27, 19].map(|i| many[i]);
        for [p, q] in freed {
            // SAFETY: allocated here with these layouts, and not used any more.
            unsafe {
                r.deallocate(p, layout(size, 8));
                r.deallocate(q, layout(size / 2, 8));
            }
        }
        let again: Vec<_> = (0..(32 << 10) / size + freed.len()).map(|_| r.alloc_layout(layout(size, 8))).collect();
        assert!(freed.iter().all(|pair| again.contains(&pair[0])), "{size}: {freed:?}, then {again:?}");
    }
}

/// Replaces objects of random sizes in random order; returns the bytes held per live byte.
fn held_by_replacement(count: usize, sizes: std::ops::Range<u64>) -> f64 {
    let r = Recycler::new();
    let mut random = 1u64;
    let mut below = |n: u64| {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (random >> 33) % n
    };
    let new = |below: &mut dyn FnMut(u64) -> u64| {
        let of = layout((sizes.start + below(sizes.end - sizes.start)) as usize, 8);
        (r.alloc_layout(of), of)
    };
    let mut live: Vec<_> = (0..count).map(|_| new(&mut below)).collect();
    for _ in 0..10 * count {
        let i = below(count as u64) as usize;
        // SAFETY: allocated here with that layout, and not used any more.
        unsafe { r.deallocate(live[i].0, live[i].1) };
        live[i] = new(&mut below);
    }
    r.stats().reserved as f64 / live.iter().map(|(_, of)| of.size() as f64).sum::<f64>()
}

#[test]
fn random_replacement_holds_less_than_half_more() {
    let (small, medium) = if MIRI { (30, 10) } else { (20_000, 2000) };
    let held = [held_by_replacement(small, 20..1020), held_by_replacement(medium, 4 << 10..24 << 10)];
    assert!(MIRI || (held[0] < 1.5 && held[1] < 1.5), "{held:?}");
    let halves = held_by_replacement(if MIRI { 10 } else { 2000 }, 16_000..16_001); // two fit a block
    assert!(MIRI || halves < 1.5, "{halves}");
}

#[test]
fn small_heaps_of_many_sizes_share_segments() {
    let r = Recycler::new();
    for size in (8..=800).step_by(8) {
        r.alloc_layout(layout(size, 8));
    }
    assert!(r.stats().reserved <= 320 << 10, "{:?}", r.stats());
}

#[test]
fn large_objects_reuse_their_blocks() {
    let source = Refusing::shifted(1);
    let r = Recycler::from_source(&source);
    for i in 0..if MIRI { 20 } else { 2000usize } {
        let size = 40_000 + 1000 * (i % 5);
        let mut object = Object::of(&r, layout(size, 128), i as u8).unwrap();
        assert_eq!(r.stats().large_blocks, 1);
        assert!(object.resize(&r, layout(size + 64, 64), 7));
        object.free(&r);
    }
    assert!(source.requests() <= 3, "{}", source.requests());
    // Kept memory is bounded by the peak of live bytes.
    let many: Vec<Object> = (0..10).map(|i| Object::of(&r, layout(300_000, 8), i).unwrap()).collect();
    many.into_iter().for_each(|object| object.free(&r));
    assert!(r.stats().reserved <= 2 * 10 * 320_000);
    r.trim(0);
    assert_eq!(r.stats().kept, 0);
}

/// An object stays where it is while its size class has room for it, and at least half of that is needed.
#[test]
fn an_object_stays_in_its_class() {
    let r = Recycler::new();
    for (first, stays, moves) in [(100, [104, 52], [105, 48]), (4000, [4096, 2048], [4097, 2040])] {
        let of = |size: usize| layout(size, 8);
        let p = r.alloc_layout(of(first));
        let live = r.stats().live;
        // SAFETY: allocated here, resized to these layouts, and not used any more.
        unsafe {
            assert_eq!(r.reallocate(p, of(first), of(stays[0])), Ok(p));
            assert_eq!(r.reallocate(p, of(stays[0]), of(stays[1])), Ok(p));
            assert_eq!(r.stats().live, live);
            let larger = r.reallocate(p, of(stays[1]), of(moves[0])).unwrap();
            assert!(larger != p && r.stats().live > live);
            let smaller = r.reallocate(larger, of(moves[0]), of(moves[1])).unwrap();
            assert!(smaller != larger && r.stats().live < live);
            r.deallocate(smaller, of(moves[1]));
        }
    }
    check(&r.stats(), 0);
}

/// An object that shrinks stays where it is if there is no memory to move it to.
#[test]
fn an_object_that_shrinks_is_not_refused() {
    let r = Recycler::from_source(Limited::new(Heap, 32 << 10));
    let of = |size: usize| layout(size, 8);
    let p = r.alloc_layout(of(16_000));
    let rest = std::iter::from_fn(|| r.try_alloc_layout(of(4096)).ok()).count();
    // SAFETY: allocated here, and not used any more.
    unsafe {
        assert_eq!(r.reallocate(p, of(16_000), of(100)), Ok(p), "{rest}");
        assert!(r.reallocate(p, of(100), of(16_113)).is_err());
        r.deallocate(p, of(100));
    }
}

/// Small objects are counted by their class, and what they leave free of their slabs.
#[test]
fn statistics_count_slabs() {
    let r = Recycler::new();
    let n = if MIRI { 100 } else { 10_000 };
    for size in [8, 40, 500, 4096, 9000] {
        let objects: Vec<Object> = (0..n).map(|i| Object::of(&r, layout(size, 8), i as u8).unwrap()).collect();
        let (s, live) = (r.stats(), objects.iter().map(|object| object.taken).sum());
        check(&s, live);
        assert!(s.wasted <= s.reserved / 16 + 4096, "{s:?}");
        // What is free and pinned is the rest of the last slab, and of others less than an object at both ends.
        assert!(s.blocks > 0 && s.pinned <= (32 << 10) + 2 * s.blocks * objects[0].taken, "{s:?}");
        let [first, rest @ ..] = &objects[..] else { unreachable!() };
        let pinned = first.taken;
        assert!(!rest.is_empty());
        let mut objects = objects;
        let last = objects.pop().unwrap();
        objects.into_iter().for_each(|object| object.free(&r));
        let s = r.stats();
        check(&s, pinned);
        assert!(s.blocks == 1 && s.pinned < 32 << 10, "{s:?}");
        last.free(&r);
        let s = r.stats();
        check(&s, 0);
        assert!(s.blocks == 0 && s.pinned == 0, "{s:?}");
    }
}

#[test]
fn trim_keeps_blocks_in_use() {
    let source = Refusing::shifted(0);
    let r = Recycler::from_source(&source);
    let many: Vec<Object> =
        (0..if MIRI { 900 } else { 60_000 }).map(|i| Object::of(&r, layout(100, 8), i as u8).unwrap()).collect();
    let (kept, rest): (Vec<_>, Vec<_>) = many.into_iter().enumerate().partition(|(i, _)| *i < 10);
    let full = source.bytes();
    rest.into_iter().for_each(|(_, object)| object.free(&r));
    r.trim(usize::MAX);
    assert_eq!(source.bytes(), full);
    r.trim(0);
    assert!(MIRI || source.bytes() < full / 8);
    kept.iter().for_each(|(_, object)| object.verify(100));
    // It grows again from there.
    let (left, mut more) = (source.bytes(), Vec::new());
    while source.bytes() == left {
        more.push(Object::of(&r, layout(100, 8), 2).unwrap());
    }
    assert!(source.bytes() <= 2 * left + 8192, "{} of {left}", source.bytes());
    more.into_iter().for_each(|object| object.free(&r));
    kept.into_iter().for_each(|(_, object)| object.free(&r));
    // An empty recycler starts with small blocks again.
    r.trim(0);
    let object = Object::of(&r, layout(100, 8), 1).unwrap();
    assert!(r.stats().reserved <= (64 << 10) + 8192, "{:?}", r.stats());
    object.free(&r);
}

#[test]
fn release_frees_all_objects() {
    let source = Refusing::shifted(9);
    let mut r = Recycler::from_source(&source);
    for round in 0..3 {
        for i in 0..if MIRI { 100 } else { 5000usize } {
            let size = if i % 100 == 0 { 50_000 } else { i % 300 };
            Object::of(&r, layout(size, 1 << (i % 8)), round).unwrap();
        }
        r.release();
        assert_eq!((source.bytes(), r.stats().reserved, r.stats().live), (0, 0, 0));
    }
    Object::of(&r, layout(50_000, 8), 0).unwrap();
    drop(r);
    assert_eq!(source.bytes(), 0);
}

#[test]
fn a_pool_in_a_recycler() {
    let r = Recycler::new();
    let sync = SyncRecycler::from_source(Pages::new());
    {
        let mut a = Pool::new_in(&r);
        let mut b = Pool::new_in(&sync);
        let handles: Vec<_> = (0..500).map(|i| (a.insert(format!("{i}")), b.insert(format!("{i}")))).collect();
        assert!(handles.iter().enumerate().all(|(i, (x, y))| a[*x] == format!("{i}") && a[*x] == b[*y]));
        assert!(r.stats().live > 0 && sync.stats().live > 0);
    }
    assert_eq!((r.stats().live, sync.stats().live), (0, 0));
}

// ---- collections of others ----

#[cfg(feature = "hashbrown")]
mod collections {
    use super::*;
    use allocator_api2::{boxed::Box, vec::Vec};
    use hashbrown::{DefaultHashBuilder, HashMap};

    #[test]
    fn maps_vectors_and_boxes() {
        let r = Recycler::new();
        for _ in 0..3 {
            let mut map = HashMap::with_hasher_in(DefaultHashBuilder::default(), &r);
            let mut words: Vec<Box<[u8; 24], _>, _> = Vec::new_in(&r);
            for i in 0..if MIRI { 60 } else { 5000u32 } {
                let mut text = Vec::new_in(&r);
                text.extend_from_slice(format!("value {i}").as_bytes());
                map.insert(i, text);
                words.push(Box::new_in([i as u8; 24], &r));
                if i % 3 == 0 {
                    map.remove(&(i / 2));
                    words.swap_remove(i as usize / 4 % words.len());
                }
            }
            assert!(map.iter().all(|(i, text)| *text == format!("value {i}").as_bytes()));
            assert!(words.iter().all(|w| w.iter().all(|b| *b == w[0])));
            map.shrink_to_fit();
            words.shrink_to_fit();
            let mut nothing = Vec::new_in(&r);
            nothing.resize(9, ());
            assert_eq!(nothing.len(), 9);
        }
        check(&r.stats(), 0);
    }

    #[test]
    #[cfg_attr(target_family = "wasm", ignore)]
    fn boxes_are_freed_by_other_threads() {
        let r = SyncRecycler::new();
        let (send, receive) = channel::<Box<[u64; 7], &SyncRecycler>>();
        let n = if MIRI { 50 } else { 20_000 };
        thread::scope(|scope| {
            let freeing = scope.spawn(|| receive.into_iter().map(|b| b.iter().sum::<u64>()).sum::<u64>());
            (0..n).for_each(|i| send.send(Box::new_in([i; 7], &r)).unwrap());
            drop(send);
            assert_eq!(freeing.join().unwrap(), 7 * n * (n - 1) / 2);
        });
        assert_eq!(r.stats().live, 0);
    }
}

// ---- threads ----

#[test]
#[cfg_attr(target_family = "wasm", ignore)]
fn threads_allocate_and_free_what_others_allocated() {
    let source = Refusing::shifted(11);
    let r = SyncRecycler::from_source(&source);
    let barrier = Barrier::new(THREADS);
    let (sends, receives): (Vec<_>, Vec<_>) = (0..THREADS).map(|_| channel::<Object>()).unzip();
    thread::scope(|scope| {
        for (number, receive) in receives.into_iter().enumerate() {
            let (r, barrier, sends) = (&r, &barrier, sends.clone());
            scope.spawn(move || {
                barrier.wait();
                let mut world = World { is_shared: true, ..World::default() };
                let mut random = number as u64 + 1;
                for i in 0..if MIRI { 80 } else { 6000u32 } {
                    random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    let step =
                        Step { what: (random >> 40) as u8, pick: (random >> 24) as u16, size: (random >> 48) as u16 };
                    world.step(r, step, false);
                    if i % 3 == 0 && !world.objects.is_empty() {
                        let object = world.objects.swap_remove(0);
                        let _ = sends[(number + 1 + i as usize % (THREADS - 1)) % THREADS]
                            .send(object)
                            .map_err(|e| e.0.free(r));
                    }
                    while let Ok(object) = receive.try_recv() {
                        object.free(r);
                    }
                }
                world.objects.drain(..).for_each(|object| object.free(r));
                barrier.wait();
                drop(sends);
                receive.into_iter().for_each(|object| object.free(r));
            });
        }
        drop(sends);
    });
    check(&r.stats(), 0);
    r.trim(0);
    assert_eq!(r.stats().kept, 0);
}

#[test]
#[cfg_attr(target_family = "wasm", ignore)]
fn a_recycler_is_sent() {
    let r = Recycler::new();
    Object::of(&r, layout(100, 8), 1).unwrap().free(&r);
    let r = thread::spawn(move || {
        Object::of(&r, layout(100, 8), 2).unwrap().free(&r);
        r
    })
    .join()
    .unwrap();
    check(&r.stats(), 0);
    fn is_sync<T: Sync + Send>(_: &T) {}
    is_sync(&SyncRecycler::new());
}
