//! The environment of a child process (GIB §5.2, R31).

use insta::assert_snapshot;
use prowess_policy::environment::{EnvironmentSources, InjectedVariables, filter};
use prowess_policy::{ApprovalAnswer, Decision, Mode, Origin, Remember, Tier};

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

/// The environment of a skill with these permissions, after the user has approved all of them.
fn check(permissions: &[&str], set_by_tool: &[(&str, &str)]) -> String {
    let owned = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let decision = Run::new(Tier::Community, Origin::Local).decide(&python_skill(permissions));
    let Decision::Ask(question) = decision else { panic!("{decision:?}") };
    let allowed = question.approve(ApprovalAnswer { remember: Remember::Once, at: 0 });
    let environment = filter(&EnvironmentSources {
        parent: &owned(PARENT),
        granted: &allowed.spec().variables,
        runtime_keys: &["ANTHROPIC_API_KEY"],
        set_by_tool: &owned(set_by_tool),
        injected: InjectedVariables { skill_name: "demo", skill_dir: "/skill", mode: Mode::Dev },
    });
    let variables = environment.variables.iter().map(|(name, value)| format!("{name}={value}"));
    let withheld = environment.withheld.iter().map(|one| format!("- {} {:?}", one.name, one.why));
    variables.chain(withheld).collect::<Vec<_>>().join("\n")
}

/// GIB-5.2-1, GIB-5.2-3: only the allowlist and the injected variables.
#[test]
fn a_child_gets_the_allowlist_and_the_injected_variables() {
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

/// GIB-5.2-2: a secret is passed if the skill declares it and the user grants it (R31).
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

/// Attack sandbox-F03, GIB-5.2-2: unscoped `env:read` includes neither secrets nor control variables.
#[test]
fn unscoped_env_read_passes_no_secrets() {
    let got = check(&["env:read"], &[]);
    assert!(got.contains("EDITOR=vi"), "{got}");
    assert!(!got.contains("hidden"), "{got}");
    assert!(!got.contains("BRAVE_API_KEY"), "{got}");
}

/// Attack sandbox-F03: keys of the runtime are not passed, even if declared and granted.
#[test]
fn keys_of_the_runtime_are_never_passed() {
    let got = check(&["env:read:ANTHROPIC_API_KEY"], &[]);
    assert!(
        !got.contains("ANTHROPIC_API_KEY=") && got.contains("- ANTHROPIC_API_KEY RuntimeKey"),
        "{got}"
    );
}

#[test]
fn a_tool_may_set_variables_except_control_variables() {
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
fn credential_variables_are_recognised_by_name() {
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
    // These refer to a secret or share a secret's prefix, but are not secrets themselves.
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
