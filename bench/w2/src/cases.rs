//! The rows of W2, each instantiated for each contender. An operation is one allocation, with its share of the reset.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use crate::contender::{letter, Batch, Contender, Handle, Need};
use crate::identifiers::IDENTIFIERS;
use crate::loops::{
    many, measure, measure_lifetimes, measure_pushes, measure_whole, one, slices, Content, Outcome, READ, UNTOUCHED,
    WRITTEN,
};
use std::alloc::Layout;
use std::hint::black_box;

/// Runs a sample with this number of batches. The vector is reused for addresses.
pub type Run = fn(usize, &mut Vec<*mut u8>) -> Outcome;

pub struct Entry {
    pub case: &'static str,
    pub contender: &'static str,
    /// Operations in a batch.
    pub operations: usize,
    /// Whether it is measured in its own process, so that other rows do not shape its heap.
    pub alone: bool,
    /// Whether the row includes requested and occupied bytes.
    pub weighs: bool,
    /// Factor of the duration of a sample.
    pub long: u32,
    /// The measurement, or the reason why the contender cannot do it.
    pub run: Result<Run, &'static str>,
}

/// Additional bytes of a batch: a block's header, and alignment at its ends.
const SPARE: usize = 8192;

pub fn batch_of(count: usize, layout_of: impl Fn(usize) -> Layout) -> Batch {
    let bytes: usize = (0..count).map(|i| layout_of(i).size() + layout_of(i).align()).sum();
    Batch { bytes: bytes + SPARE, count, size: layout_of(0).size() }
}

pub fn slots(place: &mut Vec<*mut u8>, count: usize) -> &mut [*mut u8] {
    if place.len() < count {
        place.resize(count, std::ptr::null_mut());
    }
    &mut place[..count]
}

fn content_of<'a>(usage: u8) -> Content<'a> {
    if usage == WRITTEN {
        Content::Tag
    } else {
        Content::Anything
    }
}

/// `N` values of one type.
pub fn values<A: Contender, T: 'static, const N: usize, const USE: u8, const PREFETCH: bool>(
    repetitions: usize,
    place: &mut Vec<*mut u8>,
) -> Outcome {
    let layout_of = |_| Layout::new::<T>();
    let slots = slots(place, N);
    measure::<A, false>(
        repetitions,
        slots,
        batch_of(N, layout_of),
        content_of(USE),
        layout_of,
        |mut handle, slots, tag| many::<A, T, USE, PREFETCH>(&mut handle, slots, tag),
    )
}

/// Four values of 64 B in a loop body.
fn by_four<A: Contender, const N: usize>(repetitions: usize, place: &mut Vec<*mut u8>) -> Outcome {
    type Value = [u64; 8];
    let layout_of = |_| Layout::new::<Value>();
    let slots = slots(place, N);
    measure::<A, false>(
        repetitions,
        slots,
        batch_of(N, layout_of),
        Content::Anything,
        layout_of,
        |mut handle, slots, tag| {
            slots.chunks_exact_mut(4).all(|four| {
                one::<A, Value, UNTOUCHED, false>(&mut handle, &mut four[0], tag)
                    && one::<A, Value, UNTOUCHED, false>(&mut handle, &mut four[1], tag)
                    && one::<A, Value, UNTOUCHED, false>(&mut handle, &mut four[2], tag)
                    && one::<A, Value, UNTOUCHED, false>(&mut handle, &mut four[3], tag)
            })
        },
    )
}

/// `N` slices of `LEN` times 64 B.
fn slices_of<A: Contender, const LEN: usize, const N: usize, const USE: u8>(
    repetitions: usize,
    place: &mut Vec<*mut u8>,
) -> Outcome {
    let layout_of = |_| Layout::new::<[[u64; 8]; LEN]>();
    let slots = slots(place, N);
    measure::<A, false>(
        repetitions,
        slots,
        batch_of(N, layout_of),
        content_of(USE),
        layout_of,
        |mut handle, slots, tag| slices::<A, LEN, USE>(&mut handle, slots, tag),
    )
}

