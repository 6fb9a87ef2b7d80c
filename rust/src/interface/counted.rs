//! Counted handles: owned, cloneable memory. The last handle drops the memory.
//!
//! Soundness: a handle is a counted owner of its memory, and gives `&mut` access to it only while it is the only one. So
//! the allocations of any handle live until the last one is dropped, and what borrows a handle, as `&T` from
//! `handle.alloc(..)` does, keeps that handle. A value inside the memory that owns a handle of it is never dropped, as
//! with `Rc`: the memory leaks.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::alloc::Layout;
use core::cell::Cell;
use core::fmt;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ops::Deref;
use core::ptr::NonNull;

use crate::base::error::{or_panic, AllocError};
use crate::base::panics::catch;
use crate::memory::by_layout::{memory_by_deref, Allocated, CallSite, Heap, Memory};
#[cfg(feature = "std")]
use core::sync::atomic::{AtomicUsize, Ordering};

/// A counted handle of an arena, a recycler or any other [`Memory`]: owned, cloneable, and an allocator.
///
/// A clone is a handle of the same memory, which is dropped with the last handle. As `Rc<Arena>` it gives every call of
/// the arena; unlike `Rc<Arena>` it is an allocator, for the collections of `toft-pools`, and by the features
/// `allocator-api2` and `nightly` for those of hashbrown, allocator-api2 and the standard library. So a struct can own an
/// arena and collections in it, without a lifetime and without unsafe code:
///
#[cfg_attr(feature = "allocator-api2", doc = "```")]
#[cfg_attr(not(feature = "allocator-api2"), doc = "```ignore")]
/// use allocator_api2::vec::Vec;
/// use toft::RcArena;
///
/// struct Context {
///     ranges: Vec<(u32, u32), RcArena>,
///     names: Vec<Vec<u8, RcArena>, RcArena>,
///     arena: RcArena,
/// }
///
/// impl Context {
///     fn new() -> Context {
///         let arena = RcArena::default();
///         Context { ranges: Vec::new_in(arena.clone()), names: Vec::new_in(arena.clone()), arena }
///     }
///
///     /// Drops all collections, so that the arena can be reset.
///     fn clear(&mut self) {
///         *self = Context { ranges: Vec::new_in(self.arena.clone()), names: Vec::new_in(self.arena.clone()), arena: self.arena.clone() };
///         RcArena::get_mut(&mut self.arena).expect("no collection has a handle").reset();
///     }
/// }
/// # let mut context = Context::new();
/// # context.ranges.push((1, 2));
/// # context.names.push(Vec::new_in(context.arena.clone()));
/// ```
///
/// `C` is the counter: `Cell<usize>` for one thread ([`RcArena`]), or `AtomicUsize` ([`ArcArena`](crate::ArcArena)), whose
/// handles are `Send` and `Sync` if the memory is. A clone or a drop of a handle changes the counter; an allocation does
/// not.
///
/// The last handle drops the memory, and an arena the values of [`alloc_drop`](crate::Arena::alloc_drop). A panic of one of
/// these is reported by the panic hook and ends there, since an allocator must not unwind when it is dropped; the reset of
/// an arena by [`get_mut`](Counted::get_mut) resumes it.
pub struct Counted<M: Memory, C: Counter = Cell<usize>> {
    shared: NonNull<Shared<M, C>>,
    owns: PhantomData<Shared<M, C>>,
}

struct Shared<M, C> {
    count: C,
    memory: M,
}

// ---- counters ----

/// The counter of a [`Counted`] handle: `Cell<usize>`, or `AtomicUsize` for handles on several threads.
///
/// A counter stays where it is from 2^63 (on 32-bit systems 2^31) handles on, which only a program that forgets handles
/// reaches: the memory is never dropped then.
///
/// ```
/// use std::cell::Cell;
/// use toft::{Arena, Counted, RcArena};
/// let arena: Counted<Arena, Cell<usize>> = RcArena::default(); // the same type
/// ```
pub trait Counter: sealed::Counter {}

mod sealed {
    pub trait Counter {
        /// Of the first handle.
        fn one() -> Self;
        fn get(&self) -> usize;
        /// Adds a handle.
        fn add(&self);
        /// Removes a handle. Returns whether it was the last one: then all that other handles did has happened before.
        fn remove(&self) -> bool;
    }
}

/// From here on a counter is not used any more. An allocator's clone must not unwind, so there is no panic.
const STUCK: usize = 1 << (usize::BITS - 1);

impl Counter for Cell<usize> {}

impl sealed::Counter for Cell<usize> {
    #[inline(always)]
    fn one() -> Self {
        Cell::new(1)
    }

    #[inline(always)]
    fn get(&self) -> usize {
        self.get()
    }

