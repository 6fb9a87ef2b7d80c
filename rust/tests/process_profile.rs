//! Effects of TOFT_METERED, TOFT_SAMPLING, TOFT_BUDGET, TOFT_PROFILE and TOFT_PROFILE_SIGNAL, each in its own process.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "full")]
#![cfg(all(feature = "std", unix, not(miri)))] // it starts programs
#![allow(clippy::undocumented_unsafe_blocks)] // calls of C functions without contracts

use std::ffi::c_int;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};

use serde_json::Value;
use toft::{Arena, Budget, BudgetOptions, Finding, Frames, Leases};

/// Selects the action of the child process.
const DEED: &str = "TEST_DEED";

const USR2: c_int = if cfg!(target_os = "linux") { 12 } else { 31 };

unsafe extern "C" {
    fn raise(number: c_int) -> c_int;
    fn signal(number: c_int, handler: extern "C" fn(c_int)) -> usize;
}

static HANDLED: AtomicI32 = AtomicI32::new(0);

extern "C" fn handle(number: c_int) {
    HANDLED.store(number, Ordering::Relaxed);
}

fn is_off(arena: &Arena) -> bool {
    let _tag = arena.tag("tag");
    arena.alloc(1u64);
    let report = arena.report();
    report.tags.is_empty() && report.sites.is_empty() && arena.findings().is_empty()
}

fn is_metered(arena: &Arena) {
    let _tag = arena.tag("tag");
    arena.alloc(1u64);
    assert_eq!(arena.report().tags[1].live, 8);
}

fn profile() -> PathBuf {
    std::env::var_os("TOFT_PROFILE").unwrap().into()
}

fn wait_for(path: &Path) -> Value {
    loop {
        if let Ok(text) = fs::read(path) {
            return serde_json::from_slice(&text).unwrap();
        }
        std::thread::yield_now();
    }
}

/// Not a test: the actions of a child process.
#[test]
fn child() {
    match std::env::var(DEED).as_deref() {
        Ok("off") => assert!((0..3).all(|_| is_off(&Arena::new()))),
        Ok("metered") => metered(),
        Ok("sampled") => sampled(),
        Ok("budget") => budget(),
        Ok("exit") => exit(),
        Ok("sites") => sites(),
        Ok("threads") => threads(),
        Ok("signal") => signals(),
        Ok("own handler") => own_handler(),
        _ => {}
    }
}

fn metered() {
    let leases = Leases::new();
    for _ in 0..3 {
        is_metered(&Arena::new());
        is_metered(&leases.get());
        is_metered(&toft::Options::new().reserve(100_000).create().unwrap());
        is_metered(Frames::new().here());
        Arena::new().scope(is_metered);
    }
    let arena = Arena::new();
    arena.set_metered(false).unwrap(); // the program's call overrides the environment
    let _tag = arena.tag("tag");
    arena.alloc(1u64);
    assert!(arena.report().tags.is_empty()); // it may be sampled
}

fn sampled() {
    let arena = Arena::new();
    for i in 0..100_000u64 {
        arena.alloc([i; 8]);
    }
    let count = arena.report().count();
    assert!((90_000..110_000).contains(&count), "{count}"); // 6400 samples: 1.25 %
}

fn budget() {
    let mut arena = Arena::new();
    let found = |arena: &Arena| arena.findings().len();
    arena.alloc([0u8; 10_000]);
    assert_eq!(found(&arena), 0);
    arena.alloc([0u8; 8]);
    let findings = arena.findings();
    assert!(matches!(findings[..], [Finding::OverBudget { live: 10_008, budget: 10_000, .. }]), "{findings:?}");
    arena.alloc([0u8; 50_000]);
    assert_eq!(found(&arena), 0); // once a round
    arena.reset();
    arena.alloc([0u8; 50_000]);
    assert_eq!(found(&arena), 1);
}

fn budgets() -> Value {
    let live = |limit: Option<u64>| serde_json::json!({"limit": limit, "live": 1000, "peak": 1000, "parked": 0, "refusals": 0});
    serde_json::json!([
        {"id": 1, "parent": null, "name": "a \"process\"", "limit": null, "reserved": 1000, "peak": 1000, "refusals": 0,
         "live": live(Some(5000))},
        {"id": 2, "parent": 1, "name": "", "limit": 2000, "reserved": 1000, "peak": 1000, "refusals": 0, "live": live(None)}])
}

fn exit() {
    let process = Budget::new(BudgetOptions::new().name("a \"process\"").live_limit(5000));
    let tenant = process.child(BudgetOptions::new().limit(2000));
    tenant.charge(1000).unwrap();
    #[cfg(feature = "serde")]
    assert_eq!(serde_json::to_value(tenant.report()).unwrap(), budgets());
    std::mem::forget(tenant);
    Arena::new().alloc_slice_fill(1_000_000, 0u8); // the peak
    let alive = Box::leak(Box::new(Arena::new()));
    let tag = alive.tag("alive");
    {
        let _phase = alive.phase("start");
        alive.alloc([0u8; 10_000]);
    }
    alive.alloc_slice_fill(300_000, 0u8);
    drop(tag);
    for _ in 0..100 {
        let arena = Arena::new();
        let _tag = arena.tag("alive");
        arena.alloc([0u8; 80]);
        arena.scope(|scope| {
            let _tag = scope.tag("within");
            scope.alloc([0u8; 800]);
        });
    }
    let leases = Leases::new();
    for _ in 0..100 {
        let lease = leases.get();
        let _tag = lease.tag("lease");
        let _phase = lease.phase("request");
        lease.alloc([0u8; 104]);
    }
}

