//! Operations on rows and slices of columns of any type. The derived methods call them.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::fmt;
use core::iter::FusedIterator;
use core::marker::PhantomData;

use super::columnar::Columnar;

/// Replacement of rows, and iteration over slices row by row, for generic code. The [derive](derive@crate::Columnar)
/// implements it, and generates methods that are easier to call. The type of a `nested` field must implement it for the
/// methods of the outer struct.
///
/// ```
/// # #[cfg(feature = "derive")] {
/// use toft_pools::{Columnar, ColumnarViews, Columns, Stack};
///
/// #[derive(Columnar)]
/// struct Point {
///     x: i32,
///     y: i32,
/// }
///
/// fn rows<T: ColumnarViews>(points: &Stack<T, Columns>) -> usize {
///     T::len(&points.as_slice())
/// }
///
/// let mut points: Stack<Point, Columns> = Stack::default();
/// points.push(Point { x: 1, y: 2 });
/// assert_eq!(rows(&points), 1);
/// # }
/// ```
///
/// # Safety
/// `len` and `len_mut` return at most the length of the shortest column. `raw` and `raw_mut` return the addresses of
/// the columns: the functions of [`Columnar`] may be called with them for so many slots while the slices are borrowed,
/// with those of `raw` only to read. No function of this trait unwinds.
pub unsafe trait ColumnarViews: Columnar {
    /// The same row, shared.
    fn as_ref<'b>(row: &'b Self::Mut<'_>) -> Self::Ref<'b>
    where
        Self: 'b;

    /// The same row with a shorter lifetime.
    fn reborrow<'b>(row: &'b mut Self::Mut<'_>) -> Self::Mut<'b>
    where
        Self: 'b;

