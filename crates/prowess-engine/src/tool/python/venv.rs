//! A virtual environment with the packages of a skill (GAIA §5.1, step 4).
//!
//! An environment belongs to a list of packages and a version of Python, so that skills with the same requirements
//! share one and a changed list gets a new one. It is created in three sandboxes: one without network creates it, one
//! with the package index as its only network downloads and unpacks wheels, one without network compiles. No package
//! code should run in any of them; if an installer runs it anyway, it can only access the environment's own folder.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use prowess_files::with_lock;
use prowess_policy::scope::Program;
use sha2::{Digest as _, Sha256};

use super::index::{Index, IndexError, Installer};
use super::installer::{InstallStep, InstallerError, InstallerOutcome, REQUIREMENTS};
use super::interpreter::{self, Interpreter};
use super::versions;
use crate::programs::Finder;
use crate::run::CancellationToken;
use crate::world::World;
use crate::{digest, platform};

/// The requirements, and the resulting packages with exact versions (GAIA §7.1).
const ASKED: &str = "requirements.in";
const PINNED: &str = "requirements.txt";
/// The first pip version that can install into another interpreter's environment.
const PIP_FOR_OTHERS: (u64, u64) = (22, 3);

/// Why an environment can't be created.
#[derive(Debug, thiserror::Error)]
pub(super) enum VenvError {
    /// An input or output error.
    #[error("cannot use `{}`: {source}", .path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A program failed.
    #[error("{what} failed{}", detail(.said))]
    Failed {
        /// The step.
        what: String,
        /// The tail of its output.
        said: String,
        /// Whether the package index could not be reached.
        is_offline: bool,
        /// Further advice.
        hint: Option<String>,
    },
    /// There is no sandbox for the installation.
    #[error("{what} was not started: {source}")]
    Sandbox {
        /// The step.
        what: String,
        /// The reason.
        source: prowess_sandbox::SandboxError,
    },
    /// The settings for package indexes are invalid.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// A package has replaced a path of the environment.
    #[error("`{}` points outside the environment: a package has replaced it", .0.display())]
    Escaped(PathBuf),
}

fn detail(said: &str) -> String {
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(12)..];
    if last.is_empty() { String::new() } else { format!(":\n  {}", last.join("\n  ")) }
}

impl VenvError {
    /// Advice.
    pub(super) fn hints(&self) -> Vec<String> {
        if let VenvError::Sandbox {
            source: prowess_sandbox::SandboxError::Unenforceable { remedy, .. },
            ..
        } = self
        {
            return vec![format!("packages are only installed in a sandbox: {remedy}")];
        }
        let VenvError::Failed { said, is_offline, hint, .. } = self else { return Vec::new() };
        let says = |words: &[&str]| words.iter().any(|word| said.contains(word));
        let mut hints = Vec::new();
        hints.extend(hint.as_deref());
        if says(&["ensurepip", "No module named venv", "No module named pip"]) {
            hints.push("install `uv`, or the parts of Python that are missing (Debian: `apt install python3-venv python3-pip`)");
        }
        let is_unreachable = [
            "name resolution",
            "NewConnectionError",
            "Connection refused",
            "dns error",
            "error sending request",
            "timed out",
        ];
        if hint.is_none() && (*is_offline || says(&is_unreachable)) {
            if says(&["UnknownIssuer", "CERTIFICATE_VERIFY_FAILED"]) {
                hints.push("the certificate of the package index is not trusted: set UV_SYSTEM_CERTS=1 so that uv uses the system's certificates, or set SSL_CERT_FILE");
            }
            hints.push("the package index can't be reached: try again with a network, or set PIP_NO_INDEX=1 and PIP_FIND_LINKS to a folder of wheels");
        } else if says(&[
            "No matching distribution",
            "no matching distribution",
            "No solution found",
            "has no usable wheels",
        ]) && hint.is_none()
        {
            hints.push("only wheels are installed: check that the version exists and has a wheel for this Python");
        }
        hints.into_iter().map(str::to_owned).collect()
    }
}

/// Everything that an environment depends on.
pub(super) struct EnvironmentSpec<'w> {
    pub(super) interpreter: &'w Interpreter,
    /// The normalized packages; at least one.
    pub(super) packages: &'w [String],
}

