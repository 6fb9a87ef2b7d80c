//! The contract of `Allocator` and of `Memory`, for every implementation: random allocations, resizes and frees, with
//! sizes from 0, changed alignments, and contents that are preserved. A resize or free states any size from the requested
//! to the returned one, as hashbrown's tables do, which use what an allocator returns in excess.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(all(
    feature = "full",
    feature = "allocator-api2",
    feature = "allocator-api2-03",
    feature = "allocator-api2-04"
))]

#[path = "common/random.rs"]
mod random;

use std::alloc::Layout;
use std::ptr::NonNull;

use std::sync::atomic::AtomicUsize;

use random::Random;
use toft::{
    ArcArena, Arena, Blocks, Counted, Heap, Leases, Memory, Pages, RcArena, Recycler, Region, SharedArena,
    SyncRecycler, TaskArena,
};

const SEEDS: u64 = if cfg!(miri) { 1 } else { 3 };
const STEPS: usize = if cfg!(miri) { 20 } else { 1500 };
const LIVE_MAX: usize = 30;

impl Random {
    fn layout(&mut self) -> Layout {
        let most = [1, 9, 100, 700, 9000][self.below(5)];
        let align = 1 << [0, 3, self.below(7), self.below(13)][self.below(4)];
        Layout::from_size_align(self.below(most), align).unwrap()
    }
}

/// The calls of each trait.
trait Calls {
    fn allocate(&self, layout: Layout, zeroed: bool) -> Option<NonNull<[u8]>>;
    /// # Safety
    /// As the trait's function, also for the next two.
    unsafe fn grow(&self, p: NonNull<u8>, old: Layout, new: Layout, zeroed: bool) -> Option<NonNull<[u8]>>;
    unsafe fn shrink(&self, p: NonNull<u8>, old: Layout, new: Layout) -> Option<NonNull<[u8]>>;
    unsafe fn deallocate(&self, p: NonNull<u8>, layout: Layout);
}

struct ByMemory<M>(M);

fn zeroed_from(p: NonNull<u8>, from: usize, to: usize) -> NonNull<[u8]> {
    // SAFETY: the allocation has at least `to` bytes.
    unsafe { p.add(from).write_bytes(0, to - from) };
    NonNull::slice_from_raw_parts(p, to)
}

impl<M: Memory> Calls for ByMemory<M> {
    fn allocate(&self, layout: Layout, _: bool) -> Option<NonNull<[u8]>> {
        Some(zeroed_from(self.0.allocate(layout).ok()?, 0, layout.size()))
    }
    unsafe fn grow(&self, p: NonNull<u8>, old: Layout, new: Layout, _: bool) -> Option<NonNull<[u8]>> {
        // SAFETY: the caller's contract, as in all of these.
        Some(zeroed_from(unsafe { self.0.grow(p, old, new).ok()? }, old.size(), new.size()))
    }
    unsafe fn shrink(&self, p: NonNull<u8>, old: Layout, new: Layout) -> Option<NonNull<[u8]>> {
        // SAFETY: as above.
        Some(NonNull::slice_from_raw_parts(unsafe { self.0.shrink(p, old, new).ok()? }, new.size()))
    }
    unsafe fn deallocate(&self, p: NonNull<u8>, layout: Layout) {
        // SAFETY: as above.
        unsafe { self.0.deallocate(p, layout) }
    }
}

macro_rules! calls_of {
    ($name:ident, $api:path) => {
        struct $name<A>(A);

        impl<A: $api> Calls for $name<A> {
            fn allocate(&self, layout: Layout, zeroed: bool) -> Option<NonNull<[u8]>> {
                let p = if zeroed { self.0.allocate_zeroed(layout) } else { self.0.allocate(layout) };
                p.ok()
            }
            unsafe fn grow(&self, p: NonNull<u8>, old: Layout, new: Layout, zeroed: bool) -> Option<NonNull<[u8]>> {
                // SAFETY: the caller's contract, as in all of these.
                let p = unsafe {
                    if zeroed {
                        self.0.grow_zeroed(p, old, new)
                    } else {
                        self.0.grow(p, old, new)
                    }
                };
                p.ok()
            }
            unsafe fn shrink(&self, p: NonNull<u8>, old: Layout, new: Layout) -> Option<NonNull<[u8]>> {
                // SAFETY: as above.
                unsafe { self.0.shrink(p, old, new) }.ok()
            }
            unsafe fn deallocate(&self, p: NonNull<u8>, layout: Layout) {
                // SAFETY: as above.
                unsafe { self.0.deallocate(p, layout) }
            }
        }
    };
}
calls_of!(ByApi02, allocator_api2::alloc::Allocator);
calls_of!(ByApi03, allocator_api2_03::alloc::Allocator);
calls_of!(ByApi04, allocator_api2_04::alloc::Allocator);
#[cfg(toft_allocator)]
calls_of!(ByCore, std::alloc::Allocator);

