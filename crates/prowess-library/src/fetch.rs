//! Skills that are read without being installed: fetched into a private temporary folder, which goes away with them.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use prowess_core::{Problem, ProblemKind, Remedy, system_reason};
use prowess_files::folder::Folder;
use prowess_package::name::SkillName;
use prowess_package::tree::Tree;
use prowess_policy::Tier;
use prowess_store::install::InstallError;
use prowess_store::reference::Reference;
use prowess_store::source::{FetchedFiles, Offer, Pinned, SourceError, covered_note};
use tempfile::TempDir;

use crate::file::SkillFile;
use crate::library::Library;
use crate::packages::{HeldSkill, SkillSources};

/// What the names of temporary folders start with.
const PREFIX: &str = "prowess-skill-";
/// The folder of a skill whose own name can't be one.
const NAMELESS: &str = "skill";

/// Which skills of a source with several are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkillChoice {
    /// The only one; several are a problem that lists them.
    OnlyOne,
    /// The one of this name.
    Named(String),
    /// All of them.
    All,
}

/// Skills that were fetched.
#[derive(Debug)]
pub struct Fetched {
    /// The skills, in the order of their names.
    pub skills: Vec<FetchedSkill>,
    /// What the user should know about the source.
    pub notes: Vec<String>,
}

/// A skill that was fetched and is not installed.
#[derive(Debug)]
pub struct FetchedSkill {
    /// What it is called where it comes from.
    pub name: String,
    /// The reference, as the user wrote it.
    pub reference: String,
    /// Where exactly it comes from.
    pub pinned: Pinned,
    /// Its folder: a temporary one, or that of a skill on this machine.
    pub directory: PathBuf,
    /// Its signatures, compared with its files.
    pub held: HeldSkill,
    /// What the user should know about its files.
    pub notes: Vec<String>,
    temporary: Option<Arc<TemporaryFolder>>,
}

/// A private temporary folder, which is removed when this is dropped.
#[derive(Debug)]
pub struct TemporaryFolder(TempDir);

impl TemporaryFolder {
    /// Its path.
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

impl FetchedSkill {
    /// Its main file. The temporary folder stays as long as this or the file is there.
    pub fn file(&self) -> Result<SkillFile, Problem> {
        let mut file = SkillFile::at(&self.directory)?;
        if self.temporary.is_some() {
            file.shown.clone_from(&self.reference);
        }
        file.temporary.clone_from(&self.temporary);
        Ok(file)
    }

    /// The temporary folder, if it has one.
    pub fn temporary(&self) -> Option<&Path> {
        self.temporary.as_ref().map(|folder| folder.path())
    }
}

impl Library {
    /// Fetches skills to be read. Nothing is installed, nothing is run, and nothing stays but what sources cache.
    ///
    /// `here` is why the reference is no skill on this machine, which [`Library::find`] says: it is the answer if the
    /// reference means nothing else either.
    pub fn fetch(
        &self,
        text: &str,
        choice: &SkillChoice,
        sources: &SkillSources<'_>,
        here: Option<Problem>,
    ) -> Result<Fetched, Problem> {
        let reference = match self.packages().reference(text, sources.catalogue.is_some()) {
            Ok(reference) => reference,
            Err(problem) => return Err(here.unwrap_or(problem)),
        };
        // Without a registry a name means nothing but what is here.
        if let (Reference::Named(_), None, Some(here)) = (&reference, sources.catalogue, &here) {
            return Err(here.clone());
        }
        let offers = match (sources.source.offers(&reference), here) {
            (Ok(offers), _) => offers,
            (Err(_), Some(here)) if matches!(reference, Reference::Path(_)) => return Err(here),
            (Err(error), _) => return Err(error.problem()),
        };
        let chosen = chosen(offers.skills, choice, &reference)?;
        let mut folder = None;
        let mut skills = Vec::new();
        for offer in chosen {
            skills.push(self.fetch_one(offer, text, sources, &mut folder)?);
        }
        Ok(Fetched { skills, notes: offers.notes })
    }

