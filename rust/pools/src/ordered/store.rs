//! The memory of a tree's nodes: pieces from its memory, each larger than the one before. A node stays where it is; what
//! is not in use any more is used again.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::alloc::Layout as Bytes;
use core::ptr::NonNull;

use super::node::{Head, Node, Shape};
use crate::layout::Layout;
use toft::AllocError;
use toft::Memory;

/// What a piece begins with, before its nodes.
struct Piece {
    next: Option<NonNull<Piece>>,
    size: usize,
}

pub(super) struct Store {
    oldest: Option<NonNull<Piece>>,
    /// The piece that nodes are cut from, and where in it the next one lies. Those behind it are not in use.
    current: Option<NonNull<Piece>>,
    used: usize,
    leaves: Option<Node>,
    inners: Option<Node>,
    /// Bytes of all pieces.
    pub bytes: usize,
}

impl Store {
    pub fn new() -> Store {
        Store { oldest: None, current: None, used: 0, leaves: None, inners: None, bytes: 0 }
    }

    /// A leaf with no keys.
    #[inline]
    pub fn leaf<K, V, L: Layout<V>>(&mut self, memory: &impl Memory) -> Result<Node, AllocError> {
        let node = match self.leaves {
            Some(node) => {
                // SAFETY: a node that is not in use names the next such one.
                self.leaves = unsafe { node.as_ref() }.next;
                node
            }
            None => self.cut::<K, V, L>(Shape::<K, V, L>::LEAF, memory)?,
        };
        // SAFETY: the node is this tree's and not in use; it has room for its head and keys.
        unsafe {
            node.write(Head { parent: None, prev: None, next: None, start: 0, end: 0, stale: false });
            Shape::<K, V, L>::pad(node, 0, Shape::<K, V, L>::PLACES);
        }
        Ok(node)
    }

    /// An inner node with no children.
    pub fn inner<K, V, L: Layout<V>>(&mut self, memory: &impl Memory) -> Result<Node, AllocError> {
        let node = match self.inners {
            Some(node) => {
                // SAFETY: a node that is not in use names the next such one.
                self.inners = unsafe { node.as_ref() }.next;
                node
            }
            None => self.cut::<K, V, L>(Shape::<K, V, L>::INNER, memory)?,
        };
        // SAFETY: the node is this tree's and not in use; it has room for its head and bounds.
        unsafe {
            node.write(Head { parent: None, prev: None, next: None, start: 0, end: 0, stale: false });
            Shape::<K, V, L>::pad_bounds(node, 0);
        }
        Ok(node)
    }

    /// # Safety
    /// The leaf is this store's, and used no more. Its keys and values are moved or dropped.
    pub unsafe fn free_leaf(&mut self, node: Node) {
        // SAFETY: the caller's contract.
        unsafe { (*node.as_ptr()).next = self.leaves.replace(node) }
    }

    /// # Safety
    /// The inner node is this store's, and used no more.
    pub unsafe fn free_inner(&mut self, node: Node) {
        // SAFETY: the caller's contract.
        unsafe { (*node.as_ptr()).next = self.inners.replace(node) }
    }

    /// Takes all nodes back, and keeps the memory.
    pub fn reset<K, V, L: Layout<V>>(&mut self) {
        (self.leaves, self.inners, self.current) = (None, None, self.oldest);
        self.used = Shape::<K, V, L>::ALIGN;
    }

    /// Room for so many nodes of each kind, beside those that are in use.
    pub fn reserve<K, V, L: Layout<V>>(
        &mut self,
        leaves: usize,
        inners: usize,
        memory: &impl Memory,
    ) -> Result<(), AllocError> {
        let bytes = |n: usize, size: usize| n.checked_mul(size).ok_or(AllocError);
        let nodes = bytes(leaves, Shape::<K, V, L>::LEAF)?
            .checked_add(bytes(inners, Shape::<K, V, L>::INNER)?)
            .and_then(|sum| sum.checked_add(Shape::<K, V, L>::ALIGN))
            .ok_or(AllocError)?;
        self.add::<K, V, L>(nodes, memory)
    }

    #[cold]
    fn cut<K, V, L: Layout<V>>(&mut self, size: usize, memory: &impl Memory) -> Result<Node, AllocError> {
        loop {
            if let Some(piece) = self.current {
                // SAFETY: the pieces are alive, and `used` is within the current one.
                unsafe {
                    if (*piece.as_ptr()).size - self.used >= size {
                        let node = piece.cast::<u8>().add(self.used).cast();
                        self.used += size;
                        return Ok(node);
                    }
                    // What is left of this piece holds no node of this size.
                    if let Some(next) = (*piece.as_ptr()).next {
                        (self.current, self.used) = (Some(next), Shape::<K, V, L>::ALIGN);
                        continue;
                    }
                }
            }
            let align = Shape::<K, V, L>::ALIGN;
            self.add::<K, V, L>(align + size.max((self.bytes / 4).next_multiple_of(align)), memory)?;
        }
    }

    /// One more piece.
    fn add<K, V, L: Layout<V>>(&mut self, size: usize, memory: &impl Memory) -> Result<(), AllocError> {
        let layout = Self::layout::<K, V, L>(size).ok_or(AllocError)?;
        let piece = memory.allocate(layout)?.cast::<Piece>();
        // SAFETY: memory of that layout; a piece's head fits into the room before its nodes.
        unsafe { piece.write(Piece { next: None, size }) };
        match self.current {
            None => {
                // No piece at all, since the first one becomes current.
                (self.oldest, self.current, self.used) = (Some(piece), Some(piece), Shape::<K, V, L>::ALIGN);
            }
            // SAFETY: the current piece is alive.
            Some(mut last) => unsafe {
                while let Some(next) = (*last.as_ptr()).next {
                    last = next;
                }
                (*last.as_ptr()).next = Some(piece);
            },
        }
        self.bytes += size;
        Ok(())
    }

    fn layout<K, V, L: Layout<V>>(size: usize) -> Option<Bytes> {
        Shape::<K, V, L>::bytes(size)
    }

    /// Gives all memory back.
    ///
    /// # Safety
    /// The memory is the one all pieces were taken from. No node is used any more.
    pub unsafe fn put<K, V, L: Layout<V>>(&mut self, memory: &impl Memory) {
        let mut piece = self.oldest;
        *self = Store::new();
        while let Some(this) = piece {
            // SAFETY: the pieces are alive, each was taken with this layout; the caller's contract.
            unsafe {
                let Piece { next, size } = this.read();
                piece = next;
                memory.deallocate(this.cast(), Self::layout::<K, V, L>(size).unwrap_unchecked());
            }
        }
    }
}
