//! Compiles the libraries that `toft advise` embeds and preloads into programs: the recorder, the trial of an
//! arena, and a recycler as malloc.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::path::{Path, PathBuf};
use std::{env, process::Command};

fn main() {
    ["preload", "recorder", "trial", "recycler"].iter().for_each(|f| println!("cargo::rerun-if-changed={f}"));
    // The crate that is published contains the library in two files.
    let library: &[&str] =
        if Path::new("recycler/toft.c").exists() { &["recycler"] } else { &["../c/src", "../c/include"] };
    library.iter().for_each(|folder| println!("cargo::rerun-if-changed={folder}"));
    let var = |name| env::var(name).unwrap_or_default();
    for name in ["recorder", "trial", "recycler"] {
        let out = PathBuf::from(var("OUT_DIR")).join(name).with_extension("so");
        if var("CARGO_CFG_TARGET_OS") != "linux" || var("CARGO_CFG_TARGET_ENV") != "gnu" {
            std::fs::write(out, "").expect("the folder can be written to");
            continue;
        }
        // They run on the program's stack: a large frame is an error, and one that passes a guard page a fault.
        let mut build = cc::Build::new();
        build.opt_level(2).flag_if_supported("-fstack-clash-protection");
        if name != "recycler" {
            build.flag_if_supported("-Wframe-larger-than=512").flag_if_supported("-Werror=frame-larger-than=512");
        }
        let compiler = build.get_compiler();
        let mut command: Command = compiler.to_command();
        let flags =
            "-shared -fPIC -O2 -g -Wall -fno-omit-frame-pointer -fexceptions -ftls-model=initial-exec -static-libgcc -pthread -Wl,-z,defs -o";
        command.args(flags.split(' ')).arg(&out).args(library.iter().flat_map(|folder| ["-I", *folder]));
        match command.arg(format!("{name}/{name}.c")).arg("-ldl").status() {
            Ok(status) if status.success() => {}
            failed => panic!("{name}.c cannot be compiled ({failed:?}); a C compiler must be installed"),
        }
    }
}
