//! The invariants of an arena's state, which each operation leaves: `end_op` verifies them, by `assertions.rs`.
// SPDX-License-Identifier: MIT OR Apache-2.0

#[cfg(feature = "diagnostics")]
use super::instrument_types::{BlockLog, Own, Record, Shared};
#[cfg(feature = "diagnostics")]
use super::records::REDZONE;
use super::state::*;
use crate::base::assertions::verifies;
use crate::base::policy::{BLOCK_MIN, HEADER};

/// Of a list, from the newest on.
const ENTRIES: usize = 32;

impl RawArena {
    pub fn verify(self) -> bool {
        self.verify_head();
        self.verify_flags();
        self.verify_marks();
        self.verify_claim();
        let blocks = self.slow().newest.get().index.get() as usize + 1;
        if verifies(8 * blocks.min(ENTRIES)) {
            self.verify_blocks();
            self.verify_spares();
            self.verify_cleanups();
            self.verify_scopes();
            #[cfg(feature = "diagnostics")]
            self.verify_instruments();
        }
        true
    }

    /// What inline paths read.
    fn verify_head(self) {
        let (cursor, limit) = (self.head.cursor.get().addr(), self.head.limit.get().addr());
        debug_assert!(cursor <= limit && limit <= self.end.get().addr());
        debug_assert!(cursor % 8 == 0);
        debug_assert!(self.end.get() == self.end_of(self.slow().current.get()));
        debug_assert!(cursor >= self.start_of(self.slow().current.get()).addr());
        debug_assert!(self.initial_end.get().addr() == self.base().addr() + self.initial_size.get());
        debug_assert!(self.initial_start() <= self.initial_end.get());
        let watched = self.head.epoch.get() & 1 != 0;
        debug_assert!(watched || !self.is(CLAIMED | BUSY | COUNTS_LIVE | INSTRUMENTED));
        debug_assert!(limit == cursor || !self.is(CLAIMED | BUSY | CHECKED));
        debug_assert!(!self.initial_is_idle() || self.head.cursor.get() == self.initial_end.get());
    }

    fn verify_flags(self) {
        let (slow, is_scope) = (self.slow(), self.parent.get().is_some());
        debug_assert!(!self.is(PRISTINE));
        debug_assert!(self.is(INSTRUMENTED) || !self.is(CHECKED));
        debug_assert!(slow.instruments.get().is_some() || !self.is(INSTRUMENTED));
        debug_assert!(self.source.get().is_none() || !self.is(FIXED | CACHEABLE));
        debug_assert!(self.source.get().is_some() || !self.is(EXTENDS | OWNS_SOURCE | SHARES_LIMIT));
        debug_assert!(!self.is(CACHEABLE) || (!self.is(BORROWED) && self.initial_size.get() == BLOCK_MIN));
        debug_assert!(is_scope || !self.is(BUDGETED | LEAKED));
        debug_assert!(!is_scope || !self.is(CACHEABLE | OWNS_SOURCE | COUNTS_LIVE));
        debug_assert!(self.is(COUNTS_LIVE) == slow.portion.get().is_some());
        debug_assert!(self.is(KEEPS_BLOCKS) || !self.is(ROUND_REFUSED));
        debug_assert!(self.is(BUSY) || !self.is(RANGE_GROWS));
        #[cfg(feature = "std")]
        debug_assert!(self.is(BUSY) || !self.is(IN_HOOK));
        debug_assert!(slow.live.get() <= slow.peak.get());
        debug_assert!(self.portion().is_none_or(|portion| slow.live.get() <= portion.granted()));
    }

    fn verify_marks(self) {
        let slow = self.slow();
        debug_assert!(slow.last_reset.get() <= self.epoch());
        debug_assert!(slow.trim_epoch.get() <= self.epoch());
        if slow.steady_start.get().is_null() {
            debug_assert!(self.steady_top.get() == 0);
            return;
        }
        let left = slow.window_end.get().wrapping_sub(self.epoch());
        debug_assert!(left <= 2 * WINDOW as usize);
        debug_assert!(slow.rounds.get() % WINDOW == 0);
        debug_assert!(slow.steady_start.get() == self.start_of(slow.current.get()));
        debug_assert!(slow.steady_peak.get() <= slow.steady_max.get());
        debug_assert!(self.steady_top.get() <= slow.steady_start.get().addr() + slow.steady_peak.get());
        debug_assert!(self.budget.get() == u64::MAX && !self.is(BUDGETED));
        debug_assert!(slow.spares.get().is_none() && slow.cleanups.get().is_none());
        debug_assert!(slow.current.get() == slow.newest.get() && !self.initial_is_idle());
    }

