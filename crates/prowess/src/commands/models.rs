//! `prowess models`: lists models, and tests one.

use std::fmt::Write as _;
use std::future::poll_fn;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use prowess_core::Remedy;
use prowess_core::{Message, Model as _, ModelDelta, ModelError, ModelFacts, ModelRequest, Usage};
use prowess_engine::World;
use prowess_models::{LocalServer, ModelSettings, Provider, RemoteModel, find_local};
use prowess_settings::KeySource;
use serde_json::{Value, json};

use super::Outcome;
use crate::error::Error;
use crate::render::problem_text::hints;
use crate::run::prompt_run;
use crate::session;
use crate::terminal::printer::{Printer, inline};

/// List configured and local models, and test one
///
/// Prompt skills need a language model. This verb lists the configured providers
/// and where each setting comes from, and the servers that run on this machine
/// with their models. Keys are never shown.
///
/// A model is named PROVIDER/NAME. It is chosen by `--model`, by the variable
/// `PROWESS_MODEL`, or by `model` in config.toml. Built-in providers are openai,
/// anthropic, ollama, llamacpp, lmstudio, lemonade and vllm.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess models
  prowess models --format json

With a running server: prowess models --test ollama/llama3.2

Exit codes:
  0  success
  1  the model does not answer, or the settings are invalid
  2  no model is named or chosen, or the arguments are wrong
  3  the provider has no such model

Variables: PROWESS_MODEL, OPENAI_API_KEY, OPENAI_BASE_URL, ANTHROPIC_API_KEY,
ANTHROPIC_BASE_URL, OLLAMA_HOST, HTTP_PROXY, HTTPS_PROXY, NO_PROXY.

The file $XDG_CONFIG_HOME/prowess/config.toml, usually in ~/.config:
  model = \"work/some-model\"

  [providers.work]
  kind = \"openai\"                       # or \"anthropic\"
  base_url = \"https://llm.example.com/v1\"
  key_env = \"WORK_LLM_KEY\"              # or key_file = \"work.key\", mode 600")]
pub(crate) struct Arguments {
    /// Ask a model for one token; the chosen one if no name is given
    #[arg(long, value_name = "PROVIDER/NAME", num_args = 0..=1)]
    #[expect(
        clippy::option_option,
        reason = "the parser's type for an option with an optional value"
    )]
    test: Option<Option<String>>,
    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

/// The most models of one server that are listed as text.
const MOST_SHOWN: usize = 20;

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let world = session::world()?;
    let settings = ModelSettings::load(&world.environment, &world.state.config)?;
    let runtime = prompt_run::runtime()?;
    match &arguments.test {
        Some(wanted) => {
            if wanted.is_none() && settings.model.is_none() {
                let example = list_example(&settings, &runtime, &world);
                return Err(Error::usage("no model is named or chosen")
                    .hint(format!("name one: `prowess models --test {example}`"))
                    .hint(format!("or choose one: `PROWESS_MODEL={example}`"))
                    .hint("`prowess models` lists the models of servers on this machine"));
            }
            let tested = runtime.block_on(test(&settings, wanted.as_deref(), &world))?;
            match arguments.format {
                Format::Text => printer.report(&tested.page()),
                Format::Json => printer.json(&tested.wire()),
            }
        }
        None => {
            let found = runtime.block_on(find_local(&settings, &world.environment));
            let list = List { settings: &settings, found: &found, world: &world };
            match arguments.format {
                Format::Text => list.show(printer),
                Format::Json => printer.json(&list.wire()),
            }
        }
    }
    Ok(Outcome::Fine)
}

/// The configured providers and the local servers.
struct List<'l> {
    settings: &'l ModelSettings,
    found: &'l [LocalServer],
    world: &'l World,
}

