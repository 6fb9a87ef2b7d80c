//! What the pairs do not do with arenas of both providers: the crate's collections, scopes and reports.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::ffi::CStr;
use std::sync::Arc;

use conformance_libtoft::created_in_c;
use toft::{abi, Arena, Finding, SwitchError};

#[test]
fn collections_scopes_and_cursors_work_in_arenas_of_both() {
    for (provider, mut arena) in [("rust", Arena::new()), ("c", created_in_c())] {
        let shared = Arc::new(());
        for round in 0..50usize {
            let mut outer = allocator_api2::vec::Vec::new_in(&arena);
            arena.alloc_drop(shared.clone());
            for i in 0..100usize {
                outer.push(i);
                arena.scope(|inner| {
                    let text = toft::format_in!(inner, "{i} in {round}");
                    inner.alloc_drop(shared.clone());
                    inner.alloc_slice_fill(i * round, i);
                    outer.push(text.len());
                });
                let mut cursor = arena.cursor();
                let squares: Vec<&mut usize> = (0..i).map(|k| cursor.alloc(k * k)).collect();
                outer.push(squares.len());
                drop(cursor);
                assert!(squares.into_iter().enumerate().all(|(k, square)| *square == k * k), "{provider}");
            }
            assert!(outer.chunks(3).enumerate().all(|(i, c)| c[0] == i && c[2] == i), "{provider}");
            assert_eq!(Arc::strong_count(&shared), 2, "{provider}");
            drop(outer);
            arena.reset();
            assert_eq!(Arc::strong_count(&shared), 1, "{provider}");
        }
        assert!(arena.stats().reserved < 16 << 20, "{provider}: {:?}", arena.stats());
    }
}

#[test]
fn switches_of_another_provider_are_unsupported() {
    let arena = created_in_c();
    assert_eq!(arena.set_metered(true), Err(SwitchError::Unsupported));
    assert_eq!(arena.set_soft_budget(Some(1)), Err(SwitchError::Unsupported));
    assert_eq!(arena.on_refusal(|_| None), Err(SwitchError::Unsupported));
    drop((arena.tag("nothing"), arena.phase("nothing")));
    arena.alloc(1u64);
    assert_eq!((arena.report().stats.live, arena.report().sites.len(), arena.findings()), (8, 0, vec![]));
}

/// Makes n allocations under a tag, as code in another language does. Returns the number that succeeded.
fn fill(arena: &Arena, n: usize, size: usize, site: usize, tag: u64, name: &CStr) -> usize {
    let head = arena.as_raw().as_ptr();
    // SAFETY: a live arena, and a name of that length.
    unsafe {
        let ops = &*(*head).ops.get();
        assert_eq!((ops.set)(head, abi::SET_TAG, tag, name.as_ptr(), name.count_bytes()), abi::OK);
        let made = (0..n).take_while(|_| !(ops.alloc)(head, size, 8, 0, site).is_null()).count();
        assert_eq!((ops.set)(head, abi::SET_TAG, 0, std::ptr::null(), 0), abi::OK);
        made
    }
}

#[test]
fn tags_and_sites_of_other_languages_are_reported() {
    let arena = Arena::new();
    arena.set_checked(true).unwrap();
    assert_eq!(fill(&arena, 10, 24, 0x1234, 5, c"ai"), 10);
    assert_eq!(fill(&arena, 3, 8, 0x1234, 6, c""), 3);
    assert_eq!(fill(&arena, 2, 8, 0x5678, 5, c""), 2);
    assert_eq!(fill(&arena, 1, 100, 0x5678, 0, c""), 1);
    let tag = arena.tag("ai");
    arena.alloc(1u64);
    drop(tag);
    let report = arena.report();
    let mut sites: Vec<_> =
        report.sites.iter().map(|site| (site.site.number, &*site.tag, site.count, site.bytes)).collect();
    sites.sort();
    let expected =
        [(0, "ai", 1, 8), (0x1234, "", 3, 24), (0x1234, "ai", 10, 240), (0x5678, "", 1, 100), (0x5678, "ai", 2, 16)];
    assert_eq!(sites, expected);
    let tags: Vec<_> = report.tags.iter().map(|tag| (&*tag.name, tag.number)).collect();
    assert_eq!(tags, [("", Some(0)), ("ai", Some(5)), ("", Some(6))]);
}

#[test]
fn budgets_of_tags_hold_for_other_languages() {
    let arena = Arena::new();
    arena.set_metered(true).unwrap();
    assert_eq!(fill(&arena, 1000, 20, 1, 5, c"ai"), 1000);
    arena.set_tag_budget("ai", Some(24_100)).unwrap();
    assert_eq!(fill(&arena, 1000, 20, 1, 5, c"ai"), 4);
    assert_eq!(arena.report().tags[1].live, 24_096);
}

#[test]
fn misuse_by_other_languages_is_reported_with_its_site() {
    let arena = Arena::new();
    arena.set_checked(true).unwrap();
    let p = arena.alloc([0u8; 40]) as *mut [u8; 40];
    let head = arena.as_raw().as_ptr();
    // SAFETY: a live arena, which refuses the second free and the resize.
    unsafe {
        let ops = &*(*head).ops.get();
        (ops.free.unwrap())(head, p.cast(), 40);
        (ops.free.unwrap())(head, p.cast(), 40);
        assert!((ops.resize)(head, p.cast(), 40, 41, 8, 0, 77).is_null());
    }
    let found = arena.findings();
    let bad =
        |finding: &Finding, number| matches!(finding, Finding::BadFree { site, size: 40, .. } if site.number == number);
    assert!(found.len() == 2 && bad(&found[0], 0) && bad(&found[1], 77), "{found:?}");
}
