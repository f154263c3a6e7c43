//! One file per verb.

pub(crate) mod agent;
pub(crate) mod approvals;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod convert;
pub(crate) mod deprecate;
pub(crate) mod doctor;
pub(crate) mod exec;
pub(crate) mod explain;
pub(crate) mod generate_docs;
pub(crate) mod info;
pub(crate) mod install;
pub(crate) mod kb;
pub(crate) mod key;
pub(crate) mod list;
pub(crate) mod lock;
pub(crate) mod login;
pub(crate) mod logout;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod migrate;
pub(crate) mod models;
pub(crate) mod new;
pub(crate) mod outdated;
pub(crate) mod owner;
pub(crate) mod pack;
pub(crate) mod policy;
pub(crate) mod prompt;
pub(crate) mod publish;
pub(crate) mod quiz;
#[cfg(feature = "server")]
pub(crate) mod registry;
pub(crate) mod remove;
pub(crate) mod render;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod scan;
pub(crate) mod schema;
pub(crate) mod search;
#[cfg(feature = "server")]
pub(crate) mod serve;
pub(crate) mod show;
pub(crate) mod sign;
pub(crate) mod trawl;
pub(crate) mod trust;
pub(crate) mod update;
pub(crate) mod verify;
pub(crate) mod which;
pub(crate) mod whoami;
pub(crate) mod workflow;
pub(crate) mod yank;

use std::process::ExitCode;

use crate::cli::{Cli, Verb};
use crate::error::Error;
use crate::log;
use crate::terminal::printer::Printer;

/// The result of a verb that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Success.
    Fine,
    /// There are findings at error level.
    Findings,
    /// Some skills can't be used (GAIX-20).
    Broken,
    /// A tool ran and exited with this code.
    Ended(u8),
}

/// Runs the verb and returns its exit code.
pub(crate) fn run(cli: Cli) -> ExitCode {
    let mut printer = Printer::new(&cli.output);
    let started = log::start(cli.output.log.as_ref());
    let result = started.and_then(|()| match cli.verb {
        Verb::Check(arguments) => check::run(&arguments, &mut printer),
        Verb::Scan(arguments) => scan::run(&arguments, &mut printer),
        Verb::Show(arguments) => show::run(&arguments, &mut printer),
        Verb::Convert(arguments) => convert::run(&arguments, &mut printer),
        Verb::Migrate(arguments) => migrate::run(&arguments, &mut printer),
        Verb::New(arguments) => new::run(&arguments, &mut printer),
        Verb::Render(arguments) => render::run(&arguments, &mut printer),
        Verb::Run(arguments) => run::run(&arguments, &mut printer),
        Verb::Exec(arguments) => exec::run(&arguments, &mut printer),
        Verb::Workflow(arguments) => workflow::run(&arguments, &mut printer),
        Verb::Prompt(arguments) => prompt::run(&arguments, &mut printer),
        Verb::Quiz(arguments) => quiz::run(&arguments, &mut printer),
        Verb::Models(arguments) => models::run(&arguments, &mut printer),
        Verb::Policy(arguments) => policy::run(&arguments, &mut printer),
        Verb::Runs(arguments) => runs::run(&arguments, &mut printer),
        Verb::Approvals(arguments) => approvals::run(&arguments, &mut printer),
        Verb::Kb(arguments) => kb::run(&arguments, &mut printer),
        Verb::Install(arguments) => install::run(&arguments, &mut printer),
        Verb::Agent(arguments) => agent::run(&arguments, &mut printer),
        Verb::Mcp(arguments) => mcp::run(&arguments, &mut printer),
        #[cfg(feature = "server")]
        Verb::Serve(arguments) => serve::run(&arguments, &mut printer),
        Verb::Update(arguments) => update::run(&arguments, &mut printer),
        Verb::Outdated(arguments) => outdated::run(&arguments, &mut printer),
        Verb::Remove(arguments) => remove::run(&arguments, &mut printer),
        Verb::List(arguments) => list::run(&arguments, &mut printer),
        Verb::Info(arguments) => info::run(&arguments, &mut printer),
        Verb::Which(arguments) => which::run(&arguments, &mut printer),
        Verb::Verify(arguments) => verify::run(&arguments, &mut printer),
        Verb::Lock(arguments) => lock::run(&arguments, &mut printer),
        Verb::Search(arguments) => search::run(&arguments, &mut printer),
        Verb::Trawl(arguments) => trawl::run(&arguments, &mut printer),
        Verb::Publish(arguments) => publish::run(&arguments, &mut printer),
        Verb::Yank(arguments) => yank::run(&arguments, &mut printer),
        Verb::Deprecate(arguments) => deprecate::run(&arguments, &mut printer),
        Verb::Owner(arguments) => owner::run(&arguments, &mut printer),
        Verb::Login(arguments) => login::run(&arguments, &mut printer),
        Verb::Logout(arguments) => logout::run(&arguments, &mut printer),
        Verb::Whoami(arguments) => whoami::run(&arguments, &mut printer),
        #[cfg(feature = "server")]
        Verb::Registry(arguments) => registry::run(&arguments, &mut printer),
        Verb::Pack(arguments) => pack::run(&arguments, &mut printer),
        Verb::Key(arguments) => key::run(&arguments, &mut printer),
        Verb::Sign(arguments) => sign::run(&arguments, &mut printer),
        Verb::Trust(arguments) => trust::run(&arguments, &mut printer),
        Verb::Explain(arguments) => explain::run(&arguments, &mut printer),
        Verb::Doctor(arguments) => doctor::run(&arguments, &mut printer),
        Verb::Schema(arguments) => Ok(schema::run(&arguments, &mut printer)),
        Verb::Completions(arguments) => Ok(completions::run(&arguments, &mut printer)),
        Verb::Man(arguments) => man::run(&arguments, &mut printer),
        Verb::GenerateDocs(arguments) => generate_docs::run(&arguments, &mut printer),
    });
    let code = exit_code(result, &mut printer);
    printer.finish(code)
}

fn exit_code(result: Result<Outcome, Error>, printer: &mut Printer) -> u8 {
    match result {
        Ok(Outcome::Fine) => 0,
        Ok(Outcome::Findings) => 1,
        Ok(Outcome::Broken) => 4,
        Ok(Outcome::Ended(code)) => code,
        Err(error) => {
            printer.error(&error);
            error.kind.exit_code()
        }
    }
}
