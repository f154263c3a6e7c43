//! `prowess info`: what is known about a skill that is here, or that could be installed.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use prowess_library::capabilities_json;
use prowess_library::packages::{Inventory, PackageManager, SkillState};
use prowess_library::{FetchedSkill, Found, SkillChoice};
use prowess_package::digest::clawhub_fingerprint;
use prowess_package::limits::PackageLimits;
use prowess_package::name::SkillName;
use prowess_package::tree::{Tree, TreeFile};
use prowess_policy::Tier;
use prowess_store::agents::{self, Agent};
use prowess_store::capabilities::{Capability, capabilities_of};
use prowess_store::discovery::FoundSkill;
use prowess_store::drift::Drift;
use prowess_store::lock::LockEntry;
use prowess_store::metadata::{SkillMetadata, parse_metadata};
use prowess_store::places::Scope;
use serde_json::{Value, json};

use super::Outcome;
use crate::error::Error;
use crate::packages::options::{Format, ScopeOption};
use crate::packages::scope::ScopedPackages;
use crate::render::capability_text;
use crate::render::change_text::size;
use crate::render::inventory_text::{first_problem, problems, shown};
use crate::render::signature_text;
use crate::skill::skill_ref::{self, ReferenceOptions};
use crate::terminal::printer::{Channel, Printer, inline};
use crate::terminal::wrap::wrap;

/// Show what is known about a skill, installed or not
///
/// Every copy that is installed or in an agent's folder is shown, the one that
/// counts first: what it is for, who signed it, where it came from, what it may do,
/// what it can make an agent do, what it needs and what needs it, which agents find
/// it, and whether its files are still those that were installed. A path, or
/// anything else that `prowess install` takes, is read without being installed.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess info greet
  prowess info greet --format json
  prowess info https://example.com/tools.git#v2:skills/greet

Exit codes:
  0  it is shown
  3  there is no such skill")]
