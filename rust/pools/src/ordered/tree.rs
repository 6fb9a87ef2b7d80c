//! The tree, and how it is searched.
//!
//! It is a B+ tree: all keys are in leaves, which are linked to their neighbours, and inner nodes say which leaf may have a
//! key. What holds between calls, [`check`](Tree::check) says.
//!
//! No step relies on an order that makes sense: places come from searches that stay within a node's length, and nodes from
//! links, so a comparison that lies can misplace a key, and no more.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::borrow::Borrow;
use core::cmp::Ordering;
use core::marker::PhantomData;
use core::mem::transmute_copy;
use core::ptr::NonNull;

use super::node::{Node, Shape};
use super::number::{is, numeric, rank, with_number};
use super::store::Store;
use super::values::Values;
use crate::layout::Layout;
use toft::AllocError;
use toft::Memory;

pub(crate) struct Tree<K, V, L: Layout<V>, M: Memory> {
    /// `None`: no keys.
    pub(super) root: Option<Node>,
    /// How many inner nodes are above each leaf.
    pub(super) height: usize,
    pub(super) len: usize,
    /// How many keys there may be.
    pub(super) limit: usize,
    /// The outermost leaves. Dangling where there is no root.
    pub(super) first: Node,
    pub(super) last: Node,
    pub(super) store: Store,
    pub(super) values: Values<V, L, M>,
    of: PhantomData<K>,
}

// SAFETY: nodes belong to this value alone; values, and the memory, are asked for themselves.
unsafe impl<K: Send, V, L: Layout<V>, M: Memory> Send for Tree<K, V, L, M> where Values<V, L, M>: Send {}
// SAFETY: through a shared reference nodes are only read.
unsafe impl<K: Sync, V, L: Layout<V>, M: Memory> Sync for Tree<K, V, L, M> where Values<V, L, M>: Sync {}

/// A place in a leaf: where a key is, or where it belongs.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub leaf: Node,
    pub i: usize,
}

/// How many keys a leaf has, or children an inner node.
///
/// # Safety
/// For this and the others: the node is alive.
#[inline(always)]
pub(super) unsafe fn len(node: Node) -> usize {
    // SAFETY: the caller's contract.
    unsafe { (*node.as_ptr()).end - (*node.as_ptr()).start }
}

/// The first place of a leaf that has a key.
#[inline(always)]
pub(super) unsafe fn start(node: Node) -> usize {
    // SAFETY: the caller's contract.
    unsafe { (*node.as_ptr()).start }
}

/// The place behind the last one that has a key.
#[inline(always)]
pub(super) unsafe fn end(node: Node) -> usize {
    // SAFETY: the caller's contract.
    unsafe { (*node.as_ptr()).end }
}

impl<K, V, L: Layout<V>, M: Memory> Tree<K, V, L, M> {
    pub fn new_in(memory: M) -> Self {
        Tree {
            root: None,
            height: 0,
            len: 0,
            limit: usize::MAX,
            first: Node::dangling(),
            last: Node::dangling(),
            store: Store::new(),
            values: Values::new_in(memory),
            of: PhantomData,
        }
    }

    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn limit(&self) -> usize {
        self.limit
    }

    #[inline(always)]
    pub fn memory(&self) -> &M {
        self.values.memory()
    }

    /// What all nodes and slots take.
    pub fn bytes(&self) -> usize {
        self.store.bytes + self.values.bytes()
    }

    /// No more keys than that. There are none yet.
    pub fn fix(&mut self, limit: usize) -> Result<(), AllocError> {
        self.reserve(limit)?;
        self.limit = limit;
        Ok(())
    }

    /// Memory for so many keys beside those that are there, however they come. An error changes no keys.
    pub fn reserve(&mut self, more: usize) -> Result<(), AllocError> {
        if more == 0 {
            return Ok(());
        }
        let n = self.len.checked_add(more).ok_or(AllocError)?;
        if self.limit != usize::MAX {
            return if n <= self.limit { Ok(()) } else { Err(AllocError) }; // it has what it may take since it was made
        }
        if !Shape::<K, V, L>::INLINE {
            self.values.reserve(n)?;
        }
        // The outermost leaves, and the outermost nodes of a row, may have fewer than the least. Where a row has two nodes,
        // one of them has the least: else they would have been merged. How many there are is not known, and they may all
        // be full: then each key may split a leaf, and each split that of a node above.
        let mut row = (n / Self::LEAST_KEYS).saturating_add(2);
        let leaves = row.min(more);
        let mut inners = 0;
        while row > 1 {
            row = if row > Self::LEAST_CHILDREN { (row - 2) / Self::LEAST_CHILDREN + 2 } else { 1 };
            inners = row.min(leaves).saturating_add(inners);
        }
        self.store.reserve::<K, V, L>(leaves, inners.saturating_add(1), self.values.memory())
    }

