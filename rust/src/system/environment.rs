//! Variables of the environment, which privileged processes ignore.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::ffi::OsString;

/// A variable of the environment; none in privileged processes: those with more rights than the user who started them
/// (set-user-id, set-group-id, and files with capabilities).
pub(crate) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|_| !is_privileged())
}

/// The number in `text`, which `K`, `M` or `G` may follow, at most `usize::MAX / 2`. `None`: there is no number.
pub(crate) fn bytes_of(text: &str) -> Option<usize> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    if digits == 0 {
        return None;
    }
    let shift = match text.as_bytes().get(digits).map(u8::to_ascii_uppercase) {
        Some(b'K') => 10,
        Some(b'M') => 20,
        Some(b'G') => 30,
        _ => 0,
    };
    let most = usize::MAX / 2;
    Some(text[..digits].parse::<usize>().ok().and_then(|n| n.checked_mul(1 << shift)).unwrap_or(most).min(most))
}

#[cfg(any(not(unix), miri))]
fn is_privileged() -> bool {
    false
}

#[cfg(all(unix, not(miri)))]
fn is_privileged() -> bool {
    unsafe extern "C" {
        fn getuid() -> u32;
        fn geteuid() -> u32;
        fn getgid() -> u32;
        fn getegid() -> u32;
    }
    // SAFETY: they have no arguments and cannot fail.
    is_secure() || unsafe { getuid() != geteuid() || getgid() != getegid() }
}

/// Whether the system itself says so.
#[cfg(all(unix, not(miri)))]
fn is_secure() -> bool {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        use core::ffi::c_ulong;
        unsafe extern "C" {
            fn getauxval(kind: c_ulong) -> c_ulong;
        }
        const AT_SECURE: c_ulong = 23;
        // SAFETY: it returns 0 for unknown values.
        return unsafe { getauxval(AT_SECURE) != 0 };
    }
    #[cfg(any(
        target_vendor = "apple",
        target_os = "freebsd",
        target_os = "dragonfly",
        target_os = "openbsd",
        target_os = "netbsd"
    ))]
    {
        unsafe extern "C" {
            fn issetugid() -> core::ffi::c_int;
        }
        // SAFETY: it has no arguments and cannot fail.
        return unsafe { issetugid() != 0 };
    }
    #[allow(unreachable_code)] // on other systems
    false
}
