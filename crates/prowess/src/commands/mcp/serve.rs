//! Serves skills until the client goes away or a signal arrives.

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use prowess_core::Remedy;
use prowess_engine::{ApprovalRequest, LoadedSkill};
use prowess_format::command;
use prowess_mcp::{
    AskOnTerminal, HttpSettings, LeftOut, ServerSettings, SkillServer, SkillSource, Wording,
};
use prowess_policy::Mode;
use tokio_util::sync::CancellationToken;

use super::Outcome;
use crate::error::Error;
use crate::render::problem_text::hints;
use crate::run::hook_services::hook_services;
use crate::run::prompt_run;
use crate::run::terminal_command::{render_command, terminal_command};
use crate::run::tool_run;
use crate::session;
use crate::terminal::approval_prompt;
use crate::terminal::printer::{Printer, inline};

/// The variable with the token of clients over HTTP.
const TOKEN: &str = "PROWESS_MCP_TOKEN";
/// A shorter token could be guessed.
const MIN_TOKEN: usize = 16;

/// What is served, and how.
#[derive(Args)]
pub(crate) struct ServeArguments {
    /// Skills, folders of skills, or names of installed skills; without any, what
    /// `prowess list` shows as usable
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The mode you are in: Global, Dev, Meeting or Writer; skills of others are left out
    #[arg(long, value_name = "MODE", default_value = "Global", value_parser = tool_run::parse_mode)]
    mode: Mode,
    /// Serve over HTTP at this address instead of standard input and output
    ///
    /// Loopback addresses such as `127.0.0.1:8765` are reachable from this machine
    /// only. Any other address needs `--expose`. Port 0 takes a free port; the
    /// address is printed.
    #[arg(long, value_name = "ADDR", value_parser = parse_address)]
    http: Option<SocketAddr>,
    /// Allow an address that other machines can reach
    #[arg(long, requires = "http")]
    expose: bool,
    /// A name by which clients call the server, if not its address
    ///
    /// Requests for other names are refused, because a page in a browser could have
    /// made them. May be repeated.
    #[arg(long, value_name = "HOST", requires = "http")]
    host: Vec<String>,
    /// Serve what the protocol's test suite calls, without a token
    #[arg(long, hide = true)]
    conformance_fixtures: bool,
}

/// An address with a port. Of names only `localhost` is one: what another name leads to may change.
fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let numbers = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    let numbers = numbers.as_deref().unwrap_or(text);
    numbers.parse().map_err(|_| "expected an address such as `127.0.0.1:8765`".to_owned())
}

pub(crate) fn run(arguments: &ServeArguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let library = session::library()?;
    let bases = prompt_run::bases(library.world());
    let settings = ServerSettings {
        source: <dyn SkillSource>::of_library(Arc::clone(&library), arguments.paths.clone()),
        mode: arguments.mode,
        wording: Arc::new(CommandLine),
        hooks: hook_services(&library, None)?,
        retriever: Some(Arc::new(bases)),
        report: Box::new(report),
        with_fixtures: arguments.conformance_fixtures,
        library,
    };
    let server = SkillServer::new(settings)?;
    let runtime = prompt_run::runtime()?;
    let stop = CancellationToken::new();
    stop_on_signals(&stop);
    let outcome = match arguments.http {
        None => runtime.block_on(prowess_mcp::serve_stdio(server, stop)),
        Some(address) => {
            let http = listen(arguments, address, &server, printer)?;
            runtime.block_on(prowess_mcp::serve_http(server, http, stop))
        }
    };
    // A read of standard input can't be interrupted, and nobody waits for it.
    runtime.shutdown_background();
    outcome?;
    Ok(Outcome::Fine)
}

