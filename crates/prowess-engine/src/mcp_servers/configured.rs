//! One MCP server as the settings of an agent describe it, with the variables in them expanded.

use std::fmt;
use std::path::{Path, PathBuf};

use prowess_policy::ProgramPin;
use prowess_policy::scope::Program;
use prowess_secrets::Secret;
use serde_json::Value;

use super::ADDRESSES;
use crate::digest;
use crate::world::World;

/// The shortest value that is kept out of output: a shorter one would remove words that have nothing to do with it.
const MIN_SECRET: usize = 8;

/// A server that can be connected to.
#[derive(Clone)]
pub struct ConfiguredServer {
    /// Its name in the settings.
    pub name: String,
    /// The file with its settings.
    pub file: PathBuf,
    /// How it is reached.
    pub transport: ServerTransport,
    /// A hash of its settings as they are written, by which an approval recognises them.
    sha256: String,
}

/// How a server is reached. Values of variables and headers may be secrets.
#[derive(Clone)]
pub enum ServerTransport {
    /// A program that is started, over its standard streams.
    Program {
        /// The program, as an absolute path or a name on PATH.
        program: Program,
        /// Its arguments.
        arguments: Vec<String>,
        /// The variables of its settings.
        variables: Vec<(String, String)>,
    },
    /// A server over streamable HTTP.
    Http {
        /// Its URL.
        url: String,
        /// Headers of every request.
        headers: Vec<(String, String)>,
    },
}

impl fmt::Debug for ConfiguredServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, file, .. } = self;
        f.debug_struct("ConfiguredServer")
            .field("name", name)
            .field("file", file)
            .finish_non_exhaustive()
    }
}

impl ConfiguredServer {
    /// Reads the settings of a server. The error is a phrase that follows its name.
    pub(super) fn read(
        name: &str,
        file: &Path,
        settings: &Value,
        world: &World,
    ) -> Result<Self, String> {
        let url = ADDRESSES.iter().find_map(|key| settings.get(key).and_then(Value::as_str));
        let transport = match url {
            Some(url) => remote(url, settings, world)?,
            None => local(settings, world)?,
        };
        let text = format!("{}\n{settings}", file.display());
        let sha256 = digest::of_bytes(text.as_bytes());
        Ok(Self { name: name.to_owned(), file: file.to_owned(), transport, sha256 })
    }

    /// The settings as something that an approval is bound to.
    pub(crate) fn pin(&self) -> ProgramPin {
        let path = format!("the settings of the MCP server {}", self.name);
        ProgramPin { path, sha256: self.sha256.clone() }
    }

    /// The values that must not appear anywhere.
    pub(crate) fn secrets(&self) -> Vec<Secret> {
        let pairs = match &self.transport {
            ServerTransport::Program { variables, .. } => variables,
            ServerTransport::Http { headers, .. } => headers,
        };
        let mut secrets = Vec::new();
        for (name, value) in pairs {
            // A server repeats the key, not the word before it.
            let parts = value.split_once(' ').map(|(_, key)| key);
            for text in std::iter::once(value.as_str()).chain(parts) {
                if text.len() >= MIN_SECRET && text.len() <= prowess_secrets::MAX_SECRET_BYTES {
                    secrets.push(Secret::new(name, text));
                }
            }
        }
        secrets
    }

    /// What is started or connected to, as a person reads it.
    pub fn shown(&self) -> Vec<String> {
        match &self.transport {
            ServerTransport::Program { program, arguments, .. } => {
                std::iter::once(program.to_string()).chain(arguments.iter().cloned()).collect()
            }
            ServerTransport::Http { url, .. } => vec![shown_url(url)],
        }
    }

    /// `stdio` or `http`.
    pub fn kind(&self) -> &'static str {
        match self.transport {
            ServerTransport::Program { .. } => "stdio",
            ServerTransport::Http { .. } => "http",
        }
    }
}

/// A URL without what could be a secret in it.
fn shown_url(url: &str) -> String {
    let Ok(mut url) = url::Url::parse(url) else { return "an invalid URL".to_owned() };
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_fragment(None);
    let has_query = url.query().is_some();
    url.set_query(None);
    if has_query { format!("{url}?…") } else { url.to_string() }
}