/// A few types with many values each: `$words` of 8 B, `$count` times, ...
macro_rules! mix {
    ($name:ident, $($words:literal x $count:literal),+) => {
        pub fn $name<A: Contender, const USE: u8>(repetitions: usize, place: &mut Vec<*mut u8>) -> Outcome {
            let layout_of = |at: usize| {
                let mut end = 0;
                $(
                    end += $count;
                    if at < end {
                        return Layout::new::<[u64; $words]>();
                    }
                )+
                unreachable!()
            };
            let count = 0 $(+ $count)+;
            let slots = slots(place, count);
            let batch = batch_of(count, layout_of);
            measure::<A, false>(repetitions, slots, batch, content_of(USE), layout_of, |mut handle, slots, tag| {
                let rest = slots;
                $(
                    let (part, rest) = rest.split_at_mut($count);
                    if !many::<A, [u64; $words], USE, false>(&mut handle, part, tag) {
                        return false;
                    }
                )+
                rest.is_empty()
            })
        }
    };
}
mix!(physics, 12 x 500, 33 x 100, 13 x 200);
mix!(render, 3 x 2000, 4 x 5500);
mix!(ui, 10 x 100, 20 x 60, 45 x 40);

/// 7, 31 and 63 B at alignments 1, 8, 16 and 64, in all combinations.
const SIZES: [usize; 3] = [7, 31, 63];
const ALIGNS: [usize; 4] = [1, 8, 16, 64];
const ALIGNED: usize = 996;

#[repr(C)]
struct At1<const N: usize>([u8; N]);
#[repr(C, align(8))]
struct At8<const N: usize>([u8; N]);
#[repr(C, align(16))]
struct At16<const N: usize>([u8; N]);
#[repr(C, align(64))]
struct At64<const N: usize>([u8; N]);

/// As types, whose size is a multiple of their alignment.
fn aligned_types<A: Contender>(repetitions: usize, place: &mut Vec<*mut u8>) -> Outcome {
    let layout_of = |i: usize| {
        // SAFETY: a size of at most 64 and a power of two.
        unsafe { Layout::from_size_align_unchecked(SIZES[i % 3], ALIGNS[i % 4]) }.pad_to_align()
    };
    let (slots, batch) = (slots(place, ALIGNED), batch_of(ALIGNED, layout_of));
    measure::<A, false>(repetitions, slots, batch, Content::Anything, layout_of, |mut handle, slots, tag| {
        macro_rules! twelve {
            ($slots:ident: $($at:literal $type:ty),+) => {
                true $(&& one::<A, $type, UNTOUCHED, false>(&mut handle, &mut $slots[$at], tag))+
            };
        }
        slots.chunks_exact_mut(12).all(|s| {
            twelve!(s: 0 At1<7>, 1 At8<31>, 2 At16<63>, 3 At64<7>, 4 At1<31>, 5 At8<63>, 6 At16<7>, 7 At64<31>,
                    8 At1<63>, 9 At8<7>, 10 At16<31>, 11 At64<63>)
        })
    })
}

/// As layouts that are unknown at compile time.
fn aligned_layouts<A: Contender>(repetitions: usize, place: &mut Vec<*mut u8>) -> Outcome {
    let layouts: Vec<Layout> =
        (0..ALIGNED).map(|i| Layout::from_size_align(SIZES[i % 3], ALIGNS[i % 4]).expect("a small layout")).collect();
    by_layout::<A, false>(repetitions, place, &black_box(layouts))
}

