//! The user's own grants: what they allow, what they never allow, and what is still asked.

use insta::assert_snapshot;
use proptest::prelude::*;
use proptest::sample::select;

use prowess_policy::scope::{PathRoot, RootedPath};
use prowess_policy::spec::{Access, Action};
use prowess_policy::{
    ApprovalAnswer, Approvals, Decision, Digest, Grant, GrantEffect, Origin, ProgramPin, Project,
    Remember, RememberedGrant, Tier, UserGrantError, explain, grants, parse_user_grant,
};

use crate::{Run, command_skill, explained, python_skill, shown};

fn given(text: &str) -> Vec<Grant> {
    parse_user_grant(text, None).unwrap_or_else(|error| panic!("`{text}`: {error}"))
}

fn local() -> Run {
    Run::new(Tier::Experimental, Origin::Local)
}

/// The decision about a Python tool that declares nothing, with a grant of the user.
fn decided(text: &str) -> Decision {
    let skill = python_skill(&["mcp:none"]);
    local().decide_with(&skill, &grants::of(&skill).with(given(text)))
}

#[test]
fn an_own_grant_is_a_consent_to_itself_and_to_nothing_else() {
    for (text, expected) in [
        // The user named it, and first use asks as always.
        ("shell:execute:git", "asks: FirstUse"),
        ("filesystem:write:./out", "asks: FirstUse"),
        ("env:read:MY_TOKEN", "asks: FirstUse"),
        ("network:write:api.example.com", "asks: FirstUse"),
        // A person has to answer, as for a declared one.
        (
            "filesystem:read:~/.ssh/config",
            "asks: FirstUse; SecretFiles filesystem:read:~/.ssh/config no --yes",
        ),
        ("filesystem:read:./.env", "asks: FirstUse; SecretFiles filesystem:read:./.env no --yes"),
        ("shell:execute", "asks: FirstUse; Permission shell:execute no --yes"),
        ("filesystem:write", "asks: FirstUse; Permission filesystem:write no --yes"),
        ("network:read", "asks: FirstUse; Permission network:read:* no --yes"),
        ("desktop:control", "asks: FirstUse; Permission desktop:control every time no --yes"),
    ] {
        assert_eq!(shown(&decided(text)), expected, "{text}");
    }
    let denied = shown(&decided("network:read:localhost"));
    assert!(denied.starts_with("refused: "), "{denied}");
}

#[test]
fn an_own_grant_answers_the_question_of_a_declared_one() {
    let skill = python_skill(&["filesystem:write:./out/**", "shell:execute:git,npm"]);
    let own = grants::of(&skill).with(given("shell:execute:git"));
    assert_eq!(
        shown(&local().decide_with(&skill, &own)),
        "asks: FirstUse; Permission filesystem:write:./out/**; Permission shell:execute:npm"
    );
}

#[test]
fn a_place_that_no_tool_gets_is_refused() {
    let skill = python_skill(&["mcp:none"]);
    let own = grants::of(&skill).with(given("filesystem:write:~/.bashrc"));
    let never = |_: &Grant| GrantEffect::Never("shells run it".to_owned());
    assert_snapshot!(shown(&local().decide_fully(&skill, &own, &never)), @"refused: `filesystem:write:~/.bashrc` can't be granted: shells run it");
}

#[test]
fn own_grants_are_shown_as_such() {
    let told = explained(&decided("shell:execute:git,sed"));
    assert!(told.contains("may run `git` and `sed`, granted by you for this run"), "{told}");
}

