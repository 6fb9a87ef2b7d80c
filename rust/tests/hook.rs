//! Hooks for findings that do what a hook may do: use the arena of the finding, panic, cause findings, replace themselves.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "full")]
#![allow(clippy::undocumented_unsafe_blocks)] // it commits faults on purpose

use std::cell::{Cell, RefCell};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Mutex, MutexGuard};

use toft::{abi, on_finding, Arena, Finding, Scope, TaskArena};

thread_local! {
    static ARENA: Cell<Option<&'static Arena>> = const { Cell::new(None) };
    static HEARD: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    static GUARD: RefCell<Option<Scope<'static>>> = const { RefCell::new(None) };
}

/// The hook is the process's: one test at a time has it.
fn with_hook(hook: fn(&Finding)) -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    let one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    HEARD.take();
    on_finding(Some(hook));
    one
}

fn hear(finding: &Finding) {
    HEARD.with_borrow_mut(|heard| heard.push(finding.to_string()));
}

fn heard() -> Vec<String> {
    HEARD.take()
}

/// An arena that hooks find. It is leaked, since a hook's reference may outlive any borrow.
fn shared() -> &'static Arena {
    let arena: &'static Arena = Box::leak(Box::new(Arena::new()));
    arena.set_checked(true).unwrap();
    ARENA.set(Some(arena));
    arena
}

fn bytes(arena: &Arena) -> *mut u8 {
    arena.alloc_layout(std::alloc::Layout::new::<[u8; 16]>()).as_ptr()
}

