//! Templates for a new skill in each dialect. The result passes `check --strict`.

use crate::dialect::{Dialect, NameStyle};
use crate::formats;
use crate::text::slug;

/// One file of a scaffold: its path and its text, with the placeholders `@NAME@`, `@TOOL@` and
/// `@TITLE@`.
type CommandTemplate = (&'static str, &'static str);

/// The files of a new skill, by path relative to its directory, which should have the skill's name.
///
/// A name that the dialect does not allow is replaced with its slug.
pub fn scaffold(name: &str, dialect: &'static Dialect) -> Vec<(String, String)> {
    let name = if formats::check_name(name).is_ok() { name.to_owned() } else { slug(name) };
    // GAIA §2.3 requires a letter first.
    let name =
        if dialect.name == NameStyle::LetterFirst && formats::check_letter_first(&name).is_err() {
            slug(&format!("skill-{name}"))
        } else {
            name
        };
    let title = title(&name);
    let tool = tool_name(&name);
    let fill = |text: &str| {
        text.replace("@NAME@", &name).replace("@TOOL@", &tool).replace("@TITLE@", &title)
    };
    templates(dialect).iter().map(|(path, text)| (fill(path), fill(text))).collect()
}

fn templates(dialect: &Dialect) -> &'static [CommandTemplate] {
    match dialect.id {
        "agent-skills" => &[("SKILL.md", include_str!("scaffold/agent-skills.md"))],
        "claude-code" => &[("SKILL.md", include_str!("scaffold/claude-code.md"))],
        "skillli" => &[
            ("SKILL.md", include_str!("scaffold/skillli.md")),
            ("references/basics.md", include_str!("scaffold/basics.md")),
        ],
        "gibberish" => &[
            ("SKILL.md", include_str!("scaffold/gibberish.md")),
            ("scripts/greet.sh", include_str!("scaffold/greet.sh")),
        ],
        "tool-pack" => &[("@TOOL@.tool.json", include_str!("scaffold/tool-pack.json"))],
        "gaia" => &[
            ("SKILL.md", include_str!("scaffold/gaia.md")),
            ("tools.py", include_str!("scaffold/tools.py")),
        ],
        "agent-flow" => &[("SKILL.md", include_str!("scaffold/agent-flow.md"))],
        "skillrt" => &[("SKILL.md", include_str!("scaffold/skillrt.md"))],
        "openclaw" => &[("SKILL.md", include_str!("scaffold/openclaw.md"))],
        _ => &[("SKILL.md", include_str!("scaffold/prose.md"))],
    }
}

/// `my-first-skill` as `My first skill`.
fn title(name: &str) -> String {
    let words = name.replace('-', " ");
    let mut characters = words.chars();
    match characters.next() {
        Some(first) => first.to_uppercase().chain(characters).collect(),
        None => words,
    }
}

/// A tool's name: underscores for hyphens, a letter first so that Python accepts it, at most 32 characters (GIB §3.2).
fn tool_name(name: &str) -> String {
    let name = name.replace('-', "_");
    let name = if name.starts_with(|first: char| first.is_ascii_digit()) {
        format!("run_{name}")
    } else {
        name
    };
    let cut: String = name.chars().take(32).collect();
    let cut = cut.trim_end_matches('_').to_owned();
    if KEYWORDS.contains(&cut.as_str()) { format!("run_{cut}") } else { cut }
}

/// Python keywords, which can't be function names.
pub(crate) const KEYWORDS: &[&str] = &[
    "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif",
    "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda",
    "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];
