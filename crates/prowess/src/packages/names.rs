//! Names and versions of skills, as users type and read them.

use std::path::Path;

use prowess_package::limits::PackageLimits;
use prowess_package::name::SkillName;
use prowess_package::tree::{ReadTree, Tree};
use prowess_store::metadata::{SkillMetadata, read_metadata};

use crate::error::Error;

/// The version that is locked for a skill without one (R5).
pub(crate) const NO_VERSION: semver::Version = semver::Version::new(0, 0, 0);

/// A skill and its version, if it declares one.
pub(crate) fn with_version(name: &SkillName, version: &semver::Version) -> String {
    if *version == NO_VERSION {
        return name.to_string();
    }
    format!("{name} {version}")
}

/// Parses a name that the user typed.
pub(crate) fn skill_name(text: &str) -> Result<SkillName, Error> {
    text.parse()
        .map_err(|error: prowess_package::name::SkillNameError| Error::usage(error.to_string()))
}

/// Parses several names.
pub(crate) fn skill_names<C: FromIterator<SkillName>>(texts: &[String]) -> Result<C, Error> {
    texts.iter().map(|text| skill_name(text)).collect()
}

/// Reads the skill in a folder that its author works in. `participle` is what the verb does with it, such as "packed".
pub(crate) fn author_skill(
    folder: &Path,
    participle: &str,
) -> Result<(ReadTree, SkillMetadata), Error> {
    if !folder.is_dir() {
        return Err(Error::not_found(format!("`{}` is not a folder", folder.display()))
            .hint("name the folder that holds the SKILL.md"));
    }
    let failed = |error: &dyn std::fmt::Display| {
        Error::failed(format!("`{}` can't be {participle}: {error}", folder.display()))
    };
    let read = Tree::read(folder, &PackageLimits::PACKAGE).map_err(|error| failed(&error))?;
    let known_as = folder.canonicalize().ok();
    let known_as = known_as.as_deref().and_then(Path::file_name);
    let known_as = known_as.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let metadata = read_metadata(&read.tree, &known_as, None).map_err(|error| failed(&error))?;
    // Installing accepts a version that can be understood; its author can write it properly.
    if let Some(written) = &metadata.written_version {
        let problem = format!("its version `{written}` is not of the form `1.2.3`");
        return Err(failed(&problem).hint("write it with three numbers"));
    }
    Ok((read, metadata))
}
