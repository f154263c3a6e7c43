//! The groups of verbs. The help of the program, the reference and the manual page are rendered from this table.

use std::fmt::Write as _;

use crate::terminal::wrap::wrap;

/// Verbs that belong together.
pub(crate) struct VerbGroup {
    /// What they are for, in one word.
    pub(crate) title: &'static str,
    /// Their names, in the order in which people need them.
    pub(crate) verbs: &'static [&'static str],
}

/// All groups. A test makes sure that every verb is in exactly one. Names that are reserved for later are skipped.
pub(crate) const GROUPS: &[VerbGroup] = &[
    VerbGroup {
        title: "Write",
        verbs: &["new", "check", "show", "explain", "convert", "migrate", "schema"],
    },
    VerbGroup {
        title: "Run",
        verbs: &["run", "exec", "render", "prompt", "quiz", "workflow", "models", "kb"],
    },
    VerbGroup {
        title: "Packages",
        verbs: &[
            "install", "update", "outdated", "remove", "list", "info", "which", "search", "trawl",
            "lock", "pack", "agent",
        ],
    },
    VerbGroup {
        title: "Trust",
        verbs: &["policy", "approvals", "verify", "sign", "key", "trust", "scan", "runs"],
    },
    VerbGroup {
        title: "Publish",
        verbs: &["publish", "yank", "deprecate", "owner", "login", "logout", "whoami"],
    },
    VerbGroup { title: "Serve", verbs: &["mcp", "serve", "registry"] },
    VerbGroup { title: "More", verbs: &["doctor", "completions", "man", "help"] },
];

/// A line of the table: a verb and what it does.
pub(crate) struct VerbLine {
    /// The verb.
    pub(crate) name: String,
    /// The first line of its help.
    pub(crate) about: String,
}

/// The groups that have verbs, with the verbs that exist. A verb of no group is in the last one.
pub(crate) fn grouped(command: &clap::Command) -> Vec<(&'static str, Vec<VerbLine>)> {
    let line = |verb: &clap::Command| VerbLine {
        name: verb.get_name().to_owned(),
        about: verb.get_about().map(ToString::to_string).unwrap_or_default(),
    };
    let mut groups: Vec<(&'static str, Vec<VerbLine>)> = GROUPS
        .iter()
        .map(|group| {
            let verbs = group.verbs.iter().filter_map(|name| command.find_subcommand(name));
            (group.title, verbs.map(line).collect())
        })
        .collect();
    let is_listed =
        |verb: &clap::Command| GROUPS.iter().any(|group| group.verbs.contains(&verb.get_name()));
    if let Some((_, last)) = groups.last_mut() {
        last.extend(super::verbs(command).filter(|verb| !is_listed(verb)).map(line));
    }
    groups.retain(|(_, verbs)| !verbs.is_empty());
    groups
}

/// The columns of the help.
const WIDTH: usize = 80;

/// The groups as part of the help.
fn table(command: &clap::Command) -> String {
    let groups = grouped(command);
    let names = groups.iter().flat_map(|(_, verbs)| verbs).map(|verb| verb.name.len());
    let widest = names.max().unwrap_or_default();
    let header = command.get_styles().get_header();
    let literal = command.get_styles().get_literal();
    let mut page = String::new();
    for (title, verbs) in groups {
        let _ = writeln!(page, "{header}{title}:{header:#}");
        for VerbLine { name, about } in verbs {
            let spaces = widest - name.len();
            // Wrapped without the styles, which take no columns.
            let line = wrap(&format!("  {name}{:spaces$}  {about}", ""), widest + 4, Some(WIDTH));
            let rest = line.strip_prefix(&format!("  {name}")).unwrap_or(&line);
            let _ = writeln!(page, "  {literal}{name}{literal:#}{rest}");
        }
        page.push('\n');
    }
    page
}

/// Replaces the list of verbs in the help of the program by the groups. The command has to be built, because the help of
/// a verb is defined with its arguments.
pub(crate) fn with_groups(command: clap::Command) -> clap::Command {
    let header = *command.get_styles().get_header();
    let template = format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}{header}Options:{header:#}\n{{options}}{{after-help}}",
        table(&command)
    );
    command.help_template(template)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::GROUPS;

    #[test]
    fn every_verb_is_in_exactly_one_group() {
        let mut command = crate::cli::command();
        command.build();
        let mut times: BTreeMap<&str, usize> = BTreeMap::new();
        for name in GROUPS.iter().flat_map(|group| group.verbs) {
            *times.entry(name).or_default() += 1;
        }
        for verb in crate::cli::verbs(&command) {
            assert_eq!(times.get(verb.get_name()), Some(&1), "`{}`", verb.get_name());
        }
        assert!(times.values().all(|count| *count == 1), "{times:?}");
    }
}
