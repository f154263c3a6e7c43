//! Skills on disk: their sources, atomic changes of a store, and the folders in which agents look for them.
//!
//! ```
//! use prowess_package::limits::PackageLimits;
//! use prowess_package::pack::pack;
//! use prowess_store::store::Store;
//! use prowess_store::commit::StoreChanges;
//! use prowess_package::tree::Tree;
//! use prowess_package::unpack::UnpackOptions;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let home = tempfile::tempdir()?;
//! # let folder = home.path().join("hello-world");
//! # std::fs::create_dir(&folder)?;
//! # std::fs::write(folder.join("SKILL.md"), "---\nname: hello-world\ndescription: Greets\n---\n\n# Hello\n")?;
//! // Pack a folder: the same files always give the same bytes.
//! let archive = pack(&Tree::read(&folder, &PackageLimits::PACKAGE)?.tree);
//!
//! // Install the archive into a store, completely or not at all.
//! let store = Store::open(&home.path().join("store"))?;
//! let mut stage = store.stage()?;
//! let options = UnpackOptions { limits: PackageLimits::PACKAGE, name: None };
//! let skill = stage.unpack(std::io::Cursor::new(archive), &options)?;
//! let name = skill.name.clone();
//! store.lock()?.commit(stage, &StoreChanges { install: vec![skill], remove: vec![], lock_file: None })?;
//! assert_eq!(store.installed()?, [name]);
//! # Ok(())
//! # }
//! ```
//!
//! Programs that embed the crate can install by name and range, list and load skills (GAIA §6.2). They provide the source:
//! here a local folder is the registry; `prowess-sources` implements those on the network.
//!
//! ```
//! use prowess_resolve::{Package, Release};
//! use prowess_store::install::Installer;
//! use prowess_package::limits::PackageLimits;
//! use prowess_package::name::SkillName;
//! use prowess_store::reference::NamedReference;
//! use prowess_store::review::InstallPermissions;
//! use prowess_store::suspicion::AllowedRules;
//! use prowess_store::source::{Catalogue, Local, Offer, Pinned, SourceError};
//! use prowess_store::store::Store;
//! use prowess_trust::{Timestamp, TrustStore};
//!
//! /// The versions of one skill, each in a folder of that name.
//! struct FolderRegistry(std::path::PathBuf);
//!
//! impl Catalogue for FolderRegistry {
//!     fn package(&self, named: &NamedReference) -> Result<Package, SourceError> {
//!         Ok(Package::new("folder", named.name.as_str()))
//!     }
//!     fn releases(&self, _: &Package) -> Result<Vec<Release>, SourceError> {
//!         Ok(["1.0.0", "1.2.0", "2.0.0"].map(|it| Release::new(it.parse().unwrap())).into())
//!     }
//!     fn offer(&self, package: &Package, version: &semver::Version) -> Result<Offer, SourceError> {
//!         let path = self.0.join(version.to_string()).display().to_string();
//!         let pinned = Pinned::Folder { path };
//!         Ok(Offer { name: package.name().to_owned(), pinned, owner: None, published: None })
//!     }
//!     fn revoked(&self, _: &SkillName, _: &Pinned) -> Result<Option<String>, SourceError> {
//!         Ok(None)
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let home = tempfile::tempdir()?;
//! # for version in ["1.0.0", "1.2.0", "2.0.0"] {
//! #     std::fs::create_dir(home.path().join(version))?;
//! #     let text = format!("---\nname: greet\nversion: {version}\ndescription: Greets\n---\n\n# Greet\n");
//! #     std::fs::write(home.path().join(version).join("SKILL.md"), text)?;
//! # }
//! # let folder = home.path().to_owned();
//! let store = Store::open(&folder.join("store"))?;
//! let source = Local { current_folder: folder.clone(), home: None, limits: PackageLimits::PACKAGE };
//! let installer = Installer {
//!     store: &store,
//!     source: &source,
//!     catalogue: Some(&FolderRegistry(folder)),
//!     trust: &TrustStore::empty(),
//!     now: Timestamp::from_unix(1_790_000_000),
//!     // The skills are not signed, and this program accepts experimental skills.
//!     permissions: InstallPermissions {
//!         experimental: true,
//!         unsigned: false,
//!         replace_owner: false,
//!         blocked: AllowedRules::NONE,
//!     },
//!     min_age: None,
//!     known_bad: &prowess_scan::KnownBad::default(),
//! };
//! installer.install("greet", ">=1.0.0,<2.0.0", |_plan| false)?;
//! let installed = installer.list_installed()?;
//! assert_eq!(installed[0].version.to_string(), "1.2.0");
//! // `prowess_library::Library` reads installed skills and determines their trust.
//! # Ok(())
//! # }
//! ```

pub mod agents;
pub mod agreement;
pub mod capabilities;
pub mod commit;
pub mod composition;
pub mod conflict;
pub mod declared_version;
pub mod difference;
pub mod discovery;
pub mod drift;
pub mod import;
pub mod install;
mod journal;
pub mod known_bad;
pub mod lock;
pub mod mcp_settings;
pub mod metadata;
pub mod placement;
pub mod places;
pub mod project_root;
pub mod reference;
pub mod review;
pub mod source;
pub mod stage;
pub mod store;
pub mod suspicion;
pub mod which;
