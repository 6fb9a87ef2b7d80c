//! Random programs on `toft_bumpalo::collections::Vec`, compared with the standard library's.
// SPDX-License-Identifier: MIT OR Apache-2.0

use proptest::prelude::*;
use toft_bumpalo::collections::Vec;
use toft_bumpalo::Bump;

#[derive(Clone, Debug)]
enum Op {
    Push(std::string::String),
    Pop,
    Insert(usize, std::string::String),
    Remove(usize),
    SwapRemove(usize),
    Truncate(usize),
    Extend(std::vec::Vec<std::string::String>),
    ExtendFromSlice(std::vec::Vec<std::string::String>),
    Resize(usize, std::string::String),
    Retain(usize),
    Filter(usize),
    Dedup,
    Drain(usize, usize, usize),
    Splice(usize, usize, std::vec::Vec<std::string::String>),
    SplitOff(usize),
    Append(std::vec::Vec<std::string::String>),
    Shrink,
    Reserve(usize),
    Clone,
    Other,
}

fn op() -> impl Strategy<Value = Op> {
    let text = || prop::sample::select(vec!["", "a", "b", "aa", "abc", "c", "ca"]).prop_map(str::to_string);
    let texts = || prop::collection::vec(text(), 0..12);
    let at = any::<usize>();
    prop_oneof![
        text().prop_map(Op::Push),
        Just(Op::Pop),
        (at, text()).prop_map(|(i, s)| Op::Insert(i, s)),
        at.prop_map(Op::Remove),
        at.prop_map(Op::SwapRemove),
        at.prop_map(Op::Truncate),
        texts().prop_map(Op::Extend),
        texts().prop_map(Op::ExtendFromSlice),
        (0usize..40, text()).prop_map(|(n, s)| Op::Resize(n, s)),
        (1usize..5).prop_map(Op::Retain),
        (1usize..5).prop_map(Op::Filter),
        Just(Op::Dedup),
        (at, at, 0usize..4).prop_map(|(a, b, n)| Op::Drain(a, b, n)),
        (at, at, texts()).prop_map(|(a, b, s)| Op::Splice(a, b, s)),
        at.prop_map(Op::SplitOff),
        texts().prop_map(Op::Append),
        Just(Op::Shrink),
        (0usize..50).prop_map(Op::Reserve),
        Just(Op::Clone),
        Just(Op::Other),
    ]
}

fn range(a: usize, b: usize, len: usize) -> std::ops::Range<usize> {
    let (a, b) = (a % (len + 1), b % (len + 1));
    a.min(b)..a.max(b)
}

fn config(under_miri: u32, otherwise: u32) -> ProptestConfig {
    let cases = if cfg!(miri) { under_miri } else { otherwise };
    ProptestConfig { cases, failure_persistence: None, ..Default::default() }
}

proptest! {
    #![proptest_config(config(2, 512))]

    #[test]
    fn as_the_standard_library(ops in prop::collection::vec(op(), 0..if cfg!(miri) { 12 } else { 60 })) {
        let bump = Bump::new();
        let mut ours = Vec::new_in(&bump);
        let mut theirs = std::vec::Vec::new();
        let mut rest = std::vec::Vec::new();
        for op in ops {
            let len = theirs.len();
            match op {
                Op::Push(s) => { ours.push(s.clone()); theirs.push(s); }
                Op::Pop => prop_assert_eq!(ours.pop(), theirs.pop()),
                Op::Insert(i, s) => {
                    ours.insert(i % (len + 1), s.clone());
                    theirs.insert(i % (len + 1), s);
                }
                Op::Remove(i) if len > 0 => prop_assert_eq!(ours.remove(i % len), theirs.remove(i % len)),
                Op::SwapRemove(i) if len > 0 => prop_assert_eq!(ours.swap_remove(i % len), theirs.swap_remove(i % len)),
                Op::Truncate(i) => { ours.truncate(i % (len + 3)); theirs.truncate(i % (len + 3)); }
                Op::Extend(s) => {
                    ours.extend(s.iter().filter(|s| *s != "a").cloned());
                    theirs.extend(s.into_iter().filter(|s| s != "a"));
                }
                Op::ExtendFromSlice(s) => { ours.extend_from_slice(&s); theirs.extend_from_slice(&s); }
                Op::Resize(n, s) => { ours.resize(n, s.clone()); theirs.resize(n, s); }
                Op::Retain(n) => { ours.retain(|s| s.len() % n != 0); theirs.retain(|s| s.len() % n != 0); }
                Op::Filter(n) => {
                    let taken = ours.drain_filter(|s| s.len() % n == 0).collect::<std::vec::Vec<_>>();
                    let (yes, no) = theirs.drain(..).partition::<std::vec::Vec<_>, _>(|s| s.len() % n == 0);
                    prop_assert_eq!(taken, yes);
                    theirs = no;
                }
                Op::Dedup => { ours.dedup(); theirs.dedup(); }
                Op::Drain(a, b, n) => {
                    let r = range(a, b, len);
                    prop_assert!(ours.drain(r.clone()).rev().take(n).eq(theirs.drain(r).rev().take(n)));
                }
                Op::Splice(a, b, s) => {
                    let r = range(a, b, len);
                    prop_assert!(ours.splice(r.clone(), s.clone()).eq(theirs.splice(r, s)));
                }
                Op::SplitOff(i) => {
                    let tail = ours.split_off(i % (len + 1));
                    prop_assert_eq!(tail.as_slice(), theirs.split_off(i % (len + 1)));
                    rest.push(tail);
                }
                Op::Append(s) => {
                    let mut other = Vec::from_iter_in(s.clone(), &bump);
                    ours.append(&mut other);
                    prop_assert!(other.is_empty());
                    theirs.extend(s);
                }
                Op::Shrink => ours.shrink_to_fit(),
                Op::Reserve(n) => { ours.reserve(n); prop_assert!(ours.capacity() - ours.len() >= n); }
                Op::Clone => { let copy = ours.clone(); rest.push(std::mem::replace(&mut ours, copy)); }
                Op::Other => { bump.alloc(u64::MAX); rest.pop(); }
                _ => {}
            }
            prop_assert_eq!(ours.as_slice(), &theirs);
            prop_assert!(ours.capacity() >= ours.len());
        }
        prop_assert!(ours.into_iter().eq(theirs));
    }
}