/// A live allocation: byte i is `seed` + i.
struct Object {
    /// As returned.
    bytes: NonNull<[u8]>,
    /// As requested.
    layout: Layout,
    seed: u8,
}

impl Object {
    fn new(bytes: NonNull<[u8]>, layout: Layout, seed: u8) -> Object {
        let p = bytes.cast::<u8>();
        assert_eq!(p.addr().get() % layout.align(), 0, "{layout:?}");
        assert!(bytes.len() >= layout.size(), "{layout:?}");
        // SAFETY: allocated with that layout, also in `verify`.
        (0..bytes.len()).for_each(|i| unsafe { p.add(i).write(seed.wrapping_add(i as u8)) });
        Object { bytes, layout, seed }
    }

    /// A layout that fits the allocation.
    fn fit(&self, random: &mut Random) -> Layout {
        let size = self.layout.size() + random.below(self.bytes.len() - self.layout.size() + 1);
        Layout::from_size_align(size, self.layout.align()).unwrap()
    }

    fn verify(&self, n: usize) {
        let p = self.bytes.cast::<u8>();
        // SAFETY: as above.
        let is_whole = (0..n).all(|i| unsafe { p.add(i).read() } == self.seed.wrapping_add(i as u8));
        assert!(is_whole, "{:?}", self.layout);
    }
}

fn is_zero(p: NonNull<u8>, from: usize, to: usize) -> bool {
    // SAFETY: the allocation has at least `to` bytes, which were initialized.
    (from..to).all(|i| unsafe { p.add(i).read() } == 0)
}

fn drive(of: &dyn Calls, seed: u64) {
    let mut random = Random(seed + 1);
    let mut live: Vec<Object> = Vec::new();
    for step in 0..STEPS {
        let seed = step as u8;
        let at = if random.below(2) == 0 { live.len().saturating_sub(1) } else { random.below(live.len().max(1)) };
        let action = if live.len() > LIVE_MAX { 7 } else { random.below(8) };
        if live.is_empty() || action < 3 {
            let (layout, zeroed) = (random.layout(), random.below(3) == 0);
            let p = of.allocate(layout, zeroed).expect("memory");
            assert!(!zeroed || is_zero(p.cast(), 0, p.len()));
            live.push(Object::new(p, layout, seed));
            continue;
        }
        let object = live.swap_remove(at);
        let (p, old) = (object.bytes.cast(), object.fit(&mut random));
        object.verify(object.bytes.len());
        let other = random.layout();
        // SAFETY: allocated by `of`, and `old` fits; after a resize only the new address is used.
        unsafe {
            match action {
                3 | 4 => {
                    let new = Layout::from_size_align(old.size() + other.size(), other.align()).unwrap();
                    let zeroed = action == 4;
                    let p = of.grow(p, old, new, zeroed).expect("memory");
                    assert!(!zeroed || is_zero(p.cast(), object.bytes.len(), p.len()));
                    Object { bytes: p, ..object }.verify(old.size());
                    live.push(Object::new(p, new, seed));
                }
                5 | 6 => {
                    let size = if random.below(3) == 0 { 0 } else { random.below(old.size() + 1) };
                    let new = Layout::from_size_align(size, other.align()).unwrap();
                    let p = of.shrink(p, old, new).expect("memory");
                    Object { bytes: p, ..object }.verify(size);
                    live.push(Object::new(p, new, seed));
                }
                _ => of.deallocate(p, old),
            }
        }
    }
    for object in live {
        object.verify(object.bytes.len());
        // SAFETY: as above.
        unsafe { of.deallocate(object.bytes.cast(), object.fit(&mut random)) };
    }
}

