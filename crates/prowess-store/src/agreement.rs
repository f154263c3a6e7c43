//! What the user has agreed to about skills in lock files that somebody else may have written.
//!
//! A project that is cloned brings a lock file along, and its author's yes is not the user's. So every demand of such a
//! skill, bound to its exact bytes, must have been agreed to on this machine; then nobody is asked again.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use prowess_files::atomic::{self, WriteOptions};
use prowess_files::private;
use prowess_package::digest::Sha256Digest;
use prowess_package::name::SkillName;
use serde_json::{Value, json};

use crate::review::{Question, Review};

/// The name of the file in the user's own data folder.
pub const FILE_NAME: &str = "agreed.json";
/// The version that is read and written.
const VERSION: u64 = 1;
/// The oldest ones are forgotten, and asked about again.
const MOST: usize = 20_000;
/// A list with more bytes than this is none.
const MOST_BYTES: u64 = 4 << 20;

/// The user's agreements.
#[derive(Debug)]
pub struct Agreements {
    path: PathBuf,
    read: OnceLock<BTreeSet<String>>,
}

/// One thing to agree to about one skill with exactly these files, as a digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConsentItem(String);

impl ConsentItem {
    /// Everything that somebody has to agree to who sees a skill for the first time. One by one, so that a skill that
    /// demands less than it did, because its signer is trusted by now, asks nothing.
    pub(crate) fn of(name: &SkillName, integrity: &str, first_look: &Review) -> Vec<Self> {
        let refusals = first_look.refusals.iter().map(ToString::to_string);
        let mut capabilities = BTreeSet::new();
        let mut questions = Vec::new();
        for question in &first_look.questions {
            match question {
                Question::Capability(capability) => {
                    capabilities.insert(capability.to_string());
                }
                other => questions.push(other.to_string()),
            }
        }
        let demands = refusals.chain(questions).map(|text| Self::digest(name, integrity, &text));
        let demands = std::iter::once(Self::to_be_there(name, integrity)).chain(demands);
        // A skill may have hundreds, which depend on its files and on nothing else.
        let capabilities = (!capabilities.is_empty())
            .then(|| Self::to_have_capabilities(name, integrity, &capabilities));
        demands.chain(capabilities).collect()
    }

    /// That a skill with these files can make an agent do all of this.
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

    /// That a skill with these files is installed at all.
    pub(crate) fn to_be_there(name: &SkillName, integrity: &str) -> Self {
        Self::digest(name, integrity, "to be there")
    }

    fn digest(name: &SkillName, integrity: &str, text: &str) -> Self {
        let text = format!("{name}\n{integrity}\n{text}\n");
        Self(Sha256Digest::of(text.as_bytes()).integrity())
    }
}

impl Agreements {
    /// The agreements in a user's data folder.
    pub fn in_folder(data: &Path) -> Self {
        Self { path: data.join(FILE_NAME), read: OnceLock::new() }
    }

    /// Whether the user has agreed that a skill with these files is installed.
    pub fn cover_skill(&self, name: &SkillName, integrity: &str) -> bool {
        self.cover(&[ConsentItem::to_be_there(name, integrity)])
    }

    /// Whether all of it was agreed to.
    pub(crate) fn cover(&self, demands: &[ConsentItem]) -> bool {
        // A list that can't be read costs a question and nothing else.
        let agreed = || self.load().unwrap_or_default().into_iter().collect();
        let agreed = self.read.get_or_init(agreed);
        demands.iter().all(|demand| agreed.contains(&demand.0))
    }

    /// Remembers what was agreed to.
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
        // Whoever writes this file answers for the user.
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
        let dangerous = |text: &&str| Question::Dangerous((*text).to_owned());
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
        // Another process, another day.
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
