//! Delivery of findings: to the program's hook, and to the output that the environment names.
//!
//! A finding is made in the middle of an operation, when the arena must not be used. So it waits in a queue of its
//! thread's until the operation is over, and is delivered before the call returns: by `Arena::finish`, which every
//! operation of a watched arena ends with; or by the holder of a lock, when that is released. The arena is closed meanwhile,
//! as while a cleanup runs, since the caller of the operation may have another to make that belongs to it.
// SPDX-License-Identifier: MIT OR Apache-2.0

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cell::Cell;
use core::ptr::{null_mut, NonNull};
use std::sync::Mutex;

use crate::process;
use crate::report::Finding;

static HOOK: Mutex<Option<fn(&Finding)>> = Mutex::new(None);

struct Waiting {
    finding: Finding,
    /// Made by the hook itself, which is not called for it.
    by_hook: bool,
}

// Without destructors, so that they are there while other variables of an ending thread are dropped.
std::thread_local! {
    /// A box, while something waits.
    static QUEUE: Cell<*mut Vec<Waiting>> = const { Cell::new(null_mut()) };
    /// While this is not 0, nothing is delivered.
    static DEFERRALS: Cell<usize> = const { Cell::new(0) };
    static IN_HOOK: Cell<bool> = const { Cell::new(false) };
}

/// Has `hook` called for every finding of every checked arena and recycler of this crate, by the thread that made it,
/// before the call that found it returns. Returns the hook before. `None`: no more.
///
/// The hook may use other arenas, and look at the one of the finding, which refuses to allocate meanwhile. A panic of the
/// hook ends there. For findings that the hook itself causes it is not called again.
///
/// A program need not call this: with `TOFT_CHECKED=1` in its environment every arena is checked and findings go to the
/// standard error, or to the file that `TOFT_FINDINGS` names. `docs/checked.md` has both.
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

/// The finding waits for [`deliver`]. Without memory for that it is written at once, and the hook does not see it.
#[cold]
pub(crate) fn found(finding: impl FnOnce() -> Finding) {
    if !process::has_output() && hook().is_none() {
        return;
    }
    let finding = finding();
    if QUEUE.get().is_null() {
        QUEUE.set(crate::provider::boxed(Vec::new()).map_or(null_mut(), Box::into_raw));
    }
    // SAFETY: this thread's box; nothing of the program runs while it is referred to.
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

/// Delivers what waits, also what is made meanwhile. Arenas in the midst of an operation are closed by the caller.
pub(crate) fn deliver() {
    while is_due() {
        // SAFETY: this thread's box, made by `found`.
        let waiting = unsafe { Box::from_raw(QUEUE.replace(null_mut())) };
        for Waiting { finding, by_hook } in *waiting {
            if let Some(hook) = hook().filter(|_| !by_hook) {
                IN_HOOK.set(true);
                crate::drops::catch_panic(|| hook(&finding));
                IN_HOOK.set(false);
            }
            process::write(&finding);
            process::abort_if_wanted();
        }
    }
}

/// While it lives, this thread's findings wait: something is in a state, or locked, that a hook must not meet. What waits
/// is delivered at the next occasion, or by [`DeferReports::end`].
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

/// Calls a source, which may use other arenas: in the midst of an operation of the arena that asks it.
pub(crate) fn call_source<R>(call: impl FnOnce() -> R) -> R {
    let _deferred = DeferReports::new();
    call()
}
