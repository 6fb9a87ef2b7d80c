//! Expected counts of every public function that allocates; and bytes by tag, one by one.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![allow(dead_code)]

use std::alloc::Layout;
use std::collections::BTreeMap;

use toft::{abi, Arena, Box as ArenaBox, Frames, Scope};

/// The allocations of a call.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Expected {
    /// The number of allocations and the sum of their bytes.
    Exactly(u64, u64),
    /// At least this many: it grows repeatedly.
    NotBelow(u64, u64),
}
use Expected::*;

/// Its caller's location is unknown, since hashbrown does not pass it on: the report has a line of the library.
pub const LIBRARY: u32 = 1;

pub struct Counted {
    /// As `Type::function`.
    pub name: &'static str,
    /// The line that a checked arena reports.
    pub line: u32,
    /// Makes the call with a size of at least 1.
    pub call: fn(&Arena, usize) -> Expected,
}

const WORD: u64 = size_of::<usize>() as u64;

fn words(n: usize) -> Vec<u32> {
    (0..n as u32).collect()
}

/// `n` values without a known length.
fn some(n: usize) -> impl Iterator<Item = u32> {
    (0..2 * n as u32).filter(|i| i % 2 == 0)
}

fn small(n: usize) -> Result<u64, ()> {
    (n < 5000).then_some(n as u64).ok_or(())
}

fn layout(n: usize) -> Layout {
    Layout::from_size_align(n, 1).unwrap()
}

