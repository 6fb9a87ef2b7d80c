//! The switch that the environment is, and those who hear of every finding. Without `std` there is neither.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::sync::atomic::{AtomicU8, Ordering};
use std::io::Write;
use std::sync::Mutex;

use crate::report::Finding;

const UNREAD: u8 = 0;
const OFF: u8 = 1;
const ON: u8 = 2;
static SWITCH: AtomicU8 = AtomicU8::new(UNREAD);
static HEARER: Mutex<Option<fn(&Finding)>> = Mutex::new(None);

/// Is every arena checked that is made from now on? The environment is asked once.
pub(crate) fn checks() -> bool {
    match SWITCH.load(Ordering::Relaxed) {
        UNREAD => read(),
        known => known == ON,
    }
}

#[cold]
fn read() -> bool {
    let on = std::env::var_os("TOFT_CHECKED").is_some_and(|value| !value.is_empty() && value != "0");
    SWITCH.store(if on { ON } else { OFF }, Ordering::Relaxed);
    on
}

/// Has `hear` called for every finding of every checked arena of this crate, at once, by the thread that found it. It may
/// use other arenas, and must neither panic nor use the one that the finding is of. Returns the one before. `None`: no
/// more.
///
/// Nobody need call this to see findings of a program: with `TOFT_CHECKED=1` in its environment every arena is checked,
/// and with `TOFT_FINDINGS=FILE` each finding is appended to that file as a line.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// static HEARD: AtomicUsize = AtomicUsize::new(0);
///
/// toft::on_finding(Some(|finding| {
///     assert!(finding.to_string().starts_with("leak: a value of 24 bytes"));
///     HEARD.fetch_add(1, Ordering::Relaxed);
/// }));
/// let arena = toft::Arena::new();
/// arena.set_checked(true)?;
/// arena.alloc(String::from("nobody drops it"));
/// drop(arena);
/// assert_eq!(HEARD.load(Ordering::Relaxed), 1);
/// # toft::on_finding(None);
/// # Ok::<(), toft::SwitchError>(())
/// ```
pub fn on_finding(hear: Option<fn(&Finding)>) -> Option<fn(&Finding)> {
    let mut hearer = HEARER.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    core::mem::replace(&mut *hearer, hear)
}

/// Tells those who want to hear.
pub(crate) fn tell(finding: impl FnOnce() -> Finding) {
    let hearer = *HEARER.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let file = std::env::var_os("TOFT_FINDINGS").filter(|file| !file.is_empty());
    if hearer.is_none() && file.is_none() {
        return;
    }
    let finding = finding();
    if let Some(hear) = hearer {
        crate::drops::stop_panic(|| hear(&finding));
    }
    if let Some(file) = file {
        if let Ok(mut file) = std::fs::OpenOptions::new().append(true).create(true).open(file) {
            let _ = file.write_all(std::format!("toft: {finding}\n").as_bytes());
            // one write: lines do not mix
        }
    }
}
