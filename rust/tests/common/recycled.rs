//! A model of a recycler's objects and their contents, which detects overlaps, lost bytes and wrong statistics.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![allow(dead_code)]

use std::alloc::Layout;
use std::ptr::NonNull;

use toft::{AllocError, Recycler, RecyclerStats, Source, SyncRecycler};

/// Operations of both kinds of recycler.
pub trait Recycling {
    fn get(&self, layout: Layout) -> Result<NonNull<u8>, AllocError>;
    /// # Safety
    /// As the recycler's function.
    unsafe fn give(&self, p: NonNull<u8>, layout: Layout);
    /// # Safety
    /// As the recycler's function.
    unsafe fn change(&self, p: NonNull<u8>, old: Layout, new: Layout) -> Result<NonNull<u8>, AllocError>;
    fn shrink(&self, keep: usize);
    fn numbers(&self) -> RecyclerStats;
}

macro_rules! recycling {
    ($name:ident) => {
        impl<S: Source> Recycling for $name<S> {
            fn get(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
                self.try_alloc_layout(layout)
            }
            unsafe fn give(&self, p: NonNull<u8>, layout: Layout) {
                // SAFETY: the caller's contract.
                unsafe { self.deallocate(p, layout) }
            }
            unsafe fn change(&self, p: NonNull<u8>, old: Layout, new: Layout) -> Result<NonNull<u8>, AllocError> {
                // SAFETY: the caller's contract.
                unsafe { self.reallocate(p, old, new) }
            }
            fn shrink(&self, keep: usize) {
                self.trim(keep);
            }
            fn numbers(&self) -> RecyclerStats {
                self.stats()
            }
        }
    };
}
recycling!(Recycler);
recycling!(SyncRecycler);

/// An object, written from its first byte to its last.
pub struct Object {
    p: NonNull<u8>,
    pub layout: Layout,
    seed: u8,
    /// The bytes that the recycler counts for it.
    pub taken: u64,
}

// SAFETY: the object owns its memory.
unsafe impl Send for Object {}

/// The pattern that is written, 256 bytes at a time, so that debug builds are not dominated by the loop.
static PATTERN: [u8; 512] = {
    let mut pattern = [0; 512];
    let mut i = 0;
    while i < 512 {
        pattern[i] = (i as u8).wrapping_mul(7) ^ (i as u8 >> 3);
        i += 1;
    }
    pattern
};

fn pattern(seed: u8, chunk: usize, n: usize) -> &'static [u8] {
    let start = (seed as usize + 13 * chunk) % 256;
    &PATTERN[start..start + n]
}

/// The parts of a unit that larger objects take.
const PARTS: [usize; 6] = [4592, 5360, 6448, 8048, 10736, 16112];

fn is_small(layout: Layout) -> bool {
    let size = layout.size().next_multiple_of(layout.align());
    layout.align() <= 4096 && size <= if layout.align() <= 16 { PARTS[5] } else { 4096 }
}

/// The bytes that a recycler counts for a new object.
fn taken(layout: Layout) -> u64 {
    let size = layout.size().max(1).next_multiple_of(8);
    if !is_small(layout) {
        return size as u64;
    }
    let size = size.next_multiple_of(layout.align());
    let step = if size > 128 { (size - 1).next_power_of_two() / 16 } else { 8 };
    let part = PARTS.into_iter().find(|part| *part >= size).unwrap();
    (if size > 4096 { part } else { size.next_multiple_of(step) }) as u64
}

impl Object {
    fn bytes(&self) -> &[u8] {
        // SAFETY: the object owns this memory, of which each byte was written.
        unsafe { std::slice::from_raw_parts(self.p.as_ptr(), self.layout.size()) }
    }

    fn written(p: NonNull<u8>, layout: Layout, seed: u8) -> Object {
        assert_eq!(p.as_ptr() as usize % layout.align(), 0, "{layout:?}");
        for (i, start) in (0..layout.size()).step_by(256).enumerate() {
            let n = (layout.size() - start).min(256);
            // SAFETY: just allocated.
            unsafe { p.as_ptr().add(start).copy_from_nonoverlapping(pattern(seed, i, n).as_ptr(), n) };
        }
        Object { p, layout, seed, taken: taken(layout) }
    }

    pub fn verify(&self, n: usize) {
        let mut chunks = self.bytes()[..n].chunks(256).enumerate();
        let wrong = chunks.position(|(i, chunk)| chunk != pattern(self.seed, i, chunk.len()));
        assert_eq!(wrong, None, "of {:?} at {:?}", self.layout, self.p);
    }

