//! Whether the runtime of AddressSanitizer or MemorySanitizer is in the process.
// SPDX-License-Identifier: MIT OR Apache-2.0

/// Weak references, which are null where no runtime is linked: stable Rust has no other way to make them. Toolchains link
/// the runtimes statically and do not export their symbols, so `dlsym` does not find them.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
pub(crate) fn has_runtime() -> bool {
    let (asan, msan): (usize, usize);
    // SAFETY: it reads two entries of the global offset table.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        core::arch::asm!(
            ".weak __asan_init",
            ".weak __msan_init",
            "mov {asan}, qword ptr [rip + __asan_init@GOTPCREL]",
            "mov {msan}, qword ptr [rip + __msan_init@GOTPCREL]",
            asan = out(reg) asan,
            msan = out(reg) msan,
            options(nostack, preserves_flags, readonly)
        );
        #[cfg(target_arch = "aarch64")]
        core::arch::asm!(
            ".weak __asan_init",
            ".weak __msan_init",
            "adrp {asan}, :got:__asan_init",
            "ldr {asan}, [{asan}, :got_lo12:__asan_init]",
            "adrp {msan}, :got:__msan_init",
            "ldr {msan}, [{msan}, :got_lo12:__msan_init]",
            asan = out(reg) asan,
            msan = out(reg) msan,
            options(nostack, preserves_flags, readonly)
        );
    }
    asan != 0 || msan != 0
}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
pub(crate) fn has_runtime() -> bool {
    false
}
