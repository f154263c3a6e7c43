//! The tables of the registry: their migrations, and rows as values.

mod changes;
mod namespaces;
mod rows;

use prowess_server::database::Migration;

pub use changes::{next_number, record_change};
pub use namespaces::{NamespaceKind, NamespaceRow, Role, RoleError, find_namespace, role_in};
pub use rows::{
    SKILL_COLUMNS, SkillRow, SkillState, SkillSummary, VERSION_COLUMNS, VersionRow, VersionState,
    find_skill, find_version, versions_of,
};

/// The migrations, oldest first. They are only ever appended to.
pub const MIGRATIONS: &[Migration] = &[
    Migration {
        version: 1,
        name: "initial",
        sqlite: include_str!("../schema/0001-initial.sql"),
        postgres: include_str!("../schema/0001-initial.sql"),
    },
    Migration {
        version: 2,
        name: "trusted-publishing",
        sqlite: include_str!("../schema/0002-trusted-publishing.sql"),
        postgres: include_str!("../schema/0002-trusted-publishing.sql"),
    },
    Migration {
        version: 3,
        name: "mirror",
        sqlite: include_str!("../schema/0003-mirror.sql"),
        postgres: include_str!("../schema/0003-mirror.sql"),
    },
];

/// The name of the component in the table of migrations.
pub const COMPONENT: &str = "registry";
