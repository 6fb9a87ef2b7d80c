//! Bytes held between allocations: after frames have ended, by threads that still run. Each row is its own process.
//!
//! Bytes that an allocator reports are split into parts. `resident` is the growth of the process's memory, in pages,
//! after the threads were started; `malloc` is the C library's count of bytes in use.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use crate::contender::Handle;
use std::hint::black_box;
use std::ops::Add;
use std::sync::{Barrier, Mutex, PoisonError, RwLock};
use std::thread;

/// Bytes.
#[derive(Clone, Copy, Default)]
struct Parts {
    /// The block that contains the arena itself.
    home: usize,
    /// Blocks that the next frame fills first.
    kept: usize,
    /// Further blocks for later in the frame.
    spares: usize,
    /// Cached blocks of all threads for their next arenas, including the thread that ends the frames.
    cache: usize,
}

impl Add for Parts {
    type Output = Parts;
    fn add(self, more: Parts) -> Parts {
        Parts {
            home: self.home + more.home,
            kept: self.kept + more.kept,
            spares: self.spares + more.spares,
            cache: self.cache + more.cache,
        }
    }
}

impl Parts {
    fn sum(&self) -> usize {
        self.home + self.kept + self.spares + self.cache
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Frame {
    None,
    One,
    Physics,
}

/// The number of threads, the number and kind of frames of each, and whether they have ended.
struct Case {
    name: &'static str,
    threads: usize,
    frame: Frame,
    frames: usize,
    ended: bool,
}

const CASES: [Case; 8] = [
    Case { name: "held, idle", threads: 1, frame: Frame::None, frames: 1, ended: false },
    Case { name: "held, one value", threads: 1, frame: Frame::One, frames: 1, ended: false },
    Case { name: "held, physics", threads: 1, frame: Frame::Physics, frames: 1, ended: false },
    Case { name: "held, physics for long", threads: 1, frame: Frame::Physics, frames: 10, ended: false },
    Case { name: "held, one value x16", threads: 16, frame: Frame::One, frames: 1, ended: false },
    Case { name: "held, physics x16", threads: 16, frame: Frame::Physics, frames: 1, ended: false },
    Case { name: "held, physics for long x16", threads: 16, frame: Frame::Physics, frames: 10, ended: false },
    Case { name: "held, 16 ended", threads: 16, frame: Frame::Physics, frames: 10, ended: true },
];

/// The maximum of allocations in a frame.
const MOST: usize = 800;

/// Allocates the frame and writes it. Addresses are recorded for allocators that free individually.
fn take<H: Handle>(handle: &mut H, frame: Frame, slots: &mut [*mut u8; MOST]) -> usize {
    let mut count = 0;
    let mut put = |data: *mut u8, size: usize| {
        assert!(!data.is_null(), "no memory");
        // SAFETY: just allocated, of that size.
        unsafe { data.write_bytes(1, size) };
        slots[count] = data;
        count += 1;
    };
    match frame {
        Frame::None => (),
        Frame::One => put(handle.take::<[u64; 8]>().cast(), 64),
        Frame::Physics => {
            (0..500).for_each(|_| put(handle.take::<[u64; 12]>().cast(), 96));
            (0..100).for_each(|_| put(handle.take::<[u64; 33]>().cast(), 264));
            (0..200).for_each(|_| put(handle.take::<[u64; 13]>().cast(), 104));
        }
    }
    count
}

/// The owner of the memory. Threads share it; `Own` is the part of each thread.
trait Holder: Send + Sync + Sized {
    const NAME: &'static str;
    type Own;
    fn new() -> Self;
    fn own(&self) -> Self::Own;
    /// A frame of this thread, ended as far as the thread itself ends it.
    fn frame(&self, own: &mut Self::Own, frame: Frame, slots: &mut [*mut u8; MOST]);
    /// The end of the frame for all.
    fn advance(&mut self) {}
    /// Bytes that this thread holds; called on it. `None`: not reported.
    fn parts(&self, own: &Self::Own) -> Option<Parts>;
    /// The other bytes that are held; called on the thread that ends the frames. `ended`: no other thread is left.
    fn parts_at_end(&mut self, ended: bool) -> Option<Parts>;
}

#[cfg(feature = "toft")]
mod of_toft {
    use super::{take, Add, Frame, Holder, Parts, MOST};
    use toft::{cache, Arena, Frames, Leases};

    fn parts_of(arena: &Arena) -> Parts {
        let mut parts = Parts::default();
        let head: *const u8 = arena.as_raw().as_ptr().cast();
        for block in arena.blocks() {
            if (block.base..block.base.wrapping_add(block.size)).contains(&head) {
                parts.home += block.size;
            } else if block.spare {
                parts.spares += block.size;
            } else {
                parts.kept += block.size;
            }
        }
        parts
    }

    pub struct InFrames(Frames);

    impl Holder for InFrames {
        const NAME: &'static str = "toft frames";
        type Own = bool;
        fn new() -> Self {
            InFrames(Frames::new())
        }
        fn own(&self) -> bool {
            false
        }
        fn frame(&self, own: &mut bool, frame: Frame, slots: &mut [*mut u8; MOST]) {
            if frame != Frame::None {
                take(&mut self.0.here(), frame, slots);
                *own = true;
            }
        }
        fn advance(&mut self) {
            self.0.advance();
        }
        fn parts(&self, own: &bool) -> Option<Parts> {
            // A lookup on a thread without an arena would make one.
            let arena = if *own { parts_of(self.0.here()) } else { Parts::default() };
            Some(Parts { cache: cache::held(), ..arena })
        }
        fn parts_at_end(&mut self, ended: bool) -> Option<Parts> {
            let here = Parts { cache: cache::held(), ..Parts::default() };
            let arenas = self.0.arenas().map(parts_of);
            Some(if ended { arenas.fold(here, Parts::add) } else { here })
        }
    }

    /// Each frame is a lease: idle arenas belong to no thread.
    pub struct InLeases(Leases);

    impl Holder for InLeases {
        const NAME: &'static str = "toft leases";
        type Own = ();
        fn new() -> Self {
            InLeases(Leases::new())
        }
        fn own(&self) {}
        fn frame(&self, _own: &mut (), frame: Frame, slots: &mut [*mut u8; MOST]) {
            if frame != Frame::None {
                take(&mut &*self.0.get(), frame, slots);
            }
        }
        fn parts(&self, _own: &()) -> Option<Parts> {
            Some(Parts { cache: cache::held(), ..Parts::default() })
        }
        fn parts_at_end(&mut self, _ended: bool) -> Option<Parts> {
            Some(Parts { kept: self.0.held(), cache: cache::held(), ..Parts::default() })
        }
    }

    pub struct Arenas;

    impl Holder for Arenas {
        const NAME: &'static str = "toft";
        type Own = Option<Arena>;
        fn new() -> Self {
            Arenas
        }
        fn own(&self) -> Option<Arena> {
            None
        }
        fn frame(&self, own: &mut Option<Arena>, frame: Frame, slots: &mut [*mut u8; MOST]) {
            if frame != Frame::None {
                let arena = own.get_or_insert_with(Arena::new);
                take(&mut &*arena, frame, slots);
                arena.reset();
            }
        }
        fn parts(&self, own: &Option<Arena>) -> Option<Parts> {
            let arena = own.as_ref().map(parts_of).unwrap_or_default();
            Some(Parts { cache: cache::held(), ..arena })
        }
        fn parts_at_end(&mut self, _ended: bool) -> Option<Parts> {
            Some(Parts { cache: cache::held(), ..Parts::default() })
        }
    }
}

#[cfg(feature = "bumpalo")]
mod of_bumpalo {
    use super::{take, Frame, Holder, Parts, MOST};
    use bumpalo::Bump;

    pub struct Bumps;

    impl Holder for Bumps {
        const NAME: &'static str = "bumpalo";
        type Own = Option<Bump>;
        fn new() -> Self {
            Bumps
        }
        fn own(&self) -> Option<Bump> {
            None
        }
        fn frame(&self, own: &mut Option<Bump>, frame: Frame, slots: &mut [*mut u8; MOST]) {
            if frame != Frame::None {
                let bump = own.get_or_insert_with(Bump::new);
                take(&mut &*bump, frame, slots);
                bump.reset();
            }
        }
        fn parts(&self, own: &Option<Bump>) -> Option<Parts> {
            let kept = own.as_ref().map_or(0, Bump::allocated_bytes_including_metadata);
            Some(Parts { kept, ..Parts::default() })
        }
        fn parts_at_end(&mut self, _ended: bool) -> Option<Parts> {
            Some(Parts::default())
        }
    }
}

/// The C library's heap.
struct Malloc;

impl Holder for Malloc {
    const NAME: &'static str = "malloc";
    type Own = ();
    fn new() -> Self {
        Malloc
    }
    fn own(&self) {}
    fn frame(&self, _own: &mut (), frame: Frame, slots: &mut [*mut u8; MOST]) {
        use crate::contender::{Batch, Contender};
        use std::alloc::Layout;
        type Heap = crate::heap::Heap<crate::glibc::Glibc>;
        let mut heap = Heap::new(Batch { bytes: 0, count: 0, size: 0 });
        let count = take(&mut heap.handle(), frame, slots);
        // SAFETY: just allocated, each once; free() needs no layout.
        unsafe { heap.reset(slots[..count].iter().map(|&data| (data, Layout::new::<u64>()))) };
    }
    fn parts(&self, _own: &()) -> Option<Parts> {
        None
    }
    fn parts_at_end(&mut self, _ended: bool) -> Option<Parts> {
        None
    }
}

/// Resident anonymous pages of this process, in bytes; counted, since `statm` is approximate.
fn resident() -> usize {
    let rollup = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap_or_default();
    let line = rollup.lines().find_map(|line| line.strip_prefix("Anonymous:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<usize>().ok()).map_or(0, |kib| kib << 10)
}

/// Bytes in use according to the C library.
fn malloc_in_use() -> usize {
    // SAFETY: reads statistics.
    let info = unsafe { libc::mallinfo2() };
    info.uordblks + info.hblkhd
}

fn bytes() -> (usize, usize) {
    (resident(), malloc_in_use())
}

fn row<H: Holder>(case: &Case) -> String {
    let holder = RwLock::new(H::new());
    let read = || holder.read().unwrap_or_else(PoisonError::into_inner);
    let write = || holder.write().unwrap_or_else(PoisonError::into_inner);
    let barrier = Barrier::new(case.threads + 1);
    let all = Mutex::new((Some(Parts::default()), 0));
    black_box(bytes()); // the first call allocates
    let before_all = bytes();
    let thread = || {
        drop(black_box(Box::new(0u64))); // the heap now has its structures for this thread
        let mut own = read().own();
        let mut slots = [std::ptr::null_mut(); MOST];
        black_box(&mut slots);
        barrier.wait();
        for _ in 0..case.frames {
            barrier.wait();
            read().frame(&mut own, case.frame, &mut slots);
            barrier.wait();
        }
        barrier.wait(); // bytes have been read
        let parts = read().parts(&own);
        let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
        all.0 = all.0.zip(parts).map(|(sum, parts)| sum + parts);
        all.1 += 1;
    };
    let (before, mut after) = thread::scope(|scope| {
        for _ in 0..case.threads {
            scope.spawn(thread);
        }
        barrier.wait();
        let before = bytes();
        for _ in 0..case.frames {
            barrier.wait();
            barrier.wait();
            write().advance();
        }
        let after = bytes();
        barrier.wait();
        (before, after)
    });
    let (theirs, reported) = all.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut parts = write().parts_at_end(case.ended);
    let mut before = before;
    if case.ended {
        (before, after) = (before_all, bytes());
    } else {
        parts = parts.zip(theirs).map(|(mine, theirs)| mine + theirs);
    }
    let (resident, malloc) = (after.0 as isize - before.0 as isize, after.1 as isize - before.1 as isize);
    let median = parts.map_or(String::from("null"), |parts| parts.sum().to_string());
    let mut more = String::new();
    if let Some(Parts { home, kept, spares, cache }) = parts {
        more = format!(r#","home":{home},"kept":{kept},"spares":{spares},"cache":{cache}"#);
    }
    let (name, contender, threads, verified) = (case.name, H::NAME, case.threads, reported == case.threads);
    let names = format!(r#""workload":"W2","case":"{name}","contender":"{contender}","language":"Rust","unit":"B""#);
    let numbers = format!(r#""median":{median},"min":{median},"max":{median},"rounds":1,"n":{threads}"#);
    format!(r#"{{{names},{numbers},"verified":{verified},"resident":{resident},"in_use":{malloc}{more}}}"#)
}

/// A row that is measured in its own process.
pub struct Held {
    pub case: &'static str,
    pub contender: &'static str,
    /// Measures the row, and returns it as JSON.
    pub row: Box<dyn Fn() -> String>,
}

fn rows<H: Holder>() -> impl Iterator<Item = Held> {
    CASES.iter().map(|case| Held { case: case.name, contender: H::NAME, row: Box::new(move || row::<H>(case)) })
}

/// All rows.
pub fn all() -> Vec<Held> {
    let mut all: Vec<Held> = Vec::new();
    #[cfg(feature = "toft")]
    all.extend(rows::<of_toft::InFrames>().chain(rows::<of_toft::Arenas>()).chain(rows::<of_toft::InLeases>()));
    #[cfg(feature = "bumpalo")]
    all.extend(rows::<of_bumpalo::Bumps>());
    all.extend(rows::<Malloc>());
    all
}