#[test]
fn a_grant_for_one_run_is_no_part_of_an_approval() {
    let skill = python_skill(&["mcp:none"]);
    let own = grants::of(&skill).with(given("shell:execute:git"));
    let Decision::Ask(question) = local().decide_with(&skill, &own) else { panic!("it asks") };
    let allowed = question.approve(ApprovalAnswer { remember: Remember::Tool, at: 1 });
    let approval = allowed.approval().expect("it is remembered").clone();
    assert_eq!(approval.grants, Vec::<String>::new());
    let approvals = Approvals::new(vec![approval]);
    let run = Run { approvals, ..local() };
    // The approval counts with and without a grant for one run, whose program needs none.
    assert_eq!(shown(&run.decide(&skill)), "runs");
    assert_eq!(shown(&run.decide_with(&skill, &own)), "runs");
    // What asks a person asks all the same.
    let secret = grants::of(&skill).with(given("filesystem:read:~/.ssh/config"));
    assert!(shown(&run.decide_with(&skill, &secret)).contains("SecretFiles"));
}

fn remembered(project: Project) -> RememberedGrant {
    RememberedGrant {
        skill: "demo".to_owned(),
        skill_folder: None,
        project,
        digest: Digest::new("first"),
        grants: vec!["shell:execute:git".to_owned()],
        pins: vec![ProgramPin { path: "/usr/bin/git".to_owned(), sha256: "1".to_owned() }],
        given_at: 0,
    }
}

#[test]
fn remembered_grants_count_for_the_same_files_and_folder() {
    let skill = command_skill("", "ls");
    let request = |digest: &str, project: &str| {
        prowess_policy::RunRequest::of(&skill, "demo", "run", Digest::new(digest), Vec::new())
            .expect("the tool is there")
            .with_folders(crate::folders("/skills/demo", project))
    };
    let here = Project::Folder("/work/a".to_owned());
    for (project, digest, folder, expected) in [
        (Project::Any, "first", "/work/b", true),
        (Project::Any, "second", "/work/b", false),
        (here.clone(), "first", "/work/a", true),
        (here, "first", "/work/b", false),
        (Project::Unknown, "first", "/work/a", false),
    ] {
        let record = remembered(project);
        assert_eq!(record.is_for(&request(digest, folder)), expected, "{record:?}");
    }
    let own = remembered(Project::Any).to_grants();
    let decision = local().decide_with(&skill, &grants::of(&skill).with(own));
    let lines: Vec<String> = explain(&decision).iter().map(ToString::to_string).collect();
    assert!(lines.contains(&"may run `git`, granted by you on 1970-01-01".to_owned()), "{lines:?}");
}

#[test]
fn remembered_grants_are_joined_and_revoked() {
    let mut approvals = Approvals::default();
    approvals.remember(remembered(Project::Any));
    let more = RememberedGrant {
        grants: vec!["env:read:EDITOR".to_owned(), "shell:execute:git".to_owned()],
        pins: Vec::new(),
        given_at: 5,
        ..remembered(Project::Any)
    };
    approvals.remember(more);
    assert_eq!(approvals.grants().len(), 1);
    assert_eq!(approvals.grants()[0].grants, ["env:read:EDITOR", "shell:execute:git"]);
    assert_eq!(approvals.grants()[0].pins.len(), 1);
    assert_eq!(approvals.revoke_grants("other").len(), 0);
    assert_eq!(approvals.revoke_grants("demo").len(), 1);
    assert!(approvals.grants().is_empty());
}

#[test]
fn errors_point_at_what_is_wrong() {
    for (text, wrong, suggestion, is_refused) in [
        ("network:wirte:x.com", "wirte", Some("network:write:x.com"), false),
        ("netwrok:read", "netwrok", Some("network:read"), false),
        ("shell", "shell", None, false),
        ("network:none", "network:none", None, false),
        ("network:read:https://a.com/b", "https://a.com/b", Some("network:read:a.com"), false),
        ("shell:execute:git,rm -rf", "rm -rf", None, false),
        ("filesystem:read:$HOME/x", "$HOME/x", Some("filesystem:read:~/x"), false),
        ("filesystem:read:../x", "../x", None, false),
        ("desktop:control:mouse", "mouse", Some("desktop:control"), false),
        ("network:read:a.com,169.254.169.254", "169.254.169.254", None, true),
        ("env:read:LD_PRELOAD", "LD_PRELOAD", None, true),
    ] {
        let error: UserGrantError = parse_user_grant(text, None).expect_err(text);
        assert_eq!(&error.text[error.at.clone()], wrong, "{text}: {error}");
        assert_eq!(error.suggestion.as_deref(), suggestion, "{text}");
        assert_eq!(error.is_refused, is_refused, "{text}");
    }
}

