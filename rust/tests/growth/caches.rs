//! The cache of each thread.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;

#[test]
fn arenas_and_blocks_are_reused_from_the_cache() {
    let _alone = alone();
    assert_eq!(cache::held(), 0);
    drop(Arena::new());
    assert_eq!(cache::held(), 4096);
    let arena = Arena::new();
    assert_eq!(cache::held(), 0);
    take(&arena, 100_000, 8);
    let reserved = arena.stats().reserved as usize;
    drop(arena);
    assert_eq!(cache::held(), reserved);
    let allocations = strict::allocations();
    let arena = Arena::new();
    take(&arena, 100_000, 8);
    assert!(MIRI || strict::allocations() == allocations, "the cached arena was not reused");
    drop(arena);
    cache::trim();
    assert_eq!(cache::held(), 0);
}

fn one_arena(bytes: usize) {
    let arena = Arena::new();
    for _ in 0..bytes / 4096 {
        arena.alloc([1u8; 4000]);
    }
}

/// Sets the window of the page cache during one test.
struct Window(Duration);

impl Window {
    fn of(milliseconds: u64) -> Window {
        Window(cache::set_page_window(Duration::from_millis(milliseconds)))
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        cache::set_page_window(self.0);
    }
}

/// Nearly all that the cache may keep on 32-bit systems, and a quarter of it on 64-bit ones.
const LARGE: usize = if usize::BITS < 64 { 28 << 20 } else { 60 << 20 };

#[test]
#[cfg_attr(target_family = "wasm", ignore)]
#[cfg(not(miri))]
fn reused_pages_stay_cached() {
    let _alone = alone();
    let _window = Window::of(3_600_000);
    assert_eq!(cache::pages_held(), 0);
    one_arena(LARGE);
    let held = cache::pages_held();
    assert!((LARGE - (4 << 20)..=LARGE + (4 << 20)).contains(&held), "{held}");
    for _ in 0..3 {
        one_arena(LARGE);
        std::thread::spawn(|| one_arena(LARGE)).join().unwrap();
        assert_eq!(cache::pages_held(), held);
    }
    one_arena(5 << 20);
    assert_eq!(cache::pages_held(), held);
    cache::trim();
    assert_eq!(cache::pages_held(), 0);
}

#[test]
#[cfg(not(miri))]
fn unused_pages_are_returned() {
    let _alone = alone();
    let window = Window::of(200);
    one_arena(LARGE);
    assert!(cache::pages_held() >= LARGE - (4 << 20));
    std::thread::sleep(Duration::from_millis(450)); // more than two windows
    (0..100).for_each(|_| one_arena(20_000));
    assert_eq!(cache::pages_held(), 0);
    drop(window);
    let _window = Window::of(0);
    one_arena(LARGE);
    one_arena(5 << 20);
    assert!(cache::pages_held() <= 2 << 20, "{}", cache::pages_held());
}

#[test]
fn the_cache_of_pages_is_bounded() {
    let _alone = alone();
    let size = if MIRI { 3 << 20 } else { 60 << 20 };
    let before = cache::set_page_limit(size / 2);
    let make = || {
        let arena = Options::new().reserve(size / 3).create().unwrap();
        take(&arena, size / 3 - 4096, 8);
        arena
    };
    let arenas = [make(), make()];
    drop(arenas);
    let held = cache::pages_held();
    assert!(held > 0 && held <= size / 2, "{held}");
    assert_eq!(cache::set_page_limit(0), size / 2);
    assert_eq!(cache::pages_held(), 0);
    drop(make());
    assert_eq!(cache::pages_held(), 0);
    cache::set_page_limit(before);
}

