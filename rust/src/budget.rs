//! Limits on the memory of many arenas, with parents.
// SPDX-License-Identifier: MIT OR Apache-2.0

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::panic::{catch_unwind, AssertUnwindSafe};

use crate::memory::Heap;
use crate::source::Source;

type OnRefusal = Box<dyn Fn(&Budget, usize) -> bool + Send + Sync>;

/// A limit on the blocks that arenas, recyclers and other objects hold, on any threads. A child's bytes count for its
/// parents too, and no level is exceeded by a byte. Clones are the same budget.
///
/// What an object returns by a reset, a trim or its drop counts no more. Arenas on a budget keep no unused blocks over a
/// reset, and return such blocks before a request fails. Allocations that take no block do not touch a budget.
///
/// ```
/// use toft::{Budget, BudgetOptions, Options};
///
/// let process = Budget::new(BudgetOptions::new().limit(4 << 20));
/// let tenant = process.child(BudgetOptions::new().name("tenant 7").limit(1 << 20));
/// let arena = Options::new().source(tenant.clone()).create()?;
/// arena.alloc_slice_fill(500_000, 0u8);
/// assert!(arena.try_alloc_slice_fill(600_000, 0u8).is_err()); // others of the process go on
/// assert_eq!(tenant.reserved(), arena.stats().reserved as usize);
/// assert_eq!(process.reserved(), tenant.reserved());
/// # Ok::<(), toft::AllocError>(())
/// ```
#[derive(Clone)]
pub struct Budget(Arc<Node>);

struct Node {
    name: String,
    parent: Option<Budget>,
    source: Arc<dyn Source + Send + Sync>,
    limit: AtomicUsize,
    reserved: AtomicUsize,
    peak: AtomicUsize,
    refusals: AtomicUsize,
    on_refusal: Option<OnRefusal>,
}

/// Options for a [`Budget`].
///
/// ```
/// use toft::{Budget, BudgetOptions, Pages};
/// let budget = Budget::new(BudgetOptions::new().name("pages").limit(1 << 20).source(Pages::new()));
/// assert_eq!((budget.name(), budget.limit()), ("pages", 1 << 20));
/// ```
#[must_use = "no budget is made before `Budget::new` or `child`"]
pub struct BudgetOptions {
    name: String,
    limit: usize,
    source: Option<Arc<dyn Source + Send + Sync>>,
    on_refusal: Option<OnRefusal>,
}

impl Default for BudgetOptions {
    fn default() -> BudgetOptions {
        BudgetOptions::new()
    }
}

impl BudgetOptions {
    /// No name, no limit, blocks of the heap.
    pub const fn new() -> BudgetOptions {
        BudgetOptions { name: String::new(), limit: usize::MAX, source: None, on_refusal: None }
    }

    /// A name for reports.
    pub fn name(mut self, name: impl Into<String>) -> BudgetOptions {
        self.name = name.into();
        self
    }

    /// The bytes that may be reserved at a time.
    pub fn limit(mut self, bytes: usize) -> BudgetOptions {
        self.limit = bytes;
        self
    }

    /// The source of the blocks. Of a child it is ignored: its blocks come from its parent's.
    pub fn source(mut self, source: impl Source + Send + Sync + 'static) -> BudgetOptions {
        self.source = Some(Arc::new(source));
        self
    }

    /// Called for a request of these bytes that the limit of the budget refuses, once for the request, on its thread and
    /// without a lock. It may drop other objects, wait for other threads, or write data to a file, and returns whether
    /// the request is tried again. It must not use the object that requests; a panic counts as false.
    ///
    /// ```
    /// use std::sync::Mutex;
    /// use toft::{Arena, Budget, BudgetOptions, Options};
    /// static CACHE: Mutex<Option<Arena>> = Mutex::new(None);
    ///
    /// let drop_cache = |_: &Budget, _: usize| CACHE.lock().unwrap().take().is_some();
    /// let budget = Budget::new(BudgetOptions::new().limit(1 << 20).on_refusal(drop_cache));
    /// let cache = Options::new().source(budget.clone()).create()?;
    /// cache.alloc_slice_fill(700_000, 0u8);
    /// *CACHE.lock().unwrap() = Some(cache);
    /// let arena = Options::new().source(budget).create()?;
    /// arena.alloc_slice_fill(700_000, 0u8); // in place of the cache
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    pub fn on_refusal(mut self, call: impl Fn(&Budget, usize) -> bool + Send + Sync + 'static) -> BudgetOptions {
        self.on_refusal = Some(Box::new(call));
        self
    }

    fn create(self, parent: Option<Budget>) -> Budget {
        let source = match &parent {
            Some(parent) => parent.0.source.clone(),
            None => self.source.unwrap_or_else(|| Arc::new(Heap)),
        };
        Budget(Arc::new(Node {
            name: self.name,
            parent,
            source,
            limit: AtomicUsize::new(self.limit),
            reserved: AtomicUsize::new(0),
            peak: AtomicUsize::new(0),
            refusals: AtomicUsize::new(0),
            on_refusal: self.on_refusal,
        }))
    }
}

impl Node {
    fn charge(&self, size: usize) -> bool {
        let limit = self.limit.load(Relaxed);
        let sum = |reserved: usize| reserved.checked_add(size).filter(|sum| *sum <= limit);
        self.reserved.fetch_update(Relaxed, Relaxed, sum).is_ok()
    }
}

impl Budget {
    /// A budget without a parent.
    pub fn new(options: BudgetOptions) -> Budget {
        options.create(None)
    }

