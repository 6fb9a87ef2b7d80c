//! Destructors run exactly once, newest first, whichever call frees the memory, also after panics and leaks.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "full")]

#[path = "../common/fixed.rs"]
mod fixed;
#[path = "../common/pages.rs"]
mod pages;
#[path = "../common/strict.rs"]
mod strict;

mod ends;
mod leaks;
mod panics;

use std::cell::RefCell;
use std::mem::{forget, MaybeUninit};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};

use pages::Pages;
use toft::abi::Head;
use toft::{Arena, Keep, Options, Owner, Scope};

/// The numbers of dropped values, in order.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u32>>>);

struct Logs {
    log: Log,
    id: u32,
    panics: bool,
    text: Option<Box<u32>>, // makes a double drop detectable
}

impl Log {
    fn take(&self) -> Vec<u32> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    fn value_with(&self, id: u32, panics: bool) -> Logs {
        Logs { log: self.clone(), id, panics, text: Some(Box::new(id)) }
    }

    fn value(&self, id: u32) -> Logs {
        self.value_with(id, false)
    }

    /// A value that will not be dropped; it owns nothing but its reference to the log.
    fn lost(&self, id: u32) -> Logs {
        let mut value = self.value(id);
        value.text = None;
        value
    }

    /// A value whose destructor panics with its number.
    fn bomb(&self, id: u32) -> Logs {
        self.value_with(id, true)
    }
}

impl Drop for Logs {
    fn drop(&mut self) {
        assert!(self.text.as_ref().is_none_or(|text| **text == self.id));
        self.log.0.lock().unwrap().push(self.id);
        if self.panics {
            std::panic::panic_any(self.id);
        }
    }
}

/// The number of the value whose panic propagated out of `f`.
fn bomb_of(f: impl FnOnce()) -> Option<u32> {
    catch_unwind(AssertUnwindSafe(f)).err().map(|panic| *panic.downcast::<u32>().expect("a bomb's panic"))
}

/// Values of this log were lost, as documented: their references must not count as a leak.
fn strict_forget(log: &Log, values: usize) {
    for _ in 0..values {
        // SAFETY: each lost value held one reference.
        unsafe { Arc::decrement_strong_count(Arc::as_ptr(&log.0)) };
    }
}
