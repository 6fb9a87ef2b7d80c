//! `--help`, the manual pages and the documents describe the same options.
// SPDX-License-Identifier: MIT OR Apache-2.0

use crate::TOFT;
use std::{collections::BTreeSet, path::Path, process::Command};

/// The words of a text that are options.
fn options(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_lowercase() || c == '-';
    let words = text.split(|c| !is_part(c));
    words.filter(|w| w.starts_with("--") && w.len() > 3 && !w.ends_with('-')).map(str::to_owned).collect()
}

fn toft(arguments: &[&str]) -> String {
    let done = Command::new(TOFT).args(arguments).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn help_manual_and_documents_agree() {
    let folder = tempfile::tempdir().unwrap();
    toft(&["manual", folder.path().to_str().unwrap()]);
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    for command in ["advise", "report", "run"] {
        let help = toft(&[command, "--help"]);
        let described = help.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
        let mut known: BTreeSet<String> =
            described.flat_map(|line| options(line.split("  ").next().unwrap())).collect();
        assert!(known.len() > 5, "{help}");
        let manual = std::fs::read_to_string(folder.path().join(format!("toft-{command}.1"))).unwrap();
        let in_manual = options(&manual.replace("\\-", "-").replace('\\', " "));
        assert_eq!(known.difference(&in_manual).collect::<Vec<_>>(), Vec::<&String>::new(), "not in toft-{command}.1");
        known.retain(|name| name != "--help" && name != "--version");
        let page = std::fs::read_to_string(docs.join(format!("{command}.md"))).unwrap();
        let in_page = options(&page);
        assert_eq!(known.difference(&in_page).collect::<Vec<_>>(), Vec::<&String>::new(), "not in {command}.md");
        // What the page gives to the command, up to the program's own arguments.
        let calls = page.lines().filter_map(|line| line.split_once(&format!("toft {command} ")));
        let given: BTreeSet<String> =
            calls.flat_map(|(_, rest)| options(format!(" {rest}").split(" -- ").next().unwrap())).collect();
        let rows = page.lines().filter(|line| line.starts_with("| `--")).filter_map(|line| line.split('|').nth(1));
        let named: BTreeSet<String> = rows.flat_map(options).chain(given).collect();
        assert_eq!(named.difference(&known).collect::<Vec<_>>(), Vec::<&String>::new(), "in {command}.md alone");
    }
}
