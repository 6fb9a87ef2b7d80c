//! Counted values: each is entered in a ledger when it is made, and removed when it is dropped. A double drop, or a
//! drop of a value that was not made, fails the test; so does a ledger that is closed with values in it.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![allow(dead_code)]

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;

#[derive(Default)]
struct Pages {
    live: RefCell<HashMap<u64, i64>>,
    made: Cell<u64>,
    drops: Cell<u64>,
    clones: Cell<u64>,
    /// The drop, or the clone, that panics, counted from the ledger's beginning.
    fatal_drop: Cell<u64>,
    fatal_clone: Cell<u64>,
}

#[derive(Clone, Default)]
pub struct Ledger(Rc<Pages>);

impl Ledger {
    pub fn new() -> Ledger {
        Ledger::default()
    }

    pub fn value(&self, number: i64) -> Counted {
        let entry = self.0.made.get() + 1;
        self.0.made.set(entry);
        self.0.live.borrow_mut().insert(entry, number);
        Counted { number, entry, ledger: self.clone() }
    }

    pub fn live(&self) -> usize {
        self.0.live.borrow().len()
    }

    /// The n-th drop from now on panics, after the value was removed.
    pub fn panic_at_drop(&self, n: u64) {
        self.0.fatal_drop.set(self.0.drops.get() + n);
    }

    /// The n-th clone from now on panics.
    pub fn panic_at_clone(&self, n: u64) {
        self.0.fatal_clone.set(self.0.clones.get() + n);
    }

    #[track_caller]
    pub fn assert_empty(&self) {
        assert!(self.0.live.borrow().is_empty(), "never dropped: {:?}", self.0.live.borrow());
    }
}

pub struct Counted {
    pub number: i64,
    entry: u64,
    ledger: Ledger,
}

impl Clone for Counted {
    fn clone(&self) -> Counted {
        let pages = &self.ledger.0;
        pages.clones.set(pages.clones.get() + 1);
        if pages.clones.get() == pages.fatal_clone.get() {
            panic!("a clone that panics");
        }
        self.ledger.value(self.number)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let pages = &self.ledger.0;
        let was = pages.live.borrow_mut().remove(&self.entry);
        assert_eq!(was, Some(self.number), "dropped twice, or never made");
        pages.drops.set(pages.drops.get() + 1);
        if pages.drops.get() == pages.fatal_drop.get() {
            panic!("a destructor that panics");
        }
    }
}

impl PartialEq for Counted {
    fn eq(&self, other: &Counted) -> bool {
        self.number == other.number
    }
}

impl Eq for Counted {}

impl PartialOrd for Counted {
    fn partial_cmp(&self, other: &Counted) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Counted {
    fn cmp(&self, other: &Counted) -> std::cmp::Ordering {
        self.number.cmp(&other.number)
    }
}

impl fmt::Debug for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.number)
    }
}

/// The closure's result, or its panic; without a message on the terminal.
pub fn panics<R>(f: impl FnOnce() -> R) -> Result<R, ()> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).map_err(|_| ())
}
