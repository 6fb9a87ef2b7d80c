//! The check of a file's content: each value that its root refers to, in the order of a depth-first walk.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::format::{FrozenError, START, WIDTH};
use crate::Freeze;

/// A function that checks the values of a type in a range of bytes, given by its offset and its size.
pub(crate) type CheckFn = fn(&mut Content<'_>, usize, usize) -> bool;
/// Offset, bytes and type of an object.
type Key = (usize, usize, usize);

enum Step {
    Enter(Key, CheckFn),
    Leave(Key),
}

/// Objects up to this size are checked where one refers to them, perhaps several times, while that is cheap.
const SMALL: usize = 512;
/// How deep such checks nest.
const DEPTH: usize = 16;
/// How often the content may be checked so, and in all, where objects overlap.
const DIRECT: usize = 4;
const OVERLAPS: usize = 64;

/// The content of a file that is checked: [`Freeze::check`] reads it.
pub struct Content<'f> {
    /// Header and content.
    bytes: &'f [u8],
    /// The objects that were checked, or whose references are followed just now: then another reference is one to itself.
    done: HashMap<Key, bool, BuildHasherDefault<KeyHasher>>,
    pending: Vec<Step>,
    /// Bytes that may still be checked where one refers to them, and in all.
    direct: usize,
    left: usize,
    depth: usize,
    error: Option<FrozenError>,
}

/// Precondition: T has bytes.
fn check_all<T: Freeze>(content: &mut Content<'_>, at: usize, size: usize) -> bool {
    (at..at + size).step_by(size_of::<T>()).all(|at| T::check(content, at))
}

