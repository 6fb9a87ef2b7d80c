//! Operations on a whole tree: clear, drop, append in order, split off, retain, shrink.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::borrow::Borrow;
use core::cmp::Ordering;
use core::ops::{Bound, RangeBounds};

use super::leaf_range::LeafRange;
use super::node::{Node, NodeLayout};
use super::node_storage::NodeStorage;
use super::tree::{end, len, start, Position, Tree};
use crate::capacity_error::CapacityError;
use crate::field_layout::FieldLayout;
use toft::Memory;

impl<K, V, L: FieldLayout<V>, M: Memory> Tree<K, V, L, M> {
    /// All positions.
    #[inline]
    pub(super) fn leaf_range(&self) -> LeafRange {
        if self.root.is_none() {
            return LeafRange::empty();
        }
        // SAFETY: the outermost leaves; the iterator borrows the tree.
        unsafe {
            let (first, last) = (self.first, self.last);
            LeafRange::new(Position { leaf: first, i: start(first) }, Position { leaf: last, i: end(last) })
        }
    }

    /// The positions of a range of keys.
    #[track_caller]
    pub(super) fn walk_range<Q: Ord + ?Sized>(&self, range: &impl RangeBounds<Q>) -> LeafRange
    where
        K: Borrow<Q>,
    {
        use Bound::{Excluded, Included, Unbounded};
        let (start, end) = (range.start_bound(), range.end_bound());
        if let (Included(s) | Excluded(s), Included(e) | Excluded(e)) = (start, end) {
            match s.cmp(e) {
                Ordering::Greater => panic!("toft: the range ends before it starts"),
                Ordering::Equal if matches!((start, end), (Excluded(_), Excluded(_))) => {
                    panic!("toft: the range starts and ends at a key that it excludes")
                }
                _ => (),
            }
        }
        let Some((first, last)) = self.leaf_range().ends() else { return LeafRange::empty() };
        let position = |key: &Q, behind: bool| {
            self.search(key)
                .map(|(position, found)| Position { i: position.i + usize::from(found && behind), ..position })
        };
        let front = match start {
            Included(key) => position(key, false),
            Excluded(key) => position(key, true),
            Unbounded => Some(first),
        };
        let back = match end {
            Included(key) => position(key, true),
            Excluded(key) => position(key, false),
            Unbounded => Some(last),
        };
        match (front, back) {
            // SAFETY: positions of this tree; the iterator borrows it.
            (Some(front), Some(back)) => unsafe { LeafRange::new(front, back) },
            _ => LeafRange::empty(),
        }
    }

    /// Reads the key and the value at a position.
    ///
    /// # Safety
    /// There is a key; the caller owns key and value from now on. The position is not read again.
    #[inline(always)]
    pub(super) unsafe fn read_at(&self, position: Position) -> (K, V) {
        // SAFETY: the caller's contract.
        unsafe {
            let key = Self::take_key(position);
            if NodeLayout::<K, V, L>::INLINE {
                return (key, NodeLayout::<K, V, L>::value(position.leaf, position.i).read());
            }
            (key, L::read(self.raw(), NodeLayout::<K, V, L>::slot(position.leaf, position.i).read() as usize))
        }
    }

    /// Forgets all keys and frees all nodes and slots. Their contents stay until they are reused.
    pub(super) fn forget(&mut self) -> LeafRange {
        let all = self.leaf_range();
        (self.root, self.height, self.len) = (None, 0, 0);
        if self.storage.bytes > 0 {
            self.storage.reset::<K, V, L>();
        }
        self.values.reset();
        all
    }

