//! Task arenas: an arena that the futures of one task share, on any threads.
//!
//! Soundness: the state of the arena is accessed only under the lock, by the calls here; no `&Arena` of it is exposed.
//! Each call returns new memory, so values are written without the lock. The memory is freed by `reset`, which borrows
//! the arena exclusively, and when the arena is dropped; no references into it exist then. The arena accesses only the
//! values that it drops, on the thread that resets or drops it: they are `Send` and borrow nothing. All others may be
//! of any type; a reference to a value that is not `Send` stays on its thread.
//!
//! It cannot deadlock: no user code runs under the lock (closures, `Clone`, `Display`, destructors, panic hooks).
//! Memory is taken under the lock, filled and dropped outside it. The blocks come from the heap, not from a user's
//! source.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![allow(clippy::mut_from_ref)] // the returned reference is to new memory

use core::alloc::Layout;
use core::fmt;
use core::mem::{needs_drop, MaybeUninit};
use core::ops::Deref;
use core::pin::Pin;
use core::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

use crate::base::abi_types::Stats;
use crate::base::error::{unwrap_infallible, AllocError, ErrorMode, InitError};
use crate::collections::{String, Vec};
use crate::memory::allocate::allocating_methods;
use crate::memory::arena::Arena;
use crate::memory::boxed::Box;
use crate::memory::by_layout::{memory_by_call_site, Allocated, CallSite, Memory};
use crate::memory::common_impls::{debug_by_stats, default_by_new};
use crate::memory::construct::{exclusive, exclusive_each, init_error, owned, Construct};
use crate::system::hook::DeferReports;
use crate::threads::lease::{Lease, Leases};

/// An arena behind a lock. It is `Send` and `Sync`, so a reference to it may live across an await and be given to the
/// futures inside a task, which any thread may poll. Allocations live as long as the arena is borrowed.
///
/// A call takes about 15 ns without contention, and holds the lock while it moves a pointer. Closures and iterators run
/// outside the lock, and may use the arena themselves. For a single future a [`Lease`] is faster. With the feature
/// `allocator-api2` or `nightly`, `&TaskArena` is an allocator, for collections that are `Send`:
///
#[cfg_attr(feature = "allocator-api2", doc = "```")]
#[cfg_attr(not(feature = "allocator-api2"), doc = "```ignore")]
/// let arena = toft::TaskArena::new();
/// let mut words = allocator_api2::vec::Vec::new_in(&arena);
/// words.push("one");
/// std::thread::scope(|s| {
///     s.spawn(move || words.extend(["two", "three"]));
/// });
/// ```
///
/// ```
/// # use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};
/// use toft::{Leases, TaskArena};
///
/// static LEASES: Leases = Leases::new();
///
/// async fn part<'a>(arena: &'a TaskArena<'_>, n: u32) -> &'a str {
///     let text = arena.alloc_str("part ");
///     std::future::ready(()).await; // `arena` and `text` live on, perhaps on another thread
///     toft::format_in!(arena, "{text}{n}")
/// }
///
/// async fn whole() -> usize {
///     let arena = LEASES.task();
///     let (first, second) = (part(&arena, 1), part(&arena, 2));
///     second.await.len() + first.await.len()
/// } // the arena returns to the cache
///
/// fn may_move<T: Send>(task: T) -> T {
///     task
/// }
/// let task = pin!(may_move(whole()));
/// assert_eq!(task.poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(12));
/// ```
pub struct TaskArena<'l> {
    inside: Mutex<Inside<'l>>,
}

enum Inside<'l> {
    Own(Arena),
    Leased(Lease<'l>),
}

impl Deref for Inside<'_> {
    type Target = Arena;
    #[inline(always)]
    fn deref(&self) -> &Arena {
        match self {
            Inside::Own(arena) => arena,
            Inside::Leased(lease) => lease,
        }
    }
}

// ---- create, reset, queries ----

impl Leases {
    /// Leases an arena for a task and the futures in it.
    ///
    /// # Panics
    /// If there is no memory.
    pub fn task(&self) -> TaskArena<'_> {
        TaskArena::made(Inside::Leased(self.get()))
    }

    /// As [`task`](Leases::task), with an error instead of the panic.
    pub fn try_task(&self) -> Result<TaskArena<'_>, AllocError> {
        Ok(TaskArena::made(Inside::Leased(self.try_get()?)))
    }
}

impl TaskArena<'static> {
    /// An arena on the heap, as [`Arena::new`].
    ///
    /// # Panics
    /// If there is no memory.
    pub fn new() -> TaskArena<'static> {
        TaskArena::made(Inside::Own(Arena::new()))
    }

    /// As [`new`](TaskArena::new), with an error instead of the panic.
    pub fn try_new() -> Result<TaskArena<'static>, AllocError> {
        Ok(TaskArena::made(Inside::Own(Arena::try_new()?)))
    }
}

