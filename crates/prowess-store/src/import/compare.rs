//! Compares the hashes that another tool recorded with the current files.

use super::{HashedWhat, ImportedHash};
use crate::source::Pinned;
use prowess_package::digest::{clawhub_fingerprint, gaia_content_digest, skills_cli_hash};
use prowess_package::tree::Tree;

impl ImportedHash {
    /// The hash of the fetched files, if it differs from the recorded one. `None` if it is the same, or if its input is
    /// not available: an archive of that tool's registry, a git tree, resolved dependencies.
    ///
    /// A difference proves that something has changed, possibly only files that are excluded here. No difference proves
    /// nothing: an attacker who changes the files can change the lock file too.
    pub fn difference(&self, tree: &Tree, pinned: Option<&Pinned>) -> Option<String> {
        let found = match self.over {
            HashedWhat::SkillsCli => skills_cli_hash(tree).to_string(),
            HashedWhat::ClawHub => clawhub_fingerprint(&tree.hashes()).to_string(),
            HashedWhat::GaiaContent => gaia_content_digest(tree),
            HashedWhat::WellKnown => match pinned {
                Some(Pinned::WellKnown { digest: Some(digest), .. }) => digest.clone(),
                _ => return None,
            },
            HashedWhat::Archive | HashedWhat::GitTree | HashedWhat::Dependencies => return None,
        };
        let plain = |text: &str| {
            let text = text.trim().to_ascii_lowercase();
            text.strip_prefix("sha256:").map_or(text.clone(), str::to_owned)
        };
        (plain(&found) != plain(&self.text)).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prowess_package::limits::PackageLimits;
    use prowess_package::tree::TreeFile;

    #[test]
    fn hashes_of_other_tools_are_made_anew() {
        let file = TreeFile { bytes: b"---\nname: a\n---\n".to_vec(), executable: false };
        let path = "SKILL.md".parse().expect("a path");
        let tree = Tree::from_files([(path, file)], &PackageLimits::PACKAGE).expect("a tree");
        let served = Pinned::WellKnown {
            base: "https://a.example".to_owned(),
            url: "https://a.example/x".to_owned(),
            digest: Some("sha256:aa".to_owned()),
        };
        let check = |over: HashedWhat, text: &str| {
            ImportedHash { over, text: text.to_owned() }.difference(&tree, Some(&served))
        };
        for (over, right) in [
            (HashedWhat::SkillsCli, skills_cli_hash(&tree).to_string()),
            (HashedWhat::ClawHub, clawhub_fingerprint(&tree.hashes()).to_string()),
            (HashedWhat::GaiaContent, gaia_content_digest(&tree)),
            (HashedWhat::WellKnown, "sha256:aa".to_owned()),
        ] {
            assert_eq!(check(over, &right), None, "{over:?}");
            assert_eq!(check(over, &right.to_uppercase()), None, "{over:?}");
            assert_eq!(check(over, "00"), Some(right), "{over:?}");
        }
        for over in [HashedWhat::Archive, HashedWhat::GitTree, HashedWhat::Dependencies] {
            assert_eq!(check(over, "00"), None, "{over:?} is over something that is not here");
        }
    }
}
