//! The packages of a skill in an environment of their own (GAIA §5.1, step 4).
//!
//! An environment belongs to a list of packages and a version of Python, so that skills with the same needs share one and
//! a changed list gets a new one. Installing runs outside the sandbox, because it needs the network and a place to write
//! to, and it never runs code of the skill or of a package: only wheels are taken, which are unpacked and nothing else.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use prowess_files::with_lock;
use prowess_policy::scope::Program;
use sha2::{Digest as _, Sha256};

use super::interpreter::Interpreter;
use super::outside::{self, Ended, OutsideError};
use super::versions;
use crate::programs::Finder;
use crate::run::Cancel;
use crate::world::World;
use crate::{digest, platform};

/// Long enough for the largest wheels on a slow line.
const PATIENCE: Duration = Duration::from_mins(15);
/// What was asked for, and what came of it: each package with its exact version (GAIA §7.1).
const ASKED: &str = "requirements.in";
const PINNED: &str = "requirements.txt";
/// The first pip that installs into another interpreter's environment.
const PIP_FOR_OTHERS: (u64, u64) = (22, 3);

/// Why there is no environment.
#[derive(Debug, thiserror::Error)]
pub(super) enum VenvError {
    /// The disk says no.
    #[error("cannot use `{}`: {source}", .path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A program says no.
    #[error("{what} failed{}", detail(.said))]
    Failed {
        /// What was being done.
        what: String,
        /// The end of what the program said.
        said: String,
    },
}

fn detail(said: &str) -> String {
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(12)..];
    if last.is_empty() { String::new() } else { format!(":\n  {}", last.join("\n  ")) }
}

impl VenvError {
    /// What to do next.
    pub(super) fn hints(&self) -> Vec<String> {
        let VenvError::Failed { said, .. } = self else { return Vec::new() };
        let says = |words: &[&str]| words.iter().any(|word| said.contains(word));
        let mut hints = Vec::new();
        if says(&["ensurepip", "No module named venv", "No module named pip"]) {
            hints.push("install `uv`, or the parts of Python that are missing (Debian: `apt install python3-venv python3-pip`)");
        }
        if says(&[
            "name resolution",
            "NewConnectionError",
            "Connection refused",
            "dns error",
            "error sending request",
            "timed out",
        ]) {
            if says(&["UnknownIssuer", "CERTIFICATE_VERIFY_FAILED"]) {
                hints.push("the certificate of the package index is not known: set UV_SYSTEM_CERTS=1 for uv to trust what the system trusts, or SSL_CERT_FILE");
            }
            hints.push("the package index can't be reached: try again with a network, or set PIP_NO_INDEX=1 and PIP_FIND_LINKS to a folder of wheels");
        } else if says(&[
            "No matching distribution",
            "no matching distribution",
            "No solution found",
            "has no usable wheels",
        ]) {
            hints.push("only wheels are installed: look whether the package has one for this Python, and whether the version exists");
        }
        hints.into_iter().map(str::to_owned).collect()
    }
}

/// What the user has told pip about where packages are, in the words of uv. What uv was told itself counts more.
fn settings_of_pip(world: &World) -> Vec<OsString> {
    const SETTINGS: &[(&str, &[&str], &str)] = &[
        ("PIP_INDEX_URL", &["UV_INDEX_URL", "UV_DEFAULT_INDEX"], "--index-url"),
        ("PIP_EXTRA_INDEX_URL", &["UV_EXTRA_INDEX_URL", "UV_INDEX"], "--extra-index-url"),
        ("PIP_FIND_LINKS", &["UV_FIND_LINKS"], "--find-links"),
    ];
    let value = |name: &str| {
        let mut variables = world.environment.iter();
        variables.find(|(known, value)| known == name && !value.is_empty()).map(|(_, value)| value)
    };
    let mut words = Vec::new();
    for (name, own, option) in SETTINGS {
        // pip takes several, with blanks between them.
        let places = value(name).filter(|_| own.iter().all(|name| value(name).is_none()));
        for place in places.into_iter().flat_map(|text| text.split_whitespace()) {
            words.extend([OsString::from(option), place.into()]);
        }
    }
    if value("PIP_NO_INDEX").is_some_and(|value| !matches!(value.as_str(), "0" | "no" | "false")) {
        words.push("--no-index".into());
    }
    words
}

