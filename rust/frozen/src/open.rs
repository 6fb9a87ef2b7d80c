//! Opening files.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::fs::File;
use std::io::{Read, Seek};
use std::marker::PhantomData;
use std::path::Path;
use std::ptr::NonNull;

use crate::format::{checksum, layout_name, FrozenError, Header, HEADER, START, WIDTH};
use crate::memory::Memory;
use crate::{Freeze, Layout};

/// How a file is opened.
///
/// ```
/// # use toft_frozen::{freeze, FrozenError, OpenOptions};
/// # let path = std::env::temp_dir().join(format!("options-{}.frozen", std::process::id()));
/// freeze(&7u32, &path, "a number")?;
/// // SAFETY: it was written by `freeze` with this type.
/// let file = unsafe { OpenOptions::new().verify(true).open::<u32>(&path, "a number")? };
/// assert_eq!(*file.get(), 7);
/// # drop(file);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), FrozenError>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[must_use = "nothing is opened before `open`"]
pub struct OpenOptions {
    verify: bool,
    elsewhere: bool,
}

impl OpenOptions {
    /// Without them a file is mapped at its address, and no page of it is read.
    pub const fn new() -> OpenOptions {
        OpenOptions { verify: false, elsewhere: false }
    }

    /// Compares the checksum, and each pointer with the bounds of the content: finds damage.
    pub const fn verify(mut self, on: bool) -> OpenOptions {
        self.verify = on;
        self
    }

    /// Reads the file to another address than its own. Files are opened so where their address is not free.
    pub const fn elsewhere(mut self, on: bool) -> OpenOptions {
        self.elsewhere = on;
        self
    }

    /// Opens a file.
    ///
    /// # Safety
    /// As for [`Frozen::open`].
    ///
    /// # Errors
    /// As for [`Frozen::open`].
    pub unsafe fn open<R: Freeze>(self, path: impl AsRef<Path>, layout: &str) -> Result<Frozen<R>, FrozenError> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        let header = read_header(&mut file, length)?;
        check_types::<R>(&header, layout)?;
        let length = length as usize;
        let mapped = if self.elsewhere { None } else { Memory::map(&file, length, header.base as usize) };
        let memory = match mapped {
            Some(memory) => memory,
            None => {
                file.rewind()?;
                Memory::load(file, length)?
            }
        };
        self.finish(memory, &header)
    }

    fn finish<R: Freeze>(self, memory: Memory, header: &Header) -> Result<Frozen<R>, FrozenError> {
        let bytes = memory.bytes();
        if self.verify && header.checksum != 0 && header.checksum != checksum(bytes) {
            return Err(FrozenError::Corrupt);
        }
        if (self.verify || !memory.is_mapped()) && count_pointers(bytes, header) != Some(header.pointers) {
            return Err(FrozenError::Corrupt);
        }
        if !memory.is_mapped() {
            move_pointers(&memory, header);
        }
        // SAFETY: the root's offset is below the size.
        let root = unsafe { memory.start().add(header.root as usize) };
        Ok(Frozen { memory, root: root.cast(), of: PhantomData })
    }
}

fn read_header(file: &mut impl Read, length: u64) -> Result<Header, FrozenError> {
    let mut bytes = [0; HEADER];
    if length < START as u64 {
        return Err(FrozenError::Corrupt);
    }
    file.read_exact(&mut bytes)?;
    Header::decode(&bytes, length)
}

/// Files of other languages have no hash of types.
fn check_types<R: Freeze>(header: &Header, layout: &str) -> Result<(), FrozenError> {
    let mut types = Layout::new();
    R::describe(&mut types);
    if header.layout != layout_name(layout)? || (header.layout_hash != types.hash() && header.layout_hash != 0) {
        return Err(FrozenError::Layout);
    }
    let (root, size) = (header.root as usize, header.size as usize);
    if size - root < size_of::<R>() || root % align_of::<R>() != 0 {
        return Err(FrozenError::Corrupt);
    }
    Ok(())
}

/// The offsets of pointers.
fn pointers(bits: &[u8]) -> impl Iterator<Item = usize> + use<'_> {
    bits.chunks_exact(8).enumerate().flat_map(|(i, set)| {
        let mut set = u64::from_ne_bytes(set.try_into().expect("eight bytes"));
        std::iter::from_fn(move || {
            let bit = (set != 0).then(|| set.trailing_zeros() as usize)?;
            set &= set - 1;
            Some((i * 64 + bit) * WIDTH)
        })
    })
}

