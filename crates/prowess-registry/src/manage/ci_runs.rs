//! Trusted publishing: the identity of a CI run is exchanged for a token that publishes one skill and expires soon.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use prowess_core::{Problem, ProblemKind};
use prowess_http::Authorities;
use prowess_server::accounts::user_by_id;
use prowess_server::database::{Connection, DatabaseError, Transaction};
use prowess_server::identity::{Credential, Identity};
use prowess_server::oidc::{
    CiIdentities, CiIdentity, FetchRules, IdentityProvider, TrustedPublisher as Expected,
};
use prowess_server::tokens::{ApiToken, NewApiToken, Scope};
use prowess_server::{Secret, Server, values};
use serde_json::json;

use crate::actor::Actor;
use crate::audit::record;
use crate::error::{Outcome, RegistryError};
use crate::host::actor_of;
use crate::names::SkillId;
use crate::provenance::Provenance;
use crate::registry::Registry;
use crate::store::Role;

/// For how long a token of a run is valid: a build that takes longer asks for another one.
const LIFETIME: Duration = Duration::from_mins(15);

/// The issuers whose runs may publish, or `None` if trusted publishing is not configured. Tokens have to be made for the address of
/// this registry, so that it must have one.
pub(crate) fn identities(
    server: &Server,
    issuers: &[String],
) -> Result<Option<CiIdentities>, Problem> {
    if issuers.is_empty() {
        return Ok(None);
    }
    let Some(address) = server.public_url() else {
        return Err(Problem::new(
            "no-public-url",
            ProblemKind::InvalidInput,
            "trusted issuers need the address of the registry, for which their tokens are made",
        )
        .advice("set `public_url`"));
    };
    let issuers: Result<Vec<IdentityProvider>, Problem> = issuers
        .iter()
        .map(|issuer| IdentityProvider::new(issuer, rules(issuer), server.clock().clone()))
        .collect();
    let audience = address.as_str().trim_end_matches('/');
    let (database, clock) = (server.database().clone(), server.clock().clone());
    Ok(Some(CiIdentities::new(database, clock, audience, issuers?)))
}

/// An issuer may be in the company's own network; only one on this machine may do without TLS, and it leads nowhere else.
fn rules(issuer: &str) -> FetchRules {
    let is_local = url::Url::parse(issuer)
        .is_ok_and(|issuer| issuer.host() == Some(url::Host::Ipv4(Ipv4Addr::LOCALHOST)));
    let addresses: fn(IpAddr) -> bool = if is_local {
        |address| address.is_loopback()
    } else {
        |address| !address.is_loopback() && !address.is_unspecified() && !address.is_multicast()
    };
    FetchRules {
        addresses,
        allow_loopback_http: is_local,
        authorities: if is_local { Authorities::None } else { Authorities::System },
        use_proxy: !is_local,
    }
}

impl Registry {
    /// Exchanges the identity token of a CI run for a token that publishes one skill. An identity token counts once, on all
    /// nodes (attack registry-D1). The version is published in the name of an owner of the namespace.
    pub async fn exchange_identity(
        &self,
        identity_token: &str,
        skill: &SkillId,
    ) -> Outcome<(ApiToken, Secret)> {
        let Some(identities) = self.identities() else {
            return Err(RegistryError::of(
                "no-trusted-publishing",
                ProblemKind::NotFound,
                "this registry has no trusted issuers",
            )
            .advice("publish with a token, or ask the administrator to set `trusted_issuers`"));
        };
        let identity = identities.verify(identity_token).await?;
        let provenance = provenance(&identity);
        let (id, run, registry) = (skill.clone(), identity, self.clone());
        let owner = self.database().write(move |transaction| {
            let owner = match_run(transaction, &id, &run)?.ok_or_else(not_trusted)?;
            let details = json!({
                "issuer": &run.issuer,
                "repository": &run.repository,
                "workflow": &run.workflow,
                "commit": &run.commit,
            });
            record(&registry, transaction, &owner, "token.exchange", &id.to_string(), details)?;
            Ok::<_, RegistryError>(owner)
        });
        let owner = owner.await?;
        let scope: Scope =
            format!("publish:{skill}").parse().map_err(|_| RegistryError::no_skill())?;
        let new = NewApiToken {
            user_id: owner.user_id,
            name: format!("CI run for {skill}").chars().take(MAX_TOKEN_NAME).collect(),
            scopes: vec![scope],
            lifetime: Some(LIFETIME),
        };
        let (token, secret) = self.server().tokens().create(new).await?;
        let (token_id, expires) = (token.id.clone(), self.now() + LIFETIME_SECONDS);
        let provenance = serde_json::to_string(&provenance).unwrap_or_default();
        // The secret is handed out after this, so that nothing is published with it that does not say where it is from.
        let noted = self.database().write(move |transaction| {
            transaction.execute(
                "INSERT INTO run_tokens (token_id, provenance, expires) VALUES (?1, ?2, ?3)",
                &values![&token_id, &provenance, expires],
            )
        });
        noted.await?;
        Ok((token, secret))
    }

