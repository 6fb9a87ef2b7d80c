//! Each row of the table "What differs" of docs/from-bumpalo.md, tested on both: bumpalo's own crate, and the one that
//! replaces it.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "std")]

use std::alloc::Layout;
use std::cell::Cell;
use std::panic::{catch_unwind, AssertUnwindSafe};

use bumpalo as theirs;
use toft_bumpalo as ours;

fn addr<T>(value: &mut T) -> usize {
    std::ptr::from_mut(value).addr()
}

/// Evaluates the expression with both crates: (bumpalo, Toft).
macro_rules! both {
    (|$crate_:ident| $body:block) => {
        (
            {
                use theirs as $crate_;
                $body
            },
            {
                use ours as $crate_;
                $body
            },
        )
    };
}

fn message(f: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(f)).unwrap_err();
    let text = panic.downcast_ref::<&str>().map(|text| text.to_string());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap()
}

fn least_size() {
    let used = both!(|it| {
        let bump = it::Bump::new();
        let (a, b) = (addr(bump.alloc(1u8)), addr(bump.alloc(2u8)));
        a.abs_diff(b)
    });
    assert_eq!(used, (1, 8));
}

fn direction() {
    let rises = both!(|it| {
        let bump = it::Bump::new();
        addr(bump.alloc(1u64)) < addr(bump.alloc(2u64))
    });
    assert_eq!(rises, (false, true));
    let first = both!(|it| {
        let mut bump = it::Bump::new();
        bump.alloc(1u64);
        bump.alloc(2u64);
        // SAFETY: two numbers were allocated, without padding.
        unsafe { bump.iter_allocated_chunks().next().map(|chunk| chunk[0].assume_init()) }
    });
    assert_eq!(first, (Some(2), Some(1)));
}

fn iter_allocated_chunks() {
    let bytes = both!(|it| {
        let mut bump = it::Bump::new();
        (0..3).for_each(|i| _ = bump.alloc(i as u8));
        bump.iter_allocated_chunks().map(|chunk| chunk.len()).sum::<usize>()
    });
    assert!(bytes.0 == 3 && bytes.1 >= 17, "{bytes:?}");
}

fn allocation_limit() {
    let allowed = both!(|it| {
        let bump = it::Bump::new();
        bump.set_allocation_limit(Some(100));
        (0..1000).take_while(|_| bump.try_alloc(0u64).is_ok()).count() * 8
    });
    assert_ne!(allowed.0, 96); // rounded to chunks
    assert_eq!(allowed.1, 96); // exact to the byte
}

fn allocated_bytes() {
    let bytes = both!(|it| {
        let bump = it::Bump::new();
        bump.alloc(0u64);
        (bump.allocated_bytes(), bump.allocated_bytes_including_metadata())
    });
    assert!(bytes.0 .0 > 8);
    assert_eq!(bytes.1, (8, 4096));
}

fn an_empty_bump() {
    let held = both!(|it| { it::Bump::new().allocated_bytes_including_metadata() });
    assert_eq!(held, (0, 4096));
}

fn reset() {
    let calls = both!(|it| {
        let mut bump = it::Bump::new();
        for _ in 0..3 {
            bump.alloc([0u8; 3000]);
            bump.alloc([0u8; 30_000]);
            bump.alloc([0u8; 3000]);
            bump.reset();
        }
        let before = bump.allocated_bytes_including_metadata();
        bump.alloc([0u8; 3000]);
        bump.alloc([0u8; 30_000]);
        bump.alloc([0u8; 3000]);
        bump.allocated_bytes_including_metadata() == before
    });
    assert!(calls.1); // one block has room for all of it
}

fn alloc_try_with() {
    let moved = both!(|it| {
        let bump = it::Bump::with_capacity(4096);
        let before = addr(bump.alloc(0u64));
        // An error, after an allocation within the closure.
        let _ = bump.alloc_try_with(|| -> Result<[u64; 100], u8> {
            bump.alloc(1u64);
            Err(1)
        });
        before.abs_diff(addr(bump.alloc(0u64)))
    });
    assert!(moved.0 > 800 && moved.1 == 16, "{moved:?}");
}

fn without_a_size() {
    let there = both!(|it| {
        let bump = it::Bump::new();
        let value = addr(bump.alloc(7u64));
        addr(bump.alloc(())).abs_diff(value) < 4096
    });
    assert_eq!(there, (true, false));
}

