//! The content of a file while it is built: objects at their offsets, and which words are references.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::any::TypeId;
use std::collections::HashMap;

use crate::format::{alignment, bits_size, checksum, FrozenError, Header, START, WIDTH};
use crate::Freeze;

type WriteFn = unsafe fn(*const u8, usize, &mut Image, usize);

/// Objects that have a place and are not written yet.
struct Pending {
    from: *const u8,
    count: usize,
    to: usize,
    write: WriteFn,
}

/// The content of a file that is being written; [`Freeze::freeze`] fills it in.
pub struct Image {
    bytes: Vec<u8>,
    /// Offsets of references.
    references: Vec<usize>,
    /// By address, bytes and type: an object that is referred to twice is written once.
    placed: HashMap<(usize, usize, TypeId), usize>,
    pending: Vec<Pending>,
    error: Option<FrozenError>,
}

/// # Safety
/// `from` points to `count` values of T.
unsafe fn write_slice<T: Freeze>(from: *const u8, count: usize, image: &mut Image, to: usize) {
    // SAFETY: the caller's contract.
    let values = unsafe { std::slice::from_raw_parts(from.cast::<T>(), count) };
    T::freeze_all(values, image, to);
}

impl Image {
    /// Writes the bytes of a number at an offset. Precondition: they belong to the object that is frozen.
    pub fn write(&mut self, at: usize, bytes: &[u8]) {
        if self.error.is_none() {
            self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
        }
    }

    /// Writes the lowest `size` bytes of an integer, in the order of the machine. Precondition: as for `write`.
    pub fn write_integer(&mut self, at: usize, size: usize, value: u128) {
        let bytes = value.to_ne_bytes();
        self.write(at, if cfg!(target_endian = "big") { &bytes[16 - size..] } else { &bytes[..size] });
    }

    /// Writes a reference to `values` at an offset, and later the values. The address of no bytes is one that is
    /// aligned.
    ///
    /// # Safety
    /// The values live until [`freeze`](crate::freeze) returns.
    pub unsafe fn write_reference<T: Freeze>(&mut self, at: usize, values: &[T]) {
        if size_of_val(values) == 0 {
            self.write(at, &align_of::<T>().to_ne_bytes());
            return;
        }
        let Some(to) = self.place(values) else { return };
        if self.references.try_reserve(1).is_err() {
            self.error = Some(FrozenError::Memory);
            return;
        }
        self.references.push(at);
        self.write(at, &to.to_ne_bytes());
    }

    fn place<T: Freeze>(&mut self, values: &[T]) -> Option<usize> {
        let key = (values.as_ptr().addr(), size_of_val(values), TypeId::of::<T::At<'static>>());
        if let Some(to) = self.placed.get(&key) {
            return Some(*to);
        }
        let to = self.bytes.len().next_multiple_of(align_of::<T>());
        let more = to - self.bytes.len() + size_of_val(values);
        let reserved = self.bytes.try_reserve(more).is_ok()
            && self.placed.try_reserve(1).is_ok()
            && self.pending.try_reserve(1).is_ok();
        if align_of::<T>() > alignment(0) || !reserved {
            self.error = Some(if reserved { FrozenError::Argument } else { FrozenError::Memory });
            return None;
        }
        self.bytes.resize(self.bytes.len() + more, 0);
        self.placed.insert(key, to);
        self.pending.push(Pending { from: values.as_ptr().cast(), count: values.len(), to, write: write_slice::<T> });
        Some(to)
    }

    /// The whole file.
    pub(crate) fn file_of<R: Freeze>(root: &R, layout: [u8; 32], layout_hash: u64) -> Result<Vec<u8>, FrozenError> {
        let mut bytes = Vec::new();
        bytes.try_reserve(START + size_of::<R>() + align_of::<R>()).map_err(|_| FrozenError::Memory)?;
        bytes.resize(START, 0);
        let (references, placed, pending) = (Vec::new(), HashMap::new(), Vec::new());
        let mut image = Image { bytes, references, placed, pending, error: None };
        let at = if size_of::<R>() == 0 {
            let root = START.next_multiple_of(align_of::<R>());
            image.bytes.resize(root + 1, 0);
            Some(root)
        } else {
            image.place(std::slice::from_ref(root))
        };
        while let (Some(next), None) = (image.pending.pop(), &image.error) {
            // SAFETY: the values live as long as the root is borrowed.
            unsafe { (next.write)(next.from, next.count, &mut image, next.to) };
        }
        match (image.error.take(), at) {
            (None, Some(root)) => image.finish(root, layout, layout_hash),
            (error, _) => Err(error.unwrap_or(FrozenError::Memory)),
        }
    }

    fn finish(mut self, root: usize, layout: [u8; 32], layout_hash: u64) -> Result<Vec<u8>, FrozenError> {
        let size = self.bytes.len().next_multiple_of(8);
        let length = size + bits_size(size);
        self.bytes.try_reserve(length - self.bytes.len()).map_err(|_| FrozenError::Memory)?;
        self.bytes.resize(length, 0);
        for at in &self.references {
            let word = at / WIDTH;
            let bits = &mut self.bytes[size + word / 64 * 8..][..8];
            let set = u64::from_ne_bytes((&*bits).try_into().expect("eight bytes")) | 1 << (word % 64);
            bits.copy_from_slice(&set.to_ne_bytes());
        }
        let base = choose_base(checksum(&self.bytes), alignment(length));
        for at in &self.references {
            let word = &mut self.bytes[*at..at + WIDTH];
            let offset = usize::from_ne_bytes((&*word).try_into().expect("a word"));
            word.copy_from_slice(&(base + offset).to_ne_bytes());
        }
        let (size, root, pointers) = (size as u64, root as u64, self.references.len() as u64);
        let checksum = checksum(&self.bytes);
        let header = Header { base: base as u64, size, root, pointers, layout_hash, layout, checksum };
        self.bytes[..crate::format::HEADER].copy_from_slice(&header.encode());
        Ok(self.bytes)
    }
}

/// An address for files with this content: a multiple of `align` in a range where systems place nothing, which is as
/// long as its first address.
fn choose_base(sum: u64, align: usize) -> usize {
    let start = (align as u64).max(if WIDTH == 4 { 1 << 29 } else { 1 << 45 });
    (start + (sum >> 32).wrapping_mul(align as u64) % start) as usize
}

impl std::fmt::Debug for Image {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Image").field("bytes", &self.bytes.len()).finish_non_exhaustive()
    }
}
