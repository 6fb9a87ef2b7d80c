//! The client in Rust: the crate's arenas and `toft::abi`, on heads of any provider.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::alloc::Layout;
use std::ffi::{c_char, c_int, c_void};
use std::mem::{size_of, ManuallyDrop};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr::{self, NonNull};

use toft::abi::{self, Head, Mark};
use toft::{Arena, Lease, Leases, RewindError, SwitchError};

// What all of these rely on: the driver gives the head of a living arena, uses it on one thread at a time, and uses nothing
// that was returned.

/// The arena, which stays the driver's.
unsafe fn borrowed(head: *mut Head) -> ManuallyDrop<Arena> {
    // SAFETY: see above.
    ManuallyDrop::new(unsafe { Arena::from_raw(NonNull::new_unchecked(head)) }.expect("version 1"))
}

unsafe extern "C" fn accept(head: *mut Head) -> c_int {
    // SAFETY: see above.
    match NonNull::new(head).and_then(|head| unsafe { Arena::borrow_raw(head) }) {
        Some(_) => abi::OK,
        None => abi::ENOSYS,
    }
}

unsafe extern "C" fn alloc(head: *mut Head, size: usize, align: usize) -> *mut c_void {
    if align == 8 {
        // SAFETY: see above.
        let p = unsafe { abi::alloc(NonNull::new_unchecked(head), size) };
        return p.map_or(ptr::null_mut(), |p| p.as_ptr().cast());
    }
    let Ok(layout) = Layout::from_size_align(size, align) else { return ptr::null_mut() };
    // SAFETY: see above.
    unsafe { borrowed(head) }.try_alloc_layout(layout).map_or(ptr::null_mut(), |p| p.as_ptr().cast())
}

unsafe extern "C" fn resize(head: *mut Head, p: *mut c_void, old: usize, new: usize, align: usize) -> *mut c_void {
    if Layout::from_size_align(new, align).is_err() {
        return ptr::null_mut();
    }
    // SAFETY: see above; p is an allocation of the arena, or null and of no size.
    let q = unsafe { abi::resize(NonNull::new_unchecked(head), p.cast(), old, new, align) };
    q.map_or(ptr::null_mut(), |q| q.as_ptr().cast())
}

unsafe extern "C" fn free(head: *mut Head, p: *mut c_void, size: usize) {
    if !p.is_null() {
        // SAFETY: see above.
        unsafe { abi::free(NonNull::new_unchecked(head), p.cast(), size) }
    }
}

unsafe extern "C" fn mark(head: *mut Head) -> Mark {
    // SAFETY: see above.
    unsafe { abi::mark(NonNull::new_unchecked(head)) }
}

unsafe extern "C" fn rewind(head: *mut Head, mark: Mark) -> c_int {
    // SAFETY: see above.
    unsafe { abi::rewind(NonNull::new_unchecked(head), mark) }
}

/// The crate panics where a scope holds the arena; the driver expects a code.
unsafe extern "C" fn reset(head: *mut Head) -> c_int {
    // SAFETY: see above.
    let mut arena = unsafe { borrowed(head) };
    catch_unwind(AssertUnwindSafe(|| arena.reset())).map_or(abi::EBUSY, |()| abi::OK)
}

unsafe extern "C" fn trim(head: *mut Head, keep: usize) {
    // SAFETY: see above.
    unsafe { borrowed(head) }.trim(keep);
}

unsafe extern "C" fn budget(head: *mut Head, bytes: u64) -> c_int {
    // SAFETY: see above.
    match unsafe { borrowed(head) }.set_budget((bytes != u64::MAX).then_some(bytes)) {
        Ok(()) => abi::OK,
        Err(RewindError::Busy) => abi::EBUSY,
        Err(RewindError::Stale) => abi::EMARK,
    }
}

unsafe extern "C" fn checked(head: *mut Head, on: c_int) -> c_int {
    // SAFETY: see above.
    match unsafe { borrowed(head) }.set_checked(on != 0) {
        Ok(()) => abi::OK,
        Err(SwitchError::Unsupported) => abi::ENOSYS,
        Err(_) => abi::EBUSY,
    }
}

unsafe extern "C" fn stats(head: *mut Head, out: *mut abi::Stats) {
    // SAFETY: see above; out is the driver's.
    unsafe { *out = borrowed(head).stats() }
}

unsafe extern "C" fn contains(head: *mut Head, p: *const c_void) -> c_int {
    // SAFETY: see above.
    c_int::from(unsafe { borrowed(head) }.contains(p))
}

/// What Rust has for a cleanup: a value that is dropped.
struct Notifying {
    notify: unsafe extern "C" fn(*mut c_void),
    arg: *mut c_void,
}

// SAFETY: the driver's function may be called on each thread that has the arena.
unsafe impl Send for Notifying {}

impl Drop for Notifying {
    fn drop(&mut self) {
        if !self.arg.is_null() {
            // SAFETY: the driver's own pair.
            unsafe { (self.notify)(self.arg) }
        }
    }
}

unsafe extern "C" fn cleanup(head: *mut Head, notify: unsafe extern "C" fn(*mut c_void), arg: *mut c_void) -> c_int {
    // A value that cannot be kept is dropped at once, and must not notify then: `arg` is set when it is in its place.
    // SAFETY: see above.
    let arena = unsafe { borrowed(head) };
    let kept = arena.try_alloc_drop(Notifying { notify, arg: ptr::null_mut() });
    kept.map(|value| value.arg = arg).is_ok().into()
}

/// conformance_record.
#[repr(C)]
pub struct Record {
    older: *const Record,
    size: u64,
    seed: u64,
}

