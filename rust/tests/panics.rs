//! One rule for all arenas and all calls that run code of the program while they make values: if that code panics or
//! fails, the values made so far are dropped, and the memory is freed if it is the newest. A table of each type and
//! each call.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "full")]

use std::cell::Cell;
use std::fmt;
use std::panic::{catch_unwind, AssertUnwindSafe};

use toft::{Arena, Leases, Scope, SharedArena, TaskArena};
use toft_bumpalo::Bump;

thread_local! {
    /// Number of values that can be made before one panics or fails.
    static FUSE: Cell<usize> = const { Cell::new(usize::MAX) };
    /// Number of live values.
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static MADE: Cell<usize> = const { Cell::new(0) };
}

/// Number of values that each call makes.
const N: usize = 4;

/// A counted value that owns memory, so that a double drop is detected.
#[derive(Debug)]
struct Value(Box<usize>);

fn fuse_burnt() -> bool {
    FUSE.set(FUSE.get() - 1);
    FUSE.get() == 0
}

impl Value {
    fn new() -> Value {
        assert!(!fuse_burnt(), "the fuse");
        Value::safe()
    }

    fn safe() -> Value {
        LIVE.set(LIVE.get() + 1);
        MADE.set(MADE.get() + 1);
        Value(Box::new(1))
    }

    fn tried() -> Result<Value, &'static str> {
        if fuse_burnt() {
            return Err("the fuse");
        }
        Ok(Value::safe())
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        LIVE.set(LIVE.get() - 1);
    }
}

impl Clone for Value {
    fn clone(&self) -> Value {
        Value::new()
    }
}

impl Default for Value {
    fn default() -> Value {
        Value::new()
    }
}

/// Panics, or returns an error, after some text.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for _ in 0..N {
            f.write_str("some text of a value, longer than the first piece of memory for text")?;
            drop(Value::new());
        }
        Ok(())
    }
}

/// An iterator of known length that panics.
struct Known(usize);
impl Iterator for Known {
    type Item = Value;
    fn next(&mut self) -> Option<Value> {
        self.0 = self.0.checked_sub(1)?;
        Some(Value::new())
    }
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.0, Some(self.0))
    }
}
impl ExactSizeIterator for Known {}

struct Tried(usize);
impl Iterator for Tried {
    type Item = Result<Value, &'static str>;
    fn next(&mut self) -> Option<Self::Item> {
        self.0 = self.0.checked_sub(1)?;
        Some(Value::tried())
    }
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.0, Some(self.0))
    }
}
impl ExactSizeIterator for Tried {}

/// An iterator of unknown length.
fn unknown() -> impl Iterator<Item = Value> {
    Known(N).filter(|_| true)
}

fn four() -> [Value; N] {
    std::array::from_fn(|_| Value::safe())
}

/// A call: its name, and the number of values that it makes.
type Calls<A> = &'static [(&'static str, usize, fn(&A))];

/// An address that moves with the arena's cursor.
trait Probe {
    fn probe(&self) -> usize;
}

macro_rules! table {
    ($name:ident, $of:ty, $probe:ident, [$(($call:literal, $n:expr, |$a:ident| $body:expr)),* $(,)?]) => {
        const $name: Calls<$of> = &[$(($call, $n, |$a| { let _ = $body; })),*];
        impl Probe for $of {
            fn probe(&self) -> usize {
                std::ptr::from_mut(self.$probe(0u64)).addr()
            }
        }
    };
}

