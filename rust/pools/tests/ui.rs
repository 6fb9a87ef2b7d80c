//! Programs in `ui/` that the derive must refuse, each with the compiler's message.
//!
//! The messages differ between compilers, so they are compared on one stable compiler, named below; with others the
//! test reports that it compared nothing. `TRYBUILD=overwrite` rewrites the messages.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "derive")]

use std::process::Command;

/// The compiler whose messages are in `ui/*.stderr`.
const COMPILER: &str = "rustc 1.95.";

/// A missing program is an error.
const PROGRAMS: usize = 15;

#[test]
#[cfg_attr(miri, ignore = "runs the compiler")]
fn each_misuse_is_refused() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ui");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let programs: Vec<_> = files.filter(|path| path.extension() == Some("rs".as_ref())).collect();
    assert_eq!(programs.len(), PROGRAMS);

    let version = Command::new(std::env::var("RUSTC").unwrap_or("rustc".into())).arg("--version").output().unwrap();
    let version = String::from_utf8(version.stdout).unwrap();
    if !version.starts_with(COMPILER) || version.contains("nightly") {
        eprintln!("NOT TESTED: the messages in tests/ui are those of {COMPILER}x, and this is {version}");
        return;
    }
    let cases = trybuild::TestCases::new();
    for path in &programs {
        // The path that the compiler's messages use, not the absolute one.
        cases.compile_fail(std::path::Path::new("tests/ui").join(path.file_name().unwrap()));
    }
}
