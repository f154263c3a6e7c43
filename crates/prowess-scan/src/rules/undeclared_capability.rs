//! `undeclared-capability`.

use std::collections::BTreeSet;

use prowess_format::permission::{Domain, Level, Permission};
use prowess_policy::scope::{HostName, HostPattern, PathPattern, Program, RootedPath};
use prowess_policy::utilities;

use crate::fact::{Fact, FactKind};
use crate::findings::Findings;
use crate::input::FileKind;
use crate::known::hosts::is_local;
use crate::rule::scan_rule;
use crate::severity::Severity;
use crate::subject::Subject;

scan_rule! {
    /// ## What it does
    /// Compares what the scripts of a skill do with its `permissions`: a domain that is not declared, or denied with `none`; a higher level, such as writing under `filesystem:read`; a path, host or program outside of the declared scope. A permission that no script uses is a note. Without `permissions`, scripts are compared with what the description rules out and with `allowed-tools`.
    ///
    /// ## Why is this bad?
    /// The declaration is what people agree to. Code that does more either has a mistake in its declaration or hides something.
    ///
    /// ## Example
    /// `permissions: [filesystem:read]`, and a script that sends requests.
    UNDECLARED_CAPABILITY = "undeclared-capability", High, Permissions, check;
    matching: &[
        (
            "SKILL.md",
            "---\nname: x\ndescription: Works fully offline\n---\n\nText.\n\u{0}scripts/a.py\u{0}import requests\nrequests.get('https://api.example/x')\n",
        ),
        (
            "SKILL.md",
            "---\nname: x\ndescription: d\npermissions: [\"network:read\"]\n---\n\nText.\n\u{0}scripts/a.py\u{0}import requests\nrequests.post('https://api.example/x', json={})\n",
        ),
        (
            "SKILL.md",
            "---\nname: x\ndescription: d\npermissions: [\"filesystem:write:./output/**\"]\n---\n\nText.\n\u{0}scripts/a.py\u{0}open('/srv/data/x.txt', 'w')\n",
        ),
    ],
    clean: &[
        ("SKILL.md", "Text.\n"),
        (
            "SKILL.md",
            "---\nname: x\ndescription: d\npermissions: [\"network:write:*.example.com\", \"filesystem:write:./output/**\", \"shell:execute:git\"]\n---\n\nText.\n\u{0}scripts/a.py\u{0}import requests, subprocess\nrequests.post('https://api.example.com/x', json={})\nopen('output/a.txt', 'w')\nsubprocess.run(['git', 'log'])\n",
        ),
    ],
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let uses: Vec<Use<'_>> =
        subject.facts.iter().filter_map(|fact| Use::of(subject, fact)).collect();
    against_description(subject, &uses, findings);
    match &subject.manifest.permissions {
        Some(permissions) => against_permissions(subject, &uses, permissions, findings),
        None => against_tools(subject, &uses, findings),
    }
}

/// Something that a script does and that a permission stands for.
struct Use<'u> {
    fact: &'u Fact,
    domain: Domain,
    level: Level,
    object: &'u str,
}

impl<'u> Use<'u> {
    /// The use in a file of code, and not in an example of a text.
    fn of(subject: &Subject<'_>, fact: &'u Fact) -> Option<Self> {
        let FactKind::Use { domain, level, object } = &fact.kind else { return None };
        let document = &subject.documents[fact.document];
        let is_script =
            matches!(document.kind, FileKind::Python | FileKind::JavaScript | FileKind::Shell);
        (document.origin.is_none() && is_script && !is_test(&document.path)).then_some(Self {
            fact,
            domain: *domain,
            level: *level,
            object,
        })
    }
}

/// Whether a file is a test, which no tool of the skill runs.
fn is_test(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    path.starts_with("tests/") || name.starts_with("test_") || name == "conftest.py"
}

/// Words of a description that rule the network out.
const OFFLINE: &[&str] = &[
    "without any network",
    "no network access",
    "no network connection",
    "without network",
    "without internet",
    "no internet",
    "no data leaves",
    "never leaves your machine",
    "fully offline",
    "works offline",
    "purely local",
    "runs locally only",
    "local only",
    "no external api",
    "without any external",
];
/// Words of a description that rule changes out.
const READ_ONLY: &[&str] = &[
    "read-only",
    "read only",
    "never writes",
    "does not modify",
    "without modifying",
    "never modifies",
];

fn against_description(subject: &Subject<'_>, uses: &[Use<'_>], findings: &mut Findings) {
    let description = subject.manifest.description.as_str();
    let rules_out = |words: &[&str]| words.iter().any(|words| description.contains(words));
    let mut report = |used: &Use<'_>, severity, message| {
        subject.report_fact(findings, &UNDECLARED_CAPABILITY, severity, used.fact, message);
    };
    if rules_out(OFFLINE)
        && let Some(used) = uses.iter().find(|used| {
            let is_elsewhere = used.object.is_empty() || !is_local(used.object);
            used.domain == Domain::Network && is_elsewhere
        })
    {
        report(used, Severity::High, "uses the network, which the description rules out");
    }
    if rules_out(READ_ONLY)
        && let Some(used) =
            uses.iter().find(|used| used.domain == Domain::Network && used.level == Level::Write)
    {
        report(used, Severity::Medium, "sends data, although the description calls it read-only");
    }
}

