//! Removal, and the merging of nodes with few keys.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::borrow::Borrow;

use super::integer_keys::{same_type, with_integer};
use super::node::{Node, NodeLayout};
use super::tree::{end, len, start, Position, Tree};
use crate::field_layout::FieldLayout;
use toft::Memory;

impl<K, V, L: FieldLayout<V>, M: Memory> Tree<K, V, L, M> {
    /// The position of a key for its removal: faster if it is the first or the last.
    #[inline(always)]
    pub(super) fn find_to_remove<Q: Ord + ?Sized>(&self, key: &Q) -> Option<Position>
    where
        K: Borrow<Q>,
    {
        with_integer!(K, N => {
            if same_type::<Q, K>() {
                let (first, last) = (self.first_position()?, self.last_position()?);
                // SAFETY: `same_type` ensures that the key is a K, which is an N; there are keys at both positions.
                unsafe {
                    let key = *(&raw const *key).cast::<N>();
                    let number = |position| *(&raw const *Self::key_at(position)).cast::<N>();
                    if key == number(first) {
                        return Some(first);
                    }
                    if key == number(last) {
                        return Some(last);
                    }
                }
            }
            self.find(key)
        }, else self.find(key))
    }

    /// Two neighbours are merged if they have no more keys than this in all.
    const MERGED_KEYS: usize = Self::LEAF_CAPACITY * 7 / 8;
    const MERGED_CHILDREN: usize = Self::FANOUT * 7 / 8;

    /// Removes the pair at a position.
    ///
    /// # Safety
    /// There is a key at the position.
    #[inline(always)]
    pub(super) unsafe fn remove_at(&mut self, position: Position) -> (K, V) {
        let Position { leaf, i } = position;
        // SAFETY: the caller's contract.
        unsafe {
            debug_assert!(start(leaf) <= i && i < end(leaf));
            let pair = (Self::take_key(position), self.take_value(position));
            let (first, last) = (start(leaf), end(leaf) - 1);
            // The keys after it close the gap, or those before it, as for an insertion.
            if i - first + Self::LEAF_CAPACITY / 2 < last - i || i == first {
                if i > first {
                    NodeLayout::<K, V, L>::shift(leaf, first, leaf, first + 1, i - first);
                }
                (*leaf.as_ptr()).start = first + 1;
            } else {
                if i < last {
                    NodeLayout::<K, V, L>::shift(leaf, i + 1, leaf, i, last - i);
                }
                (*leaf.as_ptr()).end = last;
            }
            (*leaf.as_ptr()).stale = true; // the next search does not wait for a store
            self.len -= 1;
            let n = last - first;
            if n < Self::MIN_KEYS && (n == 0 || (leaf != self.first && leaf != self.last)) {
                self.mend(leaf);
                debug_assert!(self.verify());
            }
            pair
        }
    }

    /// Moves keys to a leaf that has few, or merges it. The first and the last leaf may have few keys and are removed
    /// when they have none, so that removal in order moves no keys.
    ///
    /// # Safety
    /// The leaf is one of the tree; if it is the first or the last, it has no keys.
    #[cold]
    #[inline(never)]
    unsafe fn mend(&mut self, leaf: Node) {
        // SAFETY: neighbours and parents are nodes of the tree. Each leaf except `leaf` has keys.
        unsafe {
            if leaf == self.first || leaf == self.last {
                self.drop_leaf(leaf);
                return;
            }
            let parent = (*leaf.as_ptr()).parent.unwrap_unchecked();
            let i = Self::position(parent, leaf);
            // An only child is the first or the last of its level; others have a neighbour within their parent.
            let (at, left, right) = match i + 1 < len(parent) {
                true => (i, leaf, NodeLayout::<K, V, L>::child(parent, i + 1)),
                false => (i - 1, NodeLayout::<K, V, L>::child(parent, i - 1), leaf),
            };
            let (l, r) = (len(left), len(right));
            Self::left_align(left);
            Self::left_align(right);
            if l + r <= Self::MERGED_KEYS {
                NodeLayout::<K, V, L>::shift(right, 0, left, l, r);
                ((*left.as_ptr()).end, (*right.as_ptr()).end) = (l + r, 0);
                self.drop_leaf(right);
                return;
            }
            let half = (l + r) / 2;
            if l < half {
                let n = half - l;
                NodeLayout::<K, V, L>::shift(right, 0, left, l, n);
                NodeLayout::<K, V, L>::shift(right, n, right, 0, r - n);
                NodeLayout::<K, V, L>::pad(right, r - n, r);
            } else {
                let n = l - half;
                NodeLayout::<K, V, L>::shift(right, 0, right, n, r);
                NodeLayout::<K, V, L>::shift(left, half, right, 0, n);
                NodeLayout::<K, V, L>::pad(left, half, l);
            }
            ((*left.as_ptr()).end, (*right.as_ptr()).end) = (half, l + r - half);
            NodeLayout::<K, V, L>::set_separator(parent, at, left, right);
        }
    }