fn remote(url: &str, settings: &Value, world: &World) -> Result<ServerTransport, String> {
    if settings.get("type").and_then(Value::as_str) == Some("sse") {
        return Err(
            "uses the transport SSE, which the protocol has replaced: ask its operator for \
                    the address of streamable HTTP"
                .to_owned(),
        );
    }
    let url = expand(url, world)?;
    let mut headers = Vec::new();
    for key in ["headers", "http_headers"] {
        headers.extend(pairs(settings.get(key), world)?);
    }
    // Codex and Kimi name variables instead of writing headers.
    for key in ["bearer_token_env_var", "bearerTokenEnvVar"] {
        if let Some(name) = settings.get(key).and_then(Value::as_str) {
            let value = format!("Bearer {}", variable(name, world)?);
            headers.push(("Authorization".to_owned(), value));
        }
    }
    let named = settings.get("env_http_headers").and_then(Value::as_object);
    for (header, name) in named.into_iter().flatten() {
        let value = variable(name.as_str().unwrap_or_default(), world)?;
        headers.push((header.clone(), value));
    }
    Ok(ServerTransport::Http { url, headers })
}

fn local(settings: &Value, world: &World) -> Result<ServerTransport, String> {
    let command = settings.get("command").or_else(|| settings.get("cmd"));
    let texts = |value: Option<&Value>| -> Result<Vec<String>, String> {
        let all = value.and_then(Value::as_array).into_iter().flatten();
        all.map(|text| expand(text.as_str().ok_or("has an argument that is not text")?, world))
            .collect()
    };
    // opencode writes program and arguments as one list.
    let (command, mut arguments) = match command {
        Some(Value::String(command)) => (expand(command, world)?, Vec::new()),
        list => {
            let mut words = texts(list)?.into_iter();
            (words.next().unwrap_or_default(), words.collect())
        }
    };
    arguments.extend(texts(settings.get("args"))?);
    let path = match command.strip_prefix("~/") {
        Some(below) => world.home.join(below).to_string_lossy().into_owned(),
        None if command.contains('/') => {
            world.working_directory.join(&command).to_string_lossy().into_owned()
        }
        None => command,
    };
    let program =
        Program::parse(&path).map_err(|error| format!("starts `{path}`, which {error}"))?;
    let mut variables = Vec::new();
    for key in ["env", "environment", "envs"] {
        variables.extend(pairs(settings.get(key), world)?);
    }
    Ok(ServerTransport::Program { program, arguments, variables })
}

fn pairs(map: Option<&Value>, world: &World) -> Result<Vec<(String, String)>, String> {
    let map = map.and_then(Value::as_object).into_iter().flatten();
    map.map(|(name, value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Ok((name.clone(), expand(&text, world)?))
    })
    .collect()
}

/// Expands `${NAME}`, `${NAME:-default}`, `${env:NAME}` and `{env:NAME}`, and the folders `${workspaceFolder}` and
/// `${userHome}`, as agents do.
fn expand(text: &str, world: &World) -> Result<String, String> {
    let mut expanded = String::new();
    let mut rest = text;
    loop {
        let start = match (rest.find("${"), rest.find("{env:")) {
            (Some(one), Some(other)) => one.min(other),
            (Some(at), None) | (None, Some(at)) => at,
            (None, None) => break,
        };
        let Some(end) = rest[start..].find('}').map(|at| start + at) else { break };
        let name = rest[start..end].trim_start_matches('$').trim_start_matches('{');
        expanded.push_str(&rest[..start]);
        expanded.push_str(&value_of(name, world)?);
        rest = &rest[end + 1..];
    }
    expanded.push_str(rest);
    Ok(expanded)
}

fn value_of(name: &str, world: &World) -> Result<String, String> {
    let folder = |path: &Path| Ok(path.to_string_lossy().into_owned());
    match name {
        "workspaceFolder" => return folder(&world.working_directory),
        "userHome" => return folder(&world.home),
        _ => {}
    }
    if let Some(input) = name.strip_prefix("input:") {
        return Err(format!("wants the input `{input}`, which only its own agent can ask for"));
    }
    let name = name.strip_prefix("env:").unwrap_or(name);
    match name.split_once(":-") {
        Some((name, default)) => Ok(variable(name, world).unwrap_or_else(|_| default.to_owned())),
        None => variable(name, world),
    }
}

fn variable(name: &str, world: &World) -> Result<String, String> {
    let found = world.environment.iter().find(|(known, _)| known == name);
    let found = found.map(|(_, value)| value.clone()).filter(|value| !value.is_empty());
    found.ok_or_else(|| format!("needs the variable `{name}`, which is not set"))
}
