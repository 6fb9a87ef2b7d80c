//! Pages of the system. Sizes are rounded up to the system's page, so that callers need not know it. The nine system
//! calls are declared here, which saves a dependency.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::ptr::NonNull;

/// The size of huge pages on x86-64 and aarch64.
pub const HUGE_PAGE: usize = 2 << 20;

#[cfg(all(
    any(
        target_os = "linux",
        target_os = "android",
        target_vendor = "apple",
        target_os = "freebsd",
        target_os = "dragonfly",
        target_os = "openbsd",
        target_os = "netbsd"
    ),
    not(miri)
))]
mod system {
    use super::*;
    use core::ffi::{c_int, c_long, c_void};

    /// Part of a mapping can be unmapped.
    pub const SPLITS: bool = true;

    unsafe extern "C" {
        #[cfg_attr(
            all(target_os = "linux", target_pointer_width = "32", not(target_env = "musl")),
            link_name = "mmap64"
        )]
        fn mmap(at: *mut c_void, size: usize, protection: c_int, flags: c_int, file: c_int, offset: i64)
            -> *mut c_void;
        fn munmap(at: *mut c_void, size: usize) -> c_int;
        fn mprotect(at: *mut c_void, size: usize, protection: c_int) -> c_int;
        fn madvise(at: *mut c_void, size: usize, advice: c_int) -> c_int;
        fn sysconf(name: c_int) -> c_long;
    }

    const LINUX: bool = cfg!(any(target_os = "linux", target_os = "android"));
    const READ_WRITE: c_int = 1 | 2;
    const PRIVATE: c_int = 2;
    const ANONYMOUS: c_int = if !LINUX {
        0x1000 // the BSDs and macOS
    } else if cfg!(any(target_arch = "mips", target_arch = "mips64")) {
        0x800
    } else {
        0x20
    };
    const NORESERVE: c_int = if LINUX && !cfg!(any(target_arch = "mips", target_arch = "mips64")) { 0x4000 } else { 0 };
    const PAGE_SIZE: c_int = if LINUX {
        30
    } else if cfg!(any(target_os = "openbsd", target_os = "netbsd")) {
        28
    } else if cfg!(target_vendor = "apple") {
        29
    } else {
        47
    };
    const DONTNEED: c_int = 4;
    const FIXED: c_int = 0x10;
    pub const HUGE_PAGES: c_int = 14;
    pub const SMALL_PAGES: c_int = 15;
    pub const POPULATE: c_int = 23; // makes pages present; refused before Linux 5.14

    fn page(size: usize) -> usize {
        // SAFETY: the call has no pointer arguments.
        let page = usize::try_from(unsafe { sysconf(PAGE_SIZE) }).unwrap_or(4096).max(4096);
        (size + page - 1) & !(page - 1)
    }

    fn map_as(size: usize, protection: c_int, flags: c_int) -> Option<NonNull<u8>> {
        // SAFETY: a new mapping, at an address of the system's choice.
        let p = unsafe { mmap(core::ptr::null_mut(), size, protection, PRIVATE | ANONYMOUS | flags, -1, 0) };
        if p.addr() == usize::MAX {
            None
        } else {
            NonNull::new(p.cast())
        }
    }

    pub fn map(size: usize, huge: bool) -> Option<NonNull<u8>> {
        let whole = page(size);
        if !LINUX || !huge || whole < HUGE_PAGE {
            return map_as(whole, READ_WRITE, 0);
        }
        // Huge pages need a mapping aligned to their size. One below another is; else map one more, and unmap both ends.
        let mut p = map_as(whole, READ_WRITE, 0)?;
        // SAFETY: new mappings, which are not used yet.
        unsafe {
            if p.addr().get() % HUGE_PAGE != 0 {
                munmap(p.as_ptr().cast(), whole);
                p = map_as(whole + HUGE_PAGE, READ_WRITE, 0)?;
                let front = p.addr().get().wrapping_neg() & (HUGE_PAGE - 1);
                if front != 0 {
                    munmap(p.as_ptr().cast(), front);
                }
                p = p.add(front);
                if front != HUGE_PAGE {
                    munmap(p.add(whole).as_ptr().cast(), HUGE_PAGE - front);
                }
            }
            advise(p, whole, HUGE_PAGES); // may fail: small pages serve as well
        }
        Some(p)
    }

    /// Whether the system takes the advice.
    ///
    /// # Safety
    /// Whole pages of a mapping of [`map`].
    pub unsafe fn advise(p: NonNull<u8>, size: usize, advice: c_int) -> bool {
        // SAFETY: the caller's contract; the advice leaves the content.
        unsafe { madvise(p.as_ptr().cast(), size, advice) == 0 }
    }

    pub unsafe fn unmap(p: NonNull<u8>, size: usize) {
        // SAFETY: the caller's contract.
        unsafe { munmap(p.as_ptr().cast(), page(size)) };
    }

    /// The system may take the pages, whose content is lost, before it runs out of memory.
    ///
    /// # Safety
    /// Whole pages of a mapping of [`map`], whose content is not used any more.
    pub unsafe fn free_lazily(p: NonNull<u8>, size: usize) {
        // SAFETY: the caller's contract. It may fail: then the pages stay.
        unsafe { madvise(p.as_ptr().cast(), size, if LINUX { 8 } else { 5 }) };
    }

    pub fn reserve(size: usize) -> Option<NonNull<u8>> {
        map_as(page(size), 0, NORESERVE)
    }

    pub unsafe fn commit(p: NonNull<u8>, size: usize) -> bool {
        // SAFETY: the caller's contract.
        unsafe { mprotect(p.as_ptr().cast(), page(size), READ_WRITE) == 0 }
    }

    /// Returns pages, also locked ones, by a new mapping in their place: pages that were written stay committed if they are made
    /// inaccessible only, which counts where the system does not overcommit.
    pub unsafe fn decommit(p: NonNull<u8>, size: usize) {
        let (p, size) = (p.as_ptr().cast(), page(size));
        // SAFETY: the caller's contract: the memory is not used.
        unsafe {
            if mmap(p, size, 0, PRIVATE | ANONYMOUS | NORESERVE | FIXED, -1, 0).addr() == usize::MAX {
                madvise(p, size, DONTNEED);
                mprotect(p, size, 0);
            }
        }
    }

    pub fn page_size() -> usize {
        page(1)
    }

    #[cfg(all(test, target_os = "linux"))]
    mod tests {
        use super::*;

        /// Whether the system accounts the mapping at `p`.
        fn is_accounted(p: NonNull<u8>) -> bool {
            let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
            let start = std::format!("\n{:x}-", p.addr());
            maps.split_once(&start)
                .and_then(|(_, rest)| rest.split_once("VmFlags:"))
                .is_some_and(|(_, flags)| flags.lines().next().unwrap().contains(" ac"))
        }

        #[test]
        fn returned_pages_are_not_accounted() {
            const SIZE: usize = 1 << 20;
            let p = map_as(SIZE, 0, 0).unwrap();
            // SAFETY: within the new mapping.
            unsafe {
                assert!(commit(p, SIZE));
                p.write(1);
                let shown = is_accounted(p);
                decommit(p, SIZE);
                assert!(shown && !is_accounted(p));
                assert!(commit(p, SIZE) && p.read() == 0);
                unmap(p, SIZE);
            }
        }
    }
}

