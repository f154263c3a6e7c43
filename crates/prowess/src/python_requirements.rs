//! The `requirements.txt` of a skill that declares Python packages (GAIA §7.1).

use prowess_engine::requirements_file;
use prowess_package::tree::Tree;
use prowess_store::described::Described;
use prowess_trust::Scheme;

use crate::terminal::printer::{Printer, inline};

/// What the file is called.
pub(crate) const FILE: &str = "requirements.txt";

/// The text that the file should have, where a skill declares packages and has no such file.
///
/// A signature is about all files, so that nothing is added to a skill that has one: `sign` writes the file before it
/// signs.
pub(crate) fn missing(tree: &Tree, described: &Described, printer: &mut Printer) -> Option<String> {
    let is_signature = |path: &str, bytes: &[u8]| Scheme::of_file(path, bytes).is_some();
    let is_signed = tree.files().any(|(path, file)| is_signature(path.as_str(), &file.bytes));
    if is_signed || tree.get(FILE).is_some() {
        return None;
    }
    requirements_file(&described.skill).unwrap_or_else(|error| {
        // The engine refuses the same line when the skill is loaded.
        printer.warning(&inline(&format!("no `{FILE}` was made: {error}")));
        None
    })
}
