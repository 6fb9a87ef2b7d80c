//! `toft_bumpalo::collections::String`, compared with the standard library's.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![allow(clippy::cmp_owned, clippy::op_ref, clippy::nonminimal_bool)] // these comparisons are under test

use std::borrow::Cow;
use std::fmt::Write;
use std::panic::{catch_unwind, AssertUnwindSafe};

use proptest::prelude::*;
use toft_bumpalo::collections::{CollectIn, String};
use toft_bumpalo::{self as bumpalo, Bump};

#[test]
fn making() {
    let bump = Bump::new();
    assert_eq!(String::from_str_in("blåbær", &bump), "blåbær");
    assert_eq!(String::from_iter_in("blåbær".chars(), &bump), "blåbær");
    assert_eq!("ab".chars().collect_in::<String>(&bump), "ab");
    assert_eq!(String::from_utf8(bumpalo::vec![in &bump; 104, 105]).unwrap(), "hi");
    let error = String::from_utf8(bumpalo::vec![in &bump; 104, 0xFF]).unwrap_err();
    assert_eq!((error.utf8_error().valid_up_to(), error.as_bytes()), (1, &[104, 0xFF][..]));
    assert_eq!(error.to_string(), error.utf8_error().to_string());
    assert_eq!(error.into_bytes(), [104, 0xFF]);
    for bytes in [&b"ab\xF0\x90\x80cd\xFF\xFFe"[..], b"", b"\x80", b"fine", b"end\xE2\x82"] {
        assert_eq!(String::from_utf8_lossy_in(bytes, &bump), std::string::String::from_utf8_lossy(bytes));
    }
    let wide: Vec<u16> = "𝄞mus".encode_utf16().collect();
    assert_eq!(String::from_utf16_in(&wide, &bump).unwrap(), "𝄞mus");
    assert!(String::from_utf16_in(&wide[1..], &bump).is_err());
}

