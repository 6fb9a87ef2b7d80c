//! Budgets: bytes of each level, limits that no thread exceeds, callbacks of refusals.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::alloc::Layout;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Barrier, Mutex, OnceLock};
use std::thread;

use toft::{Arena, Budget, BudgetOptions, Heap, Options, Recycler, Reserve, SharedArena, Source, SyncRecycler};

fn limited(bytes: usize) -> BudgetOptions {
    BudgetOptions::new().limit(bytes)
}

fn arena_of(budget: &Budget) -> Arena {
    Options::new().source(budget.clone()).create().unwrap()
}

#[test]
fn bytes_count_for_each_level() {
    let process = Budget::new(BudgetOptions::new());
    let (tenant, other) = (process.child(BudgetOptions::new().name("tenant")), process.child(limited(4 << 20)));
    let request = tenant.child(limited(1 << 20));
    let (a, b) = (arena_of(&request), arena_of(&other));
    a.alloc_slice_fill(100_000, 0u8);
    b.alloc_slice_fill(if cfg!(miri) { 300_000 } else { 3_000_000 }, 0u8);
    let (of_a, of_b) = (a.stats().reserved as usize, b.stats().reserved as usize);
    assert_eq!((request.reserved(), tenant.reserved(), other.reserved()), (of_a, of_a, of_b));
    assert_eq!(process.reserved(), of_a + of_b);
    assert_eq!(request.available(), (1 << 20) - of_a);
    assert_eq!((tenant.name(), request.parent().unwrap().name(), process.limit()), ("tenant", "tenant", usize::MAX));
    drop(b);
    assert_eq!((process.reserved(), process.peak()), (of_a, of_a + of_b));
    drop((process, tenant, request)); // the arena has its budget, which has its parents
    assert!(a.try_alloc_slice_fill(2 << 20, 0u8).is_err());
    assert!(a.try_alloc_slice_fill(100_000, 0u8).is_ok());
}

#[test]
fn bytes_of_other_allocators_count() {
    let calls = Arc::new(AtomicUsize::new(0));
    let seen = calls.clone();
    let process = Budget::new(limited(1000).live_limit(2000).on_refusal(move |budget, size| {
        assert_eq!(size, 401);
        budget.uncharge(100);
        seen.fetch_add(1, Relaxed) == 1
    }));
    let tenant = process.child(BudgetOptions::new());
    process.charge(200).unwrap();
    tenant.charge(500).unwrap();
    tenant.charge(0).unwrap();
    assert_eq!((process.reserved(), process.live(), tenant.reserved(), tenant.live()), (700, 700, 500, 500));
    assert!(tenant.charge(401).is_err()); // and 100 bytes less
    assert!(process.reserved() == 600 && process.refusals() > 0);
    tenant.charge(401).unwrap();
    assert_eq!((process.reserved(), calls.load(Relaxed)), (901, 2));
    for (budget, bytes) in [(&tenant, 902), (&process, 1)] {
        let budget = budget.clone();
        assert!(thread::spawn(move || budget.uncharge(bytes)).join().is_err());
    }
    assert_eq!((process.reserved(), tenant.live()), (901, 901));
    tenant.uncharge(1);
    drop(tenant);
    assert_eq!((process.reserved(), process.live()), (0, 0));
}

#[test]
fn a_report_is_of_the_tree() {
    let process = Budget::new(limited(1 << 20).name("process").live_limit(5000));
    let other = Budget::new(BudgetOptions::new());
    let tenant = process.child(BudgetOptions::new().name("a \"tenant\""));
    tenant.charge(1000).unwrap();
    drop(process.child(BudgetOptions::new()));
    let tree = tenant.report();
    assert_eq!(tree, process.report());
    assert_eq!(tree.len(), 2);
    assert_eq!((&*tree[0].name, tree[0].parent, tree[0].limit), ("process", None, Some(1 << 20)));
    assert_eq!((&*tree[1].name, tree[1].parent, tree[1].limit), ("a \"tenant\"", Some(tree[0].id), None));
    for budget in &tree {
        assert_eq!((budget.reserved, budget.peak, budget.refusals), (1000, 1000, 0));
    }
    let live =
        |b: usize| tree[b].live.as_ref().map(|live| (live.limit, live.live, live.peak, live.parked, live.refusals));
    assert_eq!(live(0), Some((Some(5000), 1000, 1000, 0, 0)));
    assert_eq!(live(1), Some((None, 1000, 1000, 0, 0)));
    assert!(other.report().len() == 1 && other.report()[0].live.is_none());
    let reads = thread::spawn(move || (0..100).map(|_| other.report().len()).sum::<usize>());
    for _ in 0..100 {
        drop(process.child(BudgetOptions::new()));
    }
    assert_eq!(reads.join().unwrap(), 100);
    assert_eq!(process.report().len(), 2);
}

