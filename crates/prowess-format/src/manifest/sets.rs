//! Selects the active skill set (GAIX-18): exactly one, never guessed.

use std::fmt;

use super::AgentManifest;
use crate::skill::SkillDependency;
use crate::text::alternatives;

/// Who chose a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetChosenBy {
    /// The user named it.
    Request,
    /// The agent's selector.
    Selector,
    /// The manifest's default.
    Default,
    /// Nobody: the manifest has no sets.
    Nobody,
}

impl SetChosenBy {
    /// The value in JSON output.
    pub fn as_str(self) -> &'static str {
        match self {
            SetChosenBy::Request => "explicit",
            SetChosenBy::Selector => "selector",
            SetChosenBy::Default => "default",
            SetChosenBy::Nobody => "none",
        }
    }
}

/// The active skills.
#[derive(Clone, Debug, PartialEq)]
pub struct ActiveSkills<'m> {
    /// The active set; `None` where the manifest has no sets.
    pub set: Option<&'m str>,
    /// Who chose it.
    pub chosen_by: SetChosenBy,
    /// The skills of every set, then those of the active set.
    pub skills: Vec<&'m SkillDependency>,
}

/// Why no set is active.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkillSetError {
    /// The named set does not exist. It never falls back to the default.
    Unknown {
        /// The name.
        name: String,
        /// Who gave it.
        chosen_by: SetChosenBy,
        /// The existing names.
        known: Vec<String>,
    },
    /// There are sets, but none was chosen.
    NotChosen {
        /// The existing names.
        known: Vec<String>,
    },
}

impl fmt::Display for SkillSetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name, chosen_by, .. } => {
                let name = crate::text::visible(name);
                write!(f, "there is no skill set `{name}`{}", chosen_by.blame())
            }
            Self::NotChosen { .. } => {
                f.write_str("the manifest has skill sets, but none was chosen")
            }
        }
    }
}

impl std::error::Error for SkillSetError {}

impl SetChosenBy {
    fn blame(self) -> &'static str {
        match self {
            SetChosenBy::Request | SetChosenBy::Nobody => "",
            SetChosenBy::Selector => ", which the selector chose",
            SetChosenBy::Default => ", which is the manifest's default",
        }
    }
}

impl SkillSetError {
    /// What to do next.
    pub fn hint(&self) -> String {
        let (Self::Unknown { known, .. } | Self::NotChosen { known }) = self;
        if known.is_empty() {
            return "the manifest has no `skill_sets:`; omit the name".to_owned();
        }
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        format!("choose {}", alternatives(&known))
    }
}

/// A text that is not blank.
fn given(text: Option<&str>) -> Option<&str> {
    text.map(str::trim).filter(|text| !text.is_empty())
}

impl AgentManifest {
    /// Selects the active skills: those of every set, and those of the active set. The set is
    /// chosen by the user (`requested`), the agent's selector (`selected`) or the default, in this
    /// order.
    pub fn active_skills(
        &self,
        requested: Option<&str>,
        selected: Option<&str>,
    ) -> Result<ActiveSkills<'_>, SkillSetError> {
        let known = || self.skill_sets.iter().map(|set| set.name.value.clone()).collect();
        let default = self.default_set.as_ref().map(|set| set.as_str());
        let order = [
            (given(requested), SetChosenBy::Request),
            (given(selected), SetChosenBy::Selector),
            (given(default), SetChosenBy::Default),
        ];
        let chosen = order.into_iter().find_map(|(name, by)| Some((name?, by)));
        // A selector runs for every agent, even one without sets; a user who names a set expects it
        // to exist.
        let chosen =
            chosen.filter(|(_, by)| !self.skill_sets.is_empty() || *by != SetChosenBy::Selector);
        let Some((name, chosen_by)) = chosen else {
            if !self.skill_sets.is_empty() {
                return Err(SkillSetError::NotChosen { known: known() });
            }
            let skills = self.skills.iter().collect();
            return Ok(ActiveSkills { set: None, chosen_by: SetChosenBy::Nobody, skills });
        };
        let Some(set) = self.skill_sets.iter().find(|set| set.name.as_str() == name) else {
            return Err(SkillSetError::Unknown {
                name: name.to_owned(),
                chosen_by,
                known: known(),
            });
        };
        Ok(ActiveSkills {
            set: Some(set.name.as_str()),
            chosen_by,
            skills: self.skills.iter().chain(&set.skills).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::manifest;

    const DESK: &str = "name: desk\nskills: [notes]\nskill_sets:\n  office: [mail, calendar]\n  home: [music]\ndefault_skill_set: home\n";
    const NO_DEFAULT: &str = "name: desk\nskill_sets:\n  office: [mail]\n  home: [music]\n";
    const NO_SETS: &str = "name: desk\nskills: [notes]\n";

    #[track_caller]
    fn check(text: &str, requested: Option<&str>, selected: Option<&str>, expected: &str) {
        let manifest = manifest::check(text).manifest;
        let shown = match manifest.active_skills(requested, selected) {
            Ok(active) => {
                let names: Vec<&str> = active.skills.iter().map(|it| it.name.as_str()).collect();
                let set = active.set.unwrap_or("-");
                format!("{set} by {}: {}", active.chosen_by.as_str(), names.join(" "))
            }
            Err(error) => format!("{error} ({})", error.hint()),
        };
        assert_eq!(shown, expected, "{requested:?} {selected:?} {text}");
    }

    #[test]
    fn one_set_is_active_and_names_are_never_guessed() {
        // GAIX-18
        check(DESK, Some("office"), Some("home"), "office by explicit: notes mail calendar");
        check(DESK, None, Some("office"), "office by selector: notes mail calendar");
        check(DESK, Some(" "), None, "home by default: notes music");
        check(
            DESK,
            Some("ofice"),
            Some("home"),
            "there is no skill set `ofice` (choose `office` or `home`)",
        );
        check(
            DESK,
            None,
            Some("x"),
            "there is no skill set `x`, which the selector chose (choose `office` or `home`)",
        );
        check(
            NO_DEFAULT,
            None,
            None,
            "the manifest has skill sets, but none was chosen (choose `office` or `home`)",
        );
        check(NO_SETS, None, Some("office"), "- by none: notes");
        check(
            NO_SETS,
            Some("office"),
            None,
            "there is no skill set `office` (the manifest has no `skill_sets:`; omit the name)",
        );
    }
}
