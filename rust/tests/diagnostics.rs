//! Findings and reports: each misuse is found once; correct programs give none.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "full")]
#![allow(clippy::undocumented_unsafe_blocks)] // it commits faults on purpose

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::mem::{forget, size_of};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use toft::{abi, AllocError, Arena, Finding, Frames, Options, Owner, Refusal, RewindError, Scope, Source, SwitchError};

const MIRI: bool = cfg!(miri);
const UNINIT_BYTE: u8 = 0xCD;
const FREED_BYTE: u8 = 0xDD;

type SwitchTo = fn(&Arena, bool) -> Result<(), SwitchError>;
type SwitchOn = fn(&Arena) -> Result<(), SwitchError>;

fn checked() -> Arena {
    let arena = Arena::new();
    arena.set_checked(true).unwrap();
    arena
}

fn layout(size: usize, align: usize) -> Layout {
    Layout::from_size_align(size, align).unwrap()
}

/// Findings as lines of this file, with their kind.
fn lines(findings: &[Finding]) -> Vec<(&'static str, u32, usize)> {
    let line = |finding: &Finding| {
        let (kind, site, size) = match finding {
            Finding::Corrupt { site, size, .. } => ("corrupt", site, *size),
            Finding::LateWrite { site, size, .. } => ("late write", site, *size),
            Finding::BadFree { site, size } => ("bad free", site, *size),
            Finding::Leak { site, size } => ("leak", site, *size),
            Finding::OverBudget { site, live, .. } => ("over budget", site, *live as usize),
            other => panic!("{other}"),
        };
        assert!(site.file.is_empty() || site.file.ends_with("diagnostics.rs"), "{site}");
        (kind, site.line, size)
    };
    findings.iter().map(line).collect()
}

fn bytes_at(p: *const u8, n: usize) -> Vec<u8> {
    (0..n).map(|i| unsafe { p.wrapping_add(i).read_volatile() }).collect()
}

// ---- red zones and poison ----

#[test]
fn a_write_to_any_byte_around_an_allocation_is_found() {
    let sizes: &[usize] = if MIRI { &[0, 13] } else { &[0, 1, 7, 8, 13, 16, 100, 5000] };
    let aligns: &[usize] = if MIRI { &[64] } else { &[1, 8, 16, 64, 4096] };
    let mut arena = checked();
    for &size in sizes {
        for &align in aligns {
            let around = (-16..0).chain(size as isize..size.next_multiple_of(8) as isize + 16);
            for offset in around {
                if size == 0 && align <= 8 {
                    continue; // padding, which belongs to no allocation
                }
                let (before, line) = (arena.alloc(1u64) as *const u64, line!() + 1);
                let p = arena.alloc_layout(layout(size, align)).as_ptr();
                let after = arena.alloc(2u64) as *const u64;
                assert_eq!(p.addr() % align, 0);
                assert_eq!(bytes_at(p, size), vec![UNINIT_BYTE; size]);
                unsafe {
                    p.write_bytes(1, size);
                    assert_eq!((*before, *after), (1, 2));
                    p.wrapping_offset(offset).write(1);
                }
                arena.reset();
                let found = arena.findings();
                assert_eq!(lines(&found), [("corrupt", line, size)], "{size} {align} {offset}");
                assert!(matches!(found[0], Finding::Corrupt { offset: at, .. } if at == offset), "{found:?}");
            }
        }
    }
    assert_eq!(arena.findings(), []);
}

#[test]
fn the_first_written_byte_of_each_allocation_is_reported() {
    let mut arena = checked();
    let first = arena.alloc_layout(layout(10, 1)).as_ptr();
    let fine = arena.alloc_layout(layout(10, 1)).as_ptr();
    let second = arena.alloc_layout(layout(10, 1)).as_ptr();
    unsafe {
        first.wrapping_add(12).write(0);
        first.wrapping_add(11).write(0);
        fine.wrapping_add(9).write(0);
        second.wrapping_sub(3).write(0);
    }
    arena.reset();
    let offsets = arena.findings().into_iter().map(|finding| match finding {
        Finding::Corrupt { offset, .. } => offset,
        other => panic!("{other}"),
    });
    assert_eq!(offsets.collect::<Vec<_>>(), [-3, 11]);
}

/// Findings show how many bytes were written, and which; "or more" where the examined bytes end.
#[test]
fn findings_show_what_was_written() {
    let written = |size: usize, at: isize, bytes: &[u8]| {
        let mut arena = checked();
        let p = arena.alloc_layout(layout(size, 1)).as_ptr();
        unsafe { p.wrapping_offset(at).copy_from(bytes.as_ptr(), bytes.len()) };
        arena.reset();
        let [Finding::Corrupt { written, address, .. }] = &arena.findings()[..] else { panic!() };
        assert_eq!((*address, written.bytes.len()), (p.addr(), written.count.min(32)));
        written.to_string()
    };
    assert_eq!(written(16, 16, b"a"), "1 byte \"a\"");
    assert_eq!(written(16, 17, b"a\xFDb"), "3 bytes \"a\\xfdb\"");
    assert_eq!(written(16, 16, &[0xFD, 0xFD, 1]), "1 byte \"\\x01\""); // from the first byte that changed
    assert_eq!(written(16, 16, br#"a"b\c"#), r#"5 bytes "a\"b\\c""#);
    assert_eq!(written(16, 31, b"z"), "1 byte or more \"z\"");
    assert_eq!(written(16, 16, &[b'x'; 16]), "16 bytes or more \"xxxxxxxxxxxxxxxx\"");
    assert_eq!(written(16, -3, b"\n~\x7f"), "3 bytes \"\\x0a~\\x7f\"");
    assert_eq!(written(16, -4, b"abc"), "3 bytes \"abc\"");

    let mut arena = checked();
    let p = arena.alloc_layout(layout(64, 8)).as_ptr();
    arena.reset();
    unsafe { p.add(4).write_bytes(b'y', 33) };
    arena.reset();
    let [Finding::LateWrite { written, offset: 4, size: 64, address, .. }] = &arena.findings()[..] else { panic!() };
    assert_eq!((written.to_string(), *address), (format!("33 bytes \"{}\"...", "y".repeat(32)), p.addr()));
}

#[test]
fn a_finding_is_one_line() {
    let mut site = toft::Site::default();
    site.file = "a folder/\n\u{e9}\t.rs".into();
    site.line = 7;
    assert_eq!(site.to_string(), r"a folder/\x0a\xc3\xa9\x09.rs:7:0");
}

#[test]
fn freed_memory_is_filled() {
    let mut arena = checked();
    let kept = arena.alloc_layout(layout(40, 8)).as_ptr();
    unsafe { kept.write_bytes(7, 40) };
    // A rewind.
    let mark = arena.mark();
    let freed_address = arena.alloc_layout(layout(40, 8)).as_ptr();
    unsafe { arena.rewind(mark) }.unwrap();
    assert_eq!((bytes_at(freed_address, 40), bytes_at(kept, 40)), (vec![FREED_BYTE; 40], vec![7; 40]));
    // The memory of a scope, which belongs to the arena again.
    let freed_address = arena.scope(|inner| inner.alloc_slice_fill(40, 7u8).as_ptr().addr());
    assert_eq!(bytes_at(kept.with_addr(freed_address), 40), vec![FREED_BYTE; 40]);
    let freed_address = {
        let outer = arena.scope_guard();
        let inner = outer.scope_guard();
        inner.alloc_slice_fill(40, 7u8).as_ptr().addr()
    };
    assert_eq!(bytes_at(kept.with_addr(freed_address), 40), vec![FREED_BYTE; 40]);
    // A free, the end of a box, a resize that moved, and a shrink in place.
    let p = arena.alloc_layout(layout(40, 8));
    let q = arena.alloc_layout(layout(40, 8));
    unsafe {
        abi::free(arena.as_raw(), p.as_ptr(), 40);
        q.as_ptr().write_bytes(3, 40);
        let moved = abi::resize(arena.as_raw(), q.as_ptr(), 40, 80, 8).unwrap();
        assert_ne!(moved, q);
        assert_eq!(bytes_at(moved.as_ptr(), 40), vec![3; 40]);
        assert_eq!(bytes_at(moved.as_ptr().wrapping_add(40), 40), vec![UNINIT_BYTE; 40]);
        assert_eq!((bytes_at(p.as_ptr(), 40), bytes_at(q.as_ptr(), 40)), (vec![FREED_BYTE; 40], vec![FREED_BYTE; 40]));
        let same = abi::resize(arena.as_raw(), moved.as_ptr(), 80, 10, 8).unwrap();
        assert_eq!(same, moved);
        same.as_ptr().wrapping_add(10).write(0); // freed by the shrink: a red zone now
    }
    // A reset.
    arena.reset();
    assert_eq!(bytes_at(kept, 40), vec![FREED_BYTE; 40]);
    let found = arena.findings();
    assert!(matches!(found[..], [Finding::Corrupt { size: 10, offset: 10, .. }]), "{found:?}");
}

// ---- invalid frees and marks ----

#[test]
fn late_writes_are_reported_when_the_memory_is_used_again() {
    let mut arena = checked();
    let mark = arena.mark();
    let first = arena.alloc_layout(layout(64, 8)).as_ptr();
    let (second, line) = (arena.alloc_layout(layout(64, 8)).as_ptr(), line!());
    unsafe {
        arena.rewind(mark).unwrap();
        second.add(5).write(1);
    }
    assert_eq!(arena.alloc_layout(layout(64, 8)).as_ptr(), first);
    assert_eq!(arena.findings(), []);
    assert_eq!(arena.alloc_layout(layout(64, 8)).as_ptr(), second);
    let found = arena.findings();
    assert_eq!(lines(&found), [("late write", line, 64)]);
    assert!(matches!(found[0], Finding::LateWrite { offset: 5, .. }), "{found:?}");
    assert!(found[0].to_string().contains(" was written after they were given back: 1 byte \"\\x01\"; "));

    // At a reset; of memory that was freed earlier; and of blocks that are kept.
    let (large, line) = (arena.alloc_layout(layout(20000, 8)).as_ptr(), line!());
    unsafe {
        arena.rewind(mark).unwrap();
        large.add(19999).write(1);
    }
    arena.reset();
    assert_eq!(lines(&arena.findings()), [("late write", line, 20000)]);
    let (p, line) = (arena.alloc_layout(layout(24, 8)).as_ptr(), line!());
    unsafe {
        abi::free(arena.as_raw(), p, 24);
        p.write(1);
    }
    arena.reset();
    assert_eq!(lines(&arena.findings()), [("late write", line, 24)]);

    // A scope may use the same bytes, and so may an arena whose checks ended.
    arena.alloc_slice_fill(5000, 1u8);
    arena.reset();
    arena.scope(|inner| inner.alloc_slice_fill(100, 2u8).len());
    arena.set_checked(false).unwrap();
    arena.alloc_slice_fill(5000, 3u8);
    arena.set_checked(true).unwrap();
    arena.alloc_slice_fill(5000, 4u8);
    arena.reset();
    assert_eq!(arena.findings(), []);
}

#[test]
#[cfg_attr(miri, ignore = "starts a program")]
fn the_environment_variable_checks_every_arena_of_a_process() {
    if std::env::var_os("TOFT_CHECKED").is_some_and(|value| value == "1") {
        for _ in 0..20 {
            let arena = Arena::new(); // the thread's cache holds no unchecked arena
            arena.alloc(1u8);
            assert_eq!(arena.allocations().len(), 1);
        }
        let mut buffer = [std::mem::MaybeUninit::uninit(); 4096];
        let in_buffer = Arena::in_buffer(&mut buffer).unwrap();
        in_buffer.alloc(1u8);
        assert_eq!(in_buffer.allocations().len(), 1);
        let reserved = Options::new().reserve(100_000).create().unwrap();
        let p = reserved.alloc_layout(layout(10, 1)).as_ptr();
        unsafe { p.add(10).write(1) };
        let ended = Arena::new();
        let p = ended.alloc_layout(layout(20, 1)).as_ptr();
        drop(ended);
        unsafe { p.add(7).write(1) }; // reported when the process ends
        return;
    }
    let file = std::env::temp_dir().join(format!("toft_findings_{}", std::process::id()));
    let name = "the_environment_variable_checks_every_arena_of_a_process";
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name])
        .env("TOFT_CHECKED", "1")
        .env("TOFT_FINDINGS", &file)
        .output()
        .unwrap();
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
    let reported = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    let words = [
        "toft: overrun: byte 10 of 10 bytes at 0x",
        &format!(" was written: 1 byte \"\\x01\"; allocated at {}:", file!()),
    ];
    let [first, last] = reported.lines().collect::<Vec<_>>()[..] else { panic!("{reported}") };
    assert!(words.iter().all(|part| first.contains(part)) && first.starts_with(words[0]), "{reported}");
    assert!(first.ends_with(":26"), "{reported}");
    assert!(last.starts_with("toft: late write: byte 7 of 20 bytes at 0x") && last.contains(file!()), "{reported}");
}

