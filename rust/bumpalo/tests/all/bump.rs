//! `toft_bumpalo::Bump` as programs that were written for bumpalo use it.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::alloc::Layout;
use std::mem::size_of;
use std::panic::{catch_unwind, AssertUnwindSafe};

use proptest::prelude::*;
use toft_bumpalo::{AllocErr, AllocOrInitError, Bump};

fn live(bump: &Bump) -> usize {
    bump.allocated_bytes()
}

#[test]
fn values() {
    let bump = Bump::new();
    let a = bump.alloc(1u8);
    let b = bump.alloc_with(|| [2u16; 3]);
    let c = bump.try_alloc("three").unwrap();
    *a += 1;
    b[0] = 9;
    assert_eq!((*a, *b, *c), (2, [9, 2, 2], "three"));
    let nested = bump.alloc_with(|| (bump.alloc(4), bump.try_alloc_with(|| 5).unwrap()));
    assert_eq!((*nested.0, *nested.1), (4, 5));
    let nothing = bump.alloc(());
    assert_eq!(nothing, &());
}

#[test]
fn values_that_fail() {
    let bump = Bump::new();
    assert_eq!(bump.alloc_try_with(|| Ok::<_, ()>(7)), Ok(&mut 7));
    let before = live(&bump);
    assert_eq!(bump.alloc_try_with(|| Err::<[u64; 100], _>("no")), Err("no"));
    assert_eq!(bump.try_alloc_try_with(|| Err::<u8, _>("no")), Err(AllocOrInitError::Init("no")));
    assert_eq!(live(&bump), before);
    bump.set_allocation_limit(Some(before));
    assert_eq!(bump.try_alloc_try_with(|| Ok::<u64, ()>(1)), Err(AllocOrInitError::Alloc(AllocErr)));
    assert_eq!(AllocOrInitError::<()>::from(AllocErr), AllocOrInitError::Alloc(AllocErr));
}

#[test]
fn slices() {
    let bump = Bump::new();
    assert_eq!(bump.alloc_slice_copy(&[1, 2]), [1, 2]);
    assert_eq!(bump.alloc_slice_clone(&[Some("a")]), [Some("a")]);
    assert_eq!(bump.alloc_slice_fill_copy(2, 'x'), ['x', 'x']);
    assert_eq!(bump.alloc_slice_fill_clone(2, &"y"), ["y", "y"]);
    assert_eq!(bump.alloc_slice_fill_default::<u128>(3), [0, 0, 0]);
    assert_eq!(bump.alloc_slice_fill_iter([1, 2].iter().map(|i| i * 2)), [2, 4]);
    assert_eq!(bump.alloc_str("æble"), "æble");
    assert!(bump.try_alloc_slice_copy::<u8>(&[]).unwrap().is_empty());
    assert_eq!(bump.try_alloc_slice_clone(&[Some(1)]).unwrap(), [Some(1)]);
    assert_eq!(bump.try_alloc_slice_fill_with(3, |i| i).unwrap(), [0, 1, 2]);
    assert_eq!(bump.try_alloc_slice_fill_copy(1, 1).unwrap(), [1]);
    assert_eq!(bump.try_alloc_slice_fill_clone(1, &1).unwrap(), [1]);
    assert_eq!(bump.try_alloc_slice_fill_iter([1]).unwrap(), [1]);
    assert_eq!(bump.try_alloc_slice_fill_default::<u8>(1).unwrap(), [0]);
    assert_eq!(bump.try_alloc_str("").unwrap(), "");
    assert_eq!(bump.alloc_slice_fill_default::<()>(1000).len(), 1000);
    assert!(bump.try_alloc_slice_fill_default::<u64>(usize::MAX).is_err());
}

