//! The invariants of a tree between calls. Tests check them after each step.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::borrow::Borrow;

use super::integer_keys::is_integer;
use super::node::{Node, NodeLayout};
use super::tree::{end, len, start, Position, Tree};
use crate::field_layout::FieldLayout;
use toft::Memory;

/// What a row of nodes is checked for, from left to right.
struct Row {
    /// The leaf that comes next, from what was seen.
    expected: Option<Node>,
    prev: Option<Node>,
    keys: usize,
}

impl<K, V, L: FieldLayout<V>, M: Memory> Tree<K, V, L, M> {
    /// * All leaves are equally far below the root; each knows its neighbours and its parent.
    /// * Keys are in order, and there are as many as `len` says.
    /// * A leaf between others has at least 3/8 of the keys there is room for; the outermost ones have at least one.
    /// * An inner node between others has at least 3/8 of the children there is room for; the outermost ones have one.
    /// * A separator is not less than any key on its left, and less than all on its right; where keys are not numbers
    ///   it is the first leaf on its right.
    /// * Places of numbers that are not in use hold the largest one, or before those that are the smallest one; if they
    ///   may be stale, at least none that is less than the last key, or greater than the first one.
    pub(super) fn check(&self)
    where
        K: Ord,
    {
        let Some(root) = self.root else {
            assert_eq!((self.len, self.height), (0, 0));
            return;
        };
        // SAFETY: the nodes are alive; what is not as it should be ends the test.
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
        for position in self.walk() {
            // SAFETY: there is a key.
            let key = unsafe { Self::key_at(position) };
            assert!(before.is_none_or(|before| before < key), "keys out of order");
            before = Some(key);
            let found = self.search(key.borrow());
            assert!(found.is_some_and(|(at, found)| found && at.leaf == position.leaf && at.i == position.i));
        }
    }

    /// # Safety
    /// The node is one of the tree's, so many inner nodes above the leaves.
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
            // SAFETY: it has so many children; leaves that were seen have keys.
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
