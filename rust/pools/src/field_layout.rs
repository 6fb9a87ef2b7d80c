//! The field layout of a pool: rows (array of structs), or columns (struct of arrays).
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::ptr::NonNull;

use super::columnar::{Columnar, ColumnarClone};
use super::planner::Planner;

/// The field layout of a pool: [`Rows`] (array of structs) or [`Columns`] (struct of arrays). The trait is sealed.
///
/// It determines what a pool returns: [`Ref`](FieldLayout::Ref) and [`Mut`](FieldLayout::Mut) are `&T` and `&mut T` for
/// rows, and structs with a reference to each field for columns.
///
/// ```
/// use toft_pools::{FieldLayout, Rows};
/// fn sum(values: [<Rows as FieldLayout<u32>>::Ref<'_>; 2]) -> u32 {
///     values[0] + values[1]
/// }
/// assert_eq!(sum([&1, &2]), 3);
/// ```
///
/// # Safety
/// The functions access the same memory for the same slot, for each slot below the number that was planned for.
pub unsafe trait FieldLayout<T>: sealed::Sealed {
    /// A shared reference to a value.
    type Ref<'a>: Copy
    where
        T: 'a;
    /// A mutable reference to a value.
    type Mut<'a>
    where
        T: 'a;
    /// A shared slice of adjacent values.
    type Slices<'a>: Copy
    where
        T: 'a;
    /// A mutable slice of adjacent values.
    type SlicesMut<'a>
    where
        T: 'a;
    /// The type that must be `Send` or `Sync` for references to values to be. For columns that includes the fields,
    /// which are referenced individually: the struct may be `Sync` although a private field is not.
    #[doc(hidden)]
    type Parts;
    /// The addresses of slots with a `G` beside each value.
    #[doc(hidden)]
    type Raw<G: Copy>: Copy;
    /// Whether growth may move the memory as bytes: it has a single column.
    #[doc(hidden)]
    const ROWS: bool;

    #[doc(hidden)]
    fn plan<G: Copy>(planner: &mut Planner) -> Self::Raw<G>;

    /// # Safety
    /// For this and the others: `i` is below the number of slots planned for. Here: no reference to it exists.
    #[doc(hidden)]
    unsafe fn write<G: Copy>(raw: Self::Raw<G>, i: usize, value: T);

    /// # Safety
    /// The slot has a value, which is owned by the caller from now on.
    #[doc(hidden)]
    unsafe fn read<G: Copy>(raw: Self::Raw<G>, i: usize) -> T;

    /// # Safety
    /// The slot has a value, which nothing changes during 'a.
    #[doc(hidden)]
    unsafe fn get<'a, G: Copy>(raw: Self::Raw<G>, i: usize) -> Self::Ref<'a>
    where
        T: 'a;

    /// # Safety
    /// The slot has a value, to which no other reference exists during 'a.
    #[doc(hidden)]
    unsafe fn get_mut<'a, G: Copy>(raw: Self::Raw<G>, i: usize) -> Self::Mut<'a>
    where
        T: 'a;

    /// # Safety
    /// As for `get`, of `len` slots from `start` on.
    #[doc(hidden)]
    unsafe fn slices<'a>(raw: Self::Raw<()>, start: usize, len: usize) -> Self::Slices<'a>
    where
        T: 'a;

    /// # Safety
    /// As for `get_mut`, of `len` slots from `start` on.
    #[doc(hidden)]
    unsafe fn slices_mut<'a>(raw: Self::Raw<()>, start: usize, len: usize) -> Self::SlicesMut<'a>
    where
        T: 'a;

    /// # Safety
    /// The slot has a value, and none afterwards.
    #[doc(hidden)]
    unsafe fn drop_in_place<G: Copy>(raw: Self::Raw<G>, i: usize);

    /// Copies `n` slots with their `G`, whether they have values or not.
    ///
    /// # Safety
    /// Both are within the plan, and do not overlap.
    #[doc(hidden)]
    unsafe fn copy<G: Copy>(from: Self::Raw<G>, i: usize, to: Self::Raw<G>, j: usize, n: usize);

    /// Copies `n` slots within the same memory; they may overlap.
    ///
    /// # Safety
    /// Both are within the plan.
    #[doc(hidden)]
    unsafe fn shift<G: Copy>(raw: Self::Raw<G>, i: usize, j: usize, n: usize) {
        // Copies pieces no longer than the distance, from the end towards which they move, so that no piece overlaps
        // its target.
        let step = i.abs_diff(j);
        let mut done = 0;
        while done < n && step > 0 {
            let piece = step.min(n - done);
            let at = if j < i { done } else { n - done - piece };
            // SAFETY: the caller's contract.
            unsafe { Self::copy(raw, i + at, raw, j + at, piece) }
            done += piece;
        }
    }

    /// The address of the `G` of a slot.
    ///
    /// # Safety
    /// The slot is within the plan; the pointer is valid for as long as the memory is.
    #[doc(hidden)]
    unsafe fn meta<G: Copy>(raw: Self::Raw<G>, i: usize) -> *mut G;
}

