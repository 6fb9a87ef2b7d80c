//! Processor time and page faults of processes.
// SPDX-License-Identifier: MIT OR Apache-2.0

/// What processes have used.
#[derive(Clone, Copy, Default)]
pub struct Used {
    pub cpu: f64,
    /// The part of it in the system.
    pub system: f64,
    pub faults: f64,
}

/// Of all processes that were waited for.
pub fn children() -> Used {
    // SAFETY: all bytes 0 are a valid value, and the address is valid.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage);
        usage
    };
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    let (user, system) = (seconds(usage.ru_utime), seconds(usage.ru_stime));
    Used { cpu: user + system, system, faults: usage.ru_minflt as f64 }
}
