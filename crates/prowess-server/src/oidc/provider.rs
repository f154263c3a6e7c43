//! An issuer: its metadata, its keys, and the verification of its tokens.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use prowess_core::{Problem, ProblemKind};
use prowess_http::{AddressFilter, Authorities, ClientOptions, ProxySetting};
use serde_json::{Map, Value};
use tokio::sync::Mutex;
use url::{Host, Url};

use crate::clock::{SharedClock, Timestamp};

/// The largest document of an issuer.
const MOST_BYTES: usize = 512 * 1024;

/// The largest token that is looked at.
const MOST_TOKEN_BYTES: usize = 16 * 1024;

/// Keys of one issuer.
const MOST_KEYS: usize = 64;

/// The smallest RSA key, in bytes of its modulus: 2048 bits.
const SMALLEST_RSA_BYTES: usize = 256;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const TIMEOUT: Duration = Duration::from_secs(10);

/// How long documents of an issuer are used before they are fetched again.
const FRESH: Duration = Duration::from_hours(1);

/// How often a token with an unknown key may make us ask the issuer for new ones.
const SHORTEST_PAUSE: Duration = Duration::from_secs(30);

/// How much the clock of an issuer may differ from ours, in seconds.
const CLOCK_DIFFERENCE: i64 = 60;

/// What may be fetched.
#[derive(Clone, Copy, Debug)]
pub struct FetchRules {
    /// The addresses that the host of an issuer may have.
    pub addresses: fn(IpAddr) -> bool,
    /// Whether an issuer on the loopback address may do without TLS.
    pub allow_loopback_http: bool,
    /// The certificate authorities.
    pub authorities: Authorities,
    /// Whether the proxy of the environment is used.
    pub use_proxy: bool,
}

/// An issuer of identity tokens. Clones share its documents.
#[derive(Clone)]
pub struct IdentityProvider {
    shared: Arc<Shared>,
}

struct Shared {
    issuer: String,
    rules: FetchRules,
    client: reqwest::Client,
    clock: SharedClock,
    known: Mutex<KnownDocuments>,
}

#[derive(Default)]
struct KnownDocuments {
    documents: Option<Documents>,
    failed_at: Option<Timestamp>,
}

/// What an issuer publishes about itself.
#[derive(Clone)]
pub(super) struct Documents {
    pub(super) authorization_endpoint: Option<Url>,
    pub(super) token_endpoint: Option<Url>,
    keys: Vec<IssuerKey>,
    fetched_at: Timestamp,
}

#[derive(Clone)]
struct IssuerKey {
    id: Option<String>,
    algorithms: &'static [Algorithm],
    key: DecodingKey,
}

impl fmt::Debug for IdentityProvider {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "IdentityProvider({})", self.shared.issuer)
    }
}

impl IdentityProvider {
    /// An issuer by its address, as it is in the `iss` claim of its tokens. Nothing is fetched yet.
    pub fn new(
        issuer: &str,
        rules: FetchRules,
        clock: SharedClock,
    ) -> Result<IdentityProvider, Problem> {
        let url = Url::parse(issuer).ok();
        let is_plain = |url: &Url| url.query().is_none() && url.fragment().is_none();
        if !url.is_some_and(|url| is_plain(&url) && may_fetch(&url, rules)) {
            return Err(Problem::new(
                "invalid-issuer",
                ProblemKind::InvalidInput,
                format!("`{issuer}` is not the address of an issuer"),
            )
            .advice("expected `https://…`"));
        }
        let client = prowess_http::client(ClientOptions {
            authorities: rules.authorities,
            proxy: if rules.use_proxy { ProxySetting::Environment } else { ProxySetting::None },
            addresses: AddressFilter::Only(rules.addresses),
            connect_timeout: CONNECT_TIMEOUT,
        })
        .map_err(|error| Problem::new("no-http-client", ProblemKind::Failed, error.to_string()))?;
        let shared =
            Shared { issuer: issuer.to_owned(), rules, client, clock, known: Mutex::default() };
        Ok(IdentityProvider { shared: Arc::new(shared) })
    }

    /// The address of the issuer.
    pub fn issuer(&self) -> &str {
        &self.shared.issuer
    }

