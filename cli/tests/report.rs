//! `toft report` as a command: its outputs for snapshots of both libraries, for a hostile one and for a large one.
//! The files in tests/report/ are its inputs and its text. TOFT_BLESS=1 writes the text anew.
// SPDX-License-Identifier: MIT OR Apache-2.0

use crate::TOFT;
use serde_json::{json, Value};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn inputs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/report")
}

fn toft(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(TOFT).current_dir(folder).args(arguments).output().unwrap()
}

/// The output of a run that succeeds, which may be slow.
fn run(folder: &Path, arguments: &[&str]) -> String {
    let output = toft(folder, arguments);
    let error = String::from_utf8_lossy(&output.stderr);
    let is_quiet = ["", "toft: writing the page\n"].contains(&&*error);
    assert!(output.status.success() && is_quiet, "{arguments:?}: {}\n{error}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

/// The message of a run that fails.
fn failure(folder: &Path, arguments: &[&str], code: i32) -> String {
    let output = toft(folder, arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}");
    assert!(output.stdout.is_empty());
    String::from_utf8(output.stderr).unwrap()
}

fn is_narrow(text: &str) {
    for line in text.lines() {
        assert!(unicode_width::UnicodeWidthStr::width(line) <= 80, "{line}");
    }
}

// ---- text ----

#[test]
fn the_text_is_as_recorded() {
    for (name, arguments) in [
        ("game", &["report", "game.json"][..]),
        ("diff", &["report", "--diff", "game.json", "later.json"]),
        ("series", &["report", "game.json", "later.json", "--top", "1"]),
        ("frames", &["report", "frames.jsonl"]),
        ("advice", &["report", "advice.json"]),
        ("folded", &["report", "game.json", "--folded", "-"]),
        ("folded-count", &["report", "advice.json", "--folded", "-", "--weight", "count"]),
    ] {
        let (text, file) = (run(&inputs(), arguments), inputs().join(format!("{name}.txt")));
        is_narrow(if name.starts_with("folded") { "" } else { &text });
        if std::env::var_os("TOFT_BLESS").is_some() {
            std::fs::write(&file, &text).unwrap();
        }
        let expected = std::fs::read_to_string(&file).unwrap_or_default();
        assert_eq!(text, expected, "{} differs: look at it, and record it with TOFT_BLESS=1", file.display());
    }
    let same = run(&inputs(), &["report", "--diff", "game.json", "game.json"]);
    let expected = "  before        game.json\n  after         game.json\n\nNo number differs.\n";
    assert_eq!(same, format!("Difference of two snapshots\n{expected}"));
}

#[test]
fn a_number_at_the_end_of_a_name_is_no_number_of_a_folded_stack() {
    let folder = tempfile::tempdir().unwrap();
    let game = input("game.json").to_string().replace("find_path", "find 7").replace("think", "think 1.5 ");
    std::fs::write(folder.path().join("x.json"), game).unwrap();
    let folded = run(folder.path(), &["report", "x.json", "--folded", "-"]);
    assert!(folded.contains(";think_1.5;find_7 1572864\n"), "{folded}");
}

#[test]
fn standard_input_is_a_file() {
    let file = std::fs::File::open(inputs().join("game.json")).unwrap();
    let output = Command::new(TOFT).args(["report", "-"]).stdin(file).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.contains("find_path (ai.c:204)"), "{text}");
}

#[test]
fn the_largest_numbers_are_exact() {
    let folder = tempfile::tempdir().unwrap();
    let mut snapshot = input("game.json");
    for member in ["live", "allocated", "peak", "reserved", "wasted", "blocks", "source_calls", "budget"] {
        snapshot["stats"][member] = u64::MAX.into();
    }
    for tag in snapshot["tags"].as_array_mut().unwrap() {
        for member in ["live", "allocated", "budget"] {
            tag[member] = (u64::MAX - 1).into();
        }
    }
    for site in snapshot["sites"].as_array_mut().unwrap() {
        (site["count"], site["bytes"]) = (u64::MAX.into(), (u64::MAX - 2).into());
    }
    snapshot["phases"][0]["kept"] = i64::MIN.into();
    std::fs::write(folder.path().join("x.json"), snapshot.to_string()).unwrap();
    let text = run(folder.path(), &["report", "x.json"]);
    is_narrow(&text);
    for number in ["18,446,744,073,709,551,615", "51,614", "51,613", "-9,223,372,036,854,775,808"] {
        assert!(text.contains(number), "{text}");
    }
    std::fs::write(folder.path().join("y.json"), input("game.json").to_string()).unwrap();
    let text = run(folder.path(), &["report", "--diff", "y.json", "x.json"]);
    is_narrow(&text);
    assert!(text.contains("+18,446,744,073,708,224,503"), "{text}"); // 2^64 - 1 - 1327112
    run(folder.path(), &["report", "x.json", "--html", "x.html", "--pprof", "x.gz", "--folded", "x.fold"]);
    let page = std::fs::read_to_string(folder.path().join("x.html")).unwrap();
    assert!(page.contains("\"18446744073709551615\""));
}

fn input(name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(inputs().join(name)).unwrap()).unwrap()
}