impl EnvironmentSpec<'_> {
    /// The name of the environment.
    fn name(&self) -> String {
        let mut hasher = Sha256::new();
        hasher.update(b"prowess-venv-2\0");
        hasher.update(versions::text(self.interpreter.version));
        // Two builds of one version may need different wheels.
        hasher.update(platform::bytes(self.interpreter.image.as_os_str()));
        for package in self.packages {
            hasher.update((package.len() as u64).to_le_bytes());
            hasher.update(package);
        }
        digest::hexadecimal(&hasher.finalize()[..16])
    }
}

/// The folder of all environments.
pub(super) fn folder(world: &World) -> PathBuf {
    world.state.data.join("venvs")
}

/// The folder of installed packages; they are installed if needed. `tell` is called before that.
pub(super) fn packages(
    wanted: &EnvironmentSpec<'_>,
    world: &World,
    cancel: &CancellationToken,
    tell: &mut dyn FnMut(String),
) -> Result<PathBuf, VenvError> {
    let place = folder(world).join(wanted.name());
    if place.join(PINNED).is_file() {
        return site_packages(&place, wanted.interpreter);
    }
    let built = with_lock(&place, || {
        // Another process may have been faster.
        if place.join(PINNED).is_file() {
            return Ok(());
        }
        tell(format!(
            "installing {} for Python {}",
            wanted.packages.join(", "),
            versions::text(wanted.interpreter.version)
        ));
        build(&place, wanted, world, cancel)
    });
    built.map_err(|failure: Failure| match failure {
        Failure::Lock(source) => VenvError::File { path: place.clone(), source },
        Failure::Build(error) => error,
    })?;
    site_packages(&place, wanted.interpreter)
}

/// An error under the lock.
enum Failure {
    Lock(io::Error),
    Build(VenvError),
}

impl From<io::Error> for Failure {
    fn from(source: io::Error) -> Self {
        Failure::Lock(source)
    }
}

/// Builds an environment under a temporary name and renames it when it is complete.
fn build(
    place: &Path,
    wanted: &EnvironmentSpec<'_>,
    world: &World,
    cancel: &CancellationToken,
) -> Result<(), Failure> {
    let stage = place.with_extension("new");
    let file = |path: &Path| {
        let path = path.to_owned();
        move |source| Failure::Build(VenvError::File { path, source })
    };
    // Left by an interrupted process; the lock proves that no process is using it.
    if stage.exists() {
        fs::remove_dir_all(&stage).map_err(file(&stage))?;
    }
    let built = fill(&stage, wanted, world, cancel).map_err(Failure::Build).and_then(|fresh| {
        if place.exists() {
            fs::remove_dir_all(place).map_err(file(place))?;
        }
        fs::rename(&fresh, place).map_err(file(place))
    });
    // Downloads, and a partial environment after a failure; the next build removes what remains.
    let _ = fs::remove_dir_all(&stage);
    built
}

/// Creates a complete environment below a new folder, and returns its path.
fn fill(
    stage: &Path,
    wanted: &EnvironmentSpec<'_>,
    world: &World,
    cancel: &CancellationToken,
) -> Result<PathBuf, VenvError> {
    let file = |path: &Path| {
        let path = path.to_owned();
        move |source| VenvError::File { path, source }
    };
    fs::create_dir(stage).map_err(file(stage))?;
    let stage = stage.canonicalize().map_err(file(stage))?;
    for name in ["tmp", "cache"] {
        let folder = stage.join(name);
        fs::create_dir(&folder).map_err(file(&folder))?;
    }
    let fresh = stage.join("environment");
    let requirements = wanted.packages.join("\n") + "\n";
    let installation = Installation { wanted, stage: &stage, requirements: &requirements, cancel };
    installation.install(&fresh, world)?;
    let site = site_packages(&fresh, wanted.interpreter)?;
    installation.compile(&site)?;
    make_readable(&site).map_err(file(&site))?;
    let pinned = pinned(&site).map_err(file(&site))?;
    for (name, text) in [(ASKED, &requirements), (PINNED, &pinned)] {
        let path = fresh.join(name);
        write_own(&path, text).map_err(file(&path))?;
    }
    Ok(fresh)
}

