//! The free list of a pool: which slots have values, and which free slot the next insertion takes.
//!
//! Each slot has a generation, which is odd while the slot has a value. Generations are stored apart from the values.
//! Freeing a slot increments its generation. Iteration converts 64 generations at a time to a word of bits and visits
//! the set bits, so a free slot costs no branch.
//!
//! Free slots are found in groups of 64. Freeing a slot pushes its group onto a stack that is linked through `links`,
//! unless the group is on it. An insertion takes a free slot of the current group; when that has none left, the top of
//! the stack becomes the current group. So values that are inserted one after the other are adjacent, however scattered
//! the removals were. While the stack is empty, insertions take unused slots in ascending order.
//!
//! A slot that was used [`Generation::USES`] times is *retired*: its generation stays the last one, which no handle
//! has, and no insertion takes the slot. It is left out when its group becomes the current one: no slot from the
//! high-water mark on is retired, and freeing a slot never adds it to the current group.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::alloc::Layout;
use core::marker::PhantomData;
use core::ptr::NonNull;

use super::key::Generation;
use toft::__CallSite as CallSite;
use toft::__buffer::reallocate;
use toft::AllocError;
use toft::Memory;

/// The number of slots in a group.
const GROUP: usize = u64::BITS as usize;

/// At most so many generations are initialized at once.
const INITIALIZE_MAX: usize = 64 * GROUP;

/// The link that ends the stack.
const NONE: u32 = u32::MAX;
/// The link of a group that is not on the stack.
const NOT_STACKED: u32 = u32::MAX - 1;

/// The largest number of slots that links can address.
pub(crate) const MAX_SLOTS: usize =
    if usize::BITS > 32 { (NOT_STACKED as usize).saturating_mul(GROUP) } else { usize::MAX / 2 };

pub(crate) struct FreeList<G> {
    /// The generation of each initialized slot.
    generations: NonNull<G>,
    /// The high-water mark: slots below it have or had a value since the pool was last empty.
    high_water: usize,
    /// The number of free slots below the high-water mark.
    freed: usize,
    /// The generations of slots below it are initialized, and so are the links of their groups.
    initialized: usize,
    /// While there is no current group, insertions take the slots from `high_water` up to this one: the smaller of
    /// `initialized` and `slots`, or 0 while the stack is not empty. So the fast path of an insertion compares with
    /// this field only.
    limit: usize,
    /// The number of slots of the pool.
    slots: usize,
    /// A bit for each free slot of the current group; 0 if there is none.
    current_free: u64,
    /// The first slot of the current group.
    current_start: usize,
    /// For each group, the next one on the stack, `NONE` or `NOT_STACKED`.
    links: NonNull<u32>,
    /// The group on top of the stack.
    top: u32,
    /// The numbers of slots for which `generations` and `links` have memory: multiples of GROUP, and `linked` is not
    /// more than `capacity`.
    capacity: usize,
    linked: usize,
    /// No slot was used more often than this, and no slot from the high-water mark on as often: each use follows a
    /// group that became current, a clear or a truncation, or is the first one. So generations are searched for
    /// retired slots only in pools that may have some.
    turns: u32,
}

impl<G: Generation> FreeList<G> {
    pub(crate) const fn new() -> Self {
        FreeList {
            generations: NonNull::dangling(),
            high_water: 0,
            freed: 0,
            initialized: 0,
            limit: 0,
            slots: 0,
            current_free: 0,
            current_start: 0,
            links: NonNull::dangling(),
            top: NONE,
            capacity: 0,
            linked: 0,
            turns: 1,
        }
    }

    /// The high-water mark: no slot from it on has a value.
    #[inline(always)]
    pub(crate) fn high_water(&self) -> usize {
        self.high_water
    }

