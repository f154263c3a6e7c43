//! `new-capability`.

use crate::rule::scan_rule;

scan_rule! {
    /// ## What it does
    /// Compares an update with the installed version: flags scripts that now start programs, send data, use the network, control the desktop, change a database or talk to an MCP server, if no script of the installed version did.
    ///
    /// ## Why is this bad?
    /// A skill can be honest until enough people have installed it. What an update adds was not part of what they agreed to.
    ///
    /// ## Example
    /// Version 1.0.0 formats tables, and version 1.0.1 also sends them to a server.
    NEW_CAPABILITY = "new-capability", High, Permissions;
    matching: &[], clean: &[("SKILL.md", "Text.\n")],
}
