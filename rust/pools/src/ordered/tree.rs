//! The B+ tree and its search.
//!
//! All keys are in leaves, which are linked to their neighbours; the separators of inner nodes lead to the leaf of a
//! key. [`check`](Tree::check) lists the invariants and verifies them.
//!
//! No unsafe operation relies on a consistent order: a search stays within the length of a node, and nodes come from
//! links. An inconsistent comparison can misplace a key, but cannot cause undefined behaviour.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::borrow::Borrow;
use core::cmp::Ordering;
use core::marker::PhantomData;
use core::mem::transmute_copy;
use core::ptr::NonNull;

use super::integer_keys::{is_integer, rank, same_type, with_integer};
use super::node::{Node, NodeLayout};
use super::node_storage::NodeStorage;
use super::value_slots::ValueSlots;
use crate::field_layout::FieldLayout;
use toft::AllocError;
use toft::Memory;

pub(crate) struct Tree<K, V, L: FieldLayout<V>, M: Memory> {
    /// `None` if there are no keys.
    pub(super) root: Option<Node>,
    /// The number of inner nodes above each leaf.
    pub(super) height: usize,
    pub(super) len: usize,
    /// The largest number of keys; `usize::MAX` if the map grows.
    pub(super) limit: usize,
    /// The first and the last leaf. Dangling if there is no root.
    pub(super) first: Node,
    pub(super) last: Node,
    pub(super) storage: NodeStorage,
    pub(super) values: ValueSlots<V, L, M>,
    of: PhantomData<K>,
}

// SAFETY: the tree owns its nodes; the bound covers the values and the memory.
unsafe impl<K: Send, V, L: FieldLayout<V>, M: Memory> Send for Tree<K, V, L, M> where ValueSlots<V, L, M>: Send {}
// SAFETY: through a shared reference nodes are only read.
unsafe impl<K: Sync, V, L: FieldLayout<V>, M: Memory> Sync for Tree<K, V, L, M> where ValueSlots<V, L, M>: Sync {}

/// A position in a leaf: of a key, or where a key would be inserted.
#[derive(Clone, Copy)]
pub(super) struct Position {
    pub leaf: Node,
    pub i: usize,
}

/// The number of keys of a leaf, or of children of an inner node.
///
/// # Safety
/// For this and the others: the node is alive.
#[inline(always)]
pub(super) unsafe fn len(node: Node) -> usize {
    // SAFETY: the caller's contract.
    unsafe { (*node.as_ptr()).end - (*node.as_ptr()).start }
}

/// The first position of a leaf that has a key.
#[inline(always)]
pub(super) unsafe fn start(node: Node) -> usize {
    // SAFETY: the caller's contract.
    unsafe { (*node.as_ptr()).start }
}

/// The position after the last key of a leaf.
#[inline(always)]
pub(super) unsafe fn end(node: Node) -> usize {
    // SAFETY: the caller's contract.
    unsafe { (*node.as_ptr()).end }
}

impl<K, V, L: FieldLayout<V>, M: Memory> Tree<K, V, L, M> {
    pub fn new_in(memory: M) -> Self {
        Tree {
            root: None,
            height: 0,
            len: 0,
            limit: usize::MAX,
            first: Node::dangling(),
            last: Node::dangling(),
            storage: NodeStorage::new(),
            values: ValueSlots::new_in(memory),
            of: PhantomData,
        }
    }

    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn fixed_capacity(&self) -> usize {
        self.limit
    }

    #[inline(always)]
    pub fn memory(&self) -> &M {
        self.values.memory()
    }

    /// The bytes of all nodes and slots.
    pub fn bytes(&self) -> usize {
        self.storage.bytes + self.values.bytes()
    }

    /// Fixes the capacity of an empty tree, and allocates the memory for it.
    pub fn fix(&mut self, limit: usize) -> Result<(), AllocError> {
        self.reserve(limit)?;
        self.limit = limit;
        Ok(())
    }