#[test]
fn failed_slices_free_their_memory() {
    let bump = Bump::new();
    bump.alloc(0);
    let before = live(&bump);
    assert_eq!(bump.alloc_slice_try_fill_with(100, |i| if i < 50 { Ok(i) } else { Err(i) }), Err(50));
    assert_eq!(bump.alloc_slice_try_fill_iter([Ok(1), Err("no"), Ok(2)]), Err("no"));
    assert!(catch_unwind(AssertUnwindSafe(|| { bump.alloc_slice_try_fill_with::<u8, _, ()>(10, |_| panic!("no")) }))
        .is_err());
    assert_eq!(live(&bump), before);
    assert_eq!(bump.alloc_slice_try_fill_iter([Ok::<_, ()>(1), Ok(2)]).unwrap(), [1, 2]);
}

#[test]
fn iterators_with_a_wrong_length() {
    struct WrongLength(usize, usize);
    impl Iterator for WrongLength {
        type Item = usize;
        fn next(&mut self) -> Option<usize> {
            self.1 = self.1.checked_sub(1)?;
            Some(self.1)
        }
        fn size_hint(&self) -> (usize, Option<usize>) {
            (self.0, Some(self.0))
        }
    }
    impl ExactSizeIterator for WrongLength {}
    let bump = Bump::new();
    assert_eq!(bump.alloc_slice_fill_iter(WrongLength(2, 5)), [4, 3]);
    let less = catch_unwind(AssertUnwindSafe(|| bump.alloc_slice_fill_iter(WrongLength(5, 2)).len()));
    assert!(less.unwrap_err().downcast_ref::<&str>().unwrap().contains("less than it promised"));
}

#[test]
fn alignments() {
    fn check<const M: usize>() {
        let bump = Bump::<M>::with_min_align();
        assert_eq!(bump.min_align(), M);
        for i in 0..50usize {
            let at = [
                bump.alloc(i as u8) as *const u8 as usize,
                bump.alloc(()) as *const () as usize,
                bump.alloc_str("abc").as_ptr() as usize,
                bump.alloc_slice_fill_copy(i, 1u8).as_ptr() as usize,
                bump.alloc_slice_fill_default::<u64>(i % 3).as_ptr() as usize,
                bump.alloc_layout(Layout::from_size_align(i, 1).unwrap()).as_ptr() as usize,
            ];
            assert!(at.iter().all(|at| at % M == 0), "{M}: {at:x?}");
            assert_eq!(bump.alloc_layout(Layout::from_size_align(i, 64).unwrap()).as_ptr() as usize % 64, 0);
        }
    }
    check::<1>();
    check::<2>();
    check::<4>();
    check::<8>();
    check::<16>();
    assert!(catch_unwind(Bump::<32>::with_min_align).is_err());
    assert!(catch_unwind(Bump::<3>::default).is_err());
}

#[test]
fn limits() {
    let mut bump = Bump::with_capacity(0);
    assert_eq!(bump.allocation_limit(), None);
    bump.set_allocation_limit(Some(0));
    assert!(bump.try_alloc(5).is_err());
    bump.set_allocation_limit(Some(512));
    assert_eq!(bump.allocation_limit(), Some(512));
    bump.alloc(10);
    assert!(bump.try_alloc([0; 2048]).is_err());
    assert!(bump.allocation_limit().unwrap() >= bump.allocated_bytes());
    bump.reset();
    assert!(bump.try_alloc([0u8; 513]).is_err());
    assert!(bump.try_alloc([0u8; 512]).is_ok());
    assert!(bump.try_alloc(1).is_err());
    bump.set_allocation_limit(Some(usize::MAX));
    assert!(bump.try_alloc([0; 2048]).is_ok());
    bump.set_allocation_limit(None);
    assert_eq!(bump.allocation_limit(), None);

    let scope = bump.as_ref().scope_guard();
    assert!(catch_unwind(AssertUnwindSafe(|| bump.set_allocation_limit(Some(1)))).is_err());
    drop(scope);
}

