//! Programs end under the recorder and the trials of `toft advise` as they end without them, or get a reason why there is no
//! advice.
// SPDX-License-Identifier: MIT OR Apache-2.0

use crate::{is_given, is_installed, unavailable, Folder, TOFT};
use std::{
    net::TcpListener,
    os::unix::{
        fs::PermissionsExt,
        process::{CommandExt, ExitStatusExt},
    },
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Output, Stdio},
    time::Duration,
};

impl Folder {
    /// Runs a program under the recorder alone. Returns its output, and of the recording with most segments the reason
    /// why it is partial and the number of lost events.
    fn record(&self, program: &Path, arguments: &[&str]) -> (Output, u32, u64) {
        let (library, recordings) = (self.0.path().join("recorder.so"), self.0.path().join("recordings"));
        if !library.exists() {
            assert!(Command::new(TOFT).args(["library", "recorder"]).arg(&library).status().unwrap().success());
        }
        let _ = std::fs::remove_dir_all(&recordings);
        std::fs::create_dir(&recordings).unwrap();
        let mut total = vec![0; 4096];
        total[8..16].copy_from_slice(&(1u64 << 14).to_ne_bytes());
        std::fs::write(recordings.join("total"), total).unwrap();
        let mut command = Command::new(program);
        command.args(arguments).env("LD_PRELOAD", library).env("TOFT_RECORDING", &recordings);
        let done = command.output().unwrap();
        let files = std::fs::read_dir(recordings).unwrap().map(|e| std::fs::read(e.unwrap().path()).unwrap());
        let bytes = files.filter(|b| b.starts_with(b"TOFTREC1")).max_by_key(Vec::len).expect("there is a recording");
        let reason = u32::from_ne_bytes(bytes[56..60].try_into().unwrap());
        (done, reason, u64::from_ne_bytes(bytes[64..72].try_into().unwrap()))
    }

    /// The file of a trial of all objects of the program, in a mode of trial.h.
    fn trial(&self, mode: u32) -> PathBuf {
        let path = self.0.path().join("trial");
        let mut head = vec![0; 4096];
        head[..8].copy_from_slice(b"TOFTTRL1");
        head[8..12].copy_from_slice(&mode.to_ne_bytes());
        std::fs::write(&path, head).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o666)).unwrap();
        path
    }

    /// Runs a program with its objects in arenas. Returns its output, and the number of objects in arenas.
    fn try_arenas(&self, program: &Path, arguments: &[&str]) -> (Output, u64) {
        self.run_trial(6, program, arguments)
    }

    fn run_trial(&self, mode: u32, program: &Path, arguments: &[&str]) -> (Output, u64) {
        let (library, file) = (self.0.path().join("trial.so"), self.trial(mode));
        if !library.exists() {
            assert!(Command::new(TOFT).args(["library", "trial"]).arg(&library).status().unwrap().success());
        }
        let mut command = Command::new(program);
        command.args(arguments).env("LD_PRELOAD", library).env("TOFT_TRIAL", &file);
        let done = command.output().unwrap();
        let bytes = std::fs::read(file).unwrap();
        (done, u64::from_ne_bytes(bytes[24..32].try_into().unwrap()))
    }

    /// Requires that a program ends well and prints the same with and without the recorder, which loses nothing, and with its
    /// objects in arenas.
    fn is_undisturbed(&self, program: &Path, arguments: &[&str]) {
        self.is_recorded(program, arguments);
        let plain = Command::new(program).args(arguments).output().unwrap();
        let (tried, routed) = self.try_arenas(program, arguments);
        assert_eq!(shown(&tried), shown(&plain), "{program:?} {arguments:?} in arenas");
        assert_eq!(tried.status, plain.status, "{program:?} {arguments:?} in arenas");
        assert!(routed > 0 || arguments.contains(&"strict"), "{program:?} {arguments:?}");
    }

    /// Requires the same of the recorder alone.
    fn is_recorded(&self, program: &Path, arguments: &[&str]) {
        let plain = Command::new(program).args(arguments).output().unwrap();
        assert!(plain.status.success(), "{program:?} {arguments:?} alone: {plain:?}");
        let (recorded, reason, lost) = self.record(program, arguments);
        assert_eq!(shown(&recorded), shown(&plain), "{program:?} {arguments:?}");
        assert_eq!((recorded.status, reason, lost), (plain.status, 0, 0), "{program:?} {arguments:?}");
    }

    /// The exit status and the output of `toft advise`.
    fn advised(&self, program: &Path, arguments: &[&str]) -> (ExitStatus, String) {
        self.advised_with(&[], program, arguments)
    }

    fn advised_with(&self, options: &[&str], program: &Path, arguments: &[&str]) -> (ExitStatus, String) {
        let (done, _) = self.advise(options, program, arguments);
        (done.status, format!("{}{}", shown(&done), String::from_utf8_lossy(&done.stderr)))
    }

    fn refused(&self, program: &Path, arguments: &[&str]) -> String {
        let (status, said) = self.advised(program, arguments);
        assert_eq!(status.code(), Some(1), "{said}");
        said
    }
}