    fn verify_claim(self) {
        let (slow, cursor) = (self.slow(), self.head.cursor.get().addr());
        debug_assert!(slow.scopes.get().is_none() || self.is(CLAIMED | BUSY));
        debug_assert!(slow.side_block.get().is_none() || self.is(CLAIMED | BUSY));
        if !self.is(CLAIMED) {
            return;
        }
        debug_assert!(slow.claim_start.get() <= slow.claim_limit.get());
        debug_assert!(cursor <= slow.claim_limit.get().addr() && slow.claim_limit.get() <= self.end.get());
        debug_assert!(self.is_claimed_by_scopes() || slow.claim_id.get() & !63 == self.base().addr());
        debug_assert!(!self.is_claimed_by_scopes() || slow.scopes.get().is_some());
    }

    /// Returns the bytes of a block that count as live.
    fn verify_block(self, b: Block) -> u64 {
        let (slow, kind) = (self.slow(), b.kind.get());
        debug_assert!((kind == Kind::Initial) == (b == self.initial()) && kind != Kind::Spare);
        debug_assert!(b.epoch.get() & 1 == 0 && b.epoch.get() <= self.epoch());
        debug_assert!(self.base_of(b).addr() % HEADER == 0);
        let (start, end, used) = (self.start_of(b).addr(), self.end_of(b).addr(), self.used_end_of(b).addr());
        debug_assert!(self.base_of(b).addr() + HEADER <= start);
        debug_assert!(start <= used && used <= end);
        debug_assert!(end <= self.base_of(b).addr() + b.size.get());
        if matches!(kind, Kind::Dedicated | Kind::Side) {
            debug_assert!(b != slow.current.get());
            debug_assert!(b.charge.get() <= b.size.get() || kind == Kind::Side);
            return b.charge.get() as u64;
        }
        let below = b.below.get();
        debug_assert!(kind == Kind::Initial || below.is_some_and(|below| below.index.get() < b.index.get()));
        let is_idle = kind == Kind::Initial && self.is(INITIAL_IDLE);
        if is_idle {
            0
        } else {
            (used - start) as u64
        }
    }

    /// The blocks, the newest first; the initial block is the last.
    fn verify_blocks(self) {
        let slow = self.slow();
        let (mut live, mut detached, mut found, mut side) = (0, 0, false, slow.side_block.get());
        let mut b = slow.newest.get();
        for _ in 0..ENTRIES {
            let bytes = self.verify_block(b);
            live += bytes;
            detached += if matches!(b.kind.get(), Kind::Dedicated | Kind::Side) { bytes } else { 0 };
            found |= b == slow.current.get();
            side = side.filter(|side| *side != b || b.kind.get() != Kind::Side);
            let Some(next) = b.next.get() else {
                debug_assert!(b == self.initial());
                debug_assert!(found && side.is_none());
                debug_assert!(live == slow.live.get() || self.synced.get() != self.head.cursor.get());
                #[cfg(not(feature = "diagnostics"))]
                let _ = detached;
                #[cfg(feature = "diagnostics")]
                if let Some(instruments) = self.instruments().filter(|instruments| instruments.metered.get()) {
                    let counted = instruments.own.try_borrow().map_or(detached, |own| own.detached_bytes);
                    debug_assert!(detached == counted);
                }
                return;
            };
            debug_assert!(b.index.get() > next.index.get());
            debug_assert!(b.epoch.get() >= next.epoch.get());
            b = next;
        }
    }

    fn verify_spares(self) {
        let (mut bytes, mut at) = (0, self.slow().spares.get());
        for _ in 0..ENTRIES {
            let Some(b) = at else {
                debug_assert!(bytes == self.slow().spare_bytes.get());
                return;
            };
            debug_assert!(b.kind.get() == Kind::Spare);
            debug_assert!(b.size.get() >= BLOCK_MIN && b.base().addr() % HEADER == 0);
            bytes += b.size.get();
            at = b.next.get();
        }
        debug_assert!(bytes <= self.slow().spare_bytes.get());
    }

    fn verify_cleanups(self) {
        let (mut epoch, mut at) = (self.epoch(), self.slow().cleanups.get());
        for _ in 0..ENTRIES {
            // SAFETY: nodes on the list are allocations of this arena that are not freed yet.
            let Some(node) = at.map(|node| unsafe { node.as_ref() }) else { return };
            debug_assert!(node.epoch.get() <= epoch && node.epoch.get() & 1 == 0);
            (epoch, at) = (node.epoch.get(), node.older.get());
        }
    }