#[test]
fn mismatched_frees_and_resizes_are_reported_and_have_no_effect() {
    let mut arena = checked();
    let head = arena.as_raw();
    let p = arena.alloc_layout(layout(24, 8)).as_ptr();
    let outside = Box::leak(Box::new([0u8; 64])).as_mut_ptr();
    unsafe {
        p.write_bytes(9, 24);
        abi::free(head, p, 16);
        assert!(abi::resize(head, p, 32, 100, 8).is_none());
        abi::free(head, outside, 64);
        assert!(abi::resize(head, outside, 64, 65, 8).is_none());
        assert_eq!(bytes_at(p, 24), vec![9; 24]);
        abi::free(head, p, 24);
        abi::free(head, p, 24); // a double free
        assert!(abi::resize(head, p, 24, 8, 8).is_none());
        drop(Box::from_raw(outside.cast::<[u8; 64]>()));
    }
    let found = arena.findings();
    let sizes: Vec<usize> =
        lines(&found).into_iter().map(|(kind, _, size)| (kind == "bad free") as usize * size).collect();
    assert_eq!(sizes, [16, 32, 64, 64, 24, 24]);
    // Resizes record their call site.
    let known: Vec<bool> = lines(&found).into_iter().map(|(_, line, _)| line != 0).collect();
    assert_eq!(known, [false, true, false, true, false, true]);
    arena.reset();
    assert_eq!(arena.findings(), []);
}

/// An allocation of size 0 has no record, so nothing is reported for it.
#[test]
fn a_resize_from_size_0_allocates() {
    let mut arena = checked();
    let head = arena.as_raw();
    arena.alloc(1u64);
    let before = arena.allocations().len();
    unsafe {
        let p = abi::alloc(head, 0).unwrap().as_ptr();
        assert_eq!(abi::resize(head, p, 0, 0, 8).map(NonNull::as_ptr), Some(p));
        let stays = ((*head.as_ref().ops.get()).resize)(head.as_ptr(), p.cast(), 0, 8, 8, abi::STAY, 0);
        assert!(stays.is_null());
        assert_eq!(arena.allocations().len(), before);
        let q = abi::resize(head, p, 0, 24, 64).unwrap().as_ptr();
        assert_eq!((q.addr() % 64, bytes_at(q, 24)), (0, vec![UNINIT_BYTE; 24]));
        assert_eq!(arena.allocations().len(), before + 1);
        q.wrapping_add(24).write(1);
    }
    arena.reset();
    let sizes: Vec<_> = lines(&arena.findings()).into_iter().map(|(kind, _, size)| (kind, size)).collect();
    assert_eq!(sizes, [("corrupt", 24)]);
}

/// Freed memory of a block is examined once more before a scope begins in it, and not again.
#[test]
fn a_block_that_held_allocations_may_hold_a_scope() {
    for late in [false, true] {
        let mut arena = checked();
        let mark = arena.mark();
        let first = arena.scope_guard();
        let line = line!() + 1;
        let p = arena.alloc_layout(layout(100, 8)).as_ptr(); // in a block of 4096 bytes that also holds freed memory
        drop(first);
        unsafe { arena.rewind(mark) }.unwrap();
        if late {
            unsafe { p.wrapping_add(7).write(0) };
        }
        let first = arena.scope_guard();
        let second = arena.scope_guard(); // in that block
        assert!(p.addr().wrapping_sub(second.as_raw().addr().get()) < 4096);
        second.alloc([5u64; 100]);
        drop(second);
        drop(first);
        arena.reset();
        let expected: &[_] = if late { &[("late write", line, 100)] } else { &[] };
        assert_eq!(lines(&arena.findings()), expected);
    }
}

/// Code in another language switches the checks on through the table, and `reset` returns a code if something was
/// found.
#[test]
fn the_table_switches_checks_and_reports_damage() {
    let arena = Arena::new();
    let head = arena.as_raw();
    let table = unsafe { &*head.as_ref().ops.get() };
    let set = |value| unsafe { (table.set)(head.as_ptr(), abi::SET_CHECKED, value, std::ptr::null(), 0) };
    let reset = || unsafe { (table.reset)(head.as_ptr(), abi::KEEP_RECENT, 0) };
    let is_on = || unsafe { head.as_ref() }.epoch.get() & 1 == 1;
    assert_eq!((set(2), is_on()), (abi::EARG, false));
    assert_eq!((set(1), is_on()), (abi::OK, true));
    arena.alloc_layout(layout(10, 1));
    assert_eq!(reset(), abi::OK);
    let p = arena.alloc_layout(layout(10, 1)).as_ptr();
    unsafe { p.wrapping_add(10).write(1) };
    assert_eq!(reset(), abi::ECORRUPT);
    let mark = arena.mark();
    let p = arena.alloc_layout(layout(10, 1)).as_ptr();
    unsafe { arena.rewind(mark) }.unwrap();
    unsafe { p.wrapping_add(3).write(1) }; // freed already
    assert_eq!(reset(), abi::ECORRUPT);
    assert_eq!(reset(), abi::OK); // each fault is reported once
    assert_eq!((set(0), is_on()), (abi::OK, false));
    assert_eq!(arena.findings().len(), 2);
    // A tag may have only a number.
    let tagged = unsafe { (table.set)(head.as_ptr(), abi::SET_TAG, 7, std::ptr::null(), 0) };
    arena.alloc(1u64);
    let live = arena.report().tags.iter().find(|tag| tag.number == Some(7)).map(|tag| tag.live);
    assert_eq!((tagged, live), (abi::OK, Some(8)));
}

/// Allocations that are older than the checks have no red zones, but are filled when freed.
#[test]
fn allocations_older_than_the_checks_are_filled_when_freed() {
    let mut arena = Arena::new();
    let (p, q) = (arena.alloc_layout(layout(100, 8)).as_ptr(), arena.alloc_layout(layout(100, 8)).as_ptr());
    unsafe {
        p.write_bytes(1, 100);
        q.write_bytes(1, 100);
    }
    arena.set_checked(true).unwrap();
    assert_eq!(bytes_at(p, 100), [1; 100]);
    arena.reset();
    assert_eq!((bytes_at(p, 100), bytes_at(q, 100)), (vec![FREED_BYTE; 100], vec![FREED_BYTE; 100]));
}

#[test]
fn uninitialized_memory_is_no_leak() {
    let mut arena = checked();
    arena.alloc_uninit::<String>();
    arena.try_alloc_uninit::<String>().unwrap();
    arena.alloc_uninit_slice::<String>(2);
    arena.try_alloc_uninit_slice::<String>(2).unwrap();
    arena.alloc_zeroed::<String>();
    arena.try_alloc_zeroed::<String>().unwrap();
    arena.alloc_zeroed_slice::<String>(2);
    arena.try_alloc_zeroed_slice::<String>(2).unwrap();
    assert_eq!(arena.allocations().len(), 8);
    arena.reset();
    assert_eq!(arena.findings(), []);
}

/// Freed memory is not examined after the checks ended.
#[test]
fn freed_memory_is_not_examined_after_the_checks_end() {
    let mut arena = checked();
    let mark = arena.mark();
    let p = arena.alloc_layout(layout(100, 8)).as_ptr();
    unsafe { arena.rewind(mark) }.unwrap();
    arena.set_checked(false).unwrap();
    unsafe { p.write_bytes(1, 100) }; // freed, and not examined any more
    arena.set_checked(true).unwrap();
    arena.reset();
    assert_eq!(arena.findings(), []);
}