impl Record {
    fn byte(&self, i: u64) -> u8 {
        (self.seed.wrapping_mul(131) + i * 7 + i / 256) as u8
    }
}

unsafe extern "C" fn claimed(
    head: *mut Head,
    mut older: *const Record,
    count: u64,
    seed: u64,
    during: unsafe extern "C" fn(*mut c_void),
    arg: *mut c_void,
) -> *mut Record {
    // SAFETY: see above.
    let arena = unsafe { borrowed(head) };
    let mut cursor = arena.cursor();
    let mut newest = ptr::null_mut();
    for i in 0..count {
        if i == count / 2 {
            // SAFETY: the driver's own pair.
            unsafe { during(arg) }
        }
        let Ok(record) = cursor.try_alloc(Record { older, size: 0, seed: seed + i }) else { return ptr::null_mut() };
        newest = record;
        older = newest;
    }
    newest
}

unsafe extern "C" fn release(head: *mut Head) -> c_int {
    // SAFETY: the driver gives it away.
    drop(ManuallyDrop::into_inner(unsafe { borrowed(head) }));
    abi::OK
}

unsafe extern "C" fn write(head: *mut Head, older: *const Record, size: u64, seed: u64, align: usize) -> *mut Record {
    // SAFETY: alloc's contract.
    let at = unsafe { alloc(head, size_of::<Record>() + size as usize, align) }.cast::<Record>();
    if !at.is_null() {
        let record = Record { older, size, seed };
        // SAFETY: these bytes belong to this call.
        unsafe {
            for i in 0..size {
                at.add(1).cast::<u8>().add(i as usize).write(record.byte(i));
            }
            at.write(record);
        }
    }
    at
}

unsafe extern "C" fn read(mut newest: *const Record) -> u64 {
    let mut whole = 0;
    // SAFETY: the driver's list is alive.
    while let Some(record) = unsafe { newest.as_ref() } {
        // SAFETY: the caller provides that many bytes.
        let bytes = unsafe { std::slice::from_raw_parts(newest.add(1).cast::<u8>(), record.size as usize) };
        if !bytes.iter().zip(0..).all(|(byte, i)| *byte == record.byte(i)) {
            break;
        }
        whole += 1;
        newest = record.older;
    }
    whole
}

static LEASES: Leases = Leases::new();

unsafe extern "C" fn lease(key: *mut u64) -> *mut Head {
    let Ok(lease) = LEASES.try_get() else { return ptr::null_mut() };
    let head = lease.as_raw();
    // SAFETY: the driver's variable.
    unsafe { *key = Box::into_raw(Box::new(lease)) as u64 };
    head.as_ptr()
}

unsafe extern "C" fn end_lease(_: *mut Head, key: u64) -> c_int {
    // SAFETY: the key of a lease, which ends once.
    drop(unsafe { Box::<Lease>::from_raw(key as usize as *mut Lease) });
    abi::OK
}

type Alloc = unsafe extern "C" fn(*mut Head, usize, usize) -> *mut c_void;

/// conformance_client.
#[repr(C)]
pub struct Table {
    name: *const c_char,
    accept: unsafe extern "C" fn(*mut Head) -> c_int,
    alloc: Alloc,
    zeroed: Option<Alloc>,
    resize: unsafe extern "C" fn(*mut Head, *mut c_void, usize, usize, usize) -> *mut c_void,
    free: unsafe extern "C" fn(*mut Head, *mut c_void, usize),
    free_calls_from: usize,
    mark: unsafe extern "C" fn(*mut Head) -> Mark,
    rewind: unsafe extern "C" fn(*mut Head, Mark) -> c_int,
    reset: unsafe extern "C" fn(*mut Head) -> c_int,
    trim: unsafe extern "C" fn(*mut Head, usize),
    budget: unsafe extern "C" fn(*mut Head, u64) -> c_int,
    checked: unsafe extern "C" fn(*mut Head, c_int) -> c_int,
    stats: unsafe extern "C" fn(*mut Head, *mut abi::Stats),
    contains: unsafe extern "C" fn(*mut Head, *const c_void) -> c_int,
    cleanup: unsafe extern "C" fn(*mut Head, unsafe extern "C" fn(*mut c_void), *mut c_void) -> c_int,
    node_alone: c_int,
    claimed: unsafe extern "C" fn(
        *mut Head,
        *const Record,
        u64,
        u64,
        unsafe extern "C" fn(*mut c_void),
        *mut c_void,
    ) -> *mut Record,
    release: unsafe extern "C" fn(*mut Head) -> c_int,
    write: unsafe extern "C" fn(*mut Head, *const Record, u64, u64, usize) -> *mut Record,
    read: unsafe extern "C" fn(*const Record) -> u64,
    lease: unsafe extern "C" fn(*mut u64) -> *mut Head,
    end_lease: unsafe extern "C" fn(*mut Head, u64) -> c_int,
}

// SAFETY: constant.
unsafe impl Sync for Table {}

#[no_mangle]
pub extern "C" fn conformance_client_table() -> &'static Table {
    static TABLE: Table = Table {
        name: c"Rust".as_ptr(),
        accept,
        alloc,
        zeroed: None,
        resize,
        free,
        free_calls_from: 0,
        mark,
        rewind,
        reset,
        trim,
        budget,
        checked,
        stats,
        contains,
        cleanup,
        node_alone: 0,
        claimed,
        release,
        write,
        read,
        lease,
        end_lease,
    };
    // A panic's message would go to the driver's table.
    std::panic::set_hook(Box::new(|_| ()));
    &TABLE
}
