//! `prowess doctor`: what this machine can enforce.

use std::fmt::Write as _;

use clap::{Args, ValueEnum};
use prowess_sandbox::{Probe, State};
use serde_json::{Value, json};

use super::Outcome;
use crate::error::Error;
use crate::terminal::printer::{Channel, Printer};
use crate::terminal::wrap::wrap;

/// Show what this machine can enforce
///
/// Skills run in a sandbox that the kernel enforces. This verb tries each of them
/// and then all together, and says what is missing, why, and what to do about it.
/// Nothing of it is read from files that only claim something.
///
/// A machine that lacks a wall runs no tools: a run is refused, never weaker.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess doctor
  prowess doctor --format json
  prowess doctor --apparmor-profile")]
pub(crate) struct Arguments {
    /// How the result is written
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Print a profile for `AppArmor` that lets this program make namespaces
    #[arg(long)]
    apparmor_profile: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A table
    Text,
    /// One JSON object
    Json,
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    if arguments.apparmor_profile {
        let program = std::env::current_exe().map_err(|source| {
            Error::failed(format!("cannot tell where this program is: {source}"))
        })?;
        printer.data(&apparmor_profile(&program.display().to_string()));
        printer.note("save it as /etc/apparmor.d/prowess and load it with `apparmor_parser -r`");
        return Ok(Outcome::Fine);
    }
    let probe = prowess_sandbox::probe();
    match arguments.format {
        Format::Text => {
            let width = printer.width(Channel::Out);
            printer.report(&table(&probe, width));
            printer.say(if probe.is_enforceable() {
                "this machine can run tools, and holds them to what they may do"
            } else {
                "this machine can't hold tools to what they may do, so it runs none"
            });
        }
        Format::Json => printer.json(&wire(&probe)),
    }
    Ok(if probe.is_enforceable() { Outcome::Fine } else { Outcome::Findings })
}

fn word(state: State) -> &'static str {
    match state {
        State::Enforced => "enforced",
        State::BestEffort => "best effort",
        State::Missing => "missing",
    }
}

fn table(probe: &Probe, line_width: Option<usize>) -> String {
    let width = probe.layers.iter().map(|layer| layer.name.len()).max().unwrap_or_default();
    probe.layers.iter().fold(String::new(), |mut text, layer| {
        let mut line = |line: &str| {
            let _ = writeln!(text, "{}", wrap(line, width + 15, line_width));
        };
        line(&format!("{:width$}  {:11}  {}", layer.name, word(layer.state), layer.detail));
        if let Some(remedy) = &layer.remedy {
            line(&format!("{:width$}  {:11}  → {remedy}", "", ""));
        }
        text
    })
}

fn wire(probe: &Probe) -> Value {
    let layers: Vec<Value> = probe
        .layers
        .iter()
        .map(|layer| {
            json!({
                "name": layer.name,
                "state": word(layer.state).replace(' ', "_"),
                "detail": layer.detail,
                "remedy": layer.remedy,
            })
        })
        .collect();
    json!({ "enforceable": probe.is_enforceable(), "layers": layers })
}

/// Ubuntu lets only programs with a profile make user namespaces.
fn apparmor_profile(program: &str) -> String {
    let quoted = program.replace('\\', "\\\\").replace('"', "\\\"");
    format!("abi <abi/4.0>,\n\nprofile prowess \"{quoted}\" flags=(unconfined) {{\n  userns,\n}}\n")
}
