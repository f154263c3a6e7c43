//! Who looks: what they may see follows from this alone.

use prowess_server::database::{Connection, DatabaseError};

use crate::names::SkillId;
use crate::store::{Role, SkillRow, SkillState, find_skill, role_in};

/// A caller, signed in or not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Viewer {
    /// The identifier of the user.
    pub user_id: Option<String>,
    /// Whether they administer the registry.
    pub is_administrator: bool,
}

impl Viewer {
    /// Somebody who is not signed in.
    pub const ANONYMOUS: Self = Self { user_id: None, is_administrator: false };

    /// A user.
    pub fn user(id: impl Into<String>, is_administrator: bool) -> Self {
        Self { user_id: Some(id.into()), is_administrator }
    }

    /// The role in a namespace.
    pub fn role(
        &self,
        connection: &mut Connection<'_>,
        namespace: &str,
    ) -> Result<Option<Role>, DatabaseError> {
        match &self.user_id {
            Some(user) => role_in(connection, namespace, user),
            None => Ok(None),
        }
    }

    /// A skill, if the caller may see it. Everything that shows something of a skill asks here, so that what is private or
    /// hidden can't be told from what does not exist (attack registry-D19).
    pub fn find(
        &self,
        connection: &mut Connection<'_>,
        skill: &SkillId,
    ) -> Result<Option<SkillRow>, DatabaseError> {
        let Some(row) = find_skill(connection, skill)? else { return Ok(None) };
        if is_public(&row) || self.is_administrator {
            return Ok(Some(row));
        }
        let role = self.role(connection, skill.namespace.as_str())?;
        Ok(role.is_some().then_some(row))
    }
}

/// Whether everybody may see a skill.
pub fn is_public(row: &SkillRow) -> bool {
    row.state == SkillState::Visible && !row.private && row.latest.is_some()
}
