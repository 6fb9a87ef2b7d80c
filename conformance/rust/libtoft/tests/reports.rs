//! The same calls on an arena of C and on one of Rust give the same bytes by tag and phase, and snapshots of the same
//! shape. With TOFT_SNAPSHOTS set to a folder, the snapshots are written there for abi/check-snapshot, which validates
//! them.
// SPDX-License-Identifier: MIT OR Apache-2.0

use std::ffi::CString;
use std::ptr::NonNull;

use conformance_libtoft::*;
use serde_json::{json, Value};
use toft::abi::{self, Head};
use toft::{Arena, Frames};

const PHASES: [&std::ffi::CStr; 2] = [c"load", c"draw"];
const NAMES: [&str; 8] = ["world", "sound", "/world", "/ai/path", "/", "", "a \"b\"\n\u{1F40D}", "level 1"];

fn keep(name: &str, text: &str) {
    if let Some(folder) = std::env::var_os("TOFT_SNAPSHOTS") {
        std::fs::write(std::path::Path::new(&folder).join(format!("{name}.json")), text).unwrap();
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }

    fn size(&mut self) -> usize {
        match self.below(12) {
            0 => 0,
            1 => self.below(9000) as usize,
            2 => self.below(70_000) as usize,
            3 => 262_144 + self.below(500_000) as usize,
            _ => self.below(200) as usize,
        }
    }
}

/// An arena of either provider, with its open scopes and marks.
struct Side<'a> {
    arena: &'a Arena,
    in_rust: bool,
    tags: Vec<Option<toft::Tag<'a>>>,
    phases: Vec<(Option<toft::Phase<'a>>, Option<Phase>)>,
    newest: Option<(NonNull<u8>, usize)>,
    large: Vec<(NonNull<u8>, usize)>,
    marks: Vec<abi::Mark>,
}

