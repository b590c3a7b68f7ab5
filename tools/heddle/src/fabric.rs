//! The FABRIC argument: a file, standard input, or a generator.

use crate::out::{Out, tell};
use anyhow::{Context, bail};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use heddle_fabric::{Fabric, FabricBuilder, NodeIndex, NodeKind, PortRef, SHAPES};
use heddle_formats::{Format, Warnings};
use heddle_verify::{Patterns, Proven, Quality};
use std::io::Read;

/// Where a fabric comes from.
#[derive(clap::Args)]
pub(crate) struct FabricArguments {
    /// File, `-` for standard input, or `gen:SHAPE` for a made-up fabric; the end of this help explains it
    fabric: String,

    /// The file's format, where its content should not decide
    #[arg(long, value_parser = format())]
    format: Option<Format>,
}

impl FabricArguments {
    pub(crate) fn load(&self) -> anyhow::Result<Loaded> {
        load(&self.fabric, self.format)
    }
}

/// A fabric, and what is known of where it comes from.
pub(crate) struct Loaded {
    /// As messages call it.
    pub(crate) name: String,
    pub(crate) builder: FabricBuilder,
    pub(crate) warnings: Warnings,
    /// Where the file says that the subnet manager sits.
    pub(crate) sm_port: Option<PortRef>,
}

impl Loaded {
    /// The frozen fabric, each port with LIDs of its own, and in words how they came about. Ports of hosts get 2^`lmc` LIDs.
    pub(crate) fn with_lids(mut self, lmc: Option<u8>) -> anyhow::Result<(Fabric, Warnings, String)> {
        if let Some(lmc) = lmc {
            self.builder.set_lmc(lmc);
        }
        let report = self.builder.assign_lids().with_context(|| self.name.clone())?;
        let (assigned, replaced) = (report.assigned.len(), report.replaced.len());
        let text = match (assigned, replaced) {
            (0, 0) => "as in the file".into(),
            (_, 0) => format!("{assigned} assigned"),
            _ => format!("{assigned} assigned, {replaced} replaced that could not stay"),
        };
        Ok((self.builder.build(), self.warnings, text))
    }
}

/// Counts what was odd in a file, on standard error.
pub(crate) fn tell_warnings(name: &str, warnings: &Warnings) {
    for line in warnings.summary() {
        tell(format_args!("{name}: {line}"));
    }
}

/// Reads or makes the fabric that the user names.
pub(crate) fn load(argument: &str, format: Option<Format>) -> anyhow::Result<Loaded> {
    if argument.starts_with("gen:") {
        let builder = heddle_fabric::generate(argument)?;
        return Ok(Loaded { name: argument.into(), builder, warnings: Warnings::default(), sm_port: None });
    }
    let (name, bytes) = if argument == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).context("cannot read standard input")?;
        ("standard input", bytes)
    } else {
        (argument, read_file(argument)?)
    };
    let heddle_formats::Loaded { builder, warnings, sm_port, .. } = heddle_formats::read(&bytes, name, format)?;
    tell_warnings(name, &warnings);
    Ok(Loaded { name: name.into(), builder, warnings, sm_port })
}

fn read_file(path: &str) -> anyhow::Result<Vec<u8>> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(bytes),
        Err(error) => {
            let shape = path.split(':').next().unwrap_or_default();
            if SHAPES.iter().any(|(name, _)| *name == shape) {
                bail!("cannot read {path}: {error}; for a made-up fabric write gen:{path}");
            }
            bail!("cannot read {path}: {error}")
        }
    }
}

/// Parses the name of a format that can be read.
pub(crate) fn format() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(Format::name)).try_map(|name| name.parse::<Format>())
}

/// A format that fabrics are printed in.
#[derive(Clone, Copy)]
pub(crate) enum Output {
    Ibnetdiscover,
    Ibsim,
    Json,
}

impl Output {
    const NAMES: [(&str, Self); 3] = [("ibnetdiscover", Self::Ibnetdiscover), ("ibsim", Self::Ibsim), ("json", Self::Json)];