/// Everything that an environment depends on.
pub(super) struct Wanted<'w> {
    pub(super) interpreter: &'w Interpreter,
    /// In one spelling and order; at least one.
    pub(super) packages: &'w [String],
}

impl Wanted<'_> {
    /// The name of the environment.
    fn name(&self) -> String {
        let mut hasher = Sha256::new();
        hasher.update(b"prowess-venv-1\0");
        hasher.update(versions::text(self.interpreter.version));
        // Two builds of one version may take different wheels.
        hasher.update(platform::bytes(self.interpreter.image.as_os_str()));
        for package in self.packages {
            hasher.update((package.len() as u64).to_le_bytes());
            hasher.update(package);
        }
        digest::hexadecimal(&hasher.finalize()[..16])
    }
}

/// Where environments are.
pub(super) fn folder(world: &World) -> PathBuf {
    world.state.data.join("venvs")
}

/// The folder of installed packages; they are installed if they are not there yet. `tell` hears of it first.
pub(super) fn packages(
    wanted: &Wanted<'_>,
    world: &World,
    cancel: &Cancel,
    tell: &mut dyn FnMut(String),
) -> Result<PathBuf, VenvError> {
    let place = folder(world).join(wanted.name());
    if place.join(PINNED).is_file() {
        return site_packages(&place, wanted.interpreter);
    }
    let built = with_lock(&place, || {
        // Somebody else may have been faster.
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

/// What happens under the lock may fail for two reasons.
enum Failure {
    Lock(io::Error),
    Build(VenvError),
}

impl From<io::Error> for Failure {
    fn from(source: io::Error) -> Self {
        Failure::Lock(source)
    }
}

/// Builds an environment under another name and moves it into its place when it is complete.
fn build(place: &Path, wanted: &Wanted<'_>, world: &World, cancel: &Cancel) -> Result<(), Failure> {
    let fresh = place.with_extension("new");
    let file = |path: &Path| {
        let path = path.to_owned();
        move |source| Failure::Build(VenvError::File { path, source })
    };
    // Left behind by somebody who was interrupted; the lock says that nobody is at it.
    if fresh.exists() {
        fs::remove_dir_all(&fresh).map_err(file(&fresh))?;
    }
    let built = install(&fresh, wanted, world, cancel).map_err(Failure::Build).and_then(|()| {
        let site = site_packages(&fresh, wanted.interpreter).map_err(Failure::Build)?;
        make_readable(&site).map_err(file(&site))?;
        let pinned = pinned(&site).map_err(file(&site))?;
        fs::write(fresh.join(PINNED), pinned).map_err(file(&fresh))?;
        if place.exists() {
            fs::remove_dir_all(place).map_err(file(place))?;
        }
        fs::rename(&fresh, place).map_err(file(place))
    });
    if built.is_err() {
        // A half environment must not stay; if it does, the next one clears it away.
        let _ = fs::remove_dir_all(&fresh);
    }
    built
}

fn install(
    fresh: &Path,
    wanted: &Wanted<'_>,
    world: &World,
    cancel: &Cancel,
) -> Result<(), VenvError> {
    let finder = Finder { search_path: &world.search_path, skill_directory: None };
    let image = &wanted.interpreter.image;
    let run = |what: &str, program: &Path, arguments: &[OsString]| {
        let folder = fresh.parent().unwrap_or(Path::new("/"));
        checked(what, outside::run(program, arguments, folder, world, PATIENCE, cancel))
    };
    let words = |texts: &[&str]| texts.iter().map(OsString::from).collect::<Vec<_>>();
    let asked = fresh.join(ASKED);
    let write_list = || {
        let text = wanted.packages.join("\n") + "\n";
        fs::write(&asked, text).map_err(|source| VenvError::File { path: asked.clone(), source })
    };
    let own_python = fresh.join("bin/python");
    if let Ok(uv) = finder.locate(&Program::Named("uv".to_owned())) {
        let mut make = words(&["venv", "--no-project", "--python"]);
        make.extend([image.into(), fresh.into()]);
        run("`uv venv`", &uv, &make)?;
        write_list()?;
        let mut add = words(&["pip", "install", "--only-binary", ":all:", "--compile-bytecode"]);
        // Links into a cache would change with the cache.
        add.extend(words(&["--link-mode", "copy"]));
        add.extend(settings_of_pip(world));
        add.push("--python".into());
        add.extend([own_python.into(), "--requirement".into(), asked.clone().into()]);
        return run("`uv pip install`", &uv, &add).map(|_| ());
    }
    let shared_pip = run("`pip --version`", image, &words(&["-I", "-m", "pip", "--version"]))
        .is_ok_and(|ended| pip_version(&ended.stdout).is_some_and(|it| it >= PIP_FOR_OTHERS));
    let mut make = words(&["-I", "-m", "venv"]);
    if shared_pip {
        make.push("--without-pip".into());
    }
    make.push(fresh.into());
    run("`python -m venv`", image, &make)?;
    write_list()?;
    let mut add = words(&["-I", "-m", "pip", "--no-input", "--disable-pip-version-check"]);
    if shared_pip {
        add.extend(["--python".into(), own_python.clone().into()]);
    }
    add.extend(words(&["install", "--only-binary", ":all:", "--no-warn-script-location"]));
    add.extend(["--requirement".into(), asked.clone().into()]);
    let program = if shared_pip { image } else { &own_python };
    run("`pip install`", program, &add).map(|_| ())
}

fn checked(what: &str, ended: Result<Ended, OutsideError>) -> Result<Ended, VenvError> {
    let failed = |said: String| VenvError::Failed { what: what.to_owned(), said };
    match ended {
        Ok(ended) if ended.is_success => Ok(ended),
        Ok(ended) => Err(failed(ended.said)),
        Err(error) => Err(failed(error.to_string())),
    }
}

/// The two first numbers of `pip 23.0.1 from …`.
fn pip_version(said: &[u8]) -> Option<(u64, u64)> {
    let said = String::from_utf8_lossy(said);
    let mut numbers = said.strip_prefix("pip ")?.split(['.', ' ']);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn site_packages(place: &Path, interpreter: &Interpreter) -> Result<PathBuf, VenvError> {
    let [major, minor, _] = interpreter.version;
    let path = place.join(format!("lib/python{major}.{minor}/site-packages"));
    path.canonicalize().map_err(|source| VenvError::File { path, source })
}

/// A tool that root starts runs as somebody else, who has to be able to read the packages.
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

/// What is installed, each package with its exact version.
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

    #[test]
    fn versions_of_pip_are_read() {
        assert_eq!(pip_version(b"pip 23.0.1 from /usr/lib (python 3.11)\n"), Some((23, 0)));
        assert_eq!(pip_version(b"pip 22.3 from x"), Some((22, 3)));
        assert_eq!(pip_version(b"No module named pip"), None);
    }

    #[test]
    fn what_an_installer_says_becomes_advice() {
        let advice = |said: &str| {
            VenvError::Failed { what: "`pip install`".to_owned(), said: said.to_owned() }.hints()
        };
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
        let error = VenvError::Failed { what: "`pip install`".to_owned(), said: said.concat() };
        let text = error.to_string();
        assert!(text.starts_with("`pip install` failed:\n  line 88\n"), "{text}");
        assert!(text.ends_with("line 99"), "{text}");
    }
}
