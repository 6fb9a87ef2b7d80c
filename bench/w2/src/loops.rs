//! The loops: a batch is allocated, its addresses are recorded, and all is freed; this is repeated. Every contender
//! gets the same source, compiled for it alone. Each result is compared with null in the loop, and the last batch is
//! verified: alignment, overlaps, contents.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use crate::contender::{Batch, Contender, Handle, Pushed};
use std::alloc::Layout;
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::time::{Duration, Instant};

/// One sample.
pub struct Outcome {
    pub time: Duration,
    /// Nothing was null, and the last batch was correct.
    pub verified: bool,
    /// Page faults during the sample.
    pub faults: u64,
    pub bytes: Option<Bytes>,
    /// The time of the slowest thread, by its own clock.
    pub slowest: Option<Duration>,
}

impl Outcome {
    pub fn new(time: Duration, verified: bool, faults: u64) -> Outcome {
        Outcome { time, verified, faults, bytes: None, slowest: None }
    }
}

/// Requested and occupied bytes of a batch.
#[derive(Clone, Copy)]
pub struct Bytes {
    pub requested: usize,
    pub occupied: usize,
}

/// The use of an allocation.
pub const UNTOUCHED: u8 = 0;
/// Every byte is written.
pub const WRITTEN: u8 = 1;
/// Every word is read.
pub const READ: u8 = 2;

/// What the last batch must contain.
pub enum Content<'a> {
    Anything,
    /// The lowest byte of the repetition's number in every byte.
    Tag,
    Strings(&'a [&'a str]),
}

/// Prefetches the line of the next allocation, if the processor has an instruction for it.
#[inline(always)]
fn prefetch(at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint, which may name any address.
    unsafe {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        _mm_prefetch::<_MM_HINT_T0>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// Allocates one value, uses it, records its address.
#[inline(always)]
pub fn one<A: Contender, T: 'static, const USE: u8, const PREFETCH: bool>(
    handle: &mut A::Handle<'_>,
    slot: &mut *mut u8,
    tag: u8,
) -> bool {
    let data = handle.take::<T>();
    if data.is_null() {
        return false;
    }
    if PREFETCH {
        prefetch(if A::DOWN { data.wrapping_sub(1) } else { data.wrapping_add(1) }.cast());
    }
    match USE {
        // SAFETY: just allocated, of that size.
        WRITTEN => unsafe { data.cast::<u8>().write_bytes(tag, size_of::<T>()) },
        READ => {
            for i in 0..size_of::<T>() / 8 {
                // SAFETY: just allocated; its bytes are uninitialized, and the value is not used.
                unsafe { data.cast::<MaybeUninit<u64>>().add(i).read_volatile() };
            }
        }
        _ => (),
    }
    *slot = data.cast();
    true
}

/// Many values of one type.
#[inline(always)]
pub fn many<A: Contender, T: 'static, const USE: u8, const PREFETCH: bool>(
    handle: &mut A::Handle<'_>,
    slots: &mut [*mut u8],
    tag: u8,
) -> bool {
    slots.iter_mut().all(|slot| one::<A, T, USE, PREFETCH>(handle, slot, tag))
}

/// Allocates and writes ten values. `CHECK`: verifies them at once, since their memory may be freed soon.
#[inline(always)]
pub fn ten<H: Handle, T: 'static, const CHECK: bool>(handle: &mut H, slots: &mut [*mut u8; 10], tag: u8) -> bool {
    let taken = slots.iter_mut().all(|slot| {
        let data = handle.take::<T>();
        if data.is_null() {
            return false;
        }
        // SAFETY: just allocated, of that size.
        unsafe { data.cast::<u8>().write_bytes(tag, size_of::<T>()) };
        *slot = data.cast();
        true
    });
    taken && (!CHECK || is_correct(slots, |_| Layout::new::<T>(), Content::Tag, tag))
}

/// Slices of `LEN` times 64 B.
#[inline(always)]
pub fn slices<A: Contender, const LEN: usize, const USE: u8>(
    handle: &mut A::Handle<'_>,
    slots: &mut [*mut u8],
    tag: u8,
) -> bool {
    slots.iter_mut().all(|slot| {
        let data = handle.take_slice::<[u64; 8]>(LEN);
        if data.is_null() {
            return false;
        }
        if USE == WRITTEN {
            // SAFETY: just allocated, of that size.
            unsafe { data.cast::<u8>().write_bytes(tag, 64 * LEN) };
        }
        *slot = data.cast();
        true
    })
}

/// Further parameters of `repeat`.
#[derive(Clone, Copy)]
pub struct Times {
    pub repetitions: usize,
    /// Whether the last batch is kept, to be verified.
    pub keep: bool,
}

