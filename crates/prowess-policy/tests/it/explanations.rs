//! Explanations of decisions.

use insta::assert_snapshot;
use prowess_policy::{
    ApprovalAnswer, Badge, Decision, GrantEffect, LineKind, Origin, Remember, Tier, Trust, explain,
    explain_with_effects,
};

use crate::{Run, command_skill, explained, python_skill, skill_of};

#[test]
fn explains_a_skill_with_scoped_permissions() {
    let skill = python_skill(&[
        "filesystem:read:./data/**",
        "filesystem:write:./out/*.md",
        "network:read:*.brave.com",
        "network:write:api.example.com:8443",
        "shell:execute:git,python3",
        "env:read:BRAVE_API_KEY",
        "database:read:notes",
        "mcp:connect:web",
    ]);
    assert_snapshot!(explained(&Run::new(Tier::Community, Origin::Downloaded).decide(&skill)), @"
    `demo/run` asks before it runs
    tier community: it was downloaded and is signed; its claim to be verified is ignored
    the skill is /skills/demo
    the working directory is /work/a
    may read files below ./data, because the skill declares `filesystem:read:./data/**`
    may write files matching ./out/*.md, because the skill declares `filesystem:write:./out/*.md`
    may fetch from brave.com and the hosts below it, because the skill declares `network:read:*.brave.com`
    may send any request to api.example.com on port 8443, because the skill declares `network:write:api.example.com:8443`
    may run `git`, because the skill declares `shell:execute:git,python3`
    may run `python3`, which runs arbitrary code, because the skill declares `shell:execute:git,python3`
    may read the variable `BRAVE_API_KEY`, because the skill declares `env:read:BRAVE_API_KEY`
    may read the database `notes`, because the skill declares `database:read:notes`
    may connect to the MCP server `web`, because the skill declares `mcp:connect:web`
    may not control mouse, keyboard or screen
    at most 30 s, 8 GiB of memory, 16 GiB added to folders
    also at most 2048 processes, 4 GiB of output, 1000000 files added to folders
    asks, because you have not approved it yet
    asks, because `filesystem:write:./out/*.md` needs your consent
    asks, because `shell:execute:git` needs your consent
    asks, because `shell:execute:python3` needs your consent
    asks, because `env:read:BRAVE_API_KEY` gives it a secret
    ");
}

#[test]
fn explains_a_skill_with_unscoped_permissions() {
    let skill = python_skill(&[
        "filesystem:write",
        "network:write",
        "shell:execute",
        "env:read",
        "database:write",
        "mcp:connect",
        "desktop:control",
    ]);
    assert_snapshot!(explained(&Run::new(Tier::Experimental, Origin::Downloaded).decide(&skill)), @"
    `demo/run` asks before every run
    tier experimental: it was downloaded and is not signed; its claim to be verified is ignored
    the skill is /skills/demo
    the working directory is /work/a
    may write files in the working directory, because the skill declares `filesystem:write`, which is limited to this at tier experimental
    may send any request to any host, because the skill declares `network:write`
    may run every program, because the skill declares `shell:execute`
    may read every variable that is not secret, because the skill declares `env:read`
    may change every database, because the skill declares `database:write`
    may connect to every MCP server, because the skill declares `mcp:connect`
    may control mouse, keyboard and screen, because the skill declares `desktop:control`
    at most 30 s, 2 GiB of memory, 256 MiB of traffic, 4 GiB added to folders
    also at most 60 s of CPU time, 256 processes, 16 MiB of traffic per second, 2 GiB of output, 200000 files added to folders
    asks every time, because it was downloaded and is not signed
    asks, because you have not approved it yet
    asks, because `filesystem:write:./**` needs your consent
    asks, because `network:write:*` has no limits of its own
    asks, because `shell:execute` has no limits of its own
    asks, because `env:read` has no limits of its own
    asks, because `database:write` has no limits of its own
    asks every time, because `desktop:control` lets it use mouse, keyboard and screen as you
    ");
    assert_snapshot!(explained(&Run::new(Tier::Verified, Origin::Downloaded).decide(&skill)), @"
    `demo/run` asks before it runs
    tier verified: it was downloaded and is signed
    the skill is /skills/demo
    the working directory is /work/a
    may write files anywhere, because the skill declares `filesystem:write`
    may send any request to any host, because the skill declares `network:write`
    may run every program, because the skill declares `shell:execute`
    may read every variable that is not secret, because the skill declares `env:read`
    may change every database, because the skill declares `database:write`
    may connect to every MCP server, because the skill declares `mcp:connect`
    may control mouse, keyboard and screen, because the skill declares `desktop:control`
    at most 30 s, 16 GiB added to folders
    also at most 4096 processes, 4 GiB of output, 1000000 files added to folders
    asks, because you have not approved it yet
    ");
}

#[test]
fn explains_command_tools() {
    let bundled = Run::new(Tier::Experimental, Origin::Bundled);
    assert_snapshot!(explained(&bundled.decide(&command_skill("read_only: true", "git status"))), @"
    `demo/run` runs without asking
    tier verified: it is bundled with prowess
    the skill is /skills/demo
    the working directory is /work/a
    may run `git`, because its command starts `git`
    may read files in the working directory, where commands run
    may not use the network
    may not control mouse, keyboard or screen
    may not connect to MCP servers
    may not read your environment variables
    may not use databases
    at most 30 s
    also at most 4096 processes, 4 GiB of output
    ");
    let local = Run::new(Tier::Experimental, Origin::Local);
    assert_snapshot!(explained(&local.decide(&skill_of("gibberish/8.2/summarize/SKILL.md"))), @"
    `demo/summarize_url` asks before it runs
    tier experimental: it is a local file
    the skill is /skills/demo
    the working directory is /work/a
    may run `npx`, which runs arbitrary code, because its command starts `npx`
    may read files in the working directory, where commands run
    may send any request to any host, because the skill declares that it needs the network
    may not control mouse, keyboard or screen
    may not connect to MCP servers
    may not read your environment variables
    may not use databases
    at most 60 s, 2 GiB of memory, 256 MiB of traffic
    also at most 120 s of CPU time, 256 processes, 16 MiB of traffic per second, 2 GiB of output
    asks, because you have not approved it yet
    asks, because `shell:execute:npx` needs your consent
    asks, because it requests the network without naming hosts
    ");
    let deploy = skill_of("gibberish/8.3/deploy/SKILL.md");
    assert_snapshot!(explained(&local.decide(&deploy)), @"
    `demo/deploy_preview` does not run
    tier experimental: it is a local file
    refused, because it is only available in Dev, and the mode is Global
    ");
}

#[test]
fn explains_a_denial() {
    let skill = python_skill(&["network:read:*.com", "env:read:LD_PRELOAD"]);
    assert_snapshot!(explained(&Run::new(Tier::Verified, Origin::Local).decide(&skill)), @"
    `demo/run` does not run
    tier verified: it is a local file
    refused, because `network:read:*.com` can't be granted: `*.com` covers names that anyone can register: name the host
    refused, because `env:read:LD_PRELOAD` can't be granted: `LD_PRELOAD` controls what programs load or connect to: no skill may request it
    ");
}

#[test]
fn explains_an_approval() {
    let ask = || {
        let run = Run::new(Tier::Experimental, Origin::Local);
        match run.decide(&command_skill("", "git status")) {
            Decision::Ask(question) => question,
            other => panic!("{other:?}"),
        }
    };
    let allowed = ask().approve(ApprovalAnswer { remember: Remember::Once, at: 0 });
    let first = |decision: Decision| explained(&decision).lines().next().map(str::to_owned);
    assert_eq!(
        first(Decision::Allow(allowed)).as_deref(),
        Some("`demo/run` runs, because you approved it now")
    );
    let allowed = ask().approve_in_advance().expect("`--yes` answers this");
    assert_eq!(
        first(Decision::Allow(allowed)).as_deref(),
        Some("`demo/run` runs, because it was approved in advance")
    );
}

/// Control and bidirectional characters of a skill are made visible before the user approves it.
#[test]
fn deceptive_characters_are_shown() {
    let skill = python_skill(&["\"filesystem:read:./a\\u202eb\"", "\"mcp:connect:x\\u200by\""]);
    let text = explained(&Run::new(Tier::Community, Origin::Local).decide(&skill));
    assert!(text.contains("\\u{202e}") && text.contains("\\u{200b}"), "{text}");
    assert!(!text.contains('\u{202e}') && !text.contains('\u{200b}'), "{text}");
}

/// R19: three axes, and a claim that is ignored.
#[test]
fn explains_the_three_axes_of_trust() {
    let skill = python_skill(&["mcp:none"]);
    let trust = Trust::of(&skill, Tier::Community, Some(Badge::Official), Origin::Downloaded);
    assert_eq!(trust.claimed(), Some(Tier::Verified));
    assert_eq!(trust.tier(), Tier::Community);
    let request = prowess_policy::RunRequest::of(
        &skill,
        "demo",
        "run",
        prowess_policy::Digest::new("x"),
        Vec::new(),
    )
    .expect("the tool is there");
    let decision = prowess_policy::decide(
        &request,
        trust,
        &prowess_policy::grants::of(&skill),
        &prowess_policy::Approvals::default(),
        prowess_policy::Mode::Global,
    );
    let text = explained(&decision);
    assert_eq!(
        text.lines().nth(1),
        Some(
            "tier community: it was downloaded and is signed; its claim to be verified is ignored; the registry calls it official"
        )
    );
}

/// R52: `/**` is equivalent to no scope, which means the working directory for experimental skills.
#[test]
fn explains_unscoped_files_that_were_narrowed() {
    for (permission, tier, expected) in [
        (
            "filesystem:write:/**",
            Tier::Experimental,
            "may write files in the working directory, because the skill declares `filesystem:write:/**`, which is limited to this at tier experimental",
        ),
        (
            "filesystem:read",
            Tier::Experimental,
            "may read files in the working directory, because the skill declares `filesystem:read`, which is limited to this at tier experimental",
        ),
        (
            "filesystem:write:/**",
            Tier::Verified,
            "may write files anywhere, because the skill declares `filesystem:write:/**`",
        ),
        (
            "filesystem:write:./**",
            Tier::Experimental,
            "may write files in the working directory, because the skill declares `filesystem:write:./**`",
        ),
    ] {
        let decision = Run::new(tier, Origin::Local).decide(&python_skill(&[permission]));
        let lines = explain(&decision);
        let may: Vec<&str> = lines
            .iter()
            .filter(|line| line.kind == LineKind::May)
            .map(|line| line.text.as_str())
            .collect();
        assert_eq!(may, [expected], "{permission}");
    }
}

#[test]
fn explanations_mention_unavailable_grants() {
    let skill = python_skill(&["filesystem:write:~/.bashrc", "filesystem:write:~/.config/**"]);
    let decision = Run::new(Tier::Experimental, Origin::Local).decide(&skill);
    let lines = explain_with_effects(&decision, &|grant| match grant.to_string().as_str() {
        "filesystem:write:~/.bashrc" => GrantEffect::Never("it is never changed".to_owned()),
        _ => GrantEffect::Partly("a part of it is closed".to_owned()),
    });
    let told = |kind| lines.iter().filter(move |line| line.kind == kind).map(|line| &line.text);
    assert_eq!(
        told(LineKind::May).collect::<Vec<_>>(),
        [
            "may write files below ~/.config, because the skill declares `filesystem:write:~/.config/**`"
        ]
    );
    assert_eq!(
        told(LineKind::MayNot).take(2).collect::<Vec<_>>(),
        [
            "gets no access from `filesystem:write:~/.bashrc`: it is never changed",
            "a part of it is closed"
        ]
    );
}
