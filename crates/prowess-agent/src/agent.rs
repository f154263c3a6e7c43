//! An agent and its task.

use std::sync::Arc;

use prowess_core::Message;
use prowess_engine::LoadedSkill;
use prowess_format::skill::Requirements;
use prowess_policy::Mode;

/// An agent that is ready to work: its skills are loaded, each with its trust.
#[derive(Clone, Debug)]
pub struct Agent {
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: Option<String>,
    /// Its skills, in the order of the manifest.
    pub skills: Vec<Arc<LoadedSkill>>,
    /// Its own tools, as a skill (GAIA §9.3).
    pub own: Option<Arc<LoadedSkill>>,
    /// Its requirements for the model.
    pub needs: Requirements,
    /// The mode that is on.
    pub mode: Mode,
}

/// A task for an agent.
#[derive(Clone, Debug, Default)]
pub struct AgentTask {
    /// The words of the user.
    pub text: String,
    /// Texts that the user gave along with it, which are data.
    pub inputs: Vec<NamedText>,
    /// The conversation so far, when an earlier one goes on.
    pub history: Vec<Message>,
    /// The skills that the model had loaded in it.
    pub loaded: Vec<String>,
}

/// A text with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedText {
    /// The name.
    pub name: String,
    /// The text.
    pub text: String,
}
