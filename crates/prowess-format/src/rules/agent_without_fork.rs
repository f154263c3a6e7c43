//! `agent-without-fork`.

use crate::diagnostic::{Findings, rule};
use crate::rules::Subject;
use crate::specification::CLAUDE_CODE;

rule! {
    /// ## What it does
    /// Notes an `agent` without `context: fork`.
    ///
    /// ## Why is this bad?
    /// The subagent type has no effect without it.
    ///
    /// ## Example
    /// Add `context: fork`.
    AGENT_WITHOUT_FORK = "agent-without-fork", Info / Info, check;
    CLAUDE_CODE.at("Frontmatter reference")
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let invocation = &subject.skill.invocation;
    if let Some(agent) = invocation.agent.as_ref().filter(|_| invocation.context.is_none()) {
        findings.push(
            AGENT_WITHOUT_FORK
                .at(agent.span, "`agent` has no effect without `context: fork`")
                .help("add `context: fork`, or remove `agent`"),
        );
    }
}
