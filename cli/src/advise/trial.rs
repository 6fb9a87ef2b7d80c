//! The file of a trial, which `trial/trial.h` defines: the code paths whose objects are in an arena, and the counts of a run.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::{
    lifetimes::NO_OWNER,
    recording::Recording,
    scopes::{Resets, ScopeObjects},
};
use anyhow::{Context, Result};
use rustc_hash::{FxHashMap, FxHashSet};
use std::{
    fs::Permissions,
    os::unix::{ffi::OsStrExt, fs::PermissionsExt},
    path::{Path, PathBuf},
};

const MAGIC: u64 = u64::from_le_bytes(*b"TOFTTRL1");
const HEAD: usize = 4096;
const EXECUTABLE: usize = 80;
/// 16 frees that take longer do something else too.
const BURST_SECONDS: f64 = 16.0 * 2e-6;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Control = 1,
    Arena = 2,
}

/// Of one run.
#[derive(Clone, Copy, Default)]
pub struct Counts {
    pub routed: u64,
    pub instances: u64,
    pub left: u64,
    pub refused: u64,
    /// Seconds of frees in arenas, one after another.
    pub traversal: f64,
}

pub struct Trial {
    path: PathBuf,
    bytes: Vec<u8>,
    ticks: f64,
}

fn hash_path(path: &str) -> u64 {
    path.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
}

fn mix(h: u64, value: u64) -> u64 {
    let h = (h ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    h ^ h >> 32
}

/// What the file lists, as `trial/trial.h` describes it: return addresses are by module and offset.
fn hashes(recording: &Recording, ScopeObjects { at, in_arena, .. }: &ScopeObjects) -> Vec<u64> {
    const CALL: u64 = 1;
    const PATH: u64 = 2;
    const NO_PATH: u64 = 3;
    const BEGINNING: u64 = 4;
    const FRAMES: usize = 4;
    let add = |hash: u64, node: u32| {
        let ip = recording.nodes[node as usize].ip;
        let mapping = recording.mappings.iter().find(|m| (m.start..m.end).contains(&ip))?;
        Some(mix(mix(hash, hash_path(&mapping.path)), ip - mapping.start + mapping.offset))
    };
    let sites = || (0..recording.sites.len()).filter(|&i| at[i] != NO_OWNER);
    let calls: FxHashSet<u32> = sites().map(|i| recording.sites[i].stack[usize::from(at[i])]).collect();
    let mut paths: Vec<Option<u64>> = vec![None; recording.nodes.len()];
    for (n, node) in recording.nodes.iter().enumerate().skip(1) {
        let begin = calls.contains(&(n as u32)).then_some(0);
        paths[n] = paths[node.parent as usize].or(begin).and_then(|outer| add(outer, n as u32));
    }
    let mut found: Vec<u64> = calls.iter().filter_map(|&n| Some(mix(add(0, n)?, CALL))).collect();
    let mut beginnings: FxHashMap<u64, bool> = FxHashMap::default();
    for site in sites() {
        let stack = &recording.sites[site].stack[..=usize::from(at[site])];
        let path = paths[stack[0] as usize];
        found.extend(path.map(|path| mix(path, if in_arena[site] { PATH } else { NO_PATH })));
        if let Some(beginning) = stack.iter().take(FRAMES).try_fold(0, |hash, &n| add(hash, n)) {
            *beginnings.entry(beginning).or_insert(true) &= in_arena[site];
        }
    }
    found.extend(beginnings.into_iter().filter(|(_, all)| *all).map(|(beginning, _)| mix(beginning, BEGINNING)));
    found.sort_unstable();
    found.dedup();
    found
}

impl Trial {
    pub fn new(path: PathBuf, mode: Mode, recording: &Recording, objects: &ScopeObjects) -> Trial {
        let hashes = hashes(recording, objects);
        let mut bytes = vec![0; HEAD];
        bytes[..8].copy_from_slice(&MAGIC.to_ne_bytes());
        bytes[8..12].copy_from_slice(&(mode as u32).to_ne_bytes());
        bytes[12..16].copy_from_slice(&(hashes.len() as u32).to_ne_bytes());
        bytes[16..24].copy_from_slice(&((BURST_SECONDS * recording.ticks) as u64).to_ne_bytes());
        let (live, freed) = match objects.resets {
            Resets::Never => {
                (objects.at.iter().zip(&objects.in_arena).all(|(&at, &is_in)| is_in || at == NO_OWNER).into(), u64::MAX)
            }
            Resets::At { live, freed } => (live, freed),
        };
        bytes[64..72].copy_from_slice(&live.to_ne_bytes());
        bytes[72..80].copy_from_slice(&freed.to_ne_bytes());
        let executable = Path::new(&recording.executable).as_os_str().as_bytes();
        let length = executable.len().min(HEAD - EXECUTABLE - 1);
        bytes[EXECUTABLE..EXECUTABLE + length].copy_from_slice(&executable[..length]);
        bytes.extend(hashes.iter().flat_map(|h| h.to_ne_bytes()));
        Trial { path, bytes, ticks: recording.ticks }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Before each run. A server that changes its user reaches the file too; its folder is private.
    pub fn write(&self) -> Result<()> {
        std::fs::write(&self.path, &self.bytes).context("cannot write the file of a trial; set TMPDIR")?;
        Ok(std::fs::set_permissions(&self.path, Permissions::from_mode(0o666))?)
    }

    pub fn counts(&self) -> Result<Counts> {
        let bytes = std::fs::read(&self.path).context("cannot read the file of a trial")?;
        let word = |i: usize| u64::from_ne_bytes(bytes[i..i + 8].try_into().unwrap());
        let traversal = (word(56) as i64).max(0) as f64 / self.ticks;
        Ok(Counts { routed: word(24), instances: word(32), left: word(40), refused: word(48), traversal })
    }
}
