//! Arenas with a lifetime: scopes of another arena, arenas in a caller's buffer, arenas on a borrowed source.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::marker::PhantomData;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::ops::Deref;
use core::ptr::NonNull;

use crate::arenas::foreign;
use crate::base::error::{or_panic, AllocError};
use crate::base::source::Source;
use crate::memory::arena::Arena;
use crate::memory::common_impls::{debug_by_stats, default_by_new, exclusive_calls};
use crate::provider::{self, Settings};

/// An arena that is released before `'a` ends. All of [`Arena`]'s calls work on it.
///
/// It is made by [`Arena::scope_guard`], from a buffer ([`Arena::in_buffer`]), from a borrowed source
/// ([`from_source`](Scope::from_source)), or on the heap ([`new`](Scope::new)), for values with destructors that borrow
/// or are not `Send`: [`alloc_drop`](Scope::alloc_drop) takes values that live for `'a`.
///
/// ```
/// use std::cell::RefCell;
/// use toft::Scope;
///
/// struct Logs<'a>(&'a RefCell<Vec<i32>>, i32);
/// impl Drop for Logs<'_> {
///     fn drop(&mut self) {
///         self.0.borrow_mut().push(self.1);
///     }
/// }
///
/// let log = RefCell::new(vec![]);
/// let scope = Scope::new();
/// scope.alloc_drop(Logs(&log, 1));
/// scope.alloc_drop(Logs(&log, 2));
/// drop(scope);
/// assert_eq!(*log.borrow(), [2, 1]);
/// ```
pub struct Scope<'a> {
    arena: ManuallyDrop<Arena>,
    /// Of a scope of an arena from another language.
    outer: Option<NonNull<foreign::Outer>>,
    /// Invariant in 'a: a shorter one would let `alloc_drop` take values that end before the scope. Not `Send`.
    lives: PhantomData<(core::cell::Cell<&'a ()>, *const ())>,
}

impl Arena {
    /// Runs `f` with an arena of its own in the free part of this one's current block, and frees all that `f` allocated
    /// there. Takes a few nanoseconds.
    ///
    /// Collections outside the scope may grow during the call: this arena serves them from another block, and that
    /// memory survives the scope. References into the scope cannot leave it:
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// let outer = arena.alloc(1);
    /// let sum = arena.scope(|inner| {
    ///     let words = inner.alloc_slice_from_iter("a b c".split(' '));
    ///     *outer += words.len();
    ///     *arena.alloc(*outer) // of the outer arena, while the scope is open
    /// });
    /// assert_eq!(sum, 4);
    /// ```
    /// ```compile_fail
    /// let arena = toft::Arena::new();
    /// let escaped = arena.scope(|inner| inner.alloc(1));
    /// ```
    ///
    /// # Panics
    /// If `f` or a destructor panics, after everything is freed; or if there is no memory for the scope.
    #[inline]
    pub fn scope<R>(&self, f: impl FnOnce(&Arena) -> R) -> R {
        f(&self.scope_guard())
    }

    /// As [`scope`](Arena::scope), with an error if there is no memory for the scope; `f` does not run then.
    #[inline]
    pub fn try_scope<R>(&self, f: impl FnOnce(&Arena) -> R) -> Result<R, AllocError> {
        Ok(f(&*self.try_scope_guard()?))
    }

    /// As [`scope`](Arena::scope), until the guard is dropped. Guards of one arena may be dropped in any order.
    ///
    /// # Panics
    /// If there is no memory, or a destructor of this arena is running.
    #[inline]
    pub fn scope_guard(&self) -> Scope<'_> {
        or_panic(self.try_scope_guard())
    }

    /// As [`scope_guard`](Arena::scope_guard), with an error instead of the panic.
    #[inline]
    pub fn try_scope_guard(&self) -> Result<Scope<'_>, AllocError> {
        let (inner, outer) = match self.own() {
            Some(a) => (a.begin_scope(), None),
            // SAFETY: the arena is alive while the scope is.
            None => match unsafe { foreign::begin(self.head()) } {
                Some((inner, outer)) => (Some(inner), Some(outer)),
                None => (None, None),
            },
        };
        Ok(Scope::made(inner.ok_or(AllocError)?, outer))
    }
}

/// Arenas in a buffer.
impl Arena {
    /// Creates an arena in the caller's buffer. It uses the first 512 bytes, and the padding to a multiple of 64, for
    /// itself. It does not grow; [`in_buffer_or_heap`](Arena::in_buffer_or_heap) does. Fails if the buffer is too
    /// small.
    ///
    /// ```
    /// # use core::mem::MaybeUninit;
    /// let mut buffer = [MaybeUninit::uninit(); 2400];
    /// let arena = toft::Arena::in_buffer(&mut buffer)?;
    /// assert!(arena.try_alloc([0u8; 1024]).is_ok());
    /// assert!(arena.try_alloc([0u8; 1024]).is_err());
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    pub fn in_buffer(buffer: &mut [MaybeUninit<u8>]) -> Result<Scope<'_>, AllocError> {
        Scope::in_buffer(buffer, None)
    }

    /// Creates an arena in the caller's buffer that takes blocks of the heap when the buffer is full. Fails if the
    /// buffer is too small.
    ///
    /// ```
    /// # use core::mem::MaybeUninit;
    /// let mut buffer = [MaybeUninit::uninit(); 2400];
    /// let arena = toft::Arena::in_buffer_or_heap(&mut buffer)?;
    /// arena.alloc([0u8; 1024]); // in the buffer
    /// arena.alloc([0u8; 10_000]); // on the heap
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    pub fn in_buffer_or_heap(buffer: &mut [MaybeUninit<u8>]) -> Result<Scope<'_>, AllocError> {
        Scope::in_buffer(buffer, Some(None))
    }
}

