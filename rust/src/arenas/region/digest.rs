//! Digests of a region's content.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use core::hash::{Hash, Hasher};

use super::{Region, Restorable};
use crate::arenas::owner::Root;

impl<R: Root> Region<R>
where
    for<'a> R::In<'a>: Restorable<'a> + Hash,
{
    /// A hash of the content by [`Hash`], for lockstep and rollback: processes that take the same steps compare it, to
    /// find the first step at which they differ.
    ///
    /// It depends on no address and no random number, and any change of one bit changes it. Integers count as 64 bits,
    /// in slices as their bytes in memory, so there hosts of another order of bytes, or size of `usize`, differ. It may
    /// change with the crate's version. Floats do not implement [`Hash`]: hash their `to_bits()`.
    ///
    /// ```
    /// toft::root!(struct Number => u32);
    /// let mut peers = [1, 1].map(|n| toft::Region::<Number>::new(1 << 16, |_| n).unwrap());
    /// assert_eq!(peers[0].digest(), peers[1].digest());
    /// peers[0].with_mut(|number, _| *number += 1);
    /// assert_ne!(peers[0].digest(), peers[1].digest());
    /// ```
    pub fn digest(&self) -> u64 {
        let mut digest = Digest(0);
        self.with(|root| root.hash(&mut digest));
        digest.finish()
    }
}

/// The steps of XXH64. Each is a bijection of the state, and of the word.
struct Digest(u64);

const A: u64 = 0x9E37_79B1_85EB_CA87;
const B: u64 = 0xC2B2_AE3D_27D4_EB4F;

macro_rules! as_words {
    ($($write:ident $of:ty),*) => {
        $(fn $write(&mut self, i: $of) {
            self.write_u64(i as u64);
        })*
    };
}

impl Hasher for Digest {
    as_words!(write_u8 u8, write_u16 u16, write_u32 u32, write_usize usize, write_isize isize);

    fn write_u64(&mut self, word: u64) {
        self.0 = self.0.wrapping_add(word.wrapping_mul(B)).rotate_left(31).wrapping_mul(A);
    }

    fn write(&mut self, bytes: &[u8]) {
        let words = bytes.chunks_exact(8);
        let (rest, mut last) = (words.remainder(), [bytes.len() as u8; 8]);
        words.for_each(|word| self.write_u64(u64::from_le_bytes(word.try_into().expect("8 bytes"))));
        last[..rest.len()].copy_from_slice(rest);
        self.write_u64(u64::from_le_bytes(last));
    }

    fn finish(&self) -> u64 {
        let mixed = (self.0 ^ self.0 >> 33).wrapping_mul(B);
        let mixed = (mixed ^ mixed >> 29).wrapping_mul(A);
        mixed ^ mixed >> 32
    }
}