    /// Drops the keys and values at the remaining positions. If a destructor panics, the others run as well.
    ///
    /// # Safety
    /// There are keys and values, which no other code drops.
    pub(super) unsafe fn drop_all(&self, leaf_range: &mut LeafRange) {
        struct Rest<'a, K, V, L: FieldLayout<V>, M: Memory>(&'a Tree<K, V, L, M>, &'a mut LeafRange);
        impl<K, V, L: FieldLayout<V>, M: Memory> Drop for Rest<'_, K, V, L, M> {
            fn drop(&mut self) {
                for position in self.1.by_ref() {
                    // SAFETY: the contract of drop_all; each position is returned once.
                    drop(unsafe { self.0.read_at(position) });
                }
            }
        }
        if !core::mem::needs_drop::<K>() && !core::mem::needs_drop::<V>() {
            return;
        }
        let rest = Rest(self, leaf_range);
        for position in rest.1.by_ref() {
            // SAFETY: as above.
            drop(unsafe { rest.0.read_at(position) });
        }
    }

    /// Drops all keys and values, and keeps the memory.
    pub fn clear(&mut self) {
        let mut all = self.forget();
        // SAFETY: the tree no longer contains them, and its nodes are as they were.
        unsafe { self.drop_all(&mut all) }
    }

    /// Appends a key, which must be greater than all others (or the keys are out of order), and its value.
    #[inline]
    pub(super) fn push_last(&mut self, key: K, value: V) -> Result<(), CapacityError<(K, V)>> {
        // SAFETY: if there is a root, there is a last leaf.
        let position = self.root.map(|_| unsafe { Position { leaf: self.last, i: end(self.last) } });
        self.insert_at(position, key, value).map(|_| ())
    }

    /// Keeps the pairs for which the closure returns true, and compacts the leaves. The closure is called once for each
    /// position and has exclusive access to it.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(Position, L::Raw<u32>) -> bool) {
        if self.root.is_none() {
            return;
        }
        let mut leaf = Some(self.first);
        while let Some(node) = leaf {
            // SAFETY: links lead to leaves of the tree.
            unsafe {
                Self::left_align(node);
                leaf = (*node.as_ptr()).next;
            }
        }
        let (leaf, kept) = (self.first, 0);
        let start = Position { leaf, i: 0 };
        let mut pack = Compaction { from: start, to: start, end: self.len, at: 0, kept, tree: self };
        while pack.at < pack.end {
            // SAFETY: positions before `end`, in their order, each once.
            unsafe {
                let position = pack.source();
                if keep(position, pack.tree.raw()) {
                    pack.keep(position);
                } else {
                    pack.skip();
                    let pair = (Self::take_key(position), pack.tree.take_value(position));
                    drop(pair);
                }
            }
        }
    }

    /// Moves the pairs from a position on to the end of `other`. If `other` has no memory for them, nothing changes.
    pub(super) fn cut(&mut self, at: Position, other: &mut Self) -> Result<(), CapacityError<()>> {
        if self.root.is_none() {
            return Ok(());
        }
        // SAFETY: a position of this tree, whose nodes do not change during the iteration. The pairs that were read are
        // forgotten in one of the two trees.
        unsafe {
            let tail = LeafRange::new(at, Position { leaf: self.last, i: end(self.last) });
            let mut moved = 0;
            for position in tail {
                let (key, value) = self.read_at(position);
                if let Err(CapacityError(pair)) = other.push_last(key, value) {
                    core::mem::forget(pair);
                    other.forget();
                    return Err(CapacityError(()));
                }
                moved += 1;
            }
            if !NodeLayout::<K, V, L>::INLINE {
                for position in tail {
                    self.values.free(NodeLayout::<K, V, L>::slot(position.leaf, position.i).read());
                }
            }
            if moved > 0 {
                self.len -= moved;
                self.free_all_inners();
                self.end_at(at);
                self.rebuild();
            }
        }
        debug_assert!(self.verify());
        Ok(())
    }

    /// Makes a position the end of the last leaf, and frees the leaves after it.
    ///
    /// # Safety
    /// It is a position of this tree, and the pairs from it on are moved or dropped. There are no inner nodes.
    unsafe fn end_at(&mut self, end: Position) {
        // SAFETY: links lead to leaves of the tree.
        unsafe {
            let mut last = end.leaf;
            NodeLayout::<K, V, L>::pad(last, end.i, Self::LEAF_CAPACITY);
            (*last.as_ptr()).end = end.i;
            let mut behind = (*last.as_ptr()).next.take();
            if end.i == start(last) {
                let Some(prev) = (*last.as_ptr()).prev else {
                    (*last.as_ptr()).next = behind;
                    behind = Some(last);
                    (self.root, self.height) = (None, 0);
                    self.free_chain(behind);
                    return;
                };
                (*prev.as_ptr()).next = None;
                (*last.as_ptr()).next = behind;
                (behind, last) = (Some(last), prev);
            }
            self.last = last;
            self.free_chain(behind);
        }
    }

    /// # Safety
    /// The leaves were unlinked from the tree, and have no keys.
    unsafe fn free_chain(&mut self, mut leaf: Option<Node>) {
        while let Some(node) = leaf {
            // SAFETY: the caller's contract.
            unsafe {
                leaf = (*node.as_ptr()).next;
                self.storage.free_leaf(node);
            }
        }
    }
}

