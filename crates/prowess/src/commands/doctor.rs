//! `prowess doctor`: tests the sandbox on this machine.

use std::fmt::Write as _;

use clap::{Args, ValueEnum};
use prowess_sandbox::{LayerState, Probe};
use serde_json::{Value, json};

use super::Outcome;
use crate::error::Error;
use crate::terminal::printer::{Channel, Printer};
use crate::terminal::wrap::wrap;

/// Check whether this machine can enforce the sandbox
///
/// Tools run in a sandbox that the kernel enforces in several layers. This verb
/// tries each layer and then all of them together, and reports what is missing,
/// why, and what to do about it. It tests by doing, not by reading settings.
///
/// If a layer is missing, tools are refused; they never run in a weaker sandbox.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess doctor
  prowess doctor --format json
  prowess doctor --apparmor-profile")]
pub(crate) struct Arguments {
    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Print an `AppArmor` profile that lets this program create user namespaces
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
            Error::failed(format!("cannot determine the path of this program: {source}"))
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
                "this machine can enforce the sandbox, so tools can run"
            } else {
                "this machine can't enforce the sandbox, so tools are refused"
            });
        }
        Format::Json => printer.json(&wire(&probe)),
    }
    Ok(if probe.is_enforceable() { Outcome::Fine } else { Outcome::Findings })
}

fn word(state: LayerState) -> &'static str {
    match state {
        LayerState::Enforced => "enforced",
        LayerState::BestEffort => "best effort",
        LayerState::Missing => "missing",
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

/// A profile for Ubuntu, where only programs with a profile may create user namespaces.
fn apparmor_profile(program: &str) -> String {
    let quoted = program.replace('\\', "\\\\").replace('"', "\\\"");
    format!("abi <abi/4.0>,\n\nprofile prowess \"{quoted}\" flags=(unconfined) {{\n  userns,\n}}\n")
}
