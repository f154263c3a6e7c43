//! How agents choose between copies of a skill, and the size of their catalogues, each with its source.

use crate::places::Scope;

/// The rules of an agent.
#[derive(Debug)]
pub struct AgentRules {
    /// The agent's id.
    pub agent: &'static str,
    /// Its folders, in order of precedence.
    pub folders: &'static [SearchFolder],
    /// What it does with two skills of the same name.
    pub collision: Collision,
    /// How it names a skill.
    pub names: NamingRule,
    /// Maximum depth of a skill below such a folder, if known.
    pub depth: Option<usize>,
    /// Whether a skill of a nested project folder keeps its name with a folder prefix if another skill has it.
    pub nested_names: bool,
    /// The size limit of its catalogue.
    pub budget: Option<CatalogueBudget>,
    /// The client of `prowess check --for` with its rules about files.
    pub client: Option<&'static str>,
    /// The precedence rule in a sentence.
    pub precedence: &'static str,
    /// The source of the precedence rule.
    pub source: &'static str,
}

/// A skill folder of an agent.
#[derive(Clone, Copy, Debug)]
pub struct SearchFolder {
    /// The template of its path, see [`crate::places::Places::locate`].
    pub template: &'static str,
    /// Its scope; `None` for folders of the whole machine.
    pub scope: Option<Scope>,
    /// The agent's own term for it.
    pub title: &'static str,
    /// Whether it is searched in every folder from the project's root down to the current one.
    pub downwards: bool,
}

/// What happens to two skills of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collision {
    /// The one in the first folder wins.
    FirstWins,
    /// Both are offered.
    AllStay,
    /// Not documented.
    Unknown,
}

/// How an agent names a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamingRule {
    /// By the name of its folder; case, spaces and zero-width characters are ignored.
    Directory,
    /// By the declared name, or that of its folder if there is none.
    Declared,
}

/// The size limit of a catalogue.
#[derive(Clone, Copy, Debug)]
pub struct CatalogueBudget {
    /// The share of the model's context window, in thousandths.
    pub thousandths: u64,
    /// The limit if the context window is not known.
    pub unknown_context: BudgetLimit,
    /// Maximum number of characters of a description.
    pub description: Option<usize>,
    /// Whether the catalogue contains the path of the file.
    pub lists_path: bool,
    /// What happens to entries above the limit.
    pub overflow: &'static str,
}

/// A size limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetLimit {
    /// A number of characters.
    Characters(u64),
    /// The share of a context window of this many tokens.
    OfContext(u64),
}

const fn project(template: &'static str, title: &'static str) -> SearchFolder {
    SearchFolder { template, scope: Some(Scope::Project), title, downwards: false }
}

const fn downwards(template: &'static str, title: &'static str) -> SearchFolder {
    SearchFolder { template, scope: Some(Scope::Project), title, downwards: true }
}

const fn user(template: &'static str, title: &'static str) -> SearchFolder {
    SearchFolder { template, scope: Some(Scope::User), title, downwards: false }
}

const fn machine(template: &'static str, title: &'static str) -> SearchFolder {
    SearchFolder { template, scope: None, title, downwards: false }
}

/// The rules of all agents for which some are known.
pub static RULES: &[&AgentRules] = &[&CLAUDE_CODE, &CODEX, &CURSOR, &GEMINI, &GOOSE, &OPENCLAW];

/// From Claude Code's documentation of skills (2026-08). Skills of plugins have a separate namespace and never collide;
/// those that come with it and those synced from claude.ai have the lowest precedence. A skill of a nested project
/// folder becomes `apps/web:deploy` if there is another `deploy`.
static CLAUDE_CODE: AgentRules = AgentRules {
    agent: "claude-code",
    folders: &[
        machine("/etc/claude-code/.claude/skills", "enterprise"),
        user("${CLAUDE_CONFIG_DIR:-~/.claude}/skills", "personal"),
        downwards(".claude/skills", "project"),
    ],
    collision: Collision::FirstWins,
    names: NamingRule::Directory,
    depth: None,
    nested_names: true,
    budget: Some(CatalogueBudget {
        thousandths: 10,
        unknown_context: BudgetLimit::OfContext(200_000),
        description: Some(1536),
        lists_path: false,
        overflow: "the descriptions of the least used skills are omitted",
    }),
    client: Some("claude-code"),
    precedence: "enterprise before personal before project; the folder's name is the command",
    source: "code.claude.com/docs/en/skills (2026-08)",
};

