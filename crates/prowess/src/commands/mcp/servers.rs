//! `prowess mcp servers`: the MCP servers that are configured for agents, and what they offer when they are asked.

use std::fmt::Write as _;

use clap::Args;
use prowess_core::McpError;
use prowess_engine::{
    CancellationToken, ConfiguredServer, Consent, ListedServer, ServerTransport, Talk, World,
    all_servers,
};
use prowess_format::command;
use prowess_format::text::shorten;
use prowess_library::ServerConversation;
use serde_json::{Map, Value, json};

use crate::commands::Outcome;
use crate::error::Error;
use crate::packages::options::Format;
use crate::render::problem_text::hints;
use crate::run::standing::StandingOptions;
use crate::run::tool_run;
use crate::session;
use crate::terminal::approval_prompt::TerminalApprover;
use crate::terminal::printer::{Printer, inline};

/// The identifier of the extension for skills (SEP-2640).
const SKILLS: &str = "io.modelcontextprotocol/skills";
/// The most tools, and the most skills, that are listed.
const MAX_LISTED: usize = 1_000;
/// The most pages of them that are read.
const MAX_PAGES: usize = 50;
/// The most characters of a name or of a command.
const MAX_TEXT: usize = 120;

/// List the MCP servers that are configured for agents
///
/// Reads the settings of agents in this project and in your home, as they are: a
/// skill with `runtime.type: mcp-tool` calls a tool of one of these servers, and
/// `prowess install mcp:SERVER` installs the skills that one publishes. Nothing is
/// started.
///
/// With `--connect`, each named server is connected to, and its tools and the skills
/// that it publishes are listed. A server that is a program is started in a sandbox,
/// after you have agreed: it can read the working directory, it gets the variables of
/// its own settings, and it has no network. `--allow` grants more; with `--remember`
/// also to later connections.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess mcp servers
  prowess mcp servers --format json
  prowess mcp servers github --connect --allow network:write:api.github.com

Exit codes:
  0  the servers are listed, and those that were asked have answered
  1  a server could not be connected to
  3  no server has this name
  4  refused: the server was not approved")]
pub(super) struct Arguments {
    /// Names of servers; all when absent
    #[arg(value_name = "SERVER")]
    names: Vec<String>,
    /// Connect to the named servers, and list what they offer
    #[arg(long, requires = "names")]
    connect: bool,
    #[command(flatten)]
    standing: StandingOptions,
    /// Remember what `--allow` grants for this server
    ///
    /// `prowess approvals` lists and revokes it.
    #[arg(long, requires = "allow")]
    remember: bool,
    /// Connect without a question, this time
    #[arg(short, long, requires = "connect")]
    yes: bool,
    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(super) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let world = arguments.standing.world(session::world()?)?;
    let mut servers = all_servers(&world);
    for name in &arguments.names {
        if !servers.iter().any(|server| server.name == *name) {
            return Err(Error::not_found(format!("no MCP server is called `{name}`"))
                .hint("`prowess mcp servers` lists the servers in the settings of agents"));
        }
    }
    if !arguments.names.is_empty() {
        servers.retain(|server| arguments.names.contains(&server.name));
    }
    let mut told = Vec::new();
    let mut failure = None;
    let mut asked: Vec<&str> = Vec::new();
    for server in &servers {
        // Of several of one name the first usable one is what its name means.
        let is_meant = server.server.is_ok() && !asked.contains(&server.name.as_str());
        let offered = if arguments.connect && is_meant {
            asked.push(&server.name);
            match connect(arguments, &server.name, &world, printer) {
                Ok(offered) => Some(offered),
                Err(error) => {
                    if let Some(earlier) = failure.replace(error) {
                        printer.error(&earlier);
                    }
                    None
                }
            }
        } else {
            None
        };
        told.push(entry(server, offered.as_ref(), &world));
    }
    match arguments.format {
        Format::Json => printer.json(&json!({ "servers": told })),
        Format::Text if told.is_empty() => {
            printer.note("no settings of an agent here have an MCP server");
        }
        Format::Text => {
            let text: Vec<String> = told.iter().map(text).collect();
            printer.report(&text.concat());
        }
    }
    if failure.is_none() && arguments.connect && asked.is_empty() {
        return Ok(Outcome::Findings);
    }
    failure.map_or(Ok(Outcome::Fine), Err)
}

