//! The environment of a child (GIB §5.2, R31).

use insta::assert_snapshot;
use prowess_policy::environment::{EnvironmentSources, Injected, filter};
use prowess_policy::{Answer, Decision, Mode, Origin, Remember, Tier};

use crate::{Run, python_skill};

const PARENT: &[(&str, &str)] = &[
    ("PATH", "/usr/bin"),
    ("HOME", "/home/me"),
    ("USER", "me"),
    ("LANG", "de_DE.UTF-8"),
    ("LC_ALL", "C"),
    ("LC_API_TOKEN", "hidden"),
    ("TERM", "xterm"),
    ("EDITOR", "vi"),
    ("GITHUB_TOKEN", "hidden"),
    ("MY_TOKEN", "hidden"),
    ("MY_KEY", "hidden"),
    ("MY_SECRET", "hidden"),
    ("my_secret", "hidden"),
    ("AWS_REGION", "hidden"),
    ("AWS_ACCESS_KEY_ID", "hidden"),
    ("OPENAI_BASE_URL", "hidden"),
    ("ANTHROPIC_API_KEY", "hidden"),
    ("BRAVE_API_KEY", "brave"),
    ("SSH_AUTH_SOCK", "hidden"),
    ("KUBECONFIG", "hidden"),
    ("DBUS_SESSION_BUS_ADDRESS", "hidden"),
    ("NPM_TOKEN", "hidden"),
    ("PGPASSWORD", "hidden"),
    ("LD_PRELOAD", "hidden"),
    ("http_proxy", "hidden"),
    ("GIT_SSH_COMMAND", "hidden"),
    ("GIBBERISH_SKILL_DIR", "hidden"),
    ("PROWESS_REGISTRY_TOKEN", "hidden"),
    ("BASH_FUNC_x%%", "hidden"),
];

/// What the child of a skill with these permissions gets, after the user has said yes to all of them.
fn check(permissions: &[&str], set_by_tool: &[(&str, &str)]) -> String {
    let owned = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let decision = Run::new(Tier::Community, Origin::Local).decide(&python_skill(permissions));
    let Decision::Ask(question) = decision else { panic!("{decision:?}") };
    let allowed = question.approve(Answer { remember: Remember::Once, at: 0 });
    let environment = filter(&EnvironmentSources {
        parent: &owned(PARENT),
        granted: &allowed.spec().variables,
        runtime_keys: &["ANTHROPIC_API_KEY"],
        set_by_tool: &owned(set_by_tool),
        injected: Injected { skill_name: "demo", skill_dir: "/skill", mode: Mode::Dev },
    });
    let variables = environment.variables.iter().map(|(name, value)| format!("{name}={value}"));
    let withheld = environment.withheld.iter().map(|one| format!("- {} {:?}", one.name, one.why));
    variables.chain(withheld).collect::<Vec<_>>().join("\n")
}

/// GIB-5.2-1, GIB-5.2-3: the allowlist and the injected variables, and nothing else.
#[test]
fn a_child_gets_the_allowlist_and_what_is_injected() {
    assert_snapshot!(check(&["mcp:none"], &[]), @"
    GIBBERISH_MODE=Dev
    GIBBERISH_SKILL_DIR=/skill
    GIBBERISH_SKILL_NAME=demo
    HOME=/home/me
    LANG=de_DE.UTF-8
    LC_ALL=C
    PATH=/usr/bin
    PROWESS_MODE=Dev
    PROWESS_SKILL_DIR=/skill
    PROWESS_SKILL_NAME=demo
    TERM=xterm
    USER=me
    ");
}

/// GIB-5.2-2: a secret passes when the skill declares it and the user grants it (R31), and only that one.
#[test]
fn a_declared_and_granted_secret_passes() {
    assert_snapshot!(check(&["env:read:BRAVE_API_KEY,EDITOR,MISSING"], &[]), @"
    BRAVE_API_KEY=brave
    EDITOR=vi
    GIBBERISH_MODE=Dev
    GIBBERISH_SKILL_DIR=/skill
    GIBBERISH_SKILL_NAME=demo
    HOME=/home/me
    LANG=de_DE.UTF-8
    LC_ALL=C
    PATH=/usr/bin
    PROWESS_MODE=Dev
    PROWESS_SKILL_DIR=/skill
    PROWESS_SKILL_NAME=demo
    TERM=xterm
    USER=me
    - MISSING NotSet
    ");
}

/// Attack sandbox-F03, GIB-5.2-2: unscoped `env:read` brings what is neither secret nor controlling.
#[test]
fn env_read_without_a_scope_brings_no_secrets() {
    let got = check(&["env:read"], &[]);
    assert!(got.contains("EDITOR=vi"), "{got}");
    assert!(!got.contains("hidden"), "{got}");
    assert!(!got.contains("BRAVE_API_KEY"), "{got}");
}

/// Attack sandbox-F03: the runtime's own keys never pass, not even when declared and granted.
#[test]
fn the_runtimes_own_keys_never_pass() {
    let got = check(&["env:read:ANTHROPIC_API_KEY"], &[]);
    assert!(
        !got.contains("ANTHROPIC_API_KEY=") && got.contains("- ANTHROPIC_API_KEY RuntimeKey"),
        "{got}"
    );
}

#[test]
fn a_tool_sets_its_own_variables_but_not_those_that_steer() {
    let set = [
        ("COLOR", "1"),
        ("LD_PRELOAD", "/tmp/x.so"),
        ("GIBBERISH_MODE", "Meeting"),
        ("PATH", "/tmp"),
    ];
    assert_snapshot!(check(&["mcp:none"], &set), @"
    COLOR=1
    GIBBERISH_MODE=Dev
    GIBBERISH_SKILL_DIR=/skill
    GIBBERISH_SKILL_NAME=demo
    HOME=/home/me
    LANG=de_DE.UTF-8
    LC_ALL=C
    PATH=/usr/bin
    PROWESS_MODE=Dev
    PROWESS_SKILL_DIR=/skill
    PROWESS_SKILL_NAME=demo
    TERM=xterm
    USER=me
    - LD_PRELOAD Control
    - GIBBERISH_MODE Control
    - PATH Control
    ");
}

#[test]
fn a_value_is_a_key_where_the_name_says_so() {
    for name in [
        "GITHUB_TOKEN",
        "my_secret",
        "AWS_ACCESS_KEY_ID",
        "PGPASSWORD",
        "DATABASE_URL",
        "SENTRY_DSN",
    ] {
        assert!(prowess_policy::scope::is_credential(name), "{name}");
    }
    // They lead to something secret, or belong to a family of secrets, and are none.
    for name in [
        "AWS_REGION",
        "SSH_AUTH_SOCK",
        "KUBECONFIG",
        "DISPLAY",
        "OPENAI_BASE_URL",
        "KEYBOARD",
        "PATH",
    ] {
        assert!(!prowess_policy::scope::is_credential(name), "{name}");
    }
}
