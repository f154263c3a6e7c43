//! The `requirements.txt` of a skill that declares Python packages (GAIA §7.1).

use prowess_engine::requirements_file;
use prowess_package::tree::Tree;
use prowess_store::metadata::SkillMetadata;
use prowess_trust::Scheme;

use crate::terminal::printer::{Printer, inline};

/// The name of the file.
pub(crate) const FILE: &str = "requirements.txt";

/// The content of the file, for a skill that declares packages and lacks the file.
///
/// `None` for a signed skill: a signature covers all files, so nothing may be added. `sign` writes the file before it
/// signs.
pub(crate) fn missing(
    tree: &Tree,
    metadata: &SkillMetadata,
    printer: &mut Printer,
) -> Option<String> {
    let is_signature = |path: &str, bytes: &[u8]| Scheme::of_file(path, bytes).is_some();
    let is_signed = tree.files().any(|(path, file)| is_signature(path.as_str(), &file.bytes));
    if is_signed || tree.get(FILE).is_some() {
        return None;
    }
    requirements_file(&metadata.skill).unwrap_or_else(|error| {
        // The engine refuses the same line when the skill is loaded.
        printer.warning(&inline(&format!("`{FILE}` was not created: {error}")));
        None
    })
}
