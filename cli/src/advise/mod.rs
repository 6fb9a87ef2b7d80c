//! `toft advise`: records a program's allocations and measures what arenas save.
//!
//! `recorder/` records, `recording` reads, `lifetimes` finds the objects, `scopes` the functions whose calls capture them, which
//! `study` describes; `trial/` puts their objects into arenas, `rounds` takes times, `verdict` decides.
// SPDX-License-Identifier: MIT OR Apache-2.0

mod comparison;
mod figure;
mod generations;
mod holders;
mod input;
mod lifetimes;
mod measure;
mod merge;
mod preload;
mod processes;
mod recipes;
mod recording;
mod rounds;
mod scopes;
mod server;
mod study;
mod symbols;
mod target;
mod trial;
mod unseen;
mod verdict;

use crate::{
    advice::{Advice, Curve, Verdict},
    report::text,
};
use anyhow::{anyhow, bail, ensure, Context, Result};
use lifetimes::Lifetimes;
use measure::{Ending, Program, Run};
use recording::{Loss, Recording};
use rounds::Limit;
use server::Server;
use std::{
    ffi::OsString,
    fs::Permissions,
    os::unix::{fs::PermissionsExt, process::ExitStatusExt},
    path::{Path, PathBuf},
    process::ExitCode,
    time::Instant,
};
pub use {
    preload::{write as write_library, Library},
    target::find,
};

/// Measures what arenas save in a program.
///
/// The program is run once under a recorder of its allocations. Then it runs in turns as it is, with the objects of a function's
/// calls in arenas, and on each other malloc that is installed, until the savings are known or the time is over. It must be linked
/// dynamically to glibc; it need not use Toft, and is not rebuilt. Debug information (-g) gives files and lines.
#[derive(clap::Args)]
#[command(
    after_help = "Exit codes: 0 there is a verdict; 1 the program could not be recorded, or not in full; 2 wrong arguments; 3 not \
decided."
)]
pub struct Arguments {
    /// Writes the advice as JSON, for `toft report` and --merge.
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The format of standard output. json: what --out writes.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// The process to advise on, by the name of its executable; without it the one with the most allocations. NAME:2 is the
    /// second one of that name.
    #[arg(long, value_name = "NAME")]
    process: Option<String>,
    /// The most MiB that the advice takes on the disk, and in memory. The recording may have a quarter of it.
    #[arg(long, value_name = "MIB", default_value_t = 1024, value_parser = clap::value_parser!(u64).range(1..=1 << 32))]
    limit: u64,
    /// When a server is ready for its load: an open port of 127.0.0.1, or a part of a line of its output.
    #[arg(long, value_name = "PORT|LINE", requires = "load", value_parser = server::ready)]
    ready: Option<server::Ready>,
    /// A command of the shell that uses the server, which is then ended by SIGTERM. TOFT_PID is the server's process.
    #[arg(long, value_name = "COMMAND", requires = "ready")]
    load: Option<OsString>,
    /// Records from the first of these signals to the second: USR1, USR2 or a number. Other runs ignore them.
    #[arg(long, value_name = "NAME", value_parser = crate::signals::number)]
    signal: Option<i32>,
    /// The seconds that the command may take. A run is not interrupted, and a run of each kind is made in any case.
    #[arg(long, value_name = "N", default_value_t = 60.0, value_parser = seconds)]
    seconds: f64,
    /// At most 10 seconds and six runs of each kind, and no other malloc.
    #[arg(long)]
    quick: bool,
    /// Gives all scopes that were found, at most eight, and not only those that are tried and may save something.
    #[arg(long)]
    all: bool,
    /// Shows the output of the recorded run.
    #[arg(long)]
    output: bool,
    /// Combines the advice on several inputs of one program.
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["command", "process", "quick", "output", "all"])]
    merge: Vec<PathBuf>,
    /// The program and its arguments.
    #[arg(required_unless_present = "merge", trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    Text,
    Json,
    /// The verdict, and a table of savings.
    Markdown,
}

fn seconds(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|s| (0.0..=1e6).contains(s)).ok_or_else(|| "not a number of seconds".to_owned())
}

/// A step, on standard error.
fn step(text: &str) {
    eprintln!("toft: {text}");
}

