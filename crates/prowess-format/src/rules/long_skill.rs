//! `long-skill`.

use crate::diagnostic::{Findings, rule};
use crate::document::Form;
use crate::rules::Subject;
use crate::span::Span;
use crate::specification::{AGENT_SKILLS, SKILLLI};
use crate::tokens::estimated_tokens;

rule! {
    /// ## What it does
    /// Flags a SKILL.md with more than 500 lines, or whose body has more than about 5,000 tokens.
    ///
    /// ## Why is this bad?
    /// The whole body enters the context when the skill is used. The front matter does not count: it is loaded for every skill anyway.
    ///
    /// Tokens are estimated, because each model has its own tokenizer: 1.17 per word of Latin letters, 0.65 per punctuation mark, 1.08 per digit, 0.86 per Chinese, Japanese or Korean character and 0.72 per other character, white space being free; each letter of a run of more than 24 counts 0.4. The weights are a least-squares fit to the tokenizer `o200k_base` on 800 published skills, where the median error is 3 % and 95 % of the estimates are within 10 %.
    ///
    /// ## Example
    /// Move detail into files under `references/`.
    LONG_SKILL = "long-skill", Warning / Warning, check;
    AGENT_SKILLS.at("Progressive disclosure"), SKILLLI.at("Progressive Disclosure")
}

/// SKL, Progressive Disclosure.
const MAX_LINES: usize = 500;
const MAX_TOKENS: usize = 5_000;

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    if subject.document.form != Form::Markdown {
        return;
    }
    let text = subject.document.text;
    let lines = memchr::memchr_iter(b'\n', text.as_bytes()).count()
        + usize::from(!text.ends_with('\n') && !text.is_empty());
    let body = subject.document.body_text();
    let message = if lines > MAX_LINES {
        format!("{lines} lines, at most {MAX_LINES} are recommended")
    } else if body.len() > MAX_TOKENS
        && let tokens = estimated_tokens(body)
        && tokens > MAX_TOKENS
    {
        format!("about {tokens} tokens in the body, at most {MAX_TOKENS} are recommended")
    } else {
        return;
    };
    findings.push(
        LONG_SKILL
            .at(Span::at(subject.document.body.start as usize), message)
            .help("move detail into files under `references/`"),
    );
}
