//! The Toft arena ABI: the head of four words, the table of functions, and the inline paths of clients.
//!
//! Code in another language sees an arena through these structs, as this crate sees arenas of other providers. Rust
//! code that has an [`Arena`](crate::Arena) needs none of it. The layouts are those of `toft_abi.h`, version 1; rules
//! with letters (U2, M4) are those of the specification, `abi/SPEC.md`.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::cell::Cell;
use core::ffi::{c_char, c_int, c_void};
use core::hint::assert_unchecked;
use core::mem::{offset_of, size_of};
use core::panic::Location;
use core::ptr::NonNull;

use crate::provider::{self, Caller};

/// The version of the table that this crate provides and accepts.
pub const VERSION: u32 = 1;

/// Flag of `alloc` and `resize`: zero the new bytes.
pub const ZERO: u32 = 1;
/// Flag of `resize`: fail rather than move.
pub const STAY: u32 = 2;

/// Policy of `reset`: keep what recent rounds needed.
pub const KEEP_RECENT: u32 = 0;
/// Policy of `reset`: keep all blocks.
pub const KEEP_ALL: u32 = 1;
/// Policy of `reset`: keep at most about this many bytes.
pub const KEEP_BYTES: u32 = 2;

/// Setting of `set`: the budget on live bytes; [`u64::MAX`] is none.
pub const SET_BUDGET: u32 = 1;
/// Setting of `set`: the tag that allocations are counted for.
pub const SET_TAG: u32 = 2;
/// Setting of `set`: bytes between samples.
pub const SET_SAMPLE: u32 = 3;
/// Setting of `set`: whether the arena is checked.
pub const SET_CHECKED: u32 = 4;

/// Success.
pub const OK: c_int = 0;
/// No memory, or the budget does not allow the request.
pub const ENOMEM: c_int = -1;
/// The mark is stale, or of another arena.
pub const EMARK: c_int = -2;
/// The arena is closed: a range is claimed, or a cleanup is running.
pub const EBUSY: c_int = -3;
/// Invalid argument.
pub const EARG: c_int = -4;
/// The provider of the arena does not support the call.
pub const ENOSYS: c_int = -5;
/// Success, but a checked arena found bytes written outside an allocation.
pub const ECORRUPT: c_int = -6;

/// The head of an arena: `toft_arena`. Pinned: never copied or moved; passed by address.
///
/// `cursor` and `limit` are multiples of 8; `cursor` is never above `limit` and never null. Bit 0 of `epoch`:
/// instrumented, so rewind, resize and free must go through `ops`.
///
/// ```
/// let arena = toft::Arena::new();
/// // SAFETY: alive.
/// let head = unsafe { arena.as_raw().as_ref() };
/// assert!(head.cursor.get() <= head.limit.get());
/// ```
#[repr(C)]
#[derive(Debug)]
pub struct Head {
    /// The next free byte. Written by clients and the provider.
    pub cursor: Cell<*mut u8>,
    /// The provider's table. Read again for every call: the provider may swap it.
    pub ops: Cell<*const Ops>,
    /// One past the last byte that the inline path may allocate. Written by the provider.
    pub limit: Cell<*mut u8>,
    /// Bit 0: instrumented. The rest: a count of events that make older marks take the slow path. Written by the
    /// provider.
    pub epoch: Cell<usize>,
}

/// A point to rewind to: `toft_mark`.
///
/// ```
/// let arena = toft::Arena::new();
/// // SAFETY: alive.
/// let mark = unsafe { toft::abi::mark(arena.as_raw()) };
/// assert_eq!(mark.epoch % 2, 0);
/// ```
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The head's cursor.
    pub cursor: *mut u8,
    /// The head's epoch without bit 0.
    pub epoch: usize,
}

/// A claimed range: `toft_range`. Only its holder moves `cursor`, byte by byte if it likes.
///
/// ```
/// use toft::abi::Range;
/// let arena = toft::Arena::new();
/// let (head, mut range) = (arena.as_raw().as_ptr(), Range::EMPTY);
/// // SAFETY: alive; the range is ours.
/// unsafe {
///     let table = &*(*head).ops.get();
///     (table.claim)(head, &mut range, 0, 1);
///     range.cursor = range.cursor.add(3); // three bytes of our own
///     assert_eq!((table.give)(head, &mut range), toft::abi::OK);
/// }
/// assert_eq!(arena.stats().live, 8);
/// ```
#[repr(C)]
#[derive(Debug)]
pub struct Range {
    /// The next free byte of the range.
    pub cursor: *mut u8,
    /// One past its last byte.
    pub limit: *mut u8,
    /// Set by the provider; 0: nothing is claimed.
    pub claim: usize,
}

