//! Reads a recording. `recorder/recording.h` defines its format.
// SPDX-License-Identifier: MIT OR Apache-2.0

use anyhow::{bail, ensure, Context, Result};
use rustc_hash::FxHashMap;
use std::{fs::File, path::Path};

const MAGIC: u64 = u64::from_le_bytes(*b"TOFTREC1");
const SEGMENT: usize = 65536;
const PIECE: usize = 4096;
const HEAD: usize = 32;
const SITE: u32 = 1 << 31;
/// Of a deeper stack than twice as many frames the innermost and the outermost are kept: a recursion over a list has one for each
/// of its nodes.
const KEPT: usize = 128;

/// The actions of a thread; see `enum recording_call`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {
    Malloc,
    Calloc,
    Realloc,
    Free,
    Resize,
    Restore,
}

#[derive(Clone, Copy)]
pub struct Event {
    pub call: Call,
    pub address: u64,
    pub site: u32,
    /// Requested bytes.
    pub value: u64,
    /// Nanoseconds, interpolated between the times of segments.
    pub time: f64,
}

/// A call on a stack.
#[derive(Clone, Copy, Default)]
pub struct Node {
    pub ip: u64,
    /// The stack pointer of the caller. While the call is active, the stack pointer of all calls within it is below.
    pub cfa: u64,
    /// First address of the function; 0: unknown.
    pub function: u64,
    /// The calling frame; 0: none.
    pub parent: u32,
}

#[derive(Clone, Default)]
pub struct Site {
    /// The stack pointer at the call of malloc.
    pub sp: u64,
    /// Frames from malloc's caller to the outermost.
    pub stack: Vec<u32>,
}

#[derive(Clone)]
pub struct Mapping {
    pub start: u64,
    pub end: u64,
    pub offset: u64,
    pub path: String,
}

/// The missing part of a recording, and the reason; see `enum recording_reason`.
#[derive(Clone, Copy)]
pub struct Loss {
    reason: u32,
    error: u32,
    /// Events, or processes.
    pub count: u64,
}

impl Loss {
    fn read(reason: u32, error: u32, count: u64) -> Option<Loss> {
        (reason != 0).then_some(Loss { reason, error, count })
    }

    /// Of processes that could not be recorded.
    pub fn of_processes(folder: &Path) -> Option<Loss> {
        let total = std::fs::read(folder.join("total")).ok().filter(|t| t.len() >= 32)?;
        Loss::read(u32_at(&total, 24), u32_at(&total, 28), u64_at(&total, 16))
    }

    /// The reason as a sentence, without its end. `limit` is that of the command, in MiB.
    pub fn reason(&self, limit: u64) -> String {
        let error = std::io::Error::from_raw_os_error(self.error as i32);
        match self.reason {
            1 => {
                // An event has a word, and the recording a quarter of the limit.
                let enough = limit + (self.count * 4 * 10).div_ceil(1 << 20);
                format!(
                    "the recording reached its part of --limit {limit}. Give the program a smaller input; with all of this one \
                     the recording needs about --limit {enough}"
                )
            }
            2 => "the program is run with a limit on the size of files (ulimit -f), which the recording reached"
                .to_owned(),
            3 if self.error == libc::ENOMEM as u32 => {
                "the program has a limit on its memory (ulimit -v), which leaves none for the recorder".to_owned()
            }
            3 => format!("the recording cannot be written ({error}); set TMPDIR to a folder with space"),
            4 => format!(
                "the program closed the recording's descriptor, and it cannot be opened again ({error}): \
                          the program has another root folder or other rights by then. Run it without these"
            ),
            5 => "the program restricts its system calls (seccomp), after which the recorder makes none; \
                  run it without this restriction, or give it a smaller input"
                .to_owned(),
            n => format!("the recording ends by the unknown reason {n}"),
        }
    }
}

/// The state "the signal that starts the recording has not been sent" in the file "total".
pub const WAITING: u32 = 1;

/// Fails if the signal has not started the recording.
pub fn was_started(folder: &Path) -> Result<()> {
    let total = std::fs::read(folder.join("total")).context("cannot read the recording")?;
    ensure!(
        u32_at(&total, 32) != WAITING,
        "the signal of --signal did not reach the program, or the program handles it itself: nothing was recorded"
    );
    Ok(())
}