fn large_capacities() {
    let chunks = |bytes: usize| bytes >= 100 << 20;
    let theirs = theirs::Bump::with_capacity(100 << 20);
    assert!(chunks(theirs.allocated_bytes_including_metadata()));
    let ours = ours::Bump::with_capacity(100 << 20);
    ours.alloc(0u64);
    assert!(!chunks(ours.allocated_bytes_including_metadata()));
}

/// `ui/boxes.rs` verifies that a type that is not `Unpin` does not compile.
fn pins() {
    let bump = ours::Bump::new();
    let pinned = ours::boxed::Box::pin_in(std::future::ready(7), &bump);
    assert_eq!(std::mem::size_of_val(&pinned), size_of::<usize>());
    assert!(include_str!("../../../tests/ui/boxes.rs").contains("\nfn pin_of_what_must_not_move()"));
}

fn a_vec_that_ends() {
    let same = both!(|it| {
        let bump = it::Bump::new();
        let mut v = it::collections::Vec::with_capacity_in(100, &bump);
        v.push(1u64);
        let slice = v.into_bump_slice();
        slice.as_ptr().addr().abs_diff(addr(bump.alloc(2u64)))
    });
    assert_eq!(same.1, 8);
    assert!(same.0 == 8 || same.0 >= 800, "{same:?}"); // bumpalo's result may be either
}

fn growing_bytes() {
    let capacities = both!(|it| {
        let (bump, mut seen) = (it::Bump::new(), std::vec::Vec::new());
        let (mut bytes, mut text) = (it::collections::Vec::new_in(&bump), it::collections::String::new_in(&bump));
        for _ in 0..17 {
            bytes.push(b'a');
            text.push('a');
            assert_eq!(bytes.capacity(), text.capacity());
            seen.push(bytes.capacity());
        }
        seen.dedup();
        seen
    });
    assert_eq!((&capacities.0[..], &capacities.1[..]), (&[1, 2, 4, 8, 16, 32][..], &[8, 16, 32][..]));
}

/// Of 100 bytes: how many are free after a shrink to 60 and to 50.
fn shrinking() {
    let freed = both!(|it| {
        [60, 50].map(|length| {
            let bump = it::Bump::with_capacity(4096);
            let mut bytes = it::collections::Vec::with_capacity_in(104, &bump);
            bytes.extend_from_slice(&[1u8; 104][..length]);
            let before = bump.chunk_capacity();
            bytes.shrink_to_fit();
            assert_eq!(bytes.capacity().next_multiple_of(8), length.next_multiple_of(8));
            bump.chunk_capacity() - before
        })
    });
    assert_eq!(freed, ([0, 54], [40, 48]));
}

fn tables() {
    #[cfg(feature = "allocator-api2")]
    {
        let bytes = both!(|it| {
            let bump = it::Bump::new();
            let mut table: hashbrown::HashMap<_, _, hashbrown::DefaultHashBuilder, _> =
                hashbrown::HashMap::new_in(&bump);
            (0..1000u64).for_each(|i| _ = table.insert(i, i));
            let (grown, room) = (bump.allocated_bytes(), bump.chunk_capacity());
            table.retain(|key, _| *key == 0);
            table.shrink_to_fit();
            assert!(bump.chunk_capacity() < room); // the smaller table
            grown
        });
        assert!(bytes.0 > 120_000 && bytes.1 < 80_000, "{bytes:?}");
    }
}

fn growth_that_the_limit_refuses() {
    let pushed = both!(|it| {
        let bump = it::Bump::new();
        bump.set_allocation_limit(Some(4000));
        let mut v = it::collections::Vec::new_in(&bump);
        let mut pushed = 0;
        let _ = catch_unwind(AssertUnwindSafe(|| {
            for _ in 0..1000 {
                v.push(0u64);
                pushed += 1;
            }
        }));
        std::mem::forget(v);
        pushed
    });
    assert!(pushed.1 > 3500 / 8 && pushed.0 < 3500 / 8, "{pushed:?}"); // as many as fit one block
}

fn panics() {
    let messages = both!(|it| {
        let bump = it::Bump::new();
        [
            message(|| _ = bump.alloc_slice_fill_copy(usize::MAX / 2, 0u64)),
            message(|| _ = bump.alloc_layout(Layout::from_size_align(isize::MAX as usize - 8, 1).unwrap())),
        ]
    });
    assert!(messages.0.iter().chain(&messages.1).all(|text| text.contains("out of memory")), "{messages:?}");
    assert!(messages.1.iter().all(|text| text.starts_with("toft: ")), "{messages:?}");
}