/// Tools of agents that only read.
const READING_TOOLS: &[&str] = &["read", "grep", "glob", "ls", "search", "notebookread", "view"];

/// What a skill says that it needs of its agent, if it declares no permissions.
fn against_tools(subject: &Subject<'_>, uses: &[Use<'_>], findings: &mut Findings) {
    let Some(tools) = subject.manifest.allowed_tools.as_ref().filter(|tools| !tools.is_empty())
    else {
        return;
    };
    let only_reads = tools.iter().all(|tool| {
        let name = tool.split('(').next().unwrap_or(tool).trim().to_lowercase();
        READING_TOOLS.contains(&name.as_str())
    });
    if !only_reads {
        return;
    }
    let is_sent = |used: &&Use<'_>| (used.domain, used.level) == (Domain::Network, Level::Write);
    let found = uses.iter().find(is_sent).or_else(|| {
        uses.iter().find(|used| {
            matches!(
                (used.domain, used.level),
                (Domain::Network | Domain::Filesystem, Level::Write)
            ) || used.domain == Domain::Shell && is_foreign_program(used.object)
        })
    });
    if let Some(used) = found {
        let message =
            "changes or sends something, although `allowed-tools` only lists tools that read";
        let is_sent = (used.domain, used.level) == (Domain::Network, Level::Write);
        let severity = if is_sent { Severity::High } else { Severity::Medium };
        subject.report_fact(findings, &UNDECLARED_CAPABILITY, severity, used.fact, message);
    }
}

fn against_permissions(
    subject: &Subject<'_>,
    uses: &[Use<'_>],
    permissions: &[Permission],
    findings: &mut Findings,
) {
    let mut reported: BTreeSet<(Domain, Level, &str)> = BTreeSet::new();
    for used in uses {
        let Some(why) = objection(used, permissions, &subject.manifest.variables) else { continue };
        if reported.insert((used.domain, used.level, why)) {
            let message = format!("{} {why}", deed(used.domain, used.level));
            subject.report_fact(
                findings,
                &UNDECLARED_CAPABILITY,
                Severity::High,
                used.fact,
                message,
            );
        }
    }
    let has_scripts = subject.documents.iter().any(|document| document.kind.is_code());
    for permission in permissions.iter().filter(|it| has_scripts && it.level != Level::None) {
        let is_used = uses
            .iter()
            .any(|used| used.domain == permission.domain && used.level == permission.level);
        if !is_used {
            let message = format!(
                "declares `{}:{}`, which no script uses",
                permission.domain.as_str(),
                permission.level.as_str()
            );
            // One finding for each place; a file has only one place for all of its permissions.
            let at = permission_at(subject, permission);
            findings.add(&UNDECLARED_CAPABILITY, Severity::Info, "SKILL.md", at, message);
        }
    }
}

/// Where a permission is declared.
fn permission_at(subject: &Subject<'_>, permission: &Permission) -> std::ops::Range<usize> {
    let text = permission.to_string();
    let document = subject.documents.iter().find(|document| document.path == "SKILL.md");
    let at = document.and_then(|document| document.text.find(&text));
    at.map_or(0..0, |at| at..at + text.len())
}

/// What a use is, as a verb.
fn deed(domain: Domain, level: Level) -> &'static str {
    match (domain, level) {
        (Domain::Filesystem, Level::Write) => "writes files",
        (Domain::Filesystem, _) => "reads files",
        (Domain::Network, Level::Write) => "sends data over the network",
        (Domain::Network, _) => "uses the network",
        (Domain::Shell, _) => "starts programs",
        (Domain::Desktop, _) => "controls the desktop",
        (Domain::Mcp, _) => "connects to an MCP server",
        (Domain::Env, _) => "reads environment variables",
        (Domain::Database, Level::Write) => "changes a database",
        (Domain::Database, _) => "opens a database",
    }
}

/// Why no permission covers a use; `None` if one does, or if it needs none.
fn objection(
    used: &Use<'_>,
    permissions: &[Permission],
    variables: &[String],
) -> Option<&'static str> {
    if needs_nothing(used, variables) {
        return None;
    }
    let of_domain = || permissions.iter().filter(|permission| permission.domain == used.domain);
    if of_domain().all(|permission| permission.level == Level::None) {
        let is_denied = of_domain().next().is_some();
        return Some(if is_denied {
            "that `permissions` denies"
        } else {
            "that `permissions` does not declare"
        });
    }
    let is_enough = |permission: &&Permission| {
        permission.level == used.level
            || permission.level == Level::Write && used.level == Level::Read
    };
    if !of_domain().any(|permission| is_enough(&permission)) {
        return Some("at a higher level than `permissions` declares");
    }
    let in_scope = |permission: &Permission| match permission.scope.as_deref() {
        None => true,
        Some(scope) => scope_covers(used, scope),
    };
    let is_covered = of_domain().filter(is_enough).any(in_scope);
    (!is_covered).then_some("outside of the scope in `permissions`")
}

