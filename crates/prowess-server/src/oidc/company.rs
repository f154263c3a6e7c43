//! Log-in with a company's identity provider: the authorization code flow with PKCE (RFC 6749, RFC 7636, OpenID Connect Core).

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use http::header::{COOKIE, HeaderMap, HeaderValue};
use prowess_core::{Problem, ProblemKind};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use url::Url;

use super::provider::{IdentityProvider, invalid_token};
use crate::Server;
use crate::accounts::{MOST_USERNAME_BYTES, NewUser, Role, User, Username, user_by_id};
use crate::audit::AuditEntry;
use crate::database::{DatabaseError, values};
use crate::secret::{Secret, new_token, random, token_hash};

const STATE_PREFIX: &str = "prwo_";

/// How long somebody may take to log in at the provider.
const LIFETIME: Duration = Duration::from_mins(10);

/// The longest address to return to.
const MOST_RETURN_BYTES: usize = 1024;

/// Names that are tried for a new user before it is given up.
const MOST_NAMES: u32 = 50;

/// How a company's users log in.
#[derive(Clone, Debug)]
pub struct CompanyLogInOptions {
    /// The provider.
    pub provider: IdentityProvider,
    /// The name under which this server is registered there.
    pub client_id: String,
    /// The password of this server there, if it has one.
    pub client_secret: Option<Secret>,
    /// The address of ours that the provider sends users back to.
    pub redirect_url: Url,
    /// Whether somebody who logs in for the first time gets an account.
    pub create_users: bool,
    /// The domains of mail addresses that may log in; empty for all. The provider has to have verified the address.
    pub mail_domains: Vec<String>,
}

/// Log-in with a company's identity provider.
pub struct CompanyLogIn {
    server: Server,
    options: CompanyLogInOptions,
}

/// A log-in that continues at the provider.
#[derive(Debug)]
pub struct BegunLogIn {
    /// Where to send the browser.
    pub location: Url,
    /// The value of the `Set-Cookie` header that binds the log-in to this browser.
    pub set_cookie: HeaderValue,
}

/// A log-in that succeeded.
#[derive(Debug)]
pub struct FinishedLogIn {
    /// The user.
    pub user: User,
    /// Where the user wanted to go: a path of this server.
    pub return_to: String,
}

impl CompanyLogIn {
    /// Prepares log-ins with a provider.
    pub fn new(server: Server, options: CompanyLogInOptions) -> CompanyLogIn {
        CompanyLogIn { server, options }
    }

