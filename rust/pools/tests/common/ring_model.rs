//! Rings against `VecDeque` and a table of indices.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![allow(dead_code)]

use crate::ledger::Ledger;
use crate::look::{out, twin, Look, Step, Twin};
use std::collections::VecDeque;
use toft::Memory;
use toft_pools::{Full, Ring, RingIndex};

/// How many kinds of steps there are.
pub const KINDS: u8 = 22;

/// Indices as numbers, to which they are compared.
pub trait Number: RingIndex {
    fn of(count: i64) -> Self;
}

impl Number for u16 {
    fn of(count: i64) -> u16 {
        count as u16
    }
}

impl Number for u32 {
    fn of(count: i64) -> u32 {
        count as u32
    }
}

impl Number for usize {
    fn of(count: i64) -> usize {
        count as usize
    }
}

pub fn play<L: Look, I: Number, M: Memory + Clone>(mut ring: Ring<Twin, L, I, M>, steps: &[Step]) {
    let ledger = Ledger::new();
    let limit = if ring.is_fixed() { ring.capacity() } else { usize::MAX };
    let mut model: VecDeque<i64> = VecDeque::new();
    let (mut first, mut next) = (0_i64, 0);
    for &(kind, a, b) in steps {
        let mut number = || {
            next += 1;
            next
        };
        match kind {
            0..=4 => {
                let n = number();
                match ring.try_push_end(twin(&ledger, n)) {
                    Ok(i) => {
                        assert_eq!(i, I::of(first + model.len() as i64));
                        model.push_back(n);
                    }
                    Err(Full(value)) => assert_eq!((out(value), model.len()), (n, limit)),
                }
            }
            5..=8 => {
                let n = number();
                match ring.try_push_begin(twin(&ledger, n)) {
                    Ok(i) => {
                        first -= 1;
                        assert_eq!(i, I::of(first));
                        model.push_front(n);
                    }
                    Err(Full(value)) => assert_eq!((out(value), model.len()), (n, limit)),
                }
            }
            9 | 10 => assert_eq!(ring.pop_end().map(out), model.pop_back()),
            11 | 12 => {
                first += i64::from(!model.is_empty());
                assert_eq!(ring.pop_begin().map(out), model.pop_front());
            }
            13 if a > 230 => {
                first += model.len() as i64;
                ring.clear();
                model.clear();
            }
            14 if a > 200 => {
                first += model.len() as i64;
                let mut drain = ring.drain();
                assert_eq!(drain.next_back().map(out), model.pop_back());
                assert_eq!(drain.next().map(out), model.pop_front());
                assert_eq!(drain.len(), model.len());
                model.clear();
            }
            15 => ring.shrink_to(usize::from(b % 8)),
            16 => {
                let clone = ring.clone();
                assert_eq!(clone.is_fixed(), ring.is_fixed());
                ring = clone;
            }
            17 => assert_eq!(ring.try_reserve(usize::from(a)).is_ok(), usize::from(a) <= limit - model.len()),
            18 if !model.is_empty() => {
                let at = usize::from(a) % model.len();
                let n = number();
                L::set(ring.get_mut(I::of(first + at as i64)).unwrap(), &ledger, n);
                model[at] = n;
            }
            19 => {
                let indices = [a, b].map(|n| I::of(first + i64::from(n % 8)));
                let there = |n: u8| usize::from(n % 8) < model.len();
                let two = ring.get_disjoint_mut(indices);
                assert_eq!(two.is_some(), a % 8 != b % 8 && there(a) && there(b));
                if let Some(two) = two {
                    assert_eq!(two.map(|v| L::number_mut(&v)), [a, b].map(|n| model[usize::from(n % 8)]));
                }
            }
            _ => {}
        }
        let len = model.len();
        assert_eq!((ring.len(), ring.is_empty()), (len, len == 0));
        assert!(len <= ring.capacity());
        assert_eq!(ring.first_index(), (len > 0).then(|| I::of(first)));
        assert_eq!(ring.last_index(), (len > 0).then(|| I::of(first + len as i64 - 1)));
        for at in -2..len as i64 + 2 {
            let expected = usize::try_from(at).ok().and_then(|at| model.get(at)).copied();
            assert_eq!(ring.get(I::of(first + at)).map(L::number), expected);
            assert_eq!(ring.contains_index(I::of(first + at)), expected.is_some());
        }
        assert!(ring.indices().eq((0..len).map(|at| I::of(first + at as i64))));
        assert!(ring.iter().map(L::number).eq(model.iter().copied()));
        assert!(ring.iter().rev().map(L::number).eq(model.iter().rev().copied()));
        let (front, back) = ring.slices();
        assert!([L::numbers(front), L::numbers(back)].concat().into_iter().eq(model.iter().copied()));
        assert!(ring.iter_mut().map(|v| L::number_mut(&v)).eq(model.iter().copied()));
        assert_eq!(ledger.live(), len);
    }
    let mut rest = ring.into_iter();
    assert_eq!(rest.next_back().map(out), model.pop_back());
    assert_eq!(rest.next().map(out), model.pop_front());
    assert_eq!(rest.len(), model.len());
    drop(rest);
    ledger.assert_empty();
}
