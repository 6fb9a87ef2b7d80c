//! Bytes by tag and by phase, exact (SPEC 6).
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]
#![allow(improper_ctypes_definitions)] // these functions do not unwind

use alloc::string::String;

use super::instrument_types::{Instruments, Own, Phase, Shared, Tag};
use super::state::*;
use crate::base::abi_types as abi;

impl Shared {
    pub(super) fn tag_named(&mut self, number: Option<u64>, name: &str) -> Option<usize> {
        let number = if name.is_empty() { number.or(Some(0)) } else { number }; // 0: no tag
        let same = |t: &Tag| if name.is_empty() { t.number == number } else { t.name == name };
        if let Some(at) = self.tags.iter().position(same) {
            if number.is_some() {
                self.tags[at].number = number;
            }
            return Some(at);
        }
        self.tags.try_reserve(1).ok()?;
        let mut owned = String::new();
        owned.try_reserve(name.len()).ok()?;
        owned.push_str(name);
        self.tags.push(Tag { number, name: owned, budget: u64::MAX, allocated: 0 });
        Some(self.tags.len() - 1)
    }

    pub(super) fn add_phase(&mut self, more: Phase) {
        if let Some(phase) = self.phases.iter_mut().find(|phase| phase.name == more.name) {
            phase.entries += more.entries;
            phase.allocated += more.allocated;
            phase.kept += more.kept;
        } else if self.phases.try_reserve(1).is_ok() {
            self.phases.push(more);
        }
    }

    pub(super) fn tag_within(&mut self, outer: usize, name: &str) -> Option<usize> {
        if let Some(path) = name.strip_prefix('/') {
            return self.tag_named(None, path);
        }
        let before = &self.tags[outer].name;
        if name.is_empty() {
            return Some(outer);
        }
        if before.is_empty() {
            return self.tag_named(None, name);
        }
        let same = |t: &Tag| t.name.strip_prefix(before.as_str()).and_then(|rest| rest.strip_prefix('/')) == Some(name);
        if let Some(at) = self.tags.iter().position(same) {
            return Some(at);
        }
        let mut path = String::new();
        path.try_reserve(before.len() + 1 + name.len()).ok()?;
        path.extend([before.as_str(), "/", name]);
        self.tag_named(None, &path)
    }
}

impl Own {
    /// SPEC 6: drops the bytes above `live` from their tags; later ones belong to the present tag.
    pub(super) fn cut_tags(&mut self, live: u64) {
        let in_regular = live.saturating_sub(self.detached_bytes);
        while self.tag_stack.last().is_some_and(|top| top.0 >= in_regular) {
            self.tag_stack.pop();
        }
        if self.tag_stack.last().is_none_or(|top| top.1 != self.tag) && self.tag_stack.try_reserve(1).is_ok() {
            self.tag_stack.push((in_regular, self.tag));
        }
    }

    pub(super) fn live_of(&self, tag: usize, live: u64) -> u64 {
        let in_regular = live.saturating_sub(self.detached_bytes);
        let mut sum = 0;
        for (i, (start, of)) in self.tag_stack.iter().enumerate() {
            if *of == tag {
                let end = self.tag_stack.get(i + 1).map_or(in_regular, |next| next.0);
                sum += end.saturating_sub(*start);
            }
        }
        for (_, of, bytes) in &self.detached {
            if *of == tag {
                sum += bytes;
            }
        }
        sum
    }

    /// Precondition: `reserve_detached` returned true.
    pub(super) fn detached_add(&mut self, block: Block, tag: usize, bytes: u64) {
        let block = block.base().addr();
        match self.detached.last_mut().filter(|last| last.0 == block && last.1 == tag) {
            Some(last) => last.2 += bytes,
            None => self.detached.push((block, tag, bytes)),
        }
        self.detached_bytes += bytes;
    }

    pub(super) fn detached_clear(&mut self) {
        self.detached.clear();
        self.detached_bytes = 0;
    }
}

impl RawArena {
    pub fn set_metered(self, on: bool) -> i32 {
        let Some(instruments) = self.instruments_or_new() else { return abi::ENOMEM };
        if on != instruments.metered.get() {
            let mut own = instruments.own.borrow_mut();
            own.detached_clear();
            if on && !self.detached_add_all(&mut own) {
                own.detached_clear();
                return abi::ENOMEM;
            }
            instruments.metered.set(on);
            own.tag = 0;
            own.tag_stack.clear();
            let detached = own.detached_bytes;
            own.cut_tags(detached); // at 0 bytes in regular blocks
            own.counted = self.slow().allocated.get();
        }
        self.next_epoch();
        self.update_instrumented(instruments);
        abi::OK
    }

    /// Counts all present detached blocks for no tag. `false`: no memory.
    pub(super) fn detached_add_all(self, own: &mut Own) -> bool {
        let mut at = Some(self.slow().newest.get());
        while let Some(b) = at {
            if matches!(b.kind.get(), Kind::Dedicated | Kind::Side) {
                if own.detached.try_reserve(1).is_err() {
                    return false;
                }
                own.detached_add(b, 0, b.charge.get() as u64);
            }
            at = b.next.get();
        }
        true
    }

    /// Switches to the tag of this number and path. Returns the previous one's index.
    pub fn set_tag(self, number: u64, path: &str) -> Option<usize> {
        let instruments = self.instruments_or_new()?;
        let tag = instruments.shared().borrow_mut().tag_named(Some(number), path.strip_prefix('/').unwrap_or(path))?;
        Some(self.change_tag(tag))
    }

