//! `collect` and `vec!`, with a memory to collect in.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use super::{String, Vec};
use crate::memory::by_layout::Memory;

/// What [`CollectIn::collect_in`] can make of an iterator of `A`.
///
/// ```
/// use toft::collections::{FromIteratorIn, Vec};
/// let arena = toft::Arena::new();
/// assert_eq!(Vec::from_iter_in(0..3, &arena), [0, 1, 2]);
/// ```
pub trait FromIteratorIn<A> {
    /// The memory of the collection, such as a reference to an arena.
    type Alloc;

    /// All that the iterator yields.
    fn from_iter_in<I>(iter: I, alloc: Self::Alloc) -> Self
    where
        I: IntoIterator<Item = A>;
}

/// [`Iterator::collect`], into collections that need a memory.
///
/// ```
/// use toft::collections::{CollectIn, String, Vec};
///
/// let arena = toft::Arena::new();
/// let word = "toft".chars().rev().collect_in::<String>(&arena);
/// let numbers = "1 2 3".split(' ').map(str::parse).collect_in::<Result<Vec<i32>, _>>(&arena);
/// assert_eq!((word.as_str(), numbers.unwrap().as_slice()), ("tfot", &[1, 2, 3][..]));
/// ```
pub trait CollectIn: Iterator + Sized {
    /// All that this iterator yields, in this memory.
    ///
    /// # Panics
    /// There is no memory.
    #[inline]
    #[track_caller]
    fn collect_in<C: FromIteratorIn<Self::Item>>(self, alloc: C::Alloc) -> C {
        C::from_iter_in(self, alloc)
    }
}

impl<I: Iterator> CollectIn for I {}

impl<'m, T, A: Memory> FromIteratorIn<T> for Vec<'m, T, A> {
    type Alloc = &'m A;

    #[inline]
    #[track_caller]
    fn from_iter_in<I: IntoIterator<Item = T>>(iter: I, alloc: &'m A) -> Self {
        Vec::from_iter_in(iter, alloc)
    }
}

impl<'m, A: Memory> FromIteratorIn<char> for String<'m, A> {
    type Alloc = &'m A;

    #[inline]
    #[track_caller]
    fn from_iter_in<I: IntoIterator<Item = char>>(iter: I, alloc: &'m A) -> Self {
        String::from_iter_in(iter, alloc)
    }
}

/// `None` if the iterator yields one: then it is not called again.
impl<T, V: FromIteratorIn<T>> FromIteratorIn<Option<T>> for Option<V> {
    type Alloc = V::Alloc;

    fn from_iter_in<I: IntoIterator<Item = Option<T>>>(iter: I, alloc: V::Alloc) -> Self {
        let mut ended = false;
        let until = Until {
            iter: iter.into_iter(),
            keep: |item: Option<T>| {
                item.or_else(|| {
                    ended = true;
                    None
                })
            },
        };
        let all = V::from_iter_in(until, alloc);
        (!ended).then_some(all)
    }
}

/// The first error that the iterator yields: then it is not called again.
impl<T, E, V: FromIteratorIn<T>> FromIteratorIn<Result<T, E>> for Result<V, E> {
    type Alloc = V::Alloc;

    fn from_iter_in<I: IntoIterator<Item = Result<T, E>>>(iter: I, alloc: V::Alloc) -> Self {
        let mut error = None;
        let until = Until { iter: iter.into_iter(), keep: |item: Result<T, E>| item.map_err(|e| error = Some(e)).ok() };
        let all = V::from_iter_in(until, alloc);
        match error {
            None => Ok(all),
            Some(e) => Err(e),
        }
    }
}

/// Values up to the first that is none.
struct Until<I, F> {
    iter: I,
    keep: F,
}

impl<T, I: Iterator, F: FnMut(I::Item) -> Option<T>> Iterator for Until<I, F> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        (self.keep)(self.iter.next()?)
    }

    /// There may be none at all.
    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, self.iter.size_hint().1)
    }
}

/// A [`Vec`](crate::collections::Vec) of some elements, or of clones of one: as the standard library's, with the memory in
/// front. Without `in` it is the standard library's, so that `use toft::vec` does not hide that one; where the crate is imported
/// by `*`, name it `toft::vec!`.
///
/// ```
/// let arena = toft::Arena::new();
/// assert_eq!(toft::vec![in &arena; 1, 2, 3].len(), 3);
/// assert_eq!(toft::vec![in &arena; 7; 2], [7, 7]);
/// let empty: toft::collections::Vec<i32> = toft::vec![in &arena];
/// assert!(empty.is_empty());
/// ```
#[macro_export]
macro_rules! vec {
    (in $memory:expr $(;)?) => {
        $crate::collections::Vec::new_in($memory)
    };
    (in $memory:expr; $element:expr; $n:expr) => {{
        let (element, mut vec) = ($element, $crate::collections::Vec::new_in($memory));
        vec.resize($n, element);
        vec
    }};
    (in $memory:expr; $($element:expr),+ $(,)?) => {
        $crate::collections::Vec::from_iter_in([$($element),+], $memory)
    };
    ($($of_std:tt)*) => {
        $crate::__alloc::vec![$($of_std)*]
    };
}
