//! Runs of tools and prompts, as the verbs start them.

pub(crate) mod call_run;
pub(crate) mod change_options;
pub(crate) mod hook_services;
pub(crate) mod injected_run;
pub(crate) mod inputs;
pub(crate) mod prompt_run;
pub(crate) mod settling;
pub(crate) mod standing;
pub(crate) mod terminal_command;
pub(crate) mod tool_run;
