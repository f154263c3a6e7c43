//! The registry: publishes, stores, searches and serves skills.
//!
//! One handle, [`Registry`], has all operations. The routes of the API, the pages and the adapters for other clients read a
//! request, call one of them and render its result. It knows nothing of engines or sandboxes: it never runs what it stores.

pub mod actor;
mod adapters;
mod api;
pub mod app;
mod audit;
pub mod backup;
pub mod blobs;
mod downloads;
pub mod error;
pub mod facts;
pub mod host;
pub mod manage;
mod mcp;
pub mod mirror;
pub mod names;
mod pages;
pub mod provenance;
pub mod publish;
pub mod query;
mod registry;
pub mod scan_report;
pub mod search;
pub mod serve;
pub mod settings;
pub mod signatures;
pub mod store;
mod time;
pub mod viewer;

pub use error::{Outcome, RegistryError};
pub use names::SkillId;
pub use registry::{OpenError, Registry, RegistryParts};
pub use settings::RegistrySettings;
pub use viewer::Viewer;
