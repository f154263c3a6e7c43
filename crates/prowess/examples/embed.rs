//! A program that embeds Prowess: it installs a skill, lists what is installed, loads the skill and runs a tool of it
//! (GAIA §6.2). `cargo run -p prowess --example embed`

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use prowess_core::Envelope;
use prowess_engine::{
    ApprovalReply, ApprovalRequest, Approver, CancellationToken, Consent, Engine, ToolHandle, World,
};
use prowess_library::Library;
use prowess_library::packages::{AgentTargets, ChangeGoal, ChangeRequest, SkillSources};
use prowess_package::limits::PackageLimits;
use prowess_policy::{Mode, Remember};
use prowess_store::install::SkillRequirement;
use prowess_store::places::Scope;
use prowess_store::reference::Reference;
use prowess_store::review::InstallPermissions;
use prowess_store::source::Local;

type Error = Box<dyn std::error::Error>;

/// A skill that says something.
const SKILL: &str = "\
---
name: parrot
version: 1.0.0
description: Says what it is told
---

# Parrot

### say

Says a text

#### Parameters

| Name | Type | Required | Description |
|---|---|---|---|
| text | string | yes | What to say |

#### Command

```bash
echo {{text}}
```
";

/// Whoever sits in front of the program. This one says yes to one run.
struct User;

impl Approver for User {
    fn ask(&mut self, _: &ApprovalRequest) -> ApprovalReply {
        ApprovalReply::Yes(Remember::Once)
    }
}

/// Installs, lists, loads and runs, all below one folder.
fn embed(home: &Path) -> Result<(Vec<String>, Envelope), Error> {
    let author = home.join("parrot");
    std::fs::create_dir_all(&author)?;
    std::fs::write(author.join("SKILL.md"), SKILL)?;

    // Install: prepare, look at what a person would have to agree to, apply.
    let path = std::env::var_os("PATH").unwrap_or_default();
    let world = Arc::new(World::at(home, home, &path, Vec::new())?);
    let library = Library::open(Arc::clone(&world));
    let packages = library.packages();
    let requirement = SkillRequirement {
        reference: Reference::Path(author),
        only: BTreeSet::new(),
        chosen: None,
        origin: "the example".to_owned(),
    };
    let request = ChangeRequest {
        goal: ChangeGoal::Install(vec![requirement]),
        scope: Scope::User,
        permissions: InstallPermissions { experimental: true, ..Default::default() },
        min_age: None,
        agents: AgentTargets::Existing,
    };
    let source =
        Local { current_folder: home.to_owned(), home: None, limits: PackageLimits::PACKAGE };
    let change = packages.prepare(&request, &SkillSources { source: &source, catalogue: None })?;
    if let Some(problem) = change.refusal() {
        return Err(problem.into());
    }
    let report = change.apply()?;
    assert_eq!(report.installed.len(), 1);

    // List.
    let lock = packages.lock_file(Scope::User)?;
    let lines = lock
        .skills
        .iter()
        .map(|(name, entry)| format!("{name} {} [{}]", entry.version, entry.tier))
        .collect();

    // Load: the library says how far the skill is trusted, and refuses a signed one that has changed.
    let (skill, tool) = library.resolve_tool("parrot/say")?;
    let tool = tool.as_deref().and_then(|name| skill.skill.tool(name));
    let tool = tool.ok_or("the skill has no tool `say`")?.clone();

    // Run, with the rights that the skill declares and the user agrees to.
    let values = serde_json::json!({ "text": "hello" });
    let engine = Engine::new(world);
    let handle = ToolHandle::new(skill, tool, Mode::Global);
    let values = values.as_object().ok_or("the values are an object")?;
    let envelope = handle.call(
        values,
        &engine,
        Consent::None,
        &mut User,
        &CancellationToken::default(),
        &mut |_| (),
    )?;
    Ok((lines, envelope))
}

/// Shows what came of it.
#[expect(clippy::print_stdout, reason = "it is a program that prints")]
pub(crate) fn main() -> Result<(), Error> {
    let home = tempfile::tempdir()?;
    let (installed, envelope) = embed(&home.path().canonicalize()?)?;
    assert_eq!(installed, ["parrot 1.0.0 [experimental]"]);
    assert_eq!(envelope.output, "hello\n", "{envelope:?}");
    println!("{}\n{}", installed.join("\n"), envelope.output);
    Ok(())
}
