//! What addresses a slot of a pool: a handle, or a plain index.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::marker::PhantomData;

/// What a [`Pool`](super::Pool) of `T` hands out for a value: a [`Handle`], or an index: `u16`, `u32`, `u64` or `usize`.
/// The trait is sealed.
///
/// ```
/// use toft::pool::{Heap, Pool, Rows};
///
/// let mut pool: Pool<char, Rows, u16> = Pool::default(); // by indices of 16 bits: 65536 slots at most
/// let i: u16 = pool.insert('a');
/// assert_eq!((i, pool[i]), (0, 'a'));
/// ```
pub trait Key<T>: Copy + Eq + sealed::Sealed {
    /// What stands beside the slot, with which a key is compared.
    #[doc(hidden)]
    type Generation: Copy + 'static;
    /// How many slots can be told apart.
    #[doc(hidden)]
    const SLOTS: usize;
    /// Whether a key that matches says that its slot has a value.
    #[doc(hidden)]
    const TELLS: bool;

    /// Of a slot that never had a value, in a pool whose number is `start`.
    #[doc(hidden)]
    fn unused(start: u32) -> Self::Generation;
    /// Of a slot that gets a value, or loses it.
    #[doc(hidden)]
    fn next(generation: Self::Generation) -> Self::Generation;
    /// The later of two, in a pool whose number is `start`.
    #[doc(hidden)]
    fn later(a: Self::Generation, b: Self::Generation, start: u32) -> Self::Generation;
    #[doc(hidden)]
    fn new(index: usize, generation: Self::Generation) -> Self;
    #[doc(hidden)]
    fn index(self) -> usize;
    #[doc(hidden)]
    fn matches(self, generation: Self::Generation) -> bool;
    /// As a number that can be stored, and back.
    #[doc(hidden)]
    fn generation_to(generation: Self::Generation) -> u32;
    #[doc(hidden)]
    fn generation_from(stored: u32) -> Option<Self::Generation>;
}

mod sealed {
    pub trait Sealed {}
    impl<T, G: super::Count> Sealed for super::Handle<T, G> {}
    impl Sealed for u16 {}
    impl Sealed for u32 {}
    impl Sealed for u64 {}
    impl Sealed for usize {}
}

macro_rules! index {
    ($($int:ty)*) => {$(
        impl<T> Key<T> for $int {
            type Generation = ();
            // One less than could be told apart, so that a number of slots is a number of this type as well.
            const SLOTS: usize = if size_of::<$int>() < size_of::<usize>() { <$int>::MAX as usize } else { usize::MAX };
            const TELLS: bool = false;

            fn unused(_: u32) {}
            #[inline(always)]
            fn next((): ()) {}
            fn later((): (), (): (), _: u32) {}
            #[inline(always)]
            fn new(index: usize, (): ()) -> $int {
                index as $int
            }
            #[inline(always)]
            fn index(self) -> usize {
                usize::try_from(self).unwrap_or(usize::MAX)
            }
            #[inline(always)]
            fn matches(self, (): ()) -> bool {
                true
            }
            fn generation_to((): ()) -> u32 {
                0
            }
            fn generation_from(stored: u32) -> Option<()> {
                (stored == 0).then_some(())
            }
        }
    )*};
}

index!(u16 u32 u64 usize);

/// A counter of generations: `u8`, `u16` or `u32`. The trait is sealed.
///
/// ```
/// use toft::pool::Handle;
/// assert_eq!(size_of::<Handle<String, u8>>(), 8); // as large as any: the smaller counters are for tests
/// assert_eq!(size_of::<Option<Handle<String>>>(), 8);
/// ```
pub trait Count: Copy + Eq + Ord + Hash + 'static + count::Sealed {
    /// One that is not 0.
    #[doc(hidden)]
    type NonZero: Copy + Eq + Ord + Hash + fmt::Debug + 'static;
    #[doc(hidden)]
    fn even(start: u32) -> Self;
    #[doc(hidden)]
    fn next(self) -> Self;
    #[doc(hidden)]
    fn since(self, start: u32) -> u32;
    #[doc(hidden)]
    fn widen(self) -> u32;
    #[doc(hidden)]
    fn narrow(wide: u32) -> Option<Self>;
    /// Of one that is odd.
    #[doc(hidden)]
    fn odd(self) -> Self::NonZero;
    #[doc(hidden)]
    fn is(self, odd: Self::NonZero) -> bool;
    #[doc(hidden)]
    fn get(odd: Self::NonZero) -> Self;
}

mod count {
    pub trait Sealed {}
    impl Sealed for u8 {}
    impl Sealed for u16 {}
    impl Sealed for u32 {}
}

macro_rules! count {
    ($($int:ty)*) => {$(
        impl Count for $int {
            type NonZero = core::num::NonZero<$int>;
            fn even(start: u32) -> $int {
                // The upper bits: those of a product with an odd number are the ones that differ most.
                (start >> (32 - <$int>::BITS)) as $int & !1
            }
            #[inline(always)]
            fn next(self) -> $int {
                self.wrapping_add(1)
            }
            fn since(self, start: u32) -> u32 {
                self.wrapping_sub(Self::even(start)).into()
            }
            fn widen(self) -> u32 {
                self.into()
            }
            fn narrow(wide: u32) -> Option<$int> {
                wide.try_into().ok()
            }
            #[inline(always)]
            fn odd(self) -> Self::NonZero {
                debug_assert!(self % 2 == 1);
                // SAFETY: the lowest bit is set.
                unsafe { Self::NonZero::new_unchecked(self | 1) }
            }
            #[inline(always)]
            fn is(self, odd: Self::NonZero) -> bool {
                self == odd.get()
            }
            fn get(odd: Self::NonZero) -> $int {
                odd.get()
            }
        }
    )*};
}

