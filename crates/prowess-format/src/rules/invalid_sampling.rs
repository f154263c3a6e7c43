//! `invalid-sampling`.

use crate::diagnostic::rule;
use crate::specification::AGENT_FLOW;

rule! {
    /// ## What it does
    /// Flags a temperature outside 0.0 to 2.0 or a token limit outside 1 to 8,192.
    ///
    /// ## Why is this bad?
    /// Agent Flow Lite defines the ranges; providers reject other values.
    ///
    /// ## Example
    /// `temperature: 0.7`
    INVALID_SAMPLING = "invalid-sampling", Error / Error;
    AGENT_FLOW.at("3.2")
}