    /// As `set_tag`, for a name within the present tag, or a path that begins with `/`.
    pub fn enter_tag(self, name: &str) -> Option<usize> {
        let instruments = self.instruments_or_new()?;
        let outer = instruments.own.borrow().tag;
        let tag = instruments.shared().borrow_mut().tag_within(outer, name)?;
        Some(self.change_tag(tag))
    }

    pub fn change_tag(self, tag: usize) -> usize {
        let Some(instruments) = self.instruments() else { return 0 };
        self.sync_tag(instruments);
        let mut own = instruments.own.borrow_mut();
        let before = core::mem::replace(&mut own.tag, tag);
        own.cut_tags(self.slow().live.get());
        before
    }

    /// Records the present tag for a claim.
    #[cold]
    #[inline(never)]
    pub extern "C" fn save_claim_tag(self) {
        if let Some(instruments) = self.instruments() {
            let mut own = instruments.own.borrow_mut();
            own.claim_tag = own.tag;
        }
    }

    /// Switches to the tag of the claim, so that the range's bytes are counted for it. Returns the present tag.
    #[cold]
    #[inline(never)]
    pub extern "C" fn enter_claim_tag(self) -> Option<usize> {
        let tag = self.instruments()?.own.borrow().claim_tag;
        Some(self.change_tag(tag))
    }

    #[cold]
    #[inline(never)]
    pub extern "C" fn leave_claim_tag(self, present: usize) {
        self.change_tag(present);
    }

    /// Reserves memory for the entry of one more detached block. `false`: no memory.
    #[cold]
    #[inline(never)]
    pub extern "C" fn reserve_detached(self) -> bool {
        self.instruments().is_none_or(|instruments| {
            !instruments.metered.get() || instruments.own.borrow_mut().detached.try_reserve(1).is_ok()
        })
    }

    /// Counts bytes of a detached block that were added to live.
    #[cold]
    #[inline(never)]
    pub extern "C" fn detached_add(self, block: Block, bytes: usize) {
        if let Some(instruments) = self.instruments().filter(|instruments| instruments.metered.get()) {
            let mut own = instruments.own.borrow_mut();
            let tag = own.tag;
            own.detached_add(block, tag, bytes as u64);
        }
    }

    /// Subtracts a block whose bytes were subtracted from live. Its entries are among the last.
    #[cold]
    #[inline(never)]
    pub extern "C" fn detached_remove(self, block: Block) {
        if let Some(instruments) = self.instruments().filter(|instruments| instruments.metered.get()) {
            let mut own = instruments.own.borrow_mut();
            let block = block.base().addr();
            let mut end = own.detached.len();
            while end != 0 && own.detached[end - 1].0 != block {
                end -= 1;
            }
            let mut start = end;
            while start != 0 && own.detached[start - 1].0 == block {
                start -= 1;
                own.detached_bytes -= own.detached[start].2;
            }
            debug_assert!(own.detached[..start].iter().rev().take(32).all(|entry| entry.0 != block));
            own.detached.drain(start..end);
        }
    }

    pub(super) fn sync_tag(self, instruments: &Instruments) {
        let mut own = instruments.own.borrow_mut();
        let allocated = self.slow().allocated.get();
        let more = allocated.wrapping_sub(own.counted); // negative if a claim was not extended
        let counted = &mut instruments.shared().borrow_mut().tags[own.tag].allocated;
        *counted = counted.wrapping_add(more);
        own.counted = allocated;
    }

    /// Live bytes of a tag, open scopes included.
    pub fn live_of_tag(self, tag: usize) -> u64 {
        let Some(instruments) = self.instruments() else { return 0 };
        self.sync();
        let mut live = instruments.own.borrow().live_of(tag, self.slow().live.get());
        self.each_scope(|scope| live += scope.live_of_tag(tag));
        live
    }

    /// Unused bytes of the claimed ranges of a tag, open scopes included.
    pub(super) fn claimed_of_tag(self, tag: usize) -> u64 {
        let Some(instruments) = self.instruments() else { return 0 };
        let mut held = if instruments.own.borrow().claim_tag == tag { self.claimed_bytes() as u64 } else { 0 };
        self.each_scope(|scope| held += scope.claimed_of_tag(tag));
        held
    }

    /// The allocated and live bytes at the begin of a phase, for `end_phase`.
    pub fn begin_phase(self) -> Option<(u64, u64)> {
        let instruments = self.instruments()?;
        instruments.metered.get().then(|| (self.allocated_with_scopes(), self.live_with_scopes()))
    }

    pub fn end_phase(self, name: &'static str, began: (u64, u64)) {
        let Some(instruments) = self.instruments() else { return };
        let allocated = self.allocated_with_scopes().saturating_sub(began.0);
        let kept = self.live_with_scopes() as i64 - began.1 as i64;
        let phase = Phase { name, entries: 1, allocated, kept };
        let mut shared = instruments.shared().borrow_mut();
        shared.add_phase(phase);
        #[cfg(feature = "std")]
        if shared.record.is_some() {
            super::profile::add_phase(phase);
        }
    }

    pub(super) fn allocated_with_scopes(self) -> u64 {
        self.sync();
        let mut allocated = self.slow().allocated.get();
        self.each_scope(|scope| allocated += scope.allocated_with_scopes());
        allocated
    }

    pub fn is_metered(self) -> bool {
        self.has_instruments() && self.instruments().is_some_and(|instruments| instruments.metered.get())
    }

    pub(super) fn sync_scope_tags(self) {
        self.each_scope(|scope| {
            scope.sync_in();
            if let Some(instruments) = scope.instruments() {
                scope.sync_tag(instruments);
            }
            scope.sync_scope_tags();
            scope.set_limit();
        });
    }
}