// ---- snapshots of the libraries ----

/// Snapshots that the crate and libtoft write, by name.
fn snapshots() -> BTreeMap<&'static str, String> {
    let rust = toft::Arena::new();
    rust.set_metered(true).unwrap();
    rust.set_sampling(64).unwrap();
    rust.set_budget(Some(1 << 20)).unwrap();
    {
        let _phase = rust.phase("load");
        let _tag = rust.tag("level");
        rust.alloc([0u8; 1000]);
        let _tag = rust.tag("sound");
        for i in 0..1000u64 {
            rust.alloc(i);
        }
    }
    let mut frames = toft::Frames::new();
    frames.set_metered(true).unwrap();
    frames.set_checked(true).unwrap();
    let mut series = String::new();
    for frame in 0..3 {
        {
            let arena = frames.here();
            let _phase = arena.phase("update");
            let _tag = arena.tag("ai");
            for _ in 0..=frame {
                arena.alloc(String::from("lost"));
            }
        }
        frames.advance();
        writeln!(series, "{}", serde_json::to_string(&frames.snapshot()).unwrap()).unwrap();
    }
    let c = conformance_libtoft::created_in_c();
    c.set_sampling(64).unwrap();
    for i in 0..1000u64 {
        c.alloc(i);
    }
    BTreeMap::from([
        ("rust", serde_json::to_string(&rust.report()).unwrap()),
        ("frames", series),
        ("c", conformance_libtoft::snapshot_in_c(&c, 2)),
    ])
}

#[test]
fn snapshots_of_both_libraries_are_read() {
    let folder = tempfile::tempdir().unwrap();
    for (name, snapshot) in snapshots() {
        std::fs::write(folder.path().join(name), &snapshot).unwrap();
        let text = run(folder.path(), &["report", name, "--text", "--html", "page.html", "--folded", "folded"]);
        is_narrow(&text);
        let folded = std::fs::read_to_string(folder.path().join("folded")).unwrap();
        match name {
            "rust" => {
                assert!(
                    text.contains("\n  level") && text.contains("\n    sound") && text.contains("\n  load"),
                    "{text}"
                );
                assert!(text.contains("report.rs:") && text.contains("tag level/sound"), "{text}");
                assert!(folded.contains("tag level;tag sound;"), "{folded}");
            }
            "frames" => {
                assert!(text.contains("The last of 3 snapshots") && text.contains("Findings of frame 3: 3"), "{text}");
                assert!(text.contains("leak: a value of 24 bytes") && text.contains("report.rs:"), "{text}");
                assert_eq!(folded.lines().count(), 1);
            }
            _ => {
                assert_eq!(folded.contains("snapshots;"), cfg!(target_os = "linux"), "{folded}");
                assert!(folded.contains(';'), "a stack of several calls: {folded}");
            }
        }
    }
}

// ---- exports ----

