//! Who acts: a signed-in user, and what the token that they use allows.

use prowess_server::identity::{Credential, Identity};
use prowess_server::tokens::{Scope, ScopeError};

use crate::error::RegistryError;
use crate::names::SkillId;
use crate::viewer::Viewer;

/// What a token may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// Publishing versions.
    Publish,
    /// Yanking and deprecating.
    Yank,
    /// Members, transfers, keys, trusted publishers, visibility.
    Manage,
    /// Ratings, reviews and reports.
    Review,
    /// Everything that moderators do.
    Moderate,
}

/// A signed-in user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    /// The identifier of the user.
    pub user_id: String,
    /// The name, which is also that of their namespace.
    pub username: String,
    /// When the account was made.
    pub created: i64,
    /// Whether they administer the registry.
    pub is_administrator: bool,
    /// What the token allows; `None` allows everything that the user may do.
    pub scopes: Option<Vec<Scope>>,
    /// The CI run that acts, if it signed in with its own identity.
    pub provenance: Option<crate::provenance::Provenance>,
}

impl Action {
    /// The word in scopes.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Publish => "publish",
            Self::Yank => "yank",
            Self::Manage => "manage",
            Self::Review => "review",
            Self::Moderate => "moderate",
        }
    }

    /// Reads what a token may do. A misspelt action would allow nothing, which its user would find out too late.
    pub fn parse_scope(text: &str) -> Result<Scope, String> {
        let scope: Scope = text.parse().map_err(|error: ScopeError| error.to_string())?;
        let names: Vec<&str> = Self::ALL.iter().map(|action| action.as_str()).collect();
        if scope == Scope::everything() || names.contains(&scope.action()) {
            return Ok(scope);
        }
        Err(format!("`{}` is not one of {}", scope.action(), names.join(", ")))
    }

    /// Every action.
    pub const ALL: [Self; 5] =
        [Self::Publish, Self::Yank, Self::Manage, Self::Review, Self::Moderate];
}

impl Actor {
    /// The user who sends a request.
    pub fn of(identity: &Identity) -> Self {
        let scopes = match &identity.credential {
            Credential::ApiToken(token) => Some(token.scopes.clone()),
            Credential::Session { .. } | Credential::WebSession(_) => None,
        };
        Self {
            user_id: identity.user.id.clone(),
            username: identity.user.username.to_string(),
            created: identity.user.created_at.seconds(),
            is_administrator: identity.user.role == prowess_server::accounts::Role::Admin,
            scopes,
            provenance: None,
        }
    }

    /// What this user may see.
    pub fn viewer(&self) -> Viewer {
        Viewer::user(&self.user_id, self.is_administrator)
    }

    /// Checks that the token allows an action on a skill, or anywhere if `skill` is `None` (attack registry-D1). A scope is
    /// `publish`, `publish:acme/*` or `publish:acme/weather`.
    pub fn require(&self, action: Action, skill: Option<&SkillId>) -> Result<(), RegistryError> {
        let Some(scopes) = &self.scopes else { return Ok(()) };
        let resource = skill.map_or(String::new(), ToString::to_string);
        if scopes.iter().any(|scope| scope.allows(action.as_str(), &resource)) {
            return Ok(());
        }
        let what = skill.map_or(String::new(), |skill| format!(" `{skill}`"));
        let message = format!("this token is not allowed to {}{what}", action.as_str());
        Err(RegistryError::refused("token-scope", message)
            .advice(format!("make a token with the scope `{}`", action.as_str())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_allows_what_its_scopes_name() {
        let actor = |scopes: &[&str]| Actor {
            user_id: "1".to_owned(),
            username: "acme".to_owned(),
            created: 0,
            is_administrator: false,
            scopes: Some(scopes.iter().map(|scope| scope.parse().expect("a scope")).collect()),
            provenance: None,
        };
        let skill: SkillId = "acme/weather".parse().expect("a skill");
        for (scopes, allowed) in [
            (&["publish"][..], true),
            (&["publish:acme/*"], true),
            (&["publish:acme/weather"], true),
            (&["publish:acme/other"], false),
            (&["publish:other/*"], false),
            (&["yank"], false),
            (&[], false),
        ] {
            let result = actor(scopes).require(Action::Publish, Some(&skill));
            assert_eq!(result.is_ok(), allowed, "{scopes:?}");
        }
        // A token for one skill does not manage accounts.
        assert!(actor(&["manage:acme/weather"]).require(Action::Manage, None).is_err());
    }
}
