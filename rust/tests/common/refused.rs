//! Programs in `tests/ui` that must not compile. A function of them is a misuse, and has an error of its own.
//!
//! A comment at the line of an error has its code, or the beginning of its message if it has none: `//~ E0505`. Several are
//! separated by ` | `;
//! `E0277 * 2` is two.
// SPDX-License-Identifier: MIT OR Apache-2.0

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

const PACKAGE: &str = env!("CARGO_MANIFEST_DIR");

/// Compiles the programs with these dependencies, lines of a Cargo.toml in which PACKAGE is the folder of the package,
/// and compares their errors, and the number of the errors, with the comments.
pub fn check(dependencies: &str, errors: usize) {
    let files = std::fs::read_dir(Path::new(PACKAGE).join("tests/ui")).unwrap().map(|file| file.unwrap().path());
    let programs: Vec<_> = files.collect();
    let mut found = compile(&programs, &dependencies.replace("PACKAGE", PACKAGE));
    let mut count = 0;
    for program in &programs {
        let code = std::fs::read_to_string(program).unwrap();
        let mut lines = found.remove(&name_of(program)).unwrap_or_default();
        for (line, number) in code.lines().zip(1..) {
            let listed = listed_in(line);
            let here = lines.remove(&number).unwrap_or_default();
            count += here.len();
            let same = here.len() == listed.len()
                && here.iter().zip(&listed).all(|((error, _), text)| error.starts_with(text));
            assert!(same, "{}:{number}: {:?}, not {listed:?}", program.display(), here.iter().map(|(code, _)| code));
        }
        assert!(lines.is_empty(), "{}: {lines:?}", program.display());
        each_function_has_an_error(program, &code);
    }
    assert_eq!(count, errors);
}

fn listed_in(line: &str) -> Vec<&str> {
    let items = line.split_once(" //~ ").map_or("", |(_, items)| items).split(" | ").filter(|item| !item.is_empty());
    let counted = items.map(|item| item.split_once(" * ").unwrap_or((item, "1")));
    counted.flat_map(|(text, times)| std::iter::repeat_n(text, times.parse().unwrap())).collect()
}

fn name_of(program: &Path) -> String {
    program.file_stem().unwrap().to_str().unwrap().to_owned()
}

/// Returns the errors of each program by their lines.
fn compile(programs: &[PathBuf], dependencies: &str) -> BTreeMap<String, BTreeMap<usize, BTreeSet<(String, String)>>> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(concat!("refused-", env!("CARGO_PKG_NAME")));
    std::fs::create_dir_all(&folder).unwrap();
    let lock = Path::new(PACKAGE).ancestors().map(|above| above.join("Cargo.lock")).find(|lock| lock.exists()).unwrap();
    std::fs::copy(&lock, folder.join("Cargo.lock")).unwrap();
    let becomes = lock.with_file_name("rust/tests/becomes");
    let mut package =
        String::from("[package]\nname = \"refused\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n");
    for program in programs {
        package += &format!("[[bin]]\nname = {:?}\npath = {program:?}\n", name_of(program));
    }
    std::fs::write(
        folder.join("Cargo.toml"),
        format!("{package}[dependencies]\ntoft-becomes = {{ path = {becomes:?} }}\n{dependencies}\n"),
    )
    .unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["check", "--offline", "--keep-going", "--message-format=json", "--target-dir", "target"]);
    let output = cargo.current_dir(&folder).output().unwrap();
    let mut found = BTreeMap::<_, BTreeMap<_, BTreeSet<_>>>::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let (message, of) = (&line["message"], line["target"]["name"].as_str().unwrap_or_default());
        if let Some(at) = line_of(message, &format!("tests/ui/{of}.rs")) {
            let code = message["code"]["code"].as_str().or(message["message"].as_str()).unwrap().to_owned();
            // The compiler prints equal errors once.
            let rendered = message["rendered"].as_str().unwrap().to_owned();
            found.entry(of.to_owned()).or_default().entry(at).or_default().insert((code, rendered));
        }
    }
    assert!(!found.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    found
}

/// The line in the program of an error, also of one within a macro.
fn line_of(message: &Value, program: &str) -> Option<usize> {
    if message["level"] != "error" {
        return None;
    }
    let mut span = message["spans"].as_array()?.iter().find(|span| span["is_primary"] == true)?;
    while !span["file_name"].as_str()?.ends_with(program) {
        span = &span["expansion"]["span"];
    }
    Some(span["line_start"].as_u64()? as usize)
}

/// An error can hide others, of a later phase of the compiler.
fn each_function_has_an_error(program: &Path, code: &str) {
    let (mut open, mut has_error) = (None, false);
    for line in code.lines() {
        has_error |= line.contains(" //~ ");
        if line.starts_with("fn ") {
            (open, has_error) = (Some(line), line.contains(" //~ "));
        } else if line == "}" {
            let name = open.take();
            assert!(name.is_none() || has_error, "{}: no error in {}", program.display(), name.unwrap());
        }
    }
}