    /// A new leaf, empty.
    #[inline]
    pub(super) fn new_leaf(&mut self) -> Result<Node, AllocError> {
        self.store.leaf::<K, V, L>(self.values.memory())
    }

    pub(super) fn new_inner(&mut self) -> Result<Node, AllocError> {
        self.store.inner::<K, V, L>(self.values.memory())
    }

    pub(super) const PLACES: usize = Shape::<K, V, L>::PLACES;
    pub(super) const FAN: usize = Shape::<K, V, L>::FAN;
    /// A leaf between others has at least as many keys. It is less than a half, so that a leaf that was split is not
    /// merged at once.
    pub(super) const LEAST_KEYS: usize = Self::PLACES * 3 / 8;
    /// An inner node between others has at least as many children.
    pub(super) const LEAST_CHILDREN: usize = if Self::FAN == 4 { 2 } else { Self::FAN * 3 / 8 };

    /// Where `key` is, or belongs, and whether it is there. `None`: there are no keys.
    #[inline(always)]
    pub(super) fn search<Q: Ord + ?Sized>(&self, key: &Q) -> Option<(Place, bool)>
    where
        K: Borrow<Q>,
    {
        let root = self.root?;
        with_number!(K, N => {
            if is::<Q, K>() {
                // SAFETY: the key is a K, which is an N, as `is` says.
                let key = unsafe { *(&raw const *key).cast::<N>() };
                return Some(self.search_number::<N>(root, key));
            }
            Some(self.search_any(root, key))
        }, else Some(self.search_any(root, key)))
    }

    #[inline(always)]
    fn search_number<N: super::number::Number>(&self, root: Node, key: N) -> (Place, bool) {
        #[cfg(all(feature = "std", target_arch = "x86_64", not(miri)))]
        if size_of::<N>() == 8 && Self::PLACES % 16 == 0 && Self::FAN % 16 == 0 && super::wide::is_there() {
            // SAFETY: the number has 64 bits; the rest as below.
            unsafe {
                let wide = transmute_copy::<N, i64>(&key);
                let (leaf, i) = match is::<N, i64>() {
                    true => super::wide::descend::<true, K, V, L>(root, self.height, wide),
                    false => super::wide::descend::<false, K, V, L>(root, self.height, wide),
                };
                let i = i.max(start(leaf)).min(end(leaf));
                let found = i < end(leaf) && *Shape::<K, V, L>::keys(leaf).cast::<N>().add(i).as_ptr() == key;
                return (Place { leaf, i }, found);
            }
        }
        let mut node = root;
        // SAFETY: `height` inner nodes are above a leaf; the bounds and keys of a node that are not in use are not less
        // than any, so there are children and places of the numbers found.
        unsafe {
            for _ in 0..self.height {
                let i = rank::<N>(Shape::<K, V, L>::bounds(node).cast().as_ptr(), Self::FAN, key);
                node = Shape::<K, V, L>::child(node, i);
            }
            let keys = Shape::<K, V, L>::keys(node).cast::<N>();
            let i = rank::<N>(keys.as_ptr(), Self::PLACES, key).max(start(node)).min(end(node));
            let found = i < end(node) && *keys.add(i).as_ptr() == key;
            (Place { leaf: node, i }, found)
        }
    }

    fn search_any<Q: Ord + ?Sized>(&self, root: Node, key: &Q) -> (Place, bool)
    where
        K: Borrow<Q>,
    {
        let mut node = root;
        // SAFETY: `height` inner nodes are above a leaf; numbers are below the lengths of their nodes.
        unsafe {
            for _ in 0..self.height {
                let bounds = len(node) - 1;
                let i = if numeric::<K>() {
                    let bound = |i: usize| Shape::<K, V, L>::bounds(node).cast::<K>().add(i).as_ref();
                    // As a number is searched: a bound belongs to what is on its left.
                    bisect(bounds, |i| bound(i).borrow().cmp(key)).0
                } else {
                    let leaf = |i: usize| Shape::<K, V, L>::bound_leaf(node, i);
                    match bisect(bounds, |i| Shape::<K, V, L>::key(leaf(i), start(leaf(i))).borrow().cmp(key)) {
                        (i, true) => return (Place { leaf: leaf(i), i: start(leaf(i)) }, true),
                        (i, false) => i,
                    }
                };
                node = Shape::<K, V, L>::child(node, i);
            }
            let first = start(node);
            let (i, found) = bisect(len(node), |i| Shape::<K, V, L>::key(node, first + i).borrow().cmp(key));
            (Place { leaf: node, i: first + i }, found)
        }
    }

