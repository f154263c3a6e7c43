//! When an approval is valid, and what voids it.

use insta::assert_snapshot;
use prowess_format::skill::Skill;
use prowess_policy::{
    Approval, ApprovalAnswer, Approvals, Decision, Digest, FileHashes, Origin, ProgramPin, Project,
    Remember, Tier, grants,
};

use crate::{Run, command_skill, explained, python_skill, shown, skill};

fn approved(run: &Run, skill: &Skill, remember: Remember) -> Approval {
    let decision = run.decide(skill);
    let Decision::Ask(question) = decision else { panic!("{decision:?}") };
    let allowed = question.approve(ApprovalAnswer { remember, at: 100 });
    allowed.approval().expect("the answer is remembered").clone()
}

fn pin(path: &str, sha256: &str) -> ProgramPin {
    ProgramPin { path: path.to_owned(), sha256: sha256.to_owned() }
}

/// The change that a question reports, or `runs` if nothing changed.
fn outcome(run: &Run, skill: &Skill) -> String {
    match run.decide(skill) {
        Decision::Allow(_) => "runs".to_owned(),
        Decision::Ask(question) => {
            question.changed().map_or_else(|| "asks".to_owned(), ToString::to_string)
        }
        Decision::Deny(_) => "refused".to_owned(),
    }
}