/// From openai/codex, `codex-rs/core-skills/src/loader.rs`: each path is loaded once, and skills of the same name are
/// all kept. Folders are walked 6 levels deep.
static CODEX: AgentRules = AgentRules {
    agent: "codex",
    folders: &[
        downwards(".codex/skills", "project layer"),
        downwards(".agents/skills", "repository"),
        user("${CODEX_HOME:-~/.codex}/skills", "user, deprecated"),
        user("~/.agents/skills", "user"),
        user("${CODEX_HOME:-~/.codex}/skills/.system", "system"),
        machine("/etc/codex/skills", "admin"),
    ],
    collision: Collision::AllStay,
    names: NamingRule::Declared,
    depth: Some(6),
    nested_names: false,
    budget: Some(CatalogueBudget {
        thousandths: 20,
        unknown_context: BudgetLimit::Characters(8_000),
        description: None,
        lists_path: true,
        overflow: "descriptions are shortened in turn, then names are omitted",
    }),
    client: Some("codex"),
    precedence: "all copies of a name are kept: repository first, then user, system and admin",
    source: "openai/codex, codex-rs/core-skills/src/loader.rs",
};

/// From Cursor's documentation, which lists the folders but does not say which of two copies wins.
static CURSOR: AgentRules = AgentRules {
    agent: "cursor",
    folders: &[
        project(".agents/skills", "project"),
        project(".cursor/skills", "project"),
        project(".claude/skills", "project, for compatibility"),
        project(".codex/skills", "project, for compatibility"),
        user("~/.agents/skills", "user"),
        user("~/.cursor/skills", "user"),
        user("~/.claude/skills", "user, for compatibility"),
        user("~/.codex/skills", "user, for compatibility"),
    ],
    collision: Collision::Unknown,
    names: NamingRule::Declared,
    depth: None,
    nested_names: false,
    budget: None,
    client: None,
    precedence: "the folders are documented, but not a rule for equal names",
    source: "cursor.com/docs/skills",
};

/// From google-gemini/gemini-cli, `packages/core/src/skills`: it looks for `SKILL.md` and `*/SKILL.md`; later folders
/// override earlier ones, with a warning. Folders of a workspace are only used if the user trusts it.
static GEMINI: AgentRules = AgentRules {
    agent: "gemini-cli",
    folders: &[
        project(".agents/skills", "workspace, if trusted"),
        project(".gemini/skills", "workspace, if trusted"),
        user("~/.agents/skills", "user"),
        user("~/.gemini/skills", "user"),
    ],
    collision: Collision::FirstWins,
    names: NamingRule::Declared,
    depth: Some(1),
    nested_names: false,
    budget: None,
    client: Some("gemini"),
    precedence: "workspace before user, `.agents` before `.gemini`; extensions and built-in skills last",
    source: "google-gemini/gemini-cli, packages/core/src/skills/skillManager.ts",
};

/// From block/goose, `summon.rs`: the search order; which of two copies is kept was not investigated.
static GOOSE: AgentRules = AgentRules {
    agent: "goose",
    folders: &[
        project(".goose/skills", "project"),
        project(".claude/skills", "project, for compatibility"),
        project(".agents/skills", "project"),
        user("~/.agents/skills", "user"),
        user("${XDG_CONFIG_HOME:-~/.config}/goose/skills", "user"),
        user("~/.claude/skills", "user, for compatibility"),
        user("~/.config/agents/skills", "user"),
    ],
    collision: Collision::Unknown,
    names: NamingRule::Declared,
    depth: None,
    nested_names: false,
    budget: None,
    client: None,
    precedence: "the search order is known, but not which of two copies is kept",
    source: "block/goose, summon.rs",
};

/// From openclaw/openclaw, `docs/tools/skills.md` and `src/agents/skills/workspace.ts`.
static OPENCLAW: AgentRules = AgentRules {
    agent: "openclaw",
    folders: &[
        project("skills", "workspace"),
        project(".agents/skills", "workspace"),
        user("~/.agents/skills", "personal"),
        user("~/.openclaw/skills", "managed"),
    ],
    collision: Collision::FirstWins,
    names: NamingRule::Declared,
    depth: Some(6),
    nested_names: false,
    budget: None,
    client: Some("openclaw"),
    precedence: "workspace before personal before managed; bundled skills and extra folders last",
    source: "openclaw/openclaw, docs/tools/skills.md",
};
