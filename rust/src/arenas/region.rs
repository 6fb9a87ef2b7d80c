//! Regions: values in one range of memory, saved by checkpoints and brought back by a restore.
// SPDX-License-Identifier: MIT OR Apache-2.0

mod checkpoints;
mod digest;
mod pages;

use alloc::boxed::Box;
use alloc::vec::Vec as HeapVec;
use core::alloc::Layout;
use core::cell::{Cell, RefCell};
use core::fmt;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::num::{NonZero, Wrapping};
use core::ptr::NonNull;
use core::time::Duration;

use crate::arenas::owner::Root;
use crate::arenas::sources::Reserve;
use crate::base::error::AllocError;
use crate::base::source::Source;
use crate::collections::{String, Vec};
use crate::memory::by_layout::{move_to_new, CallSite, Memory};
use checkpoints::Node;
pub use checkpoints::{Checkpoint, CheckpointInfo, StaleCheckpoint};

// ---- what a region may hold ----

/// Types whose values a [`Region`] for `'r` may replace by earlier ones: numbers, `Cell`, arrays, tuples, `Option`,
/// references to static values, and the collections of this crate in the region's own [memory](RegionMemory).
/// [`restorable!`](crate::restorable) declares structs of such fields.
///
/// No other reference and no other box or collection implements it. One into the region would be alive while a restore
/// writes what it refers to. What owns memory, a file or a count elsewhere would own it twice after a restore, or own
/// what has been freed: only the bytes in the region are brought back.
///
/// ```
/// #[derive(Clone, Copy)]
/// enum Piece {
///     King,
///     Pawn { has_moved: bool },
/// }
/// // SAFETY: a copy may take the place of any other.
/// unsafe impl toft::Restorable<'_> for Piece {}
/// # let _ = (Piece::King, Piece::Pawn { has_moved: true });
/// ```
///
/// # Safety
/// An earlier bitwise copy of a value may be used in the place of the present value, which is forgotten, if all memory
/// of the region is as it was when the copy was made.
pub unsafe trait Restorable<'r> {}

macro_rules! restorable_values {
    ($($ty:ty),*) => {
        // SAFETY: each value can be copied, or consists of bytes only; none owns anything.
        $(unsafe impl<'r> Restorable<'r> for $ty {})*
    };
}

restorable_values!(u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize, f32, f64, bool, char, (), Duration);
restorable_values!(NonZero<u8>, NonZero<u16>, NonZero<u32>, NonZero<u64>, NonZero<usize>);

macro_rules! restorable_parts {
    ($([$($parameter:ident),*] $ty:ty;)*) => {
        // SAFETY: the value consists of such values.
        $(unsafe impl<'r, $($parameter: Restorable<'r>),*> Restorable<'r> for $ty {})*
    };
}

restorable_parts! {
    [A] (A,);
    [A, B] (A, B);
    [A, B, C] (A, B, C);
    [A, B, C, D] (A, B, C, D);
    [T] Option<T>;
    [T, E] Result<T, E>;
    [T] Cell<T>;
    [T] RefCell<T>;
    [T] Wrapping<T>;
}
// SAFETY: as above.
unsafe impl<'r, T: Restorable<'r>, const N: usize> Restorable<'r> for [T; N] {}
// SAFETY: no value.
unsafe impl<T: ?Sized> Restorable<'_> for PhantomData<T> {}
// SAFETY: it can be copied, and what it refers to is not in a region.
unsafe impl<T: ?Sized> Restorable<'_> for &'static T {}
// SAFETY: its elements lie in the region, whose lifetime is no other's, and are as they were when a copy was made.
unsafe impl<'r, T: Restorable<'r>> Restorable<'r> for Vec<'r, T, RegionMemory<'r>> {}
// SAFETY: as above.
unsafe impl<'r> Restorable<'r> for String<'r, RegionMemory<'r>> {}

