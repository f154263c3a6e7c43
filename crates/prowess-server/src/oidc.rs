//! OpenID Connect: log-in with a company's identity provider, and the identities of CI systems.
//!
//! Only issuers that the administrator has configured are ever asked. Their documents are fetched over HTTPS, bounded in size
//! and time, and without following redirects.

mod ci;
mod company;
mod provider;

pub use ci::{CiIdentities, CiIdentity, TrustedPublisher};
pub use company::{BegunLogIn, CompanyLogIn, CompanyLogInOptions, FinishedLogIn};
pub use provider::{FetchRules, IdentityProvider};
