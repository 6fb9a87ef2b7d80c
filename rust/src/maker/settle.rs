//! What an arena keeps when everything in it is given back: P10, P13.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::ptr::NonNull;

use super::state::*;
use crate::policy::{self, CAP, HOME, MERGE};

impl Arena {
    /// The round's need joins its window. The highest of all windows, and 512 for what home's start takes: P10's H.
    fn end_round(self) -> u64 {
        let slow = self.slow();
        let round = self.rounds.get();
        let quick = self.settled_peak.take() as u64; // of the rounds before, which lie in one window
        if quick != 0 {
            let window = &slow.window_peaks[(round.wrapping_sub(1) / WINDOW) as usize % WINDOWS];
            window.set(window.get().max(quick));
            slow.peak.set(slow.peak.get().max(quick));
        }
        let window = &slow.window_peaks[(round / WINDOW) as usize % WINDOWS];
        if round % WINDOW == 0 {
            window.set(0);
        }
        self.rounds.set(round.wrapping_add(1));
        window.set(window.get().max(slow.round_peak.get()));
        slow.round_peak.set(0);
        slow.window_peaks.iter().map(|w| w.get()).max().unwrap_or(0).saturating_add(512)
    }

    pub fn home_current(self, idle: bool) {
        let home = self.home();
        self.slow().newest.set(home);
        self.lower(IDLE);
        if idle {
            self.raise(IDLE);
        }
        self.make_current(home, if idle { self.home_end.get() } else { self.home_start() });
        home.left.set(self.head.cursor.get());
    }