    /// Who publishes with a credential: a user, and the CI run for which the token was made.
    pub(crate) async fn publishing_actor(&self, identity: &Identity) -> Outcome<Actor> {
        let actor = Actor::of(identity);
        let Credential::ApiToken(token) = &identity.credential else { return Ok(actor) };
        let id = token.id.clone();
        let row = self.database().read(move |connection| {
            connection.query_optional(
                "SELECT provenance FROM run_tokens WHERE token_id = ?1",
                &values![&id],
            )
        });
        let Some(row) = row.await? else { return Ok(actor) };
        let text: String = row.get("provenance")?;
        let provenance = serde_json::from_str(&text).map_err(|_| {
            let message = "the run behind this token can't be read";
            RegistryError::of("damaged-token", ProblemKind::Internal, message)
        })?;
        Ok(Actor { provenance: Some(provenance), ..actor })
    }

    /// Forgets the runs behind tokens that have expired.
    pub(crate) async fn forget_runs(&self) -> Outcome<()> {
        let now = self.now();
        let deleted = self.database().write(move |transaction| {
            transaction.execute("DELETE FROM run_tokens WHERE expires <= ?1", &values![now])
        });
        deleted.await?;
        Ok(())
    }
}

const LIFETIME_SECONDS: i64 = 15 * 60;
const _: () = assert!(LIFETIME.as_secs() == LIFETIME_SECONDS.unsigned_abs());
/// Maximum length of the name of a token, in characters.
const MAX_TOKEN_NAME: usize = prowess_server::tokens::MOST_NAME_CHARACTERS;

/// The same words whether the skill, the publisher or the owner is missing.
fn not_trusted() -> RegistryError {
    RegistryError::refused("not-a-trusted-publisher", "this run may not publish that skill")
        .advice("an owner of the namespace adds the repository and workflow as a trusted publisher")
}

fn provenance(identity: &CiIdentity) -> Provenance {
    Provenance {
        issuer: identity.issuer.clone(),
        repository: identity.repository.clone().unwrap_or_default(),
        workflow: identity.workflow.clone().unwrap_or_default(),
        environment: identity.environment.clone().unwrap_or_default(),
        commit: identity.commit.clone(),
        run: None,
    }
}

/// The owner in whose name a run may publish a skill, if it may. The owner of the repository is noted at the first use.
fn match_run(
    transaction: &mut Transaction<'_>,
    skill: &SkillId,
    identity: &CiIdentity,
) -> Outcome<Option<Actor>> {
    let rows = transaction.query(
        "SELECT repository, workflow, environment, owner_id FROM trusted_publishers
         WHERE namespace = ?1 AND name = ?2 AND issuer = ?3 ORDER BY added LIMIT 100",
        &values![skill.namespace.as_str(), skill.name.as_str(), &identity.issuer],
    )?;
    for row in &rows {
        let environment: String = row.get("environment")?;
        let expected = Expected {
            issuer: identity.issuer.clone(),
            repository: row.get("repository")?,
            owner_id: row.get("owner_id")?,
            workflow: row.get("workflow")?,
            environment: Some(environment.clone()).filter(|text| !text.is_empty()),
        };
        if !expected.matches(identity) {
            continue;
        }
        if expected.owner_id.is_none() {
            transaction.execute(
                "UPDATE trusted_publishers SET owner_id = ?1 WHERE namespace = ?2 AND name = ?3 AND issuer = ?4
                 AND repository = ?5 AND workflow = ?6 AND environment = ?7",
                &values![
                    identity.owner_id.as_deref(),
                    skill.namespace.as_str(),
                    skill.name.as_str(),
                    &expected.issuer,
                    &expected.repository,
                    &expected.workflow,
                    &environment
                ],
            )?;
        }
        return Ok(owner_of(transaction, skill)?);
    }
    Ok(None)
}

/// The first owner of a namespace whose account is not disabled.
fn owner_of(
    connection: &mut Connection<'_>,
    skill: &SkillId,
) -> Result<Option<Actor>, DatabaseError> {
    let rows = connection.query(
        "SELECT user_id FROM namespace_members WHERE namespace = ?1 AND role = ?2 ORDER BY added, user_id LIMIT 200",
        &values![skill.namespace.as_str(), Role::Owner.as_str()],
    )?;
    for row in &rows {
        let id: String = row.get("user_id")?;
        if let Some(user) = user_by_id(connection, &id)?.filter(|user| !user.disabled) {
            return Ok(Some(actor_of(&user)));
        }
    }
    Ok(None)
}
