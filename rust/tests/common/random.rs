//! A deterministic pseudo-random generator: xorshift, whose seed is not 0.
// SPDX-License-Identifier: MIT OR Apache-2.0

pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}
