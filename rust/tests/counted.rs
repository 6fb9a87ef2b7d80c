//! Counted handles: the last one drops the memory, a struct owns an arena and collections in it, and threads share one.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(all(feature = "full", feature = "allocator-api2"))]

use std::cell::Cell;
use std::rc::Rc;

use allocator_api2::vec::Vec as ApiVec;
use toft::{AllocError, Allocate, ArcArena, Arena, Counted, Memory, RcArena, Recycler, SharedArena};
use toft_pools::{Pool, Rows};

#[path = "common/strict.rs"]
mod strict;

/// Counts its drops.
struct Dropped(Rc<Cell<u32>>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

/// A memory with a destructor.
struct Noted<M>(M, Rc<Cell<u32>>);

impl<M> Drop for Noted<M> {
    fn drop(&mut self) {
        self.1.set(self.1.get() + 1);
    }
}

// SAFETY: the inner memory's contract.
unsafe impl<M: Memory> Memory for Noted<M> {
    fn allocate(&self, layout: std::alloc::Layout) -> Result<std::ptr::NonNull<u8>, AllocError> {
        self.0.allocate(layout)
    }
    unsafe fn deallocate(&self, p: std::ptr::NonNull<u8>, layout: std::alloc::Layout) {
        // SAFETY: the caller's contract.
        unsafe { self.0.deallocate(p, layout) }
    }
}

#[test]
fn the_last_handle_drops_the_memory() {
    strict::balanced(|| {
        let drops = Rc::new(Cell::new(0));
        let first: Counted<_> = Counted::new(Noted(Arena::new(), drops.clone()));
        let second = first.clone();
        let mut list = ApiVec::new_in(second.clone());
        (0..1000).for_each(|i| list.push(i));
        assert_eq!(RcArena::count(&RcArena::default()), 1);
        assert_eq!(Counted::count(&first), 3);
        assert!(Counted::ptr_eq(&first, &second));
        drop(first);
        drop(second);
        assert_eq!((drops.get(), list.iter().sum::<i32>()), (0, 499_500));
        drop(list);
        assert_eq!(drops.get(), 1);
    });
}

/// An arena and collections of several crates in it, without a lifetime.
struct World {
    entities: Pool<String, Rows, u32, RcArena>,
    names: hashbrown::HashMap<u32, ApiVec<u8, RcArena>, hashbrown::DefaultHashBuilder, RcArena>,
    arena: RcArena,
}

impl World {
    fn new(arena: RcArena) -> World {
        let names = hashbrown::HashMap::with_hasher_in(Default::default(), arena.clone());
        World { entities: Pool::with_key_in(arena.clone()), names, arena }
    }

    fn fill(&mut self, n: u32) {
        for i in 0..n {
            self.entities.insert(i.to_string());
            let mut name = ApiVec::new_in(self.arena.clone());
            name.extend_from_slice(i.to_string().as_bytes());
            self.names.insert(i, name);
        }
    }
}

#[test]
fn a_struct_owns_an_arena_and_collections_in_it() {
    strict::balanced(|| {
        for n in [0, 1, 10, 2000] {
            let mut world = World::new(RcArena::default());
            world.fill(n);
            let moved = std::hint::black_box(world);
            assert_eq!((moved.entities.len(), moved.names.len()), (n as usize, n as usize));
            assert!(moved.names.iter().all(|(i, name)| &name[..] == i.to_string().as_bytes()));
            assert!(moved.arena.stats().live > 0 || n == 0);
        }
    });
}

#[test]
fn an_arena_is_reset_when_one_handle_is_left() {
    strict::balanced(|| {
        let mut arena = RcArena::default();
        for round in 0..3 {
            let mut world = World::new(arena);
            world.fill(100);
            assert!(RcArena::get_mut(&mut world.arena).is_none(), "round {round}");
            let World { entities, names, arena: kept } = world;
            drop((entities, names));
            arena = kept;
            RcArena::get_mut(&mut arena).unwrap().reset();
            assert_eq!((arena.stats().live, RcArena::count(&arena)), (0, 1));
        }
        let other = arena.clone();
        let arena = RcArena::try_unwrap(arena).unwrap_err();
        drop(other);
        let own: Arena = RcArena::try_unwrap(arena).unwrap();
        assert_eq!(*own.alloc(7), 7);
    });
}

#[test]
fn a_value_keeps_its_handle_borrowed() {
    let arena = RcArena::default();
    let (text, other) = (arena.alloc_str("kept"), arena.clone());
    other.alloc([0u8; 10_000]);
    drop(other);
    assert_eq!(text, "kept");
    assert_eq!(*Allocate::alloc(&arena, 3), 3);
}

#[test]
fn a_handle_of_a_recycler_frees_single_objects() {
    let recycler: Counted<Recycler> = Recycler::new().into();
    let mut list = ApiVec::new_in(recycler.clone());
    list.extend(0..100_000u64);
    drop(list);
    assert_eq!(recycler.stats().live, 0);
}

#[test]
fn a_panic_of_a_destructor_does_not_leave_the_last_drop() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("a destructor");
        }
    }
    strict::balanced(|| {
        let (drops, hook) = (Rc::new(Cell::new(0)), std::panic::take_hook());
        std::panic::set_hook(Box::new(|_| ()));
        let arena = RcArena::default();
        arena.alloc_drop(Panics);
        drop(arena);
        let noted: Counted<_> = Counted::new(Noted(Arena::new(), drops.clone()));
        noted.0.alloc_drop(Panics);
        drop(noted);
        std::panic::set_hook(hook);
        assert_eq!(drops.get(), 1);
    });
}