/// Declares a struct for [`Region`]s, and requires that each field is [`Restorable`]. It may have one lifetime, that of
/// the region. An attribute macro on it must not change its fields, and a field must not have `#[cfg]`.
///
/// ```
/// toft::restorable! {
///     /// A player.
///     #[derive(Debug)]
///     pub struct Player<'r> {
///         pub name: toft::collections::String<'r, toft::RegionMemory<'r>>,
///         pub score: u32,
///     }
/// }
/// ```
#[macro_export]
macro_rules! restorable {
    ($(#[$meta:meta])* $vis:vis struct $name:ident $(<$r:lifetime>)? {
        $($(#[$field_meta:meta])* $field_vis:vis $field:ident: $ty:ty),* $(,)?
    }) => {
        $(#[$meta])*
        $vis struct $name $(<$r>)? {
            $($(#[$field_meta])* $field_vis $field: $ty),*
        }
        // SAFETY: each field is, as the function requires. The region's lifetime is that of the struct.
        unsafe impl<$($r,)? 'toft_r> $crate::Restorable<'toft_r> for $name $(<$r>)? where $($r: 'toft_r, 'toft_r: $r)? {}
        const _: () = {
            fn is_restorable<'toft_s, T: $crate::Restorable<'toft_s>>(_: *mut T) {}
            // Not of the macro's tokens alone: an attribute macro may have changed the struct since.
            #[allow(dead_code, deprecated, clippy::extra_unused_lifetimes)]
            fn fields_are<$($r,)? 'toft_r>(value: &mut $name $(<$r>)?) where $($r: 'toft_r, 'toft_r: $r)? {
                let $name { $($field: _),* } = value;
                $(is_restorable::<'toft_r, $ty>(&raw mut value.$field);)*
            }
        };
    };
}

// ---- its memory ----

/// The memory of a [`Region`], for the collections of its content. It allocates by moving a cursor, and frees the newest
/// allocation only; a restore frees all since the checkpoint.
///
/// The lifetime is that of one region: content of another region, or of an arena, does not have it.
///
/// ```
/// toft::root!(struct Bytes => toft::collections::Vec<'a, u8, toft::RegionMemory<'a>>);
/// let region = toft::Region::<Bytes>::new(1 << 20, |memory| {
///     assert_eq!(memory.used(), 0);
///     toft::collections::Vec::from_iter_in(*b"bytes", memory)
/// })?;
/// assert_eq!(region.with(|bytes| bytes.len()), 5);
/// # Ok::<(), toft::AllocError>(())
/// ```
pub struct RegionMemory<'r> {
    reserve: Reserve,
    base: NonNull<u8>,
    /// Bytes in use, and committed ones.
    used: Cell<usize>,
    end: Cell<usize>,
    /// Invariant.
    region: PhantomData<Cell<&'r ()>>,
}

/// Committed at a time.
const STEP: usize = 64 << 10;

impl RegionMemory<'_> {
    fn new(max: usize) -> Result<RegionMemory<'static>, AllocError> {
        let reserve = Reserve::new(max)?;
        let base = reserve.take(0).ok_or(AllocError)?;
        Ok(RegionMemory { reserve, base, used: Cell::new(0), end: Cell::new(0), region: PhantomData })
    }

    /// The bytes that are not free.
    ///
    /// ```
    /// toft::root!(struct Bytes => toft::collections::Vec<'a, u8, toft::RegionMemory<'a>>);
    /// let mut region = toft::Region::<Bytes>::new(1 << 20, |memory| toft::collections::Vec::new_in(memory))?;
    /// region.with_mut(|bytes, memory| {
    ///     bytes.extend([0; 100]);
    ///     assert!(memory.used() >= 100);
    /// });
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    pub fn used(&self) -> usize {
        self.used.get()
    }

    /// Moves the cursor; memory below it is committed.
    fn set_used(&self, to: usize) -> Result<(), AllocError> {
        if to > self.end.get() {
            let extends = |want| {
                // SAFETY: the source's block, with that size.
                let done = unsafe { self.reserve.extend(self.base, self.end.get(), want) };
                done.then(|| self.end.set(want)).is_some()
            };
            if !to.checked_next_multiple_of(STEP).is_some_and(extends) && !extends(to) {
                return Err(AllocError);
            }
        }
        debug_assert!(to <= self.end.get());
        self.used.set(to);
        Ok(())
    }

    /// The offset of an allocation, if it is the newest one.
    fn newest(&self, p: NonNull<u8>, size: usize) -> Option<usize> {
        let from = p.addr().get().wrapping_sub(self.base.addr().get());
        (from.wrapping_add(size) == self.used.get()).then_some(from)
    }

    unsafe fn resize(
        &self,
        p: NonNull<u8>,
        old: Layout,
        new: Layout,
        site: CallSite,
    ) -> Result<NonNull<u8>, AllocError> {
        let is_aligned = p.addr().get() % new.align() == 0;
        match self.newest(p, old.size()) {
            Some(from) if is_aligned => self.set_used(from.checked_add(new.size()).ok_or(AllocError)?)?,
            _ if is_aligned && new.size() <= old.size() => {}
            // SAFETY: the caller's contract.
            _ => return unsafe { move_to_new(self, p, old, new, site) },
        }
        Ok(p)
    }
}

// SAFETY: an allocation is used by no other code, since the cursor is behind it, until it is freed. A restore, which needs
// the region exclusively, brings the cursor back together with the content, which refers to memory below it only.
unsafe impl Memory for RegionMemory<'_> {
    #[inline]
    fn allocate(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        let used = self.used.get();
        let from = used + (self.base.addr().get() + used).wrapping_neg() % layout.align();
        self.set_used(from.checked_add(layout.size()).ok_or(AllocError)?)?;
        // SAFETY: within the block: the cursor has reached it.
        Ok(unsafe { self.base.add(from) })
    }

    #[inline]
    unsafe fn deallocate(&self, p: NonNull<u8>, layout: Layout) {
        if let Some(from) = self.newest(p, layout.size()) {
            self.used.set(from);
        }
    }

    #[inline]
    unsafe fn grow(&self, p: NonNull<u8>, old: Layout, new: Layout) -> Result<NonNull<u8>, AllocError> {
        // SAFETY: the caller's contract.
        unsafe { self.resize(p, old, new, CallSite::caller(false)) }
    }

    #[inline]
    unsafe fn shrink(&self, p: NonNull<u8>, old: Layout, new: Layout) -> Result<NonNull<u8>, AllocError> {
        // SAFETY: the caller's contract.
        unsafe { self.resize(p, old, new, CallSite::caller(false)) }
    }
}

impl fmt::Debug for RegionMemory<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegionMemory").field("used", &self.used()).finish_non_exhaustive()
    }
}

