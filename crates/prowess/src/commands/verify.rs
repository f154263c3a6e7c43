//! `prowess verify`: whether installed skills are what was installed and signed.

use std::collections::BTreeSet;

use clap::Args;
use prowess_library::packages::{Revocations, ScopeChoice, ScopeReason};
use prowess_package::name::SkillName;
use prowess_store::drift::{Drift, VerifiedSkill};
use prowess_store::places::Scope;
use prowess_store::source::Catalogue;
use prowess_trust::{Standing, Verdict};
use serde_json::{Value, json};

use super::Outcome;
use crate::error::Error;
use crate::packages::names::{skill_names, with_version};
use crate::packages::options::{Format, ScopeOption};
use crate::packages::scope::ScopedPackages;
use crate::packages::sources::SourceSession;
use crate::terminal::printer::{Printer, inline};

/// Check that installed skills are what was installed, and their signatures
///
/// Every file is hashed and compared with the lock file, and every signature is
/// checked again with the keys that you trust now. A version that its registry
/// has revoked is told as far as that is known; `--online` asks.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess verify
  prowess verify greet --format json
  prowess verify --online

Exit codes:
  0  everything is as it was installed
  1  something is not
  3  there is no such skill")]
pub(crate) struct Arguments {
    /// Which skills; all when left out
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    scope: ScopeOption,
    /// Ask registries whether they have revoked what is installed
    #[arg(long)]
    online: bool,
    /// How the result is written
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let names: Vec<SkillName> = skill_names(&arguments.names)?;
    verify(&names, arguments.scope, arguments.online, arguments.format, printer)
}

/// Verifies skills and reports what is not as it was installed. Registries are asked only if `online`.
pub(crate) fn verify(
    names: &[SkillName],
    scope: ScopeOption,
    online: bool,
    format: Format,
    printer: &mut Printer,
) -> Result<Outcome, Error> {
    let scoped = ScopedPackages::open(scope)?;
    let packages = &scoped.packages;
    let mut report = packages.verify(names, scoped.scope())?;
    if format == Format::Text {
        printer.say(&scoped.line());
    }
    if report.concerns_registry() {
        let sources = SourceSession::open(packages, printer, !online)?;
        let catalogue = Some(&sources.sources as &dyn Catalogue);
        report.add_revocations(if online {
            Revocations::Asked(catalogue)
        } else {
            Revocations::Known(catalogue)
        })?;
    }
    let (is_fine, findings) = (report.is_ok(), report.skills);
    match format {
        Format::Json => {
            let skills: Vec<Value> = findings.iter().map(wire).collect();
            let mut object = packages.scope_json(scoped.choice);
            object["ok"] = is_fine.into();
            object["skills"] = skills.into();
            printer.json(&object);
        }
        Format::Text if findings.is_empty() => printer.note("nothing is installed"),
        Format::Text => {
            let lines: Vec<String> = findings.iter().map(shown).collect();
            printer.report(&lines.concat());
            for finding in &findings {
                warn(finding, printer);
            }
        }
    }
    if is_fine {
        return Ok(Outcome::Fine);
    }
    if format == Format::Text {
        for step in next_steps(&findings, scoped.choice) {
            printer.hint(&step);
        }
    }
    Ok(Outcome::Findings)
}

/// What to do about what was found, for each skill the one step that helps: putting files back does nothing where a key
/// counts no longer, and trusting a key nothing where files have changed.
fn next_steps(findings: &[VerifiedSkill], choice: ScopeChoice) -> BTreeSet<String> {
    let restore = restore_command(choice);
    let step = |finding: &VerifiedSkill| {
        let has = |is_meant: fn(&Drift) -> bool| finding.drifts.iter().any(is_meant);
        if has(|drift| matches!(drift, Drift::Revoked(_))) {
            return Some(
                "remove what was revoked: `prowess remove NAME`, or `prowess update NAME`"
                    .to_owned(),
            );
        }
        if has(|drift| matches!(drift, Drift::NotLocked)) {
            return Some(format!(
                "what is not in the lock file was not installed: remove its folder, or install it with `{restore} FOLDER`"
            ));
        }
        let is_put_back = |drift: &Drift| match drift {
            Drift::Missing
            | Drift::Content { .. }
            | Drift::Unreadable(_)
            | Drift::Version { .. } => true,
            Drift::NotLocked | Drift::Tier { .. } | Drift::Signature(_) | Drift::Revoked(_) => {
                false
            }
        };
        if has(is_put_back) {
            return Some(format!("`{restore}` restores what the lock file says"));
        }
        if has(|drift| matches!(drift, Drift::Signature(_))) {
            return Some(
                "do not use a skill whose signature does not hold; ask its author, or take it away with `prowess remove`"
                    .to_owned(),
            );
        }
        has(|drift| matches!(drift, Drift::Tier { .. })).then(|| {
            "`prowess trust list` shows whose signatures count; trust the key with `prowess trust add`, or take the skill away with `prowess remove`"
                .to_owned()
        })
    };
    findings.iter().filter_map(step).collect()
}

