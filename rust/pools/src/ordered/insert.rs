//! Insertion: the fast path moves the keys after the new one; the slow path splits a leaf first.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::integer_keys::is_integer;
use super::node::{Node, NodeLayout};
use super::tree::{end, len, start, Position, Tree};
use crate::capacity_error::CapacityError;
use crate::field_layout::FieldLayout;
use toft::AllocError;
use toft::Memory;

/// Where a node is split. If the key becomes the first or the last of the tree, the old node stays full: keys in
/// ascending or descending order fill their leaves.
#[derive(Clone, Copy, PartialEq)]
enum Split {
    Half,
    Append,
    Prepend,
}

impl<K, V, L: FieldLayout<V>, M: Memory> Tree<K, V, L, M> {
    /// The position of `key` for an insertion: as `search`, but faster if the key becomes the first or the last.
    #[inline(always)]
    pub(super) fn search_to_insert(&self, key: &K) -> Option<(Position, bool)>
    where
        K: Ord,
    {
        self.root?;
        if is_integer::<K>() {
            // SAFETY: there are keys, and no leaf is empty.
            unsafe {
                let (first, last) = (self.first, self.last);
                let i = end(last);
                if *key > *Self::key_at(Position { leaf: last, i: i - 1 }) {
                    return Some((Position { leaf: last, i }, false));
                }
                let position = Position { leaf: first, i: start(first) };
                if *key < *Self::key_at(position) {
                    return Some((position, false));
                }
            }
        }
        self.search(key)
    }

    /// Inserts a key and its value at the position of the key, `None` in an empty tree. Returns their position.
    #[inline(always)]
    pub(super) fn insert_at(
        &mut self,
        position: Option<Position>,
        key: K,
        value: V,
    ) -> Result<Position, CapacityError<(K, V)>> {
        if self.len >= self.limit {
            return Err(CapacityError((key, value)));
        }
        match position {
            // SAFETY: the leaf is one of the tree and not full.
            Some(position) if unsafe { len(position.leaf) } < Self::LEAF_CAPACITY => {
                let Ok(slot) = self.new_slot() else { return Err(CapacityError((key, value))) };
                // SAFETY: as above; the slot is new.
                Ok(unsafe { self.write_at(position, key, value, slot) })
            }
            _ => self.insert_slow(position, key, value),
        }
    }

    #[cold]
    #[inline(never)]
    fn insert_slow(&mut self, position: Option<Position>, key: K, value: V) -> Result<Position, CapacityError<(K, V)>> {
        let Ok(slot) = self.new_slot() else { return Err(CapacityError((key, value))) };
        let made = match position {
            None => self.plant(),
            // SAFETY: the leaf is full.
            Some(position) => unsafe { self.split(position) },
        };
        let Ok((position, beside)) = made else {
            if !NodeLayout::<K, V, L>::INLINE {
                // SAFETY: the slot is new, and has no value.
                unsafe { self.values.free(slot) };
            }
            debug_assert!(self.verify());
            return Err(CapacityError((key, value)));
        };
        // SAFETY: the leaf is not full; both leaves have keys then.
        unsafe {
            let position = self.write_at(position, key, value, slot);
            if let Some((left, right)) = beside {
                self.join(left, right);
            }
            debug_assert!(self.verify());
            Ok(position)
        }
    }

    #[inline(always)]
    fn new_slot(&mut self) -> Result<u32, AllocError> {
        match NodeLayout::<K, V, L>::INLINE {
            true => Ok(0),
            false => self.values.allocate(),
        }
    }

    /// Moves the keys after the position, or those before it if they are far fewer, and returns the final position. (If
    /// both are about as likely, a mispredicted branch takes longer than the move.)
    ///
    /// # Safety
    /// The leaf is one of the tree and not full. The slot is new; it is ignored if values are stored in leaves.
    #[inline(always)]
    unsafe fn write_at(&mut self, position: Position, key: K, value: V, slot: u32) -> Position {
        let Position { leaf, mut i } = position;
        // SAFETY: the caller's contract.
        unsafe {
            let (first, behind) = (start(leaf), end(leaf));
            debug_assert!(first <= i && i <= behind && behind - first < Self::LEAF_CAPACITY);
            if is_integer::<K>() && (i == first || i == behind) && (*leaf.as_ptr()).stale {
                Self::clean(leaf);
            }
            if behind < Self::LEAF_CAPACITY && (first == 0 || behind - i <= i - first + Self::LEAF_CAPACITY / 2) {
                if i < behind {
                    NodeLayout::<K, V, L>::shift(leaf, i, leaf, i + 1, behind - i);
                }
                (*leaf.as_ptr()).end = behind + 1;
            } else if i == behind && first > Self::LEAF_CAPACITY / 8 {
                i = self.step_back(leaf);
            } else {
                if i > first {
                    NodeLayout::<K, V, L>::shift(leaf, first, leaf, first - 1, i - first);
                }
                i -= 1;
                (*leaf.as_ptr()).start = first - 1;
            }
            NodeLayout::<K, V, L>::keys(leaf).add(i).write(key);
            if NodeLayout::<K, V, L>::INLINE {
                NodeLayout::<K, V, L>::value(leaf, i).write(value);
            } else {
                NodeLayout::<K, V, L>::slot(leaf, i).write(slot);
                L::write(self.values.raw(), slot as usize, value);
            }
        }
        self.len += 1;
        Position { leaf, i }
    }