table!(
    ARENA,
    Arena,
    alloc,
    [
        ("alloc_with", 1, |a| a.alloc_with(Value::new)),
        ("try_alloc_with", 1, |a| a.try_alloc_with(Value::new)),
        ("alloc_try_with", 1, |a| a.alloc_try_with(|| Ok::<_, ()>(Value::new()))),
        ("alloc_try_with, an error", 1, |a| a.alloc_try_with(Value::tried)),
        ("try_alloc_try_with", 1, |a| a.try_alloc_try_with(|| Ok::<_, ()>(Value::new()))),
        ("try_alloc_try_with, an error", 1, |a| a.try_alloc_try_with(Value::tried)),
        ("alloc_batch_with", N, |a| a.alloc_batch_with::<_, N>(|_| Value::new())),
        ("try_alloc_batch_with", N, |a| a.try_alloc_batch_with::<_, N>(|_| Value::new())),
        ("alloc_slice_clone", N, |a| a.alloc_slice_clone(&four())),
        ("try_alloc_slice_clone", N, |a| a.try_alloc_slice_clone(&four())),
        ("alloc_slice_fill", N, |a| a.alloc_slice_fill(N, Value::safe())),
        ("try_alloc_slice_fill", N, |a| a.try_alloc_slice_fill(N, Value::safe())),
        ("alloc_slice_fill_with", N, |a| a.alloc_slice_fill_with(N, |_| Value::new())),
        ("try_alloc_slice_fill_with", N, |a| a.try_alloc_slice_fill_with(N, |_| Value::new())),
        ("alloc_slice_default", N, |a| a.alloc_slice_default::<Value>(N)),
        ("try_alloc_slice_default", N, |a| a.try_alloc_slice_default::<Value>(N)),
        ("alloc_slice_from_iter", N, |a| a.alloc_slice_from_iter(Known(N))),
        ("alloc_slice_from_iter, unknown", N, |a| a.alloc_slice_from_iter(unknown())),
        ("try_alloc_slice_from_iter", N, |a| a.try_alloc_slice_from_iter(unknown())),
        ("boxed_slice", N, |a| a.boxed_slice(Known(N))),
        ("boxed_slice, unknown", N, |a| a.boxed_slice(unknown())),
        ("try_boxed_slice", N, |a| a.try_boxed_slice(unknown())),
        ("alloc_fmt", N, |a| toft::format_in!(a, "{}{}", 1, Value::safe())),
        ("try_alloc_fmt", N, |a| toft::try_format_in!(a, "{}{}", 1, Value::safe())),
        ("resize of a vector", N - 1, |a| a.vec().resize(N, Value::safe())),
        ("resize_with of a vector", N, |a| a.vec().resize_with(N, Value::new)),
        ("extend_from_slice of a vector", N, |a| a.vec().extend_from_slice(&four())),
        ("extend_from_within a vector", N, |a| a.vec_from_iter(four()).extend_from_within(..)),
        ("extract_if of a vector", N, |a| {
            a.vec_from_iter(four()).extract_if(.., |_| true).for_each(|_| drop(Value::new()))
        }),
        ("extract_if of a vector, the filter", N, |a| {
            a.vec_from_iter(four()).extract_if(.., |_| *Value::new().0 == 1).count()
        }),
        ("retain of a vector", N, |a| a.vec_from_iter(four()).retain(|_| *Value::new().0 != 1)),
        ("dedup_by of a vector", N - 1, |a| a.vec_from_iter(four()).dedup_by(|_, _| *Value::new().0 == 1)),
        ("splice of a vector", N, |a| a.vec_from_iter(four()).splice(1..2, unknown()).count()),
    ]
);

table!(
    TASK,
    TaskArena<'static>,
    alloc,
    [
        ("alloc_with", 1, |a| a.alloc_with(Value::new)),
        ("try_alloc_with", 1, |a| a.try_alloc_with(Value::new)),
        ("alloc_slice_clone", N, |a| a.alloc_slice_clone(&four())),
        ("try_alloc_slice_clone", N, |a| a.try_alloc_slice_clone(&four())),
        ("alloc_slice_fill_with", N, |a| a.alloc_slice_fill_with(N, |_| Value::new())),
        ("try_alloc_slice_fill_with", N, |a| a.try_alloc_slice_fill_with(N, |_| Value::new())),
        ("alloc_slice_from_iter", N, |a| a.alloc_slice_from_iter(unknown())),
        ("try_alloc_slice_from_iter", N, |a| a.try_alloc_slice_from_iter(Known(N))),
        ("alloc_fmt", N, |a| toft::format_in!(a, "{}{}", 1, Value::safe())),
        ("try_alloc_fmt", N, |a| toft::try_format_in!(a, "{}{}", 1, Value::safe())),
    ]
);