/// Writes one of our files into an environment. A package may have put something else there, such as a link.
fn write_own(path: &Path, text: &str) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    fs::File::create_new(path)?.write_all(text.as_bytes())
}

/// An environment that is being created.
struct Installation<'i> {
    wanted: &'i EnvironmentSpec<'i>,
    stage: &'i Path,
    requirements: &'i str,
    cancel: &'i CancellationToken,
}

impl Installation<'_> {
    fn install(&self, fresh: &Path, world: &World) -> Result<(), VenvError> {
        let image = &self.wanted.interpreter.image;
        let own_python = fresh.join("bin/python");
        if let Some(uv) = uv(world) {
            let index = Index::of(Installer::Uv, world, image)?;
            let mut make = words(&["venv", "--no-project", "--python"]);
            make.extend([image.into(), fresh.into()]);
            self.checked("`uv venv`", &uv, make, None)?;
            let mut add = words(&["pip", "install", "--only-binary", ":all:"]);
            // Compiling would start the environment's Python with the packages in it. Links into a cache would change
            // with the cache.
            add.extend(words(&["--no-compile-bytecode", "--link-mode", "copy", "--python"]));
            add.extend([own_python.into(), "--requirement".into(), REQUIREMENTS.into()]);
            return self.checked("`uv pip install`", &uv, add, Some(&index)).map(|_| ());
        }
        let index = Index::of(Installer::Pip, world, image)?;
        let shared_pip = self
            .run("`pip --version`", image, words(&["-I", "-m", "pip", "--version"]), None)
            .map(|ended| pip_version(&ended.stdout).is_some_and(|it| it >= PIP_FOR_OTHERS))?;
        let mut make = words(&["-I", "-m", "venv"]);
        if shared_pip {
            make.push("--without-pip".into());
        }
        make.push(fresh.into());
        self.checked("`python -m venv`", image, make, None)?;
        let mut add = words(&["-I", "-m", "pip"]);
        if shared_pip {
            add.extend(["--python".into(), own_python.clone().into()]);
        }
        add.extend(words(&["install", "--only-binary", ":all:", "--no-compile"]));
        add.extend(words(&["--no-warn-script-location", "--requirement", REQUIREMENTS]));
        let program = if shared_pip { image } else { &own_python };
        self.checked("`pip install`", program, add, Some(&index)).map(|_| ())
    }

    /// Compiles the packages once instead of in every run. With `-S`, none of their code is started.
    fn compile(&self, site: &Path) -> Result<(), VenvError> {
        let image = &self.wanted.interpreter.image;
        let mut arguments = words(&["-I", "-S", "-m", "compileall", "-q"]);
        arguments.push(site.into());
        // Many packages contain files that can't be compiled, which is not an error.
        self.run("`python -m compileall`", image, arguments, None).map(|_| ())
    }

    /// Runs a step that has to succeed.
    fn checked(
        &self,
        what: &str,
        program: &Path,
        arguments: Vec<OsString>,
        index: Option<&Index>,
    ) -> Result<InstallerOutcome, VenvError> {
        let ended = self.run(what, program, arguments, index)?;
        if ended.is_success {
            return Ok(ended);
        }
        let hint = ended.hint();
        let InstallerOutcome { said, is_offline, .. } = ended;
        Err(VenvError::Failed { what: what.to_owned(), said, is_offline, hint })
    }

    fn run(
        &self,
        what: &str,
        program: &Path,
        arguments: Vec<OsString>,
        index: Option<&Index>,
    ) -> Result<InstallerOutcome, VenvError> {
        let interpreter = self.wanted.interpreter;
        let (writable, requirements) = (self.stage, self.requirements);
        let step = InstallStep { program, arguments, interpreter, writable, requirements, index };
        step.run(self.cancel).map_err(|error| match error {
            InstallerError::Index(error) => VenvError::Index(error),
            InstallerError::Sandbox(source) => VenvError::Sandbox { what: what.to_owned(), source },
            InstallerError::Ended(said) => {
                VenvError::Failed { what: what.to_owned(), said, is_offline: false, hint: None }
            }
        })
    }
}

fn words(texts: &[&str]) -> Vec<OsString> {
    texts.iter().map(OsString::from).collect()
}

