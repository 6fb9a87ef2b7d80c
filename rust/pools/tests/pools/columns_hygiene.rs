//! The derive's output compiles without warnings in every place where a struct does.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]
#![deny(missing_docs, missing_debug_implementations, unsafe_op_in_unsafe_fn, rust_2018_idioms, unused, clippy::all)]
#![deny(unused_qualifications, unused_lifetimes, single_use_lifetimes, unreachable_pub, trivial_casts)]
#![warn(clippy::pedantic)]

use toft_pools::{Columns, Stack};

/// A module without imports, in which the usual names mean something else.
pub mod hostile {
    #![no_implicit_prelude]
    #![allow(missing_docs, dead_code, missing_debug_implementations)]

    pub struct Option;
    pub struct Some;
    pub struct None;
    pub struct Result;
    pub struct Box;
    pub struct Vec;
    pub trait Clone {}
    pub trait Copy {}
    pub trait Debug {}
    pub trait PartialEq {}
    pub trait Iterator {}
    pub trait Columnar {}
    pub struct Planner;
    pub struct NonNull;
    pub mod core {}
    pub mod toft {}
    pub mod pool {}
    #[allow(non_camel_case_types)]
    pub struct usize;
    #[allow(non_camel_case_types)]
    pub struct bool;

    /// Its fields have names that generated code might use itself.
    #[derive(::toft_pools::Columnar)]
    pub struct Row<'a, 'b, T: 'b, const N: ::core::primitive::usize> {
        pub raw: u32,
        pub i: &'a T,
        pub value: &'b str,
        pub planner: [T; N],
        pub r#type: u8,
        __raw: u8,
        __i: u8,
        pub this: fn(&'a u8) -> &'a u8,
        pub other: for<'t> fn(&'t u8) -> &'t u8,
        pub len: (),
        pub f: Option,
        #[columns(group = "r#match")]
        pub get: u8,
        #[columns(group = "r#match")]
        pub iter: u16,
    }
}

/// A struct with every kind of generic parameter.
#[derive(toft_pools::Columnar, Clone, Debug)]
pub struct Generic<'s, 'long: 's, T: Iterator<Item = U> + Clone = std::vec::IntoIter<u8>, U = u8, const N: usize = 3>
where
    T::Item: Copy,
    U: Default,
    Self: Sized,
    for<'x> &'x [U]: Sized,
{
    /// The next item.
    pub next: Option<T::Item>,
    /// The source.
    pub from: T,
    pub(crate) items: [U; N],
    text: &'s str,
    longer: &'long str,
    more: Option<Box<Self>>,
    sum: [u8; {
        const ONE: usize = 1;
        ONE + 2
    }],
    tuple: (<T as Iterator>::Item, [[u8; 2]; 2]),
    #[columns(group = "some")]
    mine: u8,
    #[columns(group = "some")]
    yours: Option<T>,
}

#[test]
fn generics_of_every_kind() {
    let value = |n: u8| Generic::<'_, '_, _, _, 2> {
        next: Some(n),
        from: vec![n].into_iter(),
        items: [n; 2],
        text: "text",
        longer: "longer",
        more: None,
        sum: [n; 3],
        tuple: (n, [[n; 2]; 2]),
        mine: n,
        yours: None,
    };
    let mut stack: Stack<_, Columns> = Stack::default();
    stack.push(value(1));
    stack.push(Generic { more: Some(Box::new(value(2))), ..value(3) });
    let slices = stack.as_slice();
    assert_eq!(slices.next, [Some(1), Some(3)]);
    assert_eq!(slices.items, [[1; 2], [3; 2]]);
    assert_eq!((slices.text[0], slices.longer[1], slices.sum[1]), ("text", "longer", [3; 3]));
    assert_eq!(slices.more[1].as_ref().map(|more| more.mine), Some(2));
    assert_eq!((slices.some[1].mine, slices.some[1].yours.is_none()), (3, true));
    assert_eq!(slices.get(1).unwrap().to_value().tuple, (3, [[3; 2]; 2]));
    assert_eq!(stack.clone().pop().unwrap().next, Some(3));
}

/// The struct's own types and private fields are not accessible from outside.
mod private {
    struct Secret(#[allow(dead_code)] u8);

    /// Its views are visible; their private fields are not.
    #[derive(toft_pools::Columnar)]
    #[allow(unreachable_pub, missing_debug_implementations)]
    pub struct Guarded {
        secret: Secret,
        /// Visible.
        pub open: u8,
    }

    impl Guarded {
        pub(super) fn new(open: u8) -> Guarded {
            Guarded { secret: Secret(open), open }
        }
    }

    impl GuardedRef<'_> {
        pub(super) fn secret(&self) -> u8 {
            self.secret.0
        }
    }
}

