//! Self-referential values: an arena and a value that borrows it, as one value that can be moved, stored and sent.
// SPDX-License-Identifier: MIT OR Apache-2.0

use alloc::boxed::Box;
use core::fmt;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::ptr::NonNull;

use crate::memory::arena::Arena;

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

/// An arena together with a value in it (self-referential): for example a parsed document that a function returns, a
/// struct holds or a thread gets.
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
///
/// `Send` if the root is, and `Sync` if the root is: many threads may read one document.
pub struct Owner<R: Root>(Rooted<R, Boxed>);

impl<R: Root> Owner<R> {
    /// Constructs the root in the arena.
    pub fn new(arena: Arena, make: impl for<'a> FnOnce(&'a Arena) -> R::In<'a>) -> Owner<R> {
        match Owner::try_new(arena, |arena| Ok::<_, core::convert::Infallible>(make(arena))) {
            Ok(owner) => owner,
            Err(never) => match never {},
        }
    }

    /// Constructs the root in the arena; `make` may fail.
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
    /// Those of `make`. The arena is released then.
    pub fn try_new<E>(
        arena: Arena,
        make: impl for<'a> FnOnce(&'a Arena) -> Result<R::In<'a>, E>,
    ) -> Result<Owner<R>, E> {
        Rooted::try_new(Boxed(NonNull::from(Box::leak(Box::new(arena)))), make).map(Owner)
    }

    /// Calls `look` with the root.
    pub fn with<T>(&self, look: impl for<'a, 'b> FnOnce(&'b R::In<'a>) -> T) -> T {
        self.0.with(look)
    }

    /// Calls `change` with the root and the arena.
    ///
    /// ```
    /// # use toft::{Arena, Owner};
    /// toft::root!(struct Names => std::vec::Vec<&'a str>);
    /// let mut names = Owner::<Names>::new(Arena::new(), |_| vec![]);
    /// names.with_mut(|names, arena| names.push(arena.alloc_str("Tofte")));
    /// assert_eq!(names.with(|names| names.len()), 1);
    /// ```
    pub fn with_mut<T>(&mut self, change: impl for<'a, 'b> FnOnce(&'b mut R::In<'a>, &'a Arena) -> T) -> T {
        self.0.with_mut(change)
    }

    /// Drops the root, and returns the arena after a reset.
    ///
    /// ```
    /// toft::root!(struct Text => &'a str);
    /// let text = toft::Owner::<Text>::new(toft::Arena::new(), |arena| arena.alloc_str("text"));
    /// assert_eq!(text.into_arena().stats().live, 0);
    /// ```
    pub fn into_arena(self) -> Arena {
        let boxed = ManuallyDrop::new(self.0.into_keeper());
        // SAFETY: it came from a box, and no references to it exist.
        let mut arena = unsafe { *Box::from_raw(boxed.0.as_ptr()) };
        arena.reset();
        arena
    }
}

// SAFETY: a shared reference only gives `&R::In`, and no access to the arena.
unsafe impl<R: Root> Sync for Owner<R> where for<'a> R::In<'a>: Sync {}

impl<R: Root> fmt::Debug for Owner<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Owner").finish_non_exhaustive() // reading the arena's statistics would be an unsynchronized use
    }
}

/// An arena in a box, so that references to it stay valid; as a raw pointer, since moving a box invalidates references.
struct Boxed(NonNull<Arena>);

// SAFETY: an arena is `Send`, and so is a box of it.
unsafe impl Send for Boxed {}

// SAFETY: moving the value moves the pointer, not the box.
unsafe impl Keeper for Boxed {
    fn arena(&self) -> &Arena {
        // SAFETY: it lives as long as this.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Boxed {
    fn drop(&mut self) {
        // SAFETY: it came from a box, and is not used again.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// Owns an arena at a stable address, and releases it when dropped.
///
/// # Safety
/// The arena stays at one address until the keeper is dropped, also if the keeper is moved.
pub(crate) unsafe trait Keeper {
    fn arena(&self) -> &Arena;
}

/// A root whose lifetime is erased. As uninitialised memory, of which the compiler assumes nothing when it is moved: the
/// true lifetime of its references is not 'static. The owner drops what it borrows after it.
struct Erased<R: Root>(MaybeUninit<R::In<'static>>);

// SAFETY: the root is `Send` for any lifetime.
unsafe impl<R: Root> Send for Erased<R> where for<'a> R::In<'a>: Send {}
// SAFETY: it only gives `&R::In`, which may be shared for any lifetime.
unsafe impl<R: Root> Sync for Erased<R> where for<'a> R::In<'a>: Sync {}

impl<R: Root> Erased<R> {
    fn new(root: R::In<'static>) -> Erased<R> {
        Erased(MaybeUninit::new(root))
    }

    fn with<T>(&self, look: impl for<'a, 'b> FnOnce(&'b R::In<'a>) -> T) -> T {
        // SAFETY: initialised. `look` is generic over 'a, so it can store nothing in the root that does not live as
        // long as the arena, and keep no reference.
        look(unsafe { self.0.assume_init_ref() })
    }
}

impl<R: Root> Drop for Erased<R> {
    fn drop(&mut self) {
        // SAFETY: initialised, and dropped once.
        unsafe { self.0.assume_init_drop() }
    }
}

/// A root and the keeper of its arena: the contents of an [`Owner`] and of a parcel.
pub(crate) struct Rooted<R: Root, K: Keeper> {
    /// Dropped first, and before the arena is released, which the keeper's drop does also if this panics.
    root: Erased<R>,
    keeper: K,
}

impl<R: Root, K: Keeper> Rooted<R, K> {
    /// If `make` fails or panics, the keeper is dropped.
    pub(crate) fn try_new<E>(
        keeper: K,
        make: impl for<'a> FnOnce(&'a Arena) -> Result<R::In<'a>, E>,
    ) -> Result<Rooted<R, K>, E> {
        // SAFETY: the arena stays at its address until the root is dropped. No other reference can outlive `make`,
        // which is generic over 'a.
        let root = make(unsafe { NonNull::from(keeper.arena()).as_ref() })?;
        Ok(Rooted { root: Erased::new(root), keeper })
    }

    pub(crate) fn with<T>(&self, look: impl for<'a, 'b> FnOnce(&'b R::In<'a>) -> T) -> T {
        self.root.with(look)
    }

    pub(crate) fn with_mut<T>(&mut self, change: impl for<'a, 'b> FnOnce(&'b mut R::In<'a>, &'a Arena) -> T) -> T {
        // SAFETY: as in `Erased::with`; the arena stays at its address.
        unsafe { change(self.root.0.assume_init_mut(), NonNull::from(self.keeper.arena()).as_ref()) }
    }

    /// Drops the root.
    pub(crate) fn into_keeper(self) -> K {
        let Rooted { root, keeper } = self;
        drop(root); // if that panics, the keeper is dropped after it
        keeper
    }
}

/// Declares a name for a type that borrows an arena for `'a`, as the parameter of [`Owner`].
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