#[test]
fn capacities() {
    for capacity in [0, 1, 512, 3584, 3585, 4096, 10_000, 65_536, 1 << 20, (1 << 20) + 1, 5 << 20] {
        let bump = Bump::with_capacity(capacity);
        let room = bump.chunk_capacity();
        assert!(room >= capacity, "{room} of {capacity}");
        if capacity > 0 {
            let first = bump.alloc_layout(Layout::from_size_align(capacity, 1).unwrap()).as_ptr() as usize;
            assert_eq!(first % 8, 0);
            assert!(room - bump.chunk_capacity() >= capacity);
            assert!(room - bump.chunk_capacity() < capacity + 8);
        }
    }
    assert!(Bump::try_with_capacity(isize::MAX as usize).is_err());
    assert!(Bump::try_with_capacity(usize::MAX).is_err());
    assert!(Bump::<4>::try_with_min_align_and_capacity(100).unwrap().chunk_capacity() >= 100);
}

#[test]
fn layouts_that_no_arena_can_serve() {
    let bump = Bump::new();
    let most = Layout::from_size_align(isize::MAX as usize, 1).unwrap();
    assert!(bump.try_alloc_layout(most).is_err());
    assert!(catch_unwind(AssertUnwindSafe(|| bump.alloc_layout(most))).is_err());
    let bump = Bump::<16>::with_min_align();
    assert!(bump.try_alloc_layout(most).is_err());
}

#[test]
fn rounds_are_bounded() {
    let mut bump = Bump::new();
    let mut most = 0;
    for round in 0..200 {
        for i in 0..if cfg!(miri) { 50 } else { 2000 } {
            bump.alloc([i; 5]);
        }
        bump.reset();
        assert_eq!(bump.allocated_bytes(), 0);
        if round == 100 {
            most = bump.allocated_bytes_including_metadata();
        }
        assert!(round <= 100 || bump.allocated_bytes_including_metadata() <= most);
    }
}

#[test]
fn chunks() {
    let mut bump = Bump::new();
    assert_eq!(bump.iter_allocated_chunks().count(), 0);
    let n = if cfg!(miri) { 2000 } else { 100_000 };
    for i in 0..n {
        bump.alloc(i);
    }
    // SAFETY: the arena is not used during the iteration.
    let raw: Vec<_> = unsafe { bump.iter_allocated_chunks_raw() }.collect();
    let (mut next, mut chunks) = (n, 0);
    for (chunk, (at, len)) in bump.iter_allocated_chunks().zip(raw) {
        assert_eq!((chunk.as_ptr() as *mut u8, chunk.len()), (at, len));
        // SAFETY: only u64 are allocated.
        let (before, words, after) = unsafe { chunk.align_to::<u64>() };
        assert!(before.is_empty() && after.is_empty());
        next -= words.len() as u64;
        assert!(words.iter().copied().eq(next..next + words.len() as u64));
        chunks += 1;
    }
    assert_eq!(next, 0);
    assert!(chunks > 1);
    bump.reset();
    assert_eq!(bump.iter_allocated_chunks().count(), 0);
}

#[test]
fn an_arena_converts_to_a_bump_and_back() {
    let bump: Bump = toft::Arena::new().into();
    bump.alloc(1);
    let arena = toft::Arena::from(bump);
    assert_eq!(arena.stats().live, 8);
    let bump = Bump::from_ref(&arena);
    bump.alloc_str("three words are here");
    assert_eq!(arena.stats().live as usize, bump.allocated_bytes());
    assert!(bump.chunk_capacity() > 0);
}

#[test]
fn a_bump_moves_between_threads() {
    let bump = Bump::new();
    let address = bump.alloc(size_of::<usize>()) as *const usize as usize;
    let bump = std::thread::spawn(move || {
        bump.alloc_str("there");
        bump
    })
    .join()
    .unwrap();
    assert_ne!(bump.alloc(0usize) as *const usize as usize, address);
}

