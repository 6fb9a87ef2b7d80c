//! Limits on the memory of many arenas, with parents.
// SPDX-License-Identifier: MIT OR Apache-2.0

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;
use core::cell::Cell;
use core::fmt;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::panic::{catch_unwind, AssertUnwindSafe};

use crate::base::budget_report::{self, BudgetReport, LiveReport, Reported};
use crate::base::error::AllocError;
use crate::base::source::Source;
use crate::memory::by_layout::Heap;

mod share;
pub(crate) use share::Share;

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
    /// In reports; 0: in none.
    id: u64,
    name: String,
    parent: Option<Budget>,
    source: Arc<dyn Source + Send + Sync>,
    reserved: Sum,
    /// `None`: live bytes are not counted.
    live: Option<Sum>,
    /// Live bytes that arenas may hold without using them.
    parked: AtomicUsize,
    /// Bytes of `charge`.
    charged: AtomicUsize,
    on_refusal: Option<OnRefusal>,
}

impl Drop for Node {
    fn drop(&mut self) {
        debug_assert!(*self.parked.get_mut() == 0, "arenas have returned their portions");
        debug_assert!(*self.charged.get_mut() <= *self.reserved.now.get_mut());
        budget_report::remove(self.id);
        if let Some(parent) = &self.parent {
            parent.subtract_all(OF_OBJECTS, self.charged.load(Relaxed));
        }
    }
}

impl Node {
    fn root(&self) -> u64 {
        self.parent.as_ref().map_or(self.id, |parent| parent.0.root())
    }
}

impl Reported for Node {
    fn report(&self, root: Option<u64>) -> Option<BudgetReport> {
        let limit = |sum: &Sum| Some(sum.limit.load(Relaxed)).filter(|bytes| *bytes != usize::MAX);
        let is_wanted = root.is_none_or(|root| root == self.root());
        is_wanted.then(|| BudgetReport {
            id: self.id,
            parent: self.parent.as_ref().map(|parent| parent.0.id),
            name: self.name.clone(),
            limit: limit(&self.reserved),
            reserved: self.reserved.now.load(Relaxed),
            peak: self.reserved.peak.load(Relaxed),
            refusals: self.reserved.refusals.load(Relaxed),
            live: self.live.as_ref().map(|live| LiveReport {
                limit: limit(live),
                live: live.now.load(Relaxed),
                peak: live.peak.load(Relaxed),
                parked: self.parked.load(Relaxed),
                refusals: live.refusals.load(Relaxed),
            }),
        })
    }
}

/// A limited sum.
struct Sum {
    limit: AtomicUsize,
    now: AtomicUsize,
    peak: AtomicUsize,
    refusals: AtomicUsize,
}

/// The sum of a level, if it has one.
type Of = fn(&Node) -> Option<&Sum>;
const RESERVED: Of = |node| Some(&node.reserved);
const LIVE: Of = |node| node.live.as_ref();

/// A callback that runs on this thread.
struct Running {
    of: *const Node,
    /// That which called this one, or null.
    outer: *const Running,
}

std::thread_local! {
    /// The innermost one, or null.
    static RUNNING: Cell<*const Running> = const { Cell::new(core::ptr::null()) };
}

impl Running {
    fn includes(budget: *const Node) -> bool {
        let mut at = RUNNING.get();
        // SAFETY: those in the list are in frames of this thread, which remove them before they end.
        while let Some(running) = unsafe { at.as_ref() } {
            if running.of == budget {
                return true;
            }
            at = running.outer;
        }
        false
    }
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
    live_limit: Option<usize>,
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
        BudgetOptions { name: String::new(), limit: usize::MAX, live_limit: None, source: None, on_refusal: None }
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

    /// The bytes that may be live at a time, in whichever blocks. Without it, and without a parent that has one, live bytes
    /// are not counted; with [`usize::MAX`] they are counted only.
    ///
    /// Arenas take portions of the limit on their slow path, and return them by a reset, a rewind or the end of a scope,
    /// which all take the slow path then. What they hold without using it is less than 1 % of the limit. The blocks of
    /// other objects, and of a [`Scope`](crate::Scope) from a source, count as live.
    ///
    /// ```
    /// use toft::{Budget, BudgetOptions, Options};
    /// let budget = Budget::new(BudgetOptions::new().live_limit(1_000_000));
    /// let mut one = Options::new().source(budget.clone()).create()?;
    /// let two = Options::new().source(budget.clone()).create()?;
    /// one.alloc_slice_fill(600_000, 0u8);
    /// assert!(two.try_alloc_slice_fill(500_000, 0u8).is_err());
    /// one.reset();
    /// two.alloc_slice_fill(500_000, 0u8);
    /// assert!(budget.live() - budget.parked() <= 500_000 && budget.live_refusals() == 1);
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    pub fn live_limit(mut self, bytes: usize) -> BudgetOptions {
        self.live_limit = Some(bytes);
        self
    }

