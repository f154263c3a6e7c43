//! `long-skill`.

use crate::diagnostic::{Findings, rule};
use crate::document::Form;
use crate::rules::Subject;
use crate::span::Span;
use crate::specification::{AGENT_SKILLS, SKILLLI};

rule! {
    /// ## What it does
    /// Flags a SKILL.md of more than 500 lines or about 5,000 tokens.
    ///
    /// ## Why is this bad?
    /// The whole body enters the context when the skill is used.
    ///
    /// ## Example
    /// Move detail into files under `references/`.
    LONG_SKILL = "long-skill", Warning / Warning, check;
    AGENT_SKILLS.at("Progressive disclosure"), SKILLLI.at("Progressive Disclosure")
}

/// SKL, Progressive Disclosure.
const MAX_LINES: usize = 500;
const MAX_TOKENS: usize = 5_000;
/// English prose and code average about four bytes a token.
const BYTES_PER_TOKEN: usize = 4;

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    if subject.document.form != Form::Markdown {
        return;
    }
    let text = subject.document.text;
    let lines = memchr::memchr_iter(b'\n', text.as_bytes()).count()
        + usize::from(!text.ends_with('\n') && !text.is_empty());
    let tokens = text.len() / BYTES_PER_TOKEN;
    let message = if lines > MAX_LINES {
        format!("{lines} lines, at most {MAX_LINES} are recommended")
    } else if tokens > MAX_TOKENS {
        format!("about {tokens} tokens, at most {MAX_TOKENS} are recommended")
    } else {
        return;
    };
    findings.push(
        LONG_SKILL
            .at(Span::at(subject.document.body.start as usize), message)
            .help("move detail into files under `references/`"),
    );
}