impl<K, V, L: FieldLayout<V>, M: Memory> Tree<K, V, L, M> {
    /// Moves all nodes and values to memory of the smallest size.
    pub(super) fn shrink(&mut self) {
        if self.limit != usize::MAX {
            return;
        }
        self.retain(|_, _| true);
        if !NodeLayout::<K, V, L>::INLINE {
            let (mut old, mut new) = (self.leaf_range(), self.leaf_range());
            // SAFETY: each slot is returned once, and the indices are updated right after that.
            unsafe {
                let next = || match old.next() {
                    Some(position) => NodeLayout::<K, V, L>::slot(position.leaf, position.i).read(),
                    None => unreachable!("there are as many positions as keys"),
                };
                if self.values.pack(self.len, next).is_ok() {
                    let slots = 0..;
                    slots
                        .zip(&mut new)
                        .for_each(|(i, position)| NodeLayout::<K, V, L>::slot(position.leaf, position.i).write(i));
                }
            }
        }
        self.move_nodes();
    }

    /// Moves all nodes to a single chunk, if there is memory for it. The leaves are compacted.
    fn move_nodes(&mut self) {
        let leaves = self.len.div_ceil(Self::LEAF_CAPACITY);
        let (mut row, mut inners) = (leaves, 0);
        while row > 1 {
            row = row.div_ceil(Self::FANOUT);
            inners += row;
        }
        let mut storage = NodeStorage::new();
        if leaves > 0 && storage.reserve::<K, V, L>(leaves, inners, self.values.memory()).is_err() {
            return;
        }
        core::mem::swap(&mut storage, &mut self.storage);
        let mut old = self.root.map(|_| self.first);
        let mut left: Option<Node> = None;
        // SAFETY: the old leaves are alive until their storage is deallocated, and the new storage has as many.
        unsafe {
            while let Some(from) = old {
                old = (*from.as_ptr()).next;
                let Ok(to) = self.new_leaf() else { unreachable!("there is memory for as many leaves") };
                NodeLayout::<K, V, L>::shift(from, 0, to, 0, len(from));
                ((*to.as_ptr()).end, (*to.as_ptr()).prev) = (len(from), left);
                match left {
                    Some(left) => (*left.as_ptr()).next = Some(to),
                    None => self.first = to,
                }
                (left, self.last) = (Some(to), to);
            }
            storage.deallocate::<K, V, L>(self.values.memory());
            self.rebuild();
        }
        debug_assert!(self.verify());
    }
}

/// Compacts the leaves: kept pairs move towards the front and fill leaf after leaf. When it is dropped, also after a
/// panic of a closure or a destructor, it keeps the undecided pairs, frees the remaining leaves and rebuilds the inner
/// nodes.
struct Compaction<'a, K, V, L: FieldLayout<V>, M: Memory> {
    tree: &'a mut Tree<K, V, L, M>,
    from: Position,
    to: Position,
    /// The number of keys in all, of those decided on, and of those kept.
    end: usize,
    at: usize,
    kept: usize,
}

impl<K, V, L: FieldLayout<V>, M: Memory> Compaction<'_, K, V, L, M> {
    /// The next undecided position.
    ///
    /// # Safety
    /// There is an undecided position.
    #[inline]
    unsafe fn source(&mut self) -> Position {
        // SAFETY: the caller's contract; lengths change at the end only.
        unsafe {
            if self.from.i == len(self.from.leaf) {
                self.from = Position { leaf: (*self.from.leaf.as_ptr()).next.unwrap_unchecked(), i: 0 };
            }
        }
        self.from
    }

    #[inline]
    fn skip(&mut self) {
        self.from.i += 1;
        self.at += 1;
    }

    /// # Safety
    /// It is the position that `source` returned last.
    #[inline]
    unsafe fn keep(&mut self, position: Position) {
        // SAFETY: the target is a position that was decided on, or the same one, since leaves are filled in order.
        unsafe {
            if self.to.i == Tree::<K, V, L, M>::LEAF_CAPACITY {
                self.to = Position { leaf: (*self.to.leaf.as_ptr()).next.unwrap_unchecked(), i: 0 };
            }
            if self.to.leaf != position.leaf || self.to.i != position.i {
                NodeLayout::<K, V, L>::shift(position.leaf, position.i, self.to.leaf, self.to.i, 1);
            }
        }
        self.to.i += 1;
        self.kept += 1;
        self.skip();
    }
}

