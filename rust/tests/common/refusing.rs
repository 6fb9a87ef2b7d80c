//! Memory and blocks that are refused on demand, and the driver of the tables of refusals: each request of an operation
//! is refused once, from then on, and if it is of a size or larger. A refused operation leaves everything as it was, and
//! succeeds when there is memory again.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![allow(dead_code)]

use std::alloc::{alloc, dealloc, Layout};
use std::collections::{BTreeSet, HashMap};
use std::fmt::Debug;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, PoisonError};

use toft::{AllocError, Memory, Source};

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Refuses {
    #[default]
    Nothing,
    /// The request of this number, from 1 on, since the call of `refuse`.
    Once(usize),
    From(usize),
    /// Requests above this size.
    Above(usize),
    /// Those that would raise the bytes in use above this sum.
    Beyond(usize),
}

/// By reference: an object and its test share it. The n-th allocation begins at n times this number of 64-byte lines behind
/// a multiple of its alignment. The flag is set during a call: several threads may call a source, but one at a time.
#[derive(Default)]
pub struct Refusing(Mutex<State>, usize, AtomicBool);

#[derive(Default)]
pub struct State {
    refuses: Refuses,
    /// Since the call of `refuse`.
    requests: usize,
    served: usize,
    pub refused: usize,
    bytes: usize,
    peak: usize,
    sizes: BTreeSet<usize>,
    /// The layout of each allocation, and the bytes in front of it.
    out: HashMap<usize, (Layout, usize)>,
}

const UNIT: usize = 32 << 10;
/// Bytes behind each allocation, which are verified when it is freed. Miri detects such writes itself.
const GUARD: usize = if cfg!(miri) { 0 } else { 64 };
/// The bytes that are filled, so that stale ones cannot pass for written ones.
const FILLED: usize = 64 << 10;

impl Refusing {
    pub fn new(refuses: Refuses) -> Refusing {
        let refusing = Refusing::default();
        refusing.refuse(refuses);
        refusing
    }

    pub fn shifted(lines: usize) -> Refusing {
        Refusing(Mutex::default(), lines, AtomicBool::default())
    }

    pub fn bytes(&self) -> usize {
        self.state().bytes
    }

    pub fn peak(&self) -> usize {
        self.state().peak
    }

    pub fn requests(&self) -> usize {
        self.state().requests
    }

    pub fn refused(&self) -> usize {
        self.state().refused
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn refuse(&self, refuses: Refuses) {
        let mut state = self.state();
        (state.refuses, state.requests) = (refuses, 0);
    }

    fn serve(&self, layout: Layout) -> Option<NonNull<u8>> {
        assert_ne!(layout.size(), 0);
        let (mut state, size) = (self.state(), layout.size());
        state.requests += 1;
        state.sizes.insert(size);
        let refused = match state.refuses {
            Refuses::Nothing => false,
            Refuses::Once(k) => state.requests == k,
            Refuses::From(k) => state.requests >= k,
            Refuses::Above(most) => size > most,
            Refuses::Beyond(limit) => state.bytes + size > limit,
        };
        if refused {
            state.refused += 1;
            return None;
        }
        let skip = 64 * (state.served * self.1 % (UNIT / 64));
        // SAFETY: the size is not 0, and the memory is as large as that.
        let p = unsafe {
            let p = NonNull::new(alloc(guarded(layout, skip)))?.add(skip);
            p.write_bytes(0xA5, size.min(FILLED));
            p.add(size).write_bytes(0xA5, GUARD);
            p
        };
        state.served += 1;
        state.bytes += size;
        state.peak = state.peak.max(state.bytes);
        state.out.insert(p.addr().get(), (layout, skip));
        Some(p)
    }

    /// # Safety
    /// Served with this layout, and not used any more.
    unsafe fn end(&self, p: NonNull<u8>, layout: Layout) {
        let mut state = self.state();
        let (was, skip) = state.out.remove(&p.addr().get()).expect("freed twice, or not of this memory");
        assert_eq!(was, layout, "freed with another layout");
        state.bytes -= layout.size();
        // SAFETY: allocated with this layout.
        unsafe {
            let guard = std::slice::from_raw_parts(p.add(layout.size()).as_ptr(), GUARD);
            assert!(guard.iter().all(|byte| *byte == 0xA5), "written behind the allocation");
            dealloc(p.sub(skip).as_ptr(), guarded(layout, skip));
        }
    }
}

fn guarded(layout: Layout, skip: usize) -> Layout {
    Layout::from_size_align(skip + layout.size() + GUARD, layout.align()).unwrap()
}

fn block(size: usize) -> Layout {
    assert!(size % 4096 == 0, "{size}");
    Layout::from_size_align(size, if size % UNIT == 0 { UNIT } else { 4096 }).unwrap()
}

// SAFETY: memory of the global allocator.
unsafe impl Memory for Refusing {
    fn allocate(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        self.serve(layout).ok_or(AllocError)
    }

