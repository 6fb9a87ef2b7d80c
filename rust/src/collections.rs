//! Growing collections in an arena, a scope or a frame: [`Vec`] and [`String`], and with the feature `hashbrown`
//! `HashMap` and `HashSet`.
//!
//! ```
//! let arena = toft::Arena::new();
//! let mut words = arena.vec();
//! words.extend("what a frame finds out".split(' '));
//! let mut line = arena.string();
//! for word in &words {
//!     line.push_str(&word[..1]);
//! }
//! assert_eq!((words.len(), line.as_str()), (5, "waffo"));
//! ```
//!
//! They borrow their arena, so they cannot outlive a reset or the end of a scope. They grow in place while they are the
//! arena's newest allocation, and move otherwise; the memory that they leave stays in use until the arena is reset.
//! Elements are dropped with their collection. A collection in an outer arena may grow while scopes of it are open: it
//! is served from another block, which survives the scope.
//!
//! ```
//! let arena = toft::Arena::new();
//! let mut longest = arena.vec();
//! for line in ["a bb", "ccc d"] {
//!     arena.scope(|inner| {
//!         let mut words = inner.vec_from_iter(line.split(' '));
//!         words.sort_by_key(|word| word.len());
//!         longest.extend(words.pop());
//!     });
//! }
//! assert_eq!(longest, ["bb", "ccc"]);
//! ```
//!
//! `Vec` and `String` have the names and calls of [bumpalo](crate::bumpalo)'s. Calls that need memory panic if the
//! arena has none; those that begin with `try_` return an error, and leave the collection unchanged. A map that grows
//! leaves its old tables in the arena; a [`Recycler`](crate::Recycler) frees them.
// SPDX-License-Identifier: MIT OR Apache-2.0

#[doc(inline)]
pub use crate::bumpalo::collections::{string, vec, CollectionAllocErr, String, Vec};
#[cfg(feature = "hashbrown")]
pub use maps::{HashMap, HashSet};

use crate::arena::Arena;
use crate::bumpalo::Bump;
use crate::error::AllocError;

fn refused(_: CollectionAllocErr) -> AllocError {
    AllocError
}

