//! Handlers of refusals.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;

#[test]
fn the_refusal_handler_runs_only_when_the_budget_is_exceeded() {
    let refusals = Arc::new(Mutex::new(vec![]));
    let arena = Options::new().budget(64).create().unwrap();
    let log = refusals.clone();
    arena
        .on_refusal(move |refusal| {
            log.lock().unwrap().push((refusal.live, refusal.budget, refusal.size));
            (refusal.size <= 32).then_some(refusal.live + 32)
        })
        .unwrap();
    let take = || std::mem::take(&mut *refusals.lock().unwrap());
    arena.alloc([0u8; 64]);
    assert_eq!(take(), []);
    arena.alloc_slice_fill(0, 0u64);
    assert_eq!(take(), []); // costs nothing
    assert!(arena.try_alloc([0u8; 40]).is_err());
    assert_eq!(take(), [(64, 64, 40)]);
    arena.alloc([0u8; 20]);
    assert_eq!((take(), arena.stats().budget), (vec![(64, 64, 20)], 96));
    arena.alloc([0u8; 8]);
    assert_eq!(take(), []);
    // A request larger than the address space is not a matter of budgets.
    assert!(arena.try_alloc_uninit_slice::<u64>(usize::MAX / 8).is_err());
    assert_eq!(take(), []);
    // A resize that cannot grow in place calls the handler as well.
    arena.set_budget(Some(104)).unwrap();
    let p = arena.alloc([0u8; 8]).as_mut_ptr();
    assert_eq!(take(), []);
    let q = unsafe { abi::resize(arena.as_raw(), p, 8, 16, 8) };
    assert!(q.is_some());
    assert_eq!(take(), [(104, 104, 16)]);
}

/// Live bytes, the budget and the size of each refusal.
type Refusals = Arc<Mutex<Vec<(u64, u64, usize)>>>;

fn refusals_of(budget: u64, decide: fn(Refusal) -> Option<u64>) -> (Arena, Refusals) {
    let refusals = Arc::new(Mutex::new(vec![]));
    let arena = Options::new().budget(budget).create().unwrap();
    let log = refusals.clone();
    let ask = move |refusal: Refusal| {
        log.lock().unwrap().push((refusal.live, refusal.budget, refusal.size));
        decide(refusal)
    };
    arena.on_refusal(ask).unwrap();
    (arena, refusals)
}

#[test]
fn the_refusal_handler_sees_bytes_of_red_zones() {
    let (arena, refusals) = refusals_of(100, |refusal| Some(refusal.live + 200));
    arena.set_checked(true).unwrap();
    assert!(arena.try_alloc([0u8; 64]).is_ok());
    assert_eq!(*refusals.lock().unwrap(), []);
    assert!(arena.try_alloc([0u8; 1]).is_ok());
    assert_eq!(*refusals.lock().unwrap(), [(96, 100, 1)]);
    assert!(arena.try_alloc_layout(layout(usize::MAX / 4, 1)).is_err());
    assert_eq!(refusals.lock().unwrap().len(), 1);
}

#[test]
fn the_refusal_handler_sees_bytes_of_padding() {
    let (arena, refusals) = refusals_of(1000, |refusal| Some(refusal.budget + 100));
    arena.alloc([0u8; 944]);
    assert!(arena.try_alloc_layout(layout(48, 64)).is_ok()); // 16 bytes of padding in front of it
    assert_eq!(*refusals.lock().unwrap(), [(944, 1000, 48)]);
    assert_eq!(arena.stats().live, 1008);
}

#[test]
fn the_refusal_handler_in_a_scope_sees_the_exceeded_budget() {
    let (arena, refusals) = refusals_of(1000, |refusal| Some(refusal.live + 600));
    arena.scope(|outer| {
        assert!(outer.try_alloc([0u8; 600]).is_ok());
        outer.scope(|inner| {
            assert!(inner.try_alloc([0u8; 600]).is_ok());
            assert_eq!((inner.stats().budget, outer.stats().budget), (u64::MAX, u64::MAX));
            inner.set_budget(Some(700)).unwrap();
            assert!(inner.try_alloc([0u8; 400]).is_ok()); // two budgets, the inner one first
            assert_eq!((inner.stats().budget, outer.stats().budget), (1200, u64::MAX));
        });
        assert!(outer.try_alloc([0u8; 600]).is_ok());
    });
    assert_eq!(*refusals.lock().unwrap(), [(600, 1000, 600), (600, 700, 400), (1200, 1200, 400)]);
    assert_eq!((arena.stats().live, arena.stats().budget), (0, 1800));
}

