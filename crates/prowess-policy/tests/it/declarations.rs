//! How the declarations of each dialect become grants.

use insta::assert_snapshot;
use prowess_format::skill::Skill;
use prowess_policy::grants;

use crate::{command_skill, python_skill, skill, skill_of};

/// One line per grant with its source and tool, one per refusal.
fn listed(skill: &Skill) -> String {
    let set = grants::of(skill);
    let grants = set.grants().iter().map(|grant| {
        let tool = grant.tool().map_or_else(String::new, |tool| format!(" [{tool}]"));
        format!("{grant}{tool} ({})", grant.source())
    });
    grants.chain(set.refusals().iter().map(ToString::to_string)).collect::<Vec<_>>().join("\n")
}

#[test]
fn gaia_lists_permissions() {
    let skill = python_skill(&[
        "filesystem:read:~/.gaia/data/**",
        "network:read:*.brave.com",
        "shell:execute:git,npm",
        "desktop:none",
    ]);
    assert_snapshot!(listed(&skill), @"
    filesystem:read:~/.gaia/data/** (declared: `filesystem:read:~/.gaia/data/**`)
    network:read:*.brave.com (declared: `network:read:*.brave.com`)
    shell:execute:git (declared: `shell:execute:git,npm`)
    shell:execute:npm (declared: `shell:execute:git,npm`)
    ");
    assert_snapshot!(listed(&skill_of("gaia/2.1/web-search/SKILL.md")), @"
    network:read:* (declared: `network:read`)
    env:read:BRAVE_API_KEY (required variable: `BRAVE_API_KEY`)
    ");
}

/// R15, SRT §4.7: `["*"]` is any host, `[]` none; path patterns grant reading and writing.
#[test]
fn skillrt_declares_a_map_of_permissions() {
    let text = |network: &str| {
        format!(
            "---\nname: a\nversion: 1.0.0\ndescription: A\nruntime: {{type: markdown-skill}}\npermissions:\n  network: {network}\n  filesystem: [\"./src/**\"]\n  env: [GITHUB_TOKEN]\ndependencies: {{mcp-servers: [github], tools: [curl]}}\n---\nBody\n"
        )
    };
    assert_snapshot!(listed(&skill(&text("[api.github.com]"))), @"
    network:write:api.github.com (declared: `network:write:api.github.com`)
    filesystem:read:./src/** (declared: `filesystem:read:./src/**`)
    filesystem:write:./src/** (declared: `filesystem:write:./src/**`)
    env:read:GITHUB_TOKEN (declared: `env:read:GITHUB_TOKEN`)
    mcp:connect:github (required MCP server: `github`)
    ");
    assert_snapshot!(listed(&skill(&text("[\"*\"]"))), @"
    network:write:* (declared: `network:write`)
    filesystem:read:./src/** (declared: `filesystem:read:./src/**`)
    filesystem:write:./src/** (declared: `filesystem:write:./src/**`)
    env:read:GITHUB_TOKEN (declared: `env:read:GITHUB_TOKEN`)
    mcp:connect:github (required MCP server: `github`)
    ");
    assert_snapshot!(listed(&skill(&text("[]"))), @"
    filesystem:read:./src/** (declared: `filesystem:read:./src/**`)
    filesystem:write:./src/** (declared: `filesystem:write:./src/**`)
    env:read:GITHUB_TOKEN (declared: `env:read:GITHUB_TOKEN`)
    mcp:connect:github (required MCP server: `github`)
    ");
}

/// GIB §5.1, R53: the program of each command, for its own tool; the working directory; the network flag.
#[test]
fn gibberish_has_commands_and_flags() {
    assert_snapshot!(listed(&skill_of("gibberish/8.1/git/SKILL.md")), @"
    shell:execute:git [git_status] (implied by the command `git`)
    shell:execute:git [git_log] (implied by the command `git`)
    shell:execute:git [git_diff] (implied by the command `git`)
    filesystem:write:./** [git_status] (commands run in the working directory)
    filesystem:write:./** [git_log] (commands run in the working directory)
    filesystem:write:./** [git_diff] (commands run in the working directory)
    ");
    assert_snapshot!(listed(&skill_of("gibberish/8.2/summarize/SKILL.md")), @"
    shell:execute:npx [summarize_url] (implied by the command `npx`)
    filesystem:read:./** [summarize_url] (commands run in the working directory)
    network:write:* (the skill declares that it needs the network)
    ");
    assert_snapshot!(listed(&skill_of("gibberish/8.3/deploy/SKILL.md")), @"
    shell:execute:./scripts/deploy.sh [deploy_preview] (implied by the command `./scripts/deploy.sh`)
    filesystem:write:./** [deploy_preview] (commands run in the working directory)
    network:write:* (the skill declares that it needs the network)
    ");
}

#[test]
fn tool_packs_are_like_commands() {
    assert_snapshot!(listed(&skill_of("tool-pack/writes-and-asks/commit_all.tool.json")), @"
    shell:execute:git [commit_all] (implied by the command `git`)
    filesystem:write:./** [commit_all] (commands run in the working directory)
    ");
}

#[test]
fn a_tool_pack_cannot_set_control_variables() {
    let text = r#"{"name": "x", "description": "X", "command": {"program": "echo", "env": {"LD_PRELOAD": "/tmp/x.so", "COLOR": "1"}}}"#;
    let options = prowess_format::ReadOptions {
        form: prowess_format::document::Form::Json,
        ..prowess_format::ReadOptions::DETECT
    };
    assert_snapshot!(listed(&prowess_format::check(text, options).skill), @"
    shell:execute:echo [x] (implied by the command `echo`)
    filesystem:read:./** [x] (commands run in the working directory)
    `LD_PRELOAD` can't be granted: `LD_PRELOAD` controls what programs load or connect to: no skill may request it
    ");
}

#[test]
fn openclaw_requires_programs_and_variables() {
    let block = "---\nname: a\ndescription: A\nmetadata: {openclaw: {primaryEnv: A_KEY, requires: {bins: [gh], anyBins: [rg, grep], env: [A_KEY, B_URL]}, envVars: [{name: C_TOKEN}]}}\n---\nBody\n";
    assert_snapshot!(listed(&skill(block)), @"
    env:read:A_KEY (required variable: `A_KEY`)
    env:read:B_URL (required variable: `B_URL`)
    env:read:C_TOKEN (required variable: `C_TOKEN`)
    shell:execute:gh (required program: `gh`)
    shell:execute:rg (required program: `rg`)
    shell:execute:grep (required program: `grep`)
    ");
    let older = "---\nname: a\nclaw_version: 1.0.0\ndescription: A\nnetwork: true\nactions:\n  - name: go\n    handler: ./go.py\n---\nBody\n";
    assert_snapshot!(listed(&skill(older)), @"network:write:* (the skill declares that it needs the network)");
}

/// R16: `allowed-tools` grants nothing.
#[test]
fn claude_code_and_the_open_standard_grant_nothing() {
    let text =
        "---\nname: a\ndescription: A\nallowed-tools: Bash(git:*) Read Write WebFetch\n---\nBody\n";
    assert_eq!(listed(&skill(text)), "");
    assert_eq!(listed(&skill("---\nname: a\ndescription: A\n---\nBody\n")), "");
}

#[test]
fn none_overrides_every_other_request_for_the_domain() {
    let skill = python_skill(&["network:none", "network:read:a.com", "mcp:connect:x"]);
    assert_eq!(listed(&skill), "mcp:connect:x (declared: `mcp:connect:x`)");
}

/// Declarations for files and the network replace the implied grants of these domains.
#[test]
fn declared_permissions_replace_implied_ones() {
    let mut skill = command_skill("network: true", "ls data");
    skill.permissions =
        python_skill(&["filesystem:read:./data/**", "network:read:a.com"]).permissions;
    assert_snapshot!(listed(&skill), @"
    filesystem:read:./data/** (declared: `filesystem:read:./data/**`)
    network:read:a.com (declared: `network:read:a.com`)
    shell:execute:ls [run] (implied by the command `ls`)
    ");
}

#[test]
fn refusals_name_the_request_and_the_reason() {
    let skill = python_skill(&["network:read:*.github.io", "filesystem:write:../x"]);
    assert_snapshot!(listed(&skill), @"
    `network:read:*.github.io` can't be granted: `*.github.io` covers names that anyone can register: name the host
    `filesystem:write:../x` can't be granted: `../x` contains `..`: write the resolved path
    ");
    assert_snapshot!(listed(&command_skill("", "../../bin/x")), @"
    filesystem:write:./** [run] (commands run in the working directory)
    `../../bin/x` can't be granted: `../../bin/x` is outside the skill's directory
    ");
    // A server named `*` would mean every server when the approval is parsed again.
    let text = "---\nname: a\nversion: 1.0.0\ndescription: A\nruntime: {type: markdown-skill}\ndependencies: {mcp-servers: [\"*\", \"a,b\"]}\n---\nBody\n";
    assert_snapshot!(listed(&crate::skill(text)), @"
    `*` can't be granted: `*` is not a name
    `a,b` can't be granted: `a,b` is not a name
    ");
    assert_snapshot!(listed(&command_skill("", "{{program}} x")), @"
    filesystem:write:./** [run] (commands run in the working directory)
    `{{program}}` can't be granted: `{{program}}` is not a program name
    ");
}
