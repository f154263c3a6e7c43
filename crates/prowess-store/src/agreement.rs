//! The user's consent to install the skills of lock files that someone else may have written.
//!
//! A cloned project contains a lock file, but its author's consent is not the user's. So the user must consent to
//! everything that such a skill requires confirmation for, bound to its exact bytes, once on this machine.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use prowess_files::atomic::{self, WriteOptions};
use prowess_files::private;
use prowess_package::digest::Sha256Digest;
use prowess_package::name::SkillName;
use serde_json::{Value, json};

use crate::review::{InstallQuestion, Review};

/// The name of the file in the user's data folder.
pub const FILE_NAME: &str = "agreed.json";
/// The supported version of the format.
const VERSION: u64 = 1;
/// The maximum number of entries. The oldest ones are dropped, and the user is asked again.
const MOST: usize = 20_000;
/// The maximum size of the file in bytes.
const MOST_BYTES: u64 = 4 << 20;

/// The user's recorded consent.
#[derive(Debug)]
pub struct Agreements {
    path: PathBuf,
    read: OnceLock<BTreeSet<String>>,
}

/// The digest of one thing to consent to, for one skill with exact content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConsentItem(String);

impl ConsentItem {
    /// Everything that a user who has never seen the skill must consent to. The items are separate, so that a skill
    /// that requires less than before, for example because its signer is trusted by now, needs no new consent. An
    /// item is the digest of a message, so the user is asked again if the message is worded differently.
    pub(crate) fn of(name: &SkillName, integrity: &str, first_look: &Review) -> Vec<Self> {
        let refusals = first_look.refusals.iter().map(ToString::to_string);
        let mut capabilities = BTreeSet::new();
        let mut questions = Vec::new();
        for question in &first_look.questions {
            match question {
                InstallQuestion::Capability(capability) => {
                    capabilities.insert(capability.to_string());
                }
                other => questions.push(other.to_string()),
            }
        }
        let demands = refusals.chain(questions).map(|text| Self::digest(name, integrity, &text));
        let demands = std::iter::once(Self::to_be_there(name, integrity)).chain(demands);
        // There may be hundreds, but they only depend on the files, so one item covers all of them.
        let capabilities = (!capabilities.is_empty())
            .then(|| Self::to_have_capabilities(name, integrity, &capabilities));
        demands.chain(capabilities).collect()
    }

    /// The item for all capabilities of a skill with these files.
    pub(crate) fn to_have_capabilities(
        name: &SkillName,
        integrity: &str,
        lines: &BTreeSet<String>,
    ) -> Self {
        let mut text = "to have capabilities".to_owned();
        for line in lines {
            text.push('\n');
            text.push_str(line);
        }
        Self::digest(name, integrity, &text)
    }

    /// The item for installing a skill with these files at all.
    pub(crate) fn to_be_there(name: &SkillName, integrity: &str) -> Self {
        Self::digest(name, integrity, "to be there")
    }

    fn digest(name: &SkillName, integrity: &str, text: &str) -> Self {
        let text = format!("{name}\n{integrity}\n{text}\n");
        Self(Sha256Digest::of(text.as_bytes()).integrity())
    }
}

impl Agreements {
    /// The recorded consent in a user's data folder.
    pub fn in_folder(data: &Path) -> Self {
        Self { path: data.join(FILE_NAME), read: OnceLock::new() }
    }

    /// Whether the user has consented to install a skill with these files.
    pub fn cover_skill(&self, name: &SkillName, integrity: &str) -> bool {
        self.cover(&[ConsentItem::to_be_there(name, integrity)])
    }

    /// Whether the user has consented to all of the items.
    pub(crate) fn cover(&self, demands: &[ConsentItem]) -> bool {
        // If the file can't be read, the user is asked again; nothing else is affected.
        let agreed = || self.load().unwrap_or_default().into_iter().collect();
        let agreed = self.read.get_or_init(agreed);
        demands.iter().all(|demand| agreed.contains(&demand.0))
    }

    /// Records consent.
    pub(crate) fn add(&self, demands: &[ConsentItem]) -> io::Result<()> {
        if self.cover(demands) {
            return Ok(());
        }
        let mut agreed = self.load().unwrap_or_default();
        agreed.retain(|known| !demands.iter().any(|demand| demand.0 == *known));
        agreed.extend(demands.iter().map(|demand| demand.0.clone()));
        let surplus = agreed.len().saturating_sub(MOST);
        let text = format!("{:#}\n", json!({"version": VERSION, "agreed": &agreed[surplus..]}));
        private::private_folder(atomic::folder_of(&self.path))?;
        atomic::write(&self.path, text.as_bytes(), WriteOptions::PRIVATE)
    }

    fn load(&self) -> Option<Vec<String>> {
        // The file answers for the user, so it must be the user's own.
        let text = private::read_own_text(&self.path, MOST_BYTES).ok()??;
        let value: Value = serde_json::from_str(&text).ok()?;
        if value["version"] != VERSION {
            return None;
        }
        let agreed = value["agreed"].as_array()?;
        Some(agreed.iter().filter_map(Value::as_str).map(str::to_owned).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demands(integrity: &str, wants: &[&str]) -> Vec<ConsentItem> {
        let dangerous = |text: &&str| InstallQuestion::Dangerous((*text).to_owned());
        let questions = wants.iter().map(dangerous).collect();
        let name = "greet".parse().expect("a name");
        ConsentItem::of(&name, integrity, &Review { refusals: Vec::new(), questions })
    }

    #[test]
    fn an_agreement_is_about_these_bytes_and_these_demands() {
        let folder = tempfile::tempdir().expect("a folder");
        let agreed = Agreements::in_folder(folder.path());
        assert!(agreed.cover(&[]));
        assert!(!agreed.cover(&demands("sha256-a", &["shell"])));
        agreed.add(&demands("sha256-a", &["shell", "desktop"])).expect("it is written");
        // A later process.
        let later = Agreements::in_folder(folder.path());
        assert!(later.cover(&demands("sha256-a", &["shell", "desktop"])));
        assert!(later.cover(&demands("sha256-a", &["desktop"])), "less is covered");
        assert!(!later.cover(&demands("sha256-a", &["shell", "network"])));
        assert!(!later.cover(&demands("sha256-b", &["shell"])), "other bytes");
    }

    #[test]
    fn a_damaged_list_is_none() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join(FILE_NAME), "{").expect("it is written");
        let agreed = Agreements::in_folder(folder.path());
        assert!(!agreed.cover(&demands("sha256-a", &["shell"])));
        agreed.add(&demands("sha256-a", &["shell"])).expect("it is written anew");
        assert!(Agreements::in_folder(folder.path()).cover(&demands("sha256-a", &["shell"])));
    }
}
