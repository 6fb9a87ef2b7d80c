//! Insertion: the fast path moves the keys behind the new one; the slow path splits a leaf first.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::node::{Node, Shape};
use super::number::numeric;
use super::tree::{end, len, start, Place, Tree};
use crate::full::Full;
use crate::layout::Layout;
use toft::AllocError;
use toft::Memory;

/// Where a node is split. One that a key comes behind, or before, all others of the tree is left full: keys that come in
/// order fill their leaves.
#[derive(Clone, Copy, PartialEq)]
enum Split {
    Half,
    Append,
    Prepend,
}

impl<K, V, L: Layout<V>, M: Memory> Tree<K, V, L, M> {
    /// Where `key` is, or belongs, for an insertion: as `search`, which ends sooner if the key comes first or last.
    #[inline(always)]
    pub(super) fn search_to_insert(&self, key: &K) -> Option<(Place, bool)>
    where
        K: Ord,
    {
        self.root?;
        if numeric::<K>() {
            // SAFETY: there are keys, and no leaf is empty.
            unsafe {
                let (first, last) = (self.first, self.last);
                let i = end(last);
                if *key > *Self::key_at(Place { leaf: last, i: i - 1 }) {
                    return Some((Place { leaf: last, i }, false));
                }
                let place = Place { leaf: first, i: start(first) };
                if *key < *Self::key_at(place) {
                    return Some((place, false));
                }
            }
        }
        self.search(key)
    }

    /// A key and its value into the place where the key belongs: `None` if there are no keys yet. Answers where they are.
    #[inline(always)]
    pub(super) fn insert_at(&mut self, place: Option<Place>, key: K, value: V) -> Result<Place, Full<(K, V)>> {
        if self.len >= self.limit {
            return Err(Full((key, value)));
        }
        match place {
            // SAFETY: the leaf is one of the tree's, and has room.
            Some(place) if unsafe { len(place.leaf) } < Self::PLACES => {
                let Ok(slot) = self.new_slot() else { return Err(Full((key, value))) };
                // SAFETY: as above; the slot is new.
                Ok(unsafe { self.write_at(place, key, value, slot) })
            }
            _ => self.insert_slow(place, key, value),
        }
    }

    #[cold]
    #[inline(never)]
    fn insert_slow(&mut self, place: Option<Place>, key: K, value: V) -> Result<Place, Full<(K, V)>> {
        let Ok(slot) = self.new_slot() else { return Err(Full((key, value))) };
        let made = match place {
            None => self.plant(),
            // SAFETY: the leaf is full.
            Some(place) => unsafe { self.split(place) },
        };
        let Ok((place, beside)) = made else {
            if !Shape::<K, V, L>::INLINE {
                // SAFETY: the slot is new, and has no value.
                unsafe { self.values.put(slot) };
            }
            return Err(Full((key, value)));
        };
        // SAFETY: the leaf has room; the leaves beside each other both have keys then.
        unsafe {
            let place = self.write_at(place, key, value, slot);
            if let Some((left, right)) = beside {
                self.join(left, right);
            }
            Ok(place)
        }
    }

    #[inline(always)]
    fn new_slot(&mut self) -> Result<u32, AllocError> {
        match Shape::<K, V, L>::INLINE {
            true => Ok(0),
            false => self.values.take(),
        }
    }

    /// Answers where the key is in the end: those behind it make room, or those before it, if they are far fewer. (Where it
    /// is about as likely the one as the other, to guess wrong takes longer than to move more.)
    ///
    /// # Safety
    /// The leaf is one of the tree's, and has room. The slot is new; it is not looked at where values live in leaves.
    #[inline(always)]
    unsafe fn write_at(&mut self, place: Place, key: K, value: V, slot: u32) -> Place {
        let Place { leaf, mut i } = place;
        // SAFETY: the caller's contract.
        unsafe {
            let (first, behind) = (start(leaf), end(leaf));
            debug_assert!(first <= i && i <= behind && behind - first < Self::PLACES);
            if numeric::<K>() && (i == first || i == behind) && (*leaf.as_ptr()).stale {
                Self::clean(leaf);
            }
            if behind < Self::PLACES && (first == 0 || behind - i <= i - first + Self::PLACES / 2) {
                if i < behind {
                    Shape::<K, V, L>::shift(leaf, i, leaf, i + 1, behind - i);
                }
                (*leaf.as_ptr()).end = behind + 1;
            } else if i == behind && first > Self::PLACES / 8 {
                i = self.step_back(leaf);
            } else {
                if i > first {
                    Shape::<K, V, L>::shift(leaf, first, leaf, first - 1, i - first);
                }
                i -= 1;
                (*leaf.as_ptr()).start = first - 1;
            }
            Shape::<K, V, L>::keys(leaf).add(i).write(key);
            if Shape::<K, V, L>::INLINE {
                Shape::<K, V, L>::value(leaf, i).write(value);
            } else {
                Shape::<K, V, L>::slot(leaf, i).write(slot);
                L::write(self.values.raw(), slot as usize, value);
            }
        }
        self.len += 1;
        Place { leaf, i }
    }

