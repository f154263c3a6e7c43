//! Reading the words after a command, and saying which one was wrong.

use std::fmt;

/// A mistake on the command line: exit code 2, followed by the command's help.
#[derive(Debug)]
pub(crate) struct UsageError(String);

impl fmt::Display for UsageError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for UsageError {}

pub(crate) fn unexpected(argument: &str) -> anyhow::Error {
    UsageError(format!("unexpected argument `{argument}`")).into()
}

pub(crate) fn missing_value(option: &str) -> anyhow::Error {
    UsageError(format!("`{option}` needs a value")).into()
}

pub(crate) fn invalid_value(option: &str, value: &str, expected: &str) -> anyhow::Error {
    UsageError(format!("`{value}` is not a value for `{option}`: expected {expected}")).into()
}
