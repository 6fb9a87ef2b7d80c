//! The arena: creation, reset and release, statistics, marks, and passing arenas to code in other languages.
//! `allocate.rs` has the calls that place values in it.
// SPDX-License-Identifier: MIT OR Apache-2.0

use alloc::vec::Vec;
use core::alloc::Layout;
use core::fmt;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ops::Deref;
use core::ptr::NonNull;

use crate::base::abi_types::{self as abi, Head};
use crate::base::error::{or_panic, AllocError};
use crate::base::panics::resuming_panics;
use crate::base::policy::CAP;
use crate::memory::by_layout::{memory_by_call_site, Allocated, CallSite, Memory};
use crate::memory::common_impls::{debug_by_stats, default_by_new};
use crate::provider;
use crate::provider::dispatch;

pub use crate::base::abi_types::Stats;
pub use crate::provider::BlockInfo;

/// An arena: it allocates by moving a pointer, and its memory is freed as a whole.
///
/// `arena.alloc(value)` costs a compare and an add, and returns a reference that lives as long as the arena is
/// borrowed. Single allocations are not freed: [`reset`](Arena::reset), the end of a [`scope`](Arena::scope), or
/// dropping the arena frees everything at once.
///
/// **Destructors do not run** for values of `alloc` and similar calls. [`boxed`](Arena::boxed) returns a box that drops
/// its value; [`alloc_drop`](Arena::alloc_drop) registers a value that the arena drops before it frees the memory.
///
/// An arena belongs to one thread at a time: it is `Send`, not `Sync`. Blocks come from the heap through a cache of the
/// thread ([`cache`](crate::cache)), or from the caller's source ([`Options`](crate::Options)).
///
/// Calls that allocate panic if there is no memory or the budget does not allow the request; each has a variant
/// `try_...` that returns [`AllocError`] and changes nothing.
///
/// ```
/// let mut arena = toft::Arena::new();
/// for round in 0..3 {
///     let name = arena.alloc_str("Mads");
///     let pair = arena.alloc((round, name.len()));
///     pair.0 += 1;
///     assert_eq!(*pair, (round + 1, 4));
///     arena.reset(); // `name` and `pair` are freed: the borrow checker refuses later uses
/// }
/// ```
#[repr(transparent)]
pub struct Arena {
    head: NonNull<Head>,
}

// SAFETY: an arena owns its blocks; its source is the heap or `Send`; values that it drops are `Send`.
unsafe impl Send for Arena {}

/// The blocks that [`reset`](Arena::reset_with) keeps for the next round.
///
/// ```
/// use toft::{Arena, Keep};
/// let mut arena = Arena::new();
/// arena.alloc_slice_fill(1 << 20, 0u8);
/// arena.reset_with(Keep::Bytes(0));
/// assert_eq!(arena.stats().reserved, 4096);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Keep {
    /// As many bytes as recent rounds needed, merged into one block up to 64 MiB, so that a steady workload makes no
    /// slow call.
    #[default]
    Recent,
    /// All blocks.
    All,
    /// At most about this many bytes.
    Bytes(usize),
}

/// A point in an arena, to rewind to: [`Arena::mark`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark(abi::Mark);

/// Why [`Arena::rewind`] or [`Arena::set_budget`] failed. Nothing changed.
///
/// ```
/// use toft::{Arena, RewindError};
/// let mut arena = Arena::new();
/// let mark = arena.mark();
/// arena.reset();
/// // SAFETY: nothing is used.
/// assert_eq!(unsafe { arena.rewind(mark) }, Err(RewindError::Stale));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RewindError {
    /// The mark is of another arena, or the arena was reset or rewound past it.
    Stale,
    /// A scope or cursor is open, or a destructor is running.
    Busy,
}

impl fmt::Display for RewindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RewindError::Stale => "the mark is not good any more, or of another arena",
            RewindError::Busy => "a scope or a cursor of the arena is open, or a destructor is running",
        })
    }
}

impl core::error::Error for RewindError {}

impl Arena {
    // ---- create ----

    /// Creates an arena on the heap, with one block of 4096 bytes. The thread's cache makes this fast.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// assert_eq!((arena.stats().live, arena.stats().reserved), (0, 4096));
    /// ```
    ///
    /// # Panics
    /// If there is no memory.
    #[inline]
    pub fn new() -> Arena {
        or_panic(Arena::try_new())
    }

