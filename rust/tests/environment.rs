//! Effects of TOFT_CHECKED, TOFT_FINDINGS and TOFT_FINDINGS_JSON, each in its own process.
// SPDX-License-Identifier: MIT OR Apache-2.0
#![cfg(feature = "full")]
#![cfg(all(feature = "std", unix, not(miri)))] // it starts programs
#![allow(clippy::undocumented_unsafe_blocks)] // it commits faults on purpose

use std::fs;
use std::os::unix::fs::{symlink, PermissionsExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use toft::Arena;

/// Selects the action of the child process.
const DEED: &str = "TEST_DEED";

fn overrun(arena: Arena) {
    let p = arena.alloc([0u8; 10]).as_mut_ptr();
    unsafe { p.wrapping_add(10).copy_from(b"a\"\\\n".as_ptr(), 4) };
}

/// Not a test: the actions of a child process.
#[test]
fn child() {
    match std::env::var(DEED).as_deref() {
        Ok("overrun") => overrun(Arena::new()),
        Ok("frames") => {
            let mut frames = toft::Frames::new();
            let p = frames.here().alloc([0u8; 10]).as_mut_ptr();
            unsafe { p.wrapping_add(10).write(1) };
            frames.advance();
        }
        Ok("twice") => {
            toft::on_finding(Some(|finding| println!("hook: {finding}")));
            overrun(Arena::new());
            overrun(Arena::new());
        }
        Ok("checked by a call") => {
            toft::on_finding(Some(|finding| println!("hook: {finding}")));
            let arena = Arena::new();
            arena.set_checked(true).unwrap();
            overrun(arena);
        }
        Ok("changed") => {
            drop(Arena::new());
            // SAFETY: the program has one thread.
            unsafe {
                std::env::set_var("TOFT_CHECKED", "0");
                std::env::set_var("TOFT_FINDINGS", "elsewhere");
            }
            overrun(Arena::new());
        }
        Ok("held") => {
            let _out = std::io::stdout().lock();
            let _err = std::io::stderr().lock();
            overrun(Arena::new());
        }
        #[cfg(target_os = "linux")]
        Ok("privileged") => {
            unsafe extern "C" {
                fn getauxval(kind: std::ffi::c_ulong) -> std::ffi::c_ulong;
            }
            println!("secure {}", unsafe { getauxval(23) });
            overrun(Arena::new());
        }
        _ => {}
    }
}

fn command(program: &Path, deed: &str, checked: Option<&str>, findings: Option<&str>) -> Command {
    let mut command = Command::new(program);
    command
        .args(["--exact", "child", "--nocapture"])
        .env(DEED, deed)
        .env_remove("TOFT_CHECKED")
        .env_remove("TOFT_FINDINGS");
    command.envs(checked.map(|value| ("TOFT_CHECKED", value))).envs(findings.map(|value| ("TOFT_FINDINGS", value)));
    command
}

fn run(deed: &str, checked: Option<&str>, findings: Option<&str>) -> Output {
    command(&std::env::current_exe().unwrap(), deed, checked, findings).output().unwrap()
}

/// The lines of a finding.
fn lines(text: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(text).into_owned();
    text.lines().filter(|line| line.contains("overrun")).map(String::from).collect()
}

/// An empty folder, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("toft_{name}_{}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn values_of_the_variable_that_switch_checks_on() {
    for off in [None, Some(""), Some("0"), Some("off"), Some("OFF"), Some("no"), Some("No"), Some("false")] {
        let done = run("overrun", off, Some("stderr"));
        assert!(done.status.success() && lines(&done.stderr).is_empty(), "{off:?} {done:?}");
    }
    for on in ["1", "on", "yes", "true", "2"] {
        let done = run("overrun", Some(on), Some("stderr"));
        assert!(done.status.success() && lines(&done.stderr).len() == 1, "{on:?} {done:?}");
    }
}

