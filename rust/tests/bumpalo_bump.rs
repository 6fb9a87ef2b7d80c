//! `toft::bumpalo::Bump` does what programs that were written for bumpalo count on.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::alloc::Layout;
use std::mem::size_of;
use std::panic::{catch_unwind, AssertUnwindSafe};

use toft::bumpalo::{AllocErr, AllocOrInitError, Bump};

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
    assert_eq!(bump.try_alloc_slice_copy::<u8>(&[]).unwrap(), []);
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
fn slices_that_fail_give_their_memory_back() {
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
fn an_iterator_may_lie_about_its_length() {
    struct Says(usize, usize);
    impl Iterator for Says {
        type Item = usize;
        fn next(&mut self) -> Option<usize> {
            self.1 = self.1.checked_sub(1)?;
            Some(self.1)
        }
        fn size_hint(&self) -> (usize, Option<usize>) {
            (self.0, Some(self.0))
        }
    }
    impl ExactSizeIterator for Says {}
    let bump = Bump::new();
    assert_eq!(bump.alloc_slice_fill_iter(Says(2, 5)), [4, 3]);
    let less = catch_unwind(AssertUnwindSafe(|| bump.alloc_slice_fill_iter(Says(5, 2)).len()));
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
fn what_no_arena_can_serve() {
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
    // SAFETY: the arena is not used meanwhile.
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
fn memory_is_given_back_by_arenas_of_any_make() {
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
fn it_moves_between_threads() {
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
    let one = (&bump).allocate(Layout::new::<u8>()).unwrap();
    assert_eq!(one.cast::<u8>().as_ptr() as usize % 16, 0);
    let mut map = hashbrown::HashMap::new_in(&bump);
    map.insert("a", 1);
    assert_eq!(map["a"], 1);
}
