//! Where the user is and what they grant: options of every verb that runs a tool, or says what it may do.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use prowess_engine::{ApprovalStore as _, FileApprovals, UserGrants, World};
use prowess_policy::UserGrantError;

use crate::error::{Error, ErrorKind};
use crate::terminal::printer::Printer;

/// Where the user is, and their own grants.
#[derive(Args)]
pub(crate) struct StandingOptions {
    /// Grant the skill a permission that it does not declare, for this run only
    ///
    /// Written as skills declare permissions: `shell:execute:git`,
    /// `network:read:api.example.com`, `filesystem:write:./out`. A relative path is
    /// relative to the current folder, or to DIR of `--cwd`. The skill itself is not
    /// changed. Some locations and addresses can't be granted. May be repeated.
    #[arg(long, value_name = "PERMISSION")]
    pub(crate) allow: Vec<String>,
    /// Work in DIR, and take relative paths of inputs as relative to it
    ///
    /// Without it, paths are relative to the current folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
}

impl StandingOptions {
    /// The machine, as seen from where the user is.
    pub(crate) fn world(&self, world: Arc<World>) -> Result<Arc<World>, Error> {
        let Some(folder) = &self.cwd else { return Ok(world) };
        let mut world = Arc::unwrap_or_clone(world);
        world
            .stand_in(folder)
            .map_err(|error| Error::usage(format!("`--cwd` is not a folder: {error}")))?;
        Ok(Arc::new(world))
    }

    /// The user's own grants, with those that were remembered.
    pub(crate) fn grants(&self, world: &World) -> Result<UserGrants, Error> {
        let given = UserGrants::parse(&self.allow, world).map_err(|error| invalid(&error))?;
        let approvals = FileApprovals::of(&world.state)
            .load()
            .map_err(|error| Error::failed(error.to_string()).hint(error.hint()))?;
        Ok(given.with_earlier(&approvals))
    }
}

/// Says that a tool works in the home, and how to change that.
pub(crate) fn hint_at_home(world: &World, printer: &mut Printer) {
    if world.falls_back_to_home() {
        printer.hint(&home_hint());
    }
}

/// How to work in the current folder.
pub(crate) fn home_hint() -> String {
    "the current folder is not in a repository, so tools work in your home; `--cwd .` makes them work here".to_owned()
}

/// A wrong permission, with its position below it.
fn invalid(error: &UserGrantError) -> Error {
    let UserGrantError { text, at, message, suggestion, is_refused } = error;
    let column = text.get(..at.start).map_or(0, |before| before.chars().count());
    let kind = if *is_refused { ErrorKind::Refused } else { ErrorKind::Usage };
    let message = format!(
        "invalid `--allow {text}`, at column {} (`{}`): {message}",
        column + 1,
        text.get(at.clone()).unwrap_or(text)
    );
    let message =
        if *is_refused { format!("`--allow {text}`: {}", error.message) } else { message };
    let failed = Error { kind, ..Error::failed(message) };
    match suggestion {
        Some(suggestion) => failed.hint(format!("did you mean `--allow {suggestion}`?")),
        None if *is_refused => failed.hint("no approval allows this"),
        None => failed.hint("permissions look like `network:read:api.example.com`, `filesystem:write:./out` or `shell:execute:git`"),
    }
}