    #[inline(always)]
    fn add(&self) {
        self.set(self.get() + usize::from(self.get() < STUCK));
    }

    #[inline(always)]
    fn remove(&self) -> bool {
        self.set(self.get() - usize::from(self.get() < STUCK));
        self.get() == 0
    }
}

#[cfg(feature = "std")]
impl Counter for AtomicUsize {}

/// Threads may be between two operations of one of these functions, so a stuck counter is set to the middle of the upper
/// half, which no number of threads leaves.
#[cfg(feature = "std")]
impl sealed::Counter for AtomicUsize {
    #[inline(always)]
    fn one() -> Self {
        AtomicUsize::new(1)
    }

    /// Acquire: the caller may have exclusive access if this is the last handle.
    #[inline(always)]
    fn get(&self) -> usize {
        self.load(Ordering::Acquire)
    }

    /// Relaxed: the caller has a handle already, and passes the new one on by other means.
    #[inline(always)]
    fn add(&self) {
        if self.fetch_add(1, Ordering::Relaxed) >= STUCK {
            self.store(STUCK + STUCK / 2, Ordering::Relaxed);
        }
    }

    #[inline(always)]
    fn remove(&self) -> bool {
        match self.fetch_sub(1, Ordering::Release) {
            1 => {
                self.load(Ordering::Acquire); // a load, since ThreadSanitizer does not know fences
                true
            }
            count => {
                if count >= STUCK {
                    self.store(STUCK + STUCK / 2, Ordering::Relaxed);
                }
                false
            }
        }
    }
}

// ---- create, clone, drop ----

impl<M: Memory, C: Counter> Counted<M, C> {
    /// Moves `memory` behind a handle, which takes a small allocation of the heap.
    ///
    /// ```
    /// use toft::{Options, RcArena};
    /// let arena = RcArena::new(Options::new().budget(1 << 20).create()?);
    /// assert_eq!(*arena.clone().alloc(7), 7);
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    ///
    /// # Panics
    /// If there is no memory.
    pub fn new(memory: M) -> Self {
        or_panic(Self::try_new(memory).map_err(|_| AllocError))
    }

    /// As [`new`](Counted::new).
    ///
    /// # Errors
    /// `memory`, if there is no memory for the counter.
    pub fn try_new(memory: M) -> Result<Self, M> {
        let Ok(at) = Heap.allocate(Layout::new::<Shared<M, C>>()) else { return Err(memory) };
        let shared = at.cast::<Shared<M, C>>();
        // SAFETY: new memory of this layout.
        unsafe { shared.write(Shared { count: C::one(), memory }) };
        Ok(Counted { shared, owns: PhantomData })
    }

    /// Returns exclusive access to the memory, to reset an arena for example. `None`: there are other handles, those in
    /// collections included.
    ///
    /// ```
    /// use toft::RcArena;
    /// let mut arena = RcArena::default();
    /// arena.alloc([0u8; 100]);
    /// let other = arena.clone();
    /// assert!(RcArena::get_mut(&mut arena).is_none());
    /// drop(other);
    /// RcArena::get_mut(&mut arena).unwrap().reset();
    /// assert_eq!(arena.stats().live, 0);
    /// ```
    #[inline]
    pub fn get_mut(this: &mut Self) -> Option<&mut M> {
        if Self::count(this) != 1 {
            return None;
        }
        // SAFETY: alive, and the only handle is borrowed exclusively: no other can be made, and no borrow of one exists.
        Some(unsafe { &mut (*this.shared.as_ptr()).memory })
    }

    /// Returns the memory.
    ///
    /// ```
    /// use toft::RcArena;
    /// let arena = RcArena::try_unwrap(RcArena::default()).unwrap();
    /// assert_eq!(*arena.alloc(7), 7);
    /// ```
    ///
    /// # Errors
    /// The handle, if there are others.
    pub fn try_unwrap(this: Self) -> Result<M, Self> {
        if Self::count(&this) != 1 {
            return Err(this);
        }
        let shared = ManuallyDrop::new(this).shared;
        // SAFETY: the only handle, which is not dropped: the memory is moved out once, and its place freed.
        unsafe {
            let memory = (&raw const (*shared.as_ptr()).memory).read();
            Self::free(shared);
            Ok(memory)
        }
    }

    /// Returns how many handles of this memory there are. Other threads may change that at any time.
    ///
    /// ```
    /// use toft::RcArena;
    /// let arena = RcArena::default();
    /// let _other = arena.clone();
    /// assert_eq!(RcArena::count(&arena), 2);
    /// ```
    #[inline]
    pub fn count(this: &Self) -> usize {
        this.shared().count.get()
    }

