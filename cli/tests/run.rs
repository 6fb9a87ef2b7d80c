//! `toft run` on programs that use Toft, well and badly.
// SPDX-License-Identifier: MIT OR Apache-2.0

use crate::{compile, libtoft, source, TOFT};
use serde_json::Value;
use std::{
    io::{BufRead, BufReader, Write},
    os::unix::process::{CommandExt, ExitStatusExt},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::OnceLock,
};

struct Programs {
    folder: tempfile::TempDir,
}

impl Programs {
    /// Compiled once, with debug information.
    fn get() -> &'static Programs {
        static ALL: OnceLock<Programs> = OnceLock::new();
        ALL.get_or_init(|| {
            let folder = tempfile::tempdir().unwrap();
            compile("arenas.c", &folder.path().join("arenas"), &libtoft());
            // A libdw that does not work: the library then has no lines.
            let empty = folder.path().join("libdw.so.1");
            let done = Command::new("cc").args(["-shared", "-x", "c", "/dev/null", "-o"]).arg(empty).status();
            assert!(done.unwrap().success());
            Programs { folder }
        })
    }

    fn c() -> PathBuf {
        Programs::get().folder.path().join("arenas")
    }
}

fn command(options: &[&str], program: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(TOFT);
    command.arg("run").args(options).arg("--").arg(program).args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // SAFETY: signal may be called between fork and exec. A job in the background may ignore these signals.
    unsafe {
        command.pre_exec(|| {
            for signal in [libc::SIGINT, libc::SIGHUP, libc::SIGTERM, libc::SIGUSR1] {
                libc::signal(signal, libc::SIG_DFL);
            }
            Ok(())
        });
    }
    command
}

fn run(options: &[&str], program: &Path, arguments: &[&str]) -> Output {
    command(options, program, arguments).output().unwrap()
}

/// Requires this exit code and this text on standard error.
fn ends(done: &Output, code: i32, expected: &str) {
    assert_eq!((done.status.code(), &*text(&done.stderr)), (Some(code), expected));
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap_or_else(|_| panic!("no {}", path.display()))).unwrap()
}

/// The line of the C program with these words.
fn line(words: &str) -> usize {
    let source = include_str!("programs/arenas.c");
    1 + source.lines().position(|line| line.contains(words)).unwrap()
}

#[test]
fn a_good_program_has_no_findings() {
    for arguments in [&["clean"], &["threads"]] {
        let done = run(&["--check", "--fail-on", "any"], &Programs::c(), arguments);
        ends(&done, 0, "toft: no findings\n");
        assert_eq!(text(&done.stdout), "");
    }
}

#[test]
fn findings_are_grouped_and_have_source_lines() {
    let done = run(&[], &Programs::c(), &["misuse"]);
    let said = text(&done.stderr);
    let (make, empty) = (line("make allocates"), line("empty resets"));
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines[0].starts_with("toft: overrun (3 times): byte 24 of 24 bytes was written: 1 byte \"!\""), "{said}");
    assert!(
        lines[1].starts_with("  allocated at make (") && lines[1].ends_with(&format!("arenas.c:{make})")),
        "{said}"
    );
    assert_eq!(lines[2], format!("{make:>7} |   return (char *)toft_alloc(a, size); /* make allocates */"));
    let noticed = lines.iter().position(|line| line.starts_with("  noticed by reset at empty (")).unwrap();
    assert_eq!(lines[noticed + 1], format!("{empty:>7} |   int code = toft_reset(a); /* empty resets */"));
    assert!(said.contains("\ntoft: late write: byte 3 of 16 bytes was written: 1 byte \"x\" after reset\n"), "{said}");
    assert!(said.contains(&format!("\n  reset at empty ({}:{empty})\n", source("arenas.c").display())), "{said}");
    assert!(lines.iter().any(|line| line.starts_with("    from misuse (")), "{said}");
    assert_eq!(*lines.last().unwrap(), "toft: 4 findings at 2 places: 3 overrun, 1 late write");
    assert_eq!(done.status.code(), Some(0));
}

