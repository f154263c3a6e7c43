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

/// The options that every verb with inputs has.
#[derive(Args)]
pub(crate) struct InputOptions {
    /// A value by name; `NAME=@FILE` reads it from a file, `NAME=@@…` begins
    /// with an `@`
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
        // The last one would win, and nobody would know that the first was there.
        let of_name = |other: &&String| other.split_once('=').is_some_and(|(it, _)| it == name);
        if let Some(earlier) = options.inputs[..number].iter().find(of_name) {
            return Err(Error::usage(format!(
                "`{name}` has two values: `--input {earlier}` and `--input {input}`"
            ))
            .hint("give one of them; for a list write `--inputs` with JSON"));
        }
        if of_object.iter().any(|given| given == name) {
            return Err(Error::usage(format!(
                "`{name}` has two values: `--input {input}` and one in `--inputs`"
            ))
            .hint("give one of them"));
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
            Error::usage(format!("the value of `{name}` is wrong: {error}"))
                .hint(format!("give it another one: `--input {name}=…`"))
        })?;
        values.insert(name.to_owned(), value);
    }
    Ok(values)
}

/// Refuses names that a prompt does not declare, as tools and workflows do. Where something is missing too, that is told
/// together with it.
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

/// The keys of an object, as far as one stands there twice.
struct Keys {
    twice: Option<String>,
}

impl<'de> Deserialize<'de> for Keys {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Keys;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Keys, A::Error> {
                let (mut seen, mut twice) = (BTreeSet::new(), None);
                while let Some((key, IgnoredAny)) = map.next_entry::<String, IgnoredAny>()? {
                    if !seen.insert(key.clone()) {
                        twice.get_or_insert(key);
                    }
                }
                Ok(Keys { twice })
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
            // The last one would win, and nobody would know that the first was there.
            Ok(Keys { twice: Some(name) }) => {
                Err(Error::usage(format!("`{name}` has two values in {place}"))
                    .hint("give one of them"))
            }
            _ => Ok(values),
        },
        Ok(_) => Err(Error::usage(format!("{place} holds JSON, but not an object"))
            .hint("write an object with a key for each input, such as `{\"topic\": \"tea\"}`")),
        Err(error) => Err(Error::usage(format!("{place} is not JSON: {error}"))
            .hint("write an object with a key for each input, such as `{\"topic\": \"tea\"}`")),
    }
}

fn file_text(path: &Path) -> Result<String, Error> {
    let bytes = skill_ref::read(path).map_err(|source| wrong(Error::io("read", path, &source)))?;
    skill_ref::within_bounds(&bytes, &skill_ref::shown(path)).map_err(wrong)?;
    String::from_utf8(bytes).map_err(|_| {
        Error::usage(format!("`{}` is not UTF-8", skill_ref::shown(path)))
            .hint("an input is text: save the file as UTF-8")
    })
}

/// A file that is no value is a wrong argument, and no failure of what was asked for.
fn wrong(error: Error) -> Error {
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