pub fn main(arguments: Arguments) -> Result<ExitCode> {
    let advice = if arguments.merge.is_empty() {
        let advice = advise(&arguments);
        if advice.is_err() {
            processes::end_all();
        }
        processes::stay_if_interrupted();
        advice?
    } else {
        merge::files(&arguments.merge)?
    };
    let json = serde_json::to_string_pretty(&advice)? + "\n";
    if let Some(path) = &arguments.out {
        std::fs::write(path, &json).with_context(|| format!("cannot write {}", path.display()))?;
    }
    crate::report::print(&match arguments.format {
        Format::Text => text::advice(&advice, text::terminal_width()),
        Format::Json => json,
        Format::Markdown => text::markdown(&advice),
    })?;
    Ok(if advice.verdict == Verdict::NotDecided { 3.into() } else { ExitCode::SUCCESS })
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write {}: TMPDIR needs space, and a high limit on the size of files (ulimit -f)", path.display())
}

/// Runs the program without the recorder. Fails if a signal ends it.
fn run_alone(program: &Program, notes: &mut Vec<String>) -> Result<Run> {
    step("running the program");
    let run = program.run(&[], false)?;
    if let Some(signal) = run.ending.status.signal().filter(|&s| s != libc::SIGTERM) {
        bail!("the program was ended by signal {signal}; advise needs a run that ends by itself, or by SIGTERM");
    }
    if let Some(code) = run.ending.status.code().filter(|&c| c != 0) {
        notes.push(format!("The program ended with exit code {code}."));
    }
    Ok(run)
}

fn advise(arguments: &Arguments) -> Result<Advice> {
    let limit = Limit::new(if arguments.quick { arguments.seconds.min(10.0) } else { arguments.seconds });
    let program = find(&arguments.command[0])?;
    let mut notes: Vec<String> = target::check(&program)?.into_iter().collect();
    let folder =
        tempfile::Builder::new().prefix("toft-").tempdir().context("cannot create a temporary folder; set TMPDIR")?;
    let folder = folder.path();
    processes::end_by_signals(folder)?;
    processes::adopt_orphans();
    let server = arguments.ready.clone().zip(arguments.load.clone()).map(|(ready, load)| Server { ready, load });
    let input = input::copy(folder, limit, arguments.limit)?;
    let program = &Program { command: arguments.command.clone(), input, server, signal: arguments.signal };
    let begin = Instant::now();
    let first = &run_alone(program, &mut notes)?;
    let wall = begin.elapsed().as_secs_f64();
    let (cpu_recorded, recording) = &record(arguments, program, &first.ending, folder, &mut notes)?;
    let malloc = Some(Path::new(&recording.malloc)).filter(|m| !is_libc(m));
    note_limits(recording, malloc, arguments.signal, &mut notes);
    let lifetimes = match_frees(recording, arguments, &mut notes)?;
    let study = study::Study { recording, lifetimes: &lifetimes };
    step("finding scopes");
    let (proposals, sites) = study.proposals();
    let (growing, modules) = {
        let mut symbols = symbols::Symbols::new(&recording.mappings);
        (holders::growing(recording, &lifetimes, &mut symbols), symbols.modules(&sites.all))
    };
    let live = lifetimes.curve.iter().map(|(most, _)| *most).collect();
    let [events, objects, bytes, peak] = lifetimes.end();
    let comparison = comparison::Comparison { arguments, program, first, wall, folder, malloc, limit, recording };
    let measured = comparison.measure(proposals, &mut notes)?;
    let mut advice = Advice {
        toft_advice: crate::advice::VERSION,
        command: arguments.command.iter().map(|w| w.to_string_lossy().into_owned()).collect(),
        process: recording.executable.clone(),
        cpu: measured.cpu,
        system: measured.system,
        faults: measured.faults,
        cpu_recorded: *cpu_recorded,
        events,
        objects,
        bytes,
        threads: recording.threads.len() as u64,
        peak,
        mallocs: measured.mallocs,
        scopes: measured.scopes,
        curve: Curve { seconds: (recording.end - recording.begin) / 1e9, live },
        growing,
        modules,
        sites: sites.all,
        at_peak: sites.at_peak,
        temporary: sites.temporary,
        temporary_objects: sites.temporary_objects,
        failures: measured.failures,
        notes,
        ..Advice::default()
    };
    if advice.scopes.iter().any(|s| s.function.function.is_none()) {
        advice
            .notes
            .push("Debug information (-g, a package -dbgsym or -debuginfo) names functions without a name.".to_owned());
    }
    verdict::decide(&mut advice);
    if !arguments.all {
        verdict::leave_out_useless(&mut advice);
    }
    Ok(advice)
}