impl List<'_> {
    fn show(&self, printer: &mut Printer) {
        let mut page = String::new();
        if let Some((model, origin)) = &self.settings.model {
            let _ = writeln!(page, "chosen: {} ({})", inline(model), inline(&origin.to_string()));
        }
        for provider in self.settings.providers.iter().filter(|provider| self.is_shown(provider)) {
            if !page.is_empty() {
                page.push('\n');
            }
            self.provider(provider, &mut page);
        }
        printer.report(&page);
        // A missing or invalid choice is a message, not a result.
        let Err(error) = self.settings.choose(None) else { return };
        if self.settings.model.is_some() {
            printer.warning(&error.message);
        } else {
            printer.note(&error.message);
        }
        if let (None, Some(model)) = (&self.settings.model, found_model(self.found)) {
            for hint in hints(&self.settings.ways_to_choose(&model)) {
                printer.note(&hint);
            }
            return;
        }
        // This is the list already.
        let mut remedies = error.remedies;
        remedies.retain(|remedy| *remedy != Remedy::ListModels);
        for hint in hints(&remedies) {
            printer.note(&hint);
        }
    }

    /// Whether a provider is listed: those that are neither configured nor running are not.
    fn is_shown(&self, provider: &Provider) -> bool {
        use prowess_models::SettingOrigin;
        let chosen = self.settings.choose(None);
        provider.origin != SettingOrigin::BuiltIn
            || self.server(provider).is_some()
            || matches!(provider.has_key(&self.world.environment), Ok(true))
            || chosen.is_ok_and(|chosen| chosen.provider.name == provider.name)
    }

    fn server(&self, provider: &Provider) -> Option<&LocalServer> {
        self.found.iter().find(|server| server.provider == provider.name)
    }

    fn provider(&self, provider: &Provider, page: &mut String) {
        let name = inline(&provider.name);
        let _ = writeln!(page, "{name}");
        let origin = provider.origin.to_string();
        let _ = writeln!(page, "  address  {} ({})", provider.base_url, inline(&origin));
        match (key_origin(&provider.key), provider.has_key(&self.world.environment)) {
            (_, Err(error)) => {
                let _ = writeln!(page, "  key      {}", inline(&error.message));
                for hint in hints(&error.remedies) {
                    let _ = writeln!(page, "           → {}", inline(&hint));
                }
            }
            (Some(origin), Ok(true)) => {
                let _ = writeln!(page, "  key      from {}", inline(&origin));
            }
            // Servers on this machine rarely need one.
            (_, Ok(_)) if provider.is_local => {}
            (_, Ok(_)) => page.push_str("  key      none\n"),
        }
        if !provider.is_local {
            return;
        }
        let Some(server) = self.server(provider) else {
            page.push_str("  server   does not answer\n");
            return;
        };
        for (number, model) in server.models.iter().take(MOST_SHOWN).enumerate() {
            let word = if number == 0 { "models" } else { "" };
            let _ = writeln!(page, "  {word:7}  {name}/{}", inline(model));
        }
        match server.models.len() {
            0 => page.push_str("  models   none\n"),
            count if count > MOST_SHOWN => {
                let more = count - MOST_SHOWN;
                let _ = writeln!(page, "           and {more} more, see `--format json`");
            }
            _ => {}
        }
    }

    fn wire(&self) -> Value {
        let chosen = self.settings.model.as_ref().map(|(model, origin)| {
            let problem = self.settings.choose(None).err();
            json!({
                "name": model,
                "origin": origin.to_string(),
                "problem": problem.as_ref().map(wire_error),
            })
        });
        let providers: Vec<Value> = self
            .settings
            .providers
            .iter()
            .map(|provider| {
                let key = provider.has_key(&self.world.environment);
                let server = self.server(provider);
                json!({
                    "name": provider.name,
                    "kind": provider.kind.word(),
                    "base_url": provider.base_url.as_str(),
                    "origin": provider.origin.to_string(),
                    "key": {
                        "origin": key_origin(&provider.key),
                        "found": matches!(key, Ok(true)),
                        "problem": key.as_ref().err().map(wire_error),
                    },
                    // Only servers on this machine are asked.
                    "running": provider.is_local.then_some(server.is_some()),
                    "models": server.map(|server| &server.models),
                })
            })
            .collect();
        json!({ "chosen": chosen, "providers": providers })
    }
}

