//! A program that embeds Prowess: it installs a skill, lists what is installed, loads the skill and runs a tool of it
//! (GAIA §6.2). `cargo run -p prowess --example embed`

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use prowess_core::Envelope;
use prowess_engine::{
    ApprovalStore, Approver, Asked, Cancel, Consent, LoadedSkill, PythonWorkers, Reply,
    Surroundings, SystemClock, ToolHandle, World,
};
use prowess_package::limits::Limits;
use prowess_policy::{Mode, Origin, Remember, Trust};
use prowess_store::install::{Installer, Wish};
use prowess_store::reference::Reference;
use prowess_store::review::Leave;
use prowess_store::source::Local;
use prowess_store::store::Store;
use prowess_trust::{Timestamp, TrustStore};

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
    fn ask(&mut self, _: &Asked<'_>) -> Reply {
        Reply::Yes(Remember::Once)
    }
}

/// Installs, lists, loads and runs, all below one folder.
fn embed(home: &Path) -> Result<(Vec<String>, Envelope), Error> {
    let author = home.join("parrot");
    std::fs::create_dir_all(&author)?;
    std::fs::write(author.join("SKILL.md"), SKILL)?;

    // Install. With a `Catalogue`, `installer.install("parrot", ">=1.0.0", …)` does it by name and range.
    let store = Store::open(&home.join("store"))?;
    let installer = Installer {
        store: &store,
        source: &Local { current_folder: home.to_owned(), home: None, limits: Limits::PACKAGE },
        catalogue: None,
        trust: &TrustStore::empty(),
        now: Timestamp::from_unix(1_790_000_000),
        leave: Leave { experimental: true, unsigned: false, replace_owner: false },
        min_age: None,
    };
    let wish = Wish {
        reference: Reference::Path(author),
        only: BTreeSet::new(),
        chosen: None,
        origin: "the example".to_owned(),
    };
    installer.apply(installer.plan(&[wish])?)?;

    // List.
    let listed = installer.list_installed()?;
    let lines = listed
        .iter()
        .map(|skill| format!("{} {} [{}]", skill.name, skill.version, skill.tier))
        .collect();

    // Load: only what is byte for byte as it was installed.
    let loaded = installer.load("parrot")?;
    let skill = &loaded.described.skill;

    // Run, with the rights that the skill declares and the user agrees to.
    let path = std::env::var_os("PATH").unwrap_or_default();
    let world = Arc::new(World::at(home, home, &path, Vec::new())?);
    let file = loaded.directory.join("SKILL.md");
    let tool = skill.tool("say").ok_or("the skill has no tool `say`")?.clone();
    let skill = Arc::new(LoadedSkill {
        skill: skill.clone(),
        name: "parrot".to_owned(),
        directory: Some(loaded.directory.clone()),
        file,
        trust: Trust::of(skill, loaded.tier, None, Origin::Downloaded),
        diagnostics: Vec::new(),
        digest: None,
    });
    let values = serde_json::json!({ "text": "hello" });
    let surroundings = Surroundings {
        world: &world,
        workers: &PythonWorkers::new(1),
        approvals: &ApprovalStore::of(&world.state),
        clock: &SystemClock,
        consent: Consent::None,
    };
    let mut handle = ToolHandle::new(skill, tool, Mode::Global);
    let values = values.as_object().ok_or("the values are an object")?;
    let envelope = handle.call(values, surroundings, &mut User, &Cancel::default(), &mut |_| ())?;
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
