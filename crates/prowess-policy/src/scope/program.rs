//! Programs in `shell` grants (GAIA §3.2).

use std::fmt;

/// Maximum length of a name or path, in bytes.
const MAX_BYTES: usize = 4096;

/// Programs that run arbitrary code: a grant for one of them says little about what will happen.
const INTERPRETERS: &[&str] = &[
    "bash",
    "bun",
    "busybox",
    "cmd",
    "csh",
    "dash",
    "deno",
    "docker",
    "doas",
    "env",
    "fish",
    "ksh",
    "lua",
    "nix",
    "node",
    "nodejs",
    "npx",
    "osascript",
    "perl",
    "php",
    "podman",
    "powershell",
    "pwsh",
    "python",
    "python2",
    "python3",
    "ruby",
    "sh",
    "ssh",
    "su",
    "sudo",
    "uv",
    "uvx",
    "xargs",
    "zsh",
];

/// A program that may be started.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Program {
    /// A name, looked up on PATH when the run is prepared.
    Named(String),
    /// An absolute path.
    At(String),
    /// A file in the skill's directory (R30). Only a command of the skill refers to one.
    Own(String),
}

/// Why a text is not a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    /// Empty.
    #[error("the program name is empty")]
    Empty,
    /// A relative path, or one with `..`.
    #[error("`{0}` is a relative path: write the program's name or its absolute path")]
    Relative(String),
    /// Spaces, quotes, wildcards or control characters.
    #[error("`{0}` is not a program name")]
    Invalid(String),
    /// A script outside the skill's directory.
    #[error("`{0}` is outside the skill's directory")]
    Outside(String),
}

impl Program {
    /// Parses the program of a grant: a bare name or an absolute path.
    pub fn parse(text: &str) -> Result<Self, ProgramError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(ProgramError::Empty);
        }
        if text.len() > MAX_BYTES || !text.chars().all(is_program_character) {
            return Err(ProgramError::Invalid(text.to_owned()));
        }
        if !text.contains('/') {
            let name = !text.starts_with(['-', '~']) && text != "." && text != "..";
            return if name {
                Ok(Self::Named(text.to_owned()))
            } else {
                Err(ProgramError::Invalid(text.to_owned()))
            };
        }
        let plain = text.split('/').skip(1).all(|part| !matches!(part, "" | "." | ".."));
        if text.starts_with('/') && plain {
            Ok(Self::At(text.to_owned()))
        } else {
            Err(ProgramError::Relative(text.to_owned()))
        }
    }

    /// Parses the program of a command: also `./scripts/x.sh`, which is relative to the skill's
    /// directory (R30).
    pub fn of_command(text: &str) -> Result<Self, ProgramError> {
        if !text.starts_with("./") && !text.starts_with("../") {
            return Self::parse(text);
        }
        let parts: Vec<&str> =
            text.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        if parts.contains(&"..") {
            return Err(ProgramError::Outside(text.to_owned()));
        }
        if parts.is_empty() || text.len() > MAX_BYTES || text.chars().any(char::is_control) {
            return Err(ProgramError::Invalid(text.to_owned()));
        }
        Ok(Self::Own(parts.join("/")))
    }

    /// Whether the program runs arbitrary code.
    pub fn is_interpreter(&self) -> bool {
        let name = match self {
            Self::Named(name) => name,
            Self::At(path) => path.rsplit('/').next().unwrap_or_default(),
            Self::Own(_) => return false,
        };
        // Also matches `python3.11` and `lua5.4`.
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        INTERPRETERS.contains(&name) || INTERPRETERS.contains(&stem)
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) => f.write_str(name),
            Self::At(path) => f.write_str(path),
            Self::Own(path) => write!(f, "./{path}"),
        }
    }
}

fn is_program_character(character: char) -> bool {
    character.is_ascii_alphanumeric()
        || matches!(character, '.' | '_' | '-' | '+' | '/' | '@' | '~' | ':')
}