/// The output of `go tool pprof` on a file; None if there is no go.
fn pprof(folder: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("go").args(["tool", "pprof"]).args(arguments).current_dir(folder).output();
    match output {
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            Some(String::from_utf8(output.stdout).unwrap())
        }
        Err(_) if std::env::var("CI").as_deref() == Ok("true") => panic!("go is missing: install golang-go"),
        Err(error) => {
            println!("skipped: go tool pprof: {error}");
            None
        }
    }
}

#[test]
fn pprof_opens_the_profile() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.pb.gz");
    run(&inputs(), &["report", "game.json", "--pprof", out.to_str().unwrap()]);
    let Some(top) = pprof(folder.path(), &["-top", "-unit=B", "out.pb.gz"]) else { return };
    let rows: Vec<Vec<&str>> = top.lines().map(|line| line.split_whitespace().collect()).collect();
    let row = |name: &str| rows.iter().find(|row| row.last() == Some(&name)).unwrap_or_else(|| panic!("{name}: {top}"));
    assert!(top.contains("File: game") && top.contains("Type: alloc_space"), "{top}");
    assert_eq!((row("find_path")[0], row("find_path")[3]), ("1572864B", "1572864B"));
    assert_eq!((row("main")[0], row("main")[3]), ("0", "3354816B"), "{top}");
    let lines =
        pprof(folder.path(), &["-top", "-lines", "-sample_index=alloc_objects", "-tagfocus=level/sound", "out.pb.gz"])
            .unwrap();
    assert!(lines.contains("31") && lines.contains("decode sound.c:12") && !lines.contains("find_path"), "{lines}");
    let tags = pprof(folder.path(), &["-tags", "-unit=B", "out.pb.gz"]).unwrap();
    assert!(tags.contains("level/sound"), "{tags}");

    // Of an advice, and of Rust's sites, which have no stack.
    run(&inputs(), &["report", "advice.json", "--pprof", out.to_str().unwrap()]);
    let top = pprof(folder.path(), &["-top", "-nodefraction=0", "out.pb.gz"]).unwrap();
    assert!(top.contains("new_node") && top.contains("copy_attribute") && top.contains("libz.so.1+0x9a40"), "{top}");
    let raw = pprof(folder.path(), &["-raw", "out.pb.gz"]).unwrap();
    let is_mapping = |line: &str| line.contains("0x401000/0x411000/0x1000 /usr/bin/words 5eed0123456789abcdef");
    assert!(raw.lines().any(is_mapping) && raw.contains(": 0x402f10 M="), "{raw}");
    run(&inputs(), &["report", "frames.jsonl", "--pprof", out.to_str().unwrap()]);
    let top = pprof(folder.path(), &["-top", "out.pb.gz"]).unwrap();
    assert!(top.contains("src/ai.rs:40:21"), "{top}");
    for (name, snapshot) in snapshots() {
        std::fs::write(folder.path().join(name), snapshot).unwrap();
        run(folder.path(), &["report", name, "--pprof", "out.pb.gz"]);
        assert!(pprof(folder.path(), &["-top", "out.pb.gz"]).unwrap().contains("alloc_space"));
    }
}

// ---- lines of modules ----

/// Compiles the program, and returns its snapshot. `size` makes builds differ.
#[cfg(target_os = "linux")]
fn build_and_run(program: &Path, size: u32) -> Vec<u8> {
    let size = format!("-DSIZE={size}");
    crate::compile("snapshot.c", program, &[&crate::libtoft()[..], &["-Wl,--build-id", &size]].concat());
    let output = Command::new(program).output().unwrap();
    assert!(output.status.success());
    output.stdout
}

/// The line of the program with these words.
#[cfg(target_os = "linux")]
fn line(words: &str) -> usize {
    1 + include_str!("programs/snapshot.c").lines().position(|line| line.contains(words)).unwrap()
}

