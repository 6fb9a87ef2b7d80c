//! Objects, from their allocation to their end, and the innermost call that was active at both.
//!
//! The events of threads are merged into one order, by times that are interpolated between segments. A thread's next event
//! waits while it contradicts the order so far: a free of an address at which no object is, an allocation at an address that
//! is not free.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::recording::{Call, Event, Recording};
use rustc_hash::FxHashMap;

/// No call is active at both ends of the object's life, or the object is never freed.
pub const NO_OWNER: u16 = u16::MAX;
/// The recorder compares the return addresses of so many callers at each call. Those further out may be of an earlier call.
const COMPARED: usize = 3;
/// No object.
pub const NONE: u32 = u32::MAX;
/// Parts of the run, which have the same length.
pub const PARTS: usize = 200;

pub struct Object {
    /// Saturated.
    pub size: u32,
    pub site: u32,
    /// The site of its free; 0: none is known, or the object is never freed.
    pub freed: u32,
    /// Index into the stack of `site` of the innermost call that lasts from the object's allocation to its end.
    pub owner: u16,
    pub dead: bool,
}

/// `object` begins, then `old` ends; each may be `NONE`. A realloc is both.
#[derive(Clone, Copy)]
pub struct Step {
    pub thread: u16,
    pub object: u32,
    pub old: u32,
    /// The site of the call.
    pub site: u32,
}

#[derive(Default)]
pub struct Lifetimes {
    pub objects: Vec<Object>,
    pub steps: Vec<Step>,
    pub events: u64,
    pub bytes: u64,
    /// The most bytes that are live at once.
    pub peak: u64,
    /// Frees on another thread than the allocation's.
    pub handed: u64,
    /// Of each part of the run the most live bytes, and the steps before it.
    pub curve: Vec<(u64, usize)>,
}

impl Lifetimes {
    /// The events, objects, bytes and the peak. Their memory goes back to the system: a process that is started begins with the
    /// page tables of this one, whose removal is a part of its CPU time.
    pub fn end(self) -> [u64; 4] {
        let totals = [self.events, self.objects.len() as u64, self.bytes, self.peak];
        drop(self);
        // SAFETY: it changes no memory that is in use.
        #[cfg(target_env = "gnu")]
        unsafe {
            libc::malloc_trim(0);
        }
        totals
    }
}

/// The state of a thread while the events are merged.
struct Thread {
    /// Maxima of stack pointers: (step, stack pointer), with falling stack pointers.
    maxima: Vec<(u32, u64)>,
    /// The object that a realloc in progress frees.
    resizing: u32,
}

struct Merger<'r> {
    recording: &'r Recording,
    live: FxHashMap<u64, (u32, u16)>,
    owners: FxHashMap<(u32, u32), u16>,
    threads: Vec<Thread>,
    /// Step of the allocation of each object.
    born: Vec<u32>,
    live_bytes: u64,
    found: Lifetimes,
}

/// The lifetimes of a recording's objects. `None`: they take more than `limit` bytes of memory. `whole`: what is alive at the end
/// of the recording is never freed; else it is not known when.
pub fn lifetimes(recording: &Recording, limit: u64, whole: bool) -> Option<Lifetimes> {
    let mut merger = Merger {
        recording,
        live: FxHashMap::default(),
        owners: FxHashMap::default(),
        threads: Vec::new(),
        born: Vec::new(),
        live_bytes: 0,
        found: Lifetimes::default(),
    };
    let count = recording.threads.len().min(usize::from(u16::MAX));
    merger.threads.extend((0..count).map(|_| Thread { maxima: Vec::new(), resizing: NONE }));
    let mut streams: Vec<_> = (0..count).map(|t| recording.events(t).peekable()).collect();
    let mut waiting: Vec<usize> = (0..count).collect();
    while !waiting.is_empty() {
        waiting.retain(|&t| streams[t].peek().is_some());
        let mut time = |t: usize| streams[t].peek().map_or(f64::INFINITY, |e| e.time);
        waiting.sort_by(|&a, &b| time(a).total_cmp(&time(b)));
        let until = waiting.get(1).map_or(f64::INFINITY, |&t| time(t));
        let fits = waiting.iter().position(|&t| merger.fits(streams[t].peek().unwrap()));
        let Some(&t) = waiting.get(fits.unwrap_or(0)) else { break };
        // The thread continues until a later event than those of other threads, or one that must wait.
        let until = if fits.unwrap_or(0) == 0 { until } else { f64::NEG_INFINITY };
        let mut forced = fits.is_none();
        while let Some(next) = streams[t].peek() {
            if !forced && !merger.fits(next) {
                break;
            }
            forced = false;
            let event = *next;
            merger.reach(event.time);
            merger.take(t as u16, event);
            if let Some((most, _)) = merger.found.curve.last_mut() {
                *most = merger.live_bytes.max(*most);
            }
            streams[t].next();
            if merger.found.events.is_multiple_of(1 << 16) && merger.memory() > limit {
                return None;
            }
            if event.time > until {
                break;
            }
        }
    }
    merger.reach(recording.end);
    // Objects that are never freed last as long as the outermost call.
    for o in merger.found.objects.iter_mut().filter(|o| whole && !o.dead) {
        let stack = &recording.sites[o.site as usize].stack;
        o.owner = if stack.is_empty() { NO_OWNER } else { stack.len() as u16 - 1 };
    }
    (merger.memory() <= limit).then_some(merger.found)
}

