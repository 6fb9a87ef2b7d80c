//! Types whose fields can lie in columns.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::planner::Planner;

/// A type whose fields can lie in columns, each in an array of its own. With the feature `derive` it is
/// [derived](derive@crate::Columnar); by hand:
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
/// `plan` asks for the same columns each time, and does nothing else. What the other functions write they find again,
/// at each number of a slot below what was planned for, and they touch nothing beside it. The references they make are
/// to the fields of that slot alone. `Fields` is `Send` and `Sync` only where each field that is referred to is.
pub unsafe trait Columnar: Sized {
    /// The types of all fields, as a tuple: columns may be sent to a thread, or shared with one, where each field may.
    type Fields;
    /// The addresses of the columns.
    type Raw: Copy;
    /// A reference to each field.
    type Ref<'a>: Copy
    where
        Self: 'a;
    /// An exclusive reference to each field.
    type Mut<'a>
    where
        Self: 'a;
    /// A slice of each column.
    type Slices<'a>: Copy
    where
        Self: 'a;
    /// An exclusive slice of each column.
    type SlicesMut<'a>
    where
        Self: 'a;

    /// Asks for the columns, in their order.
    fn plan(planner: &mut Planner) -> Self::Raw;

    /// Puts a value into slot `i`; what was there is not dropped.
    ///
    /// # Safety
    /// For this and the others: `raw` is of a plan for more than `i` slots (or `start + len` of them), whose memory is
    /// alive. Here: no reference to the slot exists.
    unsafe fn write(raw: Self::Raw, i: usize, value: Self);

    /// Takes the value out of slot `i`.
    ///
    /// # Safety
    /// It has one, to which no reference exists; the caller owns it from now on.
    unsafe fn read(raw: Self::Raw, i: usize) -> Self;

    /// The fields of slot `i`.
    ///
    /// # Safety
    /// It has a value, which nothing changes during `'a`.
    unsafe fn get<'a>(raw: Self::Raw, i: usize) -> Self::Ref<'a>
    where
        Self: 'a;

    /// The fields of slot `i`, mutable.
    ///
    /// # Safety
    /// It has a value, to which no other reference exists during `'a`.
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

/// A type whose values can be cloned out of their columns. The derive implements it where every field is `Clone`.
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
    /// The value that these fields make.
    fn clone_ref(fields: Self::Ref<'_>) -> Self;
}