#[test]
#[cfg(target_os = "linux")]
fn addresses_become_lines_when_a_file_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let (program, file) = (folder.path().join("program"), folder.path().join("s.json"));
    std::fs::write(&file, build_and_run(&program, 200)).unwrap();
    let snapshot: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(snapshot["sites"][0]["stack"][0]["file"], Value::Null);
    let place = format!("snapshot.c:{})", line("read_names allocates"));
    let text = run(folder.path(), &["report", "s.json"]);
    let site = text.lines().find(|line| line.starts_with("  read_names (")).unwrap_or_else(|| panic!("{text}"));
    assert!(site.contains(&place) && text.contains("      from main ("), "{text}");
    // A function that only passes an allocation on is not the site; exports have it.
    assert!(!text.contains("xmalloc") && !text.contains("toft_alloc"), "{text}");
    let folded = run(folder.path(), &["report", "s.json", "--folded", "-"]);
    assert!(folded.contains(";main;read_names;xmalloc;toft_alloc "), "{folded}");
    let text = run(folder.path(), &["report", "s.json", "--skip", "^read_"]);
    assert!(text.contains("\n  main (") && !text.contains("read_names"), "{text}");
    assert!(failure(folder.path(), &["report", "s.json", "--skip", "("], 2).contains("--skip <REGEX>"));
    // pprof drops wrappers, and has the others that are inlined as lines of one location.
    run(folder.path(), &["report", "s.json", "--pprof", "out.pb.gz"]);
    if let Some(raw) = pprof(folder.path(), &["-raw", "out.pb.gz"]) {
        let calls: Vec<_> = raw.lines().filter(|line| line.contains(" read_names ")).collect();
        assert!(calls.len() == 1 && calls[0].contains(": 0x"), "{raw}");
        assert!(!raw.contains("xmalloc") && !raw.contains("toft_alloc "), "{raw}");
        let id = snapshot["modules"][0]["build_id"].as_str().unwrap();
        let mapping = raw.lines().find(|line| line.contains(id)).unwrap_or_else(|| panic!("{raw}"));
        let begin = snapshot["modules"][0]["address"].as_str().unwrap();
        assert!(mapping.contains(begin) && mapping.contains(program.to_str().unwrap()), "{mapping}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn another_build_names_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (program, file) = (folder.path().join("program"), folder.path().join("s.json"));
    std::fs::write(&file, build_and_run(&program, 200)).unwrap();
    build_and_run(&program, 300);
    let said = |reason: &str| {
        let output = toft(folder.path(), &["report", "s.json", "--text", "--pprof", "out.pb.gz"]);
        let (text, error) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        let begin = format!("toft: {} {reason}", program.display());
        assert!(output.status.success() && error.starts_with(&begin) && error.lines().count() == 1, "{error}");
        assert!(!text.contains("read_names") && text.contains(" (program)"), "{text}");
    };
    said("is not the file that the process ran: its build id differs");
    // pprof finds the missing names when the first build is in its place again.
    build_and_run(&program, 200);
    if let Some(top) = pprof(folder.path(), &["-top", "-cum", "-nodefraction=0", "out.pb.gz"]) {
        assert!(top.contains("read_names"), "{top}");
    }
    std::fs::remove_file(&program).unwrap();
    said("is not there, or is no program");
}

#[test]
fn a_snapshot_without_sites_is_not_exported() {
    let folder = tempfile::tempdir().unwrap();
    let mut snapshot = input("game.json");
    snapshot["sites"] = json!([]);
    std::fs::write(folder.path().join("x.json"), snapshot.to_string()).unwrap();
    let error = failure(folder.path(), &["report", "x.json", "--folded", "-"], 1);
    assert!(error.starts_with("toft: x.json: it contains no call sites") && error.contains("set_sampling"), "{error}");
}

// ---- errors ----

#[test]
fn errors_name_the_file_and_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("good.json"), input("game.json").to_string()).unwrap();
    std::fs::write(path("advice.json"), input("advice.json").to_string()).unwrap();
    std::fs::write(path("cut.json"), &input("game.json").to_string()[..999]).unwrap();
    std::fs::write(path("deep.json"), "{\"toft_advice\":".to_string() + &"[".repeat(100_000)).unwrap();
    for (arguments, code, begin) in [
        (&["report", "none.json"][..], 1, "toft: none.json: the file cannot be read: "),
        (&["report", "."], 1, "toft: .: the file cannot be read: "),
        (&["report", "cut.json"], 1, "toft: cut.json:1: the file ends within the document"),
        (&["report", "deep.json"], 1, "toft: deep.json:1: "),
        (&["report", "good.json", "cut.json"], 1, "toft: cut.json:1: the file ends"),
        (&["report", "good.json", "advice.json"], 1, "toft: advice.json: this is an advice, which is shown alone"),
        (&["report", "--diff", "advice.json", "good.json"], 1, "toft: advice.json: this is an advice; --diff"),
        (&["report", "--diff", "good.json"], 2, "toft: --diff compares two files"),
        (&["report", "good.json", "--html", "none/x.html"], 1, "toft: none/x.html: the output cannot be written"),
        (&["report", "good.json", "--html", "./good.json"], 1, "toft: ./good.json: this is the input"),
        (&["report", "--html", "x.html"], 2, "error: the following required arguments were not provided"),
        (
            &["report", "--diff", "good.json", "good.json", "--pprof", "x"],
            2,
            "error: the argument '--diff' cannot be used",
        ),
        (&["report", "good.json", "--weight", "count"], 2, "error: the following required arguments were not provided"),
    ] {
        let error = failure(folder.path(), arguments, code);
        assert!(error.starts_with(begin), "{arguments:?}: {error}");
    }
    assert_eq!(std::fs::read_to_string(path("good.json")).unwrap(), input("game.json").to_string());
}

