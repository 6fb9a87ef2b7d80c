//! The profiles that the processes of a run write: one for each process, with lines for addresses that the library could
//! not name.
// SPDX-License-Identifier: MIT OR Apache-2.0

use crate::places::Places;
use crate::report::{resolve, Module, Site};
use anyhow::{Context, Result};
use serde_json::{json, Value};
use std::{
    ffi::OsString,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
    time::SystemTime,
};

/// Where profiles go. Without %p in the name each process writes to a file of its own, `NAME.PID.LIBRARY`; at the end that
/// of the program gets the name, and those of other processes become `NAME.PID`.
pub struct Profiles {
    path: PathBuf,
    began: SystemTime,
}

/// A profile that was written.
pub struct Written {
    path: PathBuf,
    pub is_main: bool,
    /// The signal that the library listened to.
    pub signal: Option<u64>,
    live: u64,
    arenas: u64,
    released: u64,
}

impl Profiles {
    pub fn new(path: &Path) -> Result<Profiles> {
        let path = std::path::absolute(path)?;
        let folder = path.parent().filter(|folder| folder.is_dir());
        folder.with_context(|| format!("there is no folder for {}; create it", path.display()))?;
        Ok(Profiles { path, began: SystemTime::now() })
    }

    fn has_pattern(&self) -> bool {
        self.path.as_os_str().as_bytes().windows(2).any(|two| two == b"%p")
    }

    /// The value of TOFT_PROFILE.
    pub fn pattern(&self) -> OsString {
        let mut bytes = self.path.as_os_str().as_bytes().to_vec();
        if !self.has_pattern() {
            bytes.extend_from_slice(b".%p.%l");
        }
        OsString::from_vec(bytes)
    }

    /// The files that were written since the start, with the numbers of their processes.
    fn files(&self) -> Result<Vec<(PathBuf, Value)>> {
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        let mut found = Vec::new();
        for entry in std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
            let path = entry?.path();
            let fresh = || path.metadata().and_then(|meta| meta.modified()).is_ok_and(|time| time >= self.began);
            if !self.matches(&path) || !fresh() {
                continue;
            }
            let Ok(text) = std::fs::read(&path) else { continue };
            if let Ok(profile) = serde_json::from_slice::<Value>(&text)
                && profile["process"]["id"].is_u64()
            {
                found.push((path, profile));
            }
        }
        found.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(found)
    }

    /// Whether a file's name is the pattern with a number for %p and a word for %l.
    fn matches(&self, path: &Path) -> bool {
        let pattern = self.pattern();
        let pattern = Path::new(&pattern).file_name().unwrap_or_default().as_bytes();
        fn fits(pattern: &[u8], name: &[u8]) -> bool {
            match pattern {
                [] => name.is_empty(),
                [b'%', kind @ (b'p' | b'l'), rest @ ..] => {
                    let part = |c: &u8| c.is_ascii_digit() || *kind == b'l' && (c.is_ascii_alphabetic() || *c == b'-');
                    let most = name.iter().take_while(|c| part(c)).count();
                    (1..=most).any(|n| fits(rest, &name[n..]))
                }
                [first, rest @ ..] => name.first() == Some(first) && fits(rest, &name[1..]),
            }
        }
        fits(pattern, path.file_name().unwrap_or_default().as_bytes())
    }

    /// Gives the files their names, and adds lines.
    pub fn collect(&self, main: u32, places: &mut Places) -> Result<Vec<Written>> {
        let mut processes: Vec<(u64, Vec<(PathBuf, Value)>)> = Vec::new();
        for (path, profile) in self.files()? {
            let id = profile["process"]["id"].as_u64().unwrap_or(0);
            match processes.iter_mut().find(|process| process.0 == id) {
                Some(process) => process.1.push((path, profile)),
                None => processes.push((id, vec![(path, profile)])),
            }
        }
        processes.sort_by_key(|process| (process.0 != u64::from(main), process.0));
        let mut written = Vec::new();
        for (id, files) in processes {
            let is_main = id == u64::from(main);
            let old: Vec<PathBuf> = files.iter().map(|(path, _)| path.clone()).collect();
            let path = match (self.has_pattern(), is_main) {
                (true, _) => old[0].clone(),
                (false, true) => self.path.clone(),
                (false, false) => {
                    let mut name = self.path.clone().into_os_string();
                    name.push(format!(".{id}"));
                    name.into()
                }
            };
            let mut profile = files.into_iter().map(|(_, profile)| profile).reduce(merge).unwrap_or(Value::Null);
            add_lines(&mut profile, places);
            std::fs::write(&path, format!("{profile}\n"))
                .with_context(|| format!("cannot write {}", path.display()))?;
            for file in old.iter().filter(|file| **file != path) {
                let _ = std::fs::remove_file(file);
            }
            let number = |object: &str, member: &str| profile[object][member].as_u64();
            written.push(Written {
                path,
                is_main,
                signal: number("process", "signal"),
                live: number("stats", "live").unwrap_or(0),
                arenas: number("process", "arenas").unwrap_or(0),
                released: number("process", "released").unwrap_or(0),
            });
        }
        Ok(written)
    }
}

