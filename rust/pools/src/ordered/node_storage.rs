//! The memory of a tree's nodes: chunks from its memory, each larger than the one before. A node stays where it is;
//! what is not in use any more is used again.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::alloc::Layout;
use core::ptr::NonNull;

use super::node::{Head, Node, NodeLayout};
use crate::field_layout::FieldLayout;
use toft::AllocError;
use toft::Memory;

/// What a chunk begins with, before its nodes.
struct Chunk {
    next: Option<NonNull<Chunk>>,
    size: usize,
}

pub(super) struct NodeStorage {
    oldest: Option<NonNull<Chunk>>,
    /// The chunk that nodes are cut from, and where in it the next one lies. Those behind it are not in use.
    current: Option<NonNull<Chunk>>,
    used: usize,
    leaves: Option<Node>,
    inners: Option<Node>,
    /// Layout of all chunks.
    pub bytes: usize,
}

impl NodeStorage {
    pub fn new() -> NodeStorage {
        NodeStorage { oldest: None, current: None, used: 0, leaves: None, inners: None, bytes: 0 }
    }

    /// A leaf with no keys.
    #[inline]
    pub fn leaf<K, V, L: FieldLayout<V>>(&mut self, memory: &impl Memory) -> Result<Node, AllocError> {
        let node = match self.leaves {
            Some(node) => {
                // SAFETY: a node that is not in use names the next such one.
                self.leaves = unsafe { node.as_ref() }.next;
                node
            }
            None => self.cut::<K, V, L>(NodeLayout::<K, V, L>::LEAF, memory)?,
        };
        // SAFETY: the node is this tree's and not in use; it has room for its head and keys.
        unsafe {
            node.write(Head { parent: None, prev: None, next: None, start: 0, end: 0, stale: false });
            NodeLayout::<K, V, L>::pad(node, 0, NodeLayout::<K, V, L>::LEAF_CAPACITY);
        }
        Ok(node)
    }

    /// An inner node with no children.
    pub fn inner<K, V, L: FieldLayout<V>>(&mut self, memory: &impl Memory) -> Result<Node, AllocError> {
        let node = match self.inners {
            Some(node) => {
                // SAFETY: a node that is not in use names the next such one.
                self.inners = unsafe { node.as_ref() }.next;
                node
            }
            None => self.cut::<K, V, L>(NodeLayout::<K, V, L>::INNER, memory)?,
        };
        // SAFETY: the node is this tree's and not in use; it has room for its head and separators.
        unsafe {
            node.write(Head { parent: None, prev: None, next: None, start: 0, end: 0, stale: false });
            NodeLayout::<K, V, L>::pad_separators(node, 0);
        }
        Ok(node)
    }

    /// # Safety
    /// The leaf is this storage's, and not used again. Its keys and values are moved or dropped.
    pub unsafe fn free_leaf(&mut self, node: Node) {
        // SAFETY: the caller's contract.
        unsafe { (*node.as_ptr()).next = self.leaves.replace(node) }
    }

    /// # Safety
    /// The inner node is this storage's, and not used again.
    pub unsafe fn free_inner(&mut self, node: Node) {
        // SAFETY: the caller's contract.
        unsafe { (*node.as_ptr()).next = self.inners.replace(node) }
    }

    /// Takes all nodes back, and keeps the memory.
    pub fn reset<K, V, L: FieldLayout<V>>(&mut self) {
        (self.leaves, self.inners, self.current) = (None, None, self.oldest);
        self.used = NodeLayout::<K, V, L>::ALIGN;
    }

    /// Room for so many nodes of each kind, beside those that are in use.
    pub fn reserve<K, V, L: FieldLayout<V>>(
        &mut self,
        leaves: usize,
        inners: usize,
        memory: &impl Memory,
    ) -> Result<(), AllocError> {
        let bytes = |n: usize, size: usize| n.checked_mul(size).ok_or(AllocError);
        let nodes = bytes(leaves, NodeLayout::<K, V, L>::LEAF)?
            .checked_add(bytes(inners, NodeLayout::<K, V, L>::INNER)?)
            .and_then(|sum| sum.checked_add(NodeLayout::<K, V, L>::ALIGN))
            .ok_or(AllocError)?;
        self.add::<K, V, L>(nodes, memory)
    }

    #[cold]
    fn cut<K, V, L: FieldLayout<V>>(&mut self, size: usize, memory: &impl Memory) -> Result<Node, AllocError> {
        loop {
            if let Some(chunk) = self.current {
                // SAFETY: the chunks are alive, and `used` is within the current one.
                unsafe {
                    if (*chunk.as_ptr()).size - self.used >= size {
                        let node = chunk.cast::<u8>().add(self.used).cast();
                        self.used += size;
                        return Ok(node);
                    }
                    // What is left of this chunk holds no node of this size.
                    if let Some(next) = (*chunk.as_ptr()).next {
                        (self.current, self.used) = (Some(next), NodeLayout::<K, V, L>::ALIGN);
                        continue;
                    }
                }
            }
            let align = NodeLayout::<K, V, L>::ALIGN;
            self.add::<K, V, L>(align + size.max((self.bytes / 4).next_multiple_of(align)), memory)?;
        }
    }

    /// One more chunk.
    fn add<K, V, L: FieldLayout<V>>(&mut self, size: usize, memory: &impl Memory) -> Result<(), AllocError> {
        let layout = Self::layout::<K, V, L>(size).ok_or(AllocError)?;
        let chunk = memory.take(layout).ok_or(AllocError)?.cast::<Chunk>();
        // SAFETY: memory of that layout; a chunk's head fits into the room before its nodes.
        unsafe { chunk.write(Chunk { next: None, size }) };
        match self.current {
            None => {
                // No chunk at all, since the first one becomes current.
                (self.oldest, self.current, self.used) = (Some(chunk), Some(chunk), NodeLayout::<K, V, L>::ALIGN);
            }
            // SAFETY: the current chunk is alive.
            Some(mut last) => unsafe {
                while let Some(next) = (*last.as_ptr()).next {
                    last = next;
                }
                (*last.as_ptr()).next = Some(chunk);
            },
        }
        self.bytes += size;
        Ok(())
    }

    fn layout<K, V, L: FieldLayout<V>>(size: usize) -> Option<Layout> {
        NodeLayout::<K, V, L>::bytes(size)
    }

    /// Gives all memory back.
    ///
    /// # Safety
    /// The memory is the one all chunks were taken from. No node is used any more.
    pub unsafe fn deallocate<K, V, L: FieldLayout<V>>(&mut self, memory: &impl Memory) {
        let mut chunk = self.oldest;
        *self = NodeStorage::new();
        while let Some(this) = chunk {
            // SAFETY: the chunks are alive, each was taken with this layout; the caller's contract.
            unsafe {
                let Chunk { next, size } = this.read();
                chunk = next;
                memory.put(this.cast(), Self::layout::<K, V, L>(size).unwrap_unchecked());
            }
        }
    }
}
