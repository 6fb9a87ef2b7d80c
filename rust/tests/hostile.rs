//! Safe functions that take or return raw pointers, called as a program without unsafe code can call them: with invalid
//! addresses, and types of size 0, with strong alignment, or with destructors. Miri reports violations.
//! `safe_functions.rs` lists the functions.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "full")]
#![forbid(unsafe_code)]

use std::alloc::Layout;
use std::ptr::{dangling, null, without_provenance, NonNull};

use toft::{Arena, Box, Options, Promote, Recycler, Source};
use toft::{Heap, Memory};
use toft_bumpalo::Bump;

#[repr(align(4096))]
#[derive(Clone, Default)]
struct Page;

/// Layouts of size 0, with strong alignment, and larger than the address space.
fn layouts() -> Vec<Layout> {
    let of = |size, align| Layout::from_size_align(size, align).unwrap();
    vec![
        of(0, 1),
        of(0, 4096),
        of(0, 1 << (usize::BITS - 2)),
        of(1, 1),
        of(3, 64),
        of(isize::MAX as usize, 1),
        of(isize::MAX as usize - 4095, 4096),
        of(8, 1 << (usize::BITS - 2)),
    ]
}

#[test]
fn memory_of_any_layout() {
    let (arena, bump, recycler) = (Arena::new(), Bump::<16>::with_min_align(), Recycler::new());
    for layout in layouts() {
        for p in [arena.try_alloc_layout(layout), bump.try_alloc_layout(layout), recycler.try_alloc_layout(layout)] {
            assert!(p.is_err() || p.unwrap().addr().get() % layout.align() == 0);
        }
    }
    #[cfg(feature = "std")]
    {
        let (task, shared, sync) = (toft::TaskArena::new(), toft::SharedArena::new(), toft::SyncRecycler::new());
        let local = shared.local();
        for layout in layouts() {
            let all = [task.try_alloc_layout(layout), shared.try_alloc_layout(layout), local.try_alloc_layout(layout)];
            for p in all.into_iter().chain([sync.try_alloc_layout(layout)]) {
                assert!(p.is_err() || p.unwrap().addr().get() % layout.align() == 0);
            }
        }
    }
    if cfg!(miri) || usize::BITS < 64 {
        return; // more memory than the host has would end Miri; a 32-bit process may have half of the address space
    }
    assert!(Source::take(&Heap, usize::MAX / 2).is_none());
    assert!(Heap.allocate(Layout::from_size_align(isize::MAX as usize, 1).unwrap()).is_err());
}

#[test]
fn invalid_addresses() {
    let arena = Arena::new();
    let kept = arena.alloc(7u64);
    assert!(arena.contains(kept));
    for p in [
        null::<Page>(),
        dangling(),
        without_provenance(usize::MAX & !4095),
        without_provenance((usize::MAX / 2) & !4095),
    ] {
        assert!(!arena.contains(p));
    }
    let wide: *const [u64] = std::ptr::slice_from_raw_parts(null(), usize::MAX);
    assert!(!arena.contains(wide));
    let head = arena.as_raw();
    assert_eq!(head, arena.as_raw());
    drop(arena); // `head` is an ordinary address afterwards
    assert_ne!(head.addr().get(), 0);
}

#[test]
fn boxes_of_any_type_from_raw() {
    let arena = Arena::new();
    assert_eq!(Box::into_raw(arena.boxed(Page)).addr() % 4096, 0);
    assert!(!Box::into_raw(arena.boxed_slice(Vec::<String>::new())).is_null());
    let any = toft::unsize!(arena.boxed(Page) => dyn std::any::Any);
    assert!(any.is::<Page>());
    assert!(!Box::into_raw(any).is_null());
    let _: &mut [Page] = Box::leak(arena.boxed_slice(vec![Page; 3]));
    let nowhere = NonNull::<u8>::dangling();
    assert_eq!(<u64 as Promote>::__at(nowhere, NonNull::dangling()).cast(), nowhere);
    let wide = NonNull::slice_from_raw_parts(NonNull::<u64>::dangling(), usize::MAX);
    assert_eq!(<[u64] as Promote>::__at(nowhere, wide).len(), usize::MAX);
    assert_eq!(<str as Promote>::__at(nowhere, NonNull::from("text")).cast(), nowhere);
}

#[test]
fn zero_sized_values() {
    let arena = Options::new().budget(8).create().unwrap();
    assert_eq!(std::ptr::from_mut(arena.alloc(Page)).addr() % 4096, 0);
    assert_eq!(arena.alloc_slice_fill(1 << 12, Page).len(), 1 << 12);
    assert_eq!(arena.alloc_slice_fill_with(1000, |_| ()).len(), 1000);
    assert_eq!(arena.alloc_slice_from_iter((0..1000).map(|_| Page)).len(), 1000);
    let mut v = arena.vec();
    (0..100).for_each(|_| v.push(Page));
    assert_eq!((v.len(), v.as_ptr().addr() % 4096), (100, 0));
}