#[test]
fn an_arena_that_owns_its_handle_is_never_dropped() {
    let drops = Rc::new(Cell::new(0));
    let arena: Counted<_> = Counted::new(Noted(Recycler::new(), drops.clone()));
    let mut list = ApiVec::new_in(arena.clone());
    list.push(Dropped(drops.clone()));
    std::mem::forget(list);
    drop(arena);
    assert_eq!(drops.get(), 0);
    strict::forgive(1);
}

#[test]
fn threads_fill_one_arena_and_any_of_them_drops_it() {
    const THREADS: u64 = 4;
    let many = if cfg!(miri) { 50 } else { 20_000 };
    for _ in 0..if cfg!(miri) { 1 } else { 20 } {
        let arena = ArcArena::default();
        let lists: Vec<_> = (0..THREADS)
            .map(|thread| {
                let arena = arena.clone();
                std::thread::spawn(move || {
                    let mut list = ApiVec::new_in(arena.clone());
                    list.extend((0..many).map(|i| i * thread));
                    (0..100).for_each(|_| drop(arena.clone()));
                    list
                })
            })
            .collect();
        drop(arena);
        let lists = lists.into_iter().map(|list| list.join().unwrap());
        for (thread, list) in lists.enumerate() {
            assert!(list.iter().enumerate().all(|(i, v)| *v == (i * thread) as u64));
        }
    }
}

#[test]
fn a_handle_of_a_shared_arena_is_send_and_sync() {
    fn both<T: Send + Sync + 'static>() {}
    both::<ArcArena>();
    both::<ApiVec<u64, ArcArena>>();
    both::<ArcArena<toft::Pages>>();
    let arena: ArcArena<toft::Pages> = SharedArena::from_source(toft::Pages::new()).into();
    assert_eq!(format!("{:?}", arena.clone()).split_once(' ').unwrap().0, "Counted");
}

/// Collections of the standard library, where its trait is stable: without a feature.
#[cfg(toft_allocator)]
#[test]
fn the_standard_librarys_collections_take_handles() {
    struct Context {
        ranges: Vec<(u32, u32), RcArena>,
        boxed: Box<[u64; 100], RcArena>,
    }
    strict::balanced(|| {
        let arena = RcArena::default();
        let mut context = Context { ranges: Vec::new_in(arena.clone()), boxed: Box::new_in([7; 100], arena) };
        (0..1000).for_each(|i| context.ranges.push((i, i + 1)));
        let Context { ranges, boxed } = context;
        drop(boxed);
        assert_eq!(ranges.iter().map(|(_, end)| end).sum::<u32>(), 500_500);
        let arena = Arena::new();
        let mut list = Vec::new_in(&arena);
        list.extend([1, 2, 3]);
        assert_eq!(list, [1, 2, 3]);
    });
}
