//! The cost of diagnostics: an arena and frames with each of them switched on, and with none.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use crate::cases::{physics, values, Entry, Run};
use crate::contender::{Batch, Contender};
use crate::frames::toft::ToftFrames;
use crate::loops::WRITTEN;
use crate::toft::arena_with;
use std::alloc::Layout;
use toft::{Arena, SwitchError};

pub const OFF: u8 = 0;
pub const METERED: u8 = 1;
pub const SAMPLED_512: u8 = 2;
pub const SAMPLED_64: u8 = 3;
pub const CHECKED: u8 = 4;
/// It was metered and sampled earlier.
pub const OFF_AGAIN: u8 = 5;

const NAMES: [&str; 6] =
    ["toft off", "toft metered", "toft sampled 512 K", "toft sampled 64 K", "toft checked", "toft off again"];

/// The switches that arenas and frames share.
trait Watch {
    fn meter(&mut self, on: bool) -> Result<(), SwitchError>;
    fn sample(&mut self, bytes: u64) -> Result<(), SwitchError>;
    fn check(&mut self, on: bool) -> Result<(), SwitchError>;
}

macro_rules! watch {
    ($type:ty) => {
        impl Watch for $type {
            fn meter(&mut self, on: bool) -> Result<(), SwitchError> {
                self.set_metered(on)
            }
            fn sample(&mut self, bytes: u64) -> Result<(), SwitchError> {
                self.set_sampling(bytes)
            }
            fn check(&mut self, on: bool) -> Result<(), SwitchError> {
                self.set_checked(on)
            }
        }
    };
}
watch!(Arena);
watch!(toft::Frames);

fn switch<const HOW: u8>(it: &mut impl Watch) {
    let result = match HOW {
        METERED => it.meter(true),
        SAMPLED_512 => it.sample(512 << 10),
        SAMPLED_64 => it.sample(64 << 10),
        CHECKED => it.check(true),
        OFF_AGAIN => {
            it.meter(true).and_then(|()| it.sample(64 << 10)).and_then(|()| it.sample(0)).and_then(|()| it.meter(false))
        }
        _ => Ok(()),
    };
    result.expect("an arena that can be watched");
}

/// An arena.
pub struct Watched<const HOW: u8>(Arena);

impl<const HOW: u8> Contender for Watched<HOW> {
    const NAME: &'static str = NAMES[HOW as usize];
    type Handle<'a> = &'a Arena;

    fn new(_batch: Batch) -> Self {
        unreachable!()
    }
    fn with_batch(batch: Batch) -> Self {
        let mut arena = arena_with(batch);
        switch::<HOW>(&mut arena);
        Watched(arena)
    }
    #[inline(always)]
    fn handle(&mut self) -> &Arena {
        &self.0
    }
    #[inline(always)]
    unsafe fn reset(&mut self, _taken: impl Iterator<Item = (*mut u8, Layout)>) {
        self.0.reset();
    }
}

/// Frames, which make a summary of each frame while they are instrumented.
pub struct WatchedFrames<const HOW: u8>(ToftFrames);

impl<const HOW: u8> Contender for WatchedFrames<HOW> {
    const NAME: &'static str = NAMES[HOW as usize];
    type Handle<'a> = &'a Arena;

    fn new(_batch: Batch) -> Self {
        unreachable!()
    }
    fn with_batch(batch: Batch) -> Self {
        let mut frames = ToftFrames::with_batch(batch);
        switch::<HOW>(&mut frames.0);
        WatchedFrames(frames)
    }
    #[inline(always)]
    fn handle(&mut self) -> &Arena {
        self.0 .0.here()
    }
    #[inline(always)]
    unsafe fn reset(&mut self, _taken: impl Iterator<Item = (*mut u8, Layout)>) {
        self.0 .0.advance();
    }
}

fn entries<const HOW: u8>() -> Vec<Entry> {
    let entry = |case, operations, run: Run| Entry {
        case,
        contender: NAMES[HOW as usize],
        operations,
        alone: false,
        weighs: false,
        long: 1,
        run: Ok(run),
    };
    vec![
        entry("watched 64 B", 1000, values::<Watched<HOW>, [u64; 8], 1000, WRITTEN, false>),
        entry("watched 16 B", 1000, values::<Watched<HOW>, [u64; 2], 1000, WRITTEN, false>),
        entry("watched physics", 800, physics::<WatchedFrames<HOW>, WRITTEN>),
    ]
}

pub fn all() -> Vec<Entry> {
    [entries::<OFF>(), entries::<OFF_AGAIN>(), entries::<METERED>(), entries::<SAMPLED_512>()]
        .into_iter()
        .chain([entries::<SAMPLED_64>(), entries::<CHECKED>()])
        .flatten()
        .collect()
}
