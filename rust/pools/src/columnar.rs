//! Types whose fields can be stored in columns.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::planner::Planner;

/// A type whose fields can be stored in columns, each in an array of its own (struct of arrays). With the feature
/// `derive` it is [derived](derive@crate::Columnar); a manual implementation:
///
/// ```
/// use core::ptr::NonNull;
/// use toft_pools::{Columnar, Columns, Planner, Stack};
///
/// struct Point {
///     x: f32,
///     y: f32,
/// }
///
/// // SAFETY: each function reaches the elements of its number in both columns.
/// unsafe impl Columnar for Point {
///     type Fields = (f32, f32);
///     type Raw = (NonNull<f32>, NonNull<f32>);
///     type Ref<'a> = (&'a f32, &'a f32);
///     type Mut<'a> = (&'a mut f32, &'a mut f32);
///     type Slices<'a> = (&'a [f32], &'a [f32]);
///     type SlicesMut<'a> = (&'a mut [f32], &'a mut [f32]);
///
///     fn plan(planner: &mut Planner) -> Self::Raw {
///         (planner.column(1), planner.column(1))
///     }
///     unsafe fn write((x, y): Self::Raw, i: usize, value: Point) {
///         unsafe {
///             x.add(i).write(value.x);
///             y.add(i).write(value.y);
///         }
///     }
///     unsafe fn read((x, y): Self::Raw, i: usize) -> Point {
///         unsafe { Point { x: x.add(i).read(), y: y.add(i).read() } }
///     }
///     unsafe fn get<'a>((x, y): Self::Raw, i: usize) -> Self::Ref<'a> {
///         unsafe { (x.add(i).as_ref(), y.add(i).as_ref()) }
///     }
///     unsafe fn get_mut<'a>((x, y): Self::Raw, i: usize) -> Self::Mut<'a> {
///         unsafe { (x.add(i).as_mut(), y.add(i).as_mut()) }
///     }
///     unsafe fn slices<'a>((x, y): Self::Raw, start: usize, len: usize) -> Self::Slices<'a> {
///         let slice = |column: NonNull<f32>| unsafe { core::slice::from_raw_parts(column.add(start).as_ptr(), len) };
///         (slice(x), slice(y))
///     }
///     unsafe fn slices_mut<'a>((x, y): Self::Raw, start: usize, len: usize) -> Self::SlicesMut<'a> {
///         let slice = |column: NonNull<f32>| unsafe { core::slice::from_raw_parts_mut(column.add(start).as_ptr(), len) };
///         (slice(x), slice(y))
///     }
///     unsafe fn copy(from: Self::Raw, i: usize, to: Self::Raw, j: usize, n: usize) {
///         unsafe {
///             to.0.add(j).copy_from_nonoverlapping(from.0.add(i), n);
///             to.1.add(j).copy_from_nonoverlapping(from.1.add(i), n);
///         }
///     }
/// }
///
/// let mut points: Stack<Point, Columns> = Stack::default();
/// points.push(Point { x: 1.0, y: 2.0 });
/// points.push(Point { x: 3.0, y: 4.0 });
/// assert_eq!(points.as_slice().1, [2.0, 4.0]);
/// ```
///
/// # Safety
/// `plan` requests the same columns each time, and does nothing else. The other functions access only the elements of
/// the given slots in these columns, and references are to the fields of these slots only. `Fields` is `Send` or `Sync`
/// only if each referenced field is.
pub unsafe trait Columnar: Sized {
    /// The types of all fields, as a tuple: columns are `Send` and `Sync` if each field is.
    type Fields;
    /// The addresses of the columns.
    type Raw: Copy;
    /// A reference to each field.
    type Ref<'a>: Copy
    where
        Self: 'a;
    /// A mutable reference to each field.
    type Mut<'a>
    where
        Self: 'a;
    /// A slice of each column.
    type Slices<'a>: Copy
    where
        Self: 'a;
    /// A mutable slice of each column.
    type SlicesMut<'a>
    where
        Self: 'a;

    /// Requests the columns, in order.
    fn plan(planner: &mut Planner) -> Self::Raw;

    /// Writes a value to slot `i` without dropping an old one.
    ///
    /// # Safety
    /// For this and the others: `raw` is of a plan for more than `i` slots (or `start + len` of them), whose memory is
    /// alive. Here: no reference to the slot exists.
    unsafe fn write(raw: Self::Raw, i: usize, value: Self);

    /// Reads the value of slot `i`.
    ///
    /// # Safety
    /// The slot has a value, to which no reference exists; the caller owns it from now on.
    unsafe fn read(raw: Self::Raw, i: usize) -> Self;

    /// The fields of slot `i`.
    ///
    /// # Safety
    /// The slot has a value, which nothing changes during `'a`.
    unsafe fn get<'a>(raw: Self::Raw, i: usize) -> Self::Ref<'a>
    where
        Self: 'a;

    /// The fields of slot `i`, mutable.
    ///
    /// # Safety
    /// The slot has a value, to which no other reference exists during `'a`.
    unsafe fn get_mut<'a>(raw: Self::Raw, i: usize) -> Self::Mut<'a>
    where
        Self: 'a;

    /// The fields of `len` slots from `start` on.
    ///
    /// # Safety
    /// As for `get`, of each of them.
    unsafe fn slices<'a>(raw: Self::Raw, start: usize, len: usize) -> Self::Slices<'a>
    where
        Self: 'a;

    /// The fields of `len` slots from `start` on, mutable.
    ///
    /// # Safety
    /// As for `get_mut`, of each of them.
    unsafe fn slices_mut<'a>(raw: Self::Raw, start: usize, len: usize) -> Self::SlicesMut<'a>
    where
        Self: 'a;

    /// Copies `n` slots from `i` on to those from `j` on, whether they have values or not.
    ///
    /// # Safety
    /// They do not overlap; no reference to those of `to` exists.
    unsafe fn copy(from: Self::Raw, i: usize, to: Self::Raw, j: usize, n: usize);
}

/// A type whose values can be cloned from their columns. The derive implements it if every field is `Clone`.
///
/// ```
/// # #[cfg(feature = "derive")] {
/// use toft_pools::{Columnar, Columns, Handle, Pool};
///
/// #[derive(Columnar)]
/// struct Player {
///     name: String,
///     score: u32,
/// }
///
/// let mut players: Pool<Player, Columns> = Pool::default();
/// let handle = players.insert(Player { name: "Ada".into(), score: 7 });
/// let copy = players.clone();
/// drop(players);
/// assert_eq!(copy.get(handle).unwrap().name, "Ada");
/// # }
/// ```
pub trait ColumnarClone: Columnar {
    /// A value of clones of these fields.
    fn clone_ref(fields: Self::Ref<'_>) -> Self;
}
