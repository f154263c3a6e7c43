//! The command that asks on a terminal about a call which nobody could be asked about.

use std::path::Path;

use prowess_engine::LoadedSkill;
use prowess_format::command;
use prowess_format::skill::{Tool, ToolKind};
use prowess_policy::Mode;
use serde_json::{Map, Value};

use crate::terminal::printer::inline;

/// The most bytes of values that the command repeats.
const MAX_VALUES: usize = 4096;

/// `prowess run` for a call of a tool, or of a prompt without one, as it can be typed.
pub(crate) fn terminal_command(
    skill: &LoadedSkill,
    tool: Option<&Tool>,
    values: &Map<String, Value>,
    mode: Mode,
    working_directory: &Path,
) -> String {
    let place = skill.place().display();
    let reference =
        tool.map_or_else(|| place.to_string(), |tool| format!("{place}/{}", tool.name.value));
    let is_script = tool.is_some_and(|tool| tool.kind == ToolKind::Script);
    let mut words = vec!["prowess".to_owned(), "run".to_owned(), reference];
    if !is_script {
        let text = Value::Object(values.clone()).to_string();
        if !values.is_empty() && text.len() <= MAX_VALUES {
            words.extend(["--inputs".to_owned(), text]);
        }
    }
    words.extend(mode_option(mode));
    words.extend(["--cwd".to_owned(), working_directory.display().to_string()]);
    let arguments = values.get(prowess_engine::ARGUMENTS).and_then(Value::as_array);
    if let Some(arguments) = arguments.filter(|_| is_script) {
        words.push("--".to_owned());
        words.extend(
            arguments.iter().map(|it| it.as_str().map_or_else(|| it.to_string(), str::to_owned)),
        );
    }
    inline(&command::join(&words)).into_owned()
}

/// `prowess render` for a skill, as it asks about the commands in its text.
pub(crate) fn render_command(skill: &LoadedSkill, mode: Mode) -> String {
    let place = skill.place().display().to_string();
    let mut words = ["prowess", "render", &place, "--run-commands"].map(str::to_owned).to_vec();
    words.extend(mode_option(mode));
    inline(&command::join(&words)).into_owned()
}

/// The option for a mode, unless it is the usual one.
fn mode_option(mode: Mode) -> Vec<String> {
    if mode == Mode::Global { Vec::new() } else { vec!["--mode".to_owned(), mode.to_string()] }
}
