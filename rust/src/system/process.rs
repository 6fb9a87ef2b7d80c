//! What environment variables switch on for all arenas, and where findings are written. Read once, on first use.
// SPDX-License-Identifier: MIT OR Apache-2.0

use alloc::string::String;
use core::ffi::c_int;
use core::sync::atomic::{AtomicU8, Ordering};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::OnceLock;

use crate::base::finding::Finding;
use crate::system::environment::{bytes_of, variable};

pub(crate) struct Settings {
    pub checks: bool,
    /// The checks are on because of a sanitizer's runtime, and not by the environment.
    pub by_sanitizer: bool,
    /// Abort after the first finding.
    aborts: bool,
    output: Output,
    /// The file of JSON objects; empty: none.
    objects: PathBuf,
    pub metered: bool,
    /// Bytes between samples; 0: none.
    pub sampling: u64,
    /// The soft budget; 0: none.
    pub budget: u64,
    /// The path of the profile, in which `%p` and `%l` are replaced; empty: none.
    pub profile: String,
    /// The signal that requests it; 0: none.
    pub signal: c_int,
}

#[cfg_attr(test, derive(PartialEq, Eq, Debug))]
enum Output {
    None,
    Stdout,
    Stderr,
    File(PathBuf),
}

static SETTINGS: OnceLock<Settings> = OnceLock::new();

/// 1: the settings were read, and nothing is on. Creating an arena reads it.
static OFF: AtomicU8 = AtomicU8::new(0);

/// What is on for every arena; `None`: nothing.
#[inline]
pub(crate) fn switches() -> Option<&'static Settings> {
    if OFF.load(Ordering::Relaxed) == 1 {
        return None;
    }
    read()
}

#[cold]
#[inline(never)]
fn read() -> Option<&'static Settings> {
    let s = settings();
    let on = s.checks || s.metered || s.sampling != 0 || s.budget != 0 || !s.profile.is_empty();
    OFF.store(!on as u8, Ordering::Relaxed);
    on.then_some(s)
}

/// Whether every arena and recycler that is created is checked.
#[inline]
pub(crate) fn checks() -> bool {
    switches().is_some_and(|settings| settings.checks)
}

pub(crate) fn settings() -> &'static Settings {
    SETTINGS.get().unwrap_or_else(|| {
        // Read before `get_or_init`: a child that is forked during it has no thread that completes it.
        let read = Settings::of(variable);
        SETTINGS.get_or_init(|| read)
    })
}

/// Whether the environment selects an output or an abort.
pub(crate) fn has_output() -> bool {
    !matches!(settings().output, Output::None) || settings().aborts || !settings().objects.as_os_str().is_empty()
}

/// Appends a line to the outputs. Write errors are ignored. Each is one write: lines of several threads do not mix.
pub(crate) fn write(finding: &Finding) {
    let append = |path, line: String| open(path, true).and_then(|mut file| file.write_all(line.as_bytes()));
    let line = || std::format!("toft: {finding}\n");
    let Settings { output, objects, .. } = settings();
    let _ = match output {
        Output::None => Ok(()),
        Output::Stdout => standard(1, line().as_bytes()),
        Output::Stderr => standard(2, line().as_bytes()),
        Output::File(path) => append(path, line()),
    };
    if !objects.as_os_str().is_empty() {
        let _ = append(objects, finding.object() + "\n");
    }
}

/// Aborts, after a delivery, if `TOFT_CHECKED` is `abort`.
pub(crate) fn abort_if_wanted() {
    if settings().aborts {
        std::process::abort();
    }
}

