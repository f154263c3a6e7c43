//! Modes, which determine the tools that are offered (GIB §7.2, R26, R46).

use std::fmt;
use std::str::FromStr;

/// A mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// No particular mode.
    Global,
    /// Writing programs.
    Dev,
    /// In a call.
    Meeting,
    /// Writing text (R26).
    Writer,
}

/// An unknown mode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a mode, expected `Global`, `Dev`, `Meeting` or `Writer`")]
pub struct ModeError(String);

impl Mode {
    /// Every mode.
    pub const ALL: [Mode; 4] = [Mode::Global, Mode::Dev, Mode::Meeting, Mode::Writer];

    /// The name of the mode.
    pub fn as_str(self) -> &'static str {
        match self {
            Mode::Global => "Global",
            Mode::Dev => "Dev",
            Mode::Meeting => "Meeting",
            Mode::Writer => "Writer",
        }
    }
}

/// Ignores case and accepts the aliases of R26.
impl FromStr for Mode {
    type Err = ModeError;

    fn from_str(text: &str) -> Result<Self, ModeError> {
        let word = match text.to_ascii_lowercase().as_str() {
            "coding" => "dev".to_owned(),
            "dictation" => "writer".to_owned(),
            other => other.to_owned(),
        };
        let known = Self::ALL.into_iter().find(|mode| mode.as_str().eq_ignore_ascii_case(&word));
        known.ok_or_else(|| ModeError(text.to_owned()))
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Whether a skill with these modes is available in a mode: in its own, and in every mode if
/// `Global` is among them (GIB §7.2, R46). No modes mean `Global`.
pub fn is_available<'m>(declared: impl IntoIterator<Item = &'m str>, active: Mode) -> bool {
    let mut declared = declared.into_iter().peekable();
    declared.peek().is_none()
        || declared.any(|mode| mode == Mode::Global.as_str() || mode == active.as_str())
}
