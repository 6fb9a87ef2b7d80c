//! The blocks that an arena keeps when it is reset or trimmed: P10, P13.
//!
//! An arena is *steady* while it has one block and its settings have not changed since the last reset, so that a reset
//! with the default policy keeps that block. The resets of a steady arena are fast.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::ptr::NonNull;

use super::state::*;
use crate::base::abi_types::{KEEP_ALL, KEEP_RECENT};
use crate::base::policy::{self, BLOCK_MIN, CAP, MERGE};
use crate::system::hook::call_source;

impl RawArena {
    /// Adds the round's peak to its window. Returns P10's H: the highest peak of all windows, and 512 for the state.
    fn end_round(self) -> u64 {
        self.leave_steady();
        let slow = self.slow();
        let round = slow.rounds.get();
        self.end_steady_rounds(round);
        let window = &slow.window_peaks[(round / WINDOW) as usize % WINDOWS];
        if round % WINDOW == 0 {
            window.set(0);
        }
        slow.rounds.set(round.wrapping_add(1));
        window.set(window.get().max(slow.round_peak.get()));
        slow.round_peak.set(0);
        slow.window_peaks.iter().map(|w| w.get()).max().unwrap_or(0).saturating_add(512)
    }

    pub fn make_initial_current(self, idle: bool) {
        let initial = self.initial();
        self.slow().newest.set(initial);
        self.lower(INITIAL_IDLE);
        if idle {
            self.raise(INITIAL_IDLE);
        }
        self.make_current(initial, if idle { self.initial_end.get() } else { self.initial_start() });
        initial.used_end.set(self.head.cursor.get());
    }

    /// Unlinks all blocks but the initial one, newest first, then the spares in order. Each becomes a spare again, in
    /// this order, if `stays` returns true for its size, or returns to its source. Returns the size of the largest
    /// regular block in use that stays.
    fn retain_matching(self, mut stays: impl FnMut(usize) -> bool) -> usize {
        let (slow, initial) = (self.slow(), self.initial());
        let mut lists = [Some(slow.newest.get()).filter(|b| *b != initial), slow.spares.take()];
        slow.spare_bytes.set(0);
        let mut last: Option<Block> = None;
        let mut largest = 0;
        for list in &mut lists {
            while let Some(b) = *list {
                *list = b.next.get().filter(|next| *next != initial);
                if !stays(b.size.get()) {
                    // SAFETY: in no list; its allocations are freed by the reset.
                    unsafe { self.put(b) };
                    continue;
                }
                if b.kind.get() == Kind::Regular {
                    largest = largest.max(b.size.get());
                }
                b.kind.set(Kind::Spare);
                b.next.set(None);
                match last {
                    None => slow.spares.set(Some(b)),
                    Some(last) => last.next.set(Some(b)),
                }
                last = Some(b);
                slow.spare_bytes.set(slow.spare_bytes.get() + b.size.get());
            }
        }
        largest
    }

    // ---- steady arenas ----

    /// A reset by `KEEP_RECENT` of a steady arena that no operation has entered since the last one, if this round
    /// needed no more than an earlier one of the window. It writes three words; other counts are derived from them:
    /// allocated bytes from `synced`, which decreases by as much, and rounds from the epoch. Returns whether it was
    /// done.
    ///
    /// # Safety
    /// The caller has exclusive access: no scope, cursor or allocation of the arena is used any more.
    #[inline(always)]
    pub unsafe fn reset_fast(self) -> bool {
        let (cursor, epoch) = (self.head.cursor.get(), self.head.epoch.get());
        if cursor.addr() > self.steady_top.get() {
            return false;
        }
        let slow = self.slow();
        // Bit 0, instrumented, is clear: no range is claimed.
        if epoch & 1 != 0 || epoch == slow.window_end.get() {
            return false;
        }
        let start = slow.steady_start.get();
        self.synced.set(self.synced.get().wrapping_sub(cursor.addr() - start.addr()));
        self.head.cursor.set(start);
        self.head.epoch.set(epoch.wrapping_add(2));
        true
    }