/// The places of containers of the standard library are lines of the program, and not of headers.
#[test]
fn places_of_containers_are_in_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("containers");
    let include = |folder: &str| format!("-I{}/../{folder}/include", env!("CARGO_MANIFEST_DIR"));
    compile("containers.cpp", &program, &["-g", "-std=c++17", "-w", &include("cpp"), &include("c")]);
    let said = text(&run(&["--check"], &program, &[]).stderr);
    let text = include_str!("programs/containers.cpp");
    let line = |words: &str| 1 + text.lines().position(|line| line.contains(words)).unwrap();
    let at = |words: &str| format!("({}:{})\n", source("containers.cpp").display(), line(words));
    assert!(said.contains(&format!("\n  reset at forget {}", at("forgets"))), "{said}");
    assert!(said.contains("\n  allocated at remember ("), "{said}");
    assert!(
        said.contains(&at("remembers")) && said.contains(&format!("    from main {}", at("main remembers"))),
        "{said}"
    );
    assert!(!said.contains(".hpp") && !said.contains("_Z") && !said.contains("/c++/"), "{said}");
}

/// A folder's name, and the text of a place, may contain what separates the parts of a sentence.
#[test]
fn hostile_names_stay_whole() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("we at; home by thread 1\n\"é");
    std::fs::create_dir(&home).unwrap();
    std::fs::copy(source("arenas.c"), home.join("arenas.c")).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-pthread", "-o", "run", "arenas.c"]).args(libtoft()).current_dir(&home);
    assert!(compiler.status().unwrap().success());
    let out = folder.path().join("out");
    let options = ["--format", "json", "--out", out.to_str().unwrap()];
    let said = text(&command(&options, &home.join("run"), &["misuse"]).output().unwrap().stderr);
    let make = line("make allocates");
    assert!(said.contains(&format!("{make:>7} |   return (char *)toft_alloc")), "{said}");
    let file = json(&out)["findings"][0]["places"][0]["stack"][0]["file"].clone();
    assert_eq!(Path::new(file.as_str().unwrap()), home.join("arenas.c"));
}

// ---- documents ----

#[test]
fn json_has_all_groups() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let options = ["--format", "json", "--out", out.to_str().unwrap(), "--fail-on", "overrun"];
    let done = run(&options, &Programs::c(), &["misuse"]);
    assert_eq!((done.status.code(), text(&done.stdout)), (Some(3), String::new()));
    assert!(text(&done.stderr).ends_with("toft: 4 findings at 2 places: 3 overrun, 1 late write\n"));
    let document = json(&out);
    assert_eq!(
        (&document["version"], &document["exit_code"], &document["signal"]),
        (&1.into(), &0.into(), &Value::Null)
    );
    let groups = document["findings"].as_array().unwrap();
    let kinds: Vec<_> = groups.iter().map(|group| (group["kind"].as_str().unwrap(), &group["count"])).collect();
    assert_eq!(kinds, [("overrun", &3.into()), ("late-write", &1.into())]);
    let places = groups[1]["places"].as_array().unwrap();
    let roles: Vec<_> = places.iter().map(|place| (place["role"].as_str().unwrap(), &place["call"])).collect();
    assert_eq!(roles, [("returned", &"reset".into()), ("allocated", &"alloc".into()), ("noticed", &"reset".into())]);
    assert_eq!((&places[0]["thread"], &places[0]["stack"][0]["function"]), (&1.into(), &"empty".into()));
    assert_eq!(places[0]["stack"][0]["line"], line("empty resets"));
    // On standard output alone.
    let done = run(&["--format", "json", "--out", "-"], &Programs::c(), &["misuse"]);
    assert_eq!(serde_json::from_slice::<Value>(&done.stdout).unwrap()["findings"], document["findings"]);
    // The text in a file is not on standard error as well.
    let done = run(&["--out", out.to_str().unwrap()], &Programs::c(), &["misuse"]);
    assert_eq!(text(&done.stderr), "");
    assert!(std::fs::read_to_string(&out).unwrap().starts_with("toft: overrun (3 times): "));
}

