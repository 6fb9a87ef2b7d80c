//! Which slots of a pool are free: a bit for each, in words of 64. The words that have a free slot form a stack through
//! their links, so a free slot is found, and returned, in a fixed number of steps; the slots of a word are side by side,
//! so what is inserted one after the other mostly lies so too, however the removals were scattered.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::alloc::Layout;
use core::marker::PhantomData;
use core::ptr::NonNull;

use super::memory::Memory;
use crate::error::AllocError;

pub(crate) const BITS: usize = u64::BITS as usize;

/// No word: the end of the stack.
const NONE: u32 = u32::MAX;

/// How many slots the links can reach.
pub(crate) const MOST: usize = if usize::BITS > 32 { (NONE as usize).saturating_mul(BITS) } else { usize::MAX };

#[derive(Clone, Copy)]
struct Word {
    /// A bit is set when its slot is free. Of slots that are not there, or not yet in use, it is not.
    free: u64,
    /// Where a bit is set: the next word on the stack.
    next: u32,
}

/// The words, and how many of the slots they tell about: those from 0 to `known`.
pub(crate) struct Vacancy {
    words: NonNull<Word>,
    capacity: usize,
    known: usize,
    /// The stack's top, whose `free` is not 0.
    top: u32,
}

impl Vacancy {
    pub(crate) const fn new() -> Vacancy {
        Vacancy { words: NonNull::dangling(), capacity: 0, known: 0, top: NONE }
    }

    #[inline(always)]
    pub(crate) fn known(&self) -> usize {
        self.known
    }

    fn layout(words: usize) -> Result<Layout, AllocError> {
        Layout::array::<Word>(words).map_err(|_| AllocError)
    }

    /// The bytes of the words.
    pub(crate) fn bytes(&self) -> usize {
        self.capacity * size_of::<Word>()
    }

    /// Words for so many slots; they are not known yet. An error changes nothing.
    pub(crate) fn reserve(&mut self, slots: usize, memory: &impl Memory) -> Result<(), AllocError> {
        let words = slots.div_ceil(BITS);
        if words <= self.capacity {
            return Ok(());
        }
        let (old, new) = (Self::layout(self.capacity)?, Self::layout(words)?);
        // SAFETY: the words were taken with the old layout, if there were any; the new one is larger.
        let p = unsafe {
            if self.capacity == 0 {
                memory.take(new)
            } else {
                memory.grow(self.words.cast(), old, new)
            }
        };
        (self.words, self.capacity) = (p.ok_or(AllocError)?.cast(), words);
        Ok(())
    }

    /// Gives the words back.
    ///
    /// # Safety
    /// `memory` is what `reserve` was called with.
    pub(crate) unsafe fn put(&mut self, memory: &impl Memory) {
        if let (1.., Ok(layout)) = (self.capacity, Self::layout(self.capacity)) {
            // SAFETY: the caller's contract, and that of reserve.
            unsafe { memory.put(self.words.cast(), layout) }
        }
        *self = Vacancy::new();
    }

    /// # Safety
    /// `w` is below the number of words reserved, and of slots known or being made known.
    #[inline(always)]
    unsafe fn word(&mut self, w: usize) -> &mut Word {
        // SAFETY: the caller's contract.
        unsafe { self.words.add(w).as_mut() }
    }

    /// Makes the next slots known, and free: up to the end of a word, or to `slots`. All others must be taken, and
    /// `slots` more than are known. Returns how many are known then.
    ///
    /// # Safety
    /// Words are reserved for `slots`.
    pub(crate) unsafe fn know(&mut self, slots: usize) -> usize {
        debug_assert!(self.top == NONE && self.known < slots);
        let (w, first) = (self.known / BITS, self.known % BITS);
        let end = slots.min((w + 1) * BITS);
        // SAFETY: the caller's contract; a word of which some slots are known has no free one.
        unsafe { self.words.add(w).write(Word { free: mask(end - w * BITS) & !mask(first), next: NONE }) };
        self.top = w as u32;
        self.known = end;
        end
    }