#[test]
fn the_refusal_handler_runs_before_a_destructor_is_refused() {
    const NODE: usize = 4 * size_of::<usize>();
    let (arena, refusals) = refusals_of(0, |refusal| Some(refusal.budget + NODE as u64));
    assert_eq!(*arena.try_alloc_drop(vec![1]).unwrap(), [1]);
    assert_eq!(*refusals.lock().unwrap(), [(0, 0, NODE), (NODE as u64, NODE as u64, size_of::<Vec<i32>>())]);
    let (arena, _) = refusals_of(0, |_| None);
    assert!(arena.try_alloc_drop(vec![1]).is_err());
    assert_eq!(arena.stats().live, 0);
}

#[test]
fn a_refusal_handler_in_a_scope_does_not_allocate_in_the_outer_arena() {
    thread_local!(static ARENA: *mut Arena = Box::into_raw(Box::new(Options::new().budget(64).create().unwrap())));
    static SEEN: AtomicU64 = AtomicU64::new(0);
    let arena = unsafe { &*ARENA.with(|arena| *arena) };
    arena
        .on_refusal(|refusal| {
            let arena = unsafe { &*ARENA.with(|arena| *arena) };
            assert_eq!((arena.stats().live, arena.report().stats.budget), (refusal.live, refusal.budget));
            assert!(arena.try_alloc(1u8).is_err() && arena.try_scope_guard().is_err());
            SEEN.fetch_add(1, Ordering::Relaxed);
            Some(refusal.budget + 64)
        })
        .unwrap();
    arena.scope(|outer| {
        outer.alloc([0u8; 64]);
        assert!(outer.scope(|inner| inner.try_alloc([0u8; 64]).is_ok()));
    });
    assert_eq!((SEEN.load(Ordering::Relaxed), arena.stats().budget), (1, 128));
    arena.alloc([0u8; 128]);
    drop(unsafe { Box::from_raw(ARENA.with(|arena| *arena)) });
}

#[test]
fn a_refusal_handler_may_panic_read_and_be_replaced_but_not_allocate() {
    thread_local!(static ARENA: *mut Arena = Box::into_raw(Box::new(Options::new().budget(64).create().unwrap())));
    let arena = unsafe { &*ARENA.with(|arena| *arena) };
    static SEEN: AtomicU64 = AtomicU64::new(0);
    arena
        .on_refusal(|refusal| {
            let arena = unsafe { &*ARENA.with(|arena| *arena) };
            assert_eq!((arena.stats().live, arena.report().stats.budget), (refusal.live, refusal.budget));
            assert!(arena.findings().is_empty() && arena.allocations().is_empty());
            assert!(arena.try_alloc(1u8).is_err());
            assert!(arena.try_alloc_drop(String::new()).is_err());
            assert!(arena.try_scope_guard().is_err());
            assert_eq!(arena.set_checked(true), Err(SwitchError::Busy));
            assert_eq!(arena.on_refusal(|_| None), Err(SwitchError::Busy));
            assert!(arena.set_budget(Some(1 << 20)).is_err());
            SEEN.fetch_add(1, Ordering::Relaxed);
            None
        })
        .unwrap();
    arena.alloc([0u8; 64]);
    assert!(arena.try_alloc(1u8).is_err());
    assert_eq!(SEEN.load(Ordering::Relaxed), 1);
    std::panic::set_hook(Box::new(|_| ()));
    arena.on_refusal(|_| panic!("no")).unwrap();
    assert!(arena.try_alloc(1u8).is_err());
    let _ = std::panic::take_hook();
    arena.on_refusal(|refusal| Some(refusal.budget)).unwrap(); // not more than before
    assert!(arena.try_alloc(1u8).is_err());
    arena.on_refusal(|refusal| Some(refusal.budget + 1)).unwrap(); // too little
    assert!(arena.try_alloc(1u8).is_err());
    arena.on_refusal(|_| Some(u64::MAX)).unwrap();
    arena.alloc([0u8; 1000]);
    drop(unsafe { Box::from_raw(ARENA.with(|arena| *arena)) });
}

