//! Commands in the text of a skill, `` !`git diff` ``, whose output the text needs: decided about together, run one after the
//! other, each in the sandbox.
//!
//! They are command lines of the skill for a shell. Their programs are requested with them, because the text of the skill
//! names them as a command tool does. `allowed-tools` plays no part: it says what an agent does without asking, and here
//! the policy decides. `docs/design/injected-commands.md` has the reasons.

use std::sync::Arc;

use prowess_core::{Envelope, Event, Problem, ProblemKind, Remedy, RunOutcome};
use prowess_format::render::{InjectedCommand, RenderedPrompt};
use prowess_format::skill::Tool;
use prowess_format::text::{shorten, visible_line};
use prowess_policy::tool_rules::{
    ToolDecision, ToolFolders, ToolRules, ToolUse, is_search_or_comparison,
};
use prowess_policy::{ALWAYS_ASK_FIELD, Denied, Mode, PROGRAMS_FIELD, TIMEOUT_FIELD, utilities};
use serde_json::{Map, json};

use crate::approver::{ApprovalReply, ApprovalRequest, Approver};
use crate::decision::{Consent, Engine, ReadyRun, RunDecision};
use crate::error::RunError;
use crate::loaded::LoadedSkill;
use crate::pending::PendingRun;
use crate::prepare::{Call, PreparedCall, prepare_for_user};
use crate::run::CancellationToken;
use crate::scripts::{ARGUMENTS, command_line_tool};
use crate::user_grants::UserGrants;
use crate::world::World;

/// The name of the tool that such commands are, in approvals and questions.
pub const INJECTED_TOOL: &str = "injected:bash";
/// How long each may take, as Claude Code documents it.
const SECONDS: u64 = 120;
/// How much of an output gets into the text, in bytes.
const MAX_OUTPUT_BYTES: usize = 30_000;
/// How many commands one text may have.
const MAX_COMMANDS: usize = 50;
/// What the shell runs: the command is an argument of its own, and its errors go where its output goes.
const SCRIPT: &str = "exec bash -c \"$0\" 2>&1";

/// The commands of a text, ready to be decided about.
#[derive(Debug)]
pub struct PreparedInjection {
    parts: Vec<(String, PreparedCall)>,
}

/// What was decided about the commands of a text.
#[derive(Debug)]
pub enum InjectionDecision {
    /// All of them may run.
    Ready(InjectedRun),
    /// Somebody has to be asked, once for all of them.
    Ask(Box<PendingInjection>),
    /// They may not run, whatever anybody answers.
    Denied(Box<Denied>),
}

/// Commands that wait for an answer. Dropping them refuses them.
#[derive(Debug)]
pub struct PendingInjection {
    request: ApprovalRequest,
    parts: Vec<(String, RunDecision)>,
}

/// Commands that may run, once.
#[derive(Debug)]
pub struct InjectedRun {
    parts: Vec<(String, ReadyRun)>,
}

