//! What the library does where a sanitizer's runtime is in the process: this program contains what looks like one. Checks
//! are on by themselves, and LeakSanitizer scans mapped memory while it is in use.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "full")]
#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
#![cfg(not(any(miri, toft_plain_heap)))] // it starts programs; sanitized builds have the symbol

use std::cell::RefCell;
use std::mem::MaybeUninit;
use std::process::Command;

use toft::{Arena, Heap, Options, Pages, Reserve, Source};

/// The symbol by which a runtime is recognized. No code calls it.
#[unsafe(no_mangle)]
extern "C" fn __asan_init() {}

thread_local! {
    /// What LeakSanitizer would scan.
    static SCANNED: RefCell<Vec<(usize, usize)>> = const { RefCell::new(Vec::new()) };
}

#[unsafe(no_mangle)]
extern "C" fn __lsan_register_root_region(start: usize, size: usize) {
    SCANNED.with_borrow_mut(|all| all.push((start, size)));
}

#[unsafe(no_mangle)]
extern "C" fn __lsan_unregister_root_region(start: usize, size: usize) {
    SCANNED.with_borrow_mut(|all| {
        let i = all.iter().position(|range| *range == (start, size)).expect("a range that was registered");
        all.swap_remove(i);
    });
}

/// Whether the bytes at this address are scanned.
fn is_scanned(p: *const u8) -> bool {
    SCANNED.with_borrow(|all| all.iter().any(|(start, size)| (*start..*start + *size).contains(&p.addr())))
}

fn is_scanned_while_in_use<S: Source + Send + 'static>(source: impl Fn() -> S) {
    for bytes in [1 << 20, 5 << 20] {
        let arena = Options::new().source(source()).create().unwrap();
        let first = arena.alloc_slice_fill(1 << 20, 1u8).as_ptr();
        let second = arena.alloc_slice_fill(bytes, 2u8).as_ptr();
        assert!(is_scanned(first) && is_scanned(second));
        drop(arena);
        SCANNED.with_borrow(|all| assert!(all.is_empty()));
    }
}

#[test]
fn mapped_memory_is_scanned_while_it_is_in_use() {
    is_scanned_while_in_use(|| Heap);
    is_scanned_while_in_use(Pages::new);
    is_scanned_while_in_use(Pages::huge);
    is_scanned_while_in_use(|| Reserve::new(64 << 20).unwrap());
}

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
