//! The profile of a run in Seatbelt's language.
//!
//! Everything is denied except what a rule names. The text contains no untrusted path, pattern or
//! name: those are parameters, so a grant can't inject a rule. Rules that protect are written as
//! exceptions in the rule that allows, because a later `deny` does not always win over an `allow`
//! with several conditions.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::check;
use crate::error::SandboxError;
use crate::pattern;
use crate::spec::{FileAccess, FileGrant, Network, Spec};

/// The text and the values of its parameters.
#[derive(Debug)]
pub(crate) struct Profile {
    pub(crate) text: String,
    pub(crate) parameters: Vec<(String, PathBuf)>,
}

/// System resources that every program needs: the loader, libraries, locales, a few devices, a few
/// sysctls. It gives no access to other programs: no services except the one for user names, no
/// events, no launching.
const BASE: &str = r#"(version 1)
(deny default)
(allow process-fork)
(allow signal (target same-sandbox))
(allow process-info* (target same-sandbox))
(allow file-read* (literal "/"))
(allow file-read-metadata
  (literal "/tmp") (literal "/var") (literal "/etc") (literal "/private") (literal "/dev"))
(allow file-read* file-map-executable
  (subpath "/usr/lib")
  (subpath "/System/Library/Frameworks")
  (subpath "/System/Library/PrivateFrameworks")
  (subpath "/System/Library/dyld")
  (subpath "/System/Volumes/Preboot/Cryptexes"))
(allow file-read*
  (subpath "/usr/share/locale")
  (subpath "/usr/share/zoneinfo")
  (subpath "/private/var/db/timezone")
  (literal "/private/etc/localtime")
  (literal "/System/Library/CoreServices/SystemVersion.plist")
  (literal "/dev/random")
  (literal "/dev/urandom"))
(allow file-read* file-write-data
  (literal "/dev/null")
  (literal "/dev/zero"))
(allow sysctl-read
  (sysctl-name "hw.activecpu")
  (sysctl-name "hw.byteorder")
  (sysctl-name "hw.cachelinesize")
  (sysctl-name "hw.cputype")
  (sysctl-name "hw.logicalcpu")
  (sysctl-name "hw.logicalcpu_max")
  (sysctl-name "hw.machine")
  (sysctl-name "hw.memsize")
  (sysctl-name "hw.ncpu")
  (sysctl-name "hw.pagesize")
  (sysctl-name "hw.physicalcpu")
  (sysctl-name "kern.argmax")
  (sysctl-name "kern.maxfilesperproc")
  (sysctl-name "kern.osproductversion")
  (sysctl-name "kern.osrelease")
  (sysctl-name "kern.ostype")
  (sysctl-name "kern.osversion")
  (sysctl-name "kern.usrstack64")
  (sysctl-name "kern.version"))
(allow mach-lookup
  (global-name "com.apple.system.opendirectoryd.libinfo"))
"#;

/// Final rules: what no rule above may allow.
const LAST: &str = "(deny file-write-setugid)
";

/// Creates the profile. `private` is the run's own folder, which replaces /tmp and the home
/// directory.
pub(crate) fn profile(spec: &Spec, private: &Path) -> Result<Profile, SandboxError> {
    let mut profile = Profile { text: BASE.to_owned(), parameters: Vec::new() };
    let folder = profile.subpath(private);
    profile.rule("file-read* file-write*", &[folder]);
    profile.programs(spec)?;
    for grant in &spec.files {
        if !check::is_plain(&grant.path) {
            let reason = "it is not an absolute path without `.` and `..`".to_owned();
            return Err(SandboxError::Grant { path: grant.path.clone(), reason });
        }
        profile.grant(grant, &spec.files)?;
    }
    profile.ways(spec, private);
    if let Network::Listeners(ports) = &spec.network {
        for port in ports {
            // A number can't inject anything. The proxy requires the run's secret, because others
            // could connect.
            let _ =
                writeln!(profile.text, "(allow network-outbound (remote ip \"localhost:{port}\"))");
        }
    }
    profile.text.push_str(LAST);
    Ok(profile)
}

impl Profile {
    /// A parameter for a value.
    fn parameter(&mut self, value: impl Into<PathBuf>) -> String {
        let name = format!("P{}", self.parameters.len());
        let filter = format!("(param \"{name}\")");
        self.parameters.push((name, value.into()));
        filter
    }

    fn literal(&mut self, path: &Path) -> String {
        format!("(literal {})", self.parameter(path))
    }

