//! The environment variables of checks: whether all arenas are checked, and where findings are written. Read once, on first use.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::sync::atomic::{AtomicU8, Ordering};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::OnceLock;

use crate::environment::variable;
use crate::finding::Finding;

struct Settings {
    checks: bool,
    /// Abort after the first finding.
    aborts: bool,
    output: Output,
}

#[derive(PartialEq, Eq, Debug)]
enum Output {
    None,
    Stdout,
    Stderr,
    File(PathBuf),
}

static SETTINGS: OnceLock<Settings> = OnceLock::new();

/// [`Settings::checks`] as one atomic byte: creating an arena reads it.
static SWITCH: AtomicU8 = AtomicU8::new(UNREAD);
const UNREAD: u8 = 0;
const OFF: u8 = 1;
const ON: u8 = 2;

/// Whether every arena and recycler that is created is checked.
#[inline]
pub(crate) fn checks() -> bool {
    match SWITCH.load(Ordering::Relaxed) {
        UNREAD => read(),
        known => known == ON,
    }
}

#[cold]
fn read() -> bool {
    let on = settings().checks;
    SWITCH.store(if on { ON } else { OFF }, Ordering::Relaxed);
    on
}

fn settings() -> &'static Settings {
    SETTINGS.get_or_init(|| Settings::of(variable("TOFT_CHECKED"), variable("TOFT_FINDINGS")))
}

/// Whether the environment selects an output or an abort.
pub(crate) fn has_output() -> bool {
    settings().output != Output::None || settings().aborts
}

/// Appends a line to the output. Write errors are ignored.
pub(crate) fn write(finding: &Finding) {
    let output = &settings().output;
    if *output == Output::None {
        return;
    }
    let line = std::format!("toft: {finding}\n"); // one write: lines of several threads do not mix
    let line = line.as_bytes();
    let _ = match output {
        Output::None => Ok(()),
        Output::Stdout => standard(1, line),
        Output::Stderr => standard(2, line),
        Output::File(path) => open(path).and_then(|mut file| file.write_all(line)),
    };
}

/// Aborts, after a delivery, if `TOFT_CHECKED` is `abort`.
pub(crate) fn abort_if_wanted() {
    if settings().aborts {
        std::process::abort();
    }
}

impl Settings {
    fn of(checked: Option<OsString>, findings: Option<OsString>) -> Settings {
        let checked = checked.unwrap_or_default();
        let is = |word: &str| checked.eq_ignore_ascii_case(word);
        let checks = !["", "0", "off", "no", "false"].into_iter().any(is);
        let output = match findings.as_deref().and_then(OsStr::to_str) {
            Some("stdout" | "/dev/stdout") => Output::Stdout,
            Some("stderr" | "/dev/stderr") => Output::Stderr,
            None | Some("") if findings.as_ref().is_none_or(|path| path.is_empty()) => match checks {
                true => Output::Stderr,
                false => Output::None,
            },
            _ => Output::File(findings.unwrap_or_default().into()),
        };
        Settings { checks, aborts: is("abort"), output }
    }
}

/// Uses the descriptor itself: this thread may hold the locks of the standard library's handles.
#[cfg(unix)]
fn standard(descriptor: core::ffi::c_int, line: &[u8]) -> std::io::Result<()> {
    use std::os::fd::FromRawFd;
    // SAFETY: it is not closed here. If it is not open, writing fails.
    let mut file = core::mem::ManuallyDrop::new(unsafe { File::from_raw_fd(descriptor) });
    file.write_all(line)
}

#[cfg(not(unix))]
fn standard(descriptor: core::ffi::c_int, line: &[u8]) -> std::io::Result<()> {
    match descriptor {
        1 => std::io::stdout().write_all(line),
        _ => std::io::stderr().write_all(line),
    }
}

/// Opens the file for each finding, since it may be rotated. Symbolic links are refused, so that another user who can
/// write to the folder cannot select the file.
fn open(path: &std::path::Path) -> std::io::Result<File> {
    let mut options = std::fs::OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600).custom_flags(flags::NOFOLLOW | flags::NOCTTY);
    }
    if flags::NOFOLLOW == 0 && path.is_symlink() {
        return Err(std::io::ErrorKind::Unsupported.into());
    }
    options.open(path)
}

/// `O_NOFOLLOW` and `O_NOCTTY` of `fcntl.h`; 0 if unknown.
mod flags {
    use core::ffi::c_int;

    const LINUX: bool = cfg!(all(any(target_os = "linux", target_os = "android"), not(miri))); // Miri has neither
    const APPLE: bool = cfg!(target_vendor = "apple");
    const BSD: bool =
        cfg!(any(target_os = "freebsd", target_os = "dragonfly", target_os = "openbsd", target_os = "netbsd"));
    const MIPS: bool =
        cfg!(any(target_arch = "mips", target_arch = "mips64", target_arch = "mips32r6", target_arch = "mips64r6"));
    const SPARC: bool = cfg!(any(target_arch = "sparc", target_arch = "sparc64"));

    pub const NOFOLLOW: c_int = if LINUX {
        let old = cfg!(any(
            target_arch = "arm",
            target_arch = "aarch64",
            target_arch = "powerpc",
            target_arch = "powerpc64",
            target_arch = "m68k"
        ));
        if old {
            0o100_000
        } else {
            0o400_000
        }
    } else if APPLE || BSD {
        0x100
    } else {
        0
    };

    #[cfg_attr(not(unix), allow(dead_code))]
    pub const NOCTTY: c_int = if LINUX {
        if MIPS {
            0x800
        } else if SPARC {
            0x8000
        } else {
            0o400
        }
    } else if APPLE {
        0x2_0000
    } else if BSD {
        0x8000
    } else {
        0
    };
}

#[cfg(test)]
#[path = "../tests/unit/process.rs"]
mod tests;