fn shown(done: &Output) -> String {
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// The family of malloc of each library is closed: pointers of one malloc do not reach functions of another.
#[test]
fn stacks_are_unwound_without_files() {
    let folder = Folder::new();
    folder.is_undisturbed(&folder.compile("trials.c", "trials", &["-g"]), &["depths"]);
}

#[test]
fn the_control_counts_the_objects_of_the_arena() {
    let folder = Folder::new();
    let program = folder.compile("many.c", "many", &["-g"]);
    for arguments in [["0", ""], ["1", ""], ["1000", ""], ["1000", "kept"]] {
        let routed = [5, 6].map(|mode| folder.run_trial(mode, &program, &arguments).1);
        let number: u64 = arguments[0].parse().unwrap();
        assert_eq!(routed, [number; 2], "{arguments:?}");
    }
}

#[test]
fn a_program_on_another_malloc_is_recorded_on_it() {
    let folder = Folder::new();
    let flags = ["-std=c++17", "-fno-builtin", "-ldl"];
    let program = folder.compile("foreign.cpp", "glibc", &flags);
    folder.is_undisturbed(&program, &[]);
    let program = folder.compile("mallocs.c", "mallocs", &[]);
    folder.is_undisturbed(&program, &["thread"]);
    let libraries = [
        ("libjemalloc.so.2", "-DJEMALLOC", "allocx", "-DCLASSES"),
        ("libtcmalloc_minimal.so.4", "-DTCMALLOC", "tc_", "-DCLASSES"),
        ("libmimalloc.so.2", "-DMIMALLOC", "mi_", "-DMEEK"), // compiled as C, it cannot throw
    ];
    for (library, define, own, kind) in libraries {
        if !is_installed(library) {
            continue;
        }
        let linked = format!("-Wl,--no-as-needed,-l:{library}");
        let program = folder.compile("foreign.cpp", "own", &[&flags[..], &[&linked, kind, define]].concat());
        folder.is_recorded(&program, &[]); // advise refuses it, so that it is not tried
        let said = folder.refused(&program, &[]);
        assert!(said.contains(own) && said.contains(library), "{said}");
        let program = folder.compile("foreign.cpp", "standard", &[&flags[..], &[&linked, kind]].concat());
        folder.is_recorded(&program, &[]);
        let (tried, routed) = folder.try_arenas(&program, &[]); // it prints usable sizes, which differ
        assert!(tried.status.success() && routed > 0, "{tried:?}");
        let (done, advice) = folder.advise(&[], &program, &[]);
        let said = shown(&done);
        assert!(is_given(done.status) && said.contains("malloc is that of") && said.contains(library), "{said}");
        // Of 11 sizes in 20 rounds. The operators of C++ are in the recording: they do not call malloc here.
        let sites = advice["sites"].as_array().unwrap().iter();
        assert_eq!(sites.filter(|s| s["count"] == 220).count(), 18, "{advice:#}");
    }
}

/// The library of C++ is not in the program's global scope.
#[test]
fn a_plug_in_in_another_language_finds_its_operators() {
    let folder = Folder::new();
    let host = folder.compile("host.c", "host", &["-ldl"]);
    for (name, flags) in [("shared.so", "-shared-libgcc"), ("static.so", "-static-libstdc++")] {
        let plugin = folder.compile("plugin.cpp", name, &["-shared", "-fPIC", flags]);
        folder.is_undisturbed(&host, &[plugin.to_str().unwrap()]);
    }
    if cfg!(target_arch = "x86_64") {
        let [one, other] = ["-DFRAME", "-UFRAME"].map(|flag| folder.compile("reloaded.c", flag, &["-shared", flag]));
        folder.is_undisturbed(&host, &[one.to_str().unwrap(), other.to_str().unwrap()]);
    }
}

#[test]
fn small_stacks_are_large_enough() {
    let folder = Folder::new();
    let program = folder.compile("stacks.c", "stacks", &[]);
    for stack in ["threads", "8192", "4096"] {
        folder.is_undisturbed(&program, &[stack]);
    }
}

/// With assertions the recorder unwinds each new stack by libgcc too.
#[test]
fn stacks_are_those_of_libgcc() {
    let folder = Folder::new();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/recorder/recorder.c");
    let flags = "-shared -fPIC -O2 -w -fno-omit-frame-pointer -fexceptions -static-libgcc -DTOFT_ASSERTIONS";
    let mut command = Command::new("cc");
    command
        .args(flags.split(' '))
        .arg("-o")
        .arg(folder.0.path().join("recorder.so"))
        .args([source, "-ldl", "-pthread"]);
    assert!(command.status().unwrap().success());
    for flags in [&["-O2"][..], &["-O0", "-fno-omit-frame-pointer"]] {
        folder.is_undisturbed(&folder.compile("frames.c", "frames", flags), &[]);
    }
    let plugin = folder.compile("plugin.cpp", "plugin.so", &["-shared", "-fPIC", "-O2"]);
    folder.is_recorded(&folder.compile("host.c", "host", &["-ldl"]), &[plugin.to_str().unwrap()]);
    folder.is_recorded(&folder.compile("stacks.c", "stacks", &[]), &["8192"]);
}

#[test]
fn no_system_call_is_made_in_a_sandbox() {
    let folder = Folder::new();
    let program = folder.compile("sandbox.c", "sandbox", &[]);
    if Command::new(&program).args(["open", "prctl", "0"]).output().unwrap().status.code() == Some(77) {
        return unavailable("seccomp", false);
    }
    for filter in ["open", "all"] {
        for by in ["prctl", "syscall"] {
            folder.is_undisturbed(&program, &[filter, by, "1000"]);
        }
    }
    let (done, reason, lost) = folder.record(&program, &["all", "prctl", "50000"]);
    assert!(shown(&done).ends_with("ok\n") && done.status.success(), "{done:?}");
    assert_eq!(reason, 5);
    assert!((1_000_000..2_000_000).contains(&lost), "{lost}"); // of 10,000,000; 64 MiB have 8,000,000
}

#[test]
fn servers_are_recorded() {
    let folder = Folder::new();
    let program = folder.compile("servers.c", "servers", &[]);
    folder.is_undisturbed(&program, &["numbers"]);
    let (status, said) = folder.advised(&program, &["daemon"]);
    assert!(is_given(status) && said.contains("100,000"), "{said}");
    if Command::new(&program).arg("chroot").status().unwrap().code() == Some(77) {
        return unavailable("chroot, also in a namespace", false);
    }
    folder.is_undisturbed(&program, &["chroot"]);
    let (status, said) = folder.advised(&program, &["fork"]);
    assert!(is_given(status) && said.contains("100,000"), "{said}");
    assert!(said.contains("work (+0x"), "{said}");
    let said = folder.refused(&program, &["lost"]);
    assert!(said.contains("200000 events are lost") && said.contains("another root folder"), "{said}");
}

#[test]
fn there_is_no_verdict_on_a_part() {
    let folder = Folder::new();
    let program = folder.compile("servers.c", "servers", &[]);
    let said = folder.refused(&program, &["disturbed"]);
    assert!(said.contains("the recorder disturbs this program: alone it ends with exit code 0"), "{said}");
    assert!(said.contains("under the recorder by signal 11"), "{said}");
    let said = folder.refused(&program, &["crash"]);
    assert!(said.contains("the recorder disturbs this program") && said.contains("background by signal 6"), "{said}");
    let flag = folder.0.path().join("flag");
    let said = folder.refused(&program, &["unsteady", flag.to_str().unwrap()]);
    assert!(said.contains("does not end the same way each time"), "{said}");
    let said = folder.refused(&program, &["small"]);
    assert!(said.contains("lacks processes that allocate (1 of them)") && said.contains("ulimit -f"), "{said}");
    let (status, said) = folder.advised_with(&["--ready", "deaf", "--load", "true"], &program, &["deaf"]);
    assert!(status.code() == Some(1) && said.contains("does not end within 10 seconds of SIGTERM"), "{said}");
    let plain = Command::new(&program).arg("disturbed").status().unwrap();
    assert_eq!((plain.code(), plain.signal()), (Some(0), None));
}

/// Those that end in a moment. Static, set-id and killed programs are tested with the reasons of `toft advise`.
#[test]
fn hostile_programs_end_as_without_the_recorder() {
    let folder = Folder::new();
    let program = folder.compile("hostile.c", "hostile", &["-ldl"]);
    let plugin = folder.compile("hostile.c", "hostile.so", &["-shared", "-fPIC", "-ldl", "-DLIBRARY"]);
    let linked = ["-ldl", "-Wl,--no-as-needed", plugin.to_str().unwrap()];
    folder.is_undisturbed(&folder.compile("hostile.c", "linked", &linked), &["locale"]);
    for how in [
        "forks", "vforks", "closes", "stack", "jumps", "timer", "plugins", "chain", "threads", "keeps", "later",
        "crowd",
    ] {
        folder.is_undisturbed(&program, &[how, plugin.to_str().unwrap()][..1 + usize::from(how == "plugins")]);
    }
    let files = std::fs::read_dir(folder.0.path().join("recordings")).unwrap();
    assert!(files.map(|f| f.unwrap().metadata().unwrap().len()).max() < Some(5 << 20)); // of the crowd
    for how in ["twice", "newest", "resized", "within", "foreign"] {
        let plain = Command::new(&program).args(["misuse", how]).output().unwrap();
        let tried = folder.try_arenas(&program, &["misuse", how]).0;
        let recorded = folder.record(&program, &["misuse", how]).0;
        assert_eq!(plain.status.signal(), Some(libc::SIGABRT), "{how}");
        assert_eq!((tried.status, recorded.status), (plain.status, plain.status), "{how}");
    }
    if Command::new(&program).arg("strict").output().unwrap().status.success() {
        folder.is_undisturbed(&program, &["strict"]);
    } else {
        unavailable("the strict mode of seccomp", false);
    }
    let (done, reason, lost) = folder.record(&program, &["limits"]);
    assert!(shown(&done) == "ok\n" && (reason != 0 || lost == 0), "{done:?} {reason} {lost}");
    let said = folder.refused(&folder.compile("own_malloc.c", "own", &["-fno-builtin"]), &[]);
    assert!(said.contains("a malloc of its own"), "{said}");
    let grouped = folder.0.path().join("grouped");
    std::fs::copy(&program, &grouped).unwrap();
    std::fs::set_permissions(&grouped, PermissionsExt::from_mode(0o2755)).unwrap();
    assert!(folder.refused(&grouped, &["chain"]).contains("set-uid or set-gid"));
}

/// Memory that the program does not have is no reason for it to end: with a limit, and where a mapping of a library is refused.
#[test]
fn libraries_leave_memory_to_the_program() {
    let folder = Folder::new();
    let program = folder.compile("limits.c", "limits", &[]);
    for how in ["address", "data", "exec"] {
        folder.is_undisturbed(&program, &[how]);
    }
    if Command::new(&program).arg("group").output().unwrap().status.code() == Some(77) {
        unavailable("control groups of memory", false);
    } else {
        folder.is_undisturbed(&program, &["group"]);
    }
    let (status, said) = folder.advised(&program, &["address"]);
    assert!(is_given(status) && said.contains("limits or locks its memory"), "{said}");
    let refusals = folder.compile("refusals.c", "refusals.so", &["-shared", "-fPIC"]);
    let calls = (1..16).flat_map(|n| [format!("once:{n}"), format!("from:{n}")]);
    let sizes = (12..40).step_by(3).map(|bits| format!("above:{}", 1u64 << bits));
    for refused in calls.chain(sizes) {
        let run = |library: &str| {
            let preloaded = format!("LD_PRELOAD={}:{}", refusals.display(), folder.0.path().join(library).display());
            [format!("REFUSE={refused}"), preloaded, program.display().to_string(), "left".to_owned()]
        };
        let (trial, recorder) = (run("trial.so"), run("recorder.so"));
        let done = [
            folder.try_arenas(Path::new("env"), &trial.each_ref().map(String::as_str)).0,
            folder.record(Path::new("env"), &recorder.each_ref().map(String::as_str)).0,
        ];
        assert!(done.iter().all(|d| d.status.success() && shown(d) == "ok\n"), "{refused}: {done:?}");
    }
}

fn free_port() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string()
}

