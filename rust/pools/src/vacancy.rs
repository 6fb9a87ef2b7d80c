//! Which slots of a pool have values, and which of the others to take next.
//!
//! Each slot has a generation, which is odd while it has a value. Generations lie side by side, apart from the values: to
//! free a slot is to count its generation on, and to walk over the values 64 generations are made a word of bits at a
//! time, so free slots cost no look, let alone a branch that cannot be foretold.
//!
//! Free slots are found by the group of 64. A group in which a slot was freed is put on a stack, through its link; the
//! one on top is adopted: its free slots become a word of bits, from which insertions take. So what is inserted one after
//! the other lies side by side, however the removals were scattered; and when no slot was freed, slots that were never in
//! use follow each other.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::alloc::Layout;
use core::marker::PhantomData;
use core::ptr::NonNull;

use super::key::Count;
use toft::AllocError;
use toft::Memory;

/// The slots of a group.
const GROUP: usize = u64::BITS as usize;

/// The slots that are made ready at once, at most: so many generations are written ahead of use.
const AHEAD: usize = 64 * GROUP;

/// The end of the stack.
const NONE: u32 = u32::MAX;
/// The link of a group that is not on the stack.
const APART: u32 = u32::MAX - 1;

/// How many slots the links can reach.
pub(crate) const MOST: usize = if usize::BITS > 32 { (APART as usize).saturating_mul(GROUP) } else { usize::MAX / 2 };

pub(crate) struct Vacancy<G> {
    /// Of each slot that is ready.
    generations: NonNull<G>,
    /// Slots below it are, or were, in use since the pool was empty.
    known: usize,
    /// How many of those are free.
    freed: usize,
    /// Slots below it have a generation, and their groups a link.
    ready: usize,
    /// Where no group is adopted, slots from `known` to here are taken next: to the end of what is ready, and no further
    /// than the pool has slots; to nowhere while a group is on the stack. So an insertion looks at this alone.
    limit: usize,
    /// How many slots the pool has.
    slots: usize,
    /// The free slots of the adopted group that were not taken yet.
    adopted: u64,
    /// Its first slot.
    base: usize,
    /// One for each group.
    links: NonNull<u32>,
    /// The top of the stack.
    top: u32,
    /// There is room for the generations of so many slots, and for the links of so many: multiples of GROUP, and the
    /// second is not more than the first.
    capacity: usize,
    linked: usize,
}

impl<G: Count> Vacancy<G> {
    pub(crate) const fn new() -> Self {
        Vacancy {
            generations: NonNull::dangling(),
            known: 0,
            freed: 0,
            ready: 0,
            limit: 0,
            slots: 0,
            adopted: 0,
            base: 0,
            links: NonNull::dangling(),
            top: NONE,
            capacity: 0,
            linked: 0,
        }
    }

    /// The slots that may have values are those below it.
    #[inline(always)]
    pub(crate) fn known(&self) -> usize {
        self.known
    }