#[cfg(feature = "allocator-api2")]
#[test]
fn allocator() {
    use allocator_api2::alloc::Allocator;
    use allocator_api2::vec::Vec;

    let bump = Bump::<16>::with_min_align();
    let mut vec = Vec::new_in(&bump);
    vec.extend(0..1000usize);
    assert_eq!(vec.as_ptr() as usize % 16, 0);
    assert!(vec.iter().copied().eq(0..1000usize));
    let one = Allocator::allocate(&&bump, Layout::new::<u8>()).unwrap();
    assert_eq!(one.cast::<u8>().as_ptr() as usize % 16, 0);
    let mut map = hashbrown::HashMap::new_in(&bump);
    map.insert("a", 1);
    assert_eq!(map["a"], 1);
}

/// Slices without elements, values and layouts of size 0: they take no memory, run no closure, and fit any limit.
#[test]
fn values_of_size_0_take_no_memory() {
    struct Nothing;
    fn check<const M: usize>() {
        let bump = Bump::<M>::with_min_align();
        bump.alloc(1u128);
        let (before, room) = (bump.allocated_bytes(), bump.chunk_capacity());
        bump.set_allocation_limit(Some(before));
        let never = |_| -> String { panic!("there is no element to make") };
        assert!(bump.alloc_slice_copy::<u64>(&[]).is_empty());
        assert!(bump.alloc_slice_clone::<String>(&[]).is_empty());
        assert!(bump.alloc_slice_fill_with(0, never).is_empty());
        assert!(bump.alloc_slice_try_fill_with(0, Err::<u8, _>).unwrap().is_empty());
        assert!(bump.alloc_slice_fill_copy(0, 7u64).is_empty());
        assert!(bump.alloc_slice_fill_clone(0, &String::new()).is_empty());
        assert!(bump.alloc_slice_fill_default::<String>(0).is_empty());
        assert!(bump.alloc_slice_fill_iter(std::iter::empty::<u64>()).is_empty());
        assert_eq!(bump.alloc_str(""), "");
        for align in [1, 2, 8].into_iter().filter(|_| M <= 8) {
            bump.alloc_layout(Layout::from_size_align(0, align).unwrap());
        }
        let _: &mut Nothing = bump.alloc(Nothing);
        let _: &mut [Nothing] = bump.alloc_slice_fill_with(100, |_| Nothing);
        assert_eq!((bump.allocated_bytes(), bump.chunk_capacity()), (before, room));
        assert!(bump.try_alloc(1u8).is_err());
        bump.set_allocation_limit(None);
        for align in [1, 2, 8, 16, 64, 4096] {
            let at = bump.alloc_layout(Layout::from_size_align(0, align).unwrap()).as_ptr().addr();
            assert_eq!(at % align.max(M), 0);
        }
    }
    check::<1>();
    check::<16>();
}

/// The chunks contain all values of one type, whatever the capacity of the first block.
#[test]
fn chunks_of_any_capacity() {
    let n = if cfg!(miri) { 600 } else { 10_000u64 };
    for capacity in [0, 1, 8, 11, 4096, 74_565] {
        let mut bump = Bump::with_capacity(capacity);
        let room = bump.chunk_capacity();
        bump.alloc(0u64);
        assert!(bump.chunk_capacity() < room);
        (1..n).for_each(|i| _ = bump.alloc(i));
        let mut seen: Vec<u64> = Vec::new();
        for chunk in bump.iter_allocated_chunks() {
            // SAFETY: only u64 are allocated.
            let (before, words, after) = unsafe { chunk.align_to::<u64>() };
            assert!(before.is_empty() && after.is_empty() && !words.is_empty());
            seen.splice(0..0, words.iter().copied());
        }
        assert!(seen.iter().copied().eq(0..n), "{capacity}");
        bump.reset();
        bump.alloc(7u64);
        assert_eq!(bump.iter_allocated_chunks().map(<[_]>::len).sum::<usize>(), 8);
    }
}

fn config(under_miri: u32, otherwise: u32) -> ProptestConfig {
    let cases = if cfg!(miri) { under_miri } else { otherwise };
    ProptestConfig { cases, failure_persistence: None, ..Default::default() }
}

