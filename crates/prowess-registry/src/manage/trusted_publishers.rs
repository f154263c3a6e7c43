//! Trusted publishing: CI runs that may publish without a token of a person.

use prowess_server::database::{Connection, DatabaseError};
use prowess_server::values;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::namespaces::require_owner;
use crate::actor::{Action, Actor};
use crate::audit::record;
use crate::error::{Outcome, RegistryError};
use crate::names::SkillId;
use crate::registry::Registry;

/// Maximum number of trusted publishers of a namespace.
const MAX_PUBLISHERS: i64 = 100;
/// Maximum length of each part.
const MAX_BYTES: usize = 300;

/// A CI workflow that may publish a skill.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default)]
pub struct TrustedPublisher {
    /// The issuer of its tokens.
    pub issuer: String,
    /// The repository, such as `acme/skills`.
    pub repository: String,
    /// The workflow file, such as `release.yml`.
    pub workflow: String,
    /// The environment; empty for any.
    pub environment: String,
}

impl Registry {
    /// Lets a workflow publish a skill.
    pub async fn trust_publisher(
        &self,
        actor: &Actor,
        skill: &SkillId,
        publisher: &TrustedPublisher,
    ) -> Outcome<()> {
        actor.require(Action::Manage, Some(skill))?;
        let parts =
            [&publisher.issuer, &publisher.repository, &publisher.workflow, &publisher.environment];
        let is_text =
            |text: &&&String| text.len() <= MAX_BYTES && !text.chars().any(char::is_control);
        let is_https = url::Url::parse(&publisher.issuer).is_ok_and(|issuer| {
            issuer.scheme() == "https" || issuer.host_str() == Some("127.0.0.1")
        });
        if !parts.iter().all(|part| is_text(&part))
            || !is_https
            || publisher.repository.is_empty()
            || publisher.workflow.is_empty()
        {
            return Err(RegistryError::invalid(
                "invalid-publisher",
                "a trusted publisher needs an `issuer`, a `repository` and a `workflow`",
            ));
        }
        let (actor, skill, publisher) = (actor.clone(), skill.clone(), publisher.clone());
        let (now, registry) = (self.now(), self.clone());
        let added = self.database().write(move |transaction| {
            require_owner(transaction, &actor, skill.namespace.as_str())?;
            let known = transaction.query_one(
                "SELECT COUNT(*) AS total FROM trusted_publishers WHERE namespace = ?1",
                &values![skill.namespace.as_str()],
            )?;
            if known.get::<i64>("total")? >= MAX_PUBLISHERS {
                return Err(RegistryError::refused("too-many-publishers", format!("a namespace has at most {MAX_PUBLISHERS} trusted publishers")));
            }
            transaction.execute(
                "INSERT INTO trusted_publishers (namespace, name, issuer, repository, workflow, environment, added)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING",
                &values![
                    skill.namespace.as_str(),
                    skill.name.as_str(),
                    &publisher.issuer,
                    &publisher.repository,
                    &publisher.workflow,
                    &publisher.environment,
                    now
                ],
            )?;
            let details = serde_json::to_value(&publisher).unwrap_or(json!({}));
            Ok::<_, RegistryError>(record(&registry, transaction, &actor, "publisher.trust", &skill.to_string(), details)?)
        });
        added.await
    }

    /// Takes that back.
    pub async fn distrust_publisher(
        &self,
        actor: &Actor,
        skill: &SkillId,
        publisher: &TrustedPublisher,
    ) -> Outcome<()> {
        actor.require(Action::Manage, Some(skill))?;
        let (actor, skill, publisher, registry) =
            (actor.clone(), skill.clone(), publisher.clone(), self.clone());
        let removed = self.database().write(move |transaction| {
            require_owner(transaction, &actor, skill.namespace.as_str())?;
            transaction.execute(
                "DELETE FROM trusted_publishers WHERE namespace = ?1 AND name = ?2 AND issuer = ?3 AND repository = ?4
                 AND workflow = ?5 AND environment = ?6",
                &values![
                    skill.namespace.as_str(),
                    skill.name.as_str(),
                    &publisher.issuer,
                    &publisher.repository,
                    &publisher.workflow,
                    &publisher.environment
                ],
            )?;
            let details = serde_json::to_value(&publisher).unwrap_or(json!({}));
            Ok::<_, RegistryError>(record(&registry, transaction, &actor, "publisher.distrust", &skill.to_string(), details)?)
        });
        removed.await
    }

    /// The trusted publishers of a skill, for members of its namespace.
    pub async fn trusted_publishers(
        &self,
        actor: &Actor,
        skill: &SkillId,
    ) -> Outcome<Vec<TrustedPublisher>> {
        let (actor, skill) = (actor.clone(), skill.clone());
        let found = self.database().read(move |connection| {
            require_owner(connection, &actor, skill.namespace.as_str())?;
            Ok::<_, RegistryError>(read(connection, &skill)?)
        });
        found.await
    }
}

fn read(
    connection: &mut Connection<'_>,
    skill: &SkillId,
) -> Result<Vec<TrustedPublisher>, DatabaseError> {
    let rows = connection.query(
        "SELECT issuer, repository, workflow, environment FROM trusted_publishers WHERE namespace = ?1 AND name = ?2
         ORDER BY added LIMIT 100",
        &values![skill.namespace.as_str(), skill.name.as_str()],
    )?;
    rows.iter()
        .map(|row| {
            Ok(TrustedPublisher {
                issuer: row.get("issuer")?,
                repository: row.get("repository")?,
                workflow: row.get("workflow")?,
                environment: row.get("environment")?,
            })
        })
        .collect()
}
