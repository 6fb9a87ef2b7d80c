//! Checks that begin and end while the arena is in use, and by other threads.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;

// ---- switching ----

#[cfg(feature = "allocator-api2")]
#[test]
fn checks_are_switched_while_allocations_are_live() {
    let mut arena = Arena::new();
    let early = arena.alloc([7u64; 4]) as *mut [u64; 4];
    let (text, boxed) = (arena.alloc_str("before"), arena.boxed(String::from("before")));
    let mark = arena.mark();
    let mut vec = allocator_api2::vec::Vec::new_in(&arena);
    vec.extend(0..100u32);
    let many = if MIRI { 10 } else { 1000u32 };
    let mut large = allocator_api2::vec::Vec::with_capacity_in(if MIRI { 1 << 13 } else { 1 << 20 }, &arena);
    large.extend(0..1000u32);
    for round in 0..4 {
        arena.set_checked(round % 2 == 0).unwrap();
        vec.extend(0..many * (round + 1));
        large.extend(0..many << 9);
        let live = arena.allocations();
        assert!(live.iter().all(|a| a.size != 32), "older allocations are not recorded");
    }
    arena.set_checked(true).unwrap();
    vec.shrink_to_fit();
    let (short, long) = (vec.len(), large.len());
    assert_eq!((short, long), (100 + 10 * many as usize, 1000 + ((many as usize) << 11)));
    drop((vec, large, boxed));
    assert_eq!((unsafe { *early }, &*text), ([7; 4], "before"));
    unsafe { arena.rewind(mark) }.unwrap();
    assert_eq!((unsafe { *early }, arena.findings()), ([7; 4], vec![]));
    arena.reset();
    assert_eq!((arena.findings(), arena.stats().live), (vec![], 0));
}

