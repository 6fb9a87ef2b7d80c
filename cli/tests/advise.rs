//! `toft advise` on programs whose allocations are known.
// SPDX-License-Identifier: MIT OR Apache-2.0

use crate::{is_given, unavailable, Folder, TOFT};
use serde_json::Value;
use std::{path::Path, process::Command};

impl Folder {
    /// Advice that must be given.
    fn advice(&self, options: &[&str], program: &Path, arguments: &[&str]) -> Value {
        let (done, advice) = self.advise(options, program, arguments);
        assert!(is_given(done.status), "{}", String::from_utf8_lossy(&done.stderr));
        assert!(!done.stdout.is_empty());
        advice
    }

    /// The error of a program that cannot be recorded.
    fn error(&self, program: &Path, arguments: &[&str]) -> String {
        let (done, advice) = self.advise(&[], program, arguments);
        assert_eq!((done.status.code(), advice), (Some(1), Value::Null));
        String::from_utf8(done.stderr).unwrap()
    }
}

fn scope<'a>(advice: &'a Value, function: &str) -> &'a Value {
    let scopes = advice["scopes"].as_array().unwrap();
    scopes
        .iter()
        .find(|s| s["function"]["function"] == function)
        .unwrap_or_else(|| panic!("no {function}: {scopes:#?}"))
}

fn functions(stack: &Value) -> Vec<&str> {
    stack.as_array().unwrap().iter().map(|f| f["function"].as_str().unwrap_or("?")).collect()
}

fn notes(advice: &Value) -> String {
    advice["notes"].as_array().unwrap().iter().map(|n| n.as_str().unwrap()).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_scope_is_found_with_its_sites_and_escapes() {
    let folder = Folder::new();
    let program = folder.compile("parse.c", "parse", &["-g"]);
    let advice = folder.advice(&[], &program, &[]);
    let parse = scope(&advice, "parse");
    assert_eq!(parse["recipe"], "scratch");
    assert_eq!(parse["instances"], 5_000);
    assert_eq!(parse["objects"]["median"], 40);
    assert_eq!(parse["captured"], 200_000);
    assert_eq!(parse["escaped"], 50);
    assert!(parse["function"]["file"].as_str().unwrap().ends_with("parse.c"));
    assert!((26..=32).contains(&parse["function"]["line"].as_u64().unwrap()), "{}", parse["function"]);
    assert_eq!(functions(&parse["sites"][0]["stack"]), ["copy", "parse"]);
    assert_eq!((&parse["sites"][0]["count"], &parse["sites"][0]["bytes"]), (&200_000.into(), &(24 * 200_000).into()));
    let escape = &parse["escapes"][0];
    assert_eq!(escape["count"], 50);
    assert_eq!(functions(&escape["allocated"]), ["copy", "keep", "parse"]);
    assert_eq!(functions(&escape["freed"])[0], "main");
    assert!(advice["events"].as_u64().unwrap() >= 400_100);
    let live: Vec<_> = advice["curve"]["live"].as_array().unwrap().iter().map(number).collect();
    assert_eq!(live.iter().max(), Some(&number(&advice["peak"])));
    let module = advice["modules"].as_array().unwrap().iter().find(|m| m["module"] == program.to_str().unwrap());
    assert!(module.unwrap()["build_id"].is_string() && module.unwrap()["address"] != "0x0", "{module:?}");
}

/// The bytes of sites.
fn sum(sites: &Value) -> u64 {
    sites.as_array().unwrap().iter().map(|site| number(&site["bytes"])).sum()
}

#[test]
fn similar_lifetimes_are_distinguished() {
    let folder = Folder::new();
    let program = folder.compile("lifetimes.c", "lifetimes", &["-g"]);
    let advice = folder.advice(&[], &program, &[]);
    for function in ["first_half", "second_half", "keep_second"] {
        assert_eq!(scope(&advice, function)["captured"], 10_000, "{function}");
    }
    assert_eq!(scope(&advice, "keep_second")["escaped"], 10_000);
    assert_eq!(scope(&advice, "call_twice")["captured"], 30_000);
    assert_eq!(scope(&advice, "phase")["captured"], 20_000);
    let scopes = advice["scopes"].as_array().unwrap();
    assert!(!scopes.iter().any(|s| s["function"]["function"] == "alternate"), "{scopes:#?}");
    // Both halves, what keep_second returns, and the objects of call_twice and phase.
    assert_eq!(advice["temporary_objects"], 70_000);
    assert_eq!(advice["temporary"][0]["count"], 20_000);
    assert_eq!(functions(&advice["temporary"][0]["stack"])[0], "call_twice");
    assert_eq!(sum(&advice["at_peak"]), number(&advice["peak"]));
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("no number: {value}"))
}

