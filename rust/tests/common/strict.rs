//! A strict global allocator: layouts must match, red zones must be intact, freed memory must not be written, and at
//! exit no block of an arena may be left.
//!
//! It serves the test binary that includes this module. It is off under Miri, which detects these faults itself, and
//! with `--cfg toft_plain_heap`, for Valgrind and the sanitizers, which it would make ineffective.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![allow(dead_code, unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, UnsafeCell};
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering};

#[cfg(not(any(miri, toft_plain_heap)))]
#[global_allocator]
static STRICT: Strict = Strict;

const IS_ON: bool = cfg!(not(any(miri, toft_plain_heap)));

pub struct Strict;

/// Directly in front of the memory that the program gets.
#[repr(C)]
struct Front {
    magic: u64,
    size: usize,
    align: usize,
    red: [u8; 8],
}

const FRONT: usize = size_of::<Front>();
const BACK: usize = 32;
const LIVE: u64 = 0x746f_6674_6c69_7665;
const DEAD: u64 = 0x746f_6674_6465_6164;
const RED: u8 = 0xFB;
const NEW: u8 = 0xA5;
const OLD: u8 = 0xDD;

/// Only arena blocks, and those of test sources, have this alignment.
const BLOCK_ALIGN: usize = 64;
static BLOCKS: AtomicIsize = AtomicIsize::new(0);
static FORGIVEN: AtomicIsize = AtomicIsize::new(0);
static WATCHED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Bytes that this thread allocated, less those that it freed.
    static NET: Cell<isize> = const { Cell::new(0) };
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
    static SERVED: Cell<usize> = const { Cell::new(usize::MAX) };
}

unsafe extern "C" {
    fn atexit(f: extern "C" fn()) -> i32;
}

fn fail(what: &str, layout: Layout, found: usize) -> ! {
    // Not `eprintln!`, which the test harness captures.
    let _ = writeln!(std::io::stderr(), "strict allocator: {what}; layout {layout:?}, found {found}");
    std::process::abort()
}

extern "C" fn at_exit() {
    let counts = || (BLOCKS.load(Ordering::SeqCst), FORGIVEN.load(Ordering::SeqCst));
    let (mut left, mut forgiven) = counts();
    if left > forgiven && std::env::var_os("TOFT_ALLOW_LEAKS").is_none() {
        // `thread::scope` returns when its closures have returned: a thread may still be emptying its cache.
        for _ in 0..500 {
            std::thread::sleep(std::time::Duration::from_millis(2));
            (left, forgiven) = counts();
            if left <= forgiven {
                return;
            }
        }
        let _ = writeln!(std::io::stderr(), "strict allocator: {left} blocks left, {forgiven} of them forgiven");
        std::process::abort()
    }
}

/// Excludes blocks that a test leaks on purpose.
pub fn forgive(blocks: usize) {
    FORGIVEN.fetch_add(blocks as isize, Ordering::SeqCst);
}

/// Allocations of this thread so far: the harness allocates on other threads at any time.
pub fn allocations() -> usize {
    ALLOCATIONS.get()
}

/// Runs `f`, of which so many allocations are served, and the next ones refused.
pub fn serving<R>(count: usize, f: impl FnOnce() -> R) -> R {
    SERVED.set(count);
    let result = f();
    SERVED.set(usize::MAX);
    result
}

/// Runs `f`, which must free on this thread all that it allocates, except for the thread's cache.
pub fn balanced<R>(f: impl FnOnce() -> R) -> R {
    toft::cache::trim();
    let before = NET.with(Cell::get);
    let result = f();
    toft::cache::trim();
    let after = NET.with(Cell::get);
    assert!(!IS_ON || before == after, "{} bytes leaked", after - before);
    result
}

/// The allocations that were freed last are kept here to detect late writes.
struct Quarantine {
    locked: AtomicBool,
    slots: UnsafeCell<[(usize, usize, usize); 256]>, // payload, size, align
    next: UnsafeCell<usize>,
}

// SAFETY: the slots are accessed with the lock held.
unsafe impl Sync for Quarantine {}