/// Why a text was not completed.
#[derive(Debug, thiserror::Error)]
pub enum InjectionError {
    /// Nothing was started.
    #[error(transparent)]
    Refused(#[from] RunError),
    /// A command failed. Those before it have run.
    #[error(transparent)]
    Failed(Box<FailedInjection>),
}

/// A command that failed, which ends the whole invocation.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("the command `{}` in the skill's text failed: {reason}", visible_line(&shorten(.command, 200)))]
pub struct FailedInjection {
    /// The command.
    pub command: String,
    /// How it ended.
    pub reason: String,
    /// What it printed.
    pub output: String,
    /// How the run ended, and with which code.
    pub outcome: (RunOutcome, i32),
}

/// Prepares the commands of a rendered text. Nothing is started.
pub fn prepare_injection(
    skill: &Arc<LoadedSkill>,
    rendered: &RenderedPrompt,
    mode: Mode,
    user: &UserGrants,
    world: &Arc<World>,
) -> Result<PreparedInjection, RunError> {
    let commands = &rendered.commands;
    if commands.len() > MAX_COMMANDS {
        let count = commands.len();
        return Err(RunError::Unsupported(format!(
            "the skill's text has {count} commands; at most {MAX_COMMANDS} are run"
        )));
    }
    let shell = skill.skill.invocation.shell.as_ref().map(|shell| shell.as_str());
    if shell == Some("powershell") && !commands.is_empty() {
        return Err(RunError::Unsupported(
            "the skill's commands are for PowerShell (`shell: powershell`), which is not supported here; only bash is"
                .to_owned(),
        ));
    }
    refuse_disallowed(skill, commands, world)?;
    let tool = tool(commands);
    let world = Arc::new(World::clone(world).for_tool(&tool).map_err(|error| {
        RunError::Unsupported(format!("the skill's commands can't run here: {error}"))
    })?);
    let mut parts = Vec::new();
    for command in commands {
        let mut values = Map::new();
        values.insert(ARGUMENTS.to_owned(), json!(["-c", SCRIPT, command.command]));
        let call = Call { skill: Arc::clone(skill), tool: tool.clone(), values, mode };
        parts.push((command.command.clone(), prepare_for_user(call, user.clone(), &world)?));
    }
    Ok(PreparedInjection { parts })
}

/// One tool for all commands of a text, so that one answer is about all of them.
fn tool(commands: &[InjectedCommand]) -> Tool {
    let mut tool = command_line_tool("bash");
    INJECTED_TOOL.clone_into(&mut tool.name.value);
    let mut programs: Vec<String> = Vec::new();
    for command in commands {
        for program in prowess_shell::parse(&command.command).programs() {
            let is_utility = prowess_policy::scope::Program::parse(&program.name)
                .is_ok_and(|program| utilities::contain(&program));
            if program.is_started && !is_utility && !programs.contains(&program.name) {
                programs.push(program.name);
            }
        }
    }
    // What a user or a model has typed becomes part of a command, so no earlier answer was about it.
    let is_typed = commands.iter().any(|command| command.shell_value.is_some());
    tool.extra = vec![
        (PROGRAMS_FIELD.to_owned(), programs.into()),
        (TIMEOUT_FIELD.to_owned(), SECONDS.into()),
        (ALWAYS_ASK_FIELD.to_owned(), is_typed.into()),
    ];
    tool
}

/// Refuses commands that the skill's own `disallowed-tools` are about.
fn refuse_disallowed(
    skill: &LoadedSkill,
    commands: &[InjectedCommand],
    world: &World,
) -> Result<(), RunError> {
    let (rules, _) = ToolRules::of_skill(&skill.skill);
    if rules.deny.is_empty() {
        return Ok(());
    }
    let text = |path: &std::path::Path| path.to_string_lossy().into_owned();
    let (working, project) = (text(&world.current), text(&world.working_directory));
    let home = text(&world.home);
    let folders = ToolFolders { working: &working, project: &project, home: Some(&home) };
    for command in commands {
        let input = json!({ "command": command.command });
        let call = ToolUse { tool: "Bash", input: &input, folders };
        if let ToolDecision::Deny(pattern) = rules.decide(&call) {
            return Err(RunError::Unsupported(format!(
                "the command `{}` in the skill's text is denied by its own `disallowed-tools: {pattern}`",
                visible_line(&shorten(&command.command, 200))
            )));
        }
    }
    Ok(())
}

impl PreparedInjection {
    /// Decides about all commands. The approvals are read, which may block.
    pub fn decide(self, engine: &Engine, consent: Consent) -> Result<InjectionDecision, RunError> {
        let commands: Vec<String> = self.parts.iter().map(|(text, _)| text.clone()).collect();
        let mut parts = Vec::new();
        let mut request: Option<ApprovalRequest> = None;
        for (command, prepared) in self.parts {
            let decision = match prepared.decide(engine, consent)? {
                RunDecision::Denied(denied) => return Ok(InjectionDecision::Denied(denied)),
                decision => decision,
            };
            if let RunDecision::Ask(pending) = &decision {
                request.get_or_insert_with(|| pending.request().clone());
            }
            parts.push((command, decision));
        }
        match request {
            Some(request) => {
                let request = ApprovalRequest { injected: commands, ..request };
                Ok(InjectionDecision::Ask(Box::new(PendingInjection { request, parts })))
            }
            None => {
                // Nobody is asked, and the answer counts for nothing.
                let parts = PendingInjection::answered(parts, ApprovalReply::No)?;
                Ok(InjectionDecision::Ready(InjectedRun { parts }))
            }
        }
    }
}

impl InjectionDecision {
    /// The commands that may run, after the question was asked where there is one.
    pub fn answered(self, approver: &mut dyn Approver) -> Result<InjectedRun, RunError> {
        match self {
            InjectionDecision::Ready(ready) => Ok(ready),
            InjectionDecision::Denied(denied) => Err(RunError::Denied(denied)),
            InjectionDecision::Ask(pending) => {
                let reply = approver.ask(pending.request());
                pending.answer(reply)
            }
        }
    }
}

impl PendingInjection {
    /// The question about all commands.
    pub fn request(&self) -> &ApprovalRequest {
        &self.request
    }

    /// Answers for all of them. A yes that is to be remembered is stored, which may block.
    pub fn answer(self, reply: ApprovalReply) -> Result<InjectedRun, RunError> {
        Ok(InjectedRun { parts: Self::answered(self.parts, reply)? })
    }

