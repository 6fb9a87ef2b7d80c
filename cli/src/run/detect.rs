//! Whether a program contains Toft, by words that each library contains.
// SPDX-License-Identifier: MIT OR Apache-2.0

use object::{Object, ObjectSection};
use std::path::{Path, PathBuf};

/// The languages and libraries that a program contains.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Contains {
    Nothing,
    /// The crate without its feature `diagnostics`, or a library without checks.
    Silent,
    /// A library that writes no objects.
    Old,
    All,
}

fn contains(bytes: &[u8]) -> Contains {
    let has = |word: &[u8]| bytes.windows(word.len()).any(|window| window == word);
    if has(b"TOFT_FINDINGS_JSON") {
        Contains::All
    } else if has(b"TOFT_CHECKED") {
        Contains::Old
    } else if has(b"toft-rust") || has(b"toft-c") {
        Contains::Silent
    } else {
        Contains::Nothing
    }
}

/// The libraries that an executable names, where the system has them.
fn libraries(executable: &Path, file: &object::File) -> Vec<PathBuf> {
    let names = file.section_by_name(".dynstr").and_then(|section| section.data().ok()).unwrap_or_default();
    let names = names.split(|byte| *byte == 0).filter_map(|name| std::str::from_utf8(name).ok());
    let places = crate::places::Places::new(executable);
    let is_system = |name: &str| {
        ["libc.", "libm.", "libpthread.", "libdl.", "libgcc_s.", "libstdc++.", "ld-linux"]
            .iter()
            .any(|system| name.starts_with(system))
    };
    names.filter(|name| name.contains(".so") && !is_system(name)).filter_map(|name| places.module_named(name)).collect()
}

/// `None`: it is a script, whose interpreter may load a library, or it cannot be read.
fn of(executable: &Path) -> Option<Contains> {
    let mut files = crate::places::in_object(executable, |file| libraries(executable, file))?;
    files.push(executable.to_owned());
    let contents = files.into_iter().filter_map(|path| std::fs::read(path).ok());
    contents.map(|bytes| contains(&bytes)).max()
}

/// What to say where the program wrote neither findings nor a profile.
pub fn explain(program: &Path, executable: Option<&Path>, profile: bool, failed: bool) -> String {
    let name = program.display();
    let found = executable.and_then(of);
    match found {
        Some(Contains::Nothing) => format!(
            "toft: {name} does not contain Toft; if it starts no program that does, nothing was looked at. toft advise \
             shows what Toft would save there\n"
        ),
        Some(Contains::Silent) => format!(
            "toft: {name} contains Toft without diagnostics, so nothing was looked at; in Rust add \
             features = [\"diagnostics\"] to the dependency on toft\n"
        ),
        Some(Contains::Old) => {
            format!("toft: the copy of Toft in {name} is too old for this command; build it with a later one\n")
        }
        _ if profile && failed => format!(
            "toft: there is no profile: {name} wrote none before its end, which was not by exit; --signal USR1 requests \
             one earlier\n"
        ),
        _ if profile => format!(
            "toft: there is no profile: {name} created no arena, or ended by _exit; a program in Go writes it by \
             toft.CheckReturned\n"
        ),
        _ => String::new(),
    }
}
