//! The identity of a workflow run in a CI system, for publishing without a stored token.

use prowess_core::{Problem, ProblemKind};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::provider::{IdentityProvider, invalid_token};
use crate::clock::{SharedClock, Timestamp};
use crate::database::{Database, DatabaseError, values};

/// The longest life of a token that is accepted: it has to be remembered for that long.
const MOST_LIFETIME_SECONDS: i64 = 24 * 60 * 60;

/// How long a token is remembered after it has expired, for clocks that differ.
const REMEMBERED_SECONDS: i64 = 10 * 60;

/// The longest identifier of a token.
const MOST_JTI_BYTES: usize = 256;

/// What an identity token says about the run that has it.
#[derive(Clone, Debug, PartialEq)]
pub struct CiIdentity {
    /// The issuer.
    pub issuer: String,
    /// The subject, in the issuer's form.
    pub subject: String,
    /// The repository: `owner/name`.
    pub repository: Option<String>,
    /// The number of the repository's owner, which nobody gets again after a name was given up.
    pub owner_id: Option<String>,
    /// The file of the workflow in the repository: `.github/workflows/release.yml`.
    pub workflow: Option<String>,
    /// The branch or tag of the run: `refs/tags/v1.0.0`.
    pub reference: Option<String>,
    /// The deployment environment of the run.
    pub environment: Option<String>,
    /// The commit.
    pub commit: Option<String>,
    /// All claims.
    pub claims: Map<String, Value>,
}

/// A run that may publish: what its identity has to say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustedPublisher {
    /// The issuer.
    pub issuer: String,
    /// The repository: `owner/name`, without regard to case.
    pub repository: String,
    /// The number of the repository's owner, noted at the first use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_id: Option<String>,
    /// The file of the workflow: `release.yml`, or its path in the repository.
    pub workflow: String,
    /// The environment, if the run has to have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<String>,
}

impl TrustedPublisher {
    /// Whether it is the identity of such a run.
    pub fn matches(&self, identity: &CiIdentity) -> bool {
        let is_repository = |repository: &String| repository.eq_ignore_ascii_case(&self.repository);
        let is_workflow = |workflow: &String| {
            workflow == &self.workflow
                || (!self.workflow.contains('/')
                    && workflow.rsplit('/').next() == Some(self.workflow.as_str()))
        };
        self.issuer == identity.issuer
            && identity.repository.as_ref().is_some_and(is_repository)
            && identity.workflow.as_ref().is_some_and(is_workflow)
            && (self.owner_id.is_none() || self.owner_id == identity.owner_id)
            && (self.environment.is_none() || self.environment == identity.environment)
    }
}

/// Verifies identity tokens of the issuers that the administrator allows.
pub struct CiIdentities {
    database: Database,
    clock: SharedClock,
    audience: String,
    issuers: Vec<IdentityProvider>,
}

impl CiIdentities {
    /// Tokens have to be made for an audience: the address of this server, so that no token for another server counts here.
    pub fn new(
        database: Database,
        clock: SharedClock,
        audience: &str,
        issuers: Vec<IdentityProvider>,
    ) -> CiIdentities {
        CiIdentities { database, clock, audience: audience.to_owned(), issuers }
    }

    /// The audience that a workflow has to ask for.
    pub fn audience(&self) -> &str {
        &self.audience
    }

    /// Verifies a token. It is accepted once, on all nodes.
    pub async fn verify(&self, token: &str) -> Result<CiIdentity, Problem> {
        let issuer = unverified_issuer(token).ok_or_else(invalid_token)?;
        // Only issuers on the list are asked for their keys.
        let provider = self
            .issuers
            .iter()
            .find(|provider| provider.issuer() == issuer)
            .ok_or_else(invalid_token)?;
        let claims = provider.verify(token, &self.audience).await?;
        self.use_up(provider.issuer(), &claims).await?;
        Ok(identity(provider.issuer(), claims))
    }

    async fn use_up(&self, issuer: &str, claims: &Map<String, Value>) -> Result<(), Problem> {
        let jti = text(claims, "jti").filter(|jti| (1..=MOST_JTI_BYTES).contains(&jti.len()));
        // A token without an identifier could be used again and again.
        let jti = jti.ok_or_else(invalid_token)?;
        let expires = claims.get("exp").and_then(Value::as_i64).ok_or_else(invalid_token)?;
        if expires > self.clock.now().seconds() + MOST_LIFETIME_SECONDS {
            return Err(invalid_token());
        }
        let (issuer, until) =
            (issuer.to_owned(), Timestamp::from_seconds(expires + REMEMBERED_SECONDS));
        let used = self
            .database
            .write(move |transaction| {
                transaction.execute(
                    "INSERT INTO used_identity_tokens (issuer, jti, expires_at) VALUES (?1, ?2, ?3)
                     ON CONFLICT (issuer, jti) DO NOTHING",
                    &values![&issuer, &jti, until],
                )
            })
            .await
            .map_err(|error: DatabaseError| Problem::from(error))?;
        if used == 1 {
            return Ok(());
        }
        Err(Problem::new(
            "used-identity-token",
            ProblemKind::Unauthorized,
            "the identity token was used before",
        )
        .advice("ask the CI system for a new one"))
    }
}