/// Runs the program under the recorder. Returns its CPU time, and the recording of one of its processes.
fn record(
    arguments: &Arguments,
    program: &Program,
    expected: &Ending,
    folder: &Path,
    notes: &mut Vec<String>,
) -> Result<(f64, Recording)> {
    step("recording the program");
    let recorder = preload::place(Library::Recorder, "recorder.so", folder)?;
    let recordings = &*folder.join("recordings");
    std::fs::create_dir(recordings)?;
    // A server that changes its user creates recordings of its forks there. Others do not reach it: its parent is private.
    std::fs::set_permissions(recordings, Permissions::from_mode(0o777))?;
    let mut total = vec![0u8; 4096];
    total[8..16].copy_from_slice(&(arguments.limit * 16 / RECORDED).to_ne_bytes()); // segments of 64 KiB
    if let Some(signal) = arguments.signal {
        total[32..36].copy_from_slice(&recording::WAITING.to_ne_bytes());
        total[36..40].copy_from_slice(&signal.to_ne_bytes());
    }
    std::fs::write(recordings.join("total"), total)?;
    let environment = [("LD_PRELOAD", &*recorder), ("TOFT_RECORDING", recordings)];
    let recorded = program.run(&environment, arguments.output)?;
    if recorded.ending != *expected {
        let again = program.run(&[], false)?.ending;
        ensure!(again == *expected, ENDS_DIFFER);
        bail!(
            "the recorder disturbs this program: alone it ends {expected}, under the recorder {}. No advice is given; please \
             report the program",
            recorded.ending
        );
    }
    if arguments.signal.is_some() {
        recording::was_started(recordings)?;
    }
    if files_of(recordings).is_empty() {
        let loss =
            Loss::of_processes(recordings).map(|l| format!("no process is recorded: {}", l.reason(arguments.limit)));
        let is_recorded = || !files_of(recordings).is_empty();
        bail!(loss.map_or_else(|| preload::why_not_loaded(&environment, is_recorded), Ok)?);
    }
    let found = choose(recordings, arguments.process.as_deref(), notes)?;
    check_whole(&found, recordings, arguments.limit)?;
    Ok((recorded.used.cpu, found))
}

fn match_frees(recording: &Recording, arguments: &Arguments, notes: &mut Vec<String>) -> Result<Lifetimes> {
    step("matching allocations and frees");
    let lifetimes = lifetimes::lifetimes(recording, arguments.limit << 20, arguments.signal.is_none());
    let lifetimes = lifetimes.with_context(|| {
        format!(
            "the objects of the recording take more memory than --limit {}; raise it, or give the program a smaller input",
            arguments.limit
        )
    })?;
    ensure!(
        !lifetimes.objects.is_empty(),
        "the recorder saw no allocation: the program allocates nothing, or has a malloc of its own linked into it"
    );
    if lifetimes.handed * 100 > lifetimes.objects.len() as u64 {
        let percent = verdict::percent(lifetimes.handed as f64, lifetimes.objects.len() as f64);
        notes.push(format!("{percent:.0} % of the objects are freed by another thread; no scope captures them."));
    }
    let is_unknown = |o: &&lifetimes::Object| recording.sites[o.site as usize].stack.is_empty();
    let unknown = lifetimes.objects.iter().filter(is_unknown).count() as f64;
    let percent = verdict::percent(unknown, lifetimes.objects.len() as f64);
    if percent >= 20.0 {
        notes.push(format!(
            "The callers of {percent:.0} % of the objects are not known, so that no scope has these: the code has no unwind tables \
             (-fasynchronous-unwind-tables), or it belongs to the C library."
        ));
    }
    Ok(lifetimes)
}

/// Recordings may have one part of the limit in four. The rest is for their objects in memory.
const RECORDED: u64 = 4;

/// The files of all recorded processes, in the order in which these began.
fn files_of(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let begin = |path: &PathBuf| path.file_stem()?.to_str()?.split_once('-')?.1.parse::<u64>().ok();
    let mut found: Vec<_> = entries.filter(|p| p.extension().is_some_and(|e| e == "rec")).collect();
    found.sort_by_key(begin);
    found
}

