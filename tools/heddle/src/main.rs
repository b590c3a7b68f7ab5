//! The `heddle` command: an InfiniBand subnet manager, and its routing engines offline.
//!
//! A file a subcommand. Each takes its arguments and standard output, and gives an [`Outcome`] or an error:
//!
//! - exit status 0: fine, or the reader of the output went away;
//! - exit status 1: the command did its work and found something wrong with the fabric or its tables;
//! - exit status 2: bad usage, bad input, or something failed.
#![forbid(unsafe_code)]

mod attach;
mod chain;
mod command;
mod convert;
mod discover;
mod emulate;
mod engines;
mod fabric;
mod generate;
mod live;
mod multicast;
mod narrate;
mod out;
mod progress;
mod route;
mod routing_options;
mod run;
mod script;
mod sm;
mod verify;

use clap::{Parser, Subcommand};
use out::{Out, ReaderGone};
use std::process::ExitCode;

/// How a command ended that did its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Fine,
    /// The fabric or the tables are not as they should be.
    Finding,
}

#[derive(Parser)]
#[command(name = "heddle", version, max_term_width = 110, about = ABOUT, after_help = AFTER_HELP)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const ABOUT: &str = "InfiniBand subnet manager and routing engines: finds a fabric, addresses it, routes it, proves the routes free of \
    deadlock, and only then programs them.";

const AFTER_HELP: &str = "\
Exit status: 0 fine; 1 a finding (not free of deadlock, unreachable, not routable); 2 bad usage, bad input or a failure.

Try it without hardware:
  heddle sm --emulate gen:clos2:8 --once
  heddle route gen:torus:4x4,hosts=2 --engine min-hop,up-down

`heddle COMMAND --help` has examples for each command and explains what FABRIC can be.";

#[derive(Subcommand)]
enum Command {
    Sm(sm::Arguments),
    Discover(discover::Arguments),
    Emulate(emulate::Arguments),
    Fabric(command::Arguments),
    Route(route::Arguments),
    Verify(verify::Arguments),
    Generate(generate::Arguments),
    Convert(convert::Arguments),
    Engines(engines::Arguments),
    Run(run::Arguments),
    #[command(name = run::CLEANER, hide = true)]
    RunCleaner(run::Cleaner),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let mut out = Out::new();
    let result = match cli.command {
        Command::Sm(arguments) => arguments.run(&mut out),
        Command::Discover(arguments) => arguments.run(&mut out),
        Command::Emulate(arguments) => arguments.run(&mut out),
        Command::Fabric(arguments) => arguments.run(&mut out),
        Command::Route(arguments) => arguments.run(&mut out),
        Command::Verify(arguments) => arguments.run(&mut out),
        Command::Generate(arguments) => arguments.run(&mut out),
        Command::Convert(arguments) => arguments.run(&mut out),
        Command::Engines(arguments) => arguments.run(&mut out),
        Command::Run(arguments) => arguments.run(&mut out),
        Command::RunCleaner(arguments) => arguments.run(&mut out),
    };
    match result.and_then(|outcome| out.flush().map(|()| outcome)) {
        Ok(Outcome::Fine) => ExitCode::SUCCESS,
        Ok(Outcome::Finding) => ExitCode::from(1),
        Err(error) if error.is::<ReaderGone>() => ExitCode::SUCCESS,
        Err(error) => {
            out::tell(explain(&error));
            ExitCode::from(2)
        }
    }
}

/// The error and its causes in one line; many say their cause themselves.
fn explain(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}
