//! Where a run takes place: folders and variables of the machine, looked up once and handed inwards.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use prowess_format::skill::{Tool, ToolKind};

use crate::credentials::Credential;
use crate::git_settings;

/// The machine as a run sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct World {
    /// The user's home, free of symbolic links.
    pub home: PathBuf,
    /// The folder that the user is in, free of symbolic links.
    pub current: PathBuf,
    /// Where commands work (GIB §5.1): the root of the repository around the current folder, else the home.
    pub working_directory: PathBuf,
    /// The folders in which programs are looked for, in order.
    pub search_path: Vec<PathBuf>,
    /// Folders from which this user's programs are started by their names: those of PATH, relative ones too.
    pub program_folders: Vec<PathBuf>,
    /// The file of this program, where it is known.
    pub program: Option<PathBuf>,
    /// The file that says where the homes of all users are.
    pub users: PathBuf,
    /// The variables of this process; those that are no text are left out.
    pub environment: Vec<(String, String)>,
    /// Credentials that tools use without seeing them, see [`World::bind_credential`].
    pub credentials: Vec<Credential>,
    /// Folders with our own state. No tool ever sees them.
    pub state: StateFolders,
    /// Where the writes of tools go.
    pub writes: Writes,
}

/// Where the writes of tools to granted folders go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writes {
    /// To the folders, while the tool runs.
    Live,
    /// To a place beside them. When the tool has ended, its changes are examined and applied as a whole, or kept until
    /// somebody accepts them.
    Staged(StagedWrites),
}

impl Writes {
    /// Staged, ordinary changes are applied, and what can't be staged is written directly.
    pub const USUAL: Self = Self::Staged(StagedWrites::USUAL);
}

/// What happens with staged writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StagedWrites {
    /// When they are applied.
    pub apply: ApplyWhen,
    /// What happens if the tool fails, or is ended.
    pub failed: FailedRunChanges,
    /// What happens where they can't be staged.
    pub without: WithoutStaging,
}

impl StagedWrites {
    /// Ordinary changes of a run that succeeded are applied, and what can't be staged is written directly.
    pub const USUAL: Self = Self {
        apply: ApplyWhen::Ordinary,
        failed: FailedRunChanges::Hold,
        without: WithoutStaging::Live,
    };
}

/// What happens with writes that can't be staged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WithoutStaging {
    /// The run is refused.
    Refuse,
    /// They go to the granted folder while the tool runs, which the question and the run say.
    Live,
}

/// When staged changes are applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApplyWhen {
    /// At the end of the run, if none of them needs a person's decision.
    Ordinary,
    /// When somebody has accepted them.
    Accepted,
}

/// What happens with the changes of a run that failed or was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailedRunChanges {
    /// They are kept, and not applied.
    Hold,
    /// They are treated as those of a run that succeeded.
    Apply,
}

/// Where our own files are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateFolders {
    /// Approvals and what else must not be lost.
    pub data: PathBuf,
    /// Settings.
    pub config: PathBuf,
    /// What can be computed again.
    pub cache: PathBuf,
}

impl StateFolders {
    /// Where the user's own skills are.
    pub fn skills(&self) -> PathBuf {
        self.data.join("skills")
    }

    /// Where staged changes of runs are kept.
    pub fn changes(&self) -> PathBuf {
        self.data.join("changes")
    }

    /// Where the user's knowledge bases are.
    pub fn knowledge(&self) -> PathBuf {
        self.data.join("knowledge")
    }
}

/// Why there is no world.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    /// Nobody knows where the home is.
    #[error("the home directory is unknown: set `HOME`")]
    NoHome,
    /// A folder can't be looked at.
    #[error("cannot find `{}`: {source}", .path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A working directory with the home in it: a grant for it would be one for everything that the user has.
    #[error("`{}` can't be the working directory, because your home is in it", .0.display())]
    AroundHome(PathBuf),
}

/// Folders of the system, where PATH is not set.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

impl World {
    /// The world of this process.
    pub fn of_this_process() -> Result<Self, WorldError> {
        let home =
            std::env::home_dir().filter(|home| home.is_absolute()).ok_or(WorldError::NoHome)?;
        let current = std::env::current_dir()
            .map_err(|source| WorldError::Folder { path: PathBuf::from("."), source })?;
        let variable = |name: &str| std::env::var_os(name);
        let environment = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        let path = variable("PATH").unwrap_or_else(|| DEFAULT_PATH.into());
        let mut world = Self::at(&home, &current, &path, environment)?;
        world.program = std::env::current_exe().ok().and_then(|it| it.canonicalize().ok());
        Ok(world)
    }

    /// A world from its parts.
    pub fn at(
        home: &Path,
        current: &Path,
        path: &OsStr,
        environment: Vec<(String, String)>,
    ) -> Result<Self, WorldError> {
        let real = |path: &Path| {
            path.canonicalize()
                .map_err(|source| WorldError::Folder { path: path.to_owned(), source })
        };
        // A home that is not there yet is still a home, as many containers and service accounts have it. Whoever writes
        // there makes it.
        let home = match real(home) {
            Err(WorldError::Folder { path, source })
                if source.kind() == io::ErrorKind::NotFound =>
            {
                path
            }
            home => home?,
        };
        let current = real(current)?;
        let state = StateFolders::of(&home, |name| {
            let found = environment.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| PathBuf::from(value)).filter(|path| path.is_absolute())
        });
        let working_directory = repository_root(&current).unwrap_or(&home).to_owned();
        Ok(Self {
            program_folders: program_folders(path, [&current, &working_directory]),
            program: None,
            users: PathBuf::from("/etc/passwd"),
            working_directory,
            // A relative entry would mean another program in every folder (attack sandbox-H12).
            search_path: std::env::split_paths(path).filter(|entry| entry.is_absolute()).collect(),
            home,
            current,
            environment,
            credentials: Vec::new(),
            state,
            writes: Writes::USUAL,
        })
    }
}

