//! The log-in of a company as an option of the studio.

use prowess_core::{Problem, ProblemKind};
use prowess_http::Authorities;
use prowess_server::oidc::{CompanyLogIn, CompanyLogInOptions, FetchRules, IdentityProvider};
use prowess_server::{Secret, Server};
use url::Url;

/// The page of the web app that the provider sends browsers back to.
const PAGE: &str = "sign-in";

/// How a company's users log in.
#[derive(Clone, Debug)]
pub struct CompanySettings {
    /// The name on the button.
    pub name: String,
    /// The address of the provider, as in the `iss` claim of its tokens.
    pub issuer: String,
    /// The name of this server at the provider.
    pub client_id: String,
    /// The password of this server at the provider, if it has one.
    pub client_secret: Option<Secret>,
    /// The address of this server as browsers know it.
    pub public_url: String,
    /// The domains of mail addresses that may log in; empty for all.
    pub mail_domains: Vec<String>,
}

/// Companies have their providers inside, too, and the administrator has named this one.
const FETCH: FetchRules = FetchRules {
    addresses: |_| true,
    allow_loopback_http: true,
    authorities: Authorities::System,
    use_proxy: true,
};

/// A company's log-in with its name.
pub(crate) struct Company {
    pub(crate) name: String,
    pub(crate) log_in: CompanyLogIn,
}

impl Company {
    pub(crate) fn open(server: &Server, settings: CompanySettings) -> Result<Self, Problem> {
        let invalid = |what: &str| {
            Problem::new("invalid-public-url", ProblemKind::InvalidInput, what.to_owned())
        };
        let provider = IdentityProvider::new(&settings.issuer, FETCH, server.clock().clone())?;
        let shown = &settings.public_url;
        let mut public: Url =
            shown.parse().map_err(|_| invalid(&format!("`{shown}` is not a URL")))?;
        if !public.path().ends_with('/') {
            public.set_path(&format!("{}/", public.path()));
        }
        let redirect_url = public.join(PAGE).map_err(|error| invalid(&error.to_string()))?;
        let options = CompanyLogInOptions {
            provider,
            client_id: settings.client_id,
            client_secret: settings.client_secret,
            redirect_url,
            create_users: true,
            mail_domains: settings.mail_domains,
        };
        Ok(Self { name: settings.name, log_in: CompanyLogIn::new(server.clone(), options) })
    }
}