fn sites() {
    for _ in 0..2 {
        let arena = Arena::new();
        let _tag = arena.tag("\"samples\"\n");
        for i in 0..50_000u64 {
            arena.alloc([i; 8]);
        }
        arena.take_report(); // the program's own reports do not affect the profile
    }
}

fn threads() {
    drop(Arena::new()); // before the first arena the signal has its default effect
    static BEGUN: AtomicUsize = AtomicUsize::new(0);
    static ENDS: AtomicBool = AtomicBool::new(false);
    let threads = [0; 2].map(|_| {
        std::thread::spawn(|| {
            let arena = Box::leak(Box::new(Arena::new()));
            let round = || {
                let _tag = arena.tag("thread");
                arena.scope(|scope| (0..100u64).for_each(|i| _ = scope.alloc([i; 60])));
            };
            round();
            BEGUN.fetch_add(1, Ordering::Relaxed);
            while !ENDS.load(Ordering::Relaxed) {
                round();
            }
            (0..100u64).for_each(|i| _ = arena.alloc([i; 125]));
        })
    });
    while BEGUN.load(Ordering::Relaxed) < 2 {
        std::thread::yield_now();
    }
    for _ in 0..20 {
        unsafe { raise(USR2) };
        wait_for(&profile());
        fs::remove_file(profile()).unwrap();
    }
    ENDS.store(true, Ordering::Relaxed);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

fn signals() {
    let arena = Arena::new();
    arena.alloc_slice_fill(100_000, 0u8);
    for _ in 0..3 {
        unsafe { raise(USR2) }; // no call on an arena follows
        let profile_then = wait_for(&profile());
        assert_eq!(
            (&profile_then["stats"]["live"], &profile_then["process"]["signal"]),
            (&100_000.into(), &USR2.into())
        );
        fs::remove_file(profile()).unwrap();
    }
}

fn own_handler() {
    unsafe { signal(USR2, handle) };
    drop(Arena::new());
    unsafe { raise(USR2) };
    assert_eq!(HANDLED.load(Ordering::Relaxed), USR2);
    assert!(!profile().exists());
}

fn run(deed: &str, variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--nocapture"]).env(DEED, deed).envs(variables.iter().copied());
    let done = command.output().unwrap();
    assert!(done.status.success(), "{deed} {variables:?}: {done:?}");
    done
}

/// An empty folder, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("toft_profile_{name}_{}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Folder(path)
    }

    fn profile(&self) -> String {
        self.0.join("profile").to_str().unwrap().into()
    }

    /// The profile that the child process writes.
    fn run(&self, deed: &str, variables: &[(&str, &str)]) -> Value {
        let _ = fs::remove_file(self.profile());
        run(deed, &[&[("TOFT_PROFILE", self.profile().as_str())], variables].concat());
        serde_json::from_slice(&fs::read(self.profile()).unwrap()).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn tag<'a>(profile: &'a Value, name: &str) -> &'a Value {
    profile["tags"].as_array().unwrap().iter().find(|tag| tag["name"] == name).unwrap()
}

#[test]
fn values_that_are_off() {
    run("off", &[("TOFT_PROFILE_SIGNAL", "USR1")]);
    run("off", &[("TOFT_METERED", ""), ("TOFT_SAMPLING", ""), ("TOFT_BUDGET", ""), ("TOFT_PROFILE", "")]);
    run("off", &[("TOFT_METERED", "0"), ("TOFT_SAMPLING", "0"), ("TOFT_BUDGET", "0")]);
    run("off", &[("TOFT_METERED", "Off"), ("TOFT_SAMPLING", "K"), ("TOFT_BUDGET", "-1")]);
}

#[test]
fn every_arena_is_metered() {
    run("metered", &[("TOFT_METERED", "1")]);
    run("metered", &[("TOFT_METERED", "yes"), ("TOFT_SAMPLING", "64"), ("TOFT_BUDGET", "1M")]);
    let folder = Folder::new("metered");
    let profile = folder.run("metered", &[("TOFT_METERED", "1")]);
    assert_eq!(tag(&profile, "tag")["allocated"], 3 * 5 * 8);
}

#[test]
fn every_arena_is_sampled() {
    run("sampled", &[("TOFT_SAMPLING", "1000")]);
    run("sampled", &[("TOFT_SAMPLING", "1k")]);
}

