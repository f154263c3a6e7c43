//! From a decision to leave to run: the policy's yes, the user's yes, or a reason why not.

use prowess_policy::{Allowed, Answer, Approvals, Decision};

use crate::approvals::ApprovalStore;
use crate::approver::{Approver, Asked, Reply};
use crate::clock::Clock;
use crate::error::RunError;
use crate::prepare::Prepared;

/// What the user said before anything was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consent {
    /// Nothing.
    None,
    /// `--yes`: to everything that may be answered in advance.
    InAdvance,
}

/// Decides about a call, asks where the policy wants that, and remembers the answer where the user wants that.
pub fn approve(
    prepared: &Prepared,
    consent: Consent,
    approver: &mut dyn Approver,
    clock: &dyn Clock,
    store: &ApprovalStore,
) -> Result<Allowed, RunError> {
    let approvals: Approvals = store.load()?;
    let decision = prepared.decide(&approvals);
    let question = match decision {
        Decision::Allow(allowed) => return Ok(allowed),
        Decision::Deny(denied) => return Err(RunError::Denied(Box::new(denied))),
        Decision::Ask(question) => question,
    };
    let question = match consent {
        Consent::None => question,
        Consent::InAdvance => match question.approve_in_advance() {
            Ok(allowed) => return Ok(allowed),
            Err(question) => *question,
        },
    };
    // Only whoever is asked reads them, and what grants come to is looked up on the disk.
    let lines = prepared.explain(&prepared.decide(&approvals));
    let reply = approver.ask(&Asked {
        question: &question,
        lines: &lines,
        description: prepared.description(),
        command: prepared.command(),
        option_like: prepared.option_like(),
    });
    let remember = match reply {
        Reply::Yes(remember) => remember,
        Reply::No => return Err(RunError::Declined(prepared.name())),
        Reply::Nobody => {
            return Err(RunError::NobodyToAsk {
                name: prepared.name(),
                reasons: question.clauses(),
                in_advance: question.allows_in_advance(),
            });
        }
    };
    let allowed = question.approve(Answer { remember, at: clock.now() });
    if let Some(approval) = allowed.approval() {
        store.add(approval.clone())?;
    }
    Ok(allowed)
}