/// Collections.
impl Arena {
    /// Creates an empty vector that grows in this arena. It takes no memory yet.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// let mut stack = arena.vec();
    /// stack.push(1);
    /// stack.push(2);
    /// assert_eq!(stack.pop(), Some(2));
    /// let rest: &mut [i32] = stack.into_slice(); // as long as the arena is borrowed
    /// assert_eq!(rest, [1]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn vec<T>(&self) -> Vec<'_, T> {
        Vec::new_in(Bump::from_ref(self))
    }

    /// Creates an empty vector for `capacity` elements.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// assert_eq!(arena.vec_with_capacity::<u64>(10).capacity(), 10);
    /// ```
    ///
    /// # Panics
    /// If the arena has no memory, as all calls here without `try`.
    #[inline]
    #[track_caller]
    pub fn vec_with_capacity<T>(&self, capacity: usize) -> Vec<'_, T> {
        Vec::with_capacity_in(capacity, Bump::from_ref(self))
    }

    /// As [`vec_with_capacity`](Arena::vec_with_capacity), with an error instead of the panic.
    ///
    /// ```
    /// let tight = toft::Options::new().budget(16).create()?;
    /// assert!(tight.try_vec_with_capacity::<u64>(3).is_err());
    /// assert!(tight.try_vec_with_capacity::<u64>(2)?.is_empty());
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn try_vec_with_capacity<T>(&self, capacity: usize) -> Result<Vec<'_, T>, AllocError> {
        let mut vec = self.vec();
        vec.try_reserve_exact(capacity).map_err(refused)?;
        Ok(vec)
    }

    /// Collects an iterator into a vector.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// let mut words = arena.vec_from_iter("b a".split(' '));
    /// words.sort();
    /// assert_eq!(words, ["a", "b"]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn vec_from_iter<T>(&self, iter: impl IntoIterator<Item = T>) -> Vec<'_, T> {
        Vec::from_iter_in(iter, Bump::from_ref(self))
    }

    /// As [`vec_from_iter`](Arena::vec_from_iter), with an error instead of the panic. The yielded values are dropped
    /// then.
    ///
    /// ```
    /// let tight = toft::Options::new().budget(100).create()?;
    /// assert!(tight.try_vec_from_iter(0u64..).is_err()); // ended by the budget
    /// assert_eq!(tight.try_vec_from_iter(0u64..5)?.len(), 5);
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn try_vec_from_iter<T>(&self, iter: impl IntoIterator<Item = T>) -> Result<Vec<'_, T>, AllocError> {
        let mut vec = self.vec();
        vec.try_extend(iter)?;
        Ok(vec)
    }

    /// Creates an empty string that grows in this arena. It takes no memory yet.
    ///
    /// ```
    /// use std::fmt::Write;
    /// let arena = toft::Arena::new();
    /// let mut line = arena.string();
    /// line.push_str("frame ");
    /// write!(line, "{}", 7)?;
    /// let line: &str = line.into_str(); // as long as the arena is borrowed
    /// assert_eq!(line, "frame 7");
    /// # Ok::<(), std::fmt::Error>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn string(&self) -> String<'_> {
        String::new_in(Bump::from_ref(self))
    }

    /// Creates an empty string for `capacity` bytes.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// assert!(arena.string_with_capacity(10).capacity() >= 10);
    /// ```
    ///
    /// # Panics
    /// If the arena has no memory.
    #[inline]
    #[track_caller]
    pub fn string_with_capacity(&self, capacity: usize) -> String<'_> {
        String::with_capacity_in(capacity, Bump::from_ref(self))
    }

    /// As [`string_with_capacity`](Arena::string_with_capacity), with an error instead of the panic.
    ///
    /// ```
    /// let tight = toft::Options::new().budget(16).create()?;
    /// assert!(tight.try_string_with_capacity(17).is_err());
    /// assert!(tight.try_string_with_capacity(16)?.is_empty());
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn try_string_with_capacity(&self, capacity: usize) -> Result<String<'_>, AllocError> {
        let mut string = self.string();
        string.try_reserve(capacity).map_err(refused)?;
        Ok(string)
    }

    /// Copies a string into one that can grow. ([`alloc_str`](Arena::alloc_str) makes one that cannot.)
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// let mut name = arena.string_from("Tofte");
    /// name.push('!');
    /// assert_eq!(name, "Tofte!");
    /// ```
    ///
    /// # Panics
    /// If the arena has no memory.
    #[inline]
    #[track_caller]
    pub fn string_from(&self, s: &str) -> String<'_> {
        String::from_str_in(s, Bump::from_ref(self))
    }

    /// As [`string_from`](Arena::string_from), with an error instead of the panic.
    ///
    /// ```
    /// let tight = toft::Options::new().budget(16).create()?;
    /// assert!(tight.try_string_from("more than sixteen").is_err());
    /// assert_eq!(tight.try_string_from("less")?, "less");
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn try_string_from(&self, s: &str) -> Result<String<'_>, AllocError> {
        let mut string = self.try_string_with_capacity(s.len())?;
        string.push_str(s);
        Ok(string)
    }
}

// ---- calls beyond bumpalo's ----

