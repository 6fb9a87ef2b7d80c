//! Counted values in both layouts, and how tests that are generic over layouts read them.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![allow(dead_code)]

use crate::ledger::{Counted, Ledger};
use crate::pair::Pair;
use toft::Memory;
use toft_pools::{CloneIn, Columns, List, Queue, Rows, Stack};

/// The same number twice: if the parts of two values were mixed up, they would differ.
pub type Twin = Pair<Counted, i64>;

pub fn twin(ledger: &Ledger, number: i64) -> Twin {
    Pair(ledger.value(number), number)
}

#[track_caller]
pub fn out(value: Twin) -> i64 {
    assert_eq!(value.0.number, value.1);
    value.1
}

pub trait Look: CloneIn<Twin> + Sized {
    fn number(value: Self::Ref<'_>) -> i64;
    fn number_mut(value: &Self::Mut<'_>) -> i64;
    fn set(value: Self::Mut<'_>, ledger: &Ledger, number: i64);
    fn numbers(values: Self::Slices<'_>) -> Vec<i64>;
    fn retain_stack<M: Memory>(stack: &mut Stack<Twin, Self, M>, keeps: impl FnMut(i64) -> bool);
    fn retain_list<M: Memory>(list: &mut List<Twin, Self, M>, keeps: impl FnMut(i64) -> bool);
    fn retain_queue<M: Memory>(queue: &mut Queue<Twin, Self, M>, keeps: impl FnMut(i64) -> bool);
    fn make_contiguous<M: Memory>(_: &mut Queue<Twin, Self, M>) {}
}

impl Look for Rows {
    fn number(value: &Twin) -> i64 {
        assert_eq!(value.0.number, value.1);
        value.1
    }
    fn number_mut(value: &&mut Twin) -> i64 {
        Self::number(value)
    }
    fn set(value: &mut Twin, ledger: &Ledger, number: i64) {
        *value = twin(ledger, number);
    }
    fn numbers(values: &[Twin]) -> Vec<i64> {
        values.iter().map(Self::number).collect()
    }
    fn retain_stack<M: Memory>(stack: &mut Stack<Twin, Self, M>, mut keeps: impl FnMut(i64) -> bool) {
        stack.retain(|value| keeps(Self::number(value)));
    }
    fn retain_list<M: Memory>(list: &mut List<Twin, Self, M>, mut keeps: impl FnMut(i64) -> bool) {
        list.retain(|value| keeps(Self::number(value)));
    }
    fn retain_queue<M: Memory>(queue: &mut Queue<Twin, Self, M>, mut keeps: impl FnMut(i64) -> bool) {
        queue.retain(|value| keeps(Self::number(value)));
    }
    fn make_contiguous<M: Memory>(queue: &mut Queue<Twin, Self, M>) {
        assert_eq!(queue.make_contiguous().len(), queue.len());
        assert!(queue.as_slices().1.is_empty());
    }
}

impl Look for Columns {
    fn number((counted, number): (&Counted, &i64)) -> i64 {
        assert_eq!(counted.number, *number);
        *number
    }
    fn number_mut((counted, number): &(&mut Counted, &mut i64)) -> i64 {
        assert_eq!(counted.number, **number);
        **number
    }
    fn set((counted, old): (&mut Counted, &mut i64), ledger: &Ledger, number: i64) {
        (*counted, *old) = (ledger.value(number), number);
    }
    fn numbers((counted, numbers): (&[Counted], &[i64])) -> Vec<i64> {
        assert!(counted.iter().map(|counted| counted.number).eq(numbers.iter().copied()));
        numbers.to_vec()
    }
    fn retain_stack<M: Memory>(stack: &mut Stack<Twin, Self, M>, mut keeps: impl FnMut(i64) -> bool) {
        stack.retain_mut(|value| keeps(Self::number_mut(&value)));
    }
    fn retain_list<M: Memory>(list: &mut List<Twin, Self, M>, mut keeps: impl FnMut(i64) -> bool) {
        list.retain_mut(|value| keeps(Self::number_mut(&value)));
    }
    fn retain_queue<M: Memory>(queue: &mut Queue<Twin, Self, M>, mut keeps: impl FnMut(i64) -> bool) {
        queue.retain_mut(|value| keeps(Self::number_mut(&value)));
    }
}

/// An operation, and two numbers that select its target.
pub type Step = (u8, u8, u8);

/// Under Miri, which is slow, one of this number of repetitions runs.
pub const FEWER: usize = if cfg!(miri) { 7 } else { 1 };

/// A position below `len`, or up to `len`.
pub fn within(n: u8, len: usize) -> usize {
    usize::from(n) % (len + 1)
}
