//! The table of this provider: abi/SPEC.md, section 4.
//!
//! Contract of every function here: the head is that of a live arena of this crate, and the arena is the calling
//! thread's. No function unwinds.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::ffi::{c_char, c_int, c_void};
use core::mem::size_of;
use core::ptr::{self, NonNull};

use super::caller::Caller;
use super::state::*;
use crate::base::abi_types::{self as abi, Cleanup, Head, InfoOps, Ops, ProviderInfo, Range, Stats};
use crate::base::policy::{is_request, pad, round8, MAX_REQUEST};

/// M20: constant and complete.
static TABLE: InfoOps = InfoOps {
    ops: Ops {
        size: size_of::<InfoOps>() as u32,
        version: abi::VERSION,
        alloc,
        resize,
        free: Some(free),
        rewind,
        reset,
        trim,
        cleanup,
        claim,
        give,
        contains,
        stats,
        set,
        release,
    },
    info: Some(&INFO),
    under: ptr::null(),
};

static INFO: ProviderInfo = ProviderInfo {
    name: c"toft-rust".as_ptr(),
    version: concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast(),
    query,
};

/// The pointer's provenance covers the addition behind the table.
pub const OPS: *const Ops = (&raw const TABLE).cast();

const CLOSED: u32 = CLAIMED | BUSY;

fn or_null(p: Option<NonNull<u8>>) -> *mut c_void {
    p.map_or(ptr::null_mut(), |p| p.as_ptr().cast())
}

unsafe extern "C" fn alloc(head: *mut Head, size: usize, align: usize, flags: u32, site: usize) -> *mut c_void {
    // SAFETY: the table's contract.
    or_null(unsafe { alloc_for(head, size, align, flags, Caller { site, ..Caller::UNKNOWN }) })
}

/// As the table's `alloc`, with a known caller.
///
/// # Safety
/// The table's contract.
#[allow(improper_ctypes_definitions)] // it does not unwind
pub unsafe extern "C" fn alloc_for(head: *mut Head, size: usize, align: usize, flags: u32, caller: Caller) -> Start {
    // SAFETY: the table's contract.
    let a = unsafe { RawArena::of(head) };
    if a.is(INSTRUMENTED) && a.is_wrong_thread() {
        return None;
    }
    let mut p = None;
    a.sync_in();
    if is_request(size, align) {
        let cursor = a.head.cursor.get();
        if size == 0 && pad(cursor.addr(), align) == 0 {
            p = NonNull::new(cursor); // M6: as on the inline path, in any state
        } else if !a.is(BUSY) {
            p = a.alloc_slow_for(size, align, caller);
        }
    }
    a.end_op();
    if let (Some(p), true) = (p, flags & abi::ZERO != 0) {
        // SAFETY: just allocated.
        unsafe { p.as_ptr().write_bytes(0, size) };
    }
    p
}

// ---- resize and free ----

/// Whether p is the newest allocation of the current block.
fn is_newest(a: RawArena, p: *mut u8, size: usize) -> bool {
    !a.is(CLAIMED)
        && p.addr() >= a.start_of(a.slow().current.get()).addr()
        && a.head.cursor.get().addr().wrapping_sub(p.addr()) == round8(size)
}

/// P15: the newest block, if it is a dedicated block that contains p.
fn newest_dedicated(a: RawArena, p: *mut u8) -> Option<Block> {
    let b = a.slow().newest.get();
    let inside = || p.addr() > b.base().addr() && p.addr() < b.base().addr() + b.size.get();
    (b.kind.get() == Kind::Dedicated && inside()).then_some(b)
}

