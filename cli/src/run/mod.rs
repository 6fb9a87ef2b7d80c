//! `toft run`: runs a program that uses Toft, with checks, meters and budgets for all of its arenas.
//!
//! The library reads variables of the environment (docs/checked.md, docs/meters.md), and writes findings and profiles to
//! files. `child` runs the program, `findings` reads what was found, `document` writes it for other programs, `profile`
//! collects the profiles, and `detect` finds out whether the program contains Toft.
// SPDX-License-Identifier: MIT OR Apache-2.0

mod child;
mod detect;
mod document;
mod findings;
mod profile;

use crate::places::Places;
use anyhow::{bail, Context, Result};
use document::Format;
use profile::Profiles;
use std::{
    ffi::OsString,
    io::Write,
    path::{Path, PathBuf},
    process::ExitCode,
};

/// The exit code if --fail-on applies and the program succeeded.
const FOUND: u8 = 3;
/// Bytes between samples of a profile, unless --sample says otherwise.
const SAMPLING: u64 = 64 << 10;

/// Runs a program that uses Toft with checks, meters and budgets for all of its arenas.
///
/// The program is not rebuilt. It uses Toft by libtoft or a copy of toft.c (C, C++, Go, Julia), or by the crate toft with its
/// feature `diagnostics` (Rust). Its input and output are its own; what was found is printed on standard error when it has
/// ended. Without --check, --sample, --budget and --profile, --check is meant.
#[derive(clap::Args)]
#[command(after_help = "\
Exit codes: that of the program; 128 + n if signal n ended it; 3 if --fail-on applies and the program succeeded; \
126 if it cannot be run, 127 if it does not exist; 1 if a file cannot be written, 2 for wrong arguments.

Examples:
  toft run -- ./server                          checks every arena, and shows what was found
  toft run --fail-on any -- ./tests             exit code 3 if anything was found, for CI
  toft run --budget 64M --fail-on budget -- ./server
  toft run --profile memory.json -- ./server    then: toft report memory.json")]
pub struct Arguments {
    /// Checks every arena and recycler: overruns, use after reset, double frees and other misuse.
    #[arg(long)]
    check: bool,
    /// Samples about one allocation in so many bytes, with its stack. 0: none. [with --profile: 64K]
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    sample: Option<u64>,
    /// Reports an arena with more live bytes. Nothing is refused.
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    budget: Option<u64>,
    /// Meters every arena, and writes the sum of all when the program exits: `toft report FILE` shows it. In the name, %p is
    /// the process and %l the copy of Toft in it.
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
    /// The program writes its profile after this signal too: USR1, USR2 or a number.
    #[arg(long, value_name = "NAME", requires = "profile", value_parser = signal)]
    signal: Option<String>,
    /// Appends each finding to a file at once as well, as a line of text.
    #[arg(long, value_name = "FILE")]
    findings: Option<PathBuf>,
    /// The format of --out.
    #[arg(long, value_enum, default_value_t = Format::Text, requires = "out")]
    format: Format,
    /// Writes the findings to a file when the program has ended; `-` is standard output, which the program uses too.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Ends with exit code 3 if there is a finding of this kind: any, budget, leak, overrun, underrun, late-write, double-free,
    /// bad-free, wrong-size, foreign-pointer, stale-mark, wrong-thread, two-threads, use-after-release, double-release,
    /// refused-release, outside, lost.
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = findings::wanted)]
    fail_on: Vec<String>,
    /// The program and its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// A number of bytes, which K, M or G may follow.
fn bytes(text: &str) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let shift = match text[digits..].to_ascii_uppercase().trim_end_matches('B').trim_end_matches('I') {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => return Err("not a number of bytes, as 4096, 64K or 1G".into()),
    };
    let number = text[..digits].parse::<u64>().map_err(|_| "not a number of bytes, as 4096, 64K or 1G")?;
    number.checked_mul(1 << shift).filter(|n| *n <= i64::MAX as u64).ok_or_else(|| "too large".into())
}

/// The name of a signal in the library.
fn signal(text: &str) -> Result<String, String> {
    crate::signals::number(text).map(|_| text.strip_prefix("SIG").unwrap_or(text).into())
}

impl Arguments {
    /// The first complaint about options that do not fit together.
    fn complaint(&self, checks: bool) -> Option<&'static str> {
        let fails_on = |test: fn(&str) -> bool| self.fail_on.iter().any(|kind| test(kind));
        let complaints = [
            (self.budget.is_none() && fails_on(|k| k == "budget"), "--fail-on budget needs --budget BYTES"),
            (!checks && self.budget.is_none() && fails_on(|_| true), "--fail-on needs --check or --budget BYTES"),
            (!checks && fails_on(|k| k != "any" && k != "budget"), "--fail-on with a kind of misuse needs --check"),
        ];
        complaints.iter().find(|(applies, _)| *applies).map(|(_, complaint)| *complaint)
    }
}