impl Range {
    /// An empty range.
    pub const EMPTY: Range = Range { cursor: core::ptr::null_mut(), limit: core::ptr::null_mut(), claim: 0 };
}

/// A function to run when its point is rewound, reset or released: `toft_cleanup`. `function` `None`: cancelled.
///
/// ```
/// use std::ffi::c_void;
/// unsafe extern "C" fn count(n: *mut c_void) {
///     unsafe { *n.cast::<u32>() += 1 }
/// }
/// let (mut n, arena) = (0u32, toft::Arena::new());
/// let head = arena.as_raw().as_ptr();
/// // SAFETY: alive; n outlives the arena.
/// unsafe { ((*(*head).ops.get()).cleanup)(head, Some(count), (&raw mut n).cast()) };
/// drop(arena);
/// assert_eq!(n, 1);
/// ```
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Cleanup {
    /// Must not unwind.
    pub function: Option<unsafe extern "C" fn(*mut c_void)>,
    /// The argument of the call.
    pub arg: *mut c_void,
}

/// The statistics of an arena: `toft_stats`. In bytes, except for the last two.
///
/// ```
/// let arena = toft::Arena::new();
/// assert_eq!(arena.stats().budget, u64::MAX); // none
/// ```
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Stats {
    /// Allocated and not freed, padding included. Exact.
    pub live: u64,
    /// Allocated in all, as far as slow calls have seen it.
    pub allocated: u64,
    /// The highest `live` that slow calls have seen.
    pub peak: u64,
    /// The budget on `live`; [`u64::MAX`]: none.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::report::no_budget_is_null"))]
    pub budget: u64,
    /// Bytes held from the source.
    pub reserved: u64,
    /// Approximate bytes of block headers and unusable block ends.
    pub wasted: u64,
    /// Number of blocks in use.
    pub blocks: u64,
    /// Number of blocks requested from the source.
    pub source_calls: u64,
}

/// The table of an arena's functions: `toft_arena_ops`. The specification defines each; all but `free` are present.
///
/// ```
/// use toft::abi;
/// let arena = toft::Arena::new();
/// // SAFETY: alive.
/// let table = unsafe { &*(*arena.as_raw().as_ptr()).ops.get() };
/// assert!(table.version == abi::VERSION && table.size as usize >= size_of::<abi::Ops>());
/// ```
#[repr(C)]
#[derive(Debug)]
#[allow(missing_docs)] // the names are the specification's
pub struct Ops {
    /// Bytes of this table that its provider filled in.
    pub size: u32,
    /// [`VERSION`].
    pub version: u32,
    pub alloc: unsafe extern "C" fn(*mut Head, usize, usize, u32, usize) -> *mut c_void,
    pub resize: unsafe extern "C" fn(*mut Head, *mut c_void, usize, usize, usize, u32, usize) -> *mut c_void,
    pub free: Option<unsafe extern "C" fn(*mut Head, *mut c_void, usize)>,
    pub rewind: unsafe extern "C" fn(*mut Head, *mut u8, usize) -> c_int,
    pub reset: unsafe extern "C" fn(*mut Head, u32, usize) -> c_int,
    pub trim: unsafe extern "C" fn(*mut Head, usize),
    pub cleanup:
        unsafe extern "C" fn(*mut Head, Option<unsafe extern "C" fn(*mut c_void)>, *mut c_void) -> *mut Cleanup,
    pub claim: unsafe extern "C" fn(*mut Head, *mut Range, usize, usize) -> *mut c_void,
    pub give: unsafe extern "C" fn(*mut Head, *mut Range) -> c_int,
    pub contains: unsafe extern "C" fn(*const Head, *const c_void) -> c_int,
    pub stats: unsafe extern "C" fn(*mut Head, *mut Stats, usize) -> usize,
    pub set: unsafe extern "C" fn(*mut Head, u32, u64, *const c_char, usize) -> c_int,
    pub release: unsafe extern "C" fn(*mut Head),
}