/// The user's uv. A script that starts another program would not work in the sandbox.
fn uv(world: &World) -> Option<PathBuf> {
    let finder = Finder { search_path: &world.search_path, skill_directory: None };
    let found = finder.locate(&Program::Named("uv".to_owned())).ok()?.canonicalize().ok()?;
    (!interpreter::is_script(&found)).then_some(found)
}

/// The first two numbers of `pip 23.0.1 from …`.
fn pip_version(said: &[u8]) -> Option<(u64, u64)> {
    let said = String::from_utf8_lossy(said);
    let mut numbers = said.strip_prefix("pip ")?.split(['.', ' ']);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn site_packages(place: &Path, interpreter: &Interpreter) -> Result<PathBuf, VenvError> {
    let [major, minor, _] = interpreter.version;
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| VenvError::File { path, source }
    };
    let place = place.canonicalize().map_err(failed(place))?;
    let path = place.join(format!("lib/python{major}.{minor}/site-packages"));
    let real = path.canonicalize().map_err(failed(&path))?;
    // A package may contain files for any path of its environment.
    if real == path { Ok(real) } else { Err(VenvError::Escaped(path)) }
}

/// Makes the packages readable for others: a tool that root starts runs as another user.
#[cfg(unix)]
fn make_readable(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mut open = vec![folder.to_owned()];
    while let Some(path) = open.pop() {
        let data = fs::symlink_metadata(&path)?;
        if data.is_symlink() {
            continue;
        }
        let mode = data.permissions().mode();
        let wanted = mode | 0o444 | if mode & 0o100 == 0 { 0 } else { 0o111 };
        if wanted != mode {
            fs::set_permissions(&path, fs::Permissions::from_mode(wanted))?;
        }
        if data.is_dir() {
            for entry in fs::read_dir(&path)? {
                open.push(entry?.path());
            }
        }
    }
    Ok(())
}

#[cfg(not(unix))]
fn make_readable(_folder: &Path) -> io::Result<()> {
    Ok(())
}

/// The installed packages with exact versions.
fn pinned(site: &Path) -> io::Result<String> {
    let mut lines = Vec::new();
    for entry in fs::read_dir(site)? {
        let name = entry?.file_name();
        let name = name.to_string_lossy();
        if let Some((package, version)) =
            name.strip_suffix(".dist-info").and_then(|name| name.rsplit_once('-'))
        {
            lines.push(format!("{}=={version}\n", package.replace('_', "-").to_ascii_lowercase()));
        }
    }
    lines.sort();
    Ok(lines.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(said: &str) -> VenvError {
        let (what, said) = ("`pip install`".to_owned(), said.to_owned());
        VenvError::Failed { what, said, is_offline: false, hint: None }
    }

    #[test]
    fn versions_of_pip_are_read() {
        assert_eq!(pip_version(b"pip 23.0.1 from /usr/lib (python 3.11)\n"), Some((23, 0)));
        assert_eq!(pip_version(b"pip 22.3 from x"), Some((22, 3)));
        assert_eq!(pip_version(b"No module named pip"), None);
    }

    #[test]
    fn what_an_installer_says_becomes_advice() {
        let advice = |said: &str| failed(said).hints();
        let offline = "WARNING: Retrying: NewConnectionError: Temporary failure in name resolution\nERROR: No matching distribution found for x";
        assert!(advice(offline)[0].contains("PIP_FIND_LINKS"), "{:?}", advice(offline));
        let unknown =
            "error sending request for url\ncause: invalid peer certificate: UnknownIssuer";
        assert!(advice(unknown)[0].contains("UV_SYSTEM_CERTS"), "{:?}", advice(unknown));
        let source = "ERROR: No matching distribution found for x";
        assert!(advice(source)[0].contains("only wheels"), "{:?}", advice(source));
        let debian = "The virtual environment was not created because ensurepip is not available";
        assert!(advice(debian)[0].contains("python3-venv"), "{:?}", advice(debian));
        assert_eq!(advice("something else"), Vec::<String>::new());
    }

    #[test]
    fn only_the_end_of_a_long_story_is_told() {
        let said: Vec<String> = (0..100).map(|line| format!("line {line}\n")).collect();
        let error = failed(&said.concat());
        let text = error.to_string();
        assert!(text.starts_with("`pip install` failed:\n  line 88\n"), "{text}");
        assert!(text.ends_with("line 99"), "{text}");
    }
}
