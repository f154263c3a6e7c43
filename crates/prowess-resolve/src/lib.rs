//! Dependency resolution: which versions of which skills to install, in which order, or why there
//! is no solution.
//!
//! Pure: requests, locked versions and an [`ReleaseIndex`] in, a [`Resolution`] or an explanation out.
//! Nothing here reads a file, the clock or the network, and the same input gives the same result on
//! every machine.
//!
//! ```
//! use prowess_resolve::{
//!     Dependency, ResolveLimits, MemoryIndex, ResolveOptions, Package, Range, Release, ResolveRequest, resolve,
//! };
//!
//! let registry = |name: &str| Package::new("registry.example", name);
//! let mut index = MemoryIndex::default();
//! index.add(registry("auth"), Release::new("1.4.0".parse()?));
//! let needs_auth = Dependency { package: registry("auth"), range: Range::parse("^1.0.0")? };
//! index.add(registry("mail"), Release::new("2.0.0".parse()?).needs(needs_auth));
//!
//! let request = ResolveRequest {
//!     package: registry("mail"),
//!     range: Range::any(),
//!     origin: "the command line".to_owned(),
//!     allow_experimental: false,
//! };
//! let options = ResolveOptions { locked: &[], published_until: None, limits: ResolveLimits::USUAL };
//! let resolution = resolve(&index, &[request], &options)?;
//! let order: Vec<String> = resolution.skills.iter().map(|skill| skill.package.name().to_owned()).collect();
//! assert_eq!(order, ["auth", "mail"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod index;
mod order;
mod package;
mod range;
mod report;
mod resolve;
mod solver;
mod work;

pub use error::{Conflict, ResolveError};
pub use index::{Dependency, MemoryIndex, Release, ReleaseIndex};
pub use package::Package;
pub use range::{Range, comparable};
pub use resolve::{Resolution, ResolveLimits, ResolveOptions, ResolveRequest, Resolved, resolve};