/// Binds the address, and says how clients connect.
fn listen(
    arguments: &ServeArguments,
    address: SocketAddr,
    server: &SkillServer,
    printer: &mut Printer,
) -> Result<HttpSettings, Error> {
    if !address.ip().is_loopback() && !arguments.expose {
        return Err(Error::refused(format!("`{address}` can be reached from other machines"))
            .hint("use `127.0.0.1`, or add `--expose` if that is what you want"));
    }
    let is_test = arguments.conformance_fixtures && address.ip().is_loopback();
    let given = std::env::var(TOKEN).ok().filter(|token| !token.is_empty());
    let is_given = given.is_some();
    let token = match given {
        Some(token) if token.len() < MIN_TOKEN && arguments.expose => {
            return Err(Error::usage(format!("`{TOKEN}` is shorter than {MIN_TOKEN} characters"))
                .hint("leave it unset to get a new token at each start"));
        }
        Some(token) => Some(token),
        None if is_test => None,
        None => Some(prowess_mcp::bearer_token()?),
    };
    let listener = TcpListener::bind(address).map_err(|error| {
        Error::failed(format!("cannot listen at `{address}`: {error}"))
            .hint("choose another port, or port 0 for a free one")
    })?;
    let bound = listener.local_addr().unwrap_or(address);
    let (skills, tools) = (server.skill_count(), server.tool_count());
    printer.note(&format!("serving {skills} skills with {tools} tools at http://{bound}/mcp"));
    if token.as_ref().is_some_and(|token| token.len() < MIN_TOKEN) {
        let guess = "so other users of this machine may guess it";
        printer.warning(&format!("`{TOKEN}` is shorter than {MIN_TOKEN} characters, {guess}"));
    }
    if let Some(token) = token.as_ref().filter(|_| !is_given) {
        // Without it nobody can connect, so `--quiet` does not hide it.
        anstream::eprintln!("clients need the header `Authorization: Bearer {token}`");
    }
    Ok(HttpSettings { listener, token, hosts: arguments.host.clone() })
}

/// Reports a skill that is not served. Standard output belongs to the client.
fn report(skill: &LeftOut) {
    let mut message = format!("left out `{}`: {}", skill.place.display(), skill.problem);
    for hint in hints(&skill.problem.remedies) {
        message.push_str("; ");
        message.push_str(&hint);
    }
    anstream::eprintln!("warning: {}", inline(&message));
}

#[cfg(unix)]
fn stop_on_signals(stop: &CancellationToken) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    // Without a handler a signal ends this process, and the sandboxes with it.
    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]) else {
        return;
    };
    let stop = stop.clone();
    std::thread::spawn(move || {
        for (count, signal) in signals.forever().enumerate() {
            if count > 0 {
                std::process::exit(128 + signal);
            }
            stop.cancel();
        }
    });
}

#[cfg(not(unix))]
fn stop_on_signals(_stop: &CancellationToken) {}

/// The words of this command line.
struct CommandLine;

impl Wording for CommandLine {
    fn question(&self, request: &ApprovalRequest) -> String {
        approval_prompt::page(request, false, None)
    }

    fn hints(&self, remedies: &[Remedy]) -> Vec<String> {
        // Who reads this is a model, which can't type options.
        let is_for_terminal = |remedy: &&Remedy| {
            !matches!(remedy, Remedy::Approve | Remedy::ApproveInPerson | Remedy::GiveInput(_))
        };
        let remedies = remedies.iter().filter(is_for_terminal);
        let lines = remedies.flat_map(|remedy| match remedy {
            // The user's terminal is somewhere else than this server.
            Remedy::TakeQuiz(place) => vec![format!("take it with `{}`", quiz_command(place))],
            remedy => hints(std::slice::from_ref(remedy)),
        });
        lines.collect()
    }

    fn ask_on_terminal(&self, call: &AskOnTerminal<'_>) -> String {
        terminal_command(call.skill, call.tool, call.values, call.mode, call.working_directory)
    }

    fn approve_commands(&self, skill: &LoadedSkill, mode: Mode) -> String {
        render_command(skill, mode)
    }
}

/// The command for the quiz of the skill at a place.
fn quiz_command(place: &str) -> String {
    let words = ["prowess", "quiz", place].map(str::to_owned);
    inline(&command::join(&words)).into_owned()
}
