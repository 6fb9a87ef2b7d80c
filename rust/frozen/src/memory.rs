//! The memory of an open file: a mapping at its address, or a block.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::alloc::{alloc, dealloc, Layout};
use std::fs::File;
use std::io::Read;
use std::ptr::NonNull;

use crate::format::{alignment, FrozenError};

/// Owns the bytes of a whole file.
pub struct Memory {
    start: NonNull<u8>,
    length: usize,
    is_mapped: bool,
}

impl Memory {
    /// Maps a file at an address, read-only. None: the address is not free, or the system does not offer it.
    pub fn map(file: &File, length: usize, address: usize) -> Option<Memory> {
        let start = system::map(file, length, address)?;
        Some(Memory { start, length, is_mapped: true })
    }

    /// Reads `length` bytes into a block that is aligned for them.
    pub fn load(mut file: impl Read, length: usize) -> Result<Memory, FrozenError> {
        let layout = Layout::from_size_align(length, alignment(length)).map_err(|_| FrozenError::Memory)?;
        // SAFETY: the length is not 0: a file has a header.
        let start = NonNull::new(unsafe { alloc(layout) }).ok_or(FrozenError::Memory)?;
        let memory = Memory { start, length, is_mapped: false };
        // SAFETY: the block has `length` bytes, which are made initialised first.
        let bytes = unsafe {
            start.as_ptr().write_bytes(0, length);
            std::slice::from_raw_parts_mut(start.as_ptr(), length)
        };
        file.read_exact(bytes)?;
        Ok(memory)
    }

    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    pub fn bytes(&self) -> &[u8] {
        // SAFETY: it owns `length` bytes, which are written by `&mut self` only.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }

    pub fn is_mapped(&self) -> bool {
        self.is_mapped
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.is_mapped {
            system::unmap(self.start, self.length);
        } else if let Ok(layout) = Layout::from_size_align(self.length, alignment(self.length)) {
            // SAFETY: `load` allocated it with this layout.
            unsafe { dealloc(self.start.as_ptr(), layout) };
        }
    }
}

#[cfg(all(unix, not(miri)))]
mod system {
    use super::{File, NonNull};
    use std::ffi::{c_int, c_void};
    use std::os::fd::AsRawFd;

    unsafe extern "C" {
        #[cfg_attr(
            all(target_os = "linux", target_pointer_width = "32", not(target_env = "musl")),
            link_name = "mmap64"
        )]
        fn mmap(at: *mut c_void, size: usize, protection: c_int, flags: c_int, file: c_int, offset: i64)
            -> *mut c_void;
        fn munmap(at: *mut c_void, size: usize) -> c_int;
    }

    const READ: c_int = 1;
    const PRIVATE: c_int = 2;
    /// On Linux, not over another mapping; to other systems the address is a hint, which has no force either.
    const FIXED_NOREPLACE: c_int = if cfg!(any(target_os = "linux", target_os = "android")) { 0x10_0000 } else { 0 };

    pub fn map(file: &File, length: usize, address: usize) -> Option<NonNull<u8>> {
        let at = std::ptr::with_exposed_provenance_mut(address);
        // SAFETY: a new mapping, which replaces none.
        let p = unsafe { mmap(at, length, READ, PRIVATE | FIXED_NOREPLACE, file.as_raw_fd(), 0) };
        let start = NonNull::new(p.cast::<u8>()).filter(|_| p.addr() != usize::MAX)?;
        if p == at {
            return Some(start);
        }
        unmap(start, length);
        None
    }

    pub fn unmap(start: NonNull<u8>, length: usize) {
        // SAFETY: the mapping belongs to the caller, which uses it no more.
        unsafe { munmap(start.as_ptr().cast(), length) };
    }
}

#[cfg(any(not(unix), miri))]
mod system {
    use super::{File, NonNull};

    pub fn map(_: &File, _: usize, _: usize) -> Option<NonNull<u8>> {
        None
    }

    pub fn unmap(_: NonNull<u8>, _: usize) {}
}
