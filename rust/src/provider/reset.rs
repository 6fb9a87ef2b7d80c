//! What an arena keeps when everything in it is given back: P10, P13.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::ptr::NonNull;

use super::state::*;
use crate::hook::call_source;
use crate::policy::{self, BLOCK_MIN, CAP, MERGE};

impl ArenaPtr {
    /// The round's need joins its window. The highest of all windows, and 512 for what home's start takes: P10's H.
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

    /// Takes everything but home apart: the blocks, newest first, then the spares as they were; each becomes a spare
    /// again where `stays` says so, in its order, or goes to its source. Returns the size of the largest regular block
    /// that was in use and stays.
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
                    self.put(b);
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

    // ---- settled: the same block is all there is, and nothing happened since that moved the epoch ----

    /// The shortest reset by `KEEP_RECENT`: the arena is settled, no call of the provider looked at it since, and this round
    /// needed no more than one before it in the window. Three words move; what else a reset changes is read off them:
    /// what was allocated, off the anchor, which falls by as much; how many rounds there were, off the epoch. Says
    /// whether it was done.
    #[inline(always)]
    pub fn reset_fast(self) -> bool {
        let (cursor, epoch) = (self.head.cursor.get(), self.head.epoch.get());
        if cursor.addr() > self.steady_top.get() {
            return false;
        }
        let slow = self.slow();
        // Bit 0, watched, is clear: no range is out.
        if epoch & 1 != 0 || epoch == slow.window_end.get() {
            return false;
        }
        let start = slow.steady_start.get();
        self.synced.set(self.synced.get().wrapping_sub(cursor.addr() - start.addr()));
        self.head.cursor.set(start);
        self.head.epoch.set(epoch.wrapping_add(2));
        true
    }

    /// A reset of a settled arena whose answer is that of the last one: no more was needed than is remembered, and no
    /// window is forgotten that matters. It makes the next ones short.
    #[inline(never)]
    pub fn reset_steady(self) -> bool {
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

    /// A window ends with the round before, and the oldest is forgotten: says whether that leaves the highest need as it
    /// was, with `used` for the round that ends now. If not, a whole reset does it all.
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

    /// What the settled rounds before this one needed joins their window: they lie in one.
    fn end_steady_rounds(self, round: u32) {
        let slow = self.slow();
        let peak = slow.steady_peak.take() as u64;
        let window = &slow.window_peaks[(round.wrapping_sub(1) / WINDOW) as usize % WINDOWS];
        window.set(window.get().max(peak));
        slow.peak.set(slow.peak.get().max(peak));
    }

    /// From now on resets may be short.
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

    /// Something happens that moves the epoch by another way than a short reset: what was read off it is written down.
    /// The arena is entered.
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

    /// P10: what a round needed when a scope of it ended, which the cursor does not show. It does not unsettle what
    /// needed as much before.
    pub fn update_scope_peak(self, live: u64) {
        let slow = self.slow();
        let begins = self.epoch() == slow.window_end.get(); // the peak that is at hand is of the window before
        if slow.steady_start.get().is_null() || begins || live > slow.steady_max.get() as u64 {
            self.leave_steady();
            self.update_round_peak(live);
        } else {
            slow.steady_peak.set(slow.steady_peak.get().max(live as usize));
        }
    }

    /// Marks from before this epoch are refused.
    pub fn last_reset(self) -> usize {
        if self.slow().steady_start.get().is_null() {
            self.slow().last_reset.get()
        } else {
            self.epoch()
        }
    }

    /// P10: nothing is allocated any more; what is to stay for the next round?
    pub fn retain_blocks(self, policy: u32, bytes: usize) {
        let (slow, initial) = (self.slow(), self.initial());
        let mut round = policy::Round {
            high: self.end_round(),
            others: 0,
            dedicated_count: 0,
            spare_bytes: slow.spare_bytes.get(),
        };
        let newest = slow.newest.get();
        let mut at = newest;
        while at != initial {
            round.others += at.size.get();
            round.dedicated_count += (at.kind.get() != Kind::Regular) as usize;
            at = at.next.get().unwrap_or(initial);
        }
        let keep = policy::keep(&round, policy, bytes);

        // Home may do: as it is, as a buffer, or as a block that its source extends.
        let remaining = (self.initial_end.get().addr() - self.initial_start().addr()) as u64;
        let fits = round.high <= remaining + 512 && (policy != crate::abi::KEEP_ALL || round.others == 0);
        let one_block = self.is(FIXED) || (self.is(EXTENDS) && !self.is(BORROWED));
        let single = newest != initial && newest.next.get() == Some(initial) && newest.kind.get() == Kind::Regular;
        let size = newest.size.get();
        slow.spare_keep.set(0);
        if keep.wanted <= BLOCK_MIN || fits || one_block {
            self.retain_matching(|_| false);
            slow.first_size.set(0);
            self.make_initial_current(false);
        } else if single && round.high <= MERGE as u64 && size >= keep.wanted && size <= keep.most {
            self.put_spares(0);
            slow.first_size.set(0);
            self.make_initial_current(true); // no mark of this round can name it
            slow.newest.set(newest);
            newest.index.set(1);
            self.make_current(newest, self.start_of(newest));
        } else if keep.as_they_are {
            let mut kept = 0;
            let largest = self.retain_matching(|size| {
                let stays = size <= keep.bound && kept <= keep.bound - size;
                kept += if stays { size } else { 0 };
                stays
            });
            slow.first_size.set(CAP.max(largest));
            slow.spare_keep.set(keep.bound);
            self.make_initial_current(true);
        } else {
            // A block that was rewound before the reset is as good as one that was not.
            let mut found = round.others != 0;
            self.retain_matching(|size| {
                let stays = !found && size >= keep.wanted && size <= keep.most;
                found |= stays;
                stays
            });
            slow.first_size.set(slow.spares.get().map_or(keep.wanted, |b| b.size.get()));
            self.make_initial_current(true);
        }
        slow.live.set(0);
        self.next_epoch();
        initial.epoch.set(self.epoch());
        slow.current.get().epoch.set(self.epoch());
        slow.last_reset.set(self.epoch());
        if self.is(INSTRUMENTED) {
            self.begin_round();
        }
        let free = self.budget.get() == u64::MAX && !self.is(BUDGETED | INSTRUMENTED);
        if policy == crate::abi::KEEP_RECENT && free && slow.spares.get().is_none() && !self.initial_is_idle() {
            self.become_steady(round.high - 512);
        }
    }

    /// P13
    pub fn trim(self, keep: usize) {
        let (slow, initial) = (self.slow(), self.initial());
        self.put_spares(keep);
        slow.spare_keep.set(slow.spare_keep.get().min(keep));
        let b = slow.current.get();
        if slow.live.get() != 0 || b != slow.newest.get() {
            return;
        }
        if b != initial {
            let unused = b.next.get() == Some(initial) && self.head.cursor.get() == self.start_of(b);
            if unused && b.size.get() > keep {
                self.put(b);
                slow.first_size.set(0);
                self.make_initial_current(false);
                self.next_epoch();
                slow.trim_epoch.set(self.epoch());
                self.after_trim(); // the round goes on
            }
        } else if let (true, Some(source)) = (self.is(EXTENDS) && !self.is(BORROWED), self.source.get()) {
            let used = self.head.cursor.get().addr() - self.base().addr();
            let size =
                policy::round(keep.min(b.size.get()), BLOCK_MIN).max(policy::round(used, BLOCK_MIN)).max(BLOCK_MIN);
            let shrinks = || {
                // SAFETY: home is this source's block and has that size; what is above is not used.
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
