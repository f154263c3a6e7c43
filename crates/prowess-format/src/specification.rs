//! The published documents that define the dialects, with the titles that messages and pages use.

use std::fmt;

/// A published document that defines a format.
#[derive(Debug, PartialEq, Eq)]
pub struct Specification {
    /// The title, with the name of the project that published it.
    pub title: &'static str,
    /// The address of the document or of its project; empty if none is known.
    pub url: &'static str,
}

/// A section of a specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section {
    /// The document.
    pub specification: &'static Specification,
    /// Section numbers such as `2.2` or `2.2 and 2.3`, or a heading; empty for the whole document.
    pub name: &'static str,
}

impl Specification {
    /// A section of this document, by number or heading.
    pub const fn at(&'static self, name: &'static str) -> Section {
        Section { specification: self, name }
    }

    /// The whole document.
    pub const fn whole(&'static self) -> Section {
        self.at("")
    }
}

impl Section {
    /// The section as Markdown, with a link to the document if its address is known.
    pub fn link(&self) -> String {
        let Specification { title, url } = self.specification;
        let title = if url.is_empty() { (*title).to_owned() } else { format!("[{title}]({url})") };
        match self.label() {
            label if label.is_empty() => title,
            label => format!("{title}, {label}"),
        }
    }

    /// The section without the title of the document, such as `section 2.2`.
    pub fn label(&self) -> String {
        let numbered = self.name.starts_with(|first: char| first.is_ascii_digit());
        match (numbered, self.name.contains([' ', ','])) {
            (true, true) => format!("sections {}", self.name),
            (true, false) => format!("section {}", self.name),
            (false, _) if self.name.is_empty() => String::new(),
            (false, _) => format!("\"{}\"", self.name),
        }
    }
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let label = self.label();
        let comma = if label.is_empty() { "" } else { ", " };
        write!(f, "{}{comma}{label}", self.specification.title)
    }
}

/// Every specification.
pub static ALL: &[&Specification] = &[
    &AGENT_SKILLS,
    &CLAUDE_CODE,
    &CLAUDE_CODE_HOOKS,
    &SKILLLI,
    &GIBBERISH,
    &TOOL_PACKS,
    &GAIA,
    &GAIA_IMPLEMENTATION,
    &AGENT_FLOW,
    &SKILLRT,
    &OPENCLAW,
    &PUBLISHED_OPENCLAW,
    &PROWESS,
];

/// The open standard.
pub static AGENT_SKILLS: Specification = Specification {
    title: "Agent Skills specification",
    url: "https://agentskills.io/specification",
};

/// The documentation of Claude Code's skills.
pub static CLAUDE_CODE: Specification = Specification {
    title: "Claude Code documentation",
    url: "https://code.claude.com/docs/en/skills",
};

/// The documentation of Claude Code's hooks.
pub static CLAUDE_CODE_HOOKS: Specification = Specification {
    title: "Claude Code hooks reference",
    url: "https://code.claude.com/docs/en/hooks",
};

/// The specification of skillli.
pub static SKILLLI: Specification =
    Specification { title: "skillli Skill Format Specification", url: "" };

/// The specification of gibb.eri.sh.
pub static GIBBERISH: Specification = Specification {
    title: "gibb.eri.sh SKILL.md Specification",
    url: "https://github.com/mpuig/gibb.eri.sh",
};

/// The specification of the tool packs of gibb.eri.sh.
pub static TOOL_PACKS: Specification = Specification {
    title: "gibb.eri.sh tool pack specification",
    url: "https://github.com/mpuig/gibb.eri.sh/blob/main/docs/tool-packs-spec.md",
};

/// The specification of GAIA.
pub static GAIA: Specification = Specification {
    title: "GAIA SKILL.md Format Specification",
    url: "https://github.com/amd/gaia",
};

/// Fields that GAIA's code reads beyond its specification.
pub static GAIA_IMPLEMENTATION: Specification =
    Specification { title: "GAIA source code", url: "https://github.com/amd/gaia" };

/// The specification of Agent Flow Lite.
pub static AGENT_FLOW: Specification = Specification {
    title: "Agent Flow Lite SKILL.md Specification",
    url: "https://github.com/Joe-rq/agent-flow-lite",
};

/// The specification of skillrt.
pub static SKILLRT: Specification = Specification {
    title: "skillrt SKILL.md Specification",
    url: "https://docs.rs/crate/skillrt/latest/source/spec/SKILL-SPEC.md",
};

/// The documentation of OpenClaw's skills.
pub static OPENCLAW: Specification = Specification { title: "OpenClaw documentation", url: "" };

/// Fields that published OpenClaw skills use and no document defines.
pub static PUBLISHED_OPENCLAW: Specification =
    Specification { title: "published OpenClaw skills", url: "" };

/// Fields that Prowess adds to a dialect.
pub static PROWESS: Specification = Specification { title: "Prowess extension", url: "" };