#[test]
fn reports_keep_the_order_of_creation_when_budgets_are_dropped() {
    let root = Budget::new(BudgetOptions::new());
    let mut children: Vec<_> = (0..100).map(|i| root.child(BudgetOptions::new().name(i.to_string()))).collect();
    for step in [2, 3, 7] {
        let mut i = 0;
        children.retain(|_| {
            i += 1;
            i % step == 0
        });
        children.push(root.child(BudgetOptions::new().name(format!("after {step}"))));
        assert!(root.report()[1..].iter().map(|report| &*report.name).eq(children.iter().map(Budget::name)));
    }
}

#[test]
fn a_refusal_calls_back_once() {
    let calls = Arc::new(Mutex::new((0, 0, None::<Arena>, false)));
    let seen = calls.clone();
    let tenant = Budget::new(limited(256 << 10).on_refusal(move |budget, size| {
        assert_eq!(budget.limit(), 256 << 10);
        let mut seen = seen.lock().unwrap();
        seen.0 += 1;
        seen.1 = size;
        seen.2.take();
        seen.3
    }));
    let request = tenant.child(BudgetOptions::new());
    let (a, b) = (arena_of(&request), arena_of(&request));
    b.alloc_slice_fill(100_000, 0u8);
    while a.try_alloc([0u64; 8]).is_ok() {}
    assert_eq!(calls.lock().unwrap().0, 1); // not for blocks that were larger than needed
    {
        let mut calls = calls.lock().unwrap();
        (calls.2, calls.3) = (Some(b), true);
    }
    assert!(a.try_alloc([0u64; 8]).is_ok());
    assert_eq!(calls.lock().unwrap().0, 2);
    assert!(a.try_alloc_slice_fill(300_000, 0u8).is_err()); // above the limit at any time: tried again once
    let seen = calls.lock().unwrap();
    assert!(seen.0 == 3 && seen.1 >= 300_000);
    assert!(tenant.refusals() > 0 && request.refusals() == 0 && tenant.reserved() <= 256 << 10);
}

/// A callback that uses its own budget and a child, and another budget whose callback uses the first one.
#[test]
fn a_callback_is_not_called_while_it_runs() {
    for of_live in [false, true] {
        let budgets = Arc::new(OnceLock::<[Budget; 3]>::new());
        let calls = [0; 2].map(|_| Arc::new(AtomicUsize::new(0)));
        let limited_with = |i: usize| {
            let (calls, budgets) = (calls[i].clone(), Arc::downgrade(&budgets)); // which have the callbacks
            let options = if of_live { BudgetOptions::new().live_limit(50_000) } else { limited(50_000) };
            options.on_refusal(move |_, _| {
                assert!(calls.fetch_add(1, Relaxed) < 10);
                let budgets = budgets.upgrade().unwrap();
                for budget in budgets.get().unwrap() {
                    assert!(arena_of(budget).try_alloc_slice_fill(100_000, 0u8).is_err());
                    assert!(SharedArena::from_source(budget.clone()).try_alloc_slice_fill(100_000, 0u8).is_err());
                    assert!(budget.charge(100_000).is_err());
                }
                false
            })
        };
        let one = Budget::new(limited_with(0));
        let child = one.child(BudgetOptions::new());
        let other = Budget::new(limited_with(1));
        let arena = arena_of(&child);
        budgets.set([one, child, other]).unwrap_or_else(|_| unreachable!());
        for round in 1..3 {
            assert!(arena.try_alloc_slice_fill(60_000, 0u8).is_err());
            assert_eq!(calls.each_ref().map(|calls| calls.load(Relaxed)), [round, 3 * round]);
        }
    }
}