/// A recorded process. Its label is its name with its number among those of the name.
struct Process {
    name: String,
    label: String,
    command: String,
    size: u64,
    path: PathBuf,
}

/// The recording of the process with the most events, or of the one of that name or label.
fn choose(folder: &Path, wanted: Option<&str>, notes: &mut Vec<String>) -> Result<Recording> {
    const SHOWN: usize = 6;
    let (mut all, mut unread): (Vec<Process>, _) = (Vec::new(), None);
    for path in files_of(folder) {
        match Recording::open(&path) {
            Ok(Recording { executable, command, .. }) => {
                let name = Path::new(&executable).file_name().unwrap_or_default().to_string_lossy().into_owned();
                let label = format!("{name}:{}", 1 + all.iter().filter(|p| p.name == name).count());
                all.push(Process { name, label, command, size: path.metadata()?.len(), path });
            }
            Err(error) => unread = Some(error),
        }
    }
    let list = |of: &[&Process]| {
        let more = if of.len() > SHOWN { &format!(", and {} more", of.len() - SHOWN) } else { "" };
        let shown = of.iter().take(SHOWN).map(|p| format!("{} ({})", p.label, p.command));
        shown.collect::<Vec<_>>().join(", ") + more
    };
    let is_wanted = |p: &&Process| wanted.is_none_or(|wanted| [&p.name, &p.label].contains(&&wanted.to_owned()));
    let Some(chosen) = all.iter().filter(is_wanted).max_by_key(|p| p.size) else {
        let (name, all) = (wanted.unwrap_or_default(), list(&all.iter().collect::<Vec<_>>()));
        return Err(unread.unwrap_or_else(|| anyhow!("no process {name} was recorded; there are: {all}")));
    };
    let is_other = |p: &&Process| p.path != chosen.path && (p.size > 1 << 18 || p.name == chosen.name);
    let others: Vec<_> = all.iter().filter(is_other).collect();
    if !others.is_empty() {
        let (on, others) = (list(&[chosen]), list(&others));
        notes.push(format!("The advice is on {on}. Other processes allocate too, --process chooses one: {others}."));
    }
    let mut found = Recording::open(&chosen.path)?;
    if found.forked && found.mappings.is_empty() {
        let mut others = all.iter().filter_map(|p| Recording::open(&p.path).ok());
        others.find(|r| r.pid == found.parent).iter().for_each(|parent| found.inherit(parent));
    }
    Ok(found)
}

const ENDS_DIFFER: &str = "the program does not end the same way each time; advise needs runs that do";

fn is_libc(library: &Path) -> bool {
    let name = library.file_name().unwrap_or_default().to_string_lossy();
    name.is_empty() || name.starts_with("libc.so") || name.starts_with("libc-")
}

/// Fails if allocations of the program are not in the recording.
fn check_whole(recording: &Recording, folder: &Path, limit: u64) -> Result<()> {
    if let Some(loss) = recording.partial {
        bail!(
            "the recording of {} is partial ({} events are lost): {}",
            recording.executable,
            loss.count,
            loss.reason(limit)
        );
    }
    if let Some(loss) = Loss::of_processes(folder) {
        bail!("the recording lacks processes that allocate ({} of them): {}", loss.count, loss.reason(limit));
    }
    if !is_libc(Path::new(&recording.malloc))
        && let Some((function, module)) = unseen::find(&recording.mappings, &recording.malloc)
    {
        bail!(
            "{module} calls {function}, a function of {} only: the recorder does not see the objects of such functions. \
             Build the program without them",
            recording.malloc
        );
    }
    Ok(())
}

fn note_limits(recording: &Recording, malloc: Option<&Path>, signal: Option<i32>, notes: &mut Vec<String>) {
    if let Some(malloc) = malloc {
        let own = if preload::is_own(malloc) { " Runs on other mallocs are without it in LD_PRELOAD." } else { "" };
        notes.push(format!("The program's malloc is that of {}; savings are relative to it.{own}", malloc.display()));
    }
    notes.extend(preload::surroundings());
    if !recording.ended {
        notes.push("The process did not exit regularly: the events of its last moments may be missing.".to_owned());
    }
    if recording.forked {
        notes.push("The process is a fork: objects of its parent are not known.".to_owned());
    }
    if let Some(signal) = signal {
        notes.push(format!(
            "Recorded from signal {signal} to the next: savings are those of that part, percentages those of the whole run."
        ));
    }
}