    /// Verifies a token that is meant for an audience: signature, issuer, audience and times. Returns its claims.
    pub(super) async fn verify(
        &self,
        token: &str,
        audience: &str,
    ) -> Result<Map<String, Value>, Problem> {
        let invalid = |reason: &str| {
            tracing::info!(issuer = self.issuer(), reason, "an identity token was refused");
            invalid_token()
        };
        if token.len() > MOST_TOKEN_BYTES {
            return Err(invalid("it is too large"));
        }
        let header = jsonwebtoken::decode_header(token).map_err(|_| invalid("it is no token"))?;
        let key = self
            .key(header.kid.as_deref(), header.alg)
            .await?
            .ok_or_else(|| invalid("its key is unknown"))?;
        let mut validation = Validation::new(header.alg);
        validation.set_issuer(&[self.issuer()]);
        validation.set_audience(&[audience]);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        // The library only knows the clock of the system.
        validation.validate_exp = false;
        let token = jsonwebtoken::decode::<Map<String, Value>>(token, &key, &validation)
            .map_err(|error| invalid(&format!("{:?}", error.kind())))?;
        let claims = token.claims;
        let now = self.shared.clock.now().seconds();
        let time = |claim: &str| claims.get(claim).and_then(Value::as_i64);
        let expires = time("exp").ok_or_else(|| invalid("it has no end"))?;
        if now >= expires.saturating_add(CLOCK_DIFFERENCE) {
            return Err(invalid("it has expired"));
        }
        let starts = time("nbf").max(time("iat")).unwrap_or(now);
        if starts > now.saturating_add(CLOCK_DIFFERENCE) {
            return Err(invalid("it is from the future"));
        }
        Ok(claims)
    }

    /// The key that a token names. Without a name there is only one that it can be.
    async fn key(
        &self,
        id: Option<&str>,
        algorithm: Algorithm,
    ) -> Result<Option<DecodingKey>, Problem> {
        let documents = self.documents(FRESH).await?;
        if let Some(key) = documents.key(id, algorithm) {
            return Ok(Some(key));
        }
        // The issuer may have a new key.
        Ok(self.documents(SHORTEST_PAUSE).await?.key(id, algorithm))
    }

    /// The documents, fetched again if they are older than that.
    pub(super) async fn documents(&self, age: Duration) -> Result<Documents, Problem> {
        // Held while fetching, so that many requests at the same time fetch once.
        let mut known = self.shared.known.lock().await;
        let now = self.shared.clock.now();
        if let Some(documents) = &known.documents
            && now.since(documents.fetched_at) < age
        {
            return Ok(documents.clone());
        }
        // While an issuer is away, requests do not wait for it one after the other.
        let has_just_failed = |failed_at: Timestamp| now.since(failed_at) < SHORTEST_PAUSE;
        let fetched = if known.failed_at.is_some_and(has_just_failed) {
            Err(self.unusable("it did not answer a moment ago"))
        } else {
            self.fetch_documents(now).await
        };
        match fetched {
            Ok(documents) => {
                known.failed_at = None;
                Ok(known.documents.insert(documents).clone())
            }
            Err(problem) => {
                if !known.failed_at.is_some_and(has_just_failed) {
                    known.failed_at = Some(now);
                }
                // What its known keys can verify goes on.
                known.documents.clone().ok_or(problem)
            }
        }
    }

    pub(super) async fn fresh_documents(&self) -> Result<Documents, Problem> {
        self.documents(FRESH).await
    }

    async fn fetch_documents(&self, now: Timestamp) -> Result<Documents, Problem> {
        let issuer = self.issuer();
        let address = format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'));
        let metadata = self.get_json(&address).await?;
        if metadata["issuer"].as_str() != Some(issuer) {
            return Err(self.unusable("its metadata are those of another issuer"));
        }
        let endpoint = |name: &str| {
            let url = metadata[name].as_str().and_then(|text| Url::parse(text).ok());
            url.filter(|url| may_fetch(url, self.shared.rules))
        };
        let keys = endpoint("jwks_uri").ok_or_else(|| self.unusable("it publishes no keys"))?;
        let keys = self.get_json(keys.as_str()).await?;
        let keys =
            keys["keys"].as_array().ok_or_else(|| self.unusable("its keys are not valid"))?;
        Ok(Documents {
            authorization_endpoint: endpoint("authorization_endpoint"),
            token_endpoint: endpoint("token_endpoint"),
            keys: keys.iter().take(MOST_KEYS).filter_map(usable_key).collect(),
            fetched_at: now,
        })
    }

    async fn get_json(&self, address: &str) -> Result<Value, Problem> {
        self.send_json(self.shared.client.get(address)).await
    }

