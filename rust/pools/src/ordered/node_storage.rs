//! The allocation of nodes: from chunks of growing size, and from free lists. A node is never moved; freed nodes are
//! reused.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::alloc::Layout;
use core::ptr::NonNull;

use super::node::{Head, Node, NodeLayout};
use crate::field_layout::FieldLayout;
use toft::AllocError;
use toft::Memory;

/// The head of a chunk, before its nodes.
struct Chunk {
    next: Option<NonNull<Chunk>>,
    size: usize,
}

pub(super) struct NodeStorage {
    oldest: Option<NonNull<Chunk>>,
    /// The chunk from which nodes are allocated, and the offset of the next one. The chunks after it are unused.
    current: Option<NonNull<Chunk>>,
    used: usize,
    leaves: Option<Node>,
    inners: Option<Node>,
    /// The bytes of all chunks.
    pub bytes: usize,
}

impl NodeStorage {
    pub fn new() -> NodeStorage {
        NodeStorage { oldest: None, current: None, used: 0, leaves: None, inners: None, bytes: 0 }
    }

    /// Allocates a leaf without keys.
    #[inline]
    pub fn leaf<K, V, L: FieldLayout<V>>(&mut self, memory: &impl Memory) -> Result<Node, AllocError> {
        let node = match self.leaves {
            Some(node) => {
                // SAFETY: the head of a free node is initialized.
                self.leaves = unsafe { node.as_ref() }.next;
                node
            }
            None => self.cut::<K, V, L>(NodeLayout::<K, V, L>::LEAF, memory)?,
        };
        // SAFETY: the node is unused and has the size of a leaf.
        unsafe {
            node.write(Head { parent: None, prev: None, next: None, start: 0, end: 0, stale: false });
            NodeLayout::<K, V, L>::pad(node, 0, NodeLayout::<K, V, L>::LEAF_CAPACITY);
        }
        Ok(node)
    }

    /// Allocates an inner node without children.
    pub fn inner<K, V, L: FieldLayout<V>>(&mut self, memory: &impl Memory) -> Result<Node, AllocError> {
        let node = match self.inners {
            Some(node) => {
                // SAFETY: the head of a free node is initialized.
                self.inners = unsafe { node.as_ref() }.next;
                node
            }
            None => self.cut::<K, V, L>(NodeLayout::<K, V, L>::INNER, memory)?,
        };
        // SAFETY: the node is unused and has the size of an inner node.
        unsafe {
            node.write(Head { parent: None, prev: None, next: None, start: 0, end: 0, stale: false });
            NodeLayout::<K, V, L>::pad_separators(node, 0);
        }
        Ok(node)
    }

    /// # Safety
    /// The leaf was allocated here and is not used again. Its keys and values are moved or dropped.
    pub unsafe fn free_leaf(&mut self, node: Node) {
        // SAFETY: the caller's contract.
        unsafe { (*node.as_ptr()).next = self.leaves.replace(node) }
    }

    /// # Safety
    /// The inner node was allocated here and is not used again.
    pub unsafe fn free_inner(&mut self, node: Node) {
        // SAFETY: the caller's contract.
        unsafe { (*node.as_ptr()).next = self.inners.replace(node) }
    }

    /// Frees all nodes and keeps the chunks.
    pub fn reset<K, V, L: FieldLayout<V>>(&mut self) {
        (self.leaves, self.inners, self.current) = (None, None, self.oldest);
        self.used = NodeLayout::<K, V, L>::ALIGN;
    }

    /// Verifies the chunks and the free lists of a tree with so many nodes.
    pub fn verify<K, V, L: FieldLayout<V>>(&self, leaves: usize, inners: usize) -> bool {
        let (mut bytes, mut cut, mut at, mut is_used) = (0, 0, self.oldest, true);
        debug_assert!(self.oldest.is_some() == self.current.is_some());
        while let Some(chunk) = at {
            // SAFETY: the chunks are alive.
            let Chunk { next, size } = unsafe { chunk.read() };
            let is_current = self.current == Some(chunk);
            debug_assert!(!is_current || (self.used >= NodeLayout::<K, V, L>::ALIGN && self.used <= size));
            cut += if is_current {
                self.used
            } else if is_used {
                size
            } else {
                0
            };
            is_used &= !is_current;
            (bytes, at) = (bytes + size, next);
        }
        debug_assert!(bytes == self.bytes && (!is_used || bytes == 0));
        let most = cut / NodeLayout::<K, V, L>::LEAF.min(NodeLayout::<K, V, L>::INNER);
        let [mut all, mut nodes] = [leaves + inners, 0];
        for free in [self.leaves, self.inners] {
            let mut at = free;
            while let Some(node) = at {
                debug_assert!(nodes <= most, "a free list has a cycle");
                // SAFETY: the head of a free node is initialized.
                at = unsafe { (*node.as_ptr()).next };
                nodes += 1;
            }
        }
        all += nodes;
        debug_assert!(all <= most, "a node is free and in the tree");
        true
    }

    /// Allocates a chunk for so many further nodes of each kind.
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
                    // The rest of this chunk is too small for a node of this size.
                    if let Some(next) = (*chunk.as_ptr()).next {
                        (self.current, self.used) = (Some(next), NodeLayout::<K, V, L>::ALIGN);
                        continue;
                    }
                }
            }
            let align = NodeLayout::<K, V, L>::ALIGN;
            let chunk = size.max((self.bytes / 4).next_multiple_of(align));
            let added = self.add::<K, V, L>(align + chunk, memory);
            if added.is_err() && size < chunk {
                self.add::<K, V, L>(align + size, memory)?;
            } else {
                added?;
            }
        }
    }

    /// Allocates a further chunk.
    fn add<K, V, L: FieldLayout<V>>(&mut self, size: usize, memory: &impl Memory) -> Result<(), AllocError> {
        let layout = Self::layout::<K, V, L>(size).ok_or(AllocError)?;
        let chunk = memory.allocate(layout)?.cast::<Chunk>();
        // SAFETY: memory of that layout; the head of a chunk fits before its first node.
        unsafe { chunk.write(Chunk { next: None, size }) };
        match self.current {
            None => {
                // There is no chunk, since the first one becomes current.
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

    /// Deallocates all chunks.
    ///
    /// # Safety
    /// The chunks were allocated in this memory. No node is used again.
    pub unsafe fn deallocate<K, V, L: FieldLayout<V>>(&mut self, memory: &impl Memory) {
        let mut chunk = self.oldest;
        *self = NodeStorage::new();
        while let Some(this) = chunk {
            // SAFETY: the chunks are alive, and were allocated with this layout; the caller's contract.
            unsafe {
                let Chunk { next, size } = this.read();
                chunk = next;
                memory.deallocate(this.cast(), Self::layout::<K, V, L>(size).unwrap_unchecked());
            }
        }
    }
}
