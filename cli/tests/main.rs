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
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod surroundings;

use serde_json::Value;
use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Output, Stdio},
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

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    /// Compiles a program of `programs/`.
    fn compile(&self, source: &str, name: &str, flags: &[&str]) -> PathBuf {
        let path = self.0.path().join(name);
        compile(source, &path, flags);
        path
    }

    fn advise(&self, options: &[&str], program: &Path, arguments: &[&str]) -> (Output, Value) {
        self.advise_in_full(&[&["--quick"], options].concat(), program, arguments)
    }

    fn advise_in_full(&self, options: &[&str], program: &Path, arguments: &[&str]) -> (Output, Value) {
        let out = self.0.path().join("advice.json");
        let mut command = Command::new(TOFT);
        command.args(["advise", "--all", "--out"]).arg(&out).args(options).arg("--").arg(program).args(arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let _ = child.stdin.take().unwrap().write_all(b"first line\nsecond\n");
        let done = child.wait_with_output().unwrap();
        let advice = std::fs::read(&out).ok().map_or(Value::Null, |json| serde_json::from_slice(&json).unwrap());
        (done, advice)
    }
}

/// Whether `toft advise` ends with an advice, also if it is not decided.
fn is_given(status: ExitStatus) -> bool {
    matches!(status.code(), Some(0 | 3))
}

/// Names what this machine lacks. With CI=true all packages of `scripts/bootstrap check` are there.
fn unavailable(what: &str, package: bool) {
    assert!(!package || std::env::var("CI").as_deref() != Ok("true"), "unavailable: {what}");
    eprintln!("unavailable, so not tested: {what}");
}

/// Whether a program can be linked to a library.
fn is_installed(library: &str) -> bool {
    let linked = Command::new("cc").args(["-shared", "-o", "/dev/null", &format!("-l:{library}")]).output();
    let there = linked.unwrap().status.success();
    if !there {
        unavailable(library, true);
    }
    there
}
