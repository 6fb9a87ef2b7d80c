//! The memory layout of nodes, with all address arithmetic within a node.
//!
//! A leaf has an array of keys and an array of cells: the values, or the indices of their slots. An inner node has
//! children and separators between them:
//!
//! * for integer keys, an integer that is not less than any key on its left and less than all on its right;
//! * otherwise the leaf whose first key is the smallest on its right, so that keys are not copied.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::alloc::Layout;
use core::marker::PhantomData;
use core::ptr::NonNull;

use super::integer_keys::{is_integer, with_integer, STEP};
use crate::field_layout::FieldLayout;

/// The head of every node.
#[repr(C)]
pub(super) struct Head {
    pub parent: Option<Node>,
    /// The neighbours of a leaf. In a free node, `next` is the next free node.
    pub prev: Option<Node>,
    pub next: Option<Node>,
    /// The range of positions of a leaf that have keys. Both ends move, so that an insertion or removal moves the keys
    /// on one side only. In an inner node, 0 and the number of children.
    pub start: usize,
    pub end: usize,
    /// Whether unused positions of a leaf hold old integers: before the start none greater than the first key, from the
    /// end on none less than the last one. A search stays correct until a smaller or greater key is inserted.
    pub stale: bool,
}

pub(super) type Node = NonNull<Head>;

/// The size of a cache line: eight keys of eight bytes.
const LINE: usize = 64;
/// The intended size of the keys and cells of a leaf, in bytes.
const LEAF_BYTES: usize = 1024;
/// Values up to this size, in bytes, are stored in leaves; larger ones would be too slow to move at each insertion.
const CELL_MOST: usize = 32;

const fn max(a: usize, b: usize) -> usize {
    if a > b {
        a
    } else {
        b
    }
}

/// The layout of the nodes of a tree with these keys and values.
pub(super) struct NodeLayout<K, V, L>(PhantomData<(K, V, L)>);

impl<K, V, L: FieldLayout<V>> NodeLayout<K, V, L> {
    /// Whether values are stored in leaves.
    pub const INLINE: bool = L::ROWS && size_of::<V>() <= CELL_MOST && align_of::<V>() <= CELL_MOST;
    const CELL: usize = if Self::INLINE { size_of::<V>() } else { size_of::<u32>() };
    const CELL_ALIGN: usize = if Self::INLINE { max(8, align_of::<V>()) } else { 8 };
    const ENTRY: usize = max(size_of::<K>() + Self::CELL, 1);

    /// The capacity of a leaf, in keys.
    pub const LEAF_CAPACITY: usize = match LEAF_BYTES / Self::ENTRY {
        64.. => 64,
        n @ STEP..64 => n / STEP * STEP,
        _ => 4,
    };
    /// The capacity of an inner node, in children. It is small for large keys, as that of leaves is.
    pub const FANOUT: usize = if Self::LEAF_CAPACITY == 4 { 4 } else { 64 };

    pub const ALIGN: usize = max(LINE, align_of::<K>());
    const KEYS: usize = size_of::<Head>().next_multiple_of(max(LINE, align_of::<K>()));
    const CELLS: usize = (Self::KEYS + Self::LEAF_CAPACITY * size_of::<K>()).next_multiple_of(Self::CELL_ALIGN);
    pub const LEAF: usize = (Self::CELLS + Self::LEAF_CAPACITY * Self::CELL).next_multiple_of(Self::ALIGN);

    /// The size of a separator: an integer key or the address of a leaf.
    const SEPARATOR: usize =
        if size_of::<K>() <= 16 { max(size_of::<K>(), size_of::<Node>()) } else { size_of::<Node>() };
    const SEPARATORS: usize = size_of::<Head>().next_multiple_of(LINE);
    const CHILDREN: usize = (Self::SEPARATORS + Self::FANOUT * Self::SEPARATOR).next_multiple_of(LINE);
    pub const INNER: usize = (Self::CHILDREN + Self::FANOUT * size_of::<Node>()).next_multiple_of(Self::ALIGN);

    pub const fn bytes(size: usize) -> Option<Layout> {
        match Layout::from_size_align(size, Self::ALIGN) {
            Ok(layout) => Some(layout),
            Err(_) => None,
        }
    }

