//! Programs in `tests/ui` that must not compile. A function of them is a misuse, and has an error of its own.
//!
//! The messages differ between compilers, so they are compared on one stable compiler, named below; with others the
//! test reports that it compared nothing. `TRYBUILD=overwrite` rewrites the messages.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::path::{Path, PathBuf};
use std::process::Command;

/// The compiler whose messages are in `ui/*.stderr`.
const COMPILER: &str = "rustc 1.95.";

/// Compares the messages of the programs, and verifies the number of the programs and of all errors.
pub fn check(programs: usize, errors: usize) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ui");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let paths: Vec<_> = files.filter(|path| path.extension() == Some("rs".as_ref())).collect();
    assert_eq!(paths.len(), programs);
    compare(&paths);
    assert_eq!(paths.iter().map(|path| errors_of(path)).sum::<usize>(), errors);
}

fn compare(paths: &[PathBuf]) {
    let version = Command::new(std::env::var("RUSTC").unwrap_or("rustc".into())).arg("--version").output().unwrap();
    let version = String::from_utf8(version.stdout).unwrap();
    if !version.starts_with(COMPILER) || version.contains("nightly") {
        eprintln!("NOT TESTED: the messages in tests/ui are those of {COMPILER}x, and this is {version}");
        return;
    }
    let cases = trybuild::TestCases::new();
    for path in paths {
        // The path that the compiler's messages use, not the absolute one.
        cases.compile_fail(Path::new("tests/ui").join(path.file_name().unwrap()));
    }
}

/// Returns the number of errors in the messages of a program, and verifies that each of its functions has one: an error
/// can hide others, of a later phase of the compiler.
fn errors_of(program: &Path) -> usize {
    let (code, messages) = (read(program), read(&program.with_extension("stderr")));
    let mut lines = messages.lines();
    let mut places = vec![];
    while lines.any(|line| line.starts_with("error")) {
        let place = lines.next().unwrap(); //  --> tests/ui/arenas.rs:11:10
        places.push(place.split(':').nth(1).unwrap().parse::<usize>().unwrap());
    }
    for (name, function) in functions(&code) {
        let found = places.iter().any(|line| function.contains(line));
        assert!(found, "{}: no error in {name}", program.display());
    }
    places.len()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Returns the functions outside of others, except for `main`, and the numbers of their lines.
fn functions(code: &str) -> Vec<(&str, std::ops::Range<usize>)> {
    let (mut functions, mut open) = (vec![], None);
    for (line, number) in code.lines().zip(1..) {
        if line.starts_with("fn ") {
            open = Some((line, number));
        } else if line == "}" {
            functions.extend(open.take().map(|(name, first)| (name, first..number)));
        }
    }
    functions
}
