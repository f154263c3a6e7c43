//! What programs need beside their own image, as data. A grant of `git` is a grant of this too, and of nothing else.

use std::path::{Path, PathBuf};

/// What one program needs.
pub(crate) struct Closure {
    /// What the program is called; digits and dots at the end of a name do not count (`python3.12`).
    pub(crate) names: &'static [&'static str],
    /// Other programs that it starts.
    pub(crate) programs: &'static [&'static str],
    /// Folders of programs of its own, below the prefix that it is installed in.
    pub(crate) execute: &'static [&'static str],
    /// Folders and files that it reads, below the prefix. `*` at the end stands for the rest of a name.
    pub(crate) support: &'static [&'static str],
}

/// Every program with needs that is known here. Others need their image and the system's libraries only.
const CLOSURES: &[Closure] = &[
    Closure {
        names: &["git"],
        programs: &[],
        // Debian and Fedora; its own default; the helpers for remotes are in there.
        execute: &["lib/git-core", "libexec/git-core"],
        support: &["share/git-core"],
    },
    Closure {
        names: &["npm", "npx"],
        // Scripts of packages are started by a shell (attack sandbox-B08).
        programs: &["node", "env", "sh"],
        execute: &[],
        support: &["lib/node_modules/npm", "share/nodejs"],
    },
    Closure {
        names: &["yarn", "pnpm"],
        programs: &["node", "env", "sh"],
        execute: &[],
        support: &["lib/node_modules", "share/nodejs"],
    },
    Closure {
        names: &["python"],
        programs: &[],
        execute: &[],
        // The library, the packages of the distribution, and what makes a virtual environment one.
        support: &["lib/python3*", "lib/libpython3*", "local/lib/python3*", "pyvenv.cfg"],
    },
    Closure {
        names: &["perl"],
        programs: &[],
        execute: &[],
        support: &["share/perl*", "lib/perl*", "local/share/perl", "local/lib/site_perl"],
    },
    // What tells one kind of file from another.
    Closure {
        names: &["file"],
        programs: &[],
        execute: &[],
        support: &["share/misc/magic*", "share/file", "lib/file"],
    },
    Closure { names: &["ruby"], programs: &[], execute: &[], support: &["lib/ruby"] },
];

/// Folders of programs that start the real program, which is somewhere else: version managers put them first on PATH.
/// Inside there is neither the manager nor its settings, so the next one on PATH is taken.
const SHIMS: &str = "shims";

/// Whether a folder on PATH holds stand-ins only.
pub(crate) fn is_of_shims(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name == SHIMS)
}

/// The needs of a program, by the name it is called.
pub(crate) fn of(program: &Path) -> Option<&'static Closure> {
    let name = program.file_name()?.to_str()?;
    let stem =
        name.trim_end_matches(|character: char| character.is_ascii_digit() || character == '.');
    CLOSURES.iter().find(|closure| closure.names.contains(&name) || closure.names.contains(&stem))
}

/// What of some folders is there, below each prefix that a program is installed in: of its name and of its real image.
pub(crate) fn present(program: &Path, real: &Path, wanted: &[&str]) -> Vec<PathBuf> {
    let prefix = |path: &Path| path.parent().and_then(Path::parent).map(Path::to_owned);
    let mut prefixes: Vec<PathBuf> =
        [prefix(program), prefix(real)].into_iter().flatten().collect();
    prefixes.dedup();
    let mut found = Vec::new();
    for prefix in &prefixes {
        for wanted in wanted {
            for path in matching(&prefix.join(wanted)) {
                // A link inside the prefix may lead to the folder that is meant.
                if let Ok(real) = path.canonicalize()
                    && !found.contains(&real)
                {
                    found.push(real);
                }
            }
        }
    }
    found
}

fn matching(pattern: &Path) -> Vec<PathBuf> {
    let name = pattern.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let Some(start) = name.strip_suffix('*') else {
        return if pattern.exists() { vec![pattern.to_owned()] } else { Vec::new() };
    };
    let entries = pattern.parent().and_then(|folder| std::fs::read_dir(folder).ok());
    let mut found: Vec<PathBuf> = entries
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(start))
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found
}