/// The objects are in arenas while the program runs, and nothing else changes.
#[test]
fn a_scope_is_tried_in_the_program() {
    let folder = Folder::new();
    let program = folder.compile("trials.c", "trials", &["-g"]);
    let advice = folder.advice(&["--seconds", "5"], &program, &["tree"]);
    let document = scope(&advice, "document");
    let trial = &document["trial"];
    assert_eq!(document["captured"], 400 * 2047);
    assert!((400 * 1900..=400 * 2047).contains(&number(&trial["routed"])), "{trial}");
    assert_eq!((&trial["instances"], &trial["left"]), (&400.into(), &0.into()));
    let pairs = number(&trial["hooks"]["runs"]);
    assert!((1..=6).contains(&pairs) && advice["cpu"]["runs"] == pairs, "{advice:#?}");
    for figure in [&advice["cpu"], &trial["hooks"], &trial["without_traversal"]] {
        let [low, median, high] = ["low", "median", "high"].map(|part| figure[part].as_f64().unwrap());
        assert!(low <= median && median <= high, "{figure}");
    }
    // The tree is deleted in runs of frees, which take some time.
    let [hooks, more] = ["hooks", "without_traversal"].map(|part| trial[part]["median"].as_f64().unwrap());
    assert!(more > hooks, "{trial}");
}

/// They end with the process, also those of paths that the recording does not have.
#[test]
fn objects_that_are_never_freed_belong_to_main() {
    let folder = Folder::new();
    let program = folder.compile("trials.c", "trials", &["-g"]);
    let advice = folder.advice(&["--seconds", "2"], &program, &["kept"]);
    let scopes = advice["scopes"].as_array().unwrap();
    // An object that is freed before them ends nothing.
    assert!(scopes.iter().all(|s| s["recipe"] == "process" && s["trial"]["routed"] == 401), "{advice:#?}");
    assert_ne!(advice["verdict"], "use-arenas");
}

#[test]
fn documents_of_a_loop_are_generations() {
    let folder = Folder::new();
    let program = folder.compile("trials.c", "trials", &["-g", "-O1"]);
    let advice = folder.advice(&["--seconds", "2"], &program, &["loop"]);
    let main = scope(&advice, "loop"); // in main
    assert_eq!((&main["recipe"], &main["instances"]), (&"generations".into(), &400.into()));
    assert_eq!((&main["captured"], &main["escaped"]), (&400_000.into(), &1.into()));
    assert_eq!((&main["trial"]["instances"], &main["trial"]["left"]), (&400.into(), &0.into()));
    assert_eq!((&main["resets"][0]["count"], functions(&main["resets"][0]["stack"])[0]), (&399.into(), "loop"));
}

/// The program checks the contents of its objects; a trial that ends otherwise is not measured. Each of these is one way in
/// which an object can leave its call.
#[test]
fn objects_that_live_longer_stay_valid() {
    let folder = Folder::new();
    let program = folder.compile("trials.c", "trials", &["-g"]);
    let why = |advice: &Value, function: &str| scope(advice, function)["reason"].as_str().unwrap().to_owned();
    let advice = folder.advice(&["--seconds", "3"], &program, &["outlive"]);
    // The frame of keep_one ends at a call above it, with the object that it returns.
    assert!(why(&advice, "keep_one").contains("an object was alive after 100 % of the calls"), "{advice:#?}");
    for how in ["threads", "fork"] {
        let advice = folder.advice(&["--seconds", "3"], &program, &[how]);
        // Which scopes are tried is a question of times where there are more than three.
        let scopes = advice["scopes"].as_array().unwrap();
        assert!(scopes.iter().any(|s| s["trial"] != Value::Null), "{how}: {advice:#?}");
        assert!(
            !scopes.iter().any(|s| s["reason"].as_str().unwrap().contains("the program ends")),
            "{how}: {advice:#?}"
        );
    }
    let advice = folder.advice(&["--seconds", "3"], &program, &["relatives"]);
    let relatives = scope(&advice, "relatives");
    assert_eq!(relatives["trial"]["left"], 0, "{relatives}");
    // But for one in each call, which is aligned to more than a page.
    let captured = number(&relatives["captured"]);
    assert!((captured * 9 / 10..=captured - 400).contains(&number(&relatives["trial"]["routed"])), "{relatives}");
}

