//! The tree of a region's checkpoints.
// SPDX-License-Identifier: MIT OR Apache-2.0

use alloc::string::String;
use core::fmt;
use core::mem::MaybeUninit;
use std::sync::{Mutex, PoisonError};

use super::pages::Pages;
use super::{Region, Restorable};
use crate::arenas::owner::Root;
use crate::base::error::AllocError;

/// A checkpoint's handle: [`Region::checkpoints`]. No other one of the process is equal, and later ones are greater.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Checkpoint(u64);

/// What there is about a checkpoint: [`Region::checkpoints`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct CheckpointInfo<'a> {
    /// Its handle.
    pub checkpoint: Checkpoint,
    /// The one that was current when it was made, or the nearest above that was not dropped.
    pub parent: Option<Checkpoint>,
    /// The bytes of the pages that it shares with no other: [`Region::drop_checkpoint`] frees them.
    pub bytes: usize,
    /// That of [`Region::checkpoint_named`].
    pub name: Option<&'a str>,
}

/// The checkpoint was dropped, or is of another region: [`Region::checkpoints`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StaleCheckpoint;

impl fmt::Display for StaleCheckpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the checkpoint was dropped, or is of another region")
    }
}

impl core::error::Error for StaleCheckpoint {}

pub(super) struct Node<R: Root> {
    id: Checkpoint,
    parent: Option<Checkpoint>,
    name: Option<String>,
    root: MaybeUninit<R::In<'static>>,
    pages: Pages,
}

impl<R: Root> Region<R>
where
    for<'a> R::In<'a>: Restorable<'a>,
{
    /// Saves the content, as a child of the [current](Region::current) checkpoint, and makes it the current one.
    ///
    /// # Errors
    /// If there is no memory for the pages that differ from the parent's. Nothing changed.
    pub fn checkpoint(&mut self) -> Result<Checkpoint, AllocError> {
        self.save(None)
    }

    /// As [`checkpoint`](Region::checkpoint), with a name for [`checkpoints`](Region::checkpoints).
    pub fn checkpoint_named(&mut self, name: &str) -> Result<Checkpoint, AllocError> {
        let mut copy = String::new();
        copy.try_reserve_exact(name.len()).map_err(|_| AllocError)?;
        self.save(Some(copy + name))
    }

    fn save(&mut self, name: Option<String>) -> Result<Checkpoint, AllocError> {
        self.nodes.try_reserve(1).map_err(|_| AllocError)?;
        let (none, parent) = (Pages::default(), self.current);
        let older = parent.and_then(|id| self.find(id).ok()).map_or(&none, |at| &self.nodes[at].pages);
        // SAFETY: the memory lives as long as the region, and whole pages of it are committed. The copy of the root is not
        // used while the root itself is.
        let (pages, bytes, root) = unsafe {
            let memory = self.memory.0.as_ref();
            let (pages, bytes) = Pages::save(older, memory.base.cast(), memory.used())?;
            (pages, bytes, core::ptr::read(&self.root))
        };
        static LAST: Mutex<u64> = Mutex::new(0);
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        *last += 1;
        let id = Checkpoint(*last);
        self.nodes.push(Node { id, parent, name, root, pages });
        (self.current, self.saved_bytes) = (Some(id), self.saved_bytes + bytes);
        Ok(id)
    }

    /// Brings the content of a checkpoint back, and makes it the current one. The present content is forgotten.
    ///
    /// # Errors
    /// If the checkpoint was dropped, or is of another region. Nothing changed.
    pub fn restore(&mut self, to: Checkpoint) -> Result<(), StaleCheckpoint> {
        let node = &self.nodes[self.find(to)?];
        // SAFETY: the memory lives as long as the region, and the pages in use at the checkpoint stay committed. The region
        // is borrowed exclusively: the content is referred to by the root only, which is restored with it. `Restorable`
        // permits both.
        unsafe {
            let memory = self.memory.0.as_ref();
            memory.used.set(node.pages.restore(memory.base.cast()));
            core::ptr::copy_nonoverlapping(&node.root, &mut self.root, 1);
        }
        self.current = Some(to);
        Ok(())
    }

    /// Drops a checkpoint. Its children get its parent, which becomes the current one in its place. No content changes.
    ///
    /// # Errors
    /// As for [`restore`](Region::restore).
    pub fn drop_checkpoint(&mut self, checkpoint: Checkpoint) -> Result<(), StaleCheckpoint> {
        let at = self.find(checkpoint)?;
        let node = self.nodes.remove(at);
        self.saved_bytes -= node.pages.own_bytes();
        let parents = self.nodes[at..].iter_mut().map(|newer| &mut newer.parent).chain([&mut self.current]);
        parents.filter(|parent| **parent == Some(checkpoint)).for_each(|parent| *parent = node.parent);
        Ok(())
    }

    /// The checkpoints, in the order of creation.
    ///
    /// ```
    /// use toft::collections::Vec as List;
    /// toft::root!(struct Bytes => List<'a, u8, toft::RegionMemory<'a>>);
    /// let mut region = toft::Region::<Bytes>::new(1 << 20, |memory| List::from_iter_in([1; 1 << 16], memory))?;
    /// let first = region.checkpoint_named("first")?;
    /// region.with_mut(|bytes, _| bytes[1000] = 2);
    /// let second = region.checkpoint()?;
    /// let list: Vec<_> = region.checkpoints().map(|info| (info.checkpoint, info.parent, info.name)).collect();
    /// assert_eq!(list, [(first, None, Some("first")), (second, Some(first), None)]);
    /// assert_eq!(region.saved_bytes(), (1 << 16) + 4096);
    ///
    /// region.drop_checkpoint(second).unwrap();
    /// assert_eq!((region.current(), region.restore(second)), (Some(first), Err(toft::StaleCheckpoint)));
    /// # Ok::<(), toft::AllocError>(())
    /// ```
    pub fn checkpoints(&self) -> impl ExactSizeIterator<Item = CheckpointInfo<'_>> {
        self.nodes.iter().map(|node| CheckpointInfo {
            checkpoint: node.id,
            parent: node.parent,
            bytes: node.pages.own_bytes(),
            name: node.name.as_deref(),
        })
    }

    /// The checkpoint that was made or restored last, or the nearest above that was not dropped.
    pub fn current(&self) -> Option<Checkpoint> {
        self.current
    }

    /// The bytes of the pages of all checkpoints.
    pub fn saved_bytes(&self) -> usize {
        self.saved_bytes
    }

    fn find(&self, id: Checkpoint) -> Result<usize, StaleCheckpoint> {
        self.nodes.binary_search_by_key(&id, |node| node.id).map_err(|_| StaleCheckpoint)
    }
}
