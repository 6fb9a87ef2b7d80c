//! Who else counts: every public function that allocates, with what it asks for; and bytes by tag, one by one.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![allow(dead_code)]

use std::alloc::Layout;
use std::collections::BTreeMap;

use toft::{abi, Arena, Box as ArenaBox, Frames, Scope};

/// What a call asks for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Asks {
    /// So many allocations of so many bytes in all.
    Of(u64, u64),
    /// At least: it grows as it goes.
    Grows(u64, u64),
}
use Asks::*;

/// It knows a line of the library's alone: hashbrown does not hand on who asks.
pub const LIBRARY: u32 = 1;

pub struct Counted {
    /// As `Type::function`.
    pub name: &'static str,
    /// The line that a checked arena tells.
    pub line: u32,
    /// Calls it, with a size from 1 on.
    pub call: fn(&Arena, usize) -> Asks,
}

const WORD: u64 = size_of::<usize>() as u64;

fn words(n: usize) -> Vec<u32> {
    (0..n as u32).collect()
}

/// `n` values whose number is not known before.
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
    ($($name:literal $line:expr, |$a:ident, $n:ident| $call:expr => $asks:expr;)*) => {
        &[$(Counted { name: $name, line: $line, call: |$a, $n| { let _ = $call; $asks } }),*]
    };
}

