//! `invalid-input`.

use crate::diagnostic::rule;
use crate::specification::AGENT_FLOW;

rule! {
    /// ## What it does
    /// Flags an input whose name, label, default or description is too long or not text.
    ///
    /// ## Why is this bad?
    /// Agent Flow Lite limits them to 64, 128, 1,024 and 512 characters.
    ///
    /// ## Example
    /// Shorten the text.
    INVALID_INPUT = "invalid-input", Error / Error;
    AGENT_FLOW.at("3.3")
}