    /// Moves the keys of a leaf that end at its last position towards the start, by more than one position: a queue
    /// inserts at the end and removes at the start. Returns the new position.
    ///
    /// # Safety
    /// The leaf is one of the tree, and its start is not 0.
    #[cold]
    unsafe fn step_back(&mut self, leaf: Node) -> usize {
        // SAFETY: the caller's contract.
        unsafe {
            let (first, n) = (start(leaf), len(leaf));
            let to = first / 2;
            NodeLayout::<K, V, L>::shift(leaf, first, leaf, to, n);
            NodeLayout::<K, V, L>::pad(leaf, to + n, Self::LEAF_CAPACITY);
            ((*leaf.as_ptr()).start, (*leaf.as_ptr()).end) = (to, to + n + 1);
            to + n
        }
    }

    /// Fills all unused positions of a stale leaf.
    ///
    /// # Safety
    /// The leaf is one of the tree's.
    #[inline(never)]
    unsafe fn clean(leaf: Node) {
        // SAFETY: the caller's contract.
        unsafe {
            NodeLayout::<K, V, L>::pad_before(leaf, 0, start(leaf));
            NodeLayout::<K, V, L>::pad(leaf, end(leaf), Self::LEAF_CAPACITY);
            (*leaf.as_ptr()).stale = false;
        }
    }

    /// Moves the keys of a leaf to its first positions.
    ///
    /// # Safety
    /// The leaf is one of the tree's.
    pub(super) unsafe fn left_align(leaf: Node) {
        // SAFETY: the caller's contract.
        unsafe {
            let (first, n) = (start(leaf), len(leaf));
            if first > 0 {
                NodeLayout::<K, V, L>::shift(leaf, first, leaf, 0, n);
                ((*leaf.as_ptr()).start, (*leaf.as_ptr()).end) = (0, n);
            }
            Self::clean(leaf);
        }
    }

    /// Creates the first leaf.
    fn plant(&mut self) -> Result<(Position, Option<(Node, Node)>), AllocError> {
        let leaf = self.new_leaf()?;
        (self.root, self.height, self.first, self.last) = (Some(leaf), 0, leaf, leaf);
        let i = Self::LEAF_CAPACITY / 2; // the next keys may be less or greater
                                         // SAFETY: the leaf is new.
        unsafe {
            NodeLayout::<K, V, L>::pad_before(leaf, 0, i);
            ((*leaf.as_ptr()).start, (*leaf.as_ptr()).end) = (i, i);
        }
        Ok((Position { leaf, i }, None))
    }

    /// Splits a leaf. Returns the position of the new key and the two leaves, which `join` links into the tree when
    /// both have keys. An error changes no keys.
    ///
    /// # Safety
    /// The leaf is one of the tree, and full.
    unsafe fn split(&mut self, position: Position) -> Result<(Position, Option<(Node, Node)>), AllocError> {
        let Position { leaf, i } = position;
        let split = match i {
            n if n == Self::LEAF_CAPACITY && leaf == self.last => Split::Append,
            0 if leaf == self.first => Split::Prepend,
            _ => Split::Half,
        };
        // SAFETY: the leaf is alive. The new leaf is linked to its neighbours here; its parent has a free position.
        unsafe {
            self.make_room_above(leaf, split)?;
            let right = self.new_leaf()?;
            let at = match split {
                Split::Append => Self::LEAF_CAPACITY,
                Split::Prepend => 0,
                Split::Half => Self::LEAF_CAPACITY / 2,
            };
            let n = Self::LEAF_CAPACITY - at;
            NodeLayout::<K, V, L>::shift(leaf, at, right, 0, n);
            (*right.as_ptr()).end = n;
            (*leaf.as_ptr()).end = at;
            if split == Split::Prepend {
                // Keys are inserted in descending order.
                NodeLayout::<K, V, L>::pad_before(leaf, 0, Self::LEAF_CAPACITY);
                ((*leaf.as_ptr()).start, (*leaf.as_ptr()).end) = (Self::LEAF_CAPACITY, Self::LEAF_CAPACITY);
            } else {
                NodeLayout::<K, V, L>::pad(leaf, at, Self::LEAF_CAPACITY);
            }

            let next = (*leaf.as_ptr()).next.replace(right);
            ((*right.as_ptr()).prev, (*right.as_ptr()).next) = (Some(leaf), next);
            match next {
                Some(next) => (*next.as_ptr()).prev = Some(right),
                None => self.last = right,
            }
            let position = match split {
                Split::Half if i > at => Position { leaf: right, i: i - at },
                Split::Half => Position { leaf, i },
                Split::Append => Position { leaf: right, i: 0 },
                Split::Prepend => Position { leaf, i: Self::LEAF_CAPACITY },
            };
            Ok((position, Some((leaf, right))))
        }
    }