    /// Makes room for more than one key behind those of a leaf that come at the end of its places: keys may come at the end
    /// and go at the start for long. Answers the place of one.
    ///
    /// # Safety
    /// The leaf is one of the tree's, and its start is not 0.
    #[cold]
    unsafe fn step_back(&mut self, leaf: Node) -> usize {
        // SAFETY: the caller's contract.
        unsafe {
            let (first, n) = (start(leaf), len(leaf));
            let to = first / 2;
            Shape::<K, V, L>::shift(leaf, first, leaf, to, n);
            Shape::<K, V, L>::pad(leaf, to + n, Self::PLACES);
            ((*leaf.as_ptr()).start, (*leaf.as_ptr()).end) = (to, to + n + 1);
            to + n
        }
    }

    /// Makes all places that are not in use hold what they should.
    ///
    /// # Safety
    /// The leaf is one of the tree's.
    #[inline(never)]
    unsafe fn clean(leaf: Node) {
        // SAFETY: the caller's contract.
        unsafe {
            Shape::<K, V, L>::pad_before(leaf, 0, start(leaf));
            Shape::<K, V, L>::pad(leaf, end(leaf), Self::PLACES);
            (*leaf.as_ptr()).stale = false;
        }
    }

    /// Moves the keys of a leaf to its first places.
    ///
    /// # Safety
    /// The leaf is one of the tree's.
    pub(super) unsafe fn settle(leaf: Node) {
        // SAFETY: the caller's contract.
        unsafe {
            let (first, n) = (start(leaf), len(leaf));
            if first > 0 {
                Shape::<K, V, L>::shift(leaf, first, leaf, 0, n);
                ((*leaf.as_ptr()).start, (*leaf.as_ptr()).end) = (0, n);
            }
            Self::clean(leaf);
        }
    }

    /// The first leaf.
    fn plant(&mut self) -> Result<(Place, Option<(Node, Node)>), AllocError> {
        let leaf = self.new_leaf()?;
        (self.root, self.height, self.first, self.last) = (Some(leaf), 0, leaf, leaf);
        let i = Self::PLACES / 2; // the next keys may come on either side
                                  // SAFETY: the leaf is new.
        unsafe {
            Shape::<K, V, L>::pad_before(leaf, 0, i);
            ((*leaf.as_ptr()).start, (*leaf.as_ptr()).end) = (i, i);
        }
        Ok((Place { leaf, i }, None))
    }

    /// Splits a leaf: the place where a key comes in, and the two leaves, which `join` puts into the tree when both have
    /// keys. An error leaves all keys where they are.
    ///
    /// # Safety
    /// The leaf is one of the tree's, and full.
    unsafe fn split(&mut self, place: Place) -> Result<(Place, Option<(Node, Node)>), AllocError> {
        let Place { leaf, i } = place;
        let split = match i {
            n if n == Self::PLACES && leaf == self.last => Split::Append,
            0 if leaf == self.first => Split::Prepend,
            _ => Split::Half,
        };
        // SAFETY: the leaf is alive; what is made here is linked at once, and is in the tree when it has been joined, for
        // which there is room then.
        unsafe {
            self.make_room_above(leaf, split)?;
            let right = self.new_leaf()?;
            let at = match split {
                Split::Append => Self::PLACES,
                Split::Prepend => 0,
                Split::Half => Self::PLACES / 2,
            };
            let n = Self::PLACES - at;
            Shape::<K, V, L>::shift(leaf, at, right, 0, n);
            (*right.as_ptr()).end = n;
            (*leaf.as_ptr()).end = at;
            if split == Split::Prepend {
                // Keys come from the other side.
                Shape::<K, V, L>::pad_before(leaf, 0, Self::PLACES);
                ((*leaf.as_ptr()).start, (*leaf.as_ptr()).end) = (Self::PLACES, Self::PLACES);
            } else {
                Shape::<K, V, L>::pad(leaf, at, Self::PLACES);
            }

            let next = (*leaf.as_ptr()).next.replace(right);
            ((*right.as_ptr()).prev, (*right.as_ptr()).next) = (Some(leaf), next);
            match next {
                Some(next) => (*next.as_ptr()).prev = Some(right),
                None => self.last = right,
            }
            let place = match split {
                Split::Half if i > at => Place { leaf: right, i: i - at },
                Split::Half => Place { leaf, i },
                Split::Append => Place { leaf: right, i: 0 },
                Split::Prepend => Place { leaf, i: Self::PLACES },
            };
            Ok((place, Some((leaf, right))))
        }
    }