/// 1 to 128 B, mostly small, at alignments 1 to 16, through the trait `Allocator`.
fn allocator<A: Contender, const N: usize>(repetitions: usize, place: &mut Vec<*mut u8>) -> Outcome {
    let mut state = 12345u32;
    let mut next = |below: u32| {
        state = state.wrapping_mul(1664525).wrapping_add(1013904223);
        (state >> 16) % below
    };
    let layouts: Vec<Layout> = (0..N)
        .map(|_| {
            let most = [16, 32, 64, 128][next(4) as usize];
            let (size, align) = (1 + next(most), 1 << next(5));
            Layout::from_size_align(size as usize, align).expect("a small layout")
        })
        .collect();
    by_layout::<A, true>(repetitions, place, &black_box(layouts))
}

fn by_layout<A: Contender, const ALLOCATOR: bool>(
    repetitions: usize,
    place: &mut Vec<*mut u8>,
    layouts: &[Layout],
) -> Outcome {
    let layout_of = |i: usize| layouts[i];
    let (slots, batch) = (slots(place, layouts.len()), batch_of(layouts.len(), layout_of));
    measure::<A, ALLOCATOR>(repetitions, slots, batch, Content::Anything, layout_of, |mut handle, slots, _| {
        slots.iter_mut().zip(layouts).all(|(slot, &layout)| {
            *slot = if ALLOCATOR { handle.allocate(layout) } else { handle.take_layout(layout) };
            !slot.is_null()
        })
    })
}

/// Copies of names.
fn strings<A: Contender>(repetitions: usize, place: &mut Vec<*mut u8>) -> Outcome {
    let texts: &[&str] = black_box(&IDENTIFIERS);
    // SAFETY: the length of a string, and a valid alignment.
    let layout_of = |i: usize| unsafe { Layout::from_size_align_unchecked(texts[i].len(), 1) };
    let batch = batch_of(texts.len(), |i| Layout::from_size_align(texts[i].len(), 8).expect("a short string"));
    let slots = slots(place, texts.len());
    measure::<A, false>(repetitions, slots, batch, Content::Strings(texts), layout_of, |mut handle, slots, _| {
        slots.iter_mut().zip(texts).all(|(slot, text)| {
            *slot = handle.take_str(text);
            !slot.is_null()
        })
    })
}

/// No allocation: the cost of a frame itself.
fn empty<A: Contender>(repetitions: usize, place: &mut Vec<*mut u8>) -> Outcome {
    let layout_of = |_| Layout::new::<u64>();
    let batch = batch_of(1, layout_of);
    let no_slots = slots(place, 0);
    measure::<A, false>(repetitions, no_slots, batch, Content::Anything, layout_of, |mut handle, _, _| {
        black_box(&mut handle); // keeps the call in the loop
        true
    })
}

/// A value, and nested frames.
fn nested<A: Contender, const N: usize>(repetitions: usize, place: &mut Vec<*mut u8>) -> Outcome {
    let layout_of = |_| Layout::new::<[u64; 8]>();
    let (slots, batch) = (slots(place, 1), batch_of(11, layout_of));
    let run = |repetitions, slots: &mut [*mut u8]| {
        measure_whole::<A, false>(repetitions, slots, batch, Content::Tag, layout_of, |arena: &mut A, slots, tag| {
            let mut inner = [std::ptr::null_mut(); 10];
            let good = one::<A, [u64; 8], WRITTEN, false>(&mut arena.handle(), &mut slots[0], tag)
                && (0..N).all(|_| {
                    let good = arena.nested::<false>(&mut inner, tag);
                    black_box(inner.as_mut_ptr());
                    good
                });
            good
        })
    };
    let outcome = run(repetitions, slots);
    let checked = measure_whole::<A, false>(
        2,
        slots,
        batch,
        Content::Tag,
        layout_of,
        |arena: &mut A, slots: &mut [*mut u8], tag| {
            let mut inner = [std::ptr::null_mut(); 10];
            one::<A, [u64; 8], WRITTEN, false>(&mut arena.handle(), &mut slots[0], tag)
                && (0..N).all(|_| arena.nested::<true>(&mut inner, !tag))
        },
    );
    Outcome { verified: outcome.verified && checked.verified, ..outcome }
}