    /// # Safety
    /// For this and the others: the node is a leaf of this layout; the result is valid for indices below
    /// `LEAF_CAPACITY`.
    #[inline(always)]
    pub unsafe fn keys(leaf: Node) -> NonNull<K> {
        // SAFETY: within the node.
        unsafe { leaf.cast::<u8>().add(Self::KEYS).cast() }
    }

    #[inline(always)]
    pub unsafe fn key<'a>(leaf: Node, i: usize) -> &'a K {
        debug_assert!(i < Self::LEAF_CAPACITY);
        // SAFETY: within the node.
        unsafe { Self::keys(leaf).add(i).as_ref() }
    }

    #[inline(always)]
    pub unsafe fn cell(leaf: Node, i: usize) -> NonNull<u8> {
        // SAFETY: within the node.
        unsafe { leaf.cast::<u8>().add(Self::CELLS + i * Self::CELL) }
    }

    /// The address of a value that is stored in the leaf.
    #[inline(always)]
    pub unsafe fn value(leaf: Node, i: usize) -> NonNull<V> {
        debug_assert!(Self::INLINE);
        // SAFETY: within the node.
        unsafe { Self::cell(leaf, i).cast() }
    }

    /// The address of the slot index of a value that is not stored in the leaf.
    #[inline(always)]
    pub unsafe fn slot(leaf: Node, i: usize) -> NonNull<u32> {
        debug_assert!(!Self::INLINE);
        // SAFETY: within the node.
        unsafe { Self::cell(leaf, i).cast() }
    }

    /// Moves keys and cells. The positions that they leave are not filled.
    ///
    /// # Safety
    /// Both ranges are within their leaves.
    #[inline(always)]
    pub unsafe fn shift(from: Node, i: usize, to: Node, j: usize, n: usize) {
        debug_assert!(i + n <= Self::LEAF_CAPACITY && j + n <= Self::LEAF_CAPACITY);
        // SAFETY: the caller's contract.
        unsafe {
            Self::keys(to).add(j).copy_from(Self::keys(from).add(i), n);
            Self::cell(to, j).copy_from(Self::cell(from, i), n * Self::CELL);
        }
    }

    /// Fills the unused positions from `start` to `end` before the keys of a leaf with the smallest integer, which
    /// keeps the order; a search that ends among them means the first key.
    ///
    /// # Safety
    /// They hold no keys, or keys that were moved.
    #[inline(always)]
    pub unsafe fn pad_before(leaf: Node, start: usize, end: usize) {
        debug_assert!(end <= Self::LEAF_CAPACITY);
        with_integer!(K, N => {
            // SAFETY: within the leaf; the number is as large as the key.
            let keys = unsafe { Self::keys(leaf).cast::<N>() };
            for i in start..end {
                // SAFETY: as above.
                unsafe { keys.add(i).write(N::MIN) };
            }
        }, else ())
    }

    /// Fills the unused positions from `start` to `end` after the keys of a leaf with the largest integer.
    ///
    /// # Safety
    /// They hold no keys, or keys that were moved.
    #[inline(always)]
    pub unsafe fn pad(leaf: Node, start: usize, end: usize) {
        debug_assert!(end <= Self::LEAF_CAPACITY);
        with_integer!(K, N => {
            // SAFETY: within the leaf; the number is as large as the key.
            let keys = unsafe { Self::keys(leaf).cast::<N>() };
            for i in start..end {
                // SAFETY: as above.
                unsafe { keys.add(i).write(N::MAX) };
            }
        }, else ())
    }

    /// # Safety
    /// For this and the others: the node is an inner node of this layout; the result is valid for indices below
    /// `FANOUT`.
    #[inline(always)]
    pub unsafe fn separators(inner: Node) -> NonNull<u8> {
        // SAFETY: within the node.
        unsafe { inner.cast::<u8>().add(Self::SEPARATORS) }
    }

    #[inline(always)]
    pub unsafe fn children(inner: Node) -> NonNull<Node> {
        // SAFETY: within the node.
        unsafe { inner.cast::<u8>().add(Self::CHILDREN).cast() }
    }

    #[inline(always)]
    pub unsafe fn child(inner: Node, i: usize) -> Node {
        debug_assert!(i < Self::FANOUT);
        // SAFETY: within the node.
        unsafe { Self::children(inner).add(i).read() }
    }