impl<'a> Side<'a> {
    fn new(arena: &'a Arena, in_rust: bool) -> Side<'a> {
        let (tags, phases, large, marks) = (vec![], vec![], vec![], vec![]);
        Side { arena, in_rust, tags, phases, newest: None, large, marks }
    }

    fn head(&self) -> NonNull<Head> {
        self.arena.as_raw()
    }

    fn report(&self, clear: bool) -> Value {
        let text = match (self.in_rust, clear) {
            (true, false) => serde_json::to_string(&self.arena.report()).unwrap(),
            (true, true) => serde_json::to_string(&self.arena.take_report()).unwrap(),
            (false, clear) => snapshot_in_c(self.arena, clear as u32),
        };
        keep(if self.in_rust { "rust" } else { "c" }, &text);
        serde_json::from_str(&text).unwrap()
    }

    /// One step of a script, which runs on both sides.
    fn step(&mut self, random: &mut Random) {
        match random.below(100) {
            which @ 0..58 => self.allocate(which, random),
            which @ 58..83 => self.name(which, random),
            which @ 83..92 => self.mark_or_rewind(which),
            92..94 => self.claim(random),
            94..96 => {
                let head = self.head();
                // SAFETY: a live arena.
                let _ = unsafe { ((*(*head.as_ptr()).ops.get()).cleanup)(head.as_ptr(), None, std::ptr::null_mut()) };
                self.newest = None;
            }
            96..98 => self.set_tag_budget(random),
            _ => {
                let head = self.head();
                // SAFETY: a live arena, whose marks and allocations are not used again.
                let code = unsafe { ((*(*head.as_ptr()).ops.get()).reset)(head.as_ptr(), abi::KEEP_RECENT, 0) };
                assert_eq!(code, abi::OK);
                self.marks.clear();
                self.forget();
            }
        }
    }

    fn forget(&mut self) {
        self.newest = None;
        self.large.clear();
    }

    /// Allocates, frees or resizes.
    fn allocate(&mut self, which: u64, random: &mut Random) {
        let head = self.head();
        // SAFETY: a live arena, and allocations of it.
        unsafe {
            match which {
                0..45 => {
                    let (size, align) = (random.size(), 1 << random.below(7));
                    let p = abi::alloc_aligned(head, size, align);
                    self.newest = p.map(|p| (p, size)).filter(|_| size != 0);
                    if let Some(p) = p.filter(|_| size >= 262_144) {
                        self.large.push((p, size));
                    }
                }
                45..50 => {
                    if let Some((p, size)) = self.newest.take() {
                        self.large.retain(|large| large.0 != p);
                        abi::free(head, p.as_ptr(), size);
                    }
                }
                50..55 => {
                    let size = 1 + random.size();
                    if let Some((p, old)) = self.newest.take() {
                        self.large.retain(|large| large.0 != p);
                        self.newest = abi::resize(head, p.as_ptr(), old, size, 8).map(|p| (p, size)).or(Some((p, old)));
                    }
                }
                _ => {
                    // It need not be the newest allocation, but is in the newest block.
                    if let Some((p, size)) = self.large.pop() {
                        abi::free(head, p.as_ptr(), size);
                        self.newest = self.newest.filter(|newest| newest.0 != p);
                    }
                }
            }
        }
    }

    /// Begins or ends a tag or a phase.
    fn name(&mut self, which: u64, random: &mut Random) {
        let head = self.head().as_ptr();
        match which {
            58..70 if self.tags.len() < 4 => {
                let name = NAMES[random.below(NAMES.len() as u64) as usize];
                let guard = self.in_rust.then(|| self.arena.tag(name));
                if !self.in_rust {
                    let name = CString::new(name).unwrap();
                    // SAFETY: a live arena, and a NUL-terminated name.
                    assert_eq!(unsafe { toft_tag_push_slow(head, name.as_ptr()) }, abi::OK);
                }
                self.tags.push(guard);
            }
            58..76 => {
                if let Some(None) = self.tags.pop() {
                    // SAFETY: a live arena.
                    unsafe { toft_tag_pop_slow(head) };
                }
            }
            76..80 if self.phases.len() < 3 => {
                let name = PHASES[random.below(2) as usize];
                self.phases.push(if self.in_rust {
                    (Some(self.arena.phase(name.to_str().unwrap())), None)
                } else {
                    // SAFETY: a live arena, and a NUL-terminated name.
                    (None, Some(unsafe { toft_phase_begin_slow(head, name.as_ptr()) }))
                });
            }
            _ => {
                if let Some((_, Some(mut phase))) = self.phases.pop() {
                    // SAFETY: a live arena, and a phase of it.
                    unsafe { toft_phase_end_slow(head, &mut phase) };
                }
            }
        }
    }

    fn mark_or_rewind(&mut self, which: u64) {
        // SAFETY: a live arena, and a mark of it that was not rewound.
        unsafe {
            if which < 88 {
                self.marks.push(abi::mark(self.head()));
            } else if let Some(mark) = self.marks.pop() {
                assert_eq!(abi::rewind(self.head(), mark), abi::OK);
            } else {
                return;
            }
        }
        self.forget();
    }

    fn claim(&mut self, random: &mut Random) {
        let head = self.head();
        let mut range = abi::Range::EMPTY;
        self.newest = None;
        // SAFETY: a live arena, and a range of it.
        unsafe {
            let ops = &*(*head.as_ptr()).ops.get();
            if (ops.claim)(head.as_ptr(), &mut range, random.size(), 8).is_null() {
                return; // over the budget
            }
            let room = range.limit.addr() - range.cursor.addr();
            range.cursor = range.cursor.add(room.min(random.below(3000) as usize));
            let _ = abi::alloc(head, random.size()); // beside the claimed range
            assert_eq!((ops.give)(head.as_ptr(), &mut range), abi::OK);
        }
    }

    fn set_tag_budget(&mut self, random: &mut Random) {
        let path = [c"world", c"world/sound", c"ai/path"][random.below(3) as usize];
        let bytes = (random.below(2) == 0).then(|| 1_000_000 + random.below(1_000_000));
        if self.in_rust {
            self.arena.set_tag_budget(path.to_str().unwrap(), bytes).unwrap();
        } else {
            let bytes = bytes.unwrap_or(u64::MAX);
            // SAFETY: a live arena, and a NUL-terminated path.
            assert_eq!(unsafe { toft_set_tag_budget(self.head().as_ptr(), path.as_ptr(), bytes) }, abi::OK);
        }
    }
}

#[test]
fn both_providers_count_the_same() {
    for seed in 1..60u64 {
        let arenas = [Arena::new(), created_in_c()];
        arenas[0].set_metered(true).unwrap();
        // SAFETY: a live arena.
        assert_eq!(unsafe { toft_set_metered(arenas[1].as_raw().as_ptr(), 1) }, abi::OK);
        let [mut rust, mut c] = [Side::new(&arenas[0], true), Side::new(&arenas[1], false)];
        let mut script = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        for step in 0..400 {
            let turn = script.below(u64::MAX >> 12) | 1;
            rust.step(&mut Random(turn));
            c.step(&mut Random(turn));
            if script.below(10) == 0 {
                let clear = script.below(4) == 0;
                let (in_rust, in_c) = (rust.report(clear), c.report(clear));
                for what in ["version", "tags", "phases"] {
                    assert_eq!(in_rust[what], in_c[what], "seed {seed}, step {step}: {what}");
                }
                for what in ["live", "allocated", "budget", "reserved", "blocks"] {
                    assert_eq!(in_rust["stats"][what], in_c["stats"][what], "seed {seed}, step {step}: {what}");
                }
            }
        }
        rust.tags.drain(..).rev().for_each(drop);
        rust.phases.clear();
        drop(rust);
    }
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().map_or(vec![], |object| object.keys().map(String::as_str).collect())
}

#[test]
fn both_snapshots_have_the_same_members() {
    let arenas = [Arena::new(), created_in_c()];
    // SAFETY: a live arena.
    assert_eq!(unsafe { toft_set_metered(arenas[1].as_raw().as_ptr(), 1) }, abi::OK);
    arenas[0].set_metered(true).unwrap();
    let texts = arenas.each_ref().map(|arena| {
        arena.set_sampling(64).unwrap();
        for i in 0..10_000u64 {
            arena.alloc(i);
        }
        let of_rust = arena.report().sites.len() == 1;
        if of_rust {
            serde_json::to_string(&arena.report()).unwrap()
        } else {
            keep("c-dwarf", &snapshot_in_c(arena, 2));
            snapshot_in_c(arena, 0)
        }
    });
    keep("rust-sampled", &texts[0]);
    keep("c-sampled", &texts[1]);
    let [rust, mut c] = texts.map(|text| serde_json::from_str::<Value>(&text).unwrap());
    // Sites of Rust have no addresses, which the modules are for.
    let modules = c.as_object_mut().unwrap().remove("modules");
    assert_eq!(modules.is_some_and(|modules| modules[0]["build_id"].is_string()), cfg!(target_os = "linux"));
    assert_eq!(keys(&rust), keys(&c));
    assert_eq!(keys(&rust["stats"]), keys(&c["stats"]));
    assert_eq!(rust["tags"], c["tags"]);
    assert_eq!(keys(&rust["sites"][0]["site"]), keys(&c["sites"][0]["site"]));
    let stack = c["sites"][0]["stack"].as_array().unwrap();
    assert!(!stack.is_empty() && stack[0]["address"].as_str().unwrap().starts_with("0x"));
    for parsed in [&rust, &c] {
        let count: u64 = parsed["sites"].as_array().unwrap().iter().map(|site| site["count"].as_u64().unwrap()).sum();
        assert!((7_000..13_000).contains(&count), "{count}");
    }
}

#[test]
fn a_snapshot_of_frames_has_the_last_report() {
    let mut frames = Frames::new();
    frames.set_metered(true).unwrap();
    frames.set_checked(true).unwrap();
    for _ in 0..2 {
        let arena = frames.here();
        let _phase = arena.phase("load");
        let _tag = arena.tag("tag");
        arena.alloc(String::from("lost"));
        drop((_tag, _phase));
        frames.advance();
    }
    let text = serde_json::to_string(&frames.snapshot()).unwrap();
    keep("rust-frames", &text);
    let parsed: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(parsed["last"]["report"]["version"], json!(1));
}

/// Not a test: with TOFT_PROFILE set, the process whose profiles the next test reads.
#[test]
fn profiled_process() {
    if std::env::var_os("TOFT_PROFILE").is_none() {
        return;
    }
    for seed in 1..20u64 {
        let arenas = [Arena::new(), created_in_c()];
        let [mut rust, mut c] = [Side::new(&arenas[0], true), Side::new(&arenas[1], false)];
        let mut script = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        for _ in 0..400 {
            let turn = script.below(u64::MAX >> 12) | 1;
            rust.step(&mut Random(turn));
            c.step(&mut Random(turn));
        }
        rust.tags.drain(..).rev().for_each(drop);
        rust.phases.drain(..).for_each(drop);
        for mut phase in c.phases.drain(..).filter_map(|(_, phase)| phase) {
            // SAFETY: a live arena.
            unsafe { toft_phase_end_slow(arenas[1].as_raw().as_ptr(), &mut phase) };
        }
        drop(rust);
    }
}

/// The profiles of such a process as text, that of C first.
fn profiles(variables: &[(&str, &str)]) -> [String; 2] {
    let folder = std::env::temp_dir().join(format!("toft_profiles_{}_{}", std::process::id(), variables.len()));
    std::fs::create_dir(&folder).unwrap();
    let status = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "profiled_process"])
        .env_remove("TOFT_SNAPSHOTS")
        .env("TOFT_PROFILE", folder.join("%l"))
        .envs(variables.iter().copied())
        .status();
    assert!(status.unwrap().success());
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort(); // order: c-number, rust
    let texts = files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect::<Vec<_>>();
    std::fs::remove_dir_all(&folder).unwrap();
    texts.try_into().unwrap()
}