/// 64 B, with a lookup of the thread's arena for each.
fn here<A: Contender, const N: usize>(repetitions: usize, place: &mut Vec<*mut u8>) -> Outcome {
    type Value = [u64; 8];
    let layout_of = |_| Layout::new::<Value>();
    let (slots, batch) = (slots(place, N), batch_of(N, layout_of));
    measure_whole::<A, false>(
        repetitions,
        slots,
        batch,
        Content::Anything,
        layout_of,
        |arena: &mut A, slots: &mut [*mut u8], _| {
            slots.iter_mut().all(|slot| {
                *slot = arena.here::<Value>().cast();
                !slot.is_null()
            })
        },
    )
}

const PUSHES: usize = 10_000;

fn pushes<A: Contender>(repetitions: usize, _place: &mut Vec<*mut u8>) -> Outcome {
    measure_pushes::<A, u64>(repetitions, PUSHES as u64, |handle, count| handle.push_all(count), |i| i)
}

fn letters<A: Contender>(repetitions: usize, _place: &mut Vec<*mut u8>) -> Outcome {
    measure_pushes::<A, u8>(repetitions, PUSHES as u64, |handle, count| handle.push_text(count), letter)
}

fn lifetimes<A: Contender, const N: usize>(repetitions: usize, place: &mut Vec<*mut u8>) -> Outcome {
    measure_lifetimes::<A>(repetitions, slots(place, N))
}

/// The rows of one contender.
struct Rows(Vec<Entry>);

impl Rows {
    fn add<A: Contender>(&mut self, case: &'static str, operations: usize, need: Need, run: Run) {
        self.add_unless::<A>(case, operations, A::lacks(need), run);
        let entry = self.0.last_mut().expect("just added");
        entry.alone = need == Need::Lifetime;
        entry.weighs = matches!(need, Need::Str | Need::Layout | Need::Vec) || case == "aligned types";
    }

    fn add_unless<A: Contender>(
        &mut self,
        case: &'static str,
        operations: usize,
        lacks: Option<&'static str>,
        run: Run,
    ) {
        let run = lacks.map_or(Ok(run), Err);
        self.0.push(Entry { case, contender: A::NAME, operations, alone: false, weighs: false, long: 1, run });
    }
}

use Need::{Allocator, Lifetime, Mixed, Slice, Str, Typed};
const U: u8 = UNTOUCHED;
const W: u8 = WRITTEN;