#[test]
fn relative_paths_are_relative_to_where_the_user_is() {
    let at = |root, parts: &[&str]| RootedPath {
        root,
        parts: parts.iter().map(|part| (*part).to_owned()).collect(),
    };
    for (standing, text, expected) in [
        (at(PathRoot::Working, &["sub"]), "./out", "filesystem:write:./sub/out"),
        (at(PathRoot::Working, &["sub"]), ".", "filesystem:write:./sub"),
        (at(PathRoot::Absolute, &["tmp", "x"]), "out/**", "filesystem:write:/tmp/x/out/**"),
        (at(PathRoot::Absolute, &["tmp", "x"]), "~/out", "filesystem:write:~/out"),
        (at(PathRoot::Absolute, &["tmp", "x"]), "/out", "filesystem:write:/out"),
    ] {
        let grants = parse_user_grant(&format!("filesystem:write:{text}"), Some(&standing));
        assert_eq!(grants.expect("it is fine")[0].to_string(), expected);
    }
    // A folder with such a name would make a pattern of the grant.
    let folder = at(PathRoot::Working, &["a*"]);
    assert!(parse_user_grant("filesystem:write:./out", Some(&folder)).is_err());
}

/// What a user may type, wide and narrow.
const TYPED: &[&str] = &[
    "filesystem:read",
    "filesystem:write",
    "filesystem:read:./**",
    "filesystem:write:./data/**",
    "filesystem:write:./data/x",
    "filesystem:read:./data/*.csv",
    "filesystem:read:./.env",
    "filesystem:read:~/**",
    "filesystem:read:~/.ssh/config",
    "filesystem:write:./**/.git/hooks/x",
    "network:read",
    "network:write:api.brave.com",
    "network:read:*.brave.com",
    "shell:execute",
    "shell:execute:git",
    "env:read",
    "env:read:MY_TOKEN",
    "database:read:notes",
    "mcp:connect:web",
    "desktop:control",
];