fn resize_in(a: RawArena, p: *mut u8, old: usize, new: usize, align: usize, flags: u32, caller: Caller) -> Start {
    let aligned = pad(p.addr(), align) == 0;
    if is_newest(a, p, old) && aligned {
        let at = p.addr() + round8(new);
        if round8(new) <= round8(old) {
            a.head.cursor.set(a.in_current(at));
            a.sync();
            return NonNull::new(p);
        }
        let more = round8(new) - round8(old);
        let remaining = a.end.get().addr() - a.head.cursor.get().addr();
        if a.fits_budget(more) && (more <= remaining || a.extend_current(more, 1)) {
            let before = a.slow().allocated.get();
            a.head.cursor.set(a.in_current(at));
            a.sync();
            if a.is(INSTRUMENTED) {
                a.count_growth(more, caller, before);
            }
            return NonNull::new(p);
        }
    } else if new <= old && aligned {
        return NonNull::new(p);
    }
    let dedicated = newest_dedicated(a, p);
    if let Some(b) = dedicated {
        if aligned && new <= b.base().addr() + b.size.get() - p.addr() {
            if round8(new) > round8(old) {
                b.used_end.set(b.base().with_addr(p.addr() + round8(new)));
            }
            return NonNull::new(p);
        }
    }
    if flags & abi::STAY != 0 {
        return None;
    }
    let peak = a.slow().peak.get();
    let q = a.alloc_slow_for(new, align, caller)?;
    // SAFETY: p has `old` bytes by the caller's contract, q is new.
    unsafe { ptr::copy_nonoverlapping(p, q.as_ptr(), old.min(new)) };
    if let Some(b) = dedicated {
        // The old block contains nothing else. At most the new block was pushed above it.
        let slow = a.slow();
        let newest = slow.newest.get();
        match b.next.get() {
            Some(next) if newest == b => slow.newest.set(next),
            next => newest.next.set(next),
        }
        slow.live.set(slow.live.get() - b.charge.get() as u64);
        slow.peak.set(peak); // both places were not allocated at once for the caller
        a.update_peak();
        if a.is(INSTRUMENTED) {
            a.detached_remove(b);
        }
        // SAFETY: unlinked above; its only allocation has moved.
        unsafe { a.drop_block(b) };
    }
    Some(q)
}

unsafe extern "C" fn resize(
    head: *mut Head,
    p: *mut c_void,
    old: usize,
    new: usize,
    align: usize,
    flags: u32,
    site: usize,
) -> *mut c_void {
    // SAFETY: the table's contract.
    or_null(unsafe { resize_for(head, p.cast(), old, new, align, flags, Caller { site, ..Caller::UNKNOWN }) })
}

/// As the table's `resize`, with a known caller.
///
/// # Safety
/// The table's contract.
#[allow(improper_ctypes_definitions)]
pub unsafe extern "C" fn resize_for(
    head: *mut Head,
    p: *mut u8,
    old: usize,
    new: usize,
    align: usize,
    flags: u32,
    caller: Caller,
) -> Start {
    if p.is_null() {
        // SAFETY: the same contract.
        return if old == 0 { unsafe { alloc_for(head, new, align, flags, caller) } } else { None };
    }
    // SAFETY: the table's contract.
    let a = unsafe { RawArena::of(head) };
    if a.is(INSTRUMENTED) && a.is_wrong_thread() {
        return None;
    }
    let mut q = None;
    a.sync_in();
    if is_request(new, align) && old <= MAX_REQUEST && !a.is(BUSY) {
        q = if a.is(CHECKED) {
            a.resize_checked(p, old, new, align, flags, caller)
        } else {
            resize_in(a, p, old, new, align, flags, caller)
        };
    }
    a.end_op();
    if let (Some(q), true) = (q, flags & abi::ZERO != 0 && new > old) {
        // SAFETY: q has `new` bytes.
        unsafe { q.as_ptr().add(old).write_bytes(0, new - old) };
    }
    q
}

unsafe extern "C" fn free(head: *mut Head, p: *mut c_void, size: usize) {
    // SAFETY: the table's contract.
    let a = unsafe { RawArena::of(head) };
    let p: *mut u8 = p.cast();
    a.sync_in();
    if a.is(CHECKED) {
        if !a.is(BUSY) && !p.is_null() {
            a.free_checked(p, size);
        }
    } else if !a.is(CLOSED) && !p.is_null() && size <= MAX_REQUEST {
        if is_newest(a, p, size) {
            a.head.cursor.set(a.in_current(p.addr()));
            a.sync();
        } else if newest_dedicated(a, p).is_some() {
            let b = a.pop();
            // SAFETY: unlinked; its only allocation is freed.
            unsafe { a.drop_block(b) };
        }
    }
    a.end_op();
}

// ---- marks ----

/// M14: the block that a mark points into, the newest regular one with an older epoch, and the address in it.
fn mark_block(a: RawArena, at: usize, epoch: usize) -> Option<(Block, usize)> {
    if at & 7 != 0 || epoch & 1 != 0 || epoch > a.epoch() || epoch < a.last_reset() {
        return None;
    }
    let slow = a.slow();
    let mut b = slow.current.get();
    while b.epoch.get() > epoch {
        b = b.below.get()?;
    }
    let initial = b == a.initial();
    // the arena was empty then
    let at = if initial && epoch < slow.trim_epoch.get() { a.initial_start().addr() } else { at };
    if at < a.start_of(b).addr() || at > a.end_of(b).addr() {
        return None;
    }
    if initial && a.is(INITIAL_IDLE) && at != a.initial_end.get().addr() {
        return None;
    }
    Some((b, at))
}