count!(u8 u16 u32);

/// A handle to a value in a [`Pool`](super::Pool): an index of 32 bits, and the generation of its slot.
///
/// A slot gets a new generation each time it gets or loses a value, so a handle to what was removed is *stale*: it finds
/// nothing, though the slot may have another value by now. Nor does a handle of another pool find anything: the
/// generations of each pool begin elsewhere.
///
/// The generations of a slot begin again when it was used `2^31` times (`u16`: `2^15`; `u8`: 128): a handle that was kept
/// for exactly so long, or for a multiple of it, would be taken for a new one. The beginnings of `n` pools are about
/// `2^32 / n` generations apart, and a foreign handle is not told from one's own when a slot was used as often as that.
///
/// ```
/// use toft::pool::{Handle, Pool};
///
/// let mut pool = Pool::new();
/// let old: Handle<&str> = pool.insert("old");
/// assert_eq!(pool.remove(old), Some("old"));
/// let new = pool.insert("new"); // in the same slot
/// assert_eq!(old.index(), new.index());
/// assert_eq!(pool.get(old), None);
/// assert_eq!(pool.get(new), Some(&"new"));
/// assert_eq!(Pool::<&str>::new().get(new), None);
/// ```
pub struct Handle<T, G: Count = u32> {
    index: u32,
    generation: G::NonZero,
    of: PhantomData<fn() -> T>,
}

impl<T, G: Count> Handle<T, G> {
    /// The number of the slot, from 0 on.
    ///
    /// ```
    /// let mut pool = toft::Pool::new();
    /// assert_eq!(pool.insert('a').index(), 0);
    /// ```
    #[inline(always)]
    pub fn index(self) -> u32 {
        self.index
    }

    /// Both parts in one number, for what can store no handle: a file, or code in another language.
    ///
    /// ```
    /// use toft::pool::Handle;
    /// let mut pool = toft::Pool::new();
    /// let handle = pool.insert('a');
    /// let number: u64 = handle.to_bits();
    /// assert_eq!(Handle::from_bits(number), Some(handle));
    /// assert_eq!(Handle::<char>::from_bits(0), None);
    /// ```
    pub fn to_bits(self) -> u64 {
        u64::from(G::get(self.generation).widen()) << 32 | u64::from(self.index)
    }

    /// The handle of [`to_bits`](Handle::to_bits), or `None`: it is none. See there.
    ///
    /// Any number is safe: a handle that no pool gave finds nothing, or what another handle would.
    ///
    /// ```
    /// assert_eq!(toft::Handle::<u8>::from_bits(7), None);
    /// ```
    pub fn from_bits(bits: u64) -> Option<Self> {
        let generation = G::narrow((bits >> 32) as u32)?;
        (generation.widen() % 2 == 1).then(|| Handle {
            index: bits as u32,
            generation: generation.odd(),
            of: PhantomData,
        })
    }
}

impl<T, G: Count> Key<T> for Handle<T, G> {
    type Generation = G;
    const SLOTS: usize = if usize::BITS > 32 { u32::MAX as usize } else { usize::MAX };
    const TELLS: bool = true;

    fn unused(start: u32) -> G {
        G::even(start)
    }
    #[inline(always)]
    fn next(generation: G) -> G {
        generation.next()
    }
    fn later(a: G, b: G, start: u32) -> G {
        core::cmp::max_by_key(a, b, |g| g.since(start))
    }
    #[inline(always)]
    fn new(index: usize, generation: G) -> Self {
        Handle { index: index as u32, generation: generation.odd(), of: PhantomData }
    }
    #[inline(always)]
    fn index(self) -> usize {
        self.index as usize
    }
    #[inline(always)]
    fn matches(self, generation: G) -> bool {
        generation.is(self.generation)
    }
    fn generation_to(generation: G) -> u32 {
        generation.widen()
    }
    fn generation_from(stored: u32) -> Option<G> {
        G::narrow(stored)
    }
}

// Not derived: none of these asks anything of T.
impl<T, G: Count> Clone for Handle<T, G> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, G: Count> Copy for Handle<T, G> {}

impl<T, G: Count> PartialEq for Handle<T, G> {
    #[inline(always)]
    fn eq(&self, other: &Self) -> bool {
        (self.index, self.generation) == (other.index, other.generation)
    }
}

impl<T, G: Count> Eq for Handle<T, G> {}

impl<T, G: Count> PartialOrd for Handle<T, G> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T, G: Count> Ord for Handle<T, G> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.index, self.generation).cmp(&(other.index, other.generation))
    }
}

impl<T, G: Count> Hash for Handle<T, G> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.index, self.generation).hash(state);
    }
}

impl<T, G: Count> fmt::Debug for Handle<T, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Handle({}, {:?})", self.index, self.generation)
    }
}