// ---- hostile and large input ----

const HOSTILE: &str = "</script><img src=x onerror=\"hostile=1\">\u{1b}[31m\u{202e}{{script}}\n;'&";

/// The value with a hostile text in place of each string that is not part of the format.
fn hostile(value: &mut Value, key: &str) {
    match value {
        Value::String(text) if !["address", "verdict", "recipe"].contains(&key) => *text = HOSTILE.into(),
        Value::Array(list) => list.iter_mut().for_each(|value| hostile(value, key)),
        Value::Object(object) => object.iter_mut().for_each(|(key, value)| hostile(value, &key.clone())),
        _ => {}
    }
}

#[test]
fn hostile_names_are_inert() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["game.json", "advice.json", "frames.jsonl"] {
        let text = std::fs::read_to_string(inputs().join(name)).unwrap();
        let mut documents: Vec<Value> =
            serde_json::Deserializer::from_str(&text).into_iter().map(Result::unwrap).collect();
        documents.iter_mut().for_each(|document| hostile(document, ""));
        if name == "frames.jsonl" {
            documents[7]["last"]["findings"][1] = json!({HOSTILE: {HOSTILE: HOSTILE}});
        }
        let documents: Vec<_> = documents.iter().map(Value::to_string).collect();
        std::fs::write(folder.path().join("x"), documents.join("\n")).unwrap();
        let text = run(folder.path(), &["report", "x", "--text", "--html", "x.html"]);
        is_narrow(&text);
        assert!(!text.contains(['\u{1b}', '\u{202e}', '\r']), "{text}");
        let page = std::fs::read_to_string(folder.path().join("x.html")).unwrap();
        assert!(!page.contains("<img") && !page.contains('\u{202e}') && !page.contains('\u{1b}'));
        // The blocks of data, and the script itself.
        let blocks = page.matches("<script type=\"application/json\"").count();
        assert_eq!((page.matches("</script>").count(), page.matches("<script>").count()), (blocks + 1, 1));
        run(folder.path(), &["report", "x", "--folded", "x.folded", "--pprof", "x.gz"]);
        let folded = std::fs::read_to_string(folder.path().join("x.folded")).unwrap();
        assert!(folded.lines().all(|line| line.rsplit(' ').next().unwrap().parse::<u64>().is_ok()), "{folded}");
        pprof(folder.path(), &["-top", "x.gz"]);
    }
}