/// One line for each: the line is who asks.
#[rustfmt::skip]
pub const COUNTED: &[Counted] = counted! {
    "Arena::alloc" line!(), |a, n| a.alloc(n as u64) => Of(1, 8);
    "Arena::try_alloc" line!(), |a, n| a.try_alloc([n as u16; 3]) => Of(1, 6);
    "Arena::alloc_with" line!(), |a, n| a.alloc_with(|| n as u8) => Of(1, 1);
    "Arena::try_alloc_with" line!(), |a, n| a.try_alloc_with(|| [n; 4]) => Of(1, 4 * WORD);
    "Arena::alloc_try_with" line!(), |a, n| a.alloc_try_with(|| small(n)) => Of(1, 8);
    "Arena::try_alloc_try_with" line!(), |a, n| a.try_alloc_try_with(|| small(n)) => Of(1, 8);
    "Arena::alloc_uninit" line!(), |a, _n| a.alloc_uninit::<[u8; 11]>() => Of(1, 11);
    "Arena::try_alloc_uninit" line!(), |a, _n| a.try_alloc_uninit::<[u8; 12]>() => Of(1, 12);
    "Arena::alloc_zeroed" line!(), |a, _n| a.alloc_zeroed::<[u64; 9]>() => Of(1, 72);
    "Arena::try_alloc_zeroed" line!(), |a, _n| a.try_alloc_zeroed::<u32>() => Of(1, 4);
    "Arena::alloc_layout" line!(), |a, n| a.alloc_layout(layout(n)) => Of(1, n as u64);
    "Arena::try_alloc_layout" line!(), |a, n| a.try_alloc_layout(layout(n)) => Of(1, n as u64);
    "Arena::alloc_slice_copy" line!(), |a, n| a.alloc_slice_copy(&words(n)) => Of(1, 4 * n as u64);
    "Arena::try_alloc_slice_copy" line!(), |a, n| a.try_alloc_slice_copy(&words(n)) => Of(1, 4 * n as u64);
    "Arena::alloc_slice_clone" line!(), |a, n| a.alloc_slice_clone(&words(n)) => Of(1, 4 * n as u64);
    "Arena::try_alloc_slice_clone" line!(), |a, n| a.try_alloc_slice_clone(&words(n)) => Of(1, 4 * n as u64);
    "Arena::alloc_slice_fill" line!(), |a, n| a.alloc_slice_fill(n, 7u8) => Of(1, n as u64);
    "Arena::try_alloc_slice_fill" line!(), |a, n| a.try_alloc_slice_fill(n, 7u8) => Of(1, n as u64);
    "Arena::alloc_slice_fill_with" line!(), |a, n| a.alloc_slice_fill_with(n, |i| i) => Of(1, WORD * n as u64);
    "Arena::try_alloc_slice_fill_with" line!(), |a, n| a.try_alloc_slice_fill_with(n, |i| i) => Of(1, WORD * n as u64);
    "Arena::alloc_slice_try_fill_with" line!(), |a, n| a.alloc_slice_try_fill_with(n, Ok::<_, ()>) => Of(1, WORD * n as u64);
    "Arena::try_alloc_slice_try_fill_with" line!(), |a, n| a.try_alloc_slice_try_fill_with(n, Ok::<_, ()>) => Of(1, WORD * n as u64);
    "Arena::alloc_slice_default" line!(), |a, n| a.alloc_slice_default::<u16>(n) => Of(1, 2 * n as u64);
    "Arena::try_alloc_slice_default" line!(), |a, n| a.try_alloc_slice_default::<u16>(n) => Of(1, 2 * n as u64);
    "Arena::alloc_slice_from_iter" line!(), |a, n| a.alloc_slice_from_iter(words(n)) => Of(1, 4 * n as u64);
    "Arena::try_alloc_slice_from_iter" line!(), |a, n| a.try_alloc_slice_from_iter(some(n)) => Grows(1, 4 * n as u64);
    "Arena::alloc_uninit_slice" line!(), |a, n| a.alloc_uninit_slice::<u16>(n) => Of(1, 2 * n as u64);
    "Arena::try_alloc_uninit_slice" line!(), |a, n| a.try_alloc_uninit_slice::<u16>(n) => Of(1, 2 * n as u64);
    "Arena::alloc_zeroed_slice" line!(), |a, n| a.alloc_zeroed_slice::<u16>(n) => Of(1, 2 * n as u64);
    "Arena::try_alloc_zeroed_slice" line!(), |a, n| a.try_alloc_zeroed_slice::<u16>(n) => Of(1, 2 * n as u64);
    "Arena::alloc_str" line!(), |a, n| a.alloc_str(&"x".repeat(n)) => Of(1, n as u64);
    "Arena::try_alloc_str" line!(), |a, n| a.try_alloc_str(&"x".repeat(n)) => Of(1, n as u64);
    "Arena::alloc_fmt" line!(), |a, n| toft::format_in!(a, "{n:>9}") => Grows(1, 9);
    "Arena::try_alloc_fmt" line!(), |a, n| toft::try_format_in!(a, "{n:>9}") => Grows(1, 9);
    "Arena::boxed" line!(), |a, n| a.boxed(n as u64) => Of(1, 8);
    "Arena::try_boxed" line!(), |a, n| a.try_boxed(n as u64) => Of(1, 8);
    "Arena::boxed_slice" line!(), |a, n| a.boxed_slice(words(n)) => Of(1, 4 * n as u64);
    "Arena::try_boxed_slice" line!(), |a, n| a.try_boxed_slice(words(n)) => Of(1, 4 * n as u64);
    "Arena::boxed_str" line!(), |a, n| a.boxed_str(&"x".repeat(n)) => Of(1, n as u64);
    "Arena::try_boxed_str" line!(), |a, n| a.try_boxed_str(&"x".repeat(n)) => Of(1, n as u64);
    "Box::promote" line!(), |a, n| ArenaBox::promote(Arena::new().boxed(n), a) => Of(1, WORD);
    "Box::try_promote" line!(), |a, n| ArenaBox::try_promote(Arena::new().boxed(n), a).is_ok() => Of(1, WORD);
    "Arena::alloc_drop" line!(), |a, n| a.alloc_drop(vec![n]) => Of(1, 3 * WORD);
    "Arena::try_alloc_drop" line!(), |a, n| a.try_alloc_drop(vec![n]) => Of(1, 3 * WORD);
    "Arena::alloc_pin" line!(), |a, n| a.scope(|_| n) => Of(0, 0); // of arenas that end with their memory: see `pinned`
    "Arena::try_alloc_pin" line!(), |a, n| a.scope(|_| n) => Of(0, 0);
    // With the value, its own destructor.
    "Scope::alloc_drop" line!(), |a, n| in_scope(a, |s| _ = s.alloc_drop(vec![n])) => Of(1, 4 * WORD);
    "Scope::try_alloc_drop" line!(), |a, n| in_scope(a, |s| _ = s.try_alloc_drop(vec![n])) => Of(1, 4 * WORD);
    "Arena::alloc_batch" line!(), |a, n| a.alloc_batch([n as u8; 5]) => Of(1, 5);
    "Arena::try_alloc_batch" line!(), |a, n| a.try_alloc_batch([n as u8; 5]) => Of(1, 5);
    "Arena::alloc_batch_with" line!(), |a, n| a.alloc_batch_with::<_, 5>(|i| (i + n) as u8) => Of(1, 5);
    "Arena::try_alloc_batch_with" line!(), |a, n| a.try_alloc_batch_with::<_, 5>(|i| (i + n) as u8) => Of(1, 5);
    "Cursor::alloc" line!(), |a, n| a.cursor().alloc(n as u64) => Of(1, 8);
    "Cursor::try_alloc" line!(), |a, n| a.cursor().try_alloc(n as u64) => Of(1, 8);
    "Cursor::alloc_uninit" line!(), |a, _n| a.cursor().alloc_uninit::<[u8; 13]>() => Of(1, 13);
    "Cursor::try_alloc_uninit" line!(), |a, _n| a.cursor().try_alloc_uninit::<[u8; 13]>() => Of(1, 13);
    "Pack::alloc_str" line!(), |a, n| a.pack().alloc_str(&"x".repeat(n)) => Grows(1, n as u64);
    "Pack::try_alloc_str" line!(), |a, n| a.pack().try_alloc_str(&"x".repeat(n)).map(|_| ()) => Grows(1, n as u64);
    "Pack::alloc_bytes" line!(), |a, n| a.pack().alloc_bytes(&vec![7; n]) => Grows(1, n as u64);
    "Pack::try_alloc_bytes" line!(), |a, n| a.pack().try_alloc_bytes(&vec![7; n]).map(|_| ()) => Grows(1, n as u64);
    "Arena::vec_with_capacity" line!(), |a, n| a.vec_with_capacity::<u32>(n) => Grows(1, 4 * n as u64);
    "Arena::try_vec_with_capacity" line!(), |a, n| a.try_vec_with_capacity::<u32>(n).unwrap() => Grows(1, 4 * n as u64);
    "Arena::vec_from_iter" line!(), |a, n| a.vec_from_iter(words(n)) => Grows(1, 4 * n as u64);
    "Arena::try_vec_from_iter" line!(), |a, n| a.try_vec_from_iter(words(n)).unwrap() => Grows(1, 4 * n as u64);
    "Arena::string_with_capacity" line!(), |a, n| a.string_with_capacity(n) => Grows(1, n as u64);
    "Arena::try_string_with_capacity" line!(), |a, n| a.try_string_with_capacity(n).unwrap() => Grows(1, n as u64);
    "Arena::string_from" line!(), |a, n| a.string_from(&"x".repeat(n)) => Grows(1, n as u64);
    "Arena::try_string_from" line!(), |a, n| a.try_string_from(&"x".repeat(n)).unwrap() => Grows(1, n as u64);
    "Vec::try_push" line!(), |a, n| { a.vec().try_push(n).unwrap(); } => Grows(1, WORD);
    "Vec::try_extend" line!(), |a, n| { a.vec().try_extend(words(n)).unwrap(); } => Grows(1, 4 * n as u64);
    "String::try_reserve" line!(), |a, n| { a.string().try_reserve(n).unwrap(); } => Grows(1, n as u64);
    "String::try_push_str" line!(), |a, n| { a.string().try_push_str(&"x".repeat(n)).unwrap(); } => Grows(1, n as u64);
    "abi::alloc" line!(), |a, n| unsafe { abi::alloc(a.as_raw(), n) } => Of(1, n as u64);
    "abi::alloc_aligned" line!(), |a, n| unsafe { abi::alloc_aligned(a.as_raw(), n, 16) } => Of(1, n as u64);
    "abi::resize" line!(), |a, n| unsafe { abi::resize(a.as_raw(), std::ptr::null_mut(), 0, n, 8) } => Of(1, n as u64);
};