impl<'a> Scope<'a> {
    #[inline(always)]
    fn made(a: provider::RawArena, outer: Option<NonNull<foreign::Outer>>) -> Scope<'a> {
        Scope { arena: ManuallyDrop::new(Arena::made(a)), outer, lives: PhantomData }
    }

    /// Creates an arena on the heap.
    ///
    /// # Panics
    /// If there is no memory.
    #[inline]
    pub fn new() -> Scope<'a> {
        Scope { arena: ManuallyDrop::new(Arena::new()), outer: None, lives: PhantomData }
    }

    /// As [`new`](Scope::new), with an error instead of the panic.
    #[inline]
    pub fn try_new() -> Result<Scope<'a>, AllocError> {
        Ok(Scope { arena: ManuallyDrop::new(Arena::try_new()?), outer: None, lives: PhantomData })
    }

    /// Creates an arena whose blocks come from a borrowed source.
    ///
    /// ```
    /// use toft::{Pages, Scope};
    /// let pages = Pages::new();
    /// let arena = Scope::from_source(&pages)?;
    /// arena.alloc(1);
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    ///
    /// # Errors
    /// If the source has no block.
    pub fn from_source(source: &'a dyn Source) -> Result<Scope<'a>, AllocError> {
        Scope::from_source_with(source, 0, None)
    }

    /// As [`from_source`](Scope::from_source), for rounds of about `reserve` bytes, with a budget.
    ///
    /// # Errors
    /// If the source has no block.
    pub fn from_source_with(
        source: &'a dyn Source,
        reserve: usize,
        budget: Option<u64>,
    ) -> Result<Scope<'a>, AllocError> {
        let source = Some(forget_lifetime(source));
        let settings =
            Settings { source, reserve, budget: budget.unwrap_or(u64::MAX), owns_source: false, portion: None };
        // SAFETY: the source lives for 'a, longer than the arena.
        let a = unsafe { provider::create_with(&settings) };
        Ok(Scope::made(a.ok_or(AllocError)?, None))
    }

    fn in_buffer(
        buffer: &'a mut [MaybeUninit<u8>],
        overflow: Option<Option<&'a dyn Source>>,
    ) -> Result<Scope<'a>, AllocError> {
        let size = buffer.len();
        let overflow = overflow.map(|source| source.map(forget_lifetime));
        let base = NonNull::from(buffer).cast();
        // SAFETY: the buffer is exclusively this arena's for 'a.
        let a = unsafe { provider::create_in(base, size, overflow) };
        Ok(Scope::made(a.ok_or(AllocError)?, None))
    }

    /// As [`Arena::in_buffer`], taking blocks of a source when the buffer is full.
    ///
    /// # Errors
    /// If the buffer is too small.
    pub fn in_buffer_or(buffer: &'a mut [MaybeUninit<u8>], source: &'a dyn Source) -> Result<Scope<'a>, AllocError> {
        Scope::in_buffer(buffer, Some(Some(source)))
    }

    exclusive_calls!();
}

fn forget_lifetime(source: &dyn Source) -> NonNull<dyn Source> {
    let source: NonNull<dyn Source + '_> = NonNull::from(source);
    // SAFETY: the same pointer; the users of the result ensure that the source is alive.
    unsafe { core::mem::transmute::<NonNull<dyn Source + '_>, NonNull<dyn Source + 'static>>(source) }
}

default_by_new!(Scope<'_>);

impl Deref for Scope<'_> {
    type Target = Arena;
    #[inline(always)]
    fn deref(&self) -> &Arena {
        &self.arena
    }
}

impl Drop for Scope<'_> {
    #[inline]
    fn drop(&mut self) {
        // Most scopes never made a slow call: such a scope has no cleanups and no blocks to return.
        // SAFETY: the scope ends here.
        if self.arena.own().is_some_and(|a| unsafe { a.end_pristine_scope() }) {
            return;
        }
        struct End(Option<NonNull<foreign::Outer>>);
        impl Drop for End {
            #[inline]
            fn drop(&mut self) {
                if let Some(outer) = self.0 {
                    // SAFETY: the outer arena is alive, and the scope's arena is released.
                    unsafe { foreign::end(outer) }
                }
            }
        }
        let _end = End(self.outer); // also when a destructor panics
                                    // SAFETY: the arena is not used again.
        unsafe { ManuallyDrop::drop(&mut self.arena) }
    }
}

debug_by_stats!([] Scope<'_>, "Scope");
