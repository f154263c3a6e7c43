//! `skill-not-installed`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags a skill that an agent manifest lists and that is not installed, or is installed and broken.
    /// A skill with `required: false` gives a warning.
    ///
    /// ## Why is this bad?
    /// An agent does not start without the skills it requires (GAIA §9.1).
    ///
    /// ## Example
    /// `prowess agent install AGENT.yaml` installs what the manifest lists.
    SKILL_NOT_INSTALLED = "skill-not-installed", Error / Error
}