    /// Whether no known slot is free.
    #[inline(always)]
    pub(crate) fn is_full(&self) -> bool {
        self.top == NONE
    }

    /// The slot that is taken next.
    ///
    /// # Safety
    /// It is not full.
    #[inline(always)]
    pub(crate) unsafe fn peek(&mut self) -> usize {
        let w = self.top as usize;
        // SAFETY: the word on top is one, and has a free slot.
        w * BITS + unsafe { self.word(w) }.free.trailing_zeros() as usize
    }

    /// Takes the slot that `peek` told.
    ///
    /// # Safety
    /// It is not full.
    #[inline(always)]
    pub(crate) unsafe fn take(&mut self) {
        // SAFETY: see peek.
        let word = unsafe { self.word(self.top as usize) };
        word.free &= word.free.wrapping_sub(1);
        if word.free == 0 {
            self.top = word.next;
        }
    }

    /// Returns a slot.
    ///
    /// # Safety
    /// It is known, and taken.
    #[inline(always)]
    pub(crate) unsafe fn free(&mut self, i: usize) {
        let (w, top) = (i / BITS, self.top);
        // SAFETY: the caller's contract.
        let word = unsafe { self.word(w) };
        debug_assert!(word.free & (1 << (i % BITS)) == 0);
        let none_was = word.free == 0;
        word.free |= 1 << (i % BITS);
        if none_was {
            word.next = top;
            self.top = w as u32;
        }
    }

    /// Takes a slot that is known, and free, wherever it is. The stack must be made anew after it.
    ///
    /// # Safety
    /// As said.
    pub(crate) unsafe fn take_at(&mut self, i: usize) {
        // SAFETY: the caller's contract.
        unsafe { self.word(i / BITS) }.free &= !(1 << (i % BITS));
    }

    /// Whether the slot is taken.
    #[inline(always)]
    pub(crate) fn is_taken(&self, i: usize) -> bool {
        // SAFETY: a slot that is known has a word.
        i < self.known && unsafe { self.words.add(i / BITS).as_ref() }.free & (1 << (i % BITS)) == 0
    }

    /// The bits of the taken slots of a word.
    ///
    /// # Safety
    /// The word has known slots.
    #[inline(always)]
    unsafe fn taken(&self, w: usize) -> u64 {
        // SAFETY: the caller's contract.
        let free = unsafe { self.words.add(w).as_ref() }.free;
        !free & mask(self.known - w * BITS)
    }

    /// Says of all known slots that they are free, and knows as many as are said, for which words are reserved.
    ///
    /// # Safety
    /// As said.
    pub(crate) unsafe fn forget(&mut self, known: usize) {
        self.known = known;
        for w in 0..known.div_ceil(BITS) {
            // SAFETY: the caller's contract.
            unsafe { self.words.add(w).write(Word { free: mask(known - w * BITS), next: NONE }) };
        }
        self.stack();
    }

    /// Knows only the first slots, all others being free.
    pub(crate) fn truncate(&mut self, known: usize) {
        debug_assert!(known <= self.known);
        self.known = known;
        if known % BITS != 0 {
            // SAFETY: the word of the last known slot.
            unsafe { self.word(known / BITS) }.free &= mask(known % BITS);
        }
        self.stack();
    }

    /// Stacks the words that have a free slot, the first on top.
    pub(crate) fn stack(&mut self) {
        self.top = NONE;
        for w in (0..self.known.div_ceil(BITS)).rev() {
            let top = self.top;
            // SAFETY: the word has known slots.
            let word = unsafe { self.word(w) };
            if word.free != 0 {
                word.next = top;
                self.top = w as u32;
            }
        }
    }

    /// The last slot that is taken.
    pub(crate) fn last(&self) -> Option<usize> {
        (0..self.known.div_ceil(BITS)).rev().find_map(|w| {
            // SAFETY: the word has known slots.
            let taken = unsafe { self.taken(w) };
            (taken != 0).then(|| w * BITS + taken.ilog2() as usize)
        })
    }

