//! Bytes around allocations, and of freed ones.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;

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