/// Public functions of the same files that allocate nothing in an arena that there is.
pub const QUIET: &[&str] = &[
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
    // Of the macro for guards.
    "arena::reset",
    "arena::reset_with",
    "arena::trim",
    "arena::scope_mut",
    // boxed.rs
    "Box::from_raw",
    "Box::into_raw",
    "Box::leak",
    "Box::into_inner",
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
    // frames.rs: they give arenas
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

/// An arena that has all its memory to itself, which those that pin want.
pub fn pinned(a: &Arena) {
    a.alloc_pin(vec![1]);
    a.try_alloc_pin(vec![1]).unwrap();
}

/// Arenas of frames are arenas.
pub fn here(frames: &Frames) -> &Arena {
    frames.here()
}

/// What was asked for, by line and tag.
#[derive(Default, Clone, Debug, PartialEq)]
pub struct Tally(pub BTreeMap<(u32, String), (u64, u64, bool)>);

impl Tally {
    pub fn note(&mut self, line: u32, tag: &str, asks: Asks) {
        let (count, bytes, exact) = match asks {
            Of(count, bytes) => (count, bytes, true),
            Grows(count, bytes) => (count, bytes, false),
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
                told if told.ends_with(file) => site.site.line,
                _ => LIBRARY,
            };
            let at = theirs.entry((line, site.tag.clone())).or_default();
            *at = (at.0 + site.count, at.1 + site.bytes);
        }
        assert!(theirs.keys().eq(self.0.keys()), "who asked: {:?}, {:?}", theirs.keys(), self.0.keys());
        for (key, (count, bytes, exact)) in &self.0 {
            let told = theirs[key];
            let same = if *exact { told == (*count, *bytes) } else { told.0 >= *count && told.1 >= *bytes };
            assert!(same, "{key:?}: told {told:?}, asked {count} of {bytes}");
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

    pub fn fall(&mut self, bytes: usize) {
        self.tags.truncate(self.tags.len() - bytes.div_ceil(8));
    }

    pub fn live(&self) -> u64 {
        self.tags.len() as u64 * 8
    }

    pub fn live_of(&self, tag: usize) -> u64 {
        self.tags.iter().filter(|t| **t == tag).count() as u64 * 8
    }
}
