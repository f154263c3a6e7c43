//! Skills that the lock files of other tools list.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use prowess_core::{Problem, ProblemKind};
use prowess_package::name::SkillName;
use prowess_store::import::{self, ImportError, ImportedHash, ImportedSkill, ImportedSource};
use prowess_store::install::{InstallPlan, SkillRequirement};
use prowess_store::reference::{DomainReference, PathKind, Reference, SlashMeaning};
use prowess_store::review::InstallQuestion;

use super::PackageManager;
use crate::file::path_problem;

/// The skills that lock files of other tools list.
#[derive(Debug, Default)]
pub struct ImportedSkills {
    /// The skills to install.
    pub requirements: Vec<SkillRequirement>,
    /// The lock files that were read.
    pub files: Vec<ImportedFile>,
    claims: Vec<HashClaim>,
}

/// A lock file of another tool.
#[derive(Debug)]
pub struct ImportedFile {
    /// The file.
    pub path: PathBuf,
    /// The tool that wrote it.
    pub tool: &'static str,
    /// How many skills it lists.
    pub count: usize,
    /// What the user should know about the file.
    pub notes: Vec<String>,
    /// The skills that are installed, each with its source.
    pub accepted: Vec<(String, Reference)>,
    /// The skills that can't be taken over.
    pub skipped: Vec<SkippedImport>,
}

/// A skill of another tool's lock file that can't be taken over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedImport {
    /// The skill as the file names it.
    pub name: String,
    /// Why.
    pub reason: String,
}

/// The hashes that a tool has recorded for a skill.
#[derive(Debug)]
struct HashClaim {
    name: SkillName,
    tool: &'static str,
    hashes: Vec<ImportedHash>,
}

impl ImportedSkills {
    /// Adds a question for every skill whose files differ from what the other tool has recorded. Somebody may have
    /// replaced them since.
    pub(super) fn compare_hashes(&self, plan: &mut InstallPlan) {
        for step in &mut plan.steps {
            let claims = self.claims.iter().filter(|claim| claim.name == *step.name());
            let mut questions = Vec::new();
            for HashClaim { tool, hashes, .. } in claims {
                for hash in hashes {
                    let source = step.entry.source.as_ref();
                    questions.extend(hash.difference(step.tree(), source).map(|now| {
                        let (tool, was) = ((*tool).to_owned(), hash.text.clone());
                        InstallQuestion::OtherHash { tool, was, now }
                    }));
                }
            }
            step.review.questions.extend(questions);
        }
    }

    fn add(&mut self, path: &Path, origin: &str) -> Result<(), Problem> {
        let imported = import::read(path).map_err(|error| import_problem(&error))?;
        let tool = imported.kind.tool();
        let count = imported.skills.len();
        let (mut accepted, mut skipped) = (Vec::new(), Vec::new());
        for skill in imported.skills {
            match requirement(&skill, path) {
                Ok(requirement) => {
                    accepted.push((skill.name.clone(), requirement.reference.clone()));
                    let origin = origin.to_owned();
                    self.requirements.push(SkillRequirement { origin, ..requirement });
                    let name = skill.canonical_name().into_iter();
                    let hashes = skill.hashes;
                    self.claims.extend(name.map(|name| HashClaim {
                        name,
                        tool,
                        hashes: hashes.clone(),
                    }));
                }
                Err(reason) => skipped.push(SkippedImport { name: skill.name, reason }),
            }
        }
        let (path, notes) = (path.to_owned(), imported.notes);
        self.files.push(ImportedFile { path, tool, count, notes, accepted, skipped });
        Ok(())
    }
}

impl PackageManager {
    /// Reads a lock file of another tool, or all that are found.
    pub fn read_import(&self, file: Option<&Path>) -> Result<ImportedSkills, Problem> {
        let files = match file {
            Some(file) => vec![self.places.current.join(file)],
            None => import::find(&self.places),
        };
        if files.is_empty() {
            let message = "there is no lock file of another tool here";
            return Err(Problem::new("no-lock-file-to-import", ProblemKind::NotFound, message));
        }
        let mut all = ImportedSkills::default();
        for file in &files {
            all.add(file, &self.places.shown(file))?;
        }
        Ok(all)
    }
}

fn import_problem(error: &ImportError) -> Problem {
    match error {
        ImportError::Read { path, source } => path_problem("read", path, source),
        ImportError::Unknown { .. } => {
            Problem::new("lock-file-unknown", ProblemKind::InvalidInput, error.to_string())
        }
        ImportError::Wrong { .. } => {
            Problem::new("lock-file-invalid", ProblemKind::Corrupt, error.to_string())
        }
    }
}

