//! The libraries that are preloaded into programs, and those that the user preloads: LD_PRELOAD is kept in all runs.
// SPDX-License-Identifier: MIT OR Apache-2.0

use crate::places::{in_object, Places};
use anyhow::{ensure, Context, Result};
use object::{Object, ObjectSymbol};
use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::Write,
    os::{
        fd::{FromRawFd, IntoRawFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
    process::Command,
};

#[derive(Clone, Copy, clap::ValueEnum)]
pub enum Library {
    Recorder,
    Trial,
    Recycler,
}

fn bytes(library: Library) -> Result<&'static [u8]> {
    // Empty: not on this system.
    let bytes: &[u8] = match library {
        Library::Recorder => include_bytes!(concat!(env!("OUT_DIR"), "/recorder.so")),
        Library::Trial => include_bytes!(concat!(env!("OUT_DIR"), "/trial.so")),
        Library::Recycler => include_bytes!(concat!(env!("OUT_DIR"), "/recycler.so")),
    };
    ensure!(!bytes.is_empty(), "advise needs Linux with glibc; run it there, on the same program and input");
    Ok(bytes)
}

pub fn write(library: Library, path: &Path) -> Result<()> {
    std::fs::write(path, bytes(library)?).with_context(|| super::cannot_write(path))
}

/// The value of LD_PRELOAD with a library and the user's own. The dynamic linker separates names by blanks and colons,
/// and cannot map a library of a file system that is mounted noexec: the library is in the memory of this process then. A
/// malloc takes the place of the user's.
pub fn place(library: Library, name: &str, folder: &Path) -> Result<PathBuf> {
    let in_list =
        if matches!(library, Library::Recycler) { list_with_malloc } else { |path: &Path| list(path, |_| true) };
    let path = folder.join(name);
    if !path.as_os_str().as_bytes().iter().any(|b| b" \t\n:$".contains(b)) {
        write(library, &path)?;
        // SAFETY: it is not written to again.
        if unsafe { memmap2::MmapOptions::new().map_exec(&File::open(&path)?) }.is_ok() {
            return Ok(in_list(&path));
        }
    }
    // SAFETY: the name ends with a 0; the descriptor is new.
    let mut file = unsafe {
        let fd = libc::memfd_create(c"toft".as_ptr(), libc::MFD_CLOEXEC);
        ensure!(fd >= 0, "no library can be loaded from {}, nor from memory; set TMPDIR", folder.display());
        File::from_raw_fd(fd)
    };
    file.write_all(bytes(library)?).with_context(|| super::cannot_write(Path::new("a file in memory")))?;
    let place = format!("/proc/{}/fd/{}", std::process::id(), file.into_raw_fd()); // open while this process runs
    Ok(in_list(Path::new(&place)))
}

/// The value of LD_PRELOAD with a malloc, which takes the place of the user's.
pub fn list_with_malloc(library: &Path) -> PathBuf {
    list(library, |own| !defines_malloc(own))
}

fn list(first: &Path, keep: impl Fn(&Path) -> bool) -> PathBuf {
    let own = own().into_iter().filter(|(_, path)| keep(path)).map(|(name, _)| name);
    [first.as_os_str().to_owned()].into_iter().chain(own).collect::<Vec<_>>().join(OsStr::new(":")).into()
}

/// The user's libraries: their names in LD_PRELOAD and their files.
fn own() -> Vec<(OsString, PathBuf)> {
    let variable = std::env::var_os("LD_PRELOAD").unwrap_or_default();
    let names = variable.as_bytes().split(|b| b" :".contains(b)).filter(|name| !name.is_empty());
    let file = |name: &OsStr| Places::default().module_named(&name.to_string_lossy()).unwrap_or_else(|| name.into());
    names.map(OsStr::from_bytes).map(|name| (name.to_owned(), file(name))).collect()
}

fn defines_malloc(path: &Path) -> bool {
    let is_malloc = |s: object::Symbol| s.is_definition() && s.name() == Ok("malloc");
    in_object(path, |object| object.dynamic_symbols().any(is_malloc)).unwrap_or(false)
}

/// Whether the user preloads a library.
pub fn is_own(library: &Path) -> bool {
    own().iter().any(|(_, path)| path.canonicalize().is_ok_and(|path| library.canonicalize().is_ok_and(|l| l == path)))
}

/// Why no process was recorded. This command itself allocates and is linked dynamically: if it is recorded, the program is the
/// reason.
pub fn why_not_loaded(environment: &[(&str, &Path)], is_recorded: impl Fn() -> bool) -> Result<String> {
    let probe = Command::new(std::env::current_exe()?).arg("--version").envs(environment.iter().copied()).output()?;
    Ok(match String::from_utf8_lossy(&probe.stderr).trim() {
        _ if is_recorded() => {
            "the recorder was not loaded: the program is linked statically, or it or what starts it clears LD_PRELOAD, or has \
             other rights, another root folder or another /proc than this command"
                .to_owned()
        }
        said => format!("the recorder cannot be loaded into any program: {said}"),
    })
}

/// What else decides how fast a program allocates, as notes.
pub fn surroundings() -> Vec<String> {
    let noted = ["LD_", "GLIBC_TUNABLES=", "MALLOC_", "MIMALLOC_", "TCMALLOC_"];
    let variables = std::env::vars_os().map(|(name, value)| format!("{}={}", name.display(), value.display()));
    let mut set: Vec<_> = variables.filter(|v| noted.iter().any(|begin| v.starts_with(begin))).collect();
    set.sort_unstable();
    let pages = ["enabled", "defrag"].map(|name| {
        let line = std::fs::read_to_string(format!("/sys/kernel/mm/transparent_hugepage/{name}")).unwrap_or_default();
        format!("{name} {}", line.split(['[', ']']).nth(1).unwrap_or("unknown"))
    });
    let set = (!set.is_empty()).then(|| format!("Set in all runs: {}.", set.join(", ")));
    set.into_iter().chain([format!("Transparent huge pages of this system: {}.", pages.join(", "))]).collect()
}
