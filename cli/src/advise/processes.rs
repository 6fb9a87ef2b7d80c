//! The processes that advise starts, their use of the processor, and their end: also where a signal ends advise.
// SPDX-License-Identifier: MIT OR Apache-2.0

use anyhow::{Context, Result};
use std::{
    path::Path,
    process::{Child, Command},
    sync::{Mutex, MutexGuard},
    time::Duration,
};

/// Held while a process is started. A signal takes it for ever, so that no process is started after it.
static START: Mutex<()> = Mutex::new(());

fn hold() -> MutexGuard<'static, ()> {
    START.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

pub fn spawn(command: &mut Command) -> std::io::Result<Child> {
    let _held = hold();
    command.spawn()
}

/// Does not return if a signal is ending this process.
pub fn stay_if_interrupted() {
    drop(hold());
}

/// After INT, TERM or HUP all processes end, the folder is removed, and this process ends by the signal.
pub fn end_by_signals(folder: &Path) -> Result<()> {
    let numbers = crate::signals::not_ignored(&[libc::SIGINT, libc::SIGTERM, libc::SIGHUP]);
    let mut signals = signal_hook::iterator::Signals::new(numbers).context("cannot handle signals")?;
    let folder = folder.to_owned();
    std::thread::spawn(move || {
        let Some(signal) = signals.forever().next() else { return };
        let _held = hold();
        end_all();
        let _ = std::fs::remove_dir_all(&folder);
        let _ = signal_hook::low_level::emulate_default_handler(signal);
    });
    Ok(())
}

/// Processes of descendants that have ended become children of this process.
pub fn adopt_orphans() {
    // SAFETY: its arguments are numbers. Where it fails, processes in the background are not waited for.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
}

/// The children of this process that have not ended: those that it started, and orphans. One that becomes an orphan
/// during a scan may be missed, so that three scans must find none.
pub fn children() -> Vec<i32> {
    for _ in 0..2 {
        let found = scan();
        if !found.is_empty() {
            return found;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    scan()
}

fn scan() -> Vec<i32> {
    let own = std::process::id().to_string();
    let is_ours = |stat: String| {
        let mut words = stat.rsplit(')').next()?.split_whitespace();
        Some(words.next()? != "Z" && words.next()? == own)
    };
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_child = |n: &i32| std::fs::read_to_string(format!("/proc/{n}/stat")).ok().and_then(is_ours) == Some(true);
    numbers.filter(is_child).collect()
}

/// Ends all descendants: by SIGTERM, and what is left after half a second, and their orphans, by SIGKILL.
pub fn end_all() {
    for round in 0.. {
        let left = children();
        if left.is_empty() {
            return;
        }
        for process in left {
            let signal = match round {
                0 => libc::SIGTERM,
                50.. => libc::SIGKILL,
                _ => continue,
            };
            // SAFETY: its arguments are numbers.
            unsafe { libc::kill(process, signal) };
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// What processes have used.
#[derive(Clone, Copy, Default)]
pub struct Used {
    /// User and system time, in seconds.
    pub cpu: f64,
    /// The part of it in the system.
    pub system: f64,
    /// Page faults that needed no file.
    pub faults: f64,
}

impl std::ops::Sub for Used {
    type Output = Used;
    fn sub(self, less: Used) -> Used {
        Used { cpu: self.cpu - less.cpu, system: self.system - less.system, faults: self.faults - less.faults }
    }
}

/// By all processes that were waited for.
pub fn used() -> Used {
    // SAFETY: all bytes 0 are a valid value, and the address is valid.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage);
        usage
    };
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    let (user, system) = (seconds(usage.ru_utime), seconds(usage.ru_stime));
    Used { cpu: user + system, system, faults: usage.ru_minflt as f64 }
}
