//! The fast paths, each as a function, beside a bump written by hand: rust/asm/check-fast-path compares their
//! instructions. What `&Arena` has more is one load, of the head's address, which loops do once.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![allow(clippy::missing_safety_doc, clippy::mut_from_ref)]

mod pools;
mod recyclers;

use std::alloc::Layout;
use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use toft::Arena;

/// Cursor and limit, with something between them as in the ABI's head.
pub struct Floor {
    cursor: Cell<*mut u8>,
    _between: Cell<usize>,
    limit: Cell<*mut u8>,
}

#[cold]
#[inline(never)]
fn grow(_: &Floor, _: usize, _: usize) -> *mut u8 {
    std::hint::black_box(std::ptr::null_mut())
}

impl Floor {
    #[inline(always)]
    fn alloc(&self, size: usize) -> *mut u8 {
        let p = self.cursor.get();
        if self.limit.get() as usize - (p as usize) < size {
            return grow(self, size, 8);
        }
        self.cursor.set(p.wrapping_add((size + 7) & !7));
        p
    }

    #[inline(always)]
    fn alloc_aligned(&self, size: usize, align: usize) -> *mut u8 {
        let p = (self.cursor.get() as usize + align - 1) & !(align - 1);
        if ((self.limit.get() as usize).wrapping_sub(p).wrapping_sub(size) as isize) < 0 {
            return grow(self, size, align);
        }
        self.cursor.set((p + ((size + 7) & !7)) as *mut u8);
        p as *mut u8
    }
}

#[repr(align(64))]
pub struct Line(pub [u8; 64]);

macro_rules! pair {
    ($toft:ident, $floor:ident, |$a:ident $(, $arg:ident: $type:ty)*| -> $out:ty, $ours:expr, $theirs:expr) => {
        #[no_mangle]
        pub extern "C" fn $toft<'a>($a: &'a Arena $(, $arg: $type)*) -> $out { $ours }
        #[no_mangle]
        pub extern "C" fn $floor<'a>($a: &'a Floor $(, $arg: $type)*) -> $out { $theirs }
    };
}

// A value, moved in.
pair!(toft_value, floor_value, |a, v: u64| -> *mut u64, a.alloc(v), {
    let p = a.alloc(8).cast::<u64>();
    unsafe { p.write(v) };
    p
});
// 64 bytes, not written.
pair!(toft_uninit, floor_uninit, |a| -> *mut MaybeUninit<[u64; 8]>, a.alloc_uninit(), a.alloc(64).cast());
// An alignment of 64.
pair!(toft_aligned, floor_aligned, |a| -> *mut MaybeUninit<Line>, a.alloc_uninit(), a.alloc_aligned(64, 64).cast());
// An array whose length is not known.
pair!(toft_array, floor_array, |a, n: u32| -> *mut u8, a.alloc_uninit_slice::<u64>(n as usize).as_mut_ptr().cast(), {
    a.alloc(n as usize * 8)
});

// Any layout, with an error for an answer.
#[no_mangle]
pub unsafe extern "C" fn toft_layout(a: &Arena, size: usize, align: usize) -> *mut u8 {
    let layout = unsafe { Layout::from_size_align_unchecked(size, align) };
    a.try_alloc_layout(layout).map_or(std::ptr::null_mut(), NonNull::as_ptr)
}
#[no_mangle]
pub unsafe extern "C" fn floor_layout(a: &Floor, size: usize, align: usize) -> *mut u8 {
    a.alloc_aligned(size, align)
}

// Loops, each value's address kept.
#[no_mangle]
pub extern "C" fn toft_loop(a: &Arena, out: &mut [usize; 1024]) {
    for slot in out {
        *slot = a.alloc_uninit::<[u64; 8]>().as_mut_ptr() as usize;
    }
}
#[no_mangle]
pub extern "C" fn floor_loop(a: &Floor, out: &mut [usize; 1024]) {
    for slot in out {
        *slot = a.alloc(64) as usize;
    }
}

// The cursor in registers: no load and no store but the slot's.
#[no_mangle]
pub extern "C" fn toft_cursor_loop(a: &Arena, out: &mut [usize; 1024]) {
    let mut cursor = a.cursor();
    for slot in out {
        *slot = cursor.alloc_uninit::<[u64; 8]>().as_mut_ptr() as usize;
    }
}

// A scope by mark and rewind, with an allocation in it.
#[no_mangle]
pub extern "C" fn toft_scope_mut(a: &mut Arena, v: u64) -> u64 {
    a.scope_mut(|a| *std::hint::black_box(a.alloc(v)))
}

// A copy of a short text, which calls nothing.
#[no_mangle]
pub extern "C" fn toft_str(a: &Arena, s: &&str) -> *mut u8 {
    a.alloc_str(s).as_mut_ptr()
}

// Every fallible call: none of them may panic.
#[no_mangle]
pub extern "C" fn fallible(a: &Arena, n: usize, s: &[u8; 16]) -> usize {
    let mut failed = a.try_alloc(n).is_err() as usize;
    failed += a.try_alloc_with(|| n).is_err() as usize;
    failed += a.try_alloc_try_with(|| Ok::<_, ()>(n)).is_err() as usize;
    failed += a.try_alloc_uninit::<Line>().is_err() as usize;
    failed += a.try_alloc_slice_copy(&s[..]).is_err() as usize;
    failed += a.try_alloc_slice_fill(n, 7u32).is_err() as usize;
    failed += a.try_alloc_slice_fill_with(n, |i| i).is_err() as usize;
    failed += a.try_alloc_slice_default::<u64>(n).is_err() as usize;
    failed += a.try_alloc_slice_from_iter((0..n).filter(|i| i % 3 == 0)).is_err() as usize;
    failed += a.try_alloc_uninit_slice::<u64>(n).is_err() as usize;
    failed += a.try_alloc_zeroed_slice::<u64>(n).is_err() as usize;
    failed += a.try_alloc_str("str").is_err() as usize;
    failed += a.try_boxed(n).is_err() as usize;
    failed += a.pack().try_alloc_bytes(&s[..]).is_err() as usize;
    failed += a.cursor().try_alloc(n).is_err() as usize;
    failed
}