    /// A reset of a steady arena that keeps what the last one kept: the round needed no more than `steady_max`, and a
    /// window that ends does not change that. It makes the next resets fast. Returns whether it was done.
    ///
    /// # Safety
    /// The caller has exclusive access: no scope, cursor or allocation of the arena is used any more.
    #[inline(never)]
    pub unsafe fn reset_steady(self) -> bool {
        if self.is(PRISTINE) {
            return false;
        }
        let slow = self.slow();
        let (cursor, epoch, start) = (self.head.cursor.get(), self.head.epoch.get(), slow.steady_start.get());
        if start.is_null() || epoch & 1 != 0 {
            return false;
        }
        let used = cursor.addr() - start.addr();
        if used > slow.steady_max.get() || (epoch == slow.window_end.get() && !self.next_window(used)) {
            return false;
        }
        slow.steady_peak.set(slow.steady_peak.get().max(used));
        let moved = cursor.addr().wrapping_sub(self.synced.get().addr()) as isize;
        if moved > 0 {
            slow.allocated.set(slow.allocated.get() + moved as u64);
        }
        self.synced.set(start);
        self.head.cursor.set(start);
        self.head.epoch.set(epoch.wrapping_add(2));
        self.steady_top.set(start.addr() + slow.steady_peak.get());
        true
    }

    /// Ends a window, and forgets the oldest one. Returns whether the highest peak stays the same, with `used` for the
    /// round that ends now; if not, a full reset is needed.
    fn next_window(self, used: usize) -> bool {
        let slow = self.slow();
        let round = slow.rounds.get();
        self.end_steady_rounds(round);
        let oldest = (round / WINDOW) as usize % WINDOWS;
        let mut high = used as u64;
        for (i, window) in slow.window_peaks.iter().enumerate() {
            high = high.max(if i == oldest { 0 } else { window.get() });
        }
        let same = high == slow.steady_max.get() as u64;
        if same {
            slow.window_peaks[oldest].set(0);
            slow.rounds.set(round.wrapping_add(WINDOW));
            slow.window_end.set(slow.window_end.get().wrapping_add(2 * WINDOW as usize));
        }
        same
    }

    /// Adds the peak of the preceding steady rounds to their window; all of them are in one.
    fn end_steady_rounds(self, round: u32) {
        let slow = self.slow();
        let peak = slow.steady_peak.take() as u64;
        let window = &slow.window_peaks[(round.wrapping_sub(1) / WINDOW) as usize % WINDOWS];
        window.set(window.get().max(peak));
        slow.peak.set(slow.peak.get().max(peak));
    }

    /// Makes the next resets fast.
    fn become_steady(self, high: u64) {
        let slow = self.slow();
        let (round, start) = (slow.rounds.get(), self.head.cursor.get());
        let left = round.wrapping_neg() % WINDOW;
        slow.rounds.set(round.wrapping_add(left));
        slow.window_end.set(self.epoch().wrapping_add(2 * left as usize));
        slow.steady_max.set(high as usize);
        slow.steady_start.set(start);
        self.steady_top.set(start.addr());
    }

    /// An event changes the epoch otherwise than by a fast reset: stores the counts that are derived from the epoch.
    /// Precondition: the arena is synced.
    pub fn leave_steady(self) {
        let slow = self.slow();
        if slow.steady_start.replace(core::ptr::null_mut()).is_null() {
            return;
        }
        debug_assert!(self.synced.get().addr() == self.head.cursor.get().addr());
        self.steady_top.set(0);
        let left = slow.window_end.get().wrapping_sub(self.epoch()) / 2;
        slow.rounds.set(slow.rounds.get().wrapping_sub(left as u32));
        slow.last_reset.set(self.epoch());
    }

    /// P10: updates the round's peak at the end of a scope. The arena stays steady if earlier rounds needed as much.
    pub fn update_scope_peak(self, live: u64) {
        let slow = self.slow();
        let begins = self.epoch() == slow.window_end.get(); // `steady_peak` belongs to the window before
        if slow.steady_start.get().is_null() || begins || live > slow.steady_max.get() as u64 {
            self.leave_steady();
            self.update_round_peak(live);
        } else {
            slow.steady_peak.set(slow.steady_peak.get().max(live as usize));
        }
    }

    /// Older marks are refused.
    pub fn last_reset(self) -> usize {
        if self.slow().steady_start.get().is_null() {
            self.slow().last_reset.get()
        } else {
            self.epoch()
        }
    }

    /// P10: selects the blocks to keep. Precondition: nothing is allocated.
    pub fn retain_blocks(self, policy: u32, bytes: usize) {
        debug_assert!(!self.is(CLAIMED | BUSY) && self.slow().cleanups.get().is_none());
        let round = self.count_blocks();
        let keep = policy::keep(&round, policy, bytes);
        self.keep_blocks(&round, &keep, policy);
        let slow = self.slow();
        slow.live.set(0);
        self.next_epoch();
        self.initial().epoch.set(self.epoch());
        slow.current.get().epoch.set(self.epoch());
        slow.last_reset.set(self.epoch());
        if self.is(INSTRUMENTED) {
            self.begin_round();
        }
        let free = self.budget.get() == u64::MAX && !self.is(BUDGETED | INSTRUMENTED);
        if policy == KEEP_RECENT && free && slow.spares.get().is_none() && !self.initial_is_idle() {
            self.become_steady(round.high - 512);
        }
    }

