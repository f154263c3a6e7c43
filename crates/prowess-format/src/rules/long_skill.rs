//! `long-skill`.

use crate::diagnostic::{Findings, rule};
use crate::document::Form;
use crate::rules::Subject;
use crate::span::Span;
use crate::specification::{AGENT_SKILLS, SKILLLI};

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

/// The longest run of letters that counts as one word.
const LONGEST_WORD: usize = 24;

/// An estimate of the tokens in a text, from what it consists of; the page of the rule says where the weights come from.
fn estimated_tokens(text: &str) -> usize {
    let mut thousandths = 0;
    let mut letters = 0_usize;
    for character in text.chars() {
        if character.is_ascii() {
            let class = ASCII[character as usize];
            letters = if class == LETTER { letters + 1 } else { 0 };
            thousandths += match letters {
                0 => class,
                1 => FIRST_LETTER,
                // A longer run of letters is not a word, but encoded data.
                _ if letters > LONGEST_WORD => 400,
                _ => 0,
            };
            continue;
        }
        letters = 0;
        thousandths += match character {
            // Han, kana, Hangul and their punctuation.
            '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{ff00}'..='\u{ffef}'
                if character != '\u{3000}' =>
            {
                862
            }
            _ if character.is_whitespace() => 0,
            _ => 724,
        };
    }
    thousandths / 1_000
}

const FIRST_LETTER: usize = 1_168;
/// Marks letters in [`ASCII`], whose weight depends on those before them.
const LETTER: usize = usize::MAX;

/// The weight of each ASCII character: most of the text of most skills, so it is looked up.
const ASCII: [usize; 128] = {
    let mut weights = [646; 128];
    let mut byte = 0_u8;
    while byte < 128 {
        if byte.is_ascii_alphabetic() {
            weights[byte as usize] = LETTER;
        } else if byte.is_ascii_digit() {
            weights[byte as usize] = 1_076;
        } else if (byte as char).is_whitespace() {
            weights[byte as usize] = 0;
        }
        byte += 1;
    }
    weights
};

#[cfg(test)]
mod tests {
    use super::estimated_tokens;

    /// The counts of `o200k_base` for the same texts, measured once.
    #[test]
    fn an_estimate_is_near_the_count_of_a_tokenizer() {
        for (text, tokens) in TEXTS {
            let estimate = estimated_tokens(&text.repeat(20));
            let counted = tokens * 20;
            assert!(
                estimate.abs_diff(counted) * 100 <= counted * 20,
                "{estimate} instead of {counted}: {text}"
            );
        }
    }

    const TEXTS: &[(&str, usize)] = &[
        (
            "Use this skill when the user asks for a summary of a long document. Read the whole file first, then write one paragraph for each section.\n",
            29,
        ),
        (
            "```python\ndef fields(path: str) -> list[str]:\n    with open(path) as file:\n        return [line.split(\",\")[0] for line in file]\n```\n",
            37,
        ),
        (
            "| Option | Default | Meaning |\n|---|---|---|\n| `depth` | 3 | How many levels of folders are listed |\n",
            30,
        ),
    ];
}