    /// How many slots have values.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.known - self.freed
    }

    fn layouts(capacity: usize) -> Result<[Layout; 2], AllocError> {
        let generations = Layout::array::<G>(capacity).map_err(|_| AllocError)?;
        let links = Layout::array::<u32>(capacity / GROUP).map_err(|_| AllocError)?;
        Ok([generations, links])
    }

    /// What it takes of memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let layouts =
            [(self.capacity, 0), (self.linked, 1)].map(|(capacity, which)| Self::layouts(capacity).map(|l| l[which]));
        layouts.into_iter().flatten().map(|layout| layout.size()).sum()
    }

    /// Makes room to tell of so many slots. An error changes nothing that matters.
    pub(crate) fn reserve(&mut self, slots: usize, memory: &impl Memory) -> Result<(), AllocError> {
        let capacity = slots.checked_next_multiple_of(GROUP).ok_or(AllocError)?;
        let new = Self::layouts(capacity)?;
        // SAFETY: each has the layout for what it has room for, and the new one is larger.
        unsafe {
            if self.capacity < capacity {
                let old = Self::layouts(self.capacity)?[0];
                self.generations = enlarge(memory, self.generations.cast(), old, new[0])?.cast();
                self.capacity = capacity;
            }
            if self.linked < capacity {
                let old = Self::layouts(self.linked)?[1];
                self.links = enlarge(memory, self.links.cast(), old, new[1])?.cast();
                self.linked = capacity;
            }
        }
        Ok(())
    }

    /// Gives the memory back.
    ///
    /// # Safety
    /// `memory` is what `reserve` was called with. Nothing is asked of this value any more.
    pub(crate) unsafe fn put(&mut self, memory: &impl Memory) {
        for (p, capacity, which) in [(self.generations.cast(), self.capacity, 0), (self.links.cast(), self.linked, 1)] {
            if let (1.., Ok(layouts)) = (capacity, Self::layouts(capacity)) {
                // SAFETY: the caller's contract, and that of reserve.
                unsafe { memory.deallocate(p, layouts[which]) }
            }
        }
        (self.capacity, self.linked) = (0, 0);
    }

    /// Whether the next slot is known.
    #[inline(always)]
    pub(crate) fn is_prepared(&self) -> bool {
        self.adopted != 0 || self.known < self.limit
    }

    /// Finds the next slot, where it is not known. `false`: all are taken.
    pub(crate) fn prepare(&mut self, unused: G) -> bool {
        if self.top != NONE {
            self.adopt();
        } else if self.known == self.ready && self.known < self.slots {
            // Not to the capacity: where there was no memory for its links, that is more.
            let end = self.linked.min(self.ready + AHEAD.min(self.ready.max(GROUP)));
            // SAFETY: there is a link for each group, and a generation for each slot.
            unsafe { self.begin(end, unused) }
            self.open();
        }
        self.is_prepared()
    }

    /// Says how many slots the pool has, for which there is room here.
    pub(crate) fn set_slots(&mut self, slots: usize) {
        self.slots = slots;
        self.open();
    }

    /// Says where the limit is.
    fn open(&mut self) {
        self.limit = if self.top == NONE { self.ready.min(self.slots) } else { 0 };
    }

    /// # Safety
    /// `end` is the end of a group, and there is room for generations and links up to there.
    unsafe fn begin(&mut self, end: usize, unused: G) {
        // SAFETY: the caller's contract.
        unsafe {
            for i in self.ready..end {
                self.generations.add(i).write(unused);
            }
            for group in self.ready / GROUP..end / GROUP {
                self.links.add(group).write(APART);
            }
        }
        self.ready = self.ready.max(end);
    }

    /// The generation of a slot.
    ///
    /// # Safety
    /// It is known.
    #[inline(always)]
    pub(crate) unsafe fn generation(&self, i: usize) -> G {
        // SAFETY: the caller's contract.
        unsafe { self.generations.add(i).read() }
    }

    /// The slot that is taken next.
    ///
    /// # Safety
    /// It is prepared.
    #[inline(always)]
    pub(crate) unsafe fn peek(&self) -> (usize, G) {
        let i = if self.adopted != 0 { self.base + self.adopted.trailing_zeros() as usize } else { self.known };
        // SAFETY: what may be taken is ready.
        (i, unsafe { self.generation(i) })
    }

    /// Takes the slot that `peek` told.
    ///
    /// # Safety
    /// Nothing came between.
    #[inline(always)]
    pub(crate) unsafe fn take(&mut self, i: usize, generation: G) {
        if self.adopted != 0 {
            self.adopted &= self.adopted - 1;
            self.freed -= 1;
        } else {
            self.known = i + 1;
        }
        // SAFETY: the slot is ready.
        unsafe { self.generations.add(i).write(generation) }
    }

    /// Takes the group on top of the stack off it.
    fn adopt(&mut self) {
        let group = self.top as usize;
        // SAFETY: the groups on the stack are known, and have a free slot each.
        unsafe {
            self.top = self.links.add(group).replace(APART);
            self.adopted = !self.live_bits(group) & mask(self.known - group * GROUP);
        }
        self.base = group * GROUP;
        self.open();
        debug_assert!(self.adopted != 0);
    }

    /// Frees a slot that has this generation.
    ///
    /// # Safety
    /// It is known, and was taken.
    #[inline(always)]
    pub(crate) unsafe fn free(&mut self, i: usize, generation: G) {
        // SAFETY: the caller's contract.
        unsafe {
            self.generations.add(i).write(generation.next());
            self.freed += 1;
            let link = self.links.add(i / GROUP);
            if link.read() == APART {
                link.write(self.top);
                self.top = (i / GROUP) as u32;
                self.limit = 0;
            }
        }
    }

    /// A bit for each slot of a group that has a value.
    ///
    /// # Safety
    /// The group has known slots.
    #[inline(always)]
    unsafe fn live_bits(&self, group: usize) -> u64 {
        // SAFETY: all slots of a group are ready when one is.
        let bits = unsafe { G::odd_bits(self.generations.add(group * GROUP).cast().as_ref()) };
        bits & mask(self.known - group * GROUP)
    }

    /// Frees all slots: they are taken from the first on again.
    pub(crate) fn clear(&mut self) {
        // SAFETY: known slots are ready.
        for generation in unsafe { core::slice::from_raw_parts_mut(self.generations.as_ptr(), self.known) } {
            *generation = generation.after();
        }
        self.known = 0;
        self.restack();
    }

    /// Knows only the first slots. The others, which are free, begin with this generation when they are used again.
    pub(crate) fn truncate(&mut self, known: usize, unused: G) {
        self.freed -= self.known - known;
        self.known = known;
        self.ready = known.next_multiple_of(GROUP);
        for i in known..self.ready {
            // SAFETY: the group was ready, since one of its slots was known.
            unsafe { self.generations.add(i).write(unused) }
        }
        self.restack();
    }

    /// Makes slots known that have these generations, each free until `fill` says otherwise.
    ///
    /// # Safety
    /// None was ready, and as many are reserved.
    pub(crate) unsafe fn know(&mut self, generations: &[G], unused: G) {
        let slots = generations.len();
        // SAFETY: the caller's contract; the capacity is one of groups.
        unsafe {
            self.begin(slots.next_multiple_of(GROUP), unused);
            for (i, generation) in generations.iter().enumerate() {
                self.generations.add(i).write(generation.before());
            }
        }
        (self.known, self.freed) = (slots, slots);
    }

    /// Says that a slot has a value, and this generation. `restack` must follow.
    ///
    /// # Safety
    /// It is known, and free.
    pub(crate) unsafe fn fill(&mut self, i: usize, generation: G) {
        // SAFETY: the caller's contract.
        unsafe { self.generations.add(i).write(generation) }
        self.freed -= 1;
    }

    /// Stacks the groups that have a free slot, the first on top.
    pub(crate) fn restack(&mut self) {
        (self.top, self.adopted) = (NONE, 0);
        for group in (0..self.ready / GROUP).rev() {
            // SAFETY: ready groups have a link.
            let link = unsafe { self.links.add(group) };
            let (some, top) = (group * GROUP < self.known, self.top);
            // SAFETY: the group has known slots, where they are asked for.
            let free = some && unsafe { !self.live_bits(group) } & mask(self.known - group * GROUP) != 0;
            if free {
                self.top = group as u32;
            }
            // SAFETY: as above.
            unsafe { link.write(if free { top } else { APART }) }
        }
        if self.known == 0 {
            self.freed = 0;
        }
        self.open();
    }

    /// Those of the first slots, which are ready.
    pub(crate) fn generations(&self, n: usize) -> &[G] {
        debug_assert!(n <= self.ready);
        // SAFETY: they are written.
        unsafe { core::slice::from_raw_parts(self.generations.as_ptr(), n) }
    }

    /// How many slots are ready.
    pub(crate) fn ready(&self) -> usize {
        self.ready
    }

    /// The last slot that has a value.
    pub(crate) fn last(&self) -> Option<usize> {
        self.generations(self.known).iter().rposition(|generation| generation.is_odd())
    }

    /// The slots that have values.
    ///
    /// # Safety
    /// Until the iterator's last use nothing is moved, and nothing changes but that slots are freed that it has passed.
    #[inline]
    pub(crate) unsafe fn live<'a>(&self) -> Live<'a, G> {
        let groups = self.known.div_ceil(GROUP);
        let all = Vacancy { ..*self };
        // SAFETY: there is a first group, if any slot is known.
        let front_bits = if groups == 0 { 0 } else { unsafe { all.live_bits(0) } };
        Live { left: all.len(), all, front: 0, front_bits, back: groups, back_bits: 0, of: PhantomData }
    }
}