/// What a server offers.
fn connect(
    arguments: &Arguments,
    server: &str,
    world: &std::sync::Arc<World>,
    printer: &mut Printer,
) -> Result<Value, Error> {
    let mut grants = arguments.standing.grants(world)?;
    if arguments.remember {
        grants = grants.remembered_for_skill();
    }
    let cancel = CancellationToken::default();
    tool_run::listen_for_signals(&cancel);
    let conversation = ServerConversation {
        world,
        grants,
        consent: if arguments.yes { Consent::InAdvance } else { Consent::None },
        time: None,
        cancel: &cancel,
    };
    let mut approver = TerminalApprover { printer };
    let library = session::library()?;
    let talked = library.talk_to_server(server, conversation, &mut approver, Talk::new(offered));
    talked.map_err(|problem| {
        let hints = hints(&problem.remedies);
        let error = Error::from(problem);
        if error.hints.is_empty() { hints.iter().fold(error, Error::hint) } else { error }
    })
}

fn offered(session: &mut dyn prowess_core::McpSession) -> Result<Value, McpError> {
    let facts = session.server().clone();
    let publishes_skills = facts.capabilities["extensions"].get(SKILLS).is_some();
    let tools = if facts.capabilities.get("tools").is_some() {
        names(session, "tools/list", |page| &page["tools"], |tool| &tool["name"])?
    } else {
        Vec::new()
    };
    // SEP-2640: listing a skill fetches nothing of it.
    let skills = if publishes_skills {
        names(
            session,
            "skills/list",
            |page| &page["skills"],
            |skill| &skill["frontmatter"]["name"],
        )?
    } else {
        Vec::new()
    };
    Ok(json!({
        "name": facts.name,
        "version": facts.version,
        "protocol": facts.protocol,
        "tools": tools,
        "publishes_skills": publishes_skills,
        "skills": skills,
    }))
}

/// The names of all items of a list, page by page.
fn names(
    session: &mut dyn prowess_core::McpSession,
    method: &str,
    items: fn(&Value) -> &Value,
    name: fn(&Value) -> &Value,
) -> Result<Vec<String>, McpError> {
    let mut names = Vec::new();
    let mut params = Map::new();
    for _ in 0..MAX_PAGES {
        let page = session.request(method, params)?;
        let listed = items(&page).as_array().into_iter().flatten();
        names.extend(listed.filter_map(|item| name(item).as_str().map(str::to_owned)));
        let cursor = page.get("nextCursor").filter(|cursor| cursor.is_string());
        let Some(cursor) = cursor.filter(|_| names.len() < MAX_LISTED) else { break };
        params = Map::from_iter([("cursor".to_owned(), cursor.clone())]);
    }
    names.truncate(MAX_LISTED);
    Ok(names)
}

fn entry(server: &ListedServer, offered: Option<&Value>, world: &World) -> Value {
    let usable = server.server.as_ref().ok();
    let home = server.file.strip_prefix(&world.home).ok();
    let file = match server.file.strip_prefix(&world.working_directory) {
        Ok(below) if world.working_directory != world.home => below.display().to_string(),
        _ => home.map_or_else(
            || server.file.display().to_string(),
            |below| format!("~/{}", below.display()),
        ),
    };
    json!({
        "name": server.name,
        "file": file,
        "transport": usable.map(ConfiguredServer::kind),
        "target": usable.map(|server| match server.transport {
            ServerTransport::Program { .. } => command::join(&server.shown()),
            ServerTransport::Http { .. } => server.shown().concat(),
        }),
        "problem": server.server.as_ref().err(),
        "offers": offered,
    })
}

fn text(entry: &Value) -> String {
    let part = |key: &str| {
        let text = entry[key].as_str().unwrap_or_default();
        inline(&shorten(text, MAX_TEXT)).into_owned()
    };
    let mut text = format!("{} ({})\n", part("name"), part("file"));
    if entry["problem"].is_string() {
        let _ = writeln!(text, "  can't be used: {}", part("problem"));
    } else {
        let _ = writeln!(text, "  {}: {}", part("transport"), part("target"));
    }
    let offers = &entry["offers"];
    if offers.is_object() {
        let word = |key: &str| {
            let text = offers[key].as_str().unwrap_or_default();
            inline(&shorten(text, MAX_TEXT)).into_owned()
        };
        let (name, version) = (word("name"), word("version"));
        let name = format!("{name} {version}");
        let line = format!("  answers as {}, protocol {}\n", name.trim_end(), word("protocol"));
        text.push_str(&line);
        for tool in offers["tools"].as_array().into_iter().flatten() {
            let tool = tool.as_str().unwrap_or_default();
            let _ = writeln!(text, "  tool {}", inline(&shorten(tool, MAX_TEXT)));
        }
        for skill in offers["skills"].as_array().into_iter().flatten() {
            let skill = skill.as_str().unwrap_or_default();
            let _ = writeln!(text, "  skill {}", inline(&shorten(skill, MAX_TEXT)));
        }
        if offers["publishes_skills"] == true {
            let _ = writeln!(text, "  publishes skills: prowess install mcp:{}", part("name"));
        }
    }
    text
}