impl<K, V, L: FieldLayout<V>, M: Memory> Drop for Compaction<'_, K, V, L, M> {
    fn drop(&mut self) {
        // SAFETY: the leaves are filled in order up to `to`; the pairs after it were moved or dropped.
        unsafe {
            while self.at < self.end {
                let position = self.source();
                self.keep(position);
            }
            let tree = &mut *self.tree;
            tree.len = self.kept;
            tree.free_all_inners();
            let mut leaf = tree.first;
            while leaf != self.to.leaf {
                (*leaf.as_ptr()).end = Tree::<K, V, L, M>::LEAF_CAPACITY;
                leaf = (*leaf.as_ptr()).next.unwrap_unchecked();
            }
            tree.end_at(self.to);
            tree.rebuild();
            debug_assert!(tree.verify());
        }
    }
}

impl<K, V, L: FieldLayout<V>, M: Memory> Tree<K, V, L, M> {
    /// Rebuilds the inner nodes above the leaves, as few as possible.
    ///
    /// # Safety
    /// There are leaves if there is a root, and the inner nodes were freed; there were inner nodes for at least as many
    /// leaves.
    unsafe fn rebuild(&mut self) {
        if self.root.is_none() {
            return;
        }
        self.height = 0;
        // SAFETY: the nodes are those of the tree. No level has more nodes than before, so free nodes suffice.
        unsafe {
            let mut row = self.first;
            while (*row.as_ptr()).next.is_some() {
                row = self.rebuild_row(row);
                self.height += 1;
            }
            (*row.as_ptr()).parent = None;
            self.root = Some(row);
        }
    }

    /// Builds the level above a level of linked nodes, and returns its first node.
    ///
    /// # Safety
    /// As for `rebuild`.
    unsafe fn rebuild_row(&mut self, first: Node) -> Node {
        let (mut above, mut parent): (Option<Node>, Option<Node>) = (None, None);
        let mut child = Some(first);
        // SAFETY: the caller's contract.
        unsafe {
            while let Some(node) = child {
                child = (*node.as_ptr()).next;
                let into = match parent {
                    Some(parent) if len(parent) < Self::FANOUT => parent,
                    full => {
                        let Ok(new) = self.new_inner() else { unreachable!("there were as many nodes before") };
                        if let Some(full) = full {
                            (*full.as_ptr()).next = Some(new);
                        }
                        above = above.or(Some(new));
                        parent = Some(new);
                        new
                    }
                };
                let n = len(into);
                NodeLayout::<K, V, L>::children(into).add(n).write(node);
                if n > 0 {
                    let right = self.first_leaf_below(node);
                    NodeLayout::<K, V, L>::set_separator(into, n - 1, (*right.as_ptr()).prev.unwrap_unchecked(), right);
                }
                (*into.as_ptr()).end = n + 1;
                (*node.as_ptr()).parent = Some(into);
            }
            above.unwrap_unchecked()
        }
    }

    /// # Safety
    /// The node is one of the topmost level.
    unsafe fn first_leaf_below(&self, node: Node) -> Node {
        let mut node = node;
        for _ in 0..self.height {
            // SAFETY: `height` inner nodes are above each leaf.
            node = unsafe { NodeLayout::<K, V, L>::child(node, 0) };
        }
        node
    }

    /// # Safety
    /// There is a root. Until the tree is rebuilt only the leaves are used.
    unsafe fn free_all_inners(&mut self) {
        // SAFETY: the caller's contract.
        unsafe { self.free_inners(self.root.unwrap_unchecked(), self.height) }
    }

    /// # Safety
    /// The node of the tree has this height; inner nodes are not used again.
    unsafe fn free_inners(&mut self, node: Node, height: usize) {
        if height == 0 {
            return;
        }
        // SAFETY: the caller's contract.
        unsafe {
            for i in 0..len(node) {
                self.free_inners(NodeLayout::<K, V, L>::child(node, i), height - 1);
            }
            self.storage.free_inner(node);
        }
    }
}

impl<K, V, L: FieldLayout<V>, M: Memory> Drop for Tree<K, V, L, M> {
    fn drop(&mut self) {
        struct Put<'a, K, V, L: FieldLayout<V>, M: Memory>(&'a mut Tree<K, V, L, M>);
        impl<K, V, L: FieldLayout<V>, M: Memory> Drop for Put<'_, K, V, L, M> {
            fn drop(&mut self) {
                // SAFETY: all chunks are of this memory; the tree is not used again.
                unsafe { self.0.storage.deallocate::<K, V, L>(self.0.values.memory()) }
            }
        }
        let put = Put(self);
        put.0.clear();
    }
}
