//! A file that is part of the program.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::cell::UnsafeCell;
use std::fmt;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

use crate::format::FrozenError;
use crate::open::{check_types, count_pointers, move_pointers, read_header};
use crate::{Content, Freeze};

const ALIGN: usize = 4096;

/// A frozen file of `N` bytes in a `static`, which is opened where it lies: its references are moved once, in place, and the
/// pages without references stay those of the program's file.
///
/// ```
/// # macro_rules! include_bytes { ($_:literal) => {{
/// #     const EMPTY: &[u8; 0] = &[];
/// #     EMPTY
/// # }} }
/// use toft_frozen::FrozenStatic;
///
/// const FILE: &[u8] = include_bytes!("names.frozen");
/// static NAMES: FrozenStatic<{ FILE.len() }> = FrozenStatic::new(FILE);
/// # let is_refused =
/// NAMES.open::<&[&str]>("names 1")
/// # .is_err();
/// # assert!(is_refused);
/// ```
#[repr(C, align(4096))]
pub struct FrozenStatic<const N: usize> {
    bytes: UnsafeCell<[u8; N]>,
    /// Whether the references are those of the program.
    is_moved: Mutex<bool>,
}

// SAFETY: the bytes are written under the lock, once, before there is a reference into them.
unsafe impl<const N: usize> Sync for FrozenStatic<N> {}

impl<const N: usize> FrozenStatic<N> {
    /// A file with these bytes.
    ///
    /// # Panics
    /// There are not N, which is an error of compilation for a `static`.
    pub const fn new(bytes: &[u8]) -> FrozenStatic<N> {
        assert!(bytes.len() == N, "N is not the number of bytes");
        // SAFETY: the bytes are N.
        let bytes = UnsafeCell::new(unsafe { *bytes.as_ptr().cast::<[u8; N]>() });
        FrozenStatic { bytes, is_moved: Mutex::new(false) }
    }

    /// The value, checked as by [`Frozen::open_checked`](crate::Frozen::open_checked) but for the checksum. Each call
    /// checks it: the result may be kept. Any thread may call it.
    ///
    /// # Errors
    /// As for [`Frozen::open_checked`](crate::Frozen::open_checked); [`FrozenError::Argument`]: a type is aligned to more than
    /// 4 KiB.
    pub fn open<R: Freeze>(&'static self, layout: &str) -> Result<&'static R::At<'static>, FrozenError> {
        let start = NonNull::from(&self.bytes).cast::<u8>();
        let mut is_moved = self.is_moved.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the bytes are written below only, under the lock.
        let bytes = unsafe { std::slice::from_raw_parts(start.as_ptr(), N) };
        let header = read_header(&mut &*bytes, N as u64)?;
        check_types::<R>(&header, layout)?;
        if align_of::<R>() > ALIGN {
            return Err(FrozenError::Argument);
        }
        if !*is_moved {
            if count_pointers(bytes, &header) != Some(header.pointers) {
                return Err(FrozenError::Corrupt);
            }
            // SAFETY: nothing refers to the bytes yet.
            unsafe { move_pointers(start, N, &header) };
            *is_moved = true;
        }
        drop(is_moved);
        // SAFETY: the content lies in the bytes, which are not written any more.
        let bytes = unsafe { std::slice::from_raw_parts(start.as_ptr(), header.size as usize) };
        Content::check::<R>(bytes, header.root as usize)?;
        // SAFETY: the check found a value of R at the root, which lies in the bytes.
        Ok(unsafe { start.add(header.root as usize).cast().as_ref() })
    }
}

impl<const N: usize> fmt::Debug for FrozenStatic<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrozenStatic").field("bytes", &N).finish_non_exhaustive()
    }
}
