//! Allocation through a head: the inline paths of the specification (section 3), and their slow calls. An arena of this
//! crate is called directly, with the location of the caller; one of another provider through its table.
//!
//! Contract of all: `head` is the address of a live head of version 1, and the arena is the calling thread's (U16).
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::hint::assert_unchecked;
use core::panic::Location;
use core::ptr::NonNull;

use crate::base::abi_types::{Head, Place, Start};
use crate::base::policy::round8;
use crate::provider::{self, Caller};

/// Allocates `size` bytes aligned to 8. `None`: refused, nothing changed.
///
/// ```
/// let arena = toft::Arena::new();
/// // SAFETY: alive.
/// assert!(unsafe { toft::abi::alloc(arena.as_raw(), 100) }.is_some());
/// ```
///
/// # Safety
/// `head` is the address of a live arena that is the calling thread's.
#[inline(always)]
#[track_caller]
pub unsafe fn alloc(head: NonNull<Head>, size: usize) -> Option<NonNull<u8>> {
    // SAFETY: the same contract.
    unsafe { alloc_by(head, size, Location::caller(), false) }
}

/// As [`alloc()`], with the call site, and whether the value has a destructor that will not run.
#[inline(always)]
pub unsafe fn alloc_by(head: NonNull<Head>, size: usize, at: Place, drops: bool) -> Start {
    // SAFETY: the head is alive. Its cells are read one by one: no reference to more than a cell is made.
    unsafe {
        let h = head.as_ptr();
        let p = (*h).cursor.get();
        if (*h).limit.get().addr().wrapping_sub(p.addr()) < size {
            let p = slow8(head, size, Site::of(at, drops));
            assert_unchecked((*h).cursor.get().addr() <= (*h).limit.get().addr()); // M1: see `slow`
            return p;
        }
        (*h).cursor.set(p.wrapping_add(round8(size)));
        assert_unchecked(!p.is_null()); // M1; makes the caller's check of the result free
        NonNull::new(p)
    }
}

/// Allocates `size` bytes at a multiple of `align`, a power of two. `None`: refused, nothing changed. One branch for
/// any layout: `size` and `align` are those of a [`Layout`](core::alloc::Layout), so the shortfall fits an `isize`.
///
/// ```
/// let arena = toft::Arena::new();
/// // SAFETY: alive; a power of two.
/// let p = unsafe { toft::abi::alloc_aligned(arena.as_raw(), 100, 64) }.unwrap();
/// assert_eq!(p.addr().get() % 64, 0);
/// ```
///
/// # Safety
/// As for [`alloc()`]; and `align` is a power of two, and `size` rounded up to it at most `isize::MAX`.
#[inline(always)]
#[track_caller]
pub unsafe fn alloc_aligned(head: NonNull<Head>, size: usize, align: usize) -> Option<NonNull<u8>> {
    // SAFETY: the same contract.
    unsafe { alloc_aligned_by(head, size, align, Location::caller(), false) }
}

/// As [`alloc_aligned`], with the arguments of `alloc_by`.
#[inline(always)]
pub unsafe fn alloc_aligned_by(head: NonNull<Head>, size: usize, align: usize, at: Place, drops: bool) -> Start {
    debug_assert!(align.is_power_of_two());
    // SAFETY: as in `alloc`. The remaining bytes are limit - q - size, where q may be above limit by less than align,
    // and size + align is at most isize::MAX + 1: the difference does not wrap an isize, and its sign decides.
    unsafe {
        let h = head.as_ptr();
        let p = (*h).cursor.get();
        let q = p.addr().wrapping_add(align - 1) & !(align - 1);
        if ((*h).limit.get().addr().wrapping_sub(q.wrapping_add(size)) as isize) < 0 {
            let p = slow(head, size, align, Site::of(at, drops));
            assert_unchecked((*h).cursor.get().addr() <= (*h).limit.get().addr()); // M1: see `slow`
            return p;
        }
        assert_unchecked(q != 0); // M1; makes the caller's check of the result free
        (*h).cursor.set(p.with_addr(q.wrapping_add(round8(size))));
        NonNull::new(p.with_addr(q))
    }
}

/// The callers read cursor and limit again after it, in an assumption: with both reloaded there, a loop of allocations
/// keeps its cursor in a register and only stores it. Waiting for that store would cost more than all else.
#[cold]
#[inline(never)]
unsafe fn slow8(head: NonNull<Head>, size: usize, site: Site) -> Start {
    // SAFETY: the same contract.
    unsafe { slow(head, size, 8, site) }
}

#[cold]
#[inline(never)]
unsafe fn slow(head: NonNull<Head>, size: usize, align: usize, site: Site) -> Start {
    // SAFETY: the caller's contract; the table is its provider's and stays.
    unsafe {
        let table = (*head.as_ptr()).ops.get();
        if core::ptr::eq(table, provider::OPS) {
            // The table's function takes a site as a number; this provider also takes the location.
            return provider::alloc_for(head.as_ptr(), size, align, 0, site.caller());
        }
        NonNull::new(((*table).alloc)(head.as_ptr(), size, align, 0, site.0.addr()).cast())
    }
}