pub(crate) struct Arguments {
    /// Which skill
    #[arg(value_name = "SKILL")]
    name: String,
    #[command(flatten)]
    reference: ReferenceOptions,
    /// Only the copy that is installed in the project
    #[arg(long)]
    project: bool,
    /// Only the copy that is installed for you
    #[arg(long, conflicts_with = "project")]
    user: bool,
    /// How the result is written
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// What a copy is made of. What we installed is told by the lock file, what others put there by its files.
struct Made {
    /// What it may ask for, where that can be told.
    permissions: Option<Vec<String>>,
    files: Result<(usize, usize), String>,
    /// What it can make an agent do, where its files can be read.
    capabilities: Option<Vec<Capability>>,
    /// What ClawHub compares, where its files can be read.
    fingerprint: Option<String>,
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let scoped = ScopedPackages::open(ScopeOption::new(arguments.project, arguments.user))?;
    let packages = &scoped.packages;
    let inventory = packages.inventory();
    for warning in &inventory.warnings {
        printer.warning(warning);
    }
    let mut copies = inventory.copies(&arguments.name);
    if arguments.project || arguments.user {
        copies.retain(|found| {
            inventory.locked(found).is_some_and(|(scope, ..)| scope == scoped.scope())
        });
    }
    if copies.is_empty() && (arguments.project || arguments.user) {
        return Err(inventory.unknown(&inline(&arguments.name)).into());
    }
    if copies.is_empty() {
        return not_installed(arguments, &inventory, printer);
    }
    let is_installed = copies.iter().any(|found| inventory.locked(found).is_some());
    if is_installed && Path::new(&arguments.name).exists() {
        let name = inline(&arguments.name);
        printer
            .note(&format!("`{name}` is the installed skill; there is also a path (`./{name}`)"));
    }
    copies.sort_by_key(|found| inventory.state(found) != SkillState::Active);
    let present = agents::present(packages.places());
    let mut pages = Vec::new();
    let mut values = Vec::new();
    for found in copies {
        let locked = inventory.locked(found);
        let made = made(found, locked.as_ref().map(|(_, _, entry)| *entry));
        let drift = match &locked {
            Some((scope, name, _)) => Some(drifts(packages, *scope, name)?),
            None => None,
        };
        let copy = CopyHere { packages, inventory: &inventory, found, made, drift };
        let entry = locked.map(|(_, _, entry)| entry);
        match arguments.format {
            Format::Json => values.push(copy.wire(entry, &present)),
            Format::Text => {
                pages.push(copy.page(entry, &present, printer.width(Channel::Out)));
            }
        }
    }
    match arguments.format {
        Format::Json => {
            let mut object = packages.scope_json(scoped.choice);
            object["name"] = arguments.name.as_str().into();
            object["copies"] = values.into();
            printer.json(&object);
        }
        Format::Text => {
            printer.say(&scoped.overview_line());
            printer.report(&pages.join("\n"));
        }
    }
    Ok(Outcome::Fine)
}

/// Reads a skill that is neither installed nor in a folder of an agent, and shows it.
fn not_installed(
    arguments: &Arguments,
    inventory: &Inventory,
    printer: &mut Printer,
) -> Result<Outcome, Error> {
    let unknown = inventory.unknown(&inline(&arguments.name));
    let word = Path::new(&arguments.name);
    let is_name = arguments.name.parse::<SkillName>().is_ok();
    let (reference, here) = match skill_ref::find(word, &arguments.reference) {
        Ok(_) if word.exists() => (skill_ref::as_path(word), None),
        Ok(Found::Here(_)) => (PathBuf::from(word), Some(unknown)),
        Ok(Found::Elsewhere { here }) if is_name => (PathBuf::from(word), here.map(|_| unknown)),
        Ok(Found::Elsewhere { here }) => (PathBuf::from(word), here),
        Err(_) if is_name && !word.exists() => return Err(unknown.into()),
        Err(error) => return Err(error),
    };
    let choice = arguments.reference.choice(SkillChoice::OnlyOne);
    let fetched = skill_ref::fetch(&reference, &choice, here, &arguments.reference, printer)?;
    let Some(skill) = fetched.skills.first() else {
        return Err(Error::not_found("there is no skill"));
    };
    skill_ref::announce(skill, printer);
    let file = skill.file()?;
    let metadata = parse_metadata(&file.bytes, &skill.name, None)
        .map_err(|error| Error::failed(format!("`{}`: {error}", inline(&skill.name))))?;
    let copy = ReadCopy { skill, metadata: &metadata };
    match arguments.format {
        Format::Json => printer.json(&json!({ "name": arguments.name, "copies": [copy.wire()] })),
        Format::Text => {
            let page = copy.page(printer.width(Channel::Out));
            printer.report(&page);
        }
    }
    Ok(Outcome::Fine)
}

/// A skill that was read and is not installed.
struct ReadCopy<'c> {
    skill: &'c FetchedSkill,
    metadata: &'c SkillMetadata,
}

