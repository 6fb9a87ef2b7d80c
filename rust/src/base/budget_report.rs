//! The budgets of the process, and reports of them.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use alloc::string::String;
use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;
use std::sync::{Mutex, MutexGuard, TryLockError};

/// A budget in a report: [`Budget::report`](crate::Budget::report).
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct BudgetReport {
    /// Its number in the process, from 1, in the order of creation.
    pub id: u64,
    /// The number of its parent.
    pub parent: Option<u64>,
    /// Its name.
    pub name: String,
    /// The bytes that may be reserved; `None`: no limit.
    pub limit: Option<usize>,
    /// The bytes that are reserved.
    pub reserved: usize,
    /// The most bytes that were reserved.
    pub peak: usize,
    /// How often its limit refused a block.
    pub refusals: usize,
    /// The same of live bytes, if they are counted.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub live: Option<LiveReport>,
}

/// The live bytes of a [`BudgetReport`].
///
/// ```
/// use toft::{Budget, BudgetOptions};
/// let budget = Budget::new(BudgetOptions::new().live_limit(5000));
/// budget.charge(1000)?;
/// let live = budget.report()[0].live.clone().unwrap();
/// assert_eq!((live.limit, live.live, live.peak, live.refusals), (Some(5000), 1000, 1000, 0));
/// # Ok::<(), toft::AllocError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct LiveReport {
    /// The bytes that may be live; `None`: no limit.
    pub limit: Option<usize>,
    /// The bytes that are live, with those that are parked.
    pub live: usize,
    /// The most bytes that were live.
    pub peak: usize,
    /// At most so many are held by arenas without being allocated.
    pub parked: usize,
    /// How often its limit refused bytes.
    pub refusals: usize,
}

/// A budget of the process.
pub(crate) trait Reported: Send + Sync {
    /// `None`: it is not of the tree with this root.
    fn report(&self, root: Option<u64>) -> Option<BudgetReport>;
}

/// The budgets by their numbers, which rise. A budget that was dropped leaves an empty place.
struct All {
    last: u64,
    budgets: Vec<(u64, Option<Weak<dyn Reported>>)>,
    empty: usize,
}

static ALL: Mutex<All> = Mutex::new(All { last: 0, budgets: Vec::new(), empty: 0 });

/// `None`: a thread that a fork did not copy holds the lock. Reports then lack a budget.
fn lock() -> Option<MutexGuard<'static, All>> {
    for _ in 0..1000 {
        match ALL.try_lock() {
            Ok(guard) => return Some(guard),
            Err(TryLockError::Poisoned(error)) => return Some(error.into_inner()),
            Err(TryLockError::WouldBlock) => std::thread::yield_now(),
        }
    }
    None
}

/// Returns the number of a new budget; 0: it is in no report.
pub(crate) fn add(budget: Weak<dyn Reported>) -> u64 {
    let Some(mut all) = lock() else { return 0 };
    all.last += 1;
    let id = all.last;
    all.budgets.push((id, Some(budget)));
    id
}

/// Takes constant time on average: empty places go when they are more than half.
pub(crate) fn remove(id: u64) {
    let Some(mut all) = lock() else { return };
    if let Ok(i) = all.budgets.binary_search_by_key(&id, |budget| budget.0) {
        all.budgets[i].1 = None;
        all.empty += 1;
        if all.empty > all.budgets.len() / 2 {
            all.budgets.retain(|budget| budget.1.is_some());
            all.empty = 0;
        }
    }
}

/// Of the budgets with this root, or of all, by their numbers: parents come before their children.
pub(crate) fn reports(root: Option<u64>) -> Vec<BudgetReport> {
    let Some(all) = lock() else { return Vec::new() };
    let budgets: Vec<Arc<dyn Reported>> =
        all.budgets.iter().filter_map(|budget| budget.1.as_ref()?.upgrade()).collect();
    drop(all); // the last reference to a budget may be that of `budgets`
    budgets.iter().filter_map(|budget| budget.report(root)).collect()
}
