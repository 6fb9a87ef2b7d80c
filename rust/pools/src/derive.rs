//! The re-export of the derive macro, with its documentation.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

/// Struct of arrays: implements [`Columnar`](trait@crate::Columnar), so that a pool or collection with
/// [`Columns`](crate::Columns) stores each field in an array of its own. Requires the feature `derive`.
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
///     *x += *speed; // vectorized; names are not loaded
/// }
/// assert_eq!(particles.as_slice().x[..3], [0.0, 1.0, 2.0]);
/// ```
///
/// # Generated types
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
/// They are `Debug`, `PartialEq` and `Eq` if the fields are, which is not required. They borrow the pool as `&Particle`
/// and `&mut Particle` would. `Columnar`, [`ColumnarViews`](crate::ColumnarViews) and, if each field is `Clone`,
/// [`ColumnarClone`](crate::ColumnarClone) are implemented, so the pool can be cloned as well.
///
/// Iteration row by row compiles to the same loop as iteration over the slices: columns of unused fields are not read,
/// and the loop is vectorized. `set` drops the old value after the new one is written; if its destructor panics, the
/// row has the new value. A struct that implements `Drop` is reassembled before it is dropped.
///
/// `len` of slices is that of the shortest one, since safe code may replace the slices. Past it `get` returns `None`,
/// and `split_at` and `split_at_mut` panic.
///
/// Structs with names, tuple structs and unit structs can be generic over types, lifetimes and constants. Enums,
/// unions and packed structs have no columns.
///
/// # Attributes of fields
///
/// `#[columns(nested)]`: the field's type is `Columnar` too, and each of its fields is in a column. In each view the
/// field is the view of that type. Such a view is invariant in its lifetime: call `reborrow()` to shorten it.
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
/// `#[columns(group = "name")]`: the fields of a group are in one column of small structs, for fields that are always
/// used together (*hot*) or seldom (*cold*). References to a row have a reference to each field as before; slices have
/// one field for the group, of a struct that is named after it, here `BodyHot`. It is `Debug`, `PartialEq`, `Eq` and
/// `Clone` if its fields are, and `Copy` if they are and have no lifetime.
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
/// # Attributes of the struct
///
/// `#[columns(crate = "path")]`: the path of this crate, if it is not `::toft_pools`.
///
/// `#[columns(derive(Hash, PartialOrd, Ord))]`: further derived traits of `ParticleRef`.
#[doc(inline)]
pub use toft_derive::Columnar;
