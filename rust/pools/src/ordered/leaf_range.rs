//! Iteration over the positions of leaves, from both ends.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::node::Node;
use super::tree::{end, start, Position};

/// The positions from `front` up to, but not including, `back`. Each is returned once.
#[derive(Clone, Copy)]
pub(super) struct LeafRange {
    front: Node,
    i: usize,
    /// The end of the keys of the front leaf.
    end: usize,
    back: Node,
    j: usize,
    /// The start of the keys of the back leaf.
    begin: usize,
}

impl LeafRange {
    /// An empty range.
    pub fn empty() -> LeafRange {
        LeafRange { front: Node::dangling(), i: 0, end: 0, back: Node::dangling(), j: 0, begin: 0 }
    }

    /// # Safety
    /// Both are positions of leaves of one tree, or the ends of the keys of these. While this value is used, the
    /// leaves, their links and their lengths do not change.
    #[inline]
    pub unsafe fn new(front: Position, back: Position) -> LeafRange {
        // SAFETY: the caller's contract.
        let (end, begin) = unsafe { (end(front.leaf), start(back.leaf)) };
        LeafRange { front: front.leaf, i: front.i, end, back: back.leaf, j: back.i, begin }
    }

    /// The front and the back position; `None` for the empty range of no tree.
    pub fn ends(&self) -> Option<(Position, Position)> {
        let nowhere = self.front == Node::dangling();
        (!nowhere).then_some((Position { leaf: self.front, i: self.i }, Position { leaf: self.back, i: self.j }))
    }

    /// Moves the front to the next leaf. Returns false if there is none, or if the front leaf is that of the back.
    #[inline(always)]
    fn advance_leaf(&mut self) -> bool {
        if self.front == self.back {
            return false;
        }
        // SAFETY: the contract of `new`; the front is dangling only if the back is too. A leaf in a tree has keys.
        unsafe {
            let Some(next) = (*self.front.as_ptr()).next else { return false };
            (self.front, self.i, self.end) = (next, start(next), end(next));
        }
        true
    }

    /// The remaining positions of the front leaf: the leaf, the first position, and the one after the last.
    #[inline(always)]
    pub fn next_leaf(&mut self) -> Option<(Node, usize, usize)> {
        loop {
            let end = if self.front == self.back { self.j } else { self.end };
            if self.i < end {
                let leaf = (self.front, self.i, end);
                self.i = end;
                return Some(leaf);
            }
            if !self.advance_leaf() {
                return None;
            }
        }
    }
}

impl Iterator for LeafRange {
    type Item = Position;

    #[inline(always)]
    fn next(&mut self) -> Option<Position> {
        if self.i == self.end && !self.advance_leaf() {
            return None;
        }
        if self.i == self.j && self.front == self.back {
            return None;
        }
        let position = Position { leaf: self.front, i: self.i };
        self.i += 1;
        Some(position)
    }
}

impl DoubleEndedIterator for LeafRange {
    #[inline(always)]
    fn next_back(&mut self) -> Option<Position> {
        if self.j == self.begin {
            if self.front == self.back {
                return None;
            }
            // SAFETY: see advance_leaf.
            unsafe {
                let prev = (*self.back.as_ptr()).prev?;
                (self.back, self.j, self.begin) = (prev, end(prev), start(prev));
            }
        }
        if self.i == self.j && self.front == self.back {
            return None;
        }
        self.j -= 1;
        Some(Position { leaf: self.back, i: self.j })
    }
}
