//! Growth in place, sizes and alignments.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;

// ---- growth in place ----

#[test]
fn with_capacity_takes_one_block() {
    let _alone = alone();
    for size in [1000, 10_000, 100_000, 1_000_000] {
        let pages = Pages::new();
        let arena = Scope::from_source_with(&pages, size, None).unwrap();
        let n = size / 100;
        let first = take(&arena, 96, 8).addr();
        for i in 1..n {
            assert_eq!(take(&arena, 96, 8).addr(), first + 96 * i, "of {size}");
        }
        assert!(pages.calls.get() <= 2, "{}", pages.calls.get());
    }
    assert!(Arena::with_capacity(0).try_alloc(1u8).is_ok());
    let arena = Arena::with_capacity(50_000);
    (0..500).for_each(|_| _ = take(&arena, 96, 8));
    assert_eq!(arena.stats().source_calls, 2);
}

#[cfg(feature = "allocator-api2")]
#[test]
fn a_vector_at_the_tip_grows_in_place() {
    let _alone = alone();
    use allocator_api2::vec::Vec;
    let arena = Arena::with_capacity(100_000);
    let mut v = Vec::<u32, &Arena>::new_in(&arena);
    v.push(0);
    let at = v.as_ptr();
    for i in 1..10_000 {
        v.push(i);
    }
    assert_eq!(v.as_ptr(), at);
    assert_eq!(arena.stats().live as usize, v.capacity() * 4);
    v.shrink_to_fit();
    assert_eq!((v.as_ptr(), arena.stats().live), (at, 40_000));
    drop(v);
    assert_eq!(arena.stats().live, 0);
}

#[test]
fn a_collected_slice_has_the_length_of_its_iterator() {
    let _alone = alone();
    let arena = Arena::with_capacity(100_000);
    for n in [0, 1, 3, 4, 5, 1000] {
        let before = arena.stats().live;
        let slice = arena.alloc_slice_from_iter((0..n as u16).filter(|_| true));
        assert_eq!((slice.len(), arena.stats().live - before), (n, (2 * n as u64 + 7) & !7));
        let before = arena.stats().live;
        let text = toft::format_in!(arena, "{:>1$}", "x", n);
        assert_eq!(text.len(), n.max(1));
        assert_eq!(arena.stats().live - before, (n.max(1) as u64 + 7) & !7);
    }
    // An iterator that itself allocates in the arena makes the slice move, and the result is correct.
    let words = arena.alloc_slice_from_iter((0..50).map(|i| &*toft::format_in!(arena, "word {i}")));
    assert!(words.iter().enumerate().all(|(i, w)| **w == format!("word {i}")));
}

#[test]
#[cfg_attr(miri, ignore = "needs addresses of the system")]
fn blocks_on_reserved_addresses_are_contiguous() {
    let _alone = alone();
    let mut arena = Options::new().source(Reserve::new(64 << 20).unwrap()).create().unwrap();
    for _ in 0..3 {
        let first = take(&arena, 1000, 8).addr();
        for i in 1..10_000 {
            assert_eq!(take(&arena, 1000, 8).addr(), first + 1000 * i);
        }
        assert_eq!(arena.stats().blocks, 1);
        arena.reset();
    }
    arena.trim(0);
    assert!(arena.stats().reserved <= 4096, "{}", arena.stats().reserved);
    take(&arena, 1_000_000, 4096);
}

// ---- sizes and alignments ----

#[test]
fn zero_sized_values_take_no_memory() {
    let _alone = alone();
    #[repr(align(256))]
    struct Nothing;
    let arena = Arena::new();
    assert_eq!(std::ptr::from_mut(arena.alloc(Nothing)).addr() % 256, 0);
    arena.alloc(());
    arena.alloc_str("");
    arena.alloc_slice_copy::<u64>(&[]);
    arena.alloc_slice_fill(1_000_000, ());
    assert_eq!(arena.alloc_slice_from_iter(std::iter::repeat_n((), 1000)).len(), 1000);
    assert_eq!(arena.alloc_slice_from_iter([1u8; 0]).len(), 0);
    arena.cursor().alloc(());
    assert_eq!(arena.pack().alloc_str(""), "");
    toft::format_in!(arena, "");
    drop(arena.boxed(()));
    assert_eq!(arena.stats().live, 0);
    assert_eq!(take(&arena, 0, 1).addr() % 8, 0);
}

#[test]
fn packed_text_is_contiguous() {
    let _alone = alone();
    let arena = Arena::new();
    let pack = arena.pack();
    let words: Vec<&str> =
        (0..if MIRI { 200 } else { 10_000 }).map(|i| &*pack.alloc_str(["a", "bc", "def"][i % 3])).collect();
    let bytes: usize = words.iter().map(|w| w.len()).sum();
    assert!(arena.stats().live as usize <= bytes + bytes / 4 + 4096, "{} for {bytes}", arena.stats().live);
    assert!(words.iter().enumerate().all(|(i, w)| *w == ["a", "bc", "def"][i % 3]));
    let long = pack.alloc_str(&"x".repeat(5000));
    assert_eq!(long.len(), 5000);
}

#[test]
fn text_of_each_length_is_copied() {
    let _alone = alone();
    let (arena, text) = (Arena::new(), ('a'..='z').cycle().take(70).collect::<String>());
    let pack = arena.pack();
    let cut = |n: usize| (&text[..n], &text[70 - n..]);
    let copies: Vec<(&str, &str)> =
        (0..=70).map(|n| (&*arena.alloc_str(cut(n).0), &*pack.alloc_str(cut(n).1))).collect();
    assert!(copies.iter().enumerate().all(|(n, copies)| *copies == cut(n)));
}
