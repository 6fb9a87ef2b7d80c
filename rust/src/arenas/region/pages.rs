//! Copies of a region's pages, which checkpoints share.
// SPDX-License-Identifier: MIT OR Apache-2.0

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cell::Cell;
use core::hint::black_box;
use core::mem::MaybeUninit;
use core::ptr::NonNull;

use crate::base::error::AllocError;
use crate::base::try_box::try_box;

const PAGE: usize = 4096;
pub(super) type Page = [MaybeUninit<u8>; PAGE];

static ZERO: Page = [MaybeUninit::new(0); PAGE];

/// Whether two pages are equal; under Miri and Valgrind, which follow uninitialised bytes, whether they are one page.
///
/// Padding is uninitialised, and Rust does not define a comparison of it. `black_box` returns pointers to which, for all
/// that the compiler can assume, other code has written initialised bytes: the machine's. Both results are right then.
///
/// # Safety
/// Both can be read, and are not written during the call.
unsafe fn same(a: NonNull<Page>, b: &Page) -> bool {
    if cfg!(any(miri, toft_plain_heap)) {
        return a == b.into();
    }
    let (a, b) = black_box((a.cast::<[u8; PAGE]>(), NonNull::from(b).cast::<[u8; PAGE]>()));
    // SAFETY: the caller's contract.
    unsafe { a.as_ref() == b.as_ref() }
}

/// A value with a count of its owners, whose memory may be refused.
struct Shared<T>(NonNull<(Cell<usize>, T)>);

impl<T> Shared<T> {
    fn new(value: T) -> Result<Shared<T>, AllocError> {
        let value = try_box((Cell::new(1), value)).ok_or(AllocError)?;
        Ok(Shared(NonNull::from(Box::leak(value))))
    }

    fn get(&self) -> (&T, &Cell<usize>) {
        // SAFETY: it is alive, and only the count changes.
        let (count, value) = unsafe { self.0.as_ref() };
        (value, count)
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Shared<T> {
        let count = self.get().1;
        count.set(count.get() + 1);
        Shared(self.0)
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        let count = self.get().1;
        if count.replace(count.get() - 1) == 1 {
            // SAFETY: of a box, and this was the last owner.
            drop(unsafe { Box::from_raw(self.0.as_ptr()) });
        }
    }
}

/// Pages that copies share as one if all are equal. None: its bytes are 0.
const GROUP: usize = 64;
type Group = [Option<Shared<Page>>; GROUP];

/// A copy of the pages in use, which shares those that an older one has. Zeros follow.
#[derive(Default)]
pub(super) struct Pages {
    used: usize,
    groups: Vec<Option<Shared<Group>>>,
}

impl Pages {
    /// Copies the pages that differ from an older copy. Returns the bytes of these too.
    ///
    /// # Safety
    /// The pages of `used` bytes from `base` on can be read.
    pub(super) unsafe fn save(older: &Pages, base: NonNull<Page>, used: usize) -> Result<(Pages, usize), AllocError> {
        let (count, mut bytes) = (used.div_ceil(PAGE), 0);
        let mut groups = Vec::new();
        groups.try_reserve_exact(count.div_ceil(GROUP)).map_err(|_| AllocError)?;
        for first in (0..count).step_by(GROUP) {
            let shared = older.groups.get(first / GROUP).cloned().flatten();
            let mut changed = None;
            for number in first..first + GROUP {
                // SAFETY: the caller's contract.
                unsafe {
                    let now = if number < count { base.add(number) } else { NonNull::from(&ZERO) };
                    if !same(now, older.page(number)) {
                        let all = || shared.as_ref().map_or([const { None }; GROUP], |shared| shared.get().0.clone());
                        let copy = (!same(now, &ZERO)).then(|| Shared::new(now.read())).transpose()?;
                        bytes += copy.as_ref().map_or(0, |_| PAGE);
                        changed.get_or_insert_with(all)[number % GROUP] = copy;
                    }
                }
            }
            groups.push(changed.map(Shared::new).transpose()?.or(shared));
        }
        Ok((Pages { used, groups }, bytes))
    }

    /// Writes the pages that differ from `base` on. Returns the bytes in use.
    ///
    /// # Safety
    /// The pages that were copied can be read and written there.
    pub(super) unsafe fn restore(&self, base: NonNull<Page>) -> usize {
        for number in 0..self.used.div_ceil(PAGE) {
            // SAFETY: the caller's contract; the copies lie elsewhere.
            unsafe {
                let (page, saved) = (base.add(number), self.page(number));
                if !same(page, saved) {
                    page.copy_from_nonoverlapping(saved.into(), 1);
                }
            }
        }
        self.used
    }

    /// The bytes of pages that no other copy has.
    pub(super) fn own_bytes(&self) -> usize {
        let groups = self.groups.iter().flatten().map(Shared::get).filter(|group| group.1.get() == 1);
        let pages = groups.flat_map(|group| group.0.iter().flatten()).filter(|page| page.get().1.get() == 1);
        pages.count() * PAGE
    }

    fn page(&self, number: usize) -> &Page {
        let group = self.groups.get(number / GROUP).and_then(Option::as_ref);
        group.and_then(|group| group.get().0[number % GROUP].as_ref()).map_or(&ZERO, |page| page.get().0)
    }
}
