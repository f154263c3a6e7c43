//! `reserved-name-prefix`.

use crate::diagnostic::{Findings, rule};
use crate::rules::Subject;
use crate::specification::GAIA;

rule! {
    /// ## What it does
    /// Notes a name that begins with `amd-`, `gaia-` or `mcp-`.
    ///
    /// ## Why is this bad?
    /// GAIA reserves these prefixes; only certain publishers may use them.
    ///
    /// ## Example
    /// Choose another name unless you are that publisher.
    RESERVED_NAME_PREFIX = "reserved-name-prefix", Info / Warning, check;
    GAIA.at("2.3")
}

/// GAIA §2.3.
const RESERVED: &[&str] = &["amd-", "gaia-", "mcp-"];

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(name) = subject.skill.name.as_ref().filter(|_| subject.skill.dialect.id == "gaia")
    else {
        return;
    };
    if let Some(prefix) = RESERVED.iter().find(|prefix| name.starts_with(**prefix)) {
        findings.push(
            RESERVED_NAME_PREFIX
                .at(name.span, format!("names beginning with `{prefix}` are reserved"))
                .help("only certain publishers may use this prefix"),
        );
    }
}