/// What the schema of SARIF 2.1.0 requires, and what code views of forges require beyond it.
fn check_sarif(document: &Value) {
    let list = |value: &Value| value.as_array().unwrap().clone();
    let string = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{value} is no string")).to_owned();
    assert_eq!(document["version"], "2.1.0");
    assert!(string(&document["$schema"]).ends_with("sarif-2.1.0.json"));
    for run in list(&document["runs"]) {
        assert!(!string(&run["tool"]["driver"]["name"]).is_empty());
        let rules: Vec<_> = list(&run["tool"]["driver"]["rules"]).iter().map(|rule| string(&rule["id"])).collect();
        let bases = run["originalUriBaseIds"].as_object().unwrap();
        for base in bases.values() {
            assert!(string(&base["uri"]).starts_with("file:///") && string(&base["uri"]).ends_with('/'));
        }
        let check = |location: &Value| {
            let physical = &location["physicalLocation"];
            let uri = string(&physical["artifactLocation"]["uri"]);
            assert!(uri.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"\\<>^`{|}".contains(&byte)), "{uri}");
            match physical["artifactLocation"].get("uriBaseId") {
                Some(base) => assert!(bases.contains_key(&string(base)) && !uri.starts_with('/')),
                None => assert!(uri.starts_with("file:///"), "{uri}"),
            }
            let line = physical["region"].get("startLine");
            assert!(line.is_none_or(|line| line.as_u64() > Some(0)));
        };
        let mut prints = std::collections::HashSet::new();
        for result in list(&run["results"]) {
            assert!(rules.contains(&string(&result["ruleId"])));
            assert!(["error", "warning", "note", "none"].contains(&&*string(&result["level"])));
            assert!(!string(&result["message"]["text"]).is_empty());
            assert_eq!(list(&result["locations"]).len(), 1, "{result}");
            list(&result["locations"]).iter().for_each(check);
            for (at, location) in list(&result["relatedLocations"]).iter().enumerate() {
                check(location);
                assert_eq!(location["id"], at + 1);
                string(&location["message"]["text"]);
            }
            let print = result["partialFingerprints"].as_object().unwrap().values().map(string).collect::<String>();
            assert!(!print.is_empty() && prints.insert(print));
        }
    }
}

#[test]
fn sarif_is_valid_and_relative() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().unwrap();
    let sarif = |program: &Path, arguments: &[&str], within: &Path| {
        let out = folder.path().join("out.sarif");
        let options = ["--check", "--format", "sarif", "--out", out.to_str().unwrap()];
        command(&options, program, arguments).current_dir(within).output().unwrap();
        let document = json(&out);
        check_sarif(&document);
        document["runs"][0].clone()
    };
    let run = sarif(&Programs::c(), &["misuse"], root);
    let results = run["results"].as_array().unwrap();
    let rules: Vec<_> = results.iter().map(|result| result["ruleId"].as_str().unwrap()).collect();
    assert_eq!(rules, ["overrun", "late-write"]);
    let physical = &results[1]["locations"][0]["physicalLocation"];
    let artifact = serde_json::json!({"uri": "tests/programs/arenas.c", "uriBaseId": "SRCROOT"});
    assert_eq!(
        (&physical["artifactLocation"], &physical["region"]["startLine"]),
        (&artifact, &line("make allocates").into())
    );
    let related = results[1]["relatedLocations"].as_array().unwrap();
    let words: Vec<_> = related.iter().map(|place| place["message"]["text"].as_str().unwrap()).collect();
    assert_eq!(words, ["reset", "noticed by reset"]);
    assert_eq!(related[0]["physicalLocation"]["region"]["startLine"], line("empty resets"));
    // Elsewhere the location is not relative, and the fingerprint is the same.
    let other = sarif(&Programs::c(), &["misuse"], folder.path());
    assert_eq!(other["results"][1]["partialFingerprints"], results[1]["partialFingerprints"]);
    // Without debug information the location is the program.
    let bare = folder.path().join("bare");
    assert!(Command::new("strip").arg("-o").arg(&bare).arg(Programs::c()).status().unwrap().success());
    let run = sarif(&bare, &["misuse"], folder.path());
    assert_eq!(run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "bare");
    // No findings: a document without results.
    assert_eq!(sarif(&Programs::c(), &["clean"], root)["results"], serde_json::json!([]));
}

