//! Hooks for findings that use the arena of the finding, panic, cause findings, and replace themselves.
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

/// The hook is global: one test at a time uses it.
fn with_hook(hook: fn(&Finding)) -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    let one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    HEARD.take();
    on_finding(Some(hook));
    one
}

fn record(finding: &Finding) {
    HEARD.with_borrow_mut(|recorded| recorded.push(finding.to_string()));
}

fn recorded() -> Vec<String> {
    HEARD.take()
}

/// A leaked arena, since a hook's reference may outlive any borrow.
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
type Action = fn(&'static Arena) -> bool;

/// Operations that cause one finding each.
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

/// Actions of a hook. `false`: the arena returned memory, which the caller could have used.
const ACTIONS: &[(&str, Action)] = &[
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
    ("replaces itself", |_| on_finding(Some(record)).is_some()),
    ("removes itself", |_| on_finding(None).is_some()),
];

thread_local!(static ACTION: Cell<usize> = const { Cell::new(0) });

fn act(finding: &Finding) {
    record(finding);
    let (name, action) = ACTIONS[ACTION.get()];
    assert!(action(ARENA.get().unwrap()), "{name}");
    record(finding); // not reached if it panics
}

#[test]
fn a_hook_may_use_the_arena_of_the_finding() {
    let _one = with_hook(act);
    for (i, (action, _)) in ACTIONS.iter().enumerate() {
        for (name, kind, operation) in FINDINGS {
            on_finding(Some(act));
            ACTION.set(i);
            let arena = shared();
            let kept = arena.alloc_slice_copy(&[7u8; 100]);
            if *action == "ends a scope" && *kind == "bad free" {
                GUARD.set(Some(arena.scope_guard())); // other operations need an arena without a scope
            }
            operation(arena);
            GUARD.take();
            let recorded = recorded();
            let times = if action.starts_with("panics") { 1 } else { 2 };
            assert_eq!(recorded.len(), times, "{name}, {action}: {recorded:?}");
            assert!(recorded[0].starts_with(kind), "{name}, {action}: {recorded:?}");
            assert_eq!(kept, [7; 100]);
            // The arena is as usable as before.
            arena.set_checked(false).unwrap();
            arena.set_checked(true).unwrap();
            assert_eq!(*arena.alloc(7), 7);
            arena.scope(|inner| assert_eq!(*inner.alloc(7), 7));
            arena.findings();
        }
    }
    on_finding(None);
}

/// The hook runs after the operation: all its effects are visible.
#[test]
fn a_hook_runs_after_the_operation() {
    let _one = with_hook(|finding| {
        record(finding);
        let arena = ARENA.get().unwrap();
        record(&arena.findings()[0]);
        assert_eq!(arena.stats().live, 0);
        record(finding);
    });
    let arena = shared();
    let mark = arena.mark();
    arena.alloc(vec![1]);
    unsafe { arena.rewind(mark) }.unwrap();
    on_finding(None);
    let recorded = recorded();
    assert!(recorded.len() == 3 && recorded[0] == recorded[1], "{recorded:?}");
}

/// The hook is not called for findings that it causes itself; the arena reports them.
#[test]
fn a_hook_that_causes_findings_is_not_called_for_them() {
    let _one = with_hook(|finding| {
        record(finding);
        let other = Arena::new();
        other.set_checked(true).unwrap();
        unsafe { abi::free(other.as_raw(), [0u8; 8].as_mut_ptr(), 8) };
        assert!(matches!(other.findings()[..], [Finding::BadFree { size: 8, .. }]));
        other.alloc(vec![1]);
        drop(other);
        record(finding);
    });
    let arena = shared();
    unsafe { abi::free(arena.as_raw(), [0u8; 24].as_mut_ptr(), 24) };
    unsafe { abi::free(arena.as_raw(), [0u8; 24].as_mut_ptr(), 24) };
    on_finding(None);
    assert_eq!(recorded().len(), 4);
    assert_eq!(arena.findings().len(), 2);
}

/// A hook's panic does not reach the caller, not even during unwinding.
#[test]
fn a_hook_that_panics_while_a_panic_unwinds() {
    let _one = with_hook(|finding| {
        record(finding);
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
    assert_eq!(recorded().len(), 1);
}

/// Each thread's hook is called at once for the thread's own findings.
#[test]
fn each_threads_hook_gets_its_own_findings() {
    let _one = with_hook(record);
    std::thread::scope(|s| {
        for n in 1..=4 {
            s.spawn(move || {
                for _ in 0..n {
                    let arena = Arena::new();
                    arena.set_checked(true).unwrap();
                    arena.alloc(vec![1]);
                }
                assert_eq!(recorded().len(), n);
            });
        }
    });
    on_finding(None);
    assert_eq!(recorded(), [""; 0]);
}

/// The hook does not run while a task's arena is locked: it would deadlock if it allocated there.
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
        record(finding);
        assert_eq!(TASK.get().unwrap().alloc_str("allocated"), "allocated");
        record(finding);
    });
    let mut task = TaskArena::new();
    let p = task.alloc([0u8; 16]).as_mut_ptr();
    task.reset();
    unsafe { p.add(3).write_volatile(1) };
    let task: &TaskArena<'_> = Box::leak(Box::new(task));
    TASK.set(Some(task));
    task.alloc([0u8; 16]); // the arena is available again
    on_finding(None);
    assert_eq!(recorded().len(), 2);
}

fn checked() -> Arena {
    let arena = Arena::new();
    arena.set_checked(true).unwrap();
    arena
}

/// Blocks of released arenas stay in quarantine for a while, and are checked before their reuse.
#[test]
#[cfg_attr(miri, ignore = "Miri reports late writes itself")]
fn writes_after_the_release_are_reported() {
    let _one = with_hook(record);
    let large = std::alloc::Layout::new::<[u8; 100_000]>();
    for at in [-16, 5, 99_999] {
        let arena = checked();
        arena.alloc_layout(large);
        let line = line!() + 1;
        let p = arena.alloc_layout(large).as_ptr();
        arena.alloc_layout(large);
        drop(arena);
        unsafe { p.offset(at).write_volatile(1) };
        assert_eq!(recorded(), [""; 0]);
        for _ in 0..4 {
            checked().alloc_layout(large);
        }
        let recorded = recorded();
        assert_eq!(recorded.len(), 1);
        let words = ["late write", &format!("{}:{line}", file!()), "100000"];
        assert!(words.iter().all(|word| recorded[0].contains(word)), "{recorded:?}");
    }
    on_finding(None);
}

#[test]
fn late_writes_are_reported_at_the_release() {
    let _one = with_hook(record);
    let arena = checked();
    let mark = arena.mark();
    let p = bytes(&arena);
    unsafe { arena.rewind(mark) }.unwrap();
    unsafe { p.add(3).write_volatile(1) };
    drop(arena);
    on_finding(None);
    let recorded = recorded();
    assert!(recorded.len() == 1 && recorded[0].contains("late write"), "{recorded:?}");
}
