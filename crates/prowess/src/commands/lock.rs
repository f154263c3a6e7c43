//! `prowess lock`: the lock file, and whether the store is what it says.

use clap::Args;

use super::Outcome;
use super::verify;
use crate::error::Error;
use crate::packages::manager;
use crate::packages::options::{Format, ScopeOption};
use crate::terminal::printer::Printer;

/// Print the lock file, or compare the store with it
///
/// The lock file says what is installed byte for byte, where it came from and who
/// signed it. `--check` reports what differs: versions, tiers, contents, and
/// skills that are missing or that nobody locked.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess lock
  prowess lock --check --project

Exit codes:
  0  the store is what the lock file says
  1  it is not
  3  there is no lock file")]
pub(crate) struct Arguments {
    /// Compare, and say what differs
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    scope: ScopeOption,
    /// How the comparison is written; the lock file itself is JSON
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let packages = manager()?;
    let path = packages.lock_path(arguments.scope.scope());
    if !path.exists() {
        let missing = Error::not_found(format!("there is no lock file `{}`", path.display()));
        return Err(missing.hint("it is written by `prowess install`"));
    }
    if arguments.check {
        return verify::verify(&[], arguments.scope, false, arguments.format, printer);
    }
    let store = packages.store(arguments.scope.scope())?;
    // Read and written, so that what is printed is a lock and nothing else.
    let lock = packages.lock_file(arguments.scope.scope())?;
    printer.data(&store.lock_text(&lock));
    Ok(Outcome::Fine)
}
