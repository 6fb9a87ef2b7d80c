//! A box whose allocation may fail.
// SPDX-License-Identifier: MIT OR Apache-2.0

use alloc::boxed::Box;
use core::alloc::Layout;
use core::ptr::NonNull;

pub fn try_box<T>(value: T) -> Option<Box<T>> {
    let layout = Layout::new::<T>();
    if layout.size() == 0 {
        return Some(Box::new(value)); // takes no memory
    }
    // SAFETY: the size is not 0, and a box has memory of this layout.
    unsafe {
        let at = NonNull::new(alloc::alloc::alloc(layout).cast::<T>())?;
        at.write(value);
        Some(Box::from_raw(at.as_ptr()))
    }
}
