//! Tests of the command `toft`.
// SPDX-License-Identifier: MIT OR Apache-2.0

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod advise;
mod help;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod recorder;
mod report;
#[cfg(target_os = "linux")]
mod run;

use std::{
    path::{Path, PathBuf},
    process::Command,
};

const TOFT: &str = env!("CARGO_BIN_EXE_toft");

/// The path of a program's source, which its debug information contains.
fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name)
}

/// Compiles a program of `programs/`.
fn compile(source_name: &str, program: &Path, flags: &[&str]) {
    let compiler = if source_name.ends_with(".cpp") { "c++" } else { "cc" };
    let mut command = Command::new(compiler);
    command.args(["-O1", "-pthread", "-o"]).arg(program).arg(source(source_name)).args(flags);
    assert!(command.status().unwrap().success());
}

/// Flags of a program that uses libtoft, which is compiled once for all tests.
fn libtoft() -> [&'static str; 6] {
    const INCLUDE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../c/include");
    ["-g", "-std=gnu11", "-w", "-I", INCLUDE, conformance_libtoft::ARCHIVE]
}
