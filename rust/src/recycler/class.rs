//! Size classes: requests that are rounded up to the same number of bytes share slabs.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::segment::PAGE;

pub const CLASSES: usize = 62;
/// Requests up to this share slabs; up to `CLASS_MAX` the inline paths know their class.
pub const DIRECT: usize = 16112;
pub const CLASS_MAX: usize = 4096;
/// Up to this the classes are the multiples of 8; then each power of two has eight.
const EXACT_MAX: usize = 128;
/// The classes above `CLASS_MAX`: 2 to 7 objects fill a unit.
const PARTS: [u16; 6] = [4592, 5360, 6448, 8048, 10736, DIRECT as u16];
const FIRST_PART: usize = CLASSES - PARTS.len();

/// The size rounded up to the alignment, with which objects of a slab follow each other. No layout's sum overflows.
#[inline(always)]
const fn padded(size: usize, align: usize) -> usize {
    if align > 8 {
        (size + align - 1) & !(align - 1)
    } else {
        size
    }
}

/// Whether the inline paths, up to `most` bytes, serve a request; not if its size is 0.
#[inline(always)]
pub const fn is_inline(size: usize, align: usize, most: usize) -> bool {
    padded(size, align).wrapping_sub(1) < most
}

/// The index of a request's class, and its bytes. `None`: the inline paths do not serve it.
#[inline(always)]
pub const fn of(size: usize, align: usize) -> Option<(usize, usize)> {
    if !is_inline(size, align, CLASS_MAX) {
        return None;
    }
    let size = padded(size, align);
    if size <= EXACT_MAX {
        return Some(((size - 1) / 8, (size + 7) & !7));
    }
    let shift = 28 - (size as u32 - 1).leading_zeros();
    let step = (size - 1) >> shift;
    Some((step + 8 * (shift as usize - 3), (step + 1) << shift))
}

/// Bytes for a large object: rounded up to 8; a size of 0 counts as 1.
#[inline(always)]
pub const fn rounded_size(size: usize) -> usize {
    (size + (size == 0) as usize + 7) & !7
}

/// Whether objects of this layout lie in slabs.
#[inline(always)]
pub const fn is_small(size: usize, align: usize) -> bool {
    padded(size, align) <= if align <= 16 { DIRECT } else { CLASS_MAX } && align <= PAGE
}

/// The class of a request; `None`: a large object. A size of 0 counts as 1.
pub fn any_of(size: usize, align: usize) -> Option<(usize, usize)> {
    if !is_small(size, align) {
        return None;
    }
    of(size.max(1), align).or_else(|| {
        let i = PARTS.iter().position(|part| *part as usize >= size)?;
        Some((FIRST_PART + i, PARTS[i] as usize))
    })
}

/// Bytes of each object of a class.
pub const fn bytes_of(k: usize) -> usize {
    if k >= FIRST_PART {
        return PARTS[k - FIRST_PART] as usize;
    }
    let shift = if k < 16 { 3 } else { 2 + k / 8 };
    (k - 8 * (shift - 3) + 1) << shift
}

/// Pages of a slab of a class that has few.
pub const fn pages_of(bytes: usize) -> usize {
    match bytes {
        ..=512 => 1,
        513..=1024 => 2,
        1025..=2048 => 4,
        _ => 8,
    }
}
