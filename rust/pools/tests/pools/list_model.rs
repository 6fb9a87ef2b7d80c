//! Doubly linked lists against a vector of handles.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![allow(dead_code)]

use crate::ledger::Ledger;
use crate::look::{out, twin, within, Look, Step, Twin};
use toft::Memory;
use toft_pools::{CapacityError, Handle, List};

/// The number of kinds of steps.
pub const KINDS: u8 = 25;

/// The list's contents agree with the model, forwards and backwards, by value and by handle.
pub fn check<L: Look, M: Memory>(list: &mut List<Twin, L, M>, model: &[(Handle<Twin>, i64)]) {
    assert_eq!((list.len(), list.is_empty()), (model.len(), model.is_empty()));
    assert!(list.len() <= list.capacity());
    let numbers: Vec<i64> = model.iter().map(|(_, n)| *n).collect();
    assert_eq!(list.iter().map(L::number).collect::<Vec<_>>(), numbers);
    assert!(list.iter().rev().map(L::number).eq(numbers.iter().rev().copied()));
    assert!(list.iter_mut().map(|v| L::number_mut(&v)).eq(numbers.iter().copied()));
    assert!(list.handles().eq(model.iter().map(|(handle, _)| *handle)));
    assert!(list.handles().rev().eq(model.iter().rev().map(|(handle, _)| *handle)));
    assert_eq!(list.front().map(L::number), numbers.first().copied());
    assert_eq!(list.back().map(L::number), numbers.last().copied());
    assert_eq!(list.front_handle(), model.first().map(|(handle, _)| *handle));
    assert_eq!(list.back_handle(), model.last().map(|(handle, _)| *handle));
    for (i, (handle, n)) in model.iter().enumerate() {
        assert_eq!(list.get(*handle).map(L::number), Some(*n));
        assert_eq!(list.next_handle(*handle), model.get(i + 1).map(|(handle, _)| *handle));
        assert_eq!(list.prev_handle(*handle), i.checked_sub(1).map(|i| model[i].0));
    }
    let mut iter = list.iter();
    for i in 0.. {
        let value = if i % 2 == 0 { iter.next() } else { iter.next_back() };
        assert_eq!(iter.len(), model.len().saturating_sub(i + 1));
        if value.is_none() {
            break;
        }
    }
}