/// Not a test: a program in Rust, if the variable is set.
#[test]
fn rust_program() {
    if std::env::var_os("TEST_RUST_PROGRAM").is_none() {
        return;
    }
    let arena = toft::Arena::new();
    let bytes = arena.alloc([0u8; 10]); // overrun
                                        // SAFETY: violated: byte 10 is in the red zone of a checked arena, and the arena's own otherwise.
    unsafe { bytes.as_mut_ptr().wrapping_add(10).write(1) };
    arena.alloc(String::from("never dropped"));
    let _tag = arena.tag("text");
    for i in 0..10_000u64 {
        arena.alloc([i; 8]);
    }
}

#[test]
fn the_crate_reports_as_well() {
    let folder = tempfile::tempdir().unwrap();
    let profile = folder.path().join("profile.json");
    let options = ["--check", "--profile", profile.to_str().unwrap(), "--fail-on", "leak"];
    let program = std::env::current_exe().unwrap();
    let mut command = command(&options, &program, &["--exact", "run::rust_program", "--nocapture"]);
    let done = command.env("TEST_RUST_PROGRAM", "1").output().unwrap();
    let said = text(&done.stderr);
    let line = 1 + include_str!("run.rs").lines().position(|line| line.ends_with("; // overrun")).unwrap();
    assert!(said.starts_with("toft: overrun: byte 10 of 10 bytes was written: 1 byte \"\\x01\""), "{said}");
    let allocated = format!(
        "\n  allocated at cli/tests/run.rs:{line}:23\n{line:>7} |     let bytes = arena.alloc([0u8; 10]); // overrun\n"
    );
    assert!(said.contains(&allocated), "{said}");
    assert!(said.contains("toft: leak: a value of 24 bytes was given back without its destructor\n"), "{said}");
    assert_eq!(done.status.code(), Some(3));
    let profile = json(&profile);
    assert_eq!(profile["process"]["library"], "toft-rust");
    let text = profile["tags"].as_array().unwrap().iter().find(|tag| tag["name"] == "text").unwrap();
    assert_eq!((&text["live"], text["allocated"].as_u64() >= Some(640_000)), (&0.into(), true));
    assert_eq!(profile["sites"][0]["site"]["file"], "cli/tests/run.rs");
}

#[test]
fn fail_on_changes_the_exit_code_of_a_success() {
    let code = |options: &[&str], arguments: &[&str]| run(options, &Programs::c(), arguments).status.code();
    assert_eq!(code(&["--fail-on", "any"], &["misuse"]), Some(3));
    assert_eq!(code(&["--fail-on", "leak,overrun"], &["misuse"]), Some(3));
    assert_eq!(code(&["--fail-on", "leak,underrun"], &["misuse"]), Some(0));
    assert_eq!(code(&["--fail-on", "any"], &["clean"]), Some(0));
    assert_eq!(code(&["--fail-on", "double-release"], &["twice"]), Some(3));
    assert_eq!(code(&["--fail-on", "use-after-release"], &["twice"]), Some(0));
    assert_eq!(code(&["--fail-on", "any"], &["code"]), Some(7)); // the program's own code
}

