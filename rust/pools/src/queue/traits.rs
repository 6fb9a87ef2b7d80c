//! Constructors and traits of the standard library for a queue.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

use super::Queue;

crate::sequence::sequence!(Queue, "queue", push_back, "push_back(Item { number: 1 })", "there is no memory");
crate::sequence::index_by!(Queue, usize, "queue has no value at this position");
crate::sequence::indexed!(Queue, "queue");

impl<T: PartialEq<U>, U, M: Memory, const N: usize> PartialEq<[U; N]> for Queue<T, Rows, M> {
    fn eq(&self, other: &[U; N]) -> bool {
        self.len() == N && self.iter().eq(other)
    }
}

#[cfg(feature = "std")]
impl<M: Memory> std::io::Read for Queue<u8, Rows, M> {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        let (front, _) = self.as_slices();
        let n = front.len().min(to.len());
        to[..n].copy_from_slice(&front[..n]);
        std::io::BufRead::consume(self, n);
        Ok(n)
    }
}

/// The contiguous bytes at the front.
#[cfg(feature = "std")]
impl<M: Memory> std::io::BufRead for Queue<u8, Rows, M> {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        Ok(self.as_slices().0)
    }

    fn consume(&mut self, n: usize) {
        assert!(n <= self.len(), "toft: {n} of {} bytes", self.len());
        self.head = self.head.wrapping_add(n);
    }
}

/// Bytes are added at the back; a fixed queue takes as many as fit.
#[cfg(feature = "std")]
impl<M: Memory> std::io::Write for Queue<u8, Rows, M> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let n = match self.try_reserve(bytes.len()) {
            Ok(()) => bytes.len(),
            Err(_) => bytes.len().min(self.capacity() - self.len()),
        };
        self.extend(&bytes[..n]);
        Ok(n)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
