//! Another provider: an arena in a fixed buffer, like abi/examples/fixed.h. The crate treats its arenas as those of
//! another language.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![allow(dead_code, unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]

use std::alloc::{alloc, dealloc, Layout};
use std::cell::Cell;
use std::ffi::{c_char, c_int, c_void};
use std::ptr::{null_mut, NonNull};

use toft::abi::{self, Cleanup, Head, Ops, Range, Stats};

#[repr(C)]
struct Fixed {
    head: Head,
    start: Cell<*mut u8>,
    end: Cell<*mut u8>,
    creation_epoch: Cell<usize>,
    budget: Cell<u64>,
    cleanups: Cell<*mut Node>,
    busy: Cell<bool>,
    claimed: Cell<bool>,
    from: Cell<usize>,
    to: Cell<usize>,
    size: Cell<usize>,
    released: Cell<bool>,
}

#[repr(C)]
struct Node {
    user: Cell<Cleanup>,
    older: *mut Node,
    creation_epoch: usize,
}

fn round8(n: usize) -> usize {
    (n + 7) & !7
}

fn pad(at: usize, align: usize) -> usize {
    at.wrapping_neg() & (align - 1)
}

fn good(n: usize, align: usize) -> bool {
    const MAX: usize = isize::MAX as usize / 2;
    align.is_power_of_two() && n <= MAX && align <= MAX
}

impl Fixed {
    fn cursor(&self) -> usize {
        self.head.cursor.get().addr()
    }

    fn move_to(&self, address: usize) {
        self.head.cursor.set(self.start.get().with_addr(address));
    }

    fn live(&self) -> u64 {
        (self.cursor() - self.start.get().addr()) as u64
    }

    fn closed(&self) -> bool {
        self.busy.get() || self.claimed.get()
    }

    fn epoch(&self) -> usize {
        self.head.epoch.get() & !1
    }

    fn bump(&self) {
        self.head.epoch.set(self.head.epoch.get() + 2);
    }

    fn seal_or_unseal(&self) {
        let room = (self.end.get().addr() - self.cursor()) as u64;
        let left = self.budget.get().saturating_sub(self.live()) & !7;
        let room = if self.closed() { 0 } else { room.min(left) };
        self.head.limit.set(self.head.cursor.get().wrapping_add(room as usize));
        let watched = self.closed() || self.live() > self.budget.get();
        self.head.epoch.set(self.epoch() | watched as usize);
    }

    fn affords(&self, more: usize) -> bool {
        more == 0 || self.budget.get().checked_sub(self.live()).is_some_and(|left| left >= more as u64)
    }

    fn place(&self, n: usize, align: usize) -> Option<*mut u8> {
        let (pad, room) = (pad(self.cursor(), align.max(8)), self.end.get().addr() - self.cursor());
        if pad > room || round8(n) > room - pad || !self.affords(pad + round8(n)) {
            return None;
        }
        let at = self.cursor() + pad;
        self.move_to(at + round8(n));
        Some(self.start.get().with_addr(at))
    }

    unsafe fn clean(&self, since: usize) {
        self.busy.set(true);
        self.seal_or_unseal();
        while !self.cleanups.get().is_null() && (*self.cleanups.get()).creation_epoch > since {
            let node = &*self.cleanups.get();
            self.cleanups.set(node.older);
            let Cleanup { function, arg } = node.user.get();
            if let Some(function) = function {
                function(arg);
            }
        }
        self.busy.set(false);
    }
}

unsafe fn of<'a>(head: *const Head) -> &'a Fixed {
    &*head.cast()
}

unsafe extern "C" fn fixed_alloc(head: *mut Head, n: usize, align: usize, flags: u32, _site: usize) -> *mut c_void {
    let a = of(head);
    if !good(n, align) {
        return null_mut();
    }
    if n == 0 && pad(a.cursor(), align) == 0 {
        return a.head.cursor.get().cast();
    }
    let p = if a.closed() { None } else { a.place(n, align) };
    a.seal_or_unseal();
    if let (Some(p), true) = (p, flags & abi::ZERO != 0) {
        p.write_bytes(0, n);
    }
    p.unwrap_or(null_mut()).cast()
}