impl ReadCopy<'_> {
    fn permissions(&self) -> Vec<String> {
        let grants = self.metadata.grants.grants().iter().map(ToString::to_string);
        grants.collect::<BTreeSet<String>>().into_iter().collect()
    }

    fn tree(&self) -> Option<Tree> {
        let read = Tree::read_foreign(&self.skill.directory, &PackageLimits::PACKAGE).ok()?;
        Some(read.tree)
    }

    fn bytes(&self) -> Option<(usize, usize)> {
        let tree = self.tree()?;
        let add = |(count, bytes), file: &TreeFile| (count + 1, bytes + file.bytes.len());
        Some(tree.files().map(|(_, file)| file).fold((0, 0), add))
    }

    fn page(&self, width: Option<usize>) -> String {
        let held = &self.skill.held;
        let mut page = String::new();
        let version = held.version.as_ref().map(|version| format!(" {}", inline(version)));
        let title = format!(
            "{}{}, {}",
            inline(&held.name),
            version.unwrap_or_default(),
            held.attestation.tier.as_str()
        );
        let _ = writeln!(page, "{}", wrap(&title, 2, width));
        if let Some(description) = &self.metadata.skill.description {
            let text = format!("  {}", inline(description.as_str()));
            let _ = writeln!(page, "{}", wrap(&text, 2, width));
        }
        let mut line = |word: &str, text: &str| {
            let _ = writeln!(page, "{}", wrap(&format!("  {word:<10} {text}"), 13, width));
        };
        line("state", "not installed");
        line("from", &inline(&self.skill.pinned.to_string()));
        let signers: Vec<String> = held.signatures.iter().map(signature_text::signer).collect();
        line(
            "signed by",
            &if signers.is_empty() { "nobody".to_owned() } else { signers.join("; ") },
        );
        for refusal in &held.attestation.refused {
            line("invalid", &inline(&refusal.to_string()));
        }
        line("may", &or_nothing(&self.permissions(), "do nothing that needs a permission"));
        let needs = self.metadata.dependencies().iter().map(|need| need.name.value.clone());
        line("needs", &or_nothing(&needs.collect::<Vec<String>>(), "no other skill"));
        if let Some((count, bytes)) = self.bytes() {
            line("files", &format!("{count} ({})", size(bytes)));
        }
        page
    }

    fn wire(&self) -> Value {
        let held = &self.skill.held;
        let skill = &self.metadata.skill;
        let signers: Vec<Value> = held.signatures.iter().map(signature_text::held_wire).collect();
        let needs = self.metadata.dependencies().iter().map(|need| need.name.value.as_str());
        let bytes = self.bytes();
        json!({
            "name": held.name,
            "version": held.version,
            "description": skill.description.as_ref().map(|text| text.as_str()),
            "dialect": skill.dialect.id,
            "state": "not_installed",
            "source": self.skill.pinned.to_string(),
            "security_tier": held.attestation.tier.as_str(),
            "signers": signers,
            "invalid_signatures": held.attestation.refused.iter()
                .map(|refusal| json!({"file": refusal.path, "message": refusal.to_string()}))
                .collect::<Vec<Value>>(),
            "permissions": self.permissions(),
            "requires": needs.collect::<Vec<&str>>(),
            "files": bytes.map(|(count, _)| count),
            "bytes": bytes.map(|(_, bytes)| bytes),
            "clawhub_fingerprint": self.tree().as_ref().and_then(fingerprint),
        })
    }
}

fn made(found: &FoundSkill, entry: Option<&LockEntry>) -> Made {
    let tree = Tree::read_foreign(&found.real, &PackageLimits::PACKAGE);
    let declared = || {
        let manifest = tree.as_ref().ok()?.tree.manifest();
        let metadata =
            parse_metadata(manifest, &found.name, found.name_by_folder().as_ref()).ok()?;
        Some(metadata.grants.grants().iter().map(ToString::to_string).collect())
    };
    let permissions = match entry {
        Some(entry) => Some(entry.permissions.iter().cloned().collect()),
        None if found.is_broken() => None,
        None => declared(),
    };
    let files = match &tree {
        Ok(read) => Ok(read
            .tree
            .files()
            .fold((0, 0), |(count, bytes), (_, file)| (count + 1, bytes + file.bytes.len()))),
        Err(error) => Err(error.to_string()),
    };
    let capabilities = tree.as_ref().ok().map(|read| capabilities_of(&read.tree));
    let fingerprint = tree.as_ref().ok().and_then(|read| fingerprint(&read.tree));
    Made { permissions, files, capabilities, fingerprint }
}