fn rewind_to(a: RawArena, b: Block, at: usize, epoch: usize) -> c_int {
    let slow = a.slow();
    if epoch != a.epoch() {
        a.update_round_peak(slow.live.get());
    }
    run_cleanups(a, epoch);
    let code = if a.is(CHECKED) { a.check_records(epoch) } else { abi::OK };
    let moved = b != slow.current.get();
    while slow.newest.get().epoch.get() > epoch {
        let freed = a.pop();
        a.poison_block(freed);
        // SAFETY: unlinked; its allocations are freed.
        unsafe { a.drop_block(freed) };
    }
    // M15: the mark is above the cursor if the newest allocation below it was freed since
    if at < a.head.cursor.get().addr() {
        a.poison(a.in_current(at), a.head.cursor.get());
        a.head.cursor.set(a.in_current(at));
        a.sync();
    }
    if moved {
        a.next_epoch();
    }
    if a.is(CHECKED) {
        a.after_rewind(epoch);
    }
    code
}

unsafe extern "C" fn rewind(head: *mut Head, cursor: *mut u8, epoch: usize) -> c_int {
    // SAFETY: the table's contract.
    let a = unsafe { RawArena::of(head) };
    a.sync_in();
    if a.head.epoch.get() & 1 != 0 && !a.is(CLOSED) {
        a.leave_steady(); // an instrument adds to the epoch (I3)
    }
    let code = if a.is(CLOSED) {
        abi::EBUSY
    } else if a.is(INSTRUMENTED) && a.mark_is_stale(cursor.addr(), epoch) {
        abi::EMARK
    } else if let Some((b, at)) = mark_block(a, cursor.addr(), epoch) {
        rewind_to(a, b, at, epoch)
    } else {
        abi::EMARK
    };
    a.end_op();
    code
}

unsafe extern "C" fn reset(head: *mut Head, policy: u32, keep: usize) -> c_int {
    // SAFETY: the table's contract.
    let a = unsafe { RawArena::of(head) };
    // SAFETY: the table's contract: nothing in the arena is used any more.
    if policy == abi::KEEP_RECENT && unsafe { a.reset_fast() || a.reset_steady() } {
        return abi::OK;
    }
    a.sync_in();
    let code = if policy > abi::KEEP_BYTES {
        abi::EARG
    } else if a.is(CLOSED) {
        abi::EBUSY
    } else {
        let observed = a.head.epoch.get() & 1 != 0;
        a.update_round_peak(a.slow().live.get());
        run_cleanups(a, 0);
        let intact = !a.is(CHECKED) || a.verify_freed();
        let code = if a.is(CHECKED) { a.check_records(0) } else { abi::OK };
        let code = if intact { code } else { abi::ECORRUPT };
        a.poison_all();
        a.retain_blocks(policy, keep);
        if observed {
            a.leave_steady(); // as in `rewind`
        }
        code
    };
    a.end_op();
    code
}

unsafe extern "C" fn trim(head: *mut Head, keep: usize) {
    // SAFETY: the table's contract.
    let a = unsafe { RawArena::of(head) };
    a.sync_in();
    if !a.is(CLOSED) {
        a.trim(keep);
    }
    a.end_op();
}

impl RawArena {
    /// Makes room for `bytes`. A checked arena, whose allocations lie apart, has no use for it. False: the source
    /// refuses, or the budget, or the arena is closed.
    pub fn reserve(self, bytes: usize) -> bool {
        self.sync_in();
        let done = !self.is(CLOSED) && (self.is(CHECKED) || self.reserve_room(bytes));
        self.end_op();
        done
    }
}

// ---- cleanups ----

/// M16: runs the cleanups registered after `epoch`, newest first, each once. The arena is closed while they run.
pub fn run_cleanups(a: RawArena, epoch: usize) {
    run_some_cleanups(a, epoch, usize::MAX);
}

/// As `run_cleanups`, at most `limit` of them. Returns how many ran.
fn run_some_cleanups(a: RawArena, epoch: usize, limit: usize) -> usize {
    let slow = a.slow();
    let next = || {
        // SAFETY: nodes on the list are allocations of this arena that are not freed yet.
        slow.cleanups.get().map(|node| unsafe { node.as_ref() }).filter(|node| node.epoch.get() > epoch)
    };
    let mut ran = 0;
    if limit == 0 || next().is_none() {
        return ran;
    }
    a.raise(BUSY);
    a.set_limit();
    while let Some(node) = next().filter(|_| ran < limit) {
        ran += 1;
        slow.cleanups.set(node.older.get());
        let Cleanup { function, arg } = node.user.get();
        if let Some(function) = function {
            // SAFETY: guaranteed by the caller that registered it; it does not unwind (U13).
            unsafe { function(arg) };
        }
    }
    a.lower(BUSY);
    ran
}