unsafe extern "C" fn fixed_resize(
    head: *mut Head,
    p: *mut c_void,
    old: usize,
    n: usize,
    align: usize,
    flags: u32,
    site: usize,
) -> *mut c_void {
    let (a, p) = (of(head), p.cast::<u8>());
    if p.is_null() {
        return if old == 0 { fixed_alloc(head, n, align, flags, site) } else { null_mut() };
    }
    if a.closed() || !good(n, align) {
        return null_mut();
    }
    let (last, stays) = (a.cursor().wrapping_sub(p.addr()) == round8(old), pad(p.addr(), align) == 0);
    let more = round8(n).saturating_sub(round8(old));
    let mut q = None;
    if stays && last && more <= a.end.get().addr() - a.cursor() && a.affords(more) {
        a.move_to(p.addr() + round8(n));
        q = Some(p);
    } else if stays && !last && n <= old {
        q = Some(p);
    } else if flags & abi::STAY == 0 {
        q = a.place(n, align);
        if let Some(q) = q {
            q.copy_from(p, old.min(n));
        }
    }
    a.seal_or_unseal();
    if let (Some(q), true) = (q, flags & abi::ZERO != 0 && n > old) {
        q.add(old).write_bytes(0, n - old);
    }
    q.unwrap_or(null_mut()).cast()
}

unsafe extern "C" fn fixed_free(head: *mut Head, p: *mut c_void, n: usize) {
    let a = of(head);
    if !p.is_null() && !a.closed() && a.cursor().wrapping_sub(p.addr()) == round8(n) {
        a.move_to(p.addr());
        a.seal_or_unseal();
    }
}

unsafe extern "C" fn fixed_rewind(head: *mut Head, cursor: *mut u8, epoch: usize) -> c_int {
    let (a, at) = (of(head), cursor.addr());
    if a.closed() {
        return abi::EBUSY;
    }
    if at % 8 != 0 || epoch & 1 != 0 || epoch > a.epoch() || epoch < a.creation_epoch.get() {
        return abi::EMARK;
    }
    if at < a.start.get().addr() || at > a.end.get().addr() {
        return abi::EMARK;
    }
    a.clean(epoch);
    if at < a.cursor() {
        a.move_to(at);
    }
    a.seal_or_unseal();
    abi::OK
}

unsafe extern "C" fn fixed_reset(head: *mut Head, policy: u32, _keep: usize) -> c_int {
    let a = of(head);
    if policy > abi::KEEP_BYTES {
        return abi::EARG;
    }
    if a.closed() {
        return abi::EBUSY;
    }
    a.clean(0);
    a.move_to(a.start.get().addr());
    a.bump();
    a.creation_epoch.set(a.epoch());
    a.seal_or_unseal();
    abi::OK
}

unsafe extern "C" fn fixed_trim(_head: *mut Head, _keep: usize) {}

unsafe extern "C" fn fixed_cleanup(
    head: *mut Head,
    function: Option<unsafe extern "C" fn(*mut c_void)>,
    arg: *mut c_void,
) -> *mut Cleanup {
    let a = of(head);
    let place = if a.closed() { None } else { a.place(size_of::<Node>(), 8) };
    let Some(p) = place else { return null_mut() };
    a.bump();
    let node = p.cast::<Node>();
    node.write(Node { user: Cell::new(Cleanup { function, arg }), older: a.cleanups.get(), creation_epoch: a.epoch() });
    a.cleanups.set(node);
    a.seal_or_unseal();
    node.cast()
}

unsafe extern "C" fn fixed_claim(head: *mut Head, range: *mut Range, n: usize, align: usize) -> *mut c_void {
    let (a, r) = (of(head), &mut *range);
    let holds = a.claimed.get() && r.claim == head.addr();
    let was = a.cursor();
    if a.busy.get() || (!holds && (a.claimed.get() || r.claim != 0)) || (n != 0 && !good(n, align)) {
        return null_mut();
    }
    if holds && (r.cursor.addr() < a.from.get() || r.cursor.addr() > a.to.get()) {
        return null_mut();
    }
    if holds {
        a.move_to(round8(r.cursor.addr()));
    }
    let p = if n == 0 { Some(a.head.cursor.get()) } else { a.place(n, align) };
    if let Some(p) = p {
        a.claimed.set(false);
        a.seal_or_unseal();
        *r = Range { cursor: a.head.cursor.get(), limit: a.head.limit.get(), claim: head.addr() };
        a.to.set(r.limit.addr());
        a.from.set(p.addr());
        a.claimed.set(true);
    } else {
        a.move_to(was);
    }
    a.seal_or_unseal();
    p.unwrap_or(null_mut()).cast()
}

