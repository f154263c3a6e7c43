//! Runs of tools and prompts, as the verbs start them.

pub(crate) mod call_run;
pub(crate) mod inputs;
pub(crate) mod prompt_run;
pub(crate) mod standing;
pub(crate) mod tool_run;
