//! `wrong-file-name`.

use crate::diagnostic::rule;
use crate::specification::AGENT_SKILLS;

rule! {
    /// ## What it does
    /// Flags a skill whose main file is spelt `skill.md`, `Skill.md` or the like instead of `SKILL.md`.
    ///
    /// ## Why is this bad?
    /// Most clients compare the name exactly and never see the skill, even where the file system ignores case.
    ///
    /// ## Example
    /// `git mv skill.md SKILL.md`
    WRONG_FILE_NAME = "wrong-file-name", Warning / Error;
    AGENT_SKILLS.at("Directory structure")
}
