//! The command `toft`: advice on where an arena would save time, reports of where the memory of arenas goes, and runs of
//! programs with checks switched on.
// SPDX-License-Identifier: MIT OR Apache-2.0

mod advice;
mod advise;
mod frame;
mod places;
mod report;
mod run;
mod signals;

use anyhow::Context;
use clap::{CommandFactory, Parser, Subcommand, ValueEnum};
use std::process::ExitCode;

/// Shows where an arena would save time and where the memory of arenas goes.
#[derive(Parser)]
#[command(name = "toft", version, about, propagate_version = true, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Advise(advise::Arguments),
    Report(report::Arguments),
    Run(run::Arguments),
    /// Writes a library that `advise` preloads to a file.
    #[command(hide = true)]
    Library {
        name: advise::Library,
        file: std::path::PathBuf,
    },
    /// Prints the completions of a shell.
    Completions {
        shell: clap_complete::Shell,
    },
    /// Writes the manual pages, and the completions of all shells, into a folder.
    Manual {
        folder: std::path::PathBuf,
    },
}

fn main() -> ExitCode {
    signals::survive_file_size();
    let done = match Arguments::parse().command {
        Command::Advise(arguments) => advise::main(arguments),
        Command::Report(arguments) => report::main(arguments),
        Command::Run(arguments) => run::main(arguments),
        Command::Library { name, file } => advise::write_library(name, &file).map(|()| ExitCode::SUCCESS),
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Arguments::command(), "toft", &mut std::io::stdout());
            Ok(ExitCode::SUCCESS)
        }
        Command::Manual { folder } => manual(&folder),
    };
    done.unwrap_or_else(|error| {
        eprintln!("toft: {error:#}");
        ExitCode::FAILURE
    })
}

fn manual(folder: &std::path::Path) -> anyhow::Result<ExitCode> {
    let failed = || format!("cannot write to {}; the folder must exist", folder.display());
    clap_mangen::generate_to(Arguments::command(), folder).with_context(failed)?;
    for shell in clap_complete::Shell::value_variants() {
        clap_complete::generate_to(*shell, &mut Arguments::command(), "toft", folder).with_context(failed)?;
    }
    Ok(ExitCode::SUCCESS)
}