#[cfg(all(windows, not(miri)))]
mod system {
    use super::*;
    use core::ffi::c_void;

    pub const SPLITS: bool = false;

    #[link(name = "kernel32")]
    extern "system" {
        fn VirtualAlloc(at: *mut c_void, size: usize, kind: u32, protection: u32) -> *mut c_void;
        fn VirtualFree(at: *mut c_void, size: usize, kind: u32) -> i32;
    }

    const COMMIT: u32 = 0x1000;
    const RESERVE: u32 = 0x2000;
    const DECOMMIT: u32 = 0x4000;
    const RELEASE: u32 = 0x8000;
    const NO_ACCESS: u32 = 1;
    const READ_WRITE: u32 = 4;

    pub fn map(size: usize, _huge: bool) -> Option<NonNull<u8>> {
        // SAFETY: a new mapping. Large pages would need a privilege.
        NonNull::new(unsafe { VirtualAlloc(core::ptr::null_mut(), size, RESERVE | COMMIT, READ_WRITE) }.cast())
    }

    pub unsafe fn unmap(p: NonNull<u8>, _size: usize) {
        // SAFETY: the caller's contract.
        unsafe { VirtualFree(p.as_ptr().cast(), 0, RELEASE) };
    }

    /// Not supported here.
    ///
    /// # Safety
    /// None is needed.
    pub unsafe fn free_lazily(_p: NonNull<u8>, _size: usize) {}

    pub fn reserve(size: usize) -> Option<NonNull<u8>> {
        // SAFETY: a new mapping.
        NonNull::new(unsafe { VirtualAlloc(core::ptr::null_mut(), size, RESERVE, NO_ACCESS) }.cast())
    }

    pub unsafe fn commit(p: NonNull<u8>, size: usize) -> bool {
        // SAFETY: the caller's contract.
        unsafe { !VirtualAlloc(p.as_ptr().cast(), size, COMMIT, READ_WRITE).is_null() }
    }

    pub unsafe fn decommit(p: NonNull<u8>, size: usize) {
        // SAFETY: the caller's contract.
        unsafe { VirtualFree(p.as_ptr().cast(), size, DECOMMIT) };
    }

    pub fn page_size() -> usize {
        64 << 10 // the granularity of allocation
    }
}

// Under Miri and on other systems the global allocator provides pages, all committed at once.
#[cfg(any(
    not(any(
        target_os = "linux",
        target_os = "android",
        target_vendor = "apple",
        target_os = "freebsd",
        target_os = "dragonfly",
        target_os = "openbsd",
        target_os = "netbsd",
        windows
    )),
    miri
))]
mod system {
    use super::*;
    use core::alloc::Layout;

    pub const SPLITS: bool = false;

    pub fn map(size: usize, _huge: bool) -> Option<NonNull<u8>> {
        let layout = Layout::from_size_align(size, 4096).ok()?;
        // SAFETY: the size is not 0.
        NonNull::new(unsafe { alloc::alloc::alloc_zeroed(layout) })
    }

    pub unsafe fn unmap(p: NonNull<u8>, size: usize) {
        // SAFETY: the caller's contract: it came from `map` with that size.
        unsafe { alloc::alloc::dealloc(p.as_ptr(), Layout::from_size_align_unchecked(size, 4096)) }
    }

    /// Not supported here.
    ///
    /// # Safety
    /// None is needed.
    pub unsafe fn free_lazily(_p: NonNull<u8>, _size: usize) {}

    pub fn reserve(size: usize) -> Option<NonNull<u8>> {
        map(size, false)
    }

    pub unsafe fn commit(_p: NonNull<u8>, _size: usize) -> bool {
        true
    }

    pub unsafe fn decommit(_p: NonNull<u8>, _size: usize) {}

    pub fn page_size() -> usize {
        4096
    }
}

pub use system::*;
