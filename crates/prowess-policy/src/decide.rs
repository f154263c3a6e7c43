//! Decides whether a tool runs, and what the user is asked first.

use prowess_format::permission::{Domain, Level};
use prowess_format::skill::ToolKind;

use crate::approval::{ApprovalChange, ApprovalStatus, Approvals};
use crate::binaries::{self, RefusedCommand};
use crate::decision::{
    AllowReason, Allowed, ApprovalQuestion, Case, Decision, Denial, Denied, Frequency, Reason,
    ReasonKind, UnavailableGrant,
};
use crate::explain::GrantEffect;
use crate::grant::{Grant, GrantScope, GrantSource};
use crate::grants::GrantSet;
use crate::matrix;
use crate::mode::{Mode, is_available};
use crate::request::RunRequest;
use crate::scope::{PathPattern, Program};
use crate::spec::SandboxSpec;
use crate::trust::{Origin, Tier, Trust};
use crate::utilities;

/// Decides about a request.
pub fn decide(
    request: &RunRequest,
    trust: Trust,
    grants: &GrantSet,
    approvals: &Approvals,
    mode: Mode,
) -> Decision {
    decide_with_effects(request, trust, grants, approvals, mode, &|_| GrantEffect::AsGranted)
}

/// Decides about a request on a machine that can't provide all grants completely. Unavailable
/// grants are not part of the decision: the user is not asked about them, no approval includes
/// them, and no run gets them, even if the machine changes in between.
pub fn decide_with_effects(
    request: &RunRequest,
    trust: Trust,
    grants: &GrantSet,
    approvals: &Approvals,
    mode: Mode,
    effect_of: &dyn Fn(&Grant) -> GrantEffect,
) -> Decision {
    let tier = trust.tier().min(request.ceiling());
    let wanted = grants.for_tool(&request.tool);
    let asked = in_place(wanted.grants(), request);
    let narrowed = narrow(&asked, tier, request);
    let (asked, narrowed, unavailable) = split_by_effect(asked, narrowed, effect_of);
    let of_skill = in_place(grants.grants(), request);
    let (_, skill_grants, _) =
        split_by_effect(of_skill.clone(), narrow(&of_skill, tier, request), effect_of);
    let spec = SandboxSpec::of(&narrowed, tier, request.timeout_secs);
    let utilities = utilities::are_for(request.kind, request.program.as_deref());
    let case = Box::new(Case {
        spec: SandboxSpec { utilities, ..spec },
        skill_grants,
        grants: narrowed,
        unavailable,
        request: request.clone(),
        trust,
        tier,
        mode,
    });
    let mut denials = denials(request, &wanted, mode);
    // What the user asks for by name is refused rather than left out.
    let is_own = |it: &&UnavailableGrant| matches!(it.grant.source(), GrantSource::User(_));
    denials.extend(
        case.unavailable
            .iter()
            .filter(is_own)
            .map(|it| Denial::Unavailable { grant: it.grant.clone(), why: it.why.clone() }),
    );
    if !denials.is_empty() {
        return Decision::Deny(Denied { case, reasons: denials });
    }
    let mut reasons = reasons(request, trust, tier, asked.iter().zip(&case.grants));
    let consents: Vec<&Grant> =
        case.grants.iter().filter(|grant| is_consented(grant, tier)).collect();
    let has_consent = |grant: &Grant| consents.iter().any(|known| known.covers(grant));
    reasons
        .retain(|reason| !(reason.in_advance && reason.grant.as_ref().is_some_and(&has_consent)));
    let to_approve: Vec<Grant> =
        case.grants.iter().filter(|grant| !has_consent(grant)).cloned().collect();
    let (by, changed) = match approvals.covers(request, &to_approve) {
        ApprovalStatus::Covered(approval) => {
            reasons.retain(|reason| reason.frequency == Frequency::EveryRun);
            (AllowReason::Approved { at: approval.given_at }, None)
        }
        ApprovalStatus::Void(approval, void) => {
            let approved_at = approval.given_at;
            let files = approval.files.clone();
            (AllowReason::NothingToAsk, Some(ApprovalChange { void, approved_at, files }))
        }
        ApprovalStatus::Never => (AllowReason::NothingToAsk, None),
    };
    if reasons.is_empty() {
        return Decision::Allow(Allowed { case, approval: None, by });
    }
    Decision::Ask(ApprovalQuestion { case, reasons, changed })
}