impl<'a, T: 'a> Vec<'a, T> {
    /// Returns its arena.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// let numbers = arena.vec_from_iter([1, 2]);
    /// assert_eq!(numbers.arena().alloc(3), &3);
    /// ```
    #[inline]
    #[track_caller]
    pub fn arena(&self) -> &'a Arena {
        self.bump().as_ref()
    }

    /// Appends an element, or returns an error if there is no memory; `value` is dropped then.
    ///
    /// ```
    /// let tight = toft::Options::new().budget(64).create()?;
    /// let mut v = tight.vec();
    /// while v.try_push(v.len() as u64).is_ok() {}
    /// assert!((1..=8).contains(&v.len()) && v[0] == 0);
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn try_push(&mut self, value: T) -> Result<(), AllocError> {
        self.try_reserve(1).map_err(refused)?;
        self.push(value);
        Ok(())
    }

    /// Appends the elements of an iterator. If there is no memory it returns an error, and keeps those appended.
    ///
    /// ```
    /// let tight = toft::Options::new().budget(64).create()?;
    /// let mut v = tight.vec();
    /// assert!(v.try_extend(0u64..).is_err());
    /// assert!(!v.is_empty());
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    #[track_caller]
    pub fn try_extend(&mut self, iter: impl IntoIterator<Item = T>) -> Result<(), AllocError> {
        let mut iter = iter.into_iter();
        while let Some(value) = iter.next() {
            if self.len() == self.capacity() {
                let (least, most) = iter.size_hint();
                let more = least.saturating_add(1);
                // Exact size hints are trusted; lower bounds may be far too high (`0..`).
                let more = if most == Some(least) { more } else { 1 };
                self.try_reserve(more).map_err(refused)?;
            }
            self.push(value);
        }
        Ok(())
    }

    /// Returns the elements for as long as the arena is borrowed. They are not dropped.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// let numbers: &mut [i32] = arena.vec_from_iter([1, 2]).into_slice();
    /// assert_eq!(numbers, [1, 2]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn into_slice(self) -> &'a mut [T] {
        self.into_bump_slice_mut()
    }
}

impl<'a> String<'a> {
    /// Returns its arena.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// assert_eq!(arena.string_from("ab").arena().alloc(3), &3);
    /// ```
    #[inline]
    #[track_caller]
    pub fn arena(&self) -> &'a Arena {
        self.bump().as_ref()
    }

    /// As [`reserve`](String::reserve), with an error instead of the panic.
    ///
    /// ```
    /// let tight = toft::Options::new().budget(16).create()?;
    /// let mut s = tight.string_from("eight...");
    /// assert!(s.try_reserve(100).is_err());
    /// assert_eq!(s, "eight...");
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), CollectionAllocErr> {
        // SAFETY: reserving capacity does not change the bytes.
        unsafe { self.as_mut_vec() }.try_reserve(additional)
    }

    /// Appends a string, or returns an error if there is no memory.
    ///
    /// ```
    /// let tight = toft::Options::new().budget(32).create()?;
    /// let mut s = tight.string();
    /// while s.try_push_str("word ").is_ok() {}
    /// assert!(s.starts_with("word ") && s.len() % 5 == 0);
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn try_push_str(&mut self, s: &str) -> Result<(), AllocError> {
        self.try_reserve(s.len()).map_err(refused)?;
        self.push_str(s);
        Ok(())
    }

    /// Returns the string for as long as the arena is borrowed.
    ///
    /// ```
    /// let arena = toft::Arena::new();
    /// let text: &str = arena.string_from("kept").into_str();
    /// assert_eq!(text, "kept");
    /// ```
    #[inline]
    #[track_caller]
    pub fn into_str(self) -> &'a str {
        self.into_bump_str()
    }
}

#[cfg(feature = "hashbrown")]
mod maps {
    use hashbrown::DefaultHashBuilder;

    use crate::arena::Arena;
    use crate::error::AllocError;

    /// hashbrown's map, in an arena: [`Arena::map`] makes one.
    ///
    /// ```
    /// use toft::collections::HashMap;
    /// let arena = toft::Arena::new();
    /// let mut ages: HashMap<&str, u32> = arena.map();
    /// ages.insert("Mads", 1);
    /// assert_eq!(ages["Mads"], 1);
    /// ```
    pub type HashMap<'a, K, V, S = DefaultHashBuilder> = hashbrown::HashMap<K, V, S, &'a Arena>;

    /// hashbrown's set, in an arena: [`Arena::set`] makes one.
    ///
    /// ```
    /// use toft::collections::HashSet;
    /// let arena = toft::Arena::new();
    /// let mut seen: HashSet<u32> = arena.set();
    /// assert!(seen.insert(7) && !seen.insert(7));
    /// ```
    pub type HashSet<'a, T, S = DefaultHashBuilder> = hashbrown::HashSet<T, S, &'a Arena>;

