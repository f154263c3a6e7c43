//! Conversations with configured MCP servers beside the calls of skills: to see what a server offers, and to install what it
//! publishes.
//!
//! Starting a server runs a program, so it takes the same way as a tool: prepared, decided, asked about, and in a sandbox. For
//! that a server is written down as a skill of its own, in the user's data folder. Its approval is void when its settings or
//! its program change, and grants that the user gives it are remembered under its name.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use prowess_core::{Event, Problem, ProblemKind, StandardStream};
use prowess_engine::{
    Approver, Call, CancellationToken, Consent, LoadedSkill, ServerAnswer, SkillResolver as _,
    Talk, UserGrants, World, approve, prepare_for_user,
};
use prowess_files::atomic;
use prowess_format::span::{Span, Spanned};
use prowess_format::text::{shorten, visible};
use prowess_policy::Mode;
use serde_json::{Map, Value, json};

use crate::Library;
use crate::file::path_problem;

/// How long a conversation may take, in seconds.
const TIME: i64 = 300;
/// What is kept of what a server logs.
const MAX_LOG: usize = 4096;
/// The most characters of it in a message.
const MAX_SHOWN_LOG: usize = 300;

/// How a server is talked to.
pub struct ServerConversation<'c> {
    /// The machine as the user sees it, with the folder that the settings are for.
    pub world: &'c Arc<World>,
    /// What the user grants the server.
    pub grants: UserGrants,
    /// What the user said in advance.
    pub consent: Consent,
    /// How long it may take; five minutes if absent.
    pub time: Option<Duration>,
    /// Ends the conversation.
    pub cancel: &'c CancellationToken,
}

impl Library {
    /// Connects to a configured server and talks. What the talk returns is the result.
    pub fn talk_to_server(
        &self,
        server: &str,
        conversation: ServerConversation<'_>,
        approver: &mut dyn Approver,
        talk: Talk,
    ) -> Result<Value, Problem> {
        let ServerConversation { world, grants, consent, time, cancel } = conversation;
        let skill = self.server_as_skill(server, time)?;
        let tool = skill.skill.tools.first().cloned().ok_or_else(|| unusable(server))?;
        let call = Call { skill, tool, values: Map::new(), mode: Mode::Global };
        let prepared = prepare_for_user(call, grants, world)?;
        let engine = crate::engine(Arc::clone(world));
        let ready = approve(prepared, &engine, consent, approver)?;
        let mut log = Vec::new();
        let envelope = ready.talking(talk).run(cancel, &mut |event| {
            if let Event::Output { stream: StandardStream::Stderr, bytes } = event {
                log.extend_from_slice(bytes);
                log.drain(..log.len().saturating_sub(MAX_LOG));
            }
        });
        let Some(error) = envelope.error else { return Ok(envelope.parsed.unwrap_or_default()) };
        let problem = Problem {
            code: "mcp-server-failed",
            kind: ProblemKind::Unavailable,
            message: error,
            remedies: envelope.remedies,
        };
        let log = String::from_utf8_lossy(&log);
        Err(match log.lines().rev().find(|line| !line.trim().is_empty()) {
            Some(last) => {
                let last = visible(&shorten(last.trim(), MAX_SHOWN_LOG)).into_owned();
                problem.advice(format!("the last line that it logged: {last}"))
            }
            None => problem,
        })
    }

    /// Calls one tool of a configured server, beside any skill: for hooks and for agents. The server has to be approved as for
    /// every conversation with it.
    pub fn call_server_tool(
        &self,
        server: &str,
        (tool, arguments): (&str, Map<String, Value>),
        conversation: ServerConversation<'_>,
        approver: &mut dyn Approver,
    ) -> Result<ServerAnswer, Problem> {
        let params = Map::from_iter([
            ("name".to_owned(), tool.into()),
            ("arguments".to_owned(), Value::Object(arguments)),
        ]);
        let talk = Talk::new(move |session| session.request("tools/call", params.clone()));
        let result = self.talk_to_server(server, conversation, approver, talk)?;
        ServerAnswer::read(&result).map_err(|error| {
            let message = format!("the MCP server `{}` {}", visible(server), error.message);
            Problem::new("mcp-server-failed", ProblemKind::Failed, message)
        })
    }

    /// A server as something that can be decided about.
    fn server_as_skill(
        &self,
        server: &str,
        time: Option<Duration>,
    ) -> Result<Arc<LoadedSkill>, Problem> {
        let name = format!("mcp-{}", slug(server));
        let folder = self.world().state.data.join("mcp-servers").join(&name);
        let text = text_of(&name, server);
        let file = folder.join("SKILL.md");
        if fs::read(&file).ok().as_deref() != Some(text.as_bytes()) {
            fs::create_dir_all(&folder)
                .map_err(|source| path_problem("create", &folder, &source))?;
            atomic::write(&file, text.as_bytes(), atomic::WriteOptions::PRIVATE)
                .map_err(|source| path_problem("write", &file, &source))?;
        }
        let loaded = self.resolve(&folder.to_string_lossy())?;
        let mut loaded = Arc::unwrap_or_clone(loaded);
        // Not a field of the dialect; a skill with many files takes longer than a call.
        let seconds = time.map(|time| i64::try_from(time.as_secs()).unwrap_or(TIME).clamp(1, TIME));
        let seconds = Spanned::new(seconds.unwrap_or(TIME), Span::default());
        loaded.skill.timeout_secs = Some(seconds);
        Ok(Arc::new(loaded))
    }
}

fn unusable(server: &str) -> Problem {
    let message = format!("`{}` is not a name of an MCP server", visible(server));
    Problem::new("invalid-server-name", ProblemKind::InvalidInput, message)
}

/// The skill that stands for a server. JSON is YAML, so nothing in a name can end its text.
fn text_of(name: &str, server: &str) -> String {
    let server = json!(server);
    format!(
        "---\nname: {name}\nversion: 0.1.0\ndescription: Talks to an MCP server that you have configured for an agent.\n\
         runtime:\n  type: mcp-tool\n  server: {server}\n  tool: connect\ndependencies:\n  mcp-servers: [{server}]\n---\n\n\
         Written by prowess. Approvals and grants of the server are remembered for this skill.\n"
    )
}

/// A name for a folder. Different servers may get the same one; their names are in the text, so approvals differ.
fn slug(server: &str) -> String {
    let mut slug = String::new();
    for character in server.chars().take(48) {
        if character.is_ascii_alphanumeric() {
            slug.push(character.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "server".to_owned() } else { slug.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_gets_a_name_that_a_skill_may_have() {
        for (server, expected) in [
            ("github", "github"),
            ("My Server!", "my-server"),
            ("../../x", "x"),
            ("\u{1b}[31m", "31m"),
            ("日本", "server"),
        ] {
            assert_eq!(slug(server), expected);
        }
    }

    #[test]
    fn the_name_of_a_server_stays_a_text() {
        let text = text_of("mcp-x", "a\"\ntool: b");
        assert!(text.contains(r#"server: "a\"\ntool: b""#), "{text}");
    }
}
