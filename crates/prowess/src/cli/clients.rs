//! The names of clients on the command line: the same words for `--for` and `--agent`.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::ErrorKind;
use prowess_format::client::{self, Client};
use prowess_library::packages::client_by_id;

use crate::render::problem_text;

/// Parses the id of a client, or another name for it.
#[derive(Clone)]
pub(crate) struct ClientParser;

impl TypedValueParser for ClientParser {
    type Value = &'static Client;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Self::Value, clap::Error> {
        let word = value.to_string_lossy();
        client_by_id(&word).map_err(|problem| {
            let hints = problem_text::hints(&problem.remedies).join("; ");
            let argument = argument.map(|it| format!(" for `{it}`")).unwrap_or_default();
            let message = format!("invalid value{argument}: {}; {hints}", problem.message);
            command.clone().error(ErrorKind::ValueValidation, message)
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(client::ids().into_iter().map(PossibleValue::new)))
    }
}
