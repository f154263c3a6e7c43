//! Skills by reference, with how far each is trusted: one owner of that decision for every interface.
//!
//! ```text
//! "ns/name@^1/tool" ──► locate ──► SkillFile ──► load ──► LoadedSkill, with its trust
//! "owner/repository" ──► find ──► fetch ─────┘
//! ```
//!
//! A [`Library`] is built once per process or per user from a [`prowess_engine::World`] that is handed in. It knows no
//! terminal and prints nothing; failures are [`prowess_core::Problem`]s.

mod cache;
mod capabilities;
mod check_settings;
mod command_settings;
mod engine;
mod fetch;
mod file;
mod folders;
mod hooks;
mod installed;
mod library;
mod locate;
pub mod migration;
mod models;
mod packaged_files;
pub mod packages;
mod scan;
mod scan_tools;
mod second_opinion;
mod selection;
mod servers;

pub use capabilities::{capabilities_in, capabilities_json};
pub use check_settings::{CHECK_SETTINGS, CheckSettings};
pub use engine::engine;
pub use fetch::{Fetched, FetchedSkill, SkillChoice, TemporaryFolder};
pub use file::{
    MANIFESTS, MOST_BYTES, SkillFile, TOOL_PACK, TOOL_PACK_ENDING, directory_name, is_archive,
    is_main_name, main_file, path_problem, read, shown,
};
pub use library::{Library, Statistics};
pub use locate::{Found, Located, Other, needs_fetch};
pub use models::ModelCache;
pub use packaged_files::PackagedFiles;
pub use scan::{ReadFile, ScanBasis, ScannedSkill, scan_path, scan_path_with, skill_folders};
pub use scan_tools::run_scan_tools;
pub use second_opinion::{Opinion, second_opinion};
pub use selection::{LeftOutSkill, SkillSelection};
pub use servers::ServerConversation;