#[test]
fn the_budget_of_the_environment_is_soft() {
    let done = run("budget", &[("TOFT_BUDGET", "10000")]);
    let text = String::from_utf8(done.stderr).unwrap();
    let found: Vec<&str> = text.lines().filter(|line| line.starts_with("toft: ")).collect();
    assert_eq!(found.len(), 2, "{text}");
    assert!(found[0].starts_with("toft: over budget: 10008 bytes of a soft budget of 10000; "), "{text}");
    assert!(found[0].contains("process_profile.rs:"), "{text}");
}

#[test]
fn the_profile_at_exit() {
    let folder = Folder::new("exit");
    let profile = folder.run("exit", &[("TOFT_METERED", "1")]);
    assert_eq!((&profile["version"], &profile["process"]["library"]), (&1.into(), &"toft-rust".into()));
    assert_eq!((&profile["process"]["arenas"], &profile["process"]["released"]), (&1.into(), &201.into()));
    assert_eq!(profile["process"]["sampling"], Value::Null);
    let stats = &profile["stats"];
    assert_eq!(stats["live"], 310_000);
    assert_eq!(stats["allocated"], 1_310_000 + 100 * (80 + 800 + 104));
    assert_eq!((&stats["peak"], &stats["budget"]), (&1_000_000.into(), &Value::Null));
    let bytes =
        |name| (tag(&profile, name)["live"].as_u64().unwrap(), tag(&profile, name)["allocated"].as_u64().unwrap());
    assert_eq!(bytes("alive"), (310_000, 310_000 + 8000));
    assert_eq!(bytes("alive/within"), (0, 80_000));
    assert_eq!(bytes("lease"), (0, 10_400));
    assert_eq!(bytes(""), (0, 1_000_000));
    let phases = profile["phases"].as_array().unwrap();
    assert_eq!(phases[0], serde_json::json!({"name": "start", "entries": 1, "allocated": 10_000, "kept": 10_000}));
    assert_eq!(phases[1], serde_json::json!({"name": "request", "entries": 100, "allocated": 10_400, "kept": 10_400}));
    assert_eq!(profile["sites"], Value::Array(Vec::new()));
    assert_eq!(profile["budgets"], budgets());
    assert_eq!(fs::metadata(folder.profile()).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1);
}

#[test]
fn samples_of_released_arenas_stay() {
    let folder = Folder::new("sites");
    let profile = folder.run("sites", &[("TOFT_METERED", "1"), ("TOFT_SAMPLING", "1000")]);
    let site = &profile["sites"][0];
    assert!(site["site"]["file"].as_str().unwrap().ends_with("process_profile.rs"), "{profile}");
    assert_eq!(site["tag"], "\"samples\"\n");
    let (count, bytes) = (site["count"].as_u64().unwrap(), site["bytes"].as_u64().unwrap());
    assert!((90_000..110_000).contains(&count) && bytes.abs_diff(64 * count) < 100, "{profile}");
}

#[test]
fn placeholders_in_the_file_name() {
    let folder = Folder::new("name");
    let pattern = folder.0.join("%p.%l.%x");
    run("exit", &[("TOFT_PROFILE", pattern.to_str().unwrap())]);
    let names: Vec<_> = fs::read_dir(&folder.0).unwrap().map(|entry| entry.unwrap()).collect();
    assert_eq!(names.len(), 1);
    let profile: Value = serde_json::from_slice(&fs::read(names[0].path()).unwrap()).unwrap();
    assert_eq!(names[0].file_name().into_string().unwrap(), format!("{}.rust.%x", profile["process"]["id"]));
    // A link is replaced, not followed; a file that cannot be written changes nothing.
    let target = folder.0.join("target");
    std::os::unix::fs::symlink(&target, folder.profile()).unwrap();
    folder.run("exit", &[]);
    assert!(!target.exists());
    run("exit", &[("TOFT_PROFILE", "/no/such/folder/profile")]);
}

#[test]
fn threads_run_during_a_profile() {
    let folder = Folder::new("threads");
    let variables = [("TOFT_METERED", "1"), ("TOFT_SAMPLING", "10000"), ("TOFT_PROFILE_SIGNAL", "USR2")];
    let profile = folder.run("threads", &variables);
    // Two arenas, each of 100000 bytes, of which at most 16 KiB are not counted yet.
    let live = profile["stats"]["live"].as_u64().unwrap();
    assert!((2 * (100_000 - 16_384)..=200_000).contains(&live), "{profile}");
    assert!(tag(&profile, "thread")["allocated"].as_u64() >= Some(2 * 48_000));
}

#[test]
fn a_signal_requests_a_profile() {
    let folder = Folder::new("signal");
    for name in ["USR2", &USR2.to_string()] {
        let profile = folder.run("signal", &[("TOFT_PROFILE_SIGNAL", name)]);
        assert_eq!(profile["stats"]["live"], 0);
    }
}

#[test]
fn a_signal_handler_of_the_program_is_kept() {
    let folder = Folder::new("handler");
    let profile = folder.run("own handler", &[("TOFT_PROFILE_SIGNAL", "USR2")]);
    assert_eq!(profile["process"]["signal"], Value::Null);
}
