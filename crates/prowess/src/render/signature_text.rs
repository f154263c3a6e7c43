//! Signatures of skills that are not installed: who signed, when, and what is covered.

use std::fmt::Write as _;

use prowess_library::packages::{HeldSignature, HeldSkill, SignerStanding};
use prowess_trust::{KeyStanding, Purpose, SignatureTime, Verdict};
use serde_json::{Value, json};

use crate::terminal::printer::inline;

/// The most files that are named.
const MOST_NAMED: usize = 10;

/// Everything about the signatures of a skill.
pub(crate) fn page(skill: &HeldSkill) -> String {
    let mut page = String::new();
    let version = skill.version.as_ref().map(|version| format!(" {}", inline(version)));
    let invalid = skill.attestation.refused.len();
    let verdict = match (skill.signatures.len(), invalid) {
        (0, 0) if skill.attestation.warnings.is_empty() => "not signed".to_owned(),
        (0, 0) => "no signature that can be checked".to_owned(),
        (1, 0) => "the signature holds".to_owned(),
        (count, 0) => format!("all {count} signatures hold"),
        (_, 1) => "a signature does not hold".to_owned(),
        (_, count) => format!("{count} signatures do not hold"),
    };
    let _ = writeln!(page, "{}{}: {verdict}", inline(&skill.name), version.unwrap_or_default());
    let mut line = |word: &str, text: &str| {
        let _ = writeln!(page, "  {word:<10} {text}");
    };
    line("from", &inline(&skill.pinned.to_string()));
    for refusal in &skill.attestation.refused {
        line("invalid", &inline(&refusal.to_string()));
    }
    for signature in &skill.signatures {
        let verdict = &signature.verdict;
        let word = match verdict.purpose {
            Purpose::Release => "signed by",
            Purpose::Audit => "audited by",
        };
        line(word, &signer(signature));
        line("signature", &format!("{} ({})", inline(&verdict.path), verdict.scheme));
        line("when", &when(verdict.time));
        let count = verdict.covered.len();
        let noun = if count == 1 { "file" } else { "files" };
        line("covers", &format!("{count} {noun}"));
    }
    if !skill.uncovered.is_empty() && !skill.signatures.is_empty() {
        line("uncovered", &named(&skill.uncovered));
    }
    page
}

/// Who signed, and what they are to the user.
pub(crate) fn signer(signature: &HeldSignature) -> String {
    let verdict = &signature.verdict;
    let id = inline(&verdict.key_id);
    let who = match &verdict.identity {
        Some(identity) => format!("{} ({id})", inline(identity)),
        None => format!("the key {id}"),
    };
    match &signature.standing {
        SignerStanding::Own(name) => {
            format!("your key `{}` ({id}), which is not in the trust store", inline(name))
        }
        SignerStanding::Known(KeyStanding::Trusted(role)) => {
            format!("{who}, trusted as {}", role.as_str())
        }
        SignerStanding::Known(KeyStanding::Unknown) => {
            format!("{who}, which is not in the trust store")
        }
        SignerStanding::Known(KeyStanding::NotForThisName) => {
            format!("{who}, trusted for other skills only")
        }
        SignerStanding::Known(KeyStanding::OutsideItsTime) => {
            format!("{who}, trusted at another time only")
        }
    }
}

fn when(time: SignatureTime) -> String {
    match time {
        SignatureTime::Unknown => "not recorded".to_owned(),
        SignatureTime::Noted(at) => format!("{at} (a note in the file, which is not signed)"),
        SignatureTime::Claimed(at) => format!("{at} (says the signer)"),
        SignatureTime::Witnessed(at) => format!("{at} (recorded by a transparency log)"),
    }
}

fn named(paths: &[String]) -> String {
    let first: Vec<String> =
        paths.iter().take(MOST_NAMED).map(|path| inline(path).into_owned()).collect();
    match paths.len().checked_sub(MOST_NAMED) {
        None | Some(0) => first.join(", "),
        Some(more) => format!("{} and {more} more", first.join(", ")),
    }
}

/// A signature that holds, for programs.
pub(crate) fn wire(verdict: &Verdict, own_key: Option<&str>) -> Value {
    let (time, time_source) = match verdict.time {
        SignatureTime::Unknown => (None, None),
        SignatureTime::Noted(at) => (Some(at.to_string()), Some("note")),
        SignatureTime::Claimed(at) => (Some(at.to_string()), Some("signer")),
        SignatureTime::Witnessed(at) => (Some(at.to_string()), Some("log")),
    };
    let trusted_as = match &verdict.standing {
        KeyStanding::Trusted(role) if own_key.is_none() => Some(role.as_str()),
        _ => None,
    };
    json!({
        "file": verdict.path,
        "scheme": verdict.scheme.as_str(),
        "purpose": match verdict.purpose {
            Purpose::Release => "release",
            Purpose::Audit => "audit",
        },
        "key": verdict.key_id,
        "identity": verdict.identity,
        "trusted_as": trusted_as,
        "own_key": own_key,
        "time": time,
        "time_source": time_source,
        "covered": verdict.covered.len(),
    })
}

/// A signature of a skill that is not installed, for programs.
pub(crate) fn held_wire(signature: &HeldSignature) -> Value {
    let own_key = match &signature.standing {
        SignerStanding::Own(name) => Some(name.as_str()),
        SignerStanding::Known(_) => None,
    };
    wire(&signature.verdict, own_key)
}
