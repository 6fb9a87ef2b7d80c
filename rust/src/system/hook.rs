//! Delivery of findings: to the program's hook, and to the output that the environment selects.
//!
//! A finding is made during an operation, when the arena must not be used. It is queued for its thread and delivered
//! before the call returns: by `RawArena::end_op`, at the end of every operation of an instrumented arena, or by the
//! holder of a lock after its release. The arena is closed during the delivery, as during a cleanup, since the
//! operation may be one of several that the caller makes.
// SPDX-License-Identifier: MIT OR Apache-2.0

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cell::Cell;
use core::ptr::{null_mut, NonNull};
use std::sync::Mutex;

use crate::base::finding::Finding;
use crate::system::process;

static HOOK: Mutex<Option<fn(&Finding)>> = Mutex::new(None);

struct Waiting {
    finding: Finding,
    /// Made by the hook itself, which is not called for it.
    by_hook: bool,
}

// Without destructors, so that they stay valid while other thread-local values are destroyed.
std::thread_local! {
    /// A box, while findings are queued.
    static QUEUE: Cell<*mut Vec<Waiting>> = const { Cell::new(null_mut()) };
    /// While it is not 0, nothing is delivered.
    static DEFERRALS: Cell<usize> = const { Cell::new(0) };
    static IN_HOOK: Cell<bool> = const { Cell::new(false) };
}

/// Sets a hook that is called for every finding of checked arenas and recyclers of this crate, on the thread of the
/// finding, before the call returns that detected it. Returns the previous hook. `None` removes it.
///
/// The hook may use other arenas, and query the arena of the finding, which is closed. A panic of the hook is caught.
/// The hook is not called for findings that it causes itself.
///
/// No call is needed with `TOFT_CHECKED=1` in the environment: every arena is checked, and findings are written to the
/// standard error, or to the file that `TOFT_FINDINGS` names, or as JSON objects to that of `TOFT_FINDINGS_JSON`.
/// `docs/checked.md` describes them.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// static HEARD: AtomicUsize = AtomicUsize::new(0);
///
/// toft::on_finding(Some(|finding| {
///     assert!(finding.to_string().starts_with("leak: a value of "));
///     HEARD.fetch_add(1, Ordering::Relaxed);
/// }));
/// let arena = toft::Arena::new();
/// arena.set_checked(true)?;
/// arena.alloc(String::from("never dropped"));
/// drop(arena);
/// assert_eq!(HEARD.load(Ordering::Relaxed), 1);
/// # toft::on_finding(None);
/// # Ok::<(), toft::SwitchError>(())
/// ```
pub fn on_finding(hook: Option<fn(&Finding)>) -> Option<fn(&Finding)> {
    let mut current = HOOK.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    core::mem::replace(&mut *current, hook)
}

fn hook() -> Option<fn(&Finding)> {
    *HOOK.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Queues a finding for [`deliver`], if it is delivered anywhere.
#[cold]
pub(crate) fn found(finding: impl FnOnce() -> Finding) {
    if process::has_output() || hook().is_some() {
        queue(finding());
    }
}

/// If there is no memory for the entry it is written at once, without the hook.
#[inline(never)]
fn queue(finding: Finding) {
    if QUEUE.get().is_null() {
        QUEUE.set(crate::base::try_box::try_box(Vec::new()).map_or(null_mut(), Box::into_raw));
    }
    // SAFETY: this thread's box; no user code runs while the reference exists.
    let queue = NonNull::new(QUEUE.get()).map(|mut queue| unsafe { queue.as_mut() });
    match queue.and_then(|queue| queue.try_reserve(1).is_ok().then_some(queue)) {
        Some(queue) => queue.push(Waiting { finding, by_hook: IN_HOOK.get() }),
        None => {
            process::write(&finding);
            process::abort_if_wanted();
        }
    }
}

/// Whether [`deliver`] would do anything.
#[inline]
pub(crate) fn is_due() -> bool {
    !QUEUE.get().is_null() && DEFERRALS.get() == 0 && !IN_HOOK.get()
}

/// Delivers the queued findings, and those made during the delivery. Arenas with an unfinished operation are closed.
pub(crate) fn deliver() {
    while is_due() {
        // SAFETY: this thread's box, made by `found`.
        let waiting = unsafe { Box::from_raw(QUEUE.replace(null_mut())) };
        for Waiting { finding, by_hook } in *waiting {
            if let Some(hook) = hook().filter(|_| !by_hook) {
                IN_HOOK.set(true);
                crate::base::panics::catch(|| hook(&finding));
                IN_HOOK.set(false);
            }
            process::write(&finding);
            process::abort_if_wanted();
        }
    }
}

/// Defers the delivery of this thread's findings, while a state is inconsistent or a lock is held. They are delivered
/// on the next occasion, or by [`DeferReports::end`].
pub(crate) struct DeferReports(());

impl DeferReports {
    pub fn new() -> DeferReports {
        DEFERRALS.set(DEFERRALS.get() + 1);
        DeferReports(())
    }

    pub fn end(self) {
        drop(self);
        deliver();
    }
}

impl Drop for DeferReports {
    fn drop(&mut self) {
        DEFERRALS.set(DEFERRALS.get() - 1);
    }
}

/// Calls a source during an operation of its arena. The source may use other arenas.
pub(crate) fn call_source<R>(call: impl FnOnce() -> R) -> R {
    let _deferred = DeferReports::new();
    call()
}