#[test]
fn a_server_is_loaded_and_ended() {
    let folder = Folder::new();
    let program = folder.compile("servers.c", "servers", &[]);
    let (port, path) = (&free_port(), program.display());
    let load = &format!("{path} request {port}; {path} request {port}");
    for (how, ready) in [("serve", &**port), ("serve", "is ready"), ("daemon", port)] {
        let (status, said) = folder.advised_with(&["--ready", ready, "--load", load], &program, &[how, port]);
        assert!(is_given(status) && said.contains("200,000 objects"), "{how} {ready}: {said}");
    }
    let load = &format!("kill -USR1 $TOFT_PID; {load}; kill -USR1 $TOFT_PID; {load}");
    let options = ["--ready", port, "--load", load, "--signal", "USR1"];
    let (status, said) = folder.advised_with(&options, &program, &["serve", port]);
    assert!(is_given(status) && said.contains("200,000 objects") && said.contains("whole run"), "{said}");

    let error = |options: &[&str], arguments: &[&str]| {
        let (status, said) = folder.advised_with(options, &program, arguments);
        assert_eq!(status.code(), Some(1), "{said}");
        said
    };
    let ready = ["--ready", port, "--load"];
    assert!(error(&[&ready[..], &["exit 3"]].concat(), &["serve", port]).contains("the load failed (exit status: 3)"));
    assert!(error(&[&ready[..], &["true"]].concat(), &["numbers"]).contains("ended before it was ready"));
    assert!(error(&["--signal", "USR2"], &["numbers"]).contains("did not reach the program"));
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let open = taken.local_addr().unwrap().port().to_string();
    assert!(error(&["--ready", &open, "--load", "true"], &["serve", port]).contains("is open already"));
    let (status, said) = folder.advised(&program, &["terminated"]);
    assert!(is_given(status) && said.contains("100,000"), "{said}");
}

