//! What the borrow checker must refuse, one program each in `ui/`, with the compiler's own words beside it.
//!
//! The words change between compilers, so they are compared on one, the stable one named below; on others the test says
//! that it compared nothing. `TRYBUILD=overwrite` writes them anew.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "full")]

use std::process::Command;

/// The compiler whose words are in `ui/*.stderr`.
const COMPILER: &str = "rustc 1.95.";

/// So that none is lost unseen.
const PROGRAMS: usize = 68;

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
        eprintln!("NOT TESTED: the words in tests/ui are those of {COMPILER}x, and this is {version}");
        return;
    }
    let cases = trybuild::TestCases::new();
    for path in &programs {
        // By the name that the compiler's words have, not by that of this machine.
        cases.compile_fail(std::path::Path::new("tests/ui").join(path.file_name().unwrap()));
    }
}
