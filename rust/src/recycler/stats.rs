//! The statistics of a recycler.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::block::Segment;
use super::state::{Index, State, Units};

/// The statistics of a recycler: bytes, except for the counts.
///
/// ```
/// use std::alloc::Layout;
/// let recycler = toft::Recycler::new();
/// recycler.alloc_layout(Layout::new::<[u8; 100]>());
/// let s = recycler.stats();
/// assert_eq!((s.live, s.blocks, s.reserved), (104, 1, 32 << 10));
/// assert_eq!(s.reserved, s.live + s.pinned + s.kept + s.wasted);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct RecyclerStats {
    /// Of live objects, each rounded up: to 8, above 128 bytes to a size class, above 4096 to 8.
    pub live: u64,
    /// Free, in blocks with live objects.
    pub pinned: u64,
    /// Free, in blocks without live objects: trim returns those in unused segments.
    pub kept: u64,
    /// Headers, tables and padding.
    pub wasted: u64,
    /// Held from the source: the sum of the four above.
    pub reserved: u64,
    /// The maximum of `reserved`, without the address tables. Of a [`SyncRecycler`](crate::SyncRecycler) the sum over
    /// its shards, an upper bound.
    pub peak: u64,
    /// Blocks with live objects, large ones included.
    pub blocks: u64,
    /// Used blocks without live objects.
    pub idle_blocks: u64,
    /// The part of `blocks` that have one large object each.
    pub large_blocks: u64,
    /// Blocks requested from the source so far.
    pub source_calls: u64,
}

impl RecyclerStats {
    pub(super) fn add(&mut self, state: &State, units: &Units) {
        #[cfg(feature = "std")]
        if let Some(checked) = state.checked() {
            checked.count(self);
        }
        state.flush(units); // so that blocks count live bytes only
        state.larges.count(self);
        for s in state.segments() {
            // SAFETY: segments and their initialised blocks are alive.
            unsafe {
                for i in 0..(*s).count {
                    let capacity = Segment::extent(s, i).1 as u64;
                    if i >= (*s).cut {
                        self.kept += capacity;
                        continue;
                    }
                    let b = Segment::block(s, i);
                    let live = (*b).live as u64;
                    self.live += live;
                    *(if live != 0 { &mut self.pinned } else { &mut self.kept }) += capacity - live;
                    *(if live != 0 { &mut self.blocks } else { &mut self.idle_blocks }) += 1;
                }
            }
        }
        self.reserved += state.reserved.get() as u64;
        self.peak += state.peak.get() as u64;
        self.source_calls += state.source_calls.get();
    }

    pub(super) fn finish(mut self, index: &Index) -> RecyclerStats {
        self.reserved += index.bytes() as u64;
        self.wasted = self.reserved - self.live - self.pinned - self.kept;
        self
    }
}
