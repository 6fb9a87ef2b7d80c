//! The caller of an allocation, which instruments record.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use core::panic::Location;

/// The call site of an allocation: a location in Rust code, or the `site` of code in another language.
#[derive(Clone, Copy)]
pub struct Caller {
    pub location: Option<&'static Location<'static>>,
    pub site: usize,
    /// The value has a destructor that will not run.
    pub drops: bool,
}

impl Caller {
    pub const UNKNOWN: Caller = Caller { location: None, site: 0, drops: false };

    #[cfg(feature = "diagnostics")]
    pub(super) fn key(&self) -> (usize, usize) {
        (self.location.map_or(0, |at| core::ptr::from_ref(at).addr()), self.site)
    }
}