/// The command that installs what the lock file says, from where the user stands.
fn restore_command(choice: ScopeChoice) -> &'static str {
    match (choice.reason, choice.scope) {
        (ScopeReason::ProjectLock | ScopeReason::NoProjectLock, _) => "prowess install",
        (ScopeReason::Asked, Scope::User) => "prowess install --user",
        (ScopeReason::Asked, Scope::Project) => "prowess install --project",
    }
}

/// What is to be known of signatures that count. Those that do not are told with their signers.
fn warn(finding: &VerifiedSkill, printer: &mut Printer) {
    let Some(attestation) = &finding.attestation else { return };
    let counts = |verdict: &Verdict| matches!(verdict.standing, Standing::Trusted(_));
    if attestation.evidence.iter().all(counts) {
        for warning in &attestation.warnings {
            printer.warning(&format!("`{}`: {warning}", finding.name));
        }
    }
}

fn shown(finding: &VerifiedSkill) -> String {
    let head = match &finding.entry {
        Some(entry) => with_version(&finding.name, &entry.version),
        None => finding.name.to_string(),
    };
    if finding.drifts.is_empty() {
        return format!("{head}: as installed, {}\n", vouched(finding));
    }
    let drifts: Vec<String> = finding
        .drifts
        .iter()
        .map(|drift| format!("  {}: {}\n", drift.kind(), inline(&drift.to_string())))
        .collect();
    format!("{head}: not as installed\n{}", drifts.concat())
}

fn vouched(finding: &VerifiedSkill) -> String {
    let tier = finding.entry.as_ref().map(|entry| entry.tier.as_str()).unwrap_or_default();
    let verdicts = finding.attestation.iter().flat_map(|attestation| &attestation.evidence);
    let signers: Vec<String> = verdicts
        .map(|verdict| {
            let who = verdict.identity.as_deref().map_or(verdict.key_id.clone(), |identity| {
                format!("{} ({})", inline(identity), verdict.key_id)
            });
            let standing = match &verdict.standing {
                Standing::Trusted(role) => format!("trusted as {}", role.as_str()),
                Standing::Unknown => "not trusted here".to_owned(),
                Standing::NotForThisName => "trusted for other skills only".to_owned(),
                Standing::OutsideItsTime => "trusted at another time only".to_owned(),
            };
            format!("signed by {who}, {standing}")
        })
        .collect();
    if signers.is_empty() {
        format!("{tier}, not signed")
    } else {
        format!("{tier}, {}", signers.join("; "))
    }
}

fn wire(finding: &VerifiedSkill) -> Value {
    let drifts: Vec<Value> = finding
        .drifts
        .iter()
        .map(|drift| json!({"kind": drift.kind(), "message": drift.to_string()}))
        .collect();
    let signatures: Vec<Value> = finding
        .attestation
        .iter()
        .flat_map(|attestation| &attestation.evidence)
        .map(|verdict| {
            json!({
                "file": verdict.path,
                "scheme": verdict.scheme.as_str(),
                "key": verdict.key_id,
                "identity": verdict.identity,
                "trusted_as": match &verdict.standing {
                    Standing::Trusted(role) => Some(role.as_str()),
                    _ => None,
                },
            })
        })
        .collect();
    json!({
        "name": finding.name.as_str(),
        "version": finding.entry.as_ref().map(|entry| entry.version.to_string()),
        "security_tier": finding.entry.as_ref().map(|entry| entry.tier.as_str()),
        "drift": drifts,
        "signatures": signatures,
        "warnings": finding.attestation.iter().flat_map(|it| &it.warnings).collect::<Vec<&String>>(),
    })
}
