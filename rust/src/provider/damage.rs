//! The description of a write outside an allocation: its first and last byte, and the first few bytes as they are now.
// SPDX-License-Identifier: MIT OR Apache-2.0

/// Bytes in a finding.
pub const SHOWN: usize = 32;

#[derive(Clone, Copy)]
pub struct Damage {
    /// Address of the allocation.
    pub address: usize,
    /// First changed byte, relative to `address`.
    pub offset: isize,
    /// Distance from the first to the last changed byte, both included.
    pub count: usize,
    /// The outermost checked byte changed too: the first one in front of an allocation, else the last one.
    pub or_more: bool,
    pub bytes: [u8; SHOWN],
}

/// Whether each byte from `from` to `to` is `fill`.
///
/// # Safety
/// The bytes are readable, and the program has no reference to them.
pub unsafe fn is_filled(from: *const u8, to: *const u8, fill: u8) -> bool {
    const WORD: usize = size_of::<usize>();
    let size = to.addr() - from.addr();
    let head = (from.addr().wrapping_neg() % WORD).min(size);
    let tail = head + (size - head) / WORD * WORD;
    let at = |i: usize| from.wrapping_add(i);
    // SAFETY: the caller's contract.
    let byte = |i: usize| unsafe { at(i).read_volatile() } == fill;
    // SAFETY: as above. The words from `head` to `tail` are aligned.
    let word = |i: usize| unsafe { at(i).cast::<usize>().read_volatile() } == usize::from_ne_bytes([fill; WORD]);
    (0..head).all(byte) && (head..tail).step_by(WORD).all(word) && (tail..size).all(byte)
}

impl Damage {
    /// Describes the bytes from `from` to `to` that are not `fill`; `None`: none.
    ///
    /// # Safety
    /// As [`is_filled`].
    pub unsafe fn of(allocation: *const u8, from: *const u8, to: *const u8, fill: u8) -> Option<Damage> {
        // SAFETY: the caller's contract.
        unsafe {
            if is_filled(from, to, fill) {
                None
            } else {
                Damage::describe(allocation, from, to, &|_| fill)
            }
        }
    }

    /// Describes the bytes from `from` to `to` that differ from `expected` by address; `None`: none.
    ///
    /// # Safety
    /// As [`is_filled`].
    #[cold]
    pub unsafe fn describe(
        allocation: *const u8,
        from: *const u8,
        to: *const u8,
        expected: &dyn Fn(usize) -> u8,
    ) -> Option<Damage> {
        let size = to.addr() - from.addr();
        let at = |i: usize| from.wrapping_add(i);
        // SAFETY: the caller's contract.
        let byte = |i: usize| unsafe { at(i).read_volatile() };
        let changed = |i: &usize| byte(*i) != expected(at(*i).addr());
        let first = (0..size).find(changed)?;
        let last = (first..size).rfind(changed)?;
        let mut bytes = [0; SHOWN];
        let count = last + 1 - first;
        for (i, shown) in bytes.iter_mut().enumerate().take(count) {
            *shown = byte(first + i);
        }
        let offset = at(first).addr().wrapping_sub(allocation.addr()) as isize;
        let in_front = to.addr() == allocation.addr();
        let or_more = if in_front { first == 0 } else { last + 1 == size };
        Some(Damage { address: allocation.addr(), offset, count, or_more, bytes })
    }

    pub fn shown(&self) -> &[u8] {
        &self.bytes[..self.count.min(SHOWN)]
    }
}
