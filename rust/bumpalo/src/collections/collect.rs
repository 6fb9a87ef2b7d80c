//! `collect`, with an arena to collect in.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use super::{String, Vec};
#[cfg(feature = "boxed")]
use crate::boxed::Box;
use crate::Bump;

/// What [`CollectIn::collect_in`] can make of an iterator of `A`.
///
/// ```
/// use toft_bumpalo::collections::{FromIteratorIn, Vec};
/// let bump = toft_bumpalo::Bump::new();
/// assert_eq!(Vec::from_iter_in(0..3, &bump), [0, 1, 2]);
/// ```
pub trait FromIteratorIn<A> {
    /// The memory of the collection: a reference to an arena.
    type Alloc;

    /// All that the iterator yields.
    fn from_iter_in<I>(iter: I, alloc: Self::Alloc) -> Self
    where
        I: IntoIterator<Item = A>;
}

/// [`Iterator::collect`], into collections that need an arena.
///
/// ```
/// use toft_bumpalo::collections::{CollectIn, String, Vec};
/// use toft_bumpalo::Bump;
///
/// let bump = Bump::new();
/// let word = "toft".chars().rev().collect_in::<String>(&bump);
/// let numbers = "1 2 3".split(' ').map(str::parse).collect_in::<Result<Vec<i32>, _>>(&bump);
/// assert_eq!((word.as_str(), numbers.unwrap().as_slice()), ("tfot", &[1, 2, 3][..]));
/// ```
pub trait CollectIn: Iterator + Sized {
    /// All that this iterator yields, in an arena.
    ///
    /// # Panics
    /// If the arena has no memory.
    #[inline]
    fn collect_in<C: FromIteratorIn<Self::Item>>(self, alloc: C::Alloc) -> C {
        C::from_iter_in(self, alloc)
    }
}

impl<I: Iterator> CollectIn for I {}

impl<'bump, T> FromIteratorIn<T> for Vec<'bump, T> {
    type Alloc = &'bump Bump;

    #[inline]
    fn from_iter_in<I: IntoIterator<Item = T>>(iter: I, alloc: &'bump Bump) -> Self {
        Vec::from_iter_in(iter, alloc)
    }
}

#[cfg(feature = "boxed")]
impl<'bump, T> FromIteratorIn<T> for Box<'bump, [T]> {
    type Alloc = &'bump Bump;

    #[inline]
    fn from_iter_in<I: IntoIterator<Item = T>>(iter: I, alloc: &'bump Bump) -> Self {
        Box::from_iter_in(iter, alloc)
    }
}

impl<'bump> FromIteratorIn<char> for String<'bump> {
    type Alloc = &'bump Bump;

    #[inline]
    fn from_iter_in<I: IntoIterator<Item = char>>(iter: I, alloc: &'bump Bump) -> Self {
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
