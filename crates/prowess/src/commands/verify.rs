//! `prowess verify`: whether skills are what was installed and signed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;
use prowess_core::{Problem, ProblemKind, Remedy};
use prowess_library::packages::{
    HeldSkill, PackageManager, Revocations, ScopeChoice, ScopeReason, VerifyReport,
};
use prowess_library::{FetchedSkill, Found, SkillChoice, scan_path};
use prowess_package::name::SkillName;
use prowess_scan::{ScanTier, Verdict as ScanVerdict};
use prowess_store::drift::{Drift, VerifiedSkill};
use prowess_store::places::Scope;
use prowess_store::source::Catalogue;
use prowess_trust::{KeyStanding, Verdict};
use serde_json::{Value, json};

use super::Outcome;
use crate::error::Error;
use crate::packages::names::with_version;
use crate::packages::options::{Format, ScopeOption};
use crate::packages::scope::ScopedPackages;
use crate::packages::sources::SourceSession;
use crate::render::signature_text;
use crate::session;
use crate::skill::skill_ref::{self, ReferenceOptions};
use crate::terminal::printer::{Printer, inline};

/// Check skills and their signatures
///
/// Of an installed skill every file is hashed and compared with the lock file, and
/// every signature is checked again with the keys that you trust now. A version
/// that its registry has revoked is reported as far as that is known; `--online`
/// asks.
///
/// A folder, an archive, or anything else that `prowess install` takes is read, and
/// its signatures are compared with its files: who signed it, when, and which files
/// are covered. Nothing is installed. A name is an installed skill first; `./NAME`
/// is the folder.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess verify
  prowess verify greet --format json
  prowess verify --online
  prowess verify ./greet
  prowess verify greet-1.0.0.tar.gz --require-signature

Exit codes:
  0  everything is as it was installed, and every signature holds
  1  something is not, or a signature does not hold
  3  there is no such skill
  4  `--require-signature`: no signature by a key that you trust")]
pub(crate) struct Arguments {
    /// Which skills; all installed ones when left out
    #[arg(value_name = "SKILL")]
    skills: Vec<PathBuf>,
    #[command(flatten)]
    reference: ReferenceOptions,
    #[command(flatten)]
    scope: ScopeOption,
    /// Ask registries whether they have revoked what is installed
    #[arg(long, conflicts_with = "offline")]
    online: bool,
    /// Demand a valid signature by a key that you trust
    #[arg(long)]
    require_signature: bool,
    /// How the result is written
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let scoped = ScopedPackages::open(arguments.scope)?;
    let packages = &scoped.packages;
    let mut names: Vec<SkillName> = Vec::new();
    let mut held: Vec<FetchedSkill> = Vec::new();
    for word in &arguments.skills {
        match target(word, arguments, &scoped, printer)? {
            Target::Installed(name) => names.push(name),
            Target::Held(skills) => held.extend(skills),
        }
    }
    let installed = if names.is_empty() && !arguments.skills.is_empty() {
        VerifyReport { skills: Vec::new() }
    } else {
        if arguments.format == Format::Text {
            printer.say(&scoped.line());
        }
        verify_installed(packages, &names, scoped.scope(), arguments.online, printer)?
    };
    let is_fine = installed.is_ok() && held.iter().all(|skill| skill.held.is_ok());
    match arguments.format {
        Format::Json => {
            let skills = installed.skills.iter().map(wire);
            let skills: Vec<Value> = skills.chain(held.iter().map(held_wire)).collect();
            printer.json(&report_json(&scoped, is_fine, skills));
        }
        Format::Text => {
            if installed.skills.is_empty() && held.is_empty() {
                printer.note("nothing is installed");
            }
            print_installed(&installed.skills, printer);
            print_held(&held, printer);
            for step in next_steps(&installed.skills, scoped.choice) {
                printer.hint(&step);
            }
        }
    }
    if !is_fine {
        return Ok(Outcome::Findings);
    }
    if arguments.require_signature {
        require_signatures(&installed, &held)?;
    }
    Ok(Outcome::Fine)
}

/// What an argument means.
enum Target {
    Installed(SkillName),
    Held(Vec<FetchedSkill>),
}