    /// The distance of separators in bytes.
    #[inline(always)]
    fn separator_size() -> usize {
        if is_integer::<K>() {
            size_of::<K>()
        } else {
            size_of::<Node>()
        }
    }

    /// Writes the separator between a leaf and the one on its right.
    ///
    /// # Safety
    /// The leaves are neighbours and have keys; `i` is less than `FANOUT - 1`.
    #[inline(always)]
    pub unsafe fn set_separator(inner: Node, i: usize, left: Node, right: Node) {
        debug_assert!(i < Self::FANOUT - 1);
        // SAFETY: the caller's contract; an integer may be copied.
        unsafe {
            if is_integer::<K>() {
                let last = Self::keys(left).add((*left.as_ptr()).end - 1);
                Self::separators(inner).cast::<K>().add(i).copy_from_nonoverlapping(last, 1);
            } else {
                Self::separators(inner).cast::<Node>().add(i).write(right);
            }
        }
    }

    /// The leaf of a separator, if keys are not integers.
    #[inline(always)]
    pub unsafe fn separator_leaf(inner: Node, i: usize) -> Node {
        // SAFETY: within the node.
        unsafe { Self::separators(inner).cast::<Node>().add(i).read() }
    }

    /// Copies `n` separators.
    ///
    /// # Safety
    /// Both ranges are within their nodes.
    #[inline(always)]
    pub unsafe fn shift_separators(from: Node, i: usize, to: Node, j: usize, n: usize) {
        debug_assert!(i + n <= Self::FANOUT && j + n <= Self::FANOUT);
        let size = Self::separator_size();
        // SAFETY: the caller's contract.
        unsafe { Self::separators(to).add(j * size).copy_from(Self::separators(from).add(i * size), n * size) }
    }

    /// Copies `n` children. Their parents are not updated.
    ///
    /// # Safety
    /// Both ranges are within their nodes.
    #[inline(always)]
    pub unsafe fn shift_children(from: Node, i: usize, to: Node, j: usize, n: usize) {
        debug_assert!(i + n <= Self::FANOUT && j + n <= Self::FANOUT);
        // SAFETY: the caller's contract.
        unsafe { Self::children(to).add(j).copy_from(Self::children(from).add(i), n) }
    }

    /// Fills the unused separators from `start` on with the largest integer.
    ///
    /// # Safety
    /// They are not in use.
    #[inline(always)]
    pub unsafe fn pad_separators(inner: Node, start: usize) {
        with_integer!(K, N => {
            // SAFETY: within the node.
            let separators = unsafe { Self::separators(inner).cast::<N>() };
            for i in start..Self::FANOUT {
                // SAFETY: as above.
                unsafe { separators.add(i).write(N::MAX) };
            }
        }, else ())
    }
}

/// See [`invariants`](super::invariants).
impl<K, V, L: FieldLayout<V>> NodeLayout<K, V, L> {
    /// # Safety
    /// The node is a leaf of this layout.
    pub unsafe fn verify_pad(leaf: Node) {
        with_integer!(K, N => {
            // SAFETY: within the node.
            let positions = unsafe { core::slice::from_raw_parts(Self::keys(leaf).cast::<N>().as_ptr(), Self::LEAF_CAPACITY) };
            // SAFETY: a leaf.
            let Head { start, end, stale, .. } = unsafe { leaf.as_ref() };
            let (before, keys, behind) = (&positions[..*start], &positions[*start..*end], &positions[*end..]);
            match stale {
                false => debug_assert!(before.iter().all(|n| *n == N::MIN) && behind.iter().all(|n| *n == N::MAX)),
                true => debug_assert!(before.iter().all(|n| *n <= keys[0]) && behind.iter().all(|n| *n >= keys[keys.len() - 1])),
            }
        }, else ())
    }

    /// # Safety
    /// The node is an inner node of this layout.
    pub unsafe fn verify_pad_separators(inner: Node) {
        with_integer!(K, N => {
            // SAFETY: within the node.
            let positions = unsafe { core::slice::from_raw_parts(Self::separators(inner).cast::<N>().as_ptr(), Self::FANOUT) };
            // SAFETY: an inner node.
            let used = unsafe { inner.as_ref() }.end - 1;
            debug_assert!(positions[used..].iter().all(|key| *key == N::MAX));
        }, else ())
    }
}
