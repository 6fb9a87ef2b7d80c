//! Rust's part with a copy at each border, as in bindings: inputs are copied into values of Rust, and results are
//! copied for their receiver. It also counts calls of malloc.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::alloc::{GlobalAlloc, Layout, System};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr::addr_of_mut;

use crate::shared::{Group, Index, Log, Record, Text};

#[repr(C)]
struct Count {
    allocations: u64,
    frees: u64,
    copied: u64,
}

extern "C" {
    static mut relay_counts: Count;
    fn relay_malloc(size: usize) -> *mut c_void;
    fn relay_free(p: *mut c_void);
}

fn copied(bytes: usize) {
    // SAFETY: one thread at a time relays.
    unsafe { (*addr_of_mut!(relay_counts)).copied += bytes as u64 }
}

struct Counting;

// SAFETY: the system's.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        (*addr_of_mut!(relay_counts)).allocations += 1;
        System.alloc(layout)
    }

    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        (*addr_of_mut!(relay_counts)).frees += 1;
        System.dealloc(p, layout)
    }

    unsafe fn realloc(&self, p: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        System.realloc(p, layout, size)
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// A record as a plain Rust type.
struct Request {
    host: Vec<u8>,
    method: Vec<u8>,
    path: Vec<u8>,
    status: u64,
    bytes: u64,
    micros: u64,
}

impl Request {
    fn from_c(record: &Record) -> Request {
        copied(record.host.size + record.method.size + record.path.size + 24);
        Request {
            host: record.host.bytes().to_vec(),
            method: record.method.bytes().to_vec(),
            path: record.path.bytes().to_vec(),
            status: record.status,
            bytes: record.bytes,
            micros: record.micros,
        }
    }
}

/// A copy that C frees with [`relay_copied_index_free`]. Out of memory ends the program, as for Rust's own allocations
/// above.
unsafe fn array<T>(values: impl ExactSizeIterator<Item = T>) -> *mut T {
    let at = relay_malloc(values.len() * size_of::<T>()).cast::<T>();
    assert!(!at.is_null(), "no memory");
    copied(values.len() * size_of::<T>());
    for (i, value) in values.enumerate() {
        at.add(i).write(value);
    }
    at
}

unsafe fn text(bytes: &[u8]) -> Text {
    Text { at: array(bytes.iter().copied()), size: bytes.len() }
}

unsafe fn free<T>(p: *const T) {
    relay_free(p.cast_mut().cast());
}

/// `relay_copied_index` of relay.h.
///
/// # Safety
/// `log` is a result of `relay_copied_parse`.
#[no_mangle]
pub unsafe extern "C" fn relay_copied_index(log: &Log) -> *mut Index {
    let requests: Vec<Request> = log.records().iter().map(Request::from_c).collect();
    let mut by_path: HashMap<&[u8], Vec<&Request>> = HashMap::new();
    for request in &requests {
        by_path.entry(&request.path).or_default().push(request);
    }
    let mut groups: Vec<_> = by_path.into_iter().collect();
    groups.sort_unstable_by_key(|(path, _)| *path);
    let made = groups.iter_mut().map(|(path, of)| {
        of.sort_by_key(|request| Reverse(request.micros));
        let records = of.iter().map(|r| {
            let (host, method, path) = (text(&r.host), text(&r.method), text(&r.path));
            array([Record { host, method, path, status: r.status, bytes: r.bytes, micros: r.micros }].into_iter())
        });
        Group {
            path: text(path),
            requests: of.len() as u64,
            errors: of.iter().filter(|r| r.status >= 500).count() as u64,
            bytes: of.iter().map(|r| r.bytes).sum(),
            by_slowest: array(records).cast_const().cast(),
        }
    });
    let index = Index { count: made.len(), groups: array(made) };
    array([index].into_iter())
}

/// `relay_copied_index_free` of relay.h.
///
/// # Safety
/// `index` is a result of [`relay_copied_index`], not used any more; or null.
#[no_mangle]
pub unsafe extern "C" fn relay_copied_index_free(index: *mut Index) {
    if index.is_null() {
        return;
    }
    let groups = std::slice::from_raw_parts((*index).groups, (*index).count);
    for group in groups {
        for record in std::slice::from_raw_parts(group.by_slowest, group.requests as usize) {
            free((**record).host.at);
            free((**record).method.at);
            free((**record).path.at);
            free(*record);
        }
        free(group.by_slowest);
        free(group.path.at);
    }
    free((*index).groups);
    free(index);
}