    fn subpath(&mut self, path: &Path) -> String {
        format!("(subpath {})", self.parameter(path))
    }

    fn rule(&mut self, operations: &str, filters: &[String]) {
        let _ = writeln!(self.text, "(allow {operations}\n  {})", filters.join("\n  "));
    }

    /// Allows images by their exact path: nothing else in their folders can be executed.
    fn programs(&mut self, spec: &Spec) -> Result<(), SandboxError> {
        let mut images = Vec::new();
        for program in std::iter::once(&spec.program).chain(&spec.programs) {
            if !check::is_plain(program) {
                let shown = program.display();
                return Err(SandboxError::Invalid(format!("`{shown}` is not an absolute path")));
            }
            check::refuse_writable(spec, program)?;
            images.push(self.literal(program));
        }
        self.rule("process-exec", &images);
        self.rule("file-read* file-map-executable", &images);
        let support: Vec<String> = spec.support.iter().map(|path| self.subpath(path)).collect();
        if !support.is_empty() {
            self.rule("file-read* file-map-executable", &support);
        }
        Ok(())
    }

    fn grant(&mut self, grant: &FileGrant, all: &[FileGrant]) -> Result<(), SandboxError> {
        let covered = match &grant.pattern {
            None => self.subpath(&grant.path),
            Some(pattern) => {
                let refuse = |reason| SandboxError::Grant { path: grant.path.clone(), reason };
                let below = pattern::to_regex(pattern).map_err(refuse)?;
                let folder = grant.path.to_str().ok_or_else(|| {
                    refuse("its path is not valid UTF-8, which a pattern requires".to_owned())
                })?;
                let folder = pattern::escape_regex(folder.trim_end_matches('/'));
                let regex = self.parameter(format!("^{folder}/{below}$"));
                format!("(require-all (regex {regex}) (vnode-type REGULAR-FILE))")
            }
        };
        match grant.access {
            FileAccess::Read => self.rule("file-read*", &[covered]),
            FileAccess::Execute => {
                self.rule("file-read* file-map-executable process-exec", &[covered]);
            }
            FileAccess::Write => {
                self.rule("file-read*", std::slice::from_ref(&covered));
                let mut conditions = vec![covered];
                for path in protected(grant, all) {
                    let (exactly, below) = (self.literal(path), self.subpath(path));
                    conditions.push(format!("(require-not {exactly})"));
                    conditions.push(format!("(require-not {below})"));
                    // A folder that can be renamed would bypass the protection (attack
                    // sandbox-A10).
                    let above = path.ancestors().skip(1);
                    for folder in above.take_while(|folder| folder.starts_with(&grant.path)) {
                        let folder = self.literal(folder);
                        conditions.push(format!("(require-not {folder})"));
                    }
                }
                for kind in ["BLOCK-DEVICE", "CHARACTER-DEVICE", "FIFO", "SOCKET"] {
                    conditions.push(format!("(require-not (vnode-type {kind}))"));
                }
                let all = format!("(require-all\n    {})", conditions.join("\n    "));
                self.rule("file-write*", &[all]);
            }
        }
        Ok(())
    }

    /// Allows metadata of the parent folders of grants, but not listing them.
    fn ways(&mut self, spec: &Spec, private: &Path) {
        let granted = spec.files.iter().map(|grant| grant.path.as_path());
        let images = std::iter::once(&spec.program).chain(&spec.programs).chain(&spec.support);
        let mut ways: Vec<&Path> = granted
            .chain(images.map(PathBuf::as_path))
            .chain([private])
            .flat_map(|path| path.ancestors().skip(1))
            .chain(
                // A folder of which only some files are granted.
                spec.files
                    .iter()
                    .filter(|grant| grant.pattern.is_some())
                    .map(|grant| grant.path.as_path()),
            )
            .filter(|path| path.parent().is_some())
            .collect();
        ways.sort_unstable();
        ways.dedup();
        let ways: Vec<String> = ways.into_iter().map(|path| self.literal(path)).collect();
        if !ways.is_empty() {
            self.rule("file-read-metadata", &ways);
        }
    }
}

/// Read-only paths below a writable grant.
fn protected<'g>(grant: &'g FileGrant, all: &'g [FileGrant]) -> impl Iterator<Item = &'g Path> {
    all.iter()
        .filter(|other| other.access != FileAccess::Write && other.pattern.is_none())
        .map(|other| other.path.as_path())
        .filter(|path| *path != grant.path && path.starts_with(&grant.path))
}

#[cfg(test)]
mod tests;
