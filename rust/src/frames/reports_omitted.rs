//! Without the feature `diagnostics`: no switch is on, and there is no profiler.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use super::Frames;
use crate::arena::Arena;

#[derive(Default)]
pub(super) struct Reports;

impl Reports {
    #[inline(always)]
    pub(super) fn are_on(&self) -> bool {
        false
    }

    pub(super) fn begin(&self, _: &Arena) {}

    pub(super) fn pin(&self, _: &Arena) {}
}

impl Frames {
    pub(super) fn advance_instrumented(&mut self) {}
}

pub(super) fn thread_id() -> usize {
    0
}

pub(super) mod profiler {
    #[inline(always)]
    pub(crate) fn is_on() -> bool {
        false
    }

    pub(crate) fn advancing<F, R>(frames: &mut F, _: fn(&mut F) -> (u64, u64), advance: impl FnOnce(&mut F) -> R) -> R {
        advance(frames)
    }
}