#[test]
fn a_creation_calls_back_too() {
    let other = Arc::new(Mutex::new(None::<Arena>));
    let frees = other.clone();
    let budget = Budget::new(limited(4096).on_refusal(move |_, _| frees.lock().unwrap().take().is_some()));
    *other.lock().unwrap() = Some(arena_of(&budget));
    let arena = arena_of(&budget);
    assert_eq!(*arena.alloc(5), 5);
    assert!(Options::new().source(budget.clone()).create().is_err());
}

#[test]
fn a_panic_of_the_callback_refuses() {
    let budget = Budget::new(limited(8192).on_refusal(|_, _| panic!("of the callback")));
    let arena = arena_of(&budget);
    assert!(arena.try_alloc_slice_fill(10_000, 0u8).is_err());
    assert_eq!(*arena.alloc(5), 5);
}

#[test]
fn a_block_that_grows_counts() {
    let root = Budget::new(limited(1_000_000).source(SendReserve(Reserve::new(8 << 20).unwrap())));
    let mut arena = arena_of(&root);
    arena.alloc_slice_fill(500_000, 0u8);
    assert!(root.reserved() >= 500_000);
    assert!(arena.try_alloc_slice_fill(600_000, 0u8).is_err());
    arena.reset();
    arena.trim(0);
    assert!(root.reserved() < 100_000);
    drop(arena);
    assert_eq!(root.reserved(), 0);
}

/// For one arena.
struct SendReserve(Reserve);

// SAFETY: used by the thread of the test only.
unsafe impl Sync for SendReserve {}

// SAFETY: the inner source.
unsafe impl Source for SendReserve {
    fn take(&self, size: usize) -> Option<NonNull<u8>> {
        self.0.take(size)
    }
    unsafe fn put(&self, block: NonNull<u8>, size: usize) {
        // SAFETY: the caller's contract.
        unsafe { self.0.put(block, size) }
    }
    unsafe fn extend(&self, block: NonNull<u8>, size: usize, want: usize) -> bool {
        // SAFETY: the caller's contract.
        unsafe { self.0.extend(block, size, want) }
    }
    fn extends(&self) -> bool {
        true
    }
}

#[test]
fn a_steady_load_is_never_refused() {
    let budget = Budget::new(limited(1 << 20));
    let mut arenas = [arena_of(&budget), arena_of(&budget)];
    for round in 0..if cfg!(miri) { 4 } else { 100 } {
        let arena = &mut arenas[round % 2];
        for _ in 0..16 {
            assert!(arena.try_alloc_slice_fill(30_000, 0u8).is_ok());
        }
        arena.reset();
    }
    drop(arenas);
    assert_eq!(budget.reserved(), 0);
}

/// The source below the budgets, which counts by itself: bytes now, and at most.
#[derive(Clone, Default)]
struct Innermost(Arc<(AtomicUsize, AtomicUsize)>);

// SAFETY: the heap.
unsafe impl Source for Innermost {
    fn take(&self, size: usize) -> Option<NonNull<u8>> {
        let block = Heap.take(size)?;
        self.0 .1.fetch_max(self.0 .0.fetch_add(size, Relaxed) + size, Relaxed);
        Some(block)
    }
    unsafe fn put(&self, block: NonNull<u8>, size: usize) {
        self.0 .0.fetch_sub(size, Relaxed);
        // SAFETY: the caller's contract.
        unsafe { Heap.put(block, size) }
    }
}