    /// Sends a form and reads the JSON that comes back.
    pub(super) async fn post_form(
        &self,
        endpoint: &Url,
        form: &[(&str, &str)],
        basic: Option<(&str, &str)>,
    ) -> Result<Value, Problem> {
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let mut request = self
            .shared
            .client
            .post(endpoint.as_str())
            .header("content-type", "application/x-www-form-urlencoded")
            .body(body);
        if let Some((name, secret)) = basic {
            request = request.basic_auth(name, Some(secret));
        }
        self.send_json(request).await
    }

    async fn send_json(&self, request: reqwest::RequestBuilder) -> Result<Value, Problem> {
        let request = request.header("accept", "application/json").timeout(TIMEOUT);
        let mut response = request.send().await.map_err(|error| {
            // The words of the library, without the address and what may be in it.
            self.unusable(&prowess_http::HttpError::of(&error).to_string())
        })?;
        if !response.status().is_success() {
            return Err(self.unusable(&format!("it answered {}", response.status().as_u16())));
        }
        let mut body = Vec::new();
        while let Some(piece) = response
            .chunk()
            .await
            .map_err(|error| self.unusable(&prowess_http::HttpError::of(&error).to_string()))?
        {
            if body.len() + piece.len() > MOST_BYTES {
                return Err(self.unusable("its answer is too large"));
            }
            body.extend_from_slice(&piece);
        }
        serde_json::from_slice(&body).map_err(|_| self.unusable("its answer is not JSON"))
    }

    pub(super) fn unusable(&self, reason: &str) -> Problem {
        tracing::warn!(issuer = self.issuer(), reason, "an issuer can't be used");
        Problem::new(
            "issuer-unavailable",
            ProblemKind::Unavailable,
            format!("the identity provider `{}` can't be used: {reason}", self.issuer()),
        )
    }
}

impl Documents {
    fn key(&self, id: Option<&str>, algorithm: Algorithm) -> Option<DecodingKey> {
        let mut fitting = self.keys.iter().filter(|key| {
            key.algorithms.contains(&algorithm) && (id.is_none() || key.id.as_deref() == id)
        });
        let first = fitting.next()?;
        fitting.next().is_none().then(|| first.key.clone())
    }
}

/// A key that signs, with the algorithms that are accepted for it. Shared secrets are never accepted: whoever publishes them
/// has none.
fn usable_key(json: &Value) -> Option<IssuerKey> {
    let key: Jwk = serde_json::from_value(json.clone()).ok()?;
    if !matches!(key.common.public_key_use, None | Some(PublicKeyUse::Signature)) {
        return None;
    }
    let algorithms: &'static [Algorithm] = match &key.algorithm {
        AlgorithmParameters::RSA(parameters) => {
            let modulus = BASE64_URL_SAFE_NO_PAD.decode(&parameters.n).ok()?;
            let significant = modulus.iter().skip_while(|byte| **byte == 0).count();
            if significant < SMALLEST_RSA_BYTES {
                return None;
            }
            &[Algorithm::RS256, Algorithm::RS384, Algorithm::RS512, Algorithm::PS256]
        }
        AlgorithmParameters::EllipticCurve(parameters) => match parameters.curve {
            EllipticCurve::P256 => &[Algorithm::ES256],
            EllipticCurve::P384 => &[Algorithm::ES384],
            _ => return None,
        },
        AlgorithmParameters::OctetKeyPair(parameters) => match parameters.curve {
            EllipticCurve::Ed25519 => &[Algorithm::EdDSA],
            _ => return None,
        },
        _ => return None,
    };
    Some(IssuerKey {
        id: key.common.key_id.clone(),
        algorithms,
        key: DecodingKey::from_jwk(&key).ok()?,
    })
}

/// HTTPS, without a password in it. A host that is an address is checked here, because nothing resolves it.
fn may_fetch(url: &Url, rules: FetchRules) -> bool {
    let address = match url.host() {
        Some(Host::Ipv4(address)) => Some(IpAddr::from(address)),
        Some(Host::Ipv6(address)) => Some(IpAddr::from(address)),
        Some(Host::Domain(_)) => None,
        None => return false,
    };
    if address.is_some_and(|address| !(rules.addresses)(address)) {
        return false;
    }
    let is_loopback = address.is_some_and(|address| address.is_loopback());
    let is_secure = match url.scheme() {
        "https" => true,
        "http" => rules.allow_loopback_http && is_loopback,
        _ => false,
    };
    is_secure && url.username().is_empty() && url.password().is_none()
}

pub(super) fn invalid_token() -> Problem {
    Problem::new(
        "invalid-identity-token",
        ProblemKind::Unauthorized,
        "the identity token is not valid here",
    )
    .advice("check its issuer and its audience, and that it is new")
}
