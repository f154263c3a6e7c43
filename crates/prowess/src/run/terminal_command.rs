//! The command that asks on a terminal about a call which nobody could be asked about.

use std::path::Path;

use prowess_engine::LoadedSkill;
use prowess_format::command;
use prowess_format::skill::{Tool, ToolKind};
use serde_json::{Map, Value};

use crate::terminal::printer::inline;

/// The most bytes of values that the command repeats.
const MAX_VALUES: usize = 4096;

/// `prowess run` for a call, as it can be typed.
pub(crate) fn terminal_command(
    skill: &LoadedSkill,
    tool: &Tool,
    values: &Map<String, Value>,
    working_directory: &Path,
) -> String {
    let reference = format!("{}/{}", skill.place().display(), tool.name.value);
    let mut words = vec!["prowess".to_owned(), "run".to_owned(), reference];
    if tool.kind != ToolKind::Script {
        let text = Value::Object(values.clone()).to_string();
        if !values.is_empty() && text.len() <= MAX_VALUES {
            words.extend(["--inputs".to_owned(), text]);
        }
    }
    words.extend(["--cwd".to_owned(), working_directory.display().to_string()]);
    let arguments = values.get(prowess_engine::ARGUMENTS).and_then(Value::as_array);
    if let (ToolKind::Script, Some(arguments)) = (tool.kind, arguments) {
        words.push("--".to_owned());
        words.extend(
            arguments.iter().map(|it| it.as_str().map_or_else(|| it.to_string(), str::to_owned)),
        );
    }
    inline(&command::join(&words)).into_owned()
}
