//! Stacks against `Vec`.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![allow(dead_code)]

use crate::ledger::Ledger;
use crate::look::{out, twin, within, Look, Step, Twin};
use toft::{Heap, Memory};
use toft_pools::{CapacityError, Stack};

/// The number of kinds of steps.
pub const KINDS: u8 = 22;

pub fn play<L: Look, M: Memory + Clone>(mut stack: Stack<Twin, L, M>, steps: &[Step]) {
    let ledger = Ledger::new();
    let limit = if stack.is_fixed() { stack.capacity() } else { usize::MAX };
    let mut model: Vec<i64> = Vec::new();
    let mut next = 0;
    for &(kind, a, b) in steps {
        let mut number = || {
            next += 1;
            next
        };
        let len = model.len();
        match kind {
            0..=5 => {
                let n = number();
                match stack.try_push(twin(&ledger, n)) {
                    Ok(()) => model.push(n),
                    Err(CapacityError(value)) => {
                        assert_eq!((out(value), len), (n, limit));
                    }
                }
            }
            6 | 7 => assert_eq!(stack.pop().map(out), model.pop()),
            8 => {
                stack.truncate(within(a, len));
                model.truncate(within(a, len));
            }
            9 => {
                let (start, end) = (within(a, len), within(b, len));
                let range = start.min(end)..start.max(end);
                let mut drain = stack.drain(range.clone());
                let mut expected = model.drain(range);
                for front in [true, false, true] {
                    let (x, y) =
                        if front { (drain.next(), expected.next()) } else { (drain.next_back(), expected.next_back()) };
                    assert_eq!(x.map(out), y);
                    assert_eq!(drain.len(), expected.len());
                }
            }
            10 => {
                L::retain_stack(&mut stack, |n| n % i64::from(a % 4 + 1) != 0);
                model.retain(|n| n % i64::from(a % 4 + 1) != 0);
            }
            11 => {
                if let Some(value) = stack.get_mut(usize::from(a)) {
                    let n = number();
                    L::set(value, &ledger, n);
                    model[usize::from(a)] = n;
                }
            }
            12 => {
                let clone = stack.clone();
                assert_eq!(clone.is_fixed(), stack.is_fixed());
                if limit != usize::MAX {
                    assert_eq!(clone.capacity(), limit);
                }
                stack = clone;
            }
            13 => stack.shrink_to_fit(),
            14 => {
                assert_eq!(stack.try_reserve(usize::from(a)).is_ok(), usize::from(a) <= limit - len);
            }
            15 => {
                let mut other = Stack::<Twin, L, Heap>::new_in(Heap);
                let room = limit - len;
                for n in (0..usize::from(a % 8).min(room)).map(|_| number()) {
                    other.push(twin(&ledger, n));
                    model.push(n);
                }
                stack.append(&mut other);
                assert!(other.is_empty());
            }
            16 => {
                let more: Vec<i64> = (0..usize::from(a % 8).min(limit - len)).map(|_| number()).collect();
                stack.extend(more.iter().map(|&n| twin(&ledger, n)));
                model.extend(more);
            }
            17 if a > 200 => {
                stack.clear();
                model.clear();
            }
            18 => {
                for value in stack.iter_mut().rev() {
                    let n = L::number_mut(&value);
                    if n % 7 == 0 {
                        L::set(value, &ledger, -n);
                    }
                }
                model.iter_mut().filter(|n| **n % 7 == 0).for_each(|n| *n = -*n);
            }
            _ => assert_eq!(stack.get(usize::from(a)).map(L::number), model.get(usize::from(a)).copied()),
        }
        assert_eq!(stack.len(), model.len());
        assert_eq!(stack.is_empty(), model.is_empty());
        assert!(stack.len() <= stack.capacity());
        assert_eq!(L::numbers(stack.as_slice()), model);
        assert!(stack.iter().map(L::number).eq(model.iter().copied()));
        assert!(stack.iter().rev().map(L::number).eq(model.iter().rev().copied()));
        assert_eq!(stack.last().map(L::number), model.last().copied());
        assert_eq!(stack.iter().nth(2).map(L::number), model.get(2).copied());
        assert_eq!(ledger.live(), model.len());
    }
    let mut rest = stack.into_iter();
    let mut expected = model.into_iter();
    assert_eq!(rest.len(), expected.len());
    assert_eq!(rest.next_back().map(out), expected.next_back());
    assert_eq!(rest.nth(1).map(out), expected.nth(1));
    drop(rest);
    ledger.assert_empty();
}