impl RawArena {
    /// Runs at most `limit` cleanups, newest first, as a reset does with all. Returns how many ran.
    ///
    /// # Safety
    /// The caller has exclusive access: no scope, cursor or allocation of the arena is used any more.
    #[cfg(all(feature = "std", feature = "frames"))]
    pub unsafe fn run_some_cleanups(self, limit: usize) -> usize {
        self.sync_in();
        let ran = if self.is(CLOSED) { 0 } else { run_some_cleanups(self, 0, limit) };
        self.end_op();
        ran
    }
}

unsafe extern "C" fn cleanup(
    head: *mut Head,
    function: Option<unsafe extern "C" fn(*mut c_void)>,
    arg: *mut c_void,
) -> *mut Cleanup {
    // SAFETY: the table's contract.
    let a = unsafe { RawArena::of(head) };
    a.sync_in();
    // If the claim is that of a scope, no range exists that a cleanup could corrupt.
    let closed = a.is(BUSY) || (a.is(CLAIMED) && !a.is_claimed_by_scopes());
    let place = if closed { None } else { a.alloc_hidden(size_of::<Node>(), 8) };
    if let Some(p) = place {
        let slow = a.slow();
        a.next_epoch(); // M11: an older mark must call `rewind`, which runs the cleanup
        let node = p.cast::<Node>();
        let user = core::cell::Cell::new(Cleanup { function, arg });
        let older = core::cell::Cell::new(slow.cleanups.get());
        // SAFETY: just allocated, of that size.
        unsafe { node.write(Node { user, older, epoch: core::cell::Cell::new(a.epoch()) }) };
        slow.cleanups.set(Some(node));
    }
    a.end_op();
    or_null(place).cast()
}

// ---- claimed ranges ----

unsafe extern "C" fn claim(head: *mut Head, range: *mut Range, size: usize, align: usize) -> *mut c_void {
    // SAFETY: the table's contract.
    or_null(unsafe { claim_for(head, range, size, align, Caller::UNKNOWN) })
}

/// As the table's `claim`, with a known caller.
///
/// # Safety
/// The table's contract.
#[allow(improper_ctypes_definitions)] // it does not unwind
pub unsafe extern "C" fn claim_for(
    head: *mut Head,
    range: *mut Range,
    size: usize,
    align: usize,
    caller: Caller,
) -> Start {
    // SAFETY: the table's contract; the range is the caller's.
    let (a, r) = unsafe { (RawArena::of(head), &mut *range) };
    a.sync_in();
    let slow = a.slow();
    let claimed = a.is(CLAIMED);
    let within = r.cursor.addr() >= slow.claim_start.get().addr() && r.cursor.addr() <= slow.claim_limit.get().addr();
    let ours = if claimed { r.claim == slow.claim_id.get() && within } else { r.claim == 0 };
    let mut p = None;
    if !a.is(BUSY) && ours && (size == 0 || is_request(size, align)) {
        let before = (a.head.cursor.get(), slow.allocated.get(), slow.peak.get());
        let tag = if claimed && a.is(INSTRUMENTED) { a.enter_claim_tag() } else { None };
        a.lower(CLAIMED);
        if claimed {
            a.head.cursor.set(a.in_current(round8(r.cursor.addr())));
        }
        a.sync();
        if claimed {
            a.raise(RANGE_GROWS);
        }
        p = if size == 0 { NonNull::new(a.head.cursor.get()) } else { a.alloc_slow_for(size, align, caller) };
        a.lower(RANGE_GROWS);
        if let Some(p) = p {
            if size != 0 && a.is(CHECKED) {
                a.note_claim_alloc();
            }
            a.set_limit(); // the range ends where the inline path would (P18)
            let cursor = a.head.cursor.get();
            let adjoins = p.addr().get() + round8(size) == cursor.addr();
            slow.claim_start.set(if adjoins { p.as_ptr() } else { cursor });
            slow.claim_limit.set(a.head.limit.get());
            if !claimed {
                slow.claim_id.set(a.next_claim());
                slow.side_block.set(None);
                if a.is(INSTRUMENTED) {
                    a.save_claim_tag();
                }
            }
            *r = Range { cursor, limit: a.head.limit.get(), claim: slow.claim_id.get() };
        } else if claimed {
            a.head.cursor.set(before.0);
            a.sync();
            slow.allocated.set(before.1); // allocations of the range are counted when it is returned
            slow.peak.set(before.2);
        }
        if let Some(present) = tag {
            a.leave_claim_tag(present);
        }
        if claimed || p.is_some() {
            a.raise(CLAIMED);
        }
    }
    a.end_op();
    p
}