// ---- the region ----

/// A value in one range of memory, with all its collections, that can be saved and brought back: the state of an
/// interpreter between requests, a world that an agent tries moves in, a test's fixture.
///
/// ```
/// use toft::collections::{String, Vec};
/// use toft::{Region, RegionMemory};
///
/// toft::restorable! {
///     struct World<'r> {
///         names: Vec<'r, String<'r, RegionMemory<'r>>, RegionMemory<'r>>,
///         step: u32,
///     }
/// }
/// toft::root!(struct Worlds => World<'a>);
///
/// let mut region = Region::<Worlds>::new(1 << 20, |memory| World { names: Vec::new_in(memory), step: 0 })?;
/// region.with_mut(|world, memory| world.names.push(String::from_str_in("first", memory)));
/// let start = region.checkpoint()?;
/// let moves = ["left", "right"].map(|name| {
///     region.restore(start).unwrap();
///     region.with(|world| assert_eq!((&*world.names[0], world.names.len(), world.step), ("first", 1, 0)));
///     region.with_mut(|world, memory| {
///         world.names[0].push_str(", changed");
///         world.names.push(String::from_str_in(name, memory));
///         world.step += 1;
///     });
///     region.checkpoint_named(name) // a child of `start`
/// });
/// region.restore(moves[0]?).unwrap();
/// region.with(|world| assert_eq!((&*world.names[1], world.step), ("left", 1)));
/// # Ok::<(), toft::AllocError>(())
/// ```
///
/// Checkpoints form a tree: a new one is a child of the [current](Region::current) one. It shares with it the pages of
/// 4 KiB that are equal, has copies of the others, but for zeros, and takes 8 bytes for each 256 KiB in use. A checkpoint
/// and a restore compare all pages in use with saved ones; a drop takes a step for each page that it frees.
///
/// A restore drops nothing: the content owns memory of the region only, as [`Restorable`] requires. No reference into the
/// content is alive, since `with` and `with_mut` give references for the call alone.
pub struct Region<R: Root> {
    /// Initialised. With a lifetime that is erased: see [`Owner`](crate::Owner).
    root: MaybeUninit<R::In<'static>>,
    /// The checkpoints, in the order of creation.
    nodes: HeapVec<Node<R>>,
    current: Option<Checkpoint>,
    saved_bytes: usize,
    memory: Boxed,
}

/// As a raw pointer, since moving a box invalidates references to its content.
struct Boxed(NonNull<RegionMemory<'static>>);

impl Drop for Boxed {
    fn drop(&mut self) {
        // SAFETY: it came from a box, and the content has been dropped.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

impl<R: Root> Region<R>
where
    for<'a> R::In<'a>: Restorable<'a>,
{
    /// Reserves `max` bytes of addresses, and constructs the root.
    ///
    /// # Errors
    /// If the addresses are not available, or `max` is 0 or above a quarter of all addresses.
    pub fn new(
        max: usize,
        make: impl for<'a> FnOnce(&'a RegionMemory<'a>) -> R::In<'a>,
    ) -> Result<Region<R>, AllocError> {
        let memory = Boxed(NonNull::from(Box::leak(Box::new(RegionMemory::new(max)?))));
        // SAFETY: the memory stays at its address until the root is dropped. No reference outlives `make`, which is generic
        // over 'a.
        let root = MaybeUninit::new(make(unsafe { memory.0.as_ref() }));
        Ok(Region { root, nodes: HeapVec::new(), current: None, saved_bytes: 0, memory })
    }

    /// Calls `look` with the root.
    pub fn with<T>(&self, look: impl for<'a, 'b> FnOnce(&'b R::In<'a>) -> T) -> T {
        // SAFETY: initialised. `look` is generic over 'a, so it keeps no reference.
        look(unsafe { self.root.assume_init_ref() })
    }

    /// Calls `change` with the root and the memory of its collections.
    pub fn with_mut<T>(&mut self, change: impl for<'a, 'b> FnOnce(&'b mut R::In<'a>, &'a RegionMemory<'a>) -> T) -> T {
        // SAFETY: as above; `change` can store in the root only what lives as long as the region.
        unsafe { change(self.root.assume_init_mut(), self.memory.0.as_ref()) }
    }
}

impl<R: Root> Drop for Region<R> {
    fn drop(&mut self) {
        // SAFETY: initialised, and dropped once: copies in `nodes` are not. The memory is freed after it, also if this
        // panics.
        unsafe { self.root.assume_init_drop() }
    }
}

impl<R: Root> fmt::Debug for Region<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Region").field("checkpoints", &self.nodes.len()).finish_non_exhaustive()
    }
}