/// The number of blocks of released checked arenas that wait in quarantine is bounded.
#[test]
fn blocks_in_quarantine_are_bounded() {
    for _ in 0..if MIRI { 2 } else { 40 } {
        let arena = checked();
        arena.alloc_layout(layout(COUNTED - 100, 8));
        let out = OUT.load(Ordering::Relaxed);
        assert!(out < 16, "{out}"); // including those in the thread's cache
    }
}

#[test]
fn frees_of_inner_or_freed_addresses_are_reported() {
    let arena = checked();
    let head = arena.as_raw();
    let p = arena.alloc_layout(layout(64, 8)).as_ptr();
    let mark = arena.mark();
    let freed_address = arena.alloc_layout(layout(64, 8)).as_ptr();
    unsafe {
        arena.rewind(mark).unwrap();
        abi::free(head, p.wrapping_add(8), 8);
        assert!(abi::resize(head, p.wrapping_add(8), 8, 16, 8).is_none());
        abi::free(head, freed_address, 64);
        assert!(abi::resize(head, freed_address, 64, 65, 8).is_none());
    }
    let sizes: Vec<_> = lines(&arena.findings()).into_iter().map(|(kind, _, size)| (kind, size)).collect();
    assert_eq!(sizes, [("bad free", 8), ("bad free", 8), ("bad free", 64), ("bad free", 64)]);
}

#[test]
fn stale_marks_are_refused_exactly() {
    let mut arena = checked();
    let refused = |arena: &Arena, mark| assert_eq!(unsafe { arena.rewind(mark) }, Err(RewindError::Stale));
    let empty = arena.mark();
    arena.alloc(1u64);
    let one = arena.mark();
    arena.alloc(2u64);
    let two = arena.mark();
    unsafe { arena.rewind(two) }.unwrap(); // nothing was allocated after it
    unsafe { arena.rewind(one) }.unwrap();
    refused(&arena, two);
    // An allocation of the same size at the same address does not make the mark valid.
    arena.alloc(3u64);
    refused(&arena, two);
    unsafe { arena.rewind(one) }.unwrap();
    // Nor do large allocations, which have dedicated blocks.
    arena.alloc_layout(layout(1 << 20, 1));
    let large = arena.mark();
    unsafe { arena.rewind(one) }.unwrap();
    refused(&arena, large);
    arena.alloc_layout(layout(1 << 20, 1));
    refused(&arena, large);
    unsafe { arena.rewind(empty) }.unwrap();
    refused(&arena, one);
    unsafe { arena.rewind(empty) }.unwrap();
    let stale = arena.mark();
    arena.alloc(1u8);
    let stale2 = arena.mark();
    arena.reset();
    refused(&arena, stale2);
    arena.alloc(1u8);
    refused(&arena, stale2);
    let _ = stale; // a mark at the start, where a reset leaves the cursor
    let good = arena.mark();
    arena.scope(|inner| inner.alloc(4u8) as *const u8);
    unsafe { arena.rewind(good) }.unwrap();
    assert_eq!(arena.findings(), []);
}

/// Such a mark is at the start of the cursor's range, so a rewind would free the cursor's earlier allocations.
#[test]
fn marks_made_while_a_cursor_is_open_are_refused() {
    let arena = checked();
    for _ in 0..3 {
        let before = arena.mark();
        let mut cursor = arena.cursor();
        let empty = arena.mark();
        let kept = cursor.alloc(1u64);
        let within = arena.mark();
        cursor.alloc(2u64);
        drop(cursor);
        let after = arena.mark();
        arena.alloc(3u64);
        assert_eq!(unsafe { arena.rewind(within) }, Err(RewindError::Stale));
        assert_eq!(*kept, 1);
        unsafe { arena.rewind(after) }.unwrap();
        unsafe { arena.rewind(empty) }.unwrap();
        assert_eq!(unsafe { arena.rewind(within) }, Err(RewindError::Stale));
        unsafe { arena.rewind(before) }.unwrap();
    }
    assert_eq!(arena.findings(), []);
}

/// More stale marks than the arena records individually.
#[test]
fn very_many_stale_marks_are_refused() {
    let arena = checked();
    let mut stale = Vec::new();
    for i in 0..if MIRI { 20 } else { 10_000u32 } {
        arena.alloc(i);
        let good = arena.mark();
        arena.alloc(i);
        stale.push(arena.mark());
        unsafe { arena.rewind(good) }.unwrap();
    }
    let last = arena.alloc(7u64);
    let good = arena.mark();
    arena.alloc(8u64);
    for mark in &stale {
        assert_eq!(unsafe { arena.rewind(*mark) }, Err(RewindError::Stale));
    }
    unsafe { arena.rewind(good) }.unwrap();
    assert_eq!((*last, arena.allocations().len(), arena.findings()), (7, stale.len() + 1, vec![]));
}

#[test]
fn valid_marks_stay_valid() {
    let arena = Arena::new();
    let first = arena.mark();
    let before = arena.alloc_layout(layout(8, 8)).as_ptr();
    unsafe { before.write(1) };
    let early = arena.mark();
    arena.set_checked(true).unwrap();
    arena.alloc(2u64);
    let mark = arena.mark();
    arena.alloc(3u64);
    arena.set_checked(false).unwrap();
    arena.alloc(4u64);
    let unchecked = arena.mark();
    arena.set_checked(true).unwrap();
    arena.alloc(5u64);
    for good in [unchecked, mark, early] {
        unsafe { arena.rewind(good) }.unwrap();
        unsafe { arena.rewind(good) }.unwrap();
        let p = arena.alloc_layout(layout(2000, 1)).as_ptr();
        unsafe { arena.rewind(good) }.unwrap();
        assert_eq!((bytes_at(p, 1)[0], unsafe { *before }), (FREED_BYTE, 1));
        arena.scope(|inner| inner.alloc(1u8) as *const u8);
    }
    unsafe { arena.rewind(first) }.unwrap();
    assert_eq!((arena.stats().live, arena.findings()), (0, vec![]));
}

/// The bytes before the address name a record that does not exist, or that of another allocation.
#[test]
fn a_free_of_bytes_that_look_like_a_red_zone_is_reported() {
    let arena = checked();
    let head = arena.as_raw();
    let word = size_of::<usize>();
    let first = arena.alloc_layout(layout(64, 8)).as_ptr();
    let p = arena.alloc_layout(layout(64, 8)).as_ptr();
    let inside = p.wrapping_add(32);
    for number in [0, 1, 2, 3, usize::MAX] {
        unsafe {
            // The bytes before the first allocation hold the number 0.
            let none = first.wrapping_sub(16).cast::<usize>().read_unaligned();
            p.wrapping_add(16).cast::<usize>().write_unaligned(none ^ number);
            p.wrapping_add(16 + word).cast::<usize>().write_unaligned(none ^ number);
            abi::free(head, inside, 64); // the size of the allocation that the number names
            assert!(abi::resize(head, inside, 64, 8, 8).is_none());
        }
    }
    let kinds: Vec<_> = lines(&arena.findings()).into_iter().map(|(kind, _, size)| (kind, size)).collect();
    assert_eq!(kinds, vec![("bad free", 64); 10]);
    assert_eq!(arena.allocations().len(), 2);
}

/// While a scope is open, freeing an allocation of the arena around it returns no memory; in a checked arena it ends
/// the allocation nevertheless.
#[test]
fn a_free_beside_an_open_scope_ends_the_allocation() {
    for (is_checked, size) in [(false, 64), (false, 1 << 20), (true, 64), (true, 1 << 20)] {
        let arena = Arena::new();
        arena.set_checked(is_checked).unwrap();
        let p = arena.alloc_layout(layout(size, 8)).as_ptr();
        unsafe { p.write_bytes(7, size) };
        let scope = arena.scope_guard();
        let inner = scope.alloc_slice_fill(100, 5u8);
        let before = (arena.stats().live, arena.stats().reserved);
        unsafe { abi::free(arena.as_raw(), p, size) };
        assert_eq!((arena.stats().live, arena.stats().reserved), before);
        assert_eq!(bytes_at(p, size), vec![if is_checked { FREED_BYTE } else { 7 }; size]);
        let other = arena.alloc_layout(layout(size, 8)).as_ptr();
        assert!(other.addr().abs_diff(p.addr()) >= size && inner.iter().all(|x| *x == 5));
        drop(scope);
        unsafe { abi::free(arena.as_raw(), p, size) };
        let sizes: Vec<_> = lines(&arena.findings()).into_iter().map(|(kind, _, size)| (kind, size)).collect();
        assert_eq!(sizes, if is_checked { vec![("bad free", size)] } else { vec![] }); // a double free
        assert_eq!(arena.allocations().len(), is_checked as usize);
    }
}

// ---- leaks ----