/// The name of an arena's provider and the values of its settings, for debuggers: `toft_provider_info`; an addition.
///
/// ```
/// use std::ffi::CStr;
/// use toft::abi;
/// let arena = toft::Arena::new();
/// // SAFETY: alive.
/// let info = unsafe { abi::info_of(arena.as_raw()) }.unwrap();
/// // SAFETY: the name is terminated.
/// assert_eq!(unsafe { CStr::from_ptr(info.name) }, c"toft-rust");
/// let mut budget = 0;
/// // SAFETY: alive.
/// assert_eq!(unsafe { (info.query)(arena.as_raw().as_ptr(), abi::SET_BUDGET, &mut budget) }, abi::OK);
/// assert_eq!(budget, u64::MAX);
/// ```
#[repr(C)]
#[derive(Debug)]
pub struct ProviderInfo {
    /// Name of the provider, NUL-terminated.
    pub name: *const c_char,
    /// Version of its library, NUL-terminated.
    pub version: *const c_char,
    /// Reads the present value of a setting of `set`, also while the arena is closed.
    pub query: unsafe extern "C" fn(*const Head, u32, *mut u64) -> c_int,
}

// SAFETY: the strings are constant.
unsafe impl Sync for ProviderInfo {}

/// A table of version 1 followed by the addition: `toft_info_ops`.
///
/// ```
/// use toft::abi::{InfoOps, Ops};
/// assert_eq!(size_of::<InfoOps>(), size_of::<Ops>() + size_of::<usize>());
/// ```
#[repr(C)]
#[derive(Debug)]
pub struct InfoOps {
    /// The table; its `size` is at least that of `InfoOps`.
    pub ops: Ops,
    /// The addition.
    pub info: Option<&'static ProviderInfo>,
}

/// Returns the info of an arena's provider; `None`: it has none.
///
/// ```
/// let arena = toft::Arena::new();
/// // SAFETY: alive.
/// assert!(unsafe { toft::abi::info_of(arena.as_raw()) }.is_some());
/// ```
///
/// # Safety
///
/// `head` is that of a live arena, and the arena is the calling thread's.
pub unsafe fn info_of(head: NonNull<Head>) -> Option<&'static ProviderInfo> {
    // SAFETY: the caller's contract; a table of that size ends with the addition.
    unsafe {
        let table = (*head.as_ptr()).ops.get();
        if ((*table).size as usize) < size_of::<InfoOps>() {
            return None;
        }
        (*table.cast::<InfoOps>()).info
    }
}

const _: () = {
    const WORD: usize = size_of::<usize>();
    assert!(size_of::<Head>() == 4 * WORD && size_of::<*mut u8>() == WORD);
    assert!(
        offset_of!(Head, ops) == WORD && offset_of!(Head, limit) == 2 * WORD && offset_of!(Head, epoch) == 3 * WORD
    );
    assert!(
        size_of::<Ops>() == 8 + 13 * WORD && offset_of!(Ops, alloc) == 8 && offset_of!(Ops, release) == 8 + 12 * WORD
    );
    assert!(size_of::<Mark>() == 2 * WORD && size_of::<Range>() == 3 * WORD && size_of::<Cleanup>() == 2 * WORD);
    assert!(
        size_of::<Stats>() == 64 && size_of::<ProviderInfo>() == 3 * WORD && offset_of!(InfoOps, info) == 8 + 13 * WORD
    );
};

/// `n` rounded up to a multiple of 8; `n` is not near [`usize::MAX`].
#[inline(always)]
pub(crate) const fn round8(n: usize) -> usize {
    n.wrapping_add(7) & !7
}

