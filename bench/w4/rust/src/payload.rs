//! The stored elements.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

/// `P` numbers, stored beside a key.
#[derive(Clone, Copy, PartialEq)]
#[cfg_attr(feature = "toft", derive(toft_pools::Columnar))]
pub struct Payload<const P: usize>(pub [f64; P]);

impl<const P: usize> Payload<P> {
    pub fn filled(x: f64) -> Self {
        Payload([x; P])
    }
}

/// An element of a list, a stack or a queue.
#[derive(Clone, Copy)]
#[cfg_attr(feature = "toft", derive(toft_pools::Columnar))]
pub struct Item<const P: usize> {
    pub number: u64,
    #[allow(dead_code)] // it is stored
    pub payload: Payload<P>,
}

/// A value of a pool, of `8 * (1 + REST)` bytes.
#[derive(Clone, Copy)]
#[cfg_attr(feature = "toft", derive(toft_pools::Columnar))]
pub struct Value<const REST: usize> {
    pub first: u64,
    #[allow(dead_code)] // it is stored
    pub rest: [u64; REST],
}

impl<const REST: usize> Value<REST> {
    #[inline]
    pub fn new(first: u64) -> Self {
        Value { first, rest: [first; REST] }
    }
}

pub fn sum_to(n: usize) -> u64 {
    n as u64 * (n as u64 + 1) / 2
}