    /// Returns whether both are handles of the same memory.
    ///
    /// ```
    /// use toft::RcArena;
    /// let arena = RcArena::default();
    /// assert!(RcArena::ptr_eq(&arena, &arena.clone()));
    /// assert!(!RcArena::ptr_eq(&arena, &RcArena::default()));
    /// ```
    #[inline]
    pub fn ptr_eq(this: &Self, other: &Self) -> bool {
        this.shared == other.shared
    }

    #[inline(always)]
    fn shared(&self) -> &Shared<M, C> {
        // SAFETY: alive as long as a handle is, and changed only through cells, or by the only handle.
        unsafe { self.shared.as_ref() }
    }

    /// # Safety
    /// `shared` is that of a handle, and is not used any more.
    unsafe fn free(shared: NonNull<Shared<M, C>>) {
        // SAFETY: `try_new` allocated it with this layout.
        unsafe { Heap.deallocate(shared.cast(), Layout::new::<Shared<M, C>>()) }
    }

    /// Drops the memory. An allocator's drop must not unwind, so a panic of a destructor ends here.
    ///
    /// # Safety
    /// No handle is left.
    #[cold]
    #[inline(never)]
    unsafe fn drop_memory(shared: NonNull<Shared<M, C>>) {
        // SAFETY: nothing else uses the memory, and it is dropped once.
        unsafe {
            catch(|| core::ptr::drop_in_place(&raw mut (*shared.as_ptr()).memory));
            Self::free(shared);
        }
    }
}

impl<M: Memory, C: Counter> Clone for Counted<M, C> {
    #[inline(always)]
    fn clone(&self) -> Self {
        self.shared().count.add();
        Counted { shared: self.shared, owns: PhantomData }
    }
}

impl<M: Memory, C: Counter> Drop for Counted<M, C> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.shared().count.remove() {
            // SAFETY: this was the last handle.
            unsafe { Self::drop_memory(self.shared) }
        }
    }
}

impl<M: Memory, C: Counter> Deref for Counted<M, C> {
    type Target = M;
    #[inline(always)]
    fn deref(&self) -> &M {
        &self.shared().memory
    }
}

impl<M: Memory + Default, C: Counter> Default for Counted<M, C> {
    fn default() -> Self {
        Counted::new(M::default())
    }
}

impl<M: Memory, C: Counter> From<M> for Counted<M, C> {
    fn from(memory: M) -> Self {
        Counted::new(memory)
    }
}

impl<M: Memory + fmt::Debug, C: Counter> fmt::Debug for Counted<M, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counted").field("count", &Counted::count(self)).field("memory", &**self).finish()
    }
}

// ---- contracts ----

// SAFETY: the memory's contract: it is borrowed exclusively only while there is one handle, and dropped with the last.
unsafe impl<M: Memory, C: Counter> Memory for Counted<M, C> {
    memory_by_deref!();
}

// SAFETY: the counter is atomic; other threads share the memory, and the one with the last handle drops it.
#[cfg(feature = "std")]
unsafe impl<M: Memory + Send + Sync> Send for Counted<M, AtomicUsize> {}
// SAFETY: as above: `&Counted` can be cloned.
#[cfg(feature = "std")]
unsafe impl<M: Memory + Send + Sync> Sync for Counted<M, AtomicUsize> {}

impl<C: Counter> Counted<crate::Arena, C> {
    /// Resets the arena if this is its only handle; those in collections count. Returns whether it did.
    ///
    /// ```
    /// let mut arena = toft::RcArena::default();
    /// let mut words = toft::collections::Vec::new_in(&arena);
    /// words.push("word");
    /// drop(words);
    /// let other = arena.clone();
    /// assert!(!arena.try_reset());
    /// drop(other);
    /// assert!(arena.try_reset() && arena.stats().live == 0);
    /// ```
    pub fn try_reset(&mut self) -> bool {
        Counted::get_mut(self).map(crate::Arena::reset).is_some()
    }
}

/// A counted handle of an [`Arena`](crate::Arena), for one thread: an owned, cloneable allocator. [`Counted`] has its
/// calls.
pub type RcArena = Counted<crate::memory::arena::Arena>;

/// A counted handle of a [`SharedArena`](crate::SharedArena), which may be sent to and used by any thread. [`Counted`] has
/// its calls.
///
/// ```
/// use toft::ArcArena;
///
/// let arena = ArcArena::default();
/// let threads = [1u64, 2, 3].map(|n| {
///     let arena = arena.clone();
///     std::thread::spawn(move || *arena.alloc(n * n))
/// });
/// let squares = threads.map(|thread| thread.join().unwrap());
/// assert_eq!(squares, [1, 4, 9]);
/// ```
#[cfg(all(feature = "std", feature = "shared"))]
pub type ArcArena<S = Heap> = Counted<crate::threads::shared::SharedArena<S>, AtomicUsize>;

#[cfg(test)]
#[path = "../../tests/unit/counted.rs"]
mod tests;
