//! Queries: membership, statistics, iteration over blocks.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use super::state::*;
use crate::base::abi_types::Stats;
use crate::base::policy;

/// A block of an arena: [`Arena::blocks`](crate::Arena::blocks).
#[derive(Clone, Copy, Debug)]
pub struct BlockInfo {
    /// Its first byte.
    pub base: *const u8,
    /// Bytes requested from the source.
    pub size: usize,
    /// The first byte for allocations.
    pub start: *const u8,
    /// Allocated bytes from `start` on.
    pub used: usize,
    /// Whether it is kept for later.
    pub spare: bool,
}

impl RawArena {
    /// Allocated bytes of `b`. An idle initial block has none, though the cursor is at its end.
    fn used_of(self, b: Block) -> usize {
        if b == self.initial() && self.is(INITIAL_IDLE) {
            return 0;
        }
        self.used_end_of(b).addr() - self.start_of(b).addr()
    }

    fn each_block(self, mut f: impl FnMut(Block)) {
        let mut at = Some(self.slow().newest.get());
        while let Some(b) = at {
            f(b);
            at = b.next.get();
        }
    }

    /// Whether freeing everything would run user code.
    #[inline]
    pub fn has_cleanups(self) -> bool {
        !self.is(PRISTINE) && (self.slow().cleanups.get().is_some() || self.slow().scopes.get().is_some())
    }

    pub fn holds(self, address: usize) -> bool {
        if self.is(PRISTINE) {
            return address >= self.initial_start().addr() && address < self.head.cursor.get().addr();
        }
        let mut holds = false;
        self.each_block(|b| holds |= address.wrapping_sub(self.start_of(b).addr()) < self.used_of(b));
        self.each_scope(|scope| holds |= scope.holds(address));
        holds
    }

    /// Statistics of the arena, open scopes included.
    pub fn stats(self) -> Stats {
        let slow = self.slow();
        let mut s = Stats {
            live: slow.live.get(),
            allocated: slow.allocated.get(),
            peak: slow.peak.get(),
            budget: self.budget.get(),
            reserved: slow.spare_bytes.get() as u64,
            source_calls: slow.source_calls.get(),
            ..Stats::default()
        };
        self.each_block(|b| {
            s.reserved += b.size.get() as u64;
            s.blocks += 1;
            s.wasted += (b.size.get() - self.used_of(b)) as u64;
            if b == slow.current.get() {
                s.wasted -= (self.end.get().addr() - self.head.cursor.get().addr()) as u64;
            }
        });
        self.each_scope(|scope| {
            scope.sync_in();
            let inner = scope.stats();
            let lent = if scope.is(BORROWED) { scope.initial_size.get() as u64 } else { 0 };
            s.live += inner.live;
            s.allocated += inner.allocated;
            s.reserved += inner.reserved - lent;
            s.wasted += inner.wasted;
            s.blocks += inner.blocks - scope.is(BORROWED) as u64;
            s.source_calls += inner.source_calls - !scope.is(BORROWED) as u64;
        });
        s.peak = s.peak.max(s.live).max(slow.steady_peak.get() as u64);
        slow.peak.set(s.peak);
        s
    }

    /// Calls f for all blocks, newest first, then the spares. Excludes the blocks of scopes.
    pub fn walk(self, mut f: impl FnMut(BlockInfo)) {
        self.blocks().for_each(&mut f);
        let mut at = self.slow().spares.get();
        while let Some(b) = at {
            f(BlockInfo { base: b.base(), size: b.size.get(), start: b.base(), used: 0, spare: true });
            at = b.next.get();
        }
    }

    /// Iterates over the blocks in use, newest first. The arena must not be used during the iteration.
    pub fn blocks(self) -> Blocks {
        self.sync_in();
        self.set_limit();
        Blocks { arena: self, at: Some(self.slow().newest.get()) }
    }

    /// Remaining bytes of the current block; while the initial block is idle, those of the next block.
    pub fn remaining_ahead(self) -> usize {
        if self.initial_is_idle() {
            return policy::usable(self.slow().first_size.get());
        }
        self.end.get().addr() - self.head.cursor.get().addr()
    }
}

pub struct Blocks {
    arena: RawArena,
    at: Option<Block>,
}

impl Iterator for Blocks {
    type Item = BlockInfo;

    fn next(&mut self) -> Option<BlockInfo> {
        let (a, b) = (self.arena, self.at?);
        self.at = b.next.get();
        Some(BlockInfo {
            base: a.base_of(b),
            size: b.size.get(),
            start: a.start_of(b),
            used: a.used_of(b),
            spare: false,
        })
    }
}