#[test]
fn private_types_and_fields() {
    let mut stack: Stack<private::Guarded, Columns> = Stack::default();
    stack.push(private::Guarded::new(7));
    assert_eq!((stack.as_slice().open, stack.last().unwrap().secret()), (&[7][..], 7));
}

/// A crate that exports this one under another name.
pub mod reexport {
    pub use toft_pools as arenas;
}

#[derive(toft_pools::Columnar)]
#[columns(crate = "reexport::arenas", derive(Hash, PartialOrd, Ord))]
struct Elsewhere {
    a: u8,
    b: u8,
}

#[test]
fn another_path_and_more_traits() {
    let mut stack: Stack<Elsewhere, Columns> = Stack::default();
    stack.push(Elsewhere { a: 1, b: 3 });
    stack.push(Elsewhere { a: 1, b: 2 });
    let (first, second) = (stack.get(0).unwrap(), stack.get(1).unwrap());
    assert!(second < first && first.max(second) == first);
    let hash =
        |row| std::hash::BuildHasher::hash_one(&std::hash::BuildHasherDefault::<std::hash::DefaultHasher>::new(), row);
    assert_ne!(hash(first), hash(second));
}

/// A type that is named in a macro, and a struct that is defined by one.
macro_rules! made {
    ($name:ident, $field:ident: $ty:ty, $align:literal) => {
        #[derive(toft_pools::Columnar)]
        struct $name {
            #[columns(align = $align)]
            $field: $ty,
            #[columns(group = "rest")]
            one: $ty,
        }
    };
}

#[test]
fn within_a_function_and_a_macro() {
    made!(Made, field: Option<&'static str>, 128);
    let mut stack: Stack<Made, Columns> = Stack::default();
    stack.push(Made { field: Some("x"), one: None });
    assert_eq!((stack.as_slice().field, stack.as_slice().rest[0].one), (&[Some("x")][..], None));
}

#[allow(non_camel_case_types)]
#[derive(toft_pools::Columnar)]
struct r#struct {
    #[deprecated]
    r#fn: u8,
}

#[test]
#[allow(deprecated)]
fn raw_names() {
    let mut stack: Stack<r#struct, Columns> = Stack::default();
    stack.push(r#struct { r#fn: 1 });
    let row: structRef<'_> = stack.last().unwrap();
    assert_eq!(format!("{row:?}"), "struct { fn: 1 }");
}

#[derive(toft_pools::Columnar)]
struct Itself {
    array: [u8; Self::TWO],
    #[columns(group = "rest")]
    next: Option<Box<Self>>,
}

impl Itself {
    const TWO: usize = 2;
}

#[test]
fn fields_that_mention_the_struct() {
    let mut stack: Stack<Itself, Columns> = Stack::default();
    stack.push(Itself { array: [1; 2], next: Some(Box::new(Itself { array: [2; 2], next: None })) });
    assert_eq!(stack.as_slice().array, [[1; 2]]);
    assert_eq!(stack.as_slice().rest[0].next.as_ref().unwrap().array, [2; 2]);
}

#[derive(toft_pools::Columnar, Clone, Debug, PartialEq)]
struct Word<'s, T> {
    text: &'s str,
    of: T,
}

#[derive(toft_pools::Columnar, Clone, Debug, PartialEq)]
struct Words<'s, 'l, T, const N: usize> {
    #[columns(nested)]
    first: Word<'s, [u8; 2]>,
    #[columns(nested)]
    second: Word<'s, (T, [u8; N])>,
    third: &'l str,
}

#[test]
fn nested_fields_with_lifetimes_and_parameters() {
    let (one, two) = (String::from("one"), String::from("two"));
    let words =
        Words { first: Word { text: &one, of: [1; 2] }, second: Word { text: "s", of: ('x', [2; 3]) }, third: &two };
    let mut stack: Stack<_, Columns> = Stack::default();
    stack.push(words.clone());
    stack.as_mut_slice().iter_mut().for_each(|row| row.second.of.0 = 'y');
    let row = stack.last().unwrap();
    assert_eq!((*row.first.text, row.second.of.0, row == words), ("one", 'y', false));
    assert_eq!(row.to_value(), Words { second: Word { of: ('y', [2; 3]), ..words.second }, ..words });
    assert_eq!(format!("{row:?}"), format!("{:?}", row.to_value()));
}