/// Field layouts whose values can be cloned. The trait is sealed; it is implemented for `T: Clone`, and for columns if
/// [`Columnar`](derive@crate::Columnar) was derived and every field is `Clone`.
///
/// ```
/// use toft_pools::{CloneIn, Rows};
/// fn requires<L: CloneIn<String>>() {}
/// requires::<Rows>();
/// ```
pub trait CloneIn<T>: FieldLayout<T> {
    /// # Safety
    /// As for `get`.
    #[doc(hidden)]
    unsafe fn clone_at<G: Copy>(raw: Self::Raw<G>, i: usize) -> T;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Rows {}
    impl Sealed for super::Columns {}
}

/// Array of structs: the fields of a value are adjacent.
///
/// ```
/// use toft_pools::Pool; // of rows, by default
/// let mut pool = Pool::new();
/// let handle = pool.insert((1, 'a'));
/// assert_eq!(pool[handle], (1, 'a'));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Rows;

/// A slot of [`Rows`]. The links of a list are beside the value, since iteration reads both.
#[doc(hidden)]
#[repr(C)]
#[allow(missing_debug_implementations, missing_docs)] // not nameable outside the crate
pub struct Row<T, G> {
    value: core::mem::MaybeUninit<T>,
    meta: G,
}

// SAFETY: each function reaches the row of its number.
unsafe impl<T> FieldLayout<T> for Rows {
    type Ref<'a>
        = &'a T
    where
        T: 'a;
    type Mut<'a>
        = &'a mut T
    where
        T: 'a;
    type Slices<'a>
        = &'a [T]
    where
        T: 'a;
    type SlicesMut<'a>
        = &'a mut [T]
    where
        T: 'a;
    type Parts = T;
    type Raw<G: Copy> = NonNull<Row<T, G>>;
    const ROWS: bool = true;

    fn plan<G: Copy>(planner: &mut Planner) -> NonNull<Row<T, G>> {
        planner.rows()
    }

    #[inline(always)]
    unsafe fn write<G: Copy>(raw: NonNull<Row<T, G>>, i: usize, value: T) {
        // SAFETY: the caller's contract, here and below; the value is the first member of its row.
        unsafe { raw.add(i).cast::<T>().write(value) }
    }

    #[inline(always)]
    unsafe fn read<G: Copy>(raw: NonNull<Row<T, G>>, i: usize) -> T {
        // SAFETY: see write.
        unsafe { raw.add(i).cast::<T>().read() }
    }

    #[inline(always)]
    unsafe fn get<'a, G: Copy>(raw: NonNull<Row<T, G>>, i: usize) -> &'a T {
        // SAFETY: see write.
        unsafe { raw.add(i).cast::<T>().as_ref() }
    }

    #[inline(always)]
    unsafe fn get_mut<'a, G: Copy>(raw: NonNull<Row<T, G>>, i: usize) -> &'a mut T {
        // SAFETY: see write.
        unsafe { raw.add(i).cast::<T>().as_mut() }
    }

    #[inline(always)]
    unsafe fn slices<'a>(raw: NonNull<Row<T, ()>>, start: usize, len: usize) -> &'a [T] {
        // SAFETY: see write; with a `G` of size 0 a row has the size of its value.
        unsafe { core::slice::from_raw_parts(raw.add(start).cast::<T>().as_ptr(), len) }
    }

    #[inline(always)]
    unsafe fn slices_mut<'a>(raw: NonNull<Row<T, ()>>, start: usize, len: usize) -> &'a mut [T] {
        // SAFETY: see slices.
        unsafe { core::slice::from_raw_parts_mut(raw.add(start).cast::<T>().as_ptr(), len) }
    }

    #[inline(always)]
    unsafe fn drop_in_place<G: Copy>(raw: NonNull<Row<T, G>>, i: usize) {
        // SAFETY: see write.
        unsafe { raw.add(i).cast::<T>().drop_in_place() }
    }

    #[inline(always)]
    unsafe fn copy<G: Copy>(from: NonNull<Row<T, G>>, i: usize, to: NonNull<Row<T, G>>, j: usize, n: usize) {
        // SAFETY: the caller's contract.
        unsafe { to.add(j).copy_from_nonoverlapping(from.add(i), n) }
    }

    #[inline(always)]
    unsafe fn shift<G: Copy>(raw: NonNull<Row<T, G>>, i: usize, j: usize, n: usize) {
        // SAFETY: the caller's contract.
        unsafe { raw.add(j).copy_from(raw.add(i), n) }
    }

    #[inline(always)]
    unsafe fn meta<G: Copy>(raw: NonNull<Row<T, G>>, i: usize) -> *mut G {
        // SAFETY: the caller's contract.
        unsafe { &raw mut (*raw.as_ptr().add(i)).meta }
    }
}