    /// Begins a log-in. Afterwards the user is to come to `return_to`; anything but a path of this server becomes `/`.
    pub async fn begin(&self, return_to: &str) -> Result<BegunLogIn, Problem> {
        let provider = &self.options.provider;
        let documents = provider.fresh_documents().await?;
        let mut location = documents
            .authorization_endpoint
            .ok_or_else(|| provider.unusable("it has no address for logging in"))?;
        let (state, hash) = new_token(STATE_PREFIX);
        let nonce = BASE64_URL_SAFE_NO_PAD.encode(random::<24>());
        let verifier = BASE64_URL_SAFE_NO_PAD.encode(random::<48>());
        let challenge = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
        location
            .query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.options.client_id)
            .append_pair("redirect_uri", self.options.redirect_url.as_str())
            .append_pair("scope", "openid profile email")
            .append_pair("state", state.expose())
            .append_pair("nonce", &nonce)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256");
        let return_to = local_path(return_to).to_owned();
        let issuer = provider.issuer().to_owned();
        let expires_at = self.server.clock().now() + LIFETIME;
        self.server
            .database()
            .write(move |transaction| {
                transaction.execute(
                    "INSERT INTO company_log_ins (state, provider, nonce, verifier, return_to, expires_at)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                    &values![hash, &issuer, &nonce, &verifier, &return_to, expires_at],
                )?;
                Ok::<_, DatabaseError>(())
            })
            .await?;
        Ok(BegunLogIn { location, set_cookie: self.set_cookie(state.expose(), LIFETIME) })
    }

    /// Finishes a log-in with what the provider has sent back. The headers have the cookie of the beginning, without which
    /// somebody could log a stranger in as themselves.
    pub async fn finish(
        &self,
        code: &str,
        state: &str,
        headers: &HeaderMap,
    ) -> Result<FinishedLogIn, Problem> {
        let hash = token_hash(STATE_PREFIX, state).ok_or_else(not_begun)?;
        if !has_cookie(headers, &self.cookie(), state) {
            return Err(not_begun());
        }
        let provider = &self.options.provider;
        let (issuer, now) = (provider.issuer().to_owned(), self.server.clock().now());
        // It is used up even if the rest fails.
        let begun = self
            .server
            .database()
            .write(move |transaction| {
                let row = transaction.query_optional(
                    "DELETE FROM company_log_ins WHERE state = ?1 AND provider = ?2 AND expires_at > ?3
                     RETURNING nonce, verifier, return_to",
                    &values![hash, &issuer, now],
                )?;
                let read = |row: crate::database::Row| {
                    Ok::<_, DatabaseError>((
                        row.get::<String>("nonce")?,
                        row.get::<String>("verifier")?,
                        row.get::<String>("return_to")?,
                    ))
                };
                row.map(read).transpose()
            })
            .await?;
        let (nonce, verifier, return_to) = begun.ok_or_else(not_begun)?;
        let token = self.exchange(code, &verifier).await?;
        let claims = provider.verify(&token, &self.options.client_id).await?;
        let given = claims.get("nonce").and_then(Value::as_str).unwrap_or_default();
        if !bool::from(given.as_bytes().ct_eq(nonce.as_bytes())) {
            return Err(invalid_token());
        }
        // With several audiences the token has to be made for us (OpenID Connect Core §3.1.3.7).
        let azp = claims.get("azp").and_then(Value::as_str);
        if azp.is_some_and(|azp| azp != self.options.client_id) {
            return Err(invalid_token());
        }
        self.check_mail(&claims)?;
        let user = self.user_of(&claims).await?;
        Ok(FinishedLogIn { user, return_to })
    }

    async fn exchange(&self, code: &str, verifier: &str) -> Result<String, Problem> {
        let CompanyLogInOptions { provider, client_id, client_secret, redirect_url, .. } =
            &self.options;
        let endpoint = provider.fresh_documents().await?.token_endpoint;
        let endpoint = endpoint.ok_or_else(|| provider.unusable("it has no address for tokens"))?;
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", redirect_url.as_str()),
            ("client_id", client_id),
            ("code_verifier", verifier),
        ];
        let basic = client_secret.as_ref().map(|secret| (client_id.as_str(), secret.expose()));
        let answer = provider.post_form(&endpoint, &form, basic).await?;
        let token = answer["id_token"].as_str().map(str::to_owned);
        token.ok_or_else(|| provider.unusable("it sent no identity token"))
    }

    fn check_mail(&self, claims: &Map<String, Value>) -> Result<(), Problem> {
        if self.options.mail_domains.is_empty() {
            return Ok(());
        }
        let mail = claims.get("email").and_then(Value::as_str).unwrap_or_default();
        let is_verified = claims.get("email_verified").and_then(Value::as_bool) == Some(true);
        let domain = mail.rsplit_once('@').map(|(_, domain)| domain).unwrap_or_default();
        let is_ours =
            self.options.mail_domains.iter().any(|ours| ours.eq_ignore_ascii_case(domain));
        if is_verified && is_ours {
            return Ok(());
        }
        Err(Problem::new(
            "mail-domain-refused",
            ProblemKind::Refused,
            "accounts with this mail address can't log in here",
        ))
    }

    /// The user with this identity. A user who already has a password is never taken over by one of the same name.
    async fn user_of(&self, claims: &Map<String, Value>) -> Result<User, Problem> {
        let issuer = self.options.provider.issuer().to_owned();
        let subject =
            claims.get("sub").and_then(Value::as_str).ok_or_else(invalid_token)?.to_owned();
        let known = self.known_user(&issuer, &subject).await?;
        match known {
            Some(user) if user.disabled => Err(Problem::new(
                "user-disabled",
                ProblemKind::Refused,
                "this account was disabled",
            )),
            Some(user) => Ok(user),
            None if self.options.create_users => {
                self.create_user(&issuer, &subject, &wanted_name(claims)).await
            }
            None => Err(Problem::new(
                "no-account",
                ProblemKind::Refused,
                "there is no account for you here",
            )
            .advice("ask an administrator for one")),
        }
    }

    async fn known_user(&self, issuer: &str, subject: &str) -> Result<Option<User>, DatabaseError> {
        let (issuer, subject) = (issuer.to_owned(), subject.to_owned());
        self.server
            .database()
            .read(move |connection| {
                let row = connection.query_optional(
                    "SELECT user_id FROM user_identities WHERE issuer = ?1 AND subject = ?2",
                    &values![&issuer, &subject],
                )?;
                match row {
                    Some(row) => user_by_id(connection, &row.get::<String>("user_id")?),
                    None => Ok(None),
                }
            })
            .await
    }

    async fn create_user(
        &self,
        issuer: &str,
        subject: &str,
        wanted: &str,
    ) -> Result<User, Problem> {
        for number in 1..=MOST_NAMES {
            let name = if number == 1 { wanted.to_owned() } else { format!("{wanted}-{number}") };
            let username: Username = name.parse().map_err(Problem::from)?;
            let new = NewUser { username, role: Role::User, password: None };
            let identity = (issuer.to_owned(), subject.to_owned());
            match self.server.accounts().add_user_with_identity(new, identity).await {
                Ok(user) => {
                    self.server
                        .audit()
                        .append(AuditEntry {
                            actor: user.id.clone(),
                            action: "user.create",
                            subject: user.id.clone(),
                            address: None,
                            details: json!({ "issuer": issuer, "username": user.username }),
                        })
                        .await?;
                    return Ok(user);
                }
                Err(problem) if problem.code == "username-taken" => {
                    // The same person may have logged in twice at the same time.
                    if let Some(user) = self.known_user(issuer, subject).await? {
                        return Ok(user);
                    }
                }
                Err(problem) => return Err(problem),
            }
        }
        Err(Problem::new(
            "username-taken",
            ProblemKind::Conflict,
            format!("all names like `{wanted}` are taken"),
        ))
    }

    /// Ties the log-in to the browser. It is sent back although the provider's page is another site: a link is followed.
    fn set_cookie(&self, state: &str, lifetime: Duration) -> HeaderValue {
        let secure = if self.server.is_https() { "; Secure" } else { "" };
        let text = format!(
            "{}={state}; Path=/; Max-Age={}; HttpOnly; SameSite=Lax{secure}",
            self.cookie(),
            lifetime.as_secs()
        );
        let mut value = HeaderValue::from_str(&text).expect("base32 and fixed words are valid");
        value.set_sensitive(true);
        value
    }

    fn cookie(&self) -> String {
        let prefix = if self.server.is_https() { "__Host-" } else { "" };
        format!("{prefix}{}-oidc", self.server.name())
    }
}

