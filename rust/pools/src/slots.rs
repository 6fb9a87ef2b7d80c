//! The memory of a pool: so many slots, in a layout. Which of them have values is for its owner to know, who also drops
//! those.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::alloc::Layout as Bytes;
use core::marker::PhantomData;
use core::ptr::NonNull;

use super::layout::Layout;
use super::plan;
use toft::AllocError;
use toft::Memory;

/// Slots for `T`, with a `G` beside each.
pub(crate) struct Slots<T, L: Layout<T>, G: Copy, M: Memory> {
    raw: L::Raw<G>,
    capacity: usize,
    base: NonNull<u8>,
    memory: M,
    of: PhantomData<T>,
}

// SAFETY: slots and memory belong to this value alone.
unsafe impl<T, L: Layout<T>, G: Copy + Send, M: Memory + Send> Send for Slots<T, L, G, M> where L::Parts: Send {}
// SAFETY: through a shared reference slots are only read, and the memory is only referred to.
unsafe impl<T, L: Layout<T>, G: Copy + Sync, M: Memory + Sync> Sync for Slots<T, L, G, M> where L::Parts: Sync {}

impl<T, L: Layout<T>, G: Copy, M: Memory> Slots<T, L, G, M> {
    /// None yet.
    #[inline]
    pub(crate) fn new_in(memory: M) -> Self {
        let base = NonNull::dangling();
        // SAFETY: no slots need no memory.
        let raw = unsafe { plan::columns(base, 0, L::plan::<G>) };
        Slots { raw, capacity: 0, base, memory, of: PhantomData }
    }

    /// Where they are, for the functions of `L`: good for numbers below `capacity`, until the slots move.
    #[inline(always)]
    pub(crate) fn raw(&self) -> L::Raw<G> {
        self.raw
    }

    #[inline(always)]
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    #[inline(always)]
    pub(crate) fn memory(&self) -> &M {
        &self.memory
    }

    /// The bytes that so many slots take.
    pub(crate) fn bytes(slots: usize) -> Result<Bytes, AllocError> {
        let layout = plan::layout(slots, L::plan::<G>)?;
        if layout.size() > isize::MAX as usize / 2 {
            return Err(AllocError);
        }
        Ok(layout)
    }

    /// More slots; the contents of the first `used` stay. An error changes nothing.
    #[cold]
    pub(crate) fn grow(&mut self, capacity: usize, used: usize) -> Result<(), AllocError> {
        debug_assert!(self.capacity <= capacity && used <= self.capacity);
        let (old, new) = (Self::bytes(self.capacity)?, Self::bytes(capacity)?);
        if !L::ROWS || old.size() == 0 {
            // SAFETY: both have that many slots, and the new memory is apart from the old.
            return self.replace(capacity, |from, to| unsafe { L::copy(from, 0, to, 0, used) });
        }
        // SAFETY: the memory has the old layout; with a single column its bytes stay good where they are moved to.
        unsafe {
            self.base = self.memory.grow(self.base, old, new)?;
            self.raw = plan::columns(self.base, capacity, L::plan::<G>);
        }
        self.capacity = capacity;
        Ok(())
    }

    /// Other memory, for as many slots as are said; `copy` brings over what is to stay. An error changes nothing.
    pub(crate) fn replace(
        &mut self,
        capacity: usize,
        copy: impl FnOnce(L::Raw<G>, L::Raw<G>),
    ) -> Result<(), AllocError> {
        let layout = Self::bytes(capacity)?;
        let base = match layout.size() {
            0 => NonNull::dangling(),
            _ => self.memory.allocate(layout)?,
        };
        // SAFETY: memory of that layout.
        let raw = unsafe { plan::columns(base, capacity, L::plan::<G>) };
        copy(self.raw, raw);
        self.put();
        (self.raw, self.capacity, self.base) = (raw, capacity, base);
        Ok(())
    }

    fn put(&self) {
        let Ok(layout) = Self::bytes(self.capacity) else { return };
        if layout.size() != 0 {
            // SAFETY: it was taken with the layout for this number of slots.
            unsafe { self.memory.deallocate(self.base, layout) }
        }
    }
}

impl<T, L: Layout<T>, G: Copy, M: Memory> Drop for Slots<T, L, G, M> {
    fn drop(&mut self) {
        self.put();
    }
}