    /// Adds a new leaf to the parent of the leaf on its left.
    ///
    /// # Safety
    /// Both have keys, and the parent of the left one is not full.
    unsafe fn join(&mut self, left: Node, right: Node) {
        // SAFETY: the caller's contract.
        unsafe {
            let parent = (*left.as_ptr()).parent.unwrap_unchecked();
            let (i, n) = (Self::position(parent, left), len(parent));
            NodeLayout::<K, V, L>::shift_children(parent, i + 1, parent, i + 2, n - i - 1);
            NodeLayout::<K, V, L>::shift_separators(parent, i, parent, i + 1, n - i - 1);
            NodeLayout::<K, V, L>::children(parent).add(i + 1).write(right);
            NodeLayout::<K, V, L>::set_separator(parent, i, left, right);
            (*parent.as_ptr()).end = n + 1;
            (*right.as_ptr()).parent = Some(parent);
        }
    }

    /// The index of a node among the children of its parent.
    ///
    /// # Safety
    /// It is one.
    pub(super) unsafe fn position(parent: Node, child: Node) -> usize {
        // SAFETY: the caller's contract.
        let children =
            unsafe { core::slice::from_raw_parts(NodeLayout::<K, V, L>::children(parent).as_ptr(), len(parent)) };
        let mut position = 0;
        // Without an early exit, so that the compiler vectorizes the loop.
        for (i, c) in children.iter().enumerate() {
            if *c == child {
                position = i;
            }
        }
        debug_assert!(children[position] == child);
        position
    }

    /// Ensures that the parent of a node is not full. An error changes no keys.
    ///
    /// # Safety
    /// The node is one of the tree's.
    unsafe fn make_room_above(&mut self, node: Node, split: Split) -> Result<(), AllocError> {
        // SAFETY: the node and those above it are alive.
        unsafe {
            let Some(parent) = (*node.as_ptr()).parent else {
                let root = self.new_inner()?;
                NodeLayout::<K, V, L>::children(root).write(node);
                (*root.as_ptr()).end = 1;
                (*node.as_ptr()).parent = Some(root);
                self.root = Some(root);
                self.height += 1;
                return Ok(());
            };
            if len(parent) < Self::FANOUT {
                return Ok(());
            }
            self.split_inner(parent, split)
        }
    }

    /// # Safety
    /// The node is an inner node of the tree, and full.
    #[cold]
    unsafe fn split_inner(&mut self, node: Node, split: Split) -> Result<(), AllocError> {
        // SAFETY: the caller's contract.
        unsafe {
            self.make_room_above(node, split)?;
            let right = self.new_inner()?;
            let parent = (*node.as_ptr()).parent.unwrap_unchecked();
            let n = len(node);
            let at = match split {
                Split::Append => n - 1,
                Split::Prepend => 1,
                Split::Half => n / 2,
            };
            let (i, above) = (Self::position(parent, node), len(parent));
            // The separator between the two moves to the parent.
            NodeLayout::<K, V, L>::shift_children(parent, i + 1, parent, i + 2, above - i - 1);
            NodeLayout::<K, V, L>::shift_separators(parent, i, parent, i + 1, above - i - 1);
            NodeLayout::<K, V, L>::children(parent).add(i + 1).write(right);
            NodeLayout::<K, V, L>::shift_separators(node, at - 1, parent, i, 1);
            (*parent.as_ptr()).end = above + 1;
            (*right.as_ptr()).parent = Some(parent);

            NodeLayout::<K, V, L>::shift_children(node, at, right, 0, n - at);
            NodeLayout::<K, V, L>::shift_separators(node, at, right, 0, n - at - 1);
            NodeLayout::<K, V, L>::pad_separators(node, at - 1);
            ((*node.as_ptr()).end, (*right.as_ptr()).end) = (at, n - at);
            Self::pop_group(right, 0, n - at);
            Ok(())
        }
    }

    /// Sets the parent of children.
    ///
    /// # Safety
    /// The node is an inner node with these children.
    pub(super) unsafe fn pop_group(parent: Node, start: usize, end: usize) {
        for i in start..end {
            // SAFETY: the caller's contract.
            unsafe { (*NodeLayout::<K, V, L>::child(parent, i).as_ptr()).parent = Some(parent) };
        }
    }
}
