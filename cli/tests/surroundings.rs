//! The surroundings of a program decide neither the verdict nor its reason: `toft advise` in folders, under limits, with input
//! and preloaded libraries of many kinds.
// SPDX-License-Identifier: MIT OR Apache-2.0

use crate::{is_installed, unavailable, Folder, TOFT};
use std::{
    os::unix::fs::PermissionsExt,
    process::{Command, Stdio},
};

/// The exit codes of a verdict.
const VERDICT: &[i32] = &[0, 3];
const ERROR: &[i32] = &[1];

const MOUNT: &str = "mount -t tmpfs -o noexec none noexec";

/// A command of the shell, the exit codes that it may have, and parts of its output. P: a program with 20,000 objects.
const CELLS: &[(&str, &[i32], &[&str])] = &[
    ("TMPDIR='a b' $A $P", VERDICT, &["20,000 objects"]),
    ("TMPDIR=a:b $A $P", VERDICT, &["20,000 objects"]),
    ("TMPDIR='a$LIB' $A $P", VERDICT, &["20,000 objects"]),
    ("unshare -rm sh -c '$M; TMPDIR=noexec $A $P'", VERDICT, &["20,000 objects"]),
    ("LD_PRELOAD=libjemalloc.so.2 $A $P", VERDICT, &["malloc is that of", "/libjemalloc.so.2", "without it in"]),
    ("LD_PRELOAD=./plugin.so MALLOC_CONF=a:b $A $P", VERDICT, &["LD_PRELOAD=./plugin.so, MALLOC_CONF=a:b"]),
    ("yes | $A --limit 8 $P", ERROR, &["copying standard input", "its part of --limit 8"]),
    ("$A --limit 16 ./many 600000", ERROR, &["its part of --limit 16"]),
    ("$A --limit 16 ./many 240000 kept", ERROR, &["more memory than --limit 16"]),
    ("$A --limit 16 ./many 200000", VERDICT, &["200,000 objects"]),
    ("mkfifo pipe; $A $P <>pipe", ERROR, &["did not end within the time of --seconds (0 bytes"]),
    ("ulimit -f 40; $A $P", ERROR, &["recorder.so", "ulimit -f", "too large"]),
    ("ulimit -f 600; $A $P", ERROR, &["is partial", "ulimit -f"]),
    ("ulimit -v 400000; $A $P", VERDICT, &["20,000 objects"]),
    ("ulimit -n 12; $A $P", VERDICT, &["20,000 objects"]),
    ("ulimit -n 6; $A $P", ERROR, &["Too many open files"]),
    ("$toft advise --seconds 0 ./deepbind ./plugin.so", &[3], &["No arena was measured (main: in the trial"]),
    ("$A --process many:1 sh -c '$P; $P 1'", VERDICT, &["20,000 objects", "on many:1 (./many 20000)"]),
    ("$A --process many:2 sh -c '$P; $P 1'", VERDICT, &["20,000 objects", "on many:2 (./many 20000 1)"]),
    ("$A --process many:3 sh -c '$P; $P 1'", ERROR, &["no process many:3", "many:2 (./many 20000 1)"]),
    #[cfg(target_arch = "x86_64")]
    ("$A ./bare 20000", VERDICT, &["callers of 100 % of the objects are not known"]),
    ("$A ./script", ERROR, &["the recorder was not loaded", "linked statically"]),
    ("$A --format json $P", VERDICT, &["\"toft_advice\": 2"]),
    ("$A --format markdown $P", VERDICT, &["| way | saved | interval | pairs |\n|---|"]),
];

#[test]
fn each_surrounding_gives_a_verdict_or_its_reason() {
    let folder = Folder::new();
    folder.compile("many.c", "many", &[]);
    let static_program = folder.compile("many.c", "static", &["-static"]);
    folder.compile("many.c", "bare", &["-fno-asynchronous-unwind-tables"]);
    folder.compile("deepbind.c", "deepbind", &["-ldl"]);
    folder.compile("deepbind.c", "plugin.so", &["-shared", "-fPIC", "-DPLUGIN"]);
    for name in ["a b", "a:b", "a$LIB", "noexec", "plain"] {
        std::fs::create_dir(folder.0.path().join(name)).unwrap();
    }
    let script = folder.0.path().join("script");
    std::fs::write(&script, format!("#!{}\n", static_program.display())).unwrap();
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
    for (cell, codes, texts) in CELLS {
        if cell.contains("jemalloc") && !is_installed("libjemalloc.so.2") {
            continue;
        }
        let mut mount = Command::new("unshare");
        mount.args(["-rm", "sh", "-c", MOUNT]).current_dir(folder.0.path());
        if cell.contains("$M") && !mount.status().is_ok_and(|status| status.success()) {
            unavailable("mounts in a namespace", false);
            continue;
        }
        let mut command = Command::new("sh");
        command.args(["-c", cell]).current_dir(folder.0.path()).env("TMPDIR", folder.0.path().join("plain"));
        command
            .env("toft", TOFT)
            .env("A", format!("{TOFT} advise --quick --seconds 1"))
            .env("P", "./many 20000")
            .env("M", MOUNT);
        let done = command.stdin(Stdio::null()).output().unwrap();
        let said = format!("{}{}", String::from_utf8_lossy(&done.stderr), String::from_utf8_lossy(&done.stdout));
        let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(codes.contains(&done.status.code().unwrap()), "{cell}: {said}");
        assert!(texts.iter().all(|text| words.contains(text) || said.contains(text)), "{cell}: {said}");
        for name in ["a b", "a:b", "a$LIB", "noexec", "plain"] {
            assert_eq!(
                std::fs::read_dir(folder.0.path().join(name)).unwrap().count(),
                0,
                "{cell} leaves files in {name}"
            );
        }
    }
}
