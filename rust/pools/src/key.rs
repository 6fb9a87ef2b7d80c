//! Keys of a pool: generational handles and plain indices.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::marker::PhantomData;

/// The key of a value in a [`Pool`](super::Pool): a [`Handle`], or an index of type `u16`, `u32`, `u64` or `usize`.
/// The trait is sealed.
///
/// ```
/// use toft::Heap;
/// use toft_pools::{Pool, Rows};
///
/// let mut pool: Pool<char, Rows, u16> = Pool::default(); // by indices of 16 bits: 65536 slots at most
/// let i: u16 = pool.insert('a');
/// assert_eq!((i, pool[i]), (0, 'a'));
/// ```
pub trait Key<T>: Copy + Eq + sealed::Sealed {
    /// The generation that a slot stores.
    #[doc(hidden)]
    type Generation: Generation;
    /// The largest number of slots that keys can address.
    #[doc(hidden)]
    const SLOTS: usize;

    /// The generation of unused slots in a pool with this seed.
    #[doc(hidden)]
    fn unused(start: u32) -> Self::Generation;
    /// The generation of retired slots in a pool with this seed; `None` if keys have no generation.
    #[doc(hidden)]
    fn retired(start: u32) -> Option<Self::Generation>;
    /// The key of an occupied slot.
    #[doc(hidden)]
    fn new(index: usize, generation: Self::Generation) -> Self;
    #[doc(hidden)]
    fn index(self) -> usize;
    /// Whether a slot with this generation has the key's value.
    #[doc(hidden)]
    fn matches(self, generation: Self::Generation) -> bool;
    /// Whether the key was returned before another one of the same slot, and of the same pool. Indices are never older.
    #[doc(hidden)]
    fn is_older(self, than: Self) -> bool;
}

mod sealed {
    pub trait Sealed {}
    impl<T, G: super::Generation> Sealed for super::Handle<T, G> {}
    impl<K: super::KeyType> Sealed for K {}
    impl Sealed for u16 {}
    impl Sealed for u32 {}
    impl Sealed for u64 {}
    impl Sealed for usize {}
}

/// The value from which a pool derives its first generation: multiples of the golden ratio of all values there are,
/// which are as far apart as so many points can be (Knuth, The Art of Computer Programming 3, 6.4). A handle of another
/// pool matches nothing until a slot was used about 2^31 / n times, where n pools were made between the two. It is odd,
/// so it is not 0; the first generation does not depend on the lowest bit.
#[cfg(target_has_atomic = "32")]
pub(crate) fn generation_seed() -> u32 {
    use core::sync::atomic::{AtomicU32, Ordering};
    static MADE: AtomicU32 = AtomicU32::new(1);
    MADE.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9E37_79B1) | 1
}

#[cfg(not(target_has_atomic = "32"))]
pub(crate) fn generation_seed() -> u32 {
    1 // A processor without atomic counters: a handle of another pool may match.
}

macro_rules! index {
    ($($int:ty)*) => {$(
        impl<T> Key<T> for $int {
            type Generation = u8; // Only its lowest bit is used.
            // One less than there are indices, so that the number of slots fits this type as well.
            const SLOTS: usize = if size_of::<$int>() < size_of::<usize>() { <$int>::MAX as usize } else { usize::MAX };

            fn unused(_: u32) -> u8 {
                0
            }
            fn retired(_: u32) -> Option<u8> {
                None
            }
            #[inline(always)]
            fn new(index: usize, _: u8) -> $int {
                index as $int
            }
            #[inline(always)]
            fn index(self) -> usize {
                usize::try_from(self).unwrap_or(usize::MAX)
            }
            #[inline(always)]
            fn matches(self, generation: u8) -> bool {
                generation.is_odd()
            }
            fn is_older(self, _: $int) -> bool {
                false
            }
        }
    )*};
}

index!(u16 u32 u64 usize);