/// Each signal at another moment: while the program runs, and in a replay.
#[test]
fn a_signal_ends_all_processes_and_removes_all_files() {
    let folder = Folder::new();
    let program = folder.compile("servers.c", "servers", &[]);
    let temporary = folder.0.path().join("temporary");
    let script = format!("trap '' TERM; echo $$ > {0}/process; sleep 600 & wait; sleep 600", folder.0.path().display());
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        std::fs::create_dir_all(&temporary).unwrap();
        let mut command = Command::new(TOFT);
        command.args(["advise", "--"]).env("TMPDIR", &temporary).stdout(Stdio::null());
        let started = folder.0.path().join("process");
        if signal == libc::SIGTERM {
            command.arg(&program).arg("numbers");
        } else {
            command.args(["sh", "-c", &script]);
        }
        // SAFETY: one system call. Processes in the background of a shell ignore SIGINT, and `toft` would too.
        unsafe { command.pre_exec(move || Ok(_ = libc::signal(signal, libc::SIG_DFL))) };
        let mut child = command.spawn().unwrap();
        let tried = || std::fs::read_dir(&temporary).unwrap().any(|f| f.unwrap().path().join("trial.so").exists());
        while !(if signal == libc::SIGTERM { tried() } else { started.exists() }) {
            std::thread::sleep(Duration::from_millis(5));
        }
        // SAFETY: a child that was not waited for.
        assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
        assert_eq!(child.wait().unwrap().signal(), Some(signal));
        assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0);
        if let Ok(process) = std::fs::read_to_string(&started) {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.trim())).unwrap_or_default();
            assert!(stat.is_empty() || stat.contains(") Z"), "{stat}");
            std::fs::remove_file(&started).unwrap();
        }
    }
}
