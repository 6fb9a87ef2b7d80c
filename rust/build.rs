//! Detects whether the standard library of this compiler has the trait `Allocator` without a feature, and which of its
//! companions it has: sets `toft_allocator`, `toft_allocator_gated` (it needs the feature of the compiler after all, which the
//! feature `nightly` switches on), `toft_allocator_clone` and `toft_allocator_nightly`.
//!
//! Each is detected by compiling an implementation, so that a release with other names or signatures is one without.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::env::{var, var_os};
use std::io::Write;
use std::process::{Command, Stdio};

const ALLOCATOR: &str = "
    use core::{alloc::{AllocError, Allocator, Layout}, ptr::NonNull};
    #[derive(Clone)] pub struct Memory;
    unsafe impl Allocator for Memory {
        fn allocate(&self, _: Layout) -> Result<NonNull<[u8]>, AllocError> { Err(AllocError) }
        unsafe fn deallocate(&self, _: NonNull<u8>, _: Layout) {}
        unsafe fn grow(&self, _: NonNull<u8>, _: Layout, _: Layout) -> Result<NonNull<[u8]>, AllocError> { Err(AllocError) }
        unsafe fn grow_zeroed(&self, _: NonNull<u8>, _: Layout, _: Layout) -> Result<NonNull<[u8]>, AllocError> { Err(AllocError) }
        unsafe fn shrink(&self, _: NonNull<u8>, _: Layout, _: Layout) -> Result<NonNull<[u8]>, AllocError> { Err(AllocError) }
    }";
const CLONE: &str = "unsafe impl core::alloc::AllocatorClone for Memory {}";
const NIGHTLY: &str = "impl core::alloc::AllocatorNightly for Memory {}";

/// Whether the compiler that builds the crate compiles `source`. `false` too if it cannot be run.
fn compiles(source: &str) -> bool {
    let (Some(rustc), Some(folder), Ok(target)) = (var_os("RUSTC"), var_os("OUT_DIR"), var("TARGET")) else {
        return false;
    };
    let flags = var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let child = Command::new(rustc)
        .args(["--edition=2024", "--crate-type=lib", "--crate-name=toft_probe", "--emit=metadata", "--target", &target])
        .args(flags.split('\x1f').filter(|flag| !flag.is_empty()))
        .arg("--out-dir")
        .arg(folder)
        .arg("-")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = child else { return false };
    let written = child.stdin.take().is_some_and(|mut input| input.write_all(source.as_bytes()).is_ok());
    child.wait().is_ok_and(|status| status.success()) && written
}

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(toft_allocator, toft_allocator_gated)");
    println!("cargo::rustc-check-cfg=cfg(toft_allocator_clone, toft_allocator_nightly)");
    let nightly = var_os("CARGO_FEATURE_NIGHTLY").is_some();
    let gate = if nightly { "#![feature(allocator_api)]" } else { "" };
    let allocator = format!("#![no_std]{gate}{ALLOCATOR}");
    // With the feature `nightly` a compiler without the trait must show its error.
    if !(compiles(&allocator) || nightly) {
        return;
    }
    println!("cargo::rustc-cfg=toft_allocator");
    if nightly && !compiles(&format!("#![no_std]{ALLOCATOR}")) {
        println!("cargo::rustc-cfg=toft_allocator_gated");
    }
    for (cfg, more) in [("toft_allocator_clone", CLONE), ("toft_allocator_nightly", NIGHTLY)] {
        if compiles(&format!("{allocator}\n{more}")) {
            println!("cargo::rustc-cfg={cfg}");
        }
    }
}