    /// The source of the blocks. Of a child it is ignored: its blocks come from its parent's.
    pub fn source(mut self, source: impl Source + Send + Sync + 'static) -> BudgetOptions {
        self.source = Some(Arc::new(source));
        self
    }

    /// Called for a request of these bytes that the limit of the budget refuses, once for the request, on its thread and
    /// without a lock. It may use the budget, as for an arena for its own work, drop other objects, wait for other threads,
    /// or write data to a file, and returns whether the request is tried again. It must not use the object that requests; a
    /// panic counts as false. While it runs, it is not called again on its thread: what the limit refuses there fails.
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
        let counted = parent.as_ref().is_some_and(|parent| parent.0.live.is_some());
        let live_limit = self.live_limit.or(counted.then_some(usize::MAX));
        Budget(Arc::new_cyclic(|node: &Weak<Node>| Node {
            id: budget_report::add(Weak::<Node>::clone(node)),
            name: self.name,
            parent,
            source,
            reserved: Sum::new(self.limit),
            live: live_limit.map(Sum::new),
            parked: AtomicUsize::new(0),
            charged: AtomicUsize::new(0),
            on_refusal: self.on_refusal,
        }))
    }
}

impl Sum {
    fn new(limit: usize) -> Sum {
        let zero = || AtomicUsize::new(0);
        Sum { limit: AtomicUsize::new(limit), now: zero(), peak: zero(), refusals: zero() }
    }

    fn add(&self, size: usize) -> bool {
        let limit = self.limit.load(Relaxed);
        let sum = |now: usize| now.checked_add(size).filter(|sum| *sum <= limit);
        self.now.fetch_update(Relaxed, Relaxed, sum).is_ok()
    }

    fn subtract(&self, size: usize) {
        let before = self.now.fetch_sub(size, Relaxed);
        debug_assert!(size <= before);
    }

    fn room(&self) -> usize {
        self.limit.load(Relaxed).saturating_sub(self.now.load(Relaxed))
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
        self.0.reserved.limit.load(Relaxed)
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
        self.0.reserved.limit.store(bytes, Relaxed);
    }

    /// The bytes of blocks that objects of this budget and of those below it hold.
    pub fn reserved(&self) -> usize {
        self.0.reserved.now.load(Relaxed)
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
        self.0.reserved.peak.load(Relaxed)
    }

    /// The bytes that may be reserved before this budget or a parent refuses.
    ///
    /// ```
    /// use toft::{Budget, BudgetOptions};
    /// let process = Budget::new(BudgetOptions::new().limit(1 << 20));
    /// assert_eq!(process.child(BudgetOptions::new().limit(1 << 30)).available(), 1 << 20);
    /// ```
    pub fn available(&self) -> usize {
        self.available_of(RESERVED)
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
        self.0.reserved.refusals.load(Relaxed)
    }

    /// Counts bytes that other allocators hold, until [`uncharge`](Budget::uncharge), or until the budget and its clones are
    /// dropped. Fails if a limit refuses them, after a call of [`on_refusal`](BudgetOptions::on_refusal).
    ///
    /// ```
    /// use toft::{Budget, BudgetOptions};
    /// let process = Budget::new(BudgetOptions::new().limit(1 << 20));
    /// let tenant = process.child(BudgetOptions::new());
    /// let buffer = vec![0u8; 700_000];
    /// tenant.charge(buffer.len())?;
    /// assert!(tenant.charge(400_000).is_err());
    /// drop(buffer);
    /// tenant.uncharge(700_000);
    /// assert_eq!(process.reserved(), 0);
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    pub fn charge(&self, bytes: usize) -> Result<(), AllocError> {
        let charge = || self.add_all(OF_OBJECTS, bytes);
        let done = charge() || self.refused(bytes) && charge();
        self.0.charged.fetch_add(if done { bytes } else { 0 }, Relaxed);
        done.then_some(()).ok_or(AllocError)
    }

