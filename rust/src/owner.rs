//! An arena and a value that borrows it, in one value that can be moved, stored and sent.
// SPDX-License-Identifier: MIT OR Apache-2.0

use alloc::boxed::Box;
use core::fmt;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::ptr::NonNull;

use crate::arena::Arena;

/// Names a type that borrows an arena, for [`Owner`]. [`root!`](crate::root) implements it.
///
///
/// ```
/// struct Pair;
/// impl toft::Root for Pair {
///     type In<'a> = (&'a u32, &'a str);
/// }
/// let pair = toft::Owner::<Pair>::new(toft::Arena::new(), |a| (a.alloc(1), a.alloc_str("one")));
/// assert_eq!(pair.with(|(number, _)| **number), 1);
/// ```
pub trait Root {
    /// The type, for an arena that is borrowed for `'a`.
    type In<'a>;
}

/// An arena together with a value in it: a parsed document, say, that a function can return, a struct can hold and a
/// thread can be given.
///
/// ```
/// use toft::{Arena, Owner};
///
/// struct Word<'a> {
///     text: &'a str,
///     next: Option<&'a Word<'a>>,
/// }
///
/// toft::root!(struct Words => Option<&'a Word<'a>>);
///
/// fn parse(text: &str) -> Owner<Words> {
///     Owner::new(Arena::new(), |arena| {
///         let mut first = None;
///         for word in text.split(' ').rev() {
///             first = Some(&*arena.alloc(Word { text: arena.alloc_str(word), next: first }));
///         }
///         first
///     })
/// }
///
/// let words = parse("allocate by moving a pointer");
/// let second = std::thread::spawn(move || {
///     words.with(|first| first.and_then(|word| word.next).map(|word| word.text.to_string()))
/// });
/// assert_eq!(second.join().unwrap().as_deref(), Some("by"));
/// ```
pub struct Owner<R: Root> {
    /// Dropped before the arena. As uninitialised memory, of which the compiler assumes nothing while it is moved: the
    /// references in it do not live as long as they say.
    root: MaybeUninit<R::In<'static>>,
    /// In a box, so that references to it stay good; by address, since moving a box would end them.
    arena: NonNull<Arena>,
}

// SAFETY: the arena is `Send`, and the root is for every lifetime if it is for this one: lifetimes do not decide it.
unsafe impl<R: Root> Send for Owner<R> where R::In<'static>: Send {}