macro_rules! shared {
    ($name:ident, $of:ty) => {
        table!(
            $name,
            $of,
            alloc,
            [
                ("alloc_with", 1, |a| a.alloc_with(Value::new)),
                ("try_alloc_with", 1, |a| a.try_alloc_with(Value::new)),
                ("alloc_slice_fill_with", N, |a| a.alloc_slice_fill_with(N, |_| Value::new())),
                ("try_alloc_slice_fill_with", N, |a| a.try_alloc_slice_fill_with(N, |_| Value::new())),
                ("alloc_fmt", N, |a| toft::format_in!(a, "{}{}", 1, Value::safe())),
                ("try_alloc_fmt", N, |a| toft::try_format_in!(a, "{}{}", 1, Value::safe())),
            ]
        );
    };
}

shared!(SHARED, SharedArena);
shared!(LOCAL, toft::Local<'static>);

macro_rules! bump {
    ($name:ident, $of:ty) => {
        table!(
            $name,
            $of,
            alloc,
            [
                ("alloc_with", 1, |a| a.alloc_with(Value::new)),
                ("try_alloc_with", 1, |a| a.try_alloc_with(Value::new)),
                ("alloc_try_with", 1, |a| a.alloc_try_with(|| Ok::<_, ()>(Value::new()))),
                ("alloc_try_with, an error", 1, |a| a.alloc_try_with(Value::tried)),
                ("try_alloc_try_with, an error", 1, |a| a.try_alloc_try_with(Value::tried)),
                ("alloc_slice_clone", N, |a| a.alloc_slice_clone(&four())),
                ("try_alloc_slice_clone", N, |a| a.try_alloc_slice_clone(&four())),
                ("alloc_slice_fill_with", N, |a| a.alloc_slice_fill_with(N, |_| Value::new())),
                ("try_alloc_slice_fill_with", N, |a| a.try_alloc_slice_fill_with(N, |_| Value::new())),
                ("alloc_slice_try_fill_with", N, |a| a.alloc_slice_try_fill_with(N, |_| Ok::<_, ()>(Value::new()))),
                ("alloc_slice_try_fill_with, an error", N, |a| a.alloc_slice_try_fill_with(N, |_| Value::tried())),
                ("alloc_slice_fill_clone", N, |a| a.alloc_slice_fill_clone(N, &Value::safe())),
                ("try_alloc_slice_fill_clone", N, |a| a.try_alloc_slice_fill_clone(N, &Value::safe())),
                ("alloc_slice_fill_iter", N, |a| a.alloc_slice_fill_iter(Known(N))),
                ("try_alloc_slice_fill_iter", N, |a| a.try_alloc_slice_fill_iter(Known(N))),
                ("alloc_slice_try_fill_iter", N, |a| a.alloc_slice_try_fill_iter(Tried(N))),
                ("alloc_slice_fill_default", N, |a| a.alloc_slice_fill_default::<Value>(N)),
                ("try_alloc_slice_fill_default", N, |a| a.try_alloc_slice_fill_default::<Value>(N)),
            ]
        );
    };
}

bump!(BUMP, Bump);
bump!(BUMP_16, Bump<16>);

/// Runs every call with a failure at every value. `live`: the live bytes, for arenas that count them.
fn each<A: Probe>(of: &str, arena: &A, calls: Calls<A>, live: impl Fn(&A) -> u64) {
    for (call, makes, run) in calls {
        for fuse in 1..=*makes {
            let step = arena.probe().wrapping_sub(arena.probe());
            let (live_before, at) = (LIVE.get(), arena.probe());
            let before = live(arena);
            MADE.set(0);
            FUSE.set(fuse);
            let _ = catch_unwind(AssertUnwindSafe(|| run(arena)));
            let fuse_burnt = FUSE.replace(usize::MAX) == 0;
            let what = format!("{of}, {call}, {fuse}");
            assert!(fuse_burnt, "{what}: neither panicked nor failed");
            assert!(MADE.get() >= fuse - 1, "{what}");
            assert_eq!(LIVE.get(), live_before, "{what}: the values made are dropped");
            assert_eq!(live(arena), before, "{what}: live bytes");
            assert_eq!(at.wrapping_sub(arena.probe()), step, "{what}: the memory is freed");
        }
        // And once without a failure.
        FUSE.set(100);
        let live_before = LIVE.get();
        run(arena);
        LIVE.set(live_before); // values that the call left in the arena
    }
}

#[test]
fn arenas() {
    let arena = toft::Options::new().reserve(1 << 20).create().unwrap();
    each("Arena", &arena, ARENA, |a| a.stats().live);
    let scope = arena.scope_guard();
    each("a scope", &*scope, ARENA, |a| a.stats().live);
    drop(scope);
    // After a reset the arena has one block with room for its earlier contents: no call needs another block.
    let fill = |arena: &Arena| (0..100).for_each(|_| _ = arena.alloc([0u8; 2000]));
    let mut scope = Scope::new();
    fill(&scope);
    scope.reset();
    each("Scope", &*scope, ARENA, |a| a.stats().live);
    let leases = Leases::new();
    let mut lease = leases.get();
    fill(&lease);
    lease.reset();
    each("Lease", &*lease, ARENA, |a| a.stats().live);
    let sampled = toft::Options::new().reserve(1 << 20).create().unwrap();
    sampled.set_sampling(64).unwrap();
    sampled.set_metered(true).unwrap();
    each("a sampled arena", &sampled, ARENA, |a| a.stats().live);
}

#[test]
fn other_arenas() {
    each("TaskArena", &TaskArena::new(), TASK, |a| a.stats().live);
    each("SharedArena", &SharedArena::new(), SHARED, |a| a.stats().live);
    let shared: &'static SharedArena = Box::leak(Box::new(SharedArena::new()));
    let local = shared.local();
    local.alloc([0u64; 100]);
    each("Local", &local, LOCAL, |_| 0);
}

#[test]
fn bumpalos() {
    each("Bump", &Bump::with_capacity(1 << 20), BUMP, |a| a.as_ref().stats().live);
    each("Bump<16>", &Bump::<16>::with_min_align_and_capacity(1 << 20), BUMP_16, |_| 0);
    // padding is not freed
}

/// A checked arena frees nothing early, and reports no leak of values that were dropped or not made.
#[test]
fn checked_arenas() {
    let mut arena = Arena::new();
    arena.set_checked(true).unwrap();
    for (call, makes, run) in ARENA {
        for fuse in 1..=*makes {
            FUSE.set(fuse);
            let live_before = LIVE.get();
            let _ = catch_unwind(AssertUnwindSafe(|| run(&arena)));
            assert_eq!((FUSE.replace(usize::MAX), LIVE.get()), (0, live_before), "{call}");
            arena.reset();
            assert_eq!(arena.findings(), [], "{call}");
        }
    }
}

/// Memory that is not the newest is not freed; everything else is as above.
#[test]
fn memory_that_is_not_the_newest_is_not_freed() {
    let arena = Arena::new();
    let live_before = LIVE.get();
    let kept = Cell::new(None);
    FUSE.set(3);
    let done = catch_unwind(AssertUnwindSafe(|| {
        arena.alloc_slice_fill_with(N, |i| {
            kept.set(Some(&*arena.alloc(i)));
            Value::new()
        });
    }));
    FUSE.set(usize::MAX);
    assert!(done.is_err());
    assert_eq!(
        (LIVE.get(), kept.get(), arena.stats().live),
        (live_before, Some(&2), (size_of::<[Value; N]>() + 3 * 8) as u64)
    );
}

/// A destructor panics while an error is returned: the other destructors run, and the memory is freed.
#[test]
fn a_destructor_panics_too() {
    struct Bomb<'a>(&'a Cell<usize>, bool);
    impl Drop for Bomb<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
            assert!(!self.1, "the bomb");
        }
    }
    let (bump, drops) = (Bump::new(), Cell::new(0));
    let done = catch_unwind(AssertUnwindSafe(|| {
        let _ = bump.alloc_slice_try_fill_with(4, |i| if i < 3 { Ok(Bomb(&drops, i == 1)) } else { Err("an error") });
    }));
    assert!(done.is_err());
    assert_eq!((drops.get(), bump.as_ref().stats().live), (3, 0));
}
