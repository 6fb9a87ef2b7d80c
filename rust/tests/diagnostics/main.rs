//! Findings and reports: each misuse is found once; correct programs give none.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "full")]
#![allow(clippy::undocumented_unsafe_blocks)] // it commits faults on purpose

mod correct_programs;
mod frees_and_marks;
mod leaks;
mod meters;
mod no_memory;
mod red_zones;
mod refusal_handlers;
#[path = "../common/refusing.rs"]
mod refusing;
mod switches;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::mem::{forget, size_of};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use toft::{abi, AllocError, Arena, Finding, Frames, Options, Owner, Refusal, RewindError, Scope, SwitchError};

const MIRI: bool = cfg!(miri);
const UNINIT_BYTE: u8 = 0xCD;
const FREED_BYTE: u8 = 0xDD;

type SwitchTo = fn(&Arena, bool) -> Result<(), SwitchError>;
type SwitchOn = fn(&Arena) -> Result<(), SwitchError>;

fn checked() -> Arena {
    let arena = Arena::new();
    arena.set_checked(true).unwrap();
    arena
}

fn layout(size: usize, align: usize) -> Layout {
    Layout::from_size_align(size, align).unwrap()
}

/// Findings as lines of this file, with their kind.
fn lines(findings: &[Finding]) -> Vec<(&'static str, u32, usize)> {
    let line = |finding: &Finding| {
        let (kind, site, size) = match finding {
            Finding::Corrupt { site, size, .. } => ("corrupt", site, *size),
            Finding::LateWrite { site, size, .. } => ("late write", site, *size),
            Finding::BadFree { site, size } => ("bad free", site, *size),
            Finding::Leak { site, size } => ("leak", site, *size),
            Finding::OverBudget { site, live, .. } => ("over budget", site, *live as usize),
            other => panic!("{other}"),
        };
        assert!(site.file.is_empty() || site.file.contains("diagnostics"), "{site}");
        (kind, site.line, size)
    };
    findings.iter().map(line).collect()
}

fn bytes_at(p: *const u8, n: usize) -> Vec<u8> {
    (0..n).map(|i| unsafe { p.wrapping_add(i).read_volatile() }).collect()
}

struct Noisy(#[allow(dead_code)] Arc<()>);

/// A block size that one test uses, and the number of such blocks that are allocated.
const COUNTED: usize = 98 * 4096;
static OUT: AtomicU64 = AtomicU64::new(0);
