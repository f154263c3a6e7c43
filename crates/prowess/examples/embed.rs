//! A program that embeds Prowess: it installs a skill, lists what is installed, loads the skill and runs a tool of it
//! (GAIA §6.2). `cargo run -p prowess --example embed`

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use prowess_core::Envelope;
use prowess_engine::{
    ApprovalRequest, Approver, Cancel, Consent, Engine, Reply, ToolHandle, World,
};
use prowess_library::Library;
use prowess_package::limits::Limits;
use prowess_policy::{Mode, Remember};
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
    fn ask(&mut self, _: &ApprovalRequest) -> Reply {
        Reply::Yes(Remember::Once)
    }
}

/// Installs, lists, loads and runs, all below one folder.
fn embed(home: &Path) -> Result<(Vec<String>, Envelope), Error> {
    let author = home.join("parrot");
    std::fs::create_dir_all(&author)?;
    std::fs::write(author.join("SKILL.md"), SKILL)?;

    // Install. With a `Catalogue`, `installer.install("parrot", ">=1.0.0", …)` does it by name and range.
    let path = std::env::var_os("PATH").unwrap_or_default();
    let world = Arc::new(World::at(home, home, &path, Vec::new())?);
    let store = Store::open(&world.state.data)?;
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

    // Load: the library says how far the skill is trusted, and refuses a signed one that has changed.
    let library = Library::open(Arc::clone(&world));
    let (skill, tool) = library.resolve_tool("parrot/say")?;
    let tool = tool.as_deref().and_then(|name| skill.skill.tool(name));
    let tool = tool.ok_or("the skill has no tool `say`")?.clone();

    // Run, with the rights that the skill declares and the user agrees to.
    let values = serde_json::json!({ "text": "hello" });
    let engine = Engine::new(world);
    let handle = ToolHandle::new(skill, tool, Mode::Global);
    let values = values.as_object().ok_or("the values are an object")?;
    let envelope =
        handle.call(values, &engine, Consent::None, &mut User, &Cancel::default(), &mut |_| ())?;
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