/// Steps of `kinds` kinds, each with two numbers.
fn ops(kinds: u8, most: usize) -> impl Strategy<Value = Vec<(u8, u16, u8)>> {
    prop::collection::vec((0..kinds, any::<u16>(), any::<u8>()), 0..most)
}

/// Runs the steps; the model is a list of allocations since the last reset: address, size, and the byte that fills
/// them.
fn play<const M: usize>(ops: &[(u8, u16, u8)]) {
    let mut bump = Bump::<M>::with_min_align();
    let mut live: Vec<(usize, usize, u8)> = Vec::new();
    let mut limit = None;
    for &(op, a, b) in ops {
        let size = usize::from(a) % 700;
        let new = match op {
            0..5 => {
                let layout = Layout::from_size_align(size, 1 << (b % 7)).unwrap();
                bump.try_alloc_layout(layout).ok().map(|p| {
                    // SAFETY: new memory of that size.
                    unsafe { p.as_ptr().write_bytes(b, size) };
                    assert_eq!(p.as_ptr().addr() % layout.align(), 0);
                    p.as_ptr().addr()
                })
            }
            5..7 => bump.try_alloc_slice_fill_copy(size, b).ok().map(|s| s.as_ptr().addr()),
            7 => {
                bump.reset();
                live.clear();
                assert_eq!(bump.allocated_bytes(), 0);
                None
            }
            _ => {
                limit = (b % 3 != 0).then_some(usize::from(a) % 8000);
                bump.set_allocation_limit(limit);
                None
            }
        };
        if let Some(at) = new.filter(|_| size > 0) {
            assert_eq!(at % M, 0);
            assert!(live.iter().all(|(other, n, _)| at + size <= *other || other + n <= at), "two overlap");
            assert!(limit.is_none_or(|limit| bump.allocated_bytes() <= limit), "the limit is exceeded");
            live.push((at, size, b));
        }
        assert_eq!(bump.allocation_limit(), limit);
        assert!(bump.allocated_bytes() >= live.iter().map(|(_, n, _)| n).sum());
        assert!(bump.allocated_bytes_including_metadata() > bump.allocated_bytes());
        let mut inside = 0;
        for chunk in bump.iter_allocated_chunks() {
            let from = chunk.as_ptr().addr();
            for (at, n, byte) in live.iter().filter(|(at, _, _)| (from..from + chunk.len()).contains(at)) {
                let bytes = &chunk[at - from..][..*n];
                // SAFETY: these bytes were written when they were allocated.
                assert!(bytes.iter().all(|b| unsafe { b.assume_init() } == *byte), "bytes have changed");
                inside += 1;
            }
        }
        assert_eq!(inside, live.len(), "all allocations are in a chunk");
    }
}

proptest! {
    #![proptest_config(config(2, 200))]

    #[test]
    fn allocations_limits_and_resets(ops in ops(9, if cfg!(miri) { 15 } else { 80 })) {
        play::<1>(&ops);
        play::<16>(&ops);
    }

    /// The allocated bytes never exceed any limit.
    #[test]
    fn a_limit_of_any_size(limit in any::<u32>(), parts in 1u32..40) {
        let limit = if cfg!(miri) { limit % 20_000 } else { limit % 50_000_000 } as usize;
        let bump = Bump::new();
        bump.set_allocation_limit(Some(limit));
        let part = Layout::array::<u8>(limit / parts as usize).unwrap();
        let served = (0..2 * parts + 2).filter(|_| bump.try_alloc_layout(part).is_ok()).count();
        prop_assert!(bump.allocated_bytes() <= limit);
        prop_assert!(part.size() == 0 || served * part.size() <= limit);
        prop_assert!(bump.allocated_bytes() + part.size() + 8 > limit || part.size() == 0);
    }
}

