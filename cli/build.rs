//! Compiles the libraries that `toft advise` embeds and preloads into programs: the recorder, and a recycler as malloc.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::{env, path::PathBuf, process::Command};

fn main() {
    println!("cargo::rerun-if-changed=recorder");
    println!("cargo::rerun-if-changed=recycler");
    println!("cargo::rerun-if-changed=recycler/toft.c");
    println!("cargo::rustc-check-cfg=cfg(has_recorder)");
    let var = |name| env::var(name).unwrap_or_default();
    if var("CARGO_CFG_TARGET_OS") != "linux" || var("CARGO_CFG_TARGET_ENV") != "gnu" {
        return;
    }
    for name in ["recorder", "recycler"] {
        let out = PathBuf::from(var("OUT_DIR")).join(name).with_extension("so");
        let compiler = cc::Build::new().opt_level(2).get_compiler();
        let mut command: Command = compiler.to_command();
        command.args(["-shared", "-fPIC", "-O2", "-g", "-Wall", "-static-libgcc", "-pthread", "-o"]).arg(&out);
        match command.arg(format!("{name}/{name}.c")).status() {
            Ok(status) if status.success() => println!("cargo::rustc-cfg=has_recorder"),
            failed => panic!("{name}.c cannot be compiled ({failed:?}); a C compiler must be installed"),
        }
    }
}
