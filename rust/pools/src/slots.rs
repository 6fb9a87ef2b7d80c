//! The memory of a pool: a number of slots in a field layout. The owner of a `Slots` knows which slots have values, and
//! drops these.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::alloc::Layout;
use core::marker::PhantomData;
use core::ptr::NonNull;

use super::field_layout::FieldLayout;
use super::planner;
use toft::__CallSite as CallSite;
use toft::__buffer::{Buffer, Elements};
use toft::AllocError;
use toft::Memory;

/// Slots for `T`, with a `G` beside each.
pub(crate) struct Slots<T, L: FieldLayout<T>, G: Copy, M: Memory> {
    raw: L::Raw<G>,
    buffer: Buffer<Planned<T, L, G>, M>,
}

/// Slots as the elements of a buffer.
struct Planned<T, L, G>(PhantomData<(T, L, G)>);

// SAFETY: the columns that are planned determine the layout.
unsafe impl<T, L: FieldLayout<T>, G: Copy> Elements for Planned<T, L, G> {
    fn layout(slots: usize) -> Result<Layout, AllocError> {
        let layout = planner::layout(slots, L::plan::<G>)?;
        if layout.size() > isize::MAX as usize / 2 {
            return Err(AllocError);
        }
        Ok(layout)
    }
}

// SAFETY: slots and memory belong to this value alone.
unsafe impl<T, L: FieldLayout<T>, G: Copy + Send, M: Memory + Send> Send for Slots<T, L, G, M> where L::Parts: Send {}
// SAFETY: through a shared reference slots are only read, and the memory is only referred to.
unsafe impl<T, L: FieldLayout<T>, G: Copy + Sync, M: Memory + Sync> Sync for Slots<T, L, G, M> where L::Parts: Sync {}

impl<T, L: FieldLayout<T>, G: Copy, M: Memory> Slots<T, L, G, M> {
    /// No slots; allocates nothing.
    #[inline]
    pub(crate) fn new_in(memory: M) -> Self {
        // SAFETY: no slots need no memory.
        unsafe {
            let buffer = Buffer::from_parts(NonNull::dangling(), 0, memory);
            Slots { raw: planner::columns(buffer.base(), 0, L::plan::<G>), buffer }
        }
    }

    /// The addresses, for the functions of `L`: valid for indices below `capacity`, until the slots move.
    #[inline(always)]
    pub(crate) fn raw(&self) -> L::Raw<G> {
        self.raw
    }

    #[inline(always)]
    pub(crate) fn capacity(&self) -> usize {
        self.buffer.capacity()
    }

    #[inline(always)]
    pub(crate) fn memory(&self) -> &M {
        self.buffer.memory()
    }

    /// The bytes of the slots.
    pub(crate) fn bytes(&self) -> usize {
        self.buffer.layout().size()
    }

    /// Changes the number of slots and keeps the contents of the first `used`. An error changes nothing.
    #[cold]
    pub(crate) fn resize(&mut self, capacity: usize, used: usize) -> Result<(), AllocError> {
        debug_assert!(used <= capacity && used <= self.capacity());
        if !L::ROWS {
            // SAFETY: both have that many slots, and the memories do not overlap.
            return self.replace(capacity, |from, to| unsafe { L::copy(from, 0, to, 0, used) });
        }
        self.buffer.resize(capacity, CallSite::caller(false))?;
        // SAFETY: memory for so many slots.
        self.raw = unsafe { planner::columns(self.buffer.base(), capacity, L::plan::<G>) };
        debug_assert!(self.capacity() == capacity);
        Ok(())
    }

    /// Allocates other memory for `capacity` slots, calls `copy` to move the values, and deallocates the old memory. An
    /// error changes nothing.
    pub(crate) fn replace(
        &mut self,
        capacity: usize,
        copy: impl FnOnce(L::Raw<G>, L::Raw<G>),
    ) -> Result<(), AllocError> {
        let from = self.raw;
        self.buffer.replace(capacity, CallSite::caller(false), |base| {
            // SAFETY: memory for so many slots.
            let to = unsafe { planner::columns(base, capacity, L::plan::<G>) };
            copy(from, to);
            self.raw = to;
        })
    }
}
