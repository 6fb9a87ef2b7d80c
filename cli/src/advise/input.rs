//! The copy of standard input, which each run reads from its beginning.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::rounds::Limit;
use anyhow::{ensure, Context, Result};
use std::{
    fs::File,
    io::{IsTerminal, Read, Write},
    mem::ManuallyDrop,
    os::{fd::FromRawFd, unix::fs::MetadataExt},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// Reads standard input to its end, within the time that is left, or a second, and three quarters of the bytes that the command
/// may take. `None`: it is closed, a terminal or /dev/null.
pub fn copy(folder: &Path, limit: Limit, mib: u64) -> Result<Option<PathBuf>> {
    // SAFETY: it is not closed.
    let mut input = ManuallyDrop::new(unsafe { File::from_raw_fd(0) });
    if input.is_terminal() || input.metadata().map_or(true, |kind| kind.rdev() == libc::makedev(1, 3)) {
        return Ok(None);
    }
    super::step("copying standard input (</dev/null if the program reads none)");
    let path = folder.join("input");
    let mut file = File::create(&path).with_context(|| super::cannot_write(&path))?;
    let (mut buffer, mut copied) = (vec![0; 1 << 16], 0);
    let end = Instant::now() + Duration::from_secs_f64(limit.left().max(1.0));
    loop {
        let left = end.saturating_duration_since(Instant::now()).as_millis() as i32;
        let mut wait = libc::pollfd { fd: 0, events: libc::POLLIN, revents: 0 };
        // SAFETY: the address is valid.
        let ready = unsafe { libc::poll(&mut wait, 1, left) };
        ensure!(
            ready != 0 && left > 0,
            "standard input did not end within the time of --seconds ({copied} bytes were read); write </dev/null if the \
             program reads none"
        );
        if ready < 0 {
            continue; // a signal
        }
        let count = input.read(&mut buffer).context("cannot read standard input")?;
        if count == 0 {
            return Ok(Some(path));
        }
        copied += count as u64;
        ensure!(
            copied <= mib * (3 << 18),
            "standard input has more than {} MiB, its part of --limit {mib}; raise it, or write </dev/null if the program \
             reads none",
            mib * 3 / 4
        );
        file.write_all(&buffer[..count]).with_context(|| super::cannot_write(&path))?;
    }
}