default_by_new!(TaskArena<'static>);

impl<'l> TaskArena<'l> {
    fn made(inside: Inside<'l>) -> TaskArena<'l> {
        TaskArena { inside: Mutex::new(inside) }
    }

    /// Frees every allocation, and runs the destructors of [`alloc_drop`](TaskArena::alloc_drop): [`Arena::reset`].
    ///
    /// # Panics
    /// If a destructor panicked, after everything is freed.
    pub fn reset(&mut self) {
        match self.inside.get_mut().unwrap_or_else(PoisonError::into_inner) {
            Inside::Own(arena) => arena.reset(),
            Inside::Leased(lease) => lease.reset(),
        }
    }

    /// Returns the statistics of the arena: [`Arena::stats`].
    pub fn stats(&self) -> Stats {
        self.locked(|arena| arena.stats())
    }
}

debug_by_stats!([] TaskArena<'_>, "TaskArena");

// ---- implementation ----

impl TaskArena<'_> {
    /// `f` is code of this file, and does not panic, so a poisoned lock is ignored.
    #[inline(always)]
    fn locked<R>(&self, f: impl FnOnce(&Arena) -> R) -> R {
        let arena = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        if !arena.is_instrumented() {
            return f(&arena);
        }
        let deferred = DeferReports::new();
        let result = f(&arena);
        drop(arena);
        deferred.end();
        result
    }

    /// The arena allocates an empty `Option` first, so that a value that does not fit is dropped outside the lock.
    fn alloc_dropped<T: Send + 'static, E: ErrorMode>(&self, value: T) -> Result<&mut T, E> {
        if !needs_drop::<T>() {
            // SAFETY: new and initialised; it lives while the arena is borrowed.
            return Ok(unsafe { exclusive(Construct::value(self, || value, false)?) });
        }
        let place = self.locked(|arena| arena.try_alloc_drop(None::<T>).map(NonNull::from));
        let Ok(place) = place else { return Err(E::closed()) };
        // SAFETY: it lives as long as the arena is borrowed, and the arena accesses it only to drop it.
        Ok(unsafe { &mut *place.as_ptr() }.insert(value))
    }
}

// SAFETY: allocations live until the arena is reset or dropped, which need an exclusive borrow.
unsafe impl Memory for TaskArena<'_> {
    memory_by_call_site!(inline);

    #[inline]
    unsafe fn deallocate(&self, p: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller's contract.
        self.locked(|arena| unsafe { arena.deallocate(p, layout) });
    }

    // The panic for a refusal happens outside the lock, since it runs the panic hook.
    #[inline]
    fn __allocate(&self, layout: Layout, site: CallSite) -> Allocated {
        self.locked(|arena| arena.__allocate(layout, site))
    }

    /// Constant sizes fold under the lock too.
    #[inline]
    fn __allocate_typed(&self, layout: Layout, site: CallSite) -> Allocated {
        self.locked(|arena| arena.__allocate_typed(layout, site))
    }

    #[inline]
    unsafe fn __resize(&self, p: NonNull<u8>, old: Layout, new: Layout, site: CallSite) -> Allocated {
        // SAFETY: the caller's contract.
        self.locked(|arena| unsafe { arena.__resize(p, old, new, site) })
    }

    #[inline]
    unsafe fn __discard(&self, p: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller's contract.
        self.locked(|arena| unsafe { arena.__discard(p, layout) });
    }

    #[inline]
    unsafe fn __truncate(&self, p: NonNull<u8>, old: Layout, new: Layout) {
        // SAFETY: the caller's contract.
        self.locked(|arena| unsafe { arena.__truncate(p, old, new) });
    }
}

/// Allocation; the same calls as [`Allocate`](crate::Allocate). Closures, iterators and formatting traits run outside the
/// lock, and may use the arena. Collections are `Send` where their elements are.
impl TaskArena<'_> {
    allocating_methods!(pub, "let arena = toft::TaskArena::new();", '_);
}

/// Values that the arena drops.
impl TaskArena<'_> {
    /// Moves `value` into the arena, which drops it on the thread that resets or drops the arena.
    ///
    /// ```
    /// use std::sync::Arc;
    /// let (shared, arena) = (Arc::new(1), toft::TaskArena::new());
    /// arena.alloc_drop(shared.clone());
    /// drop(arena);
    /// assert_eq!(Arc::strong_count(&shared), 1);
    /// ```
    pub fn alloc_drop<T: Send + 'static>(&self, value: T) -> &mut T {
        unwrap_infallible(self.alloc_dropped(value))
    }

    /// As [`alloc_drop`](TaskArena::alloc_drop), with an error instead of the panic.
    pub fn try_alloc_drop<T: Send + 'static>(&self, value: T) -> Result<&mut T, AllocError> {
        self.alloc_dropped(value)
    }

    /// As [`alloc_drop`](TaskArena::alloc_drop), pinned: [`Arena::alloc_pin`]. For futures, for example.
    ///
    /// # Panics
    /// If the arena has no memory.
    pub fn alloc_pin<T: Send + 'static>(&self, value: T) -> Pin<&mut T> {
        // SAFETY: the arena drops it before its memory is freed. A leaked arena leaks its memory.
        unsafe { Pin::new_unchecked(self.alloc_drop(value)) }
    }

    /// As [`alloc_pin`](TaskArena::alloc_pin), with an error instead of the panic.
    pub fn try_alloc_pin<T: Send + 'static>(&self, value: T) -> Result<Pin<&mut T>, AllocError> {
        // SAFETY: as above.
        Ok(unsafe { Pin::new_unchecked(self.try_alloc_drop(value)?) })
    }
}