    /// A budget whose bytes count for this one too, and which keeps this one alive.
    pub fn child(&self, options: BudgetOptions) -> Budget {
        options.create(Some(self.clone()))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The budget that its bytes count for too.
    ///
    /// ```
    /// use toft::{Budget, BudgetOptions};
    /// let process = Budget::new(BudgetOptions::new().name("process"));
    /// let tenant = process.child(BudgetOptions::new());
    /// assert_eq!(tenant.parent().map(Budget::name), Some("process"));
    /// assert!(process.parent().is_none());
    /// ```
    pub fn parent(&self) -> Option<&Budget> {
        self.0.parent.as_ref()
    }

    /// The bytes that may be reserved at a time.
    pub fn limit(&self) -> usize {
        self.0.limit.load(Relaxed)
    }

    /// Sets the limit. Below the reserved bytes it refuses every block until enough is returned.
    ///
    /// ```
    /// use toft::{Budget, BudgetOptions, Options};
    /// let budget = Budget::new(BudgetOptions::new());
    /// let arena = Options::new().source(budget.clone()).create()?;
    /// budget.set_limit(100);
    /// assert!(arena.try_alloc_slice_fill(10_000, 0u8).is_err());
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    pub fn set_limit(&self, bytes: usize) {
        self.0.limit.store(bytes, Relaxed);
    }

    /// The bytes of blocks that objects of this budget and of those below it hold.
    pub fn reserved(&self) -> usize {
        self.0.reserved.load(Relaxed)
    }

    /// The most bytes that were reserved at a time.
    ///
    /// ```
    /// use toft::{Budget, BudgetOptions, Options};
    /// let budget = Budget::new(BudgetOptions::new());
    /// drop(Options::new().source(budget.clone()).create()?);
    /// assert_eq!((budget.reserved(), budget.peak()), (0, 4096));
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    pub fn peak(&self) -> usize {
        self.0.peak.load(Relaxed)
    }

    /// The bytes that may be reserved before this budget or a parent refuses.
    ///
    /// ```
    /// use toft::{Budget, BudgetOptions};
    /// let process = Budget::new(BudgetOptions::new().limit(1 << 20));
    /// assert_eq!(process.child(BudgetOptions::new().limit(1 << 30)).available(), 1 << 20);
    /// ```
    pub fn available(&self) -> usize {
        self.levels().map(Budget::room).min().unwrap_or(0)
    }

    /// How often this budget's own limit refused a block.
    ///
    /// ```
    /// use toft::{Budget, BudgetOptions, Options};
    /// let budget = Budget::new(BudgetOptions::new().limit(100));
    /// assert!(Options::new().source(budget.clone()).create().is_err());
    /// assert!(budget.refusals() > 0);
    /// ```
    pub fn refusals(&self) -> usize {
        self.0.refusals.load(Relaxed)
    }

    fn room(&self) -> usize {
        self.limit().saturating_sub(self.reserved())
    }

    /// This one and its parents.
    fn levels(&self) -> impl Iterator<Item = &Budget> {
        core::iter::successors(Some(self), |budget| budget.parent())
    }

    /// Adds to each level; false: one refuses, and nothing was added.
    fn charge(&self, size: usize) -> bool {
        for (i, budget) in self.levels().enumerate() {
            if !budget.0.charge(size) {
                budget.0.refusals.fetch_add(1, Relaxed);
                self.levels().take(i).for_each(|below| _ = below.0.reserved.fetch_sub(size, Relaxed));
                return false;
            }
        }
        self.levels().for_each(|budget| _ = budget.0.peak.fetch_max(budget.reserved(), Relaxed));
        true
    }

    fn uncharge(&self, size: usize) {
        self.levels().for_each(|budget| _ = budget.0.reserved.fetch_sub(size, Relaxed));
    }
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Budget")
            .field("name", &self.name())
            .field("limit", &self.limit())
            .field("reserved", &self.reserved())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for BudgetOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BudgetOptions").field("name", &self.name).field("limit", &self.limit).finish_non_exhaustive()
    }
}

// SAFETY: the inner source's blocks; a callback's panic is caught. `refused` uses nothing but atomics and the callback,
// which is `Sync`.
unsafe impl Source for Budget {
    fn take(&self, size: usize) -> Option<NonNull<u8>> {
        if !self.charge(size) {
            return None;
        }
        let block = self.0.source.take(size);
        if block.is_none() {
            self.uncharge(size);
        }
        block
    }

    unsafe fn put(&self, block: NonNull<u8>, size: usize) {
        // SAFETY: the caller's contract.
        unsafe { self.0.source.put(block, size) };
        self.uncharge(size);
    }

    unsafe fn extend(&self, block: NonNull<u8>, size: usize, want: usize) -> bool {
        let more = want.saturating_sub(size);
        if more != 0 && !self.charge(more) {
            return false;
        }
        // SAFETY: the caller's contract.
        let done = unsafe { self.0.source.extend(block, size, want) };
        self.uncharge(if done { size.saturating_sub(want) } else { more });
        done
    }

    fn extends(&self) -> bool {
        self.0.source.extends()
    }

    fn shares_limit(&self) -> bool {
        true
    }

    fn refused(&self, size: usize) -> bool {
        // Without one, other threads have returned enough since the refusal.
        let Some(budget) = self.levels().find(|budget| budget.room() < size) else { return true };
        let Some(call) = &budget.0.on_refusal else { return false };
        catch_unwind(AssertUnwindSafe(|| call(budget, size))).unwrap_or(false)
    }
}