#[test]
fn a_budget_is_reported_and_refuses_nothing() {
    let done = run(&["--budget", "50K", "--fail-on", "budget"], &Programs::c(), &["exceed"]);
    let said = text(&done.stderr);
    let begin = "toft: over budget: 52000 bytes of a soft budget of 51200\n  noticed by alloc at make (";
    assert!(said.starts_with(begin), "{said}");
    assert!(said.ends_with("toft: 1 finding at 1 place: 1 over budget\n"), "{said}");
    assert_eq!(done.status.code(), Some(3));
    assert_eq!(run(&["--budget", "1M", "--fail-on", "budget"], &Programs::c(), &["exceed"]).status.code(), Some(0));
    // Not checked: its misuse is not looked for.
    ends(&run(&["--budget", "1M"], &Programs::c(), &["misuse"]), 0, "toft: no findings\n");
}

#[test]
fn a_crash_keeps_what_was_found() {
    let done = run(&["--fail-on", "any"], &Programs::c(), &["crash"]);
    let said = text(&done.stderr);
    assert!(said.contains("toft: overrun (3 times)") && said.contains("was ended by signal 11\n"), "{said}");
    assert_eq!(done.status.code(), Some(128 + 11));
}

#[test]
fn input_and_output_are_the_programs() {
    let mut command = command(&["--check"], &Programs::c(), &["echo", "--profile", "-x"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"one\ntwo\n").unwrap();
    let done = child.wait_with_output().unwrap();
    assert_eq!(text(&done.stdout), "one\ntwo\n");
    assert_eq!(text(&done.stderr), "an error of the program\nan error of the program\ntoft: no findings\n");
}

#[test]
fn programs_that_cannot_run() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("toft-test-file");
    std::fs::write(&file, "text").unwrap();
    let done = run(&[], Path::new("no-such-program"), &[]);
    ends(&done, 127, "toft: there is no program no-such-program\n");
    let done = run(&[], &file, &[]);
    let reason = "Permission denied (os error 13); is it an executable file?";
    ends(&done, 126, &format!("toft: cannot run {}: {reason}\n", file.display()));
    let done = command(&[], Path::new("toft-test-file"), &[]).current_dir(folder.path()).output().unwrap();
    ends(&done, 127, "toft: there is no program toft-test-file; write ./toft-test-file for that of this folder\n");
}

#[test]
fn wrong_arguments() {
    let wrong = |options: &[&str]| {
        let done = run(options, Path::new("true"), &[]);
        assert_eq!(done.status.code(), Some(2), "{options:?}");
        text(&done.stderr)
    };
    assert!(wrong(&["--fail-on", "everything"]).contains("not a kind of finding: any, overrun, "));
    assert!(wrong(&["--fail-on", "budget"]).contains("--fail-on budget needs --budget BYTES"));
    assert!(wrong(&["--sample", "1M", "--fail-on", "any"]).contains("--fail-on needs --check or --budget"));
    assert!(wrong(&["--budget", "1M", "--fail-on", "leak"]).contains("needs --check"));
    for value in ["", "K", "1X", "-1", "1.5M", "99999999999999999999", "9999999999G"] {
        assert!(wrong(&["--budget", value]).contains("--budget"), "{value}");
    }
    assert!(wrong(&["--signal", "USR1"]).contains("--profile"));
    assert!(wrong(&["--format", "sarif"]).contains("--out"));
    assert!(wrong(&["--profile", "p", "--signal", "KILLER"]).contains("USR1, USR2 or a number"));
    let done = Command::new(TOFT).arg("run").output().unwrap();
    assert_eq!(done.status.code(), Some(2));
    let done = run(&["--profile", "/no/such/folder/p"], Path::new("true"), &[]);
    ends(&done, 1, "toft: there is no folder for /no/such/folder/p; create it\n");
}