/// Splits grants into available ones, requested and narrowed side by side, and unavailable
/// ones.
fn split_by_effect(
    asked: Vec<Grant>,
    narrowed: Vec<Grant>,
    effect_of: &dyn Fn(&Grant) -> GrantEffect,
) -> (Vec<Grant>, Vec<Grant>, Vec<UnavailableGrant>) {
    let mut kept = (Vec::new(), Vec::new());
    let mut unavailable: Vec<UnavailableGrant> = Vec::new();
    for (asked, narrowed) in asked.into_iter().zip(narrowed) {
        let unavailable_grant = match effect_of(&narrowed) {
            GrantEffect::AsGranted | GrantEffect::Partly(_) => {
                kept.0.push(asked);
                kept.1.push(narrowed);
                continue;
            }
            GrantEffect::ReadOnly(why) => {
                kept.0.push(asked.reading());
                kept.1.push(narrowed.reading());
                UnavailableGrant { grant: narrowed, why, is_read: true }
            }
            GrantEffect::Never(why) => UnavailableGrant { grant: narrowed, why, is_read: false },
        };
        let is_known =
            |known: &UnavailableGrant| known.to_string() == unavailable_grant.to_string();
        if !unavailable.iter().any(is_known) {
            unavailable.push(unavailable_grant);
        }
    }
    (kept.0, kept.1, unavailable)
}

/// The reasons to deny a request, whatever the user answers.
fn denials(request: &RunRequest, wanted: &GrantSet, mode: Mode) -> Vec<Denial> {
    let mut denials = Vec::new();
    if !is_available(request.modes.iter().map(String::as_str), mode) {
        denials.push(Denial::Mode { declared: request.modes.clone(), active: mode });
    }
    // A skill runs with everything it requests or not at all: with a part missing it would fail in
    // obscure ways.
    denials.extend(wanted.refusals().iter().cloned().map(Denial::Refused));
    // Don't ask about something that no approval can grant.
    let is_own =
        |grant: &&Grant| matches!(grant.scope(), GrantScope::Host(host) if host.is_local());
    denials.extend(wanted.grants().iter().filter(is_own).cloned().map(Denial::OwnMachine));
    if let Some(text) = &request.program {
        let granted = Program::of_command(text).is_ok_and(|program| {
            wanted.grants().iter().filter(|grant| grant.domain() == Domain::Shell).any(|grant| {
                *grant.scope() == GrantScope::All
                    || *grant.scope() == GrantScope::Program(program.clone())
            })
        });
        let refused = wanted.refusals().iter().any(|refusal| refusal.text == *text);
        if !granted && !refused {
            denials.push(Denial::ProgramNotGranted(text.clone()));
        }
    }
    denials.extend(refused_command(request, wanted).map(Denial::Command));
    denials
}

/// The form of the table of refused commands that the command line has, unless the user grants its program by name.
fn refused_command(request: &RunRequest, wanted: &GrantSet) -> Option<RefusedCommand> {
    let (program, arguments) = request.command.as_ref()?;
    let refused = binaries::refused_command(program, arguments)?;
    let name = refused.form.split(' ').next().unwrap_or_default().to_owned();
    let is_users = wanted.grants().iter().any(|grant| {
        grant.source().is_users()
            && matches!(grant.scope(), GrantScope::Program(program) if names_program(program, &name))
    });
    (!is_users).then_some(refused)
}

/// Whether a program of a grant has a name.
fn names_program(program: &Program, name: &str) -> bool {
    match program {
        Program::Named(known) => known == name,
        Program::At(path) => path.rsplit('/').next() == Some(name),
        Program::Own(_) => false,
    }
}

/// The reasons to ask the user, the most important first.
fn reasons<'g>(
    request: &RunRequest,
    trust: Trust,
    tier: Tier,
    asked_and_narrowed: impl Iterator<Item = (&'g Grant, &'g Grant)>,
) -> Vec<Reason> {
    let mut reasons = Vec::new();
    let about_skill =
        |kind, frequency, in_advance| Reason { kind, grant: None, frequency, in_advance };
    if trust.origin() == Origin::Downloaded && !trust.is_signed() {
        reasons.push(about_skill(ReasonKind::UnsignedDownload, Frequency::EveryRun, false));
    }
    if request.always_ask {
        // `--yes` confirms this one run, which is all that the author requires.
        reasons.push(about_skill(ReasonKind::AlwaysAsk, Frequency::EveryRun, true));
    }
    // R32: bundled or verified, and read-only: runs. Otherwise first use asks.
    // Whoever vouches for a skill says nothing about the server that it calls.
    let vouched = (trust.origin() == Origin::Bundled || tier == Tier::Verified)
        && request.kind != ToolKind::McpTool;
    if !(vouched && request.read_only) {
        reasons.push(about_skill(ReasonKind::FirstUse, Frequency::UntilApproved, true));
    }
    let about_grants =
        asked_and_narrowed.filter_map(|(asked, narrowed)| about_grant(asked, narrowed, tier));
    for reason in about_grants {
        // A skill that declares what its command implies asks once, and `--yes` has to be allowed
        // for both.
        match reasons.iter_mut().find(|known| is_same_question(known, &reason)) {
            Some(known) => known.in_advance &= reason.in_advance,
            None => reasons.push(reason),
        }
    }
    reasons
}