unsafe extern "C" fn fixed_give(head: *mut Head, range: *mut Range) -> c_int {
    let (a, r) = (of(head), &mut *range);
    let within = r.cursor.addr() >= a.from.get() && r.cursor.addr() <= a.to.get();
    if !a.claimed.get() || r.claim != head.addr() || !within {
        return abi::EARG;
    }
    a.move_to(round8(r.cursor.addr()));
    a.claimed.set(false);
    *r = Range::EMPTY;
    a.seal_or_unseal();
    abi::OK
}

unsafe extern "C" fn fixed_contains(head: *const Head, p: *const c_void) -> c_int {
    let a = of(head);
    (p.addr() >= a.start.get().addr() && p.addr() < a.cursor()) as c_int
}

unsafe extern "C" fn fixed_stats(head: *mut Head, out: *mut Stats, size: usize) -> usize {
    let a = of(head);
    let stats = Stats {
        live: a.live(),
        allocated: a.live(),
        peak: a.live(),
        budget: a.budget.get(),
        reserved: (a.end.get().addr() - a.start.get().addr()) as u64,
        wasted: 0,
        blocks: 1,
        source_calls: 0,
    };
    let n = size.min(size_of::<Stats>());
    out.cast::<u8>().copy_from((&raw const stats).cast(), n);
    n
}

unsafe extern "C" fn fixed_set(head: *mut Head, what: u32, value: u64, _name: *const c_char, _len: usize) -> c_int {
    let a = of(head);
    if what != abi::SET_BUDGET {
        return abi::ENOSYS;
    }
    if a.closed() {
        return abi::EBUSY;
    }
    a.budget.set(value);
    a.bump();
    a.seal_or_unseal();
    abi::OK
}

unsafe extern "C" fn fixed_release(head: *mut Head) {
    let a = of(head);
    if !a.closed() {
        a.clean(0);
        a.released.set(true);
    }
}

static OPS: Ops = Ops {
    size: size_of::<Ops>() as u32,
    version: abi::VERSION,
    alloc: fixed_alloc,
    resize: fixed_resize,
    free: Some(fixed_free),
    rewind: fixed_rewind,
    reset: fixed_reset,
    trim: fixed_trim,
    cleanup: fixed_cleanup,
    claim: fixed_claim,
    give: fixed_give,
    contains: fixed_contains,
    stats: fixed_stats,
    set: fixed_set,
    release: fixed_release,
};

const START: usize = size_of::<Fixed>().next_multiple_of(64);

/// The memory of such an arena. Drop it after the arena.
pub struct Memory {
    base: NonNull<u8>,
    size: usize,
}

impl Memory {
    /// For `room` bytes of allocations.
    pub fn new(room: usize) -> Memory {
        let size = START + round8(room);
        // SAFETY: the size is not 0.
        let base = NonNull::new(unsafe { alloc(Layout::from_size_align(size, 64).unwrap()) }).unwrap();
        Memory { base, size }
    }

    /// Makes the arena. The memory must not hold another live one.
    pub fn make(&mut self) -> NonNull<Head> {
        self.base.as_ptr().expose_provenance(); // M22
        let start = self.base.as_ptr().wrapping_add(START);
        let at = self.base.cast::<Fixed>();
        let head =
            Head { cursor: Cell::new(start), ops: Cell::new(&OPS), limit: Cell::new(start), epoch: Cell::new(2) };
        // SAFETY: memory for it, aligned to 64.
        unsafe {
            at.write(Fixed {
                head,
                start: Cell::new(start),
                end: Cell::new(self.base.as_ptr().wrapping_add(self.size)),
                creation_epoch: Cell::new(2),
                budget: Cell::new(u64::MAX),
                cleanups: Cell::new(null_mut()),
                busy: Cell::new(false),
                claimed: Cell::new(false),
                from: Cell::new(0),
                to: Cell::new(0),
                size: Cell::new(self.size),
                released: Cell::new(false),
            });
            at.as_ref().seal_or_unseal();
        }
        at.cast()
    }

    /// Whether the arena that was made last was released.
    pub fn is_released(&self) -> bool {
        // SAFETY: `make` wrote it.
        unsafe { self.base.cast::<Fixed>().as_ref() }.released.get()
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated by `new`.
        unsafe { dealloc(self.base.as_ptr(), Layout::from_size_align_unchecked(self.size, 64)) }
    }
}