struct Noisy(#[allow(dead_code)] Arc<()>);

#[test]
fn leaked_values_are_reported_with_their_call_site() {
    let mut arena = checked();
    let text = || String::from("should be dropped");
    let s = size_of::<String>();
    let mut due: Vec<(&str, u32, usize)> = vec![];
    macro_rules! leaks {
        ($n:expr, $e:expr) => {{
            due.push(("leak", line!(), $n * s));
            let _ = $e;
        }};
    }
    macro_rules! fine {
        ($e:expr) => {{
            let _ = $e;
        }};
    }
    let three = [text(), text(), text()];
    leaks!(1, arena.alloc(text()));
    leaks!(1, arena.try_alloc(text()));
    leaks!(1, arena.alloc_with(text));
    leaks!(1, arena.try_alloc_with(text));
    leaks!(3, arena.alloc_slice_clone(&three));
    leaks!(3, arena.try_alloc_slice_clone(&three));
    leaks!(2, arena.alloc_slice_fill(2, text()));
    leaks!(2, arena.try_alloc_slice_fill(2, text()));
    leaks!(2, arena.alloc_slice_fill_with(2, |_| text()));
    leaks!(2, arena.try_alloc_slice_fill_with(2, |_| text()));
    leaks!(2, arena.alloc_slice_default::<String>(2));
    leaks!(2, arena.try_alloc_slice_default::<String>(2));
    leaks!(3, arena.alloc_slice_from_iter(three.clone()));
    leaks!(3, arena.try_alloc_slice_from_iter(three.clone()));
    leaks!(3, arena.alloc_batch(three.clone()));
    leaks!(3, arena.try_alloc_batch(three.clone()));
    leaks!(2, arena.alloc_batch_with::<String, 2>(|_| text()));
    leaks!(2, arena.try_alloc_batch_with::<String, 2>(|_| text()));
    fine!(arena.alloc(7u64));
    fine!(arena.alloc_str("text"));
    fine!(arena.alloc_slice_copy(&[1, 2, 3]));
    fine!(arena.alloc_uninit::<String>());
    fine!(arena.alloc_zeroed::<u64>());
    fine!(arena.alloc_uninit_slice::<String>(3));
    fine!(arena.alloc_layout(layout(100, 16)));
    fine!(arena.alloc_batch([1, 2, 3]));
    fine!(toft::format_in!(arena, "{} and {}", 1, text()));
    fine!(arena.alloc_drop(text()));
    fine!(arena.alloc_pin(text()));
    fine!(arena.boxed(text()));
    fine!(arena.boxed_slice(three.clone()));
    fine!(arena.boxed_str("text"));
    fine!(toft::Box::leak(arena.boxed(text())));
    fine!(toft::Box::into_inner(arena.boxed(text())));
    fine!(toft::unsize!(arena.boxed(text()) => dyn std::fmt::Debug));
    fine!(arena.alloc_try_with(|| Err::<String, ()>(())).is_err());
    assert_eq!(arena.findings(), []); // live values are no leaks yet
    arena.reset();
    due.reverse(); // newest first
    let mut found = lines(&arena.findings());
    found.iter_mut().zip(&due).for_each(|(f, d)| {
        if f.2 > d.2 {
            f.2 = d.2; // a collected slice may have a larger allocation than its elements need
        }
    });
    assert_eq!(found, due);
}

#[test]
fn leaked_values_of_try_calls_are_reported() {
    let mut arena = checked();
    let line = line!() + 1;
    arena.alloc_try_with(|| Ok::<String, ()>(String::from("x"))).unwrap();
    arena.reset();
    let found = lines(&arena.findings());
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].0, found[0].1), ("leak", line));
}

#[test]
fn values_that_were_not_made_do_not_leak() {
    let mut arena = checked();
    let panicked = |f: &dyn Fn()| assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).is_err());
    std::panic::set_hook(Box::new(|_| ()));
    panicked(&|| _ = arena.alloc_with(|| -> String { panic!() }));
    panicked(&|| _ = arena.boxed_slice((0..3).map(|_| -> String { panic!() })));
    panicked(&|| _ = arena.alloc_slice_from_iter((0..3).map(|_| -> String { panic!() })));
    panicked(&|| _ = arena.alloc_batch_with::<String, 3>(|i| if i < 2 { "x".into() } else { panic!() }));
    let _ = std::panic::take_hook();
    arena.reset();
    assert_eq!(arena.findings(), []);
}

#[test]
fn a_cleanup_that_runs_leaves_no_finding() {
    let shared = Arc::new(());
    let mut arena = checked();
    for _ in 0..3 {
        arena.alloc_drop(Noisy(shared.clone()));
        arena.scope_mut(|inner| {
            inner.alloc_drop(Noisy(shared.clone()));
        });
        let scope = arena.scope_guard();
        let local = 3;
        scope.alloc_drop((Noisy(shared.clone()), &local));
        drop(scope);
    }
    assert_eq!(Arc::strong_count(&shared), 4);
    assert_eq!(arena.report().count(), 9); // the arena's own records are not counted as allocations
    arena.reset();
    assert_eq!((Arc::strong_count(&shared), arena.findings()), (1, vec![]));
}

// ---- everything works in checked arenas ----

#[cfg(feature = "allocator-api2")]
fn fill_collections(arena: &Arena, n: usize) {
    let mut vec = allocator_api2::vec::Vec::new_in(arena);
    let mut strings = allocator_api2::vec::Vec::new_in(arena);
    let mut ours = arena.vec();
    let mut text = arena.string();
    for i in 0..n {
        vec.push(i);
        ours.push(i);
        strings.push(i.to_string());
        text.push_str("letters ");
        if i % 100 == 99 {
            vec.shrink_to_fit();
            ours.shrink_to_fit();
        }
    }
    let boxes: allocator_api2::vec::Vec<_, &Arena> = {
        let mut boxes = allocator_api2::vec::Vec::with_capacity_in(n, arena);
        boxes.extend((0..n).map(|i| allocator_api2::boxed::Box::new_in(i, arena)));
        boxes
    };
    assert!(vec.iter().zip(&ours).zip(&boxes).enumerate().all(|(i, ((a, b), c))| i == *a && i == *b && i == **c));
    assert!(strings.iter().enumerate().all(|(i, s)| *s == i.to_string()));
    assert_eq!(text.len(), n * 8);
    #[cfg(feature = "hashbrown")]
    {
        let mut map = arena.map();
        for i in 0..n {
            map.insert(i, i.to_string());
        }
        map.retain(|i, _| i % 3 == 0);
        map.shrink_to_fit();
        assert!((0..n).all(|i| map.get(&i).is_some() == (i % 3 == 0)));
    }
}

#[cfg(feature = "allocator-api2")]
#[test]
fn collections_grow_and_shrink_in_checked_arenas() {
    let mut arena = checked();
    for _ in 0..3 {
        fill_collections(&arena, if MIRI { 30 } else { 1000 });
        arena.scope(|inner| fill_collections(inner, if MIRI { 10 } else { 300 }));
        arena.reset();
        assert_eq!(arena.findings(), []);
        assert_eq!(arena.stats().live, 0);
    }
}

#[cfg(feature = "allocator-api2")]
#[test]
fn outer_collections_grow_while_a_checked_scope_is_open() {
    let mut arena = checked();
    let mut outer = allocator_api2::vec::Vec::new_in(&arena);
    for round in 0..if MIRI { 3 } else { 50u64 } {
        arena.scope(|inner| {
            let mut mine = allocator_api2::vec::Vec::new_in(inner);
            for i in 0..40u64 {
                outer.push(round * 40 + i);
                mine.push(i);
            }
            assert!(mine.iter().zip(0..).all(|(a, b)| *a == b));
        });
    }
    assert!(outer.iter().zip(0..).all(|(a, b)| *a == b));
    drop(outer);
    arena.reset();
    assert_eq!((arena.findings(), arena.stats().live), (vec![], 0));
}

#[cfg(feature = "allocator-api2")]
#[test]
fn allocations_beside_an_open_scope_are_recorded() {
    let mut arena = checked();
    arena.alloc_slice_fill(3000, 1u8);
    let scope = arena.scope_guard();
    let aside = arena.alloc_layout(layout(100, 8)).as_ptr();
    let mut vec = allocator_api2::vec::Vec::with_capacity_in(3, &arena);
    vec.extend([1u64, 2, 3, 4, 5]);
    drop(scope); // a free has no effect while it is open
    unsafe {
        abi::free(arena.as_raw(), aside, 100);
        abi::free(arena.as_raw(), aside, 100);
        aside.wrapping_add(100).write(0);
    }
    assert_eq!(bytes_at(aside, 100), vec![FREED_BYTE; 100]);
    assert_eq!(*vec, [1, 2, 3, 4, 5]);
    drop(vec);
    assert_eq!(arena.allocations().len(), 1);
    arena.reset();
    let found = arena.findings();
    let kinds: Vec<_> = lines(&found).into_iter().map(|(kind, _, size)| (kind, size)).collect();
    assert_eq!(kinds, [("bad free", 100), ("corrupt", 100)]);
}

#[test]
fn cursors_and_packs_work_in_checked_arenas() {
    let mut arena = checked();
    for _ in 0..3 {
        let mut cursor = arena.cursor();
        let squares: Vec<&mut u64> = (0..100u64).map(|i| cursor.alloc(i * i)).collect();
        let other = arena.alloc(5u64);
        drop(cursor);
        let pack = arena.pack();
        let words: Vec<&mut str> = (0..100).map(|i| pack.alloc_str(&format!("word {i}"))).collect();
        let empty = pack.alloc_str("");
        assert!(squares.iter().enumerate().all(|(i, s)| **s == (i * i) as u64));
        assert!(words.iter().enumerate().all(|(i, w)| **w == *format!("word {i}")));
        assert_eq!((*other, &*empty), (5, ""));
        arena.reset();
        assert_eq!((arena.findings(), arena.stats().live), (vec![], 0));
    }
}

/// Allocations beside a cursor share one block, also while a meter counts them.
#[test]
fn a_metered_arena_allocates_beside_a_cursor() {
    let mut arena = Arena::new();
    arena.set_metered(true).unwrap();
    for _ in 0..2 {
        let mut cursor = arena.cursor();
        cursor.alloc(1u64);
        let beside: Vec<&mut [u8; 24]> = (0..3).map(|i| arena.alloc([i; 24])).collect();
        assert!(beside.iter().enumerate().all(|(i, b)| **b == [i as u8; 24]));
        drop(cursor);
        assert_eq!(arena.stats().live, 8 + 3 * 24);
        arena.reset();
    }
}

#[test]
fn scopes_end_in_any_order() {
    let mut arena = checked();
    let orders = [[0, 2, 1], [2, 1, 0], [0, 1, 2], [1, 0, 2], [1, 2, 0], [2, 0, 1]];
    for order in orders.into_iter().take(if MIRI { 2 } else { 6 }) {
        let mut scopes = [0; 3].map(|_| Some(arena.scope_guard()));
        let values: Vec<*mut u8> =
            scopes.iter().flatten().map(|scope| scope.alloc_layout(layout(8, 8)).as_ptr()).collect();
        let p = arena.alloc_layout(layout(10, 1)).as_ptr(); // in the outer arena, while all are open
        for (k, i) in order.into_iter().enumerate() {
            scopes[i].as_ref().unwrap().alloc_layout(layout(100_000, 1));
            unsafe { values[i].wrapping_add(8 + k).write(0) };
            scopes[i] = None;
            let found = arena.findings();
            assert!(matches!(found[..], [Finding::Corrupt { size: 8, offset, .. }] if offset == 8 + k as isize));
        }
        unsafe { p.wrapping_add(10).write(0) };
        drop(scopes);
        arena.reset();
        assert!(matches!(arena.findings()[..], [Finding::Corrupt { size: 10, offset: 10, .. }]));
    }
}

