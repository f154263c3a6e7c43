//! How agents choose between copies of a skill, and what their catalogues have room for, each with the place it was read at.

use crate::places::Scope;

/// What is known of an agent beyond its two folders.
#[derive(Debug)]
pub struct Rules {
    /// The agent's id.
    pub agent: &'static str,
    /// Where it looks, the folder that wins first.
    pub folders: &'static [Folder],
    /// What it does with two skills of one name.
    pub collision: Collision,
    /// What it calls a skill.
    pub names: Names,
    /// How many folders below such a folder a skill may lie, where that is known.
    pub depth: Option<usize>,
    /// Whether a skill of a folder further down keeps its own name when another has it, with the folder in front.
    pub nested_names: bool,
    /// What its catalogue has room for.
    pub budget: Option<Budget>,
    /// The client of `prowess check --for` that has its rules about files.
    pub client: Option<&'static str>,
    /// The rule of precedence in a sentence.
    pub precedence: &'static str,
    /// Where that was read.
    pub source: &'static str,
}

/// A folder in which an agent looks.
#[derive(Clone, Copy, Debug)]
pub struct Folder {
    /// Where it is, see [`crate::places::Places::locate`].
    pub template: &'static str,
    /// For whom it is; `None` for folders of the machine.
    pub scope: Option<Scope>,
    /// What the agent calls it.
    pub title: &'static str,
    /// Whether it looks for it in every folder between the project's root and the current one.
    pub downwards: bool,
}

/// What becomes of two skills of one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collision {
    /// The first folder wins.
    FirstWins,
    /// Both are offered.
    AllStay,
    /// No source says.
    Unknown,
}

/// What an agent calls a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// The name of its folder; case, blanks and characters without width do not count.
    Directory,
    /// The declared name, and the folder's where there is none.
    Declared,
}

/// What a catalogue has room for.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// A share of the model's context, in thousandths.
    pub thousandths: u64,
    /// The room when the context is not known.
    pub unknown_context: Room,
    /// The most characters of one description.
    pub description: Option<usize>,
    /// Whether the path of the file stands in the catalogue.
    pub lists_path: bool,
    /// What happens to what has no room.
    pub overflow: &'static str,
}

/// Room in a catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// As many characters.
    Characters(u64),
    /// The share of a context of as many tokens.
    OfContext(u64),
}

const fn project(template: &'static str, title: &'static str) -> Folder {
    Folder { template, scope: Some(Scope::Project), title, downwards: false }
}

const fn downwards(template: &'static str, title: &'static str) -> Folder {
    Folder { template, scope: Some(Scope::Project), title, downwards: true }
}

const fn user(template: &'static str, title: &'static str) -> Folder {
    Folder { template, scope: Some(Scope::User), title, downwards: false }
}

const fn machine(template: &'static str, title: &'static str) -> Folder {
    Folder { template, scope: None, title, downwards: false }
}

/// Every agent of which more is known than its folders.
pub static RULES: &[&Rules] = &[&CLAUDE_CODE, &CODEX, &CURSOR, &GEMINI, &GOOSE, &OPENCLAW];

/// Claude Code's documentation of skills (2026-08). Skills of plugins have a name space of their own and collide with
/// nobody; those that come with it and those synced from claude.ai stand below all folders. A skill of a folder further
/// down in the project is `apps/web:deploy` when there is another `deploy`.
static CLAUDE_CODE: Rules = Rules {
    agent: "claude-code",
    folders: &[
        machine("/etc/claude-code/.claude/skills", "enterprise"),
        user("${CLAUDE_CONFIG_DIR:-~/.claude}/skills", "personal"),
        downwards(".claude/skills", "project"),
    ],
    collision: Collision::FirstWins,
    names: Names::Directory,
    depth: None,
    nested_names: true,
    budget: Some(Budget {
        thousandths: 10,
        unknown_context: Room::OfContext(200_000),
        description: Some(1536),
        lists_path: false,
        overflow: "the descriptions of the least used skills are left out",
    }),
    client: Some("claude-code"),
    precedence: "enterprise before personal before project; the folder's name is the command",
    source: "code.claude.com/docs/en/skills (2026-08)",
};

/// openai/codex, `codex-rs/core-skills/src/loader.rs`: what lies at one path is taken once, and equal names all stay. Folders
/// are walked 6 deep.
static CODEX: Rules = Rules {
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
    names: Names::Declared,
    depth: Some(6),
    nested_names: false,
    budget: Some(Budget {
        thousandths: 20,
        unknown_context: Room::Characters(8_000),
        description: None,
        lists_path: true,
        overflow: "descriptions are cut in turn, then names are left out",
    }),
    client: Some("codex"),
    precedence: "all copies of a name stay, those of the repository first, then user, system and admin",
    source: "openai/codex, codex-rs/core-skills/src/loader.rs",
};

/// Cursor's documentation lists the folders; which of two copies it takes is stated nowhere.
static CURSOR: Rules = Rules {
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
    names: Names::Declared,
    depth: None,
    nested_names: false,
    budget: None,
    client: None,
    precedence: "the folders are listed, a rule for equal names is not",
    source: "cursor.com/docs/skills",
};

/// google-gemini/gemini-cli, `packages/core/src/skills`: `SKILL.md` and `*/SKILL.md` are looked for; later folders override earlier ones, with a warning. Folders of
/// a workspace count only when the user trusts it.
static GEMINI: Rules = Rules {
    agent: "gemini-cli",
    folders: &[
        project(".agents/skills", "workspace, if trusted"),
        project(".gemini/skills", "workspace, if trusted"),
        user("~/.agents/skills", "user"),
        user("~/.gemini/skills", "user"),
    ],
    collision: Collision::FirstWins,
    names: Names::Declared,
    depth: Some(1),
    nested_names: false,
    budget: None,
    client: Some("gemini"),
    precedence: "workspace before user, `.agents` before `.gemini`; extensions and built-in skills last",
    source: "google-gemini/gemini-cli, packages/core/src/skills/skillManager.ts",
};

/// block/goose, `summon.rs`: the order of the search; which of two copies is kept was not followed further.
static GOOSE: Rules = Rules {
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
    names: Names::Declared,
    depth: None,
    nested_names: false,
    budget: None,
    client: None,
    precedence: "the order of the search is known, which of two copies it keeps is not",
    source: "block/goose, summon.rs",
};

/// openclaw/openclaw, `docs/tools/skills.md` and `src/agents/skills/workspace.ts`.
static OPENCLAW: Rules = Rules {
    agent: "openclaw",
    folders: &[
        project("skills", "workspace"),
        project(".agents/skills", "workspace"),
        user("~/.agents/skills", "personal"),
        user("~/.openclaw/skills", "managed"),
    ],
    collision: Collision::FirstWins,
    names: Names::Declared,
    depth: Some(6),
    nested_names: false,
    budget: None,
    client: Some("openclaw"),
    precedence: "workspace before personal before managed; bundled skills and extra folders last",
    source: "openclaw/openclaw, docs/tools/skills.md",
};
