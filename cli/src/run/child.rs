//! Runs the program: its input and output are its own, and signals that are sent to this process are sent on to it.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::{
    ffi::OsString,
    io,
    os::unix::process::ExitStatusExt,
    path::PathBuf,
    process::{Child, Command},
    sync::atomic::{AtomicI32, Ordering},
};

/// How the program ended.
pub struct Ended {
    pub pid: u32,
    pub code: Option<i32>,
    pub signal: Option<i32>,
    /// The executable of the process; `None` where the system has no name for it.
    pub executable: Option<PathBuf>,
}

/// The process to send signals on to; 0: none yet, or it has ended.
static CHILD: AtomicI32 = AtomicI32::new(0);
/// A signal from before the program was started; 0: none.
static PENDING: AtomicI32 = AtomicI32::new(0);

const FORWARDED: [libc::c_int; 6] =
    [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGUSR1, libc::SIGUSR2];

fn forward(number: libc::c_int, info: &libc::siginfo_t) {
    let by_terminal = info.si_code > 0;
    if by_terminal {
        return; // which sends the signal to the program too
    }
    match CHILD.load(Ordering::SeqCst) {
        0 => PENDING.store(number, Ordering::SeqCst),
        // SAFETY: it may be called in handlers. The child is not waited for before CHILD is 0, so that its number is its own.
        child => unsafe {
            libc::kill(child, number);
        },
    }
}

/// Signals that this process ignores stay ignored, by the program as well.
fn forward_signals() -> io::Result<()> {
    for number in crate::signals::not_ignored(&FORWARDED) {
        // SAFETY: the function calls nothing that a handler may not.
        unsafe { signal_hook_registry::register_sigaction(number, move |info| forward(number, info))? };
    }
    Ok(())
}

/// Waits until the process has ended, without collecting its number.
fn wait_for_end(child: &Child) {
    // SAFETY: the structure is valid for the call.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        while libc::waitid(libc::P_PID, child.id(), &mut info, libc::WEXITED | libc::WNOWAIT) != 0
            && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
        {}
    }
}

pub fn run(command: &[OsString], environment: &[(&str, OsString)]) -> io::Result<Ended> {
    forward_signals()?;
    let variables = environment.iter().map(|(name, value)| (name, value));
    let mut child = Command::new(&command[0]).args(&command[1..]).envs(variables).spawn()?;
    // The system does not give the file of a process that has ended already.
    let executable = std::fs::read_link(format!("/proc/{}/exe", child.id())).ok();
    let executable = executable.or_else(|| crate::advise::find(&command[0]).ok());
    CHILD.store(child.id() as i32, Ordering::SeqCst);
    let early = PENDING.swap(0, Ordering::SeqCst);
    if early != 0 {
        // SAFETY: a child that was not waited for.
        unsafe { libc::kill(child.id() as i32, early) };
    }
    wait_for_end(&child);
    CHILD.store(0, Ordering::SeqCst);
    let status = child.wait()?;
    Ok(Ended { pid: child.id(), code: status.code(), signal: status.signal(), executable })
}
