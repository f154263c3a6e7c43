//! The questions that requests raise (GIB §6.2, §6.3, R32, R53).

use insta::assert_snapshot;
use prowess_format::skill::Skill;
use prowess_policy::{
    ApprovalAnswer, Approvals, Decision, GrantEffect, Origin, Remember, Tier, grants,
};

use crate::{Run, command_skill, explained, granted, python_skill, shown, skill};

/// The decision before anything was approved, and the one after the user has approved the tool.
fn check(skill: &Skill, tier: Tier, origin: Origin) -> String {
    let mut run = Run::new(tier, origin);
    let first = run.decide(skill);
    let shown_first = shown(&first);
    let Decision::Ask(question) = first else { return shown_first };
    let banner = if question.has_banner() { " (banner)" } else { "" };
    let allowed = question.approve(ApprovalAnswer { remember: Remember::Tool, at: 7 });
    run.approvals = Approvals::new(allowed.approval().cloned().into_iter().collect());
    format!("{shown_first}{banner}\nthen {}", shown(&run.decide(skill)))
}

/// GIB-6.2-1: the three levels of trust.
#[test]
fn bundled_runs_local_asks_once_downloaded_asks_always() {
    let read_only = command_skill("read_only: true", "git status");
    assert_snapshot!(check(&read_only, Tier::Experimental, Origin::Bundled), @"runs");
    assert_snapshot!(check(&read_only, Tier::Experimental, Origin::Local), @"
    asks: FirstUse; Permission shell:execute:git
    then runs
    ");
    assert_snapshot!(check(&read_only, Tier::Experimental, Origin::Downloaded), @"
    asks: UnsignedDownload every time no --yes; FirstUse; Permission shell:execute:git (banner)
    then asks: UnsignedDownload every time no --yes
    ");
    // R32: a verified read-only skill runs without asking, whatever its origin.
    assert_snapshot!(check(&read_only, Tier::Verified, Origin::Downloaded), @"runs");
    assert_snapshot!(check(&read_only, Tier::Community, Origin::Downloaded), @"
    asks: FirstUse; Permission shell:execute:git
    then runs
    ");
    let writing = command_skill("", "git status");
    assert_snapshot!(check(&writing, Tier::Experimental, Origin::Bundled), @"
    asks: FirstUse
    then runs
    ");
    assert_snapshot!(check(&writing, Tier::Verified, Origin::Local), @"
    asks: FirstUse
    then runs
    ");
}

/// GIB-6.3-2: after approval the flags decide, and `always_ask` asks even when read-only.
#[test]
fn always_ask_asks_before_every_run() {
    let both = command_skill("read_only: true\nalways_ask: true", "git status");
    assert_snapshot!(check(&both, Tier::Verified, Origin::Bundled), @"
    asks: AlwaysAsk every time
    then asks: AlwaysAsk every time
    ");
    assert_snapshot!(check(&both, Tier::Verified, Origin::Local), @"
    asks: AlwaysAsk every time
    then asks: AlwaysAsk every time
    ");
    let read_only = command_skill("read_only: true", "git status");
    assert_snapshot!(check(&read_only, Tier::Community, Origin::Local), @"
    asks: FirstUse; Permission shell:execute:git
    then runs
    ");
    let always = command_skill("always_ask: true", "git status");
    assert_snapshot!(check(&always, Tier::Verified, Origin::Local), @"
    asks: AlwaysAsk every time; FirstUse
    then asks: AlwaysAsk every time
    ");
}

/// R53: `network: true` asks, even for a bundled read-only skill.
#[test]
fn the_network_flag_asks() {
    let skill = command_skill("read_only: true\nnetwork: true", "curl x");
    assert_snapshot!(check(&skill, Tier::Verified, Origin::Bundled), @"
    asks: NetworkFlag network:write:*
    then runs
    ");
    assert_snapshot!(check(&skill, Tier::Experimental, Origin::Local), @"
    asks: FirstUse; Permission shell:execute:curl; NetworkFlag network:write:* no --yes
    then runs
    ");
}

/// R31: a signature proves the author, but the secret is the user's.
#[test]
fn access_to_secrets_asks_at_every_tier() {
    for (permission, expected) in [
        ("env:read:BRAVE_API_KEY", "SecretVariable env:read:BRAVE_API_KEY"),
        ("filesystem:read:~/.ssh/config", "SecretFiles filesystem:read:~/.ssh/config no --yes"),
        (
            "filesystem:read:/home/me/.aws/**",
            "SecretFiles filesystem:read:/home/me/.aws/** no --yes",
        ),
        ("filesystem:read:/etc/shadow", "SecretFiles filesystem:read:/etc/shadow no --yes"),
        ("filesystem:read:/etc/ssh/**", "SecretFiles filesystem:read:/etc/ssh/** no --yes"),
        (
            "filesystem:read:/etc/sudoers.d/x",
            "SecretFiles filesystem:read:/etc/sudoers.d/x no --yes",
        ),
        ("filesystem:read:/root/notes", "SecretFiles filesystem:read:/root/notes no --yes"),
    ] {
        for tier in Tier::ALL {
            let decision =
                shown(&Run::new(tier, Origin::Local).decide(&python_skill(&[permission])));
            assert_eq!(decision, format!("asks: FirstUse; {expected}"), "{permission} at {tier}");
        }
    }
}

/// The questions that `--yes` answers; see the table of docs/design/policy.md.
#[test]
fn some_questions_cannot_be_answered_in_advance() {
    for (permission, at_experimental, at_community) in [
        ("filesystem:read:./data/**", true, true),
        ("filesystem:write:./data/**", true, true),
        ("filesystem:write", true, true),
        ("filesystem:write:~/**", false, true),
        ("filesystem:read:~/.ssh/config", false, false),
        ("network:write:a.com", true, true),
        ("network:read", false, true),
        ("network:write", false, true),
        ("shell:execute:git", true, true),
        ("shell:execute", false, true),
        ("desktop:control", false, false),
        ("mcp:connect", true, true),
        ("env:read:A_KEY", true, true),
        ("env:read", false, true),
        ("database:write:notes", true, true),
        ("database:write", false, true),
    ] {
        for (tier, expected) in
            [(Tier::Experimental, at_experimental), (Tier::Community, at_community)]
        {
            let decision = Run::new(tier, Origin::Local).decide(&python_skill(&[permission]));
            let Decision::Ask(question) = decision else { panic!("{permission}") };
            assert_eq!(question.approve_in_advance().is_ok(), expected, "{permission} at {tier}");
        }
    }
}

/// An approval in advance covers one run only.
#[test]
fn an_approval_in_advance_is_not_remembered() {
    let decision = Run::new(Tier::Experimental, Origin::Local)
        .decide(&command_skill("always_ask: true", "git status"));
    let Decision::Ask(question) = decision else { panic!("{decision:?}") };
    let allowed = question.approve_in_advance().expect("`--yes` answers this");
    assert_eq!(allowed.approval(), None);
}

#[test]
fn an_unsigned_download_is_not_answered_in_advance() {
    let decision = Run::new(Tier::Experimental, Origin::Downloaded)
        .decide(&command_skill("read_only: true", "git status"));
    let Decision::Ask(question) = decision else { panic!("{decision:?}") };
    assert!(question.has_banner());
    assert!(question.approve_in_advance().is_err());
}

#[test]
fn an_experimental_desktop_skill_asks_every_time() {
    let skill = python_skill(&["desktop:control"]);
    assert_snapshot!(check(&skill, Tier::Experimental, Origin::Local), @"
    asks: FirstUse; Permission desktop:control every time no --yes
    then asks: Permission desktop:control every time no --yes
    ");
    assert_snapshot!(check(&skill, Tier::Community, Origin::Local), @"
    asks: FirstUse; Permission desktop:control no --yes
    then runs
    ");
}

/// GAIA §8.3: handlers are experimental, whatever their signature.
#[test]
fn handlers_are_always_experimental() {
    let text = "---\nname: a\nclaw_version: 1.0.0\ndescription: A\nactions:\n  - name: go\n    handler: ./go.py\nsecurity_tier: verified\n---\nBody\n";
    let decision = Run::new(Tier::Verified, Origin::Bundled).decide(&skill(text));
    let Decision::Ask(question) = decision else { panic!("{decision:?}") };
    assert_eq!(question.spec().tier, Tier::Experimental);
}

/// GIB §5.1: outside a repository the working directory is the home directory, and `./` is treated as `~/`.
#[test]
fn a_run_in_the_home_directory_treats_relative_grants_as_home_grants() {
    let mut run = Run::new(Tier::Experimental, Origin::Local);
    run.in_home = true;
    assert_snapshot!(shown(&run.decide(&command_skill("read_only: true", "ls"))), @"asks: FirstUse; Permission shell:execute:ls; Permission filesystem:read:~/**");
    assert_snapshot!(shown(&run.decide(&command_skill("", "ls"))), @"asks: FirstUse; Permission shell:execute:ls; Permission filesystem:write:~/** no --yes");
    assert_snapshot!(shown(&run.decide(&python_skill(&["filesystem:write"]))), @"asks: FirstUse; Permission filesystem:write:~/** no --yes");
    assert_snapshot!(shown(&run.decide(&python_skill(&["filesystem:read:./.ssh/**"]))), @"asks: FirstUse; SecretFiles filesystem:read:~/.ssh/** no --yes");
}

#[test]
fn requests_that_cannot_be_granted_are_denied() {
    let run = Run::new(Tier::Verified, Origin::Bundled);
    assert_snapshot!(shown(&run.decide(&python_skill(&["network:read:*.com"]))), @"refused: `network:read:*.com` can't be granted: `*.com` covers names that anyone can register: name the host");
    assert_snapshot!(shown(&run.decide(&command_skill("", "../x"))), @"refused: `../x` can't be granted: `../x` is outside the skill's directory");
    let mut skill = command_skill("", "git status");
    skill.permissions = python_skill(&["shell:none"]).permissions;
    assert_snapshot!(shown(&run.decide(&skill)), @"refused: it starts `git`, although it declares that it does not");
}

/// A tool gets the programs of its own command, and not those of other tools.
#[test]
fn each_tool_has_its_own_programs() {
    let text = "---\nname: two\nversion: 1.0.0\ndescription: Two\nmodes: [Global]\nread_only: true\n---\n\n### one\n\nOne.\n\n#### Command\n\n```bash\ngit status\n```\n\n### two\n\nTwo.\n\n#### Command\n\n```bash\nnpm test\n```\n";
    let Decision::Allow(allowed) = Run::new(Tier::Verified, Origin::Bundled).decide(&skill(text))
    else {
        panic!("a bundled read-only skill runs")
    };
    let programs: Vec<String> = match &allowed.spec().programs {
        prowess_policy::spec::Programs::Only(programs) => {
            programs.iter().map(ToString::to_string).collect()
        }
        prowess_policy::spec::Programs::Any => vec!["any".to_owned()],
    };
    assert_eq!(programs, ["git"]);
}

/// GIB §5.3: 1 to 300 seconds, 30 by default; R21: a grace period of 5 seconds.
#[test]
fn timeouts_are_clamped_to_the_allowed_range() {
    for (line, expected) in [
        ("", 30),
        ("timeout: 10", 10),
        ("timeout: 9999", 300),
        ("timeout: 0", 1),
        ("timeout: -5", 1),
    ] {
        let decision = Run::new(Tier::Verified, Origin::Local).decide(&command_skill(line, "ls"));
        let Decision::Ask(question) = decision else { panic!("{line}") };
        assert_eq!(question.spec().limits.wall_secs, expected, "{line}");
        assert_eq!(question.spec().limits.grace_secs, 5);
    }
}

/// The proxy never connects to this machine or its local network, so the user is not asked about such a grant.
#[test]
fn grants_for_the_local_machine_are_denied_without_a_question() {
    for (permission, refused) in [
        ("network:read:localhost:11434", true),
        ("network:write:api.localhost", true),
        ("network:read:127.0.0.1:8080", true),
        ("network:read:[::1]:8080", true),
        ("network:read:192.168.1.7", true),
        ("network:read:100.64.0.1", true),
        ("network:read:93.184.216.34", false),
        ("network:read:localhost.example.com", false),
    ] {
        for tier in Tier::ALL {
            let decision = Run::new(tier, Origin::Local).decide(&python_skill(&[permission]));
            let expected = format!(
                "refused: `{permission}` is your own machine or network, which can't be granted"
            );
            assert_eq!(shown(&decision) == expected, refused, "{permission}: {}", shown(&decision));
        }
    }
}

#[test]
fn a_grant_that_is_declared_and_implied_asks_once_and_is_stored_once() {
    let skill = command_skill("read_only: true", "git log");
    let both = grants::of(&skill).with(granted("shell:execute:git"));
    let decision = Run::new(Tier::Experimental, Origin::Local).decide_with(&skill, &both);
    assert_eq!(shown(&decision), "asks: FirstUse; Permission shell:execute:git");
    let Decision::Ask(question) = decision else { panic!("it asks") };
    assert_eq!(question.grants().len(), 3, "one is declared, one implied");
    let allowed = question.approve(ApprovalAnswer { remember: Remember::Tool, at: 0 });
    let approval = allowed.approval().expect("it is remembered");
    assert_eq!(approval.grants, ["shell:execute:git", "filesystem:read:./**"]);
}

/// Unavailable grants are not asked about, not approved and not given.
#[test]
fn unavailable_grants_are_not_part_of_the_decision() {
    let skill = python_skill(&["filesystem:write:~/bin", "filesystem:write:~/.ssh/**"]);
    let run = Run::new(Tier::Experimental, Origin::Local);
    let here = |grant: &prowess_policy::Grant| match grant.to_string().as_str() {
        "filesystem:write:~/bin" => GrantEffect::ReadOnly("it is on your PATH".to_owned()),
        _ => GrantEffect::Never("it is never opened".to_owned()),
    };
    let decision = run.decide_on(&skill, &here);
    // One grant is available for reading only, the other not at all; `--yes` could not answer the latter.
    assert_snapshot!(shown(&decision), @"asks: FirstUse");
    assert_snapshot!(explained(&decision), @"
    `demo/run` asks before it runs
    tier experimental: it is a local file; its claim to be verified is ignored
    the skill is /skills/demo
    the working directory is /work/a
    may read files at ~/bin, because the skill declares `filesystem:write:~/bin`
    gets only read access from `filesystem:write:~/bin`: it is on your PATH
    gets no access from `filesystem:write:~/.ssh/**`: it is never opened
    may not use the network
    may not run other programs
    may not control mouse, keyboard or screen
    may not connect to MCP servers
    may not read your environment variables
    may not use databases
    at most 30 s, 2 GiB of memory
    also at most 60 s of CPU time, 256 processes, 2 GiB of output
    asks, because you have not approved it yet
    ");
    let Decision::Ask(question) = decision else { panic!("it asks") };
    let allowed = question.approve(ApprovalAnswer { remember: Remember::Tool, at: 0 });
    assert!(allowed.spec().write.is_empty());
    assert_eq!(allowed.spec().read.len(), 1);
    // On another machine the same skill gets what it requests, so it asks there.
    let approvals = Approvals::new(vec![allowed.approval().expect("it is kept").clone()]);
    let run = Run { approvals, ..run };
    assert!(matches!(run.decide_on(&skill, &here), Decision::Allow(_)));
    let Decision::Ask(question) = run.decide(&skill) else { panic!("it asks again") };
    assert!(question.changed().is_some());
}
