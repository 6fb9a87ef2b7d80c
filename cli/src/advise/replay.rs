//! Replays the allocations of a recording on the process's malloc, or in arenas, and takes the time.
//!
//! Arenas are called as allocator hooks call them (`toft_current_malloc`): through a pointer, with a header that stores the
//! size, and with calls of free that do nothing. Direct calls save more.
//!
//! A replay is a process of its own, so that its first round finds the heap as the program found it, and another malloc can
//! be preloaded. A byte of each cache line of an object is written after its allocation.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::lifetimes::{Action, Lifetimes, Step, NONE};
use allocator_api2::alloc::Allocator;
use anyhow::{bail, ensure, Context, Result};
use serde::{Deserialize, Serialize};
use std::{
    alloc::Layout,
    fs::File,
    io::{BufWriter, Write},
    path::{Path, PathBuf},
    process::{ExitCode, Stdio},
    ptr::{self, NonNull},
};

/// Where the objects go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Plan<'a> {
    Malloc,
    /// Objects with a number other than 0 are in an arena, which is reset where the number changes.
    Arena(&'a [u32]),
}

#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Kind {
    Malloc,
    Calloc,
    Realloc,
    Free,
    Arena,
    ArenaZeroed,
    ArenaResize,
    ArenaFree,
    Reset,
    FreesBegin,
    FreesEnd,
    /// The objects that are left are freed after it; not timed.
    End,
}

const KINDS: [Kind; 12] = [
    Kind::Malloc,
    Kind::Calloc,
    Kind::Realloc,
    Kind::Free,
    Kind::Arena,
    Kind::ArenaZeroed,
    Kind::ArenaResize,
    Kind::ArenaFree,
    Kind::Reset,
    Kind::FreesBegin,
    Kind::FreesEnd,
    Kind::End,
];

/// Bytes of an operation in the file: kind, arena, slot, size.
const OPERATION: usize = 12;

const ROUNDS: usize = 3;

/// Consecutive frees whose time is taken.
const FREES: usize = 64;

struct Writer<W: Write> {
    to: W,
    /// Bytes that may still be written.
    left: u64,
}

impl<W: Write> Writer<W> {
    fn put(&mut self, kind: Kind, arena: u16, slot: u32, size: u32) -> std::io::Result<()> {
        self.left = self.left.checked_sub(OPERATION as u64).ok_or(std::io::ErrorKind::QuotaExceeded)?;
        let mut bytes = [0u8; OPERATION];
        bytes[0] = kind as u8;
        bytes[2..4].copy_from_slice(&arena.to_ne_bytes());
        bytes[4..8].copy_from_slice(&slot.to_ne_bytes());
        bytes[8..].copy_from_slice(&size.to_ne_bytes());
        self.to.write_all(&bytes)
    }
}

/// Writes the operations of a plan to a file, of at most `most` bytes.
pub fn write(lifetimes: &Lifetimes, plan: Plan<'_>, path: &Path, most: u64) -> Result<()> {
    let file = File::create(path).with_context(|| format!("cannot create {}", path.display()))?;
    let mut w = Writer { to: BufWriter::with_capacity(1 << 20, file), left: most };
    let done = write_steps(lifetimes, plan, &mut w).and_then(|()| w.to.flush());
    if done.as_ref().is_err_and(|e| e.kind() == std::io::ErrorKind::QuotaExceeded) {
        bail!("the files of the replay exceed --limit; raise it, or give the program a smaller input");
    }
    done.with_context(|| format!("cannot write {}; is the disk full?", path.display()))
}

