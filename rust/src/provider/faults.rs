//! What the instruments detect, and the findings made of it.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use alloc::borrow::Cow;

use super::caller::Caller;
use super::damage::Damage;
use crate::finding::{Finding, Site, Written};

#[derive(Clone, Copy)]
pub enum Fault {
    Corrupt { caller: Caller, size: usize, damage: Damage },
    LateWrite { caller: Caller, size: usize, damage: Damage },
    BadFree { caller: Caller, size: usize },
    Leak { caller: Caller, size: usize },
    OverBudget { caller: Caller, live: u64, budget: u64 },
}
impl Written {
    fn of(damage: &Damage) -> Written {
        Written { count: damage.count, or_more: damage.or_more, bytes: damage.shown().to_vec() }
    }
}

impl Site {
    pub(crate) fn of(caller: Caller) -> Site {
        match caller.location {
            Some(at) => Site { file: Cow::Borrowed(at.file()), line: at.line(), column: at.column(), number: 0 },
            None => Site { number: caller.site as u64, ..Site::default() },
        }
    }
}

impl Finding {
    pub(crate) fn of(fault: Fault) -> Finding {
        match fault {
            Fault::Corrupt { caller, size, damage } => Finding::Corrupt {
                site: Site::of(caller),
                size,
                address: damage.address,
                offset: damage.offset,
                written: Written::of(&damage),
            },
            Fault::LateWrite { caller, size, damage } => Finding::LateWrite {
                site: Site::of(caller),
                size,
                address: damage.address,
                offset: damage.offset,
                written: Written::of(&damage),
            },
            Fault::BadFree { caller, size } => Finding::BadFree { site: Site::of(caller), size },
            Fault::Leak { caller, size } => Finding::Leak { site: Site::of(caller), size },
            Fault::OverBudget { caller, live, budget } => Finding::OverBudget { site: Site::of(caller), live, budget },
        }
    }
}