    /// Ends the count of so many of the bytes that were charged, in any portions.
    ///
    /// # Panics
    /// If fewer are charged.
    #[track_caller]
    pub fn uncharge(&self, bytes: usize) {
        let less = |charged: usize| charged.checked_sub(bytes);
        let done = self.0.charged.fetch_update(Relaxed, Relaxed, less).is_ok();
        assert!(done, "toft: more bytes to uncharge than are charged");
        self.subtract_all(OF_OBJECTS, bytes);
    }

    /// The bytes that may be live at a time; `None`: they are not counted.
    pub fn live_limit(&self) -> Option<usize> {
        self.0.live.as_ref().map(|live| live.limit.load(Relaxed))
    }

    /// Sets the limit of live bytes.
    ///
    /// ```
    /// use toft::{Budget, BudgetOptions};
    /// let budget = Budget::new(BudgetOptions::new().live_limit(usize::MAX));
    /// budget.set_live_limit(1 << 20);
    /// assert_eq!(budget.live_available(), 1 << 20);
    /// ```
    ///
    /// # Panics
    /// If live bytes are not counted: [`BudgetOptions::live_limit`].
    pub fn set_live_limit(&self, bytes: usize) {
        let live = self.0.live.as_ref().expect("toft: a limit of live bytes, which this budget does not count");
        live.limit.store(bytes, Relaxed);
    }

    /// The live bytes of arenas of this budget and of those below it, with what is [parked](Budget::parked); 0 if they are
    /// not counted, as the other numbers of live bytes.
    pub fn live(&self) -> usize {
        self.0.live.as_ref().map_or(0, |live| live.now.load(Relaxed))
    }

    /// The most bytes that were live at a time.
    ///
    /// ```
    /// use toft::{Budget, BudgetOptions, Options};
    /// let budget = Budget::new(BudgetOptions::new().live_limit(1 << 20));
    /// Options::new().source(budget.clone()).create()?.alloc_slice_fill(100_000, 0u8);
    /// assert!(budget.live() == 0 && budget.live_peak() >= 100_000);
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    pub fn live_peak(&self) -> usize {
        self.0.live.as_ref().map_or(0, |live| live.peak.load(Relaxed))
    }

    /// The bytes that may be allocated before this budget or a parent refuses; [`usize::MAX`] without a limit.
    pub fn live_available(&self) -> usize {
        self.available_of(LIVE)
    }

    /// At most so many of the live bytes are held by arenas without being allocated.
    pub fn parked(&self) -> usize {
        self.0.parked.load(Relaxed)
    }

    /// How often this budget's own limit of live bytes refused a request.
    pub fn live_refusals(&self) -> usize {
        self.0.live.as_ref().map_or(0, |live| live.refusals.load(Relaxed))
    }

    /// Reports the tree that it belongs to, parents before their children: this budget, those above it, and all below them.
    /// The numbers of a budget are read one after the other while other threads run. With the feature `serde` it can be
    /// serialised, as `docs/snapshot.md` describes; the profile of a process has all of its budgets.
    ///
    /// ```
    /// use toft::{Budget, BudgetOptions};
    /// let process = Budget::new(BudgetOptions::new().name("process"));
    /// let tenant = process.child(BudgetOptions::new().name("tenant 7").limit(1 << 20));
    /// tenant.charge(1000)?;
    /// let tree = tenant.report();
    /// assert_eq!((&*tree[0].name, &*tree[1].name), ("process", "tenant 7"));
    /// assert_eq!((tree[1].parent, tree[1].limit, tree[1].reserved), (Some(tree[0].id), Some(1 << 20), 1000));
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    pub fn report(&self) -> Vec<BudgetReport> {
        budget_report::reports(Some(self.0.root()))
    }

    fn available_of(&self, of: Of) -> usize {
        self.levels().filter_map(|budget| of(&budget.0)).map(Sum::room).min().unwrap_or(usize::MAX)
    }

    /// This one and its parents.
    fn levels(&self) -> impl Iterator<Item = &Budget> {
        core::iter::successors(Some(self), |budget| budget.parent())
    }

    /// The sums of this one and its parents.
    fn sums(&self, of: Of) -> impl Iterator<Item = &Sum> {
        self.levels().filter_map(move |budget| of(&budget.0))
    }