    /// Allocates memory for so many further keys, inserted in any order. An error changes no keys.
    pub fn reserve(&mut self, more: usize) -> Result<(), AllocError> {
        if more == 0 {
            return Ok(());
        }
        let n = self.len.checked_add(more).ok_or(AllocError)?;
        if self.limit != usize::MAX {
            return if n <= self.limit { Ok(()) } else { Err(AllocError) }; // allocated by `fix`
        }
        if !NodeLayout::<K, V, L>::INLINE {
            self.values.reserve(n)?;
        }
        // The first and the last node of a level may have fewer children than the minimum; of two nodes of a level one
        // has the minimum, since they would have been merged otherwise. All existing nodes may be full: then each key
        // may split a leaf, and each split may split the nodes above.
        let mut row = (n / Self::MIN_KEYS).saturating_add(2);
        let leaves = row.min(more);
        let mut inners = 0;
        while row > 1 {
            row = if row > Self::MIN_CHILDREN { (row - 2) / Self::MIN_CHILDREN + 2 } else { 1 };
            inners = row.min(leaves).saturating_add(inners);
        }
        self.storage.reserve::<K, V, L>(leaves, inners.saturating_add(1), self.values.memory())
    }

    /// A new empty leaf.
    #[inline]
    pub(super) fn new_leaf(&mut self) -> Result<Node, AllocError> {
        self.storage.leaf::<K, V, L>(self.values.memory())
    }

    pub(super) fn new_inner(&mut self) -> Result<Node, AllocError> {
        self.storage.inner::<K, V, L>(self.values.memory())
    }

    pub(super) const LEAF_CAPACITY: usize = NodeLayout::<K, V, L>::LEAF_CAPACITY;
    pub(super) const FANOUT: usize = NodeLayout::<K, V, L>::FANOUT;
    /// The minimum number of keys of a leaf that is neither the first nor the last. It is less than half, so that a
    /// leaf is not merged right after a split.
    pub(super) const MIN_KEYS: usize = Self::LEAF_CAPACITY * 3 / 8;
    /// The minimum number of children of an inner node that is neither the first nor the last of its level.
    pub(super) const MIN_CHILDREN: usize = if Self::FANOUT == 4 { 2 } else { Self::FANOUT * 3 / 8 };

    /// The position of `key`, or where it would be inserted, and whether it is present; `None` if the tree is empty.
    #[inline(always)]
    pub(super) fn search<Q: Ord + ?Sized>(&self, key: &Q) -> Option<(Position, bool)>
    where
        K: Borrow<Q>,
    {
        let root = self.root?;
        with_integer!(K, N => {
            if same_type::<Q, K>() {
                // SAFETY: `same_type` ensures that the key is a K, which is an N.
                let key = unsafe { *(&raw const *key).cast::<N>() };
                return Some(self.search_integer::<N>(root, key));
            }
            Some(self.search_any(root, key))
        }, else Some(self.search_any(root, key)))
    }