pub struct Recording {
    map: memmap2::Mmap,
    pub executable: String,
    /// The command line, or its beginning.
    pub command: String,
    /// The library that the process's malloc is from.
    pub malloc: String,
    /// Why later events are missing.
    pub partial: Option<Loss>,
    /// The process ended regularly; else it was killed, or replaced itself by exec.
    pub ended: bool,
    pub forked: bool,
    pub pid: u32,
    pub parent: u32,
    /// Ticks of the processor's clock in a second.
    pub ticks: f64,
    /// Where it begins and ends, in nanoseconds.
    pub begin: f64,
    pub end: f64,
    /// Of each thread the offsets of its segments, and their times.
    pub threads: Vec<Vec<(u64, usize)>>,
    pub nodes: Vec<Node>,
    pub sites: Vec<Site>,
    pub mappings: Vec<Mapping>,
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap())
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// A segment or a piece, which is not shorter than its head.
fn segment_at(map: &[u8], at: usize) -> &[u8] {
    &map[at..map.len().min(at + if u64_at(map, at + 24) == 0 { SEGMENT } else { PIECE })]
}

/// A text of a segment, and those after it in one.
fn name_and_words(segment: &[u8]) -> (String, String) {
    let words = segment[HEAD..].split(|&b| b == 0).map(|w| String::from_utf8_lossy(w).into_owned());
    let mut words = words.take_while(|word| !word.is_empty());
    let name = words.next().unwrap_or_default();
    (name, words.collect::<Vec<_>>().join(" ").chars().take(60).collect())
}

impl Recording {
    pub fn open(path: &Path) -> Result<Recording> {
        let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
        // SAFETY: the file is in a private folder, and its process has ended.
        let map = unsafe { memmap2::Mmap::map(&file) }.with_context(|| format!("cannot read {}", path.display()))?;
        ensure!(map.len() >= 80 && u64_at(&map, 0) == MAGIC, "{} is not a recording", path.display());
        let (begin_ns, begin_ticks) = (u64_at(&map, 16), u64_at(&map, 24));
        let (mut last_ns, mut last_ticks) = (u64_at(&map, 32), u64_at(&map, 40));
        let ended = last_ns != 0;
        let mut threads: FxHashMap<u32, Vec<(u64, usize)>> = FxHashMap::default();
        let mut stacks = Vec::new();
        let mut found = Recording {
            partial: Loss::read(u32_at(&map, 56), u32_at(&map, 72), u64_at(&map, 64)),
            ended,
            forked: u32_at(&map, 60) != 0,
            pid: u32_at(&map, 48),
            parent: u32_at(&map, 52),
            begin: begin_ns as f64,
            ..Recording::empty(map)
        };
        let mut text = String::new();
        let mut next = SEGMENT;
        while next + HEAD < found.map.len() {
            let at = next;
            let segment = segment_at(&found.map, at);
            next = if segment.len() == PIECE { at + PIECE } else { (at / SEGMENT + 1) * SEGMENT };
            let (kind, thread, ns, ticks) =
                (u32_at(segment, 0), u32_at(segment, 4), u64_at(segment, 8), u64_at(segment, 16));
            if !ended && ns > last_ns {
                (last_ns, last_ticks) = (ns, ticks);
            }
            match kind {
                1 => threads.entry(thread).or_default().push((ns, at)),
                2 => stacks.push(at),
                3 => {
                    let bytes = &segment[HEAD..];
                    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
                    text.push_str(&String::from_utf8_lossy(&bytes[..end]));
                }
                4 => (found.executable, found.command) = name_and_words(segment),
                5 => found.malloc = name_and_words(segment).0,
                _ => {}
            }
        }
        if last_ns > begin_ns && last_ticks > begin_ticks {
            found.ticks = (last_ticks - begin_ticks) as f64 / (last_ns - begin_ns) as f64 * 1e9;
        }
        found.end = found.begin.max(last_ns as f64);
        for segments in threads.values_mut() {
            segments.sort_unstable();
            segments.dedup_by_key(|s| s.0); // the mapped part of a segment and its copy
        }
        let mut threads: Vec<_> = threads.into_values().collect();
        threads.sort_unstable();
        found.threads = threads;
        found.read_stacks(&stacks)?;
        found.read_mappings(&text);
        found.trim_stacks();
        Ok(found)
    }

