//! The profile of the process: the sum of all arenas as a file, in the format of docs/snapshot.md, at exit and after a
//! signal. It does not read arenas, which belong to their threads: each slow call copies the numbers of its arena to a
//! record, and limits are lowered so that one happens at least once in `LAG` bytes. Samples and phases are added to the
//! totals as they are made, tags and statistics when the arena is released.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg_attr(any(not(unix), miri), allow(dead_code))]

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::{self, Write as _};
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::io::Write as _;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, Once, PoisonError};

use super::caller::Caller;
use super::instrument_types::{Instruments, Phase, ProfileRecord, Shared, Tag};
use super::state::*;
use crate::base::abi_types::Stats;
use crate::base::budget_report;
use crate::base::finding::Quoted;
use crate::base::report::{Report, TagReport};
use crate::system::process::{self, Settings};

/// Bytes of allocations by which a profile's numbers of an arena may be late.
pub const LAG: u64 = 16 << 10;
/// A smaller change of an arena's live bytes is not counted in `LIVE` yet.
const DRIFT: usize = 4096;

#[derive(Default)]
struct Totals {
    /// Of arenas that are alive.
    records: Vec<Arc<Mutex<ProfileRecord>>>,
    /// Sites and phases of all arenas.
    shared: Shared,
    /// Statistics and tags of arenas that were released.
    released: Report,
    released_count: u64,
}

/// A record's lock is taken after it.
static TOTALS: LazyLock<Mutex<Totals>> = LazyLock::new(Mutex::default);
/// Live bytes of the process, and their peak.
static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
static BEGUN: Once = Once::new();
static WRITING: Mutex<()> = Mutex::new(());
static REQUESTED: AtomicBool = AtomicBool::new(false);
/// The signal that requests a profile; 0: none, or the program handles it.
static SIGNAL: AtomicI32 = AtomicI32::new(0);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ProfileRecord {
    fn count_live(&mut self, live: usize, drift: usize) {
        if live.abs_diff(self.counted) >= drift {
            let change = live.wrapping_sub(self.counted);
            self.counted = live;
            PEAK.fetch_max(LIVE.fetch_add(change, Ordering::Relaxed).wrapping_add(change), Ordering::Relaxed);
        }
    }
}

// ---- called on the arena's thread ----

/// Counts allocations of a site.
pub fn count(caller: Caller, tag: &Tag, count: f64, bytes: f64) {
    let totals = &mut lock(&TOTALS).shared;
    if let Some(tag) = totals.tag_named(tag.number, &tag.name) {
        totals.count(caller, tag, count, bytes);
    }
}

pub fn add_phase(phase: Phase) {
    lock(&TOTALS).shared.add_phase(phase);
}

impl RawArena {
    /// Switches on what the environment meters in every arena. Without memory for the records it is not metered.
    pub(super) fn begin_process_meters(self, settings: &Settings) {
        self.set_metered(settings.metered);
        self.set_sample(settings.sampling);
        self.set_soft_budget(if settings.budget != 0 { settings.budget } else { u64::MAX });
        let Some(instruments) = self.instruments_or_new().filter(|_| !settings.profile.is_empty()) else { return };
        #[cfg(all(unix, not(miri)))]
        BEGUN.call_once(|| SIGNAL.store(request::begin(settings.signal), Ordering::Relaxed));
        let record = Arc::<Mutex<ProfileRecord>>::default();
        lock(&TOTALS).records.push(record.clone());
        instruments.shared().borrow_mut().record = Some(record);
        self.update_instrumented(instruments);
    }

    /// Copies the numbers. `false`: the arena is not in the profile.
    pub(super) fn update_profile(self, instruments: &Instruments) -> bool {
        let shared = instruments.shared().borrow();
        let Some(record) = &shared.record else { return false };
        let root = self.root();
        let mut guard = lock(record);
        let r = &mut *guard;
        r.walk_in = r.walk_in.checked_sub(1).unwrap_or_else(|| {
            r.report.stats = root.stats();
            r.report.stats.blocks / 8
        });
        let live = root.live_with_scopes();
        (r.report.stats.live, r.report.stats.allocated) = (live, root.allocated_with_scopes());
        for (i, tag) in shared.tags.iter().enumerate().filter(|_| instruments.metered.get()) {
            if i == r.report.tags.len() {
                let (name, number) = (tag.name.clone(), tag.number);
                r.report.tags.push(TagReport { name, number, budget: u64::MAX, ..TagReport::default() });
            }
            (r.report.tags[i].live, r.report.tags[i].allocated) = (root.live_of_tag(i), tag.allocated);
        }
        r.count_live(live as usize, DRIFT);
        drop(guard); // the profile takes it
        if REQUESTED.load(Ordering::Relaxed) {
            serve();
        }
        true
    }