/// The first model of a local server.
fn found_model(found: &[LocalServer]) -> Option<String> {
    let server = found.iter().find(|server| !server.models.is_empty())?;
    Some(format!("{}/{}", server.provider, inline(server.models.first()?)))
}

fn list_example(
    settings: &ModelSettings,
    runtime: &tokio::runtime::Runtime,
    world: &World,
) -> String {
    let found = runtime.block_on(find_local(settings, &world.environment));
    found_model(&found).unwrap_or_else(|| "PROVIDER/NAME".to_owned())
}

fn key_origin(key: &KeySource) -> Option<String> {
    match key {
        KeySource::None => None,
        KeySource::Variable { name, .. } => Some(name.clone()),
        KeySource::File(path) => Some(path.display().to_string()),
    }
}

fn wire_error(error: &ModelError) -> Value {
    json!({ "message": error.message, "hints": hints(&error.remedies) })
}

/// The result of testing a model.
struct Tested {
    name: String,
    base_url: String,
    first_token: Option<Duration>,
    total: Duration,
    text: String,
    usage: Option<Usage>,
    facts: ModelFacts,
}

async fn test(
    settings: &ModelSettings,
    wanted: Option<&str>,
    world: &World,
) -> Result<Tested, ModelError> {
    let choice = settings.choose(wanted)?;
    let model = RemoteModel::open(&choice, &world.environment)?;
    let request = ModelRequest {
        messages: vec![Message::User("Answer with the word: yes".to_owned())],
        max_tokens: Some(1),
        ..ModelRequest::default()
    };
    let start = Instant::now();
    let mut stream = model.answer(&request).await?;
    let mut tested = Tested {
        name: model.name().to_owned(),
        base_url: choice.provider.base_url.to_string(),
        first_token: None,
        total: Duration::ZERO,
        text: String::new(),
        usage: None,
        facts: ModelFacts::default(),
    };
    while let Some(piece) = poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
        match piece? {
            ModelDelta::Text(text) => {
                tested.first_token.get_or_insert_with(|| start.elapsed());
                tested.text.push_str(&text);
            }
            ModelDelta::Usage(usage) => tested.usage = Some(usage),
            ModelDelta::ToolCall(_) | ModelDelta::End(_) => {}
        }
    }
    tested.total = start.elapsed();
    // A model that answers but reports nothing about itself has passed.
    tested.facts = model.facts().await.unwrap_or_default();
    Ok(tested)
}

impl Tested {
    fn page(&self) -> String {
        let unknown = || "unknown".to_owned();
        let rows = [
            ("address", self.base_url.clone()),
            // A reasoning model may spend its one token on reasoning.
            ("first token", self.first_token.map_or("none".to_owned(), milliseconds)),
            ("total", milliseconds(self.total)),
            (
                "tokens",
                self.usage.map_or_else(unknown, |usage| {
                    format!("{} input, {} output", usage.input, usage.output)
                }),
            ),
            ("context", self.facts.context.map_or_else(unknown, |count| format!("{count} tokens"))),
            ("parameters", self.facts.parameters.map_or_else(unknown, |count| count.to_string())),
        ];
        let mut page = format!("{} answers\n", inline(&self.name));
        for (name, value) in rows {
            let _ = writeln!(page, "  {name:11}  {value}");
        }
        page
    }

    fn wire(&self) -> Value {
        json!({
            "model": self.name,
            "base_url": self.base_url,
            "first_token_ms": self.first_token.map(|time| time.as_secs_f64() * 1000.0),
            "total_ms": self.total.as_secs_f64() * 1000.0,
            "text": self.text,
            "usage": self.usage.map(|usage| json!({
                "input": usage.input, "output": usage.output,
            })),
            "context": self.facts.context,
            "parameters": self.facts.parameters,
        })
    }
}

fn milliseconds(time: Duration) -> String {
    format!("{} ms", time.as_millis())
}