/// The switches of `Frames` are off, which does not override the environment.
#[test]
fn arenas_of_frames_are_checked() {
    let done = run("frames", Some("1"), None);
    assert_eq!(lines(&done.stderr).len(), 1, "{done:?}");
}

#[test]
fn findings_go_to_the_configured_file() {
    let both = |findings| {
        let done = run("overrun", Some("1"), findings);
        (lines(&done.stdout).len(), lines(&done.stderr).len())
    };
    assert_eq!(both(None), (0, 1));
    assert_eq!(both(Some("")), (0, 1));
    assert_eq!(both(Some("stderr")), (0, 1));
    assert_eq!(both(Some("/dev/stderr")), (0, 1));
    assert_eq!(both(Some("stdout")), (1, 0));
    assert_eq!(both(Some("/dev/stdout")), (1, 0));
    let folder = Folder::new("where");
    let done = command(&std::env::current_exe().unwrap(), "overrun", Some("1"), Some("./stderr"))
        .current_dir(&folder.0)
        .output();
    assert!(lines(&done.unwrap().stderr).is_empty());
    assert!(folder.0.join("stderr").exists()); // a path is used literally
}

#[test]
fn a_finding_is_one_line_with_the_written_bytes() {
    let done = run("overrun", Some("1"), None);
    let found = lines(&done.stderr);
    assert!(found[0].starts_with("toft: overrun: byte 10 of 10 bytes at 0x"), "{found:?}");
    assert!(found[0].contains(r#" was written: 4 bytes "a\"\\\x0a"; allocated at "#), "{found:?}");
    assert!(found[0].contains("environment.rs:") && found.len() == 1, "{found:?}");
}

/// The lines are not written as well, unless a variable names their file.
#[test]
fn a_finding_is_a_json_object() {
    let folder = Folder::new("objects");
    let file = folder.0.join("we at; home");
    let program = std::env::current_exe().unwrap();
    for (findings, written) in [(None, 0), (Some("stderr"), 1)] {
        let _ = fs::remove_file(&file);
        let mut child = command(&program, "overrun", Some("1"), findings);
        let done = child.env("TOFT_FINDINGS_JSON", &file).output().unwrap();
        assert_eq!(lines(&done.stderr).len(), written, "{done:?}");
        let object: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        assert_eq!((&object["kind"], &object["size"]), (&"overrun".into(), &10.into()));
        assert_eq!(object["text"], r#"overrun: byte 10 of 10 bytes was written: 4 bytes "a\"\\\x0a""#);
        let place = &object["places"][0];
        assert_eq!((&place["role"], place["stack"][0]["file"].as_str()), (&"allocated".into(), Some(file!())));
        assert!(place["stack"][0]["line"].as_u64() > Some(0), "{object}");
    }
}

#[test]
fn without_the_variables_nothing_is_written_and_hooks_are_called() {
    for off in [None, Some("off")] {
        let done = run("checked by a call", off, None);
        assert!(lines(&done.stderr).is_empty(), "{done:?}");
        assert!(matches!(&lines(&done.stdout)[..], [line] if line.starts_with("hook: overrun: ")), "{done:?}");
    }
    let done = run("checked by a call", None, Some("stderr"));
    assert_eq!((lines(&done.stdout).len(), lines(&done.stderr).len()), (1, 1));
}

#[test]
fn abort_ends_the_process_after_the_first_finding() {
    for word in ["abort", "Abort"] {
        let done = run("twice", Some(word), None);
        assert_eq!(done.status.signal(), Some(6), "{done:?}");
        assert_eq!((lines(&done.stdout).len(), lines(&done.stderr).len()), (1, 1), "{done:?}");
    }
    let done = run("twice", Some("1"), None);
    assert_eq!((lines(&done.stdout).len(), lines(&done.stderr).len()), (2, 2), "{done:?}");
}

#[test]
fn the_variables_are_read_once() {
    let done = run("changed", Some("1"), Some("stderr"));
    assert_eq!(lines(&done.stderr).len(), 1, "{done:?}");
    assert!(!Path::new("elsewhere").exists());
}

/// Findings are written without the locks of the standard library's streams.
#[test]
fn findings_wait_for_no_lock_of_the_streams() {
    for to in ["stdout", "stderr"] {
        let done = run("held", Some("1"), Some(to));
        assert_eq!(lines(&done.stdout).len() + lines(&done.stderr).len(), 1, "{done:?}");
    }
}

#[test]
fn a_file_is_appended_to_and_private_to_its_owner() {
    let folder = Folder::new("file");
    let file = folder.0.join("findings");
    for n in 1..=3 {
        let done = run("overrun", Some("1"), file.to_str());
        assert!(done.status.success() && lines(&done.stderr).is_empty(), "{done:?}");
        assert_eq!(lines(&fs::read(&file).unwrap()).len(), n);
    }
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1);
}

/// A user who may write to the folder of the findings cannot redirect them to another file.
#[test]
fn a_symbolic_link_is_not_followed() {
    let folder = Folder::new("link");
    let (target, link) = (folder.0.join("target"), folder.0.join("link"));
    fs::write(&target, "unchanged").unwrap();
    symlink(&target, &link).unwrap();
    let done = run("overrun", Some("1"), link.to_str());
    assert!(done.status.success() && lines(&done.stderr).is_empty(), "{done:?}");
    assert_eq!(fs::read(&target).unwrap(), b"unchanged");
    let nowhere = run("overrun", Some("1"), Some("/no/such/folder/file"));
    assert!(nowhere.status.success() && lines(&nowhere.stderr).is_empty(), "{nowhere:?}");
}

/// A program with file capabilities or set-user-id ignores the environment of its caller.
#[test]
#[cfg(target_os = "linux")]
fn a_privileged_process_ignores_the_variables() {
    let folder = Folder::new("privileged");
    fs::set_permissions(&folder.0, fs::Permissions::from_mode(0o777)).unwrap();
    let findings = folder.0.join("findings");
    let root = fs::metadata("/proc/self").is_ok_and(|it| std::os::unix::fs::MetadataExt::uid(&it) == 0);
    let try_as = |kind: &str, prepare: &dyn Fn(&Path) -> bool| {
        let program = folder.0.join(kind);
        fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let run = || {
            let mut command = command(&program, "privileged", Some("abort"), findings.to_str());
            if root {
                command.uid(65534).gid(65534); // a program started by the superuser is not privileged
            }
            loop {
                match command.output() {
                    // A child that another test forked still has the file open.
                    Err(e) if e.kind() == std::io::ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
                    done => return done.unwrap(),
                }
            }
        };
        // Without privileges the variable has its effect.
        let plain = run();
        assert_eq!((plain.status.signal(), findings.exists()), (Some(6), true), "{plain:?}");
        fs::remove_file(&findings).unwrap();
        let done = if prepare(&program) { Some(run()) } else { None };
        let done = done.filter(|done| String::from_utf8_lossy(&done.stdout).contains("secure 1"));
        match done {
            Some(done) => {
                assert!(done.status.success(), "{kind}: {done:?}");
                assert!(!findings.exists() && lines(&done.stderr).is_empty(), "{kind}: {done:?}");
            }
            None => {
                eprintln!("NOT TESTED: a program with {kind}: not possible here");
                assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "CI must test it");
            }
        }
    };
    let setcap = |program: &Path| {
        let paths = ["setcap", "/usr/sbin/setcap", "/sbin/setcap"];
        let set = |setcap| Command::new(setcap).arg("cap_net_bind_service=ep").arg(program).status();
        paths.into_iter().any(|setcap| set(setcap).is_ok_and(|status| status.success()))
    };
    try_as("capabilities", &setcap);
    let set_user_id = |program: &Path| {
        root && std::os::unix::fs::chown(program, Some(65533), None).is_ok()
            && fs::set_permissions(program, fs::Permissions::from_mode(0o4755)).is_ok()
    };
    if root {
        try_as("set-user-id", &set_user_id);
    }
}