    /// The arena is about to be released.
    pub(super) fn end_profile(self, instruments: &Instruments) {
        self.sync_tag(instruments);
        self.update_profile(instruments);
        let Some(record) = instruments.shared().borrow_mut().record.take() else { return };
        let totals = &mut *lock(&TOTALS);
        totals.records.retain(|other| !Arc::ptr_eq(other, &record));
        let r = &mut *lock(&record);
        let Stats { allocated, source_calls, .. } = r.report.stats;
        r.report.stats = Stats { allocated, source_calls, ..Stats::default() };
        r.report.tags.iter_mut().for_each(|tag| tag.live = 0);
        totals.released.add(&r.report);
        totals.released_count += (allocated != 0) as u64;
        r.count_live(0, 0);
    }
}

// ---- the file ----

struct OrNull(Option<u64>);

impl fmt::Display for OrNull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(n) => write!(f, "{n}"),
            None => f.write_str("null"),
        }
    }
}

/// The separator before an element of a list.
fn comma(i: usize) -> &'static str {
    match i {
        0 => "",
        _ => ",",
    }
}

fn text(settings: &Settings, out: &mut String) -> fmt::Result {
    let totals = &mut *lock(&TOTALS);
    let mut sum = Report::of(&mut totals.shared, Stats::default(), &[], false);
    sum.add(&totals.released);
    for record in &totals.records {
        sum.add(&lock(record).report);
    }
    let Stats { live, allocated, reserved, wasted, blocks, source_calls, .. } = sum.stats;
    let (id, peak) = (std::process::id(), live.max(PEAK.load(Ordering::Relaxed) as u64));
    let executable = std::env::current_exe().unwrap_or_default();
    let executable = executable.to_string_lossy();
    let (executable, arenas, released) = (Quoted(&executable), totals.records.len(), totals.released_count);
    let numbers = [settings.sampling, settings.budget, SIGNAL.load(Ordering::Relaxed) as u64];
    let [sampling, budget, signal] = numbers.map(|n| OrNull(Some(n).filter(|n| *n != 0)));
    write!(
        out,
        "{{\"version\":1,\"process\":{{\"id\":{id},\"library\":\"toft-rust\",\"executable\":{executable},\
         \"arenas\":{arenas},\"released\":{released},\"sampling\":{sampling},\"budget\":{budget},\
         \"signal\":{signal}}},\"stats\":{{\"live\":{live},\"allocated\":{allocated},\"peak\":{peak},\"budget\":null,\
         \"reserved\":{reserved},\"wasted\":{wasted},\"blocks\":{blocks},\"source_calls\":{source_calls}}},\"tags\":["
    )?;
    for (i, t) in sum.tags.iter().enumerate() {
        let (comma, name, number, live, allocated) = (comma(i), Quoted(&t.name), OrNull(t.number), t.live, t.allocated);
        write!(
            out,
            r#"{comma}{{"name":{name},"number":{number},"live":{live},"allocated":{allocated},"budget":null}}"#
        )?;
    }
    out.push_str("],\"phases\":[");
    for (i, p) in sum.phases.iter().enumerate() {
        let (comma, name, entries, allocated, kept) = (comma(i), Quoted(&p.name), p.entries, p.allocated, p.kept);
        write!(out, r#"{comma}{{"name":{name},"entries":{entries},"allocated":{allocated},"kept":{kept}}}"#)?;
    }
    out.push_str("],\"sites\":[");
    for (i, s) in sum.sites.iter().enumerate() {
        let (comma, file, line, column) = (comma(i), Quoted(&s.site.file), s.site.line, s.site.column);
        let (number, tag, count, bytes) = (s.site.number, Quoted(&s.tag), s.count, s.bytes);
        write!(out, r#"{comma}{{"site":{{"file":{file},"line":{line},"column":{column},"number":{number}}},"#)?;
        write!(out, r#""tag":{tag},"count":{count},"bytes":{bytes}}}"#)?;
    }
    out.push(']');
    budgets(out)?;
    out.push_str("}\n");
    Ok(())
}

/// Of the process; nothing if there are none.
fn budgets(out: &mut String) -> fmt::Result {
    let all = budget_report::reports(None);
    if all.is_empty() {
        return Ok(());
    }
    out.push_str(",\"budgets\":[");
    for (i, b) in all.iter().enumerate() {
        out.push_str(comma(i));
        let (id, parent, name, limit) = (b.id, OrNull(b.parent), Quoted(&b.name), OrNull(b.limit.map(|n| n as u64)));
        let (reserved, peak, refusals) = (b.reserved, b.peak, b.refusals);
        write!(out, r#"{{"id":{id},"parent":{parent},"name":{name},"limit":{limit},"#)?;
        write!(out, r#""reserved":{reserved},"peak":{peak},"refusals":{refusals}"#)?;
        if let Some(l) = &b.live {
            let (limit, live, peak) = (OrNull(l.limit.map(|n| n as u64)), l.live, l.peak);
            write!(out, r#","live":{{"limit":{limit},"live":{live},"peak":{peak},"#)?;
            write!(out, r#""parked":{},"refusals":{}}}"#, l.parked, l.refusals)?;
        }
        out.push('}');
    }
    out.push(']');
    Ok(())
}

/// The path of the profile: `%p` is replaced by the number of the process, `%l` by the language.
fn path(pattern: &str, id: &str) -> String {
    let mut parts = pattern.split('%');
    let mut path = String::from(parts.next().unwrap_or_default());
    for part in parts {
        let (with, rest) = match part.as_bytes().first() {
            Some(b'p') => (id, &part[1..]),
            Some(b'l') => ("rust", &part[1..]),
            _ => ("%", part),
        };
        path.push_str(with);
        path.push_str(rest);
    }
    path
}

/// Writes a file beside the path, which then gets its name: no reader sees a part of it. Errors are ignored.
fn write() {
    let _writing = lock(&WRITING);
    let (settings, id) = (process::settings(), std::process::id().to_string());
    let path = path(&settings.profile, &id);
    let temporary = format!("{path}.{id}");
    let mut out = String::new();
    let _ = text(settings, &mut out); // formatting to a string does not fail
    let done = process::open(Path::new(&temporary), false)
        .and_then(|mut file| file.write_all(out.as_bytes()))
        .and_then(|()| std::fs::rename(&temporary, &path));
    if done.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
}

fn serve() {
    if REQUESTED.swap(false, Ordering::Relaxed) {
        write();
    }
}

/// Requests by the end of the process, and by a signal. The signal's handler stores a flag and posts a semaphore; a
/// thread, or the next slow call of an arena, writes the profile.
#[cfg(all(unix, not(miri)))]
mod request {
    use super::*;
    use core::cell::UnsafeCell;
    use core::ffi::{c_int, c_uint};

    unsafe extern "C" {
        fn atexit(function: extern "C" fn()) -> c_int;
        fn signal(number: c_int, handler: usize) -> usize;
        fn sem_init(semaphore: *mut u8, shared: c_int, value: c_uint) -> c_int;
        fn sem_post(semaphore: *mut u8) -> c_int;
        fn sem_wait(semaphore: *mut u8) -> c_int;
        fn sigfillset(set: *mut u8) -> c_int;
        fn pthread_sigmask(how: c_int, set: *const u8, before: *mut u8) -> c_int;
    }

    const SET_MASK: c_int = if cfg!(any(target_os = "linux", target_os = "android")) { 2 } else { 3 };

    /// Larger than a `sem_t` or `sigset_t` of any system.
    #[repr(align(64))]
    struct Opaque(UnsafeCell<[u8; 256]>);
    // SAFETY: it is used by the calls above only, which may be called by any thread.
    unsafe impl Sync for Opaque {}
    static SEMAPHORE: Opaque = Opaque(UnsafeCell::new([0; 256]));
    static THREAD: AtomicBool = AtomicBool::new(false);

    extern "C" fn at_exit() {
        crate::base::panics::catch(write);
    }

    extern "C" fn on_signal(_: c_int) {
        REQUESTED.store(true, Ordering::Relaxed);
        if THREAD.load(Ordering::Relaxed) {
            // SAFETY: it is initialised, and the call is allowed in handlers.
            unsafe { sem_post(SEMAPHORE.0.get().cast()) };
        }
    }

    fn wait() {
        loop {
            // SAFETY: it is initialised before the thread starts.
            if unsafe { sem_wait(SEMAPHORE.0.get().cast()) } == 0 {
                serve();
            }
        }
    }

    /// Returns the signal if it requests a profile, or 0: its disposition was not the default one.
    pub fn begin(number: c_int) -> c_int {
        let (all, mask) = (Opaque(UnsafeCell::new([0; 256])), Opaque(UnsafeCell::new([0; 256])));
        // SAFETY: the functions have these types; the handler calls nothing but `sem_post`.
        unsafe {
            atexit(at_exit);
            if number <= 0 || number >= 1024 {
                return 0;
            }
            let before = signal(number, on_signal as extern "C" fn(c_int) as usize);
            if before != 0 {
                signal(number, before);
                return 0;
            }
            sigfillset(all.0.get().cast());
            pthread_sigmask(SET_MASK, all.0.get().cast(), mask.0.get().cast()); // the thread gets no signals
            let starts = sem_init(SEMAPHORE.0.get().cast(), 0, 0) == 0;
            let starts = starts && crate::system::background::spawn("toft-profile", wait);
            pthread_sigmask(SET_MASK, mask.0.get().cast(), core::ptr::null_mut());
            THREAD.store(starts, Ordering::Relaxed);
            number
        }
    }
}
