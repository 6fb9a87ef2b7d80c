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
use core::mem::{needs_drop, size_of};
use core::ops::Deref;
use core::pin::Pin;
use core::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

use crate::abi::Stats;
use crate::arena::Arena;
use crate::boxed::Box;
use crate::construct::{construct_methods, CallSite, Construct};
use crate::error::{unwrap_infallible, AllocError, ErrorMode};
use crate::hook::DeferReports;
use crate::lease::{Lease, Leases};

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
    leases: Option<&'l Leases>,
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
    /// ```
    /// let leases = toft::Leases::new();
    /// let arena = leases.task();
    /// std::thread::scope(|s| {
    ///     s.spawn(|| arena.alloc(1));
    ///     arena.alloc(2);
    /// });
    /// assert_eq!(arena.stats().live, 16);
    /// ```
    ///
    /// # Panics
    /// If there is no memory.
    pub fn task(&self) -> TaskArena<'_> {
        TaskArena::made(Inside::Leased(self.get()), Some(self))
    }

    /// As [`task`](Leases::task), with an error instead of the panic.
    ///
    /// ```
    /// let leases = toft::Leases::new();
    /// assert_eq!(*leases.try_task()?.try_alloc(7)?, 7);
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    pub fn try_task(&self) -> Result<TaskArena<'_>, AllocError> {
        Ok(TaskArena::made(Inside::Leased(self.try_get()?), Some(self)))
    }
}

impl TaskArena<'static> {
    /// An arena on the heap, as [`Arena::new`].
    ///
    /// ```
    /// use std::sync::Arc;
    /// let arena = Arc::new(toft::TaskArena::new());
    /// let same = arena.clone();
    /// std::thread::spawn(move || *same.alloc(7)).join().unwrap();
    /// assert_eq!(arena.stats().live, 8);
    /// ```
    ///
    /// # Panics
    /// If there is no memory.
    pub fn new() -> TaskArena<'static> {
        TaskArena::made(Inside::Own(Arena::new()), None)
    }

    /// As [`new`](TaskArena::new), with an error instead of the panic.
    ///
    /// ```
    /// assert_eq!(*toft::TaskArena::try_new()?.try_alloc(7)?, 7);
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    pub fn try_new() -> Result<TaskArena<'static>, AllocError> {
        Ok(TaskArena::made(Inside::Own(Arena::try_new()?), None))
    }
}

impl Default for TaskArena<'static> {
    fn default() -> Self {
        TaskArena::new()
    }
}

impl<'l> TaskArena<'l> {
    fn made(inside: Inside<'l>, leases: Option<&'l Leases>) -> TaskArena<'l> {
        TaskArena { inside: Mutex::new(inside), leases }
    }

    /// Frees every allocation, and runs the destructors of [`alloc_drop`](TaskArena::alloc_drop): [`Arena::reset`].
    ///
    /// ```
    /// let mut arena = toft::TaskArena::new();
    /// arena.alloc(1);
    /// arena.reset();
    /// assert_eq!(arena.stats().live, 0);
    /// ```
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
    ///
    /// ```
    /// let arena = toft::TaskArena::new();
    /// arena.alloc([0u8; 100]);
    /// assert_eq!(arena.stats().live, 104);
    /// ```
    pub fn stats(&self) -> Stats {
        self.locked(|arena| arena.stats())
    }

    /// Runs `f` with another arena, exclusive to the call: from the same cache, or a new one. `f` may use both arenas.
    ///
    /// ```
    /// let arena = toft::TaskArena::new();
    /// let longest = arena.scratch(|scratch| {
    ///     let words = scratch.alloc_slice_from_iter("some of many words".split(' '));
    ///     words.sort_by_key(|word| word.len());
    ///     arena.alloc_str(words.last().unwrap())
    /// });
    /// assert_eq!(longest, "words");
    /// ```
    ///
    /// # Panics
    /// If there is no memory for the other arena.
    pub fn scratch<R>(&self, f: impl FnOnce(&Arena) -> R) -> R {
        match self.leases {
            Some(leases) => f(&leases.get()),
            None => f(&Arena::new()),
        }
    }

    /// As [`scratch`](TaskArena::scratch), with an error if there is no memory for the other arena; `f` does not run
    /// then.
    ///
    /// ```
    /// let arena = toft::TaskArena::new();
    /// assert_eq!(arena.try_scratch(|scratch| *scratch.alloc(7))?, 7);
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    pub fn try_scratch<R>(&self, f: impl FnOnce(&Arena) -> R) -> Result<R, AllocError> {
        Ok(match self.leases {
            Some(leases) => f(&*leases.try_get()?),
            None => f(&Arena::try_new()?),
        })
    }
}