type Act = fn(&'static Arena);
type Deed = fn(&'static Arena) -> bool;

/// Operations in which something is found, once each.
const FINDINGS: &[(&str, &str, Act)] = &[
    ("a free", "bad free", |a| {
        let p = bytes(a);
        unsafe { abi::free(a.as_raw(), p, 24) };
    }),
    ("a resize", "bad free", |a| {
        let p = bytes(a);
        assert!(unsafe { abi::resize(a.as_raw(), p, 24, 48, 8) }.is_none());
    }),
    ("a rewind", "overrun", |a| {
        let mark = a.mark();
        let p = bytes(a);
        unsafe { p.wrapping_add(16).write_volatile(1) };
        unsafe { a.rewind(mark) }.unwrap();
    }),
    ("the end of a scope", "leak", |a| {
        a.scope_guard().alloc(vec![1]);
    }),
    ("the end of a scope in a scope", "leak", |a| {
        let outer = a.scope_guard();
        outer.alloc(1u64);
        outer.scope_guard().alloc(vec![1]);
    }),
    ("an allocation over a soft budget", "over budget", |a| {
        a.set_soft_budget(Some(a.stats().live + 8)).unwrap();
        a.alloc([0u64; 9]);
        a.set_soft_budget(None).unwrap();
    }),
    ("a destructor's registration over a soft budget", "over budget", |a| {
        a.set_soft_budget(Some(a.stats().live + 50)).unwrap();
        a.alloc_drop((vec![1], [0u64; 9]));
        a.set_soft_budget(None).unwrap();
    }),
    ("a growth over a soft budget", "over budget", |a| {
        let mut v = a.vec();
        v.push(0u64);
        a.set_soft_budget(Some(a.stats().live + 8)).unwrap();
        v.extend(0..100);
        a.set_soft_budget(None).unwrap();
    }),
    ("an allocation where something was written late", "late write", |a| {
        let mark = a.mark();
        let p = bytes(a);
        unsafe { a.rewind(mark) }.unwrap();
        unsafe { p.wrapping_add(3).write_volatile(1) };
        a.alloc([0u8; 16]);
    }),
    ("a scope where something was written late", "late write", |a| {
        let mark = a.mark();
        let p = bytes(a);
        unsafe { a.rewind(mark) }.unwrap();
        unsafe { p.wrapping_add(3).write_volatile(1) };
        drop(a.scope_guard());
    }),
    ("the end of the checks", "overrun", |a| {
        let p = bytes(a);
        unsafe { p.wrapping_add(16).write_volatile(1) };
        a.set_checked(false).unwrap();
        a.set_checked(true).unwrap();
    }),
];

/// What a hook does with the arena. `false`: the arena gave it memory, which its caller could give back.
const DEEDS: &[(&str, Deed)] = &[
    ("allocates", |a| a.try_alloc([1u8; 100]).is_err()),
    ("allocates much", |a| a.try_alloc([1u8; 100_000]).is_err()),
    ("allocates with a destructor", |a| a.try_alloc_drop(vec![1]).is_err()),
    ("allocates, and panics", |a| catch_unwind(AssertUnwindSafe(|| a.alloc(1).to_string())).is_err()),
    ("opens a scope", |a| a.try_scope_guard().is_err()),
    ("opens a scope, and panics", |a| catch_unwind(AssertUnwindSafe(|| drop(a.scope_guard()))).is_err()),
    ("ends a scope", |_| {
        drop(GUARD.take());
        true
    }),
    ("grows a vector", |a| {
        let mut v = a.vec();
        catch_unwind(AssertUnwindSafe(|| v.push(1u64))).is_err()
    }),
    ("opens a cursor", |a| a.cursor().try_alloc(1u8).is_err()),
    ("rewinds", |a| unsafe { a.rewind(a.mark()) }.is_err()),
    ("looks", |a| {
        let live = a.report().stats.live;
        a.findings();
        a.allocations().iter().all(|one| a.contains(one.at)) && a.stats().live == live && !a.blocks().is_empty()
    }),
    ("throws switches", |a| {
        let all = [a.set_checked(false), a.set_checked(true), a.set_metered(true), a.set_sampling(64)];
        let all = all.into_iter().chain([a.set_soft_budget(None), a.on_refusal(|_| None)]);
        all.into_iter().all(|switched| switched.is_err())
    }),
    ("begins a tag and a phase", |a| {
        drop((a.tag("tag"), a.phase("phase")));
        true
    }),
    ("panics", |_| panic!("the hook")),
    ("panics with what panics when it is dropped", |_| {
        struct Bomb;
        impl Drop for Bomb {
            fn drop(&mut self) {
                panic!("the payload");
            }
        }
        std::panic::panic_any(Bomb)
    }),
    ("replaces itself", |_| on_finding(Some(hear)).is_some()),
    ("removes itself", |_| on_finding(None).is_some()),
];

thread_local!(static DEED: Cell<usize> = const { Cell::new(0) });

fn act(finding: &Finding) {
    hear(finding);
    let (name, deed) = DEEDS[DEED.get()];
    assert!(deed(ARENA.get().unwrap()), "{name}");
    hear(finding); // not reached if it panics
}

#[test]
fn a_hook_may_do_anything_with_the_arena_of_the_finding() {
    let _one = with_hook(act);
    for (i, (deed, _)) in DEEDS.iter().enumerate() {
        for (name, kind, operation) in FINDINGS {
            on_finding(Some(act));
            DEED.set(i);
            let arena = shared();
            let kept = arena.alloc_slice_copy(&[7u8; 100]);
            if *deed == "ends a scope" && *kind == "bad free" {
                GUARD.set(Some(arena.scope_guard())); // other operations need an arena without a scope
            }
            operation(arena);
            GUARD.take();
            let heard = heard();
            let times = if deed.starts_with("panics") { 1 } else { 2 };
            assert_eq!(heard.len(), times, "{name}, {deed}: {heard:?}");
            assert!(heard[0].starts_with(kind), "{name}, {deed}: {heard:?}");
            assert_eq!(kept, [7; 100]);
            // It is as good as before.
            arena.set_checked(false).unwrap();
            arena.set_checked(true).unwrap();
            assert_eq!(*arena.alloc(7), 7);
            arena.scope(|inner| assert_eq!(*inner.alloc(7), 7));
            arena.findings();
        }
    }
    on_finding(None);
}

/// The hook runs when the operation is over: all that it was to do is done.
#[test]
fn a_hook_sees_the_operation_done() {
    let _one = with_hook(|finding| {
        hear(finding);
        let arena = ARENA.get().unwrap();
        hear(&arena.findings()[0]);
        assert_eq!(arena.stats().live, 0);
        hear(finding);
    });
    let arena = shared();
    let mark = arena.mark();
    arena.alloc(vec![1]);
    unsafe { arena.rewind(mark) }.unwrap();
    on_finding(None);
    let heard = heard();
    assert!(heard.len() == 3 && heard[0] == heard[1], "{heard:?}");
}

/// What a hook causes itself it does not hear of; the arena tells.
#[test]
fn a_hook_that_causes_findings_is_not_called_for_them() {
    let _one = with_hook(|finding| {
        hear(finding);
        let other = Arena::new();
        other.set_checked(true).unwrap();
        unsafe { abi::free(other.as_raw(), [0u8; 8].as_mut_ptr(), 8) };
        assert!(matches!(other.findings()[..], [Finding::BadFree { size: 8, .. }]));
        other.alloc(vec![1]);
        drop(other);
        hear(finding);
    });
    let arena = shared();
    unsafe { abi::free(arena.as_raw(), [0u8; 24].as_mut_ptr(), 24) };
    unsafe { abi::free(arena.as_raw(), [0u8; 24].as_mut_ptr(), 24) };
    on_finding(None);
    assert_eq!(heard().len(), 4);
    assert_eq!(arena.findings().len(), 2);
}

/// A hook's panic is not the caller's, also where the caller is unwinding already.
#[test]
fn a_hook_that_panics_while_a_panic_unwinds() {
    let _one = with_hook(|finding| {
        hear(finding);
        panic!("the hook");
    });
    let done = catch_unwind(AssertUnwindSafe(|| {
        let arena = Arena::new();
        arena.set_checked(true).unwrap();
        arena.alloc(vec![1]);
        panic!("the program");
    }));
    on_finding(None);
    assert_eq!(done.unwrap_err().downcast_ref::<&str>(), Some(&"the program"));
    assert_eq!(heard().len(), 1);
}

/// Each thread hears of what it finds itself, at once.
#[test]
fn each_thread_hears_its_own() {
    let _one = with_hook(hear);
    std::thread::scope(|s| {
        for n in 1..=4 {
            s.spawn(move || {
                for _ in 0..n {
                    let arena = Arena::new();
                    arena.set_checked(true).unwrap();
                    arena.alloc(vec![1]);
                }
                assert_eq!(heard().len(), n);
            });
        }
    });
    on_finding(None);
    assert_eq!(heard(), [""; 0]);
}

/// While a task's arena is locked no hook runs: one that allocates there would wait for itself.
#[test]
#[cfg_attr(miri, ignore = "starts a program")]
fn a_hook_may_use_the_task_arena_of_the_finding() {
    if std::env::var_os("TOFT_CHECKED").is_none_or(|value| value != "1") {
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_hook_may_use_the_task_arena_of_the_finding"])
            .env("TOFT_CHECKED", "1")
            .output()
            .unwrap();
        assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
        return;
    }
    thread_local!(static TASK: Cell<Option<&'static TaskArena<'static>>> = const { Cell::new(None) });
    let _one = with_hook(|finding| {
        hear(finding);
        assert_eq!(TASK.get().unwrap().alloc_str("allocated"), "allocated");
        hear(finding);
    });
    let mut task = TaskArena::new();
    let p = task.alloc([0u8; 16]).as_mut_ptr();
    task.reset();
    unsafe { p.add(3).write_volatile(1) };
    let task: &TaskArena<'_> = Box::leak(Box::new(task));
    TASK.set(Some(task));
    task.alloc([0u8; 16]); // there again
    on_finding(None);
    assert_eq!(heard().len(), 2);
}

fn checked() -> Arena {
    let arena = Arena::new();
    arena.set_checked(true).unwrap();
    arena
}

/// Blocks of arenas that ended wait for a while, and are looked at before others use them.
#[test]
#[cfg_attr(miri, ignore = "Miri sees itself what is written late")]
fn what_is_written_after_the_end_of_its_arena_is_told() {
    let _one = with_hook(hear);
    let large = std::alloc::Layout::new::<[u8; 100_000]>();
    for at in [-16, 5, 99_999] {
        let arena = checked();
        arena.alloc_layout(large);
        let line = line!() + 1;
        let p = arena.alloc_layout(large).as_ptr();
        arena.alloc_layout(large);
        drop(arena);
        unsafe { p.offset(at).write_volatile(1) };
        assert_eq!(heard(), [""; 0]);
        for _ in 0..4 {
            checked().alloc_layout(large);
        }
        let heard = heard();
        assert_eq!(heard.len(), 1);
        let words = ["late write", &format!("{}:{line}", file!()), "100000"];
        assert!(words.iter().all(|word| heard[0].contains(word)), "{heard:?}");
    }
    on_finding(None);
}

#[test]
fn what_was_written_late_is_told_when_the_arena_ends() {
    let _one = with_hook(hear);
    let arena = checked();
    let mark = arena.mark();
    let p = bytes(&arena);
    unsafe { arena.rewind(mark) }.unwrap();
    unsafe { p.add(3).write_volatile(1) };
    drop(arena);
    on_finding(None);
    let heard = heard();
    assert!(heard.len() == 1 && heard[0].contains("late write"), "{heard:?}");
}