/// Through a scope of the arena, which shares the handler, and is not closed while the handler runs.
#[test]
fn a_refusal_handler_may_replace_itself_while_it_runs() {
    struct Counts(&'static AtomicU64);
    impl Drop for Counts {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    static ENDED: AtomicU64 = AtomicU64::new(0);
    thread_local!(static INNER: Cell<Option<NonNull<abi::Head>>> = const { Cell::new(None) });
    let arena = Options::new().budget(1000).create().unwrap();
    let counts = Counts(&ENDED);
    arena
        .on_refusal(move |_| {
            let inner = unsafe { Arena::borrow_raw(INNER.get().unwrap()) }.unwrap();
            inner.on_refusal(|refusal| Some(refusal.budget * 2)).unwrap();
            let whole = &counts; // the handler that runs is kept until it returns
            assert_eq!(whole.0.load(Ordering::Relaxed), 0);
            None
        })
        .unwrap();
    let scope = arena.scope_guard();
    INNER.set(Some(scope.as_raw()));
    assert!(arena.try_alloc([0u8; 1001]).is_err());
    assert_eq!((ENDED.load(Ordering::Relaxed), arena.stats().budget), (1, 1000));
    assert!(arena.try_alloc([0u8; 1001]).is_ok());
    assert_eq!((ENDED.load(Ordering::Relaxed), arena.stats().budget), (1, 2000));
}

#[test]
fn a_refusal_handler_that_is_dropped_may_use_the_arena() {
    thread_local!(static ARENA: *mut Arena = Box::into_raw(Box::new(Options::new().budget(1 << 20).create().unwrap())));
    struct Uses;
    impl Drop for Uses {
        fn drop(&mut self) {
            ARENA.with(|arena| _ = unsafe { &**arena }.try_alloc([1u8; 1000]).map(|x| x.len()));
        }
    }
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            ARENA.with(|arena| _ = unsafe { &**arena }.try_alloc([1u8; 10]).map(|x| x.len()));
            panic!("a destructor");
        }
    }
    fn raise(uses: &dyn std::any::Any, refusal: Refusal) -> Option<u64> {
        let _ = uses;
        Some(refusal.budget * 2)
    }
    let arena = unsafe { &*ARENA.with(|arena| *arena) };
    let uses = Uses;
    arena.on_refusal(move |refusal| raise(&uses, refusal)).unwrap();
    let panics = Panics;
    arena.on_refusal(move |refusal| raise(&panics, refusal)).unwrap();
    assert_eq!(arena.stats().live, 1000);
    std::panic::set_hook(Box::new(|_| ()));
    let r = std::panic::catch_unwind(|| ARENA.with(|arena| unsafe { &**arena }.on_refusal(|_| None)));
    let _ = std::panic::take_hook();
    assert!(r.is_err());
    assert_eq!(arena.stats().live, 1016);
    arena.set_budget(Some(1016)).unwrap();
    assert!(arena.try_alloc(1u8).is_err(), "the new decision is in force");
    drop(unsafe { Box::from_raw(ARENA.with(|arena| *arena)) });
}

#[test]
fn captures_of_a_refusal_handler_may_panic_when_dropped() {
    struct Loud;
    impl Drop for Loud {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }
    let loud = Loud;
    let arena = Options::new().budget(100).create().unwrap();
    arena
        .on_refusal(move |refusal| {
            let _ = &loud;
            Some(refusal.budget + 1000)
        })
        .unwrap();
    assert!(arena.try_alloc([0u8; 200]).is_ok());
    drop(arena); // the panic does not stop the release
}

#[test]
fn the_growth_of_a_vector_asks_once_for_each_size_with_its_callers_place() {
    let refusals = Arc::new(Mutex::new(vec![]));
    let arena = Options::new().budget(64).create().unwrap();
    let log = refusals.clone();
    arena.on_refusal(move |refusal| log.lock().map(|mut log| log.push(refusal.size)).ok().and(None)).unwrap();
    let mut vec = arena.vec::<u64>();
    (0..8).for_each(|n| vec.push(n));
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| vec.push(8))).is_err());
    assert_eq!((vec.len(), &*refusals.lock().unwrap()), (8, &vec![128, 72]));

    let arena = checked();
    let (mut vec, mut text) = (arena.vec::<u8>(), arena.string());
    let line = line!() + 1;
    vec.push(1);
    text.push('a');
    let lines: Vec<_> = arena.allocations().iter().map(|found| found.site.line).collect();
    assert_eq!(lines, [line, line + 1]);
}