impl fmt::Debug for TaskArena<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskArena").field("stats", &self.stats()).finish()
    }
}

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
            return self.value(|| value);
        }
        let place = self.locked(|arena| arena.try_alloc_drop(None::<T>).map(NonNull::from));
        let Ok(place) = place else { return Err(E::closed()) };
        // SAFETY: it lives as long as the arena is borrowed, and the arena accesses it only to drop it.
        Ok(unsafe { &mut *place.as_ptr() }.insert(value))
    }
}

impl Construct for TaskArena<'_> {
    #[inline]
    fn raw_alloc(&self, layout: Layout, site: CallSite) -> Option<NonNull<u8>> {
        // The panic for a refusal happens outside the lock, since it runs the panic hook.
        self.locked(|arena| arena.raw_alloc(layout, site))
    }

    #[inline]
    unsafe fn raw_free(&self, p: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller's contract.
        self.locked(|arena| unsafe { arena.raw_free(p, layout) });
    }

    #[inline]
    unsafe fn raw_realloc(&self, p: NonNull<u8>, old: Layout, new: Layout, site: CallSite) -> Option<NonNull<u8>> {
        // SAFETY: the caller's contract.
        self.locked(|arena| unsafe { arena.raw_realloc(p, old, new, site) })
    }

    /// Constant sizes fold under the lock too.
    #[inline]
    #[track_caller]
    fn reserve_one<T, E: ErrorMode>(&self, drops: bool) -> Result<NonNull<T>, E> {
        if size_of::<T>() == 0 {
            return Ok(NonNull::dangling());
        }
        let p = self.locked(|arena| arena.reserve_one::<T, AllocError>(drops));
        p.map_err(|_| E::out_of_memory(Layout::new::<T>()))
    }
}