    /// Parses the name of one.
    pub(crate) fn parser() -> impl TypedValueParser<Value = Self> {
        PossibleValuesParser::new(Self::NAMES.map(|(name, _)| name))
            .map(|name| Self::NAMES.into_iter().find(|(other, _)| *other == name).expect("one of the possible values").1)
    }

    /// Prints a fabric; `origin` is the port that it was seen from, if one is known.
    pub(crate) fn print(self, out: &mut Out, fabric: &Fabric, origin: Option<PortRef>) -> anyhow::Result<()> {
        out.write(|to| match self {
            Self::Ibnetdiscover => heddle_formats::write_ibnetdiscover(to, fabric, origin),
            Self::Ibsim => heddle_formats::write_netlist(to, fabric),
            Self::Json => heddle_formats::write_json(to, fabric),
        })
    }
}

/// How big a fabric is, in words.
pub(crate) fn size(fabric: &Fabric) -> String {
    let hosts = fabric.nodes().iter().filter(|node| node.kind != NodeKind::Switch).count();
    let ends: usize = (0..fabric.nodes().len() as u32)
        .map(|node| fabric.node_ports(NodeIndex(node)).iter().filter(|port| port.peer.is_some()).count())
        .sum();
    [count(fabric.switch_count(), "switch", "switches"), count(hosts, "host", "hosts"), count(ends / 2, "cable", "cables")].join(", ")
}

fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// What was proven, in words.
pub(crate) fn proof(proven: &Proven) -> String {
    let certificate = proven.certificate();
    let channels = certificate.ranks.len() / usize::from(certificate.vls);
    let lanes = match certificate.vls {
        1 => "one VL".to_owned(),
        vls => format!("{vls} VLs"),
    };
    let part = if proven.report().parts.len() > 1 { " of its part" } else { "" };
    let traffic = if certificate.covers_switch_to_switch { "" } else { " (all traffic that has a host at one end)" };
    format!(
        "every LID is reached from every switch and host{part}, no loop; {channels} channels ranked: no cycle, so no deadlock on {lanes}{traffic}"
    )
}

/// How long routes are, and how they share the links, in words; several lines.
pub(crate) fn quality(quality: &Quality) -> String {
    let Quality { hops, max_hops, mean_hops, max_link_load, mean_link_load } = quality;
    let lengths: Vec<String> =
        (0..).zip(hops).filter(|(_, routes)| **routes > 0).map(|(hops, routes)| format!("{hops}: {routes}")).collect();
    let (named, rest) = lengths.split_at(lengths.len().min(16));
    let more = if rest.is_empty() { "" } else { ", and longer ones" };
    let mut text = format!(
        "quality: hops at most {max_hops}, in the mean {mean_hops:.2}; routes on the busiest link {max_link_load}, in the mean {mean_link_load:.1}\n\
         routes by hops: {}{more}",
        if named.is_empty() { "none".to_owned() } else { named.join(", ") }
    );
    if quality.long_routes() > 0 {
        text += &format!(
            "\nwarning: {} routes have more than {} hops, further than directed-route packets go, by which subnet managers find switches",
            quality.long_routes(),
            Quality::MANY_HOPS
        );
    }
    text
}

/// What share of a link's bandwidth flows get, in words.
pub(crate) fn bandwidth(patterns: &Patterns) -> String {
    format!(
        "flows get {:.3} of a link in random bisections, {:.3} in random permutations, {:.3} in shifts (at most {} flows on a link)",
        patterns.bisection, patterns.permutation, patterns.shift, patterns.shift_contention
    )
}

/// What FABRIC can be, for the end of a help text, after the examples.
pub(crate) fn help(examples: &str) -> String {
    let shapes: String = SHAPES.iter().map(|(_, usage)| format!("\n    gen:{usage}")).collect();
    let formats = Format::ALL.map(Format::name).join(", ");
    format!(
        "{examples}\n\
         FABRIC is one of:\n  \
           a file: its content tells the format ({formats})\n  \
           -       the same from standard input\n  \
           gen:... a made-up fabric:{shapes}\n    \
             all take [,fail-links=N][,fail-switches=N][,seed=S]: so many random cables or switches are taken away"
    )
}