pub fn play<L: Look, M: Memory + Clone>(mut list: List<Twin, L, M>, steps: &[Step]) {
    let ledger = Ledger::new();
    let limit = if list.is_fixed() { list.capacity() } else { usize::MAX };
    let mut model: Vec<(Handle<Twin>, i64)> = Vec::new();
    let mut stale: Vec<Handle<Twin>> = Vec::new();
    let mut next = 0;
    for &(kind, a, b) in steps {
        let mut number = || {
            next += 1;
            next
        };
        let len = model.len();
        let any = (len > 0).then(|| usize::from(a) % len);
        // The position of an added value, and the result of the call.
        let (at, added, n) = match (kind, any) {
            (0..=3, _) | (8..=11, None) => {
                let n = number();
                (len, list.try_push_back(twin(&ledger, n)), n)
            }
            (4..=7, _) => {
                let n = number();
                (0, list.try_push_front(twin(&ledger, n)), n)
            }
            (8 | 9, Some(i)) => {
                let n = number();
                (i, list.try_insert_before(model[i].0, twin(&ledger, n)), n)
            }
            (10 | 11, Some(i)) => {
                let n = number();
                (i + 1, list.try_insert_after(model[i].0, twin(&ledger, n)), n)
            }
            _ => (0, Err(CapacityError(twin(&ledger, 0))), 0),
        };
        match added {
            Ok(handle) => {
                assert!(!stale.contains(&handle));
                model.insert(at, (handle, n));
            }
            Err(CapacityError(value)) => assert!((kind > 11 || len == limit) && out(value) == n),
        }
        match (kind, any) {
            (12, _) => {
                assert_eq!(list.pop_back().map(out), model.last().map(|(_, n)| *n));
                stale.extend(model.pop().map(|(handle, _)| handle));
            }
            (13, _) => {
                assert_eq!(list.pop_front().map(out), model.first().map(|(_, n)| *n));
                stale.extend((len > 0).then(|| model.remove(0).0));
            }
            (14 | 15, Some(i)) => {
                let (handle, n) = model.remove(i);
                assert_eq!(list.remove(handle).map(out), Some(n));
                stale.push(handle);
            }
            (16, Some(i)) => {
                assert!(list.move_to_front(model[i].0));
                let moved = model.remove(i);
                model.insert(0, moved);
            }
            (17, Some(i)) => {
                assert!(list.move_to_back(model[i].0));
                let moved = model.remove(i);
                model.push(moved);
            }
            (18, _) => {
                L::retain_list(&mut list, |n| n % i64::from(a % 4 + 1) != 0);
                stale.extend(model.iter().filter(|(_, n)| n % i64::from(a % 4 + 1) == 0).map(|(handle, _)| *handle));
                model.retain(|(_, n)| n % i64::from(a % 4 + 1) != 0);
            }
            (19, _) => {
                let i = within(a, len);
                let mut rest = list.split_off(i);
                assert_eq!(rest.is_fixed(), list.is_fixed());
                assert!(rest.iter().map(L::number).eq(model[i..].iter().map(|(_, n)| *n)));
                let numbers: Vec<i64> = model.drain(i..).map(|(handle, n)| (stale.push(handle), n).1).collect();
                for handle in rest.handles() {
                    assert!(!list.contains_handle(handle), "a foreign handle");
                }
                list.append(&mut rest);
                assert!(rest.is_empty());
                model.extend(list.handles().skip(i).zip(numbers));
            }
            (20, _) => {
                let clone = list.clone(); // with the same handles
                assert_eq!(clone.is_fixed(), list.is_fixed());
                list = clone;
            }
            (21, _) if a > 200 => {
                list.clear();
                stale.extend(model.drain(..).map(|(handle, _)| handle));
            }
            (22, _) => assert_eq!(list.try_reserve(usize::from(a)).is_ok(), usize::from(a) <= limit - len),
            (23, Some(i)) => {
                let mut cursor = list.cursor_at_mut(model[i].0).unwrap();
                assert_eq!(cursor.current().map(|v| L::number_mut(&v)), Some(model[i].1));
                assert_eq!(cursor.peek_next().map(|v| L::number_mut(&v)), model.get(i + 1).map(|(_, n)| *n));
                cursor.move_prev();
                assert_eq!(cursor.handle(), i.checked_sub(1).map(|i| model[i].0));
                cursor.move_next();
                if b % 2 == 0 {
                    assert_eq!(cursor.remove_current().map(out), Some(model[i].1));
                    assert_eq!(cursor.handle(), model.get(i + 1).map(|(handle, _)| *handle));
                    stale.push(model.remove(i).0);
                } else if len < limit {
                    let (n, m) = (number(), number());
                    if len + 1 < limit {
                        let handle = cursor.insert_after(twin(&ledger, n));
                        model.insert(i + 1, (handle, n));
                    }
                    let handle = cursor.insert_before(twin(&ledger, m));
                    model.insert(i, (handle, m));
                }
            }
            (24, Some(i)) => {
                let n = number();
                L::set(list.get_mut(model[i].0).unwrap(), &ledger, n);
                model[i].1 = n;
            }
            _ => {}
        }
        check(&mut list, &model);
        for &handle in stale.iter().rev().take(40) {
            assert!(list.get(handle).is_none() && list.get_mut(handle).is_none() && list.remove(handle).is_none());
            assert!(!list.move_to_front(handle) && !list.move_to_back(handle) && list.cursor_at(handle).is_none());
            assert!(list.next_handle(handle).is_none() && list.prev_handle(handle).is_none());
        }
        assert_eq!(ledger.live(), model.len());
    }
    let mut rest = list.into_iter();
    assert_eq!(rest.next_back().map(out), model.pop().map(|(_, n)| n));
    assert_eq!(rest.next().map(out), model.first().map(|(_, n)| *n));
    drop(rest);
    ledger.assert_empty();
}