fn write_steps(lifetimes: &Lifetimes, plan: Plan<'_>, w: &mut Writer<impl Write>) -> std::io::Result<()> {
    let mut slots = Slots { of: vec![NONE; lifetimes.objects.len()], free: Vec::new(), next: 0 };
    let mut last = [0u32; 1 << 8]; // the instance of each thread's arena
    let in_arena = |object: u32| match plan {
        Plan::Arena(of) => of[object as usize],
        _ => 0,
    };
    let steps = &lifetimes.steps;
    let mut i = 0;
    while let Some(step) = steps.get(i) {
        if step.action == Action::Free {
            let end = steps[i..].iter().position(|s| s.action != Action::Free).map_or(steps.len(), |n| i + n);
            write_frees(&steps[i..end], lifetimes, plan, &mut slots, w)?;
            i = end;
            continue;
        }
        i += 1;
        let size = lifetimes.objects[step.object as usize].size;
        let (now, was) = (in_arena(step.object), if step.old == NONE { 0 } else { in_arena(step.old) });
        let arena = step.thread & 0xff;
        if now != 0 && now != last[usize::from(arena)] {
            last[usize::from(arena)] = now;
            w.put(Kind::Reset, arena, 0, 0)?;
        }
        if step.old != NONE && now == was {
            let slot = slots.of[step.old as usize];
            slots.of[step.object as usize] = slot;
            let kind = if now != 0 { Kind::ArenaResize } else { Kind::Realloc };
            w.put(kind, arena, slot, size)?;
            continue;
        }
        let slot = slots.take(step.object);
        let kind = match (step.action, now != 0) {
            (Action::Calloc, true) => Kind::ArenaZeroed,
            (_, true) => Kind::Arena,
            (Action::Calloc, _) => Kind::Calloc,
            _ => Kind::Malloc,
        };
        w.put(kind, arena, slot, size)?;
        if step.old != NONE {
            let old = slots.of[step.old as usize];
            if was == 0 {
                w.put(Kind::Free, 0, old, lifetimes.objects[step.old as usize].size)?;
            }
            slots.free.push(old);
        }
    }
    w.put(Kind::End, 0, 0, 0)?;
    for (object, o) in lifetimes.objects.iter().enumerate() {
        if !o.dead && in_arena(object as u32) == 0 {
            w.put(Kind::Free, 0, slots.of[object], o.size)?;
        }
    }
    for arena in 0..256u16 {
        if last[usize::from(arena)] != 0 {
            w.put(Kind::Reset, arena, 0, 0)?;
        }
    }
    Ok(())
}

/// The numbers of living objects in a replay, and those that are free again.
struct Slots {
    of: Vec<u32>,
    free: Vec<u32>,
    next: u32,
}

impl Slots {
    fn take(&mut self, object: u32) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        });
        self.of[object as usize] = slot;
        slot
    }
}

/// Writes consecutive frees, with marks around them if their time is to be taken.
fn write_frees(
    steps: &[Step],
    lifetimes: &Lifetimes,
    plan: Plan<'_>,
    slots: &mut Slots,
    w: &mut Writer<impl Write>,
) -> std::io::Result<()> {
    let timed = plan == Plan::Malloc && steps.len() >= FREES;
    if timed {
        w.put(Kind::FreesBegin, 0, 0, steps.len() as u32)?;
    }
    for step in steps {
        let object = step.object as usize;
        let kind = match plan {
            Plan::Arena(of) if of[object] != 0 => Kind::ArenaFree,
            _ => Kind::Free,
        };
        w.put(kind, 0, slots.of[object], lifetimes.objects[object].size)?;
        slots.free.push(slots.of[object]);
    }
    if timed {
        w.put(Kind::FreesEnd, 0, 0, 0)?;
    }
    Ok(())
}

/// Seconds of CPU time of one round.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Times {
    /// The first round, with the page faults of new memory.
    pub first: f64,
    /// Later rounds in the same process.
    pub repeated: f64,
    /// One free within many, later rounds.
    pub burst_free: f64,
    /// The most memory of the process, less its memory before, in bytes.
    pub peak: u64,
}

/// Replays the operations of a file in this process.
#[derive(clap::Args)]
pub struct Arguments {
    operations: PathBuf,
    /// Writes to a small buffer instead: the time of the replay without allocations.
    #[arg(long)]
    empty: bool,
}

pub fn main(arguments: Arguments) -> Result<ExitCode> {
    let file = File::open(&arguments.operations)?;
    // SAFETY: the file is in a private folder and complete.
    let map = unsafe { memmap2::Mmap::map(&file)? };
    ensure!(map.len() % OPERATION == 0, "the file of operations is damaged");
    let times = replay(&map, arguments.empty);
    println!("{}", serde_json::to_string(&times)?);
    Ok(ExitCode::SUCCESS)
}

fn cpu() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the address is valid.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t) };
    t.tv_sec as f64 + t.tv_nsec as f64 / 1e9
}

/// A member of /proc/self/status in bytes; 0: unknown. `VmHWM` is the peak of the resident memory `VmRSS`; getrusage's peak
/// includes the parent's memory before exec.
fn memory(member: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix(member)?.strip_prefix(':'));
    line.and_then(|l| l.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) * 1024
}

