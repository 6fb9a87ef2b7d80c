//! The hash of types: their names, sizes, and the offsets of their fields.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::any::TypeId;

use crate::{Freeze, FrozenError};

/// Collects the properties of types; [`Freeze::describe`](crate::Freeze::describe) fills it in.
#[derive(Debug)]
pub struct Layout {
    hash: u64,
    align: usize,
    seen: Vec<TypeId>,
    has_memory: bool,
}

impl Layout {
    pub(crate) fn of<R: Freeze>() -> Result<Layout, FrozenError> {
        let mut layout = Layout { hash: 0xcbf2_9ce4_8422_2325, align: 16, seen: Vec::new(), has_memory: true };
        R::describe(&mut layout);
        if layout.has_memory {
            Ok(layout)
        } else {
            Err(FrozenError::Memory)
        }
    }

    /// Never 0.
    pub(crate) fn hash(&self) -> u64 {
        self.hash.max(1)
    }

    /// The largest alignment of the types, at least 16.
    pub(crate) fn largest_align(&self) -> usize {
        self.align
    }

    /// Adds the alignment of a type.
    pub fn align(&mut self, align: usize) {
        self.align = self.align.max(align);
        self.number(align);
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
    pub fn begin<T: Freeze>(&mut self, name: &str) -> bool {
        self.name(name);
        self.number(size_of::<T>());
        self.align(align_of::<T>());
        let id = TypeId::of::<T::At<'static>>(); // two types may have one name
        if self.seen.contains(&id) {
            return false;
        }
        self.has_memory &= self.seen.try_reserve(1).is_ok();
        if self.has_memory {
            self.seen.push(id);
        }
        self.has_memory
    }

    /// Adds a field at an offset.
    pub fn field<T: Freeze>(&mut self, name: &str, offset: usize) {
        self.name(name);
        self.number(offset);
        T::describe(self);
    }
}