unsafe extern "C" fn give(head: *mut Head, range: *mut Range) -> c_int {
    // SAFETY: the table's contract; the range is the caller's.
    let (a, r) = unsafe { (RawArena::of(head), &mut *range) };
    a.sync_in();
    let slow = a.slow();
    let within = r.cursor.addr() >= slow.claim_start.get().addr() && r.cursor.addr() <= slow.claim_limit.get().addr();
    let ours = a.is(CLAIMED) && !a.is(BUSY) && r.claim == slow.claim_id.get() && within;
    if ours {
        let tag = if a.is(INSTRUMENTED) { a.enter_claim_tag() } else { None };
        a.head.cursor.set(a.in_current(round8(r.cursor.addr())));
        a.lower(CLAIMED);
        a.sync();
        if let Some(present) = tag {
            a.leave_claim_tag(present);
        }
        slow.side_block.set(None);
        if a.is(CHECKED) {
            a.end_marks_of_claim();
        }
        if let Some(scope) = slow.scopes.get() {
            a.claim_for_scope(scope); // it began while the range was claimed
        }
        *r = Range::EMPTY;
    }
    a.end_op();
    if ours {
        abi::OK
    } else {
        abi::EARG
    }
}

// ---- queries, settings, release ----

unsafe extern "C" fn contains(head: *const Head, p: *const c_void) -> c_int {
    // SAFETY: the table's contract.
    unsafe { RawArena::of(head.cast_mut()) }.holds(p.addr()) as c_int
}

unsafe extern "C" fn stats(head: *mut Head, out: *mut Stats, size: usize) -> usize {
    // SAFETY: the table's contract; `out` has `size` bytes.
    let a = unsafe { RawArena::of(head) };
    a.sync_in();
    // Instruments ask for live alone, which is no walk over the blocks.
    let is_brief = size <= size_of::<u64>();
    let stats = if is_brief { Stats { live: a.live_with_scopes(), ..Stats::default() } } else { a.stats() };
    a.end_op();
    let n = size.min(size_of::<Stats>());
    // SAFETY: as above.
    unsafe { ptr::copy_nonoverlapping((&raw const stats).cast::<u8>(), out.cast::<u8>(), n) };
    n
}

unsafe extern "C" fn set(head: *mut Head, what: u32, value: u64, name: *const c_char, len: usize) -> c_int {
    if !(abi::SET_BUDGET..=abi::SET_CHECKED).contains(&what) {
        return abi::ENOSYS;
    }
    // SAFETY: the table's contract.
    let a = unsafe { RawArena::of(head) };
    a.sync_in();
    let name = match what {
        abi::SET_TAG if name.is_null() => (len == 0).then_some(""),
        // SAFETY: the caller's contract: `name` has `len` bytes.
        abi::SET_TAG => core::str::from_utf8(unsafe { core::slice::from_raw_parts(name.cast(), len) }).ok(),
        _ => Some(""),
    };
    let code = match what {
        _ if name.is_none() || (what == abi::SET_CHECKED && value > 1) => abi::EARG, // before EBUSY: in any state
        _ if a.is(BUSY) || (a.is(CLAIMED) && what != abi::SET_TAG) => abi::EBUSY,
        abi::SET_BUDGET => {
            a.budget.set(value);
            a.next_epoch();
            abi::OK
        }
        abi::SET_SAMPLE => a.set_sample(value),
        abi::SET_CHECKED => a.set_checked(value == 1),
        _ => {
            let on = a.set_metered(true);
            let tagged = on == abi::OK && a.set_tag(value, name.unwrap_or_default()).is_some();
            if tagged {
                abi::OK
            } else {
                abi::ENOMEM
            }
        }
    };
    a.end_op();
    code
}

/// For debuggers: reads the state without changing it.
unsafe extern "C" fn query(head: *const Head, what: u32, value: *mut u64) -> c_int {
    // SAFETY: the table's contract.
    let a = unsafe { RawArena::of(head.cast_mut()) };
    let present = match what {
        abi::SET_BUDGET => a.budget.get(),
        abi::SET_SAMPLE => a.sample(),
        abi::SET_CHECKED => a.is(CHECKED) as u64,
        _ => return abi::ENOSYS,
    };
    // SAFETY: the caller's contract.
    unsafe { value.write(present) };
    abi::OK
}

unsafe extern "C" fn release(head: *mut Head) {
    // SAFETY: the table's contract.
    unsafe { RawArena::of(head).release() };
}
