//! Checks are on by themselves where a sanitizer's runtime is in the process: this program contains what looks like one.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "full")]
#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
#![cfg(not(any(miri, toft_plain_heap)))] // it starts programs; sanitized builds have the symbol

use std::mem::MaybeUninit;
use std::process::Command;

use toft::Arena;

/// The symbol by which a runtime is recognized. No code calls it.
#[unsafe(no_mangle)]
extern "C" fn __asan_init() {}

/// Checked arenas have red zones between allocations.
fn is_checked(arena: &Arena) -> bool {
    let [a, b] = [1u64, 2].map(|value| std::ptr::from_ref(arena.alloc(value)).addr());
    a.abs_diff(b) != 8
}

/// Not a test: prints whether arenas are checked.
#[test]
fn child() {
    if std::env::var_os("TEST_CHILD").is_some() {
        let mut buffer = [MaybeUninit::uninit(); 2400];
        let in_buffer = Arena::in_buffer(&mut buffer).unwrap();
        println!("heap {}, buffer {}", is_checked(&Arena::new()), is_checked(&in_buffer));
    }
}

fn printed(variable: Option<&str>) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["child", "--exact", "--nocapture"]).env("TEST_CHILD", "1").env_remove("TOFT_CHECKED");
    command.envs(variable.map(|value| ("TOFT_CHECKED", value)));
    String::from_utf8(command.output().unwrap().stdout).unwrap()
}

#[test]
fn arenas_are_checked_unless_the_variable_switches_it_off() {
    assert!(printed(None).contains("heap true, buffer false"));
    assert!(printed(Some("0")).contains("heap false, buffer false"));
    assert!(printed(Some("1")).contains("heap true, buffer true"));
}