fn target(
    word: &Path,
    arguments: &Arguments,
    scoped: &ScopedPackages,
    printer: &mut Printer,
) -> Result<Target, Error> {
    let name: Option<SkillName> = word.to_str().and_then(|text| text.parse().ok());
    if let Some(name) = &name
        && scoped.packages.is_installed(name, scoped.scope())?
    {
        if word.exists() {
            printer.note(&format!(
                "`{name}` is the installed skill; there is also a path (`./{name}`)"
            ));
        }
        return Ok(Target::Installed(name.clone()));
    }
    let not_installed = |name: &SkillName| {
        Problem::new(
            "skill-not-installed",
            ProblemKind::NotFound,
            format!("`{name}` is not installed"),
        )
        .remedy(Remedy::ListInstalled)
    };
    let (reference, here) = match session::library()?.find(word) {
        // Installed in the other store: a path of the same name is not meant.
        Ok(Found::Here(located)) if located.installed.is_some() => {
            return Err(match &name {
                Some(name) => not_installed(name).into(),
                None => Error::not_found(format!("`{}` is not installed", word.display()))
                    .hint("name an installed skill without its namespace and its tools"),
            });
        }
        Ok(Found::Here(_)) => (skill_ref::as_path(word), None),
        Ok(Found::Elsewhere { here }) if word.exists() => (skill_ref::as_path(word), here),
        Ok(Found::Elsewhere { here }) => {
            (word.to_owned(), name.as_ref().map(not_installed).or(here))
        }
        // A folder of skills.
        Err(_) if word.is_dir() => (skill_ref::as_path(word), None),
        Err(problem) => return Err(problem.into()),
    };
    let choice = arguments.reference.choice(SkillChoice::All);
    let fetched = skill_ref::fetch(&reference, &choice, here, &arguments.reference, printer)?;
    Ok(Target::Held(fetched.skills))
}

/// Verifies installed skills and reports what is not as it was installed. Registries are asked only if `online`.
pub(crate) fn verify(
    names: &[SkillName],
    scope: ScopeOption,
    online: bool,
    format: Format,
    printer: &mut Printer,
) -> Result<Outcome, Error> {
    let scoped = ScopedPackages::open(scope)?;
    if format == Format::Text {
        printer.say(&scoped.line());
    }
    let report = verify_installed(&scoped.packages, names, scoped.scope(), online, printer)?;
    match format {
        Format::Json => {
            let skills: Vec<Value> = report.skills.iter().map(wire).collect();
            printer.json(&report_json(&scoped, report.is_ok(), skills));
        }
        Format::Text if report.skills.is_empty() => printer.note("nothing is installed"),
        Format::Text => {
            print_installed(&report.skills, printer);
            for step in next_steps(&report.skills, scoped.choice) {
                printer.hint(&step);
            }
        }
    }
    Ok(if report.is_ok() { Outcome::Fine } else { Outcome::Findings })
}

fn report_json(scoped: &ScopedPackages, is_ok: bool, skills: Vec<Value>) -> Value {
    let mut object = scoped.packages.scope_json(scoped.choice);
    object["ok"] = is_ok.into();
    object["skills"] = skills.into();
    object
}

fn verify_installed(
    packages: &PackageManager,
    names: &[SkillName],
    scope: Scope,
    online: bool,
    printer: &mut Printer,
) -> Result<VerifyReport, Error> {
    let mut report = packages.verify(names, scope)?;
    if report.concerns_registry() {
        let sources = SourceSession::open(packages, printer, !online)?;
        let catalogue = Some(&sources.sources as &dyn Catalogue);
        report.add_revocations(if online {
            Revocations::Asked(catalogue)
        } else {
            Revocations::Known(catalogue)
        })?;
    }
    Ok(report)
}

fn print_installed(findings: &[VerifiedSkill], printer: &mut Printer) {
    let lines: Vec<String> = findings.iter().map(shown).collect();
    printer.report(&lines.concat());
    for finding in findings {
        warn(finding, printer);
        warn_about_scan(&finding.name, printer);
    }
}

