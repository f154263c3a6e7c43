//! `unknown-install-kind`.

use crate::diagnostic::{Findings, rule};
use crate::dialect;
use crate::rules::Subject;
use crate::specification::OPENCLAW;
use crate::text::alternatives;

rule! {
    /// ## What it does
    /// Flags an install entry of a kind that OpenClaw does not document.
    ///
    /// ## Why is this bad?
    /// OpenClaw skips it; Prowess keeps and shows it, and never runs install steps.
    ///
    /// ## Example
    /// `brew`, `node`, `go`, `uv` or `download`
    UNKNOWN_INSTALL_KIND = "unknown-install-kind", Warning / Warning, check;
    OPENCLAW.at("Skills")
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for install in subject.skill.openclaw.iter().flat_map(|block| &block.install) {
        if !dialect::INSTALL_KINDS.contains(&install.kind.as_str()) {
            let message = if install.kind.is_empty() {
                "an install entry without a kind".to_owned()
            } else {
                format!("the install kind `{}` is not one of OpenClaw's", install.kind.value)
            };
            findings.push(UNKNOWN_INSTALL_KIND.at(install.kind.span, message).help(format!(
                "write {}, or keep it as documentation",
                alternatives(dialect::INSTALL_KINDS)
            )));
        }
    }
}