/// The text with one change: a piece removed or repeated, another character, another number.
fn mutated(text: &str, random: &mut impl FnMut(usize) -> usize) -> String {
    let at = |random: &mut dyn FnMut(usize) -> usize| {
        let at = random(text.len());
        (at..).find(|at| text.is_char_boundary(*at)).unwrap()
    };
    let (a, b) = (at(random), at(random));
    let (a, b) = (a.min(b), a.max(b).min(a.min(b) + 40));
    match random(10) {
        0 => text[..a].to_string() + &text[b..],
        1 => text[..b].to_string() + &text[a..],
        2 => text[..a].to_string() + ["{", "]", "\"", ",", "null", "\u{7}", "//", "[[[["][random(8)] + &text[a..],
        _ => {
            // The first number from there on.
            let begin = text[a..].find(|c: char| c.is_ascii_digit()).map_or(text.len(), |digit| a + digit);
            let end = text[begin..].find(|c: char| !c.is_ascii_digit()).map_or(text.len(), |other| begin + other);
            let number = ["18446744073709551615", "18446744073709551616", "0", "-1", "1e308", "0.5"][random(6)];
            text[..begin].to_string() + number + &text[end..]
        }
    }
}

#[test]
fn changed_input_never_panics() {
    let folder = tempfile::tempdir().unwrap();
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut random = |n: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as usize % n
    };
    let (mut read, mut refused) = (0, 0);
    for name in ["game.json", "frames.jsonl", "advice.json"] {
        let text = std::fs::read_to_string(inputs().join(name)).unwrap();
        for _ in 0..60 {
            let mut changed = mutated(&text, &mut random);
            if random(2) == 0 {
                changed = mutated(&changed, &mut random);
            }
            std::fs::write(folder.path().join("x"), &changed).unwrap();
            let outputs = ["--text", "--html", "h", "--pprof", "p", "--folded", "f"];
            let output = toft(folder.path(), &[&["report", "x"], &outputs[..]].concat());
            let error = String::from_utf8(output.stderr).unwrap();
            match output.status.code() {
                Some(0) => read += 1,
                Some(1) if error.starts_with("toft: x:") => refused += 1,
                code => panic!("{code:?}: {error}\n{changed}"),
            }
            is_narrow(&String::from_utf8(output.stdout).unwrap());
        }
    }
    assert!(read > 20 && refused > 20, "{read} read, {refused} refused");
}

/// Sites with stacks of 6 calls.
fn large(sites: u64) -> String {
    let mut text = String::from(
        "{\"version\":1,\"stats\":{\"live\":1,\"allocated\":1,\"peak\":1,\"budget\":null,\"reserved\":1,\"wasted\":0,\
         \"blocks\":1,\"source_calls\":1},\"tags\":[],\"phases\":[],\"sites\":[",
    );
    for site in 0..sites {
        let comma = if site == 0 { "" } else { "," };
        write!(
            text,
            "{comma}{{\"site\":{{\"file\":\"f.c\",\"line\":{site},\"column\":0,\"number\":0}},\"tag\":\"t{}/u{}\",\
             \"count\":{},\"bytes\":{},\"stack\":[",
            site % 7,
            site % 49,
            site % 97 + 1,
            (site * 7919) % 100_003 + 16
        )
        .unwrap();
        for call in 0..6u64 {
            let (comma, function) = (if call == 0 { "" } else { "," }, if call == 0 { site } else { site >> call });
            write!(
                text,
                "{comma}{{\"address\":\"0x{:x}\",\"function\":\"module_{call}::function_{function}\",\"offset\":4,\
                 \"module\":\"/usr/bin/large\",\"file\":\"src/module_{call}.c\",\"line\":{}}}",
                function + (call << 32),
                function % 1000 + 1
            )
            .unwrap();
        }
        text.push_str("]}");
    }
    text.push_str("]}");
    text
}