    /// # Safety
    /// There is a key at the place; for as long as 'a it stays, and is not changed.
    #[inline(always)]
    pub(super) unsafe fn key_at<'a>(place: Place) -> &'a K {
        // SAFETY: the caller's contract.
        unsafe { Shape::<K, V, L>::key(place.leaf, place.i) }
    }

    /// The key out of its place.
    ///
    /// # Safety
    /// There is one, which is the caller's from now on.
    #[inline(always)]
    pub(super) unsafe fn take_key(place: Place) -> K {
        // SAFETY: the caller's contract.
        unsafe { Shape::<K, V, L>::keys(place.leaf).add(place.i).read() }
    }

    #[inline(always)]
    pub(super) fn raw(&self) -> L::Raw<u32> {
        self.values.raw()
    }

    /// The value out of its place; its slot is free.
    ///
    /// # Safety
    /// There is one, which is the caller's from now on.
    #[inline(always)]
    pub(super) unsafe fn take_value(&mut self, place: Place) -> V {
        // SAFETY: the caller's contract.
        unsafe {
            if Shape::<K, V, L>::INLINE {
                return Shape::<K, V, L>::value(place.leaf, place.i).read();
            }
            let slot = Shape::<K, V, L>::slot(place.leaf, place.i).read();
            let value = L::read(self.values.raw(), slot as usize);
            self.values.put(slot);
            value
        }
    }

    /// Another value in a place.
    ///
    /// # Safety
    /// There is a value.
    #[inline(always)]
    pub(super) unsafe fn replace_value(&mut self, place: Place, value: V) -> V {
        // SAFETY: the caller's contract.
        unsafe {
            if Shape::<K, V, L>::INLINE {
                return Shape::<K, V, L>::value(place.leaf, place.i).replace(value);
            }
            let slot = Shape::<K, V, L>::slot(place.leaf, place.i).read() as usize;
            let old = L::read(self.values.raw(), slot);
            L::write(self.values.raw(), slot, value);
            old
        }
    }

    #[inline]
    pub(super) fn first_place(&self) -> Option<Place> {
        // SAFETY: where there is a root there is a first leaf, which has keys.
        self.root.map(|_| Place { leaf: self.first, i: unsafe { start(self.first) } })
    }

    #[inline]
    pub(super) fn last_place(&self) -> Option<Place> {
        // SAFETY: where there is a root there is a last leaf, which has keys.
        self.root.map(|_| Place { leaf: self.last, i: unsafe { end(self.last) } - 1 })
    }

    #[inline(always)]
    pub(super) fn find<Q: Ord + ?Sized>(&self, key: &Q) -> Option<Place>
    where
        K: Borrow<Q>,
    {
        match self.search(key) {
            Some((place, true)) => Some(place),
            _ => None,
        }
    }
}

/// # Safety
/// There is a value at the place, which nobody changes for as long as 'a. `raw` is that of the tree's values.
#[inline(always)]
pub(super) unsafe fn value_at<'a, K, V: 'a, L: Layout<V>>(raw: L::Raw<u32>, place: Place) -> L::Ref<'a> {
    // SAFETY: the caller's contract.
    unsafe {
        if Shape::<K, V, L>::INLINE {
            return L::get(row::<V, L>(Shape::<K, V, L>::value(place.leaf, place.i)), 0);
        }
        L::get(raw, Shape::<K, V, L>::slot(place.leaf, place.i).read() as usize)
    }
}

/// # Safety
/// There is a value at the place, which nobody else has for as long as 'a. `raw` is that of the tree's values.
#[inline(always)]
pub(super) unsafe fn value_at_mut<'a, K, V: 'a, L: Layout<V>>(raw: L::Raw<u32>, place: Place) -> L::Mut<'a> {
    // SAFETY: the caller's contract.
    unsafe {
        if Shape::<K, V, L>::INLINE {
            return L::get_mut(row::<V, L>(Shape::<K, V, L>::value(place.leaf, place.i)), 0);
        }
        L::get_mut(raw, Shape::<K, V, L>::slot(place.leaf, place.i).read() as usize)
    }
}

/// A value that lives in a leaf, as a single slot.
#[inline(always)]
pub(super) fn row<V, L: Layout<V>>(value: NonNull<V>) -> L::Raw<()> {
    assert!(L::ROWS);
    // SAFETY: the layout is `Rows`, for which slots are rows, whose address is that of the value.
    unsafe { transmute_copy(&value) }
}

/// The first of `n` that is not less, and whether it is equal; with as few comparisons as can be.
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