/// The loop that is timed. `ALLOCATOR`: the batch was allocated through the trait `Allocator`.
#[inline(never)]
pub fn repeat<A: Contender, const ALLOCATOR: bool>(
    arena: &mut A,
    slots: &mut [*mut u8],
    times: Times,
    layout_of: impl Fn(usize) -> Layout,
    fill: impl Fn(&mut A, &mut [*mut u8], u8) -> bool,
) -> bool {
    for i in 0..times.repetitions {
        if !fill(arena, slots, i as u8) {
            return false;
        }
        black_box(slots.as_mut_ptr());
        if times.keep && i + 1 == times.repetitions {
            break;
        }
        let taken = slots.iter().enumerate().map(|(i, &data)| (data, layout_of(i)));
        // SAFETY: just allocated, each once.
        unsafe {
            if ALLOCATOR {
                arena.reset_allocated(taken);
            } else {
                arena.reset(taken);
            }
        }
    }
    true
}

/// A sample of batches that one handle allocates.
pub fn measure<A: Contender, const ALLOCATOR: bool>(
    repetitions: usize,
    slots: &mut [*mut u8],
    batch: Batch,
    content: Content,
    layout_of: impl Fn(usize) -> Layout + Copy,
    fill: impl for<'a> Fn(A::Handle<'a>, &mut [*mut u8], u8) -> bool + Copy,
) -> Outcome {
    measure_whole::<A, ALLOCATOR>(
        repetitions,
        slots,
        batch,
        content,
        layout_of,
        #[inline(always)]
        |arena: &mut A, slots: &mut [*mut u8], tag| fill(arena.handle(), slots, tag),
    )
}

/// A sample: a new arena with capacity for the batch, two batches to warm up, then `repetitions` of them, a reset after
/// each.
pub fn measure_whole<A: Contender, const ALLOCATOR: bool>(
    repetitions: usize,
    slots: &mut [*mut u8],
    batch: Batch,
    content: Content,
    layout_of: impl Fn(usize) -> Layout + Copy,
    fill: impl Fn(&mut A, &mut [*mut u8], u8) -> bool + Copy,
) -> Outcome {
    let mut arena = A::with_batch(batch);
    let mut run = |repetitions, keep| {
        let before = (faults(), Instant::now());
        let good = repeat::<A, ALLOCATOR>(&mut arena, slots, Times { repetitions, keep }, layout_of, fill);
        (before.1.elapsed(), faults() - before.0, good)
    };
    let (_, _, warm) = run(2, false);
    let (time, faults, good) = if warm { run(repetitions, false) } else { (Duration::MAX, 0, false) };
    if !good || !run(2, true).2 {
        return Outcome::new(time, false, faults);
    }
    let verified = is_correct(slots, layout_of, content, 1);
    let bytes = Some(bytes_of::<A>(slots, layout_of));
    let taken = slots.iter().enumerate().map(|(i, &data)| (data, layout_of(i)));
    // SAFETY: the batch that was kept.
    unsafe {
        if ALLOCATOR {
            arena.reset_allocated(taken);
        } else {
            arena.reset(taken);
        }
    }
    Outcome { bytes, ..Outcome::new(time, verified, faults) }
}

/// A sample of lifetimes: a new arena, values of 64 B written, its end.
pub fn measure_lifetimes<A: Contender>(repetitions: usize, slots: &mut [*mut u8]) -> Outcome {
    type Value = [u64; 8];
    let batch = Batch { bytes: size_of_val(slots) / size_of::<*mut u8>() * 64, count: slots.len(), size: 64 };

    /// Returns the last one.
    #[inline(never)]
    fn repeat<A: Contender>(slots: &mut [*mut u8], batch: Batch, repetitions: usize) -> Option<A> {
        for i in 0..repetitions {
            let mut arena = A::new(batch);
            if !many::<A, Value, WRITTEN, false>(&mut arena.handle(), slots, i as u8) {
                return None;
            }
            black_box(slots.as_mut_ptr());
            if i + 1 == repetitions {
                return Some(arena);
            }
            // SAFETY: just allocated, each once.
            unsafe { arena.end(slots.iter().map(|&data| (data, Layout::new::<Value>()))) };
        }
        None
    }
    let end = |arena: A, slots: &[*mut u8]| {
        // SAFETY: the values that were kept.
        unsafe { arena.end(slots.iter().map(|&data| (data, Layout::new::<Value>()))) };
    };

    if let Some(arena) = repeat::<A>(slots, batch, 3) {
        end(arena, slots);
    }
    let before = (faults(), Instant::now());
    let last = repeat::<A>(slots, batch, repetitions);
    let Some(arena) = last else {
        return Outcome::new(Duration::MAX, false, 0);
    };
    // The last end is part of the time; the contents are verified in one more lifetime.
    end(arena, slots);
    let (time, faults) = (before.1.elapsed(), faults() - before.0);
    let Some(arena) = repeat::<A>(slots, batch, 2) else {
        return Outcome::new(time, false, faults);
    };
    let verified = is_correct(slots, |_| Layout::new::<Value>(), Content::Tag, 1);
    end(arena, slots);
    Outcome::new(time, verified, faults)
}