    pub fn of(r: &impl Recycling, layout: Layout, seed: u8) -> Option<Object> {
        Some(Object::written(r.get(layout).ok()?, layout, seed))
    }

    pub fn free(self, r: &impl Recycling) {
        self.verify(self.layout.size());
        // SAFETY: allocated by `r` with that layout, and not used any more.
        unsafe { r.give(self.p, self.layout) }
    }

    /// Returns `false` if the request was refused and the object is unchanged.
    pub fn resize(&mut self, r: &impl Recycling, layout: Layout, seed: u8) -> bool {
        self.verify(self.layout.size());
        // SAFETY: as above.
        let Ok(p) = (unsafe { r.change(self.p, self.layout, layout) }) else {
            self.verify(self.layout.size());
            return false;
        };
        let kept = self.layout.size().min(layout.size());
        let stays = p == self.p && is_small(layout); // or it moved to a place of its own size
        let taken = if stays { self.taken } else { taken(layout) };
        Object { p, layout, seed: self.seed, taken }.verify(kept);
        *self = Object { taken, ..Object::written(p, layout, seed) };
        true
    }
}

/// A step of a stream.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub what: u8,
    pub pick: u16,
    pub size: u16,
}

/// Sizes from 0 to some hundred KiB, mostly small, and alignments up to 64 KiB.
pub fn layout_of(step: Step) -> Layout {
    let size = match step.pick % 64 {
        0 => 0,
        1..=40 => step.size as usize % 200,
        41..=55 => step.size as usize % 5000,
        56..=60 => step.size as usize % 29_000,
        61 => 16_000 + step.size as usize % 200, // near the limit of dedicated blocks
        _ => 3 * step.size as usize,
    };
    let align = match step.size % 32 {
        0..=24 => 1 << (step.pick % 4),
        25..=29 => 1 << (step.pick % 9),
        _ => 1 << (step.pick % 17),
    };
    Layout::from_size_align(size, align).unwrap()
}

/// Objects of a stream, oldest first.
#[derive(Default)]
pub struct World {
    pub objects: Vec<Object>,
    /// Other threads allocate there too.
    pub is_shared: bool,
    pub seed: u8,
}

impl World {
    pub fn step(&mut self, r: &impl Recycling, step: Step, refuses: bool) {
        self.seed = self.seed.wrapping_add(1);
        let layout = layout_of(step);
        let at = step.pick as usize % self.objects.len().max(1);
        match step.what % 16 {
            0..=7 => match Object::of(r, layout, self.seed) {
                Some(object) => self.objects.push(object),
                None => assert!(refuses, "{layout:?}"),
            },
            8..=10 if !self.objects.is_empty() => self.objects.swap_remove(at).free(r),
            11 if !self.objects.is_empty() => {
                let seed = self.seed;
                assert!(self.objects[at].resize(r, layout, seed) || refuses, "{layout:?}");
            }
            // As containers are cleared: some oldest first, some newest first.
            12 => self.objects.drain(at.min(self.objects.len())..).for_each(|object| object.free(r)),
            13 => self.objects.drain(at.min(self.objects.len())..).rev().for_each(|object| object.free(r)),
            // Every other object: the remaining ones pin their blocks.
            14 => {
                let mut i = 0;
                let (freed, stay) = self.objects.drain(..).partition(|_| {
                    i += 1;
                    i % 2 == 0
                });
                self.objects = stay;
                let freed: Vec<Object> = freed;
                freed.into_iter().for_each(|object| object.free(r));
            }
            _ if step.pick % 4 == 0 => r.shrink(step.size as usize * 8),
            _ => self.verify(r),
        }
    }

    pub fn verify(&self, r: &impl Recycling) {
        self.objects.iter().for_each(|object| object.verify(object.layout.size()));
        if !self.is_shared {
            check(&r.numbers(), self.objects.iter().map(|object| object.taken).sum());
        }
    }

    pub fn clear(&mut self, r: &impl Recycling) {
        self.objects.drain(..).for_each(|object| object.free(r));
        let s = r.numbers();
        check(&s, 0);
        assert_eq!((s.blocks, s.pinned), (0, 0));
    }
}

pub fn check(s: &RecyclerStats, live: u64) {
    assert_eq!(s.live, live);
    assert_eq!(s.reserved, s.live + s.pinned + s.kept + s.wasted);
    assert!(s.large_blocks <= s.blocks, "{s:?}");
}