/// The integer type of a generation: `u8`, `u16` or `u32`. The trait is sealed.
///
/// ```
/// use toft_pools::Handle;
/// assert_eq!(size_of::<Handle<String, u8>>(), 8); // the same size: smaller generations are for tests
/// assert_eq!(size_of::<Option<Handle<String>>>(), 8);
/// ```
pub trait Generation: Copy + Eq + Ord + Hash + Send + Sync + 'static + count::Sealed {
    /// The type of an odd generation, which is not 0.
    #[doc(hidden)]
    type NonZero: Copy + Eq + Ord + Hash + fmt::Debug + 'static;
    #[doc(hidden)]
    const ONE: Self::NonZero;
    /// The number of uses after which a slot is retired: an insertion and a removal are two generations, and the last
    /// generation is that of retired slots.
    #[doc(hidden)]
    const USES: u32;
    /// The first, even generation of a pool with this seed.
    #[doc(hidden)]
    fn even(start: u32) -> Self;
    /// The last, even generation of a pool with this seed.
    #[doc(hidden)]
    fn last(start: u32) -> Self;
    /// The number of generations from this one until the last one.
    #[doc(hidden)]
    fn until(self, last: Self) -> u32;
    /// Whether a slot with this generation has had most of its uses.
    #[doc(hidden)]
    fn is_worn(self, last: Self) -> bool {
        self.until(last) < Self::USES
    }
    #[doc(hidden)]
    fn next(self) -> Self;
    /// The next even generation, or this one if it is even.
    #[doc(hidden)]
    fn after(self) -> Self;
    /// The previous even generation, or this one if it is even.
    #[doc(hidden)]
    fn before(self) -> Self;
    #[doc(hidden)]
    fn is_odd(self) -> bool;
    /// A word with a bit for each generation, which is set if that is odd.
    #[doc(hidden)]
    fn odd_bits(group: &[Self; 64]) -> u64;
    #[doc(hidden)]
    fn widen(self) -> u32;
    #[doc(hidden)]
    fn narrow(wide: u32) -> Option<Self>;
    /// The generation as a non-zero integer; it is odd.
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
    ($($int:ident)*) => {$(
        impl Generation for $int {
            type NonZero = core::num::NonZero<$int>;
            const ONE: Self::NonZero = Self::NonZero::MIN;
            const USES: u32 = <$int>::MAX as u32 / 2;
            fn even(start: u32) -> $int {
                // The upper bits of a product with an odd number differ most.
                (start >> (32 - <$int>::BITS)) as $int & !1
            }
            fn last(start: u32) -> $int {
                Self::even(start).wrapping_sub(2)
            }
            fn until(self, last: $int) -> u32 {
                last.wrapping_sub(self).into()
            }
            #[inline(always)]
            fn next(self) -> $int {
                self.wrapping_add(1)
            }
            #[inline(always)]
            fn after(self) -> $int {
                self.wrapping_add(1) & !1
            }
            #[inline(always)]
            fn before(self) -> $int {
                self & !1
            }
            #[inline(always)]
            fn is_odd(self) -> bool {
                self & 1 != 0
            }
            #[inline(never)] // keeps the registers of the caller's loop
            fn odd_bits(group: &[$int; 64]) -> u64 {
                odd_bits::$int(group)
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

/// Which of 64 generations are odd.
mod odd_bits {
    #[cfg(target_arch = "x86_64")]
    mod sixteen {
        use core::arch::x86_64::*;

        /// The lowest bits of 16 generations, in the lowest 16 bits of the result.
        #[inline(always)]
        pub(super) fn u8(p: &[u8; 16]) -> u64 {
            // SAFETY: every x86-64 has SSE2, here and below; the vectors read are those of the array.
            unsafe { _mm_movemask_epi8(_mm_slli_epi16(load(p, 0), 7)) as u32 as u64 }
        }
        #[inline(always)]
        pub(super) fn u16(p: &[u16; 16]) -> u64 {
            // Shifts each lowest bit to the sign bit, which packing keeps.
            // SAFETY: see u8.
            unsafe {
                let word = |n| _mm_slli_epi16(load(p, n), 15);
                _mm_movemask_epi8(_mm_packs_epi16(word(0), word(1))) as u32 as u64
            }
        }
        #[inline(always)]
        pub(super) fn u32(p: &[u32; 16]) -> u64 {
            // SAFETY: see u8.
            unsafe {
                let word = |n| _mm_slli_epi32(load(p, n), 31);
                let half = |n| _mm_packs_epi32(word(n), word(n + 1));
                _mm_movemask_epi8(_mm_packs_epi16(half(0), half(2))) as u32 as u64
            }
        }
        /// Vector `n` of an array.
        #[inline(always)]
        unsafe fn load<T>(p: &[T; 16], n: usize) -> __m128i {
            // SAFETY: the caller's contract.
            unsafe { _mm_loadu_si128(p.as_ptr().cast::<__m128i>().add(n)) }
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    mod sixteen {
        macro_rules! sixteen {
            ($($int:ident)*) => {$(
                #[inline(always)]
                pub(super) fn $int(p: &[$int; 16]) -> u64 {
                    // A multiplication gathers the lowest bits of eight bytes in the highest byte.
                    let bytes = p.map(|generation| generation as u8 & 1);
                    let eight = |n: usize| u64::from_le_bytes(core::array::from_fn(|i| bytes[8 * n + i]));
                    let bits = |n| eight(n).wrapping_mul(0x0102_0408_1020_4080) >> 56;
                    bits(0) | (bits(1) << 8)
                }
            )*};
        }
        sixteen!(u8 u16 u32);
    }

    macro_rules! all {
        ($($int:ident)*) => {$(
            #[inline(always)]
            pub(super) fn $int(group: &[$int; 64]) -> u64 {
                group.chunks_exact(16).rev().fold(0, |bits, part| bits << 16 | sixteen::$int(part.try_into().unwrap()))
            }
        )*};
    }
    all!(u8 u16 u32);
}

/// A handle to a value in a [`Pool`](super::Pool): an index of 32 bits, and the generation of its slot.
///
/// The generation of a slot changes when a value is inserted or removed, so the handle of a removed value is *stale*:
/// it finds nothing, also when the slot has another value. A handle of another pool finds nothing either, since the
/// generations of different pools start at different numbers.
///
/// The generations of a slot do not repeat: after `2^31 - 1` insertions into it (`u16`: `2^15 - 1`; `u8`: 127) the slot
/// is *retired*. It stays free, no insertion takes it, and its memory is lost until the pool is dropped. So a stale
/// handle never matches in its pool or [`List`](crate::List). The first generations of `n` pools are about `2^32 / n`
/// apart; after so many insertions into one slot, a handle of another pool may match.
///
/// ```
/// use toft_pools::{Handle, Pool};
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
pub struct Handle<T, G: Generation = u32> {
    index: u32,
    generation: G::NonZero,
    of: PhantomData<fn() -> T>,
}

impl<T, G: Generation> Handle<T, G> {
    /// The handle of no value, which finds nothing in any pool; the default.
    ///
    /// ```
    /// use toft_pools::{Handle, Pool};
    /// assert!(Handle::<u8>::default().is_null());
    /// assert_eq!(Pool::<u8>::new().get(Handle::NULL), None);
    /// ```
    pub const NULL: Self = Handle { index: u32::MAX, generation: G::ONE, of: PhantomData };

    /// Whether it is [`NULL`](Handle::NULL).
    #[inline]
    pub fn is_null(self) -> bool {
        self == Self::NULL
    }

    /// The index of the slot, from 0 on.
    ///
    /// ```
    /// let mut pool = toft_pools::Pool::new();
    /// assert_eq!(pool.insert('a').index(), 0);
    /// ```
    #[inline(always)]
    pub fn index(self) -> u32 {
        self.index
    }

    /// Index and generation in one integer, for files or for code in other languages.
    ///
    /// ```
    /// use toft_pools::Handle;
    /// let mut pool = toft_pools::Pool::new();
    /// let handle = pool.insert('a');
    /// let number: u64 = handle.to_bits();
    /// assert_eq!(Handle::from_bits(number), Some(handle));
    /// assert_eq!(Handle::<char>::from_bits(0), None);
    /// ```
    pub fn to_bits(self) -> u64 {
        u64::from(G::get(self.generation).widen()) << 32 | u64::from(self.index)
    }

    /// The handle that [`to_bits`](Handle::to_bits) converted, or `None` if the integer is not that of a handle.
    ///
    /// Every integer is safe: a handle that no pool has returned finds nothing, or the value of an equal handle.
    ///
    /// ```
    /// assert_eq!(toft_pools::Handle::<u8>::from_bits(7), None);
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

/// Of a pool of any values: `T` may be another type than theirs.
impl<T, V, G: Generation> Key<V> for Handle<T, G> {
    type Generation = G;
    const SLOTS: usize = if usize::BITS > 32 { u32::MAX as usize } else { usize::MAX };

    fn unused(start: u32) -> G {
        G::even(start)
    }
    fn retired(start: u32) -> Option<G> {
        Some(G::last(start))
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
    fn is_older(self, than: Self) -> bool {
        let [this, than] = [self, than].map(|handle| G::get(handle.generation));
        this != than && this.until(than) < than.until(this)
    }
}

// Not derived: these traits have no bounds on T.
impl<T, G: Generation> Default for Handle<T, G> {
    fn default() -> Self {
        Self::NULL
    }
}

impl<T, G: Generation> Clone for Handle<T, G> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, G: Generation> Copy for Handle<T, G> {}

impl<T, G: Generation> PartialEq for Handle<T, G> {
    #[inline(always)]
    fn eq(&self, other: &Self) -> bool {
        (self.index, self.generation) == (other.index, other.generation)
    }
}

impl<T, G: Generation> Eq for Handle<T, G> {}

impl<T, G: Generation> PartialOrd for Handle<T, G> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T, G: Generation> Ord for Handle<T, G> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.index, self.generation).cmp(&(other.index, other.generation))
    }
}

impl<T, G: Generation> Hash for Handle<T, G> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.index, self.generation).hash(state);
    }
}

impl<T, G: Generation> fmt::Debug for Handle<T, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_null() {
            return f.write_str("Handle(NULL)");
        }
        write!(f, "Handle({}, {:?})", self.index, self.generation)
    }
}

