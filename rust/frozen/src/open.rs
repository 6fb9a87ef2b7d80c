//! Opening files.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::fs::File;
use std::io::{Read, Seek};
use std::marker::PhantomData;
use std::path::Path;
use std::ptr::NonNull;

use crate::format::{alignment, bits_size, checksum, layout_name, FrozenError, Header, HEADER, START, WIDTH};
use crate::memory::Memory;
use crate::{Content, Freeze, Layout};

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
        let (mut file, header, align) = open_file::<R>(path.as_ref(), layout)?;
        let length = file.metadata()?.len() as usize;
        let mapped = if self.elsewhere { None } else { Memory::map(&file, length, header.base as usize) };
        let memory = match mapped {
            Some(memory) => memory,
            None => {
                file.rewind()?;
                Memory::load(file, length, trusted_align(&header, align))?
            }
        };
        self.finish(memory, &header)
    }

    /// Reads a file, and checks it as [`Frozen::open_checked`] does; with [`OpenOptions::verify`] also its checksum.
    ///
    /// # Errors
    /// As for [`Frozen::open_checked`].
    pub fn open_checked<R: Freeze>(self, path: impl AsRef<Path>, layout: &str) -> Result<Frozen<R>, FrozenError> {
        let (mut file, header, align) = open_file::<R>(path.as_ref(), layout)?;
        let length = header.size as usize + bits_size(header.size as usize);
        file.rewind()?;
        self.check(Memory::load(file, length, align)?, layout)
    }

    /// The file may have been changed since its header was read, so that the one in memory counts.
    fn check<R: Freeze>(self, memory: Memory, layout: &str) -> Result<Frozen<R>, FrozenError> {
        let header = read_header(&mut memory.bytes(), memory.bytes().len() as u64)?;
        check_types::<R>(&header, layout)?;
        let open = self.finish(memory, &header)?;
        Content::check::<R>(&open.memory.bytes()[..header.size as usize], header.root as usize)?;
        Ok(open)
    }

    fn finish<R>(self, memory: Memory, header: &Header) -> Result<Frozen<R>, FrozenError> {
        let bytes = memory.bytes();
        if self.verify && header.checksum != 0 && header.checksum != checksum(bytes) {
            return Err(FrozenError::Corrupt);
        }
        let count = match memory.is_mapped() {
            true if !self.verify => Some(header.pointers),
            true => count_pointers(bytes, header),
            // SAFETY: the block is this function's own, and aligned to words.
            false => unsafe { move_pointers(memory.start(), memory.bytes().len(), header) },
        };
        if count != Some(header.pointers) {
            return Err(FrozenError::Corrupt);
        }
        // SAFETY: the root's offset is below the size.
        let root = unsafe { memory.start().add(header.root as usize) };
        Ok(Frozen { memory, root: root.cast(), of: PhantomData })
    }
}

/// The alignment of a block for a file that is not checked: another language may use the low bits of addresses.
fn trusted_align(header: &Header, of_types: usize) -> usize {
    let size = header.size as usize;
    of_types.max(if header.layout_hash == 0 { alignment(size + bits_size(size)) } else { 1 })
}

/// The file, its header, and the largest alignment of the types.
fn open_file<R: Freeze>(path: &Path, layout: &str) -> Result<(File, Header, usize), FrozenError> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let header = read_header(&mut file, length)?;
    let align = check_types::<R>(&header, layout)?;
    Ok((file, header, align))
}

pub fn read_header(file: &mut impl Read, length: u64) -> Result<Header, FrozenError> {
    let mut bytes = [0; HEADER];
    if length < START as u64 {
        return Err(FrozenError::Corrupt);
    }
    file.read_exact(&mut bytes)?;
    Header::decode(&bytes, length)
}

