//! Nodes that run a tool of a skill: prepared, decided about and approved like any other run.

use std::sync::Arc;

use prowess_format::text::shorten;
use prowess_policy::Allowed;
use serde_json::Value;
use tokio::sync::mpsc;

use super::super::graph::SkillUse;
use super::super::run::{Surroundings, Teller};
use super::super::scope::{Input, Scope};
use super::super::skill::{Part, Unusable};
use super::{Failure, MOST_OUTPUT, printed};
use crate::approver::Approver;
use crate::deciding::approve;
use crate::error::RunError;
use crate::prepare::{Call, Prepared, prepare};
use crate::run::{self, Cancel};
use crate::world::World;
use prowess_core::Envelope;
use prowess_core::{Event, Stream};

/// Events that wait for somebody to look. A tool that prints faster than anybody reads waits too.
const WAITING_EVENTS: usize = 256;

/// A tool that may run.
pub(crate) struct Launch {
    prepared: Prepared,
    allowed: Allowed,
}

/// Why a tool does not run.
pub(crate) enum NoLaunch {
    /// Somebody has to be asked, and nobody was there.
    Question(Box<RunError>),
    /// It can't.
    Failure(Failure),
}

impl From<Failure> for NoLaunch {
    fn from(failure: Failure) -> Self {
        NoLaunch::Failure(failure)
    }
}

/// Decides about a tool; `None` for a skill that is a prompt.
pub(crate) fn launch(
    used: &SkillUse,
    input: &Input,
    scope: &Scope,
    around: &Surroundings<'_>,
    approver: &mut dyn Approver,
) -> Result<Option<Launch>, NoLaunch> {
    let (name, tool) = used.skill_and_tool();
    let skill = around.skills.resolve(name).map_err(Failure::from)?;
    let unusable = |Unusable { message, hint }| Failure::new(message).hint(hint);
    let part = Part::of(&skill, tool).map_err(unusable)?;
    let Part::Tool(tool) = part else { return Ok(None) };
    let values = part.values(used, &input.value, scope).map_err(Failure::new)?;
    let tool = tool.clone();
    let call = Call { skill, tool, values, mode: around.mode };
    let prepared = prepare(call, around.world).map_err(Failure::from)?;
    let allowed = approve(&prepared, around.consent, approver, around.clock, around.approvals);
    let allowed = allowed.map_err(|error| match error {
        RunError::NobodyToAsk { .. } => NoLaunch::Question(Box::new(error)),
        error => NoLaunch::Failure(error.into()),
    })?;
    Ok(Some(Launch { prepared, allowed }))
}

/// How much of a failed tool's last line is told.
const MOST_LAST_LINE: usize = 200;

/// Runs a tool on a thread of its own. What it prints as JSON is its output, otherwise the text.
pub(crate) async fn run(
    node: &str,
    launch: Launch,
    around: &Surroundings<'_>,
    teller: &Teller<'_, '_>,
) -> Result<Value, Failure> {
    let cancel = EndsWith(Cancel::default());
    let (sender, mut events) = mpsc::channel(WAITING_EVENTS);
    let (world, inner) = (Arc::clone(around.world), cancel.0.clone());
    let mut thread =
        tokio::task::spawn_blocking(move || on_thread(launch, &world, &inner, &sender));
    let ended = loop {
        tokio::select! {
            biased;
            Some(event) = events.recv() => teller.inside(node, &event),
            () = around.cancel.asked(), if !cancel.0.is_asked() => cancel.0.cancel(),
            ended = &mut thread => break ended,
        }
    };
    while let Ok(event) = events.try_recv() {
        teller.inside(node, &event);
    }
    let (envelope, stdout) = ended.map_err(|_| Failure::new("the tool broke off"))?;
    if !envelope.is_success() {
        // The program has said itself what is wrong, at the end of what it printed.
        let last = envelope.output.lines().rfind(|line| !line.trim().is_empty());
        let failure = Failure::of(&envelope);
        return Err(match last {
            Some(line) => Failure {
                message: format!("{} ({})", failure.message, shorten(line.trim(), MOST_LAST_LINE)),
                ..failure
            },
            None => failure,
        });
    }
    Ok(envelope.parsed.unwrap_or_else(|| printed(&stdout)))
}

/// The run itself, and what it printed on standard output.
fn on_thread(
    launch: Launch,
    world: &World,
    cancel: &Cancel,
    events: &mpsc::Sender<Event>,
) -> (Envelope, Vec<u8>) {
    // Files that have changed since it was decided about are seen by `run`.
    let Launch { prepared, allowed } = launch;
    let mut stdout = Vec::new();
    let envelope = run::run(&prepared, &allowed, world, cancel, &mut |event| {
        if let Event::Output { stream: Stream::Stdout, bytes } = event
            && stdout.len() <= MOST_OUTPUT
        {
            stdout.extend_from_slice(bytes);
        }
        // Nobody listens any more: the tool is being ended, and what it says does not matter.
        let _ = events.blocking_send(event.clone());
    });
    (envelope, stdout)
}

/// Whoever drops the node ends the tool.
struct EndsWith(Cancel);

impl Drop for EndsWith {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
