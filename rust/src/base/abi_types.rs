//! The structs and constants of the ABI, and the inline paths that need the head alone. The layouts are those of
//! `toft_abi.h`, version 1; rules with letters (U2, M4) are those of the specification, `abi/SPEC.md`.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::cell::Cell;
use core::ffi::{c_char, c_int, c_void};
use core::mem::{offset_of, size_of};
use core::ptr::NonNull;

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

/// A point to rewind to, `toft_mark`; an example: [`rewind`].
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

/// The statistics of an arena, `toft_stats`; an example: [`Range`]. In bytes, except for the last two.
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
    #[cfg_attr(feature = "serde", serde(serialize_with = "no_budget_is_null"))]
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

#[cfg(feature = "serde")]
pub(crate) fn no_budget_is_null<S: serde::Serializer>(budget: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    match budget {
        &u64::MAX => serializer.serialize_none(),
        budget => serializer.serialize_some(budget),
    }
}

/// The table of an arena's functions, `toft_arena_ops`; an example: [`Range`]. The specification defines each; all but
/// `free` are present.
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

/// A table of version 1 followed by the addition, `toft_info_ops`; an example: [`ProviderInfo`].
#[repr(C)]
#[derive(Debug)]
pub struct InfoOps {
    /// The table; its `size` is at least that of `InfoOps`.
    pub ops: Ops,
    /// The addition.
    pub info: Option<&'static ProviderInfo>,
    /// Of an instrument: the table beneath. Null in a provider's own table.
    pub under: *const Ops,
}

// SAFETY: the tables are constant while a head points to them.
unsafe impl Sync for InfoOps {}

/// Returns the info of an arena's provider; `None`: it has none.
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
        size_of::<Stats>() == 64
            && size_of::<ProviderInfo>() == 3 * WORD
            && offset_of!(InfoOps, info) == 8 + 13 * WORD
            && size_of::<InfoOps>() == 8 + 15 * WORD
    );
};

/// A call site in Rust code.
pub(crate) type Place = &'static core::panic::Location<'static>;

/// The first byte of an allocation; `None`: it failed.
pub(crate) type Start = Option<NonNull<u8>>;

/// `n` rounded up to a multiple of 8; `n` is not near [`usize::MAX`].
#[inline(always)]
pub(crate) const fn round8(n: usize) -> usize {
    n.wrapping_add(7) & !7
}

// Inline paths of the specification, section 3; `dispatch.rs` has the others.
// Contract of all: `head` is the address of a live head of version 1,
// and the arena is the calling thread's (U16).

/// Returns the point to rewind to.
///
/// # Safety
/// As for [`alloc`](crate::abi::alloc()).
#[inline(always)]
pub unsafe fn mark(head: NonNull<Head>) -> Mark {
    // SAFETY: the head is alive.
    unsafe { Mark { cursor: (*head.as_ptr()).cursor.get(), epoch: (*head.as_ptr()).epoch.get() & !1 } }
}

/// Frees all that was allocated since the mark. Returns a code of this module.
///
/// ```
/// let arena = toft::Arena::new();
/// // SAFETY: alive; the value is not used any more.
/// unsafe {
///     let mark = toft::abi::mark(arena.as_raw());
///     arena.alloc(1u64);
///     assert_eq!(toft::abi::rewind(arena.as_raw(), mark), toft::abi::OK);
/// }
/// assert_eq!(arena.stats().live, 0);
/// ```
///
/// # Safety
/// As for [`alloc`](crate::abi::alloc()); no allocation made since the mark is used any more.
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
/// As for [`alloc`](crate::abi::alloc()); `p` is an allocation of this arena whose last requested size is `size`, and is
/// not used any more.
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