/// The issuer that a token claims to be from, to choose the keys with.
fn unverified_issuer(token: &str) -> Option<String> {
    use base64::Engine as _;
    let claims = token.split('.').nth(1).filter(|part| part.len() <= 16 * 1024)?;
    let claims = base64::prelude::BASE64_URL_SAFE_NO_PAD.decode(claims).ok()?;
    let claims: Value = serde_json::from_slice(&claims).ok()?;
    claims["iss"].as_str().map(str::to_owned)
}

fn text(claims: &Map<String, Value>, name: &str) -> Option<String> {
    match claims.get(name)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Reads the claims under the names of GitHub Actions, and under those of GitLab where they differ.
fn identity(issuer: &str, claims: Map<String, Value>) -> CiIdentity {
    let first = |names: &[&str]| names.iter().find_map(|name| text(&claims, name));
    let repository = first(&["repository", "project_path"]);
    let workflow = first(&["workflow_ref", "ci_config_ref_uri"])
        .and_then(|workflow| workflow_file(&workflow, repository.as_deref()?));
    CiIdentity {
        issuer: issuer.to_owned(),
        subject: first(&["sub"]).unwrap_or_default(),
        owner_id: first(&["repository_owner_id", "namespace_id"]),
        workflow,
        reference: first(&["ref_path", "ref"]),
        environment: first(&["environment"]),
        commit: first(&["sha"]),
        repository,
        claims,
    }
}

/// The file of a workflow of the same repository: `owner/name/.github/workflows/release.yml@refs/heads/main`, or with GitLab
/// `gitlab.example/owner/name//.gitlab-ci.yml@refs/heads/main`. A workflow of another repository is none of this one.
fn workflow_file(workflow: &str, repository: &str) -> Option<String> {
    let (file, _) = workflow.split_once('@')?;
    let file = match file.split_once("//") {
        Some((project, file)) => {
            let (_, project) = project.split_once('/')?;
            (project == repository).then_some(file)?
        }
        None => file.strip_prefix(repository)?.strip_prefix('/')?,
    };
    Some(file.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{TrustedPublisher, identity, workflow_file};

    fn github(changes: &Value) -> super::CiIdentity {
        let mut claims = json!({
            "sub": "repo:acme/weather:ref:refs/heads/main",
            "repository": "acme/weather",
            "repository_owner_id": 4711,
            "workflow_ref": "acme/weather/.github/workflows/release.yml@refs/heads/main",
            "ref": "refs/heads/main",
            "sha": "0123abc",
        });
        for (name, value) in changes.as_object().expect("an object") {
            claims[name] = value.clone();
        }
        let Value::Object(claims) = claims else { unreachable!("it is one") };
        identity("https://ci.example", claims)
    }

    #[test]
    fn a_publisher_is_a_workflow_of_a_repository() {
        let publisher = TrustedPublisher {
            issuer: "https://ci.example".to_owned(),
            repository: "Acme/Weather".to_owned(),
            owner_id: None,
            workflow: "release.yml".to_owned(),
            environment: None,
        };
        let usual = github(&json!({}));
        assert!(publisher.matches(&usual));
        let full_path = TrustedPublisher {
            workflow: ".github/workflows/release.yml".to_owned(),
            ..publisher.clone()
        };
        assert!(full_path.matches(&usual));
        for changes in [
            json!({ "repository": "acme/weather-evil" }),
            json!({ "repository": null }),
            json!({ "workflow_ref": "acme/weather/.github/workflows/test.yml@refs/heads/main" }),
            json!({ "workflow_ref": "acme/weather/.github/workflows/not-release.yml@refs/heads/main" }),
            // A reusable workflow of somebody else.
            json!({ "workflow_ref": "eve/x/.github/workflows/release.yml@refs/heads/main" }),
            json!({ "workflow_ref": "release.yml" }),
        ] {
            assert!(!publisher.matches(&github(&changes)), "{changes}");
        }
        let elsewhere = TrustedPublisher { issuer: "https://x".to_owned(), ..publisher.clone() };
        assert!(!elsewhere.matches(&usual));
        // Somebody else got the name after it was given up.
        let noted = TrustedPublisher { owner_id: Some("4711".to_owned()), ..publisher.clone() };
        assert!(noted.matches(&usual));
        assert!(!noted.matches(&github(&json!({ "repository_owner_id": "4712" }))));
        let guarded = TrustedPublisher { environment: Some("release".to_owned()), ..publisher };
        assert!(!guarded.matches(&usual));
        assert!(guarded.matches(&github(&json!({ "environment": "release" }))));
    }

    #[test]
    fn workflows_of_gitlab_are_read() {
        let file = |text: &str| workflow_file(text, "acme/tools/weather");
        assert_eq!(
            file("gitlab.example/acme/tools/weather//.gitlab-ci.yml@refs/heads/main").as_deref(),
            Some(".gitlab-ci.yml")
        );
        assert_eq!(file("gitlab.example/eve/x//.gitlab-ci.yml@refs/heads/main"), None);
    }
}
