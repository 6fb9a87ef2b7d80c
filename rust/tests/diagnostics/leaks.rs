//! Values that are never dropped.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;

#[test]
fn leaked_values_are_reported_with_their_call_site() {
    let mut arena = checked();
    let text = || String::from("should be dropped");
    let s = size_of::<String>();
    let mut due: Vec<(&str, u32, usize)> = vec![];
    macro_rules! leaks {
        ($n:expr, $e:expr) => {{
            due.push(("leak", line!(), $n * s));
            let _ = $e;
        }};
    }
    macro_rules! fine {
        ($e:expr) => {{
            let _ = $e;
        }};
    }
    let three = [text(), text(), text()];
    leaks!(1, arena.alloc(text()));
    leaks!(1, arena.try_alloc(text()));
    leaks!(1, arena.alloc_with(text));
    leaks!(1, arena.try_alloc_with(text));
    leaks!(3, arena.alloc_slice_clone(&three));
    leaks!(3, arena.try_alloc_slice_clone(&three));
    leaks!(2, arena.alloc_slice_fill(2, text()));
    leaks!(2, arena.try_alloc_slice_fill(2, text()));
    leaks!(2, arena.alloc_slice_fill_with(2, |_| text()));
    leaks!(2, arena.try_alloc_slice_fill_with(2, |_| text()));
    leaks!(2, arena.alloc_slice_default::<String>(2));
    leaks!(2, arena.try_alloc_slice_default::<String>(2));
    leaks!(3, arena.alloc_slice_from_iter(three.clone()));
    leaks!(3, arena.try_alloc_slice_from_iter(three.clone()));
    leaks!(3, arena.alloc_batch(three.clone()));
    leaks!(3, arena.try_alloc_batch(three.clone()));
    leaks!(2, arena.alloc_batch_with::<String, 2>(|_| text()));
    leaks!(2, arena.try_alloc_batch_with::<String, 2>(|_| text()));
    fine!(arena.alloc(7u64));
    fine!(arena.alloc_str("text"));
    fine!(arena.alloc_slice_copy(&[1, 2, 3]));
    fine!(arena.alloc_uninit::<String>());
    fine!(arena.alloc_zeroed::<u64>());
    fine!(arena.alloc_uninit_slice::<String>(3));
    fine!(arena.alloc_layout(layout(100, 16)));
    fine!(arena.alloc_batch([1, 2, 3]));
    fine!(toft::format_in!(arena, "{} and {}", 1, text()));
    fine!(arena.alloc_drop(text()));
    fine!(arena.alloc_pin(text()));
    fine!(arena.boxed(text()));
    fine!(arena.boxed_slice(three.clone()));
    fine!(arena.boxed_str("text"));
    fine!(toft::Box::leak(arena.boxed(text())));
    fine!(toft::Box::into_inner(arena.boxed(text())));
    fine!(toft::unsize!(arena.boxed(text()) => dyn std::fmt::Debug));
    fine!(arena.alloc_try_with(|| Err::<String, ()>(())).is_err());
    assert_eq!(arena.findings(), []); // live values are no leaks yet
    arena.reset();
    due.reverse(); // newest first
    let mut found = lines(&arena.findings());
    found.iter_mut().zip(&due).for_each(|(f, d)| {
        if f.2 > d.2 {
            f.2 = d.2; // a collected slice may have a larger allocation than its elements need
        }
    });
    assert_eq!(found, due);
}

#[test]
fn leaked_values_of_try_calls_are_reported() {
    let mut arena = checked();
    let line = line!() + 1;
    arena.alloc_try_with(|| Ok::<String, ()>(String::from("x"))).unwrap();
    arena.reset();
    let found = lines(&arena.findings());
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].0, found[0].1), ("leak", line));
}

#[test]
fn values_that_were_not_made_do_not_leak() {
    let mut arena = checked();
    let panicked = |f: &dyn Fn()| assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).is_err());
    std::panic::set_hook(Box::new(|_| ()));
    panicked(&|| _ = arena.alloc_with(|| -> String { panic!() }));
    panicked(&|| _ = arena.boxed_slice((0..3).map(|_| -> String { panic!() })));
    panicked(&|| _ = arena.alloc_slice_from_iter((0..3).map(|_| -> String { panic!() })));
    panicked(&|| _ = arena.alloc_batch_with::<String, 3>(|i| if i < 2 { "x".into() } else { panic!() }));
    let _ = std::panic::take_hook();
    arena.reset();
    assert_eq!(arena.findings(), []);
}

#[test]
fn a_cleanup_that_runs_leaves_no_finding() {
    let shared = Arc::new(());
    let mut arena = checked();
    for _ in 0..3 {
        arena.alloc_drop(Noisy(shared.clone()));
        arena.scope_mut(|inner| {
            inner.alloc_drop(Noisy(shared.clone()));
        });
        let scope = arena.scope_guard();
        let local = 3;
        scope.alloc_drop((Noisy(shared.clone()), &local));
        drop(scope);
    }
    assert_eq!(Arc::strong_count(&shared), 4);
    assert_eq!(arena.report().count(), 9); // the arena's own records are not counted as allocations
    arena.reset();
    assert_eq!((Arc::strong_count(&shared), arena.findings()), (1, vec![]));
}