    /// The slots that are taken, of which there are `len`.
    ///
    /// # Safety
    /// There are; and until the iterator's end, or for as long as 'a, no word is changed but by freeing slots that it
    /// has passed, and none is moved.
    #[inline]
    pub(crate) unsafe fn live<'a>(&self, len: usize) -> Live<'a> {
        let words = self.known.div_ceil(BITS);
        let all = Vacancy { words: self.words, capacity: self.capacity, known: self.known, top: NONE };
        let mut live = Live { all, front: 0, front_bits: 0, back: words, back_bits: 0, left: len, of: PhantomData };
        if words != 0 {
            // SAFETY: there is a first word.
            live.front_bits = unsafe { live.all.taken(0) };
        }
        live
    }
}

/// The lowest `n` bits; all where it is 64 or more.
#[inline(always)]
fn mask(n: usize) -> u64 {
    if n >= BITS {
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

/// The numbers of the slots that are taken, from both ends. How many are left says when the two have met, so neither
/// needs to know what the other took.
pub(crate) struct Live<'a> {
    all: Vacancy,
    front: usize,
    front_bits: u64,
    /// The word after that of `back_bits`.
    back: usize,
    back_bits: u64,
    left: usize,
    of: PhantomData<&'a ()>,
}

impl Clone for Live<'_> {
    fn clone(&self) -> Self {
        let all = Vacancy { words: self.all.words, capacity: self.all.capacity, known: self.all.known, top: NONE };
        Live { all, ..*self }
    }
}

impl Live<'_> {
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.left
    }

    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<usize> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        while self.front_bits == 0 {
            self.front += 1;
            // SAFETY: something is left, so there is a further word.
            self.front_bits = unsafe { self.all.taken(self.front) };
        }
        let i = self.front * BITS + self.front_bits.trailing_zeros() as usize;
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
            // SAFETY: something is left, so there is a word before.
            self.back_bits = unsafe { self.all.taken(self.back) };
        }
        let bit = self.back_bits.ilog2() as usize;
        self.back_bits &= !(1 << bit);
        Some(self.back * BITS + bit)
    }

    /// The rest, word by word; full words without a look at their bits.
    #[inline(always)]
    pub(crate) fn fold<A>(mut self, mut state: A, mut f: impl FnMut(A, usize) -> A) -> A {
        while self.left != 0 {
            let (base, bits) = (self.front * BITS, self.front_bits);
            let n = bits.count_ones() as usize;
            if n == BITS && self.left >= BITS {
                for i in base..base + BITS {
                    state = f(state, i);
                }
                self.left -= BITS;
            } else {
                // Less than all: the back took some of this word.
                let mut rest = if n <= self.left { bits } else { lowest(bits, self.left) };
                self.left -= n.min(self.left);
                while rest != 0 {
                    state = f(state, base + rest.trailing_zeros() as usize);
                    rest &= rest - 1;
                }
            }
            if self.left != 0 {
                self.front += 1;
                // SAFETY: something is left, so there is a further word.
                self.front_bits = unsafe { self.all.taken(self.front) };
            }
        }
        state
    }

    /// The next slots that follow each other without a gap: the first, and how many.
    pub(crate) fn run(&mut self) -> Option<(usize, usize)> {
        let start = self.next()?;
        let mut n = 1;
        loop {
            // From the bit after the last one on: a run within the word ends at its first zero.
            let bit = (start + n) % BITS;
            if bit == 0 {
                if self.left == 0 {
                    return Some((start, n));
                }
                self.front += 1;
                // SAFETY: something is left, so there is a further word.
                self.front_bits = unsafe { self.all.taken(self.front) };
            }
            let more = ((self.front_bits >> bit).trailing_ones() as usize).min(self.left);
            self.front_bits &= !mask(bit + more);
            self.left -= more;
            n += more;
            if bit + more < BITS {
                return Some((start, n));
            }
        }
    }
}