impl Merger<'_> {
    /// Bytes, with the two numbers that `replay` and `scopes` have of each object.
    fn memory(&self) -> u64 {
        let (objects, steps) = (self.found.objects.len(), self.found.steps.len());
        let live = self.live.capacity() * (size_of::<(u64, (u32, u16))>() + 1);
        (objects * (size_of::<Object>() + 3 * size_of::<u32>()) + steps * size_of::<Step>() + live) as u64
    }

    /// Continues the curve to the part that a time is in.
    fn reach(&mut self, time: f64) {
        let Recording { begin, end, .. } = self.recording;
        let part = ((time - begin) / (end - begin) * PARTS as f64) as usize;
        let (curve, steps) = (&mut self.found.curve, self.found.steps.len());
        curve.resize(curve.len().max(part.min(PARTS - 1) + 1), (self.live_bytes, steps));
    }

    /// Whether the event can follow those before it.
    fn fits(&self, event: &Event) -> bool {
        match event.call {
            Call::Malloc | Call::Calloc | Call::Realloc => !self.live.contains_key(&event.address),
            Call::Free | Call::Resize => self.threads.len() == 1 || self.live.contains_key(&event.address),
            Call::Restore => true,
        }
    }

    fn take(&mut self, thread: u16, event: Event) {
        self.found.events += 1;
        if self.found.steps.len() >= NONE as usize - 1 {
            return;
        }
        let at = &mut self.threads[usize::from(thread)];
        let step = self.found.steps.len() as u32;
        let sp = self.recording.sites.get(event.site as usize).map_or(0, |s| s.sp);
        while at.maxima.last().is_some_and(|m| m.1 <= sp) {
            at.maxima.pop();
        }
        at.maxima.push((step, sp));
        if at.resizing != NONE && event.call != Call::Realloc && event.call != Call::Restore {
            let old = std::mem::replace(&mut at.resizing, NONE); // realloc to 0 bytes
            self.push(thread, NONE, old, event.site);
        }
        match event.call {
            Call::Malloc | Call::Calloc => self.allocate(thread, &event, NONE),
            Call::Realloc => {
                let old = std::mem::replace(&mut self.threads[usize::from(thread)].resizing, NONE);
                self.allocate(thread, &event, old);
            }
            Call::Free => {
                if let Some(object) = self.end(thread, &event) {
                    self.push(thread, NONE, object, event.site);
                }
            }
            Call::Resize => {
                if let Some(object) = self.end(thread, &event) {
                    self.threads[usize::from(thread)].resizing = object;
                }
            }
            Call::Restore => {
                let object = std::mem::replace(&mut self.threads[usize::from(thread)].resizing, NONE);
                if object != NONE {
                    let o = &mut self.found.objects[object as usize];
                    (o.dead, o.freed, o.owner) = (false, 0, NO_OWNER);
                    self.live_bytes += u64::from(o.size);
                    self.live.insert(event.address, (object, thread));
                }
            }
        }
    }

    fn push(&mut self, thread: u16, object: u32, old: u32, site: u32) {
        self.found.steps.push(Step { thread, object, old, site });
    }

    fn allocate(&mut self, thread: u16, event: &Event, old: u32) {
        let object = self.found.objects.len() as u32;
        self.born.push(self.found.steps.len() as u32);
        let size = event.value.min(u64::from(u32::MAX)) as u32;
        let site = if (event.site as usize) < self.recording.sites.len() { event.site } else { 0 };
        self.found.objects.push(Object { size, site, freed: 0, owner: NO_OWNER, dead: false });
        self.found.bytes += event.value;
        self.live_bytes += u64::from(size);
        self.found.peak = self.found.peak.max(self.live_bytes);
        self.live.insert(event.address, (object, thread));
        self.push(thread, object, old, event.site);
    }

    /// Ends the object at the event's address.
    fn end(&mut self, thread: u16, event: &Event) -> Option<u32> {
        // None: allocated before the recording, or by the parent of a fork.
        let (object, born_on) = self.live.remove(&event.address)?;
        let site = self.found.objects[object as usize].site;
        let owner = if born_on == thread {
            let owner = self.common(site, event.site);
            self.still_active(owner, site, thread, self.born[object as usize])
        } else {
            self.found.handed += 1;
            NO_OWNER
        };
        let o = &mut self.found.objects[object as usize];
        o.freed = if (event.site as usize) < self.recording.sites.len() { event.site } else { 0 };
        o.owner = owner;
        o.dead = true;
        self.live_bytes -= u64::from(o.size);
        Some(object)
    }

    /// Index into the stack of `born` of the innermost call that is also in the stack of `freed`: same function, same
    /// frame address, and the same calls around it, as far as they are known.
    fn common(&mut self, born: u32, freed: u32) -> u16 {
        let (nodes, sites) = (&self.recording.nodes, &self.recording.sites);
        *self.owners.entry((born, freed)).or_insert_with(|| {
            let Some(freed) = sites.get(freed as usize) else { return NO_OWNER };
            let (a, f) = (&sites[born as usize].stack, &freed.stack);
            let mut found = NO_OWNER;
            for (k, (&x, &y)) in a.iter().rev().zip(f.iter().rev()).enumerate() {
                let (p, q) = (&nodes[x as usize], &nodes[y as usize]);
                let same = x == y || p.cfa == q.cfa && p.function == q.function && (p.function != 0 || p.ip == q.ip);
                if !same {
                    break;
                }
                let (i, j) = (a.len() - 1 - k, f.len() - 1 - k);
                found = i as u16;
                if p.ip != q.ip && i.max(j) <= COMPARED {
                    break; // the calls within it differ
                }
            }
            found
        })
    }

    /// The innermost call from `owner` outwards that has not returned since the step `born`: no event of the thread had a
    /// stack pointer above its frame.
    fn still_active(&self, owner: u16, site: u32, thread: u16, born: u32) -> u16 {
        if owner == NO_OWNER {
            return owner;
        }
        let maxima = &self.threads[usize::from(thread)].maxima;
        let highest = maxima.get(maxima.partition_point(|m| m.0 <= born)).map_or(0, |m| m.1);
        let stack = &self.recording.sites[site as usize].stack;
        let outer = stack[usize::from(owner)..].iter().position(|&n| {
            let cfa = self.recording.nodes[n as usize].cfa;
            cfa == 0 || cfa > highest
        });
        outer.map_or(NO_OWNER, |k| owner + k as u16)
    }
}

#[cfg(test)]
impl Lifetimes {
    /// An object of a site of `Recording::of`, whose outermost call captures it. Returns its number.
    pub fn begin(&mut self, recording: &Recording, site: u32, size: u32) -> u32 {
        let owner = recording.sites[site as usize].stack.len() as u16 - 1;
        self.objects.push(Object { size, site, freed: 0, owner, dead: false });
        self.bytes += u64::from(size);
        self.steps.push(Step { thread: 0, object: self.objects.len() as u32 - 1, old: NONE, site });
        self.objects.len() as u32 - 1
    }

    pub fn finish(&mut self, object: u32, site: u32) {
        let o = &mut self.objects[object as usize];
        (o.freed, o.dead) = (site, true);
        self.steps.push(Step { thread: 0, object: NONE, old: object, site });
    }
}
