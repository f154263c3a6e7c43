//! Python to facts.

use super::flow;
use crate::fact::Fact;

/// Reads a script that begins at an offset of a document.
pub(crate) fn read(document: usize, text: &str, base: usize) -> Result<Vec<Fact>, String> {
    // The whole text may be indented, as in a list.
    let statements = prowess_python::outline(text).map_err(|error| error.message)?;
    Ok(flow::follow(document, base, &statements, read, flow::Scopes::Functions))
}
