//! Where the columns of a pool lie within its memory. A plan is made twice: first to learn how large the memory must be,
//! then to learn the addresses.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::alloc::Layout;
use core::ptr::NonNull;

use crate::error::AllocError;

/// What columns are aligned and padded to, so that vector instructions of any width may read them whole: a cache line.
pub(crate) const LINE: usize = 64;

/// A column of a page or more is followed by some lines. Without them columns of a power of two would begin at the same
/// place of each page, so the same element of all of them in the same set of the cache: with more columns than the cache
/// has ways, walking along them misses at each step.
const STAGGER: usize = 5 * LINE;
const PAGE: usize = 4096;

/// Lays the columns of a pool out, one after the other. [`Columnar`](super::Columnar) tells how it is used.
///
/// ```
/// // What #[derive(Columnar)] writes for a struct with two fields.
/// use core::ptr::NonNull;
/// use toft::pool::Planner;
///
/// fn plan(planner: &mut Planner) -> (NonNull<f32>, NonNull<u8>) {
///     (planner.column(1), planner.column(1))
/// }
/// # let _ = plan;
/// ```
#[derive(Debug)]
pub struct Planner {
    base: Option<NonNull<u8>>,
    slots: usize,
    size: usize,
    align: usize,
    overflow: bool,
}

impl Planner {
    fn new(base: Option<NonNull<u8>>, slots: usize) -> Planner {
        Planner { base, slots, size: 0, align: 1, overflow: false }
    }

    /// The next column: an element of type `F` for each slot, its first at a multiple of 64 bytes and of `align`.
    ///
    /// ```
    /// # use core::ptr::NonNull;
    /// # use toft::pool::Planner;
    /// fn plan(planner: &mut Planner) -> NonNull<[f32; 4]> {
    ///     planner.column(4096) // begins at a page
    /// }
    /// # let _ = plan;
    /// ```
    ///
    /// # Panics
    /// `align` must be a power of two.
    pub fn column<F>(&mut self, align: usize) -> NonNull<F> {
        assert!(align.is_power_of_two(), "the alignment of a column must be a power of two");
        self.place(align.max(LINE), true)
    }

    /// The only column: aligned as its elements are and not padded, so that it can grow where it is.
    pub(crate) fn rows<F>(&mut self) -> NonNull<F> {
        self.place(align_of::<F>(), false)
    }

    fn place<F>(&mut self, align: usize, padded: bool) -> NonNull<F> {
        if size_of::<F>() == 0 || self.slots == 0 {
            return NonNull::dangling();
        }
        let align = align.max(align_of::<F>());
        match self.bounds(size_of::<F>(), align, padded) {
            Some((start, end)) => {
                self.size = end;
                self.align = self.align.max(align);
                // SAFETY: in the second pass the memory is as large as the first pass found.
                self.base.map_or(NonNull::dangling(), |base| unsafe { base.add(start) }.cast())
            }
            None => {
                self.overflow = true;
                NonNull::dangling()
            }
        }
    }

    fn bounds(&self, size: usize, align: usize, padded: bool) -> Option<(usize, usize)> {
        let start = self.size.checked_next_multiple_of(align)?;
        let bytes = size.checked_mul(self.slots)?;
        let end = start.checked_add(bytes)?;
        if !padded {
            return Some((start, end));
        }
        end.checked_next_multiple_of(LINE)?.checked_add(if bytes >= PAGE { STAGGER } else { 0 }).map(|end| (start, end))
    }
}

/// The layout of the memory for so many slots.
pub(crate) fn layout<R>(slots: usize, plan: impl FnOnce(&mut Planner) -> R) -> Result<Layout, AllocError> {
    let mut planner = Planner::new(None, slots);
    plan(&mut planner);
    if planner.overflow {
        return Err(AllocError);
    }
    Layout::from_size_align(planner.size, planner.align).map_err(|_| AllocError)
}

/// The columns within memory of that layout.
///
/// # Safety
/// `base` is memory of the layout that [`layout`] found for the same slots and plan.
pub(crate) unsafe fn columns<R>(base: NonNull<u8>, slots: usize, plan: impl FnOnce(&mut Planner) -> R) -> R {
    plan(&mut Planner::new(Some(base), slots))
}