#[test]
fn a_plain_run_and_a_pair_are_made_in_any_case() {
    let folder = Folder::new();
    let program = folder.compile("trials.c", "trials", &["-g"]);
    let (done, advice) = folder.advise_in_full(&["--seconds", "0"], &program, &["tree"]);
    assert!(is_given(done.status), "{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(scope(&advice, "document")["trial"]["hooks"]["runs"], 1);
    assert_eq!((&advice["verdict"], advice["mallocs"].as_array().unwrap().len()), (&"not-decided".into(), 1));
    let summary = advice["summary"].as_str().unwrap();
    assert!(summary.contains("1 of the 6 runs") && summary.contains("--seconds"), "{summary}");
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(said.contains("toft: recording the program\n") && said.contains("with arenas"), "{said}");
}

/// A recycler is one of the mallocs. The program checks malloc and its relatives.
#[test]
fn a_recycler_is_a_malloc() {
    let folder = Folder::new();
    let program = folder.compile("mallocs.c", "mallocs", &["-g"]);
    let names = |advice: &Value| -> Vec<String> {
        advice["mallocs"].as_array().unwrap().iter().map(|m| m["name"].as_str().unwrap().to_owned()).collect()
    };
    for (arguments, seconds) in [(&[][..], "1"), (&["handlers"], "0")] {
        let (done, advice) = folder.advise_in_full(&["--seconds", seconds], &program, arguments);
        assert!(is_given(done.status), "{}", String::from_utf8_lossy(&done.stderr));
        assert!(names(&advice).iter().any(|n| n.starts_with("a recycler")), "{advice:#?}");
        assert_ne!(scope(&advice, "document")["trial"], Value::Null);
    }
    let (_, advice) = folder.advise_in_full(&["--seconds", "1"], &program, &["thread"]);
    assert!(!names(&advice).iter().any(|n| n.starts_with("a recycler")), "{advice:#?}");
}

#[test]
fn an_inlined_function_is_named() {
    let folder = Folder::new();
    let program = folder.compile("parse.c", "parse", &["-g", "-O2", "-DINLINED"]);
    let advice = folder.advice(&[], &program, &[]);
    let parse = scope(&advice, "parse");
    assert_eq!(parse["function"]["inlined"], true);
    assert_eq!(functions(&parse["sites"][0]["stack"]), ["copy", "parse", "main"]);
    // With the buffer of standard output.
    assert_eq!((&parse["captured"], &parse["escaped"]), (&200_001.into(), &50.into()));
}

/// The nearest exported symbol of a stripped file is a wrong name.
#[test]
fn a_stripped_function_has_no_name() {
    let folder = Folder::new();
    let program = folder.compile("parse.c", "parse", &["-s", "-rdynamic"]);
    let advice = folder.advice(&[], &program, &[]);
    let is_parse = |s: &&Value| s["instances"] == 5_000 && s["recipe"] == "scratch";
    let nameless = advice["scopes"].as_array().unwrap().iter().find(is_parse).unwrap();
    assert_eq!(nameless["function"]["function"], Value::Null);
    assert!(nameless["function"]["module"].as_str().unwrap().ends_with("/parse"));
    assert!(nameless["function"]["offset"].as_u64().unwrap() > 0);
}

#[test]
fn each_run_reads_the_input_and_the_arguments() {
    let folder = Folder::new();
    let program = folder.compile("parse.c", "parse", &[]);
    let (done, _) = folder.advise(&["--output"], &program, &["word", "3"]);
    let shown = String::from_utf8(done.stdout).unwrap();
    assert!(shown.starts_with("word first line\n"), "{shown}");
    assert!(shown.contains("exit code 3"), "{shown}");
}

#[test]
fn a_fork_has_its_own_recording_and_nothing_is_lost_at_exec() {
    let folder = Folder::new();
    let program = folder.compile("processes.c", "processes", &["-g"]);
    for (how, note) in [("fork", "is a fork"), ("exec", "did not exit regularly")] {
        let advice = folder.advice(&[], &program, &[how]);
        assert_eq!(
            (&advice["objects"], &scope(&advice, "work")["captured"]),
            (&320_000.into(), &320_000.into()),
            "{how}"
        );
        assert!(notes(&advice).contains(note), "{}", notes(&advice));
    }
}

#[test]
fn frees_by_other_threads_match() {
    let folder = Folder::new();
    let program = folder.compile("processes.c", "processes", &["-g"]);
    let advice = folder.advice(&[], &program, &["threads"]);
    assert_eq!(advice["threads"], 3);
    assert_eq!(advice["curve"]["live"].as_array().unwrap().len(), 200);
    assert_eq!(scope(&advice, "work")["captured"], 3 * 5000 * 16);
    assert!(notes(&advice).contains("8 % of the objects are freed by another thread"), "{}", notes(&advice));
}

#[test]
fn merged_advice_is_the_sum() {
    let folder = Folder::new();
    let program = folder.compile("parse.c", "parse", &["-g"]);
    folder.advice(&[], &program, &[]);
    let (one, two, sum) = (folder.0.path().join("one"), folder.0.path().join("two"), folder.0.path().join("sum"));
    std::fs::rename(folder.0.path().join("advice.json"), &one).unwrap();
    let once: Value = serde_json::from_slice(&std::fs::read(&one).unwrap()).unwrap();
    let mut larger = once.clone();
    (larger["peak"], larger["curve"]["live"][0]) = ((number(&once["peak"]) + 1).into(), 7.into());
    std::fs::write(&two, larger.to_string()).unwrap();
    let done =
        Command::new(TOFT).args(["advise", "--out"]).arg(&sum).arg("--merge").args([&one, &two]).output().unwrap();
    assert!(is_given(done.status), "{}", String::from_utf8_lossy(&done.stderr));
    let sum: Value = serde_json::from_slice(&std::fs::read(sum).unwrap()).unwrap();
    assert_eq!(scope(&sum, "parse")["captured"], 400_000);
    assert_eq!(number(&sum["temporary_objects"]), 2 * number(&once["temporary_objects"]));
    for member in ["peak", "at_peak", "curve", "growing"] {
        assert_eq!(sum[member], larger[member], "{member}");
    }
    let other = folder.0.path().join("other");
    std::fs::write(&other, "{}").unwrap();
    let done = Command::new(TOFT).args(["advise", "--merge"]).args([&one, &other]).output().unwrap();
    assert_eq!(done.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&done.stderr).contains("other is not an advice"));
}

