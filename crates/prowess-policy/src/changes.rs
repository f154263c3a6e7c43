//! Which changes of a run are applied without a question: those of ordinary files, and not of what other programs start
//! or obey.
//!
//! The lists give better words. They don't decide whether the user is safe: what is hidden and on no list is asked about.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use crate::protected_places::{NEVER_WRITE, Protected};
use crate::spec::is_named;

/// A change that a run has made, and that is not applied yet.
#[derive(Clone, Copy, Debug)]
pub struct ProposedChange<'c> {
    /// The granted folder, absolute.
    pub folder: &'c Path,
    /// The path below it.
    pub path: &'c Path,
    /// What would be there; `None` for a deletion.
    pub after: Option<ProposedEntry<'c>>,
    /// Whether a file that was there could be executed.
    pub was_executable: bool,
}

/// What a change would leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProposedEntry<'c> {
    /// A file with these permissions.
    File {
        /// The permissions.
        mode: u32,
    },
    /// A folder.
    Folder,
    /// A symbolic link to this target.
    Link(&'c Path),
}

/// What decides besides the change itself.
#[derive(Clone, Copy, Debug)]
pub struct ChangeContext<'c> {
    /// The user's home.
    pub home: &'c Path,
    /// The folders of PATH.
    pub search_path: &'c [PathBuf],
    /// The folders that the run may write.
    pub writable: &'c [PathBuf],
    /// Files and folders that settings of git refer to, such as hooks.
    pub named_by_git: &'c [PathBuf],
    /// Folders that git would treat as a repository although they are not called `.git`.
    pub bare_repositories: &'c [PathBuf],
    /// Folders with an environment of a language, whose programs are started by others: those with a `pyvenv.cfg`.
    pub environments: &'c [PathBuf],
    /// Whether the tool may start git, so that it may change what git keeps in `.git`.
    pub may_start_git: bool,
    /// Whether git takes a name for `.git`.
    pub is_dot_git: fn(&[u8]) -> bool,
}

