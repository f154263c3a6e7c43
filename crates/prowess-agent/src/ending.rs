//! How an agent ends, and the envelope that says so.

use std::fmt::Write as _;

use prowess_core::{
    AgentSummary, AnswerDetails, Envelope, INTERRUPTED, ModelError, ModelErrorKind, OUT_OF_BUDGET,
    Problem, REFUSED, Remedy, RunOutcome, StopReason, TIMED_OUT,
};

/// A reason outside the loop that ends the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Halt {
    Cancelled,
    TimedOut,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Ending {
    Halt(Halt),
    Model(ModelError),
    /// The provider's filter blocked the answer.
    Filtered,
    OutOfTurns(u32),
    OutOfTokens {
        limit: u64,
        used: u64,
    },
    /// One call failed repeatedly with the same arguments.
    Stuck {
        name: String,
        times: u32,
    },
    /// Turn after turn had no call that could be run.
    Confused(u32),
    /// The transcript can't be written.
    Transcript(Problem),
    /// Something that the agent needs is not there.
    Problem(Problem),
}

impl From<Halt> for Ending {
    fn from(halt: Halt) -> Self {
        Ending::Halt(halt)
    }
}

impl From<ModelError> for Ending {
    fn from(error: ModelError) -> Self {
        Ending::Model(error)
    }
}

/// Facts about the work at its end.
pub(crate) struct EndFacts {
    pub(crate) details: AnswerDetails,
    pub(crate) cancel_code: Option<i32>,
    pub(crate) seconds: u64,
}

/// The envelope of an agent that has answered.
pub(crate) fn answered(text: String, stop: StopReason, facts: EndFacts) -> Envelope {
    let details = AnswerDetails { stop: Some(stop), ..facts.details };
    Envelope { output: text, ..Envelope::answered(details) }
}

/// The envelope of an agent that has not. `text` is what the model said last.
pub(crate) fn unanswered(ending: Ending, text: String, facts: EndFacts) -> Envelope {
    let summary = facts.details.agent.clone().unwrap_or_default();
    let so_far = so_far(&summary);
    let resume = summary.transcript.clone().map(Remedy::ResumeAgent);
    let (outcome, code, error, remedies) = match ending {
        Ending::Halt(Halt::Cancelled) => {
            let code = facts.cancel_code.unwrap_or(INTERRUPTED);
            (RunOutcome::Cancelled, code, format!("the agent was cancelled {so_far}"), Vec::new())
        }
        Ending::Halt(Halt::TimedOut) => {
            let error = format!("the agent timed out ({} s) {so_far}", facts.seconds);
            (RunOutcome::TimedOut, TIMED_OUT, error, vec![Remedy::RaiseTime])
        }
        Ending::OutOfTurns(turns) => {
            let error = format!("the turn limit ({turns}) was reached {so_far}");
            (RunOutcome::OutOfBudget, OUT_OF_BUDGET, error, vec![Remedy::RaiseTurns])
        }
        Ending::OutOfTokens { limit, used } => {
            let error = format!(
                "the next request would exceed the token limit ({used} of {limit} are used) {so_far}"
            );
            (RunOutcome::OutOfBudget, OUT_OF_BUDGET, error, vec![Remedy::RaiseTokens])
        }
        Ending::Stuck { name, times } => {
            let error = format!(
                "the agent is stuck: it repeated the same failing call of `{name}` {times} times"
            );
            (RunOutcome::OutOfBudget, OUT_OF_BUDGET, error, Vec::new())
        }
        Ending::Confused(turns) => {
            let error =
                format!("the agent is stuck: none of its calls in {turns} turns could be run");
            let advice = "a larger model calls tools more reliably".to_owned();
            (RunOutcome::OutOfBudget, OUT_OF_BUDGET, error, vec![Remedy::Advice(advice)])
        }
        Ending::Filtered => {
            let error = "the provider's content filter blocked the answer".to_owned();
            (RunOutcome::Failed, 1, error, Vec::new())
        }
        Ending::Model(error) => {
            let (outcome, code) = match error.kind {
                ModelErrorKind::NotConfigured => (RunOutcome::Refused, REFUSED),
                ModelErrorKind::TimedOut => (RunOutcome::TimedOut, TIMED_OUT),
                _ => (RunOutcome::Failed, 1),
            };
            (outcome, code, error.message, error.remedies)
        }
        Ending::Transcript(problem) | Ending::Problem(problem) => {
            (RunOutcome::Failed, 1, problem.message, problem.remedies)
        }
    };
    let can_go_on = summary.turns > 0 && outcome != RunOutcome::Refused;
    let remedies = remedies.into_iter().chain(resume.filter(|_| can_go_on)).collect();
    Envelope {
        output: text,
        remedies,
        answer: Some(Box::new(facts.details)),
        ..Envelope::not_started(outcome, code, error)
    }
}

/// What was done, in words.
fn so_far(summary: &AgentSummary) -> String {
    let counted =
        |number: u32, noun: &str| format!("{number} {noun}{}", if number == 1 { "" } else { "s" });
    let AgentSummary { turns, calls, failed, invalid, refused, .. } = summary;
    let mut text = format!("after {} and {}", counted(*turns, "turn"), counted(*calls, "call"));
    let parts: Vec<String> = [(*failed, "failed"), (*invalid, "invalid"), (*refused, "refused")]
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, word)| format!("{number} {word}"))
        .collect();
    if !parts.is_empty() {
        let _ = write!(text, " ({})", parts.join(", "));
    }
    text
}