fn is_same_question(one: &Reason, other: &Reason) -> bool {
    let text = |reason: &Reason| reason.grant.as_ref().map(ToString::to_string);
    (one.kind, one.frequency, text(one)) == (other.kind, other.frequency, text(other))
}

/// The question that a grant raises, if any.
fn about_grant(grant: &Grant, narrowed: &Grant, tier: Tier) -> Option<Reason> {
    let (kind, in_advance) = match grant.scope() {
        // Asked at every tier: a signature proves the author, but the secret is the user's.
        GrantScope::Path(path) if path.named_secret().is_some() => (ReasonKind::SecretFiles, false),
        GrantScope::Variable(name) if name.is_secret() => (ReasonKind::SecretVariable, true),
        _ if *grant.source() == GrantSource::NetworkFlag => {
            (ReasonKind::NetworkFlag, tier > Tier::Experimental)
        }
        _ if matrix::asks(grant, tier) => {
            (ReasonKind::Permission, can_be_approved_in_advance(narrowed, tier))
        }
        _ => return None,
    };
    let frequency = match (grant.domain(), tier) {
        // Nothing confines a program that controls the mouse, and this one is not signed.
        (Domain::Desktop, Tier::Experimental) => Frequency::EveryRun,
        _ => Frequency::UntilApproved,
    };
    // The user decides about the narrowed grant.
    Some(Reason { kind, grant: Some(narrowed.clone()), frequency, in_advance })
}

/// Whether the user's own word is enough for a grant: they gave it by name, and it raises no
/// question that only a person may answer.
fn is_consented(grant: &Grant, tier: Tier) -> bool {
    let question = || about_grant(grant, grant, tier);
    grant.source().is_users() && question().is_none_or(|reason| reason.in_advance)
}

/// Whether `--yes` may answer the question of a grant; see `docs/design/policy.md`.
fn can_be_approved_in_advance(grant: &Grant, tier: Tier) -> bool {
    let unvouched = tier == Tier::Experimental;
    match (grant.domain(), grant.scope()) {
        (Domain::Desktop, _) => false,
        (Domain::Shell | Domain::Env | Domain::Database | Domain::Filesystem, GrantScope::All) => {
            !unvouched
        }
        (Domain::Network, GrantScope::Host(host)) => !(unvouched && host.is_any()),
        // R52 narrows an unscoped grant to the working directory, but not a broad pattern. A
        // command tool reads its working directory even if that is the home directory (GIB §5.1);
        // writing to it is more.
        (Domain::Filesystem, GrantScope::Path(path)) => {
            let implied =
                *grant.source() == GrantSource::WorkingDirectory && grant.level() == Level::Read;
            !unvouched || implied || !path.is_broad()
        }
        _ => true,
    }
}

/// Resolves `./` in grants (R54): in a run in the home directory it is the home directory.
fn in_place(grants: &[Grant], request: &RunRequest) -> Vec<Grant> {
    let place = |grant: &Grant| match grant.scope() {
        GrantScope::Path(path) if request.in_home => {
            grant.with_scope(GrantScope::Path(path.in_home()))
        }
        _ => grant.clone(),
    };
    grants.iter().map(place).collect()
}

/// Narrows grants by tier (R52): experimental skills that request all files get the working
/// directory.
fn narrow(grants: &[Grant], tier: Tier, request: &RunRequest) -> Vec<Grant> {
    let narrowed = grants.iter().map(|grant| match (grant.domain(), grant.scope(), tier) {
        // The user's own grant is what they say, and is asked about as such.
        _ if grant.source().is_users() => grant.clone(),
        (Domain::Filesystem, GrantScope::All, Tier::Experimental) => {
            grant.with_scope(GrantScope::Path(PathPattern::working_directory()))
        }
        _ => grant.clone(),
    });
    in_place(&narrowed.collect::<Vec<_>>(), request)
}