    /// The number of slots that have values.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.high_water - self.freed
    }

    fn layouts(capacity: usize) -> Result<[Layout; 2], AllocError> {
        let generations = Layout::array::<G>(capacity).map_err(|_| AllocError)?;
        let links = Layout::array::<u32>(capacity / GROUP).map_err(|_| AllocError)?;
        Ok([generations, links])
    }

    /// The bytes that it has allocated.
    pub(crate) fn bytes(&self) -> usize {
        let layouts =
            [(self.capacity, 0), (self.linked, 1)].map(|(capacity, which)| Self::layouts(capacity).map(|l| l[which]));
        layouts.into_iter().flatten().map(|layout| layout.size()).sum()
    }

    /// Allocates generations and links for that many slots. An error changes nothing that is observable.
    pub(crate) fn reserve(&mut self, slots: usize, memory: &impl Memory) -> Result<(), AllocError> {
        let capacity = slots.checked_next_multiple_of(GROUP).ok_or(AllocError)?;
        let (new, site) = (Self::layouts(capacity)?, CallSite::caller(false));
        // SAFETY: each array was allocated with the layout for its capacity, and the new layout is larger.
        unsafe {
            if self.capacity < capacity {
                let old = Self::layouts(self.capacity)?[0];
                self.generations = reallocate(memory, self.generations.cast(), old, new[0], site)?.cast();
                self.capacity = capacity;
            }
            if self.linked < capacity {
                let old = Self::layouts(self.linked)?[1];
                self.links = reallocate(memory, self.links.cast(), old, new[1], site)?.cast();
                self.linked = capacity;
            }
        }
        Ok(())
    }

    /// Returns memory that a growth reserved which failed afterwards, unless the memory refuses that.
    #[cold]
    pub(crate) fn shrink(&mut self, slots: usize, memory: &impl Memory) {
        let kept = slots.max(self.initialized).next_multiple_of(GROUP);
        let (Ok(new), site) = (Self::layouts(kept), CallSite::caller(false)) else { return };
        // SAFETY: each array was allocated with the layout for its capacity, and the new layout is smaller.
        unsafe {
            if let (true, Ok(old)) = (kept < self.capacity, Self::layouts(self.capacity)) {
                if let Ok(p) = reallocate(memory, self.generations.cast(), old[0], new[0], site) {
                    (self.generations, self.capacity) = (p.cast(), kept);
                }
            }
            if let (true, Ok(old)) = (kept < self.linked, Self::layouts(self.linked)) {
                if let Ok(p) = reallocate(memory, self.links.cast(), old[1], new[1], site) {
                    (self.links, self.linked) = (p.cast(), kept);
                }
            }
        }
    }

    /// Deallocates both arrays.
    ///
    /// # Safety
    /// `memory` is the one that `reserve` was called with. This value is not used again.
    pub(crate) unsafe fn deallocate(&mut self, memory: &impl Memory) {
        for (p, capacity, which) in [(self.generations.cast(), self.capacity, 0), (self.links.cast(), self.linked, 1)] {
            if let (1.., Ok(layouts)) = (capacity, Self::layouts(capacity)) {
                // SAFETY: the caller's contract, and that of reserve.
                unsafe { memory.deallocate(p, layouts[which]) }
            }
        }
        (self.capacity, self.linked) = (0, 0);
    }

    /// Whether `next_slot` may be called.
    #[inline(always)]
    pub(crate) fn has_next(&self) -> bool {
        self.current_free != 0 || self.high_water < self.limit
    }

    /// The slow path of an insertion: takes the next group that has a free slot which is not retired, or initializes
    /// slots. Returns false if there is none. Retired slots have the generation `retired`.
    pub(crate) fn find_next(&mut self, unused: G, retired: Option<G>) -> bool {
        while self.top != NONE {
            self.pop_group(retired);
            if self.current_free != 0 {
                return true;
            }
        }
        if self.high_water == self.initialized && self.high_water < self.slots {
            // Not up to the capacity, which is larger if there was no memory for its links.
            let end = self.linked.min(self.initialized + INITIALIZE_MAX.min(self.initialized.max(GROUP)));
            // SAFETY: there is a link for each group, and a generation for each slot.
            unsafe { self.initialize(end, unused) }
            self.update_limit();
        }
        self.has_next()
    }

    /// Sets the number of slots of the pool, which are reserved here.
    pub(crate) fn set_slots(&mut self, slots: usize) {
        self.slots = slots;
        self.update_limit();
    }

    /// Computes the limit.
    fn update_limit(&mut self) {
        self.limit = if self.top == NONE { self.initialized.min(self.slots) } else { 0 };
    }

    /// # Safety
    /// `end` is the end of a group, and generations and links are reserved up to it.
    unsafe fn initialize(&mut self, end: usize, unused: G) {
        debug_assert!(end % GROUP == 0 && end <= self.linked && !unused.is_odd());
        // SAFETY: the caller's contract.
        unsafe {
            for i in self.initialized..end {
                self.generations.add(i).write(unused);
            }
            for group in self.initialized / GROUP..end / GROUP {
                self.links.add(group).write(NOT_STACKED);
            }
        }
        self.initialized = self.initialized.max(end);
    }

    /// The generation of a slot.
    ///
    /// # Safety
    /// The slot is below the high-water mark.
    #[inline(always)]
    pub(crate) unsafe fn generation(&self, i: usize) -> G {
        // SAFETY: the caller's contract.
        unsafe { self.generations.add(i).read() }
    }

    /// The slot that the next insertion takes, and its generation.
    ///
    /// # Safety
    /// `has_next` is true.
    #[inline(always)]
    pub(crate) unsafe fn next_slot(&self) -> (usize, G) {
        let i = if self.current_free != 0 {
            self.current_start + self.current_free.trailing_zeros() as usize
        } else {
            self.high_water
        };
        // SAFETY: a slot that may be taken is initialized.
        (i, unsafe { self.generation(i) })
    }

    /// Marks the slot that `next_slot` returned as occupied.
    ///
    /// # Safety
    /// `next_slot` was the last call, and returned slot `i`.
    #[inline(always)]
    pub(crate) unsafe fn occupy(&mut self, i: usize, generation: G) {
        debug_assert!(generation.is_odd() && (self.current_free != 0 || i < self.limit));
        if self.current_free != 0 {
            self.current_free &= self.current_free - 1;
            self.freed -= 1;
        } else {
            self.high_water = i + 1;
        }
        // SAFETY: the slot is initialized.
        unsafe { self.generations.add(i).write(generation) }
    }

    /// Removes the top of the stack and makes it the current group. Its free slots may all be retired.
    fn pop_group(&mut self, retired: Option<G>) {
        let group = self.top as usize;
        // SAFETY: each group on the stack has a free slot below the high-water mark.
        unsafe {
            self.top = self.links.add(group).replace(NOT_STACKED);
            self.current_free = !self.occupied_bits(group) & mask(self.high_water - group * GROUP);
        }
        self.current_start = group * GROUP;
        debug_assert!(self.current_free != 0);
        if self.may_have(retired) {
            self.leave_out_retired(retired);
        }
        self.turns = self.turns.saturating_add(1);
        self.update_limit();
    }

    /// Removes retired slots from the bits of the current group.
    #[cold]
    #[inline(never)]
    fn leave_out_retired(&mut self, retired: Option<G>) {
        let mut rest = self.current_free;
        while rest != 0 {
            let bit = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            // SAFETY: all slots of the group are initialized.
            if Some(unsafe { self.generation(self.current_start + bit) }) == retired {
                self.current_free &= !(1 << bit);
            }
        }
    }

    /// Whether there may be retired slots.
    fn may_have(&self, retired: Option<G>) -> bool {
        retired.is_some() && self.turns >= G::USES
    }

    /// The slots that are retired, in descending order.
    fn retired_slots(&self, retired: Option<G>) -> impl Iterator<Item = usize> + '_ {
        let searched = if self.may_have(retired) { self.high_water } else { 0 };
        let generations = self.generations(searched).iter().enumerate().rev();
        generations.filter(move |(_, generation)| Some(**generation) == retired).map(|(i, _)| i)
    }

    /// The number of retired slots.
    pub(crate) fn retired(&self, retired: Option<G>) -> usize {
        self.retired_slots(retired).count()
    }

    /// The end of the slots whose own generations must be kept, since most of their uses are past.
    pub(crate) fn worn_end(&self, retired: Option<G>) -> usize {
        let mut generations = self.generations(self.initialized).iter();
        retired.and_then(|retired| generations.rposition(|generation| generation.is_worn(retired))).map_or(0, |i| i + 1)
    }

    /// Frees a slot, whose generation is passed.
    ///
    /// # Safety
    /// The slot is occupied.
    #[inline(always)]
    pub(crate) unsafe fn free(&mut self, i: usize, generation: G) {
        debug_assert!(i < self.high_water && generation.is_odd());
        // SAFETY: the caller's contract.
        unsafe {
            self.generations.add(i).write(generation.next());
            self.freed += 1;
            let link = self.links.add(i / GROUP);
            if link.read() == NOT_STACKED {
                link.write(self.top);
                self.top = (i / GROUP) as u32;
                self.limit = 0;
            }
        }
    }

    /// A bit for each slot of a group that has a value.
    ///
    /// # Safety
    /// The group has slots below the high-water mark.
    #[inline(always)]
    unsafe fn occupied_bits(&self, group: usize) -> u64 {
        // SAFETY: all slots of a group are initialized together.
        let bits = unsafe { G::odd_bits(self.generations.add(group * GROUP).cast().as_ref()) };
        debug_assert!(bits & !mask(self.high_water - group * GROUP) == 0, "a slot above the high-water mark is free");
        bits
    }

    /// Frees all slots; insertions take them from the first on again. The high-water mark stays above retired slots.
    pub(crate) fn clear(&mut self, retired: Option<G>) {
        // SAFETY: slots below the high-water mark are initialized.
        for generation in unsafe { core::slice::from_raw_parts_mut(self.generations.as_ptr(), self.high_water) } {
            *generation = generation.after();
        }
        self.turns = self.turns.saturating_add(1);
        let last_retired = self.retired_slots(retired).next();
        self.high_water = last_retired.map_or(0, |i| i + 1);
        self.freed = self.high_water;
        self.rebuild_stack();
    }

    /// Sets the high-water mark, which is after all values and worn slots. The slots from it on are free, and start
    /// with generation `unused` when they are used again.
    pub(crate) fn truncate(&mut self, high_water: usize, unused: G) {
        debug_assert!(self.last().is_none_or(|last| last < high_water) && !unused.is_odd());
        self.freed = high_water - self.len();
        self.high_water = high_water;
        self.turns = self.turns.saturating_add(1);
        self.initialized = high_water.next_multiple_of(GROUP);
        for i in high_water..self.initialized {
            // SAFETY: the group is initialized, since it has a slot below the high-water mark.
            unsafe { self.generations.add(i).write(unused) }
        }
        self.rebuild_stack();
    }

    /// Sets the generations of the first slots, which are free until `set_occupied` is called for them.
    ///
    /// # Safety
    /// No slot was initialized, and as many are reserved.
    pub(crate) unsafe fn set_generations(&mut self, generations: &[G], unused: G, retired: Option<G>) {
        let slots = generations.len();
        // SAFETY: the caller's contract; the capacity is a multiple of GROUP.
        unsafe {
            self.initialize(slots.next_multiple_of(GROUP), unused);
            for (i, generation) in generations.iter().enumerate() {
                self.generations.add(i).write(generation.before());
            }
        }
        (self.high_water, self.freed) = (slots, slots);
        let uses = |generation: &G| retired.map_or(0, |retired| G::USES - generation.until(retired) / 2);
        self.turns = generations.iter().map(uses).fold(uses(&unused), u32::max) + 1;
    }

    /// Marks a slot as occupied, with this generation. `rebuild_stack` must be called afterwards.
    ///
    /// # Safety
    /// The slot is below the high-water mark, and free.
    pub(crate) unsafe fn set_occupied(&mut self, i: usize, generation: G) {
        debug_assert!(i < self.high_water && generation.is_odd());
        // SAFETY: the caller's contract.
        unsafe { self.generations.add(i).write(generation) }
        self.freed -= 1;
    }

    /// Makes the stack anew of the groups that have a free slot, with the first one on top.
    pub(crate) fn rebuild_stack(&mut self) {
        (self.top, self.current_free) = (NONE, 0);
        let (used, groups) = (self.high_water.div_ceil(GROUP), self.initialized / GROUP);
        // SAFETY: initialized groups have a link.
        let links = unsafe { core::slice::from_raw_parts_mut(self.links.as_ptr(), groups) };
        links[used..].fill(NOT_STACKED);
        for group in (0..used).rev() {
            let top = self.top;
            // SAFETY: the group has slots below the high-water mark.
            let free = unsafe { !self.occupied_bits(group) } & mask(self.high_water - group * GROUP) != 0;
            if free {
                self.top = group as u32;
            }
            // SAFETY: as above.
            unsafe { self.links.add(group).write(if free { top } else { NOT_STACKED }) }
        }
        self.update_limit();
    }

    /// The generations of the first `n` slots, which are initialized.
    pub(crate) fn generations(&self, n: usize) -> &[G] {
        debug_assert!(n <= self.initialized);
        // SAFETY: they are initialized.
        unsafe { core::slice::from_raw_parts(self.generations.as_ptr(), n) }
    }

    /// Verifies the list: see `assertions.rs` of the crate `toft`.
    pub(crate) fn verify(&self, retired: Option<G>) -> bool {
        debug_assert!(self.freed <= self.high_water);
        debug_assert!(self.high_water <= self.initialized && self.high_water <= self.slots);
        debug_assert!(self.initialized % GROUP == 0 && self.initialized <= self.linked);
        debug_assert!(self.linked % GROUP == 0 && self.capacity % GROUP == 0);
        debug_assert!(self.slots <= self.linked && self.linked <= self.capacity);
        debug_assert!(self.limit == if self.top == NONE { self.initialized.min(self.slots) } else { 0 });
        debug_assert!(self.turns >= 1);
        if self.current_free != 0 {
            debug_assert!(self.current_start % GROUP == 0 && self.current_start < self.high_water);
            debug_assert!(self.current_free & !mask(self.high_water - self.current_start) == 0);
        }
        if toft::__verifies(self.initialized / 8) {
            self.verify_slots(retired);
        }
        true
    }

    fn verify_slots(&self, retired: Option<G>) {
        let (mut occupied, mut stacked) = (0, 0);
        for group in 0..self.initialized / GROUP {
            let (start, used) = (group * GROUP, mask(self.high_water.saturating_sub(group * GROUP)));
            let generations = &self.generations(self.initialized)[start..start + GROUP];
            let bits = generations.iter().rev().fold(0, |bits, generation| bits << 1 | generation.is_odd() as u64);
            debug_assert!(bits & !used == 0);
            occupied += bits.count_ones() as usize;
            // SAFETY: initialized groups have a link.
            let link = unsafe { self.links.add(group).read() };
            let is_current = self.current_free != 0 && group * GROUP == self.current_start;
            let listed = if is_current { self.current_free } else { 0 };
            debug_assert!(bits & listed == 0, "a slot with a value is to be taken");
            if link != NOT_STACKED {
                stacked += 1;
                debug_assert!(!bits & used != 0, "a group without a free slot is stacked");
                continue;
            }
            let unlisted = !bits & used & !listed;
            let is_retired = |bit: usize| unlisted >> bit & 1 == 0 || Some(generations[bit]) == retired;
            debug_assert!((0..GROUP).all(is_retired), "a free slot is in no list");
            debug_assert!(unlisted == 0 || self.may_have(retired));
        }
        debug_assert!(occupied == self.len());
        let (mut group, mut n) = (self.top, 0);
        while group != NONE {
            debug_assert!(group != NOT_STACKED && (group as usize) < self.high_water.div_ceil(GROUP));
            debug_assert!(n < stacked, "the stack has a cycle");
            // SAFETY: initialized groups have a link.
            (group, n) = (unsafe { self.links.add(group as usize).read() }, n + 1);
        }
        debug_assert!(n == stacked);
    }

    /// The number of initialized slots.
    pub(crate) fn initialized(&self) -> usize {
        self.initialized
    }

    /// The last slot that has a value.
    pub(crate) fn last(&self) -> Option<usize> {
        self.generations(self.high_water).iter().rposition(|generation| generation.is_odd())
    }

    /// The slots that have values.
    ///
    /// # Safety
    /// Until the last use of the iterator the arrays are not moved, and the only change is that slots are freed which
    /// it has returned.
    #[inline]
    pub(crate) unsafe fn occupied<'a>(&self) -> OccupiedSlots<'a, G> {
        let groups = self.high_water.div_ceil(GROUP);
        let all = FreeList { ..*self };
        // SAFETY: the first group exists if the high-water mark is not 0.
        let front_bits = if groups == 0 { 0 } else { unsafe { all.occupied_bits(0) } };
        OccupiedSlots { remaining: all.len(), all, front: 0, front_bits, back: groups, back_bits: 0, of: PhantomData }
    }
}

