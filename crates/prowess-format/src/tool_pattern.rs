//! Patterns of tools, as `allowed-tools`, `disallowed-tools` and the `if` of a hook hold them: `Read`, `Bash(git *)`,
//! `mcp__github__get_*`.
//!
//! Here they are only read. `prowess-policy` matches them with the calls of an agent.

use std::fmt;
use std::str::FromStr;

/// The longest pattern that is read, in bytes. Published ones rarely have more than 100.
pub const MAX_PATTERN_BYTES: usize = 4096;

/// A pattern: the name of a tool, perhaps with a specifier in parentheses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolPattern {
    /// The tool: a name, or for MCP tools and rules that deny, a name with `*`.
    pub tool: String,
    /// What is in the parentheses. `Bash(*)` means the same as `Bash`, and has none.
    pub specifier: Option<String>,
}

/// The tools of a client that a pattern can have a specifier for, by the form of that specifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpecifierKind {
    /// A command with wildcards: `Bash`, `PowerShell`.
    Command,
    /// A path in the syntax of `.gitignore`: `Read`, `Edit`.
    Path,
    /// A path, but of a tool whose patterns the client accepts and never consults: `Write`, `Glob`.
    UnusedPath,
    /// `domain:` with a host: `WebFetch`.
    Domain,
    /// The name of a skill, perhaps followed by ` *`.
    Skill,
    /// The type of a subagent.
    Agent,
    /// A tool of an MCP server, or one that takes no specifier.
    Other,
}

/// Why a text is not a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolPatternError {
    /// It has no tool before the parenthesis, or nothing at all.
    NoTool,
    /// It is longer than [`MAX_PATTERN_BYTES`].
    TooLong,
    /// The name of the tool holds a character that no tool has.
    Name(char),
    /// The parenthesis is never closed.
    Unclosed,
    /// Something follows the closing parenthesis, or one is closed that was not opened.
    AfterEnd,
    /// There is nothing in the parentheses.
    Empty,
}

/// Where a pattern is written, which decides what it can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternList {
    /// A list that allows, as `allowed-tools`.
    Allow,
    /// A list that denies or asks, as `disallowed-tools`.
    Deny,
}

/// Why the client reads a pattern and then ignores it, or reads it in another way than it looks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IneffectivePattern {
    /// A wildcard in the name of a tool in a list that allows, other than after `mcp__SERVER__`.
    UnanchoredName,
    /// A `:*` before the end of a command, where it has no meaning.
    ColonInside,
    /// A parameter that holds the content of a call, as in `Bash(command:rm *)`.
    ContentParameter {
        /// The parameter.
        parameter: String,
    },
    /// A path pattern of a tool for which the client consults those of another one.
    WrongPathTool {
        /// The tool whose patterns it consults.
        instead: &'static str,
    },
    /// A `WebFetch` pattern without `domain:`.
    NoDomain,
}

impl FromStr for ToolPattern {
    type Err = ToolPatternError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        if text.len() > MAX_PATTERN_BYTES {
            return Err(ToolPatternError::TooLong);
        }
        let (tool, rest) = match text.find('(') {
            Some(open) => (text[..open].trim_end(), Some(&text[open + 1..])),
            None => (text, None),
        };
        if tool.is_empty() {
            return Err(ToolPatternError::NoTool);
        }
        if let Some(odd) = tool.chars().find(|character| !is_name_character(*character)) {
            let is_close = odd == ')';
            return Err(if is_close {
                ToolPatternError::AfterEnd
            } else {
                ToolPatternError::Name(odd)
            });
        }
        let Some(rest) = rest else { return Ok(Self { tool: tool.to_owned(), specifier: None }) };
        let Some(specifier) = rest.strip_suffix(')') else {
            let is_open = !rest.contains(')');
            return Err(if is_open {
                ToolPatternError::Unclosed
            } else {
                ToolPatternError::AfterEnd
            });
        };
        let specifier = specifier.trim();
        if specifier.is_empty() {
            return Err(ToolPatternError::Empty);
        }
        let is_whole = matches!(specifier, "*" | ":*");
        let specifier = (!is_whole).then(|| specifier.to_owned());
        Ok(Self { tool: tool.to_owned(), specifier })
    }
}

/// Letters, digits, and what names of MCP servers and plugins hold.
fn is_name_character(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '-' | '*' | '.' | ':' | '/' | '@')
}

impl fmt::Display for ToolPattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.specifier {
            Some(specifier) => write!(formatter, "{}({specifier})", self.tool),
            None => formatter.write_str(&self.tool),
        }
    }
}

impl ToolPattern {
    /// What the specifier of this tool is.
    pub fn kind(&self) -> SpecifierKind {
        kind_of(&self.tool)
    }

    /// The MCP server and the tool that it names, either with wildcards: `mcp__github__get_*`.
    pub fn mcp(&self) -> Option<(&str, Option<&str>)> {
        let rest = self.tool.strip_prefix("mcp__")?;
        match rest.split_once("__") {
            Some((server, tool)) => Some((server, Some(tool))),
            None => Some((rest, None)),
        }
    }