#[test]
fn a_program_without_toft() {
    let done = run(&["--check"], Path::new("true"), &[]);
    let said = text(&done.stderr);
    assert!(said.contains("toft: true does not contain Toft; "), "{said}");
    assert_eq!(done.status.code(), Some(0));
    let folder = tempfile::tempdir().unwrap();
    let profile = folder.path().join("p");
    let done = run(&["--profile", profile.to_str().unwrap()], &Programs::c(), &["echo"]);
    let said = text(&done.stderr);
    assert!(said.starts_with("toft: there is no profile: ") && said.contains(" created no arena"), "{said}");
    assert!(!profile.exists());
    let done = run(&["--profile", profile.to_str().unwrap()], &Programs::c(), &["crash"]);
    assert!(text(&done.stderr).contains("--signal USR1 requests one earlier"));
}

#[test]
fn findings_are_kept_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("findings");
    std::fs::write(&file, "toft: leak: an old one\n").unwrap();
    for times in 1..=2 {
        let done = run(&["--findings", file.to_str().unwrap(), "--fail-on", "leak"], &Programs::c(), &["misuse"]);
        assert!(text(&done.stderr).ends_with("toft: 4 findings at 2 places: 3 overrun, 1 late write\n"));
        assert_eq!(done.status.code(), Some(0));
        assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 1 + 4 * times);
    }
    let done = run(&["--findings", "/no/such/folder/f"], &Programs::c(), &["clean"]);
    ends(&done, 1, "toft: cannot write /no/such/folder/f: No such file or directory (os error 2)\n");
}

#[test]
fn a_profile_of_all_arenas() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("profile.json");
    let options = ["--profile", path.to_str().unwrap(), "--sample", "1000"];
    let mut command = command(&options, &Programs::c(), &["alive"]);
    let done = command.env("LD_LIBRARY_PATH", Programs::get().folder.path()).output().unwrap();
    let live = "1040000 bytes are live in 1 arena, 0 ended before; toft report shows it";
    ends(&done, 0, &format!("toft: profile: {}: {live}\n", path.display()));
    let profile = json(&path);
    assert_eq!((&profile["version"], &profile["process"]["sampling"]), (&1.into(), &1000.into()));
    assert_eq!(profile["stats"]["live"], 1_040_000);
    assert_eq!((&profile["tags"][1]["name"], &profile["tags"][1]["live"]), (&"kept".into(), &1_040_000.into()));
    let site = &profile["sites"][0];
    assert!((9000..11_000).contains(&site["count"].as_u64().unwrap()), "{site}");
    // Named by this command: the library had no debug information.
    let names: Vec<_> =
        site["stack"].as_array().unwrap().iter().map(|call| call["function"].as_str().unwrap_or("?")).collect();
    assert_eq!(names[..4], ["toft_alloc", "make", "leave_alive", "main"]);
    assert_eq!((&site["stack"][0]["inlined"], &site["stack"][1]["inlined"]), (&true.into(), &Value::Null));
    assert_eq!(site["stack"][1]["line"], line("make allocates"));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn each_process_has_a_profile() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p");
    std::fs::write(folder.path().join("p.1.c-1"), r#"{"version":1,"process":{"id":1}}"#).unwrap(); // of an earlier run
    std::thread::sleep(std::time::Duration::from_millis(20));
    let done = run(&["--profile", path.to_str().unwrap()], &Programs::c(), &["children"]);
    let said = text(&done.stderr);
    assert_eq!(said.matches("toft: profile of another process: ").count(), 2, "{said}");
    assert_eq!(said.matches("toft: profile: ").count(), 1, "{said}");
    assert_eq!(json(&path)["stats"]["live"], 1_040_000);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 4);
    let pattern = folder.path().join("q-%p.json");
    run(&["--profile", pattern.to_str().unwrap()], &Programs::c(), &["children"]);
    let named = |entry: &std::io::Result<std::fs::DirEntry>| {
        let name = entry.as_ref().unwrap().file_name().into_string().unwrap();
        name.strip_prefix("q-").and_then(|n| n.strip_suffix(".json")).is_some_and(|n| n.parse::<u32>().is_ok())
    };
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().filter(named).count(), 3);
}

