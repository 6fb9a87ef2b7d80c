//! Scopes: outer values may grow while a scope is open and survive it, its memory is reused, budgets hold across
//! scopes.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "full")]
#![cfg(feature = "allocator-api2")]

#[path = "../common/disguise.rs"]
mod disguise;
#[path = "../common/fixed.rs"]
mod fixed;
#[path = "../common/pages.rs"]
mod pages;
#[path = "../common/random.rs"]
mod random;
#[path = "../common/strict.rs"]
mod strict;

mod budgets;
mod outer;
mod places;

use std::mem::MaybeUninit;

use allocator_api2::vec::Vec as ArenaVec;
use disguise::Disguised;
use pages::Pages;
use random::Random;
use toft::{Arena, Keep, Options, Scope};

const MIRI: bool = cfg!(miri);

/// Fewer under Miri, and with `TOFT_SHORT` (Valgrind).
fn rounds(most: usize) -> usize {
    if MIRI {
        (most / 1000).clamp(3, 6)
    } else if std::env::var_os("TOFT_SHORT").is_some() {
        most / 50
    } else {
        most
    }
}

/// A vector that checks itself: it holds consecutive numbers from its own start.
struct Counting<'a>(ArenaVec<u64, &'a Arena>, u64);

impl<'a> Counting<'a> {
    fn of(arena: &'a Arena, start: u64) -> Self {
        Counting(ArenaVec::new_in(arena), start)
    }

    fn push(&mut self, n: usize) {
        for _ in 0..n {
            self.0.push(self.1 + self.0.len() as u64);
        }
    }

    fn check(&self) {
        let whole = self.0.iter().enumerate().all(|(i, v)| *v == self.1 + i as u64);
        assert!(whole, "the vector from {} was overwritten", self.1);
    }
}

/// Allocates decreasing sizes until each is refused.
fn exhaust(arena: &Arena) -> u64 {
    let mut n = 0;
    while arena.try_alloc_uninit::<[u64; 32]>().is_ok() {
        n += 256;
    }
    while arena.try_alloc(1u64).is_ok() {
        n += 8;
    }
    n
}
