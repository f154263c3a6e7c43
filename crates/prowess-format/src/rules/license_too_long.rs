//! `license-too-long`.

use crate::diagnostic::rule;
use crate::specification::AGENT_FLOW;

rule! {
    /// ## What it does
    /// Flags a licence of more than 64 characters.
    ///
    /// ## Why is this bad?
    /// Agent Flow Lite limits the field to 64 characters.
    ///
    /// ## Example
    /// Write the SPDX identifier.
    LICENSE_TOO_LONG = "license-too-long", Error / Error;
    AGENT_FLOW.at("3.1")
}
