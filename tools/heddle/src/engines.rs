use crate::Outcome;
use crate::out::Out;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use heddle_engines::Engine;
use serde::Serialize;

/// List the routing engines: what each needs, guarantees and costs
#[derive(clap::Args)]
#[command(after_help = "Each can be named in `heddle route --engine` and `heddle sm --engine`.")]
pub(crate) struct Arguments {
    /// Print the list as JSON
    #[arg(long)]
    json: bool,
}

impl Arguments {
    pub(crate) fn run(self, out: &mut Out) -> anyhow::Result<Outcome> {
        if self.json {
            out.json(&Engine::ALL.map(Json::from))?;
            return Ok(Outcome::Fine);
        }
        row(out, ["engine", "needs", "guarantees", "VLs", "cost"])?;
        for engine in Engine::ALL {
            let description = engine.description();
            out.line(COLUMNS.map(|width| "-".repeat(width)).join("  "))?;
            row(out, [engine.name(), description.needs, description.guarantees, description.virtual_lanes, description.cost])?;
        }
        out.line("")?;
        out.line("Options that `heddle route` takes beside --max-vls and --lmc, and the engines that heed them:")?;
        let mut options: Vec<&str> = Engine::ALL.into_iter().flat_map(Engine::options).copied().collect();
        options.sort_unstable();
        options.dedup();
        for option in options {
            let heeding = Engine::ALL.into_iter().filter(|engine| engine.options().contains(&option)).map(Engine::name);
            let names: Vec<&str> = heeding.collect();
            let names = names.join(", ");
            for (number, line) in wrapped(&names, WIDTH - OPTION).into_iter().enumerate() {
                let option = if number == 0 { format!("--{option}") } else { String::new() };
                out.line(format_args!("  {option:0$}{line}", OPTION - 2))?;
            }
        }
        out.line("")?;
        let chain = "Whatever an engine guarantees, its tables are proven before they are used; where the proof fails, the next engine of \
                     the chain is tried (--engine min-hop,up-down).";
        wrapped(chain, WIDTH).into_iter().try_for_each(|line| out.line(line))?;
        Ok(Outcome::Fine)
    }
}

/// How wide the text is, and its columns.
const WIDTH: usize = 100;
const COLUMNS: [usize; 5] = [10, 25, 31, 12, 14];
/// Where the engines of an option begin.
const OPTION: usize = 21;

/// A row of the table: each cell in as many lines as it needs.
fn row(out: &mut Out, cells: [&str; 5]) -> anyhow::Result<()> {
    let mut column = 0;
    let cells = cells.map(|cell| {
        column += 1;
        wrapped(cell, COLUMNS[column - 1])
    });
    for number in 0..cells.iter().map(Vec::len).max().unwrap_or(0) {
        let parts = cells.iter().zip(COLUMNS).map(|(lines, width)| format!("{:width$}", lines.get(number).map_or("", String::as_str)));
        out.line(parts.collect::<Vec<_>>().join("  ").trim_end())?;
    }
    Ok(())
}

/// Text in lines of so many characters, broken at blanks; a longer word has a line of its own.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut().filter(|line| line.len() + 1 + word.len() <= width) {
            Some(line) => *line = format!("{line} {word}"),
            None => lines.push(word.to_owned()),
        }
    }
    lines
}

/// What `--json` prints of an engine; an interface.
#[derive(Serialize)]
struct Json {
    name: &'static str,
    needs: &'static str,
    guarantees: &'static str,
    virtual_lanes: &'static str,
    cost: &'static str,
    /// The flags of `heddle route` that it heeds.
    options: &'static [&'static str],
}

impl From<Engine> for Json {
    fn from(engine: Engine) -> Self {
        let heddle_engines::Description { needs, guarantees, virtual_lanes, cost } = engine.description();
        Self { name: engine.name(), needs, guarantees, virtual_lanes, cost, options: engine.options() }
    }
}

/// Parses the name of an engine.
pub(crate) fn parser() -> impl TypedValueParser<Value = Engine> {
    PossibleValuesParser::new(Engine::ALL.map(Engine::name)).try_map(|name| name.parse::<Engine>())
}
