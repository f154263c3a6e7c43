//! Fetches skills from real repositories and servers on this machine.

mod addresses;
mod domains;
mod git;
mod installing;
mod registries;

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use prowess_package::limits::PackageLimits;
use prowess_sources::{GitBounds, Progress, Prompts, Registries, SourceOptions, Sources};
use prowess_store::reference::{PathKind, Reference, SlashMeaning};
use prowess_store::source::{FetchedFiles, Offers, Pinned, Source as _, SourceError};

/// A `SKILL.md` of this name.
pub(crate) fn manifest(name: &str) -> String {
    format!("---\nname: {name}\ndescription: A test.\n---\n\nBody.\n")
}

/// Options for tests: this process's `PATH`, a home of its own, and pauses that are noted instead of made.
pub(crate) fn options(home: &Path, pauses: &Arc<Mutex<Vec<Duration>>>) -> SourceOptions {
    let path = std::env::var("PATH").expect("there is a PATH");
    let pauses = Arc::clone(pauses);
    SourceOptions {
        variables: vec![
            ("PATH".to_owned(), path),
            ("HOME".to_owned(), home.display().to_string()),
            ("GIT_CONFIG_NOSYSTEM".to_owned(), "1".to_owned()),
        ],
        current_folder: home.to_owned(),
        limits: PackageLimits::PACKAGE,
        git: GitBounds::USUAL,
        registries: Registries::default(),
        cache_folder: None,
        offline: false,
        prompts: Prompts::Never,
        progress: Progress::silent(),
        pause: Arc::new(move |pause| pauses.lock().expect("a list").push(pause)),
        now: std::time::SystemTime::now(),
        servers: None,
    }
}

pub(crate) fn sources(home: &Path) -> Sources {
    Sources::new(options(home, &Arc::default()))
}

/// What a word on the command line means.
pub(crate) fn reference(text: &str) -> Reference {
    Reference::parse(text, SlashMeaning::Registry, |_| PathKind::Nothing)
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// An error with its hint.
pub(crate) fn told(error: &SourceError) -> String {
    let hints = error
        .remedies
        .iter()
        .fold(String::new(), |text, hint| text + "\n  hint: " + &hint.to_string());
    format!("{:?}: {error}{hints}", error.kind)
}

/// Everything that a reference offers: each skill with its files, then notes. What changes between runs is replaced.
pub(crate) fn shown(sources: &Sources, reference: &Reference, replaced: &[(&str, &str)]) -> String {
    let mut lines = Vec::new();
    match sources.offers(reference) {
        Err(error) => lines.push(told(&error)),
        Ok(Offers { skills, mut notes }) => {
            for offer in skills {
                lines.push(format!("{} from {}", offer.name, offer.pinned));
                match sources.fetch(&offer.name, &offer.pinned) {
                    Err(error) => lines.push(format!("  {}", told(&error))),
                    Ok(FetchedFiles { tree, notes: more }) => {
                        let files = tree.files().map(|(path, file)| {
                            let mark = if file.executable { "*" } else { "" };
                            format!("{path}{mark}")
                        });
                        lines.push(format!("  {}", files.collect::<Vec<_>>().join(" ")));
                        notes.extend(more);
                    }
                }
            }
            lines.extend(notes.into_iter().map(|note| format!("note: {note}")));
        }
    }
    replaced.iter().fold(lines.join("\n"), |text, (what, by)| text.replace(what, by))
}

/// The only offer of a reference.
pub(crate) fn only(sources: &Sources, reference: &Reference) -> Pinned {
    let offers = sources.offers(reference).unwrap_or_else(|error| panic!("{}", told(&error)));
    let [offer] = offers.skills.as_slice() else { panic!("one skill and not {offers:?}") };
    offer.pinned.clone()
}
