//! The menu of commands for the user: the skills that `/name` invokes (SKL layer 2).

use serde_json::{Value, json};

use super::{Catalogue, description};
use crate::loaded::LoadedSkill;

/// The commands of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserMenu {
    /// Skills with `mode: true`, listed in a section of their own.
    pub mode_commands: Vec<MenuCommand>,
    /// All others.
    pub commands: Vec<MenuCommand>,
}

/// A command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MenuCommand {
    /// The name of the skill.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The arguments it expects, as a hint.
    pub argument_hint: Option<String>,
    /// Whether only the user may invoke it.
    pub is_hidden_from_model: bool,
}

impl Catalogue {
    /// The commands of the user, sorted by name. A skill with `user-invocable: false` is absent, and one that a model may
    /// not invoke is present.
    pub fn menu(&self) -> UserMenu {
        let mut skills: Vec<&LoadedSkill> =
            self.for_model.iter().chain(&self.hidden).map(AsRef::as_ref).collect();
        skills.retain(|skill| skill.skill.is_user_invocable());
        skills.sort_by(|a, b| a.name.cmp(&b.name));
        let (modes, others): (Vec<&LoadedSkill>, Vec<&LoadedSkill>) =
            skills.into_iter().partition(|skill| skill.skill.is_mode_command());
        UserMenu {
            mode_commands: modes.into_iter().map(command).collect(),
            commands: others.into_iter().map(command).collect(),
        }
    }
}

impl UserMenu {
    /// The menu as JSON.
    pub fn json(&self) -> Value {
        let list =
            |commands: &[MenuCommand]| commands.iter().map(MenuCommand::json).collect::<Value>();
        json!({ "mode_commands": list(&self.mode_commands), "commands": list(&self.commands) })
    }
}

impl MenuCommand {
    fn json(&self) -> Value {
        json!({
            "command": format!("/{}", self.name),
            "description": self.description,
            "argument_hint": self.argument_hint,
            "model_invocable": !self.is_hidden_from_model,
        })
    }
}

fn command(skill: &LoadedSkill) -> MenuCommand {
    let hint = skill.skill.invocation.argument_hint.as_ref();
    MenuCommand {
        name: skill.name.clone(),
        description: description(skill).to_owned(),
        argument_hint: hint.map(|hint| hint.value.clone()),
        is_hidden_from_model: skill.skill.is_hidden_from_model(),
    }
}