#[test]
fn live_allocations_are_unchanged_when_the_checks_end() {
    struct Recorded(Arc<AtomicU64>);
    impl Drop for Recorded {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let ended = Arc::new(AtomicU64::new(0));
    let mut arena = checked();
    let number = arena.alloc(7u64) as *const u64;
    let text = arena.alloc(String::from("lives")) as *mut String;
    arena.alloc_drop(Recorded(ended.clone()));
    let short = arena.alloc_layout(layout(10, 1)).as_ptr();
    unsafe { short.add(10).write(0) };
    arena.set_checked(false).unwrap();
    assert!(matches!(arena.findings()[..], [Finding::Corrupt { size: 10, offset: 10, .. }]));
    assert_eq!((unsafe { *number }, unsafe { &**text }, ended.load(Ordering::Relaxed)), (7, "lives", 0));
    unsafe { text.drop_in_place() };
    arena.reset();
    assert_eq!((arena.findings(), ended.load(Ordering::Relaxed)), (vec![], 1));
}

#[test]
fn resizes_of_allocations_older_than_the_checks_keep_the_rules() {
    let arena = Arena::new();
    let (head, p) = (arena.as_raw(), arena.alloc_layout(layout(64, 8)));
    unsafe { p.write_bytes(7, 64) };
    arena.set_checked(true).unwrap();
    arena.set_budget(Some(arena.stats().live)).unwrap();
    let resize = |p: NonNull<u8>, old, new, align, flags| unsafe {
        let ops = &*head.as_ref().ops.get();
        NonNull::new((ops.resize)(head.as_ptr(), p.as_ptr().cast(), old, new, align, flags, 0).cast::<u8>())
    };
    assert_eq!(resize(p, 64, 40, 8, 0), Some(p)); // costs nothing
    assert_eq!(resize(p, 40, 40, 8, abi::STAY), Some(p));
    assert_eq!(resize(p, 40, 41, 8, 0), None);
    arena.set_budget(None).unwrap();
    assert_eq!(resize(p, 40, 41, 8, abi::STAY), None);
    let q = resize(p, 40, 100, 8, 0).unwrap();
    assert!(q != p && bytes_at(q.as_ptr(), 40) == [7; 40]);
    assert_eq!((resize(q, 100, 101, 8, abi::STAY), resize(q, 100, 9, 8, abi::STAY)), (None, Some(q)));
    assert_eq!(arena.findings(), []);
}

#[test]
fn the_checks_of_frames_end_while_values_live() {
    let ended = Arc::new(());
    let mut frames = Frames::new();
    frames.set_checked(true).unwrap();
    frames.here().alloc_drop(ended.clone());
    frames.set_checked(false).unwrap();
    assert_eq!(Arc::strong_count(&ended), 2);
    (0..3).for_each(|_| frames.advance());
    assert_eq!(Arc::strong_count(&ended), 1);
}

#[test]
fn an_arena_without_checks_has_no_red_zones() {
    let mut arena = Arena::new();
    arena.alloc([0u8; 100]);
    let end = |arena: &Arena| unsafe { (*arena.as_raw().as_ptr()).limit.get().addr() };
    let watched = |arena: &Arena| unsafe { (*arena.as_raw().as_ptr()).epoch.get() & 1 == 1 };
    let held = |arena: &Arena| {
        let stats = arena.stats();
        (stats.live, stats.reserved, stats.blocks, stats.budget)
    };
    let (limit, stats) = (end(&arena), held(&arena));
    let all: [SwitchTo; 5] = [
        |arena, on| arena.set_checked(on),
        |arena, on| arena.set_metered(on),
        |arena, on| arena.set_sampling(on as u64 * 64),
        |arena, on| arena.set_soft_budget(on.then_some(1000)),
        |arena, on| [Arena::set_checked, Arena::set_metered].iter().try_for_each(|set| set(arena, on)),
    ];
    for (k, set) in all.into_iter().enumerate() {
        set(&arena, true).unwrap();
        assert!(watched(&arena), "{k}");
        set(&arena, false).unwrap();
        assert_eq!((end(&arena), watched(&arena), held(&arena)), (limit, false, stats), "{k}");
        set(&arena, true).unwrap();
        let mark = arena.mark();
        arena.scope(|inner| inner.alloc_slice_fill(1000, 0u8).len());
        arena.alloc([0u8; 100]);
        unsafe { arena.rewind(mark) }.unwrap();
        set(&arena, false).unwrap();
        assert_eq!((end(&arena), watched(&arena), held(&arena)), (limit, false, stats), "{k}");
        let before = unsafe { (*arena.as_raw().as_ptr()).cursor.get().addr() };
        let p = arena.alloc(1u64) as *const u64;
        assert_eq!(p.addr(), before, "no red zones, {k}");
        unsafe { arena.rewind(mark) }.unwrap_or_default();
    }
    arena.reset();
    assert_eq!((watched(&arena), arena.stats().live), (false, 0));
}

#[test]
fn switches_are_refused_while_something_is_open() {
    let arena = Arena::new();
    let all = |arena: &Arena| {
        let ask = |_: Refusal| None;
        [
            arena.set_checked(true),
            arena.set_metered(true),
            arena.set_sampling(100),
            arena.set_soft_budget(Some(1)),
            arena.set_tag_budget("x", Some(1)),
            arena.on_refusal(ask),
        ]
    };
    let scope = arena.scope_guard();
    assert_eq!(all(&arena), [Err(SwitchError::Busy); 6]);
    drop(scope);
    let cursor = arena.cursor();
    assert_eq!(all(&arena), [Err(SwitchError::Busy); 6]);
    drop(cursor);
    assert_eq!(arena.report().count(), 0);
    assert_eq!(all(&arena), [Ok(()); 6]);
}

// ---- threads ----

#[test]
fn use_by_another_thread_is_refused_and_reported() {
    struct Raw(NonNull<abi::Head>);
    unsafe impl Send for Raw {}
    let mut frames = Frames::new();
    frames.set_checked(true).unwrap();
    let arena = frames.here();
    let mine = arena.alloc(7u64);
    let raw = Raw(arena.as_raw());
    let got = std::thread::spawn(move || {
        let raw = raw;
        unsafe {
            let small = abi::alloc(raw.0, 8).is_some();
            let aligned = abi::alloc_aligned(raw.0, 8, 64).is_some();
            let grown = abi::resize(raw.0, std::ptr::null_mut(), 0, 8, 8).is_some();
            small || aligned || grown
        }
    });
    assert!(!got.join().unwrap());
    assert_eq!(*mine, 7);
    arena.alloc(8u64);
    frames.advance();
    assert_eq!(frames.summary().unwrap().findings, [Finding::WrongThread { calls: 3 }]);
    frames.set_checked(false).unwrap();
    let raw = Raw(frames.here().as_raw());
    let got = std::thread::spawn(move || unsafe { abi::alloc({ raw }.0, 8).is_some() });
    assert!(got.join().unwrap(), "checks are off");
}

#[test]
fn later_threads_get_checked_arenas() {
    let mut frames = Frames::new();
    frames.set_checked(true).unwrap();
    for _ in 0..3 {
        let line = line!() + 4;
        std::thread::scope(|threads| {
            for i in 0..4u64 {
                let frames = &frames;
                threads.spawn(move || [i; 3].map(|i| frames.here().alloc(vec![i])).len());
            }
        });
        frames.advance();
        let summary = frames.summary().unwrap();
        assert_eq!(
            (summary.report.count(), lines(&summary.findings)),
            (12, vec![("leak", line, size_of::<Vec<u64>>()); 12])
        );
    }
}