/// A sample of vectors or strings that grow from nothing. The result of `push` must hold `element` of each position.
pub fn measure_pushes<A: Contender, T: PartialEq + Copy>(
    repetitions: usize,
    count: u64,
    push: impl for<'a> Fn(&mut A::Handle<'a>, u64) -> Pushed<T> + Copy,
    element: fn(u64) -> T,
) -> Outcome {
    /// The outgrown memory of a vector that doubles, twice.
    const BYTES: usize = 1 << 20;
    let batch = Batch { bytes: BYTES, count: 1, size: BYTES };

    #[inline(never)]
    fn repeat<A: Contender, T>(
        arena: &mut A,
        repetitions: usize,
        count: u64,
        push: impl for<'a> Fn(&mut A::Handle<'a>, u64) -> Pushed<T>,
    ) -> bool {
        let mut good = true;
        for _ in 0..repetitions {
            let pushed = push(&mut arena.handle(), black_box(count));
            black_box(pushed.data);
            good &= pushed.len as u64 == count;
            let Ok(layout) = Layout::array::<T>(pushed.capacity) else { return false };
            // SAFETY: all live allocations.
            unsafe { arena.reset(std::iter::once((pushed.data.cast(), layout))) };
        }
        good
    }
    let mut arena = A::with_batch(batch);
    let warm = repeat(&mut arena, 2, count, push);
    let before = (faults(), Instant::now());
    let mut verified = warm && repeat(&mut arena, repetitions, count, push);
    let (time, faults) = (before.1.elapsed(), faults() - before.0);

    let mut handle = arena.handle();
    let first: *mut u64 = handle.take();
    let pushed = push(&mut handle, count);
    let last: *mut u64 = handle.take();
    drop(handle);
    // SAFETY: the vector is live, and initialized up to its length.
    let values = unsafe { std::slice::from_raw_parts(pushed.data, pushed.len) };
    verified &= values.iter().copied().eq((0..count).map(element));
    let requested = size_of_val(values);
    // SAFETY: it is live.
    let occupied = unsafe { A::occupied(pushed.data.cast()) }.or_else(|| {
        let between = (first as usize).abs_diff(last as usize);
        (A::ONE_BLOCK && between < BYTES).then(|| between - size_of::<u64>())
    });
    let vector = (pushed.data.cast(), Layout::array::<T>(pushed.capacity).unwrap_or(Layout::new::<u64>()));
    let word = Layout::new::<u64>();
    // SAFETY: all live allocations.
    unsafe { arena.reset([vector, (first.cast(), word), (last.cast(), word)].into_iter()) };
    let bytes = occupied.map(|occupied| Bytes { requested, occupied });
    Outcome { bytes, ..Outcome::new(time, verified, faults) }
}

pub fn is_correct(slots: &[*mut u8], layout_of: impl Fn(usize) -> Layout, content: Content, tag: u8) -> bool {
    let mut spans: Vec<(usize, usize)> = Vec::with_capacity(slots.len());
    for (i, &data) in slots.iter().enumerate() {
        let layout = layout_of(i);
        if data.addr() & (layout.align() - 1) != 0 {
            return false;
        }
        let holds = |expected: &dyn Fn(usize) -> u8| {
            // SAFETY: live, and written where it is read.
            (0..layout.size()).all(|at| unsafe { data.add(at).read() } == expected(at))
        };
        let right = match content {
            Content::Anything => true,
            Content::Tag => holds(&|_| tag),
            Content::Strings(texts) => holds(&|at| texts[i].as_bytes()[at]),
        };
        if !right {
            return false;
        }
        spans.push((data as usize, layout.size()));
    }
    spans.sort_unstable();
    spans.windows(2).all(|two| two[0].0 + two[0].1 <= two[1].0)
}

/// Heaps report their use. In an arena it is the distance from the lowest to the highest address, without gaps between
/// its blocks.
fn bytes_of<A: Contender>(slots: &[*mut u8], layout_of: impl Fn(usize) -> Layout) -> Bytes {
    const BETWEEN_BLOCKS: usize = 4096;
    let requested = (0..slots.len()).map(|i| layout_of(i).size()).sum();
    // SAFETY: the batch is live.
    let reported: Option<usize> = slots.iter().map(|&data| unsafe { A::occupied(data) }).sum();
    let occupied = reported.unwrap_or_else(|| {
        let mut spans: Vec<(usize, usize)> =
            slots.iter().enumerate().map(|(i, &data)| (data as usize, layout_of(i).size())).collect();
        spans.sort_unstable();
        let gaps = spans.windows(2).map(|two| two[1].0.saturating_sub(two[0].0 + two[0].1));
        requested + gaps.filter(|&gap| gap < BETWEEN_BLOCKS).sum::<usize>()
    });
    Bytes { requested, occupied }
}

/// Page faults of this process so far.
pub fn faults() -> u64 {
    // SAFETY: the system fills the structure.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        (usage.ru_minflt + usage.ru_majflt) as u64
    }
}