/// GIB-6.3-3. Stricter than required: the digest is over all files, so a changed script asks again too.
#[test]
fn a_change_of_the_files_voids_the_approval() {
    let skill = command_skill("", "./scripts/x.sh");
    let mut run = Run::new(Tier::Experimental, Origin::Local);
    run.approvals = Approvals::new(vec![approved(&run, &skill, Remember::Tool)]);
    assert_eq!(outcome(&run, &skill), "runs");
    run.digest = "second";
    assert_eq!(outcome(&run, &skill), "its files have changed since you approved it on 1970-01-01");
    assert_snapshot!(explained(&run.decide(&skill)), @"
    `demo/run` asks before it runs
    tier experimental: it is a local file
    the skill is /skills/demo
    the working directory is /work/a
    may run `./scripts/x.sh`, because its command starts `./scripts/x.sh`
    may write files in the working directory, where commands run
    may run base utilities such as `sort`, `grep` and `tar`, because they add no access
    may not use the network
    may not control mouse, keyboard or screen
    may not connect to MCP servers
    may not read your environment variables
    may not use databases
    at most 30 s, 2 GiB of memory, 4 GiB added to folders
    also at most 60 s of CPU time, 256 processes, 2 GiB of output, 200000 files added to folders
    asks again, because its files have changed since you approved it on 1970-01-01
    asks, because `shell:execute:./scripts/x.sh` needs your consent
    asks, because `filesystem:write:./**` needs your consent
    ");
}

#[test]
fn the_changed_file_is_named() {
    let skill = command_skill("", "./scripts/x.sh");
    let mut run = Run::new(Tier::Experimental, Origin::Local);
    run.files = &[("SKILL.md", "1"), ("old.txt", "2"), ("scripts/x.sh", "3")];
    run.approvals = Approvals::new(vec![approved(&run, &skill, Remember::Tool)]);
    run.digest = "second";
    let since = " since you approved it on 1970-01-01";
    let cases: &[(&'static [(&str, &str)], &str)] = &[
        (
            &[("SKILL.md", "1"), ("old.txt", "2"), ("scripts/x.sh", "4")],
            "`scripts/x.sh` has changed",
        ),
        (&[("SKILL.md", "1"), ("scripts/x.sh", "3")], "`old.txt` was removed"),
        (
            &[("SKILL.md", "1"), ("new\u{1b}", "5"), ("old.txt", "2"), ("scripts/x.sh", "3")],
            "`new\\u{1b}` was added",
        ),
        (
            &[("SKILL.md", "9"), ("a", "9"), ("b", "9"), ("c", "9"), ("old.txt", "2")],
            "`SKILL.md` has changed, `a` was added, `b` was added and 2 more files",
        ),
        (&[], "its files have changed"),
    ];
    for (files, expected) in cases {
        run.files = files;
        assert_eq!(outcome(&run, &skill), format!("{expected}{since}"));
    }
    // A skill of the same name in another folder is not a change of this one.
    run.folder = "/elsewhere/demo";
    assert_eq!(
        outcome(&run, &skill),
        "your approval of 1970-01-01 is for another skill of that name, in /skills/demo"
    );
}

#[test]
fn an_approval_of_relative_grants_is_valid_in_its_folder_only() {
    // (permissions, tier, another folder, at home)
    for (permission, elsewhere) in [
        ("filesystem:write:./**", "you approved it on 1970-01-01 in /work/a, not in this folder"),
        (
            "filesystem:read:./data/*.csv",
            "you approved it on 1970-01-01 in /work/a, not in this folder",
        ),
        // R52: of an experimental skill this is the working directory.
        ("filesystem:write", "you approved it on 1970-01-01 in /work/a, not in this folder"),
        ("filesystem:write:~/notes/**", "runs"),
        ("filesystem:read:/srv/data/**", "runs"),
        ("network:read:api.brave.com", "runs"),
        ("shell:execute:git", "runs"),
    ] {
        let skill = python_skill(&[permission]);
        let mut run = Run::new(Tier::Experimental, Origin::Local);
        for remember in [Remember::Tool, Remember::Skill] {
            run.project = "/work/a";
            run.approvals = Approvals::default();
            run.approvals = Approvals::new(vec![approved(&run, &skill, remember)]);
            assert_eq!(outcome(&run, &skill), "runs", "{permission}");
            run.project = "/work/b";
            assert_eq!(outcome(&run, &skill), elsewhere, "{permission}");
        }
    }
}

#[test]
fn an_approval_without_a_folder_asks_again() {
    let skill = python_skill(&["filesystem:write:./**"]);
    let mut run = Run::new(Tier::Experimental, Origin::Local);
    let new = approved(&run, &skill, Remember::Tool);
    let old = Approval { project: Project::Unknown, ..new.clone() };
    run.approvals = Approvals::new(vec![old]);
    assert_eq!(outcome(&run, &skill), "your approval of 1970-01-01 does not record a folder");
    run.approvals.add(new.clone());
    assert_eq!(run.approvals.records(), [new]);
    assert_eq!(outcome(&run, &skill), "runs");
}

/// Attack sandbox-B12: the image is pinned.
#[test]
fn a_changed_program_voids_the_approval() {
    let skill = command_skill("", "mytool x");
    let mut run = Run::new(Tier::Experimental, Origin::Local);
    run.pins = vec![pin("/usr/bin/mytool", "aa")];
    run.approvals = Approvals::new(vec![approved(&run, &skill, Remember::Tool)]);
    assert_eq!(outcome(&run, &skill), "runs");
    run.pins = vec![pin("/usr/bin/mytool", "bb")];
    assert_eq!(
        outcome(&run, &skill),
        "the program /usr/bin/mytool is not the one that was there when you approved it on 1970-01-01"
    );
    run.pins = vec![pin("/usr/local/bin/mytool", "aa")];
    assert_eq!(
        outcome(&run, &skill),
        "it now starts the program /usr/local/bin/mytool, which was not part of what you approved on 1970-01-01"
    );
}

#[test]
fn wider_grants_void_the_approval_and_narrower_ones_do_not() {
    let skill = python_skill(&["network:read:*.brave.com"]);
    let mut run = Run::new(Tier::Community, Origin::Local);
    run.approvals = Approvals::new(vec![approved(&run, &skill, Remember::Tool)]);
    for (permission, expected) in [
        ("network:read:*.brave.com", "runs"),
        ("network:read:api.brave.com", "runs"),
        (
            "network:write:*.brave.com",
            "it now requests more than you approved on 1970-01-01: network:write:*.brave.com",
        ),
        (
            "network:read:example.com",
            "it now requests more than you approved on 1970-01-01: network:read:example.com",
        ),
    ] {
        let other = grants::of(&python_skill(&[permission]));
        let decision = run.decide_with(&skill, &other);
        let got = match &decision {
            Decision::Ask(question) => {
                question.changed().map_or_else(|| shown(&decision), ToString::to_string)
            }
            other => shown(other),
        };
        assert_eq!(got, expected, "{permission}");
    }
}

/// R52: `filesystem:write` means the working directory if a skill is experimental, and the whole machine if it is signed.
#[test]
fn an_approval_at_a_lower_tier_does_not_cover_a_higher_one() {
    let skill = python_skill(&["filesystem:write"]);
    let mut run = Run::new(Tier::Experimental, Origin::Local);
    run.approvals = Approvals::new(vec![approved(&run, &skill, Remember::Tool)]);
    assert_eq!(outcome(&run, &skill), "runs");
    run.tier = Tier::Community;
    assert_eq!(
        outcome(&run, &skill),
        "it now requests more than you approved on 1970-01-01: filesystem:write"
    );
}

const TWO_TOOLS: &str = "---\nname: two\nversion: 1.0.0\ndescription: Two\nmodes: [Global]\n---\n\n### one\n\nOne.\n\n#### Command\n\n```bash\ngit status\n```\n\n### two\n\nTwo.\n\n#### Command\n\n```bash\nnpm test\n```\n";

#[test]
fn an_approval_is_for_one_tool_or_for_the_whole_skill() {
    let skill = skill(TWO_TOOLS);
    let mut run = Run::new(Tier::Experimental, Origin::Local);
    let mut turned = skill.clone();
    turned.tools.reverse();
    for (remember, expected) in [(Remember::Tool, "asks"), (Remember::Skill, "runs")] {
        run.approvals = Approvals::default();
        run.approvals = Approvals::new(vec![approved(&run, &skill, remember)]);
        assert_eq!(outcome(&run, &skill), "runs");
        assert_eq!(outcome(&run, &turned), expected);
    }
}

#[test]
fn an_approval_of_the_whole_skill_pins_all_its_programs() {
    let skill = skill(TWO_TOOLS);
    let request = prowess_policy::RunRequest::of(
        &skill,
        "demo",
        "one",
        Digest::new("first"),
        vec![pin("/usr/bin/git", "aa")],
    )
    .expect("the tool is there")
    .with_skill_pins(vec![pin("/usr/bin/git", "aa"), pin("/usr/bin/npm", "bb")]);
    let trust = prowess_policy::Trust::of(&skill, Tier::Experimental, None, Origin::Local);
    let decision = prowess_policy::decide(
        &request,
        trust,
        &grants::of(&skill),
        &Approvals::default(),
        prowess_policy::Mode::Global,
    );
    let Decision::Ask(question) = decision else { panic!("{decision:?}") };
    let allowed = question.approve(ApprovalAnswer { remember: Remember::Skill, at: 1 });
    assert_eq!(
        allowed.approval().expect("remembered").pins,
        [pin("/usr/bin/git", "aa"), pin("/usr/bin/npm", "bb")]
    );
}

#[test]
fn approvals_are_replaced_and_revoked() {
    let record = |tool: Option<&str>, digest: &str, given_at| Approval {
        skill: "demo".to_owned(),
        skill_folder: None,
        project: Project::Any,
        files: FileHashes::new(),
        digest: Digest::new(digest),
        tool: tool.map(str::to_owned),
        grants: Vec::new(),
        pins: Vec::new(),
        given_at,
    };
    let mut approvals = Approvals::default();
    approvals.add(record(Some("a"), "x", 1));
    approvals.add(record(Some("a"), "x", 2));
    approvals.add(record(Some("b"), "x", 3));
    approvals.add(record(None, "x", 4));
    let given: Vec<u64> = approvals.records().iter().map(|record| record.given_at).collect();
    assert_eq!(given, [2, 3, 4]);
    let mut revoked = |skill: &str, tool: Option<&str>| {
        let removed = approvals.revoke(skill, tool);
        removed.iter().map(|record| record.given_at).collect::<Vec<_>>()
    };
    assert_eq!(revoked("other", None), [] as [u64; 0]);
    // An approval of the whole skill would still allow the tool.
    assert_eq!(revoked("demo", Some("a")), [2, 4]);
    assert_eq!(revoked("demo", None), [3]);
    assert_eq!(approvals.records(), []);
}