#[test]
fn no_thread_exceeds_a_limit() {
    const THREADS: usize = if cfg!(miri) { 3 } else { 64 };
    const LIMIT: usize = THREADS * (256 << 10);
    let innermost = Innermost::default();
    let process = Budget::new(limited(LIMIT).source(innermost.clone()));
    let tenants = [process.child(BudgetOptions::new()), process.child(limited(LIMIT / 2))];
    let refused = AtomicUsize::new(0);
    let barrier = Barrier::new(THREADS);
    let work = |seed: usize| {
        let (tenant, mut random) = (&tenants[seed % 2], seed as u64 + 1);
        let mut next = |n: usize| {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (random >> 33) as usize % n
        };
        let mut blocks: [Option<(NonNull<u8>, usize)>; 8] = [None; 8];
        // SAFETY: taken from it with this size.
        let put = |(block, size): (NonNull<u8>, usize)| unsafe { tenant.put(block, size) };
        barrier.wait();
        for _ in 0..if cfg!(miri) { 30 } else { 3_000 } {
            let (slot, size) = (&mut blocks[next(8)], 4096 * (1 + next(32)));
            slot.take().map(put);
            *slot = tenant.take(size).map(|block| (block, size));
            refused.fetch_add(slot.is_none() as usize, Relaxed);
        }
        barrier.wait(); // until then each holds its blocks
        blocks.into_iter().flatten().for_each(put);
    };
    thread::scope(|scope| (0..THREADS).for_each(|seed| _ = scope.spawn(move || work(seed))));
    let (held, highest) = (innermost.0 .0.load(Relaxed), innermost.0 .1.load(Relaxed));
    assert!(process.reserved() == 0 && process.peak() <= LIMIT && held == 0);
    assert!(highest <= LIMIT && (cfg!(miri) || highest > LIMIT / 2));
    assert!(cfg!(miri) || refused.load(Relaxed) > 0);
}

// ---- refusals of objects that many threads use, and of recyclers ----

/// Allocations of several sizes, as many as the budget allows, all of which are freed in another order.
fn fill_and_free(recycler: &Recycler<Budget>, scale: usize) -> usize {
    let mut random = 1u32;
    let mut next = |below: usize| {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (random >> 8) as usize % below
    };
    let (mut all, mut bytes) = (Vec::new(), 0);
    while all.len() < 40_000 {
        let layout = Layout::from_size_align(8 + next(scale), 8).unwrap();
        let Ok(p) = recycler.try_alloc_layout(layout) else { break };
        all.push((p, layout));
        bytes += layout.size();
    }
    while !all.is_empty() {
        let (p, layout) = all.swap_remove(next(all.len()));
        // SAFETY: it was allocated above, and is used no more.
        unsafe { recycler.deallocate(p, layout) };
    }
    bytes
}

/// The memory of a recycler that has been freed is there for other objects on the budget, without a call of the recycler.
#[test]
#[cfg_attr(miri, ignore = "32 MiB")]
fn a_recycler_keeps_no_empty_blocks() {
    let process = Budget::new(limited(32 << 20));
    for scale in [100, 2000, 40_000] {
        let (one, two) = (process.child(BudgetOptions::new()), process.child(BudgetOptions::new()));
        let recycler = Recycler::from_source(one.clone());
        for _ in 0..2 {
            let used = fill_and_free(&recycler, scale);
            assert!(used > 1 << 20 && one.peak() >= used);
            assert!(one.reserved() < (1 << 20) + used / 8, "{scale}: {} of {used}", one.reserved());
        }
        assert!(arena_of(&two).try_alloc_slice_fill(24 << 20, 0u8).is_ok());
        assert!(recycler.try_alloc_layout(Layout::new::<[u8; 100]>()).is_ok());
    }
}

const LARGE: usize = 600_000;

trait Object: Send + Sync {
    /// Allocates that many bytes.
    fn fills(&self, size: usize) -> bool;
    /// Takes all its locks.
    fn look(&self);
}

impl Object for SharedArena<Budget> {
    fn fills(&self, size: usize) -> bool {
        self.try_alloc_slice_fill(size, 1u8).is_ok()
    }
    fn look(&self) {
        self.stats();
    }
}

struct InLocal(SharedArena<Budget>);

impl Object for InLocal {
    fn fills(&self, size: usize) -> bool {
        self.0.local().try_alloc_slice_fill(size, 1u8).is_ok()
    }
    fn look(&self) {
        self.0.stats();
    }
}