/// All rows of one contender, in the order of the tables.
pub fn entries<A: Contender>() -> Vec<Entry> {
    let mut rows = Rows(Vec::new());
    let mut add = |case, operations, need, run| rows.add::<A>(case, operations, need, run);
    add("64 B", 1000, Typed, values::<A, [u64; 8], 1000, U, false>);
    add("256 B", 1000, Typed, values::<A, [u64; 32], 1000, U, false>);
    add("1 KB", 256, Typed, values::<A, [u64; 128], 256, U, false>);
    add("4 KB", 64, Typed, values::<A, [u64; 512], 64, U, false>);
    add("64 KB", 16, Typed, values::<A, [u64; 8192], 16, U, false>);
    add("64 B written", 1000, Typed, values::<A, [u64; 8], 1000, W, false>);
    add("256 B written", 1000, Typed, values::<A, [u64; 32], 1000, W, false>);
    add("1 KB written", 256, Typed, values::<A, [u64; 128], 256, W, false>);
    add("4 KB written", 64, Typed, values::<A, [u64; 512], 64, W, false>);
    add("64 KB written", 4, Typed, values::<A, [u64; 8192], 4, W, false>);
    add("hot by four", 1000, Typed, by_four::<A, 1000>);

    add("slice", 1, Slice, slices_of::<A, 1000, 1, U>);
    add("slice written", 1, Slice, slices_of::<A, 1000, 1, W>);
    add("arrays", 125, Slice, slices_of::<A, 8, 125, U>);
    add("arrays written", 125, Slice, slices_of::<A, 8, 125, W>);

    add_frames::<A>(&mut rows);

    let mut add = |case, operations, need, run| rows.add::<A>(case, operations, need, run);
    add("take", 1000, Typed, values::<A, [u64; 32], 1000, U, false>);
    add("take write", 1000, Typed, values::<A, [u64; 32], 1000, W, false>);
    add("take read", 1000, Typed, values::<A, [u64; 32], 1000, READ, false>);
    if cfg!(target_arch = "x86_64") {
        add("prefetch", 1000, Typed, values::<A, [u64; 32], 1000, U, true>);
        add("prefetch write", 1000, Typed, values::<A, [u64; 32], 1000, W, true>);
        add("prefetch read", 1000, Typed, values::<A, [u64; 32], 1000, READ, true>);
    }

    add("aligned types", ALIGNED, Mixed, aligned_types::<A>);
    add("aligned layouts", ALIGNED, Need::Layout, aligned_layouts::<A>);
    add("strings", IDENTIFIERS.len(), Str, strings::<A>);
    add("Allocator", 1000, Allocator, allocator::<A, 1000>);
    add("vec push", PUSHES, Need::Vec, pushes::<A>);
    rows.add_unless::<A>("string push", PUSHES, A::LACKS_TEXT, letters::<A>);

    let mut add = |case, operations, need, run| rows.add::<A>(case, operations, need, run);
    add("life of 1", 1, Lifetime, lifetimes::<A, 1>);
    add("life of 100", 100, Lifetime, lifetimes::<A, 100>);
    add("life of 10,000", 10_000, Lifetime, lifetimes::<A, 10_000>);
    add("life of 1 MiB", 1 << 14, Lifetime, lifetimes::<A, { 1 << 14 }>);
    add("life of 9 MiB", 9 << 14, Lifetime, lifetimes::<A, { 9 << 14 }>);
    add("life of 60 MiB", 60 << 14, Lifetime, lifetimes::<A, { 60 << 14 }>);
    rows.0
}

fn add_frames<A: Contender>(rows: &mut Rows) {
    let mut add = |case, operations, need, run| rows.add::<A>(case, operations, need, run);
    add("batch", 1000, Typed, values::<A, [u64; 8], 1000, U, false>);
    add("batch written", 1000, Typed, values::<A, [u64; 8], 1000, W, false>);
    add("physics", 800, Mixed, physics::<A, U>);
    add("physics written", 800, Mixed, physics::<A, W>);
    add("UI", 200, Mixed, ui::<A, U>);
    add("UI written", 200, Mixed, ui::<A, W>);
    add("particles 64", 10_000, Typed, values::<A, [u64; 8], 10_000, U, false>);
    add("particles 64 written", 10_000, Typed, values::<A, [u64; 8], 10_000, W, false>);
    add("particles 48", 50_000, Typed, values::<A, [u64; 6], 50_000, U, false>);
    add("particles 48 written", 50_000, Typed, values::<A, [u64; 6], 50_000, W, false>);
    add("render", 7500, Mixed, render::<A, U>);
    add("render written", 7500, Mixed, render::<A, W>);
    add("16 B", 100_000, Typed, values::<A, [u64; 2], 100_000, U, false>);
    add("16 B written", 100_000, Typed, values::<A, [u64; 2], 100_000, W, false>);
    rows.add_unless::<A>("empty frame", 1, A::LACKS_EMPTY, empty::<A>);
    rows.add_unless::<A>("nested frame", 100, A::LACKS_NESTED, nested::<A, 100>);
    rows.add_unless::<A>("here", 1000, A::LACKS_HERE, here::<A, 1000>);
}

/// The rows of frames only: other rows are those of their arenas.
pub fn entries_of_frames<A: Contender>() -> Vec<Entry> {
    let mut rows = Rows(Vec::new());
    add_frames::<A>(&mut rows);
    rows.0
}
