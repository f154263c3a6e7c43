//! Properties of generated grants, claims, tiers, approvals and environments.

use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::sample::select;

use prowess_format::skill::Skill;
use prowess_policy::environment::{EnvironmentSources, InjectedVariables, filter};
use prowess_policy::scope::{HostName, PathPattern, Program, RootedPath, is_control, is_secret};
use prowess_policy::spec::{Access, Action, SandboxSpec, Variables};
use prowess_policy::{
    ApprovalAnswer, Approvals, Badge, Decision, Digest, Frequency, Grant, GrantSet, GrantSource,
    Mode, Origin, Remember, RunRequest, Tier, Trust, decide,
};

use crate::{command_skill, folders, granted, python_skill};

const PERMISSIONS: &[&str] = &[
    "filesystem:read",
    "filesystem:write",
    "filesystem:read:./**",
    "filesystem:read:./data/**",
    "filesystem:write:./data/**",
    "filesystem:write:./data/x",
    "filesystem:read:./data/*.csv",
    "filesystem:read:./data/a*.csv",
    "filesystem:read:~/**",
    "filesystem:write:~/**",
    "filesystem:read:~/.ssh/**",
    "filesystem:read:~/.ssh/config",
    "filesystem:read:/etc/**",
    "filesystem:write:./**/.git/hooks/x",
    "network:read",
    "network:write",
    "network:read:*.brave.com",
    "network:write:api.brave.com",
    "network:read:api.brave.com:8443",
    "network:read:api.brave.com:443",
    "network:read:93.184.216.34",
    "shell:execute",
    "shell:execute:git",
    "shell:execute:/usr/bin/git",
    "env:read",
    "env:read:EDITOR",
    "env:read:MY_TOKEN",
    "mcp:connect",
    "mcp:connect:web",
    "database:read",
    "database:write:notes",
    "database:read:notes",
    "desktop:control",
];

static BASE: LazyLock<Skill> = LazyLock::new(|| python_skill(&["mcp:none"]));

fn permissions() -> impl Strategy<Value = Vec<&'static str>> {
    proptest::collection::vec(select(PERMISSIONS), 0..6)
}

fn tier() -> impl Strategy<Value = Tier> {
    select(&Tier::ALL[..])
}

fn origin() -> impl Strategy<Value = Origin> {
    select(vec![Origin::Bundled, Origin::Local, Origin::Downloaded])
}

/// Actions of a run, some inside and some outside each permission above.
fn actions() -> Vec<Action> {
    let mut actions = vec![Action::Desktop];
    for path in [
        "./data",
        "./data/x",
        "./data/a.csv",
        "./data/sub/b.csv",
        "./x",
        "./.git/hooks/x",
        "./sub/.git/hooks/x",
        "~/x",
        "~/.ssh/config",
        "~/.bashrc",
        "/etc/hosts",
        "/home/me/.aws/credentials",
    ] {
        let path = RootedPath::parse(path).expect("the path is fine");
        actions.extend([Action::Read(path.clone()), Action::Write(path)]);
    }
    for access in [Access::Read, Access::Write] {
        for host in [
            "brave.com",
            "api.brave.com",
            "example.com",
            "93.184.216.34",
            "localhost",
            "169.254.169.254",
        ] {
            let host = HostName::parse(host).expect("the host is fine");
            let ports = [80, 443, 8443, 8080];
            actions.extend(ports.map(|port| Action::Connect { host: host.clone(), port, access }));
        }
        let databases = ["notes", "other"].map(str::to_owned);
        actions.extend(databases.map(|name| Action::Database { name, access }));
    }
    let programs = ["git", "/usr/bin/git", "npm"];
    actions.extend(programs.map(|name| Action::Run(Program::parse(name).expect("a program"))));
    actions.extend(["EDITOR", "MY_TOKEN", "LD_PRELOAD"].map(|n| Action::Variable(n.to_owned())));
    actions.extend(["web", "other"].map(|name| Action::Mcp(name.to_owned())));
    actions
}