    /// As [`new`](Arena::new), with an error instead of the panic.
    #[inline]
    pub fn try_new() -> Result<Arena, AllocError> {
        provider::create().map(Arena::made).ok_or(AllocError)
    }

    #[inline(always)]
    pub(crate) fn made(a: provider::RawArena) -> Arena {
        Arena { head: a.head() }
    }

    // ---- reset ----

    /// Frees every allocation, runs the destructors of [`alloc_drop`](Arena::alloc_drop), and keeps blocks for the next
    /// round by [`Keep::Recent`].
    ///
    /// ```
    /// let mut arena = toft::Arena::new();
    /// for _ in 0..100 {
    ///     arena.alloc_slice_fill(30_000, 0u8);
    ///     arena.reset();
    /// }
    /// assert!(arena.stats().source_calls < 5 && arena.stats().live == 0);
    /// ```
    ///
    /// # Panics
    /// If a destructor panicked, after everything is freed. If a scope or cursor of an arena from another language was
    /// leaked: the arena stays claimed.
    #[inline]
    pub fn reset(&mut self) {
        // SAFETY: the arena is borrowed exclusively.
        if !unsafe { self.reset_fast() } {
            self.reset_slow();
        }
    }

    /// As [`reset`](Arena::reset), with the blocks to keep chosen by `keep`.
    pub fn reset_with(&mut self, keep: Keep) {
        let (policy, bytes) = match keep {
            Keep::Recent => (abi::KEEP_RECENT, 0),
            Keep::All => (abi::KEEP_ALL, 0),
            Keep::Bytes(bytes) => (abi::KEEP_BYTES, bytes),
        };
        self.end_leaked();
        // SAFETY: the arena is alive, and borrowed exclusively: nothing of it is in use.
        let code = self.running_drops(|| unsafe { (self.table().reset)(self.head.as_ptr(), policy, bytes) });
        assert!(code == abi::OK || code == abi::ECORRUPT, "toft: the arena is held by code in another language");
    }

    /// Returns kept blocks without allocations to the source, until about `keep` bytes of them are left.
    ///
    /// ```
    /// let mut arena = toft::Arena::new();
    /// arena.scope_mut(|a| a.alloc_slice_fill(100_000, 0u8).len());
    /// arena.trim(0);
    /// assert_eq!(arena.stats().reserved, 4096);
    /// ```
    pub fn trim(&mut self, keep: usize) {
        // SAFETY: the arena is alive; what is in use stays.
        unsafe { (self.table().trim)(self.head.as_ptr(), keep) }
    }