fn in_scope(a: &Arena, f: impl Fn(&Scope<'_>)) {
    f(&a.scope_guard());
}

macro_rules! counted {
    ($($name:literal $line:expr, |$a:ident, $n:ident| $call:expr => $expected:expr;)*) => {
        &[$(Counted { name: $name, line: $line, call: |$a, $n| { let _ = $call; $expected } }),*]
    };
}

/// Each entry is one line, since the line identifies the call site.
#[rustfmt::skip]
pub const COUNTED: &[Counted] = counted! {
    "Arena::alloc" line!(), |a, n| a.alloc(n as u64) => Exactly(1, 8);
    "Arena::try_alloc" line!(), |a, n| a.try_alloc([n as u16; 3]) => Exactly(1, 6);
    "Arena::alloc_with" line!(), |a, n| a.alloc_with(|| n as u8) => Exactly(1, 1);
    "Arena::try_alloc_with" line!(), |a, n| a.try_alloc_with(|| [n; 4]) => Exactly(1, 4 * WORD);
    "Arena::alloc_try_with" line!(), |a, n| a.alloc_try_with(|| small(n)) => Exactly(1, 8);
    "Arena::try_alloc_try_with" line!(), |a, n| a.try_alloc_try_with(|| small(n)) => Exactly(1, 8);
    "Arena::alloc_uninit" line!(), |a, _n| a.alloc_uninit::<[u8; 11]>() => Exactly(1, 11);
    "Arena::try_alloc_uninit" line!(), |a, _n| a.try_alloc_uninit::<[u8; 12]>() => Exactly(1, 12);
    "Arena::alloc_zeroed" line!(), |a, _n| a.alloc_zeroed::<[u64; 9]>() => Exactly(1, 72);
    "Arena::try_alloc_zeroed" line!(), |a, _n| a.try_alloc_zeroed::<u32>() => Exactly(1, 4);
    "Arena::alloc_layout" line!(), |a, n| a.alloc_layout(layout(n)) => Exactly(1, n as u64);
    "Arena::try_alloc_layout" line!(), |a, n| a.try_alloc_layout(layout(n)) => Exactly(1, n as u64);
    "Arena::alloc_slice_copy" line!(), |a, n| a.alloc_slice_copy(&words(n)) => Exactly(1, 4 * n as u64);
    "Arena::try_alloc_slice_copy" line!(), |a, n| a.try_alloc_slice_copy(&words(n)) => Exactly(1, 4 * n as u64);
    "Arena::alloc_slice_clone" line!(), |a, n| a.alloc_slice_clone(&words(n)) => Exactly(1, 4 * n as u64);
    "Arena::try_alloc_slice_clone" line!(), |a, n| a.try_alloc_slice_clone(&words(n)) => Exactly(1, 4 * n as u64);
    "Arena::alloc_slice_fill" line!(), |a, n| a.alloc_slice_fill(n, 7u8) => Exactly(1, n as u64);
    "Arena::try_alloc_slice_fill" line!(), |a, n| a.try_alloc_slice_fill(n, 7u8) => Exactly(1, n as u64);
    "Arena::alloc_slice_fill_with" line!(), |a, n| a.alloc_slice_fill_with(n, |i| i) => Exactly(1, WORD * n as u64);
    "Arena::try_alloc_slice_fill_with" line!(), |a, n| a.try_alloc_slice_fill_with(n, |i| i)
        => Exactly(1, WORD * n as u64);
    "Arena::alloc_slice_try_fill_with" line!(), |a, n| a.alloc_slice_try_fill_with(n, Ok::<_, ()>)
        => Exactly(1, WORD * n as u64);
    "Arena::try_alloc_slice_try_fill_with" line!(), |a, n| a.try_alloc_slice_try_fill_with(n, Ok::<_, ()>)
        => Exactly(1, WORD * n as u64);
    "Arena::alloc_slice_default" line!(), |a, n| a.alloc_slice_default::<u16>(n) => Exactly(1, 2 * n as u64);
    "Arena::try_alloc_slice_default" line!(), |a, n| a.try_alloc_slice_default::<u16>(n) => Exactly(1, 2 * n as u64);
    "Arena::alloc_slice_from_iter" line!(), |a, n| a.alloc_slice_from_iter(words(n)) => Exactly(1, 4 * n as u64);
    "Arena::try_alloc_slice_from_iter" line!(), |a, n| a.try_alloc_slice_from_iter(some(n)) => NotBelow(1, 4 * n as u64);
    "Arena::alloc_uninit_slice" line!(), |a, n| a.alloc_uninit_slice::<u16>(n) => Exactly(1, 2 * n as u64);
    "Arena::try_alloc_uninit_slice" line!(), |a, n| a.try_alloc_uninit_slice::<u16>(n) => Exactly(1, 2 * n as u64);
    "Arena::alloc_zeroed_slice" line!(), |a, n| a.alloc_zeroed_slice::<u16>(n) => Exactly(1, 2 * n as u64);
    "Arena::try_alloc_zeroed_slice" line!(), |a, n| a.try_alloc_zeroed_slice::<u16>(n) => Exactly(1, 2 * n as u64);
    "Arena::alloc_str" line!(), |a, n| a.alloc_str(&"x".repeat(n)) => Exactly(1, n as u64);
    "Arena::try_alloc_str" line!(), |a, n| a.try_alloc_str(&"x".repeat(n)) => Exactly(1, n as u64);
    "Arena::alloc_fmt" line!(), |a, n| toft::format_in!(a, "{n:>9}") => NotBelow(1, 9);
    "Arena::try_alloc_fmt" line!(), |a, n| toft::try_format_in!(a, "{n:>9}") => NotBelow(1, 9);
    "Arena::boxed" line!(), |a, n| a.boxed(n as u64) => Exactly(1, 8);
    "Arena::try_boxed" line!(), |a, n| a.try_boxed(n as u64) => Exactly(1, 8);
    "Arena::boxed_slice" line!(), |a, n| a.boxed_slice(words(n)) => Exactly(1, 4 * n as u64);
    "Arena::try_boxed_slice" line!(), |a, n| a.try_boxed_slice(words(n)) => Exactly(1, 4 * n as u64);
    "Arena::boxed_str" line!(), |a, n| a.boxed_str(&"x".repeat(n)) => Exactly(1, n as u64);
    "Arena::try_boxed_str" line!(), |a, n| a.try_boxed_str(&"x".repeat(n)) => Exactly(1, n as u64);
    "Box::promote" line!(), |a, n| ArenaBox::promote(Arena::new().boxed(n), a) => Exactly(1, WORD);
    "Box::try_promote" line!(), |a, n| ArenaBox::try_promote(Arena::new().boxed(n), a).is_ok() => Exactly(1, WORD);
    "Arena::alloc_drop" line!(), |a, n| a.alloc_drop(vec![n]) => Exactly(1, 3 * WORD);
    "Arena::try_alloc_drop" line!(), |a, n| a.try_alloc_drop(vec![n]) => Exactly(1, 3 * WORD);
    "Arena::alloc_pin" line!(), |a, n| a.scope(|_| n)
        => Exactly(0, 0); // only in arenas that own their memory: see `pinned`
    "Arena::try_alloc_pin" line!(), |a, n| a.scope(|_| n) => Exactly(0, 0);
    // The bytes include the value and the record of its destructor.
    "Scope::alloc_drop" line!(), |a, n| in_scope(a, |s| _ = s.alloc_drop(vec![n])) => Exactly(1, 4 * WORD);
    "Scope::try_alloc_drop" line!(), |a, n| in_scope(a, |s| _ = s.try_alloc_drop(vec![n])) => Exactly(1, 4 * WORD);
    "Arena::alloc_batch" line!(), |a, n| a.alloc_batch([n as u8; 5]) => Exactly(1, 5);
    "Arena::try_alloc_batch" line!(), |a, n| a.try_alloc_batch([n as u8; 5]) => Exactly(1, 5);
    "Arena::alloc_batch_with" line!(), |a, n| a.alloc_batch_with::<_, 5>(|i| (i + n) as u8) => Exactly(1, 5);
    "Arena::try_alloc_batch_with" line!(), |a, n| a.try_alloc_batch_with::<_, 5>(|i| (i + n) as u8) => Exactly(1, 5);
    "Cursor::alloc" line!(), |a, n| a.cursor().alloc(n as u64) => Exactly(1, 8);
    "Cursor::try_alloc" line!(), |a, n| a.cursor().try_alloc(n as u64) => Exactly(1, 8);
    "Cursor::alloc_uninit" line!(), |a, _n| a.cursor().alloc_uninit::<[u8; 13]>() => Exactly(1, 13);
    "Cursor::try_alloc_uninit" line!(), |a, _n| a.cursor().try_alloc_uninit::<[u8; 13]>() => Exactly(1, 13);
    "Pack::alloc_str" line!(), |a, n| a.pack().alloc_str(&"x".repeat(n)) => NotBelow(1, n as u64);
    "Pack::try_alloc_str" line!(), |a, n| a.pack().try_alloc_str(&"x".repeat(n)).map(|_| ()) => NotBelow(1, n as u64);
    "Pack::alloc_bytes" line!(), |a, n| a.pack().alloc_bytes(&vec![7; n]) => NotBelow(1, n as u64);
    "Pack::try_alloc_bytes" line!(), |a, n| a.pack().try_alloc_bytes(&vec![7; n]).map(|_| ()) => NotBelow(1, n as u64);
    "Arena::vec_with_capacity" line!(), |a, n| a.vec_with_capacity::<u32>(n) => NotBelow(1, 4 * n as u64);
    "Arena::try_vec_with_capacity" line!(), |a, n| a.try_vec_with_capacity::<u32>(n).unwrap()
        => NotBelow(1, 4 * n as u64);
    "Arena::vec_from_iter" line!(), |a, n| a.vec_from_iter(words(n)) => NotBelow(1, 4 * n as u64);
    "Arena::try_vec_from_iter" line!(), |a, n| a.try_vec_from_iter(words(n)).unwrap() => NotBelow(1, 4 * n as u64);
    "Arena::string_with_capacity" line!(), |a, n| a.string_with_capacity(n) => NotBelow(1, n as u64);
    "Arena::try_string_with_capacity" line!(), |a, n| a.try_string_with_capacity(n).unwrap() => NotBelow(1, n as u64);
    "Arena::string_from" line!(), |a, n| a.string_from(&"x".repeat(n)) => NotBelow(1, n as u64);
    "Arena::try_string_from" line!(), |a, n| a.try_string_from(&"x".repeat(n)).unwrap() => NotBelow(1, n as u64);
    "Vec::try_push" line!(), |a, n| { a.vec().try_push(n).unwrap(); } => NotBelow(1, WORD);
    "Vec::try_insert" line!(), |a, n| { a.vec().try_insert(0, n).unwrap(); } => NotBelow(1, WORD);
    "Vec::try_extend" line!(), |a, n| { a.vec().try_extend(words(n)).unwrap(); } => NotBelow(1, 4 * n as u64);
    "String::try_reserve" line!(), |a, n| { a.string().try_reserve(n).unwrap(); } => NotBelow(1, n as u64);
    "String::try_push_str" line!(), |a, n| { a.string().try_push_str(&"x".repeat(n)).unwrap(); }
        => NotBelow(1, n as u64);
    "abi::alloc" line!(), |a, n| unsafe { abi::alloc(a.as_raw(), n) } => Exactly(1, n as u64);
    "abi::alloc_aligned" line!(), |a, n| unsafe { abi::alloc_aligned(a.as_raw(), n, 16) } => Exactly(1, n as u64);
    "abi::resize" line!(), |a, n| unsafe { abi::resize(a.as_raw(), std::ptr::null_mut(), 9, n, 8) }
        => Exactly(1, n as u64);
};

/// Public functions of the same files that allocate nothing in an existing arena.
pub const NON_ALLOCATING: &[&str] = &[
    // arena.rs
    "Arena::new",
    "Arena::try_new",
    "Arena::with_capacity",
    "Arena::in_buffer",
    "Arena::in_buffer_or_heap",
    "Arena::reset",
    "Arena::reset_with",
    "Arena::trim",
    "Arena::scope_mut",
    "Arena::stats",
    "Arena::contains",
    "Arena::set_budget",
    "Arena::reserve",
    "Arena::try_reserve",
    "Arena::remaining",
    "Arena::blocks",
    "Arena::mark",
    "Arena::rewind",
    "Arena::as_raw",
    "Arena::into_raw",
    "Arena::from_raw",
    "Arena::borrow_raw",
    // options.rs
    "Options::reserve",
    "Options::budget",
    "Options::source",
    "Options::create",
    // scope.rs
    "Arena::scope",
    "Arena::try_scope",
    "Arena::scope_guard",
    "Arena::try_scope_guard",
    "Scope::new",
    "Scope::try_new",
    "Scope::from_source",
    "Scope::from_source_with",
    "Scope::in_buffer_or",
    // From the macro for guards.
    "arena::reset",
    "arena::reset_with",
    "arena::trim",
    "arena::scope_mut",
    // boxed.rs
    "Box::from_raw",
    "Box::into_raw",
    "Box::leak",
    "Box::into_inner",
    "Box::as_ptr",
    "Box::as_mut_ptr",
    "Box::from_non_null",
    "Box::into_non_null",
    "Box::into_pin",
    "Box::take",
    "Box::write",
    "Box::assume_init",
    "Box::downcast",
    "Box::__unsize",
    // cursor.rs
    "Arena::cursor",
    "Arena::pack",
    // collections.rs
    "Arena::vec",
    "Arena::string",
    "Arena::map",
    "Arena::set",
    // frames.rs: they return arenas
    "Frames::new",
    "Frames::with",
    "Frames::here",
    "Frames::try_here",
    "Frames::advance",
    "Frames::trim",
    "Frames::arenas",
    "Frames::number",
    // owner.rs
    "Owner::new",
    "Owner::try_new",
    "Owner::with",
    "Owner::with_mut",
    "Owner::into_arena",
    // abi.rs
    "abi::info_of",
    "abi::mark",
    "abi::rewind",
    "abi::free",
];

/// An arena that owns its memory, which `alloc_pin` requires.
pub fn pinned(a: &Arena) {
    a.alloc_pin(vec![1]);
    a.try_alloc_pin(vec![1]).unwrap();
}

/// The frame's arena of this thread.
pub fn here(frames: &Frames) -> &Arena {
    frames.here()
}

/// The expected allocations by line and tag.
#[derive(Default, Clone, Debug, PartialEq)]
pub struct Tally(pub BTreeMap<(u32, String), (u64, u64, bool)>);

impl Tally {
    pub fn note(&mut self, line: u32, tag: &str, expected: Expected) {
        let (count, bytes, exact) = match expected {
            Exactly(count, bytes) => (count, bytes, true),
            NotBelow(count, bytes) => (count, bytes, false),
        };
        if count != 0 {
            let at = self.0.entry((line, tag.to_string())).or_insert((0, 0, true));
            *at = (at.0 + count, at.1 + bytes, at.2 && exact);
        }
    }

    pub fn add(&mut self, other: &Tally) {
        for (key, (count, bytes, exact)) in &other.0 {
            let at = self.0.entry(key.clone()).or_insert((0, 0, true));
            *at = (at.0 + count, at.1 + bytes, at.2 && *exact);
        }
    }

    pub fn check(&self, report: &toft::Report, file: &str) {
        let mut theirs: BTreeMap<(u32, String), (u64, u64)> = BTreeMap::new();
        for site in &report.sites {
            let line = match &*site.site.file {
                "" => 0,
                reported if reported.ends_with(file) => site.site.line,
                _ => LIBRARY,
            };
            let at = theirs.entry((line, site.tag.clone())).or_default();
            *at = (at.0 + site.count, at.1 + site.bytes);
        }
        assert!(theirs.keys().eq(self.0.keys()), "call sites: {:?}, {:?}", theirs.keys(), self.0.keys());
        for (key, (count, bytes, exact)) in &self.0 {
            let reported = theirs[key];
            let same = if *exact { reported == (*count, *bytes) } else { reported.0 >= *count && reported.1 >= *bytes };
            assert!(same, "{key:?}: reported {reported:?}, expected {count} of {bytes}");
        }
    }
}

/// Bytes of an arena by tag, eight at a time, in the order of their allocation.
#[derive(Default, Clone, Debug)]
pub struct Granules {
    pub tags: Vec<usize>,
}

impl Granules {
    pub fn push(&mut self, bytes: usize, tag: usize) {
        self.tags.resize(self.tags.len() + bytes.div_ceil(8), tag);
    }

    pub fn pop(&mut self, bytes: usize) {
        self.tags.truncate(self.tags.len() - bytes.div_ceil(8));
    }

    pub fn live(&self) -> u64 {
        self.tags.len() as u64 * 8
    }

    pub fn live_of(&self, tag: usize) -> u64 {
        self.tags.iter().filter(|t| **t == tag).count() as u64 * 8
    }
}