/// None: a pointer does not lie in the content, or a bit is set that is none of a word behind the header's page.
fn count_pointers(bytes: &[u8], header: &Header) -> Option<u64> {
    let (base, size) = (header.base as usize, header.size as usize);
    let mut count = 0;
    for at in pointers(&bytes[size..]) {
        let inside = at >= START && at + WIDTH <= size;
        let word = usize::from_ne_bytes(bytes.get(at..at + WIDTH)?.try_into().expect("a word"));
        if !inside || word.wrapping_sub(base) > size {
            return None;
        }
        count += 1;
    }
    Some(count)
}

/// Precondition: `count_pointers` has checked them, and the memory is a block of this process.
fn move_pointers(memory: &Memory, header: &Header) {
    let (start, size) = (memory.start().as_ptr(), header.size as usize);
    // SAFETY: the bits lie behind the words, so that no write changes them.
    let bits = unsafe { std::slice::from_raw_parts(start.add(size), memory.bytes().len() - size) };
    for at in pointers(bits) {
        // SAFETY: the word and what it points to lie inside. The block is aligned to at least 64 KiB, and the offset of
        // a word to words; no reference covers it.
        unsafe {
            let word = start.add(at).cast::<usize>();
            let offset = word.read() - header.base as usize;
            word.cast::<*const u8>().write(start.add(offset));
        }
    }
}

/// An open file, and the value in it. It is read-only, so that any number of threads may use it.
///
/// `R` is the type of the value; a lifetime in it has no meaning: `Frozen::<Index>` is that of `Index<'static>`.
pub struct Frozen<R> {
    memory: Memory,
    root: NonNull<R>,
    of: PhantomData<fn() -> R>,
}

// SAFETY: the memory is its own, and is not written: types that may be frozen have no cells.
unsafe impl<R> Send for Frozen<R> {}
// SAFETY: as above.
unsafe impl<R> Sync for Frozen<R> {}

impl<R: Freeze> Frozen<R> {
    /// Opens a file that [`freeze`](crate::freeze) wrote with this type and this name of a layout, or libtoft with the
    /// same structs. It is mapped at its own address, if nothing is there, and no page of it is read.
    ///
    /// # Safety
    /// The file was written so, by a writer that the program trusts, and no process changes or truncates it while it is
    /// open; it may be replaced by a rename. What is checked: the header, the sizes, the names and layouts of the types;
    /// at another address that each pointer lies inside; with [`OpenOptions::verify`] that, and the checksum.
    ///
    /// # Errors
    /// [`FrozenError`]: the file cannot be read, is damaged, or is of another layout, type or kind of system.
    pub unsafe fn open(path: impl AsRef<Path>, layout: &str) -> Result<Frozen<R>, FrozenError> {
        // SAFETY: the same contract.
        unsafe { OpenOptions::new().open(path, layout) }
    }

    /// Copies the bytes of a file, which may be part of the program, and opens the copy.
    ///
    /// ```
    /// use toft_frozen::{freeze_to_vec, Frozen};
    /// let bytes = freeze_to_vec(&["one", "two"], "names")?;
    /// // SAFETY: they were made with this type.
    /// let names = unsafe { Frozen::<[&str; 2]>::from_bytes(&bytes, "names")? };
    /// assert_eq!(names.get()[1], "two");
    /// # Ok::<(), toft_frozen::FrozenError>(())
    /// ```
    ///
    /// # Safety
    /// The bytes are those of such a file.
    ///
    /// # Errors
    /// As for [`Frozen::open`].
    pub unsafe fn from_bytes(bytes: &[u8], layout: &str) -> Result<Frozen<R>, FrozenError> {
        let header = read_header(&mut &*bytes, bytes.len() as u64)?;
        check_types::<R>(&header, layout)?;
        OpenOptions::new().finish(Memory::load(bytes, bytes.len())?, &header)
    }

    /// The value.
    pub fn get(&self) -> &R::At<'_> {
        // SAFETY: the file contains a value of R, by the contract of `open`; `At` is R for the time of the borrow.
        unsafe { self.root.cast().as_ref() }
    }

    /// Whether the file is mapped at its own address, so that processes share its pages.
    pub fn is_mapped(&self) -> bool {
        self.memory.is_mapped()
    }
}

impl<R> std::fmt::Debug for Frozen<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Frozen").field("mapped", &self.memory.is_mapped()).finish_non_exhaustive()
    }
}