impl Written {
    pub fn summary(&self) -> String {
        let Written { path, live, arenas, released, .. } = self;
        let of = if self.is_main { "" } else { " of another process" };
        let s = if *arenas == 1 { "" } else { "s" };
        format!(
            "toft: profile{of}: {}: {live} bytes are live in {arenas} arena{s}, {released} ended before; toft report shows it\n",
            path.display()
        )
    }
}

/// The sum of the profiles of two copies of Toft in one process.
fn merge(mut a: Value, b: Value) -> Value {
    fn add(to: &mut Value, from: &Value) {
        *to = match (to.as_u64(), from.as_u64()) {
            (Some(x), Some(y)) => json!(x + y),
            (None, Some(y)) => json!(y),
            _ => to.take(),
        };
    }
    fn add_all(to: &mut Value, from: &Value, names: &[&str]) {
        names.iter().for_each(|name| add(&mut to[*name], &from[*name]));
    }
    add_all(&mut a["process"], &b["process"], &["arenas", "released"]);
    let libraries = [&a["process"]["library"], &b["process"]["library"]].map(|name| name.as_str().unwrap_or(""));
    a["process"]["library"] = json!(libraries.join(", "));
    if a["process"]["signal"].is_null() {
        a["process"]["signal"] = b["process"]["signal"].clone();
    }
    add_all(
        &mut a["stats"],
        &b["stats"],
        &["live", "allocated", "peak", "reserved", "wasted", "blocks", "source_calls"],
    );
    if a["modules"].is_null() && b["modules"].is_array() {
        a["modules"] = json!([]);
    }
    let equal: [(&str, &[&str], &[&str]); 4] = [
        ("modules", &["address"], &[]),
        ("tags", &["name", "number"], &["live", "allocated"]),
        ("phases", &["name"], &["entries", "allocated", "kept"]),
        ("sites", &["site", "tag", "stack"], &["count", "bytes"]),
    ];
    for (list, keys, counts) in equal {
        for item in b[list].as_array().into_iter().flatten() {
            let items = a[list].as_array_mut();
            let Some(items) = items else { continue };
            match items.iter_mut().find(|known| keys.iter().all(|key| known[*key] == item[*key])) {
                Some(known) => add_all(known, item, counts),
                None => items.push(item.clone()),
            }
        }
    }
    a
}

/// Adds functions, files and lines to the calls that have an address alone.
fn add_lines(profile: &mut Value, places: &mut Places) {
    let sites = serde_json::from_value(profile["sites"].clone());
    let modules = serde_json::from_value(profile["modules"].clone());
    let (Ok::<Vec<Site>, _>(mut sites), Ok::<Vec<Module>, _>(modules)) = (sites, modules) else { return };
    resolve(&mut sites, &modules, places);
    profile["sites"] = json!(sites);
}