    /// Ends the round, and counts its blocks.
    #[inline]
    fn count_blocks(self) -> policy::Round {
        let (slow, initial) = (self.slow(), self.initial());
        let mut round = policy::Round {
            high: self.end_round(),
            others: 0,
            dedicated_count: 0,
            spare_bytes: slow.spare_bytes.get(),
        };
        let mut at = slow.newest.get();
        while at != initial {
            round.others += at.size.get();
            round.dedicated_count += (at.kind.get() != Kind::Regular) as usize;
            at = at.next.get().unwrap_or(initial);
        }
        round
    }

    /// Keeps the initial block alone, or one other as it is, or several as spares, or the size of one that is merged.
    #[inline]
    fn keep_blocks(self, round: &policy::Round, keep: &policy::Keep, policy: u32) {
        let (slow, initial) = (self.slow(), self.initial());
        let newest = slow.newest.get();
        // The initial block suffices: by its size, or since it is a buffer, or since its source extends it.
        let remaining = (self.initial_end.get().addr() - self.initial_start().addr()) as u64;
        let fits = round.high <= remaining + 512 && (policy != KEEP_ALL || round.others == 0);
        let one_block = self.is(FIXED) || (self.is(EXTENDS) && !self.is(BORROWED));
        let single = newest != initial && newest.next.get() == Some(initial) && newest.kind.get() == Kind::Regular;
        let size = newest.size.get();
        let refused = self.is(KEEPS_BLOCKS); // the source may refuse a merged block
        self.lower(ROUND_REFUSED);
        slow.spare_keep.set(0);
        if keep.wanted <= BLOCK_MIN || fits || one_block {
            self.retain_matching(|_| false);
            slow.first_size.set(0);
            self.make_initial_current(false);
        } else if self.is(SHARES_LIMIT) && policy == KEEP_RECENT {
            self.retain_matching(|_| false);
            slow.first_size.set(keep.wanted);
            self.make_initial_current(true);
        } else if single && !refused && round.high <= MERGE as u64 && size >= keep.wanted && size <= keep.most {
            self.put_spares(0);
            slow.first_size.set(0);
            self.make_initial_current(true); // no mark of this round can point into it
            slow.newest.set(newest);
            newest.index.set(1);
            self.make_current(newest, self.start_of(newest));
        } else if keep.unmerged || refused {
            let mut kept = 0;
            let largest = self.retain_matching(|size| {
                let stays = size <= keep.bound && kept <= keep.bound - size;
                kept += if stays { size } else { 0 };
                stays
            });
            // After a refusal the same requests find the same blocks again.
            slow.first_size.set(if refused { 0 } else { CAP.max(largest) });
            slow.spare_keep.set(keep.bound);
            self.make_initial_current(!refused);
        } else {
            // A block that was rewound before the reset serves as well as one that was in use.
            let mut found = round.others != 0;
            self.retain_matching(|size| {
                let stays = !found && size >= keep.wanted && size <= keep.most;
                found |= stays;
                stays
            });
            slow.first_size.set(slow.spares.get().map_or(keep.wanted, |b| b.size.get()));
            self.make_initial_current(true);
        }
    }

    /// P13: returns spares until `keep` bytes are left, and the block of an empty arena.
    pub fn trim(self, keep: usize) {
        let (slow, initial) = (self.slow(), self.initial());
        self.put_spares(keep);
        slow.spare_keep.set(slow.spare_keep.get().min(keep));
        let b = slow.current.get();
        if slow.live.get() != 0 || b != slow.newest.get() {
            return;
        }
        if b != initial {
            if b.size.get() > keep && self.current_is_unused() {
                self.put_current();
            }
        } else if let (true, Some(source)) = (self.is(EXTENDS) && !self.is(BORROWED), self.source.get()) {
            let used = self.head.cursor.get().addr() - self.base().addr();
            let size =
                policy::round(keep.min(b.size.get()), BLOCK_MIN).max(policy::round(used, BLOCK_MIN)).max(BLOCK_MIN);
            let shrinks = || {
                // SAFETY: the initial block is this source's and has that size; the bytes above are not used.
                unsafe {
                    call_source(|| source.as_ref().extend(NonNull::new_unchecked(self.base()), b.size.get(), size))
                }
            };
            if size < b.size.get() && self.is(INSTRUMENTED) {
                self.drop_block_log(initial);
            }
            if size < b.size.get() && shrinks() {
                self.resized(initial, size);
            }
        }
    }
}