#[test]
#[cfg(not(miri))]
fn page_ranges_split_and_merge() {
    let _alone = alone();
    let _window = Window::of(3_600_000);
    let mut held: Vec<Option<(Arena, &'static mut [u8])>> = (0..64).map(|_| None).collect();
    let mut seed = 7u64;
    for step in 0..5000 {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let i = (seed >> 33) as usize % held.len();
        match held[i].take() {
            Some((_arena, bytes)) => assert_eq!([bytes[0], bytes[bytes.len() - 1]], [i as u8; 2], "step {step}"),
            None => {
                let size = (1 << 20) + if seed >> 62 == 0 { ((seed >> 40) % 500) as usize * 4096 } else { 0 };
                let arena = Options::new().reserve(size).create().unwrap();
                let bytes = take(&arena, size, 8);
                // SAFETY: it is used only while the arena, stored next to it, is alive.
                let bytes = unsafe { std::slice::from_raw_parts_mut(bytes, size) };
                (bytes[0], bytes[size - 1]) = (i as u8, i as u8);
                held[i] = Some((arena, bytes));
            }
        }
    }
    held.clear();
    assert!(cache::pages_held() >= 28 << 20);
}

#[test]
fn the_cache_holds_no_more_than_its_limit() {
    let _alone = alone();
    assert_eq!(cache::set_limit(10_000), 4 << 20);
    let all: Vec<Arena> = (0..5).map(|_| Arena::new()).collect();
    drop(all);
    assert_eq!(cache::held(), 8192);
    assert_eq!(cache::set_limit(0), 10_000);
    assert_eq!(cache::held(), 8192); // kept until it is used or trimmed
    let arena = Arena::new();
    assert_eq!(cache::held(), 4096);
    drop(arena);
    assert_eq!(cache::held(), 4096);
    cache::trim();
    drop(Arena::new());
    assert_eq!(cache::held(), 0);
    cache::set_limit(usize::MAX / 8);
    let arena = Arena::new();
    take(&arena, if MIRI { 100_000 } else { 40 << 20 }, 8); // of pages, of which the thread caches none
    take(&arena, 100_000, 8);
    drop(arena);
    assert!(cache::held() > 100_000 && cache::held() < 1 << 20, "{}", cache::held());
}

#[test]
#[cfg_attr(target_family = "wasm", ignore)]
fn a_thread_that_ends_returns_its_cache() {
    let _alone = alone();
    let threads = if MIRI { 3 } else { 50 };
    for _ in 0..threads {
        std::thread::spawn(|| {
            let arenas: Vec<Arena> = (0..10).map(|_| Arena::new()).collect();
            arenas.iter().for_each(|a| _ = take(a, 50_000, 8));
            drop(arenas);
            assert!(cache::held() > 500_000);
        })
        .join()
        .unwrap();
    }
    // The strict allocator verifies at exit that everything was returned.
}

#[test]
#[cfg_attr(target_family = "wasm", ignore)]
fn an_arena_may_end_on_another_thread() {
    let _alone = alone();
    let made: Vec<Arena> = (0..20)
        .map(|i| {
            std::thread::spawn(move || {
                let arena = Arena::new();
                arena.alloc_drop(vec![i]);
                take(&arena, 30_000, 8);
                arena
            })
            .join()
            .unwrap()
        })
        .collect();
    assert_eq!(cache::held(), 0);
    for (i, mut arena) in made.into_iter().enumerate() {
        if i % 2 == 0 {
            arena.reset();
            take(&arena, 30_000, 8);
        }
        std::thread::spawn(move || drop(arena)).join().unwrap();
    }
    assert_eq!(cache::held(), 0);
    let arena = Arena::new();
    std::thread::scope(|s| {
        s.spawn(move || drop(arena));
    });
}

#[test]
#[cfg_attr(target_family = "wasm", ignore)]
fn threads_create_send_and_trim_arenas_concurrently() {
    let _alone = alone();
    let (send, receive) = std::sync::mpsc::channel::<Arena>();
    let receive = Mutex::new(receive);
    std::thread::scope(|s| {
        for t in 0..4 {
            let (send, receive) = (send.clone(), &receive);
            s.spawn(move || {
                let mut random = Random(t + 1);
                for _ in 0..if MIRI { 5 } else { 2000 } {
                    let arena = receive.lock().unwrap().try_recv().unwrap_or_default();
                    for _ in 0..random.below(5) {
                        take(&arena, random.below(10_000), 8);
                    }
                    match random.below(3) {
                        0 => drop(arena),
                        1 => cache::trim(),
                        _ => send.send(arena).unwrap(),
                    }
                }
            });
        }
    });
}

#[test]
#[cfg_attr(target_family = "wasm", ignore)]
fn an_arena_in_a_thread_local_may_outlive_the_cache() {
    let _alone = alone();
    thread_local! {
        static BEFORE: Arena = Arena::new(); // made before or after the cache is first used
        static AFTER: std::cell::RefCell<Vec<Arena>> = const { std::cell::RefCell::new(vec![]) };
    }
    struct Uses;
    impl Drop for Uses {
        fn drop(&mut self) {
            let arena = Arena::new(); // the cache may be destroyed already
            arena.alloc_drop(vec![1]);
            take(&arena, 50_000, 8);
            arena.scope(|inner| _ = take(inner, 5000, 8));
        }
    }
    thread_local!(static LAST: Uses = const { Uses });
    for order in 0..4 {
        std::thread::spawn(move || {
            if order & 1 == 0 {
                LAST.with(|_| {});
            }
            if order & 2 == 0 {
                drop(Arena::new());
            }
            AFTER.with(|all| all.borrow_mut().push(Arena::new()));
            BEFORE.with(|arena| _ = take(arena, 20_000, 8));
            AFTER.with(|all| _ = take(&all.borrow()[0], 20_000, 8));
            LAST.with(|_| {});
        })
        .join()
        .unwrap();
    }
}

#[test]
fn an_arena_that_is_dropped_and_made_anew_is_fresh() {
    let _alone = alone();
    let arena = Options::new().budget(100).create().unwrap();
    take(&arena, 50, 8);
    drop(arena);
    let arena = Arena::new();
    // SAFETY: the arena is alive.
    assert_eq!(unsafe { arena.as_raw().as_ref() }.epoch.get() & 1, 0, "rewinds are inline");
    assert_eq!((arena.stats().live, arena.stats().budget, arena.stats().blocks), (0, u64::MAX, 1));
    take(&arena, 1000, 8);
    let mark = arena.mark();
    drop(arena);
    let arena = Arena::new();
    assert_eq!(arena.stats().live, 0);
    // A mark of the previous arena at the same address: refused, or without effect on later allocations.
    let p = take(&arena, 100, 8);
    // SAFETY: the memory above that mark's address is not used.
    let _ = unsafe { arena.rewind(mark) };
    assert_eq!(arena.contains(p), arena.stats().live != 0);
}
