//! Events for a profiler: phases, and the ends of frames. While there is no hook, a phase and the end of a frame load
//! one pointer each, and allocations nothing.
// SPDX-License-Identifier: MIT OR Apache-2.0

use core::cell::Cell;
use core::mem::transmute;
use core::ptr::null_mut;

use crate::atomic::{AtomicPtr, Ordering};
use crate::panics;

/// What a profiler's hook is called for: [`on_profile`].
///
/// Each begin is followed by its end on the same thread, to the same hook, properly nested unless the program drops its
/// [`Phase`](crate::Phase) values in another order.
///
/// ```
/// use toft::ProfileEvent;
/// let event = ProfileEvent::PhaseBegin { name: "update" };
/// assert_eq!(format!("{event:?}"), r#"PhaseBegin { name: "update" }"#);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProfileEvent {
    /// [`Arena::phase`](crate::Arena::phase) begins a phase.
    PhaseBegin {
        /// Its name.
        name: &'static str,
    },
    /// A phase has ended.
    PhaseEnd {
        /// Its name.
        name: &'static str,
        /// The bytes allocated in it, if the arena is [metered](crate::Arena::set_metered).
        allocated: Option<u64>,
    },
    /// Frames begin to free memory: by `Frames::advance`, or a step of `SteppedFrames`.
    AdvanceBegin {
        /// The number of frames ended before.
        frame: u64,
        /// The bytes allocated in the arenas of all threads.
        live: u64,
    },
    /// They have freed memory, also if a destructor has panicked.
    AdvanceEnd {
        /// That of the begin.
        frame: u64,
        /// The bytes freed.
        freed: u64,
    },
    /// A frame has ended: after the [`AdvanceEnd`](ProfileEvent::AdvanceEnd) of the call that ended it.
    FrameEnd {
        /// The number of frames ended so far, this one included.
        frame: u64,
    },
}

pub(crate) type Hook = fn(&ProfileEvent);

/// A [`Hook`], or null.
static HOOK: AtomicPtr<()> = AtomicPtr::new(null_mut());

std::thread_local! {
    static IN_HOOK: Cell<bool> = const { Cell::new(false) };
}

/// A hook from the pointer that represents it.
///
/// # Safety
/// `hook` is null, or was a [`Hook`].
unsafe fn from_ptr(hook: *mut ()) -> Option<Hook> {
    // SAFETY: null is `None`, and any other pointer was a `Hook`.
    unsafe { transmute::<*mut (), Option<Hook>>(hook) }
}

/// Sets a hook that is called for phases and ends of frames of the whole process, on the thread of the event. Returns
/// the previous hook. `None` removes it. The end of a phase or advance is reported to the hook that got its begin.
///
/// The hook may use arenas. It is not called for events that it causes itself, and a panic of it is caught.
///
/// ```
/// use std::sync::Mutex;
/// use toft::ProfileEvent::{self, *};
///
/// static ZONES: Mutex<Vec<ProfileEvent>> = Mutex::new(Vec::new());
/// toft::on_profile(Some(|event| ZONES.lock().unwrap().push(*event)));
///
/// let mut arena = toft::Arena::new();
/// {
///     let _update = arena.phase("update");
///     arena.alloc([0u8; 100]);
/// }
/// # toft::on_profile(None);
/// assert_eq!(
///     ZONES.lock().unwrap()[..],
///     [PhaseBegin { name: "update" }, PhaseEnd { name: "update", allocated: None }]
/// );
/// ```
pub fn on_profile(hook: Option<fn(&ProfileEvent)>) -> Option<fn(&ProfileEvent)> {
    let before = HOOK.swap(hook.map_or(null_mut(), |hook| hook as *mut ()), Ordering::Relaxed);
    // SAFETY: this function alone writes it.
    unsafe { from_ptr(before) }
}

#[inline(always)]
pub(crate) fn is_on() -> bool {
    !HOOK.load(Ordering::Relaxed).is_null()
}

/// The hook to which events of this thread are reported.
#[cold]
pub(crate) fn hook() -> Option<Hook> {
    // SAFETY: as in `on_profile`.
    unsafe { from_ptr(HOOK.load(Ordering::Relaxed)) }.filter(|_| !IN_HOOK.get())
}

/// Precondition: no arena is within an operation, no lock is held.
pub(crate) fn report(hook: Hook, event: ProfileEvent) {
    let outer = IN_HOOK.replace(true);
    panics::catch(|| hook(&event));
    IN_HOOK.set(outer);
}

/// Calls `advance`, with events before and after it if there is a hook, also if a destructor panics. `progress` returns
/// the number of ended frames and the allocated bytes.
#[cfg(feature = "frames")]
#[cold]
#[inline(never)]
pub(crate) fn advancing<F, R>(
    frames: &mut F,
    progress: fn(&mut F) -> (u64, u64),
    advance: impl FnOnce(&mut F) -> R,
) -> R {
    struct Ended<'a, F> {
        frames: &'a mut F,
        progress: fn(&mut F) -> (u64, u64),
        hook: Hook,
        before: (u64, u64),
    }
    impl<F> Drop for Ended<'_, F> {
        fn drop(&mut self) {
            let ((before, live), (frame, left)) = (self.before, (self.progress)(self.frames));
            report(self.hook, ProfileEvent::AdvanceEnd { frame: before, freed: live.saturating_sub(left) });
            if frame != before {
                report(self.hook, ProfileEvent::FrameEnd { frame });
            }
        }
    }
    let Some(hook) = hook() else { return advance(frames) };
    let before = progress(frames);
    report(hook, ProfileEvent::AdvanceBegin { frame: before.0, live: before.1 });
    let ended = Ended { frames, progress, hook, before };
    advance(ended.frames)
}
