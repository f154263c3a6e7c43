//! What the scanner would tell those who install a skill, for its author.

use prowess_package::tree::Tree;
use prowess_scan::KnownBad;
use prowess_store::suspicion::Suspicions;

use super::manager;
use crate::terminal::printer::{Printer, inline};

/// The list of known malicious files that the user has installed. Without a home directory or trusted keys there is none.
pub(crate) fn known_bad() -> KnownBad {
    let Ok(packages) = manager() else { return KnownBad::default() };
    packages.trust_store().map(|trust| packages.known_bad(&trust)).unwrap_or_default()
}

/// Warns about what blocks a skill, or makes people look at it, before it is packed or signed.
pub(crate) fn warn(tree: &Tree, printer: &mut Printer) {
    let suspicions = Suspicions::of(tree, &known_bad());
    for found in &suspicions.blocking {
        printer.warning(&format!(
            "nobody can install it like this: it {}",
            inline(&found.to_string())
        ));
    }
    for found in &suspicions.suspicious {
        printer.warning(&format!(
            "whoever installs it is asked about this: it {}",
            inline(&found.to_string())
        ));
    }
    let rules = suspicions.blocking.iter().chain(&suspicions.suspicious).map(|found| found.rule);
    if let Some(rule) = rules.into_iter().next() {
        printer.hint(&format!("`prowess explain {rule}` explains it"));
    }
}