    fn empty(map: memmap2::Mmap) -> Recording {
        Recording {
            map,
            executable: String::new(),
            command: String::new(),
            malloc: String::new(),
            partial: None,
            ended: false,
            forked: false,
            pid: 0,
            parent: 0,
            ticks: 1e9,
            begin: 0.0,
            end: 0.0,
            threads: Vec::new(),
            nodes: vec![Node::default()],
            sites: vec![Site::default()],
            mappings: Vec::new(),
        }
    }

    fn read_stacks(&mut self, segments: &[usize]) -> Result<()> {
        let mut sites = Vec::new();
        for &at in segments {
            let segment = segment_at(&self.map, at);
            for node in segment[HEAD..].chunks_exact(32) {
                let (id, parent) = (u32_at(node, 24), u32_at(node, 28));
                if id == 0 {
                    break;
                }
                let read = Node { ip: u64_at(node, 0), cfa: u64_at(node, 8), function: u64_at(node, 16), parent };
                if id & SITE != 0 {
                    sites.push((id & !SITE, read));
                    continue;
                }
                ensure!(id < 1 << 22 && parent < id, "the recording is damaged");
                if self.nodes.len() <= id as usize {
                    self.nodes.resize(id as usize + 1, Node::default());
                }
                self.nodes[id as usize] = read;
            }
        }
        // The depth of each frame, and the one around it whose depth is KEPT.
        let mut outer = vec![(0, 0); self.nodes.len()];
        for (id, node) in self.nodes.iter().enumerate().filter(|(_, node)| node.ip != 0) {
            let (depth, kept) = outer[node.parent as usize];
            outer[id] = (depth + 1, if depth < KEPT { id as u32 } else { kept });
        }
        for (id, read) in sites {
            if id >= 1 << 24 || read.parent as usize >= self.nodes.len() {
                bail!("the recording is damaged");
            }
            if self.sites.len() <= id as usize {
                self.sites.resize(id as usize + 1, Site::default());
            }
            let mut stack = Vec::new();
            let mut at = read.parent;
            let (depth, outer) = outer[at as usize];
            while at != 0 && self.nodes[at as usize].ip != 0 {
                stack.push(at);
                let is_cut = stack.len() == KEPT && depth > 2 * KEPT;
                at = if is_cut { outer } else { self.nodes[at as usize].parent };
            }
            self.sites[id as usize] = Site { sp: read.cfa, stack };
        }
        Ok(())
    }

    fn read_mappings(&mut self, text: &str) {
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            let (Some(range), Some(_), Some(offset)) = (words.next(), words.next(), words.next()) else { continue };
            let Some((start, end)) = range.split_once('-') else { continue };
            let hex = |s| u64::from_str_radix(s, 16).ok();
            let (Some(start), Some(end), Some(offset)) = (hex(start), hex(end), hex(offset)) else { continue };
            let path = words.skip(2).collect::<Vec<_>>().join(" ");
            if path.starts_with('/') && !self.mappings.iter().any(|m| m.start == start && m.path == path) {
                self.mappings.push(Mapping { start, end, offset, path });
            }
        }
    }

    /// Takes the mappings of the parent, in which a fork begins. Under another root it may not find its own.
    pub fn inherit(&mut self, parent: &Recording) {
        self.mappings.clone_from(&parent.mappings);
        self.trim_stacks();
    }

    /// Removes the outermost calls: those of the C library that start `main` and threads, and around them that of the program.
    fn trim_stacks(&mut self) {
        let system = |m: &Mapping| {
            let name = m.path.rsplit('/').next().unwrap_or_default();
            ["libc.so", "libc-", "ld-linux", "libpthread"].iter().any(|begin| name.starts_with(begin))
        };
        let ranges: Vec<_> = self.mappings.iter().filter(|m| system(m)).map(|m| m.start..m.end).collect();
        for site in &mut self.sites {
            let is_own = |&n: &u32| !ranges.iter().any(|r| r.contains(&self.nodes[n as usize].ip));
            let inner = site.stack.split_last().map_or(&[][..], |(_, inner)| inner);
            let kept = if inner.last().is_none_or(is_own) { &site.stack } else { inner };
            site.stack.truncate(kept.iter().rposition(is_own).map_or(0, |last| last + 1));
        }
    }

    /// The events of one thread, in their order.
    pub fn events(&self, thread: usize) -> Events<'_> {
        Events {
            recording: self,
            segments: self.threads[thread].iter(),
            words: &[],
            begin: 0.0,
            word_time: 0.0,
            high: 0,
            at: 0,
        }
    }
}