impl<R: Root> Owner<R> {
    /// Makes the root in the arena.
    ///
    /// ```compile_fail
    /// # use toft::{Arena, Owner};
    /// toft::root!(struct Number => &'a i32);
    /// let mut out: Option<&i32> = None;
    /// let owner = Owner::<Number>::new(Arena::new(), |arena| { let n = &*arena.alloc(1); out = Some(n); n });
    /// ```
    pub fn new(arena: Arena, make: impl for<'a> FnOnce(&'a Arena) -> R::In<'a>) -> Owner<R> {
        match Owner::try_new(arena, |arena| Ok::<_, core::convert::Infallible>(make(arena))) {
            Ok(owner) => owner,
            Err(never) => match never {},
        }
    }

    /// Makes the root in the arena, or not.
    ///
    /// ```
    /// toft::root!(struct Number => &'a u32);
    /// let parse = |text: &str| {
    ///     toft::Owner::<Number>::try_new(toft::Arena::new(), |arena| arena.alloc_try_with(|| text.parse()).map(|n| &*n))
    /// };
    /// assert_eq!(parse("7").unwrap().with(|n| **n), 7);
    /// assert!(parse("x").is_err());
    /// ```
    ///
    /// # Errors
    /// Those of `make`. The arena is gone then.
    pub fn try_new<E>(
        arena: Arena,
        make: impl for<'a> FnOnce(&'a Arena) -> Result<R::In<'a>, E>,
    ) -> Result<Owner<R>, E> {
        let last = Last(NonNull::from(Box::leak(Box::new(arena)))); // also when `make` panics
                                                                    // SAFETY: the arena stays where it is until the root is dropped. Nobody can keep a reference for longer than `make`
                                                                    // runs but the root, since 'a is any lifetime.
        let root = make(unsafe { last.0.as_ref() })?;
        Ok(Owner { root: MaybeUninit::new(root), arena: ManuallyDrop::new(last).0 })
    }

    /// Looks at the root.
    ///
    /// ```
    /// toft::root!(struct Text => &'a str);
    /// let text = toft::Owner::<Text>::new(toft::Arena::new(), |arena| arena.alloc_str("text"));
    /// assert_eq!(text.with(|text| text.len()), 4);
    /// ```
    pub fn with<T>(&self, look: impl for<'a, 'b> FnOnce(&'b R::In<'a>) -> T) -> T {
        // SAFETY: initialised. 'a is any lifetime to `look`, and another than the borrow's, so nothing that does not live as
        // long as the arena can be stored in the root.
        look(unsafe { self.root.assume_init_ref() })
    }

    /// Changes the root, and allocates more for it.
    ///
    /// ```
    /// # use toft::{Arena, Owner};
    /// toft::root!(struct Names => std::vec::Vec<&'a str>);
    /// let mut names = Owner::<Names>::new(Arena::new(), |_| vec![]);
    /// names.with_mut(|names, arena| names.push(arena.alloc_str("Tofte")));
    /// assert_eq!(names.with(|names| names.len()), 1);
    /// ```
    /// ```compile_fail
    /// # use toft::{Arena, Owner};
    /// toft::root!(struct Names => std::vec::Vec<&'a str>);
    /// let mut names = Owner::<Names>::new(Arena::new(), |_| vec![]);
    /// let escaped: &mut i32 = names.with_mut(|_, arena| arena.alloc(1));
    /// ```
    pub fn with_mut<T>(&mut self, change: impl for<'a, 'b> FnOnce(&'b mut R::In<'a>, &'a Arena) -> T) -> T {
        // SAFETY: as in `with`; the arena stays where it is.
        unsafe { change(self.root.assume_init_mut(), self.arena.as_ref()) }
    }

    /// Ends the root, and returns the arena, emptied.
    ///
    /// ```
    /// toft::root!(struct Text => &'a str);
    /// let text = toft::Owner::<Text>::new(toft::Arena::new(), |arena| arena.alloc_str("text"));
    /// assert_eq!(text.into_arena().stats().live, 0);
    /// ```
    pub fn into_arena(self) -> Arena {
        let mut this = ManuallyDrop::new(self);
        let last = Last(this.arena); // also when dropping the root panics
                                     // SAFETY: initialised, and not used again; then nobody refers to the arena.
        let mut arena = unsafe {
            this.root.assume_init_drop();
            *Box::from_raw(ManuallyDrop::new(last).0.as_ptr())
        };
        arena.reset();
        arena
    }
}

/// Ends the arena.
struct Last(NonNull<Arena>);

impl Drop for Last {
    fn drop(&mut self) {
        // SAFETY: it came from a box, and nobody uses it again.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

impl<R: Root> Drop for Owner<R> {
    fn drop(&mut self) {
        let _last = Last(self.arena); // also when dropping the root panics
                                      // SAFETY: initialised, and dropped once.
        unsafe { self.root.assume_init_drop() }
    }
}

impl<R: Root> fmt::Debug for Owner<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: the arena lives as long as its owner.
        f.debug_struct("Owner").field("arena", unsafe { self.arena.as_ref() }).finish_non_exhaustive()
    }
}

/// Declares a name for a type that borrows an arena for `'a`: what [`Owner`] is told.
///
/// ```
/// toft::root!(
///     /// Some text.
///     pub struct Text => &'a str
/// );
/// let text = toft::Owner::<Text>::new(toft::Arena::new(), |arena| arena.alloc_str("moved"));
/// assert_eq!(text.with(|text| text.len()), 5);
/// ```
#[macro_export]
macro_rules! root {
    ($(#[$meta:meta])* $vis:vis struct $name:ident => $to:ty) => {
        $(#[$meta])*
        #[derive(Debug)]
        $vis struct $name;
        impl $crate::Root for $name {
            type In<'a> = $to;
        }
    };
}