/// Both libraries meter all of their arenas, and sum them in the same way.
#[test]
fn profiles_of_a_process_agree() {
    let [in_c, in_rust] = profiles(&[("TOFT_METERED", "1")]).map(|text| serde_json::from_str::<Value>(&text).unwrap());
    assert_eq!(keys(&in_c), keys(&in_rust));
    assert_eq!((&in_c["process"]["library"], &in_rust["process"]["library"]), (&"toft-c".into(), &"toft-rust".into()));
    assert_eq!((&in_c["process"]["arenas"], &in_c["process"]["released"]), (&0.into(), &19.into()));
    for member in keys(&in_c["process"]).into_iter().filter(|member| *member != "library") {
        assert_eq!(in_c["process"][member], in_rust["process"][member], "{member}");
    }
    for member in ["live", "allocated", "reserved", "blocks", "wasted"] {
        assert_eq!(in_c["stats"][member], in_rust["stats"][member], "{member}");
    }
    for list in ["tags", "phases"] {
        let [mut c, mut rust] = [&in_c, &in_rust].map(|profile| profile[list].as_array().unwrap().clone());
        assert!(c.len() == rust.len() && c.len() >= 2, "{list}");
        c.retain(|item| !rust.contains(item));
        rust.retain(|item| !in_c[list].as_array().unwrap().contains(item));
        assert_eq!((c, rust), (vec![], vec![]), "{list}");
    }
}

#[test]
fn sampled_profiles_have_sites() {
    let [c, rust] = profiles(&[("TOFT_METERED", "1"), ("TOFT_SAMPLING", "10000")]);
    keep("c-profile", &c);
    keep("rust-profile", &rust);
    for text in [c, rust] {
        let profile: Value = serde_json::from_str(&text).unwrap();
        assert!(profile["sites"][0]["count"].as_u64() > Some(0));
        assert_eq!(profile["process"]["sampling"], 10_000);
    }
}
