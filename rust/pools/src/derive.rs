//! The derive, and its manual.
// SPDX-License-Identifier: MIT OR Apache-2.0

/// Puts each field of a struct in a column of its own, where the pool or collection is one of
/// [`Columns`](crate::Columns). With the feature `derive`.
///
/// ```
/// use toft_pools::{Columnar, Columns, Handle, Pool};
///
/// #[derive(Columnar, Debug)]
/// struct Particle {
///     x: f32,
///     speed: f32,
///     name: String,
/// }
///
/// let mut particles: Pool<Particle, Columns> = Pool::default();
/// let a: Handle<Particle> = particles.insert(Particle { x: 0.0, speed: 1.5, name: "a".into() });
/// let b = particles.insert(Particle { x: 1.0, speed: 2.5, name: "b".into() });
///
/// let row: ParticleMut = particles.get_mut(a).unwrap(); // a reference to each field
/// *row.x += *row.speed;
/// let row: ParticleRef = particles.get(a).unwrap();
/// assert_eq!((*row.x, row.name.as_str()), (1.5, "a"));
/// assert_eq!(format!("{row:?}"), r#"Particle { x: 1.5, speed: 1.5, name: "a" }"#);
/// assert_eq!(particles.remove(b).unwrap().name, "b"); // a value again
/// ```
///
/// A column begins at a multiple of 64 bytes and is padded to one, so a loop over it is as fast as one over an array:
///
/// ```
/// # use toft_pools::{Columnar, Columns, Stack};
/// # #[derive(Columnar)]
/// # struct Particle { x: f32, speed: f32, name: String }
/// let mut particles: Stack<Particle, Columns> = Stack::default();
/// particles.extend((0..100).map(|i| Particle { x: 0.0, speed: i as f32, name: String::new() }));
///
/// let columns: ParticleSlicesMut = particles.as_mut_slice();
/// for (x, speed) in columns.x.iter_mut().zip(&*columns.speed) {
///     *x += *speed; // several at a time; no name is loaded
/// }
/// assert_eq!(particles.as_slice().x[..3], [0.0, 1.0, 2.0]);
/// ```
///
/// # What is written
///
/// For `struct Particle`, with the visibility of the struct, and of each field:
///
/// | | fields | |
/// |---|---|---|
/// | `ParticleRef<'a>` | `x: &'a f32` | `Copy`; `to_value()` where each field is `Clone`; equals a `Particle` too |
/// | `ParticleMut<'a>` | `x: &'a mut f32` | `set(value)`, `replace(value)`, `as_ref()`, `reborrow()` |
/// | `ParticleSlices<'a>` | `x: &'a [f32]` | `Copy`; `len()`, `is_empty()`, `get(i)`, `iter()`, `split_at(i)` |
/// | `ParticleSlicesMut<'a>` | `x: &'a mut [f32]` | `get_mut(i)`, `iter_mut()`, `split_at_mut(i)`, `as_slices()` |
///
/// All of these are `Debug`, `PartialEq` and `Eq` where the fields are; none of it is asked of the fields. They borrow
/// the pool as `&Particle` and `&mut Particle` would. `Columnar`, [`ColumnarViews`](crate::ColumnarViews) and,
/// where each field is `Clone`, [`ColumnarClone`](crate::ColumnarClone) are implemented, so the pool can be
/// cloned as well.
///
/// To walk slices row by row costs what it costs to walk them side by side: columns whose fields are not used are not
/// touched, and the loop is vectorised as that one is. `set` drops the old value as a whole when the new one is in
/// place; a destructor that panics leaves the row with the new value. A struct that is `Drop` itself is put together
/// again to be dropped.
///
/// `len` of slices is that of the shortest: safe code may exchange the slices for others. `get` returns `None` behind
/// it, `split_at` and `split_at_mut` panic.
///
/// Structs with names, tuple structs and unit structs can be generic over types, lifetimes and constants. Enums,
/// unions and packed structs have no columns.
///
/// # Of a field
///
/// `#[columns(nested)]`: the field's type is `Columnar` itself, and its fields are in columns too. In each view the
/// field is the view of that type. Such a view is not shortened where it stands (it is invariant in its lifetime): use
/// `reborrow()`.
///
/// ```
/// use toft_pools::{Columnar, Columns, Stack};
///
/// #[derive(Columnar)]
/// struct Point {
///     x: f32,
///     y: f32,
/// }
///
/// #[derive(Columnar)]
/// struct Body {
///     #[columns(nested)]
///     at: Point,
///     mass: f64,
/// }
///
/// let mut bodies: Stack<Body, Columns> = Stack::default();
/// bodies.push(Body { at: Point { x: 1.0, y: 2.0 }, mass: 3.0 });
/// *bodies.last_mut().unwrap().at.y = 5.0;
/// assert_eq!(bodies.as_slice().at.y, [5.0]);
/// ```
///
/// `#[columns(align = N)]`: the column begins at a multiple of `N` bytes, a power of two up to `2^29`, and of 64.
///
/// `#[columns(group = "name")]`: all fields of a group lie side by side in one column, as a small struct: what is
/// always used together is loaded together (*hot*), and what is seldom used is out of its way (*cold*). References to
/// a row are to its fields as before; slices have one field for the group, of a struct that is called after it, here
/// `BodyHot`. It is `Debug`, `PartialEq`, `Eq` and `Clone` where its fields are, and `Copy` where they are and have no
/// lifetime.
///
/// ```
/// use toft_pools::{Columnar, Columns, Stack};
///
/// #[derive(Columnar)]
/// struct Body {
///     #[columns(group = "hot")]
///     x: f32,
///     #[columns(group = "hot")]
///     speed: f32,
///     #[columns(align = 4096)]
///     texture: [u8; 64],
/// }
///
/// let mut bodies: Stack<Body, Columns> = Stack::default();
/// bodies.push(Body { x: 1.0, speed: 2.0, texture: [0; 64] });
/// assert_eq!(*bodies.last().unwrap().speed, 2.0);
/// for body in bodies.as_mut_slice().hot {
///     body.x += body.speed;
/// }
/// let hot: &[BodyHot] = bodies.as_slice().hot;
/// assert_eq!(hot[0].x, 3.0);
/// assert_eq!(bodies.as_slice().texture.as_ptr() as usize % 4096, 0);
/// ```
///
/// # Of the struct
///
/// `#[columns(crate = "path")]`: where this crate is found, when it is not `::toft`.
///
/// `#[columns(derive(Hash, PartialOrd, Ord))]`: more traits for `ParticleRef`, as its own `derive` would have them.
#[doc(inline)]
pub use toft_derive::Columnar;
