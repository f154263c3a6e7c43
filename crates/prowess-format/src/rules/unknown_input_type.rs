//! `unknown-input-type`.

use crate::diagnostic::rule;
use crate::specification::{AGENT_FLOW, SKILLRT};

rule! {
    /// ## What it does
    /// Flags an input type that the dialect does not have.
    ///
    /// ## Why is this bad?
    /// skillrt rejects it; Agent Flow Lite falls back to `text`, which loses the author's intent.
    ///
    /// ## Example
    /// `integer` becomes `number` in skillrt.
    UNKNOWN_INPUT_TYPE = "unknown-input-type", Error / Error;
    SKILLRT.at("4.4"), AGENT_FLOW.at("3.3")
}