const ALIGN: usize = 16;

/// Bytes before an object that store its size.
const HEADER: usize = 16;

/// The functions that a library's allocator hooks call.
struct Hooks {
    malloc: fn(&toft::Arena, u32) -> *mut u8,
    calloc: fn(&toft::Arena, u32) -> *mut u8,
    realloc: unsafe fn(&toft::Arena, *mut u8, u32) -> *mut u8,
    free: fn(*mut u8),
}

fn hook_malloc(arena: &toft::Arena, size: u32) -> *mut u8 {
    let Ok(p) = arena.allocate(layout(size + HEADER as u32)) else { return ptr::null_mut() };
    // SAFETY: the header is inside the object.
    unsafe {
        p.cast::<usize>().write(size as usize);
        p.as_ptr().cast::<u8>().add(HEADER)
    }
}

fn hook_calloc(arena: &toft::Arena, size: u32) -> *mut u8 {
    let p = hook_malloc(arena, size);
    if !p.is_null() {
        // SAFETY: the object has `size` bytes.
        unsafe { p.write_bytes(0, size as usize) };
    }
    p
}

/// # Safety
/// `p` is from a hook with the same arena, since its last reset.
unsafe fn hook_realloc(arena: &toft::Arena, p: *mut u8, size: u32) -> *mut u8 {
    // SAFETY: the caller's; the header stores the size.
    unsafe {
        let start = p.sub(HEADER);
        let old = start.cast::<usize>().read() as u32 + HEADER as u32;
        let new = resize(&arena, start, old, size + HEADER as u32);
        if new.is_null() {
            return new;
        }
        new.cast::<usize>().write(size as usize);
        new.add(HEADER)
    }
}

fn hook_free(_: *mut u8) {}

struct Replay {
    hooks: Hooks,
    slots: Vec<*mut u8>,
    arenas: Vec<toft::Arena>,
    buffer: Box<[u8; 1 << 20]>,
    frees: u64,
    frees_seconds: f64,
}

fn layout(size: u32) -> Layout {
    // SAFETY: the alignment is a power of two, and 32 bits of size cannot overflow.
    unsafe { Layout::from_size_align_unchecked((size as usize).max(1), ALIGN) }
}

impl Replay {
    fn round(&mut self, operations: &[u8], empty: bool) -> f64 {
        let begin = cpu();
        let mut frees_begin = begin;
        let mut end = None;
        for bytes in operations.chunks_exact(OPERATION) {
            let number = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap());
            let (kind, slot, size) = (KINDS[usize::from(bytes[0])], number(4) as usize, number(8));
            let arena = usize::from(bytes[2]);
            let p = self.slots[slot];
            if empty {
                match kind {
                    Kind::End => end = Some(cpu()),
                    Kind::Free | Kind::ArenaFree | Kind::Reset | Kind::FreesBegin | Kind::FreesEnd => {}
                    _ => self.touch(slot, self.buffer.as_ptr().cast_mut(), size.min(1 << 20)),
                }
                continue;
            }
            // SAFETY: `p` is what the same kind of allocator returned for this slot,
            // and each slot is freed once: the operations are those of a program.
            let new = unsafe {
                match kind {
                    Kind::Malloc => libc::malloc(size as usize).cast(),
                    Kind::Calloc => libc::calloc(1, size as usize).cast(),
                    Kind::Realloc => libc::realloc(p.cast(), (size as usize).max(1)).cast(),
                    Kind::Free => {
                        libc::free(p.cast());
                        continue;
                    }
                    Kind::Arena => (self.hooks.malloc)(&self.arenas[arena], size),
                    Kind::ArenaZeroed => (self.hooks.calloc)(&self.arenas[arena], size),
                    Kind::ArenaResize => (self.hooks.realloc)(&self.arenas[arena], p, size),
                    Kind::ArenaFree => {
                        (self.hooks.free)(p);
                        continue;
                    }
                    Kind::Reset => {
                        self.arenas[arena].reset();
                        continue;
                    }
                    Kind::FreesBegin => {
                        self.frees += u64::from(size);
                        frees_begin = cpu();
                        continue;
                    }
                    Kind::FreesEnd => {
                        self.frees_seconds += cpu() - frees_begin;
                        continue;
                    }
                    Kind::End => {
                        end = Some(cpu());
                        continue;
                    }
                }
            };
            self.touch(slot, new, size);
        }
        end.unwrap_or_else(cpu) - begin
    }

    #[inline(always)]
    fn touch(&mut self, slot: usize, p: *mut u8, size: u32) {
        self.slots[slot] = p;
        if p.is_null() {
            return;
        }
        for i in (0..size as usize).step_by(64) {
            // SAFETY: the object has `size` bytes.
            unsafe { p.add(i).write_volatile(1) };
        }
    }
}