#[test]
fn formatting() {
    let bump = Bump::new();
    let width = 5;
    assert_eq!(bumpalo::format!(in &bump, "{:>width$}|{}", 7, "x"), "    7|x");
    assert_eq!(bumpalo::format!(in &bump, "{}", 1,), "1");
    assert_eq!(bumpalo::format!(in &bump, "plain"), "plain");
    let mut s = bumpalo::format!(in &bump, "{}", 1);
    write!(s, "{:?}", ["a"]).unwrap();
    assert_eq!(s, r#"1["a"]"#);
    bump.set_allocation_limit(Some(bump.allocated_bytes()));
    assert!(write!(s, "{}", "x".repeat(1000)).is_err());
    assert_eq!(s, r#"1["a"]"#);
}

#[test]
fn comparing_and_adding() {
    let bump = Bump::new();
    let s = String::from_str_in("ab", &bump);
    assert!(
        s == "ab"
            && "ab" == s
            && *"ab" == s
            && s == Cow::Borrowed("ab")
            && s == "ab".to_string()
            && s < s.clone() + "c"
    );
    assert_eq!((&s[..1], &s[1..=1], &s[..]), ("a", "b", "ab"));
    let mut all = s.clone() + "c";
    all += "d";
    all.extend(['e', 'f']);
    all.extend(&['g']);
    all.extend(["h", "i"]);
    all.extend([std::string::String::from("j"), "k".into()]);
    all.extend([Cow::Borrowed("l")]);
    all.extend([String::from_str_in("m", &bump)]);
    assert_eq!(all, "abcdefghijklm");
    all.clone_from(&s);
    all.make_ascii_uppercase();
    assert_eq!(all, "AB");
    assert_eq!(all.into_bytes(), b"AB");
    let mut map = std::collections::HashMap::new();
    map.insert(s, 1);
    assert_eq!(map.get("ab"), Some(&1));
}

#[test]
fn text_of_the_arena_leaves_no_room() {
    let bump = Bump::new();
    let mut s = String::with_capacity_in(1000, &bump);
    s.push_str("short");
    let s = s.into_bump_str();
    assert_eq!((s, bump.allocated_bytes()), ("short", 8));
    assert_eq!(String::with_capacity_in(100, &bump).into_bump_str(), "");
    assert_eq!(bump.allocated_bytes(), 8);
}

#[test]
fn borders() {
    let bump = Bump::new();
    let mut s = String::from_str_in("æøå", &bump);
    let mut fails = |f: &mut dyn FnMut(&mut String)| assert!(catch_unwind(AssertUnwindSafe(|| f(&mut s))).is_err());
    fails(&mut |s| s.truncate(1));
    fails(&mut |s| s.insert(3, 'x'));
    fails(&mut |s| s.insert_str(7, "x"));
    fails(&mut |s| assert_eq!(s.remove(6), 'x'));
    fails(&mut |s| assert_eq!(s.remove(1), 'x'));
    fails(&mut |s| drop(s.split_off(5)));
    fails(&mut |s| drop(s.drain(..3)));
    fails(&mut |s| s.replace_range(1.., ""));
    fails(&mut |s| s.replace_range(..=usize::MAX, ""));
    assert_eq!(s, "æøå");
}

#[test]
fn a_panic_while_retaining_leaves_text() {
    let bump = Bump::new();
    let mut s = String::from_str_in("æøåæøå", &bump);
    let mut calls = 0;
    let done = catch_unwind(AssertUnwindSafe(|| {
        s.retain(|c| {
            calls += 1;
            assert!(calls < 4);
            c != 'ø'
        })
    }));
    assert!(done.is_err());
    assert_eq!(s, "æåæøå");
}

/// Text that outgrows its block, alone at the cursor and with other allocations behind it.
#[test]
fn long_text() {
    let bump = Bump::new();
    let (mut ours, mut theirs) = (String::from_str_in("n:", &bump), std::string::String::from("n:"));
    for i in 0..if cfg!(miri) { 100 } else { 2000 } {
        write!(ours, " {i}").unwrap();
        write!(theirs, " {i}").unwrap();
        if i % 500 == 99 {
            bump.alloc(i);
            ours.push_str(&"x".repeat(4000));
            theirs.push_str(&"x".repeat(4000));
        }
        ours.push_str("");
        ours.write_char('é').unwrap();
        theirs.push('é');
    }
    assert_eq!(ours, theirs);
    ours.shrink_to_fit();
    assert!(ours.capacity() - ours.len() < 8);
    ours.clear();
    assert!(ours.is_empty() && ours.capacity() >= theirs.len());
}

/// Unchecked conversions.
#[test]
fn bytes_and_parts() {
    let bump = Bump::new();
    let mut s = String::from_str_in("plöt", &bump);
    // SAFETY: the bytes are UTF-8 again.
    unsafe {
        s.as_mut_vec().extend_from_slice_copy("s ✓".as_bytes());
    }
    assert_eq!(s, "plöts ✓");
    s.as_mut_str().make_ascii_uppercase();
    // SAFETY: the bytes of a String.
    let s = unsafe { String::from_utf8_unchecked(s.into_bytes()) };
    assert_eq!(s, "PLöTS ✓");
    let mut s = std::mem::ManuallyDrop::new(s);
    let (at, len, capacity) = (s.as_mut_ptr(), s.len(), s.capacity());
    // SAFETY: the parts of a forgotten String.
    let mut s = unsafe { String::from_raw_parts_in(at, len, capacity, &bump) };
    s.insert(0, '→');
    s.reserve_exact(100);
    assert!(s.capacity() >= s.len() + 100 && std::ptr::eq(s.bump(), &bump));
    assert_eq!(s, "→PLöTS ✓");
}

/// `as_str` of a drain is its rest. A leaked drain leaves the text unchanged; after a panic of an iterator, the
/// characters yielded before are in the text.
#[test]
fn drains_and_iterators_that_end_early() {
    let bump = Bump::new();
    let mut s = String::from_str_in("æøåæøå", &bump);
    let mut drain = s.drain(2..8);
    assert_eq!(
        (drain.next(), drain.next_back(), drain.size_hint()),
        (Some('ø'), Some('æ'), ("å".len().div_ceil(4), Some(2)))
    );
    assert_eq!(format!("{drain:?}"), r#"Drain("å")"#);
    drop(drain);
    assert_eq!(s, "æøå");
    std::mem::forget(s.drain(..4));
    assert_eq!(s, "æøå");
    assert_eq!(s.drain(..).rev().collect::<std::string::String>(), "åøæ");
    let letters = |n: usize| (0..9).map(move |i| if i < n { 'ß' } else { panic!("no letter") });
    assert!(catch_unwind(AssertUnwindSafe(|| s.extend(letters(3)))).is_err());
    assert_eq!(s, "ßßß");
    assert!(catch_unwind(AssertUnwindSafe(|| drop(String::from_iter_in(letters(5), &bump)))).is_err());
}

/// Empty ranges at both ends, and ranges with every kind of bound.
#[test]
fn ranges_of_text() {
    use std::ops::Bound::{Excluded, Included, Unbounded};
    let bump = Bump::new();
    let mut s = String::from_str_in("→ab", &bump);
    s.replace_range(3..3, "x");
    s.replace_range(..0, "");
    s.replace_range(s.len().., "y");
    s.replace_range((Excluded(2), Excluded(4)), "✓✓");
    s.replace_range((Included(0), Included(2)), "");
    assert_eq!(s, "✓✓aby");
    assert_eq!(s.drain((Excluded(5), Unbounded)).collect::<std::string::String>(), "aby");
    assert_eq!((s.split_off(6).len(), s.split_off(0).as_str(), s.len()), (0, "✓✓", 0));
    assert_eq!((s.pop(), s.drain(..).next()), (None, None));
    s.retain(|_| false);
    s.truncate(100);
    assert!(s.is_empty());
}

fn config(under_miri: u32, otherwise: u32) -> ProptestConfig {
    let cases = if cfg!(miri) { under_miri } else { otherwise };
    ProptestConfig { cases, failure_persistence: None, ..Default::default() }
}

fn text() -> impl Strategy<Value = std::string::String> {
    let letter = prop::sample::select(vec!['a', 'b', 'æ', '→', '𝄞']);
    prop::collection::vec(letter, 0..10).prop_map(|letters| letters.into_iter().collect())
}

fn ops() -> impl Strategy<Value = Vec<(u8, usize, usize, std::string::String)>> {
    prop::collection::vec((0u8..12, any::<usize>(), any::<usize>(), text()), 0..30)
}

proptest! {
    #![proptest_config(config(4, 256))]

    #[test]
    fn as_the_standard_library(start in text(), ops in ops()) {
        let bump = Bump::new();
        let mut ours = String::from_str_in(&start, &bump);
        let mut theirs = start;
        for (op, a, b, text) in ops {
            let border = |i: usize| (0..=i % (theirs.len() + 1)).rev().find(|i| theirs.is_char_boundary(*i)).unwrap();
            let (a, b) = (border(a), border(b));
            let (from, to) = (a.min(b), a.max(b));
            match op {
                0 => { ours.push_str(&text); theirs.push_str(&text); }
                1 => { ours.push('ß'); theirs.push('ß'); }
                2 => prop_assert_eq!(ours.pop(), theirs.pop()),
                3 => { ours.insert_str(a, &text); theirs.insert_str(a, &text); }
                4 => { ours.insert(a, '→'); theirs.insert(a, '→'); }
                5 if a < theirs.len() => prop_assert_eq!(ours.remove(a), theirs.remove(a)),
                6 => { ours.truncate(a); theirs.truncate(a); }
                7 => prop_assert!(ours.drain(from..to).rev().eq(theirs.drain(from..to).rev())),
                8 => { ours.drain(from..to).next(); theirs.drain(from..to).next(); }
                9 => { ours.replace_range(from..to, &text); theirs.replace_range(from..to, &text); }
                10 => { ours.retain(|c| c.is_ascii()); theirs.retain(|c| c.is_ascii()); }
                11 => {
                    let (rest, theirs_rest) = (ours.split_off(a), theirs.split_off(a));
                    prop_assert_eq!(&rest, &theirs_rest);
                    ours.shrink_to_fit();
                    ours.push_str(&rest);
                    theirs.push_str(&theirs_rest);
                }
                _ => {}
            }
            prop_assert_eq!(&ours, &theirs);
            prop_assert!(std::str::from_utf8(ours.as_bytes()).is_ok());
        }
        prop_assert_eq!(ours.into_bump_str(), theirs);
    }
}
