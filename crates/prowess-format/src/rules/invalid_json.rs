//! `invalid-json`.

use crate::diagnostic::rule;
use crate::specification::TOOL_PACKS;

rule! {
    /// ## What it does
    /// Flags a tool pack that is not JSON.
    ///
    /// ## Why is this bad?
    /// A tool pack is one JSON object; comments and trailing commas are not JSON.
    ///
    /// ## Example
    /// Remove the trailing comma.
    INVALID_JSON = "invalid-json", Error / Error;
    TOOL_PACKS.whole()
}