    /// Adds to each level, or returns the sum that refuses, and nothing was added.
    fn try_add(&self, of: Of, size: usize) -> Result<(), &Sum> {
        for (i, sum) in self.sums(of).enumerate() {
            if !sum.add(size) {
                self.sums(of).take(i).for_each(|below| below.subtract(size));
                return Err(sum);
            }
        }
        self.sums(of).for_each(|sum| _ = sum.peak.fetch_max(sum.now.load(Relaxed), Relaxed));
        Ok(())
    }

    /// The same, and counts the refusal.
    fn add(&self, of: Of, size: usize) -> bool {
        self.try_add(of, size).map_err(|sum| sum.refusals.fetch_add(1, Relaxed)).is_ok()
    }

    fn subtract(&self, of: Of, size: usize) {
        self.sums(of).for_each(|sum| sum.subtract(size));
    }

    /// Calls back for the level that refused bytes. Without one, other threads have returned enough since the refusal.
    fn call_back(&self, of: Of, size: usize) -> bool {
        let refuses = |budget: &&Budget| of(&budget.0).is_some_and(|sum| sum.room() < size);
        let Some(budget) = self.levels().find(refuses) else { return true };
        let Some(call) = &budget.0.on_refusal else { return false };
        let of_budget = Arc::as_ptr(&budget.0);
        if Running::includes(of_budget) {
            return false; // else it would call itself without end
        }
        let running = Running { of: of_budget, outer: RUNNING.get() };
        RUNNING.set(&raw const running);
        let answer = catch_unwind(AssertUnwindSafe(|| call(budget, size)));
        debug_assert!(core::ptr::eq(RUNNING.get(), &raw const running));
        RUNNING.set(running.outer);
        answer.unwrap_or(false)
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

impl Budget {
    /// Takes a block that counts as reserved, and as live if `of` says so.
    fn take_for(&self, of: &[Of], size: usize) -> Option<NonNull<u8>> {
        if !self.add_all(of, size) {
            return None;
        }
        let block = self.0.source.take(size);
        if block.is_none() {
            self.subtract_all(of, size);
        }
        block
    }

    /// # Safety
    /// As [`Source::put`], of a block that counts for these sums.
    unsafe fn put_for(&self, of: &[Of], block: NonNull<u8>, size: usize) {
        // SAFETY: the caller's contract.
        unsafe { self.0.source.put(block, size) };
        self.subtract_all(of, size);
    }

    /// # Safety
    /// As [`Source::extend`], of a block that counts for these sums.
    unsafe fn extend_for(&self, of: &[Of], block: NonNull<u8>, size: usize, want: usize) -> bool {
        let more = want.saturating_sub(size);
        if more != 0 && !self.add_all(of, more) {
            return false;
        }
        // SAFETY: the caller's contract.
        let done = unsafe { self.0.source.extend(block, size, want) };
        self.subtract_all(of, if done { size.saturating_sub(want) } else { more });
        done
    }

    fn add_all(&self, of: &[Of], size: usize) -> bool {
        let charged = of.iter().take_while(|of| self.add(**of, size)).count();
        if charged != of.len() {
            self.subtract_all(&of[..charged], size);
        }
        charged == of.len()
    }

    fn subtract_all(&self, of: &[Of], size: usize) {
        of.iter().for_each(|of| self.subtract(*of, size));
    }
}

/// What blocks of objects count as: those of arenas with a share count as reserved only.
const OF_OBJECTS: &[Of] = &[RESERVED, LIVE];
const OF_ARENAS: &[Of] = &[RESERVED];

// SAFETY: the inner source's blocks; a callback's panic is caught. `refused` uses nothing but atomics and the callback,
// which is `Sync`.
unsafe impl Source for Budget {
    fn take(&self, size: usize) -> Option<NonNull<u8>> {
        self.take_for(OF_OBJECTS, size)
    }

    unsafe fn put(&self, block: NonNull<u8>, size: usize) {
        // SAFETY: the caller's contract.
        unsafe { self.put_for(OF_OBJECTS, block, size) }
    }

    unsafe fn extend(&self, block: NonNull<u8>, size: usize, want: usize) -> bool {
        // SAFETY: the caller's contract.
        unsafe { self.extend_for(OF_OBJECTS, block, size, want) }
    }

    fn extends(&self) -> bool {
        self.0.source.extends()
    }

    fn shares_limit(&self) -> bool {
        true
    }

    fn refused(&self, size: usize) -> bool {
        self.call_back(RESERVED, size) && self.call_back(LIVE, size)
    }
}
