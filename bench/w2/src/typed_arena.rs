//! typed-arena: values of one type, in vectors. It has no reset: a batch ends with the arena, and the next one begins
//! with `with_capacity` for all of it.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use crate::contender::{Batch, Contender, Handle, Need};
use std::alloc::Layout;
use std::hint::unreachable_unchecked;
use std::mem::MaybeUninit;
use typed_arena::Arena;

type Values<const WORDS: usize> = Arena<MaybeUninit<[u64; WORDS]>>;

/// An arena of one of the cases' types, by its number of words.
pub enum Typed {
    W2(Values<2>),
    W6(Values<6>),
    W8(Values<8>),
    W32(Values<32>),
    W128(Values<128>),
    W512(Values<512>),
    W8192(Values<8192>),
}

pub struct TypedArena {
    arena: Typed,
    batch: Batch,
}

impl Contender for TypedArena {
    const NAME: &'static str = "typed-arena";
    const LACKS_EMPTY: Option<&'static str> = Some("has no reset");
    type Handle<'a> = &'a Typed;

    fn lacks(need: Need) -> Option<&'static str> {
        (!matches!(need, Need::Typed | Need::Lifetime)).then_some("an arena has values of one type, taken one by one")
    }
    fn new(batch: Batch) -> Self {
        TypedArena { arena: Typed::W8(Arena::new()), batch }
    }
    fn with_batch(batch: Batch) -> Self {
        let n = batch.count;
        let arena = match batch.size {
            16 => Typed::W2(Arena::with_capacity(n)),
            48 => Typed::W6(Arena::with_capacity(n)),
            64 => Typed::W8(Arena::with_capacity(n)),
            256 => Typed::W32(Arena::with_capacity(n)),
            1024 => Typed::W128(Arena::with_capacity(n)),
            4096 => Typed::W512(Arena::with_capacity(n)),
            65536 => Typed::W8192(Arena::with_capacity(n)),
            size => unreachable!("no arena for values of {size} bytes"),
        };
        TypedArena { arena, batch }
    }
    #[inline(always)]
    fn handle(&mut self) -> &Typed {
        &self.arena
    }
    unsafe fn reset(&mut self, _taken: impl Iterator<Item = (*mut u8, Layout)>) {
        *self = TypedArena::with_batch(self.batch);
    }
}

macro_rules! take_from {
    ($self:expr, $variant:ident) => {
        match $self {
            Typed::$variant(arena) => arena.alloc(MaybeUninit::uninit()).as_mut_ptr().cast(),
            // SAFETY: `with_batch` chose the variant by the size of the values that are allocated here. A check would
            // be a cost that its users, who know the type, do not have.
            _ => unsafe { unreachable_unchecked() },
        }
    };
}

impl Handle for &Typed {
    #[inline(always)]
    fn take<T: 'static>(&mut self) -> *mut T {
        match size_of::<T>() {
            16 => take_from!(self, W2),
            48 => take_from!(self, W6),
            64 => take_from!(self, W8),
            256 => take_from!(self, W32),
            1024 => take_from!(self, W128),
            4096 => take_from!(self, W512),
            65536 => take_from!(self, W8192),
            size => unreachable!("no arena for values of {size} bytes"),
        }
    }
}