pub struct Events<'r> {
    recording: &'r Recording,
    segments: std::slice::Iter<'r, (u64, usize)>,
    words: &'r [u8],
    begin: f64,
    word_time: f64,
    high: u64,
    at: usize,
}

impl Events<'_> {
    fn word(&mut self) -> Option<u64> {
        let word = self.words.get(self.at * 8..self.at * 8 + 8)?;
        self.at += 1;
        Some(u64_at(word, 0)).filter(|&w| w != 0)
    }

    /// Begins the next segment.
    fn next_segment(&mut self) -> bool {
        let Some(&(ns, offset)) = self.segments.next() else { return false };
        self.words = &segment_at(&self.recording.map, offset)[HEAD..];
        self.begin = ns as f64;
        let mut count = self.words.len() / 8;
        let until = match self.segments.as_slice().first() {
            Some(next) => next.0 as f64,
            // The order of events is that of the thread, so that the last ones may extend to the end.
            None if self.recording.threads.len() == 1 => {
                count = self.words.chunks_exact(8).take_while(|word| u64_at(word, 0) != 0).count();
                self.recording.end.max(self.begin)
            }
            None => self.begin + 1e6,
        };
        self.word_time = (until - self.begin) / count.max(1) as f64;
        (self.high, self.at) = (0, 0);
        true
    }
}

impl Iterator for Events<'_> {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        loop {
            let Some(word) = self.word() else {
                if self.next_segment() {
                    continue;
                }
                return None;
            };
            let call = match word & 15 {
                1 => Call::Malloc,
                2 => Call::Calloc,
                3 => Call::Realloc,
                4 => Call::Free,
                5 => Call::Resize,
                6 => Call::Restore,
                _ => {
                    self.high = word >> 32; // RECORDING_HIGH
                    continue;
                }
            };
            let mut value = word >> 24 & 255;
            if value == 255 {
                value = self.words.get(self.at * 8..self.at * 8 + 8).map_or(0, |w| u64_at(w, 0));
                self.at += 1;
            }
            let address = self.high << 36 | (word >> 32) << 4;
            let time = self.begin + self.word_time * self.at as f64;
            return Some(Event { call, address, site: (word >> 4) as u32 & 0xf_ffff, value, time });
        }
    }
}

#[cfg(test)]
impl Recording {
    /// One thread. A site is the functions of its stack, from malloc's caller; each has a frame of its own for its depth.
    pub fn of(sites: &[&[u64]]) -> Recording {
        let empty = memmap2::MmapOptions::new().len(1).map_anon().unwrap().make_read_only().unwrap();
        let mut made = Recording { ended: true, threads: vec![Vec::new()], ..Recording::empty(empty) };
        for stack in sites {
            let first = made.nodes.len() as u32;
            for (i, &function) in stack.iter().enumerate() {
                let depth = (stack.len() - i) as u64;
                made.nodes.push(Node { ip: function * 16 + 1, cfa: 10_000 - depth * 100, function, parent: 0 });
            }
            let sp = 10_000 - stack.len() as u64 * 100 - 50;
            made.sites.push(Site { sp, stack: (first..made.nodes.len() as u32).collect() });
        }
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Functions of the C library are those from 100 on.
    #[test]
    fn the_calls_that_start_main_are_removed_and_not_those_within_it() {
        for (stack, kept) in [
            (&[1, 101, 100, 2][..], &[1][..]), // _start is 2
            (&[110, 1, 101, 100, 2], &[110, 1]),
            (&[3, 111, 110, 1, 101, 100, 2], &[3, 111, 110, 1]),
            (&[110, 4, 102], &[110, 4]), // a thread
            (&[110, 109, 101, 100, 2], &[]),
            (&[5, 4], &[5, 4]),
        ] {
            let mut recording = Recording::of(&[stack]);
            let path = "/lib/libc.so.6".to_owned();
            recording.mappings.push(Mapping { start: 1600, end: 3200, offset: 0, path });
            recording.trim_stacks();
            let functions = recording.sites[1].stack.iter().map(|&n| recording.nodes[n as usize].function);
            assert_eq!(functions.collect::<Vec<_>>(), kept, "{stack:?}");
        }
    }
}