/// # Safety
/// As for [`Memory::grow`], where there is something to grow.
unsafe fn enlarge(memory: &impl Memory, p: NonNull<u8>, old: Layout, new: Layout) -> Result<NonNull<u8>, AllocError> {
    // SAFETY: the caller's contract.
    unsafe {
        if old.size() == 0 {
            memory.allocate(new)
        } else {
            memory.grow(p, old, new)
        }
    }
}

/// The lowest `n` bits; all where it is 64 or more.
#[inline(always)]
fn mask(n: usize) -> u64 {
    if n >= GROUP {
        !0
    } else {
        (1 << n) - 1
    }
}

/// The lowest `n` of the bits that are set; there are more.
#[cold]
fn lowest(bits: u64, n: usize) -> u64 {
    let above = (0..n).fold(bits, |rest, _| rest & (rest - 1));
    bits & !above
}

/// The numbers of the slots that have values, from both ends. How many are left says when the two have met, so neither
/// needs to know what the other took.
pub(crate) struct Live<'a, G> {
    all: Vacancy<G>,
    front: usize,
    front_bits: u64,
    /// The group after that of `back_bits`.
    back: usize,
    back_bits: u64,
    left: usize,
    of: PhantomData<&'a ()>,
}

impl<G> Clone for Live<'_, G> {
    fn clone(&self) -> Self {
        Live { all: Vacancy { ..self.all }, ..*self }
    }
}

