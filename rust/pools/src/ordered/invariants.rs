//! The invariants of a tree between calls. Tests check the order of the keys after each step; slow paths verify the rest,
//! see `assertions.rs` of the crate `toft`.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::borrow::Borrow;

use super::integer_keys::{is_integer, with_integer};
use super::node::{Node, NodeLayout};
use super::tree::{end, len, start, Tree};
use crate::field_layout::FieldLayout;
use toft::Memory;

/// The state of a verification of a level of nodes, from left to right.
struct Row {
    /// The next leaf, according to the links of the leaves so far.
    expected: Option<Node>,
    prev: Option<Node>,
    keys: usize,
    leaves: usize,
    inners: usize,
}

impl<K, V, L: FieldLayout<V>, M: Memory> Tree<K, V, L, M> {
    /// Verifies the structure, that keys are in ascending order, and that a search finds each.
    pub(super) fn check(&self)
    where
        K: Ord,
    {
        self.verify_structure();
        let mut before: Option<&K> = None;
        for position in self.leaf_range() {
            // SAFETY: there is a key.
            let key = unsafe { Self::key_at(position) };
            assert!(before.is_none_or(|before| before < key), "keys out of order");
            before = Some(key);
            let found = self.search(key.borrow());
            assert!(found.is_some_and(|(at, found)| found && at.leaf == position.leaf && at.i == position.i));
        }
    }
}

impl<K, V, L: FieldLayout<V>, M: Memory> Tree<K, V, L, M> {
    /// Verifies the structure, the more keys the less often.
    pub(super) fn verify(&self) -> bool {
        if toft::__verifies(self.len) {
            self.verify_structure();
        }
        true
    }

    /// * All leaves have the same depth, and correct links to their neighbours and parents.
    /// * There are `len` keys.
    /// * A leaf has at least 3/8 of its capacity; the first and the last one have at least one key.
    /// * An inner node has at least 3/8 of its capacity; the first and the last one of a level have at least one child.
    /// * An integer separator is not less than any key on its left, and less than all on its right; of other keys it is
    ///   the first leaf on its right.
    /// * Unused positions of integers hold the largest integer, or the smallest one before the keys; in a stale leaf,
    ///   none less than the last key, or none greater than the first one.
    /// * Each slot of a value belongs to one key, each node to the tree or to a free list.
    fn verify_structure(&self) {
        let mut row = Row { expected: None, prev: None, keys: 0, leaves: 0, inners: 0 };
        debug_assert!(self.len <= self.limit);
        if let Some(root) = self.root {
            row.expected = Some(self.first);
            // SAFETY: the nodes are alive.
            unsafe {
                debug_assert!((*root.as_ptr()).parent.is_none());
                self.verify_node(root, self.height, true, true, &mut row);
            }
            debug_assert!(row.expected.is_none() && row.prev == Some(self.last));
        } else {
            debug_assert!(self.height == 0);
        }
        debug_assert!(row.keys == self.len);
        debug_assert!(NodeLayout::<K, V, L>::INLINE || self.values.in_use() == self.len);
        debug_assert!(self.storage.verify::<K, V, L>(row.leaves, row.inners));
    }

    /// # Safety
    /// The node of the tree is so many levels above the leaves.
    unsafe fn verify_node(&self, node: Node, height: usize, leftmost: bool, rightmost: bool, row: &mut Row) {
        // SAFETY: the caller's contract, here and below.
        let n = unsafe { len(node) };
        debug_assert!(n >= 1);
        if height == 0 {
            debug_assert!(n <= Self::LEAF_CAPACITY && (leftmost || rightmost || n >= Self::MIN_KEYS), "{n} keys");
            debug_assert!(row.expected == Some(node));
            // SAFETY: as above.
            let head = unsafe { node.as_ref() };
            debug_assert!(head.prev == row.prev);
            debug_assert!(head.end <= Self::LEAF_CAPACITY);
            (row.expected, row.prev) = (head.next, Some(node));
            (row.keys, row.leaves) = (row.keys + n, row.leaves + 1);
            // SAFETY: the positions of a leaf.
            unsafe { NodeLayout::<K, V, L>::verify_pad(node) };
            return;
        }
        debug_assert!(n <= Self::FANOUT && (leftmost || rightmost || n >= Self::MIN_CHILDREN), "{n} children");
        row.inners += 1;
        // SAFETY: it is an inner node.
        unsafe { NodeLayout::<K, V, L>::verify_pad_separators(node) };
        for i in 0..n {
            // SAFETY: it has `n` children; the leaves so far have keys.
            unsafe {
                let child = NodeLayout::<K, V, L>::child(node, i);
                debug_assert!((*child.as_ptr()).parent == Some(node));
                self.verify_node(child, height - 1, leftmost && i == 0, rightmost && i + 1 == n, row);
                if let (Some(left), Some(right), true) = (row.prev, row.expected, i + 1 < n) {
                    Self::verify_separator(node, i, left, right);
                }
            }
        }
    }

    /// # Safety
    /// The leaves are those on the left and on the right of the separator, and have keys.
    unsafe fn verify_separator(node: Node, i: usize, left: Node, right: Node) {
        // SAFETY: the caller's contract.
        unsafe {
            if !is_integer::<K>() {
                debug_assert!(NodeLayout::<K, V, L>::separator_leaf(node, i) == right);
            }
            with_integer!(K, N => {
                let separator = NodeLayout::<K, V, L>::separators(node).cast::<N>().add(i).read();
                let key = |leaf, i| NodeLayout::<K, V, L>::keys(leaf).cast::<N>().add(i).read();
                debug_assert!(key(left, end(left) - 1) <= separator);
                debug_assert!(separator < key(right, start(right)));
            }, else ())
        }
    }
}
