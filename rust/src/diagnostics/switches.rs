//! Metering, sampling and checks of an arena, switched on while the program runs. They cost nothing while they are off.
// SPDX-License-Identifier: MIT OR Apache-2.0

use alloc::vec::Vec;
use core::ffi::c_int;
use core::fmt;

use crate::base::abi_types as abi;
use crate::base::finding::{Finding, Site};
use crate::base::report::Report;
use crate::memory::arena::Arena;
use crate::provider;

/// Why a switch failed. Nothing changed.
///
/// ```
/// let arena = toft::Arena::new();
/// let scope = arena.scope_guard();
/// assert_eq!(arena.set_checked(true), Err(toft::SwitchError::Busy));
/// # drop(scope);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SwitchError {
    /// A scope or cursor of the arena is open, or a destructor is running.
    Busy,
    /// The provider of the arena, in another language, does not have this switch.
    Unsupported,
    /// There is no memory for the records.
    Memory,
}

impl fmt::Display for SwitchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SwitchError::Busy => "a scope or a cursor of the arena is open, or a destructor is running",
            SwitchError::Unsupported => "the provider of the arena has no such switch",
            SwitchError::Memory => "there is no memory for what is to be noted",
        })
    }
}

impl core::error::Error for SwitchError {}

/// An allocation that the budget does not allow, or for which the source has refused a block: [`Arena::on_refusal`] has
/// a hook for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusal {
    /// Allocated bytes.
    pub live: u64,
    /// The budget on them; `u64::MAX` if there is none. If the source refused, it allows `live` + `size`.
    pub budget: u64,
    /// Requested bytes.
    pub size: usize,
}

/// A live allocation of a checked arena: [`Arena::allocations`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Allocation {
    /// Its first byte.
    pub at: *const u8,
    /// Requested bytes.
    pub size: usize,
    /// The call site.
    pub site: Site,
}

// ---- switches ----

impl Arena {
    /// Checks every allocation, from any language.
    ///
    /// Each allocation gets a record and red zones of at least 16 bytes, and is filled with `0xCD`, and with `0xDD`
    /// when it is freed. Frees verify the red zones; stale marks are refused, exactly. [`findings`](Arena::findings)
    /// returns what was detected: bytes written outside an allocation, mismatching frees, and values whose destructor
    /// did not run before their memory was freed: those of `alloc` and similar calls, not those of
    /// [`boxed`](Arena::boxed) and [`alloc_drop`](Arena::alloc_drop). [`report`](Arena::report) counts by call site,
    /// exactly.
    ///
    /// In a checked arena every allocation takes the slow path, and `live` includes the red zones. Scopes are checked
    /// if the outer arena is. Allocations from before the switch have no red zones.
    ///
    /// ```
    /// use toft::Finding;
    /// let mut arena = toft::Arena::new();
    /// arena.set_checked(true)?;
    /// let bytes = arena.alloc([0u8; 10]);
    /// // SAFETY: violated: byte 10 is not allocated. In a checked arena it is in a red zone.
    /// unsafe { bytes.as_mut_ptr().add(10).write(1) };
    /// arena.reset();
    /// assert!(matches!(arena.findings()[..], [Finding::Corrupt { size: 10, offset: 10, .. }]));
    /// # Ok::<(), toft::SwitchError>(())
    /// ```
    pub fn set_checked(&self, on: bool) -> Result<(), SwitchError> {
        self.set_by_table(abi::SET_CHECKED, on as u64)
    }

    /// Samples about one allocation in `bytes` allocated bytes, and estimates from that the allocations of each call
    /// site; 0: off. An allocation of s bytes is sampled with probability s / `bytes`.
    ///
    /// The inline path stays in use; rewinds and resizes (the end of a scope, the growth of a `Vec`) become calls.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// arena.set_sampling(64 << 10)?;
    /// assert_eq!(arena.report().count(), 0);
    /// # Ok::<(), toft::SwitchError>(())
    /// ```
    pub fn set_sampling(&self, bytes: u64) -> Result<(), SwitchError> {
        self.set_by_table(abi::SET_SAMPLE, bytes)
    }

    /// Counts bytes by [`tag`](Arena::tag) and [`phase`](Arena::phase). They are taken by subtraction where a tag or
    /// phase begins and ends, so the inline path stays in use; rewinds and resizes become calls. Allocations are
    /// counted by [`set_sampling`](Arena::set_sampling) and [`set_checked`](Arena::set_checked) only.
    pub fn set_metered(&self, on: bool) -> Result<(), SwitchError> {
        self.switch(|a| a.set_metered(on))
    }

    /// Reports [`Finding::OverBudget`], once between two resets, when more than this many bytes are allocated. Nothing
    /// is refused. `None`: off.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// arena.set_soft_budget(Some(100))?;
    /// arena.alloc([0u8; 96]);
    /// assert!(arena.findings().is_empty());
    /// arena.alloc([0u8; 16]);
    /// assert!(matches!(arena.findings()[..], [toft::Finding::OverBudget { live: 112, budget: 100, .. }]));
    /// # Ok::<(), toft::SwitchError>(())
    /// ```
    pub fn set_soft_budget(&self, bytes: Option<u64>) -> Result<(), SwitchError> {
        self.switch(|a| a.set_soft_budget(bytes.unwrap_or(u64::MAX)))
    }

