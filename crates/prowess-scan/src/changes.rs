//! What a new version of a skill does that the old one did not.

use std::collections::BTreeSet;
use std::ops::Range;

use prowess_format::permission::{Domain, Level};

use crate::context;
use crate::document::Document;
use crate::fact::{Fact, FactKind};
use crate::findings::Finding;
use crate::input::FileKind;
use crate::rules::NEW_CAPABILITY;
use crate::severity::Severity;

/// Something that a script does and that a permission stands for, with its place.
#[derive(Clone, Debug)]
pub(crate) struct CapabilityUse {
    domain: Domain,
    level: Level,
    file: String,
    range: Range<usize>,
}

/// What the scripts of a skill do. Examples in texts are left out.
pub(crate) fn uses(documents: &[Document], facts: &[Fact]) -> Vec<CapabilityUse> {
    let of_script = |fact: &Fact| {
        let FactKind::Use { domain, level, .. } = &fact.kind else { return None };
        let document = &documents[fact.document];
        let is_script =
            matches!(document.kind, FileKind::Python | FileKind::JavaScript | FileKind::Shell);
        let is_order = context::of_code(document, &fact.range) == context::Context::Plain;
        (document.origin.is_none() && is_script && is_order).then(|| CapabilityUse {
            domain: *domain,
            level: *level,
            file: document.path.clone(),
            range: fact.range.clone(),
        })
    };
    facts.iter().filter_map(of_script).collect()
}

/// The findings about what is new: the first place of each kind.
pub(crate) fn findings(before: &[CapabilityUse], after: &[CapabilityUse]) -> Vec<Finding> {
    let mut known: BTreeSet<(Domain, Level)> =
        before.iter().map(|used| (used.domain, used.level)).collect();
    let mut found = Vec::new();
    for used in after {
        let Some((severity, what)) = weight(used.domain, used.level) else { continue };
        // Whoever could write could read too.
        let is_covered = known.contains(&(used.domain, used.level))
            || known.contains(&(used.domain, Level::Write));
        if is_covered || !known.insert((used.domain, used.level)) {
            continue;
        }
        found.push(Finding {
            rule: &NEW_CAPABILITY,
            severity,
            message: format!("{what}, which the installed version does not"),
            file: used.file.clone(),
            range: used.range.clone(),
        });
    }
    found
}

/// How bad it is that something is new; `None` for what every script may do.
fn weight(domain: Domain, level: Level) -> Option<(Severity, &'static str)> {
    match (domain, level) {
        (Domain::Network, Level::Write) => Some((Severity::High, "sends data over the network")),
        (Domain::Network, _) => Some((Severity::Medium, "uses the network")),
        (Domain::Shell, _) => Some((Severity::High, "starts programs")),
        (Domain::Desktop, _) => Some((Severity::High, "controls the desktop")),
        (Domain::Database, Level::Write) => Some((Severity::Medium, "changes a database")),
        (Domain::Mcp, _) => Some((Severity::Medium, "connects to an MCP server")),
        (Domain::Database | Domain::Env | Domain::Filesystem, _) => None,
    }
}
