//! Traits of the standard library's `Vec`.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use core::cmp::Ordering;
use core::ops::{Deref, DerefMut, Index, IndexMut};
use core::slice::SliceIndex;

use super::Vec;
use crate::memory::boxed::{traits_of_target, Box};
use crate::memory::by_layout::Memory;

impl<T, A: Memory> Deref for Vec<'_, T, A> {
    type Target = [T];
    #[inline(always)]
    fn deref(&self) -> &[T] {
        self.as_slice()
    }
}

impl<T, A: Memory> DerefMut for Vec<'_, T, A> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        self.as_mut_slice()
    }
}

impl<T, I: SliceIndex<[T]>, A: Memory> Index<I> for Vec<'_, T, A> {
    type Output = I::Output;
    #[inline(always)]
    #[track_caller]
    fn index(&self, index: I) -> &I::Output {
        &self.as_slice()[index]
    }
}

impl<T, I: SliceIndex<[T]>, A: Memory> IndexMut<I> for Vec<'_, T, A> {
    #[inline(always)]
    #[track_caller]
    fn index_mut(&mut self, index: I) -> &mut I::Output {
        &mut self.as_mut_slice()[index]
    }
}

/// In the same arena.
impl<'m, T: 'm + Clone, A: Memory> Clone for Vec<'m, T, A> {
    #[track_caller]
    fn clone(&self) -> Self {
        let mut vec = Vec::with_capacity_in(self.len(), self.arena());
        vec.extend_from_slice(self);
        vec
    }

    #[track_caller]
    fn clone_from(&mut self, other: &Self) {
        self.truncate(other.len());
        let (same, rest) = other.split_at(self.len());
        self.clone_from_slice(same);
        self.extend_from_slice(rest);
    }
}

traits_of_target!([T, A: Memory] Vec<'_, T, A>, [T]);

macro_rules! equal {
    ($other:ty $(, $n:ident)?) => {
        impl<'b, T: PartialEq<B>, B, A: Memory $(, const $n: usize)?> PartialEq<$other> for Vec<'_, T, A> {
            #[inline]
            fn eq(&self, other: &$other) -> bool {
                self[..] == other[..]
            }
        }
    };
}

equal!(Vec<'b, B, A>);
equal!(&'b [B]);
equal!(&'b mut [B]);
equal!([B; N], N);
equal!(&'b [B; N], N);
equal!(&'b mut [B; N], N);

impl<T: Eq, A: Memory> Eq for Vec<'_, T, A> {}

impl<T: PartialOrd, A: Memory> PartialOrd for Vec<'_, T, A> {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.as_slice().partial_cmp(other)
    }
}

impl<T: Ord, A: Memory> Ord for Vec<'_, T, A> {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_slice().cmp(other)
    }
}

impl<'m, T, A: Memory> AsRef<Vec<'m, T, A>> for Vec<'m, T, A> {
    fn as_ref(&self) -> &Vec<'m, T, A> {
        self
    }
}

impl<'m, T, A: Memory> AsMut<Vec<'m, T, A>> for Vec<'m, T, A> {
    fn as_mut(&mut self) -> &mut Vec<'m, T, A> {
        self
    }
}

impl<'m, T, A: Memory> From<Vec<'m, T, A>> for Box<'m, [T]> {
    #[track_caller]
    fn from(vec: Vec<'m, T, A>) -> Self {
        vec.into_boxed_slice()
    }
}

/// Appends. Fails only if the arena has no memory.
#[cfg(feature = "std")]
impl<A: Memory> std::io::Write for Vec<'_, u8, A> {
    #[inline]
    #[track_caller]
    fn write(&mut self, buf: &[u8]) -> std::io::Result<usize> {
        self.write_all(buf)?;
        Ok(buf.len())
    }

    #[inline]
    #[track_caller]
    fn write_all(&mut self, buf: &[u8]) -> std::io::Result<()> {
        self.try_reserve(buf.len()).map_err(|_| std::io::ErrorKind::OutOfMemory)?;
        self.extend_from_slice_copy(buf);
        Ok(())
    }

    #[inline]
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
