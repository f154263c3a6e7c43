//! Values against the declared types of a tool, before anything starts (GIB §3.3, SRT §4.4).

use std::fs::File;
use std::path::{Path, PathBuf};

use prowess_core::Remedy;
use prowess_format::command::{self, RenderError};
use prowess_format::formats;
use prowess_format::skill::{Parameter, Tool};
use prowess_format::text::{alternatives, shorten};
use serde_json::{Map, Value};

/// Remedies for inputs that need a value.
pub(crate) fn give<'n>(names: impl IntoIterator<Item = &'n str>) -> Vec<Remedy> {
    names.into_iter().map(|name| Remedy::GiveInput(name.to_owned())).collect()
}

/// What is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ToolInputError {
    /// Missing, of another type, or for no parameter.
    #[error("{0}")]
    Value(RenderError),
    /// Of the right type, and still not what was declared.
    #[error("the parameter `{parameter}` is `{given}`, expected {expected}")]
    Invalid {
        /// The parameter.
        parameter: String,
        /// What is expected, in words.
        expected: String,
        /// What was given.
        given: String,
    },
    /// A byte that ends an argument.
    #[error(
        "the parameter `{parameter}` contains a NUL byte, which program arguments can't contain"
    )]
    ZeroByte {
        /// The parameter.
        parameter: String,
    },
    /// More than a program can be handed as an argument.
    #[error(
        "the parameter `{parameter}` has {length} bytes, but a program accepts at most {most} {of}: pass it in a file"
    )]
    TooLong {
        /// The parameter.
        parameter: String,
        /// Its length.
        length: usize,
        /// What is possible.
        most: usize,
        /// In what.
        of: &'static str,
    },
    /// A file that can't be read (SRT §4.4).
    #[error("the parameter `{parameter}` is `{given}`, which can't be read: {reason}")]
    Unreadable {
        /// The parameter.
        parameter: String,
        /// What was given.
        given: String,
        /// What the system says.
        reason: String,
    },
}

impl ToolInputError {
    /// Whether a value is missing, which is an error of its own (GIB §9.3).
    pub fn is_missing(&self) -> bool {
        matches!(self, ToolInputError::Value(RenderError::Missing { .. }))
    }

    /// The parameter that wants another value, where there is one.
    pub fn parameter(&self) -> Option<&str> {
        match self {
            ToolInputError::Value(
                RenderError::Missing { parameter } | RenderError::WrongType { parameter, .. },
            )
            | ToolInputError::Invalid { parameter, .. }
            | ToolInputError::ZeroByte { parameter }
            | ToolInputError::Unreadable { parameter, .. } => Some(parameter),
            // A shorter one is not what is missing.
            ToolInputError::TooLong { .. }
            | ToolInputError::Value(RenderError::Undeclared { .. } | RenderError::Template(_)) => {
                None
            }
        }
    }
}

/// The longest argument of a program on Linux, without the byte that ends it (`MAX_ARG_STRLEN` of execve(2)).
const MAX_ARGUMENT: usize = 32 * 4096 - 1;
/// All arguments together: a quarter of the usual stack (execve(2)), with room for the environment.
const MAX_ARGUMENTS: usize = (2 << 20) - (128 << 10);

/// Whether a program can be handed its arguments. The system would say no after everybody has said yes, and blame the
/// program.
pub(crate) fn check_arguments(
    arguments: &[String],
    values: &Map<String, Value>,
) -> Result<(), ToolInputError> {
    if arguments.iter().any(|argument| argument.contains('\0')) {
        let holds = |value: &Value| value.as_str().is_some_and(|text| text.contains('\0'));
        let parameter = values.iter().find(|(_, value)| holds(value)).map(|(name, _)| name.clone());
        return Err(ToolInputError::ZeroByte { parameter: parameter.unwrap_or_default() });
    }
    let longest = arguments.iter().map(String::len).max().unwrap_or_default();
    let (most, of) = if longest > MAX_ARGUMENT {
        (MAX_ARGUMENT, "in one argument")
    } else if arguments.iter().map(|argument| argument.len() + 1).sum::<usize>() > MAX_ARGUMENTS {
        (MAX_ARGUMENTS, "in all its arguments")
    } else {
        return Ok(());
    };
    let length = |value: &Value| value.as_str().map_or_else(|| value.to_string().len(), str::len);
    let lengths = values.iter().map(|(name, value)| (length(value), name.clone()));
    let (length, parameter) = lengths.max().unwrap_or_default();
    Err(ToolInputError::TooLong { parameter, length, most, of })
}

/// Files that the user names as inputs, as absolute paths. The tool has to be able to read them.
pub(crate) type NamedFiles = Vec<PathBuf>;

/// Checks the values of a call. Every problem is told, not only the first.
pub(crate) fn check(
    tool: &Tool,
    values: &Map<String, Value>,
    working_directory: &Path,
) -> Result<NamedFiles, Vec<ToolInputError>> {
    let mut errors: Vec<ToolInputError> = command::check_values(&tool.parameters, values)
        .into_iter()
        .map(ToolInputError::Value)
        .collect();
    let mut files = Vec::new();
    for parameter in &tool.parameters {
        let Some(value) = values.get(parameter.name.as_str()).filter(|value| !value.is_null())
        else {
            continue;
        };
        errors.extend(check_choice(parameter, value));
        let Some(text) = value.as_str() else { continue };
        match parameter.kind.as_str() {
            "url" if (formats::URL.check)(text).is_err() => {
                errors.push(invalid(parameter, text, formats::URL.title));
            }
            "file" => match readable(working_directory, text) {
                Ok(path) => files.push(path),
                Err(error) => errors.push(unreadable(parameter, text, &error)),
            },
            _ => {}
        }
    }
    if errors.is_empty() { Ok(files) } else { Err(errors) }
}

fn unreadable(parameter: &Parameter, text: &str, error: &std::io::Error) -> ToolInputError {
    ToolInputError::Unreadable {
        parameter: parameter.name.value.clone(),
        given: shorten(text, 80),
        reason: error.to_string(),
    }
}

/// Checks the files among values whose types are checked already (SRT §4.4).
pub(crate) fn check_files(
    parameters: &[Parameter],
    values: &Map<String, Value>,
    folder: &Path,
) -> Result<(), Vec<ToolInputError>> {
    let errors: Vec<ToolInputError> = parameters
        .iter()
        .filter(|parameter| parameter.kind.as_str() == "file")
        .filter_map(|parameter| {
            let text = values.get(parameter.name.as_str())?.as_str()?;
            let error = readable(folder, text).err()?;
            Some(unreadable(parameter, text, &error))
        })
        .collect();
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// A parameter may list the values it takes.
fn check_choice(parameter: &Parameter, value: &Value) -> Option<ToolInputError> {
    let (_, choices) = parameter.extra.iter().find(|(key, _)| key == "enum")?;
    let choices = choices.as_array().filter(|choices| !choices.contains(value))?;
    let words: Vec<String> = choices.iter().map(plain).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    Some(invalid(parameter, &plain(value), &alternatives(&words)))
}

fn invalid(parameter: &Parameter, given: &str, expected: &str) -> ToolInputError {
    ToolInputError::Invalid {
        parameter: parameter.name.value.clone(),
        expected: expected.to_owned(),
        given: shorten(given, 80),
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Opening is the only way to know.
fn readable(folder: &Path, text: &str) -> std::io::Result<PathBuf> {
    let path = folder.join(text).canonicalize()?;
    if !path.is_file() {
        return Err(std::io::Error::other("it is not a file"));
    }
    File::open(&path)?;
    Ok(path)
}