fn actions() -> Vec<Action> {
    let mut actions = vec![Action::Desktop, Action::Mcp("web".to_owned())];
    for path in [
        "./x",
        "./.env",
        "./data/.env.local",
        "./.env.example",
        "./data/x",
        "./data/a.csv",
        "./sub/.git/hooks/x",
        "~/x",
        "~/.ssh/config",
        "~/.bashrc",
        "/etc/hosts",
        "/srv/.env",
    ] {
        let path = RootedPath::parse(path).expect("the path is fine");
        actions.extend([Action::Read(path.clone()), Action::Write(path)]);
    }
    for (host, access) in [
        ("api.brave.com", Access::Read),
        ("api.brave.com", Access::Write),
        ("example.com", Access::Read),
        ("localhost", Access::Read),
        ("169.254.169.254", Access::Read),
    ] {
        let host = prowess_policy::scope::HostName::parse(host).expect("the host is fine");
        actions.push(Action::Connect { host, port: 443, access });
    }
    for program in ["git", "npm"] {
        let program = prowess_policy::scope::Program::parse(program).expect("a program");
        actions.push(Action::Run(program));
    }
    actions.extend(["EDITOR", "MY_TOKEN", "LD_PRELOAD"].map(|n| Action::Variable(n.to_owned())));
    actions.push(Action::Database { name: "notes".to_owned(), access: Access::Read });
    actions
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    /// An own grant adds what it allows alone, and nothing else, whatever is declared beside it.
    #[test]
    fn an_own_grant_never_enables_more_than_itself(
        declared in proptest::collection::vec(select(TYPED), 0..4),
        own in select(TYPED),
        tier in select(&Tier::ALL[..]),
        in_home in any::<bool>(),
    ) {
        let base = python_skill(&["mcp:none"]);
        let declared: Vec<Grant> = declared.iter().flat_map(|text| crate::granted(text)).collect();
        let run = Run { in_home, ..Run::new(tier, Origin::Local) };
        let without = grants::of(&base).with(declared);
        let with = without.clone().with(given(own));
        let alone = grants::of(&base).with(given(own));
        let [without, with, alone] =
            [without, with, alone].map(|set| run.decide_with(&base, &set));
        for action in actions() {
            let expected = without.spec().allows(&action) || alone.spec().allows(&action);
            prop_assert_eq!(with.spec().allows(&action), expected, "{:?}", action);
        }
        // And what asks a person without it, asks a person with it.
        if let (Decision::Ask(before), Decision::Ask(after)) = (&without, &with) {
            prop_assert!(before.allows_in_advance() || !after.allows_in_advance());
            prop_assert!(before.can_be_remembered() || !after.can_be_remembered());
        }
        prop_assert!(!matches!((&without, &with), (Decision::Ask(_), Decision::Allow(_))));
    }

    /// Any text is a grant or an error whose position is in the text.
    #[test]
    fn any_text_is_parsed_or_refused(text in "\\PC{0,40}|(network|shell|filesystem|env):(read|execute|write):\\PC{0,20}") {
        if let Err(error) = parse_user_grant(&text, None) {
            prop_assert!(error.text.get(error.at.clone()).is_some(), "{:?}", error);
        }
    }
}

/// Of two own grants, the narrower one allows no more: every pair, at every tier, with every action.
#[test]
fn a_narrower_own_grant_never_allows_more() {
    let base = python_skill(&["mcp:none"]);
    let mut pairs = 0;
    for tier in Tier::ALL {
        let run = Run::new(tier, Origin::Local);
        let decided = |text: &&str| run.decide_with(&base, &grants::of(&base).with(given(text)));
        let decisions: Vec<Decision> = TYPED.iter().map(decided).collect();
        for (wide, wider) in TYPED.iter().zip(&decisions) {
            for (narrow, narrower) in TYPED.iter().zip(&decisions) {
                if !given(wide)[0].covers(&given(narrow)[0]) {
                    continue;
                }
                pairs += 1;
                for action in actions() {
                    let is_wider = !narrower.spec().allows(&action) || wider.spec().allows(&action);
                    assert!(is_wider, "{narrow} is not narrower than {wide}: {action:?}");
                }
            }
        }
    }
    assert!(pairs > 3 * TYPED.len() + 20, "{pairs}");
}

#[test]
fn files_named_env_hold_keys_and_examples_do_not() {
    let skill = python_skill(&["filesystem:read:./**", "filesystem:read:/srv/**"]);
    let decision = local().decide(&skill);
    for (path, is_open) in [
        ("./x", true),
        ("./.env", false),
        ("./.env.local", false),
        ("./a/b/.env.production", false),
        ("/srv/app/.env", false),
        ("./.env.example", true),
        ("./.env.sample", true),
        ("./.env.template", true),
        ("./.envrc", true),
        ("./a.env", true),
    ] {
        let read = Action::Read(RootedPath::parse(path).expect("the path is fine"));
        assert_eq!(decision.spec().allows(&read), is_open, "{path}");
    }
    let named = python_skill(&["filesystem:read:./.env"]);
    let decision = local().decide(&named);
    let read = |path| Action::Read(RootedPath::parse(path).expect("the path is fine"));
    assert!(decision.spec().allows(&read("./.env")));
    assert!(!decision.spec().allows(&read("./.env.local")));
    assert!(shown(&decision).contains("SecretFiles filesystem:read:./.env no --yes"));
}
