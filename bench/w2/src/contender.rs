//! What the loops ask of everyone. An arena, and the hand that takes from it.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use std::alloc::Layout;

/// What a case needs of a contender; who has not got it says why.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Many values of one type, known to the compiler.
    Typed,
    /// Values of several types.
    Mixed,
    /// A new arena, values of one type, its end.
    Life,
    /// Slices.
    Slice,
    /// Copies of strings.
    Str,
    /// Layouts that the compiler does not know.
    Layout,
    /// The same by the trait `Allocator` (of allocator-api2: the language's own is not stable).
    Allocator,
    /// A vector that grows.
    Vec,
}

/// How much a batch takes, so that an arena can be made which holds it without growing.
#[derive(Clone, Copy)]
pub struct Room {
    /// Of all allocations, with their alignment and something to spare.
    pub bytes: usize,
    /// How many allocations.
    pub count: usize,
    /// The size of each, if it is the same.
    pub size: usize,
}

/// A vector as `push_all` left it.
pub struct Pushed {
    pub data: *mut u64,
    pub len: usize,
    pub capacity: usize,
}

/// An arena, or a heap that is used as one.
pub trait Contender: Sized + 'static {
    const NAME: &'static str;
    /// Its addresses fall: the line to prefetch is below.
    const DOWN: bool = false;
    /// With room it is one block, so that addresses tell what was consumed.
    const ONE_BLOCK: bool = true;

    /// Why it has no row of an empty frame.
    const LACKS_EMPTY: Option<&'static str> = None;
    /// Why `nested` is not called.
    const LACKS_NESTED: Option<&'static str> = Some("has no scopes");
    /// Why `here` is not called.
    const LACKS_HERE: Option<&'static str> = Some("is passed on, or held in a variable");

    /// What is kept in a local variable while a batch is taken.
    type Hand<'a>: Hand
    where
        Self: 'a;

    /// Why it cannot do that.
    fn lacks(_need: Need) -> Option<&'static str> {
        None
    }

    /// As its users make it, who do not know what is to come; `room` is for the floor.
    fn new(room: Room) -> Self;
    /// One that holds so much without growing, whatever it calls that.
    fn with_room(room: Room) -> Self;
    fn hand(&mut self) -> Self::Hand<'_>;

    /// Gives back all that was taken. Heaps free each, arenas do what their documentation says.
    ///
    /// # Safety
    /// `taken` is what hands gave since the last reset, each once, and is not used again.
    unsafe fn reset(&mut self, taken: impl Iterator<Item = (*mut u8, Layout)>);

    /// The same after `Hand::allocate`.
    ///
    /// # Safety
    /// As `reset`.
    unsafe fn reset_allocated(&mut self, taken: impl Iterator<Item = (*mut u8, Layout)>) {
        // SAFETY: the same contract.
        unsafe { self.reset(taken) }
    }

    /// The end of a life: arenas are dropped, heaps free each.
    ///
    /// # Safety
    /// As `reset`.
    unsafe fn end(self, _taken: impl Iterator<Item = (*mut u8, Layout)>) {}

    /// A frame in the frame: a scope in which `ten` values are taken, and given back at its end.
    fn nested<const CHECK: bool>(&mut self, _slots: &mut [*mut u8; 10], _tag: u8) -> bool {
        unreachable!()
    }

    /// Takes one value, and asks for this thread's arena to do so.
    fn here<T: 'static>(&mut self) -> *mut T {
        unreachable!()
    }

    /// How many bytes an allocation occupies, where a heap says so.
    ///
    /// # Safety
    /// `data` is live.
    unsafe fn occupied(_data: *mut u8) -> Option<usize> {
        None
    }
}

/// Takes memory, which nobody has written yet. Null: there was none, and the loop ends. What `lacks` names is not
/// called.
pub trait Hand {
    fn take<T: 'static>(&mut self) -> *mut T;
    fn take_slice<T: 'static>(&mut self, len: usize) -> *mut T;
    fn take_str(&mut self, text: &str) -> *mut u8;
    fn take_layout(&mut self, layout: Layout) -> *mut u8;
    /// By the trait `Allocator`.
    fn allocate(&mut self, layout: Layout) -> *mut u8;
    /// Pushes 0, 1, 2 ... onto a vector that begins empty, and leaves it where it is.
    fn push_all(&mut self, count: u64) -> Pushed;
}

/// The body of `push_all`: vectors share their methods, but no trait.
#[macro_export]
macro_rules! push_all {
    ($vec:expr, $count:expr) => {{
        let mut vec = $vec;
        for i in 0..$count {
            vec.push(i);
        }
        vec
    }};
}

/// The rest of a hand that takes single values only.
#[macro_export]
macro_rules! values_only {
    () => {
        fn take_slice<T: 'static>(&mut self, _len: usize) -> *mut T {
            unreachable!()
        }
        fn take_str(&mut self, _text: &str) -> *mut u8 {
            unreachable!()
        }
        fn take_layout(&mut self, _layout: ::std::alloc::Layout) -> *mut u8 {
            unreachable!()
        }
        fn allocate(&mut self, _layout: ::std::alloc::Layout) -> *mut u8 {
            unreachable!()
        }
        fn push_all(&mut self, _count: u64) -> $crate::contender::Pushed {
            unreachable!()
        }
    };
}
