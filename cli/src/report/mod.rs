//! `toft report`: a snapshot or an advice as a page, as text, or in the format of another tool.
// SPDX-License-Identifier: MIT OR Apache-2.0

mod finding;
mod folded;
mod graph;
mod input;
mod layout;
pub mod page;
mod pprof;
mod resolve;
mod skip;
mod snapshot;
mod tags;
pub mod text;

pub use graph::visible;
pub use resolve::resolve;
pub use snapshot::Report;

use crate::places::Places;
use anyhow::{bail, Context, Result};
use graph::{Amount, Graph};
use input::Document;
use skip::Skip;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Duration;

/// Shows snapshots of arenas, or an advice: as text, as a page, or for other tools.
///
/// Several snapshots, in one file or in several, are a series. Without an option that writes a file, the text goes to
/// standard output.
#[derive(clap::Args)]
#[command(
    after_help = "Exit codes: 0 the report was written; 1 a file could not be read or written; 2 wrong arguments."
)]
pub struct Arguments {
    /// Snapshots, or one advice (JSON); `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Compares two snapshots: OLD NEW. Of a file with a series it takes the last one.
    #[arg(long, conflicts_with_all = ["pprof", "folded"])]
    diff: bool,
    /// Prints text, also if another output is chosen.
    #[arg(long)]
    text: bool,
    /// Sites in the text.
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
    /// Functions that only pass an allocation on, beside the known ones (malloc, xmalloc, operator new and others): text and
    /// page show the call of the first other one as the site.
    #[arg(long, value_name = "REGEX")]
    skip: Option<regex_lite::Regex>,
    /// Writes one HTML page that needs no other file and no network.
    #[arg(long, value_name = "OUT.html")]
    html: Option<PathBuf>,
    /// Writes the call sites as a profile for `go tool pprof` and speedscope.
    #[arg(long, value_name = "OUT.pb.gz")]
    pprof: Option<PathBuf>,
    /// Writes the call sites as folded stacks, for flamegraph.pl, inferno-flamegraph or speedscope.
    #[arg(long, value_name = "OUT")]
    folded: Option<PathBuf>,
    /// The numbers of the folded stacks.
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Weight::Bytes, requires = "folded")]
    weight: Weight,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Weight {
    /// Allocated bytes.
    Bytes,
    /// Allocations.
    Count,
}

