//! What the verbs about installed skills share: places, stores, sources, and how a failure is told.

use std::io::{self, BufRead as _, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use prowess_package::limits::Limits;
use prowess_package::name::SkillName;
use prowess_package::tree::{ReadTree, Tree};
use prowess_sources::{GitBounds, Prompts, Registries, SourceOptions, Sources};
use prowess_store::agreement::Agreements;
use prowess_store::described::{Described, describe};
use prowess_store::ground::Ground;
use prowess_store::install::{InstallError, Installer};
use prowess_store::lock::Lock;
use prowess_store::places::{Places, Scope};
use prowess_store::reference::{Here, Reference, Slash};
use prowess_store::review::Leave;
use prowess_store::source::{Catalogue, SourceError};
use prowess_store::store::{Shared, Store, StoreError};
use prowess_trust::{Timestamp, TrustStore, load_trust_store};

use crate::error::Error;
use crate::session;
use crate::terminal::printer::{Channel, Printer};
use crate::terminal::signals::{self, Repaired};
use crate::terminal::wrap::wrap;

/// Which of the two stores a verb is about.
#[derive(Args, Clone, Copy)]
pub(crate) struct ScopeOption {
    /// Use the project's store `.prowess/` instead of your own
    #[arg(long)]
    project: bool,
}

impl ScopeOption {
    /// For whom.
    pub(crate) fn scope(self) -> Scope {
        if self.project { Scope::Project } else { Scope::User }
    }
}

/// The folder of a project in which its own skills and its lock file are.
const PROJECT_FOLDER: &str = ".prowess";
/// The file that says whose signatures count.
const TRUST_FILE: &str = "trust.json";
/// The folder with the user's own keys.
const KEY_FOLDER: &str = "keys";

/// How often something is tried while other processes change the store in between.
const MOST_TRIES: usize = 4;

/// Why work with an installer has ended.
pub(crate) enum Stop {
    /// By the installer.
    Install(InstallError),
    /// By the verb, for a reason that is the user's to know.
    Told(Error),
}

impl Stop {
    /// As the user is told.
    fn told(self) -> Error {
        match self {
            Self::Install(error) => install_failed(&error),
            Self::Told(error) => error,
        }
    }
}

impl From<InstallError> for Stop {
    fn from(error: InstallError) -> Self {
        Self::Install(error)
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Told(error)
    }
}

/// Everything that verbs about packages begin with.
pub(crate) struct Packages {
    /// Where things are.
    pub(crate) places: Places,
    /// Where settings are.
    pub(crate) config: PathBuf,
    /// The variables of this process.
    pub(crate) environment: Vec<(String, String)>,
}

/// Where skills come from, with or without a registry.
pub(crate) struct Reach {
    /// All sources.
    pub(crate) sources: Sources,
    /// Whether names can be looked up.
    pub(crate) has_registry: bool,
    /// A fetch that a signal ends leaves nothing behind.
    _tidied: Repaired,
}

impl Reach {
    /// What registries have.
    fn catalogue(&self) -> Option<&dyn Catalogue> {
        self.has_registry.then_some(&self.sources as &dyn Catalogue)
    }
}

impl Packages {
    /// This machine, this user, this project.
    pub(crate) fn new() -> Result<Self, Error> {
        let library = session::library()?;
        let world = library.world();
        Ok(Self {
            places: library.places().clone(),
            config: world.state.config.clone(),
            environment: world.environment.clone(),
        })
    }

    /// Where the store of a scope lies.
    pub(crate) fn store_path(&self, scope: Scope) -> PathBuf {
        match scope {
            Scope::User => self.places.data.clone(),
            Scope::Project => {
                self.places.project.as_ref().unwrap_or(&self.places.current).join(PROJECT_FOLDER)
            }
        }
    }

    /// The store of a scope. Where there is none, it is made by the first change.
    pub(crate) fn store(&self, scope: Scope) -> Result<Store, Error> {
        let path = self.store_path(scope);
        let store = match scope {
            Scope::User => Store::open(&path),
            Scope::Project => {
                let project = self.places.project.as_ref().unwrap_or(&self.places.current);
                let ground = Ground::of_project(project);
                let agreements = Agreements::in_folder(&self.places.data);
                Store::open_shared(&path, Shared { ground, agreements })
            }
        };
        let store = store.map_err(|error| store_failed(&error))?;
        Ok(store.on_moment(signals::at_moment))
    }

    /// The file that says whose signatures count. One for the user: a project that is cloned does not decide whom its
    /// user trusts.
    pub(crate) fn trust_path(&self) -> PathBuf {
        self.places.data.join(TRUST_FILE)
    }

    /// The folder with the user's own keys.
    pub(crate) fn key_folder(&self) -> PathBuf {
        self.places.data.join(KEY_FOLDER)
    }

    /// Whose signatures count.
    pub(crate) fn trust(&self) -> Result<TrustStore, Error> {
        load_trust_store(&self.trust_path()).map_err(|error| Error::failed(error.to_string()))
    }

    /// Where skills come from.
    pub(crate) fn reach(&self, printer: &mut Printer, offline: bool) -> Result<Reach, Error> {
        let is_asked = can_ask(printer);
        let registries = Registries::load(&self.environment, &self.config)
            .map_err(|error| source_failed(&error))?;
        for note in &registries.notes {
            printer.warning(note);
        }
        let has_registry = !registries.is_empty();
        let sources = Sources::new(SourceOptions {
            variables: self.environment.clone(),
            current_folder: self.places.current.clone(),
            limits: Limits::PACKAGE,
            git: GitBounds::USUAL,
            registries,
            cache_folder: Some(self.places.cache.clone()),
            offline,
            prompts: if is_asked { Prompts::Allowed } else { Prompts::Never },
            progress: crate::terminal::progress::of_fetches(printer),
            pause: Arc::new(std::thread::sleep),
            now: SystemTime::now(),
        });
        let tidied = signals::repaired_by(sources.tidy_up());
        Ok(Reach { sources, has_registry, _tidied: tidied })
    }

    /// Does something with an installer, and again when another process has changed the store meanwhile.
    pub(crate) fn with_installer<T, E: Into<Stop>>(
        &self,
        store: &Store,
        reach: &Reach,
        leave: Leave,
        min_age: Option<u64>,
        mut work: impl FnMut(&Installer<'_>) -> Result<T, E>,
    ) -> Result<T, Error> {
        let trust = self.trust()?;
        let installer = Installer {
            store,
            source: &reach.sources,
            catalogue: reach.catalogue(),
            trust: &trust,
            now: now(),
            leave,
            min_age,
        };
        for _ in 1..MOST_TRIES {
            match work(&installer).map_err(Into::into) {
                Err(Stop::Install(InstallError::Overtaken)) => {}
                done => return done.map_err(Stop::told),
            }
        }
        work(&installer).map_err(|error| error.into().told())
    }

    /// Understands a word that names a skill.
    pub(crate) fn reference(&self, text: &str, reach: &Reach) -> Result<Reference, Error> {
        let slash = if reach.has_registry { Slash::Registry } else { Slash::Repository };
        let here = |path: &str| match std::fs::metadata(self.places.current.join(path)) {
            Ok(metadata) if metadata.is_file() => Here::File,
            Ok(_) => Here::Folder,
            Err(_) => Here::Nothing,
        };
        Reference::parse(text, slash, here).map_err(|error| Error::usage(error.to_string()))
    }
}

/// What is installed in a store.
pub(crate) fn lock_of(store: &Store) -> Result<Lock, Error> {
    prowess_store::install::read_lock(store).map_err(|error| install_failed(&error))
}

/// Now, by the clock of this machine.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_unix(i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
}

/// A skill and its version. `0.0.0` stands for none (R5), and nobody wrote it.
pub(crate) fn with_version(name: &SkillName, version: &semver::Version) -> String {
    if *version == semver::Version::new(0, 0, 0) {
        return name.to_string();
    }
    format!("{name} {version}")
}

/// A name that the user typed.
pub(crate) fn skill_name(text: &str) -> Result<SkillName, Error> {
    text.parse().map_err(|error: prowess_package::name::NameError| Error::usage(error.to_string()))
}

/// Several of them.
pub(crate) fn skill_names<C: FromIterator<SkillName>>(texts: &[String]) -> Result<C, Error> {
    texts.iter().map(|text| skill_name(text)).collect()
}

/// The skill in a folder that its author works in. `done` is what the verb does with it, such as "packed".
pub(crate) fn author_skill(folder: &Path, done: &str) -> Result<(ReadTree, Described), Error> {
    if !folder.is_dir() {
        return Err(Error::not_found(format!("`{}` is not a folder", folder.display()))
            .hint("name the folder that holds the SKILL.md"));
    }
    let failed = |error: &dyn std::fmt::Display| {
        Error::failed(format!("`{}` can't be {done}: {error}", folder.display()))
    };
    let read = Tree::read(folder, &Limits::PACKAGE).map_err(|error| failed(&error))?;
    let known_as = folder.canonicalize().ok();
    let known_as = known_as.as_deref().and_then(Path::file_name);
    let known_as = known_as.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let described = describe(&read.tree, &known_as, None).map_err(|error| failed(&error))?;
    // Whoever installs takes what can be understood; the author can write it as it should be.
    if let Some(written) = &described.written_version {
        let problem = format!("its version `{written}` is not of the form `1.2.3`");
        return Err(failed(&problem).hint("write it with three numbers"));
    }
    Ok((read, described))
}

/// Whether somebody sits at a terminal who can be asked.
pub(crate) fn can_ask(printer: &Printer) -> bool {
    io::stdin().is_terminal() && printer.is_terminal(Channel::Err)
}

/// A question that only a clear yes answers with yes. Without a terminal nobody is asked.
pub(crate) fn agree(question: &str, printer: &mut Printer) -> Option<bool> {
    if !can_ask(printer) {
        return None;
    }
    crate::terminal::approval_prompt::forget_typed_ahead();
    let width = printer.width(Channel::Err);
    printer.piece(Channel::Err, wrap(question, 2, width).as_bytes());
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    let is_yes = matches!(line.trim().to_lowercase().as_str(), "y" | "yes");
    Some(read.is_ok() && is_yes)
}

/// A store that can't be used.
pub(crate) fn store_failed(error: &StoreError) -> Error {
    Error::failed(error.to_string())
}

/// A source that has nothing to give.
pub(crate) fn source_failed(error: &SourceError) -> Error {
    error.problem().into()
}

/// Something that was not installed, with the code that says why.
pub(crate) fn install_failed(error: &InstallError) -> Error {
    error.problem().into()
}