    fn fetch_one(
        &self,
        offer: Offer,
        text: &str,
        sources: &SkillSources<'_>,
        folder: &mut Option<(Arc<TemporaryFolder>, usize)>,
    ) -> Result<FetchedSkill, Problem> {
        let failed = |error: SourceError| error.problem();
        let FetchedFiles { tree, mut notes } =
            sources.source.fetch(&offer.name, &offer.pinned).map_err(failed)?;
        notes.extend(covered_note(&offer.name, &tree));
        let held = self.packages().held(&offer.name, text, &tree, &offer.pinned)?;
        if let Pinned::Folder { path } = &offer.pinned {
            let directory = PathBuf::from(path);
            return Ok(FetchedSkill {
                name: offer.name,
                reference: text.to_owned(),
                pinned: offer.pinned,
                directory,
                held,
                notes,
                temporary: None,
            });
        }
        let (temporary, count) = match folder {
            Some((folder, count)) => (Arc::clone(folder), count),
            None => {
                let made = tempfile::Builder::new().prefix(PREFIX).tempdir();
                let made = made.map_err(|error| cannot_write(&error))?;
                let (made, count) = folder.insert((Arc::new(TemporaryFolder(made)), 0));
                (Arc::clone(made), count)
            }
        };
        *count += 1;
        let directory = temporary.path().join(count.to_string()).join(folder_name(&offer));
        written(&tree, &directory).map_err(|error| cannot_write(&error))?;
        let directory = directory.canonicalize().map_err(|error| cannot_write(&error))?;
        self.fetched
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(directory.clone(), held.attestation.tier);
        Ok(FetchedSkill {
            name: offer.name,
            reference: text.to_owned(),
            pinned: offer.pinned,
            directory,
            held,
            notes,
            temporary: Some(temporary),
        })
    }

    /// The tier of a skill that was fetched into a folder; nothing for other folders.
    pub(crate) fn fetched_tier(&self, directory: &Path) -> Option<Tier> {
        let fetched = self.fetched.lock().unwrap_or_else(PoisonError::into_inner);
        fetched.get(directory).copied()
    }
}

fn chosen(
    offers: Vec<Offer>,
    choice: &SkillChoice,
    reference: &Reference,
) -> Result<Vec<Offer>, Problem> {
    let names = || offers.iter().map(|offer| offer.name.clone()).collect::<Vec<String>>();
    match choice {
        SkillChoice::All => Ok(offers),
        SkillChoice::OnlyOne if offers.len() == 1 => Ok(offers),
        SkillChoice::OnlyOne => {
            let error = InstallError::Several { reference: reference.to_string(), names: names() };
            let remedies = vec![Remedy::ChooseSkill("NAME".to_owned())];
            Err(Problem { remedies, ..error.problem() })
        }
        SkillChoice::Named(wanted) => {
            let names = names();
            let found = offers.into_iter().find(|offer| offer.name == *wanted);
            let missing = || InstallError::NoneOfThem {
                reference: reference.to_string(),
                wanted: wanted.clone(),
                names,
            };
            Ok(vec![found.ok_or_else(|| missing().problem())?])
        }
    }
}

/// The name of a skill's folder: what it is called in the repository, or the skill's own name.
fn folder_name(offer: &Offer) -> String {
    if let Pinned::Git { folder: Some(folder), .. } = &offer.pinned {
        return folder.file_name().to_owned();
    }
    match offer.name.parse::<SkillName>() {
        Ok(name) => name.to_string(),
        Err(_) => NAMELESS.to_owned(),
    }
}

fn written(tree: &Tree, directory: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(directory)?;
    tree.write_into(Folder::open(directory)?)
}

fn cannot_write(error: &std::io::Error) -> Problem {
    let message = format!("cannot write a temporary folder: {}", system_reason(error));
    Problem::new("temporary-folder-error", ProblemKind::Failed, message)
}