// ---- key types of a program ----

/// A key type of a program, declared by a macro: [`new_key_type`](crate::new_key_type). It is a handle that only pools with this key
/// take. Its constant `NULL` and its functions `is_null`, `index`, `to_bits` and `from_bits` are those of [`Handle`].
///
/// # Safety
/// The two functions are inverse.
pub unsafe trait KeyType: Copy + Eq {
    #[doc(hidden)]
    fn of_handle(handle: Handle<()>) -> Self;
    #[doc(hidden)]
    fn handle(self) -> Handle<()>;
}

impl<V, K: KeyType> Key<V> for K {
    type Generation = u32;
    const SLOTS: usize = <Handle<()> as Key<V>>::SLOTS;

    fn unused(start: u32) -> u32 {
        <Handle<()> as Key<V>>::unused(start)
    }
    fn retired(start: u32) -> Option<u32> {
        <Handle<()> as Key<V>>::retired(start)
    }
    #[inline(always)]
    fn new(index: usize, generation: u32) -> Self {
        Self::of_handle(<Handle<()> as Key<V>>::new(index, generation))
    }
    #[inline(always)]
    fn index(self) -> usize {
        <Handle<()> as Key<V>>::index(self.handle())
    }
    #[inline(always)]
    fn matches(self, generation: u32) -> bool {
        <Handle<()> as Key<V>>::matches(self.handle(), generation)
    }
    fn is_older(self, than: Self) -> bool {
        <Handle<()> as Key<V>>::is_older(self.handle(), than.handle())
    }
}