/// # Safety
/// `p` is an object of `old` bytes of the allocator.
unsafe fn resize(a: &impl Allocator, p: *mut u8, old: u32, new: u32) -> *mut u8 {
    let Some(p) = NonNull::new(p) else { return ptr::null_mut() };
    // SAFETY: the caller's; the sizes are in order.
    let done = unsafe {
        if new >= old {
            a.grow(p, layout(old), layout(new))
        } else {
            a.shrink(p, layout(old), layout(new))
        }
    };
    done.map_or(ptr::null_mut(), |p| p.as_ptr().cast())
}

fn replay(operations: &[u8], empty: bool) -> Times {
    let mut slots = 0;
    let mut arenas = 1;
    for bytes in operations.chunks_exact(OPERATION) {
        slots = slots.max(u32::from_ne_bytes(bytes[4..8].try_into().unwrap()) as usize + 1); // also reads every page once
        arenas = arenas.max(usize::from(bytes[2]) + 1);
    }
    let mut replay = Replay {
        // A pointer whose value the compiler cannot compute, as that of a hook.
        hooks: std::hint::black_box(Hooks {
            malloc: hook_malloc,
            calloc: hook_calloc,
            realloc: hook_realloc,
            free: hook_free,
        }),
        slots: vec![ptr::without_provenance_mut(1); slots],
        arenas: (0..arenas).map(|_| toft::Arena::new()).collect(),
        buffer: vec![0u8; 1 << 20].into_boxed_slice().try_into().unwrap(),
        frees: 0,
        frees_seconds: 0.0,
    };
    replay.slots.fill(ptr::null_mut());
    let before = memory("VmRSS");
    let first = replay.round(operations, empty);
    let peak = memory("VmHWM").saturating_sub(before);
    let (mut later, mut last) = (Vec::new(), (0, 0.0));
    for _ in 1..ROUNDS {
        (replay.frees, replay.frees_seconds) = (0, 0.0);
        later.push(replay.round(operations, empty));
        last = (replay.frees, replay.frees_seconds);
    }
    let burst_free = if last.0 == 0 { 0.0 } else { last.1 / last.0 as f64 };
    Times { first, repeated: later.into_iter().fold(first, f64::min), burst_free, peak }
}

/// A replay: the file of its operations, the malloc, and whether it allocates nothing.
#[derive(Clone, Copy)]
pub struct Contender<'a> {
    pub operations: &'a Path,
    pub preload: Option<&'a Path>,
    pub empty: bool,
}

/// Runs each replay in processes of their own, which alternate, as do the runs of the program. The results are the least times of
/// their first and of their later rounds, since disturbances only add.
pub fn run(contenders: &[Contender], processes: usize) -> Result<Vec<Times>> {
    let mut least: Vec<Option<Times>> = vec![None; contenders.len()];
    for _ in 0..processes {
        for (least, contender) in least.iter_mut().zip(contenders) {
            let mut command = std::process::Command::new("/proc/self/exe");
            command.arg("replay").arg(contender.operations);
            if contender.empty {
                command.arg("--empty");
            }
            if let Some(library) = contender.preload {
                command.env("LD_PRELOAD", library);
            }
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let started = super::processes::spawn(&mut command);
            let done = started.and_then(|child| child.wait_with_output()).context("the replay cannot be started")?;
            ensure!(done.status.success(), "the replay failed: {}", String::from_utf8_lossy(&done.stderr).trim());
            let t: Times = serde_json::from_slice(&done.stdout).context("the replay printed something else")?;
            *least = Some(least.map_or(t, |l| Times {
                first: l.first.min(t.first),
                repeated: l.repeated.min(t.repeated),
                burst_free: l.burst_free.min(t.burst_free),
                peak: l.peak.min(t.peak),
            }));
        }
    }
    Ok(least.into_iter().flatten().collect())
}
