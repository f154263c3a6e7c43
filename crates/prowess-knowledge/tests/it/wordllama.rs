//! `WordLlama`'s table of static embeddings, where it is installed.

use std::path::PathBuf;

/// The table, which `cargo xtask test` installs.
#[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
pub(crate) fn table() -> Option<PathBuf> {
    let path = std::env::var_os("PROWESS_WORDLLAMA").map(PathBuf::from);
    if path.is_none() {
        eprintln!("SKIPPED: no static embeddings: `cargo xtask test` sets PROWESS_WORDLLAMA");
    }
    path
}
