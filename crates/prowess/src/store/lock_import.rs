//! What the lock files of other tools ask to install.

use std::collections::BTreeSet;
use std::path::Path;

use prowess_package::name::SkillName;
use prowess_store::import::{self, ImportedHash, ImportedSkill, ImportedSource};
use prowess_store::install::{Plan, Wish};
use prowess_store::reference::{Here, Reference, Slash};
use prowess_store::review::Question;

use crate::error::Error;
use crate::store::packages::Packages;
use crate::store::survey::shown;
use crate::terminal::printer::{Printer, inline};

/// What lock files of other tools name.
pub(crate) struct Import {
    /// What to install.
    pub(crate) wishes: Vec<Wish>,
    /// What they say about its files.
    claims: Vec<Claim>,
}

/// What a tool has written down about the files of a skill.
struct Claim {
    name: SkillName,
    tool: &'static str,
    hashes: Vec<ImportedHash>,
}

impl Import {
    /// Asks about every skill that is not what the other tool has written down. Those who want the same skills want the same
    /// files; somebody may have exchanged them since.
    pub(crate) fn ask(&self, plan: &mut Plan) {
        for step in &mut plan.steps {
            let claims = self.claims.iter().filter(|claim| claim.name == *step.name());
            let mut questions = Vec::new();
            for Claim { tool, hashes, .. } in claims {
                for hash in hashes {
                    let source = step.entry.source.as_ref();
                    questions.extend(hash.difference(step.tree(), source).map(|now| {
                        let (tool, was) = ((*tool).to_owned(), hash.text.clone());
                        Question::OtherHash { tool, was, now }
                    }));
                }
            }
            step.review.questions.extend(questions);
        }
    }
}

/// Reads a lock file of another tool, or all that are found, and says what can't be taken over.
pub(crate) fn read(
    file: Option<&Path>,
    packages: &Packages,
    printer: &mut Printer,
) -> Result<Import, Error> {
    let files = match file {
        Some(file) => vec![packages.places.current.join(file)],
        None => import::find(&packages.places),
    };
    if files.is_empty() {
        return Err(Error::not_found("there is no lock file of another tool here")
            .hint("name it: `prowess install --import skills-lock.json`"));
    }
    let mut import = Import { wishes: Vec::new(), claims: Vec::new() };
    for file in &files {
        read_file(file, packages, &mut import, printer)?;
    }
    if import.wishes.is_empty() {
        return Err(Error::failed("nothing of it can be installed")
            .hint("install the skills by hand, from where they are published"));
    }
    Ok(import)
}

fn read_file(
    file: &Path,
    packages: &Packages,
    import: &mut Import,
    printer: &mut Printer,
) -> Result<(), Error> {
    let imported = import::read(file).map_err(|error| match error {
        import::ImportError::Read { path, source } => Error::io("read", &path, &source),
        import::ImportError::Unknown { .. } => Error::usage(error.to_string()),
        import::ImportError::Wrong { .. } => Error::failed(error.to_string()),
    })?;
    let place = shown(&packages.places, file);
    let count = imported.skills.len();
    let skills = if count == 1 { "1 skill".to_owned() } else { format!("{count} skills") };
    printer.say(&format!("`{place}` of {} names {skills}", imported.kind.tool()));
    for note in &imported.notes {
        printer.warning(note);
    }
    for skill in imported.skills {
        match wish(&skill, file) {
            Ok(wish) => {
                printer.say(&format!("  {} from {}", inline(&skill.name), wish.reference));
                import.wishes.push(Wish { origin: place.clone(), ..wish });
                import.claims.extend(skill.canonical_name().map(|name| Claim {
                    name,
                    tool: imported.kind.tool(),
                    hashes: skill.hashes,
                }));
            }
            Err(why) => printer
                .warning(&format!("`{}` of `{place}` is left out: {why}", inline(&skill.name))),
        }
    }
    Ok(())
}

/// What to install for one skill. Everything in the file is a stranger's text.
fn wish(skill: &ImportedSkill, file: &Path) -> Result<Wish, String> {
    let name = skill.canonical_name().map_err(|error| error.to_string())?;
    let mut only: BTreeSet<String> = [name.to_string()].into();
    let parse = |text: &str| {
        Reference::parse(text, Slash::Repository, |_| Here::Nothing)
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
                    Reference::Domain(prowess_store::reference::DomainReference { skill, ..domain })
                }
                other => other,
            }
        }
        // The same name in another registry may be somebody else's skill (attack registry-A9).
        ImportedSource::Registry(address) => {
            let whose =
                address.as_deref().map_or("the tool's own registry".to_owned(), |address| {
                    format!("the registry `{}`", inline(address))
                });
            return Err(format!("it comes from {whose}, and the name may be taken in another"));
        }
        ImportedSource::Other { kind, text } => {
            return Err(format!("`{}` (`{}`) is no source here", inline(kind), inline(text)));
        }
        ImportedSource::Unknown => return Err("the file does not say where from".to_owned()),
    };
    Ok(Wish { reference, only, chosen: None, origin: String::new() })
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

    use super::wish;

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
        let found = match wish(&skill, std::path::Path::new("/project/skills-lock.json")) {
            Ok(wish) => {
                let only: Vec<String> = wish.only.into_iter().collect();
                format!("{} [{}]", wish.reference, only.join(" "))
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
            "`ext:` addresses are not used; give `https:`, `ssh:` or a path",
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
        check("a", ImportedSource::Unknown, "the file does not say where from");
    }
}