/// Declares key types, so that the keys of two pools of the same values cannot be confused. With the feature `serde` they can be
/// serialized.
///
/// ```
/// use toft_pools::{Pool, Rows, SecondaryMap};
///
/// toft_pools::new_key_type! {
///     /// The key of a player.
///     pub struct PlayerKey;
///     struct TeamKey;
/// }
///
/// let mut players = Pool::<&str, Rows, PlayerKey>::with_key();
/// let ada: PlayerKey = players.insert("Ada");
/// let mut scores = SecondaryMap::new();
/// scores.insert(ada, 7);
/// assert_eq!((players[ada], scores[ada], players.get(PlayerKey::NULL)), ("Ada", 7, None));
/// # let _ = TeamKey::default();
/// ```
#[macro_export]
macro_rules! new_key_type {
    ($($(#[$meta:meta])* $vis:vis struct $Name:ident;)*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        $vis struct $Name($crate::Handle<()>);

        // SAFETY: the value is the handle.
        unsafe impl $crate::KeyType for $Name {
            #[inline(always)]
            fn of_handle(handle: $crate::Handle<()>) -> Self {
                $Name(handle)
            }
            #[inline(always)]
            fn handle(self) -> $crate::Handle<()> {
                self.0
            }
        }

        $crate::__serialized_key!($Name);

        #[allow(dead_code)]
        impl $Name {
            /// The key of no value; the default.
            $vis const NULL: Self = $Name($crate::Handle::NULL);
            /// Whether it is `NULL`.
            $vis fn is_null(self) -> bool {
                self.0.is_null()
            }
            /// The index of the slot.
            $vis fn index(self) -> u32 {
                self.0.index()
            }
            /// Index and generation in one integer.
            $vis fn to_bits(self) -> u64 {
                self.0.to_bits()
            }
            /// The key that `to_bits` converted, or `None`.
            $vis fn from_bits(bits: u64) -> Option<Self> {
                $crate::Handle::from_bits(bits).map($Name)
            }
        }
    )*};
}

#[cfg(feature = "serde")]
#[doc(hidden)]
#[macro_export]
macro_rules! __serialized_key {
    ($Name:ident) => {
        impl $crate::__serde::Serialize for $Name {
            fn serialize<S: $crate::__serde::Serializer>(&self, to: S) -> ::core::result::Result<S::Ok, S::Error> {
                $crate::__serde::Serialize::serialize(&self.0, to)
            }
        }

        impl<'de> $crate::__serde::Deserialize<'de> for $Name {
            fn deserialize<D: $crate::__serde::Deserializer<'de>>(from: D) -> ::core::result::Result<Self, D::Error> {
                $crate::__serde::Deserialize::deserialize(from).map($Name)
            }
        }
    };
}

#[cfg(not(feature = "serde"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __serialized_key {
    ($Name:ident) => {};
}

#[cfg(test)]
mod tests {
    use super::Generation;

    /// Each bit alone, and the others without it, among other bits that do not count.
    #[test]
    fn odd_bits_are_those_of_the_odd() {
        fn all<G: Generation>(of: impl Fn(u32) -> G) {
            for i in 0..64 {
                let one: [G; 64] = core::array::from_fn(|j| of(0xABCD_FFFE | u32::from(i == j)));
                assert_eq!(G::odd_bits(&one), 1 << i);
                let others: [G; 64] = core::array::from_fn(|j| of((0x8080_8080 * (j as u32 % 2)) | u32::from(i != j)));
                assert_eq!(G::odd_bits(&others), !(1 << i));
            }
        }
        all(|n| n);
        all(|n| n as u16);
        all(|n| n as u8);
    }
}