/// Waits until the program prints that it is ready.
fn ready(child: &mut Child) -> BufReader<std::process::ChildStdout> {
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    out
}

fn send(child: &Child, signal: libc::c_int) {
    // SAFETY: a child that was not waited for.
    assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
}

#[test]
fn signals_reach_the_program() {
    let mut child = command(&["--check"], &Programs::c(), &["handle"]).spawn().unwrap();
    let mut out = ready(&mut child);
    send(&child, libc::SIGTERM);
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert_eq!((line.as_str(), child.wait().unwrap().code()), ("got TERM\n", Some(5)));

    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let mut child = command(&["--check"], &Programs::c(), &["wait"]).spawn().unwrap();
        let _out = ready(&mut child);
        send(&child, signal);
        let status = child.wait().unwrap();
        assert_eq!((status.code(), status.signal()), (Some(128 + signal), None));
    }
}

#[test]
fn a_signal_requests_a_profile() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p");
    let options = ["--profile", path.to_str().unwrap(), "--signal", "USR1"];
    let mut child = command(&options, &Programs::c(), &["wait"]).spawn().unwrap();
    let _out = ready(&mut child);
    send(&child, libc::SIGUSR1);
    let find = || {
        let mut names = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
        names.find(|path| path.extension().is_some_and(|end| end.to_string_lossy().starts_with("c-")))
    };
    let written = loop {
        match find() {
            Some(path) => break path,
            None => std::thread::yield_now(),
        }
    };
    assert!(json(&written)["stats"]["live"].as_u64() >= Some(1_040_000 - 16_384));
    send(&child, libc::SIGTERM);
    let done = child.wait_with_output().unwrap();
    assert!(text(&done.stderr).contains("toft: profile: "), "{done:?}"); // that of the signal
    assert!(path.exists());

    let done = run(&options, &Programs::c(), &["own"]);
    assert!(
        text(&done.stderr).ends_with("toft: the program handles the signal USR1 itself, so it requested no profile\n")
    );
}

/// The example of docs/run.md prints what the page shows.
#[test]
fn the_page_shows_what_is_printed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = std::fs::read_to_string(root.join("docs/run.md")).unwrap();
    let block = |kind: &str, begins: &str| {
        let fence = format!("```{kind}\n");
        let mut blocks = page.split(&fence).skip(1).map(|rest| rest.split("```\n").next().unwrap());
        blocks.find(|block| block.starts_with(begins)).unwrap().to_owned()
    };
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("server.c"), block("c", "#include")).unwrap();
    let commands = block("sh", "cc -g");
    assert_eq!(commands, "cc -g -o server server.c -ltoft\ntoft run -- ./server\n");
    let mut cc = Command::new("cc");
    cc.args(["-pthread", "-o", "server", "server.c"]).args(libtoft()).current_dir(folder.path());
    assert!(cc.status().unwrap().success());
    let done = command(&[], Path::new("./server"), &[]).current_dir(folder.path()).output().unwrap();
    let place = format!("({}/", folder.path().display());
    assert_eq!(text(&done.stderr).replace(&place, "("), block("text", "toft: late write"));
    // Each kind is on the page.
    let kinds = run(&["--fail-on", "x"], Path::new("true"), &[]);
    let kinds = text(&kinds.stderr).replace('\n', " ");
    let kinds = kinds.split("a kind of finding: ").nth(1).unwrap();
    for kind in kinds.split([',', ' ']).filter(|kind| !kind.is_empty()).take_while(|kind| *kind != "For") {
        assert!(page.contains(&format!("`{kind}`")), "{kind}");
    }
}