fn action() -> impl Strategy<Value = Action> {
    select(actions())
}

fn set_of(permissions: &[&str]) -> GrantSet {
    GrantSet::new(permissions.iter().flat_map(|text| granted(text)).collect())
}

/// Everything a decision depends on except tier and grants.
#[derive(Clone, Debug)]
struct Situation {
    origin: Origin,
    read_only: bool,
    always_ask: bool,
    in_home: bool,
}

fn situations() -> impl Strategy<Value = Situation> {
    (origin(), any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |(origin, read_only, always_ask, in_home)| Situation {
            origin,
            read_only,
            always_ask,
            in_home,
        },
    )
}

/// A decision about a Python tool with these grants, whose file claims `claimed` and whose signatures prove `attested`.
fn decided(
    around: &Situation,
    claimed: Option<Tier>,
    attested: Tier,
    grants: &GrantSet,
    approvals: &Approvals,
    digest: &str,
) -> Decision {
    decided_in("/work/a", around, claimed, attested, grants, approvals, digest)
}

fn decided_in(
    project: &str,
    around: &Situation,
    claimed: Option<Tier>,
    attested: Tier,
    grants: &GrantSet,
    approvals: &Approvals,
    digest: &str,
) -> Decision {
    let mut skill = BASE.clone();
    skill.read_only = Some(prowess_format::span::Spanned::new(
        around.read_only,
        prowess_format::span::Span::default(),
    ));
    skill.always_ask = Some(prowess_format::span::Spanned::new(
        around.always_ask,
        prowess_format::span::Span::default(),
    ));
    let request = RunRequest::of(&skill, "demo", "run", Digest::new(digest), Vec::new())
        .expect("the tool is there")
        .with_folders(folders("/skills/demo", project));
    let request = if around.in_home { request.in_home() } else { request };
    let trust = Trust::new(claimed, attested, None, around.origin);
    decide(&request, trust, grants, approvals, Mode::Global)
}

/// How much the user has to do: nothing, answer once, answer every time, or it is denied.
/// The number of reasons is ignored, because equivalent grants are asked about once.
fn burden(decision: &Decision) -> u8 {
    match decision {
        Decision::Allow(_) => 0,
        Decision::Ask(question) => {
            let every_time =
                question.reasons().iter().any(|reason| reason.frequency == Frequency::EveryRun);
            match (question.allows_in_advance(), every_time) {
                (true, false) => 1,
                (false, false) => 2,
                (_, true) => 3,
            }
        }
        Decision::Deny(_) => 4,
    }
}

fn in_advance(decision: &Decision) -> bool {
    match decision {
        Decision::Allow(_) => true,
        Decision::Ask(question) => question.allows_in_advance(),
        Decision::Deny(_) => false,
    }
}

fn spec(decision: &Decision) -> &SandboxSpec {
    match decision {
        Decision::Allow(allowed) => allowed.spec(),
        Decision::Ask(question) => question.spec(),
        Decision::Deny(denied) => panic!("refused: {denied:?}"),
    }
}

fn effective(decision: &Decision) -> &[Grant] {
    match decision {
        Decision::Allow(allowed) => allowed.grants(),
        Decision::Ask(question) => question.grants(),
        Decision::Deny(denied) => panic!("refused: {denied:?}"),
    }
}