impl World {
    /// Sets the working directory for a tool. Tools that a specification defines work where it says;
    /// scripts and command lines work in the current folder, as they do for an agent or in a shell.
    pub fn for_tool(mut self, tool: &Tool) -> Result<Self, WorldError> {
        match tool.kind {
            ToolKind::Command | ToolKind::Python | ToolKind::Handler | ToolKind::McpTool => {
                return Ok(self);
            }
            ToolKind::Script | ToolKind::CommandLine => {}
        }
        self.refuse_around_home(&self.current)?;
        self.working_directory.clone_from(&self.current);
        Ok(self)
    }

    /// Moves the user to a folder, in which runs then work as well.
    pub fn stand_in(&mut self, folder: &Path) -> Result<(), WorldError> {
        let failed = |source| WorldError::Folder { path: folder.to_owned(), source };
        let real = self.current.join(folder).canonicalize().map_err(failed)?;
        if !real.is_dir() {
            return Err(failed(io::ErrorKind::NotADirectory.into()));
        }
        self.refuse_around_home(&real)?;
        let path = self.environment.iter().find(|(name, _)| name == "PATH");
        let path = path.map_or_else(|| DEFAULT_PATH.into(), |(_, value)| OsString::from(value));
        let more = program_folders(&path, [&real, &real]);
        self.program_folders.extend(more);
        self.working_directory.clone_from(&real);
        self.current = real;
        Ok(())
    }

    fn refuse_around_home(&self, folder: &Path) -> Result<(), WorldError> {
        if folder != self.home && self.home.starts_with(folder) {
            return Err(WorldError::AroundHome(folder.to_owned()));
        }
        Ok(())
    }

    /// Whether runs work in the home because the folder that the user is in belongs to no repository.
    pub fn falls_back_to_home(&self) -> bool {
        self.working_directory == self.home && self.current != self.home
    }

    /// The homes of other users that have to do with a path, as far as they are there.
    pub(crate) fn other_homes(&self, path: &Path) -> Vec<PathBuf> {
        /// The most bytes of the list.
        const MAX_BYTES: u64 = 1 << 20;
        let mut text = Vec::new();
        let read =
            File::open(&self.users).and_then(|file| file.take(MAX_BYTES).read_to_end(&mut text));
        if read.is_err() {
            return Vec::new();
        }
        let text = String::from_utf8_lossy(&text);
        // `name:password:uid:gid:comment:home:shell`
        let homes = text.lines().filter_map(|line| line.split(':').nth(5)).map(Path::new);
        let homes: BTreeSet<&Path> =
            homes.filter(|home| home.is_absolute() && home.parent().is_some()).collect();
        let is_related = |home: &Path| home.starts_with(path) || path.starts_with(home);
        // Nearly all homes are somewhere else, which their names tell, unless all of them are behind a link such as `/home`.
        let mut tops: BTreeMap<PathBuf, bool> = BTreeMap::new();
        let mut is_behind_link = |home: &Path| {
            let top: PathBuf = home.iter().take(2).collect();
            *tops.entry(top).or_insert_with_key(|top| top.is_symlink())
        };
        let homes = homes.into_iter().filter(|home| is_related(home) || is_behind_link(home));
        let homes = homes.filter_map(|home| home.canonicalize().ok());
        let homes = homes.filter(|home| is_related(home) && home.is_dir() && *home != self.home);
        homes.collect::<BTreeSet<PathBuf>>().into_iter().collect()
    }
}

/// The folders of PATH as shells take them. A relative one, or none between two colons, is another folder wherever the user
/// is: that is here, or at the top of the repository.
fn program_folders(path: &OsStr, here: [&Path; 2]) -> Vec<PathBuf> {
    let entries = std::env::split_paths(path);
    entries
        .flat_map(|entry| here.map(|here| here.join(&entry)))
        .filter_map(|folder| git_settings::normal(&folder))
        .collect::<BTreeSet<PathBuf>>()
        .into_iter()
        .collect()
}

impl StateFolders {
    /// The folders by the XDG rules (R24).
    fn of(home: &Path, variable: impl Fn(&str) -> Option<PathBuf>) -> Self {
        let folder = |name: &str, usual: &str| {
            variable(name).unwrap_or_else(|| home.join(usual)).join("prowess")
        };
        Self {
            data: folder("XDG_DATA_HOME", ".local/share"),
            config: folder("XDG_CONFIG_HOME", ".config"),
            cache: folder("XDG_CACHE_HOME", ".cache"),
        }
    }

    /// All of them.
    pub fn folders(&self) -> [&Path; 3] {
        [&self.data, &self.config, &self.cache]
    }
}

/// The nearest folder upwards that git works in; of a worktree or submodule `.git` is a file.
fn repository_root(folder: &Path) -> Option<&Path> {
    folder.ancestors().find(|folder| {
        let marker = folder.join(".git");
        marker.is_file() || marker.join("HEAD").is_file()
    })
}