construct_methods!([] TaskArena<'_>);

// ---- allocation ----

impl TaskArena<'_> {
    /// As [`Arena::alloc`].
    ///
    /// ```
    /// let arena = toft::TaskArena::new();
    /// let x = arena.alloc(41);
    /// *x += 1;
    /// assert_eq!(*x, 42);
    /// ```
    ///
    /// # Panics
    /// If the arena has no memory, as all calls here without `try`.
    #[inline]
    pub fn alloc<T>(&self, value: T) -> &mut T {
        unwrap_infallible(self.value(|| value))
    }

    /// As [`alloc`](TaskArena::alloc), with an error instead of the panic; `value` is dropped then.
    ///
    /// ```
    /// let leases = toft::Leases::new().budget(16);
    /// let tight = leases.task();
    /// assert_eq!(tight.try_alloc([1u8; 16])?, &[1; 16]);
    /// assert_eq!(tight.try_alloc(1u8), Err(toft::AllocError));
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    #[inline]
    pub fn try_alloc<T>(&self, value: T) -> Result<&mut T, AllocError> {
        self.value(|| value)
    }

    /// Constructs a value in the arena: [`Arena::alloc_with`]. `make` may use the arena itself.
    ///
    /// ```
    /// let arena = toft::TaskArena::new();
    /// let pair = arena.alloc_with(|| (arena.alloc(1), 2));
    /// assert_eq!((*pair.0, pair.1), (1, 2));
    /// ```
    #[inline]
    pub fn alloc_with<T>(&self, make: impl FnOnce() -> T) -> &mut T {
        unwrap_infallible(self.value(make))
    }

    /// As [`alloc_with`](TaskArena::alloc_with), with an error instead of the panic; `make` does not run then.
    ///
    /// ```
    /// let arena = toft::TaskArena::new();
    /// assert_eq!(*arena.try_alloc_with(|| 7)?, 7);
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    #[inline]
    pub fn try_alloc_with<T>(&self, make: impl FnOnce() -> T) -> Result<&mut T, AllocError> {
        self.value(make)
    }

    /// Returns memory of any layout. For a size of 0: an address that must not be read.
    ///
    /// ```
    /// use std::alloc::Layout;
    /// let arena = toft::TaskArena::new();
    /// let page = arena.alloc_layout(Layout::from_size_align(10_000, 4096).unwrap());
    /// assert_eq!(page.addr().get() % 4096, 0);
    /// ```
    #[inline]
    pub fn alloc_layout(&self, layout: Layout) -> NonNull<u8> {
        unwrap_infallible(self.bytes(layout))
    }

    /// As [`alloc_layout`](TaskArena::alloc_layout), with an error instead of the panic.
    ///
    /// ```
    /// use std::alloc::Layout;
    /// let arena = toft::TaskArena::new();
    /// assert!(arena.try_alloc_layout(Layout::new::<u64>()).is_ok());
    /// ```
    #[inline]
    pub fn try_alloc_layout(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        self.bytes(layout)
    }

    /// Copies a slice into the arena.
    ///
    /// ```
    /// let arena = toft::TaskArena::new();
    /// assert_eq!(arena.alloc_slice_copy(&[1, 2, 3]), &[1, 2, 3]);
    /// ```
    #[inline]
    pub fn alloc_slice_copy<T: Copy>(&self, src: &[T]) -> &mut [T] {
        unwrap_infallible(self.copied(src))
    }

    /// As [`alloc_slice_copy`](TaskArena::alloc_slice_copy), with an error instead of the panic.
    ///
    /// ```
    /// let arena = toft::TaskArena::new();
    /// assert_eq!(arena.try_alloc_slice_copy(&[1, 2])?, &[1, 2]);
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    #[inline]
    pub fn try_alloc_slice_copy<T: Copy>(&self, src: &[T]) -> Result<&mut [T], AllocError> {
        self.copied(src)
    }

    /// Clones each element of a slice into the arena.
    ///
    /// ```
    /// let arena = toft::TaskArena::new();
    /// assert_eq!(arena.alloc_slice_clone(&[Some(1), None]), &[Some(1), None]);
    /// ```
    pub fn alloc_slice_clone<T: Clone>(&self, src: &[T]) -> &mut [T] {
        unwrap_infallible(self.filled(src.len(), |i| src[i].clone()))
    }

    /// As [`alloc_slice_clone`](TaskArena::alloc_slice_clone), with an error instead of the panic.
    ///
    /// ```
    /// let arena = toft::TaskArena::new();
    /// assert_eq!(arena.try_alloc_slice_clone(&[Some(1)])?, &[Some(1)]);
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    pub fn try_alloc_slice_clone<T: Clone>(&self, src: &[T]) -> Result<&mut [T], AllocError> {
        self.filled(src.len(), |i| src[i].clone())
    }

    /// Returns `n` values, made from their index. For panics of `make` see the [rule](crate#panics).
    ///
    /// ```
    /// let arena = toft::TaskArena::new();
    /// assert_eq!(arena.alloc_slice_fill_with(4, |i| i * i), &[0, 1, 4, 9]);
    /// ```
    pub fn alloc_slice_fill_with<T>(&self, n: usize, make: impl FnMut(usize) -> T) -> &mut [T] {
        unwrap_infallible(self.filled(n, make))
    }

    /// As [`alloc_slice_fill_with`](TaskArena::alloc_slice_fill_with), with an error instead of the panic.
    ///
    /// ```
    /// let arena = toft::TaskArena::new();
    /// assert!(arena.try_alloc_slice_fill_with(usize::MAX, |i| i).is_err()); // no size wraps
    /// assert_eq!(arena.try_alloc_slice_fill_with(2, |i| i)?, &[0, 1]);
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    pub fn try_alloc_slice_fill_with<T>(&self, n: usize, make: impl FnMut(usize) -> T) -> Result<&mut [T], AllocError> {
        self.filled(n, make)
    }

    /// Collects an iterator of any length: [`Arena::alloc_slice_from_iter`]. The iterator may use the arena itself.
    ///
    /// ```
    /// let arena = toft::TaskArena::new();
    /// let odd = arena.alloc_slice_from_iter((0..10).filter(|i| i % 2 == 1));
    /// assert_eq!(odd, &[1, 3, 5, 7, 9]);
    /// ```
    pub fn alloc_slice_from_iter<T>(&self, iter: impl IntoIterator<Item = T>) -> &mut [T] {
        unwrap_infallible(self.collected(iter.into_iter(), false))
    }

    /// As [`alloc_slice_from_iter`](TaskArena::alloc_slice_from_iter), with an error instead of the panic. The yielded
    /// values are dropped then.
    ///
    /// ```
    /// let leases = toft::Leases::new().budget(16);
    /// let tight = leases.task();
    /// assert!(tight.try_alloc_slice_from_iter(0u64..).is_err()); // ended by the budget
    /// assert_eq!(tight.try_alloc_slice_from_iter((0u64..).take(2))?, &[0, 1]);
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    pub fn try_alloc_slice_from_iter<T>(&self, iter: impl IntoIterator<Item = T>) -> Result<&mut [T], AllocError> {
        self.collected(iter.into_iter(), false)
    }

    /// Copies a string.
    ///
    /// ```
    /// let arena = toft::TaskArena::new();
    /// assert_eq!(arena.alloc_str("a word"), "a word");
    /// ```
    #[inline]
    pub fn alloc_str(&self, s: &str) -> &mut str {
        unwrap_infallible(self.text(s))
    }

    /// As [`alloc_str`](TaskArena::alloc_str), with an error instead of the panic.
    ///
    /// ```
    /// let arena = toft::TaskArena::new();
    /// assert_eq!(arena.try_alloc_str("a word")?, "a word");
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    #[inline]
    pub fn try_alloc_str(&self, s: &str) -> Result<&mut str, AllocError> {
        self.text(s)
    }

    /// Returns formatted text; [`format_in!`](crate::format_in) calls it. Formatting traits may use the arena.
    ///
    /// ```
    /// let arena = toft::TaskArena::new();
    /// assert_eq!(toft::format_in!(arena, "{:>4}", 7), "   7");
    /// ```
    ///
    /// # Panics
    /// If the arena has no memory, or a formatting trait returns an error.
    pub fn alloc_fmt(&self, args: fmt::Arguments<'_>) -> &mut str {
        unwrap_infallible(self.formatted(args))
    }

    /// As [`alloc_fmt`](TaskArena::alloc_fmt), with an error instead of the first panic.
    ///
    /// ```
    /// let arena = toft::TaskArena::new();
    /// assert_eq!(toft::try_format_in!(arena, "{}", 7)?, "7");
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    pub fn try_alloc_fmt(&self, args: fmt::Arguments<'_>) -> Result<&mut str, AllocError> {
        self.formatted(args)
    }

    /// Moves `value` into the arena, in a box that drops it.
    ///
    /// ```
    /// let arena = toft::TaskArena::new();
    /// let names = arena.boxed(vec!["a".to_string()]);
    /// std::thread::scope(|s| {
    ///     s.spawn(move || drop(names));
    /// });
    /// ```
    #[inline]
    pub fn boxed<T>(&self, value: T) -> Box<'_, T> {
        // SAFETY: no other code drops it.
        unsafe { Box::from_raw(self.alloc(value)) }
    }

    /// As [`boxed`](TaskArena::boxed), with an error instead of the panic.
    ///
    /// ```
    /// let arena = toft::TaskArena::new();
    /// assert_eq!(*arena.try_boxed(7)?, 7);
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    #[inline]
    pub fn try_boxed<T>(&self, value: T) -> Result<Box<'_, T>, AllocError> {
        // SAFETY: no other code drops it.
        Ok(unsafe { Box::from_raw(self.try_alloc(value)?) })
    }

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
    ///
    /// ```
    /// let leases = toft::Leases::new().budget(0);
    /// assert!(leases.task().try_alloc_drop(String::from("dropped now")).is_err());
    /// ```
    pub fn try_alloc_drop<T: Send + 'static>(&self, value: T) -> Result<&mut T, AllocError> {
        self.alloc_dropped(value)
    }

    /// As [`alloc_drop`](TaskArena::alloc_drop), pinned: [`Arena::alloc_pin`]. For futures, for example.
    ///
    /// ```
    /// # use std::task::{Context, Poll, Waker};
    /// # use std::future::Future;
    /// let arena = toft::TaskArena::new();
    /// let future = arena.alloc_pin(async { 6 * 7 });
    /// assert_eq!(future.poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(42));
    /// ```
    ///
    /// # Panics
    /// If the arena has no memory.
    pub fn alloc_pin<T: Send + 'static>(&self, value: T) -> Pin<&mut T> {
        // SAFETY: the arena drops it before its memory is freed. A leaked arena leaks its memory.
        unsafe { Pin::new_unchecked(self.alloc_drop(value)) }
    }

    /// As [`alloc_pin`](TaskArena::alloc_pin), with an error instead of the panic.
    ///
    /// ```
    /// let leases = toft::Leases::new().budget(0);
    /// assert!(leases.task().try_alloc_pin(async {}).is_err());
    /// ```
    pub fn try_alloc_pin<T: Send + 'static>(&self, value: T) -> Result<Pin<&mut T>, AllocError> {
        // SAFETY: as above.
        Ok(unsafe { Pin::new_unchecked(self.try_alloc_drop(value)?) })
    }
}
