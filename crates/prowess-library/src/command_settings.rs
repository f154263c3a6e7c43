//! The setting that disables commands in the texts of skills.

use prowess_core::{Problem, ProblemKind};
use prowess_settings::{CONFIG_FILE, DISABLE_SHELL_EXECUTION, parse_config, read_config};
use toml::Value;

use crate::Library;

impl Library {
    /// Whether the settings disable commands in the texts of skills. Settings that can't be read are an error, so that a
    /// typing mistake does not enable them.
    pub fn disables_injected_commands(&self) -> Result<bool, Problem> {
        let path = self.world().state.config.join(CONFIG_FILE);
        let wrong = |why: String| {
            let message = format!("`{}` is not valid: {why}", path.display());
            Problem::new("invalid-settings", ProblemKind::InvalidInput, message)
        };
        let Some(text) = read_config(&path).map_err(wrong)? else { return Ok(false) };
        match parse_config(&text).map_err(wrong)?.get(DISABLE_SHELL_EXECUTION) {
            None => Ok(false),
            Some(Value::Boolean(is_disabled)) => Ok(*is_disabled),
            Some(_) => Err(wrong(format!("`{DISABLE_SHELL_EXECUTION}` expects `true` or `false`"))),
        }
    }
}
