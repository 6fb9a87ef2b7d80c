//! Servers: they become ready, serve a load, and are ended by SIGTERM.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::processes::{self, used, Used};
use anyhow::{bail, ensure, Context, Result};
use std::{
    ffi::OsString,
    io::{BufRead, BufReader, Read, Write},
    net::{Ipv4Addr, TcpStream},
    process::{Child, Command, Stdio},
    sync::{
        atomic::{AtomicBool, Ordering},
        Arc,
    },
    time::{Duration, Instant},
};

/// When the load begins.
#[derive(Clone)]
pub enum Ready {
    /// The port is open on 127.0.0.1.
    Port(u16),
    /// A line of the output contains the text.
    Line(String),
}

pub fn ready(text: &str) -> Result<Ready, String> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return Ok(Ready::Line(text.into()));
    }
    text.parse().ok().filter(|&port| port != 0).map(Ready::Port).ok_or_else(|| "not a port: 1 to 65535".into())
}

pub struct Server {
    pub ready: Ready,
    /// A command of the shell.
    pub load: OsString,
}

/// How long a server may take to become ready.
const START: Duration = Duration::from_secs(60);
/// How long it may take to end.
pub const END: Duration = Duration::from_secs(10);

fn is_open(port: u16) -> bool {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
}

impl Server {
    /// Before each start: the port must not be that of another process.
    pub fn prepare(&self, command: &mut Command) -> Result<()> {
        match self.ready {
            Ready::Port(port) => ensure!(!is_open(port), "port {port} is open already; end the process that serves it"),
            Ready::Line(_) => {
                command.stdout(Stdio::piped()).stderr(Stdio::piped());
            }
        }
        Ok(())
    }

    /// Waits until the program is ready, runs the load, and sends SIGTERM. Returns what the load used, which is among what
    /// this process's children used.
    pub fn serve(&self, child: &mut Child, shown: bool) -> Result<Used> {
        self.wait_until_ready(child, shown)?;
        let mut load = Command::new("sh");
        load.arg("-c").arg(&self.load).env("TOFT_PID", child.id().to_string());
        load.stdin(Stdio::null()).stdout(Stdio::null());
        let before = used();
        let status = processes::spawn(&mut load).and_then(|mut l| l.wait()).context("cannot run the load")?;
        ensure!(status.success(), "the load failed ({status}); its messages are above");
        let used = used() - before;
        if child.try_wait()?.is_none() {
            // SAFETY: its arguments are numbers; a child that nothing waited for.
            unsafe { libc::kill(child.id() as i32, libc::SIGTERM) };
        }
        let begin = Instant::now();
        while child.try_wait()?.is_none() {
            ensure!(begin.elapsed() < END, "the program does not end within {} seconds of SIGTERM", END.as_secs());
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(used)
    }

    fn wait_until_ready(&self, child: &mut Child, shown: bool) -> Result<()> {
        let seen = Arc::new(AtomicBool::new(false));
        if let Ready::Line(text) = &self.ready {
            let watch = |from: Option<Box<dyn Read + Send>>, to| {
                from.map(|from| watch(from, text.clone(), seen.clone(), shown.then_some(to)))
            };
            watch(child.stdout.take().map(|o| Box::new(o) as _), Box::new(std::io::stdout()) as _);
            watch(child.stderr.take().map(|e| Box::new(e) as _), Box::new(std::io::stderr()) as _);
        }
        let begin = Instant::now();
        loop {
            if match self.ready {
                Ready::Port(port) => is_open(port),
                Ready::Line(_) => seen.load(Ordering::Relaxed),
            } {
                return Ok(());
            }
            if child.try_wait()?.is_some() && processes::children().is_empty() {
                bail!("the program ended before it was ready; {}", self.expected());
            }
            ensure!(begin.elapsed() < START, "not ready after {} seconds; {}", START.as_secs(), self.expected());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn expected(&self) -> String {
        match &self.ready {
            Ready::Port(port) => format!("--ready waits for port {port} of 127.0.0.1"),
            Ready::Line(text) => format!("--ready waits for a line with {text:?}, which must not stay in a buffer"),
        }
    }
}

/// Reads the output to its end, on a thread, and reports the text.
fn watch(from: Box<dyn Read + Send>, text: String, seen: Arc<AtomicBool>, mut to: Option<Box<dyn Write + Send>>) {
    std::thread::spawn(move || {
        let (mut from, mut line) = (BufReader::new(from), Vec::new());
        while from.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
            if String::from_utf8_lossy(&line).contains(&text) {
                seen.store(true, Ordering::Relaxed);
            }
            if let Some(to) = &mut to {
                let _ = to.write_all(&line);
            }
            line.clear();
        }
    });
}