    /// Maps and sets are hashbrown's: if the arena may refuse, call `try_reserve` before an insertion. An insertion
    /// that gets no memory calls [`handle_alloc_error`](alloc::alloc::handle_alloc_error).
    impl Arena {
        /// Creates an empty map that grows in this arena. It takes no memory yet.
        ///
        /// ```
        /// let arena = toft::Arena::new();
        /// let mut counts = arena.map();
        /// for word in "a b a".split(' ') {
        ///     *counts.entry(word).or_insert(0) += 1;
        /// }
        /// assert_eq!((counts["a"], counts.len()), (2, 2));
        /// ```
        #[inline]
        pub fn map<K, V>(&self) -> HashMap<'_, K, V> {
            HashMap::with_hasher_in(DefaultHashBuilder::default(), self)
        }

        /// Creates an empty map for `capacity` entries.
        ///
        /// ```
        /// let arena = toft::Arena::new();
        /// assert!(arena.map_with_capacity::<u32, u32>(100).capacity() >= 100);
        /// ```
        ///
        /// # Panics
        /// If the arena has no memory.
        pub fn map_with_capacity<K: Eq + core::hash::Hash, V>(&self, capacity: usize) -> HashMap<'_, K, V> {
            match self.try_map_with_capacity(capacity) {
                Ok(map) => map,
                Err(e) => panic!("toft: {e}"),
            }
        }

        /// As [`map_with_capacity`](Arena::map_with_capacity), with an error instead of the panic.
        ///
        /// ```
        /// let tight = toft::Options::new().budget(100).create()?;
        /// assert!(tight.try_map_with_capacity::<u32, u32>(100).is_err());
        /// assert!(tight.try_map_with_capacity::<u32, u32>(3).is_ok());
        /// # Ok::<(), toft::AllocError>(())
        /// ```
        pub fn try_map_with_capacity<K: Eq + core::hash::Hash, V>(
            &self,
            capacity: usize,
        ) -> Result<HashMap<'_, K, V>, AllocError> {
            let mut map = self.map();
            map.try_reserve(capacity).map_err(|_| AllocError)?;
            Ok(map)
        }

        /// Creates an empty set that grows in this arena. It takes no memory yet.
        ///
        /// ```
        /// let arena = toft::Arena::new();
        /// let mut seen = arena.set();
        /// seen.extend("a b a".split(' '));
        /// assert_eq!(seen.len(), 2);
        /// ```
        #[inline]
        pub fn set<T>(&self) -> HashSet<'_, T> {
            HashSet::with_hasher_in(DefaultHashBuilder::default(), self)
        }

        /// Creates an empty set for `capacity` values.
        ///
        /// ```
        /// let arena = toft::Arena::new();
        /// assert!(arena.set_with_capacity::<u32>(100).capacity() >= 100);
        /// ```
        ///
        /// # Panics
        /// If the arena has no memory.
        pub fn set_with_capacity<T: Eq + core::hash::Hash>(&self, capacity: usize) -> HashSet<'_, T> {
            match self.try_set_with_capacity(capacity) {
                Ok(set) => set,
                Err(e) => panic!("toft: {e}"),
            }
        }

        /// As [`set_with_capacity`](Arena::set_with_capacity), with an error instead of the panic.
        ///
        /// ```
        /// let tight = toft::Options::new().budget(100).create()?;
        /// assert!(tight.try_set_with_capacity::<u32>(100).is_err());
        /// assert!(tight.try_set_with_capacity::<u32>(3).is_ok());
        /// # Ok::<(), toft::AllocError>(())
        /// ```
        pub fn try_set_with_capacity<T: Eq + core::hash::Hash>(
            &self,
            capacity: usize,
        ) -> Result<HashSet<'_, T>, AllocError> {
            let mut set = self.set();
            set.try_reserve(capacity).map_err(|_| AllocError)?;
            Ok(set)
        }
    }
}