    unsafe fn deallocate(&self, p: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller's contract.
        unsafe { self.end(p, layout) }
    }
}

// SAFETY: blocks of the global allocator, valid until they are returned.
unsafe impl Source for Refusing {
    fn take(&self, size: usize) -> Option<NonNull<u8>> {
        assert!(!self.2.swap(true, SeqCst), "two at a time");
        let p = self.serve(block(size));
        self.2.store(false, SeqCst);
        p
    }

    unsafe fn put(&self, p: NonNull<u8>, size: usize) {
        assert!(!self.2.swap(true, SeqCst), "two at a time");
        // SAFETY: the caller's contract.
        unsafe { self.end(p, block(size)) }
        self.2.store(false, SeqCst);
    }
}

impl Drop for Refusing {
    fn drop(&mut self) {
        assert!(std::thread::panicking() || self.bytes() == 0, "not all was returned");
    }
}

/// Calls `f` with memory that outlives the objects that borrow it, and verifies that all of it was returned.
pub fn with<R>(refuses: Refuses, f: impl FnOnce(&'static Refusing) -> R) -> R {
    let memory = Box::into_raw(Box::new(Refusing::new(refuses)));
    // SAFETY: the box is dropped below, when it is not borrowed any more.
    let result = f(unsafe { &*memory });
    // SAFETY: as above.
    drop(unsafe { Box::from_raw(memory) });
    result
}

/// A row of a table: an object that is made while there is memory, an operation that is called `times` times and returns
/// whether it was done, and the state that a refusal must not change.
pub fn each_refusal<O, S: PartialEq + Debug>(
    name: &str,
    times: usize,
    make: impl Fn(&'static Refusing) -> O,
    call: impl Fn(&mut O) -> bool,
    state: impl Fn(&O) -> S,
) {
    let mut failed = 0;
    let mut run = |refuses: Refuses| {
        with(refuses, |memory| {
            memory.refuse(Refuses::Nothing);
            let mut of = make(memory);
            memory.state().sizes.clear();
            memory.refuse(refuses);
            for time in 0..times {
                let (before, refused) = (state(&of), memory.refused());
                if call(&mut of) {
                    continue;
                }
                failed += 1;
                assert!(memory.refused() > refused, "{name}, {refuses:?}, call {time}: no request was refused");
                assert_eq!(state(&of), before, "{name}, {refuses:?}, call {time}: a refusal changed this");
                memory.refuse(Refuses::Nothing);
                assert!(call(&mut of), "{name}, {refuses:?}, call {time}: there is memory again");
            }
            drop(of);
            let state = memory.state();
            (state.refused != 0, state.sizes.clone())
        })
    };
    let (_, sizes) = run(Refuses::Nothing);
    sizes.iter().for_each(|size| _ = run(Refuses::Above(size - 1)));
    for k in 1.. {
        let [once, from] = [Refuses::Once(k), Refuses::From(k)].map(|refuses| run(refuses).0);
        if !once && !from {
            break;
        }
    }
    assert!(failed > 0, "{name}: nothing failed, so nothing was tested");
}
