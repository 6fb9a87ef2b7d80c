//! The types of relay.h.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::slice;

#[derive(Clone, Copy)]
#[repr(C)]
pub struct Text {
    pub at: *const u8,
    pub size: usize,
}

impl Text {
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the owner of a record or group keeps its text alive; C's parser never makes a null pointer.
        unsafe { slice::from_raw_parts(self.at, self.size) }
    }
}

#[repr(C)]
pub struct Record {
    pub host: Text,
    pub method: Text,
    pub path: Text,
    pub status: u64,
    pub bytes: u64,
    pub micros: u64,
}

#[repr(C)]
pub struct Log {
    records: *const Record,
    count: usize,
    malformed: usize,
}

impl Log {
    pub fn records(&self) -> &[Record] {
        if self.count == 0 {
            return &[]; // the address may be dangling or null
        }
        // SAFETY: the array has `requests` elements.
        unsafe { slice::from_raw_parts(self.records, self.count) }
    }
}

#[repr(C)]
pub struct Group {
    pub path: Text,
    pub requests: u64,
    pub errors: u64,
    pub bytes: u64,
    pub by_slowest: *const *const Record,
}

impl Group {
    pub fn new(path: Text) -> Group {
        Group { path, requests: 0, errors: 0, bytes: 0, by_slowest: std::ptr::null() }
    }

    pub fn count(&mut self, record: &Record) {
        self.requests += 1;
        self.errors += u64::from(record.status >= 500);
        self.bytes += record.bytes;
    }
}

#[repr(C)]
pub struct Index {
    pub groups: *const Group,
    pub count: usize,
}
