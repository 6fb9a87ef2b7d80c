//! Queues against `VecDeque`.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![allow(dead_code)]

use crate::ledger::Ledger;
use crate::look::{out, twin, within, Look, Step, Twin};
use std::collections::VecDeque;
use toft::Memory;
use toft_pools::{CapacityError, Queue};

/// The number of kinds of steps.
pub const KINDS: u8 = 31;

pub fn play<L: Look, M: Memory + Clone>(mut queue: Queue<Twin, L, M>, steps: &[Step]) {
    let ledger = Ledger::new();
    let limit = if queue.is_fixed() { queue.capacity() } else { usize::MAX };
    let mut model: VecDeque<i64> = VecDeque::new();
    let mut next = 0;
    for &(kind, a, b) in steps {
        let mut number = || {
            next += 1;
            next
        };
        let len = model.len();
        let at = usize::from(a);
        let refused = |n: i64, CapacityError(value): CapacityError<Twin>| assert_eq!((out(value), len), (n, limit));
        match kind {
            0..=4 => {
                let n = number();
                match queue.try_push_back(twin(&ledger, n)) {
                    Ok(()) => model.push_back(n),
                    Err(full) => refused(n, full),
                }
            }
            5..=8 => {
                let n = number();
                match queue.try_push_front(twin(&ledger, n)) {
                    Ok(()) => model.push_front(n),
                    Err(full) => refused(n, full),
                }
            }
            9 => assert_eq!(queue.pop_back().map(out), model.pop_back()),
            10 | 11 => assert_eq!(queue.pop_front().map(out), model.pop_front()),
            12 | 13 => {
                let n = number();
                match queue.try_insert(within(a, len), twin(&ledger, n)) {
                    Ok(()) => model.insert(within(a, len), n),
                    Err(full) => refused(n, full),
                }
            }
            14 => assert_eq!(queue.remove(within(a, len)).map(out), model.remove(within(a, len))),
            15 => assert_eq!(queue.swap_remove_back(within(a, len)).map(out), model.swap_remove_back(within(a, len))),
            16 => assert_eq!(queue.swap_remove_front(within(a, len)).map(out), model.swap_remove_front(within(a, len))),
            17 if len > 0 => {
                queue.swap(at % len, usize::from(b) % len);
                model.swap(at % len, usize::from(b) % len);
            }
            18 | 19 => {
                let (start, end) = (within(a, len), within(b, len));
                let range = start.min(end)..start.max(end);
                assert!(queue.range(range.clone()).map(L::number).eq(model.range(range.clone()).copied()));
                assert!(queue
                    .range_mut(range.clone())
                    .rev()
                    .map(|v| L::number_mut(&v))
                    .eq(model.range(range.clone()).rev().copied()));
                if kind == 18 {
                    continue;
                }
                let mut drain = queue.drain(range.clone());
                let mut expected = model.drain(range);
                for front in [true, false, true] {
                    let (x, y) =
                        if front { (drain.next(), expected.next()) } else { (drain.next_back(), expected.next_back()) };
                    assert_eq!(x.map(out), y);
                    assert_eq!(drain.len(), expected.len());
                }
            }
            20 => {
                L::retain_queue(&mut queue, |n| n % i64::from(a % 4 + 1) != 0);
                model.retain(|n| n % i64::from(a % 4 + 1) != 0);
            }
            21 => {
                queue.rotate_left(within(a, len));
                model.rotate_left(within(a, len));
            }
            22 => {
                queue.rotate_right(within(a, len));
                model.rotate_right(within(a, len));
            }
            23 => {
                assert_eq!(L::numbers(queue.as_slices().0).len() + L::numbers(queue.as_slices().1).len(), len);
                queue.make_contiguous();
                assert!(L::numbers(queue.as_slices().1).is_empty());
            }
            24 => {
                let mut rest = queue.split_off(within(a, len));
                assert_eq!(rest.is_fixed(), queue.is_fixed());
                let mut expected = model.split_off(within(a, len));
                assert!(rest.iter().map(L::number).eq(expected.iter().copied()));
                if b % 2 == 0 {
                    queue.append(&mut rest);
                    model.append(&mut expected);
                } else {
                    rest.append(&mut queue);
                    expected.append(&mut model);
                    (queue, model) = (rest, expected);
                }
            }
            25 if a > 128 => {
                queue.truncate(within(b, len));
                model.truncate(within(b, len));
            }
            26 => {
                let to = usize::from(a % 24).min(limit);
                queue.resize_with(to, || twin(&ledger, number()));
                let mut first = next - (to.saturating_sub(len)) as i64;
                model.resize_with(to, || {
                    first += 1;
                    first
                });
            }
            27 => match a % 4 {
                0 => queue = queue.clone(),
                1 => queue.shrink_to(usize::from(b % 16)),
                2 => queue.shrink_to_fit(),
                _ => assert_eq!(queue.try_reserve(usize::from(b)).is_ok(), usize::from(b) <= limit - len),
            },
            28 if a > 220 => {
                queue.clear();
                model.clear();
            }
            _ => {
                if let Some(value) = queue.get_mut(at) {
                    let n = number();
                    L::set(value, &ledger, n);
                    model[at] = n;
                }
            }
        }
        let len = model.len();
        assert_eq!((queue.len(), queue.is_empty()), (len, len == 0));
        assert!(len <= queue.capacity());
        assert_eq!(limit == usize::MAX, !queue.is_fixed());
        assert!(queue.iter().map(L::number).eq(model.iter().copied()));
        assert!(queue.iter().rev().map(L::number).eq(model.iter().rev().copied()));
        assert!((0..len + 2).all(|i| queue.get(i).map(L::number) == model.get(i).copied()));
        assert_eq!(queue.front().map(L::number), model.front().copied());
        assert_eq!(queue.back().map(L::number), model.back().copied());
        assert_eq!(queue.iter().nth(3).map(L::number), model.get(3).copied());
        assert_eq!(queue.iter().nth_back(3).map(L::number), model.iter().nth_back(3).copied());
        assert_eq!(
            queue.iter().fold(7, |a, v| a * 31 % 1009 + L::number(v)),
            model.iter().fold(7, |a, n| a * 31 % 1009 + n)
        );
        assert_eq!(ledger.live(), len);
    }
    let mut rest = queue.into_iter();
    assert_eq!(rest.next_back().map(out), model.pop_back());
    assert_eq!(rest.next().map(out), model.pop_front());
    drop(rest);
    ledger.assert_empty();
}