    /// Runs `f`, and frees all that it allocated here. This takes one or two nanoseconds, less than
    /// [`scope`](Arena::scope), but no other borrow of the arena may exist during the call.
    ///
    /// ```
    /// let mut arena = toft::Arena::new();
    /// let sum = arena.scope_mut(|a| a.alloc_slice_fill_with(100, |i| i).iter().sum::<usize>());
    /// assert_eq!((sum, arena.stats().live), (4950, 0));
    /// ```
    ///
    /// # Panics
    /// If `f` or a destructor panics; the memory is freed all the same.
    #[inline]
    pub fn scope_mut<R>(&mut self, f: impl FnOnce(&Arena) -> R) -> R {
        struct Rewind<'a>(&'a mut Arena, abi::Mark);
        impl Drop for Rewind<'_> {
            #[inline(always)]
            fn drop(&mut self) {
                let head = self.0.head;
                // SAFETY: the arena is alive; the allocations of `f` are no longer borrowed.
                unsafe {
                    if self.1.epoch == (*head.as_ptr()).epoch.get() {
                        (*head.as_ptr()).cursor.set(self.1.cursor); // not below the mark: only this function can rewind
                    } else {
                        self.0.rewind_slow(self.1);
                    }
                }
            }
        }
        self.end_leaked();
        // SAFETY: the arena is alive.
        let mark = unsafe { abi::mark(self.head) };
        let rewind = Rewind(self, mark);
        f(rewind.0)
    }

    // ---- queries ----

    /// Returns the statistics of the arena, open scopes included.
    pub fn stats(&self) -> Stats {
        let mut stats = Stats::default();
        // SAFETY: the arena is alive; `stats` has its size.
        unsafe { (self.table().stats)(self.head.as_ptr(), &mut stats, size_of::<Stats>()) };
        stats
    }

    /// Returns whether `p` points into allocated bytes. Linear in the number of blocks.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// let (inside, outside) = (arena.alloc(1), 2);
    /// assert!(arena.contains(inside) && !arena.contains(&outside));
    /// ```
    pub fn contains<T: ?Sized>(&self, p: *const T) -> bool {
        // SAFETY: the arena is alive.
        unsafe { (self.table().contains)(self.head.as_ptr(), p.cast()) != 0 }
    }

    /// Limits the bytes that may be allocated at a time; `None`: no limit. An allocation that would exceed the budget
    /// is refused, exactly. A budget below the present use refuses every allocation until enough is freed.
    ///
    /// A budget costs nothing until it is reached. Fails while a scope or cursor is open.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// arena.set_budget(Some(64))?;
    /// assert!(arena.try_alloc([0u8; 65]).is_err());
    /// arena.set_budget(None)?;
    /// assert!(arena.try_alloc([0u8; 65]).is_ok());
    /// # Ok::<(), toft::RewindError>(())
    /// ```
    pub fn set_budget(&self, bytes: Option<u64>) -> Result<(), RewindError> {
        let value = bytes.unwrap_or(u64::MAX);
        // SAFETY: the arena is alive.
        let code = unsafe { (self.table().set)(self.head.as_ptr(), abi::SET_BUDGET, value, core::ptr::null(), 0) };
        if code >= abi::OK {
            Ok(())
        } else {
            Err(RewindError::Busy)
        }
    }

    /// Makes room: the next allocations whose sizes, rounded up to 8, and paddings add up to at most `bytes` take no
    /// block. It allocates nothing, and leaves the rest of the current block unused if that is too small. Checked
    /// arenas and arenas from another language ignore it.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// arena.reserve(1 << 20);
    /// let calls = arena.stats().source_calls;
    /// for i in 0..100_000u64 {
    ///     arena.alloc(i);
    /// }
    /// assert_eq!(arena.stats().source_calls, calls);
    /// ```
    ///
    /// # Panics
    /// If there is no memory, the budget is less, or a cursor of the arena is open.
    pub fn reserve(&self, bytes: usize) {
        or_panic(self.try_reserve(bytes));
    }

    /// As [`reserve`](Arena::reserve).
    ///
    /// # Errors
    /// If there is no memory, the budget is less, or a cursor of the arena is open.
    pub fn try_reserve(&self, bytes: usize) -> Result<(), AllocError> {
        let done = self.own().is_none_or(|a| a.reserve(bytes));
        done.then_some(()).ok_or(AllocError)
    }

    /// Returns the bytes left in the current block; of a new arena with a reserve, in the block that it will take
    /// first.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// let before = arena.remaining();
    /// arena.alloc([0u8; 100]);
    /// assert_eq!(arena.remaining(), before - 104);
    /// ```
    pub fn remaining(&self) -> usize {
        match self.own() {
            Some(a) => a.remaining_ahead(),
            // SAFETY: the arena is alive.
            None => unsafe {
                let head = self.head.as_ptr();
                (*head).limit.get().addr() - (*head).cursor.get().addr()
            },
        }
    }

    /// Returns the blocks, newest first, then the spares. Empty for arenas from another language.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// arena.alloc_slice_fill(5000, 0u8);
    /// let sizes: Vec<usize> = arena.blocks().iter().map(|b| b.size).collect();
    /// assert_eq!(sizes.iter().sum::<usize>() as u64, arena.stats().reserved);
    /// ```
    pub fn blocks(&self) -> Vec<BlockInfo> {
        let mut blocks = Vec::new(); // a list, so that the caller may use the arena while it iterates
        if let Some(a) = self.own() {
            a.walk(|block| blocks.push(block));
        }
        blocks
    }

    // ---- marks ----

    /// Returns a point to rewind to; two loads. While a cursor is open it is the point where the cursor began: a rewind
    /// to it frees what the cursor allocated before the mark too. A checked arena refuses it.
    #[inline]
    pub fn mark(&self) -> Mark {
        // SAFETY: the arena is alive.
        Mark(unsafe { abi::mark(self.head) })
    }

    /// Frees all that was allocated since the mark. [`scope`](Arena::scope) and [`scope_mut`](Arena::scope_mut) do the
    /// same with the borrow checker's help.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// let kept = arena.alloc(1);
    /// let mark = arena.mark();
    /// arena.alloc([0u8; 100_000]);
    /// // SAFETY: what was allocated since the mark is not used.
    /// unsafe { arena.rewind(mark) }?;
    /// assert_eq!((*kept, arena.stats().live), (1, 8));
    /// # Ok::<(), toft::RewindError>(())
    /// ```
    ///
    /// # Errors
    /// The mark is stale, or a scope or cursor is open. Nothing changed.
    ///
    /// # Safety
    /// No allocation made since the mark, or by a cursor that was open at the mark, is used any more, by collections in
    /// this arena neither. If the arena is from another language, no scope of it is open.
    #[inline]
    pub unsafe fn rewind(&self, mark: Mark) -> Result<(), RewindError> {
        // SAFETY: the arena is alive; the rest is the caller's contract.
        let code = self.running_drops(|| unsafe { abi::rewind(self.head, mark.0) });
        match code {
            abi::OK | abi::ECORRUPT => Ok(()),
            abi::EBUSY => Err(RewindError::Busy),
            _ => Err(RewindError::Stale),
        }
    }

    // ---- other languages ----

    /// Returns the head, for code in another language. It is valid as long as this arena, also if the arena is moved.
    #[inline]
    pub fn as_raw(&self) -> NonNull<Head> {
        self.head
    }

    /// Returns the head without releasing the arena. Its receiver releases it: by `ops->release`, or by
    /// [`from_raw`](Arena::from_raw) and drop.
    pub fn into_raw(self) -> NonNull<Head> {
        ManuallyDrop::new(self).head
    }

    /// Takes ownership of an arena of any provider. `None`: the version of its table is unknown; it is not released.
    ///
    /// ```
    /// use toft::Arena;
    /// extern "C" fn takes(head: std::ptr::NonNull<toft::abi::Head>) -> u32 {
    ///     // SAFETY: the caller gives it away.
    ///     let arena = unsafe { Arena::from_raw(head) }.unwrap();
    ///     *arena.alloc(7)
    /// }
    /// assert_eq!(takes(Arena::new().into_raw()), 7);
    /// ```
    ///
    /// # Safety
    /// `head` is the head of a live arena that no other code uses or releases from now on. If it leaves this thread,
    /// its provider and source must allow that.
    pub unsafe fn from_raw(head: NonNull<Head>) -> Option<Arena> {
        // Checked before the `Arena` exists, which would release the head when it is dropped.
        // SAFETY: the caller's contract.
        if unsafe { is_known(head) } {
            Some(Arena { head })
        } else {
            None
        }
    }

    /// Borrows an arena of any provider. `None`: the version of its table is unknown.
    ///
    /// ```
    /// use toft::Arena;
    /// let arena = Arena::new();
    /// // SAFETY: alive, and no other code uses it.
    /// let borrowed = unsafe { Arena::borrow_raw(arena.as_raw()) }.unwrap();
    /// borrowed.alloc(7u64);
    /// drop(borrowed);
    /// assert_eq!(arena.stats().live, 8);
    /// ```
    ///
    /// # Safety
    /// `head` is the head of an arena that lives for `'a`; during `'a` only this thread uses it, and no code rewinds
    /// past these allocations, resets or releases it.
    pub unsafe fn borrow_raw<'a>(head: NonNull<Head>) -> Option<Borrowed<'a>> {
        // SAFETY: the caller's contract.
        let arena = ManuallyDrop::new(unsafe { Arena::from_raw(head) }?);
        Some(Borrowed { arena, lives: PhantomData })
    }

    // ---- internal ----

    #[inline(always)]
    pub(crate) fn head(&self) -> NonNull<Head> {
        self.head
    }

    #[inline(always)]
    pub(crate) fn table(&self) -> &abi::Ops {
        // SAFETY: the head is alive, and its table does not change (M20).
        unsafe { &*(*self.head.as_ptr()).ops.get() }
    }

    /// The state behind the head, if this crate is the provider.
    #[inline]
    pub(crate) fn own(&self) -> Option<provider::RawArena> {
        // SAFETY: the head is alive.
        unsafe { provider::own(self.head) }
    }

    #[inline(always)]
    pub(crate) fn is_instrumented(&self) -> bool {
        // SAFETY: the head is alive.
        unsafe { (*self.head().as_ptr()).epoch.get() & 1 != 0 }
    }

    /// Resets by moving three words if the arena is steady (`provider/reset.rs`); else returns false. The caller has
    /// exclusive access to the arena.
    ///
    /// # Safety
    /// As for [`RawArena::reset_fast`](provider::RawArena::reset_fast).
    #[inline(always)]
    pub(crate) unsafe fn reset_fast(&self) -> bool {
        // SAFETY: the caller's contract.
        self.own().is_some_and(|a| unsafe { a.reset_fast() })
    }

    /// As [`reset_fast`](Arena::reset_fast), for steady arenas whose counts must be updated. Runs no user code.
    ///
    /// # Safety
    /// As for `reset_fast`.
    pub(crate) unsafe fn reset_steady(&self) -> bool {
        // SAFETY: the caller's contract.
        self.own().is_some_and(|a| unsafe { a.reset_steady() })
    }

    /// Ends leaked scopes and cursors. The exclusive borrow shows that they are no longer in use.
    #[inline]
    pub(crate) fn end_leaked(&mut self) {
        if self.is_instrumented() {
            self.end_leaked_slow();
        }
    }

    /// Drops at most `limit` values that a reset would drop, newest first; and all of leaked scopes. Returns how many of
    /// its own it dropped. Nothing is freed. An arena of another provider keeps its values.
    #[cfg(all(feature = "std", feature = "frames"))]
    pub(crate) fn drop_some(&mut self, limit: usize) -> usize {
        if limit == 0 || !self.has_drops() {
            return 0;
        }
        self.end_leaked();
        let Some(a) = self.own() else { return 0 };
        // SAFETY: the arena is borrowed exclusively.
        self.running_drops(|| unsafe { a.run_some_cleanups(limit) })
    }

    /// Whether a reset would drop values; `false` for an arena of another provider.
    #[cfg(all(feature = "std", feature = "frames"))]
    pub(crate) fn has_drops(&self) -> bool {
        self.own().is_some_and(|a| a.has_cleanups())
    }

    #[cold]
    #[inline(never)]
    fn reset_slow(&mut self) {
        // SAFETY: as above.
        if !unsafe { self.reset_steady() } {
            self.reset_with(Keep::Recent);
        }
    }

    #[cold]
    #[inline(never)]
    fn rewind_slow(&mut self, mark: abi::Mark) {
        self.end_leaked();
        // SAFETY: the arena is alive, and borrowed exclusively.
        self.running_drops(|| unsafe { abi::rewind(self.head, mark) });
    }

    #[cold]
    #[inline(never)]
    fn end_leaked_slow(&mut self) {
        if let Some(a) = self.own().filter(|a| a.has_leaked()) {
            // SAFETY: the arena is borrowed exclusively.
            self.running_drops(|| unsafe { a.end_leaked() });
        }
    }

    /// Runs `f`, which may run destructors, and resumes a panic of theirs afterwards.
    #[inline(always)]
    fn running_drops<R>(&self, f: impl FnOnce() -> R) -> R {
        match self.own() {
            Some(a) if !a.has_cleanups() => f(),
            _ => resuming_panics(f),
        }
    }

    /// Whether freeing an allocation can free memory: of those that are not the newest only one that has a dedicated block.
    #[inline(always)]
    fn may_free(&self, p: NonNull<u8>, layout: Layout) -> bool {
        self.is_newest(p, layout) || layout.size() > CAP / 4 - 8
    }

    /// Whether an allocation is the newest one. An allocation without bytes may be taken for it.
    #[inline(always)]
    fn is_newest(&self, p: NonNull<u8>, layout: Layout) -> bool {
        // SAFETY: the arena is alive.
        let cursor = unsafe { (*self.head.as_ptr()).cursor.get() };
        cursor.addr().wrapping_sub(p.addr().get()) == crate::base::policy::round8(layout.size())
    }
}

