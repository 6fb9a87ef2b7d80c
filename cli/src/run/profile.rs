//! The profiles that the processes of a run write: one for each process, with lines for addresses that the library could
//! not name.
// SPDX-License-Identifier: MIT OR Apache-2.0

use crate::places::Places;
use crate::report::{resolve, Report};
use anyhow::{Context, Result};
use regex_lite::Regex;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::{
    collections::BTreeMap,
    ffi::OsString,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
    time::SystemTime,
};

/// As docs/snapshot.md describes it.
#[derive(Deserialize, Serialize)]
struct Profile {
    #[serde(flatten)]
    report: Report,
    process: Process,
}

#[derive(Deserialize, Serialize)]
struct Process {
    id: u64,
    library: String,
    arenas: u64,
    released: u64,
    /// The signal that the library listens to.
    signal: Option<u64>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// Where profiles go. Without %p in the name each process writes to a file of its own, `NAME.PID.LIBRARY`; at the end that
/// of the program gets the name, and those of other processes become `NAME.PID`.
pub struct Profiles {
    path: PathBuf,
    began: SystemTime,
}

/// A profile that was written.
pub struct Written {
    path: PathBuf,
    is_main: bool,
    profile: Profile,
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

    /// The files that were written since the start.
    fn files(&self) -> Result<Vec<(PathBuf, Profile)>> {
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        let name = Path::new(&self.pattern()).file_name().unwrap_or_default().to_string_lossy().into_owned();
        let pattern = regex_lite::escape(&name).replace("%p", "[0-9]+").replace("%l", "[0-9A-Za-z-]+");
        let pattern = Regex::new(&format!("^{pattern}$"))?;
        let mut found = Vec::new();
        for entry in std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
            let path = entry?.path();
            let fresh = path.metadata().and_then(|meta| meta.modified()).is_ok_and(|time| time >= self.began);
            let matches = path.file_name().is_some_and(|name| pattern.is_match(&name.to_string_lossy()));
            if !fresh || !matches {
                continue;
            }
            let Ok(text) = std::fs::read(&path) else { continue };
            found.extend(serde_json::from_slice(&text).ok().map(|profile| (path, profile)));
        }
        found.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(found)
    }

    /// Gives the files their names, and adds lines.
    pub fn collect(&self, main: u32, places: &mut Places) -> Result<Vec<Written>> {
        let mut processes: BTreeMap<(bool, u64), Vec<(PathBuf, Profile)>> = BTreeMap::new();
        for (path, profile) in self.files()? {
            let id = profile.process.id;
            processes.entry((id != u64::from(main), id)).or_default().push((path, profile));
        }
        let mut written = Vec::new();
        for ((is_other, id), files) in processes {
            let is_main = !is_other;
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
            let profiles = files.into_iter().map(|(_, profile)| profile);
            let Some(mut profile) = profiles.reduce(sum) else { continue };
            resolve(&mut profile.report.sites, &profile.report.modules, places);
            let text = serde_json::to_string(&profile)? + "\n";
            std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
            for file in old.iter().filter(|file| **file != path) {
                let _ = std::fs::remove_file(file);
            }
            written.push(Written { path, is_main, profile });
        }
        Ok(written)
    }
}

impl Written {
    /// Whether it is that of the program, which handles the signal itself.
    pub fn handles_signal(&self) -> bool {
        self.is_main && self.profile.process.signal.is_none()
    }

    pub fn summary(&self) -> String {
        let Written { path, profile: Profile { report, process }, .. } = self;
        let of = if self.is_main { "" } else { " of another process" };
        let s = if process.arenas == 1 { "" } else { "s" };
        format!(
            "toft: profile{of}: {}: {} bytes are live in {} arena{s}, {} ended before; toft report shows it\n",
            path.display(),
            report.stats.live,
            process.arenas,
            process.released
        )
    }
}

/// Of two copies of Toft in one process.
fn sum(a: Profile, b: Profile) -> Profile {
    let process = Process {
        library: format!("{}, {}", a.process.library, b.process.library),
        arenas: a.process.arenas + b.process.arenas,
        released: a.process.released + b.process.released,
        signal: a.process.signal.or(b.process.signal),
        ..a.process
    };
    Profile { report: a.report.plus(&b.report), process }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn copies_in_one_process_are_summed() {
        let profile = |library: &str, live: u64| -> Profile {
            let stats = json!({"live": live, "allocated": live, "peak": live, "budget": null, "reserved": 64, "wasted": 0,
                "blocks": 1, "source_calls": 1});
            let process =
                json!({"id": 7, "library": library, "arenas": 1, "released": 2, "signal": null, "sampling": 512});
            let of = json!({"version": 1, "stats": stats, "tags": [], "phases": [], "sites": [], "process": process});
            serde_json::from_value(of).unwrap()
        };
        let found = json!(sum(profile("toft-c", 3), profile("toft-rust", 4)));
        assert_eq!(
            (&found["version"], &found["stats"]["live"], &found["stats"]["blocks"]),
            (&json!(1), &json!(7), &json!(2))
        );
        let expected = json!({"id": 7, "library": "toft-c, toft-rust", "arenas": 2, "released": 4, "signal": null, "sampling": 512});
        assert_eq!(found["process"], expected);
    }
}