static QUARANTINE: Quarantine =
    Quarantine { locked: AtomicBool::new(false), slots: UnsafeCell::new([(0, 0, 0); 256]), next: UnsafeCell::new(0) };

impl Quarantine {
    fn exchange(&self, new: (usize, usize, usize)) -> (usize, usize, usize) {
        while self.locked.swap(true, Ordering::Acquire) {
            std::thread::yield_now();
        }
        // SAFETY: the lock is held.
        let old = unsafe {
            let next = self.next.get();
            let old = std::mem::replace(&mut (*self.slots.get())[*next], new);
            *next = (*next + 1) % 256;
            old
        };
        self.locked.store(false, Ordering::Release);
        old
    }
}

fn whole(layout: Layout) -> Option<(Layout, usize)> {
    let front = layout.align().max(2 * FRONT);
    let size = layout.size().checked_add(front + BACK)?;
    Some((Layout::from_size_align(size, layout.align().max(16)).ok()?, front))
}

unsafe fn give_back(p: *mut u8, layout: Layout) {
    let (whole, front) = whole(layout).unwrap();
    System.dealloc(p.sub(front), whole);
}

unsafe fn all(p: *const u8, n: usize, value: u8) -> bool {
    std::slice::from_raw_parts(p, n).iter().all(|b| *b == value)
}

const KEPT: usize = 64 << 10;

unsafe impl GlobalAlloc for Strict {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() == 0 {
            fail("size 0", layout, 0);
        }
        let served = SERVED.try_with(|n| n.replace(n.get().saturating_sub(1)) != 0);
        let Some((whole, front)) = whole(layout).filter(|_| served != Ok(false)) else { return std::ptr::null_mut() };
        let base = System.alloc(whole);
        if base.is_null() {
            return base;
        }
        if layout.align() >= BLOCK_ALIGN {
            if !WATCHED.swap(true, Ordering::SeqCst) {
                atexit(at_exit);
            }
            BLOCKS.fetch_add(1, Ordering::SeqCst);
        }
        let _ = ALLOCATIONS.try_with(|n| n.set(n.get() + 1));
        let _ = NET.try_with(|net| net.set(net.get() + layout.size() as isize));
        let p = base.add(front);
        base.write_bytes(RED, front);
        p.sub(FRONT).cast::<Front>().write(Front {
            magic: LIVE,
            size: layout.size(),
            align: layout.align(),
            red: [RED; 8],
        });
        p.write_bytes(NEW, layout.size().min(1 << 20)); // more would be slow
        p.add(layout.size()).write_bytes(RED, BACK);
        p
    }

    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        let at = p.sub(FRONT).cast::<Front>();
        let front = at.read();
        match front.magic {
            LIVE => {}
            DEAD => fail("freed twice", layout, p as usize),
            _ => fail("an invalid free, or its red zone was written", layout, p as usize),
        }
        if front.size != layout.size() || front.align != layout.align() {
            fail("freed with another layout than it was allocated with", layout, front.size);
        }
        let before = layout.align().max(2 * FRONT) - FRONT;
        if front.red != [RED; 8] || !all(p.sub(FRONT + before), before, RED) {
            fail("bytes before it were written", layout, p as usize);
        }
        if !all(p.add(layout.size()), BACK, RED) {
            fail("bytes behind it were written", layout, p as usize);
        }
        (*at).magic = DEAD;
        if layout.align() >= BLOCK_ALIGN {
            BLOCKS.fetch_sub(1, Ordering::SeqCst);
        }
        let _ = NET.try_with(|net| net.set(net.get() - layout.size() as isize));
        if layout.size() > KEPT {
            return give_back(p, layout);
        }
        p.write_bytes(OLD, layout.size());
        let (p, size, align) = QUARANTINE.exchange((p as usize, layout.size(), layout.align()));
        if p != 0 {
            let (p, layout) = (p as *mut u8, Layout::from_size_align_unchecked(size, align));
            if !all(p, size, OLD) {
                fail("written after it was freed", layout, p as usize);
            }
            give_back(p, layout);
        }
    }
}
