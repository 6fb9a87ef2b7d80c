//! Lists with shared tails against a map of handles.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![allow(dead_code)]

use crate::ledger::Ledger;
use crate::look::{out, twin, Look, Step, Twin};
use std::collections::HashMap;
use toft::Memory;
use toft_pools::{ConsList, Full, Handle};

/// How many kinds of steps there are.
pub const KINDS: u8 = 16;

pub type Link = Option<Handle<Twin>>;

/// Each cell that is there: its number, and the cell that was its tail when it was made.
#[derive(Default)]
struct Model {
    cells: HashMap<Handle<Twin>, (i64, Link)>,
    /// All that ever were, the oldest first.
    all: Vec<Handle<Twin>>,
}

impl Model {
    fn any(&self, n: u8) -> Link {
        let live: Vec<_> = self.all.iter().filter(|handle| self.cells.contains_key(handle)).collect();
        (!live.is_empty() && n % 8 != 0).then(|| *live[usize::from(n) % live.len()])
    }
    fn add(&mut self, handle: Handle<Twin>, number: i64, tail: Link) {
        assert!(!self.all.contains(&handle), "a handle for two values");
        self.cells.insert(handle, (number, tail));
        self.all.push(handle);
    }
    fn tail(&self, list: Link) -> Link {
        self.cells[&list?].1.filter(|tail| self.cells.contains_key(tail))
    }
    fn numbers(&self, mut list: Link) -> Vec<i64> {
        let mut numbers = Vec::new();
        while let Some(handle) = list.filter(|handle| self.cells.contains_key(handle)) {
            numbers.push(self.cells[&handle].0);
            list = self.tail(list);
        }
        numbers
    }
}

pub fn play<L: Look, M: Memory + Clone>(mut cells: ConsList<Twin, L, M>, steps: &[Step]) {
    let ledger = Ledger::new();
    let limit = if cells.is_fixed() { cells.capacity() } else { usize::MAX };
    let mut model = Model::default();
    let mut next = 0;
    for &(kind, a, b) in steps {
        let mut number = || {
            next += 1;
            next
        };
        match kind {
            0..=6 => {
                let (n, tail) = (number(), model.any(a));
                match cells.try_cons(twin(&ledger, n), tail) {
                    Ok(handle) => model.add(handle, n, tail),
                    Err(Full(value)) => assert_eq!((out(value), cells.len()), (n, limit)),
                }
            }
            7 => {
                let count = usize::from(b % 5).min(limit - cells.len());
                let numbers: Vec<i64> = (0..count).map(|_| number()).collect();
                let tail = model.any(a);
                let list = cells.list(numbers.iter().map(|&n| twin(&ledger, n)), tail);
                let mut made = Vec::new();
                let mut at = list;
                for &n in &numbers {
                    made.push((at.unwrap(), n));
                    at = cells.tail(at);
                }
                assert_eq!(at, tail);
                for (i, (handle, n)) in made.iter().enumerate().rev() {
                    model.add(*handle, *n, made.get(i + 1).map_or(tail, |(next, _)| Some(*next)));
                }
            }
            8..=10 => {
                let list = model.any(a);
                let expected = list.map(|list| (model.cells[&list].0, model.cells[&list].1));
                let got = cells.uncons(list).map(|(value, tail)| (out(value), tail));
                assert_eq!(got, expected, "the tail as it was, stale or not");
                list.map(|list| model.cells.remove(&list));
            }
            11 => {
                let mut list = model.any(a);
                cells.free(list);
                while let Some(handle) = list {
                    list = model.tail(list);
                    model.cells.remove(&handle);
                }
            }
            12 if a > 220 => {
                cells.clear();
                model.cells.clear();
            }
            13 => {
                let clone = cells.clone(); // with the same handles
                assert_eq!((clone.is_fixed(), clone.len()), (cells.is_fixed(), cells.len()));
                cells = clone;
            }
            14 => assert_eq!(cells.try_reserve(usize::from(a)).is_ok(), usize::from(a) <= limit - cells.len()),
            _ => {
                if let Some(list) = model.any(a) {
                    let n = number();
                    L::set(cells.head_mut(list).unwrap(), &ledger, n);
                    model.cells.get_mut(&list).unwrap().0 = n;
                }
            }
        }
        assert_eq!((cells.len(), cells.is_empty()), (model.cells.len(), model.cells.is_empty()));
        for &handle in model.all.iter().rev().take(24) {
            let expected = model.cells.get(&handle);
            assert_eq!(cells.contains_handle(handle), expected.is_some());
            assert_eq!(cells.head(handle).map(L::number), expected.map(|(n, _)| *n));
            assert_eq!(cells.iter(handle).map(L::number).collect::<Vec<_>>(), model.numbers(Some(handle)));
            match expected {
                Some(_) => assert_eq!(cells.tail(handle), model.tail(Some(handle))),
                None => {
                    assert!(cells.uncons(handle).is_none() && cells.tail(handle).is_none());
                    assert!(cells.head_mut(handle).is_none());
                }
            }
        }
        assert_eq!(ledger.live(), cells.len());
    }
    drop(cells);
    ledger.assert_empty();
}
