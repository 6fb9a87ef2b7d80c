//! Without the feature `diagnostics`, or without `std`: no recycler is checked.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use core::ptr::NonNull;

use super::state::{Checked, State};
use super::stats::RecyclerStats;
use super::supply::Supply;
use crate::memory::by_layout::CallSite;

impl Checked {
    pub fn alloc(&self, _: &Supply<'_>, _: usize, _: usize, _: CallSite) -> Option<NonNull<u8>> {
        match *self {}
    }

    pub fn free(&self, _: usize, _: usize) -> bool {
        match *self {}
    }

    pub fn resize_in_place(&self, _: usize, _: usize, _: usize) -> bool {
        match *self {}
    }

    pub fn trim(&self, _: &Supply<'_>, _: usize) -> usize {
        match *self {}
    }

    pub fn count(&self, _: &mut RecyclerStats) {
        match *self {}
    }
}

#[inline(always)]
pub fn is_on() -> bool {
    false
}

pub fn bad_free(_: usize) {}

impl State {
    pub fn decide_checked(&self) -> Result<Option<&Checked>, ()> {
        Ok(None)
    }

    #[inline]
    pub fn checked(&self) -> Option<&Checked> {
        None
    }

    pub fn free_checked(&self, checked: &Checked, _: usize, _: usize) {
        match *checked {}
    }

    pub fn release_checked(&self, _: &Supply<'_>) {}
}