/// Checks every pair of single grants, at every tier, with every action.
#[test]
fn a_narrower_grant_never_allows_more() {
    let none = Approvals::default();
    let around =
        Situation { origin: Origin::Local, read_only: false, always_ask: false, in_home: false };
    let mut pairs = 0;
    for tier in Tier::ALL {
        let alone =
            |text: &&'static str| decided(&around, None, tier, &set_of(&[*text]), &none, "x");
        let decisions: Vec<Decision> = PERMISSIONS.iter().map(alone).collect();
        for narrow in &decisions {
            for wide in &decisions {
                if !effective(wide)[0].covers(&effective(narrow)[0]) {
                    continue;
                }
                pairs += 1;
                for action in actions() {
                    assert!(
                        !spec(narrow).allows(&action) || spec(wide).allows(&action),
                        "{} is not narrower than {}: {action:?}",
                        effective(narrow)[0],
                        effective(wide)[0],
                    );
                }
            }
        }
    }
    // Every grant covers itself, and many in the list cover another one.
    assert!(pairs > 3 * PERMISSIONS.len() + 60, "{pairs}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    /// A write that an approval allows in another folder was already part of what the user approved.
    #[test]
    fn an_approval_in_one_folder_never_allows_a_write_in_another(
        permissions in permissions(),
        later in permissions(),
        tier in tier(),
        around in situations(),
        whole_skill in any::<bool>(),
        same in any::<bool>(),
        path in select(&["data/x", "x", "data/sub/b.csv", "sub/y"][..]),
    ) {
        let around = Situation { always_ask: false, in_home: false, ..around };
        let none = Approvals::default();
        let first = decided(&around, None, tier, &set_of(&permissions), &none, "x");
        let Decision::Ask(question) = first else { return Ok(()) };
        let absolute = Action::Write(RootedPath::parse(&format!("/work/b/{path}")).expect("a path"));
        let was_shown = question.spec().allows(&absolute);
        let remember = if whole_skill { Remember::Skill } else { Remember::Tool };
        let allowed = question.approve(ApprovalAnswer { remember, at: 1 });
        let approvals = Approvals::new(allowed.approval().cloned().into_iter().collect());
        let set = set_of(if same { &permissions } else { &later });
        let second = decided_in("/work/b", &around, None, tier, &set, &approvals, "x");
        let unasked = matches!(
            decided_in("/work/b", &around, None, tier, &set, &none, "x"),
            Decision::Allow(_)
        );
        if let Decision::Allow(allowed) = second && !unasked {
            let relative = Action::Write(RootedPath::parse(&format!("./{path}")).expect("a path"));
            prop_assert!(!allowed.spec().allows(&relative) || was_shown);
        }
    }

    /// A wider set allows everything that a narrower one allows. R52 first narrows unscoped grants of experimental skills.
    #[test]
    fn a_narrower_set_never_allows_more(
        wide in permissions(),
        keep in proptest::collection::vec(any::<bool>(), PERMISSIONS.len()),
        tier in tier(),
        around in situations(),
        actions in proptest::collection::vec(action(), 8),
    ) {
        let none = Approvals::default();
        let wide = decided(&around, None, tier, &set_of(&wide), &none, "x");
        let covered = |permission: &str| {
            let alone = decided(&around, None, tier, &set_of(&[permission]), &none, "x");
            let mut grants = effective(&alone).iter();
            grants.all(|grant| effective(&wide).iter().any(|known| known.covers(grant)))
        };
        let narrow: Vec<&str> = PERMISSIONS
            .iter()
            .zip(&keep)
            .filter(|(permission, keep)| **keep && covered(permission))
            .map(|(permission, _)| *permission)
            .collect();
        let narrow = decided(&around, None, tier, &set_of(&narrow), &none, "x");
        for action in actions {
            let (less, more) = (spec(&narrow).allows(&action), spec(&wide).allows(&action));
            prop_assert!(!less || more, "{:?}", action);
        }
    }

    /// Removing grants never allows more and never asks more.
    #[test]
    fn fewer_grants_never_allow_or_ask_more(
        all in permissions(),
        keep in proptest::collection::vec(any::<bool>(), 6),
        tier in tier(),
        around in situations(),
        actions in proptest::collection::vec(action(), 8),
    ) {
        let some: Vec<&str> =
            all.iter().zip(&keep).filter(|(_, keep)| **keep).map(|(text, _)| *text).collect();
        let none = Approvals::default();
        let fewer = decided(&around, None, tier, &set_of(&some), &none, "x");
        let all = decided(&around, None, tier, &set_of(&all), &none, "x");
        prop_assert!(burden(&fewer) <= burden(&all));
        for action in actions {
            prop_assert!(!spec(&fewer).allows(&action) || spec(&all).allows(&action));
        }
    }

    /// A lower tier never asks less, and `--yes` never answers more of its questions.
    #[test]
    fn a_lower_tier_never_asks_less(
        grants in permissions(),
        one in tier(),
        other in tier(),
        around in situations(),
    ) {
        let (low, high) = (one.min(other), one.max(other));
        let set = set_of(&grants);
        let none = Approvals::default();
        let lower = decided(&around, None, low, &set, &none, "x");
        let higher = decided(&around, None, high, &set, &none, "x");
        prop_assert!(burden(&lower) >= burden(&higher), "{:?} {:?}", lower, higher);
        prop_assert!(in_advance(&higher) || !in_advance(&lower));
        // An approval given at the higher tier does not make the lower one ask less than the higher.
        if let Decision::Ask(question) = higher {
            let allowed = question.approve(ApprovalAnswer { remember: Remember::Tool, at: 1 });
            let approvals = Approvals::new(allowed.approval().cloned().into_iter().collect());
            let lower = decided(&around, None, low, &set, &approvals, "x");
            let higher = decided(&around, None, high, &set, &approvals, "x");
            prop_assert!(burden(&lower) >= burden(&higher));
        }
    }

    /// R19: a claim in the file never raises the trust and never removes a question.
    #[test]
    fn a_claim_never_raises_trust(
        claimed in proptest::option::of(tier()),
        attested in tier(),
        grants in permissions(),
        around in situations(),
        word in "[a-z]{0,12}|verified|community|experimental|VERIFIED|official",
    ) {
        let badge = None::<Badge>;
        let without = Trust::new(None, attested, badge, around.origin);
        let with = Trust::new(claimed, attested, badge, around.origin);
        prop_assert!(with.tier() <= without.tier());
        prop_assert_eq!(with.is_signed(), without.is_signed());
        prop_assert_eq!(with.origin(), without.origin());
        prop_assert_eq!(with.badge(), without.badge());
        let set = set_of(&grants);
        let none = Approvals::default();
        prop_assert!(
            burden(&decided(&around, claimed, attested, &set, &none, "x"))
                >= burden(&decided(&around, None, attested, &set, &none, "x"))
        );
        // Also for text in a file, and for both claims that a file can make.
        let span = prowess_format::span::Span::default();
        let mut skill = command_skill("", "git status");
        let plain = Trust::of(&skill, attested, badge, around.origin);
        let claim = || Some(prowess_format::span::Spanned::new(word.clone(), span));
        skill.security_tier = claim();
        skill.trust_level = claim();
        let claiming = Trust::of(&skill, attested, badge, around.origin);
        prop_assert!(claiming.tier() <= plain.tier());
        prop_assert_eq!(claiming.badge(), plain.badge());
        prop_assert_eq!(claiming.origin(), plain.origin());
    }

    /// An approval of one digest removes no question for another digest.
    #[test]
    fn an_approval_of_one_digest_never_covers_another(
        grants in permissions(),
        tier in tier(),
        around in situations(),
        first in "[a-f0-9]{1,4}",
        second in "[a-f0-9]{1,4}",
        whole in any::<bool>(),
    ) {
        let set = set_of(&grants);
        let none = Approvals::default();
        let Decision::Ask(question) = decided(&around, None, tier, &set, &none, &first) else {
            return Ok(());
        };
        let remember = if whole { Remember::Skill } else { Remember::Tool };
        let once = question.can_be_remembered();
        let allowed = question.approve(ApprovalAnswer { remember, at: 1 });
        let approvals = Approvals::new(allowed.approval().cloned().into_iter().collect());
        let fresh = decided(&around, None, tier, &set, &none, &second);
        let with = decided(&around, None, tier, &set, &approvals, &second);
        if first == second {
            prop_assert_eq!(once, matches!(with, Decision::Allow(_)));
        } else {
            prop_assert_eq!(burden(&with), burden(&fresh));
        }
    }

    /// A pattern that covers another one matches everything that the other one matches.
    #[test]
    fn covering_patterns_match_at_least_as_much(
        wide in "(\\./|~/|/)([ab*?]{1,3}|\\*\\*)(/([ab*?]{1,3}|\\*\\*)){0,3}",
        narrow in "(\\./|~/|/)([ab*?]{1,3}|\\*\\*)(/([ab*?]{1,3}|\\*\\*)){0,3}",
        paths in proptest::collection::vec("(\\./|~/|/)[ab]{1,3}(/[ab]{1,3}){0,4}", 8),
    ) {
        let (Ok(wide), Ok(narrow)) = (PathPattern::parse(&wide), PathPattern::parse(&narrow)) else {
            return Ok(());
        };
        prop_assert!(wide.covers(&wide));
        if wide.covers(&narrow) {
            for path in paths {
                let path = RootedPath::parse(&path).expect("the path is fine");
                prop_assert!(!narrow.matches(&path) || wide.matches(&path), "{} {} {:?}", wide, narrow, path);
            }
        }
    }

    /// A formatted grant parses to the same grant: approvals are stored as text.
    #[test]
    fn grants_round_trip_as_text(text in select(PERMISSIONS)) {
        for grant in granted(text) {
            let again = Grant::parse(&grant.to_string(), &GrantSource::Declared(text.to_owned()));
            prop_assert_eq!(again, Ok(vec![grant]));
        }
    }

    /// No text makes the parser panic, and the canonical spelling of an accepted text is accepted.
    #[test]
    fn any_text_is_parsed_or_refused(
        domain in select(vec!["filesystem:read", "network:write", "shell:execute", "env:read", "mcp:connect", "database:write"]),
        scope in "\\PC{1,24}|[a-z0-9.*:/~\\[\\]{},_-]{1,24}",
    ) {
        let source = GrantSource::WorkingDirectory;
        if let Ok(grants) = Grant::parse(&format!("{domain}:{scope}"), &source) {
            for grant in grants {
                prop_assert_eq!(Grant::parse(&grant.to_string(), &source), Ok(vec![grant]));
            }
        }
    }

    /// A filtered environment contains no secret that was not granted by name, and no control variable.
    #[test]
    fn a_filtered_environment_contains_no_ungranted_secret(
        names in proptest::collection::vec(
            "(AWS|OPENAI|LD|GIT|MY|LC|my)_[A-Z]{1,4}(_TOKEN|_KEY|_SECRET|_token|)|PATH|EDITOR|TERM", 0..12),
        all_plain in any::<bool>(),
        named in select(vec!["MY_A_TOKEN", "EDITOR", "AWS_X"]),
    ) {
        let parent: Vec<(String, String)> =
            names.into_iter().map(|name| (name, "value".to_owned())).collect();
        let named = granted(&format!("env:read:{named}"));
        let mut set = GrantSet::new(named);
        if all_plain {
            set = set.with(granted("env:read"));
        }
        let around = Situation { origin: Origin::Local, read_only: true, always_ask: false, in_home: false };
        let decision = decided(&around, None, Tier::Community, &set, &Approvals::default(), "x");
        let granted: &Variables = &spec(&decision).variables;
        let environment = filter(&EnvironmentSources {
            parent: &parent,
            granted,
            runtime_keys: &[],
            set_by_tool: &[],
            injected: InjectedVariables { skill_name: "a", skill_dir: "/a", mode: Mode::Global },
        });
        for (name, _) in &environment.variables {
            let injected = name.starts_with("GIBBERISH_") || name.starts_with("PROWESS_");
            let by_name = granted.named.iter().any(|known| known.as_str() == name);
            let usual = name == "PATH";
            prop_assert!(injected || by_name || !is_secret(name), "{}", name);
            prop_assert!(injected || usual || !is_control(name), "{}", name);
        }
    }
}
