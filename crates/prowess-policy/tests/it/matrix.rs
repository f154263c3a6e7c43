//! The table of GAIA §3.3, cell by cell.

use prowess_format::permission::Domain;
use prowess_policy::matrix::{MatrixCell, TABLE};
use prowess_policy::spec::FileScope;
use prowess_policy::{Decision, Origin, ReasonKind, Tier};

use crate::{Run, python_skill};

/// The cell that a decision about one permission corresponds to: whether it asks, and whether the limits of GAIA §4.3 apply.
fn cell_of(permission: &str, tier: Tier) -> MatrixCell {
    let skill = python_skill(&[permission]);
    let decision = Run::new(tier, Origin::Local).decide(&skill);
    let Decision::Ask(question) = decision else { panic!("{permission}: {decision:?}") };
    let limits = &question.spec().limits;
    if limits.cpu_secs.is_some()
        && limits.memory_bytes.is_some()
        && limits.network_bytes_per_sec.is_some()
        && question.spec().tier == Tier::Experimental
    {
        return MatrixCell::Sandboxed;
    }
    let asks = |kind| question.reasons().iter().any(|reason| reason.kind == kind);
    if asks(ReasonKind::Permission) { MatrixCell::Prompt } else { MatrixCell::Auto }
}

/// GAIA-3.3-1: 7 rows × 3 tiers, each a real decision. The expected values are copied from the specification.
#[test]
fn every_cell_of_the_table_is_enforced() {
    use MatrixCell::{Auto, Prompt, Sandboxed};
    let expected = [
        ("filesystem:read", &["filesystem:read:./data/**"][..], Auto, Auto, Sandboxed),
        (
            "filesystem:write",
            &["filesystem:write:./data/**", "filesystem:write"],
            Auto,
            Prompt,
            Sandboxed,
        ),
        // R47: a declared list of hosts does not prompt; unscoped writing does, see below.
        (
            "network:*",
            &["network:read:a.com", "network:write:a.com", "network:read"],
            Auto,
            Auto,
            Sandboxed,
        ),
        ("shell:execute", &["shell:execute:git", "shell:execute"], Auto, Prompt, Sandboxed),
        ("desktop:control", &["desktop:control"], Auto, Prompt, Sandboxed),
        ("mcp:connect", &["mcp:connect:web", "mcp:connect"], Auto, Auto, Sandboxed),
        ("database:write", &["database:write:notes", "database:write"], Auto, Prompt, Sandboxed),
    ];
    assert_eq!(TABLE.len(), expected.len());
    for ((name, permissions, verified, community, experimental), row) in
        expected.into_iter().zip(&TABLE)
    {
        assert_eq!(row.permission, name);
        for (tier, cell) in [
            (Tier::Verified, verified),
            (Tier::Community, community),
            (Tier::Experimental, experimental),
        ] {
            assert_eq!(row.cell(tier), cell, "{name} at {tier}");
            for permission in permissions {
                assert_eq!(cell_of(permission, tier), cell, "{permission} at {tier}");
            }
        }
    }
}

/// R47, R52: prompts that GAIA's lists require in addition to its table.
#[test]
fn wide_grants_prompt_at_community_even_if_their_cell_is_automatic() {
    for wide in ["network:write", "network:write:*", "filesystem:read", "filesystem:read:~/**"] {
        assert_eq!(cell_of(wide, Tier::Community), MatrixCell::Prompt, "{wide}");
        assert_eq!(cell_of(wide, Tier::Verified), MatrixCell::Auto, "{wide}");
    }
}

/// GAIA-3.3-2: an experimental skill may declare anything, and all of it is limited.
#[test]
fn an_experimental_skill_may_declare_anything_and_is_confined() {
    for (domain, word, levels) in prowess_format::permission::DOMAINS {
        for (level, _) in levels.iter().filter(|(level, _)| *level != "none") {
            let permission = format!("{word}:{level}");
            let decision =
                Run::new(Tier::Experimental, Origin::Local).decide(&python_skill(&[&permission]));
            let Decision::Ask(question) = decision else { panic!("{permission}: {decision:?}") };
            let spec = question.spec();
            assert_eq!(spec.tier, Tier::Experimental, "{permission}");
            assert!(spec.limits.cpu_secs.is_some(), "{permission}");
            assert!(spec.limits.memory_bytes.is_some(), "{permission}");
            assert!(spec.limits.network_bytes_per_sec.is_some(), "{permission}");
            // R52: the restricted filesystem of §4.3.
            assert!(!spec.read.contains(&FileScope::Everything), "{permission}");
            assert!(!spec.write.contains(&FileScope::Everything), "{permission}");
            assert_eq!(spec.desktop, *domain == Domain::Desktop, "{permission}");
        }
    }
}
