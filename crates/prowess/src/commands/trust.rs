//! `prowess trust`: manages the keys that are trusted.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use prowess_format::text::closest;
use prowess_package::name::SkillName;
use prowess_store::places::Scope;
use prowess_store::review::InstallPermissions;
use prowess_trust::{
    Accepted, Material, NamePattern, Role, SignedBy, Timestamp, TrustStore, TrustStoreError,
    TrustedKey, update_trust_store,
};
use serde_json::{Value, json};

use super::Outcome;
use crate::error::Error;
use crate::packages::names::skill_name;
use crate::packages::options::Format;
use crate::packages::sources::SourceSession;
use crate::packages::{manager, now};
use crate::terminal::printer::{Printer, inline};
use prowess_library::packages::{AgentTargets, ChangeGoal, ChangeRequest, PackageManager};

/// Manage the keys that you trust, and for which skills
///
/// No key is trusted by default, so every skill is in the tier `experimental`. The
/// signature of a publisher raises a skill to `community`. The signature of a root
/// raises it to `verified`, and so does that of an auditor in addition to that of
/// a publisher. What a skill claims about itself is ignored.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess trust add release.pub
  prowess trust add acme.pem --role root --names 'acme/*'
  prowess trust accept greet 5f0c2a...
  prowess trust remove 5f0c2a... --accepted-for greet
  prowess trust list")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Trust a key
    ///
    /// The file contains a line of `prowess key export`, a minisign key, a public key
    /// or root certificate in PEM, an OpenPGP certificate as `gpg --armor --export`
    /// writes it, or a Sigstore identity as JSON. `-` is standard input.
    ///
    /// For a key that is already trusted, only the options that you give are changed.
    /// A revoked key stays revoked.
    Add {
        /// The file with the public key
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// What its signatures prove [default: publisher]
        #[arg(long, value_enum)]
        role: Option<RoleOption>,
        /// The skills it may sign: `greet`, `web-*`, `acme/*`
        #[arg(long, value_name = "PATTERN", value_parser = pattern)]
        names: Vec<NamePattern>,
        /// A label for reports
        #[arg(long, value_name = "TEXT")]
        label: Option<String>,
        /// Valid from this time on, such as 2026-01-01T00:00:00Z
        #[arg(long, value_name = "TIME", value_parser = time)]
        not_before: Option<Timestamp>,
        /// Valid until this time
        #[arg(long, value_name = "TIME", value_parser = time)]
        not_after: Option<Timestamp>,
    },
    /// List trusted keys and accepted signers
    List {
        /// The output format
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// Stop trusting a key
    ///
    /// What was accepted for it with `trust accept` is undone too.
    Remove {
        /// The key's identifier, as `prowess trust list` shows it
        #[arg(value_name = "KEY")]
        key: String,
        /// Only undo that it was accepted for this skill
        #[arg(long, value_name = "SKILL", conflicts_with = "revoked")]
        accepted_for: Option<String>,
        /// Revoke it as stolen at this time, or `now`: only skills that were installed
        /// before stay trusted
        #[arg(long, value_name = "TIME", value_parser = time_or_now)]
        revoked: Option<Timestamp>,
    },
    /// Accept a new signer for an installed skill
    ///
    /// The key must be one that you trust, or one that has signed what the skill's
    /// source offers now, which is fetched to check it. Ask the author first, through
    /// a channel that whoever changed the key can't have changed as well.
    ///
    /// This is about one skill and does not make the key trusted: `trust add` does
    /// that. `prowess trust remove KEY --accepted-for SKILL` undoes it.
    Accept {
        /// The skill
        #[arg(value_name = "SKILL")]
        skill: String,
        /// The identifier of the new key, as the error message shows it
        #[arg(value_name = "KEY")]
        key: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum RoleOption {
    /// `community` at most
    Publisher,
    /// `verified`
    Root,
    /// `verified`, in addition to a publisher
    Auditor,
}

fn pattern(text: &str) -> Result<NamePattern, String> {
    text.parse().map_err(|error: prowess_trust::NamePatternError| error.to_string())
}

fn time(text: &str) -> Result<Timestamp, String> {
    text.parse().map_err(|error: prowess_trust::TimestampError| error.to_string())
}

fn time_or_now(text: &str) -> Result<Timestamp, String> {
    if text == "now" { Ok(now()) } else { time(text) }
}

fn failed(error: &TrustStoreError) -> Error {
    Error::failed(error.to_string())
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let packages = manager()?;
    let path = packages.trust_path();
    let change = |work: &mut dyn FnMut(&mut TrustStore)| {
        update_trust_store(&path, |store| work(store)).map_err(|error| failed(&error))
    };
    match &arguments.action {
        Action::Add { file, role, names, label, not_before, not_after } => {
            let text = read(file)?;
            let material = Material::read(&text)
                .map_err(|error| Error::failed(format!("`{}`: {error}", file.display())))?;
            let options = KeyOptions {
                material,
                role: role.map(RoleOption::role),
                names,
                label: label.as_deref(),
                not_before: *not_before,
                not_after: *not_after,
            };
            let mut added = Ok(String::new());
            change(&mut |store| added = add(store, &options))?;
            printer.say(&added?);
        }
        Action::List { format } => list(&packages.trust_store()?, *format, printer),
        Action::Remove { key, accepted_for: Some(skill), .. } => {
            let skill = skill_name(skill)?;
            let mut taken = Vec::new();
            change(&mut |store| taken = store.take_back(key, Some(skill.as_str())))?;
            if taken.is_empty() {
                let what = format!("`{}` was not accepted for `{skill}`", inline(key));
                return Err(
                    Error::not_found(what).hint("`prowess trust list` shows the accepted signers")
                );
            }
            printer.say(&taken_back(&taken[0]));
        }
        Action::Remove { key, revoked, accepted_for: None } => {
            let mut lines = Vec::new();
            change(&mut |store| {
                match revoked {
                    Some(at) if store.revoke(key, *at) > 0 => lines.push(format!("revoked {key}")),
                    Some(_) => {}
                    None => lines.extend(store.remove(key).iter().map(removed)),
                }
                lines.extend(store.take_back(key, None).iter().map(taken_back));
            })?;
            if lines.is_empty() {
                return Err(Error::not_found(format!("the key `{}` is not trusted", inline(key)))
                    .hint("`prowess trust list` shows the trusted keys"));
            }
            for line in lines {
                printer.say(&line);
            }
        }
        Action::Accept { skill, key } => {
            let skill = skill_name(skill)?;
            if acceptable(&packages, &skill, key, printer)? {
                change(&mut |store| store.accept(skill.as_str(), key, now()))?;
                printer.say(&format!("`{skill}` may be signed by {} from now on", inline(key)));
                if packages.trust_store()?.get(key).is_none() {
                    printer.note(
                        "the key itself is not trusted, so the skill stays experimental; `prowess trust add FILE` trusts it",
                    );
                }
            } else {
                printer.say(&format!("`{skill}` is already signed by {}", inline(key)));
            }
        }
    }
    Ok(Outcome::Fine)
}

impl RoleOption {
    fn role(self) -> Role {
        match self {
            RoleOption::Publisher => Role::Publisher,
            RoleOption::Root => Role::Root,
            RoleOption::Auditor => Role::Auditor,
        }
    }
}

/// A key and the options that the user gave; the others keep their values.
struct KeyOptions<'o> {
    material: Material,
    role: Option<Role>,
    names: &'o [NamePattern],
    label: Option<&'o str>,
    not_before: Option<Timestamp>,
    not_after: Option<Timestamp>,
}

/// Adds or changes a key, and returns a message about what changed.
fn add(store: &mut TrustStore, options: &KeyOptions<'_>) -> Result<String, Error> {
    let id = options.material.id();
    let known = store.keys().find(|key| key.material == options.material).cloned();
    // A setup script that runs again must not undo a revocation (attack registry-C15). Keys are compared by identifier,
    // because a certificate can be exported again with other bytes.
    if let Some(at) = store.keys().filter(|key| key.id() == id).find_map(|key| key.revoked_at) {
        return Err(Error::refused(format!("the key {id} was revoked at {at}"))
            .hint("ask its owner for a new key; if it was never stolen, run `prowess trust remove` and add it again"));
    }
    let mut key = known.clone().unwrap_or_else(|| {
        let mut key = TrustedKey::new(options.material.clone(), Role::Publisher);
        key.added_at = Some(now());
        key
    });
    key.role = options.role.unwrap_or(key.role);
    key.label = options.label.map(str::to_owned).or(key.label);
    key.not_before = options.not_before.or(key.not_before);
    key.not_after = options.not_after.or(key.not_after);
    if !options.names.is_empty() {
        key.names = options.names.to_vec();
    }
    if let (Some(from), Some(until)) = (key.not_before, key.not_after)
        && from > until
    {
        return Err(Error::usage(format!(
            "the key would never be valid: `--not-before` {from} is after `--not-after` {until}"
        ))
        .hint("swap the two times, or drop one of them"));
    }
    let head = format!("{} key {id}", key.material.kind());
    let message = match &known {
        None => format!("added {head} as {}", key.role.as_str()),
        Some(known) => match differences(known, &key) {
            none if none.is_empty() => {
                format!("{head} is already trusted as {}", key.role.as_str())
            }
            some => format!("changed {head}: {}", some.join(", ")),
        },
    };
    store.add(key);
    Ok(message)
}

/// The differences between two entries of one key.
fn differences(was: &TrustedKey, is: &TrustedKey) -> Vec<String> {
    let time = |time: Option<Timestamp>| time.map_or("none".to_owned(), |time| time.to_string());
    let label = |key: &TrustedKey| key.label.clone().unwrap_or_else(|| "none".to_owned());
    let fields = [
        ("role", was.role.as_str().to_owned(), is.role.as_str().to_owned()),
        ("names", names(was), names(is)),
        ("label", label(was), label(is)),
        ("not before", time(was.not_before), time(is.not_before)),
        ("not after", time(was.not_after), time(is.not_after)),
    ];
    let changed = fields.into_iter().filter(|(_, was, is)| was != is);
    changed.map(|(field, was, is)| format!("{field} {was} -> {is}")).collect()
}

fn names(key: &TrustedKey) -> String {
    let names: Vec<&str> = key.names.iter().map(NamePattern::as_str).collect();
    names.join(", ")
}

fn removed(key: &TrustedKey) -> String {
    match key.revoked_at {
        Some(at) => format!("removed {}, including its revocation at {at}", key.id()),
        None => format!("removed {}", key.id()),
    }
}

fn taken_back(accepted: &Accepted) -> String {
    let skill = inline(&accepted.skill);
    format!("`{skill}` may no longer be signed by {}", inline(&accepted.key_id))
}

/// Whether there is something to accept: the skill is installed, and the key has not signed it yet.
///
/// An identifier that no known key has is refused: it would wait for whoever creates a key with it.
fn acceptable(
    packages: &PackageManager,
    skill: &SkillName,
    key: &str,
    printer: &mut Printer,
) -> Result<bool, Error> {
    let mut installed = Vec::new();
    let mut known = Vec::new();
    for scope in [Scope::Project, Scope::User] {
        let lock = packages.lock_file(scope)?;
        known.extend(lock.skills.keys().map(ToString::to_string));
        installed.extend(lock.skills.get(skill).map(|entry| (scope, entry.clone())));
    }
    if installed.is_empty() {
        let error = Error::not_found(format!("`{skill}` is not installed, so it has no signer"));
        return Err(match closest(skill.as_str(), known.iter().map(String::as_str)) {
            Some(similar) => error.hint(format!("did you mean `{similar}`?")),
            None => error.hint("`prowess list` shows what is installed"),
        });
    }
    let signs = |signers: &[SignedBy]| signers.iter().any(|signer| signer.key_id == key);
    if installed.iter().any(|(_, entry)| signs(&entry.signers)) {
        return Ok(false);
    }
    if packages.trust_store()?.keys().any(|trusted| trusted.id() == key) {
        return Ok(true);
    }
    let sources = SourceSession::open(packages, printer, false)?;
    let mut offered = Vec::new();
    for (scope, _) in &installed {
        let request = ChangeRequest {
            goal: ChangeGoal::Update([skill.clone()].into()),
            scope: *scope,
            permissions: InstallPermissions::default(),
            min_age: None,
            agents: AgentTargets::Existing,
        };
        let unasked = |error: Error| {
            error.hint(format!(
                "if you have the key from its owner, trust it with `prowess trust add`; then the source of `{skill}` is not contacted"
            ))
        };
        let update = packages
            .prepare(&request, &sources.as_sources())
            .map_err(|problem| unasked(problem.into()))?;
        if let Some(failure) = update.failures.first() {
            return Err(unasked(failure.cause.clone().into()));
        }
        let steps = update.plan.steps.iter().filter(|step| step.name() == skill);
        for step in steps {
            if signs(&step.entry.signers) {
                return Ok(true);
            }
            let version = &step.entry.version;
            let signers = step.entry.signers.iter().map(|signer| format!("`{}`", signer.key_id));
            let signers: Vec<String> = signers.collect();
            offered.push(if signers.is_empty() {
                format!("its source offers {version}, which is not signed")
            } else {
                format!("its source offers {version}, signed by the key {}", signers.join(" and "))
            });
        }
    }
    let error = Error::not_found(format!(
        "the key `{}` is not trusted, and has signed nothing that the source of `{skill}` offers",
        inline(key)
    ));
    Err(if offered.is_empty() {
        error.hint("its source offers nothing newer")
    } else {
        error.hint(format!(
            "{}; accept that key once the author has confirmed it",
            offered.join("; ")
        ))
    })
}

fn read(file: &std::path::Path) -> Result<String, Error> {
    const MOST_BYTES: u64 = 1 << 20;
    use std::io::Read as _;
    let mut text = String::new();
    let read = if file.as_os_str() == "-" {
        std::io::stdin().lock().take(MOST_BYTES).read_to_string(&mut text)
    } else {
        std::fs::File::open(file).and_then(|file| file.take(MOST_BYTES).read_to_string(&mut text))
    };
    read.map_err(|source| Error::io("read", file, &source))?;
    Ok(text)
}

fn list(store: &TrustStore, format: Format, printer: &mut Printer) {
    let keys: Vec<&TrustedKey> = store.keys().collect();
    match format {
        Format::Json => {
            let text = |time: &Option<Timestamp>| time.as_ref().map(ToString::to_string);
            let keys: Vec<Value> = keys
                .iter()
                .map(|key| {
                    json!({
                        "id": key.id(),
                        "kind": key.material.kind(),
                        "role": key.role.as_str(),
                        "label": key.label,
                        "names": key.names.iter().map(NamePattern::as_str).collect::<Vec<&str>>(),
                        "not_before": text(&key.not_before),
                        "not_after": text(&key.not_after),
                        "revoked_at": text(&key.revoked_at),
                        "added_at": text(&key.added_at),
                    })
                })
                .collect();
            let accepted: Vec<Value> = store
                .accepted()
                .iter()
                .map(|one| json!({"skill": one.skill, "key": one.key_id, "at": one.at.to_string()}))
                .collect();
            printer.json(&json!({ "keys": keys, "accepted": accepted }));
        }
        Format::Text => {
            if keys.is_empty() {
                printer.note("no key is trusted, so every skill is experimental");
            }
            let now = now();
            let mut page: String = keys.iter().map(|key| shown(key, now)).collect();
            for Accepted { skill, key_id, at } in store.accepted() {
                let _ =
                    writeln!(page, "{}\n  accepted for {} at {at}", inline(key_id), inline(skill));
            }
            printer.report(&page);
        }
    }
}

fn shown(key: &TrustedKey, now: Timestamp) -> String {
    let mut line = format!(
        "{}\n  {} key, {} for {}",
        key.id(),
        key.material.kind(),
        key.role.as_str(),
        names(key)
    );
    if let Some(label) = &key.label {
        let _ = write!(line, ", {}", inline(label));
    }
    if let Some(from) = key.not_before {
        let yet = if from > now { " (not yet)" } else { "" };
        let _ = write!(line, ", from {from}{yet}");
    }
    if let Some(until) = key.not_after {
        let over = if until < now { " (expired)" } else { "" };
        let _ = write!(line, ", until {until}{over}");
    }
    if let Some(at) = key.revoked_at {
        let _ = write!(line, ", revoked at {at}");
    }
    line.push('\n');
    line
}