impl<T: Clone> CloneIn<T> for Rows {
    #[inline(always)]
    unsafe fn clone_at<G: Copy>(raw: NonNull<Row<T, G>>, i: usize) -> T {
        // SAFETY: the caller's contract.
        unsafe { raw.add(i).cast::<T>().as_ref() }.clone()
    }
}

/// Struct of arrays (SoA): each field is in an array of its own, a *column*. The type must be
/// [`Columnar`](derive@crate::Columnar).
///
/// ```
/// # #[cfg(feature = "derive")] {
/// use toft_pools::{Columnar, Columns, Stack};
///
/// #[derive(Columnar)]
/// struct Particle {
///     x: f32,
///     speed: f32,
///     name: String,
/// }
///
/// let mut particles: Stack<Particle, Columns> = Stack::default();
/// particles.push(Particle { x: 0.0, speed: 1.5, name: "a".into() });
/// particles.push(Particle { x: 1.0, speed: 2.5, name: "b".into() });
///
/// let columns = particles.as_mut_slice();
/// for (x, speed) in columns.x.iter_mut().zip(columns.speed) {
///     *x += *speed;
/// }
/// assert_eq!(particles.as_slice().x, [1.5, 3.5]);
/// # }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Columns;

// SAFETY: the contract of Columnar; the `G` are in a column after those of the value.
unsafe impl<T: Columnar> FieldLayout<T> for Columns {
    type Ref<'a>
        = T::Ref<'a>
    where
        T: 'a;
    type Mut<'a>
        = T::Mut<'a>
    where
        T: 'a;
    type Slices<'a>
        = T::Slices<'a>
    where
        T: 'a;
    type SlicesMut<'a>
        = T::SlicesMut<'a>
    where
        T: 'a;
    type Parts = (T, T::Fields);
    type Raw<G: Copy> = (T::Raw, NonNull<G>);
    const ROWS: bool = false;

    fn plan<G: Copy>(planner: &mut Planner) -> (T::Raw, NonNull<G>) {
        (T::plan(planner), planner.column(1))
    }

    #[inline(always)]
    unsafe fn write<G: Copy>(raw: (T::Raw, NonNull<G>), i: usize, value: T) {
        // SAFETY: the caller's contract, here and below.
        unsafe { T::write(raw.0, i, value) }
    }

    #[inline(always)]
    unsafe fn read<G: Copy>(raw: (T::Raw, NonNull<G>), i: usize) -> T {
        // SAFETY: see write.
        unsafe { T::read(raw.0, i) }
    }

    #[inline(always)]
    unsafe fn get<'a, G: Copy>(raw: (T::Raw, NonNull<G>), i: usize) -> T::Ref<'a>
    where
        T: 'a,
    {
        // SAFETY: see write.
        unsafe { T::get(raw.0, i) }
    }

    #[inline(always)]
    unsafe fn get_mut<'a, G: Copy>(raw: (T::Raw, NonNull<G>), i: usize) -> T::Mut<'a>
    where
        T: 'a,
    {
        // SAFETY: see write.
        unsafe { T::get_mut(raw.0, i) }
    }

    #[inline(always)]
    unsafe fn slices<'a>(raw: (T::Raw, NonNull<()>), start: usize, len: usize) -> T::Slices<'a>
    where
        T: 'a,
    {
        // SAFETY: see write.
        unsafe { T::slices(raw.0, start, len) }
    }

    #[inline(always)]
    unsafe fn slices_mut<'a>(raw: (T::Raw, NonNull<()>), start: usize, len: usize) -> T::SlicesMut<'a>
    where
        T: 'a,
    {
        // SAFETY: see write.
        unsafe { T::slices_mut(raw.0, start, len) }
    }

    #[inline(always)]
    unsafe fn drop_in_place<G: Copy>(raw: (T::Raw, NonNull<G>), i: usize) {
        if core::mem::needs_drop::<T>() {
            // SAFETY: see write. The value is dropped as a whole, so the other fields are dropped if the destructor of
            // one panics.
            drop(unsafe { T::read(raw.0, i) });
        }
    }

    #[inline(always)]
    unsafe fn copy<G: Copy>(from: Self::Raw<G>, i: usize, to: Self::Raw<G>, j: usize, n: usize) {
        // SAFETY: see write.
        unsafe {
            T::copy(from.0, i, to.0, j, n);
            to.1.add(j).copy_from_nonoverlapping(from.1.add(i), n);
        }
    }

    #[inline(always)]
    unsafe fn meta<G: Copy>(raw: (T::Raw, NonNull<G>), i: usize) -> *mut G {
        // SAFETY: the caller's contract.
        unsafe { raw.1.add(i).as_ptr() }
    }
}

impl<T: ColumnarClone> CloneIn<T> for Columns {
    #[inline(always)]
    unsafe fn clone_at<G: Copy>(raw: (T::Raw, NonNull<G>), i: usize) -> T {
        // SAFETY: the caller's contract.
        T::clone_ref(unsafe { T::get(raw.0, i) })
    }
}