fn has_cookie(headers: &HeaderMap, name: &str, state: &str) -> bool {
    headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|header| header.to_str().ok())
        .flat_map(|header| header.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .any(|(cookie, value)| {
            cookie == name && bool::from(value.as_bytes().ct_eq(state.as_bytes()))
        })
}

/// A path of this server: not the address of another, which `//host` and `/\host` are to a browser.
fn local_path(path: &str) -> &str {
    let is_local = path.starts_with('/')
        && !path[1..].starts_with(['/', '\\'])
        && path.len() <= MOST_RETURN_BYTES
        && !path.chars().any(|letter| letter.is_control() || letter == '\\');
    if is_local { path } else { "/" }
}

/// A username from what the provider knows: the preferred name, or the mail address before its `@`.
fn wanted_name(claims: &Map<String, Value>) -> String {
    let text = ["preferred_username", "email", "name"]
        .into_iter()
        .find_map(|name| claims.get(name).and_then(Value::as_str))
        .unwrap_or_default();
    let text = text.split('@').next().unwrap_or_default();
    let mut name = String::new();
    for letter in text.chars() {
        match letter.to_ascii_lowercase() {
            letter @ ('a'..='z' | '0'..='9') => name.push(letter),
            _ if !name.is_empty() && !name.ends_with('-') => name.push('-'),
            _ => {}
        }
        // Room for a number.
        if name.len() >= MOST_USERNAME_BYTES - 4 {
            break;
        }
    }
    let name = name.trim_end_matches('-');
    if name.is_empty() { "user".to_owned() } else { name.to_owned() }
}

fn not_begun() -> Problem {
    Problem::new(
        "log-in-not-begun",
        ProblemKind::Unauthorized,
        "this log-in was not begun in this browser, or too long ago",
    )
    .advice("log in again")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{local_path, wanted_name};

    #[test]
    fn only_paths_of_this_server_are_returned_to() {
        assert_eq!(local_path("/skills?q=a#b"), "/skills?q=a#b");
        for elsewhere in [
            "",
            "https://evil.example",
            "//evil.example",
            "/\\evil.example",
            "/a\\b",
            "/a\nb",
            "javascript:x",
        ] {
            assert_eq!(local_path(elsewhere), "/", "{elsewhere}");
        }
        assert_eq!(local_path(&format!("/{}", "x".repeat(1024))), "/");
    }

    #[test]
    fn names_are_made_of_what_the_provider_knows() {
        let name = |claims: Value| wanted_name(claims.as_object().expect("an object"));
        assert_eq!(name(json!({ "preferred_username": "Ada.Lovelace" })), "ada-lovelace");
        assert_eq!(name(json!({ "email": "ada@acme.example" })), "ada");
        assert_eq!(name(json!({ "preferred_username": "-- ä --" })), "user");
        assert_eq!(name(json!({})), "user");
        assert!(name(json!({ "name": "x".repeat(500) })).len() <= 60);
    }
}