impl<G: Count> Live<'_, G> {
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.left
    }

    /// Where the generations are.
    #[inline(always)]
    pub(crate) fn generations(&self) -> NonNull<G> {
        self.all.generations
    }

    #[inline(always)]
    fn next_group(&mut self) {
        self.front += 1;
        // SAFETY: something is left, so there is a further group.
        self.front_bits = unsafe { self.all.live_bits(self.front) };
    }

    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<usize> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        while self.front_bits == 0 {
            self.next_group();
        }
        let i = self.front * GROUP + self.front_bits.trailing_zeros() as usize;
        self.front_bits &= self.front_bits - 1;
        Some(i)
    }

    #[inline(always)]
    pub(crate) fn next_back(&mut self) -> Option<usize> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        while self.back_bits == 0 {
            self.back -= 1;
            // SAFETY: something is left, so there is a group before.
            self.back_bits = unsafe { self.all.live_bits(self.back) };
        }
        let bit = self.back_bits.ilog2() as usize;
        self.back_bits &= !(1 << bit);
        Some(self.back * GROUP + bit)
    }

    /// The rest, group by group; full ones without a look at their bits.
    #[inline(always)]
    pub(crate) fn fold<A>(mut self, mut state: A, mut f: impl FnMut(A, usize) -> A) -> A {
        while self.left != 0 {
            let (base, bits) = (self.front * GROUP, self.front_bits);
            let n = bits.count_ones() as usize;
            if n == GROUP && self.left >= GROUP {
                for i in base..base + GROUP {
                    state = f(state, i);
                }
                self.left -= GROUP;
            } else {
                // Less than all: the back took some of this group.
                let mut rest = if n <= self.left { bits } else { lowest(bits, self.left) };
                self.left -= n.min(self.left);
                while rest != 0 {
                    state = f(state, base + rest.trailing_zeros() as usize);
                    rest &= rest - 1;
                }
            }
            if self.left != 0 {
                self.next_group();
            }
        }
        state
    }

    /// The next slots that follow each other without a gap: the first, and how many.
    pub(crate) fn run(&mut self) -> Option<(usize, usize)> {
        let start = self.next()?;
        let mut n = 1;
        loop {
            // From the bit after the last one on: a run within the group ends at its first zero.
            let bit = (start + n) % GROUP;
            if bit == 0 {
                if self.left == 0 {
                    return Some((start, n));
                }
                self.next_group();
            }
            let more = ((self.front_bits >> bit).trailing_ones() as usize).min(self.left);
            self.front_bits &= !mask(bit + more);
            self.left -= more;
            n += more;
            if bit + more < GROUP {
                return Some((start, n));
            }
        }
    }
}