/// The lowest `n` bits; all if `n` is 64 or more.
#[inline(always)]
fn mask(n: usize) -> u64 {
    if n >= GROUP {
        !0
    } else {
        (1 << n) - 1
    }
}

/// An iterator over the indices of occupied slots, from both ends. The number of remaining slots is 0 when the ends
/// meet, so neither end reads what the other one returned.
pub(crate) struct OccupiedSlots<'a, G> {
    all: FreeList<G>,
    front: usize,
    front_bits: u64,
    /// The group of `back_bits`; at first that after the last one, without bits.
    back: usize,
    back_bits: u64,
    remaining: usize,
    of: PhantomData<&'a ()>,
}

impl<G> Clone for OccupiedSlots<'_, G> {
    fn clone(&self) -> Self {
        OccupiedSlots { all: FreeList { ..self.all }, ..*self }
    }
}

impl<G: Generation> OccupiedSlots<'_, G> {
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.remaining
    }

    /// The address of the generations.
    #[inline(always)]
    pub(crate) fn generations(&self) -> NonNull<G> {
        self.all.generations
    }

    #[inline(always)]
    fn next_group(&mut self) {
        self.front += 1;
        // SAFETY: a slot remains, so there is a further group.
        self.front_bits = unsafe { self.all.occupied_bits(self.front) };
    }

    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<usize> {
        if self.remaining == 0 {
            return None;
        }
        self.remaining -= 1;
        while self.front_bits == 0 {
            self.next_group();
        }
        let i = self.front * GROUP + self.front_bits.trailing_zeros() as usize;
        self.front_bits &= self.front_bits - 1;
        Some(i)
    }

    #[inline(always)]
    pub(crate) fn next_back(&mut self) -> Option<usize> {
        if self.remaining == 0 {
            return None;
        }
        self.remaining -= 1;
        while self.back_bits == 0 {
            self.back -= 1;
            // SAFETY: a slot remains, so there is a group before.
            self.back_bits = unsafe { self.all.occupied_bits(self.back) };
        }
        let bit = self.back_bits.ilog2() as usize;
        self.back_bits &= !(1 << bit);
        Some(self.back * GROUP + bit)
    }

    /// Visits the remaining slots group by group; in a full group without testing bits.
    #[inline(always)]
    pub(crate) fn fold<A>(self, mut state: A, mut f: impl FnMut(A, usize) -> A) -> A {
        if self.remaining == 0 {
            return state;
        }
        // Where both ends are in one group, each has removed the bits of the slots that it returned.
        let (mut group, one) = (self.front, self.front == self.back);
        let mut bits = if one { self.front_bits & self.back_bits } else { self.front_bits };
        loop {
            let base = group * GROUP;
            if bits == !0 {
                for i in base..base + GROUP {
                    state = f(state, i);
                }
            } else {
                while bits != 0 {
                    state = f(state, base + bits.trailing_zeros() as usize);
                    bits &= bits - 1;
                }
            }
            if group == self.back {
                return state;
            }
            group += 1;
            // SAFETY: the groups between the ends have slots below the high-water mark.
            bits = if group == self.back { self.back_bits } else { unsafe { self.all.occupied_bits(group) } };
        }
    }

    /// The next range of adjacent occupied slots: its first slot and its length.
    pub(crate) fn next_range(&mut self) -> Option<(usize, usize)> {
        let start = self.next()?;
        let mut n = 1;
        loop {
            // Within a group the range ends at the first zero bit.
            let bit = (start + n) % GROUP;
            if bit == 0 {
                if self.remaining == 0 {
                    return Some((start, n));
                }
                self.next_group();
            }
            let more = ((self.front_bits >> bit).trailing_ones() as usize).min(self.remaining);
            self.front_bits &= !mask(bit + more);
            self.remaining -= more;
            n += more;
            if bit + more < GROUP {
                return Some((start, n));
            }
        }
    }
}
