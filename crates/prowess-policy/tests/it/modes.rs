//! Modes (GIB §7.2) and policy records (GIB §7.3).

use prowess_policy::{Mode, Origin, Tier, ToolPolicy, ToolSource, is_available, tool_policies};

use crate::{Run, shown, skill, skill_of};

/// GIB-7.2-1: its own modes, every mode if `Global` is among them, and `Global` if none is declared (R46).
#[test]
fn a_skill_is_available_in_its_modes() {
    use Mode::{Dev, Global, Meeting, Writer};
    for (declared, there) in [
        (&[][..], &[Global, Dev, Meeting, Writer][..]),
        (&["Global"], &[Global, Dev, Meeting, Writer]),
        (&["Dev", "Global"], &[Global, Dev, Meeting, Writer]),
        (&["Dev"], &[Dev]),
        (&["Dev", "Meeting"], &[Dev, Meeting]),
        (&["Writer"], &[Writer]),
        (&["Teleport"], &[]),
    ] {
        for mode in Mode::ALL {
            let expected = there.contains(&mode);
            assert_eq!(
                is_available(declared.iter().copied(), mode),
                expected,
                "{declared:?} {mode}"
            );
        }
    }
}

/// The decision checks the mode too, so that a tool can't be called by name from another mode.
#[test]
fn a_tool_of_another_mode_is_refused() {
    let text = "---\nname: demo\nversion: 1.0.0\ndescription: D\nmodes: [Dev]\nread_only: true\n---\n\n### run\n\nRuns.\n\n#### Command\n\n```bash\ngit status\n```\n";
    let mut run = Run::new(Tier::Verified, Origin::Bundled);
    assert_eq!(
        shown(&run.decide(&skill(text))),
        "refused: it is only available in Dev, and the mode is Global"
    );
    run.mode = Mode::Dev;
    assert_eq!(shown(&run.decide(&skill(text))), "runs");
}

#[test]
fn modes_are_parsed_in_any_case_and_by_old_names() {
    for (text, expected) in [
        ("dev", Some(Mode::Dev)),
        ("Coding", Some(Mode::Dev)),
        ("dictation", Some(Mode::Writer)),
        ("x", None),
    ] {
        assert_eq!(text.parse::<Mode>().ok(), expected, "{text}");
    }
}

/// GIB-7.3-1: one record per tool, with the skill it belongs to.
#[test]
fn every_tool_has_a_policy_record() {
    let skill = skill_of("gibberish/8.3/deploy/SKILL.md");
    let record = ToolPolicy {
        name: "deploy_preview".to_owned(),
        read_only: false,
        always_ask: true,
        source: ToolSource::Skill("deploy".to_owned()),
    };
    assert_eq!(tool_policies(&skill, "deploy"), [record]);
    let git = skill_of("gibberish/8.1/git/SKILL.md");
    let names: Vec<String> =
        tool_policies(&git, "git").into_iter().map(|record| record.name).collect();
    assert_eq!(names, ["git_status", "git_log", "git_diff"]);
}
