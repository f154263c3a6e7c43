//! The permissions of a migrated skill: never more than its source declares.

use super::{ReviewItem, item, listed};
use crate::dialect;
use crate::document::yaml::Node;
use crate::permission::{Domain, Level, Permission};
use crate::read::Checked;
use crate::span::{Span, Spanned};

/// Programs that run arbitrary code: a grant for one of them is a grant for everything.
const INTERPRETERS: &[&str] = &[
    "bash",
    "sh",
    "zsh",
    "fish",
    "dash",
    "ksh",
    "csh",
    "pwsh",
    "powershell",
    "cmd",
    "env",
    "xargs",
    "sudo",
    "su",
    "doas",
    "python",
    "python2",
    "python3",
    "node",
    "nodejs",
    "deno",
    "bun",
    "ruby",
    "perl",
    "php",
    "lua",
    "osascript",
    "docker",
    "podman",
    "npx",
    "uvx",
    "uv",
    "ssh",
    "nix",
];

/// Expands the coarse network flag (§8.2, step 3) and turns required programs into a scoped grant.
pub(super) fn permissions(
    checked: &Checked<'_>,
    mut permissions: Vec<Spanned<Permission>>,
    review: &mut Vec<ReviewItem>,
) -> Vec<Spanned<Permission>> {
    let source = &checked.skill;
    let mut add = |permission: Permission| {
        if !permissions.iter().any(|known: &Spanned<Permission>| known.value == permission) {
            permissions.push(Spanned::new(permission, Span::default()));
        }
    };
    dialect::expanded_permissions(source).into_iter().for_each(&mut add);
    if source.network.as_ref().is_some_and(|network| network.value) {
        item(
            review,
            "network access",
            "`network: true` names no hosts: narrow `network:read` and `network:write` to the hosts it needs",
        );
    } else if checked.document.root.get("network").is_some_and(|node| Node::boolean(node).is_none())
    {
        item(review, "network access", "`network` is neither true nor false: nothing is granted");
    }
    let programs: Vec<&str> =
        source.requirements.programs.iter().map(|program| program.as_str()).collect();
    let (plain, odd): (Vec<&str>, Vec<&str>) =
        programs.into_iter().partition(|program| is_program(program));
    let (general, scoped): (Vec<&str>, Vec<&str>) =
        plain.into_iter().partition(|program| INTERPRETERS.contains(program));
    if !scoped.is_empty() {
        let scope = scoped.join(",");
        item(
            review,
            "running programs",
            format!(
                "`shell:execute:{scope}` is granted because the skill requires these programs: remove those that it only checks for"
            ),
        );
        add(Permission::new(Domain::Shell, Level::Execute, Some(&scope)));
    }
    if !general.is_empty() {
        item(
            review,
            "running programs",
            format!(
                "{} can run anything, so no grant was written: add `shell:execute:…` if the skill really needs it",
                listed(&general)
            ),
        );
    }
    if !odd.is_empty() {
        let why = format!("nothing is granted for {}: not a program name", listed(&odd));
        item(review, "running programs", why);
    }
    permissions
}

fn is_program(word: &str) -> bool {
    !word.is_empty()
        && word
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b'+'))
}