/// Drops of values that a closure made before it panicked, and the bytes lost.
fn panics_in_closures() {
    struct Counts<'a>(&'a Cell<usize>);
    impl Drop for Counts<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }
    let seen = both!(|it| {
        let (bump, drops) = (it::Bump::new(), Cell::new(0));
        let before = addr(bump.alloc(0u64));
        let done = catch_unwind(AssertUnwindSafe(|| {
            bump.alloc_slice_fill_with(4, |i| if i < 3 { Counts(&drops) } else { panic!("the closure") });
        }));
        assert!(done.is_err());
        (drops.get(), before.abs_diff(addr(bump.alloc(0u64))))
    });
    assert_eq!(seen, ((0, 8), (3, 8)));
    let failed = both!(|it| {
        let (bump, drops) = (it::Bump::new(), Cell::new(0));
        assert!(bump.alloc_slice_try_fill_with(4, |i| if i < 3 { Ok(Counts(&drops)) } else { Err(()) }).is_err());
        drops.get()
    });
    assert_eq!(failed, (0, 3));
}

/// bumpalo loses the element on which the predicate panicked.
fn drain_filter() {
    struct Counts<'a>(&'a Cell<usize>, u8);
    impl Drop for Counts<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }
    let drops = both!(|it| {
        let (bump, drops) = (it::Bump::new(), Cell::new(0));
        let _ = catch_unwind(AssertUnwindSafe(|| {
            let mut v = it::collections::Vec::new_in(&bump);
            v.extend((1..=3).map(|i| Counts(&drops, i)));
            v.drain_filter(|x| if x.1 == 2 { panic!("the predicate") } else { x.1 == 1 }).for_each(drop);
        }));
        drops.get()
    });
    assert_eq!(drops, (2, 3));
}

/// The thread's cache serves requests when the global allocator refuses.
fn without_memory() {
    toft::cache::trim();
    drop(ours::Bump::new());
    assert!(toft::cache::held() >= 4096);
}

/// Names of bumpalo's that version 3.20 lacks exist.
fn names() {
    #[cfg(feature = "next")]
    {
        let bump = ours::Bump::new();
        let checkpoint = bump.raw_checkpoint();
        assert_eq!(*bump.emplace().write(7), 7);
        // SAFETY: the value is not used any more.
        unsafe { bump.reset_to_raw_checkpoint(checkpoint) };
        assert_eq!(bump.allocated_bytes(), 0);
    }
}

/// Without default features neither crate needs the standard library.
fn default_features() {
    assert_eq!(toft::cache::set_limit(toft::cache::set_limit(1 << 20)), 1 << 20);
}

type Row = (&'static str, fn());

const ROWS: &[Row] = &[
    ("least size", least_size),
    ("direction", direction),
    ("`iter_allocated_chunks`", iter_allocated_chunks),
    ("`set_allocation_limit`", allocation_limit),
    ("`allocated_bytes`", allocated_bytes),
    ("an empty `Bump`", an_empty_bump),
    ("`reset`", reset),
    ("`alloc_try_with`", alloc_try_with),
    ("a value without a size", without_a_size),
    ("`with_capacity` above 64 MiB", large_capacities),
    ("`Box::pin_in`, `From` for `Pin`", pins),
    ("a `Vec` that ends", a_vec_that_ends),
    ("a `Vec` or `String` of bytes that grows", growing_bytes),
    ("`shrink_to_fit` of the newest allocation", shrinking),
    ("a table of hashbrown 0.15 to 0.17 that grows or shrinks", tables),
    ("growth that the limit refuses", growth_that_the_limit_refuses),
    ("panics for want of memory", panics),
    ("a closure that panics or fails while a slice is filled", panics_in_closures),
    ("a predicate of `drain_filter` that panics", drain_filter),
    ("the global allocator has no memory", without_memory),
    ("`emplace...`, raw checkpoints", names),
    ("the default features", default_features),
];

#[test]
fn each_row_is_true() {
    for (row, test) in ROWS {
        eprintln!("{row}");
        test();
    }
}

/// The page has exactly these rows.
#[test]
#[cfg_attr(miri, ignore = "reads a file")]
fn the_page_has_the_same_rows() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/from-bumpalo.md");
    let page = std::fs::read_to_string(page).unwrap();
    let table = page.split("## What differs").nth(1).unwrap();
    let rows: Vec<_> = table.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    let names: Vec<_> = rows.iter().map(|row| row[2..].split(" | ").next().unwrap()).collect();
    assert_eq!(names, ROWS.iter().map(|row| row.0).collect::<Vec<_>>());
}
