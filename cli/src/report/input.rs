//! Reads the files of `toft report`, and describes for each file that it cannot read the cause and the remedy.
// SPDX-License-Identifier: MIT OR Apache-2.0

use super::snapshot::{Frames, Moment, Report, VERSION};
use crate::advice::{self, Advice};
use anyhow::{bail, Context, Result};
use serde::de::IgnoredAny;
use serde::Deserialize;
use serde_json::Value;
use std::io::Read;
use std::path::{Path, PathBuf};

/// What the files contain.
pub enum Document {
    /// At least one snapshot, in the order of the files.
    Series(Vec<Moment>),
    Advice(Box<Advice>),
}

/// The members that distinguish the kinds of documents.
#[derive(Deserialize)]
struct Kind {
    toft_advice: Option<Value>,
    version: Option<Value>,
    stats: Option<IgnoredAny>,
    frame: Option<IgnoredAny>,
    threads: Option<IgnoredAny>,
}

const EXPECTED: &str =
    "toft report reads snapshots of arenas (docs/snapshot.md) and the advice that `toft advise` writes";

pub fn read(files: &[PathBuf]) -> Result<Document> {
    let mut series = Vec::new();
    for file in files {
        match read_file(file)? {
            Document::Series(moments) => series.extend(moments),
            advice if files.len() == 1 => return Ok(advice),
            Document::Advice(_) => {
                bail!("{}: this is an advice, which is shown alone: name no other file with it", file.display())
            }
        }
    }
    Ok(Document::Series(series))
}

fn read_file(file: &Path) -> Result<Document> {
    let name = file.display();
    let mut bytes = Vec::new();
    let done = if file == Path::new("-") {
        std::io::stdin().read_to_end(&mut bytes).map(drop)
    } else {
        std::fs::read(file).map(|read| bytes = read)
    };
    done.with_context(|| format!("{name}: the file cannot be read"))?;
    let text = match std::str::from_utf8(&bytes) {
        Ok(text) => text.trim_start_matches('\u{FEFF}'),
        Err(_) if bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF]) => {
            bail!("{name}: the file is UTF-16, as some shells write it: convert it to UTF-8")
        }
        Err(error) => {
            bail!("{name}: not JSON: byte {} is not UTF-8. {EXPECTED}; they are text", error.valid_up_to() + 1)
        }
    };
    if text.trim().is_empty() {
        bail!("{name}: the file is empty. Write the snapshot again, and check that the program ends without an error");
    }
    documents(&name.to_string(), text)
}

fn documents(name: &str, text: &str) -> Result<Document> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    let (mut moments, mut begin, mut line) = (Vec::new(), 0, 1);
    while let Some(value) = values.next() {
        let rest = &text[begin..];
        let document = rest.trim_start();
        line += rest[..rest.len() - document.len()].matches('\n').count();
        let at = Place { name, line };
        if let Err(error) = value {
            bail!(at.syntax(&error, document));
        }
        let end = values.byte_offset();
        let document = &text[text.len() - document.len()..end];
        match at.document(document)? {
            Document::Series(more) => moments.extend(more),
            Document::Advice(advice) if begin == 0 && text[end..].trim().is_empty() => {
                return Ok(Document::Advice(advice));
            }
            Document::Advice(_) => bail!("{name}:{line}: an advice, and other documents in the same file: split it"),
        }
        line += document.matches('\n').count();
        begin = end;
    }
    if moments.len() > 1 {
        for (index, moment) in moments.iter_mut().enumerate() {
            if moment.label.is_empty() {
                moment.label = format!("{name}, {}", index + 1);
            }
        }
    } else if moments[0].label.is_empty() {
        moments[0].label = name.into();
    }
    Ok(Document::Series(moments))
}

/// Where a document begins.
struct Place<'a> {
    name: &'a str,
    line: usize,
}

impl Place<'_> {
    fn document(&self, text: &str) -> Result<Document> {
        let Place { name, line } = self;
        if !text.starts_with('{') {
            bail!("{name}:{line}: JSON, but not an object. {EXPECTED}");
        }
        let kind: Kind = self.parse(text, "JSON")?;
        if let Some(version) = kind.toft_advice {
            self.version(&version, advice::VERSION.into(), "an advice")?;
            return Ok(Document::Advice(self.parse(text, "an advice")?));
        }
        if kind.frame.is_some() && kind.threads.is_some() {
            let frames: Frames = self.parse(text, "a snapshot of Frames")?;
            return Ok(Document::Series(vec![Moment::of_frames(frames)]));
        }
        if let (Some(version), Some(_)) = (kind.version, kind.stats) {
            self.version(&version, VERSION, "a snapshot")?;
            let report: Report = self.parse(text, "a snapshot")?;
            return Ok(Document::Series(vec![Moment::of_report(String::new(), report)]));
        }
        bail!("{name}:{line}: JSON of another kind: neither the members of a snapshot nor of an advice. {EXPECTED}")
    }

    fn version(&self, version: &Value, ours: u64, what: &str) -> Result<()> {
        let Place { name, line } = self;
        match version.as_u64() {
            Some(version) if version == ours => Ok(()),
            Some(version) if version > ours => bail!(
                "{name}:{line}: {what} of version {version}, and this program reads version {ours}. Install a newer \
                 toft: cargo install --path cli, in a newer clone"
            ),
            _ => bail!(
                "{name}:{line}: {what} of version {version}, which this program does not read. Write the file again"
            ),
        }
    }

    fn parse<T: for<'de> Deserialize<'de>>(&self, text: &str, what: &str) -> Result<T> {
        serde_json::from_str(text).map_err(|error| {
            let line = self.line + error.line().max(1) - 1;
            let error = without_position(&error);
            let name = self.name;
            anyhow::anyhow!(
                "{name}:{line}: {what}, but {error}. {EXPECTED}; write the file again with a Toft that matches"
            )
        })
    }

    fn syntax(&self, error: &serde_json::Error, document: &str) -> String {
        // The error counts lines from the beginning of the file.
        let (name, line, column) = (self.name, error.line().max(1), error.column());
        if error.is_eof() {
            let begin = self.line;
            format!(
                "{name}:{line}: the file ends within the document that begins in line {begin}: it is truncated. Write it \
                 again, or delete the incomplete document"
            )
        } else if document.starts_with('{') {
            format!("{name}:{line}:{column}: not JSON: {}. {EXPECTED}", without_position(error))
        } else {
            format!("{name}:{line}: not JSON. {EXPECTED}")
        }
    }
}