    /// The parameter and its value, for a specifier of the form `PARAMETER:VALUE`. Only lists that deny have them.
    pub fn parameter(&self) -> Option<(&str, &str)> {
        let (parameter, value) = self.specifier.as_deref()?.split_once(':')?;
        let (parameter, value) = (parameter.trim(), value.trim());
        let is_name = !parameter.is_empty()
            && parameter
                .chars()
                .all(|character| character.is_ascii_alphanumeric() || character == '_');
        (is_name && !value.is_empty()).then_some((parameter, value))
    }

    /// The same pattern with `${CLAUDE_SKILL_DIR}` and `${CLAUDE_PROJECT_DIR}` replaced, which the client does in those of
    /// commands. A folder that is not known stays as written.
    #[must_use]
    pub fn with_folders(&self, skill: Option<&str>, project: Option<&str>) -> Self {
        let mut pattern = self.clone();
        if pattern.kind() != SpecifierKind::Command {
            return pattern;
        }
        if let Some(specifier) = &mut pattern.specifier {
            let folders = [("${CLAUDE_SKILL_DIR}", skill), ("${CLAUDE_PROJECT_DIR}", project)];
            for (variable, folder) in folders {
                if let Some(folder) = folder.filter(|_| specifier.contains(variable)) {
                    *specifier = specifier.replace(variable, folder);
                }
            }
        }
        pattern
    }

    /// Why the client ignores this pattern in a list, if it does.
    pub fn ineffective(&self, list: PatternList) -> Option<IneffectivePattern> {
        let is_anchored = match self.mcp() {
            Some((server, tool)) => !server.contains('*') && tool.is_some(),
            None => false,
        };
        if list == PatternList::Allow && self.tool.contains('*') && !is_anchored {
            return Some(IneffectivePattern::UnanchoredName);
        }
        let specifier = self.specifier.as_deref()?;
        if let Some((parameter, _)) = self.parameter()
            && content_parameter(&self.tool) == Some(parameter)
        {
            let parameter = parameter.to_owned();
            return Some(IneffectivePattern::ContentParameter { parameter });
        }
        match self.kind() {
            SpecifierKind::Command => {
                let inside = specifier.strip_suffix(":*").unwrap_or(specifier);
                inside.contains(":* ").then_some(IneffectivePattern::ColonInside)
            }
            SpecifierKind::UnusedPath => {
                let instead = if matches!(self.tool.as_str(), "Glob" | "Grep" | "LS") {
                    "Read"
                } else {
                    "Edit"
                };
                Some(IneffectivePattern::WrongPathTool { instead })
            }
            SpecifierKind::Domain => {
                (!specifier.starts_with("domain:")).then_some(IneffectivePattern::NoDomain)
            }
            SpecifierKind::Path
            | SpecifierKind::Skill
            | SpecifierKind::Agent
            | SpecifierKind::Other => None,
        }
    }
}

/// What the specifier of a tool is.
pub fn kind_of(tool: &str) -> SpecifierKind {
    match tool {
        "Bash" | "PowerShell" => SpecifierKind::Command,
        "Read" | "Edit" => SpecifierKind::Path,
        "Write" | "MultiEdit" | "NotebookEdit" | "Glob" => SpecifierKind::UnusedPath,
        "WebFetch" => SpecifierKind::Domain,
        "Skill" => SpecifierKind::Skill,
        // `Task` is the earlier name of `Agent`.
        "Agent" | "Task" => SpecifierKind::Agent,
        _ => SpecifierKind::Other,
    }
}

/// The parameter of a tool that holds what its specifier is about, and that `PARAMETER:VALUE` can't match.
pub fn content_parameter(tool: &str) -> Option<&'static str> {
    match tool {
        "Bash" | "PowerShell" => Some("command"),
        "Read" | "Edit" | "Write" | "MultiEdit" => Some("file_path"),
        "Grep" | "Glob" | "LS" => Some("path"),
        "NotebookEdit" => Some("notebook_path"),
        "WebFetch" => Some("url"),
        _ => None,
    }
}

impl fmt::Display for ToolPatternError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTool => formatter.write_str("it names no tool"),
            Self::TooLong => write!(formatter, "it is longer than {MAX_PATTERN_BYTES} bytes"),
            Self::Name(character) => {
                let character = character.to_string();
                let character = crate::text::visible_line(&character);
                write!(formatter, "the name of a tool can't contain `{character}`")
            }
            Self::Unclosed => formatter.write_str("its parenthesis is not closed"),
            Self::AfterEnd => formatter.write_str("nothing can follow the closing parenthesis"),
            Self::Empty => formatter.write_str("its parentheses are empty"),
        }
    }
}

impl std::error::Error for ToolPatternError {}

impl fmt::Display for IneffectivePattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnanchoredName => formatter.write_str(
                "a list that allows tools takes `*` in a name only after `mcp__SERVER__`",
            ),
            Self::ColonInside => {
                formatter.write_str("`:*` is a wildcard only at the end of a pattern")
            }
            Self::ContentParameter { parameter } => {
                write!(
                    formatter,
                    "`{parameter}:` can't be matched, because a compound command would get around it"
                )
            }
            Self::WrongPathTool { instead } => {
                write!(formatter, "paths are only compared with `{instead}(…)`")
            }
            Self::NoDomain => formatter.write_str("addresses are only compared with `domain:HOST`"),
        }
    }
}
