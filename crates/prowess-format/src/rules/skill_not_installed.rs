//! `skill-not-installed`.

use crate::diagnostic::rule;
use crate::specification::GAIA;

rule! {
    /// ## What it does
    /// Flags a skill in an agent manifest that is not installed, or whose installation is broken. It is a warning for a skill with `required: false`.
    ///
    /// ## Why is this bad?
    /// An agent does not start without the skills it requires.
    ///
    /// ## Example
    /// `prowess agent install AGENT.yaml` installs what the manifest lists.
    SKILL_NOT_INSTALLED = "skill-not-installed", Error / Error;
    GAIA.at("9.1")
}