/// What happens with a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeVerdict {
    /// It is applied.
    Apply,
    /// It is applied and mentioned, for this reason.
    Mention(&'static str),
    /// A person decides, because of this.
    Ask(&'static str),
    /// It is never applied, because of this.
    Refuse(&'static str),
}

impl ChangeVerdict {
    /// The reason, as a clause: "because …".
    pub fn reason(self) -> Option<&'static str> {
        match self {
            ChangeVerdict::Apply => None,
            ChangeVerdict::Mention(reason)
            | ChangeVerdict::Ask(reason)
            | ChangeVerdict::Refuse(reason) => Some(reason),
        }
    }
}

/// Files that other programs start or obey, in addition to the protected places: by consecutive names, with the reason. They
/// are compared regardless of case, as on filesystems where that makes no difference.
pub const OBEYED: &[(&str, &str)] = &[
    ("pyvenv.cfg", ENVIRONMENT),
    ("*.pth", ENVIRONMENT),
    ("*._pth", ENVIRONMENT),
    ("sitecustomize.py", ENVIRONMENT),
    ("usercustomize.py", ENVIRONMENT),
    ("site-packages", ENVIRONMENT),
    ("dist-packages", ENVIRONMENT),
    ("conda-meta", ENVIRONMENT),
    ("etc/conda/activate.d", ENVIRONMENT),
    ("ipython_config.*", ENVIRONMENT),
    ("jupyter_*_config.*", ENVIRONMENT),
    (".npmrc", PACKAGES),
    (".yarnrc", PACKAGES),
    (".yarnrc.yml", PACKAGES),
    (".pnpmfile.cjs", PACKAGES),
    (".pnpmfile.mjs", PACKAGES),
    ("pnpm-workspace.yaml", PACKAGES),
    ("pip.conf", PACKAGES),
    ("pip.ini", PACKAGES),
    (".pypirc", PACKAGES),
    ("uv.toml", PACKAGES),
    ("poetry.toml", PACKAGES),
    ("bunfig.toml", PACKAGES),
    ("nuget.config", PACKAGES),
    ("gradle/wrapper", PACKAGES),
    ("rust-toolchain", TOOLCHAIN),
    ("rust-toolchain.toml", TOOLCHAIN),
    ("mise.toml", TOOLCHAIN),
    (".mise.toml", TOOLCHAIN),
    ("mise.local.toml", TOOLCHAIN),
    ("mise/config.toml", TOOLCHAIN),
    (".tool-versions", TOOLCHAIN),
    (".python-version", TOOLCHAIN),
    (".node-version", TOOLCHAIN),
    (".nvmrc", TOOLCHAIN),
    (".ruby-version", TOOLCHAIN),
    (".sdkmanrc", TOOLCHAIN),
    ("global.json", TOOLCHAIN),
    ("gradle.properties", TOOLCHAIN),
    ("gradle-daemon-jvm.properties", TOOLCHAIN),
    ("local.properties", TOOLCHAIN),
    ("tools/bazel", TOOLCHAIN),
    ("devbox.json", TOOLCHAIN),
    ("devenv.nix", TOOLCHAIN),
    ("flake.nix", TOOLCHAIN),
    ("shell.nix", TOOLCHAIN),
    (".gitmodules", "git fetches what it names"),
    (".gitattributes", "git runs filters that it names"),
    ("lefthook.*", GIT_HOOKS),
    ("lefthook-local.*", GIT_HOOKS),
    ("prek.toml", GIT_HOOKS),
    ("captainhook.json", GIT_HOOKS),
    ("grumphp.*", GIT_HOOKS),
    ("lint-staged.config.*", GIT_HOOKS),
    ("commitlint.config.*", GIT_HOOKS),
    ("simple-git-hooks.*", GIT_HOOKS),
    ("_darcs", "darcs runs programs that it names"),
    ("_exrc", EDITORS),
    ("_vimrc", EDITORS),
    ("*.sublime-project", EDITORS),
    ("rust-analyzer.toml", EDITORS),
    ("omnisharp.json", EDITORS),
    ("AGENTS.md", AGENTS),
    ("AGENTS.override.md", AGENTS),
    ("CLAUDE.md", AGENTS),
    ("CLAUDE.local.md", AGENTS),
    ("GEMINI.md", AGENTS),
    ("QWEN.md", AGENTS),
    ("CONVENTIONS.md", AGENTS),
    ("mcp.json", AGENTS),
    ("opencode.jsonc", AGENTS),
    ("crush.json", AGENTS),
    ("gemini-extension.json", AGENTS),
    ("docker-compose.override.*", OVERRIDES),
    ("compose.override.*", OVERRIDES),
    ("override.tf", OVERRIDES),
    ("override.tf.json", OVERRIDES),
    ("*_override.tf", OVERRIDES),
    ("*_override.tf.json", OVERRIDES),
    ("ansible.cfg", "ansible loads plugins that it names"),
    ("php.ini", "PHP runs code that it names"),
    ("startup.m", "MATLAB runs it when it starts there"),
    ("*.desktop", "desktops start programs that it names"),
    ("autorun.inf", "desktops start programs that it names"),
    ("desktop.ini", "desktops load what it names"),
];

/// Files that builds, tests and linters run as code. They are sources of a project like others: applied, and mentioned.
pub const BUILD_FILES: &[&str] = &[
    "Makefile",
    "GNUmakefile",
    "makefile",
    "justfile",
    "Taskfile.*",
    "CMakeLists.txt",
    "CMakePresets.json",
    "CMakeUserPresets.json",
    "build.rs",
    "package.json",
    "setup.py",
    "setup.cfg",
    "pyproject.toml",
    "conftest.py",
    "pytest.ini",
    "tox.ini",
    "noxfile.py",
    "Rakefile",
    "Gemfile",
    "*.gemspec",
    "build.gradle",
    "build.gradle.kts",
    "settings.gradle",
    "settings.gradle.kts",
    "pom.xml",
    "go.work",
    "Directory.Build.*",
    "deno.json",
    "deno.jsonc",
    "docker-compose.*",
    "compose.yaml",
    "compose.yml",
    "Vagrantfile",
    "*.config.js",
    "*.config.cjs",
    "*.config.mjs",
    "*.config.ts",
];

/// Modules that people start by name, such as with `python -m pip`: Python takes a file of the current folder instead.
pub const MODULES: &[&str] = &[
    "asyncio",
    "black",
    "build",
    "code",
    "compileall",
    "doctest",
    "ensurepip",
    "http",
    "json",
    "mypy",
    "pdb",
    "pip",
    "pipx",
    "poetry",
    "pydoc",
    "pytest",
    "ruff",
    "site",
    "timeit",
    "tox",
    "twine",
    "unittest",
    "uv",
    "venv",
    "virtualenv",
    "zipapp",
];

/// Hidden names that nothing starts or obeys: caches, marks, lists of files.
pub const HARMLESS_HIDDEN: &[&str] = &[
    ".gitignore",
    ".gitkeep",
    ".keep",
    ".ignore",
    ".dockerignore",
    ".npmignore",
    ".prettierignore",
    ".eslintignore",
    ".editorconfig",
    ".cache",
    ".parcel-cache",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".hypothesis",
    ".eslintcache",
    ".stylelintcache",
    ".tsbuildinfo",
    ".sass-cache",
    ".nyc_output",
    ".coverage",
    ".coverage.*",
    ".turbo",
    ".DS_Store",
    ".fingerprint",
    ".rustc_info.json",
    ".cargo-lock",
    ".nojekyll",
    ".buildinfo",
    ".doctrees",
];

/// What git itself keeps in a repository and never runs: names below `.git`. How it reads them is checked elsewhere.
pub const KEPT_BY_GIT: &[&str] = &[
    "HEAD",
    "ORIG_HEAD",
    "FETCH_HEAD",
    "MERGE_HEAD",
    "MERGE_MODE",
    "MERGE_MSG",
    "MERGE_RR",
    "AUTO_MERGE",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "REBASE_HEAD",
    "SQUASH_MSG",
    "COMMIT_EDITMSG",
    "TAG_EDITMSG",
    "index",
    "index.lock",
    "sharedindex.*",
    "objects",
    "refs",
    "logs",
    "packed-refs",
    "shallow",
    "rr-cache",
    "rebase-merge",
    "rebase-apply",
    "sequencer",
    "gc.log",
    "gc.pid",
    "description",
];

const ENVIRONMENT: &str = "Python runs code from it when it starts";
const PACKAGES: &str = "package managers run or download what it names";
const TOOLCHAIN: &str = "it decides which programs are started";
const GIT_HOOKS: &str = "git runs commands that it names";
const EDITORS: &str = "editors run programs that it names";
const AGENTS: &str = "agents follow it";
const OVERRIDES: &str = "it overrides other files without being named";
const SHADOWS: &str = "Python starts it instead of the module of that name";
const BUILD: &str = "builds and tests run it";
const TO_OBEYED: &str = "it is a link to what other programs start or obey";
const GIT: &str = "git runs programs that it names";
const GIT_LINK: &str = "git writes through links in its folder";
const GIT_FOLDER: &str = "git obeys what is in it";
const NAMED_BY_GIT: &str = "settings of git refer to it";
const ON_PATH: &str = "it is on your PATH";
const LEADS_OUT: &str = "it is a link that leads out of the folders that the tool may write";
const HIDDEN: &str = "it is hidden, and programs may obey it";
const EXECUTABLE: &str = "it can be executed";

/// Decides about one change.
pub fn examine(change: &ProposedChange<'_>, context: &ChangeContext<'_>) -> ChangeVerdict {
    let full = change.folder.join(change.path);
    if let Some(verdict) = in_repository(change, context) {
        return verdict;
    }
    if let Some(ProposedEntry::Link(target)) = change.after {
        match destination(&full, target, context.writable) {
            None => return ChangeVerdict::Ask(LEADS_OUT),
            Some(place) if is_obeyed(&place, context) => return ChangeVerdict::Ask(TO_OBEYED),
            Some(_) => {}
        }
    }
    if context.named_by_git.iter().any(|place| full.starts_with(place)) {
        return ChangeVerdict::Ask(NAMED_BY_GIT);
    }
    let is_on_path = context.search_path.iter().any(|folder| full.starts_with(folder));
    if is_on_path {
        return ChangeVerdict::Ask(ON_PATH);
    }
    if change.after.is_none() {
        // What is gone starts nothing.
        return ChangeVerdict::Apply;
    }
    if context.environments.iter().any(|folder| full.starts_with(folder)) {
        return ChangeVerdict::Ask(ENVIRONMENT);
    }
    if let Some(reason) = obeyed(change, &full, context.home) {
        return ChangeVerdict::Ask(reason);
    }
    if is_module(change.path) {
        return ChangeVerdict::Ask(SHADOWS);
    }
    let is_harmless = |name: &OsStr| {
        let name = name.to_string_lossy();
        !name.starts_with('.') || HARMLESS_HIDDEN.iter().any(|known| is_named(&name, known))
    };
    if !change.path.iter().all(is_harmless) {
        return ChangeVerdict::Ask(HIDDEN);
    }
    match change.after {
        Some(ProposedEntry::File { mode }) if mode & 0o111 != 0 && !change.was_executable => {
            ChangeVerdict::Mention(EXECUTABLE)
        }
        Some(ProposedEntry::File { .. }) if is_build_file(change.path) => {
            ChangeVerdict::Mention(BUILD)
        }
        _ => ChangeVerdict::Apply,
    }
}

/// Whether a change of an ordinary file there would not be applied without a question: what a link makes of it.
fn is_obeyed(place: &Path, context: &ChangeContext<'_>) -> bool {
    let Some(folder) = context.writable.iter().find(|folder| place.starts_with(folder)) else {
        return true;
    };
    let Ok(path) = place.strip_prefix(folder) else { return true };
    // What git keeps in its folder is nothing to write to by another name.
    let context = ChangeContext { may_start_git: false, ..*context };
    let after = Some(ProposedEntry::File { mode: 0o644 });
    let change = ProposedChange { folder, path, after, was_executable: false };
    matches!(examine(&change, &context), ChangeVerdict::Ask(_) | ChangeVerdict::Refuse(_))
}

fn is_build_file(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    BUILD_FILES.iter().any(|wanted| is_alike(&name, wanted))
}

/// Whether it is a module at the top of a granted folder, which is where people start Python.
fn is_module(path: &Path) -> bool {
    let mut names = path.iter();
    let Some(first) = names.next().map(OsStr::to_string_lossy) else { return false };
    // A package is one because of its files.
    let name = match names.next() {
        None => first.strip_suffix(".py"),
        Some(inner) if inner == "__main__.py" || inner == "__init__.py" => Some(&*first),
        Some(_) => None,
    };
    name.is_some_and(|name| MODULES.contains(&name))
}

/// Like [`is_named`], but regardless of case, and with any number of `*` anywhere, each for any text.
fn is_alike(name: &str, wanted: &str) -> bool {
    let (name, wanted) = (name.to_lowercase(), wanted.to_lowercase());
    let parts: Vec<&str> = wanted.split('*').collect();
    let [first, inner @ .., last] = &parts[..] else { return name == wanted };
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    for part in inner {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// About what is in the folder of a repository, or is one.
fn in_repository(
    change: &ProposedChange<'_>,
    context: &ChangeContext<'_>,
) -> Option<ChangeVerdict> {
    let is_dot_git = |name: &OsStr| (context.is_dot_git)(name.as_encoded_bytes());
    // Of a linked worktree, folders in the repository are granted themselves.
    let is_granted_inside = change.folder.iter().any(is_dot_git);
    let full = change.folder.join(change.path);
    let bare = context.bare_repositories.iter().find(|folder| full.starts_with(folder));
    let mut names = full.iter();
    let is_own_spelling = match names.find(|name| is_dot_git(name)) {
        Some(found) => found == ".git",
        None => {
            names = full.strip_prefix(bare?).unwrap_or(&full).iter();
            true
        }
    };
    if names.clone().next().is_some_and(|name| name == "worktrees")
        && (is_granted_inside || names.clone().nth(1).is_some())
    {
        // A linked worktree has an index, logs and references of its own.
        names.nth(1);
        let is_folder = matches!(change.after, Some(ProposedEntry::Folder));
        if names.clone().next().is_none() && is_folder && context.may_start_git {
            return Some(ChangeVerdict::Apply);
        }
    }
    if matches!(change.after, Some(ProposedEntry::Link(_))) {
        return Some(ChangeVerdict::Refuse(GIT_LINK));
    }
    // Another spelling is never git's own.
    if !context.may_start_git || !is_own_spelling {
        return Some(ChangeVerdict::Ask(GIT_FOLDER));
    }
    let Some(inner) = names.next() else {
        // A folder is examined by what is in it; a file leads to a repository elsewhere.
        return Some(match change.after {
            Some(ProposedEntry::Folder) => ChangeVerdict::Apply,
            _ => ChangeVerdict::Ask(GIT_FOLDER),
        });
    };
    let inner = inner.to_string_lossy();
    let is_kept = KEPT_BY_GIT.iter().any(|known| is_named(&inner, known))
        // Samples and lists of ignored files.
        || (inner == "info"
            && names.clone().next().is_none_or(|name| name == "exclude" || name == "refs"))
        || (inner == "hooks" && names.clone().next().is_none_or(|name| name.to_string_lossy().ends_with(".sample")))
        || (["branches", "worktrees"].contains(&&*inner)
            && names.clone().next().is_none()
            && !matches!(change.after, Some(ProposedEntry::File { .. })));
    let is_lender = inner == "objects"
        && names.clone().next().is_some_and(|name| name == "info")
        && change.path.file_name().is_some_and(|name| name == "alternates");
    Some(if is_kept && !is_lender { ChangeVerdict::Apply } else { ChangeVerdict::Ask(GIT) })
}

/// Why other programs start or obey a file.
fn obeyed(change: &ProposedChange<'_>, full: &Path, home: &Path) -> Option<&'static str> {
    let names: Vec<String> = full.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    let above = change.folder.iter().count();
    let in_home: Option<Vec<String>> = full
        .strip_prefix(home)
        .ok()
        .map(|path| path.iter().map(|name| name.to_string_lossy().into_owned()).collect());
    let matches = |names: &[String], row: &[&str]| {
        names.len() >= row.len()
            && names.iter().zip(row).all(|(name, wanted)| is_named(name, wanted))
    };
    for place in NEVER_WRITE {
        let row: Vec<&str> = place.protected.as_str().trim_start_matches('/').split('/').collect();
        let is_there = match place.protected {
            // The row may begin above the granted folder, but ends in it.
            Protected::AnyDepth(_) => (0..names.len())
                .any(|start| start + row.len() > above && matches(&names[start..], &row)),
            Protected::BelowHome(_) => in_home.as_ref().is_some_and(|names| matches(names, &row)),
            Protected::Machine(_) => full.starts_with(place.protected.as_str()),
        };
        if is_there {
            return Some(place.why);
        }
    }
    OBEYED
        .iter()
        .find(|(wanted, _)| {
            let row: Vec<&str> = wanted.split('/').collect();
            let is_row = |start: usize| {
                let mut pairs = names[start..].iter().zip(&row);
                names.len() - start >= row.len()
                    && pairs.all(|(name, wanted)| is_alike(name, wanted))
            };
            // It may begin above the granted folder, but ends in it.
            (0..names.len()).any(|start| start + row.len() > above && is_row(start))
        })
        .map(|(_, why)| *why)
}

/// Where a link leads, going by its text alone; `None` if that is outside the folders that a run may write. A target that
/// goes up after it went down depends on other links, so it counts as leading out.
fn destination(link: &Path, target: &Path, writable: &[PathBuf]) -> Option<PathBuf> {
    let mut place = match link.parent() {
        Some(folder) if target.is_relative() => folder.to_owned(),
        _ => PathBuf::from("/"),
    };
    let mut is_down = false;
    for part in target.components() {
        match part {
            Component::RootDir | Component::CurDir => {}
            Component::Normal(name) => {
                is_down = true;
                place.push(name);
            }
            Component::ParentDir if !is_down && place.pop() => {}
            Component::ParentDir | Component::Prefix(_) => return None,
        }
    }
    writable.iter().any(|folder| place.starts_with(folder)).then_some(place)
}
