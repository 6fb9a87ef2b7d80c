//! Rust's part: requests grouped by path, in the arena that Go made and C has filled.
// SPDX-License-Identifier: MIT OR Apache-2.0

mod copied;
mod shared;

use std::cmp::Reverse;
use std::ffi::c_int;
use std::ptr::{null, NonNull};

use shared::{Group, Index, Log, Record};
use toft::abi::{self, Head};
use toft::{AllocError, Arena};

/// The index of a log. All its memory, including the map, is in the arena; nothing needs to be dropped.
fn index<'a>(arena: &'a Arena, records: &'a [Record]) -> Result<&'a [Group], AllocError> {
    let mut numbers = arena.map::<&[u8], usize>(); // of groups, by path, in the order of appearance
    let mut groups = arena.vec();
    let group_of = arena.try_alloc_slice_fill(records.len(), 0)?;
    for (record, number) in records.iter().zip(group_of.iter_mut()) {
        numbers.try_reserve(1).map_err(|_| AllocError)?;
        *number = *numbers.entry(record.path.bytes()).or_insert(groups.len());
        if *number == groups.len() {
            groups.try_push(Group::new(record.path))?;
        }
        groups[*number].count(record);
    }

    let mut by_slowest: &mut [&Record] = match records.first() {
        Some(first) => arena.try_alloc_slice_fill(records.len(), first)?,
        None => &mut [],
    };
    let mut parts = arena.try_vec_with_capacity::<(usize, &mut [&Record])>(groups.len())?; // with their lengths so far
    for group in &groups {
        let (part, rest) = by_slowest.split_at_mut(group.requests as usize);
        parts.try_push((0, part))?;
        by_slowest = rest;
    }
    for (record, number) in records.iter().zip(&*group_of) {
        let (filled, part) = &mut parts[*number];
        part[*filled] = record;
        *filled += 1;
    }
    for (group, (_, part)) in groups.iter_mut().zip(parts) {
        // In place, since a stable sort would call malloc: records are in the order of the log.
        part.sort_unstable_by_key(|record| (Reverse(record.micros), *record as *const Record));
        group.by_slowest = part.as_ptr().cast();
    }
    groups.sort_unstable_by(|a, b| a.path.bytes().cmp(b.path.bytes()));
    Ok(groups.into_slice())
}

/// `relay_index_in` of relay.h.
///
/// # Safety
/// `arena` is a live arena that only this thread uses during the call; `log` is one that `relay_parse` put into it.
#[no_mangle]
pub unsafe extern "C" fn relay_index_in(arena: NonNull<Head>, log: &Log, out: &mut Index) -> c_int {
    // SAFETY: the caller's contract. The index lives as long as the arena, which outlives this borrow.
    let Some(arena) = (unsafe { Arena::borrow_raw(arena) }) else { return abi::ENOSYS };
    match index(&arena, log.records()) {
        Ok([]) => *out = Index { groups: null(), count: 0 }, // not Rust's dangling address
        Ok(groups) => *out = Index { groups: groups.as_ptr(), count: groups.len() },
        Err(AllocError) => return abi::ENOMEM,
    }
    abi::OK
}