#[test]
fn leaked_guards_end_with_a_reset_and_are_reported() {
    let mut arena = checked();
    let scope = arena.scope_guard();
    let line = line!() + 1;
    scope.alloc(String::from("lost"));
    let inner = scope.scope_guard();
    inner.alloc(String::from("lost"));
    forget(inner);
    forget(scope);
    forget(arena.cursor());
    arena.alloc(1u64);
    assert_eq!(arena.set_checked(false), Err(SwitchError::Busy));
    arena.reset();
    let mut found = lines(&arena.findings());
    found.sort();
    assert_eq!(found, [("leak", line, size_of::<String>()), ("leak", line + 2, size_of::<String>())]);
    assert_eq!((arena.stats().live, arena.set_checked(false)), (0, Ok(())));
    // The arena may be dropped with the leaked guards, too.
    arena.set_checked(true).unwrap();
    let scope = arena.scope_guard();
    scope.alloc_drop(String::from("dropped, or leaked with its scope"));
    forget(scope);
}

toft::root!(struct Words => Vec<&'a str>);

#[test]
fn an_owner_may_have_a_checked_arena() {
    let owner = Owner::<Words>::new(checked(), |arena| (0..10).map(|i| &*toft::format_in!(arena, "{i}")).collect());
    assert_eq!(owner.with(|words| words.concat()), "0123456789");
    let mut arena = owner.into_arena();
    arena.reset();
    assert_eq!(arena.findings(), []);
}

// ---- switching ----

#[cfg(feature = "allocator-api2")]
#[test]
fn checks_are_switched_while_allocations_are_live() {
    let mut arena = Arena::new();
    let early = arena.alloc([7u64; 4]) as *mut [u64; 4];
    let (text, boxed) = (arena.alloc_str("before"), arena.boxed(String::from("before")));
    let mark = arena.mark();
    let mut vec = allocator_api2::vec::Vec::new_in(&arena);
    vec.extend(0..100u32);
    let many = if MIRI { 10 } else { 1000u32 };
    let mut large = allocator_api2::vec::Vec::with_capacity_in(if MIRI { 1 << 13 } else { 1 << 20 }, &arena);
    large.extend(0..1000u32);
    for round in 0..4 {
        arena.set_checked(round % 2 == 0).unwrap();
        vec.extend(0..many * (round + 1));
        large.extend(0..many << 9);
        let live = arena.allocations();
        assert!(live.iter().all(|a| a.size != 32), "older allocations are not recorded");
    }
    arena.set_checked(true).unwrap();
    vec.shrink_to_fit();
    let (short, long) = (vec.len(), large.len());
    assert_eq!((short, long), (100 + 10 * many as usize, 1000 + ((many as usize) << 11)));
    drop((vec, large, boxed));
    assert_eq!((unsafe { *early }, &*text), ([7; 4], "before"));
    unsafe { arena.rewind(mark) }.unwrap();
    assert_eq!((unsafe { *early }, arena.findings()), ([7; 4], vec![]));
    arena.reset();
    assert_eq!((arena.findings(), arena.stats().live), (vec![], 0));
}

#[test]
fn live_allocations_are_unchanged_when_the_checks_end() {
    struct Recorded(Arc<AtomicU64>);
    impl Drop for Recorded {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let ended = Arc::new(AtomicU64::new(0));
    let mut arena = checked();
    let number = arena.alloc(7u64) as *const u64;
    let text = arena.alloc(String::from("lives")) as *mut String;
    arena.alloc_drop(Recorded(ended.clone()));
    let short = arena.alloc_layout(layout(10, 1)).as_ptr();
    unsafe { short.add(10).write(0) };
    arena.set_checked(false).unwrap();
    assert!(matches!(arena.findings()[..], [Finding::Corrupt { size: 10, offset: 10, .. }]));
    assert_eq!((unsafe { *number }, unsafe { &**text }, ended.load(Ordering::Relaxed)), (7, "lives", 0));
    unsafe { text.drop_in_place() };
    arena.reset();
    assert_eq!((arena.findings(), ended.load(Ordering::Relaxed)), (vec![], 1));
}

#[test]
fn resizes_of_allocations_older_than_the_checks_keep_the_rules() {
    let arena = Arena::new();
    let (head, p) = (arena.as_raw(), arena.alloc_layout(layout(64, 8)));
    unsafe { p.write_bytes(7, 64) };
    arena.set_checked(true).unwrap();
    arena.set_budget(Some(arena.stats().live)).unwrap();
    let resize = |p: NonNull<u8>, old, new, align, flags| unsafe {
        let ops = &*head.as_ref().ops.get();
        NonNull::new((ops.resize)(head.as_ptr(), p.as_ptr().cast(), old, new, align, flags, 0).cast::<u8>())
    };
    assert_eq!(resize(p, 64, 40, 8, 0), Some(p)); // costs nothing
    assert_eq!(resize(p, 40, 40, 8, abi::STAY), Some(p));
    assert_eq!(resize(p, 40, 41, 8, 0), None);
    arena.set_budget(None).unwrap();
    assert_eq!(resize(p, 40, 41, 8, abi::STAY), None);
    let q = resize(p, 40, 100, 8, 0).unwrap();
    assert!(q != p && bytes_at(q.as_ptr(), 40) == [7; 40]);
    assert_eq!((resize(q, 100, 101, 8, abi::STAY), resize(q, 100, 9, 8, abi::STAY)), (None, Some(q)));
    assert_eq!(arena.findings(), []);
}

#[test]
fn the_checks_of_frames_end_while_values_live() {
    let ended = Arc::new(());
    let mut frames = Frames::new();
    frames.set_checked(true).unwrap();
    frames.here().alloc_drop(ended.clone());
    frames.set_checked(false).unwrap();
    assert_eq!(Arc::strong_count(&ended), 2);
    (0..3).for_each(|_| frames.advance());
    assert_eq!(Arc::strong_count(&ended), 1);
}

#[test]
fn an_arena_without_checks_has_no_red_zones() {
    let mut arena = Arena::new();
    arena.alloc([0u8; 100]);
    let end = |arena: &Arena| unsafe { (*arena.as_raw().as_ptr()).limit.get().addr() };
    let watched = |arena: &Arena| unsafe { (*arena.as_raw().as_ptr()).epoch.get() & 1 == 1 };
    let held = |arena: &Arena| {
        let stats = arena.stats();
        (stats.live, stats.reserved, stats.blocks, stats.budget)
    };
    let (limit, stats) = (end(&arena), held(&arena));
    let all: [SwitchTo; 5] = [
        |arena, on| arena.set_checked(on),
        |arena, on| arena.set_metered(on),
        |arena, on| arena.set_sampling(on as u64 * 64),
        |arena, on| arena.set_soft_budget(on.then_some(1000)),
        |arena, on| [Arena::set_checked, Arena::set_metered].iter().try_for_each(|set| set(arena, on)),
    ];
    for (k, set) in all.into_iter().enumerate() {
        set(&arena, true).unwrap();
        assert!(watched(&arena), "{k}");
        set(&arena, false).unwrap();
        assert_eq!((end(&arena), watched(&arena), held(&arena)), (limit, false, stats), "{k}");
        set(&arena, true).unwrap();
        let mark = arena.mark();
        arena.scope(|inner| inner.alloc_slice_fill(1000, 0u8).len());
        arena.alloc([0u8; 100]);
        unsafe { arena.rewind(mark) }.unwrap();
        set(&arena, false).unwrap();
        assert_eq!((end(&arena), watched(&arena), held(&arena)), (limit, false, stats), "{k}");
        let before = unsafe { (*arena.as_raw().as_ptr()).cursor.get().addr() };
        let p = arena.alloc(1u64) as *const u64;
        assert_eq!(p.addr(), before, "no red zones, {k}");
        unsafe { arena.rewind(mark) }.unwrap_or_default();
    }
    arena.reset();
    assert_eq!((watched(&arena), arena.stats().live), (false, 0));
}

#[test]
fn switches_are_refused_while_something_is_open() {
    let arena = Arena::new();
    let all = |arena: &Arena| {
        let ask = |_: Refusal| None;
        [
            arena.set_checked(true),
            arena.set_metered(true),
            arena.set_sampling(100),
            arena.set_soft_budget(Some(1)),
            arena.set_tag_budget("x", Some(1)),
            arena.on_refusal(ask),
        ]
    };
    let scope = arena.scope_guard();
    assert_eq!(all(&arena), [Err(SwitchError::Busy); 6]);
    drop(scope);
    let cursor = arena.cursor();
    assert_eq!(all(&arena), [Err(SwitchError::Busy); 6]);
    drop(cursor);
    assert_eq!(arena.report().count(), 0);
    assert_eq!(all(&arena), [Ok(()); 6]);
}

// ---- threads ----

#[test]
fn use_by_another_thread_is_refused_and_reported() {
    struct Raw(NonNull<abi::Head>);
    unsafe impl Send for Raw {}
    let mut frames = Frames::new();
    frames.set_checked(true).unwrap();
    let arena = frames.here();
    let mine = arena.alloc(7u64);
    let raw = Raw(arena.as_raw());
    let got = std::thread::spawn(move || {
        let raw = raw;
        unsafe {
            let small = abi::alloc(raw.0, 8).is_some();
            let aligned = abi::alloc_aligned(raw.0, 8, 64).is_some();
            let grown = abi::resize(raw.0, std::ptr::null_mut(), 0, 8, 8).is_some();
            small || aligned || grown
        }
    });
    assert!(!got.join().unwrap());
    assert_eq!(*mine, 7);
    arena.alloc(8u64);
    frames.advance();
    assert_eq!(frames.summary().unwrap().findings, [Finding::WrongThread { calls: 3 }]);
    frames.set_checked(false).unwrap();
    let raw = Raw(frames.here().as_raw());
    let got = std::thread::spawn(move || unsafe { abi::alloc({ raw }.0, 8).is_some() });
    assert!(got.join().unwrap(), "checks are off");
}

#[test]
fn later_threads_get_checked_arenas() {
    let mut frames = Frames::new();
    frames.set_checked(true).unwrap();
    for _ in 0..3 {
        let line = line!() + 4;
        std::thread::scope(|threads| {
            for i in 0..4u64 {
                let frames = &frames;
                threads.spawn(move || [i; 3].map(|i| frames.here().alloc(vec![i])).len());
            }
        });
        frames.advance();
        let summary = frames.summary().unwrap();
        assert_eq!(
            (summary.report.count(), lines(&summary.findings)),
            (12, vec![("leak", line, size_of::<Vec<u64>>()); 12])
        );
    }
}

// ---- many allocations, and bounds ----

/// So many that the test would not end if each step visited all of them. Fewer under Miri, and with `TOFT_SHORT`
/// (Valgrind).
fn very_many() -> usize {
    if MIRI {
        50
    } else if std::env::var_os("TOFT_SHORT").is_some() {
        2000
    } else {
        300_000
    }
}

#[test]
fn very_many_allocations_are_freed_in_any_order() {
    let n = very_many();
    let arena = checked();
    let all: Vec<_> = (0..n).map(|i| (arena.alloc_layout(layout(i % 64 + 1, 8)).as_ptr(), i % 64 + 1)).collect();
    for turn in [0, 1, 2] {
        for (k, (p, size)) in all.iter().enumerate().filter(|(k, _)| (k * 7) % 3 == turn) {
            assert_eq!(bytes_at(*p, 1), [UNINIT_BYTE], "{k}");
            unsafe { abi::free(arena.as_raw(), *p, *size) };
        }
    }
    assert_eq!((arena.findings(), arena.allocations().len()), (vec![], 0));
}

#[test]
fn marks_among_very_many_allocations() {
    let n = very_many();
    let arena = checked();
    for i in 0..n {
        arena.alloc(i);
        let mark = arena.mark();
        arena.alloc(i);
        unsafe { arena.rewind(mark) }.unwrap();
    }
    assert_eq!((arena.findings(), arena.allocations().len()), (vec![], n));
}

#[cfg_attr(miri, ignore)] // slow
#[test]
fn findings_are_bounded() {
    let (mut arena, lost) = (checked(), Arc::new(()));
    for _ in 0..1234 {
        arena.alloc(Noisy(lost.clone()));
    }
    arena.reset();
    let found = arena.findings();
    assert_eq!((found.len(), found.last()), (1001, Some(&Finding::Lost { count: 234 })));
    assert_eq!(arena.findings(), []);
    arena.alloc(String::from("lost"));
    arena.reset();
    assert_eq!(arena.findings().len(), 1);
}

#[test]
fn live_allocations_are_listed() {
    let arena = checked();
    let line = line!() + 1;
    let first = arena.alloc_layout(layout(3, 1));
    let freed = arena.alloc_layout(layout(4, 1));
    unsafe { abi::free(arena.as_raw(), freed.as_ptr(), 4) };
    let scope = arena.scope_guard();
    let second = scope.alloc_layout(layout(5, 64));
    let all: Vec<_> = arena.allocations().into_iter().map(|a| (a.at, a.size, a.site.line)).collect();
    assert_eq!(all, [(first.as_ptr() as *const u8, 3, line), (second.as_ptr() as *const u8, 5, line + 4)]);
    drop(scope);
    assert_eq!(arena.allocations().len(), 1);
}

// ---- refusal handlers ----

#[test]
fn the_refusal_handler_runs_only_when_the_budget_is_exceeded() {
    let refusals = Arc::new(Mutex::new(vec![]));
    let arena = Options::new().budget(64).create().unwrap();
    let log = refusals.clone();
    arena
        .on_refusal(move |refusal| {
            log.lock().unwrap().push((refusal.live, refusal.budget, refusal.size));
            (refusal.size <= 32).then_some(refusal.live + 32)
        })
        .unwrap();
    let take = || std::mem::take(&mut *refusals.lock().unwrap());
    arena.alloc([0u8; 64]);
    assert_eq!(take(), []);
    arena.alloc_slice_fill(0, 0u64);
    assert_eq!(take(), []); // costs nothing
    assert!(arena.try_alloc([0u8; 40]).is_err());
    assert_eq!(take(), [(64, 64, 40)]);
    arena.alloc([0u8; 20]);
    assert_eq!((take(), arena.stats().budget), (vec![(64, 64, 20)], 96));
    arena.alloc([0u8; 8]);
    assert_eq!(take(), []);
    // A request larger than the address space is not a matter of budgets.
    assert!(arena.try_alloc_uninit_slice::<u64>(usize::MAX / 8).is_err());
    assert_eq!(take(), []);
    // A resize that cannot grow in place calls the handler as well.
    arena.set_budget(Some(104)).unwrap();
    let p = arena.alloc([0u8; 8]).as_mut_ptr();
    assert_eq!(take(), []);
    let q = unsafe { abi::resize(arena.as_raw(), p, 8, 16, 8) };
    assert!(q.is_some());
    assert_eq!(take(), [(104, 104, 16)]);
}

/// Live bytes, the budget and the size of each refusal.
type Refusals = Arc<Mutex<Vec<(u64, u64, usize)>>>;

fn refusals_of(budget: u64, decide: fn(Refusal) -> Option<u64>) -> (Arena, Refusals) {
    let refusals = Arc::new(Mutex::new(vec![]));
    let arena = Options::new().budget(budget).create().unwrap();
    let log = refusals.clone();
    let ask = move |refusal: Refusal| {
        log.lock().unwrap().push((refusal.live, refusal.budget, refusal.size));
        decide(refusal)
    };
    arena.on_refusal(ask).unwrap();
    (arena, refusals)
}

#[test]
fn the_refusal_handler_sees_bytes_of_red_zones() {
    let (arena, refusals) = refusals_of(100, |refusal| Some(refusal.live + 200));
    arena.set_checked(true).unwrap();
    assert!(arena.try_alloc([0u8; 64]).is_ok());
    assert_eq!(*refusals.lock().unwrap(), []);
    assert!(arena.try_alloc([0u8; 1]).is_ok());
    assert_eq!(*refusals.lock().unwrap(), [(96, 100, 1)]);
    assert!(arena.try_alloc_layout(layout(usize::MAX / 4, 1)).is_err());
    assert_eq!(refusals.lock().unwrap().len(), 1);
}

#[test]
fn the_refusal_handler_sees_bytes_of_padding() {
    let (arena, refusals) = refusals_of(1000, |refusal| Some(refusal.budget + 100));
    arena.alloc([0u8; 944]);
    assert!(arena.try_alloc_layout(layout(48, 64)).is_ok()); // 16 bytes of padding in front of it
    assert_eq!(*refusals.lock().unwrap(), [(944, 1000, 48)]);
    assert_eq!(arena.stats().live, 1008);
}

#[test]
fn the_refusal_handler_in_a_scope_sees_the_exceeded_budget() {
    let (arena, refusals) = refusals_of(1000, |refusal| Some(refusal.live + 600));
    arena.scope(|outer| {
        assert!(outer.try_alloc([0u8; 600]).is_ok());
        outer.scope(|inner| {
            assert!(inner.try_alloc([0u8; 600]).is_ok());
            assert_eq!((inner.stats().budget, outer.stats().budget), (u64::MAX, u64::MAX));
            inner.set_budget(Some(700)).unwrap();
            assert!(inner.try_alloc([0u8; 400]).is_ok()); // two budgets, the inner one first
            assert_eq!((inner.stats().budget, outer.stats().budget), (1200, u64::MAX));
        });
        assert!(outer.try_alloc([0u8; 600]).is_ok());
    });
    assert_eq!(*refusals.lock().unwrap(), [(600, 1000, 600), (600, 700, 400), (1200, 1200, 400)]);
    assert_eq!((arena.stats().live, arena.stats().budget), (0, 1800));
}

#[test]
fn the_refusal_handler_runs_before_a_destructor_is_refused() {
    const NODE: usize = 4 * size_of::<usize>();
    let (arena, refusals) = refusals_of(0, |refusal| Some(refusal.budget + NODE as u64));
    assert_eq!(*arena.try_alloc_drop(vec![1]).unwrap(), [1]);
    assert_eq!(*refusals.lock().unwrap(), [(0, 0, NODE), (NODE as u64, NODE as u64, size_of::<Vec<i32>>())]);
    let (arena, _) = refusals_of(0, |_| None);
    assert!(arena.try_alloc_drop(vec![1]).is_err());
    assert_eq!(arena.stats().live, 0);
}

#[test]
fn a_refusal_handler_in_a_scope_does_not_allocate_in_the_outer_arena() {
    thread_local!(static ARENA: *mut Arena = Box::into_raw(Box::new(Options::new().budget(64).create().unwrap())));
    static SEEN: AtomicU64 = AtomicU64::new(0);
    let arena = unsafe { &*ARENA.with(|arena| *arena) };
    arena
        .on_refusal(|refusal| {
            let arena = unsafe { &*ARENA.with(|arena| *arena) };
            assert_eq!((arena.stats().live, arena.report().stats.budget), (refusal.live, refusal.budget));
            assert!(arena.try_alloc(1u8).is_err() && arena.try_scope_guard().is_err());
            SEEN.fetch_add(1, Ordering::Relaxed);
            Some(refusal.budget + 64)
        })
        .unwrap();
    arena.scope(|outer| {
        outer.alloc([0u8; 64]);
        assert!(outer.scope(|inner| inner.try_alloc([0u8; 64]).is_ok()));
    });
    assert_eq!((SEEN.load(Ordering::Relaxed), arena.stats().budget), (1, 128));
    arena.alloc([0u8; 128]);
    drop(unsafe { Box::from_raw(ARENA.with(|arena| *arena)) });
}

#[test]
fn a_refusal_handler_may_panic_read_and_be_replaced_but_not_allocate() {
    thread_local!(static ARENA: *mut Arena = Box::into_raw(Box::new(Options::new().budget(64).create().unwrap())));
    let arena = unsafe { &*ARENA.with(|arena| *arena) };
    static SEEN: AtomicU64 = AtomicU64::new(0);
    arena
        .on_refusal(|refusal| {
            let arena = unsafe { &*ARENA.with(|arena| *arena) };
            assert_eq!((arena.stats().live, arena.report().stats.budget), (refusal.live, refusal.budget));
            assert!(arena.findings().is_empty() && arena.allocations().is_empty());
            assert!(arena.try_alloc(1u8).is_err());
            assert!(arena.try_alloc_drop(String::new()).is_err());
            assert!(arena.try_scope_guard().is_err());
            assert_eq!(arena.set_checked(true), Err(SwitchError::Busy));
            assert_eq!(arena.on_refusal(|_| None), Err(SwitchError::Busy));
            assert!(arena.set_budget(Some(1 << 20)).is_err());
            SEEN.fetch_add(1, Ordering::Relaxed);
            None
        })
        .unwrap();
    arena.alloc([0u8; 64]);
    assert!(arena.try_alloc(1u8).is_err());
    assert_eq!(SEEN.load(Ordering::Relaxed), 1);
    std::panic::set_hook(Box::new(|_| ()));
    arena.on_refusal(|_| panic!("no")).unwrap();
    assert!(arena.try_alloc(1u8).is_err());
    let _ = std::panic::take_hook();
    arena.on_refusal(|refusal| Some(refusal.budget)).unwrap(); // not more than before
    assert!(arena.try_alloc(1u8).is_err());
    arena.on_refusal(|refusal| Some(refusal.budget + 1)).unwrap(); // too little
    assert!(arena.try_alloc(1u8).is_err());
    arena.on_refusal(|_| Some(u64::MAX)).unwrap();
    arena.alloc([0u8; 1000]);
    drop(unsafe { Box::from_raw(ARENA.with(|arena| *arena)) });
}

/// Through a scope of the arena, which shares the handler, and is not closed while the handler runs.
#[test]
fn a_refusal_handler_may_replace_itself_while_it_runs() {
    struct Counts(&'static AtomicU64);
    impl Drop for Counts {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    static ENDED: AtomicU64 = AtomicU64::new(0);
    thread_local!(static INNER: Cell<Option<NonNull<abi::Head>>> = const { Cell::new(None) });
    let arena = Options::new().budget(1000).create().unwrap();
    let counts = Counts(&ENDED);
    arena
        .on_refusal(move |_| {
            let inner = unsafe { Arena::borrow_raw(INNER.get().unwrap()) }.unwrap();
            inner.on_refusal(|refusal| Some(refusal.budget * 2)).unwrap();
            let whole = &counts; // the handler that runs is kept until it returns
            assert_eq!(whole.0.load(Ordering::Relaxed), 0);
            None
        })
        .unwrap();
    let scope = arena.scope_guard();
    INNER.set(Some(scope.as_raw()));
    assert!(arena.try_alloc([0u8; 1001]).is_err());
    assert_eq!((ENDED.load(Ordering::Relaxed), arena.stats().budget), (1, 1000));
    assert!(arena.try_alloc([0u8; 1001]).is_ok());
    assert_eq!((ENDED.load(Ordering::Relaxed), arena.stats().budget), (1, 2000));
}

#[test]
fn a_refusal_handler_that_is_dropped_may_use_the_arena() {
    thread_local!(static ARENA: *mut Arena = Box::into_raw(Box::new(Options::new().budget(1 << 20).create().unwrap())));
    struct Uses;
    impl Drop for Uses {
        fn drop(&mut self) {
            ARENA.with(|arena| _ = unsafe { &**arena }.try_alloc([1u8; 1000]).map(|x| x.len()));
        }
    }
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            ARENA.with(|arena| _ = unsafe { &**arena }.try_alloc([1u8; 10]).map(|x| x.len()));
            panic!("a destructor");
        }
    }
    fn raise(uses: &dyn std::any::Any, refusal: Refusal) -> Option<u64> {
        let _ = uses;
        Some(refusal.budget * 2)
    }
    let arena = unsafe { &*ARENA.with(|arena| *arena) };
    let uses = Uses;
    arena.on_refusal(move |refusal| raise(&uses, refusal)).unwrap();
    let panics = Panics;
    arena.on_refusal(move |refusal| raise(&panics, refusal)).unwrap();
    assert_eq!(arena.stats().live, 1000);
    std::panic::set_hook(Box::new(|_| ()));
    let r = std::panic::catch_unwind(|| ARENA.with(|arena| unsafe { &**arena }.on_refusal(|_| None)));
    let _ = std::panic::take_hook();
    assert!(r.is_err());
    assert_eq!(arena.stats().live, 1016);
    arena.set_budget(Some(1016)).unwrap();
    assert!(arena.try_alloc(1u8).is_err(), "the new decision is in force");
    drop(unsafe { Box::from_raw(ARENA.with(|arena| *arena)) });
}

// ---- no memory ----

/// The global allocator, which refuses requests of a thread that switched this on.
struct Refusing;

thread_local!(static LEFT: Cell<usize> = const { Cell::new(usize::MAX) });

/// A block size that one test uses, and the number of such blocks that are allocated.
const COUNTED: usize = 98 * 4096;
static OUT: AtomicU64 = AtomicU64::new(0);

unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match LEFT.try_with(Cell::get).unwrap_or(usize::MAX) {
            usize::MAX => {}
            0 => return std::ptr::null_mut(),
            n => LEFT.with(|left| left.set(n - 1)),
        }
        OUT.fetch_add((layout.size() == COUNTED) as u64, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        OUT.fetch_sub((layout.size() == COUNTED) as u64, Ordering::Relaxed);
        unsafe { System.dealloc(p, layout) }
    }
}

#[global_allocator]
static GLOBAL: Refusing = Refusing;

fn without_memory<R>(f: impl FnOnce() -> R) -> R {
    after_allocations(0, f)
}

/// Calls `f` while the global allocator serves `n` requests of this thread and no more.
fn after_allocations<R>(n: usize, f: impl FnOnce() -> R) -> R {
    LEFT.set(n);
    let result = f();
    LEFT.set(usize::MAX);
    result
}

#[test]
fn without_memory_for_a_record_an_allocation_is_refused() {
    let mut arena = Arena::with_capacity(1 << 16);
    arena.set_checked(true).unwrap();
    let mut values = 0;
    let refused = without_memory(|| {
        (0..10_000u32).any(|i| match arena.try_alloc(i) {
            Ok(_) => {
                values += 1;
                false
            }
            Err(AllocError) => true,
        })
    });
    assert!(refused);
    assert_eq!((arena.allocations().len(), arena.report().count()), (values, values as u64));
    for _ in 0..100 {
        arena.alloc(1u8);
    }
    arena.reset();
    assert_eq!(arena.findings(), []);
}

#[test]
fn without_memory_for_findings_they_are_counted() {
    let mut arena = checked();
    arena.alloc(String::from("lost"));
    without_memory(|| arena.reset());
    let found = arena.findings();
    assert!(matches!(found[..], [Finding::Leak { .. }] | [Finding::Lost { count: 1 }]), "{found:?}");
}

#[test]
fn without_memory_nothing_is_switched() {
    let all: [SwitchOn; 6] = [
        |arena| arena.set_checked(true),
        |arena| arena.set_metered(true),
        |arena| arena.set_sampling(100),
        |arena| arena.set_soft_budget(Some(1)),
        |arena| arena.set_tag_budget("a tag", Some(1)),
        |arena| arena.on_refusal(|_| None),
    ];
    for (k, set) in all.into_iter().enumerate() {
        let arena = Arena::new();
        arena.alloc(1u64); // it has a block already
        let watched = || unsafe { (*arena.as_raw().as_ptr()).epoch.get() } & 1;
        let needed = (0..20).find(|n| match after_allocations(*n, || set(&arena)) {
            Ok(()) => true,
            Err(e) => {
                assert_eq!((e, watched()), (SwitchError::Memory, 0), "{k} {n}");
                arena.alloc(1u64);
                assert_eq!(arena.report().count(), 0);
                false
            }
        });
        assert!(needed.is_some_and(|n| n > 0), "{k}");
    }
}

#[test]
fn without_memory_a_scope_of_a_checked_arena_is_refused_or_works() {
    let mut arena = Arena::with_capacity(1 << 16);
    arena.set_checked(true).unwrap();
    arena.set_metered(true).unwrap();
    for n in 0..12 {
        after_allocations(n, || {
            let tag = arena.tag(["one", "two", "three"][n % 3]);
            let phase = arena.phase(["one", "two"][n % 2]);
            let scope = arena.try_scope_guard();
            if let Ok(scope) = &scope {
                let _ = scope.try_alloc(1u8);
            }
            drop((scope, phase, tag));
        });
    }
    arena.reset();
    assert_eq!((arena.findings(), arena.stats().live), (vec![], 0));
}

#[test]
#[cfg_attr(miri, ignore = "needs addresses of the system")]
fn a_dedicated_block_is_refused_without_memory_for_its_record() {
    let pages = toft::Pages::new();
    let arena = Scope::from_source(&pages).unwrap();
    arena.set_metered(true).unwrap();
    let _tag = arena.tag("large");
    arena.alloc(1u64);
    let before = arena.stats().live;
    let refused = without_memory(|| (0..100).any(|_| arena.try_alloc_uninit::<[u8; 1 << 20]>().is_err()));
    assert!(refused);
    assert_eq!(arena.stats().live % (1 << 20), before);
    arena.alloc_uninit::<[u8; 1 << 20]>();
    let report = arena.report();
    let reported = report.tags.iter().find(|tag| tag.name == "large").unwrap();
    assert_eq!(reported.live, arena.stats().live);
}

/// Serves this number of blocks and no more.
struct Limited(Cell<usize>);

unsafe impl Source for Limited {
    fn take(&self, size: usize) -> Option<NonNull<u8>> {
        self.0.set(self.0.get().checked_sub(1)?);
        NonNull::new(unsafe { std::alloc::alloc(layout(size, 64)) })
    }

    unsafe fn put(&self, block: NonNull<u8>, size: usize) {
        unsafe { std::alloc::dealloc(block.as_ptr(), layout(size, 64)) }
    }
}

#[test]
fn live_allocations_stay_correct_when_memory_ends() {
    for blocks in 1..if MIRI { 2 } else { 6 } {
        let source = Limited(Cell::new(blocks));
        let mut arena = Scope::from_source(&source).unwrap();
        arena.set_checked(true).unwrap();
        arena.set_metered(true).unwrap();
        for round in 0..3 {
            let (mut made, mut bytes) = (0, 0);
            for n in 1..if MIRI { 40 } else { 500usize } {
                let line = line!() + 1;
                if let Ok(slice) = arena.try_alloc_slice_fill(n, n as u8) {
                    assert!(slice.iter().all(|b| *b == n as u8));
                    (made, bytes) = (made + 1, bytes + n as u64);
                }
                assert!(arena.report().sites.iter().all(|site| site.site.line == line));
            }
            let report = arena.take_report();
            assert_eq!((report.count(), report.bytes()), (made, bytes), "{blocks} {round}");
            assert_eq!(arena.allocations().len() as u64, made);
            arena.reset();
            assert_eq!((arena.findings(), arena.stats().live), (vec![], 0));
        }
    }
}

#[test]
fn a_tags_budget_holds_in_an_arena_that_is_only_metered() {
    let arena = Arena::new();
    arena.set_checked(true).unwrap();
    arena.set_tag_budget("", Some(0)).unwrap();
    assert!(arena.try_alloc(1u8).is_ok());
    arena.set_metered(true).unwrap();
    assert!(arena.try_alloc(1u8).is_err());
    arena.set_metered(false).unwrap();
    assert!(arena.try_alloc(1u8).is_ok());
}

#[test]
fn settings_of_a_scope_hold_in_sibling_and_outer_scopes() {
    let arena = Arena::new();
    arena.set_metered(true).unwrap();
    let (one, other) = (arena.scope_guard(), arena.scope_guard());
    let within = one.scope_guard();
    other.set_tag_budget("", Some(16)).unwrap();
    assert!(within.try_alloc([0u8; 24]).is_err() && arena.try_alloc([0u8; 24]).is_err());
    assert!(within.try_alloc([0u8; 16]).is_ok() && other.try_alloc(1u8).is_err());
    other.set_tag_budget("", None).unwrap();
    other.set_soft_budget(Some(100)).unwrap();
    within.alloc([0u8; 100]);
    drop(within);
    drop((one, other));
    assert!(matches!(arena.findings()[..], [Finding::OverBudget { live: 120, budget: 100, .. }]));
}

/// Neither the reset of a scope nor a trim ends a round.
#[test]
fn a_soft_budget_is_reported_once_between_resets() {
    let mut arena = Arena::new();
    for _ in 0..3 {
        arena.alloc([0u8; 20_000]);
        arena.reset(); // keeps a block, which the trim returns
    }
    arena.set_soft_budget(Some(100)).unwrap();
    for round in 0..2 {
        for reported in [1, 0, 0] {
            let mut scope = arena.scope_guard();
            scope.alloc([0u8; 200]);
            scope.reset();
            scope.alloc([0u8; 200]);
            drop(scope);
            assert_eq!(arena.findings().len(), reported, "round {round}");
            arena.trim(0);
        }
        arena.reset();
    }
}

/// Only a part of the freed memory is used again: the rest is still checked.
#[test]
fn freed_memory_behind_a_new_allocation_is_still_checked() {
    let mut arena = checked();
    let mark = arena.mark();
    let line = line!() + 1;
    let p = arena.alloc_layout(layout(1000, 8)).as_ptr();
    unsafe { arena.rewind(mark) }.unwrap();
    arena.alloc_layout(layout(10, 1));
    unsafe { p.wrapping_add(500).write(1) };
    arena.reset();
    assert_eq!(lines(&arena.findings()), [("late write", line, 1000)]);
}

/// Allocations older than the meter belong to no tag, also when they are freed.
#[test]
fn allocations_older_than_the_meter_have_no_tag() {
    let arena = Arena::new();
    let p = arena.alloc_layout(layout(1 << 20, 8)).as_ptr();
    arena.set_metered(true).unwrap();
    let _tag = arena.tag("mine");
    arena.alloc([0u8; 1000]);
    unsafe { abi::free(arena.as_raw(), p, 1 << 20) };
    assert_eq!(arena.stats().live, 1000);
    let live = |name| arena.report().tags.iter().find(|tag| tag.name == name).map(|tag| tag.live);
    assert_eq!((live(""), live("mine")), (Some(0), Some(1000)));
}

#[test]
fn a_report_has_tags_while_the_arena_is_metered_and_each_phase_once() {
    let arena = checked();
    assert!(arena.report().tags.is_empty());
    arena.set_metered(true).unwrap();
    for _ in 0..2 {
        let _phase = arena.phase("load");
        arena.alloc(1u64);
    }
    let report = arena.report();
    assert_eq!((report.tags.len(), report.phases.len(), report.phases[0].entries), (1, 1, 2));
    arena.set_metered(false).unwrap();
    assert!(arena.report().tags.is_empty());
}

#[test]
fn growth_in_place_is_sampled() {
    let arena = Arena::with_capacity(1 << 20);
    arena.set_sampling(1).unwrap();
    unsafe {
        let p = abi::alloc(arena.as_raw(), 8).unwrap().as_ptr();
        let q = abi::resize(arena.as_raw(), p, 8, 100_000, 8).unwrap().as_ptr();
        assert_eq!(p, q);
    }
    let bytes = arena.report().bytes();
    assert!((90_000..110_000).contains(&bytes), "{bytes}");
}

#[test]
fn a_soft_budget_of_any_size_is_reported_when_exceeded() {
    for budget in 1001..1018 {
        let arena = Arena::new();
        arena.set_soft_budget(Some(budget)).unwrap();
        for n in 1..200 {
            arena.alloc(1u8);
            let reported = arena.findings().len();
            assert_eq!(reported, (arena.stats().live > budget && (n - 1) * 8 <= budget) as usize, "{budget}, {n}");
        }
        assert_eq!(arena.stats().live, 199 * 8);
    }
}

/// Freed memory at the end of a block that shrinks is not examined later: the addresses may hold other memory then.
#[test]
#[cfg_attr(miri, ignore = "needs addresses of the system")]
fn a_checked_block_shrinks_without_a_finding() {
    let mut arena = Options::new().source(toft::Reserve::new(16 << 20).unwrap()).create().unwrap();
    arena.set_checked(true).unwrap();
    for size in [1 << 20, 100, 2 << 20] {
        arena.alloc_layout(layout(size, 8));
        arena.reset();
        arena.trim(0);
        assert_eq!(arena.stats().reserved, 4096);
    }
    assert_eq!(arena.findings(), []);
}

/// Such a mark is valid: the allocation just before it is still live.
#[test]
fn a_mark_made_after_a_rewind_is_valid() {
    let arena = checked();
    arena.alloc(1u64);
    let one = arena.mark();
    arena.alloc(2u64);
    let within = arena.mark();
    // SAFETY: the memory that the rewind frees is not used again.
    let rewind = |mark| unsafe { arena.rewind(mark) };
    rewind(one).unwrap();
    let two = arena.mark();
    arena.alloc(3u64);
    assert_eq!(rewind(within), Err(RewindError::Stale));
    rewind(one).unwrap();
    rewind(two).unwrap();
    assert_eq!(rewind(within), Err(RewindError::Stale));
}

/// A mark from before the checks is valid, and so are marks made after a rewind to it.
#[test]
fn a_mark_from_before_the_checks_is_valid() {
    let arena = Arena::new();
    arena.alloc(1u64);
    let old = arena.mark();
    arena.alloc(2u64);
    arena.set_checked(true).unwrap();
    arena.alloc(3u64);
    // SAFETY: the memory that the rewind frees is not used again.
    unsafe {
        for _ in 0..2 {
            arena.rewind(old).unwrap();
            let new = arena.mark();
            arena.alloc(4u64);
            let stale = arena.mark();
            arena.rewind(new).unwrap();
            assert_eq!(arena.rewind(stale), Err(RewindError::Stale));
        }
    }
    assert_eq!(arena.findings().len(), 0);
}

/// A trim does not change whether an earlier mark is valid or stale.
#[test]
fn a_stale_mark_is_refused_after_a_trim() {
    let mut arena = checked();
    for _ in 0..3 {
        arena.alloc([0u8; 20_000]);
        arena.reset(); // keeps a block, which the trim returns
    }
    let outer = arena.mark();
    arena.alloc([0u8; 100]);
    let inner = arena.mark();
    // SAFETY: the memory that the rewind frees is not used again.
    unsafe { arena.rewind(outer) }.unwrap();
    arena.trim(0);
    arena.alloc(7u64);
    // SAFETY: as above.
    unsafe {
        assert_eq!(arena.rewind(inner), Err(RewindError::Stale));
        arena.rewind(outer).unwrap();
    }
}

#[test]
fn findings_of_a_scope_are_reported_by_that_scope() {
    let captured = Arc::new(());
    let mut arena = Arena::new();
    for round in 0..2 {
        let scope = arena.scope_guard();
        scope.set_metered(true).unwrap();
        scope.set_tag_budget("", Some(16)).unwrap();
        assert!((0..3).map(|i| scope.try_alloc(i as u64).is_ok()).eq([true, true, false]));
        scope.set_tag_budget("", None).unwrap();
        scope.set_soft_budget(Some(100)).unwrap();
        let kept = captured.clone();
        scope.on_refusal(move |_| Arc::into_inner(kept.clone()).map(|()| 1)).unwrap();
        arena.alloc([0u8; 100]); // of the outer arena
        scope.scope(|inner| inner.alloc([0u8; 96]).len());
        let found = scope.findings();
        assert!(matches!(found[..], [Finding::OverBudget { live: 112, budget: 100, .. }]), "{found:?}");
        drop(scope);
        assert_eq!((Arc::strong_count(&captured), arena.findings()), (1, vec![]), "{round}");
        arena.set_metered(true).unwrap(); // metered when the next scope begins
        arena.set_metered(false).unwrap();
    }
    arena.reset();
}

#[test]
fn captures_of_a_refusal_handler_may_panic_when_dropped() {
    struct Loud;
    impl Drop for Loud {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }
    let loud = Loud;
    let arena = Options::new().budget(100).create().unwrap();
    arena
        .on_refusal(move |refusal| {
            let _ = &loud;
            Some(refusal.budget + 1000)
        })
        .unwrap();
    assert!(arena.try_alloc([0u8; 200]).is_ok());
    drop(arena); // the panic does not stop the release
}
