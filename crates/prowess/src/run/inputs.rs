//! Values for inputs and parameters, from the command line.

use std::collections::BTreeSet;
use std::fmt;
use std::io::{self, Read as _};
use std::path::Path;

use clap::Args;
use prowess_format::render::parse_input;
use prowess_format::skill::Parameter;
use prowess_format::text::closest;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::error::{Error, ErrorKind};
use crate::skill::skill_ref;

/// The options of every verb that takes inputs.
#[derive(Args)]
pub(crate) struct InputOptions {
    /// A value by name; `NAME=@FILE` reads it from a file, `NAME=@@…` starts with
    /// a literal `@`
    #[arg(long = "input", value_name = "NAME=VALUE")]
    pub(crate) inputs: Vec<String>,
    /// All values as a JSON object, from the argument, a file or standard input
    #[arg(long = "inputs", value_name = "JSON|@FILE|-")]
    pub(crate) object: Option<String>,
}

/// The values for a skill's inputs or a tool's parameters, each given once.
pub(crate) fn values(
    options: &InputOptions,
    declared: &[Parameter],
) -> Result<Map<String, Value>, Error> {
    let mut values = match &options.object {
        Some(object) => object_values(object)?,
        None => Map::new(),
    };
    let of_object: Vec<String> = values.keys().cloned().collect();
    for (number, input) in options.inputs.iter().enumerate() {
        let Some((name, text)) = input.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            return Err(Error::usage(format!("`--input {input}` has no `=`"))
                .hint("write `--input NAME=VALUE`"));
        };
        // Otherwise the last one would win silently.
        let of_name = |other: &&String| other.split_once('=').is_some_and(|(it, _)| it == name);
        if let Some(earlier) = options.inputs[..number].iter().find(of_name) {
            return Err(Error::usage(format!(
                "`{name}` has two values: `--input {earlier}` and `--input {input}`"
            ))
            .hint("give only one of them; for a list use `--inputs` with JSON"));
        }
        if of_object.iter().any(|given| given == name) {
            return Err(Error::usage(format!(
                "`{name}` has two values: `--input {input}` and one in `--inputs`"
            ))
            .hint("give only one of them"));
        }
        let text = match text.strip_prefix('@') {
            Some(literal) if literal.starts_with('@') => literal.to_owned(),
            Some(file) => file_text(Path::new(file))?,
            None => text.to_owned(),
        };
        let kind = declared
            .iter()
            .find(|parameter| *parameter.name == name)
            .map_or("string", |parameter| parameter.kind.as_str());
        let value = parse_input(&text, kind).map_err(|error| {
            Error::usage(format!("the value of `{name}` is invalid: {error}"))
                .hint(format!("give another value: `--input {name}=…`"))
        })?;
        values.insert(name.to_owned(), value);
    }
    Ok(values)
}

/// Refuses inputs that a prompt does not declare, as tools and workflows do.
///
/// If a required input is missing as well, the engine reports both together.
pub(crate) fn refuse_unknown(
    values: &Map<String, Value>,
    declared: &[Parameter],
) -> Result<(), Error> {
    let is_missing =
        |input: &Parameter| input.required && !values.contains_key(input.name.as_str());
    let is_declared = |name: &str| declared.iter().any(|input| *input.name == *name);
    let Some(name) = values.keys().find(|name| !is_declared(name)) else { return Ok(()) };
    if declared.iter().any(is_missing) {
        return Ok(());
    }
    let names: Vec<&str> = declared.iter().map(|input| input.name.as_str()).collect();
    let error = Error::usage(format!("the skill has no input `{name}`"));
    Err(match closest(name, names.iter().copied()) {
        Some(similar) => error.hint(format!("did you mean `{similar}`?")),
        None if names.is_empty() => error.hint("it has no inputs"),
        None => error.hint(format!("its inputs are `{}`", names.join("`, `"))),
    })
}

/// The first key of an object that occurs twice.
struct DuplicateKey {
    key: Option<String>,
}

impl<'de> Deserialize<'de> for DuplicateKey {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = DuplicateKey;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<DuplicateKey, A::Error> {
                let (mut seen, mut duplicate) = (BTreeSet::new(), None);
                while let Some((key, IgnoredAny)) = map.next_entry::<String, IgnoredAny>()? {
                    if !seen.insert(key.clone()) {
                        duplicate.get_or_insert(key);
                    }
                }
                Ok(DuplicateKey { key: duplicate })
            }
        }

        source.deserialize_map(Reader)
    }
}

fn object_values(object: &str) -> Result<Map<String, Value>, Error> {
    let (text, place) = match object.strip_prefix('@') {
        Some(file) => (file_text(Path::new(file))?, format!("`{file}`")),
        None if object == "-" => (stdin_text()?, "standard input".to_owned()),
        None => (object.to_owned(), "`--inputs`".to_owned()),
    };
    match serde_json::from_str(&text) {
        Ok(Value::Object(values)) => match serde_json::from_str(&text) {
            // Otherwise the last one would win silently.
            Ok(DuplicateKey { key: Some(name) }) => {
                Err(Error::usage(format!("`{name}` has two values in {place}"))
                    .hint("give only one of them"))
            }
            _ => Ok(values),
        },
        Ok(_) => Err(Error::usage(format!("{place} is JSON, but not an object"))
            .hint("write an object with a key for each input, such as `{\"topic\": \"tea\"}`")),
        Err(error) => Err(Error::usage(format!("{place} is not JSON: {error}"))
            .hint("write an object with a key for each input, such as `{\"topic\": \"tea\"}`")),
    }
}

fn file_text(path: &Path) -> Result<String, Error> {
    let bytes =
        skill_ref::read(path).map_err(|source| as_usage(Error::io("read", path, &source)))?;
    skill_ref::within_bounds(&bytes, &skill_ref::shown(path)).map_err(as_usage)?;
    String::from_utf8(bytes).map_err(|_| {
        Error::usage(format!("`{}` is not UTF-8", skill_ref::shown(path)))
            .hint("an input is text: save the file as UTF-8")
    })
}

/// Turns a failure into a wrong argument: the file was given as a value.
fn as_usage(error: Error) -> Error {
    let kind = match error.kind {
        ErrorKind::Failed => ErrorKind::Usage,
        kind => kind,
    };
    Error { kind, ..error }
}

fn stdin_text() -> Result<String, Error> {
    let mut text = String::new();
    io::stdin().lock().take(skill_ref::MOST_BYTES).read_to_string(&mut text).map_err(|source| {
        Error::usage(format!(
            "cannot read standard input: {}",
            prowess_core::system_reason(&source)
        ))
    })?;
    Ok(text)
}
