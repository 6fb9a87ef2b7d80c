//! Walking along the leaves, from both ends.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::node::Node;
use super::tree::{end, start, Place};

/// The places from one to another, which it does not include. Each comes once, from one end or the other: what the front
/// passed is on its left, what the back passed on its right, even if they were the wrong way round at first.
#[derive(Clone, Copy)]
pub(super) struct Walk {
    front: Node,
    i: usize,
    /// Where the front's leaf ends.
    end: usize,
    back: Node,
    j: usize,
    /// Where the back's leaf begins.
    begin: usize,
}

impl Walk {
    /// Over nothing.
    pub fn empty() -> Walk {
        Walk { front: Node::dangling(), i: 0, end: 0, back: Node::dangling(), j: 0, begin: 0 }
    }

    /// # Safety
    /// Both are places of leaves of one tree, at most at the ends of their leaves. For as long as this value is used, the
    /// tree's leaves and their links and lengths stay as they are.
    #[inline]
    pub unsafe fn new(front: Place, back: Place) -> Walk {
        // SAFETY: the caller's contract.
        let (end, begin) = unsafe { (end(front.leaf), start(back.leaf)) };
        Walk { front: front.leaf, i: front.i, end, back: back.leaf, j: back.i, begin }
    }

    /// Where the front is, and the back. `None`: nowhere.
    pub fn ends(&self) -> Option<(Place, Place)> {
        let nowhere = self.front == Node::dangling();
        (!nowhere).then_some((Place { leaf: self.front, i: self.i }, Place { leaf: self.back, i: self.j }))
    }

    /// To the next leaf; `false`: there is none, or this one was the back's.
    #[inline(always)]
    fn hop(&mut self) -> bool {
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

    /// What is left from the front on, leaf by leaf: the leaf, the first place and the one behind the last.
    #[inline(always)]
    pub fn next_leaf(&mut self) -> Option<(Node, usize, usize)> {
        loop {
            let end = if self.front == self.back { self.j } else { self.end };
            if self.i < end {
                let leaf = (self.front, self.i, end);
                self.i = end;
                return Some(leaf);
            }
            if !self.hop() {
                return None;
            }
        }
    }
}

impl Iterator for Walk {
    type Item = Place;

    #[inline(always)]
    fn next(&mut self) -> Option<Place> {
        if self.i == self.end && !self.hop() {
            return None;
        }
        if self.i == self.j && self.front == self.back {
            return None;
        }
        let place = Place { leaf: self.front, i: self.i };
        self.i += 1;
        Some(place)
    }
}

impl DoubleEndedIterator for Walk {
    #[inline(always)]
    fn next_back(&mut self) -> Option<Place> {
        if self.j == self.begin {
            if self.front == self.back {
                return None;
            }
            // SAFETY: see hop.
            unsafe {
                let prev = (*self.back.as_ptr()).prev?;
                (self.back, self.j, self.begin) = (prev, end(prev), start(prev));
            }
        }
        if self.i == self.j && self.front == self.back {
            return None;
        }
        self.j -= 1;
        Some(Place { leaf: self.back, i: self.j })
    }
}