/// Scans an installed skill with the rules of today. What it was installed with may not have been known then.
fn warn_about_scan(name: &SkillName, printer: &mut Printer) {
    let Ok(library) = session::library() else { return };
    let Some(located) = library.installed_at(Path::new(name.as_str())) else { return };
    let Ok(scanned) = scan_path(located.file.place(), None) else { return };
    let verdict = scanned.report.verdict(ScanTier::Community);
    if verdict == ScanVerdict::Allow {
        return;
    }
    let worst = scanned.report.findings.iter().max_by_key(|finding| finding.severity);
    let Some(worst) = worst else { return };
    printer.warning(&format!(
        "`{name}` would be {} today: it {} ({}, {})",
        if verdict == ScanVerdict::Block { "blocked" } else { "asked about" },
        inline(&worst.message),
        inline(&worst.file),
        worst.rule.rule.name
    ));
    printer.hint(&format!("`prowess scan {name}` shows what was found"));
}

fn print_held(skills: &[FetchedSkill], printer: &mut Printer) {
    let pages: Vec<String> = skills.iter().map(|skill| signature_text::page(&skill.held)).collect();
    printer.report(&pages.concat());
    for skill in skills {
        for note in &skill.notes {
            printer.warning(note);
        }
        for warning in &skill.held.attestation.warnings {
            printer.warning(&format!("`{}`: {warning}", skill.held.name));
        }
    }
    if skills.iter().any(|skill| !skill.held.is_ok()) {
        printer.hint(
            "don't use a skill whose signature does not hold: fetch it again, or ask its author",
        );
    }
}

/// Refuses skills that nobody has signed whom the user trusts.
fn require_signatures(installed: &VerifyReport, held: &[FetchedSkill]) -> Result<(), Error> {
    let is_trusted = |skill: &&VerifiedSkill| {
        let verdicts = skill.attestation.iter().flat_map(|attestation| &attestation.evidence);
        verdicts.into_iter().any(|verdict| matches!(verdict.standing, KeyStanding::Trusted(_)))
    };
    let installed = installed.skills.iter().filter(|skill| !is_trusted(skill));
    let held = held.iter().map(|skill| &skill.held).filter(|skill| !skill.is_trusted());
    let missing: Vec<String> = installed
        .map(|skill| format!("`{}`", skill.name))
        .chain(held.map(|skill| format!("`{}`", inline(&skill.name))))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let verb = if missing.len() == 1 { "has" } else { "have" };
    Err(Error::refused(format!("{} {verb} no signature by a trusted key", missing.join(", ")))
        .hint("trust the signer's key with `prowess trust add`, or ask the author to sign"))
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
                "don't use a skill with an invalid signature; ask its author, or uninstall it with `prowess remove`"
                    .to_owned(),
            );
        }
        has(|drift| matches!(drift, Drift::Tier { .. })).then(|| {
            "`prowess trust list` shows whose signatures count; trust the key with `prowess trust add`, or uninstall the skill with `prowess remove`"
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
    let counts = |verdict: &Verdict| matches!(verdict.standing, KeyStanding::Trusted(_));
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
                KeyStanding::Trusted(role) => format!("trusted as {}", role.as_str()),
                KeyStanding::Unknown => "not trusted here".to_owned(),
                KeyStanding::NotForThisName => "trusted for other skills only".to_owned(),
                KeyStanding::OutsideItsTime => "trusted at another time only".to_owned(),
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
        .map(|verdict| signature_text::wire(verdict, None))
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

fn held_wire(skill: &FetchedSkill) -> Value {
    let HeldSkill { name, version, reference, pinned, files, signatures, attestation, uncovered } =
        &skill.held;
    let invalid: Vec<Value> = attestation
        .refused
        .iter()
        .map(|refusal| json!({"file": refusal.path, "message": refusal.to_string()}))
        .collect();
    json!({
        "name": name,
        "version": version,
        "reference": reference,
        "source": pinned.to_string(),
        "source_kind": pinned.kind(),
        "security_tier": attestation.tier.as_str(),
        "files": files,
        "drift": [],
        "signatures": signatures.iter().map(signature_text::held_wire).collect::<Vec<Value>>(),
        "invalid_signatures": invalid,
        "uncovered": uncovered,
        "warnings": skill.notes.iter().chain(&attestation.warnings).collect::<Vec<&String>>(),
    })
}
