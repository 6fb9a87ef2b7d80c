//! Instrumented arenas of the crate, used from C code that is not instrumented itself.
// SPDX-License-Identifier: MIT OR Apache-2.0

use toft::{abi, Arena, Finding, SwitchError};
use toft_ffi::*;

type Switch = fn(&Arena) -> Result<(), SwitchError>;

fn checked() -> Arena {
    let arena = Arena::new();
    arena.set_checked(true).unwrap();
    arena
}

#[test]
fn c_runs_in_checked_sampled_and_metered_arenas() {
    let switches: [Switch; 4] = [
        |arena| arena.set_checked(true),
        |arena| arena.set_sampling(100),
        |arena| arena.set_metered(true),
        |arena| arena.set_soft_budget(Some(u64::MAX - 1)),
    ];
    for (k, switch) in switches.iter().enumerate() {
        let mut arena = Arena::new();
        switch(&arena).unwrap();
        for n in [0, 1, 100, 5000] {
            let head = arena.as_raw().as_ptr();
            // SAFETY: a live arena, a list in it, and 100 bytes.
            unsafe {
                assert!(values(user_list(head, n)).into_iter().eq((0..n).rev()));
                assert_eq!(user_scope(head, n as usize), 1);
                let bytes = std::slice::from_raw_parts(user_bytes(head, 100), 100);
                assert!(bytes.iter().zip(0..).all(|(b, i)| *b == b'a' + i % 26) || k == 0);
            }
            arena.reset();
            assert_eq!((arena.findings(), arena.stats().live), (vec![], 0), "{k} {n}");
        }
    }
}

#[test]
fn tags_and_sites_of_c_are_reported() {
    let mut arena = checked();
    let head = arena.as_raw().as_ptr();
    // SAFETY: a live arena, and NUL-terminated strings.
    unsafe {
        assert_eq!(watched_fill(head, 10, 24, 0x1234, 5, c"ai".as_ptr()), 10);
        assert_eq!(watched_fill(head, 3, 8, 0x1234, 6, c"".as_ptr()), 3);
        assert_eq!(watched_fill(head, 2, 8, 0x5678, 5, c"".as_ptr()), 2);
        assert_eq!(watched_fill(head, 1, 100, 0x5678, 0, c"".as_ptr()), 1);
    }
    let rust = arena.tag("ai");
    arena.alloc(1u64);
    drop(rust);
    let report = arena.report();
    let mut sites: Vec<_> =
        report.sites.iter().map(|site| (site.site.number, &*site.tag, site.count, site.bytes)).collect();
    sites.sort();
    let expected =
        [(0, "ai", 1, 8), (0x1234, "", 3, 24), (0x1234, "ai", 10, 240), (0x5678, "", 1, 100), (0x5678, "ai", 2, 16)];
    assert_eq!(sites, expected);
    let tags: Vec<_> = report.tags.iter().map(|tag| (&*tag.name, tag.number)).collect();
    assert_eq!(tags, [("", Some(0)), ("ai", Some(5)), ("", Some(6))]);
    arena.reset();
    assert!(arena.report().tags.iter().all(|tag| tag.live == 0));
    assert_eq!(arena.findings(), []);
}

#[test]
fn bytes_by_tag_of_c_are_exact() {
    let arena = Arena::new();
    arena.set_metered(true).unwrap();
    let head = arena.as_raw().as_ptr();
    // SAFETY: a live arena, and NUL-terminated strings.
    unsafe {
        assert_eq!(watched_fill(head, 1000, 20, 1, 5, c"ai".as_ptr()), 1000);
        assert_eq!(watched_fill(head, 100, 8, 1, 0, c"".as_ptr()), 100);
        arena.set_tag_budget("ai", Some(24_100)).unwrap();
        assert_eq!(watched_fill(head, 1000, 20, 1, 5, c"ai".as_ptr()), 4);
    }
    let tags = arena.report().tags;
    assert_eq!((tags[0].live, tags[1].live, tags[1].allocated), (800, 24_096, 24_096));
}

#[test]
fn faults_of_c_are_found() {
    let arena = checked();
    let head = arena.as_raw().as_ptr();
    for (size, at) in [(10, 10), (10, -1), (16, 16), (1, 8), (100, -16), (5000, 5000)] {
        // SAFETY: a live arena. The byte that is written is in one of its red zones.
        assert_eq!(unsafe { watched_fault(head, size, at) }, abi::ECORRUPT, "{size} {at}");
        let found = arena.findings();
        let [Finding::Corrupt { size: reported_size, offset, ref site, .. }] = found[..] else { panic!("{found:?}") };
        assert_eq!((reported_size, offset, &*site.file), (size, at, ""));
    }
    // SAFETY: a live arena, which refuses the misuse.
    assert_eq!(unsafe { watched_misuse(head, 40) }, abi::EMARK);
    let found = arena.findings();
    let bad =
        |finding: &Finding, number| matches!(finding, Finding::BadFree { site, size: 40, .. } if site.number == number);
    assert!(found.len() == 2 && bad(&found[0], 0) && bad(&found[1], 77), "{found:?}");
}

#[test]
fn samples_of_c_estimate_the_count() {
    let mut arena = Arena::new();
    arena.set_sampling(1024).unwrap();
    for _ in 0..100 {
        // SAFETY: a live arena.
        unsafe { assert!(!user_list(arena.as_raw().as_ptr(), 10_000).is_null()) };
        arena.reset();
    }
    let count = arena.report().count();
    assert!((950_000..1_050_000).contains(&count), "{count}");
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
    // libtoft may have these two, or report that it does not.
    for result in [arena.set_checked(true), arena.set_sampling(100)] {
        assert!(matches!(result, Ok(()) | Err(SwitchError::Unsupported)), "{result:?}");
    }
    assert!(!arena.alloc_slice_fill(100, 1u8).is_empty());
}