/// The message of an error. Its position is that within one document; the caller adds the document's position in the file.
fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or(&text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{"version":1,"stats":{"live":18446744073709551615,"allocated":0,"peak":0,"budget":null,
        "reserved":0,"wasted":0,"blocks":0,"source_calls":0,"later":[]},"tags":[],"phases":[],"sites":[],"later":{}}"#;

    fn error(text: &str) -> String {
        documents("f.json", text).err().map(|error| error.to_string()).unwrap_or_default()
    }

    fn moments(text: &str) -> Vec<Moment> {
        let Ok(Document::Series(moments)) = documents("f.json", text) else { panic!("{}", error(text)) };
        moments
    }

    #[test]
    fn a_file_may_hold_several_documents() {
        let moments = moments(&format!("\n{0}\n{0}\n\n{0}\n", GOOD.replace('\n', "")));
        let labels: Vec<_> = moments.iter().map(|moment| moment.label.as_str()).collect();
        assert_eq!(labels, ["f.json, 1", "f.json, 2", "f.json, 3"]);
        assert_eq!(moments[0].views[0].report.stats.live, u64::MAX);
    }

    #[test]
    fn errors_name_the_file_the_line_and_what_to_do() {
        let line = GOOD.replace('\n', "");
        for (text, begin, contains) in [
            ("hello", "f.json:1: not JSON", "docs/snapshot.md"),
            ("{\"version\": 1,,}", "f.json:1:15: not JSON", "key must be a string"),
            ("[1]", "f.json:1: JSON, but not an object", "toft advise"),
            ("17", "f.json:1: JSON, but not an object", "toft advise"),
            ("{}", "f.json:1: JSON of another kind", "toft advise"),
            ("{\"version\":1}", "f.json:1: JSON of another kind", "toft advise"),
            (&GOOD[..GOOD.len() - 9], "f.json:2: the file ends within", "truncated. Write it again"),
            (&format!("{line}\n{}", &line[..40]), "f.json:2: the file ends within", "begins in line 2"),
            (&format!("{line}\n{{\"toft_advice\":2}}"), "f.json:2: an advice, but missing field", "command"),
            (&GOOD.replace(":1,", ":2,"), "f.json:1: a snapshot of version 2", "Install a newer toft"),
            (&GOOD.replace(":1,", ":0,"), "f.json:1: a snapshot of version 0", "Write the file again"),
            (&GOOD.replace(":1,", ":\"1\","), "f.json:1: a snapshot of version \"1\"", "Write the file again"),
            ("{\"toft_advice\":9}", "f.json:1: an advice of version 9", "Install a newer toft"),
            (&GOOD.replace("615", "616"), "f.json:1: a snapshot, but invalid type: floating point", "expected u64"),
            (&GOOD.replace("\"peak\":0", "\"peak\":-1"), "f.json:1: a snapshot, but invalid value", "expected u64"),
            (&GOOD.replace("\"peak\":0", "\"peak\":1e999"), "f.json:1:", "number out of range"),
            (&GOOD.replace("\"reserved\"", "\"other\""), "f.json:2: a snapshot, but missing field `reserved`", "write"),
            (
                "{\"frame\":1,\"threads\":[{\"name\":null,\"report\":{\"version\":3}}],\"last\":null}",
                "f.json:1: a snapshot of Frames, but it contains a report of version 3",
                "reads version 1",
            ),
        ] {
            let error = error(text);
            assert!(error.starts_with(begin) && error.contains(contains), "{text}\n  {error}");
        }
    }

    #[test]
    fn files_that_cannot_be_read_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.json");
        for (bytes, contains) in [
            (&b""[..], "the file is empty"),
            (b" \n", "the file is empty"),
            (b"\xFF\xFE{\0", "UTF-16"),
            (b"{\"version\xC0", "byte 10 is not UTF-8"),
        ] {
            std::fs::write(&path, bytes).unwrap();
            let error = format!("{:#}", read(std::slice::from_ref(&path)).err().unwrap());
            assert!(error.contains("x.json: ") && error.contains(contains), "{error}");
        }
        let error = format!("{:#}", read(&[folder.path().join("none")]).err().unwrap());
        assert!(error.contains("none: the file cannot be read: "), "{error}");
        std::fs::write(&path, format!("\u{FEFF}{GOOD}")).unwrap();
        assert!(read(&[path.clone(), path]).is_ok());
    }
}
