//! Runs the program and takes its CPU time.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::{
    processes::{self, used, Used},
    server::{Server, END},
};
use crate::places::Places;
use anyhow::{bail, Context, Result};
use std::{
    ffi::OsString,
    fmt,
    os::unix::process::{CommandExt, ExitStatusExt},
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

/// How the program is started.
pub struct Program {
    pub command: Vec<OsString>,
    /// A copy of standard input, which each run reads from its beginning; `None`: the terminal's, or nothing.
    pub input: Option<PathBuf>,
    /// How it is loaded and ended, if it does not end by itself.
    pub server: Option<Server>,
    /// The signal that starts and stops the recording, which runs without the recorder ignore.
    pub signal: Option<i32>,
}

pub struct Run {
    /// By the program and all of its processes.
    pub used: Used,
    pub ending: Ending,
}

/// How a run ended.
#[derive(Clone, PartialEq, Eq)]
pub struct Ending {
    pub status: ExitStatus,
    /// The signals that ended processes in the background, in order of their numbers.
    background: Vec<i32>,
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.status.signal() {
            Some(signal) => write!(f, "by signal {signal}")?,
            None => write!(f, "with exit code {}", self.status.code().unwrap_or(-1))?,
        }
        for signal in &self.background {
            write!(f, " and a process in the background by signal {signal}")?;
        }
        Ok(())
    }
}

impl Program {
    /// Runs the program, and waits for all of its processes, also those that it leaves in the background. Its output is
    /// shown if `shown`.
    pub fn run(&self, environment: &[(&str, &Path)], shown: bool) -> Result<Run> {
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]).envs(environment.iter().copied());
        command.stdin(match &self.input {
            Some(path) => std::fs::File::open(path).context("cannot read the copy of standard input")?.into(),
            None => Stdio::null(),
        });
        if !shown {
            command.stdout(Stdio::null()).stderr(Stdio::null());
        }
        if let Some(server) = &self.server {
            server.prepare(&mut command)?;
        }
        let before = used();
        let (name, ignored) = (self.command[0].to_string_lossy(), self.signal);
        // SAFETY: the function calls only sigaction, which may be called between fork and exec.
        unsafe {
            command.pre_exec(move || {
                libc::signal(libc::SIGINT, libc::SIG_DFL);
                ignored.map(|number| libc::signal(number, libc::SIG_IGN));
                Ok(())
            });
        }
        let mut child = processes::spawn(&mut command).with_context(|| format!("cannot start {name}"))?;
        let mut load = Used::default();
        if let Some(server) = &self.server {
            load = server.serve(&mut child, shown)?;
        }
        let status = child.wait()?;
        let background = wait_for_background(self.server.is_some())?;
        Ok(Run { used: used() - before - load, ending: Ending { status, background } })
    }
}

/// Waits for the processes that the program leaves, and returns the signals that ended some of them. Those of a server are
/// ended by SIGTERM.
fn wait_for_background(serving: bool) -> Result<Vec<i32>> {
    const PATIENCE: Duration = Duration::from_secs(2);
    let (begin, mut said, mut signals) = (Instant::now(), false, Vec::new());
    let mut terminated = Vec::new();
    loop {
        let mut status = 0;
        // SAFETY: the address is valid; this process has no other children at that time.
        let process = unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG) };
        if process < 0 {
            signals.sort_unstable();
            return Ok(signals);
        }
        if process > 0 {
            signals.extend(ExitStatus::from_raw(status).signal().filter(|&s| !serving || s != libc::SIGTERM));
            continue;
        }
        if serving {
            for orphan in processes::children() {
                if !terminated.contains(&orphan) {
                    terminated.push(orphan);
                    // SAFETY: its arguments are numbers; a child that nothing waited for.
                    unsafe { libc::kill(orphan, libc::SIGTERM) };
                }
            }
            if begin.elapsed() > END {
                bail!("a process in the background does not end within {} seconds of SIGTERM", END.as_secs());
            }
        } else if !said && begin.elapsed() > PATIENCE {
            eprintln!(
                "toft: the program left a process in the background, and toft waits for its end. \
                 If it became a daemon, end it, or give it a load with --ready and --load"
            );
            said = true;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The other mallocs that are installed.
pub fn mallocs() -> Vec<(String, PathBuf)> {
    let all = [
        ("mimalloc", "libmimalloc.so.3 libmimalloc.so.2 libmimalloc.so"),
        ("jemalloc", "libjemalloc.so.2"),
        ("tcmalloc", "libtcmalloc_minimal.so.4 libtcmalloc.so.4"),
    ];
    let places = Places::default();
    let found =
        all.map(|(name, files)| Some((name.to_owned(), files.split(' ').find_map(|f| places.module_named(f))?)));
    found.into_iter().flatten().collect()
}
