//! The offsets of the columns of a pool within its memory. A plan runs twice: first for the size of the memory, then
//! for the addresses.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::alloc::Layout;
use core::ptr::NonNull;

use toft::AllocError;

/// The alignment and padding of columns: a cache line, so that vector instructions of any width may read a whole
/// column.
pub(crate) const LINE: usize = 64;

/// The padding after a column of a page or more. Without it, columns whose size is a power of two would start at the
/// same offset of a page, and equal indices of all columns would map to the same cache set: with more columns than the
/// cache has ways, a loop over all of them would miss at each step.
const STAGGER: usize = 5 * LINE;
const PAGE: usize = 4096;

/// Computes the addresses of the columns of a pool. See [`Columnar`](super::Columnar).
///
/// ```
/// // The code that #[derive(Columnar)] generates for a struct with two fields.
/// use core::ptr::NonNull;
/// use toft_pools::Planner;
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
    /// # use toft_pools::Planner;
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

    /// The only column, with the alignment of its elements and without padding, so that it can grow in place.
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
                debug_assert!(start % align == 0);
                debug_assert!(self.base.is_none_or(|base| base.addr().get() % align == 0));
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

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// The offsets and lengths of columns in allocated memory, in bytes.
    fn places<R: Copy>(
        slots: usize,
        plan: fn(&mut Planner) -> R,
        each: fn(R) -> Vec<(usize, usize)>,
    ) -> (Layout, Vec<(usize, usize)>) {
        let layout = layout(slots, plan).unwrap();
        assert!(layout.size() > 0);
        // SAFETY: the size is not 0, the memory is deallocated below, and the columns are not accessed.
        unsafe {
            let base = NonNull::new(alloc::alloc::alloc(layout)).unwrap();
            let places = each(columns(base, slots, plan));
            alloc::alloc::dealloc(base.as_ptr(), layout);
            let base = base.as_ptr() as usize;
            (layout, places.into_iter().map(|(at, bytes)| (at - base, bytes * slots)).collect())
        }
    }

    fn at<F>(column: NonNull<F>) -> (usize, usize) {
        (column.as_ptr() as usize, size_of::<F>())
    }

    #[test]
    fn columns_are_aligned_and_padded_and_apart() {
        type Raw = (NonNull<u8>, NonNull<[f32; 3]>, NonNull<u64>, NonNull<(u8, u32)>);
        for slots in [1, 2, 5, 63, 64, 65, 512, 1000, 4095, 4096, 10_000] {
            let (layout, places) = places::<Raw>(
                slots,
                |planner| (planner.column(1), planner.column(256), planner.column(4096), planner.column(1)),
                |raw| alloc::vec![at(raw.0), at(raw.1), at(raw.2), at(raw.3)],
            );
            assert_eq!(layout.align(), 4096);
            for (place, align) in places.iter().zip([64, 256, 4096, 64]) {
                assert_eq!(place.0 % align, 0, "{slots} slots: {places:?}");
            }
            // A column owns whole cache lines, up to the end of the memory.
            let ends = places.iter().skip(1).map(|place| place.0).chain([layout.size()]);
            for (place, end) in places.iter().zip(ends) {
                assert!((place.0 + place.1).next_multiple_of(64) <= end, "{slots} slots: {places:?}");
            }
        }
    }

    #[test]
    fn large_columns_begin_at_different_lines_of_a_page() {
        type Raw = [NonNull<u32>; 16];
        for slots in [1024, 2048, 4096, 65_536] {
            let (_, places) = places::<Raw>(
                slots,
                |planner| core::array::from_fn(|_| planner.column(1)),
                |raw| raw.into_iter().map(at).collect(),
            );
            let mut lines: Vec<usize> = places.iter().map(|place| place.0 % PAGE / LINE).collect();
            lines.sort_unstable();
            lines.dedup();
            assert_eq!(lines.len(), 16, "{slots} slots: {places:?}");
        }
        // Small columns are not staggered.
        let (layout, _) = places::<Raw>(16, |planner| core::array::from_fn(|_| planner.column(1)), |_| Vec::new());
        assert_eq!(layout.size(), 16 * 64);
    }

    #[test]
    fn nothing_needs_no_memory() {
        #[repr(align(512))]
        #[derive(Clone, Copy)]
        struct Nothing;
        let plan =
            |planner: &mut Planner| (planner.column::<Nothing>(1), planner.column::<()>(4096), planner.rows::<()>());
        for slots in [0, 1, usize::MAX] {
            assert_eq!(layout(slots, plan).unwrap().size(), 0);
            // SAFETY: no memory is needed.
            let (nothing, unit, _) = unsafe { columns(NonNull::dangling(), slots, plan) };
            assert_eq!((nothing.as_ptr() as usize % 512, unit), (0, NonNull::dangling()));
        }
        assert_eq!(layout(0, |planner| (planner.column::<u64>(4096), planner.rows::<u64>())).unwrap().size(), 0);
    }

    #[test]
    fn too_much_is_an_error() {
        let one = |planner: &mut Planner| planner.column::<u64>(1);
        assert!(layout(usize::MAX, one).is_err());
        assert!(layout(usize::MAX / 8, one).is_err());
        assert!(layout(isize::MAX as usize / 8, one).is_err());
        assert!(layout(isize::MAX as usize / 8 - 1000, one).is_ok());
        let two = |planner: &mut Planner| (planner.column::<u64>(1), planner.column::<u64>(1));
        assert!(layout(isize::MAX as usize / 8 - 1000, two).is_err());
        // An overflow is reported even if a later column fits.
        let last = |planner: &mut Planner| (planner.column::<[u64; 1 << 20]>(1), planner.column::<u8>(1));
        assert!(layout(1 << (usize::BITS - 20), last).is_err());
        assert!(layout(usize::MAX, |planner| planner.column::<u8>(1 << 29)).is_err());
    }

    #[test]
    #[should_panic(expected = "a power of two")]
    fn an_alignment_is_a_power_of_two() {
        let _ = layout(1, |planner| planner.column::<u8>(48));
    }
}
