//! The statistics of a recycler.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::slab::room_of;
use super::state::State;

/// The statistics of a recycler: bytes, except for the counts. A block is a slab, or the memory of one large object.
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
    /// Of live objects, each rounded up to its size class, or if it is large to 8.
    pub live: u64,
    /// Free, in blocks with live objects: it serves their size class only.
    pub pinned: u64,
    /// Free for any request: trim returns what is in segments without live objects.
    pub kept: u64,
    /// Headers and padding.
    pub wasted: u64,
    /// Held from the source: the sum of the four above.
    pub reserved: u64,
    /// The maximum of `reserved`. Of a [`SyncRecycler`](crate::SyncRecycler) the sum over
    /// its shards, an upper bound.
    pub peak: u64,
    /// Blocks with live objects, large ones included.
    pub blocks: u64,
    /// Blocks without live objects.
    pub idle_blocks: u64,
    /// The part of `blocks` that have one large object each.
    pub large_blocks: u64,
    /// Blocks requested from the source so far.
    pub source_calls: u64,
}

impl RecyclerStats {
    /// Adds the counters of a state.
    pub(super) fn add(&mut self, state: &State) {
        if let Some(checked) = state.checked() {
            checked.count(self);
        }
        let larges = &state.larges;
        // SAFETY: current slabs are alive.
        let (slabs, empty) = state.empty_slabs().fold((0, 0), |(n, sum), (_, d)| (n + 1, sum + unsafe { room_of(d) }));
        let [live, used] = [state.live.get(), larges.used.get()];
        self.live += (live + used) as u64;
        self.pinned += (state.slab_bytes.get() - empty - live + larges.room.get() - used) as u64;
        self.kept += (state.page_bytes.get() - state.slab_bytes.get() + empty + larges.region_bytes.get()
            - larges.run_bytes.get()) as u64;
        self.blocks += (state.slab_count.get() - slabs + larges.count.get()) as u64;
        self.idle_blocks += (slabs + larges.idle_regions.get()) as u64;
        self.large_blocks += larges.count.get() as u64;
        self.reserved += state.reserved.get() as u64;
        self.peak += state.peak.get() as u64;
        self.source_calls += state.source_calls.get();
    }

    pub(super) fn finish(mut self) -> RecyclerStats {
        self.wasted = self.reserved - self.live - self.pinned - self.kept;
        self
    }
}
