//! What the standard library's `Vec` does as a slice.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::borrow::{Borrow, BorrowMut};
use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::ops::{Deref, DerefMut, Index, IndexMut};
use core::slice::SliceIndex;

use super::Vec;
use crate::boxed::Box;

impl<T> Deref for Vec<'_, T> {
    type Target = [T];
    #[inline(always)]
    #[track_caller]
    fn deref(&self) -> &[T] {
        self.as_slice()
    }
}

impl<T> DerefMut for Vec<'_, T> {
    #[inline(always)]
    #[track_caller]
    fn deref_mut(&mut self) -> &mut [T] {
        self.as_mut_slice()
    }
}

impl<T, I: SliceIndex<[T]>> Index<I> for Vec<'_, T> {
    type Output = I::Output;
    #[inline(always)]
    #[track_caller]
    fn index(&self, index: I) -> &I::Output {
        &self.as_slice()[index]
    }
}

impl<T, I: SliceIndex<[T]>> IndexMut<I> for Vec<'_, T> {
    #[inline(always)]
    #[track_caller]
    fn index_mut(&mut self, index: I) -> &mut I::Output {
        &mut self.as_mut_slice()[index]
    }
}

/// In the same arena.
impl<'bump, T: 'bump + Clone> Clone for Vec<'bump, T> {
    #[track_caller]
    fn clone(&self) -> Self {
        let mut vec = Vec::with_capacity_in(self.len(), self.bump());
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

impl<T: Hash> Hash for Vec<'_, T> {
    #[inline]
    #[track_caller]
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_slice().hash(state)
    }
}

impl<T: fmt::Debug> fmt::Debug for Vec<'_, T> {
    #[track_caller]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(f)
    }
}

macro_rules! equal {
    ($other:ty $(, $n:ident)?) => {
        impl<'a, 'b, A: PartialEq<B>, B $(, const $n: usize)?> PartialEq<$other> for Vec<'a, A> {
            #[inline]
            fn eq(&self, other: &$other) -> bool {
                self[..] == other[..]
            }
        }
    };
}

equal!(Vec<'b, B>);
equal!(&'b [B]);
equal!(&'b mut [B]);
equal!([B; N], N);
equal!(&'b [B; N], N);
equal!(&'b mut [B; N], N);

impl<T: Eq> Eq for Vec<'_, T> {}

impl<T: PartialOrd> PartialOrd for Vec<'_, T> {
    #[inline]
    #[track_caller]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.as_slice().partial_cmp(other)
    }
}

impl<T: Ord> Ord for Vec<'_, T> {
    #[inline]
    #[track_caller]
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_slice().cmp(other)
    }
}

impl<'bump, T> AsRef<Vec<'bump, T>> for Vec<'bump, T> {
    #[track_caller]
    fn as_ref(&self) -> &Vec<'bump, T> {
        self
    }
}

impl<'bump, T> AsMut<Vec<'bump, T>> for Vec<'bump, T> {
    #[track_caller]
    fn as_mut(&mut self) -> &mut Vec<'bump, T> {
        self
    }
}

impl<T> AsRef<[T]> for Vec<'_, T> {
    #[track_caller]
    fn as_ref(&self) -> &[T] {
        self
    }
}

impl<T> AsMut<[T]> for Vec<'_, T> {
    #[track_caller]
    fn as_mut(&mut self) -> &mut [T] {
        self
    }
}

impl<T> Borrow<[T]> for Vec<'_, T> {
    #[track_caller]
    fn borrow(&self) -> &[T] {
        self
    }
}

impl<T> BorrowMut<[T]> for Vec<'_, T> {
    #[track_caller]
    fn borrow_mut(&mut self) -> &mut [T] {
        self
    }
}

impl<'bump, T> From<Vec<'bump, T>> for Box<'bump, [T]> {
    #[track_caller]
    fn from(vec: Vec<'bump, T>) -> Self {
        vec.into_boxed_slice()
    }
}

/// Writes at the end. Errs only where the arena has no memory.
#[cfg(feature = "std")]
impl std::io::Write for Vec<'_, u8> {
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
    #[track_caller]
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