/// Whether a use is one that every script may have.
fn needs_nothing(used: &Use<'_>, variables: &[String]) -> bool {
    match used.domain {
        // Every script reads its own files, and a computed name says nothing.
        Domain::Filesystem if used.level == Level::Read => !used.object.starts_with(['/', '~']),
        Domain::Filesystem => {
            used.object.is_empty()
                || ["/tmp/", "/var/tmp/", "/dev/"]
                    .iter()
                    .any(|start| used.object.starts_with(start))
        }
        Domain::Network => crate::known::hosts::is_local(used.object) && !used.object.is_empty(),
        Domain::Shell => !is_foreign_program(used.object),
        Domain::Env => {
            used.object.is_empty() && variables.iter().any(|name| name == "*")
                || variables.iter().any(|name| name == used.object)
                || COMMON_VARIABLES.contains(&used.object)
        }
        Domain::Desktop | Domain::Mcp | Domain::Database => false,
    }
}

/// Variables that every program reads.
const COMMON_VARIABLES: &[&str] = &[
    "HOME",
    "PATH",
    "LANG",
    "LC_ALL",
    "TERM",
    "TMPDIR",
    "TEMP",
    "TMP",
    "USER",
    "LOGNAME",
    "SHELL",
    "PWD",
    "NO_COLOR",
    "TZ",
    "CI",
    "DEBUG",
    "NODE_ENV",
    "PYTHONPATH",
    "COLUMNS",
    "LINES",
    "XDG_CONFIG_HOME",
    "XDG_CACHE_HOME",
    "XDG_DATA_HOME",
    "APPDATA",
    "LOCALAPPDATA",
    "USERPROFILE",
    "CLAUDE_SKILL_DIR",
    "CLAUDE_PLUGIN_ROOT",
];

/// Commands of a shell that start no program.
const BUILTINS: &[&str] = &[
    ":",
    ".",
    "alias",
    "bg",
    "break",
    "builtin",
    "case",
    "cd",
    "command",
    "continue",
    "declare",
    "eval",
    "exec",
    "exit",
    "export",
    "fg",
    "getopts",
    "hash",
    "if",
    "jobs",
    "let",
    "local",
    "popd",
    "pushd",
    "read",
    "readarray",
    "mapfile",
    "readonly",
    "return",
    "set",
    "shift",
    "shopt",
    "source",
    "trap",
    "type",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
    "wait",
    "while",
    "for",
    "function",
    "[[",
    "true",
    "false",
    "python",
    "python3",
    "node",
    "{",
    "",
];

/// Whether a program is neither a base utility nor part of the skill or its interpreter.
fn is_foreign_program(name: &str) -> bool {
    let base = name.rsplit('/').next().unwrap_or(name);
    let is_own = name.starts_with("./")
        || name.contains('/') && !name.starts_with('/')
        || name.contains('{');
    !is_own && !BUILTINS.contains(&base) && !utilities::names().any(|known| known == base)
}

/// Whether a scope covers what a script uses; what is computed is not judged.
fn scope_covers(used: &Use<'_>, scope: &str) -> bool {
    let object = used.object;
    if object.is_empty() || object.contains(['{', '}', '$', '*']) {
        return true;
    }
    match used.domain {
        Domain::Filesystem | Domain::Database => {
            let Ok(path) = RootedPath::parse(object) else { return false };
            let Ok(patterns) = PathPattern::parse_all(scope) else { return true };
            patterns.iter().any(|pattern| pattern.matches(&path))
        }
        Domain::Network => {
            let Ok(host) = HostName::parse(object) else { return true };
            let mut patterns = scope.split(',').map(|item| HostPattern::parse(item.trim()));
            patterns.any(|pattern| {
                pattern.is_ok_and(|pattern| {
                    pattern.ports().iter().any(|port| pattern.matches(&host, *port))
                })
            })
        }
        Domain::Shell => scope.split(',').any(|item| match Program::parse(item.trim()) {
            Ok(Program::Named(name)) => object.rsplit('/').next() == Some(name.as_str()),
            Ok(Program::At(path)) => object == path,
            Ok(Program::Own(_)) | Err(_) => false,
        }),
        Domain::Env => scope.split(',').any(|item| {
            let item = item.trim();
            item == object || item.strip_suffix('*').is_some_and(|start| object.starts_with(start))
        }),
        Domain::Desktop | Domain::Mcp => true,
    }
}