/// The requirement for one skill. Everything in the file is untrusted text.
fn requirement(skill: &ImportedSkill, file: &Path) -> Result<SkillRequirement, String> {
    let name = skill.canonical_name().map_err(|error| error.to_string())?;
    let mut only: BTreeSet<String> = [name.to_string()].into();
    let parse = |text: &str| {
        Reference::parse(text, SlashMeaning::Repository, |_| PathKind::Nothing)
            .map_err(|error| error.to_string())
    };
    let reference = match &skill.source {
        ImportedSource::Git { repository, reference, path } => {
            let folder = path.as_deref().map(folder_of).unwrap_or_default();
            if !folder.is_empty() {
                only.clear();
            }
            let revision = reference.as_deref().unwrap_or_default();
            let fragment = match (revision, folder) {
                ("", "") => String::new(),
                (revision, "") => format!("#{revision}"),
                (revision, folder) => format!("#{revision}:{folder}"),
            };
            // An address of the web may be a page, and here it is known to be a repository.
            let is_web = repository.starts_with("https://") || repository.starts_with("http://");
            let before = if is_web { "git+" } else { "" };
            parse(&format!("{before}{repository}{fragment}"))?
        }
        ImportedSource::Local(path) => {
            let around = file.parent().unwrap_or(Path::new(""));
            Reference::Path(around.join(path.trim_start_matches("./")))
        }
        ImportedSource::WellKnown(address) => {
            only.clear();
            match parse(address)? {
                Reference::Domain(domain) => {
                    let skill = Some(name.clone());
                    Reference::Domain(DomainReference { skill, ..domain })
                }
                other => other,
            }
        }
        // The same name in another registry may be somebody else's skill (attack registry-A9).
        ImportedSource::Registry(address) => {
            let whose =
                address.as_deref().map_or("the tool's own registry".to_owned(), |address| {
                    format!("the registry `{address}`")
                });
            return Err(format!("it comes from {whose}, and the name may be taken in another"));
        }
        ImportedSource::Other { kind, text } => {
            return Err(format!("`{kind}` (`{text}`) is not a supported source"));
        }
        ImportedSource::Unknown => {
            return Err("the file does not say where it comes from".to_owned());
        }
    };
    Ok(SkillRequirement { reference, only, chosen: None, origin: String::new() })
}

/// The folder of a path that may name the file in it.
fn folder_of(path: &str) -> &str {
    let path = path.trim_matches('/');
    match path.rsplit_once('/') {
        Some((folder, file)) if file.eq_ignore_ascii_case("SKILL.md") => folder,
        None if path.eq_ignore_ascii_case("SKILL.md") => "",
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use prowess_store::import::{ImportedSkill, ImportedSource};

    use super::requirement;

    #[track_caller]
    fn check(name: &str, source: ImportedSource, expected: &str) {
        let skill = ImportedSkill {
            name: name.to_owned(),
            owner: None,
            version: None,
            requested: None,
            source,
            hashes: Vec::new(),
            installed_at: None,
            pinned: None,
            extra: Vec::new(),
        };
        let found = match requirement(&skill, std::path::Path::new("/project/skills-lock.json")) {
            Ok(requirement) => {
                let only: Vec<String> = requirement.only.into_iter().collect();
                format!("{} [{}]", requirement.reference, only.join(" "))
            }
            Err(why) => why,
        };
        assert_eq!(found, expected);
    }

    fn git(repository: &str, reference: Option<&str>, path: Option<&str>) -> ImportedSource {
        ImportedSource::Git {
            repository: repository.to_owned(),
            reference: reference.map(str::to_owned),
            path: path.map(str::to_owned),
        }
    }

    #[test]
    fn sources_are_taken_over() {
        check("a", git("me/tools", None, None), "https://github.com/me/tools [a]");
        check(
            "a",
            git("https://example.com/tools", Some("v2"), Some("skills/a/SKILL.md")),
            "https://example.com/tools#v2:skills/a []",
        );
        check("a", git("me/tools", None, Some("SKILL.md")), "https://github.com/me/tools [a]");
        check("a", ImportedSource::Local("./skills".to_owned()), "/project/skills [a]");
        check(
            "a",
            ImportedSource::WellKnown("https://example.com".to_owned()),
            "https://example.com#a []",
        );
    }

    #[test]
    fn what_has_no_meaning_here_is_left_out() {
        // NEG-5: the name would be a folder elsewhere.
        check(
            "../x",
            git("me/tools", None, None),
            "`../x` is not a valid skill name, expected lower case letters and digits with single hyphens between them, at most 64 (did you mean `x`?)",
        );
        // git would run what such an address says.
        check(
            "a",
            git("ext::sh -c touch% x", None, None),
            "`ext:` URLs are not supported; use `https:`, `ssh:` or a path",
        );
        check(
            "a",
            git("me/tools", None, Some("../../x")),
            "`../../x` is not a folder of a repository",
        );
        check(
            "a",
            ImportedSource::Registry(None),
            "it comes from the tool's own registry, and the name may be taken in another",
        );
        check("a", ImportedSource::Unknown, "the file does not say where it comes from");
    }
}
