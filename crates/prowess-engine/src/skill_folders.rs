//! Finds skills in folders by name, trusted as local and experimental: for tests, examples, and as a base for other
//! resolvers.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_core::{Problem, ProblemKind, Remedy};
use prowess_format::diagnostic::Severity;
use prowess_policy::{Origin, Tier, Trust};

use crate::loaded::{LoadedSkill, SkillResolver};
use crate::skill_files::{main_file, read_skill};

/// Skills in folders: `FOLDER/NAME/SKILL.md`. The first folder that has the name wins.
///
/// It ignores lock files and signatures, so every skill is local and experimental.
#[derive(Clone, Debug, Default)]
pub struct SkillFolders {
    /// The folders, in order of precedence.
    pub folders: Vec<PathBuf>,
}

impl SkillResolver for SkillFolders {
    fn resolve(&self, name: &str) -> Result<Arc<LoadedSkill>, Problem> {
        let _span = tracing::info_span!("resolve", name).entered();
        // A name is one path component and can't lead out of the folder (NEG-1).
        let is_name = !name.is_empty()
            && !name.starts_with('.')
            && !name.contains(['/', '\\', '\0'])
            && name.len() <= 255;
        if !is_name {
            return Err(invalid(name, "that is not the name of a skill"));
        }
        for folder in &self.folders {
            let directory = folder.join(name);
            let Some(file) = main_file(&directory) else { continue };
            let loaded = read(&directory, &file, name).map_err(|reason| {
                invalid(name, &reason).remedy(Remedy::Check(directory.display().to_string()))
            })?;
            return Ok(Arc::new(loaded));
        }
        let searched: Vec<String> =
            self.folders.iter().map(|folder| format!("`{}`", folder.display())).collect();
        let searched = if searched.is_empty() {
            String::new()
        } else {
            format!(" in {}", searched.join(", "))
        };
        let message = format!("there is no skill `{name}`{searched}");
        Err(Problem::new("skill-not-found", ProblemKind::NotFound, message)
            .remedy(Remedy::NameSkillsFolder))
    }
}

fn invalid(name: &str, reason: &str) -> Problem {
    let message = format!("the skill `{name}` can't be used: {reason}");
    Problem::new("invalid-skill", ProblemKind::InvalidInput, message)
}

fn read(directory: &Path, file: &Path, name: &str) -> Result<LoadedSkill, String> {
    let failed = |error: std::io::Error| format!("cannot read `{}`: {error}", file.display());
    let directory = directory.canonicalize().map_err(failed)?;
    let file = file.canonicalize().map_err(failed)?;
    let (skill, diagnostics) = read_skill(&file, &directory, None).map_err(failed)?;
    if let Some(error) = diagnostics.iter().find(|found| found.severity == Severity::Error) {
        return Err(format!("{} (`{}`)", error.message, file.display()));
    }
    Ok(LoadedSkill {
        name: skill.name_or(name).to_owned(),
        trust: Trust::of(&skill, Tier::Experimental, None, Origin::Local),
        skill,
        directory: Some(directory),
        file,
        diagnostics,
        digest: None,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_first_folder_counts_and_names_stay_inside() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let put = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
            fs::write(path, text).expect("it can be written");
        };
        put("a/one/SKILL.md", "---\nname: one\ndescription: First\n---\n\nHello\n");
        put("b/one/SKILL.md", "---\nname: one\ndescription: Second\n---\n\nHello\n");
        put("b/two/SKILL.md", "---\nname: two\ndescription: Two\n---\n\nHello\n");
        put("b/broken/SKILL.md", "---\nname: [\n---\n");
        put("secret/SKILL.md", "---\nname: secret\ndescription: No\n---\n\nHello\n");
        let skills = SkillFolders { folders: vec![root.path().join("a"), root.path().join("b")] };
        let description = |name| {
            let found = skills.resolve(name).expect("it is there");
            found.skill.description_or("").to_owned()
        };
        assert_eq!(description("one"), "First");
        assert_eq!(description("two"), "Two");
        // Whatever it claims, a skill in a folder is not signed.
        let trust = skills.resolve("one").expect("it is there").trust;
        assert_eq!((trust.tier(), trust.origin()), (Tier::Experimental, Origin::Local));
        let code = |name| skills.resolve(name).expect_err("it can't be used").code;
        assert_eq!(code("broken"), "invalid-skill");
        let missing = skills.resolve("three").expect_err("it is nowhere").to_string();
        assert!(missing.starts_with("there is no skill `three` in `"), "{missing}");
        // NEG-1
        for way_out in ["../secret", "..", ".", "", "a/../../secret", "/etc"] {
            assert_eq!(code(way_out), "invalid-skill", "{way_out}");
        }
    }
}
