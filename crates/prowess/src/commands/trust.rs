//! `prowess trust`: whose signatures count.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use prowess_format::text::closest;
use prowess_package::name::SkillName;
use prowess_store::places::Scope;
use prowess_store::review::Leave;
use prowess_trust::{
    Accepted, Material, NamePattern, Role, SignedBy, Timestamp, TrustStore, TrustStoreError,
    TrustedKey, update_trust_store,
};
use serde_json::{Value, json};

use super::Outcome;
use super::install::Format;
use crate::error::Error;
use crate::store::packages::{Packages, install_failed, lock_of, now, skill_name};
use crate::terminal::printer::{Printer, inline};

/// Decide whose signatures count, and for what
///
/// Nothing is trusted by default: without a key here every skill is experimental.
/// A publisher's signature makes a skill community at most; a root's makes it
/// verified, and so does an auditor's beside a publisher's. What a skill claims
/// about itself counts for nothing.
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
    /// Let the signatures of a key count
    ///
    /// The file holds a line of `prowess key export`, a minisign key, a public key or
    /// root certificate in PEM, an OpenPGP certificate as `gpg --armor --export`
    /// writes it, or an identity of Sigstore as JSON. `-` reads it from the input.
    ///
    /// Of a key that is there already only what you name is changed, so that doing
    /// the same twice changes nothing. One that was revoked stays so.
    Add {
        /// A file with the public key
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// What its signatures prove [default: publisher]
        #[arg(long, value_enum)]
        role: Option<RoleOption>,
        /// The skills it may sign: `greet`, `web-*`, `acme/*`
        #[arg(long, value_name = "PATTERN", value_parser = pattern)]
        names: Vec<NamePattern>,
        /// What to call it in reports
        #[arg(long, value_name = "TEXT")]
        label: Option<String>,
        /// It counts from this time on, such as 2026-01-01T00:00:00Z
        #[arg(long, value_name = "TIME", value_parser = time)]
        not_before: Option<Timestamp>,
        /// It counts until this time
        #[arg(long, value_name = "TIME", value_parser = time)]
        not_after: Option<Timestamp>,
    },
    /// List the keys that count, and the signers that were accepted
    List {
        /// How the list is written
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// Let a key count no longer
    ///
    /// What was accepted with `trust accept` is taken back with it.
    Remove {
        /// The key's identifier, as `list` shows it
        #[arg(value_name = "KEY")]
        key: String,
        /// Only take back that it was accepted for this skill
        #[arg(long, value_name = "SKILL", conflicts_with = "revoked")]
        accepted_for: Option<String>,
        /// It was stolen at this time, or `now`: refuse what was not here before
        #[arg(long, value_name = "TIME", value_parser = time_or_now)]
        revoked: Option<Timestamp>,
    },
    /// Accept that an installed skill has a new signer
    ///
    /// The key is one that you trust, or one that has signed what the source of the
    /// skill offers now, which is looked at. Ask the author before, on a way that
    /// whoever changed the key can't have changed as well.
    ///
    /// This is about one skill, and makes the key no more than it is: whether its
    /// signatures prove anything is decided with `trust add`. `prowess trust remove
    /// KEY --accepted-for SKILL` takes it back.
    Accept {
        /// The skill
        #[arg(value_name = "SKILL")]
        skill: String,
        /// The identifier of the new key, as the refusal shows it
        #[arg(value_name = "KEY")]
        key: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum RoleOption {
    /// At most community
    Publisher,
    /// Verified
    Root,
    /// Verified, beside a publisher
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
    let packages = Packages::new()?;
    let path = packages.trust_path();
    let change = |work: &mut dyn FnMut(&mut TrustStore)| {
        update_trust_store(&path, |store| work(store)).map_err(|error| failed(&error))
    };
    match &arguments.action {
        Action::Add { file, role, names, label, not_before, not_after } => {
            let text = read(file)?;
            let material = Material::read(&text)
                .map_err(|error| Error::failed(format!("`{}`: {error}", file.display())))?;
            let wish = Wish {
                material,
                role: role.map(RoleOption::role),
                names,
                label: label.as_deref(),
                not_before: *not_before,
                not_after: *not_after,
            };
            let mut added = Ok(String::new());
            change(&mut |store| added = add(store, &wish))?;
            printer.say(&added?);
        }
        Action::List { format } => list(&packages.trust()?, *format, printer),
        Action::Remove { key, accepted_for: Some(skill), .. } => {
            let skill = skill_name(skill)?;
            let mut taken = Vec::new();
            change(&mut |store| taken = store.take_back(key, Some(skill.as_str())))?;
            if taken.is_empty() {
                let what = format!("`{}` was not accepted for `{skill}`", inline(key));
                return Err(
                    Error::not_found(what).hint("`prowess trust list` shows what was accepted")
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
                return Err(Error::not_found(format!("no key `{}` is trusted", inline(key)))
                    .hint("`prowess trust list` shows those that are"));
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
                if packages.trust()?.get(key).is_none() {
                    printer.note(
                        "its signatures prove nothing yet, so that the skill is experimental; `prowess trust add FILE` trusts the key itself",
                    );
                }
            } else {
                printer.say(&format!("`{skill}` is signed by {} already", inline(key)));
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

/// What the user wants of a key. What is not named stays as it is.
struct Wish<'w> {
    material: Material,
    role: Option<Role>,
    names: &'w [NamePattern],
    label: Option<&'w str>,
    not_before: Option<Timestamp>,
    not_after: Option<Timestamp>,
}

/// Adds a key or changes one, and says what is different now.
fn add(store: &mut TrustStore, wish: &Wish<'_>) -> Result<String, Error> {
    let id = wish.material.id();
    let known = store.keys().find(|key| key.material == wish.material).cloned();
    // A script that sets a machine up, run once more, must not undo what was done about a theft (attack registry-C15).
    // The identifier is what counts: a certificate can be exported anew with other bytes.
    if let Some(at) = store.keys().filter(|key| key.id() == id).find_map(|key| key.revoked_at) {
        return Err(Error::refused(format!("the key {id} was revoked at {at}, and stays so"))
            .hint("ask its owner for a new key; if it was never stolen, `prowess trust remove` forgets it, and then it can be added"));
    }
    let mut key = known.clone().unwrap_or_else(|| {
        let mut key = TrustedKey::new(wish.material.clone(), Role::Publisher);
        key.added_at = Some(now());
        key
    });
    key.role = wish.role.unwrap_or(key.role);
    key.label = wish.label.map(str::to_owned).or(key.label);
    key.not_before = wish.not_before.or(key.not_before);
    key.not_after = wish.not_after.or(key.not_after);
    if !wish.names.is_empty() {
        key.names = wish.names.to_vec();
    }
    if let (Some(from), Some(until)) = (key.not_before, key.not_after)
        && from > until
    {
        return Err(Error::usage(format!(
            "the key would never count: it is to count from {from} on, and until {until}"
        ))
        .hint("look at `--not-before` and `--not-after`"));
    }
    let head = format!("{} key {id}", key.material.kind());
    let said = match &known {
        None => format!("added {head} as {}", key.role.as_str()),
        Some(known) => match differences(known, &key) {
            none if none.is_empty() => {
                format!("{head} is trusted already, as {}", key.role.as_str())
            }
            some => format!("changed {head}: {}", some.join(", ")),
        },
    };
    store.add(key);
    Ok(said)
}

/// What is different between two entries of one key.
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
        Some(at) => format!("removed {}, also that it was revoked at {at}", key.id()),
        None => format!("removed {}", key.id()),
    }
}

fn taken_back(accepted: &Accepted) -> String {
    let skill = inline(&accepted.skill);
    format!("`{skill}` may not be signed by {} any more", inline(&accepted.key_id))
}

/// Whether there is something to accept: the skill is installed, and the key is new to it but no invention. A word that is
/// accepted for nothing would wait for whoever makes a key of that name.
fn acceptable(
    packages: &Packages,
    skill: &SkillName,
    key: &str,
    printer: &mut Printer,
) -> Result<bool, Error> {
    let mut installed = Vec::new();
    let mut known = Vec::new();
    for scope in [Scope::Project, Scope::User] {
        let store = packages.store(scope)?;
        let lock = lock_of(&store)?;
        known.extend(lock.skills.keys().map(ToString::to_string));
        installed.extend(lock.skills.get(skill).map(|entry| (store, entry.clone())));
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
    if packages.trust()?.keys().any(|trusted| trusted.id() == key) {
        return Ok(true);
    }
    let reach = packages.reach(printer, false)?;
    let mut offered = Vec::new();
    for (store, _) in &installed {
        let names = [skill.clone()].into();
        let unasked = |error: Error| {
            error.hint(format!(
                "`prowess trust add` lets a key count that you have from its owner; then what `{skill}` offers is not asked for"
            ))
        };
        let looked = packages
            .with_installer(store, &reach, Leave::default(), None, |installer| {
                installer.plan_update(&names)
            })
            .map_err(unasked)?;
        if let Some((_, error)) = looked.failures.first() {
            return Err(unasked(install_failed(error)));
        }
        let steps = looked.plan.steps.iter().filter(|step| step.name() == skill);
        for step in steps {
            if signs(&step.entry.signers) {
                return Ok(true);
            }
            let version = &step.entry.version;
            let signers = step.entry.signers.iter().map(|signer| format!("`{}`", signer.key_id));
            let signers: Vec<String> = signers.collect();
            offered.push(if signers.is_empty() {
                format!("{version} is offered, and nobody has signed it")
            } else {
                format!("{version} is offered, signed by the key {}", signers.join(" and "))
            });
        }
    }
    let error = Error::not_found(format!(
        "the key `{}` has signed nothing that is offered for `{skill}`, and is none that you trust",
        inline(key)
    ));
    Err(if offered.is_empty() {
        error.hint("nothing newer is offered for it")
    } else {
        error.hint(format!(
            "{}; accept that one when its author has confirmed it",
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
        let over = if until < now { " (over)" } else { "" };
        let _ = write!(line, ", until {until}{over}");
    }
    if let Some(at) = key.revoked_at {
        let _ = write!(line, ", revoked at {at}");
    }
    line.push('\n');
    line
}
