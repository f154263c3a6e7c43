//! A publisher: a user or an organisation with skills.

use prowess_server::database::{Connection, DatabaseError};
use prowess_server::values;

use super::lists::{MAX_PAGE, RowPage, SkillCard, rows};
use crate::error::Outcome;
use crate::registry::Registry;
use crate::store::{NamespaceKind, Role, find_namespace};
use crate::viewer::Viewer;

/// Maximum number of members that are listed.
const MAX_MEMBERS: usize = 200;
/// The last offset of a page; a namespace with more skills is read through the search.
const MAX_OFFSET: usize = 10_000;

/// A publisher.
#[derive(Clone, Debug, PartialEq)]
pub struct PublisherView {
    /// The namespace.
    pub namespace: String,
    /// Whom it belongs to.
    pub kind: NamespaceKind,
    /// The name that it chose to show.
    pub display_name: Option<String>,
    /// When it was made.
    pub since: i64,
    /// Its members, if the viewer is one, or those of a public organisation.
    pub members: Vec<Member>,
    /// The role of the viewer.
    pub viewer_role: Option<Role>,
    /// The downloads of all its public skills.
    pub downloads: i64,
    /// The number of its skills that the viewer may see.
    pub skill_count: i64,
    /// A page of them, the most downloaded first.
    pub skills: Vec<SkillCard>,
    /// The offset of the next page.
    pub next: Option<usize>,
    /// How many of its versions were revoked.
    pub revoked_versions: i64,
    /// Its registered signing keys: scheme and identifier, and when one was revoked.
    pub keys: Vec<(String, Option<i64>)>,
}

/// A member of an organisation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The name of the user.
    pub username: String,
    /// The role.
    pub role: Role,
    /// Since when.
    pub added: i64,
}

impl Registry {
    /// A publisher; `None` if there is none that the viewer may see. A private namespace exists for its members only.
    pub async fn publisher(
        &self,
        namespace: &str,
        offset: usize,
        viewer: &Viewer,
    ) -> Outcome<Option<PublisherView>> {
        let (namespace, viewer) = (namespace.to_owned(), viewer.clone());
        let found = self
            .database()
            .read(move |connection| read_publisher(connection, &namespace, offset, &viewer));
        Ok(found.await?)
    }
}

fn read_publisher(
    connection: &mut Connection<'_>,
    namespace: &str,
    offset: usize,
    viewer: &Viewer,
) -> Result<Option<PublisherView>, DatabaseError> {
    let Some(found) = find_namespace(connection, namespace)? else { return Ok(None) };
    let role = viewer.role(connection, namespace)?;
    let sees_all = viewer.is_administrator || role.is_some();
    if found.private && !sees_all {
        return Ok(None);
    }
    let visible = if sees_all {
        "s.namespace = ?1 AND s.state <> 'deleted'"
    } else {
        "s.namespace = ?1 AND s.state = 'visible' AND s.private = 0 AND s.listed = 1"
    };
    let totals = connection.query_one(
        &format!(
            "SELECT COUNT(*) AS total, CAST(COALESCE(SUM(s.downloads), 0) AS BIGINT) AS downloads
             FROM skills s WHERE {visible}"
        ),
        &values![namespace],
    )?;
    let offset = offset.min(MAX_OFFSET);
    let order = "s.downloads DESC, s.id DESC";
    let page = RowPage { limit: MAX_PAGE + 1, offset };
    let mut listed = rows(connection, visible, order, &values![namespace], page)?;
    let more = listed.len() > MAX_PAGE;
    listed.truncate(MAX_PAGE);
    let revoked = connection.query_one(
        "SELECT COUNT(*) AS total FROM versions v JOIN skills s ON s.id = v.skill_id
         WHERE s.namespace = ?1 AND s.private = 0 AND v.revoked IS NOT NULL",
        &values![namespace],
    )?;
    let members = match found.kind {
        NamespaceKind::User if !sees_all => Vec::new(),
        NamespaceKind::User | NamespaceKind::Organisation => members(connection, namespace)?,
    };
    let keys = connection.query(
        "SELECT key_id, revoked FROM publisher_keys WHERE namespace = ?1 ORDER BY added LIMIT 50",
        &values![namespace],
    )?;
    let keys: Result<Vec<_>, DatabaseError> =
        keys.iter().map(|row| Ok((row.get("key_id")?, row.get("revoked")?))).collect();
    Ok(Some(PublisherView {
        namespace: found.name,
        kind: found.kind,
        display_name: found.display_name,
        since: found.created,
        members,
        viewer_role: role,
        downloads: totals.get("downloads")?,
        skill_count: totals.get("total")?,
        skills: listed.iter().map(|(row, since)| SkillCard::of(row, *since)).collect(),
        next: more.then_some(offset + MAX_PAGE),
        revoked_versions: revoked.get("total")?,
        keys: keys?,
    }))
}

fn members(connection: &mut Connection<'_>, namespace: &str) -> Result<Vec<Member>, DatabaseError> {
    let rows = connection.query(
        &format!(
            "SELECT username, role, added FROM namespace_members WHERE namespace = ?1
             ORDER BY added, username LIMIT {MAX_MEMBERS}"
        ),
        &values![namespace],
    )?;
    rows.iter()
        .map(|row| {
            let role: String = row.get("role")?;
            Ok(Member {
                username: row.get("username")?,
                role: role.parse().unwrap_or(Role::Reader),
                added: row.get("added")?,
            })
        })
        .collect()
}