impl Content<'_> {
    /// Checks a value and all that it refers to. The content's pointers are addresses in `bytes`. Precondition: the root
    /// lies inside and is aligned.
    pub(crate) fn check<R: Freeze>(bytes: &[u8], root: usize) -> Result<(), FrozenError> {
        let (direct, left) = (bytes.len().saturating_mul(DIRECT), bytes.len().saturating_mul(OVERLAPS));
        let (done, pending) = (HashMap::default(), Vec::new());
        let mut content = Content { bytes, done, pending, direct, left, depth: 0, error: None };
        if R::SHAPE.is_checked {
            _ = content.follow_later(root, size_of::<R>(), check_all::<R>);
        }
        while let (Some(step), None) = (content.pending.pop(), &content.error) {
            content.run(step);
        }
        content.error.map_or(Ok(()), Err)
    }

    /// Returns whether the object may be followed.
    fn run(&mut self, step: Step) -> bool {
        let (key, check) = match step {
            Step::Leave(key) => return self.set(key, true),
            Step::Enter(key, check) => (key, check),
        };
        if let Some(is_done) = self.done.get(&key) {
            debug_assert!(is_done, "an object is pending again while its references are followed");
            return true;
        }
        if key.1 > self.left {
            return self.refuse(key.0);
        }
        self.left -= key.1;
        let others = self.pending.len();
        if !self.set(key, false) || !self.push(Step::Leave(key)) || !check(self, key.0, key.1) {
            return self.refuse(key.0);
        }
        if self.pending.len() > others + 1 {
            return true; // its references come first
        }
        self.pending.pop();
        self.set(key, true)
    }

    fn set(&mut self, key: Key, is_done: bool) -> bool {
        let has_room = self.done.try_reserve(1).is_ok();
        if has_room {
            self.done.insert(key, is_done);
        }
        self.needs(has_room)
    }

    fn push(&mut self, step: Step) -> bool {
        let has_room = self.pending.try_reserve(1).is_ok();
        if has_room {
            self.pending.push(step);
        }
        self.needs(has_room)
    }

    fn needs(&mut self, has_room: bool) -> bool {
        if !has_room {
            self.error.get_or_insert(FrozenError::Memory);
        }
        has_room
    }

    /// Remembers that there is no value at an offset. Returns false, as [`Freeze::check`] does then.
    #[cold]
    pub fn refuse(&mut self, at: usize) -> bool {
        self.error.get_or_insert(FrozenError::Invalid(at));
        false
    }

    /// Precondition: the bytes lie in the content.
    pub(crate) fn slice(&self, at: usize, size: usize) -> &[u8] {
        &self.bytes[at..at + size]
    }

    /// The bytes of a value. Precondition: they lie in the content.
    #[inline]
    pub fn bytes<const N: usize>(&self, at: usize) -> [u8; N] {
        self.bytes[at..at + N].try_into().expect("N bytes")
    }

    /// An integer of 0, 1, 2, 4, 8 or 16 bytes. Precondition: they lie in the content.
    #[inline]
    pub fn integer(&self, at: usize, size: usize) -> u128 {
        match size {
            0 => 0,
            1 => self.bytes[at].into(),
            2 => u16::from_ne_bytes(self.bytes(at)).into(),
            4 => u32::from_ne_bytes(self.bytes(at)).into(),
            8 => u64::from_ne_bytes(self.bytes(at)).into(),
            _ => u128::from_ne_bytes(self.bytes(at)),
        }
    }

    #[inline]
    pub(crate) fn word(&self, at: usize) -> usize {
        usize::from_ne_bytes(self.bytes::<WIDTH>(at))
    }

    /// Checks the address at `at`, of `count` values, and the values, now or later.
    #[inline]
    pub(crate) fn follow<T: Freeze>(&mut self, at: usize, count: usize) -> bool {
        match self.values_of::<T>(at, count) {
            None => self.refuse(at),
            Some((_, 0)) => true,
            Some(_) if !T::SHAPE.is_checked => true,
            Some((to, size)) if self.is_cheap(size) => self.check_now(to, size, check_all::<T>),
            Some((to, size)) => self.follow_later(to, size, check_all::<T>),
        }
    }

    /// The same for bytes that `check` decides on as a whole.
    #[inline]
    pub(crate) fn follow_bytes(&mut self, at: usize, count: usize, check: CheckFn) -> bool {
        match self.values_of::<u8>(at, count) {
            None => self.refuse(at),
            Some((_, 0)) => check(self, 0, 0),
            Some((to, size)) if self.is_cheap(size) => self.check_now(to, size, check),
            Some((to, size)) => self.run(Step::Enter((to, size, check as usize), check)),
        }
    }

    /// The offset and the size of values that the address at `at` refers to, if they lie in the content.
    #[inline]
    fn values_of<T>(&self, at: usize, count: usize) -> Option<(usize, usize)> {
        let (address, size) = (self.word(at), size_of::<T>().checked_mul(count)?);
        if address == 0 || address % align_of::<T>() != 0 {
            return None;
        }
        let to = address.wrapping_sub(self.bytes.as_ptr().addr());
        let is_inside = to >= START && to <= self.bytes.len() && size <= self.bytes.len() - to;
        (size == 0 || is_inside).then_some((to, size))
    }

    #[inline]
    fn is_cheap(&self, size: usize) -> bool {
        size <= SMALL && size <= self.direct && self.depth < DEPTH
    }

    #[inline]
    fn check_now(&mut self, to: usize, size: usize, check: CheckFn) -> bool {
        self.direct -= size;
        self.depth += 1;
        let is_valid = check(self, to, size);
        self.depth -= 1;
        is_valid
    }

    /// Remembers the object, so that it is checked once, and that one refers to itself is found.
    fn follow_later(&mut self, to: usize, size: usize, check: CheckFn) -> bool {
        let key = (to, size, check as usize);
        match self.done.get(&key) {
            Some(true) => true,
            Some(false) => self.refuse(to), // it refers to itself
            // Each word refers once, and in checks at once some more times, unless objects overlap.
            None if self.pending.len() > self.bytes.len() / WIDTH * (DIRECT + 2) => self.refuse(to),
            None => self.push(Step::Enter(key, check)),
        }
    }
}

#[derive(Default)]
struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_usize(usize::from(*byte)));
    }

    #[inline]
    fn write_usize(&mut self, number: usize) {
        self.0 = (self.0 ^ number as u64).rotate_left(29).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}