/// Returns the largest alignment of the types. Files of other languages have no hash of types.
pub fn check_types<R: Freeze>(header: &Header, layout: &str) -> Result<usize, FrozenError> {
    let types = Layout::of::<R>()?;
    if header.layout != layout_name(layout)? || (header.layout_hash != types.hash() && header.layout_hash != 0) {
        return Err(FrozenError::Layout);
    }
    let (root, size) = (header.root as usize, header.size as usize);
    if size - root < size_of::<R>() || root % align_of::<R>() != 0 {
        return Err(FrozenError::Corrupt);
    }
    Ok(types.largest_align())
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

/// The number of pointers. None: one does not lie in the content, or a bit is set that is none of a word behind the
/// header's page.
pub fn count_pointers(bytes: &[u8], header: &Header) -> Option<u64> {
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

/// Adds the distance to each pointer, and returns as `count_pointers` does; after None some are changed.
///
/// # Safety
/// The file's `length` bytes at `start` are aligned to words and belong to the caller.
pub unsafe fn move_pointers(start: NonNull<u8>, length: usize, header: &Header) -> Option<u64> {
    let (start, base, size) = (start.as_ptr(), header.base as usize, header.size as usize);
    // SAFETY: the bits lie behind the words, so that no write changes them.
    let bits = unsafe { std::slice::from_raw_parts(start.add(size), length - size) };
    let mut count = 0;
    for at in pointers(bits) {
        if at < START || at + WIDTH > size {
            return None;
        }
        // SAFETY: the word lies inside, at a multiple of its size, and no reference covers it.
        let word = unsafe { start.add(at).cast::<usize>() };
        // SAFETY: as above.
        let offset = unsafe { word.read() }.wrapping_sub(base);
        if offset > size {
            return None;
        }
        // SAFETY: as above; the target lies inside too.
        unsafe { word.cast::<*const u8>().write(start.add(offset)) };
        count += 1;
    }
    Some(count)
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
    /// The file was written so, by a writer that the program trusts, and is not changed or truncated while it is
    /// open; it may be replaced by a rename. The checks are of the header, the sizes, the names and layouts of the types;
    /// at another address that each pointer lies inside; with [`OpenOptions::verify`] that, and the checksum.
    /// [`Frozen::open_checked`] has no such condition.
    ///
    /// # Errors
    /// [`FrozenError`]: the file cannot be read, is damaged, or is of another layout, type or kind of system.
    pub unsafe fn open(path: impl AsRef<Path>, layout: &str) -> Result<Frozen<R>, FrozenError> {
        // SAFETY: the same contract.
        unsafe { OpenOptions::new().open(path, layout) }
    }

    /// Opens a file of a writer that the program does not trust: reads it into memory, and checks each value that the root
    /// refers to: addresses, alignments, lengths, tags, ranges, UTF-8, and that none refers to itself. The time and the
    /// memory are those of the file's size. [`OpenOptions::open_checked`] can compare the checksum too.
    ///
    /// ```
    /// use toft_frozen::{freeze, Frozen, FrozenError};
    /// # let path = std::env::temp_dir().join(format!("checked-{}.frozen", std::process::id()));
    /// freeze(&[Some("one"), None], &path, "names")?;
    /// let names = Frozen::<[Option<&str>; 2]>::open_checked(&path, "names")?;
    /// assert_eq!(*names.get(), [Some("one"), None]);
    /// assert!(matches!(Frozen::<[Option<&str>; 2]>::open_checked(&path, "words"), Err(FrozenError::Layout)));
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), FrozenError>(())
    /// ```
    ///
    /// The check does not cover conditions between values, such as the order of a [`FrozenSortedMap`](crate::FrozenSortedMap) or
    /// an index that a type's methods rely on. A slice of values without bytes, as `&[()]`, has whatever length the file gives.
    ///
    /// # Errors
    /// As for [`Frozen::open`]; [`FrozenError::Invalid`].
    pub fn open_checked(path: impl AsRef<Path>, layout: &str) -> Result<Frozen<R>, FrozenError> {
        OpenOptions::new().open_checked(path, layout)
    }

    /// Copies the bytes of a file, and checks them as [`Frozen::open_checked`] does.
    ///
    /// ```
    /// use toft_frozen::{freeze_to_vec, Frozen, FrozenError};
    /// let mut bytes = freeze_to_vec(&true, "a flag")?;
    /// assert!(*Frozen::<bool>::from_bytes_checked(&bytes, "a flag")?.get());
    /// bytes[4096] = 2;
    /// assert!(Frozen::<bool>::from_bytes_checked(&bytes, "a flag").is_err());
    /// # Ok::<(), FrozenError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Frozen::open_checked`].
    pub fn from_bytes_checked(bytes: &[u8], layout: &str) -> Result<Frozen<R>, FrozenError> {
        let header = read_header(&mut &*bytes, bytes.len() as u64)?;
        let align = check_types::<R>(&header, layout)?;
        OpenOptions::new().check(Memory::load(bytes, bytes.len(), align)?, layout)
    }

    /// Copies the bytes of a file, which may be part of the program, and opens the copy. [`FrozenStatic`](crate::FrozenStatic)
    /// opens a part of the program without a copy.
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
        let align = check_types::<R>(&header, layout)?;
        OpenOptions::new().finish(Memory::load(bytes, bytes.len(), trusted_align(&header, align))?, &header)
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