/// Runs `drive` through each trait, with a new allocator for each seed.
macro_rules! drive_all {
    ($make:expr, $of:ident => $reference:expr) => {
        drive_all!($make, $of => $reference, SEEDS)
    };
    ($make:expr, $of:ident => $reference:expr, $seeds:expr) => {
        for seed in 0..$seeds {
            let by = |which: u32, f: &dyn Fn(u64)| f(seed * 8 + u64::from(which));
            by(0, &|seed| {
                let $of = $make;
                drive(&ByMemory($reference), seed);
            });
            by(1, &|seed| {
                let $of = $make;
                drive(&ByApi02($reference), seed);
            });
            by(2, &|seed| {
                let $of = $make;
                drive(&ByApi03($reference), seed);
            });
            by(3, &|seed| {
                let $of = $make;
                drive(&ByApi04($reference), seed);
            });
            #[cfg(toft_allocator)]
            by(4, &|seed| {
                let $of = $make;
                drive(&ByCore($reference), seed);
            });
        }
    };
}

#[test]
fn arenas() {
    drive_all!(Arena::new(), arena => &arena);
    drive_all!(Arena::new(), arena => &*arena.scope_guard());
    drive_all!(
        {
            let arena = Arena::new();
            arena.set_checked(true).unwrap();
            arena
        },
        arena => &arena, 1
    );
    let leases = Leases::new();
    drive_all!(leases.get(), lease => &*lease);
}

#[test]
fn shared_and_task_arenas() {
    drive_all!(SharedArena::new(), arena => &arena);
    drive_all!(SharedArena::new(), arena => &arena.local());
    drive_all!(TaskArena::new(), arena => &arena);
}

#[test]
fn recyclers() {
    drive_all!(Recycler::new(), recycler => &recycler);
    drive_all!(SyncRecycler::new(), recycler => &recycler);
}

#[test]
fn counted_handles() {
    drive_all!(RcArena::default(), arena => arena.clone());
    drive_all!(ArcArena::default(), arena => arena.clone());
    drive_all!(Counted::<_>::new(Recycler::new()), recycler => recycler.clone());
    drive_all!(Counted::<SyncRecycler, AtomicUsize>::default(), recycler => recycler.clone());
}

#[test]
fn memories() {
    toft::root!(struct Nothing => ());
    for seed in 0..SEEDS {
        drive(&ByMemory(Heap), seed);
        drive(&ByMemory(Blocks(Heap)), seed);
        drive(&ByMemory(Blocks(Pages::new())), seed);
        Region::<Nothing>::new(1 << 28, |_| ()).unwrap().with_mut(|(), memory| drive(&ByMemory(memory), seed));
    }
}

#[test]
fn bumps() {
    for seed in 0..SEEDS {
        drive(&ByApi02(&toft_bumpalo::Bump::new()), seed);
        drive(&ByApi02(&toft_bumpalo::Bump::<16>::with_min_align()), seed);
    }
}

/// An allocation that was shrunk to size 0 is not resized in place, and freeing its address frees nothing.
#[test]
fn an_allocation_shrunk_to_size_0_grows_into_new_memory() {
    let layout = |size, align| Layout::from_size_align(size, align).unwrap();
    let recycler = Recycler::new();
    let of = ByApi02(&recycler);
    // SAFETY: each address is used with the layout that it was returned for.
    unsafe {
        for (size, align) in [(8, 8), (0, 8), (0, 4096)] {
            let p = of.allocate(layout(16, 64), false).unwrap();
            let p = of.shrink(p.cast(), layout(16, 64), layout(0, 64)).unwrap();
            let p = of.grow(p.cast(), layout(0, 64), layout(size, align), false).unwrap().cast::<u8>();
            p.write_bytes(1, size);
            of.deallocate(p, layout(size, align));
        }
    }
    assert_eq!(recycler.stats().live, 0);
}
