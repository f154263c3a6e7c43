//! The terminal: output with colour and width, progress, questions, signals.

pub(crate) mod approval_prompt;
pub(crate) mod confirm;
pub(crate) mod passphrase;
pub(crate) mod printer;
pub(crate) mod progress;
pub(crate) mod selection;
pub(crate) mod signals;
pub(crate) mod wrap;