    /// Unlinks and frees a leaf that has no keys.
    ///
    /// # Safety
    /// The leaf is one of the tree. It is the first or the last one, or not the first child of its parent.
    unsafe fn drop_leaf(&mut self, leaf: Node) {
        // SAFETY: neighbours are leaves of the tree's.
        unsafe {
            let (prev, next) = ((*leaf.as_ptr()).prev, (*leaf.as_ptr()).next);
            debug_assert!(len(leaf) == 0);
            match prev {
                Some(prev) => (*prev.as_ptr()).next = next,
                None => self.first = next.unwrap_or(Node::dangling()),
            }
            match next {
                Some(next) => (*next.as_ptr()).prev = prev,
                None => self.last = prev.unwrap_or(Node::dangling()),
            }
            let parent = (*leaf.as_ptr()).parent;
            self.storage.free_leaf(leaf);
            match parent {
                Some(parent) => self.drop_child(parent, Self::position(parent, leaf)),
                None => self.root = None,
            }
        }
    }

    /// Removes a child, which is freed, from an inner node.
    ///
    /// # Safety
    /// The node is an inner node of the tree. There are no keys below the child, and it is the first or the last of its
    /// level, or not the first child of the node.
    unsafe fn drop_child(&mut self, node: Node, i: usize) {
        // SAFETY: the caller's contract. The separator on the left of the child is removed with it. That of a first
        // child is further up; then the child is the last of its level, so this node has no other child and is freed
        // too.
        unsafe {
            let n = len(node) - 1;
            debug_assert!(i <= n);
            NodeLayout::<K, V, L>::shift_children(node, i + 1, node, i, n - i);
            if n > 0 {
                let separator = i.saturating_sub(1);
                NodeLayout::<K, V, L>::shift_separators(node, separator + 1, node, separator, n - 1 - separator);
                NodeLayout::<K, V, L>::pad_separators(node, n - 1);
            }
            (*node.as_ptr()).end = n;
            match (*node.as_ptr()).parent {
                Some(parent) if n == 0 => {
                    let i = Self::position(parent, node);
                    self.storage.free_inner(node);
                    self.drop_child(parent, i);
                }
                Some(parent) if n < Self::MIN_CHILDREN => self.mend_inner(parent, node),
                Some(_) => (),
                None => self.lower(),
            }
        }
    }

    /// Moves children to an inner node that has few, or merges it.
    ///
    /// # Safety
    /// The node is a child of the parent, which is a node of the tree.
    unsafe fn mend_inner(&mut self, parent: Node, node: Node) {
        type S<K, V, L> = NodeLayout<K, V, L>;
        // SAFETY: the caller's contract.
        unsafe {
            if len(parent) == 1 {
                return; // the first or the last of its level
            }
            let i = Self::position(parent, node);
            let (at, left, right) = match i + 1 < len(parent) {
                true => (i, node, S::<K, V, L>::child(parent, i + 1)),
                false => (i - 1, S::<K, V, L>::child(parent, i - 1), node),
            };
            let (l, r) = (len(left), len(right));
            // The separator between the two moves down; the separators between the moved children move with them.
            if l + r <= Self::MERGED_CHILDREN {
                S::<K, V, L>::shift_separators(parent, at, left, l - 1, 1);
                S::<K, V, L>::shift_separators(right, 0, left, l, r - 1);
                S::<K, V, L>::shift_children(right, 0, left, l, r);
                Self::pop_group(left, l, l + r);
                (*left.as_ptr()).end = l + r;
                self.storage.free_inner(right);
                self.drop_child(parent, at + 1);
                return;
            }
            let half = (l + r) / 2;
            if l < half {
                let n = half - l;
                S::<K, V, L>::shift_separators(parent, at, left, l - 1, 1);
                S::<K, V, L>::shift_separators(right, 0, left, l, n - 1);
                S::<K, V, L>::shift_separators(right, n - 1, parent, at, 1);
                S::<K, V, L>::shift_separators(right, n, right, 0, r - n - 1);
                S::<K, V, L>::shift_children(right, 0, left, l, n);
                S::<K, V, L>::shift_children(right, n, right, 0, r - n);
                Self::pop_group(left, l, half);
            } else {
                let n = l - half;
                S::<K, V, L>::shift_separators(right, 0, right, n, r - 1);
                S::<K, V, L>::shift_separators(parent, at, right, n - 1, 1);
                S::<K, V, L>::shift_separators(left, half, right, 0, n - 1);
                S::<K, V, L>::shift_separators(left, half - 1, parent, at, 1);
                S::<K, V, L>::shift_children(right, 0, right, n, r);
                S::<K, V, L>::shift_children(left, half, right, 0, n);
                Self::pop_group(right, 0, n);
            }
            ((*left.as_ptr()).end, (*right.as_ptr()).end) = (half, l + r - half);
            S::<K, V, L>::pad_separators(left, half - 1);
            S::<K, V, L>::pad_separators(right, l + r - half - 1);
        }
    }

    /// Replaces a root that has a single child by the child.
    fn lower(&mut self) {
        // SAFETY: while there are inner nodes the root is one; its child is alive.
        unsafe {
            while let Some(root) = self.root {
                match len(root) {
                    0 => self.root = None,
                    1 if self.height > 0 => {
                        let child = NodeLayout::<K, V, L>::child(root, 0);
                        (*child.as_ptr()).parent = None;
                        self.root = Some(child);
                    }
                    _ => return,
                }
                self.height -= 1;
                self.storage.free_inner(root);
            }
            self.height = 0;
        }
    }
}
