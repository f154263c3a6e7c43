//! What the scanner would tell those who install a skill, for its author.

use prowess_package::tree::Tree;
use prowess_store::suspicion::Suspicions;

use crate::terminal::printer::{Printer, inline};

/// Warns about what blocks a skill, or makes people look at it, before it is packed or signed.
pub(crate) fn warn(tree: &Tree, printer: &mut Printer) {
    let suspicions = Suspicions::of(tree);
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