/// ClawHub's fingerprint of a skill (OC-13). It leaves out what ignore files name, which are not read here.
fn fingerprint(tree: &Tree) -> Option<String> {
    let ignores = [".gitignore", ".clawhubignore"];
    let has_ignores = tree
        .files()
        .any(|(path, _)| ignores.contains(&path.parts().next_back().unwrap_or_default()));
    (!has_ignores).then(|| clawhub_fingerprint(&tree.hashes()).to_string())
}

fn drifts(packages: &PackageManager, scope: Scope, name: &SkillName) -> Result<Vec<Drift>, Error> {
    let report = packages.verify(std::slice::from_ref(name), scope)?;
    Ok(report.skills.into_iter().flat_map(|skill| skill.drifts).collect())
}

/// One copy of the skill.
struct CopyHere<'c> {
    packages: &'c PackageManager,
    inventory: &'c Inventory,
    found: &'c FoundSkill,
    made: Made,
    /// How it differs from what was installed, if it was.
    drift: Option<Vec<Drift>>,
}

impl CopyHere<'_> {
    fn page(&self, entry: Option<&LockEntry>, present: &[&Agent], width: Option<usize>) -> String {
        let found = self.found;
        let places = self.packages.places();
        let mut page = String::new();
        let version = self.inventory.version(found).map(|version| format!(" {}", inline(&version)));
        let tier = self.inventory.tier(found).map(|tier| format!(", {tier}")).unwrap_or_default();
        let head = format!("{}{}{tier}", inline(&found.name), version.unwrap_or_default());
        let _ = writeln!(page, "{}", wrap(&head, 2, width));
        if let Some(description) = &found.summary.description {
            let _ = writeln!(page, "{}", wrap(&format!("  {}", inline(description)), 2, width));
        }
        let mut line = |word: &str, text: &str| {
            let _ = writeln!(page, "{}", wrap(&format!("  {word:<10} {text}"), 13, width));
        };
        line("state", &self.state());
        line("where", &shown(places, &found.directory));
        for way in &found.also_at {
            line("also at", &shown(places, &way.directory));
        }
        if let Some(entry) = entry {
            if let Some(source) = &entry.source {
                line("from", &inline(&source.to_string()));
            }
            if let Some(owner) = &entry.owner {
                line("owner", &inline(owner));
            }
            line("installed", &inline(&entry.installed_at));
            line("signed by", &signers(entry));
        }
        match &self.made.permissions {
            Some(may) => line("may", &or_nothing(may, "no permissions declared")),
            None => line("may", "not known, because its file has errors"),
        }
        line("agent", capability_text::AGENT_RIGHTS);
        let capabilities: Vec<&Capability> = self.made.capabilities.iter().flatten().collect();
        for text in capability_text::lines(&capabilities, "") {
            line("", &text);
        }
        if let Some(entry) = entry {
            let needs =
                entry.dependencies.iter().map(|(name, version)| format!("{name} {version}"));
            line("needs", &or_nothing(&needs.collect::<Vec<String>>(), "no other skill"));
            let needed: Vec<String> = entry.required_by.iter().map(ToString::to_string).collect();
            line("needed by", &or_nothing(&needed, "no other skill"));
        }
        match &self.made.files {
            Ok((count, bytes)) => line("files", &format!("{count} ({})", size(*bytes))),
            Err(why) => line("files", &format!("can't be read: {}", inline(why))),
        }
        let agents: Vec<String> =
            self.inventory.agents(found, Some(present)).into_iter().map(str::to_owned).collect();
        line("agents", &or_nothing(&agents, "none of those on this machine"));
        page
    }

    fn state(&self) -> String {
        let places = self.packages.places();
        let mut parts = Vec::new();
        if let Some(problem) = first_problem(self.found) {
            parts.push(match self.found.summary.loaded_by.as_slice() {
                [] => format!("broken: {problem}"),
                clients => format!("{problem}; loaded all the same by {}", clients.join(", ")),
            });
        }
        let is_placed = self.inventory.state(self.found) == SkillState::Placed;
        if let Some(winner) = self.inventory.winner(self.found).filter(|_| !is_placed) {
            parts.push(format!("shadowed by {}", shown(places, &winner.directory)));
        }
        let owners = self.inventory.placed_for(self.found);
        match &self.drift {
            None if !owners.is_empty() => {
                let owners = owners.join(", ");
                parts.push(format!("a copy that was placed for {}", inline(&owners)));
            }
            None => parts.push("not installed by Prowess, so nobody has vouched for it".to_owned()),
            Some(drifts) if drifts.is_empty() => parts.push("as installed".to_owned()),
            Some(drifts) => {
                let drifts: Vec<String> =
                    drifts.iter().map(|drift| inline(&drift.to_string()).into_owned()).collect();
                parts.push(format!("not as installed: {}", drifts.join("; ")));
            }
        }
        parts.join("; ")
    }

    fn wire(&self, entry: Option<&LockEntry>, present: &[&Agent]) -> Value {
        let found = self.found;
        let root = &self.inventory.listing.roots[found.root];
        let path = |path: &std::path::Path| path.display().to_string();
        let signers = entry.map(|entry| {
            let signers = entry.signers.iter().map(|signer| {
                json!({
                    "scheme": signer.scheme,
                    "key": signer.key_id,
                    "identity": signer.identity,
                })
            });
            signers.collect::<Vec<Value>>()
        });
        let drift = self.drift.as_ref().map(|drifts| {
            let drifts = drifts.iter();
            drifts
                .map(|drift| json!({"kind": drift.kind(), "message": drift.to_string()}))
                .collect::<Vec<Value>>()
        });
        let dependencies = entry.map(|entry| {
            let needs = entry.dependencies.iter();
            needs
                .map(|(name, version)| (name.to_string(), json!(version.to_string())))
                .collect::<serde_json::Map<String, Value>>()
        });
        json!({
            "name": found.name,
            "version": self.inventory.version(found),
            "description": found.summary.description,
            "dialect": found.summary.dialect,
            "state": self.inventory.state(found).as_str(),
            "shadowed_by": self.inventory.winner(found).map(|winner| path(&winner.directory)),
            "placed_for": self.inventory.placed_for(found),
            "problems": problems(found),
            "directory": path(&found.directory),
            "also_at": found.also_at.iter().map(|way| path(&way.directory)).collect::<Vec<String>>(),
            "root": root.kind.as_str(),
            "security_tier": self.inventory.tier(found).map(Tier::as_str),
            "source": entry.and_then(|entry| entry.source.as_ref()).map(ToString::to_string),
            "owner": entry.and_then(|entry| entry.owner.as_deref()),
            "installed_at": entry.map(|entry| entry.installed_at.as_str()),
            "signers": signers,
            "permissions": self.made.permissions,
            "capabilities": self.made.capabilities.as_deref().map(capabilities_json),
            "dependencies": dependencies,
            "required_by": entry.map(|entry| {
                entry.required_by.iter().map(SkillName::as_str).collect::<Vec<&str>>()
            }),
            "files": self.made.files.as_ref().ok().map(|(count, _)| count),
            "bytes": self.made.files.as_ref().ok().map(|(_, bytes)| bytes),
            "clawhub_fingerprint": self.made.fingerprint,
            "agents": self.inventory.agents(found, Some(present)),
            "drift": drift,
        })
    }
}

fn signers(entry: &LockEntry) -> String {
    let signers = entry.signers.iter().map(|signer| match &signer.identity {
        Some(identity) => format!("{} ({})", inline(identity), signer.key_id),
        None => format!("{} key {}", signer.scheme, signer.key_id),
    });
    or_nothing(&signers.collect::<Vec<String>>(), "nobody")
}

fn or_nothing(items: &[String], nothing: &str) -> String {
    if items.is_empty() { nothing.to_owned() } else { inline(&items.join(", ")).into_owned() }
}