impl Settings {
    fn of(variable: impl Fn(&str) -> Option<OsString>) -> Settings {
        let text = |name| variable(name).and_then(|value| value.into_string().ok()).unwrap_or_default();
        let is_on = |name| {
            let value = variable(name).unwrap_or_default();
            !matches!(value.to_ascii_lowercase().to_str(), Some("" | "0" | "off" | "no" | "false"))
        };
        let number = |name| bytes_of(&text(name)).unwrap_or(0);
        let by_sanitizer = variable("TOFT_CHECKED").is_none() && crate::system::sanitizers::has_runtime();
        let checks = by_sanitizer || is_on("TOFT_CHECKED");
        let objects = PathBuf::from(variable("TOFT_FINDINGS_JSON").unwrap_or_default());
        let (budget, findings) = (number("TOFT_BUDGET"), variable("TOFT_FINDINGS"));
        let output = match findings.as_deref().and_then(OsStr::to_str) {
            Some("stdout" | "/dev/stdout") => Output::Stdout,
            Some("stderr" | "/dev/stderr") => Output::Stderr,
            None | Some("") if findings.as_ref().is_none_or(|path| path.is_empty()) => {
                match (checks || budget != 0) && objects.as_os_str().is_empty() {
                    true => Output::Stderr,
                    false => Output::None,
                }
            }
            _ => Output::File(findings.unwrap_or_default().into()),
        };
        let signal = text("TOFT_PROFILE_SIGNAL");
        Settings {
            checks,
            by_sanitizer,
            aborts: text("TOFT_CHECKED").eq_ignore_ascii_case("abort"),
            output,
            objects,
            metered: is_on("TOFT_METERED"),
            sampling: number("TOFT_SAMPLING") as u64,
            budget: budget as u64,
            profile: text("TOFT_PROFILE"),
            signal: match signal.as_str() {
                "USR1" => USER_SIGNALS[0],
                "USR2" => USER_SIGNALS[1],
                _ => bytes_of(&signal).and_then(|number| number.try_into().ok()).unwrap_or(0),
            },
        }
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

/// Opens a file, at its end or empty. That of findings is opened for each, since it may be rotated. Symbolic links are
/// refused, so that another user who can write to the folder cannot select the file.
pub(crate) fn open(path: &std::path::Path, append: bool) -> std::io::Result<File> {
    let mut options = std::fs::OpenOptions::new();
    options.append(append).write(true).truncate(!append).create(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600).custom_flags(NOFOLLOW | NOCTTY);
    }
    if NOFOLLOW == 0 && path.is_symlink() {
        return Err(std::io::ErrorKind::Unsupported.into());
    }
    options.open(path)
}

// Numbers of the system's headers; 0: unknown. Miri has no such flags.
const LINUX: bool = cfg!(any(target_os = "linux", target_os = "android"));
const APPLE: bool = cfg!(target_vendor = "apple");
const BSD: bool =
    cfg!(any(target_os = "freebsd", target_os = "dragonfly", target_os = "openbsd", target_os = "netbsd"));
const MIPS: bool =
    cfg!(any(target_arch = "mips", target_arch = "mips64", target_arch = "mips32r6", target_arch = "mips64r6"));
const SPARC: bool = cfg!(any(target_arch = "sparc", target_arch = "sparc64"));
const ARM: bool = cfg!(any(target_arch = "arm", target_arch = "aarch64"));
const OLD: bool = ARM || cfg!(any(target_arch = "powerpc", target_arch = "powerpc64", target_arch = "m68k"));
/// `SIGUSR1` and `SIGUSR2`.
const USER_SIGNALS: [c_int; 2] = [
    first(&[(LINUX && MIPS, 16), (LINUX && !SPARC, 10), (true, 30)]),
    first(&[(LINUX && MIPS, 17), (LINUX && !SPARC, 12), (true, 31)]),
];
/// `O_NOFOLLOW`.
const NOFOLLOW: c_int = first(&[(cfg!(miri), 0), (LINUX && OLD, 0o100_000), (LINUX, 0o400_000), (APPLE || BSD, 0x100)]);
#[cfg(unix)]
const NOCTTY: c_int = first(&[
    (cfg!(miri), 0),
    (LINUX && MIPS, 0x800),
    (LINUX && SPARC, 0x8000),
    (LINUX, 0o400),
    (APPLE, 0x2_0000),
    (BSD, 0x8000),
]);

const fn first(values: &[(bool, c_int)]) -> c_int {
    match values {
        [(true, value), ..] => *value,
        [_, others @ ..] => first(others),
        [] => 0,
    }
}

#[cfg(test)]
#[path = "../../tests/unit/process.rs"]
mod tests;
