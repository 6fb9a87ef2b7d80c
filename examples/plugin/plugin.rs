//! The plugin in Rust. It needs no crate: the head and the start of its table are those of toft_abi.h. A panic that reaches
//! an `extern "C"` function ends the process, and none passes into the host.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0
use std::ffi::{c_char, c_void};
use std::ptr::null_mut;

#[repr(C)]
pub struct Head {
    cursor: *mut u8,
    ops: *const Ops,
    limit: *mut u8,
    epoch: usize,
}

#[repr(C)]
struct Ops {
    size: u32,
    version: u32,
    alloc: unsafe extern "C" fn(*mut Head, usize, usize, u32, usize) -> *mut c_void,
}

#[repr(C)]
pub struct Row {
    next: *mut Row,
    name: *const c_char,
    value: *const c_char,
    id: i64,
}

/// `size` bytes, aligned to 8. None: no memory.
unsafe fn take(a: *mut Head, size: usize) -> Option<*mut u8> {
    let p = (*a).cursor;
    if ((*a).limit as usize - p as usize) < size {
        let p = ((*(*a).ops).alloc)(a, size, 8, 0, 0).cast::<u8>();
        return (!p.is_null()).then_some(p);
    }
    (*a).cursor = p.add((size + 7) & !7);
    Some(p)
}

unsafe fn text(a: *mut Head, s: String) -> Option<*const c_char> {
    let p = take(a, s.len() + 1)?;
    p.copy_from_nonoverlapping(s.as_ptr(), s.len());
    *p.add(s.len()) = 0;
    Some(p.cast())
}

unsafe fn rows(a: *mut Head, count: i64) -> Option<*mut Row> {
    let mut list = null_mut();
    for id in 0..count {
        let row = take(a, size_of::<Row>())?.cast::<Row>();
        let (name, value) = (text(a, format!("the name of column {id}"))?, text(a, format!("the value in row {id}"))?);
        row.write(Row { next: list, name, value, id });
        list = row;
    }
    Some(list)
}

/// # Safety
/// The arena is alive and used by this thread only.
#[no_mangle]
pub unsafe extern "C" fn query(a: *mut Head, count: i64) -> *mut Row {
    if (*(*a).ops).version != 1 {
        return null_mut();
    }
    rows(a, count).unwrap_or(null_mut())
}
