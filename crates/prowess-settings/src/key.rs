//! API keys: from a variable or a file.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use prowess_core::{Problem, ProblemKind, system_reason};

/// Maximum size of a key file, in bytes.
const MAX_BYTES: u64 = 16 * 1024;

/// The source of an API key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// No key is needed.
    None,
    /// An environment variable.
    Variable {
        /// Its name.
        name: String,
        /// Whether the provider requires a key.
        is_needed: bool,
    },
    /// A file that only its owner can read.
    File(PathBuf),
}

/// Reads a key from a file that only its owner can read.
pub fn read_key_file(path: &Path) -> Result<String, Problem> {
    let error =
        |message: String| Problem::new("unusable-key-file", ProblemKind::Unauthorized, message);
    let shown = path.display();
    let failed = |source: std::io::Error| {
        error(format!("cannot read the key file `{shown}`: {}", system_reason(&source)))
            .advice("write the key to it, and make it readable only by you")
    };
    let mut file = File::open(path).map_err(failed)?;
    // Checked after opening, so that the file can't be replaced in between.
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(error(format!("the key file `{shown}` is not a file")));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        if metadata.permissions().mode() & 0o077 != 0 {
            return Err(error(format!("others can read the key file `{shown}`"))
                .advice(format!("fix it with `chmod 600 {shown}`"))
                .advice("others may have read it already: get a new key"));
        }
    }
    let mut text = String::new();
    file.by_ref().take(MAX_BYTES + 1).read_to_string(&mut text).map_err(failed)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(error(format!("the key file `{shown}` is too long to hold a key")));
    }
    let key = text.trim();
    if key.is_empty() {
        return Err(error(format!("the key file `{shown}` is empty")));
    }
    Ok(key.to_owned())
}
