//! The table of GAIA §3.3: what each permission gets at each tier.

use prowess_format::permission::{Domain, Level};

use crate::grant::{Grant, GrantScope};
use crate::trust::Tier;

/// One cell of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatrixCell {
    /// Granted without a prompt.
    Auto,
    /// The user is asked.
    Prompt,
    /// Granted with the tighter limits of §4.3; prompts like `community`, because a lower tier
    /// never prompts less.
    Sandboxed,
}

/// One row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatrixRow {
    /// The permission, as the table writes it.
    pub permission: &'static str,
    /// Its domain.
    pub domain: Domain,
    /// Its levels.
    pub levels: &'static [Level],
    /// At `verified`.
    pub verified: MatrixCell,
    /// At `community`.
    pub community: MatrixCell,
    /// At `experimental`.
    pub experimental: MatrixCell,
}

use MatrixCell::{Auto, Prompt, Sandboxed};

/// The table of GAIA §3.3.
pub const TABLE: [MatrixRow; 7] = [
    row("filesystem:read", Domain::Filesystem, &[Level::Read], Auto, Auto),
    row("filesystem:write", Domain::Filesystem, &[Level::Write], Auto, Prompt),
    row("network:*", Domain::Network, &[Level::Read, Level::Write], Auto, Auto),
    row("shell:execute", Domain::Shell, &[Level::Execute], Auto, Prompt),
    row("desktop:control", Domain::Desktop, &[Level::Control], Auto, Prompt),
    row("mcp:connect", Domain::Mcp, &[Level::Connect], Auto, Auto),
    row("database:write", Domain::Database, &[Level::Write], Auto, Prompt),
];

/// Permissions that the table omits. Reading a database is like reading a file; a variable may be
/// anything, so it prompts.
pub const ADDITIONAL_ROWS: [MatrixRow; 2] = [
    row("database:read", Domain::Database, &[Level::Read], Auto, Auto),
    row("env:read", Domain::Env, &[Level::Read], Auto, Prompt),
];

const fn row(
    permission: &'static str,
    domain: Domain,
    levels: &'static [Level],
    verified: MatrixCell,
    community: MatrixCell,
) -> MatrixRow {
    MatrixRow { permission, domain, levels, verified, community, experimental: Sandboxed }
}

impl MatrixRow {
    /// The cell of a tier.
    pub fn cell(&self, tier: Tier) -> MatrixCell {
        match tier {
            Tier::Verified => self.verified,
            Tier::Community => self.community,
            Tier::Experimental => self.experimental,
        }
    }
}

/// The cell of a permission at a tier. A pair that is in no table prompts.
pub fn cell(domain: Domain, level: Level, tier: Tier) -> MatrixCell {
    TABLE
        .iter()
        .chain(&ADDITIONAL_ROWS)
        .find(|row| row.domain == domain && row.levels.contains(&level))
        .map_or(Prompt, |row| row.cell(tier))
}

/// Whether a grant prompts at a tier: by its cell, and by R47.
pub fn asks(grant: &Grant, tier: Tier) -> bool {
    match cell(grant.domain(), grant.level(), tier) {
        Prompt => true,
        Auto => match tier {
            // GAIA §4.1: automatic grants.
            Tier::Verified => false,
            Tier::Community | Tier::Experimental => is_wide(grant),
        },
        Sandboxed => {
            let any_host = grant.domain() == Domain::Network && grant.is_unscoped();
            asks(grant, Tier::Community) || any_host
        }
    }
}

/// Whether a grant of an automatic cell is unscoped and therefore prompts (R47, R52). Reading from
/// any host stays automatic; writing to any host and unscoped files outside the working directory
/// do not.
fn is_wide(grant: &Grant) -> bool {
    match (grant.domain(), grant.scope()) {
        (Domain::Network, GrantScope::Host(host)) => host.is_any() && grant.level() == Level::Write,
        (Domain::Filesystem, GrantScope::All) => true,
        (Domain::Filesystem, GrantScope::Path(path)) => path.is_broad(),
        _ => false,
    }
}
