//! Data structures with references in a file: written once, opened by any process without parsing.
//!
//! [`freeze`] copies a value, and all that it refers to, into a file, with every reference in place. [`Frozen`] maps that
//! file, and the value is there: no page is read before it is used, and processes share them.
//!
//! ```
//! use toft_frozen::{freeze, Freeze, Frozen};
//!
//! #[derive(Freeze)]
//! struct Word<'a> {
//!     text: &'a str,
//!     synonyms: &'a [&'a str],
//! }
//! #[derive(Freeze)]
//! struct Dictionary<'a> {
//!     words: &'a [Word<'a>], // by text
//! }
//!
//! let arena = toft::Arena::new(); // or any other memory
//! let words = arena.alloc_slice_copy(&["fast", "quick"]);
//! let dictionary = Dictionary {
//!     words: &[Word { text: "rapid", synonyms: words }, Word { text: "slow", synonyms: &[] }],
//! };
//! # let path = std::env::temp_dir().join(format!("dictionary-{}.frozen", std::process::id()));
//! freeze(&dictionary, &path, "dictionary 1")?;
//!
//! // SAFETY: the file was written by `freeze` with this type, and is replaced only, never changed.
//! let file = unsafe { Frozen::<Dictionary>::open(&path, "dictionary 1")? };
//! let words = file.get().words;
//! let found = words.binary_search_by(|word| word.text.cmp("rapid")).unwrap();
//! assert_eq!(words[found].synonyms, ["fast", "quick"]);
//! # drop(file);
//! # std::fs::remove_file(&path)?;
//! # Ok::<(), toft_frozen::FrozenError>(())
//! ```
//!
//! # Types
//!
//! A type that may be frozen implements [`Freeze`], by the derive: structs and enums, also generic ones, of numbers, `bool`,
//! `char`, arrays, tuples, options, results, durations, network addresses, ranges, references, slices, `str` and `CStr`. An enum
//! with fields needs a representation. [`FrozenHashMap`] and [`FrozenSortedMap`] are maps in the file. A type with a destructor,
//! with memory of its own (`Box`, `Vec`, `String`) or with a cell does not compile, nor `RangeInclusive`, which has a state of
//! its own. An object that is referred to twice is written once.
//!
//! The file records a hash of the types: names, sizes, and offsets of all fields. [`Frozen::open`] refuses a file of other
//! types, as a compiler may lay out a struct differently. The layouts of `Option` and `Result`, which the compiler chooses, are
//! found while the program is compiled, and are an error there if that fails.
//!
//! # Files of others
//!
//! [`Frozen::open`] trusts the file beyond its header, and is `unsafe`. [`Frozen::open_checked`] and [`Frozen::from_bytes_checked`]
//! trust nothing: they check each value that the root refers to. [`FrozenStatic`] opens a file that is part of the program, without
//! a copy.
//!
//! # Other languages
//!
//! The format is that of section 15 of Toft's [SPEC.md], so programs in C, C++, Go, Julia and Python open the same files;
//! give the structs `#[repr(C)]` then, and use [`FrozenSlice`] for a pointer and a length.
//! The page [frozen.md] has the layouts of options and maps. Files that libtoft wrote have
//! no hash of types, and are opened by the name of their layout.
//!
//! [frozen.md]: https://github.com/toft-dev/toft/blob/main/docs/frozen.md#maps-and-options-of-rust-in-other-languages
//! [SPEC.md]: https://github.com/toft-dev/toft/blob/main/abi/SPEC.md
//!
//! # Systems
//!
//! On Unix a file is mapped; where its address is not free, and on other systems, it is read, and its references are moved.
// SPDX-License-Identifier: MIT OR Apache-2.0

mod choice;
mod content;
mod file;
mod format;
mod freeze;
mod image;
mod layout;
mod map;
mod memory;
mod open;
mod private;
mod references;
mod shape;
mod static_file;

pub use content::Content;
pub use file::{freeze, freeze_to_vec};
pub use format::FrozenError;
pub use freeze::Freeze;
pub use image::Image;
pub use layout::Layout;
pub use map::{FrozenHashMap, FrozenKey, FrozenSortedMap, KeyHash, MapBuilder};
pub use open::{Frozen, OpenOptions};
pub use references::FrozenSlice;
pub use shape::Shape;
pub use static_file::FrozenStatic;
#[cfg(feature = "derive")]
pub use toft_derive::Freeze;