    /// Replaces the value of the row and returns the previous one.
    fn replace(row: &mut Self::Mut<'_>, value: Self) -> Self;

    /// The number of rows.
    fn len(slices: &Self::Slices<'_>) -> usize;

    /// The addresses of the columns.
    fn raw(slices: &Self::Slices<'_>) -> Self::Raw;

    /// The number of rows.
    fn len_mut(slices: &Self::SlicesMut<'_>) -> usize;

    /// The addresses of the columns.
    fn raw_mut(slices: &mut Self::SlicesMut<'_>) -> Self::Raw;

    /// The same slices, shared.
    fn as_slices<'b>(slices: &'b Self::SlicesMut<'_>) -> Self::Slices<'b>
    where
        Self: 'b;

    /// The row at an index, or `None` if there are fewer.
    fn row<'b>(slices: Self::Slices<'b>, index: usize) -> Option<Self::Ref<'b>>
    where
        Self: 'b,
    {
        // SAFETY: the index is less than the number of rows, which are shared during 'b.
        (index < Self::len(&slices)).then(|| unsafe { Self::get(Self::raw(&slices), index) })
    }

    /// The row at an index, mutable, or `None` if there are fewer.
    fn row_mut<'b>(mut slices: Self::SlicesMut<'b>, index: usize) -> Option<Self::Mut<'b>>
    where
        Self: 'b,
    {
        // SAFETY: the index is less than the number of rows; the slices, which are exclusive during 'b, are not used
        // again.
        (index < Self::len_mut(&slices)).then(|| unsafe { Self::get_mut(Self::raw_mut(&mut slices), index) })
    }

    /// The same slices with a shorter lifetime.
    fn reborrow_slices<'b>(slices: &'b mut Self::SlicesMut<'_>) -> Self::SlicesMut<'b>
    where
        Self: 'b,
    {
        let len = Self::len_mut(slices);
        // SAFETY: `len` is the number of rows, which no other code accesses while the slices are borrowed.
        unsafe { Self::slices_mut(Self::raw_mut(slices), 0, len) }
    }

    /// The rows before `mid`, and those from `mid` on.
    ///
    /// # Panics
    /// There are fewer than `mid`.
    fn split_at<'b>(slices: Self::Slices<'b>, mid: usize) -> (Self::Slices<'b>, Self::Slices<'b>)
    where
        Self: 'b,
    {
        let (raw, rest) = (Self::raw(&slices), rest(Self::len(&slices), mid));
        // SAFETY: the ranges are within the rows.
        unsafe { (Self::slices(raw, 0, mid), Self::slices(raw, mid, rest)) }
    }

    /// The rows before `mid`, and those from `mid` on, mutable.
    ///
    /// # Panics
    /// There are fewer than `mid`.
    fn split_at_mut<'b>(mut slices: Self::SlicesMut<'b>, mid: usize) -> (Self::SlicesMut<'b>, Self::SlicesMut<'b>)
    where
        Self: 'b,
    {
        let rest = rest(Self::len_mut(&slices), mid);
        let raw = Self::raw_mut(&mut slices);
        // SAFETY: the ranges are within the rows and do not overlap; the original slices are not used again.
        unsafe { (Self::slices_mut(raw, 0, mid), Self::slices_mut(raw, mid, rest)) }
    }
}

#[track_caller]
fn rest(len: usize, mid: usize) -> usize {
    len.checked_sub(mid).expect("toft: the slices are split past their end")
}

/// The rows of slices: `iter()` of the derived slices.
///
/// ```
/// # #[cfg(feature = "derive")] {
/// use toft_pools::{Columnar, Columns, Stack};
///
/// #[derive(Columnar)]
/// struct Point {
///     x: i32,
///     y: i32,
/// }
///
/// let mut points: Stack<Point, Columns> = Stack::default();
/// points.push(Point { x: 1, y: 2 });
/// points.push(Point { x: 3, y: 4 });
/// let last = points.as_slice().iter().next_back().unwrap();
/// assert_eq!((*last.x, *last.y), (3, 4));
/// # }
/// ```
pub struct ColumnsIter<'a, T: ColumnarViews + 'a> {
    slices: T::Slices<'a>,
    start: usize,
    end: usize,
}

impl<'a, T: ColumnarViews> ColumnsIter<'a, T> {
    /// The rows of these slices.
    ///
    /// ```
    /// use toft_pools::{ColumnarViews, ColumnsIter};
    /// fn first<T: ColumnarViews>(slices: T::Slices<'_>) -> Option<T::Ref<'_>> {
    ///     ColumnsIter::<T>::new(slices).next()
    /// }
    /// # #[cfg(feature = "derive")] {
    /// # #[derive(toft_pools::Columnar)]
    /// # struct Point { x: i32 }
    /// # let mut points: toft_pools::Stack<Point, toft_pools::Columns> = Default::default();
    /// # points.push(Point { x: 1 });
    /// # assert_eq!(first::<Point>(points.as_slice()).unwrap().x, &1);
    /// # }
    /// ```
    #[inline]
    pub fn new(slices: T::Slices<'a>) -> Self {
        ColumnsIter { slices, start: 0, end: T::len(&slices) }
    }
}

/// The rows of slices, mutable: `iter_mut()` of the derived slices.
///
/// ```
/// # #[cfg(feature = "derive")] {
/// use toft_pools::{Columnar, Columns, Stack};
///
/// #[derive(Columnar)]
/// struct Point {
///     x: i32,
///     y: i32,
/// }
///
/// let mut points: Stack<Point, Columns> = Stack::default();
/// points.push(Point { x: 1, y: 2 });
/// points.push(Point { x: 3, y: 4 });
/// for point in points.as_mut_slice() {
///     *point.x += *point.y;
/// }
/// assert_eq!(points.as_slice().x, [3, 7]);
/// # }
/// ```
pub struct ColumnsIterMut<'a, T: ColumnarViews + 'a> {
    // Not the slices: borrowing them again would invalidate the references that were returned.
    raw: T::Raw,
    start: usize,
    end: usize,
    of: PhantomData<T::SlicesMut<'a>>,
}

// SAFETY: as the slices that it was created from.
unsafe impl<'a, T: ColumnarViews> Send for ColumnsIterMut<'a, T> where T::SlicesMut<'a>: Send {}
// SAFETY: as above; through a shared reference it returns the number of remaining rows.
unsafe impl<'a, T: ColumnarViews> Sync for ColumnsIterMut<'a, T> where T::SlicesMut<'a>: Sync {}

impl<'a, T: ColumnarViews> ColumnsIterMut<'a, T> {
    /// The rows of these slices.
    ///
    /// ```
    /// use toft_pools::{ColumnarViews, ColumnsIterMut};
    /// fn first<T: ColumnarViews>(slices: T::SlicesMut<'_>) -> Option<T::Mut<'_>> {
    ///     ColumnsIterMut::<T>::new(slices).next()
    /// }
    /// # #[cfg(feature = "derive")] {
    /// # #[derive(toft_pools::Columnar)]
    /// # struct Point { x: i32 }
    /// # let mut points: toft_pools::Stack<Point, toft_pools::Columns> = Default::default();
    /// # points.push(Point { x: 1 });
    /// # *first::<Point>(points.as_mut_slice()).unwrap().x = 2;
    /// # assert_eq!(points.as_slice().x, [2]);
    /// # }
    /// ```
    #[inline]
    pub fn new(mut slices: T::SlicesMut<'a>) -> Self {
        let end = T::len_mut(&slices);
        ColumnsIterMut { raw: T::raw_mut(&mut slices), start: 0, end, of: PhantomData }
    }
}

impl<'a, T: ColumnarViews> Clone for ColumnsIter<'a, T> {
    fn clone(&self) -> Self {
        ColumnsIter { slices: self.slices, start: self.start, end: self.end }
    }
}

macro_rules! iterator {
    ($name:ident, $item:ident, |$self:ident, $i:ident| $row:expr) => {
        impl<'a, T: ColumnarViews> Iterator for $name<'a, T> {
            type Item = T::$item<'a>;

            #[inline]
            fn next(&mut $self) -> Option<Self::Item> {
                if $self.start == $self.end {
                    return None;
                }
                let $i = $self.start;
                $self.start += 1;
                // SAFETY: the index is less than the number of rows, and was not returned before.
                Some(unsafe { $row })
            }

            #[inline]
            fn size_hint(&self) -> (usize, Option<usize>) {
                (self.len(), Some(self.len()))
            }

            #[inline]
            fn nth(&mut self, n: usize) -> Option<Self::Item> {
                self.start += n.min(self.len());
                self.next()
            }

            fn count(self) -> usize {
                self.len()
            }

            #[inline]
            fn last(mut self) -> Option<Self::Item> {
                self.next_back()
            }
        }

        impl<T: ColumnarViews> DoubleEndedIterator for $name<'_, T> {
            #[inline]
            fn next_back(&mut $self) -> Option<Self::Item> {
                if $self.start == $self.end {
                    return None;
                }
                $self.end -= 1;
                let $i = $self.end;
                // SAFETY: see next.
                Some(unsafe { $row })
            }

            #[inline]
            fn nth_back(&mut self, n: usize) -> Option<Self::Item> {
                self.end -= n.min(self.len());
                self.next_back()
            }
        }

        impl<T: ColumnarViews> ExactSizeIterator for $name<'_, T> {
            #[inline]
            fn len(&self) -> usize {
                self.end - self.start
            }
        }

        impl<T: ColumnarViews> FusedIterator for $name<'_, T> {}

        impl<T: ColumnarViews> fmt::Debug for $name<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).field("remaining", &self.len()).finish()
            }
        }
    };
}

iterator!(ColumnsIter, Ref, |self, i| T::get(T::raw(&self.slices), i));
iterator!(ColumnsIterMut, Mut, |self, i| T::get_mut(self.raw, i));
