//! Skills by reference, with how far each is trusted: one owner of that decision for every interface.
//!
//! ```text
//! "ns/name@^1/tool" ──► locate ──► SkillFile ──► load ──► LoadedSkill, with its trust
//! ```
//!
//! A [`Library`] is built once per process or per user from a [`prowess_engine::World`] that is handed in. It knows no
//! terminal and prints nothing; failures are [`prowess_core::Problem`]s.

mod cache;
mod check_settings;
mod file;
mod folders;
mod installed;
mod library;
mod locate;
mod models;
mod packaged_files;
pub mod packages;

pub use check_settings::{CHECK_SETTINGS, CheckSettings};
pub use file::{
    MANIFESTS, MOST_BYTES, SkillFile, TOOL_PACK, TOOL_PACK_ENDING, directory_name, is_main_name,
    main_file, path_problem, read, shown,
};
pub use library::{Library, Statistics};
pub use locate::{Located, Other};
pub use models::ModelCache;
pub use packaged_files::PackagedFiles;