// The inline paths of the specification, section 3. Contract of all: `head` is the address of a live head of version 1,
// and the arena is the calling thread's (U16).

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
pub(crate) unsafe fn alloc_by(
    head: NonNull<Head>,
    size: usize,
    at: &'static Location<'static>,
    drops: bool,
) -> Option<NonNull<u8>> {
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
pub(crate) unsafe fn alloc_aligned_by(
    head: NonNull<Head>,
    size: usize,
    align: usize,
    at: &'static Location<'static>,
    drops: bool,
) -> Option<NonNull<u8>> {
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
unsafe fn slow8(head: NonNull<Head>, size: usize, site: Site) -> Option<NonNull<u8>> {
    // SAFETY: the same contract.
    unsafe { slow(head, size, 8, site) }
}

#[cold]
#[inline(never)]
unsafe fn slow(head: NonNull<Head>, size: usize, align: usize, site: Site) -> Option<NonNull<u8>> {
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
    fn of(at: &'static Location<'static>, drops: bool) -> Site {
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

/// Returns the point to rewind to.
///
/// ```
/// let arena = toft::Arena::new();
/// // SAFETY: alive; nothing is used after the rewind.
/// unsafe {
///     let mark = toft::abi::mark(arena.as_raw());
///     toft::abi::alloc(arena.as_raw(), 100);
///     assert_eq!(toft::abi::rewind(arena.as_raw(), mark), toft::abi::OK);
/// }
/// assert_eq!(arena.stats().live, 0);
/// ```
///
/// # Safety
/// As for [`alloc()`].
#[inline(always)]
pub unsafe fn mark(head: NonNull<Head>) -> Mark {
    // SAFETY: the head is alive.
    unsafe { Mark { cursor: (*head.as_ptr()).cursor.get(), epoch: (*head.as_ptr()).epoch.get() & !1 } }
}

/// Frees all that was allocated since the mark. Returns a code of this module.
///
/// ```
/// let arena = toft::Arena::new();
/// let stale = toft::abi::Mark { cursor: std::ptr::null_mut(), epoch: 0 };
/// // SAFETY: alive; nothing was allocated.
/// assert_eq!(unsafe { toft::abi::rewind(arena.as_raw(), stale) }, toft::abi::EMARK);
/// ```
///
/// # Safety
/// As for [`alloc()`]; no allocation made since the mark is used any more.
#[inline(always)]
pub unsafe fn rewind(head: NonNull<Head>, mark: Mark) -> c_int {
    // SAFETY: the head is alive.
    unsafe {
        let h = head.as_ptr();
        if mark.epoch != (*h).epoch.get() || mark.cursor.addr() > (*h).cursor.get().addr() {
            return rewind_slow(head, mark);
        }
        (*h).cursor.set(mark.cursor);
        OK
    }
}

#[cold]
#[inline(never)]
unsafe fn rewind_slow(head: NonNull<Head>, mark: Mark) -> c_int {
    // SAFETY: the caller's contract.
    unsafe { ((*(*head.as_ptr()).ops.get()).rewind)(head.as_ptr(), mark.cursor, mark.epoch) }
}

/// Grows or shrinks `p`, in place if it is the newest allocation and fits; else moves it. `None`: refused.
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
/// As for [`alloc_aligned`]; `p` is an allocation of this arena whose last requested size is `old`, or null and 0.
#[inline(always)]
#[track_caller]
pub unsafe fn resize(head: NonNull<Head>, p: *mut u8, old: usize, new: usize, align: usize) -> Option<NonNull<u8>> {
    // SAFETY: the same contract.
    unsafe { resize_by(head, p, old, new, align, Location::caller(), false) }
}

/// As [`resize`], with the arguments of `alloc_by`.
#[inline(always)]
pub(crate) unsafe fn resize_by(
    head: NonNull<Head>,
    p: *mut u8,
    old: usize,
    new: usize,
    align: usize,
    at: &'static Location<'static>,
    drops: bool,
) -> Option<NonNull<u8>> {
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

#[cold]
#[inline(never)]
unsafe fn resize_slow(
    head: NonNull<Head>,
    p: *mut u8,
    old: usize,
    new: usize,
    align: usize,
    site: Site,
) -> Option<NonNull<u8>> {
    // SAFETY: the caller's contract.
    unsafe {
        let table = (*head.as_ptr()).ops.get();
        if core::ptr::eq(table, provider::OPS) {
            return provider::resize_for(head.as_ptr(), p, old, new, align, 0, site.caller());
        }
        NonNull::new(((*table).resize)(head.as_ptr(), p.cast(), old, new, align, 0, site.0.addr()).cast())
    }
}

/// Frees `p` if it is the newest allocation, or does nothing.
///
/// ```
/// let arena = toft::Arena::new();
/// // SAFETY: alive; p is of 8 bytes, and not used again.
/// unsafe {
///     let p = toft::abi::alloc(arena.as_raw(), 8).unwrap();
///     toft::abi::free(arena.as_raw(), p.as_ptr(), 8);
/// }
/// assert_eq!(arena.stats().live, 0);
/// ```
///
/// # Safety
/// As for [`alloc()`]; `p` is an allocation of this arena whose last requested size is `size`, and is not used any
/// more.
#[inline(always)]
pub unsafe fn free(head: NonNull<Head>, p: *mut u8, size: usize) {
    // SAFETY: the head is alive. The cursor moves back only in an arena that is not instrumented (U9).
    unsafe {
        let h = head.as_ptr();
        let cursor = (*h).cursor.get();
        if (*h).epoch.get() & 1 == 0 && cursor.addr().wrapping_sub(p.addr()) == round8(size) {
            (*h).cursor.set(cursor.with_addr(p.addr()));
        } else {
            free_slow(head, p, size);
        }
    }
}

#[cold]
#[inline(never)]
unsafe fn free_slow(head: NonNull<Head>, p: *mut u8, size: usize) {
    // SAFETY: the caller's contract.
    unsafe {
        if let Some(free) = (*(*head.as_ptr()).ops.get()).free {
            free(head.as_ptr(), p.cast(), size);
        }
    }
}
