//! Frees, resizes and marks that are not valid.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;

#[test]
fn a_write_to_any_byte_of_freed_memory_is_found() {
    let mut arena = checked();
    for size in if MIRI { 13..14 } else { 1..41 } {
        for offset in 0..size {
            for by_reset in [true, false] {
                let p = arena.alloc_layout(layout(size, 1)).as_ptr();
                match by_reset {
                    true => arena.reset(),
                    false => unsafe { abi::free(arena.as_raw(), p, size) },
                }
                unsafe { p.add(offset).write(1) };
                arena.reset();
                let found = arena.findings();
                assert!(matches!(found[..], [Finding::LateWrite { offset: at, .. }] if at == offset as isize));
            }
        }
    }
}

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
    let name = "frees_and_marks::the_environment_variable_checks_every_arena_of_a_process";
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