impl Object for SyncRecycler<Budget> {
    fn fills(&self, size: usize) -> bool {
        self.try_alloc_layout(Layout::array::<u8>(size).unwrap()).is_ok()
    }
    fn look(&self) {
        self.stats();
    }
}

/// For one thread at a time.
struct OfOne(Mutex<Recycler<Budget>>);

impl Object for OfOne {
    fn fills(&self, size: usize) -> bool {
        self.0.lock().unwrap().try_alloc_layout(Layout::array::<u8>(size).unwrap()).is_ok()
    }
    fn look(&self) {}
}

/// An object on a budget with 256 KiB of room, beside an arena of 2 MiB.
struct Scene {
    object: OnceLock<Arc<dyn Object>>,
    filler: Mutex<Option<Arena>>,
    calls: AtomicUsize,
}

impl Scene {
    fn new(
        make: fn(Budget) -> Arc<dyn Object>,
        call: impl Fn(&Scene, &Budget) -> bool + Send + Sync + 'static,
    ) -> Arc<Scene> {
        let scene = Arc::new(Scene { object: OnceLock::new(), filler: Mutex::new(None), calls: AtomicUsize::new(0) });
        let of = Arc::downgrade(&scene); // the object has the budget, which has the callback
        let budget = Budget::new(BudgetOptions::new().on_refusal(move |budget, size| {
            let scene = of.upgrade().unwrap();
            assert!((LARGE..LARGE + (128 << 10)).contains(&size)); // the least that suffices
            scene.calls.fetch_add(1, Relaxed);
            call(&scene, budget)
        }));
        let filler = arena_of(&budget);
        filler.alloc_slice_fill(2 << 20, 0u8);
        *scene.filler.lock().unwrap() = Some(filler);
        scene.object.get_or_init(|| make(budget.clone()));
        assert!(scene.object().fills(8));
        budget.set_limit(budget.reserved() + (256 << 10));
        scene
    }

    fn object(&self) -> &dyn Object {
        &**self.object.get().unwrap()
    }

    fn free(&self) {
        self.filler.lock().unwrap().take();
    }
}

fn objects() -> [fn(Budget) -> Arc<dyn Object>; 4] {
    [
        |budget| Arc::new(SharedArena::from_source(budget)),
        |budget| Arc::new(InLocal(SharedArena::from_source(budget))),
        |budget| Arc::new(SyncRecycler::from_source(budget)),
        |budget| Arc::new(OfOne(Mutex::new(Recycler::from_source(budget)))),
    ]
}

#[test]
fn a_refusal_under_a_lock_calls_back_once() {
    for make in objects() {
        for (answer, frees) in [(false, false), (false, true), (true, false), (true, true)] {
            let scene = Scene::new(make, move |scene, budget| {
                scene.object().look();
                drop(arena_of(budget)); // it may use the budget
                if frees {
                    scene.free();
                }
                answer
            });
            assert_eq!(scene.object().fills(LARGE), answer && frees);
            assert_eq!(scene.calls.load(Relaxed), 1);
            assert!(scene.object().fills(8));
        }
    }
}

#[test]
fn a_callback_may_wait_for_a_thread_that_uses_the_object() {
    for make in &objects()[..3] {
        let scene = Scene::new(*make, |scene, _| {
            let other = || {
                scene.object().look();
                assert!(scene.object().fills(8));
                scene.free();
            };
            thread::scope(|scope| scope.spawn(other).join().is_ok())
        });
        assert!(scene.object().fills(LARGE));
        assert_eq!(scene.calls.load(Relaxed), 1);
    }
}

#[test]
fn two_threads_are_refused_at_once() {
    for make in &objects()[..3] {
        let barrier = Barrier::new(2);
        let scene = Scene::new(*make, move |scene, _| {
            barrier.wait();
            scene.free();
            barrier.wait();
            true
        });
        let fill = || assert!(scene.object().fills(LARGE));
        thread::scope(|scope| {
            scope.spawn(fill);
            fill();
        });
        assert_eq!(scene.calls.load(Relaxed), 2);
    }
}
