//! The memory of an open file: a mapping at its address, or a block.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::alloc::{alloc_zeroed, dealloc, Layout};
use std::fs::File;
use std::io::Read;
use std::ptr::NonNull;

use crate::format::FrozenError;

/// Owns the bytes of a whole file.
pub struct Memory {
    start: NonNull<u8>,
    length: usize,
    kind: Kind,
}

enum Kind {
    /// A mapping of the file.
    File,
    /// A mapping of memory.
    Pages,
    Block(Layout),
}

/// Files of this size are read to pages of their own, which the system may make large ones.
const PAGES: usize = 2 << 20;

impl Memory {
    /// Maps a file at an address, read-only. None: the address is not free, or the system does not offer it.
    pub fn map(file: &File, length: usize, address: usize) -> Option<Memory> {
        let start = system::map(file, length, address)?;
        Some(Memory { start, length, kind: Kind::File })
    }

    /// Reads `length` bytes, which are not 0, into memory of this alignment.
    pub fn load(mut file: impl Read, length: usize, align: usize) -> Result<Memory, FrozenError> {
        let layout = Layout::from_size_align(length, align).map_err(|_| FrozenError::Memory)?;
        let pages = if length < PAGES || align > 4096 { None } else { system::map_pages(length) };
        // SAFETY: the length is not 0, by the precondition.
        let start = pages.or_else(|| NonNull::new(unsafe { alloc_zeroed(layout) })).ok_or(FrozenError::Memory)?;
        let memory = Memory { start, length, kind: if pages.is_some() { Kind::Pages } else { Kind::Block(layout) } };
        // SAFETY: the memory has `length` bytes, which are initialized.
        file.read_exact(unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), length) })?;
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
        matches!(self.kind, Kind::File)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        match self.kind {
            Kind::File | Kind::Pages => system::unmap(self.start, self.length),
            // SAFETY: `load` allocated it with this layout.
            Kind::Block(layout) => unsafe { dealloc(self.start.as_ptr(), layout) },
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
        #[cfg(any(target_os = "linux", target_os = "android"))]
        fn madvise(at: *mut c_void, size: usize, advice: c_int) -> c_int;
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

    /// Zeroed memory. None: the system refuses it, or these flags are not known.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub fn map_pages(length: usize) -> Option<NonNull<u8>> {
        const WRITE: c_int = 2;
        const ANONYMOUS: c_int = if cfg!(any(target_arch = "mips", target_arch = "mips64")) { 0x800 } else { 0x20 };
        const HUGE: c_int = 14;
        // SAFETY: a new mapping, where the system chooses.
        let p = unsafe { mmap(std::ptr::null_mut(), length, READ | WRITE, PRIVATE | ANONYMOUS, -1, 0) };
        let start = NonNull::new(p.cast::<u8>()).filter(|_| p.addr() != usize::MAX)?;
        // SAFETY: of the mapping above. A refusal changes nothing.
        unsafe { madvise(p, length, HUGE) };
        Some(start)
    }

    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    pub fn map_pages(_: usize) -> Option<NonNull<u8>> {
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

    pub fn map_pages(_: usize) -> Option<NonNull<u8>> {
        None
    }

    pub fn unmap(_: NonNull<u8>, _: usize) {}
}