#[test]
fn many_sites_are_read() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("large.json"), large(10_000)).unwrap();
    let text = run(folder.path(), &["report", "large.json", "--text", "--html", "large.html", "--pprof", "large.gz"]);
    assert!(text.contains("Sites, 10 of 10,000") && text.lines().count() < 100, "{text}");
    let size = std::fs::metadata(folder.path().join("large.html")).unwrap().len();
    assert!(size < 2 << 20, "{size}");
    if let Some(top) = pprof(folder.path(), &["-top", "-nodefraction=0", "-nodecount=5", "large.gz"]) {
        assert!(top.contains("module_0::function_5367"), "{top}");
    }
}

/// Where cli/check-report finds the pages that it opens in a browser.
fn pages() -> Option<PathBuf> {
    let folder = PathBuf::from(std::env::var_os("TOFT_PAGES")?);
    std::fs::create_dir_all(&folder).unwrap();
    Some(folder)
}

#[test]
fn pages_for_the_browser() {
    let Some(folder) = pages() else { return };
    for (page, arguments) in [
        ("game.html", &["game.json"][..]),
        ("diff.html", &["--diff", "game.json", "later.json"]),
        ("frames.html", &["frames.jsonl"]),
        ("advice.html", &["advice.json"]),
    ] {
        let out = folder.join(page);
        run(&inputs(), &[&["report", "--html", out.to_str().unwrap()], arguments].concat());
    }
    std::fs::write(folder.join("large.json"), large(100_000)).unwrap();
    run(&folder, &["report", "large.json", "--html", "large.html"]);
    std::fs::remove_file(folder.join("large.json")).unwrap();
    let mut snapshot = input("game.json");
    hostile(&mut snapshot, "");
    std::fs::write(folder.join("hostile.json"), snapshot.to_string()).unwrap();
    let mut advice = input("advice.json");
    hostile(&mut advice, "");
    std::fs::write(folder.join("hostile-advice.json"), advice.to_string()).unwrap();
    let long =
        input("game.json").to_string().replace("level", &"l".repeat(3000)).replace("find_path", &"f".repeat(3000));
    std::fs::write(folder.join("long.json"), long).unwrap();
    let long = input("advice.json").to_string().replace("parse_document", &"p".repeat(3000));
    std::fs::write(folder.join("long-advice.json"), long).unwrap();
    for name in ["hostile", "hostile-advice", "long", "long-advice"] {
        run(&folder, &["report", &format!("{name}.json"), "--html", &format!("{name}.html")]);
    }
}

// ---- the manual ----

/// The command lines of docs/report.md are run where its files are, and their text is compared.
#[test]
fn the_manual_is_true() {
    let manual = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/report.md");
    let manual = std::fs::read_to_string(manual).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(inputs()).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
    }
    let programs = Path::new(TOFT).parent().unwrap().to_path_buf();
    let path =
        std::env::join_paths([programs].into_iter().chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())))
            .unwrap();
    let (mut commands, mut blocks) = (0, manual.split("```").skip(1).step_by(2).peekable());
    while let Some(block) = blocks.next() {
        let Some(block) = block.strip_prefix("sh\n") else { continue };
        let mut shown = String::new();
        for line in block.lines().filter(|line| !line.starts_with('#')) {
            let has_go = Command::new("go").arg("version").output().is_ok();
            if line.starts_with("go ") && !has_go {
                println!("skipped: there is no go: {line}");
                continue;
            }
            let output = Command::new("bash")
                .args(["-euc", line])
                .env("PATH", &path)
                .current_dir(folder.path())
                .output()
                .unwrap();
            assert!(output.status.success(), "{line}\n{}", String::from_utf8_lossy(&output.stderr));
            shown += &String::from_utf8(output.stdout).unwrap();
            commands += 1;
        }
        if let Some(text) = blocks.peek().and_then(|block| block.strip_prefix("text\n")) {
            assert!(shown.contains(text), "{block}\nprints\n{shown}\nwhich does not contain\n{text}");
        }
    }
    assert!(commands >= 8, "{commands}");
}
