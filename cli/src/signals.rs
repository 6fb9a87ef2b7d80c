//! The signals that this process does not ignore.
// SPDX-License-Identifier: MIT OR Apache-2.0

/// A write beyond `ulimit -f` is an error, and not the end of this process. Programs that it starts do not have the handler.
pub fn survive_file_size() {
    extern "C" fn nothing(_: libc::c_int) {}
    for number in not_ignored(&[libc::SIGXFSZ]) {
        // SAFETY: the handler does nothing.
        unsafe { libc::signal(number, nothing as *const () as usize) };
    }
}

/// Those of `numbers` whose disposition is another than to ignore them, as `nohup` sets it.
pub fn not_ignored(numbers: &[libc::c_int]) -> Vec<libc::c_int> {
    let is_ignored = |number| {
        // SAFETY: all bytes 0 are a valid value, and the address is valid.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            libc::sigaction(number, std::ptr::null(), &mut action) != 0 || action.sa_sigaction == libc::SIG_IGN
        }
    };
    numbers.iter().copied().filter(|&number| !is_ignored(number)).collect()
}

/// The number of the signal that an option names: USR1, USR2, or a number.
pub fn number(name: &str) -> Result<i32, String> {
    match name.strip_prefix("SIG").unwrap_or(name) {
        "USR1" => Ok(libc::SIGUSR1),
        "USR2" => Ok(libc::SIGUSR2),
        number => number
            .parse()
            .ok()
            .filter(|n| (1..=64).contains(n))
            .ok_or_else(|| "not a signal that may be used: USR1, USR2 or a number".into()),
    }
}
