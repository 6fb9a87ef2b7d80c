//! The invariants of a tree between calls. Tests check them after each step.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::borrow::Borrow;

use super::integer_keys::is_integer;
use super::node::{Node, NodeLayout};
use super::tree::{end, len, start, Position, Tree};
use crate::field_layout::FieldLayout;
use toft::Memory;

/// The state of a check of a level of nodes, from left to right.
struct Row {
    /// The next leaf, according to the links of the leaves so far.
    expected: Option<Node>,
    prev: Option<Node>,
    keys: usize,
}

impl<K, V, L: FieldLayout<V>, M: Memory> Tree<K, V, L, M> {
    /// * All leaves have the same depth, and correct links to their neighbours and parents.
    /// * Keys are in ascending order, and there are `len` of them.
    /// * A leaf has at least 3/8 of its capacity; the first and the last one have at least one key.
    /// * An inner node has at least 3/8 of its capacity; the first and the last one of a level have at least one child.
    /// * An integer separator is not less than any key on its left, and less than all on its right; of other keys it is
    ///   the first leaf on its right.
    /// * Unused positions of integers hold the largest integer, or the smallest one before the keys; in a stale leaf,
    ///   none less than the last key, or none greater than the first one.
    pub(super) fn check(&self)
    where
        K: Ord,
    {
        let Some(root) = self.root else {
            assert_eq!((self.len, self.height), (0, 0));
            return;
        };
        // SAFETY: the nodes are alive; a violated invariant ends the test.
        unsafe {
            assert!((*root.as_ptr()).parent.is_none());
            let mut row = Row { expected: Some(self.first), prev: None, keys: 0 };
            self.check_node(root, self.height, true, true, &mut row);
            assert_eq!(row.keys, self.len);
            assert!(row.expected.is_none() && row.prev == Some(self.last));
            assert!(self.len <= self.limit);
            if !NodeLayout::<K, V, L>::INLINE {
                assert!(self.values.in_use() == self.len);
            }
        }
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

    /// # Safety
    /// The node of the tree is so many levels above the leaves.
    unsafe fn check_node(&self, node: Node, height: usize, leftmost: bool, rightmost: bool, row: &mut Row)
    where
        K: Ord,
    {
        // SAFETY: the caller's contract, here and below.
        let n = unsafe { len(node) };
        if height == 0 {
            assert!(n >= 1 && n <= Self::LEAF_CAPACITY && (leftmost || rightmost || n >= Self::MIN_KEYS), "{n} keys");
            assert!(row.expected == Some(node));
            // SAFETY: as above.
            let head = unsafe { node.as_ref() };
            assert!(head.prev == row.prev);
            (row.expected, row.prev) = (head.next, Some(node));
            row.keys += n;
            // SAFETY: the positions of a leaf.
            unsafe { NodeLayout::<K, V, L>::check_pad(node) };
            return;
        }
        assert!(n >= 1 && n <= Self::FANOUT && (leftmost || rightmost || n >= Self::MIN_CHILDREN), "{n} children");
        // SAFETY: it is an inner node.
        unsafe { NodeLayout::<K, V, L>::check_pad_separators(node) };
        for i in 0..n {
            // SAFETY: it has `n` children; the leaves so far have keys.
            unsafe {
                let child = NodeLayout::<K, V, L>::child(node, i);
                assert!((*child.as_ptr()).parent == Some(node));
                self.check_node(child, height - 1, leftmost && i == 0, rightmost && i + 1 == n, row);
                if i + 1 < n {
                    let left = row.prev.unwrap();
                    let right = row.expected.unwrap();
                    if is_integer::<K>() {
                        let separator = NodeLayout::<K, V, L>::separators(node).cast::<K>().add(i).as_ref();
                        assert!(Self::key_at(Position { leaf: left, i: end(left) - 1 }) <= separator);
                        assert!(separator < Self::key_at(Position { leaf: right, i: start(right) }));
                    } else {
                        assert!(NodeLayout::<K, V, L>::separator_leaf(node, i) == right);
                    }
                }
            }
        }
    }
}