#[test]
fn programs_that_cannot_be_recorded_get_a_reason() {
    let folder = Folder::new();
    let killed = folder.compile("processes.c", "processes", &[]);
    assert!(folder.error(&killed, &["kill"]).contains("signal 9"));
    let linked = folder.compile("parse.c", "static", &["-static"]);
    assert!(folder.error(&linked, &[]).contains("linked statically"));
    let checked = folder.compile("parse.c", "checked", &["-fsanitize=address"]);
    assert!(folder.error(&checked, &[]).contains("sanitizer"));
    assert!(folder.error(Path::new("/nowhere/program"), &[]).contains("does not exist"));
    assert!(folder.error(Path::new("no-such-program"), &[]).contains("is not in PATH"));
    let text = folder.0.path().join("text");
    std::fs::write(&text, "text").unwrap();
    assert!(folder.error(&text, &[]).contains("chmod +x"));
}

#[test]
fn a_program_in_go_gets_a_reason() {
    let folder = Folder::new();
    let source = folder.0.path().join("main.go");
    std::fs::write(&source, "package main\nfunc main() {}\n").unwrap();
    let program = folder.0.path().join("main");
    let built = Command::new("go").arg("build").arg("-o").arg(&program).arg(&source).env("GO111MODULE", "off").status();
    if !built.is_ok_and(|s| s.success()) {
        return unavailable("go", true);
    }
    assert!(folder.error(&program, &[]).contains("is a program in Go"));
}
