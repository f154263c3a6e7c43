//! Skills on disk: the package format, its digests, unpacking what strangers packed, and changes that happen whole or not
//! at all.
//!
//! ```
//! use prowess_store::limits::Limits;
//! use prowess_store::pack::pack;
//! use prowess_store::store::Store;
//! use prowess_store::switch::Changes;
//! use prowess_store::tree::Tree;
//! use prowess_store::unpack::UnpackOptions;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let home = tempfile::tempdir()?;
//! # let folder = home.path().join("hello-world");
//! # std::fs::create_dir(&folder)?;
//! # std::fs::write(folder.join("SKILL.md"), "---\nname: hello-world\ndescription: Greets\n---\n\n# Hello\n")?;
//! // A folder to an archive: the same files give the same bytes.
//! let archive = pack(&Tree::read(&folder, &Limits::PACKAGE)?.tree);
//!
//! // The archive to a store, whole or not at all.
//! let store = Store::open(&home.path().join("store"))?;
//! let mut stage = store.stage()?;
//! let options = UnpackOptions { limits: Limits::PACKAGE, name: None };
//! let skill = stage.unpack(std::io::Cursor::new(archive), &options)?;
//! let name = skill.name.clone();
//! store.lock()?.commit(stage, &Changes { install: vec![skill], remove: vec![], lock_file: None })?;
//! assert_eq!(store.installed()?, [name]);
//! # Ok(())
//! # }
//! ```

pub mod agents;
pub mod composition;
pub mod content;
pub mod described;
pub mod digest;
pub mod discovery;
pub mod drift;
#[cfg(feature = "faults")]
pub mod faults;
mod folder;
pub mod import;
pub mod install;
mod journal;
pub mod limits;
pub mod lock;
pub mod name;
pub mod pack;
pub mod path;
pub mod placement;
pub mod places;
pub mod reference;
pub mod review;
pub mod source;
pub mod stage;
pub mod store;
pub mod switch;
mod tar_format;
pub mod tree;
pub mod unpack;
pub mod which;