/// Creates a file that the library appends to, unless it exists.
fn appendable(path: PathBuf) -> Result<PathBuf> {
    let mut options = std::fs::OpenOptions::new();
    std::os::unix::fs::OpenOptionsExt::mode(options.append(true).create(true), 0o600);
    options.open(&path).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

pub fn main(arguments: Arguments) -> Result<ExitCode> {
    let others = arguments.sample.is_some() || arguments.budget.is_some() || arguments.profile.is_some();
    let checks = arguments.check || !others;
    if let Some(complaint) = arguments.complaint(checks) {
        eprintln!("toft: {complaint}; toft run --help shows the options");
        return Ok(ExitCode::from(2));
    }
    let folder =
        tempfile::Builder::new().prefix("toft-").tempdir().context("cannot create a temporary folder; set TMPDIR")?;
    let objects = appendable(folder.path().join("findings"))?;
    let lines = arguments.findings.as_ref().map(|path| appendable(std::path::absolute(path)?)).transpose()?;
    if let Some(out) = arguments.out.as_ref().filter(|out| *out != Path::new("-")) {
        std::fs::File::create(out).with_context(|| format!("cannot write {}", out.display()))?;
    }
    let profiles = arguments.profile.as_deref().map(Profiles::new).transpose()?;

    // An empty name is that of no file.
    let lines = lines.map_or(OsString::new(), OsString::from);
    let mut environment: Vec<(&str, OsString)> =
        vec![("TOFT_FINDINGS_JSON", objects.clone().into()), ("TOFT_FINDINGS", lines)];
    if checks {
        environment.push(("TOFT_CHECKED", "1".into()));
    }
    if let Some(bytes) = arguments.sample.or(profiles.is_some().then_some(SAMPLING)) {
        environment.push(("TOFT_SAMPLING", bytes.to_string().into()));
    }
    if let Some(bytes) = arguments.budget {
        environment.push(("TOFT_BUDGET", bytes.to_string().into()));
    }
    if let Some(profiles) = &profiles {
        environment.push(("TOFT_METERED", "1".into()));
        environment.push(("TOFT_PROFILE", profiles.pattern()));
    }
    if let Some(name) = &arguments.signal {
        environment.push(("TOFT_PROFILE_SIGNAL", name.into()));
    }

    let ended = match child::run(&arguments.command, &environment) {
        Ok(ended) => ended,
        Err(error) => return Ok(cannot_run(&arguments.command[0], &error)),
    };
    let objects = std::fs::File::open(&objects).with_context(|| format!("cannot read {}", objects.display()))?;
    report(&arguments, checks, &objects, profiles, &ended)
}

/// Says why the program was not run. The exit codes are those of shells.
fn cannot_run(program: &std::ffi::OsStr, error: &std::io::Error) -> ExitCode {
    let name = Path::new(program).display();
    if error.kind() == std::io::ErrorKind::NotFound {
        let of_this_folder = Path::new(program).components().count() == 1 && Path::new(program).exists();
        let hint = if of_this_folder { format!("; write ./{name} for that of this folder") } else { String::new() };
        eprintln!("toft: there is no program {name}{hint}");
        return ExitCode::from(127);
    }
    eprintln!("toft: cannot run {name}: {error}; is it an executable file?");
    ExitCode::from(126)
}

fn report(
    arguments: &Arguments,
    checks: bool,
    objects: &std::fs::File,
    profiles: Option<Profiles>,
    ended: &child::Ended,
) -> Result<ExitCode> {
    let program = Path::new(&arguments.command[0]);
    let mut places = Places::new(ended.executable.as_deref().unwrap_or(program));
    let found = findings::group(std::io::BufReader::new(objects), &mut places);
    let mut text = findings::show(&found, &mut places);
    let written = profiles.as_ref().map(|profiles| profiles.collect(ended.pid, &mut places)).transpose()?;

    if let Some(signal) = ended.signal {
        text += &format!("toft: {} was ended by signal {signal}\n", program.display());
    }
    if checks || arguments.budget.is_some() {
        text += &findings::summary(&found);
    }
    let mut seen = !found.is_empty();
    if let Some(written) = &written {
        seen |= !written.is_empty();
        for profile in written {
            text += &profile.summary();
        }
        if let Some(name) = arguments.signal.as_ref().filter(|_| written.iter().any(|of| of.handles_signal())) {
            text += &format!("toft: the program handles the signal {name} itself, so it requested no profile\n");
        }
    }
    if !seen {
        let executable = ended.executable.as_deref();
        text += &detect::explain(program, executable, written.is_some(), ended.code != Some(0));
    }
    let document = match arguments.format {
        Format::Text => text.clone(),
        Format::Json => format!("{:#}\n", document::json(&found, &arguments.command, ended.code, ended.signal)),
        Format::Sarif => format!("{:#}\n", document::sarif(&found, &places)),
    };
    match &arguments.out {
        Some(out) if out == Path::new("-") => std::io::stdout().write_all(document.as_bytes())?,
        Some(out) => {
            std::fs::write(out, document).with_context(|| format!("cannot write {}", out.display()))?;
        }
        None => {}
    }
    if arguments.out.is_none() || arguments.format != Format::Text {
        let _ = std::io::stderr().write_all(text.as_bytes());
    }

    let fails = found.iter().any(|group| arguments.fail_on.iter().any(|kind| kind == "any" || *kind == group.kind));
    Ok(match (ended.code, ended.signal) {
        (Some(0), _) if fails => ExitCode::from(FOUND),
        (Some(code), _) => ExitCode::from(code as u8),
        (None, Some(signal)) => ExitCode::from(128u8.saturating_add(signal as u8)),
        (None, None) => bail!("the program's end is not known"),
    })
}