    /// Limits the bytes of a tag that may be allocated at a time, exactly, while the arena is metered. `None`: no
    /// limit. The tag `""` means allocations without a tag. A nested tag, `ai/path`, is counted separately.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// arena.set_metered(true)?;
    /// arena.set_tag_budget("ai", Some(64))?;
    /// let ai = arena.tag("ai");
    /// assert!(arena.try_alloc([0u8; 64]).is_ok());
    /// assert!(arena.try_alloc(1u8).is_err());
    /// drop(ai);
    /// assert!(arena.try_alloc(1u8).is_ok());
    /// # Ok::<(), toft::SwitchError>(())
    /// ```
    pub fn set_tag_budget(&self, tag: &str, bytes: Option<u64>) -> Result<(), SwitchError> {
        self.switch(|a| a.set_tag_budget(tag, bytes.unwrap_or(u64::MAX)))
    }

    /// Calls `decide` before an allocation fails because of the [budget](Arena::set_budget), or because the source
    /// refused a block. `Some` is the budget from then on, if it is above the present one. The allocation is tried once
    /// more if the budget was raised or the source was the cause: `decide` may have freed memory of other arenas. It may
    /// query the arena, but not allocate there. If it panics, that is `None`.
    ///
    /// ```
    /// let arena = toft::Options::new().budget(8).create().unwrap();
    /// arena.on_refusal(|refusal| Some(refusal.budget * 2))?;
    /// arena.alloc([0u8; 16]);
    /// assert_eq!(arena.stats().budget, 16);
    /// # Ok::<(), toft::SwitchError>(())
    /// ```
    pub fn on_refusal(
        &self,
        mut decide: impl FnMut(Refusal) -> Option<u64> + Send + 'static,
    ) -> Result<(), SwitchError> {
        let hook = crate::base::try_box::try_box(move |live, budget, size| decide(Refusal { live, budget, size }));
        let mut hook: Option<provider::RefusalHook> = Some(hook.ok_or(SwitchError::Memory)?);
        self.switch(|a| a.set_refusal_hook(&mut hook))
    }

    fn set_by_table(&self, what: u32, value: u64) -> Result<(), SwitchError> {
        // SAFETY: the arena is alive.
        switched(unsafe { (self.table().set)(self.head().as_ptr(), what, value, core::ptr::null(), 0) })
    }

    fn switch(&self, apply: impl FnOnce(provider::RawArena) -> c_int) -> Result<(), SwitchError> {
        let Some(a) = self.own() else { return Err(SwitchError::Unsupported) };
        if a.is_closed() {
            return Err(SwitchError::Busy);
        }
        a.sync_in();
        let code = apply(a);
        a.end_op();
        switched(code)
    }

    /// Restricts allocation to the thread of this [`provider::thread_id`]; 0: no restriction.
    #[cfg(feature = "std")]
    pub(crate) fn pin_thread(&self, thread: usize) {
        if thread != 0 || self.own().is_some_and(|a| a.has_instruments()) {
            let _ = self.switch(|a| a.pin_thread(thread));
        }
    }
}

fn switched(code: c_int) -> Result<(), SwitchError> {
    match code {
        abi::ENOMEM => Err(SwitchError::Memory),
        abi::EBUSY => Err(SwitchError::Busy),
        code if code >= abi::OK || code == abi::ECORRUPT => Ok(()),
        _ => Err(SwitchError::Unsupported),
    }
}

// ---- tags and phases ----

/// Counts allocations for a tag while it exists: [`Arena::tag`].
#[derive(Debug)]
#[must_use = "the tag ends where this is dropped"]
pub struct Tag<'a> {
    arena: Option<(&'a Arena, usize)>,
}

/// Counts the bytes of a part of the program: [`Arena::phase`].
#[derive(Debug)]
#[must_use = "the phase ends where this is dropped"]
pub struct Phase<'a> {
    open: Option<OpenPhase<'a>>,
}

#[derive(Debug)]
struct OpenPhase<'a> {
    arena: &'a Arena,
    name: &'static str,
    began: (u64, u64),
}

