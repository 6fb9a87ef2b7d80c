//! An arena of this crate with a copied table, so that the crate treats it as one of another language: a foreign arena
//! that grows, claims ranges and allocates beside them.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![allow(dead_code, unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]

use std::ops::Deref;
use std::sync::OnceLock;

use toft::abi::Ops;
use toft::Arena;

pub struct Disguised {
    arena: Option<Arena>,
    own: *const Ops,
}

impl Disguised {
    pub fn new(arena: Arena) -> Disguised {
        static COPY: OnceLock<Ops> = OnceLock::new();
        // SAFETY: the arena is alive; the table is plain data that outlives it.
        unsafe {
            let head = arena.as_raw().as_ref();
            let own = head.ops.get();
            let copy = || Ops { size: size_of::<Ops>() as u32, ..own.read() };
            head.ops.set(COPY.get_or_init(copy));
            Disguised { arena: Some(arena), own }
        }
    }

    pub fn arena(&mut self) -> &mut Arena {
        self.arena.as_mut().unwrap()
    }
}

impl Deref for Disguised {
    type Target = Arena;
    fn deref(&self) -> &Arena {
        self.arena.as_ref().unwrap()
    }
}

impl Drop for Disguised {
    /// The provider may reuse the head for another arena, which must have its own table again.
    fn drop(&mut self) {
        // SAFETY: the arena is alive.
        unsafe { self.as_raw().as_ref() }.ops.set(self.own);
        self.arena = None;
    }
}
