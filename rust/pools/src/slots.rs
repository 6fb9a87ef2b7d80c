//! The memory of a pool: a number of slots in a field layout. The owner of a `Slots` knows which slots have values, and
//! drops these.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::alloc::Layout;
use core::marker::PhantomData;
use core::ptr::NonNull;

use super::field_layout::FieldLayout;
use super::planner;
use toft::AllocError;
use toft::Memory;

/// Slots for `T`, with a `G` beside each.
pub(crate) struct Slots<T, L: FieldLayout<T>, G: Copy, M: Memory> {
    raw: L::Raw<G>,
    capacity: usize,
    base: NonNull<u8>,
    memory: M,
    of: PhantomData<T>,
}

// SAFETY: slots and memory belong to this value alone.
unsafe impl<T, L: FieldLayout<T>, G: Copy + Send, M: Memory + Send> Send for Slots<T, L, G, M> where L::Parts: Send {}
// SAFETY: through a shared reference slots are only read, and the memory is only referred to.
unsafe impl<T, L: FieldLayout<T>, G: Copy + Sync, M: Memory + Sync> Sync for Slots<T, L, G, M> where L::Parts: Sync {}

impl<T, L: FieldLayout<T>, G: Copy, M: Memory> Slots<T, L, G, M> {
    /// No slots; allocates nothing.
    #[inline]
    pub(crate) fn new_in(memory: M) -> Self {
        let base = NonNull::dangling();
        // SAFETY: no slots need no memory.
        let raw = unsafe { planner::columns(base, 0, L::plan::<G>) };
        Slots { raw, capacity: 0, base, memory, of: PhantomData }
    }

    /// The addresses, for the functions of `L`: valid for indices below `capacity`, until the slots move.
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

    /// The memory layout of so many slots.
    pub(crate) fn layout(slots: usize) -> Result<Layout, AllocError> {
        let layout = planner::layout(slots, L::plan::<G>)?;
        if layout.size() > isize::MAX as usize / 2 {
            return Err(AllocError);
        }
        Ok(layout)
    }

    /// Increases the number of slots and keeps the contents of the first `used`. An error changes nothing.
    #[cold]
    pub(crate) fn grow(&mut self, capacity: usize, used: usize) -> Result<(), AllocError> {
        debug_assert!(self.capacity <= capacity && used <= self.capacity);
        let (old, new) = (Self::layout(self.capacity)?, Self::layout(capacity)?);
        if !L::ROWS || old.size() == 0 {
            // SAFETY: both have that many slots, and the memories do not overlap.
            return self.reallocate(capacity, |from, to| unsafe { L::copy(from, 0, to, 0, used) });
        }
        // SAFETY: the memory has the old layout; a single column is valid at the address that its bytes are moved to.
        unsafe {
            self.base = self.memory.grow(self.base, old, new)?;
            self.raw = planner::columns(self.base, capacity, L::plan::<G>);
        }
        self.capacity = capacity;
        Ok(())
    }

    /// Allocates other memory for `capacity` slots, calls `copy` to move the values, and deallocates the old memory. An
    /// error changes nothing.
    pub(crate) fn reallocate(
        &mut self,
        capacity: usize,
        copy: impl FnOnce(L::Raw<G>, L::Raw<G>),
    ) -> Result<(), AllocError> {
        let layout = Self::layout(capacity)?;
        let base = match layout.size() {
            0 => NonNull::dangling(),
            _ => self.memory.allocate(layout)?,
        };
        // SAFETY: memory of that layout.
        let raw = unsafe { planner::columns(base, capacity, L::plan::<G>) };
        copy(self.raw, raw);
        self.deallocate();
        (self.raw, self.capacity, self.base) = (raw, capacity, base);
        Ok(())
    }

    fn deallocate(&self) {
        let Ok(layout) = Self::layout(self.capacity) else { return };
        if layout.size() != 0 {
            // SAFETY: it was allocated with the layout for this number of slots.
            unsafe { self.memory.deallocate(self.base, layout) }
        }
    }
}

impl<T, L: FieldLayout<T>, G: Copy, M: Memory> Drop for Slots<T, L, G, M> {
    fn drop(&mut self) {
        self.deallocate();
    }
}