/// A call site in one register: the location, and in bit 0 whether a destructor will not run.
#[derive(Clone, Copy)]
struct Site(*const u8);

impl Site {
    #[inline(always)]
    fn of(at: Place, drops: bool) -> Site {
        const { assert!(align_of::<Location>() > 1) };
        Site(core::ptr::from_ref(at).cast::<u8>().wrapping_add(drops as usize))
    }

    fn caller(self) -> Caller {
        let drops = self.0.addr() & 1;
        // SAFETY: `of` made it from a location.
        let at = unsafe { &*self.0.wrapping_sub(drops).cast::<Location<'static>>() };
        Caller { location: Some(at), site: 0, drops: drops != 0 }
    }
}

/// Grows or shrinks `p`, in place if it is the newest allocation and fits; else moves it. Null allocates, with any `old`.
/// `None`: refused.
///
/// ```
/// let arena = toft::Arena::new();
/// // SAFETY: alive; p is of 8 bytes.
/// unsafe {
///     let p = toft::abi::alloc(arena.as_raw(), 8).unwrap();
///     let q = toft::abi::resize(arena.as_raw(), p.as_ptr(), 8, 80, 8).unwrap();
///     assert_eq!(p, q); // the newest: in place
/// }
/// ```
///
/// # Safety
/// As for [`alloc_aligned`]; `p` is an allocation of this arena whose last requested size is `old`, or null.
#[inline(always)]
#[track_caller]
pub unsafe fn resize(head: NonNull<Head>, p: *mut u8, old: usize, new: usize, align: usize) -> Option<NonNull<u8>> {
    // SAFETY: the same contract.
    unsafe { resize_by(head, p, old, new, align, Location::caller(), false) }
}

/// As [`resize`], with the arguments of `alloc_by`.
#[inline(always)]
pub unsafe fn resize_by(
    head: NonNull<Head>,
    p: *mut u8,
    old: usize,
    new: usize,
    align: usize,
    at: Place,
    drops: bool,
) -> Start {
    // SAFETY: the head is alive. The cursor moves back only in an arena that is not instrumented (U9).
    unsafe {
        let h = head.as_ptr();
        let cursor = (*h).cursor.get();
        if !p.is_null()
            && (*h).epoch.get() & 1 == 0
            && cursor.addr().wrapping_sub(p.addr()) == round8(old)
            && (*h).limit.get().addr().wrapping_sub(p.addr()) >= new
            && p.addr() & (align - 1) == 0
        {
            (*h).cursor.set(cursor.with_addr(p.addr() + round8(new)));
            return NonNull::new(p);
        }
        resize_slow(head, p, old, new, align, Site::of(at, drops))
    }
}

/// Allocates if `old` is 0, else grows `p` in place, both without a call. `None`: it does not fit, or `p` is not the newest
/// allocation, or an instrument must see the call.
///
/// # Safety
/// As for [`resize`]; and `new` is not 0.
#[inline(always)]
pub unsafe fn grow_by(head: NonNull<Head>, p: *mut u8, old: usize, new: usize, align: usize) -> Start {
    // SAFETY: the head is alive.
    unsafe {
        let h = head.as_ptr();
        let (cursor, limit) = ((*h).cursor.get(), (*h).limit.get().addr());
        let at = match old {
            0 if align <= 8 => cursor.addr(),
            0 => cursor.addr().wrapping_add(align - 1) & !(align - 1),
            _ if (*h).epoch.get() & 1 != 0 || cursor.addr().wrapping_sub(p.addr()) != round8(old) => return None,
            _ => p.addr(),
        };
        if (limit.wrapping_sub(at.wrapping_add(new)) as isize) < 0 {
            return None;
        }
        assert_unchecked(at != 0); // M1
        (*h).cursor.set(cursor.with_addr(at + round8(new)));
        NonNull::new(cursor.with_addr(at))
    }
}

#[cold]
#[inline(never)]
unsafe fn resize_slow(head: NonNull<Head>, p: *mut u8, old: usize, new: usize, align: usize, site: Site) -> Start {
    // SAFETY: the caller's contract; a new allocation does not overlap p. An arena that must see each call is sealed.
    unsafe {
        let h = head.as_ptr();
        let (cursor, at) = ((*h).cursor.get(), ((*h).cursor.get().addr() + align - 1) & !(align - 1));
        let older = !p.is_null() && cursor.addr().wrapping_sub(p.addr()) != round8(old);
        // A small one that is not the newest moves. Only the provider sees whether it could grow in a dedicated block.
        if older && old < new && new | align <= 4096 && (*h).limit.get().addr() as isize - at as isize >= new as isize {
            (*h).cursor.set(cursor.with_addr(at + round8(new)));
            core::ptr::copy_nonoverlapping(p, cursor.with_addr(at), old);
            return NonNull::new(cursor.with_addr(at));
        }
        let old = if p.is_null() { 0 } else { old }; // else the table refuses it
        let table = (*h).ops.get();
        if core::ptr::eq(table, provider::OPS) {
            return provider::resize_for(head.as_ptr(), p, old, new, align, 0, site.caller());
        }
        NonNull::new(((*table).resize)(head.as_ptr(), p.cast(), old, new, align, 0, site.0.addr()).cast())
    }
}