// SAFETY: allocations live until the arena is reset, rewound or released, which an exclusive borrow excludes here; a
// scope claims its memory, so what is allocated outside it survives the scope. The newest allocation alone is freed.
unsafe impl Memory for Arena {
    memory_by_call_site!(inline(always));

    /// Without the call where it would free nothing, unless a checked arena records it.
    #[inline(always)]
    unsafe fn deallocate(&self, p: NonNull<u8>, layout: Layout) {
        if self.may_free(p, layout) || self.is_instrumented() {
            // SAFETY: the caller's contract.
            unsafe { abi::free(self.head, p.as_ptr(), layout.size()) }
        }
    }

    // A size of 0 is not a special case: the address is the cursor, and must not be read.
    #[inline(always)]
    fn __allocate(&self, layout: Layout, site: CallSite) -> Allocated {
        // SAFETY: the arena is alive and this thread's; a layout meets the requirements of `alloc_aligned`.
        let p =
            unsafe { dispatch::alloc_aligned_by(self.head, layout.size(), layout.align(), site.location, site.drops) };
        p.ok_or(AllocError)
    }

    /// The alignment is a constant here: up to 8 this is one compare and one add.
    #[inline(always)]
    fn __allocate_typed(&self, layout: Layout, site: CallSite) -> Allocated {
        if layout.align() > 8 {
            return self.__allocate(layout, site);
        }
        // SAFETY: the arena is alive and this thread's.
        unsafe { dispatch::alloc_by(self.head, layout.size(), site.location, site.drops) }.ok_or(AllocError)
    }