    fn answered(
        parts: Vec<(String, RunDecision)>,
        reply: ApprovalReply,
    ) -> Result<Vec<(String, ReadyRun)>, RunError> {
        let answer = |decision: RunDecision| match decision {
            RunDecision::Ready(ready) => Ok(ready),
            RunDecision::Denied(denied) => Err(RunError::Denied(denied)),
            RunDecision::Ask(pending) => PendingRun::answer(*pending, reply),
        };
        parts.into_iter().map(|(command, decision)| Ok((command, answer(decision)?))).collect()
    }
}

impl InjectedRun {
    /// How many commands there are.
    pub fn count(&self) -> usize {
        self.parts.len()
    }

    /// Runs the commands on the calling thread, one after the other, and gives their outputs. The first that fails ends it.
    ///
    /// Only warnings are reported: what the commands print is for the text.
    pub fn run(
        self,
        cancel: &CancellationToken,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<Vec<String>, InjectionError> {
        let mut outputs = Vec::new();
        for (command, ready) in self.parts {
            let mut printed = PrintedOutput::default();
            let envelope = ready.run(cancel, &mut |event| match event {
                Event::Output { bytes, .. } => printed.push(bytes),
                Event::Warning { .. } => sink(event),
                _ => {}
            });
            let output = printed.text();
            if is_failure(&command, &envelope) {
                return Err(InjectionError::Failed(Box::new(failed(command, envelope, output))));
            }
            outputs.push(output);
        }
        Ok(outputs)
    }
}

/// Any exit code but 0 is a failure, except 1 of a command that searches or compares.
fn is_failure(command: &str, envelope: &Envelope) -> bool {
    match envelope.outcome {
        RunOutcome::Success => false,
        RunOutcome::Failed => envelope.exit_code != 1 || !is_search_or_comparison(command),
        _ => true,
    }
}

fn failed(command: String, envelope: Envelope, output: String) -> FailedInjection {
    let reason = match (envelope.outcome, envelope.error) {
        (RunOutcome::Failed, _) => format!("exit code {}", envelope.exit_code),
        (_, Some(error)) => error,
        (outcome, None) => format!("{outcome:?}"),
    };
    FailedInjection { command, reason, output, outcome: (envelope.outcome, envelope.exit_code) }
}

impl FailedInjection {
    /// The end of what the command printed, for a message.
    pub fn shown_output(&self) -> Option<String> {
        let last: Vec<&str> =
            self.output.lines().rev().filter(|it| !it.trim().is_empty()).take(3).collect();
        let lines: Vec<&str> = last.into_iter().rev().collect();
        (!lines.is_empty()).then(|| shorten(&lines.join("; "), 300))
    }
}

impl From<InjectionError> for Problem {
    fn from(error: InjectionError) -> Self {
        match error {
            InjectionError::Refused(error) => error.into(),
            InjectionError::Failed(failed) => {
                let problem = Problem::new(
                    "injected-command-failed",
                    ProblemKind::Failed,
                    failed.to_string(),
                );
                let said = failed.shown_output().map(|output| format!("it printed: {output}"));
                let advice = "a command that may fail ends with `|| true`";
                let remedies = said.into_iter().chain([advice.to_owned()]).map(Remedy::Advice);
                Problem { remedies: remedies.collect(), ..problem }
            }
        }
    }
}

/// What a command prints, bounded.
#[derive(Default)]
struct PrintedOutput {
    bytes: Vec<u8>,
    dropped: usize,
}

impl PrintedOutput {
    fn push(&mut self, bytes: &[u8]) {
        let room = MAX_OUTPUT_BYTES.saturating_sub(self.bytes.len()).min(bytes.len());
        self.bytes.extend_from_slice(&bytes[..room]);
        self.dropped += bytes.len() - room;
    }

    /// The text without the line breaks at its end.
    fn text(&self) -> String {
        let text = String::from_utf8_lossy(&self.bytes);
        let text = text.trim_end_matches(['\n', '\r']);
        match self.dropped {
            0 => text.to_owned(),
            dropped => format!("{text}\n... [truncated {dropped} bytes] ..."),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn command(text: &str) -> InjectedCommand {
        let span = prowess_format::span::Span::new(0, 0);
        InjectedCommand { command: text.to_owned(), span, shell_value: None }
    }

    #[test]
    fn the_programs_that_commands_start_are_requested() {
        let tool = tool(&[command("git diff | head -3"), command("gh pr view; node -v; sort x")]);
        let extra: Vec<&Value> = tool.extra.iter().map(|(_, value)| value).collect();
        assert_eq!(extra, [&json!(["git", "gh", "node"]), &json!(120), &json!(false)]);
    }

    #[test]
    fn output_is_bounded_and_loses_its_last_line_breaks() {
        let mut printed = PrintedOutput::default();
        printed.push(b"main\n\n");
        assert_eq!(printed.text(), "main");
        printed.push(&vec![b'x'; MAX_OUTPUT_BYTES]);
        assert!(printed.text().ends_with("xxx\n... [truncated 6 bytes] ..."));
    }
}