impl Arena {
    /// Counts allocations of this arena for a tag until the value is dropped; then for the previous tag. Does nothing,
    /// at the cost of a branch, while the arena is not [metered](Arena::set_metered).
    ///
    /// Within another tag the name is a relative path: `sound` within `level` is `level/sound`. A name that begins with
    /// `/` is an absolute path: `/ai` is always `ai`.
    ///
    /// Bytes belong to their tag until they are freed, also after a change of tag. Those of a [`cursor`](Arena::cursor)
    /// belong to the tag at its creation. Scopes begin with the tag of the outer arena. Tags normally end in reverse
    /// order of their beginnings; in another order, the last one to be dropped restores the tag of its beginning.
    ///
    /// ```
    /// let mut arena = toft::Arena::new();
    /// arena.set_metered(true)?;
    /// let outer = arena.tag("level");
    /// arena.alloc(1u64);
    /// {
    ///     let _inner = arena.tag("sound");
    ///     arena.alloc([0u64; 2]);
    /// }
    /// arena.alloc(1u64);
    /// drop(outer);
    /// let live: Vec<(String, u64)> = arena.report().tags.into_iter().map(|tag| (tag.name, tag.live)).collect();
    /// assert_eq!(live, [("".into(), 0), ("level".into(), 16), ("level/sound".into(), 16)]);
    /// # Ok::<(), toft::SwitchError>(())
    /// ```
    #[inline]
    pub fn tag(&self, name: &str) -> Tag<'_> {
        Tag { arena: if self.is_instrumented() { self.tag_slow(name) } else { None } }
    }

    /// Counts what is allocated until the value is dropped. Does nothing, at the cost of a branch, while the arena is not
    /// [metered](Arena::set_metered).
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// arena.set_metered(true)?;
    /// drop(arena.phase("load"));
    /// assert_eq!(arena.report().phases[0].entries, 1);
    /// # Ok::<(), toft::SwitchError>(())
    /// ```
    #[inline]
    pub fn phase(&self, name: &'static str) -> Phase<'_> {
        Phase { open: if self.is_instrumented() { self.phase_slow(name) } else { None } }
    }

    #[cold]
    #[inline(never)]
    fn tag_slow(&self, name: &str) -> Option<(&Arena, usize)> {
        let a = self.own().filter(|a| a.is_metered())?;
        a.sync_in();
        let before = a.enter_tag(name);
        a.set_limit();
        Some((self, before?))
    }

    #[cold]
    #[inline(never)]
    fn phase_slow(&self, name: &'static str) -> Option<OpenPhase<'_>> {
        let a = self.own().filter(|a| a.is_metered())?;
        a.sync_in();
        let began = a.begin_phase();
        a.set_limit();
        Some(OpenPhase { arena: self, name, began: began? })
    }
}

impl Drop for Tag<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some((Some(a), before)) = self.arena.map(|(arena, before)| (arena.own(), before)) {
            a.sync_in();
            a.change_tag(before);
            a.set_limit();
        }
    }
}

impl Drop for Phase<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(open) = &self.open {
            open.end();
        }
    }
}

impl OpenPhase<'_> {
    #[cold]
    #[inline(never)]
    fn end(&self) {
        if let Some(a) = self.arena.own() {
            a.sync_in();
            a.end_phase(self.name, self.began);
            a.set_limit();
        }
    }
}

// ---- reports ----

impl Arena {
    /// Returns a report of the arena, open scopes included.
    pub fn report(&self) -> Report {
        self.make_report(false)
    }

    /// As [`report`](Arena::report), and resets its counts: for a report of each frame.
    pub fn take_report(&self) -> Report {
        self.make_report(true)
    }

    fn make_report(&self, clear: bool) -> Report {
        let stats = self.stats();
        let Some(a) = self.own().filter(|a| a.has_instruments()) else { return Report { stats, ..Report::default() } };
        a.sync_in();
        let tags = a.with_shared(|shared| shared.tags.len()).unwrap_or(0);
        let live: Vec<u64> = (0..tags).filter(|_| a.is_metered()).map(|tag| a.live_of_tag(tag)).collect();
        let report = a.with_shared(|shared| Report::of(shared, stats, &live, clear));
        a.set_limit();
        report.unwrap_or_default()
    }

    /// Returns the findings since the last call, oldest first: at most 1000, then the number of further ones. Those of
    /// a scope are added when it has ended.
    ///
    /// Allocations are checked when they are freed: to check all of them, [`reset`](Arena::reset) first.
    pub fn findings(&self) -> Vec<Finding> {
        let Some(a) = self.own().filter(|a| a.has_instruments()) else { return Vec::new() };
        a.sync_in();
        let mut found = a
            .with_shared(|shared| {
                let mut found: Vec<Finding> = shared.faults.drain(..).map(Finding::of).collect();
                let count = core::mem::take(&mut shared.faults_lost);
                if count != 0 {
                    found.push(Finding::Lost { count });
                }
                found
            })
            .unwrap_or_default();
        let calls = a.take_wrong_thread_calls();
        if calls != 0 {
            found.push(Finding::WrongThread { calls });
        }
        a.set_limit();
        found
    }

    /// Returns the live allocations of a checked arena, oldest first; then those of scopes. Older allocations are
    /// missing.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// arena.alloc(1u8);
    /// assert!(arena.allocations().is_empty());
    /// arena.set_checked(true)?;
    /// arena.alloc(2u8);
    /// assert_eq!(arena.allocations().len(), 1);
    /// # Ok::<(), toft::SwitchError>(())
    /// ```
    pub fn allocations(&self) -> Vec<Allocation> {
        let mut all = Vec::new();
        if let Some(a) = self.own().filter(|a| a.has_instruments()) {
            a.each_record(&mut |at, size, caller| all.push(Allocation { at, size, site: Site::of(caller) }));
        }
        all
    }
}
