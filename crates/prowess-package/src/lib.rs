//! The package format: the files of a skill, their names and digests, packing them, and unpacking
//! untrusted archives.
//!
//! ```
//! use prowess_package::digest::content_digest;
//! use prowess_package::limits::PackageLimits;
//! use prowess_package::pack::pack;
//! use prowess_package::tree::Tree;
//! use prowess_package::unpack::{UnpackOptions, unpack_to_memory};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let home = tempfile::tempdir()?;
//! # let folder = home.path().join("hello-world");
//! # std::fs::create_dir(&folder)?;
//! # std::fs::write(folder.join("SKILL.md"), "---\nname: hello-world\ndescription: Greets\n---\n\n# Hello\n")?;
//! // Pack a folder: the same files give the same bytes.
//! let tree = Tree::read(&folder, &PackageLimits::PACKAGE)?.tree;
//! let archive = pack(&tree);
//!
//! // Unpack it: a complete skill, or an error.
//! let options = UnpackOptions { limits: PackageLimits::PACKAGE, name: None };
//! let (unpacked, same) = unpack_to_memory(std::io::Cursor::new(archive), &options)?;
//! assert_eq!(unpacked.name.as_str(), "hello-world");
//! assert_eq!(content_digest(&unpacked.hashes), content_digest(&tree.hashes()));
//! assert_eq!(same, tree);
//! # Ok(())
//! # }
//! ```

pub mod content;
mod covered;
pub mod digest;
pub mod limits;
pub mod name;
pub mod pack;
pub mod path;
mod tar_format;
pub mod tree;
pub mod unpack;
