//! The header of a file, and its checks.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::{error, fmt, io};

pub const WIDTH: usize = size_of::<usize>();
pub const HEADER: usize = 104;
/// Objects lie behind this offset.
pub const START: usize = 4096;
const ALIGN_MIN: usize = 65536;
const MAGIC: [u8; 8] = [0x89, b'T', b'O', b'F', b'T', b'\r', b'\n', 0x1a];
const ORDER: u32 = 0x01020304;
const VERSION: u16 = 1;

/// Why a value was not frozen, or a file not opened.
#[derive(Debug)]
#[non_exhaustive]
pub enum FrozenError {
    /// The file could not be read, written or mapped.
    Io(io::Error),
    /// It is no frozen file, or is damaged.
    Corrupt,
    /// The bytes at this offset are no value of the type that the file should have there, or the value refers to itself.
    Invalid(usize),
    /// Its layout or its types are not those of the program.
    Layout,
    /// It is of another version, byte order or width of pointers.
    Unsupported,
    /// There is no memory.
    Memory,
    /// The name of a layout has more than 31 bytes or a zero, or a type is aligned to more than 64 KiB, in a `FrozenStatic` to more than 4 KiB.
    Argument,
}

impl fmt::Display for FrozenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FrozenError::Io(error) => return error.fmt(f),
            FrozenError::Corrupt => "not a frozen file, or a damaged one",
            FrozenError::Invalid(at) => return write!(f, "the bytes at {at} of the file are no value of their type"),
            FrozenError::Layout => "the file has another layout or other types",
            FrozenError::Unsupported => "the file is of another version, byte order or pointer width",
            FrozenError::Memory => "no memory",
            FrozenError::Argument => "a layout's name above 31 bytes, or too large an alignment",
        })
    }
}

impl error::Error for FrozenError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            FrozenError::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for FrozenError {
    fn from(error: io::Error) -> FrozenError {
        FrozenError::Io(error)
    }
}

#[derive(Clone, Copy)]
pub struct Header {
    pub base: u64,
    /// Bytes of header and content.
    pub size: u64,
    pub root: u64,
    pub pointers: u64,
    pub layout_hash: u64,
    pub layout: [u8; 32],
    pub checksum: u64,
}

/// Bytes of the bits behind `size` bytes of words.
pub fn bits_size(size: usize) -> usize {
    (size / WIDTH).div_ceil(64) * 8
}

/// The alignment of every address that a file of `bytes` is opened at.
pub fn alignment(bytes: usize) -> usize {
    bytes.next_power_of_two().max(ALIGN_MIN)
}

pub fn layout_name(name: &str) -> Result<[u8; 32], FrozenError> {
    let mut layout = [0; 32];
    if name.len() > 31 || name.contains('\0') {
        return Err(FrozenError::Argument);
    }
    layout[..name.len()].copy_from_slice(name.as_bytes());
    Ok(layout)
}

fn add(sum: u64, words: &[u8]) -> u64 {
    words.chunks_exact(8).fold(sum, |sum, word| {
        let word = u64::from_ne_bytes(word.try_into().expect("eight bytes"));
        (sum ^ word).rotate_left(29).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    })
}

/// The checksum of all that follows the header.
pub fn checksum(file: &[u8]) -> u64 {
    add(1, &file[HEADER..]).max(1)
}

impl Header {
    pub fn encode(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&ORDER.to_ne_bytes());
        bytes[12..14].copy_from_slice(&VERSION.to_ne_bytes());
        bytes[14..16].copy_from_slice(&(WIDTH as u16).to_ne_bytes());
        let numbers = [self.base, self.size, self.root, self.pointers, self.layout_hash];
        for (at, number) in bytes[16..56].chunks_exact_mut(8).zip(numbers) {
            at.copy_from_slice(&number.to_ne_bytes());
        }
        bytes[56..88].copy_from_slice(&self.layout);
        bytes[88..96].copy_from_slice(&self.checksum.to_ne_bytes());
        let sum = add(0, &bytes[..96]);
        bytes[96..].copy_from_slice(&sum.to_ne_bytes());
        bytes
    }

    /// Rules F1 and F4 of the format, for a file of `length` bytes.
    pub fn decode(bytes: &[u8; HEADER], length: u64) -> Result<Header, FrozenError> {
        let number = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let short = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        let order = u32::from_ne_bytes(bytes[8..12].try_into().expect("four bytes"));
        if bytes[..8] != MAGIC {
            return Err(FrozenError::Corrupt);
        }
        if order == ORDER.swap_bytes() {
            return Err(FrozenError::Unsupported);
        }
        if order != ORDER || number(96) != add(0, &bytes[..96]) {
            return Err(FrozenError::Corrupt);
        }
        if short(12) != VERSION || short(14) as usize != WIDTH {
            return Err(FrozenError::Unsupported);
        }
        let layout: [u8; 32] = bytes[56..88].try_into().expect("32 bytes");
        let header = Header {
            base: number(16),
            size: number(24),
            root: number(32),
            pointers: number(40),
            layout_hash: number(48),
            layout,
            checksum: number(88),
        };
        let size = header.size;
        let fits = length <= isize::MAX as u64
            && (START as u64..=length).contains(&size)
            && size % 8 == 0
            && length - size == bits_size(size as usize) as u64;
        let base = header.base;
        let based = base != 0 && base % 64 == 0 && base <= usize::MAX as u64 - length;
        if !fits || !based || !(START as u64..size).contains(&header.root) || layout[31] != 0 {
            return Err(FrozenError::Corrupt);
        }
        Ok(header)
    }
}