    fn verify_scopes(self) {
        let mut borrowed = 0;
        self.each_scope(|scope| {
            debug_assert!(scope.parent.get() == Some(self));
            debug_assert!(scope.is(PRISTINE) || scope.head.cursor.get() <= scope.head.limit.get());
            if scope.is(BORROWED) {
                borrowed += 1;
                debug_assert!(self.head.cursor.get().addr() <= scope.base().addr());
                debug_assert!(scope.initial_end.get().addr() <= self.end.get().addr());
            }
        });
        debug_assert!(borrowed <= 1); // the others have blocks of their own
    }

    #[cfg(feature = "diagnostics")]
    fn verify_instruments(self) {
        let Some(instruments) = self.instruments() else { return };
        let (Ok(own), Ok(shared)) = (instruments.own.try_borrow(), instruments.shared().try_borrow()) else { return };
        own.verify(self, &shared);
        shared.verify();
        if let Ok(logs) = instruments.freed.try_borrow() {
            logs.iter().take(ENTRIES).for_each(BlockLog::verify);
        }
        if instruments.metered.get() {
            debug_assert!(own.detached_bytes <= self.slow().live.get());
            let newest = own.tag_stack.last().map_or(0, |top| top.0);
            debug_assert!(newest <= self.slow().live.get().saturating_sub(own.detached_bytes));
        }
    }
}

#[cfg(feature = "diagnostics")]
impl Own {
    fn verify(&self, a: RawArena, shared: &Shared) {
        debug_assert!(self.tag < shared.tags.len() && self.claim_tag < shared.tags.len());
        debug_assert!(self.since <= a.epoch());
        debug_assert!(a.is(CHECKED) || self.records.is_empty());
        let newest = self.records.len().saturating_sub(ENTRIES);
        for record in &self.records[newest..] {
            record.verify();
            debug_assert!(record.epoch > self.since && record.epoch <= a.epoch());
        }
        debug_assert!(self.records[newest..].windows(2).all(|two| two[0].epoch < two[1].epoch));
        let newest = self.stale_marks.len().saturating_sub(ENTRIES);
        debug_assert!(self.stale_marks[newest..].iter().all(|range| range.0 < range.1 && range.1 <= a.epoch()));
        debug_assert!(self.stale_marks[newest..].windows(2).all(|two| two[0].0 <= two[1].0));
        let newest = self.tag_stack.len().saturating_sub(ENTRIES);
        debug_assert!(self.tag_stack[newest..].windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 != two[1].1));
        debug_assert!(self.tag_stack[newest..].iter().all(|part| part.1 < shared.tags.len()));
        if self.detached.len() <= ENTRIES {
            debug_assert!(self.detached.iter().map(|entry| entry.2).sum::<u64>() == self.detached_bytes);
            debug_assert!(self.detached.iter().all(|entry| entry.1 < shared.tags.len()));
        }
    }
}

#[cfg(feature = "diagnostics")]
impl Record {
    fn verify(&self) {
        debug_assert!(self.start.addr() + REDZONE <= self.p.addr());
        debug_assert!(self.p.addr() + self.size + REDZONE <= self.end.addr());
    }
}

#[cfg(feature = "diagnostics")]
impl BlockLog {
    fn verify(&self) {
        let newest = &self.records[self.records.len().saturating_sub(ENTRIES)..];
        debug_assert!(newest.windows(2).all(|two| two[1].end.addr() <= two[0].start.addr()));
        debug_assert!(newest.iter().all(|record| record.start.addr() < record.end.addr()));
    }
}

#[cfg(feature = "diagnostics")]
impl Shared {
    fn verify(&self) {
        debug_assert!(self.tags.first().is_some_and(|tag| tag.name.is_empty()));
        debug_assert!(self.tag_budgets == self.tags.iter().any(|tag| tag.budget != u64::MAX));
        debug_assert!(!self.soft_passed || self.soft_budget != u64::MAX);
        let key = |at: usize| (self.counts[at].caller.key(), self.counts[at].tag);
        debug_assert!((1..self.counts.len().min(ENTRIES)).all(|at| key(at - 1) < key(at)));
        debug_assert!(self.counts.iter().take(ENTRIES).all(|count| count.tag < self.tags.len()));
    }
}