    #[inline(always)]
    unsafe fn __resize(&self, p: NonNull<u8>, old: Layout, new: Layout, site: CallSite) -> Allocated {
        // SAFETY: the caller's contract.
        let p = unsafe {
            dispatch::resize_by(self.head, p.as_ptr(), old.size(), new.size(), new.align(), site.location, site.drops)
        };
        p.ok_or(AllocError)
    }

    #[inline(always)]
    unsafe fn __grow_inline(&self, p: NonNull<u8>, old: usize, new: Layout) -> Option<NonNull<u8>> {
        // SAFETY: the caller's contract.
        unsafe { dispatch::grow_by(self.head, p.as_ptr(), old, new.size(), new.align()) }
    }

    #[inline(always)]
    unsafe fn __discard(&self, p: NonNull<u8>, layout: Layout) {
        if self.may_free(p, layout) {
            // SAFETY: the caller's contract.
            unsafe { abi::free(self.head, p.as_ptr(), layout.size()) }
        }
    }

    #[inline(always)]
    unsafe fn __truncate(&self, p: NonNull<u8>, old: Layout, new: Layout) {
        if self.is_newest(p, old) {
            // SAFETY: the caller's contract. The newest allocation shrinks in place; if that is refused, nothing
            // changes.
            let _ = unsafe { self.shrink(p, old, new) };
        }
    }
}

unsafe fn is_known(head: NonNull<Head>) -> bool {
    // SAFETY: the caller's contract: a live head.
    unsafe { (*(*head.as_ptr()).ops.get()).version == abi::VERSION }
}

impl Drop for Arena {
    #[inline]
    fn drop(&mut self) {
        self.end_leaked();
        match self.own() {
            // SAFETY: the arena is alive, and not used any more.
            Some(a) if !a.has_cleanups() => unsafe { a.release() },
            // SAFETY: as above.
            _ => resuming_panics(|| unsafe { (self.table().release)(self.head.as_ptr()) }),
        }
    }
}

debug_by_stats!([] Arena, "Arena");
default_by_new!(Arena);

/// An arena that this value does not release: [`Arena::borrow_raw`].
#[derive(Debug)]
pub struct Borrowed<'a> {
    arena: ManuallyDrop<Arena>,
    lives: PhantomData<&'a Arena>,
}

impl Deref for Borrowed<'_> {
    type Target = Arena;
    #[inline(always)]
    fn deref(&self) -> &Arena {
        &self.arena
    }
}
