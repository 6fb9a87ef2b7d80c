//! The runtimes of sanitizers, where they are in the process: AddressSanitizer, MemorySanitizer, LeakSanitizer.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::ptr::NonNull;

/// The address of a function by a weak reference, which is 0 where no runtime is linked: stable Rust has no other way to
/// make one. Toolchains link the runtimes statically and do not export their symbols, so `dlsym` does not find them.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
macro_rules! address_of {
    ($name:literal) => {{
        let address: usize;
        // SAFETY: it reads an entry of the global offset table.
        unsafe {
            #[cfg(target_arch = "x86_64")]
            core::arch::asm!(
                concat!(".weak ", $name),
                concat!("mov {}, qword ptr [rip + ", $name, "@GOTPCREL]"),
                out(reg) address,
                options(nostack, preserves_flags, readonly)
            );
            #[cfg(target_arch = "aarch64")]
            core::arch::asm!(
                concat!(".weak ", $name),
                concat!("adrp {0}, :got:", $name),
                concat!("ldr {0}, [{0}, :got_lo12:", $name, "]"),
                out(reg) address,
                options(nostack, preserves_flags, readonly)
            );
        }
        address
    }};
}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
macro_rules! address_of {
    ($name:literal) => {
        0usize
    };
}

/// Whether the runtime of AddressSanitizer or MemorySanitizer is in the process.
#[cfg(feature = "diagnostics")]
pub(crate) fn has_runtime() -> bool {
    address_of!("__asan_init") != 0 || address_of!("__msan_init") != 0
}

/// Calls a function of LeakSanitizer, by its address.
fn call(function: usize, p: NonNull<u8>, size: usize) {
    if function != 0 {
        let function = core::ptr::with_exposed_provenance::<()>(function);
        // SAFETY: the address of a function of this type, which reads no memory.
        unsafe { core::mem::transmute::<*const (), extern "C" fn(*const u8, usize)>(function)(p.as_ptr(), size) }
    }
}

/// LeakSanitizer looks for pointers in the global allocator's memory, and in mapped memory between this call and
/// [`scan_end`], as far as it is accessible then.
pub(crate) fn scan_begin(p: NonNull<u8>, size: usize) -> NonNull<u8> {
    call(address_of!("__lsan_register_root_region"), p, size);
    p
}

/// With the arguments of [`scan_begin`]: the runtime ends the process if they differ.
pub(crate) fn scan_end(p: NonNull<u8>, size: usize) {
    call(address_of!("__lsan_unregister_root_region"), p, size);
}