    #[inline(always)]
    fn search_integer<N: super::integer_keys::Integer>(&self, root: Node, key: N) -> (Position, bool) {
        #[cfg(all(feature = "std", target_arch = "x86_64", not(miri)))]
        if size_of::<N>() == 8 && Self::LEAF_CAPACITY % 16 == 0 && Self::FANOUT % 16 == 0 && super::simd::is_available()
        {
            // SAFETY: the number has 64 bits; the rest as below.
            unsafe {
                let wide = transmute_copy::<N, i64>(&key);
                let (leaf, i) = match same_type::<N, i64>() {
                    true => super::simd::descend::<true, K, V, L>(root, self.height, wide),
                    false => super::simd::descend::<false, K, V, L>(root, self.height, wide),
                };
                let i = i.max(start(leaf)).min(end(leaf));
                let found = i < end(leaf) && *NodeLayout::<K, V, L>::keys(leaf).cast::<N>().add(i).as_ptr() == key;
                return (Position { leaf, i }, found);
            }
        }
        let mut node = root;
        // SAFETY: `height` inner nodes are above a leaf. Unused separators and keys hold the largest integer, so a rank
        // is that of an existing child or position.
        unsafe {
            for _ in 0..self.height {
                let i = rank::<N>(NodeLayout::<K, V, L>::separators(node).cast().as_ptr(), Self::FANOUT, key);
                node = NodeLayout::<K, V, L>::child(node, i);
            }
            let keys = NodeLayout::<K, V, L>::keys(node).cast::<N>();
            let i = rank::<N>(keys.as_ptr(), Self::LEAF_CAPACITY, key).max(start(node)).min(end(node));
            let found = i < end(node) && *keys.add(i).as_ptr() == key;
            (Position { leaf: node, i }, found)
        }
    }

    fn search_any<Q: Ord + ?Sized>(&self, root: Node, key: &Q) -> (Position, bool)
    where
        K: Borrow<Q>,
    {
        let mut node = root;
        // SAFETY: `height` inner nodes are above a leaf; indices are below the lengths of their nodes.
        unsafe {
            for _ in 0..self.height {
                let separators = len(node) - 1;
                let i = if is_integer::<K>() {
                    let separator = |i: usize| NodeLayout::<K, V, L>::separators(node).cast::<K>().add(i).as_ref();
                    // As for integers: a separator belongs to the child on its left.
                    bisect(separators, |i| separator(i).borrow().cmp(key)).0
                } else {
                    let leaf = |i: usize| NodeLayout::<K, V, L>::separator_leaf(node, i);
                    match bisect(separators, |i| NodeLayout::<K, V, L>::key(leaf(i), start(leaf(i))).borrow().cmp(key))
                    {
                        (i, true) => return (Position { leaf: leaf(i), i: start(leaf(i)) }, true),
                        (i, false) => i,
                    }
                };
                node = NodeLayout::<K, V, L>::child(node, i);
            }
            let first = start(node);
            let (i, found) = bisect(len(node), |i| NodeLayout::<K, V, L>::key(node, first + i).borrow().cmp(key));
            (Position { leaf: node, i: first + i }, found)
        }
    }

    /// # Safety
    /// There is a key at the position, which is not changed or removed during 'a.
    #[inline(always)]
    pub(super) unsafe fn key_at<'a>(position: Position) -> &'a K {
        // SAFETY: the caller's contract.
        unsafe { NodeLayout::<K, V, L>::key(position.leaf, position.i) }
    }

    /// Reads the key at a position.
    ///
    /// # Safety
    /// There is one, which is owned by the caller from now on.
    #[inline(always)]
    pub(super) unsafe fn take_key(position: Position) -> K {
        // SAFETY: the caller's contract.
        unsafe { NodeLayout::<K, V, L>::keys(position.leaf).add(position.i).read() }
    }

    #[inline(always)]
    pub(super) fn raw(&self) -> L::Raw<u32> {
        self.values.raw()
    }

    /// Reads the value at a position and frees its slot.
    ///
    /// # Safety
    /// There is one, which is owned by the caller from now on.
    #[inline(always)]
    pub(super) unsafe fn take_value(&mut self, position: Position) -> V {
        // SAFETY: the caller's contract.
        unsafe {
            if NodeLayout::<K, V, L>::INLINE {
                return NodeLayout::<K, V, L>::value(position.leaf, position.i).read();
            }
            let slot = NodeLayout::<K, V, L>::slot(position.leaf, position.i).read();
            let value = L::read(self.values.raw(), slot as usize);
            self.values.free(slot);
            value
        }
    }