/// Sequences of growing, growing with zeroes and shrinking, with changed alignments: the bytes common to both layouts
/// are preserved.
#[cfg(feature = "allocator-api2")]
fn play_allocator<const M: usize>(first: (u16, u8), ops: &[(u8, u16, u8)]) {
    use allocator_api2::alloc::Allocator;

    let bump = &Bump::<M>::with_min_align();
    let layout = |size: usize, align: u8| Layout::from_size_align(size, 1 << (align % 7)).unwrap();
    let mut now = layout(usize::from(first.0) % 1024, first.1);
    let mut at = bump.allocate(now).unwrap().cast::<u8>();
    let mut bytes: Vec<u8> = (0..now.size()).map(|i| i as u8).collect();
    // SAFETY: an allocation of this allocator with its layout; only the latest address is used.
    unsafe {
        at.as_ptr().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        for (step, &(op, delta, align)) in ops.iter().enumerate() {
            let delta = usize::from(delta) % 200;
            let new = match op {
                0 | 1 => layout(now.size() + delta, align),
                2 => layout(now.size().saturating_sub(delta), align),
                _ => {
                    bump.alloc(step); // no longer the newest
                    continue;
                }
            };
            let moved = match op {
                0 => bump.grow(at, now, new),
                1 => bump.grow_zeroed(at, now, new),
                _ => bump.shrink(at, now, new),
            };
            let moved = moved.unwrap();
            assert!(moved.len() >= new.size());
            (at, now) = (moved.cast(), new);
            assert_eq!(at.as_ptr().addr() % now.align().max(if now.size() > 0 { M } else { 1 }), 0);
            bytes.truncate(now.size());
            let seen = std::slice::from_raw_parts(at.as_ptr(), if op == 1 { now.size() } else { bytes.len() });
            assert_eq!(&seen[..bytes.len()], bytes);
            assert!(seen[bytes.len()..].iter().all(|b| *b == 0));
            bytes = (0..now.size()).map(|i| (i * 3 + step) as u8).collect();
            at.as_ptr().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        }
        bump.deallocate(at, now);
    }
}

#[cfg(feature = "allocator-api2")]
proptest! {
    #![proptest_config(config(3, 256))]

    #[test]
    fn blocks_that_grow_and_shrink(first in any::<(u16, u8)>(), ops in ops(4, 40)) {
        play_allocator::<1>(first, &ops);
        play_allocator::<16>(first, &ops);
    }
}

#[cfg(feature = "allocator-api2")]
#[test]
fn a_box_of_the_allocator_is_rebuilt_from_its_pointer() {
    let bump = Bump::new();
    let one = allocator_api2::boxed::Box::new_in(1u8, &bump);
    let (raw, allocator) = allocator_api2::boxed::Box::into_raw_with_allocator(one);
    // SAFETY: the pointer of a box that was consumed.
    drop(unsafe { allocator_api2::boxed::Box::from_raw_in(raw, allocator) });
    assert_eq!(bump.allocated_bytes(), 0);
    let two = allocator_api2::boxed::Box::new_in(2u16, &bump);
    assert_eq!((*two, bump.allocated_bytes()), (2, 8));
}

#[test]
#[cfg(all(feature = "allocator-api2", feature = "next"))]
fn a_vector_may_own_its_bump() {
    use allocator_api2::{alloc::Allocator, boxed::Box, vec::Vec};

    let mut numbers = Vec::new_in(Bump::<16>::with_min_align());
    (0..1000u32).for_each(|n| numbers.push(n));
    let mut moved = std::boxed::Box::new(numbers); // and its allocator with it
    moved.extend(1000..2000);
    assert!(moved.iter().copied().eq(0..2000) && moved.as_ptr() as usize % 16 == 0);
    assert!(moved.allocator().allocated_bytes() >= 8000);

    let bump = Bump::new();
    let dynamic: &dyn Allocator = &bump;
    let layout = Layout::new::<[u64; 4]>();
    let p = dynamic.allocate_zeroed(layout).unwrap();
    assert_eq!(p.len(), 32);
    // SAFETY: as allocated.
    unsafe { dynamic.deallocate(p.cast(), layout) };
    let one = Box::new_in(1, bump);
    assert_eq!(*one, 1);
}
