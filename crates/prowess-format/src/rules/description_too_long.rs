//! `description-too-long`.

use crate::diagnostic::rule;
use crate::specification::{AGENT_FLOW, AGENT_SKILLS, SKILLLI};

rule! {
    /// ## What it does
    /// Flags a description of more than 1,024 characters.
    ///
    /// ## Why is this bad?
    /// The description is part of every prompt; no dialect allows more than 1,024 characters.
    ///
    /// ## Example
    /// Move details into the body.
    DESCRIPTION_TOO_LONG = "description-too-long", Error / Error;
    AGENT_SKILLS.at("Frontmatter"), AGENT_FLOW.at("3.1"), SKILLLI.at("Agent Skills Open Standard")
}