    /// Replaces the value at a position.
    ///
    /// # Safety
    /// There is a value.
    #[inline(always)]
    pub(super) unsafe fn replace_value(&mut self, position: Position, value: V) -> V {
        // SAFETY: the caller's contract.
        unsafe {
            if NodeLayout::<K, V, L>::INLINE {
                return NodeLayout::<K, V, L>::value(position.leaf, position.i).replace(value);
            }
            let slot = NodeLayout::<K, V, L>::slot(position.leaf, position.i).read() as usize;
            let old = L::read(self.values.raw(), slot);
            L::write(self.values.raw(), slot, value);
            old
        }
    }

    #[inline]
    pub(super) fn first_position(&self) -> Option<Position> {
        // SAFETY: if there is a root, there is a first leaf, which has keys.
        self.root.map(|_| Position { leaf: self.first, i: unsafe { start(self.first) } })
    }

    #[inline]
    pub(super) fn last_position(&self) -> Option<Position> {
        // SAFETY: if there is a root, there is a last leaf, which has keys.
        self.root.map(|_| Position { leaf: self.last, i: unsafe { end(self.last) } - 1 })
    }

    #[inline(always)]
    pub(super) fn find<Q: Ord + ?Sized>(&self, key: &Q) -> Option<Position>
    where
        K: Borrow<Q>,
    {
        match self.search(key) {
            Some((position, true)) => Some(position),
            _ => None,
        }
    }
}

/// # Safety
/// There is a value at the position, which nothing changes during 'a. `raw` is that of the tree's values.
#[inline(always)]
pub(super) unsafe fn value_at<'a, K, V: 'a, L: FieldLayout<V>>(raw: L::Raw<u32>, position: Position) -> L::Ref<'a> {
    // SAFETY: the caller's contract.
    unsafe {
        if NodeLayout::<K, V, L>::INLINE {
            return L::get(row::<V, L>(NodeLayout::<K, V, L>::value(position.leaf, position.i)), 0);
        }
        L::get(raw, NodeLayout::<K, V, L>::slot(position.leaf, position.i).read() as usize)
    }
}

/// # Safety
/// There is a value at the position, to which no other reference exists during 'a. `raw` is that of the tree's values.
#[inline(always)]
pub(super) unsafe fn value_at_mut<'a, K, V: 'a, L: FieldLayout<V>>(raw: L::Raw<u32>, position: Position) -> L::Mut<'a> {
    // SAFETY: the caller's contract.
    unsafe {
        if NodeLayout::<K, V, L>::INLINE {
            return L::get_mut(row::<V, L>(NodeLayout::<K, V, L>::value(position.leaf, position.i)), 0);
        }
        L::get_mut(raw, NodeLayout::<K, V, L>::slot(position.leaf, position.i).read() as usize)
    }
}

/// The value of a leaf as an array of one slot.
#[inline(always)]
pub(super) fn row<V, L: FieldLayout<V>>(value: NonNull<V>) -> L::Raw<()> {
    assert!(L::ROWS);
    // SAFETY: the layout is `Rows`, whose raw address is that of the first value.
    unsafe { transmute_copy(&value) }
}

/// Binary search: the first of `n` items that is not less, and whether it is equal.
#[inline(always)]
fn bisect(n: usize, mut compare: impl FnMut(usize) -> Ordering) -> (usize, bool) {
    let (mut low, mut high) = (0, n);
    while low < high {
        let middle = low + (high - low) / 2;
        match compare(middle) {
            Ordering::Less => low = middle + 1,
            Ordering::Equal => return (middle, true),
            Ordering::Greater => high = middle,
        }
    }
    (low, false)
}

/// The key of a pair. The value is dropped first, so that the key is dropped too if that panics.
#[inline]
pub(super) fn key_of<K, V>((key, value): (K, V)) -> K {
    drop(value);
    key
}

/// The value of a pair; the key is dropped first.
#[inline]
pub(super) fn value_of<K, V>((key, value): (K, V)) -> V {
    drop(key);
    value
}
