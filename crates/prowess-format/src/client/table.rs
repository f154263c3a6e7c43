//! The clients and their rules, each with its source.

use super::ClientOutcome::{Dropped, Loads, LoadsWithoutDescription};
use super::{BrokenYaml, Client, DescriptionRule, FenceTolerance, NameRule};

/// Every client, in the order of their verdicts.
pub static CLIENTS: &[&Client] = &[&CLAUDE_CODE, &CODEX, &GEMINI, &OPENCLAW, &AGENT_SKILLS];

/// Claude Code's documentation of skills (2026-08): the opening fence is the first line, or the
/// whole file is content; `name` is a label and the directory is the command; without a description
/// the first paragraph counts; the listing shows 1,536 characters; `disable-model-invocation` keeps
/// the description out of the context. Its plugin validator says of broken YAML that the skill
/// loads with empty metadata (secondsky/claude-skills#60), while a colon in a one-line value is
/// tolerated (pbakaus/impeccable#102, garrytan/gstack#1800). The handling of a byte order mark and
/// of lone carriage returns is not documented.
static CLAUDE_CODE: Client = Client {
    id: "claude-code",
    title: "Claude Code",
    about: "Anthropic's coding agent; lenient, but silently drops a field that it can't read.",
    source: "code.claude.com/docs/en/skills (2026-08) and `claude plugin validate`",
    file_names: &["SKILL.md"],
    most_bytes: None,
    invalid_utf8: Loads,
    opening: FenceTolerance {
        byte_order_mark: true,
        blank_lines: false,
        trailing_blanks: true,
        lone_carriage_returns: true,
    },
    without_front_matter: LoadsWithoutDescription,
    broken_yaml: BrokenYaml::QuotesValues,
    name: NameRule { from_directory: true, most: None, text_only: false },
    description: DescriptionRule {
        missing: LoadsWithoutDescription,
        most: None,
        shown: Some(1536),
        text_only: false,
    },
    metadata_not_a_map: Loads,
    given_twice: Loads,
    disabled_for_the_model: LoadsWithoutDescription,
    strict: None,
};

/// openai/codex, `codex-rs/core-skills/src/loader.rs`: the file name is compared exactly; the first line, trimmed, is
/// `---`, and only a line feed ends a line; the front matter goes through a strict YAML parser into texts; the name falls back to the directory and has at
/// most 64 characters, the description is required and has at most 1,024, both after white space is collapsed; other
/// fields are ignored. Whether the model may start a skill is said in `agents/openai.yaml`, not in the front matter.
static CODEX: Client = Client {
    id: "codex",
    title: "Codex",
    about: "OpenAI's coding agent; strict about YAML; reports skipped skills at startup.",
    source: "openai/codex, codex-rs/core-skills/src/loader.rs",
    file_names: &["SKILL.md"],
    most_bytes: None,
    invalid_utf8: Dropped,
    opening: FenceTolerance {
        byte_order_mark: false,
        blank_lines: false,
        trailing_blanks: true,
        lone_carriage_returns: false,
    },
    without_front_matter: Dropped,
    broken_yaml: BrokenYaml::Drops,
    name: NameRule { from_directory: true, most: Some(64), text_only: true },
    description: DescriptionRule {
        missing: Dropped,
        most: Some(1024),
        shown: None,
        text_only: true,
    },
    metadata_not_a_map: Dropped,
    given_twice: Dropped,
    disabled_for_the_model: Loads,
    strict: None,
};

/// google-gemini/gemini-cli, `packages/core/src/skills/skillLoader.ts`: the text begins with `---`
/// and a line break at once, of which a line feed is a part; `name` and `description` are both
/// required and have no fallback; invalid YAML is searched line by line for the two; every other
/// field is ignored.
static GEMINI: Client = Client {
    id: "gemini",
    title: "Gemini CLI",
    about: "Google's terminal agent; reads only `name` and `description`, line by line if the YAML is invalid.",
    source: "google-gemini/gemini-cli, packages/core/src/skills/skillLoader.ts",
    file_names: &["SKILL.md"],
    most_bytes: None,
    invalid_utf8: Loads,
    opening: FenceTolerance {
        byte_order_mark: false,
        blank_lines: false,
        trailing_blanks: false,
        lone_carriage_returns: false,
    },
    without_front_matter: Dropped,
    broken_yaml: BrokenYaml::ReadsLines { indented: true },
    name: NameRule { from_directory: false, most: None, text_only: false },
    description: DescriptionRule { missing: Dropped, most: None, shown: None, text_only: false },
    metadata_not_a_map: Loads,
    given_twice: Loads,
    disabled_for_the_model: Loads,
    strict: None,
};

/// openclaw/openclaw, `src/agents/skills/local-loader.ts` and `src/markdown/frontmatter.ts`:
/// carriage returns become line feeds; the text begins with `---`; invalid YAML is read line by
/// line; the name falls back to the directory, the description is required; files above 256,000
/// bytes are not opened (`DEFAULT_MAX_SKILL_FILE_BYTES`); `docs/tools/skills.md`: a skill with
/// `disable-model-invocation` stays out of the model's prompt.
static OPENCLAW: Client = Client {
    id: "openclaw",
    title: "OpenClaw",
    about: "The personal agent; lenient about YAML; skips a skill without a description.",
    source: "openclaw/openclaw, src/agents/skills/local-loader.ts, src/markdown/frontmatter.ts",
    file_names: &["SKILL.md"],
    most_bytes: Some(256_000),
    invalid_utf8: Loads,
    opening: FenceTolerance {
        byte_order_mark: false,
        blank_lines: false,
        trailing_blanks: true,
        lone_carriage_returns: true,
    },
    without_front_matter: Dropped,
    broken_yaml: BrokenYaml::ReadsLines { indented: false },
    name: NameRule { from_directory: true, most: None, text_only: false },
    description: DescriptionRule { missing: Dropped, most: None, shown: None, text_only: false },
    metadata_not_a_map: Loads,
    given_twice: Loads,
    disabled_for_the_model: LoadsWithoutDescription,
    strict: None,
};

/// The specification itself, as its reference validator `skills-ref` applies it: six fields,
/// everything else an error. Delegates to the strict check of the dialect, so the two always agree.
static AGENT_SKILLS: Client = Client {
    id: "agent-skills",
    title: "the open standard",
    about: "A client that enforces the Agent Skills specification to the letter, as upload forms do.",
    source: "agentskills.io specification (2026-08-09) and its reference validator skills-ref",
    file_names: &["SKILL.md", "skill.md"],
    most_bytes: None,
    invalid_utf8: Dropped,
    opening: FenceTolerance {
        byte_order_mark: true,
        blank_lines: true,
        trailing_blanks: true,
        lone_carriage_returns: true,
    },
    without_front_matter: Dropped,
    broken_yaml: BrokenYaml::Drops,
    name: NameRule { from_directory: false, most: Some(64), text_only: false },
    description: DescriptionRule {
        missing: Dropped,
        most: Some(1024),
        shown: None,
        text_only: false,
    },
    metadata_not_a_map: Dropped,
    given_twice: Dropped,
    disabled_for_the_model: Loads,
    strict: Some("agent-skills"),
};