    /// Puts a new leaf into the tree, on the right of one that is there.
    ///
    /// # Safety
    /// Both have keys, and there is room above the left one.
    unsafe fn join(&mut self, left: Node, right: Node) {
        // SAFETY: the caller's contract.
        unsafe {
            let parent = (*left.as_ptr()).parent.unwrap_unchecked();
            let (i, n) = (Self::position(parent, left), len(parent));
            Shape::<K, V, L>::shift_children(parent, i + 1, parent, i + 2, n - i - 1);
            Shape::<K, V, L>::shift_bounds(parent, i, parent, i + 1, n - i - 1);
            Shape::<K, V, L>::children(parent).add(i + 1).write(right);
            Shape::<K, V, L>::set_bound(parent, i, left, right);
            (*parent.as_ptr()).end = n + 1;
            (*right.as_ptr()).parent = Some(parent);
        }
    }

    /// Which child of its parent a node is.
    ///
    /// # Safety
    /// It is one.
    pub(super) unsafe fn position(parent: Node, child: Node) -> usize {
        // SAFETY: the caller's contract.
        let children = unsafe { core::slice::from_raw_parts(Shape::<K, V, L>::children(parent).as_ptr(), len(parent)) };
        let mut position = 0;
        // Without an early end: a few of them are compared at once.
        for (i, c) in children.iter().enumerate() {
            if *c == child {
                position = i;
            }
        }
        debug_assert!(children[position] == child);
        position
    }

    /// Room for one more child beside a node, in its parent. An error changes no keys.
    ///
    /// # Safety
    /// The node is one of the tree's.
    unsafe fn make_room_above(&mut self, node: Node, split: Split) -> Result<(), AllocError> {
        // SAFETY: the node and those above it are alive.
        unsafe {
            let Some(parent) = (*node.as_ptr()).parent else {
                let root = self.new_inner()?;
                Shape::<K, V, L>::children(root).write(node);
                (*root.as_ptr()).end = 1;
                (*node.as_ptr()).parent = Some(root);
                self.root = Some(root);
                self.height += 1;
                return Ok(());
            };
            if len(parent) < Self::FAN {
                return Ok(());
            }
            self.split_inner(parent, split)
        }
    }

    /// # Safety
    /// The node is an inner one of the tree's, and full.
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
            // The bound between the two goes up.
            Shape::<K, V, L>::shift_children(parent, i + 1, parent, i + 2, above - i - 1);
            Shape::<K, V, L>::shift_bounds(parent, i, parent, i + 1, above - i - 1);
            Shape::<K, V, L>::children(parent).add(i + 1).write(right);
            Shape::<K, V, L>::shift_bounds(node, at - 1, parent, i, 1);
            (*parent.as_ptr()).end = above + 1;
            (*right.as_ptr()).parent = Some(parent);

            Shape::<K, V, L>::shift_children(node, at, right, 0, n - at);
            Shape::<K, V, L>::shift_bounds(node, at, right, 0, n - at - 1);
            Shape::<K, V, L>::pad_bounds(node, at - 1);
            ((*node.as_ptr()).end, (*right.as_ptr()).end) = (at, n - at);
            Self::adopt(right, 0, n - at);
            Ok(())
        }
    }

    /// Tells children who their parent is.
    ///
    /// # Safety
    /// The node is an inner one, and has these children.
    pub(super) unsafe fn adopt(parent: Node, start: usize, end: usize) {
        for i in start..end {
            // SAFETY: the caller's contract.
            unsafe { (*Shape::<K, V, L>::child(parent, i).as_ptr()).parent = Some(parent) };
        }
    }
}
