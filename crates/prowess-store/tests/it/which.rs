//! Which copy each agent loads.

use std::fmt::Write as _;

use insta::assert_snapshot;
use prowess_store::agents::{self, Agent};
use prowess_store::discovery::ScanCache;
use prowess_store::which::{AgentSelection, AgentView, WhichOptions, which};

use crate::home::{Home, later};

fn named(ids: &str) -> Vec<&'static Agent> {
    ids.split_whitespace().map(|id| agents::by_id(id).expect("an agent of the table")).collect()
}

fn views(home: &Home, agents: AgentSelection<'_>, context_tokens: Option<u64>) -> Vec<AgentView> {
    which(&WhichOptions {
        places: &home.places,
        now: later(),
        memory: ScanCache::None,
        name: "deploy",
        agents,
        context_tokens,
    })
}

fn told(home: &Home, agents: &str) -> String {
    let named = named(agents);
    let selection =
        if agents.is_empty() { AgentSelection::Present } else { AgentSelection::Named(&named) };
    let mut text = String::new();
    for view in views(home, selection, None) {
        let _ = writeln!(text, "{}: {:?}", view.agent.title, view.loads);
        let rule = view.rules.map(|rules| format!("{} ({})", rules.precedence, rules.source));
        let _ = writeln!(text, "  rule: {}", rule.as_deref().unwrap_or("not known"));
        for (number, copy) in view.copies.iter().enumerate() {
            let (directory, folder) = (home.shown(&copy.directory), copy.folder);
            let _ = writeln!(text, "  {number} {directory} ({folder}): {:?}", copy.fate);
            for remark in &copy.remarks {
                let _ = writeln!(text, "    {remark}");
            }
        }
    }
    text
}

#[test]
fn each_agent_chooses_by_its_own_rule() {
    let mut home = Home::new();
    for folder in [
        "~/.claude/skills/deploy",
        ".claude/skills/deploy",
        "apps/web/.claude/skills/deploy",
        ".agents/skills/deploy",
        "~/.agents/skills/deploy",
        "~/.gemini/skills/deploy",
        "skills/deploy",
        "~/.openclaw/skills/deploy",
        ".kiro/skills/deploy",
        "~/.kiro/skills/deploy",
    ] {
        home.skill(folder);
    }
    home.skill("/machine/etc/codex/skills/deploy");
    home.places.current = home.path("apps/web");
    assert_snapshot!(told(
        &home,
        "claude-code codex gemini-cli openclaw cursor goose kiro-cli roo"
    ));
}

#[test]
fn only_agents_that_are_here_are_asked() {
    let home = Home::new();
    home.skill("~/.claude/skills/deploy");
    home.skill("~/.agents/skills/deploy");
    assert_snapshot!(told(&home, ""), @r"
    Claude Code: One(0)
      rule: enterprise before personal before project; the folder's name is the command (code.claude.com/docs/en/skills (2026-08))
      0 ~/.claude/skills/deploy (personal): Loaded
    ");
}

#[test]
fn what_an_agent_does_not_see_or_refuses_is_not_what_it_loads() {
    let home = Home::new();
    // The first is refused, so the second counts.
    home.write(".agents/skills/deploy/SKILL.md", "---\nname: deploy\n---\n\nNo description\n");
    home.skill("~/.agents/skills/deploy");
    home.skill("~/.gemini/skills/group/deploy");
    home.skill(".prowess/skills/deploy");
    home.link("~/.cursor/skills/deploy", home.path(".prowess/skills/deploy"));
    home.link("~/.claude/skills/deploy", home.path(".prowess/skills/deploy"));
    home.link(".claude/skills/deploy", home.path(".prowess/skills/deploy"));
    assert_snapshot!(told(&home, "claude-code codex gemini-cli cursor"));
}

#[test]
fn names_are_compared_as_the_agent_does_it() {
    let home = Home::new();
    let text = "---\nname: release\ndescription: Other name\n---\n\nBody\n";
    home.write(".claude/skills/Deploy/SKILL.md", text);
    home.write(".agents/skills/folder/SKILL.md", &text.replace("release", "deploy"));
    assert_snapshot!(told(&home, "claude-code codex"), @r"
    Claude Code: One(0)
      rule: enterprise before personal before project; the folder's name is the command (code.claude.com/docs/en/skills (2026-08))
      0 .claude/skills/Deploy (project): Loaded
    Codex: One(0)
      rule: all copies of a name are kept: repository first, then user, system and admin (openai/codex, codex-rs/core-skills/src/loader.rs)
      0 .agents/skills/folder (repository): Loaded
    ");
}

#[test]
fn a_skill_costs_a_share_of_the_catalogue() {
    let home = Home::new();
    let skill = |folder: &str, length: usize| {
        let name = folder.rsplit('/').next().expect("a path has a last part");
        let description = "x".repeat(length);
        let text = format!("---\nname: {name}\ndescription: {description}\n---\n\nBody\n");
        home.write(&format!("{folder}/SKILL.md"), &text);
    };
    skill(".claude/skills/deploy", 2000);
    skill("~/.claude/skills/other", 396);
    skill(".agents/skills/deploy", 500);
    for number in 0..40 {
        skill(&format!("~/.agents/skills/filler-{number}"), 1000);
    }
    let cost = |agent: &str, context| {
        let views = views(&home, AgentSelection::Named(&named(agent)), context);
        views[0].cost.expect("its budget is known")
    };
    // 1 % of 200,000 tokens where nobody says how large the context is. `- deploy: ` and the 1,536 characters that are
    // shown are 1,546 characters, which is 387 tokens.
    let claude = cost("claude-code", None);
    assert_eq!((claude.tokens, claude.cut, claude.room), (387, 464, 2000));
    assert_eq!((claude.entries, claude.catalogue), (2, 387 + 102));
    assert!(!claude.overflows());
    assert_eq!(claude.thousandths(), 193);
    assert_eq!(cost("claude-code", Some(1_000_000)).room, 10_000);
    // 8,000 characters, else 2 %; the path is part of the entry.
    let codex = cost("codex", None);
    assert_eq!((codex.room, codex.entries, codex.cut), (2000, 41, 0));
    let path = home.path(".agents/skills/deploy/SKILL.md").as_os_str().len();
    let characters = "- deploy: ".len() + 500 + " (file: )".len() + path;
    assert_eq!(codex.tokens, (characters as u64).div_ceil(4));
    assert!(codex.overflows());
    assert!(!cost("codex", Some(1_000_000)).overflows());
    let kiro = views(&home, AgentSelection::Named(&named("kiro-cli")), None);
    assert!(kiro[0].cost.is_none(), "nobody has said what it has room for");
}