pub fn main(arguments: Arguments) -> Result<ExitCode> {
    if arguments.diff && arguments.files.len() != 2 {
        eprintln!("toft: --diff compares two files: toft report --diff OLD NEW");
        return Ok(ExitCode::from(2));
    }
    for out in [&arguments.html, &arguments.pprof, &arguments.folded].into_iter().flatten() {
        if out != Path::new("-") && arguments.files.iter().any(|file| same_file(file, out)) {
            bail!("{}: this is the input, which is not overwritten: name another output", out.display());
        }
    }
    let _progress = arguments.html.as_ref().map(|_| progress("writing the page"));
    match arguments.diff {
        true => difference(&arguments)?,
        false => outputs(&arguments, read(&arguments.files)?)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the step to standard error if it has not ended after two seconds. It ends with the returned value.
fn progress(step: &'static str) -> mpsc::Sender<()> {
    let (ending, ended) = mpsc::channel();
    std::thread::spawn(move || {
        if ended.recv_timeout(Duration::from_secs(2)) == Err(mpsc::RecvTimeoutError::Timeout) {
            eprintln!("toft: {step}");
        }
    });
    ending
}

/// Reads the files, and names the calls that they have no names for.
fn read(files: &[PathBuf]) -> Result<Document> {
    let mut document = input::read(files)?;
    if let Document::Series(moments) = &mut document {
        let (mut places, mut unresolved) = (Places::default(), resolve::Unresolved::new());
        for view in moments.iter_mut().flat_map(|moment| &mut moment.views) {
            unresolved.append(&mut resolve(&mut view.report.sites, &view.report.modules, &mut places));
        }
        eprint!("{}", resolve::notes(&unresolved));
    }
    Ok(document)
}

fn same_file(file: &Path, out: &Path) -> bool {
    file == out || file.canonicalize().is_ok_and(|file| out.canonicalize().is_ok_and(|out| file == out))
}

fn outputs(arguments: &Arguments, mut document: Document) -> Result<()> {
    let title = title(&arguments.files);
    let skip = Skip::new(arguments.skip.clone());
    exports(arguments, &document, &skip, &title)?;
    match &mut document {
        Document::Series(moments) => skip.moments(moments),
        Document::Advice(advice) => skip.advice(advice),
    }
    let files = [&arguments.html, &arguments.pprof, &arguments.folded];
    if arguments.text || files.iter().all(|out| out.is_none()) {
        print(&match &document {
            Document::Series(moments) => text::series(moments, arguments.top, text::terminal_width()),
            Document::Advice(advice) => text::advice(advice, text::terminal_width()),
        })?;
    }
    if let Some(out) = &arguments.html {
        let page = match &document {
            Document::Series(moments) => page::series(moments, &title, false),
            Document::Advice(advice) => page::advice(advice),
        };
        write(out, |file| file.write_all(page.as_bytes()))?;
    }
    Ok(())
}

/// Stacks as they were recorded, for programs that have filters of their own.
fn exports(arguments: &Arguments, document: &Document, skip: &Skip, title: &str) -> Result<()> {
    if [&arguments.pprof, &arguments.folded].iter().all(|out| out.is_none()) {
        return Ok(());
    }
    let (graph, amounts) = sites(document);
    if amounts.is_empty() {
        bail!(
            "{title}: it contains no call sites, so there is nothing to export. Sample the arena (set_sampling) or check \
             it (set_checked) before the snapshot"
        );
    }
    if let Some(out) = &arguments.pprof {
        write(out, |file| pprof::write(&graph, &amounts, skip, file))?;
    }
    if let Some(out) = &arguments.folded {
        let weight = |amount: &Amount| match arguments.weight {
            Weight::Bytes => amount.bytes,
            Weight::Count => amount.count,
        };
        write(out, |file| folded::write(&graph, &amounts, weight, file))?;
    }
    Ok(())
}

/// The sites of an advice, or of the last snapshot.
fn sites(document: &Document) -> (Graph, Vec<Amount>) {
    let mut graph = Graph::new(true);
    let amounts = match document {
        Document::Advice(advice) => {
            graph.modules.clone_from(&advice.modules);
            graph.advice(&advice.sites)
        }
        Document::Series(moments) => {
            let last = &moments[moments.len() - 1];
            graph.report(&last.views[last.main_view()].report)
        }
    };
    (graph, amounts)
}

fn difference(arguments: &Arguments) -> Result<()> {
    let mut pair = Vec::new();
    for file in &arguments.files {
        match read(std::slice::from_ref(file))? {
            Document::Series(mut moments) => pair.extend(moments.pop()),
            Document::Advice(_) => bail!("{}: this is an advice; --diff compares snapshots", file.display()),
        }
    }
    Skip::new(arguments.skip.clone()).moments(&mut pair);
    if arguments.text || arguments.html.is_none() {
        print(&text::difference(&pair[0], &pair[1], arguments.top, text::terminal_width()))?;
    }
    if let Some(out) = &arguments.html {
        let title = format!("{} and {}", arguments.files[0].display(), arguments.files[1].display());
        write(out, |file| file.write_all(page::series(&pair, &title, true).as_bytes()))?;
    }
    Ok(())
}

fn title(files: &[PathBuf]) -> String {
    let first = files[0].file_name().unwrap_or(files[0].as_os_str()).to_string_lossy();
    match files.len() {
        1 => first.into(),
        all => format!("{first} and {} more", all - 1),
    }
}

pub fn print(text: &str) -> Result<()> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()), // of a pager that was left
        done => done.context("the text cannot be written to standard output"),
    }
}

/// `-` is standard output.
fn write(out: &Path, content: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<()> {
    let open = || -> std::io::Result<Box<dyn Write>> {
        Ok(if out == Path::new("-") { Box::new(std::io::stdout()) } else { Box::new(std::fs::File::create(out)?) })
    };
    let file = open().map(std::io::BufWriter::new);
    match file.and_then(|mut file| content(&mut file).and_then(|()| file.flush())) {
        Err(error) if out == Path::new("-") && error.kind() == ErrorKind::BrokenPipe => Ok(()),
        done => done.with_context(|| format!("{}: the output cannot be written", out.display())),
    }
}
