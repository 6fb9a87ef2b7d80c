//! The interface of the contenders: an allocator, and the handle through which a batch allocates.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use std::alloc::Layout;

/// Capabilities of a contender; `lacks` gives the reason for a missing one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Many values of one type, known to the compiler.
    Typed,
    /// Values of several types.
    Mixed,
    /// A new arena, values of one type, and its drop.
    Lifetime,
    /// Slices.
    Slice,
    /// Copies of strings.
    Str,
    /// Layouts that are unknown at compile time.
    Layout,
    /// The same through the trait `Allocator` (of allocator-api2: the standard library's is unstable).
    Allocator,
    /// A vector that grows.
    Vec,
}

/// The size of a batch, for which an arena can be made that does not grow.
#[derive(Clone, Copy)]
pub struct Batch {
    /// All allocations, with their alignment and a margin.
    pub bytes: usize,
    /// The number of allocations.
    pub count: usize,
    /// The size of each, if they are equal.
    pub size: usize,
}

/// The vector that `push_all` filled, or the string of `push_text`.
pub struct Pushed<T = u64> {
    pub data: *mut T,
    pub len: usize,
    pub capacity: usize,
}

/// An arena, or a heap that is used as one.
pub trait Contender: Sized + 'static {
    const NAME: &'static str;
    /// Allocates downwards: the line to prefetch is below.
    const DOWN: bool = false;
    /// `with_batch` makes one block, so that addresses show the memory consumed.
    const ONE_BLOCK: bool = true;

    /// The reason for having no row of an empty frame.
    const LACKS_EMPTY: Option<&'static str> = None;
    /// The reason why `nested` is not called.
    const LACKS_NESTED: Option<&'static str> = Some("has no scopes");
    /// The reason why `here` is not called.
    const LACKS_HERE: Option<&'static str> = Some("is passed on, or held in a variable");
    /// The reason why `push_text` is not called.
    const LACKS_TEXT: Option<&'static str> = Some("has no string that grows");

    /// The local variable through which a batch allocates.
    type Handle<'a>: Handle
    where
        Self: 'a;

    /// The reason why it lacks a capability.
    fn lacks(_need: Need) -> Option<&'static str> {
        None
    }

    /// Made like its users make it, without a known size; `batch` is for the floor.
    fn new(batch: Batch) -> Self;
    /// Made with capacity for the batch.
    fn with_batch(batch: Batch) -> Self;
    fn handle(&mut self) -> Self::Handle<'_>;

    /// Returns all memory of the batch. Heaps free each allocation, arenas use their documented call.
    ///
    /// # Safety
    /// `taken` contains the allocations since the last reset, each once, which are not used again.
    unsafe fn reset(&mut self, taken: impl Iterator<Item = (*mut u8, Layout)>);

    /// The same after `Handle::allocate`.
    ///
    /// # Safety
    /// As `reset`.
    unsafe fn reset_allocated(&mut self, taken: impl Iterator<Item = (*mut u8, Layout)>) {
        // SAFETY: the same contract.
        unsafe { self.reset(taken) }
    }

    /// The end of a lifetime: arenas are dropped, heaps free each allocation.
    ///
    /// # Safety
    /// As `reset`.
    unsafe fn end(self, _taken: impl Iterator<Item = (*mut u8, Layout)>) {}

    /// A nested frame: a scope in which `ten` values are allocated, and freed at its end.
    fn nested<const CHECK: bool>(&mut self, _slots: &mut [*mut u8; 10], _tag: u8) -> bool {
        unreachable!()
    }

    /// Allocates one value in the arena of this thread.
    fn here<T: 'static>(&mut self) -> *mut T {
        unreachable!()
    }

    /// The bytes that an allocation occupies, if the heap reports them.
    ///
    /// # Safety
    /// `data` is live.
    unsafe fn occupied(_data: *mut u8) -> Option<usize> {
        None
    }
}

/// Allocates uninitialized memory. Null: out of memory, which ends the loop. Calls that `lacks` names are not made.
pub trait Handle {
    fn take<T: 'static>(&mut self) -> *mut T;
    #[inline(always)]
    fn take_slice<T: 'static>(&mut self, len: usize) -> *mut T {
        let Ok(layout) = Layout::array::<T>(len) else { return std::ptr::null_mut() };
        self.take_layout(layout).cast()
    }
    fn take_str(&mut self, _text: &str) -> *mut u8 {
        unreachable!()
    }
    fn take_layout(&mut self, _layout: Layout) -> *mut u8 {
        unreachable!()
    }
    /// Through the trait `Allocator`.
    fn allocate(&mut self, _layout: Layout) -> *mut u8 {
        unreachable!()
    }
    /// Pushes 0, 1, 2 ... onto an empty vector, and leaks it.
    fn push_all(&mut self, _count: u64) -> Pushed {
        unreachable!()
    }
    /// Pushes letters onto an empty string, and leaks it.
    fn push_text(&mut self, _count: u64) -> Pushed<u8> {
        unreachable!()
    }
}

/// The letter that `push_text` pushes at a position.
#[inline(always)]
pub fn letter(i: u64) -> u8 {
    b'a' + (i % 16) as u8
}

/// Functions of a `Handle` by methods that several arenas have under one name, but in no trait.
#[macro_export]
macro_rules! take_by_name {
    ($($layout:ident)?) => {
        #[inline(always)]
        fn take_str(&mut self, text: &str) -> *mut u8 {
            self.alloc_str(text).as_mut_ptr()
        }
        $(#[inline(always)]
        fn $layout(&mut self, layout: Layout) -> *mut u8 {
            self.alloc_layout(layout).as_ptr()
        })?
        #[inline(always)]
        fn allocate(&mut self, layout: Layout) -> *mut u8 {
            Allocator::allocate(self, layout).map_or(ptr::null_mut(), |block| block.as_ptr().cast())
        }
    };
}

/// The body of `push_all`: vectors share their methods, but no trait. `leak`: the one that ends a vector.
#[macro_export]
macro_rules! push_all {
    ($vec:expr, $count:expr, $leak:ident) => {{
        let mut vec = $vec;
        for i in 0..$count {
            vec.push(i);
        }
        let capacity = vec.capacity();
        let slice = vec.$leak();
        $crate::contender::Pushed { data: slice.as_mut_ptr(), len: slice.len(), capacity }
    }};
}

/// The body of `push_text`.
#[macro_export]
macro_rules! push_text {
    ($string:expr, $count:expr, $leak:ident) => {{
        let mut string = $string;
        for i in 0..$count {
            string.push(char::from($crate::contender::letter(i)));
        }
        let capacity = string.capacity();
        let text = string.$leak();
        $crate::contender::Pushed { data: text.as_ptr().cast_mut(), len: text.len(), capacity }
    }};
}