    /// Takes everything but home apart: the blocks, newest first, then the spares as they were; each becomes a spare
    /// again where `stays` says so, in its order, or goes to its source. Returns the size of the largest regular block
    /// that was in use and stays.
    fn sort_out(self, mut stays: impl FnMut(usize) -> bool) -> usize {
        let (slow, home) = (self.slow(), self.home());
        let mut lists = [Some(slow.newest.get()).filter(|b| *b != home), slow.spares.take()];
        slow.spare_bytes.set(0);
        let mut last: Option<Block> = None;
        let mut largest = 0;
        for list in &mut lists {
            while let Some(b) = *list {
                *list = b.next.get().filter(|next| *next != home);
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

    /// A reset by `KEEP_RECENT` whose answer is that of the last one: nothing happened since that moved the epoch, so the
    /// same block is all there is; no more was needed than then; and no window is forgotten. The peak is written down for
    /// `end_round`. Says whether it was done.
    #[inline(always)]
    pub fn reset_again(self) -> bool {
        let (epoch, round, start) = (self.head.epoch.get(), self.rounds.get(), self.settled.get());
        // Bit 0, watched, is in the epoch: no range is out, and no cleanup is running.
        if epoch != self.last_reset.get() || start.is_null() {
            return false;
        }
        let used = self.head.cursor.get().addr() - start.addr();
        if used > self.settled_high.get() || (round % WINDOW == 0 && !self.next_window(round, used as u64)) {
            return false;
        }
        if used > self.settled_peak.get() {
            self.settled_peak.set(used);
        }
        let slow = self.slow();
        let seen = self.anchor.get().addr() - start.addr();
        slow.allocated.set(slow.allocated.get().wrapping_add_signed(used as i64 - seen as i64));
        slow.live.set(0);
        self.rounds.set(round.wrapping_add(1));
        self.head.cursor.set(start);
        self.anchor.set(start);
        self.head.epoch.set(epoch.wrapping_add(2));
        self.last_reset.set(epoch.wrapping_add(2));
        true
    }

    /// A window ends with the round before, and the oldest is forgotten: says whether that leaves the highest need as it
    /// was, with `used` for the round that ends now. If not, a whole reset does it all.
    #[inline(never)]
    fn next_window(self, round: u32, used: u64) -> bool {
        let slow = self.slow();
        let quick = self.settled_peak.take() as u64;
        let before = &slow.window_peaks[(round.wrapping_sub(1) / WINDOW) as usize % WINDOWS];
        before.set(before.get().max(quick));
        slow.peak.set(slow.peak.get().max(quick));
        let oldest = (round / WINDOW) as usize % WINDOWS;
        let mut high = used;
        for (i, window) in slow.window_peaks.iter().enumerate() {
            high = high.max(if i == oldest { 0 } else { window.get() });
        }
        let same = high == self.settled_high.get() as u64;
        if same {
            slow.window_peaks[oldest].set(0);
        }
        same
    }

    /// P10: nothing is allocated any more; what is to stay for the next round?
    pub fn settle(self, policy: u32, bytes: usize) {
        let (slow, home) = (self.slow(), self.home());
        let mut round =
            policy::Round { high: self.end_round(), others: 0, one_offs: 0, spare_bytes: slow.spare_bytes.get() };
        let newest = slow.newest.get();
        let mut at = newest;
        while at != home {
            round.others += at.size.get();
            round.one_offs += (at.kind.get() != Kind::Regular) as usize;
            at = at.next.get().unwrap_or(home);
        }
        let keep = policy::keep(&round, policy, bytes);

        // Home may do: as it is, as a buffer, or as a block that its source extends.
        let room = (self.home_end.get().addr() - self.home_start().addr()) as u64;
        let fits = round.high <= room + 512 && (policy != crate::abi::KEEP_ALL || round.others == 0);
        let one_block = self.is(FIXED) || (self.is(EXTENDS) && !self.is(BORROWED));
        let alone = newest != home && newest.next.get() == Some(home) && newest.kind.get() == Kind::Regular;
        let size = newest.size.get();
        slow.spare_keep.set(0);
        if keep.wanted <= HOME || fits || one_block {
            self.sort_out(|_| false);
            slow.first.set(0);
            self.home_current(false);
        } else if alone && round.high <= MERGE as u64 && size >= keep.wanted && size <= keep.most {
            self.put_spares(0);
            slow.first.set(0);
            self.home_current(true); // no mark of this round can name it
            slow.newest.set(newest);
            newest.index.set(1);
            self.make_current(newest, self.start_of(newest));
        } else if keep.as_they_are {
            let mut kept = 0;
            let largest = self.sort_out(|size| {
                let stays = size <= keep.bound && kept <= keep.bound - size;
                kept += if stays { size } else { 0 };
                stays
            });
            slow.first.set(CAP.max(largest));
            slow.spare_keep.set(keep.bound);
            self.home_current(true);
        } else {
            // A block that was rewound before the reset is as good as one that was not.
            let mut found = round.others != 0;
            self.sort_out(|size| {
                let stays = !found && size >= keep.wanted && size <= keep.most;
                found |= stays;
                stays
            });
            slow.first.set(slow.spares.get().map_or(keep.wanted, |b| b.size.get()));
            self.home_current(true);
        }
        slow.live.set(0);
        self.bump_epoch();
        home.born.set(self.epoch());
        slow.current.get().born.set(self.epoch());
        self.last_reset.set(self.epoch());
        if self.is(WATCHED) {
            self.rearm();
        }
        let free = self.budget.get() == u64::MAX && !self.is(BUDGETED);
        let again = policy == crate::abi::KEEP_RECENT && free && slow.spares.get().is_none() && !self.home_idles();
        self.settled.set(if again { self.head.cursor.get() } else { core::ptr::null_mut() });
        self.settled_high.set((round.high - 512) as usize);
    }

    /// P13
    pub fn trim(self, keep: usize) {
        let (slow, home) = (self.slow(), self.home());
        self.put_spares(keep);
        slow.spare_keep.set(slow.spare_keep.get().min(keep));
        let b = slow.current.get();
        if slow.live.get() != 0 || b != slow.newest.get() {
            return;
        }
        if b != home {
            let unused = b.next.get() == Some(home) && self.head.cursor.get() == self.start_of(b);
            if unused && b.size.get() > keep {
                self.put(b);
                slow.first.set(0);
                self.home_current(false);
                self.bump_epoch();
                slow.emptied.set(self.epoch());
                self.rearm();
            }
        } else if let (true, Some(source)) = (self.is(EXTENDS) && !self.is(BORROWED), self.source.get()) {
            let used = self.head.cursor.get().addr() - self.base().addr();
            let size = policy::round(keep.min(b.size.get()), HOME).max(policy::round(used, HOME)).max(HOME);
            let shrinks = || {
                // SAFETY: home is this source's block and has that size; what is above is not used.
                unsafe { source.as_ref().extend(NonNull::new_unchecked(self.base()), b.size.get(), size) }
            };
            if size < b.size.get() && shrinks() {
                self.resized(home, size);
            }
        }
    }
}
