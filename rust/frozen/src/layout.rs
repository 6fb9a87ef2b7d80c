//! The hash of types: their names, sizes, and the offsets of their fields.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::any::type_name;

/// Collects the properties of types; [`Freeze::describe`](crate::Freeze::describe) fills it in.
#[derive(Debug)]
pub struct Layout {
    hash: u64,
    seen: Vec<&'static str>,
}

impl Layout {
    pub(crate) fn new() -> Layout {
        Layout { hash: 0xcbf2_9ce4_8422_2325, seen: Vec::new() }
    }

    /// Never 0.
    pub(crate) fn hash(&self) -> u64 {
        self.hash.max(1)
    }

    /// Adds a number.
    pub fn number(&mut self, n: usize) {
        self.hash = (self.hash ^ n as u64).wrapping_mul(0x0000_0100_0000_01b3);
        self.hash ^= self.hash >> 29;
    }

    /// Adds a name.
    pub fn name(&mut self, name: &str) {
        self.number(name.len());
        name.bytes().for_each(|byte| self.number(byte.into()));
    }

    /// Begins the description of a type: adds its name, size and alignment. False: it was described before, as a list
    /// refers to its own type.
    pub fn begin<T>(&mut self, name: &str) -> bool {
        self.name(name);
        self.number(size_of::<T>());
        self.number(align_of::<T>());
        let new = !self.seen.contains(&type_name::<T>());
        if new {
            self.seen.push(type_name::<T>());
        }
        new
    }

    /// Adds a field at an offset.
    pub fn field<T: crate::Freeze>(&mut self, name: &str, offset: usize) {
        self.name(name);
        self.number(offset);
        T::describe(self);
    }
}
