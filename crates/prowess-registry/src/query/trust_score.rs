//! A trust score that is nothing but the sum of its lines, each with its evidence. A claim in the file adds nothing (SKL
//! trust levels).

use super::skill::VersionView;

/// A day, in seconds.
const DAY: i64 = 86_400;
/// A publisher is new for this many days.
const NEW_PUBLISHER_DAYS: i64 = 14;
/// Downloads from which a skill counts as widely used.
const MANY_DOWNLOADS: i64 = 100;
/// Ratings from which their mean says something.
const ENOUGH_RATINGS: i64 = 5;

/// A score from 0 to 100 and its lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustScore {
    /// The sum of the points of all lines.
    pub points: u32,
    /// The sum of what was possible: 100.
    pub possible: u32,
    /// The lines, the most important first.
    pub lines: Vec<TrustLine>,
}

/// One reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustLine {
    /// A stable word: `signature`, `audit`, `scan`, `provenance`, `permissions`, `publisher`, `use`, `ratings`.
    pub subject: &'static str,
    /// The points of this line.
    pub points: u32,
    /// The most that it can give.
    pub possible: u32,
    /// Whether it was checked at all: "not checked" must not look like "passed".
    pub checked: bool,
    /// What was found, in a sentence without a full stop.
    pub text: String,
}

/// What a score is made of.
pub(super) struct TrustSubject<'a> {
    pub(super) version: &'a VersionView,
    pub(super) earlier: Option<&'a VersionView>,
    pub(super) publisher_since: i64,
    pub(super) other_skills: i64,
    pub(super) downloads: i64,
    pub(super) rating_hundredths: Option<i64>,
    pub(super) rating_count: i64,
    pub(super) now: i64,
}

/// Computes the score.
pub(super) fn trust_score(subject: &TrustSubject<'_>) -> TrustScore {
    let lines = vec![
        signature(subject),
        audit(subject),
        scan(subject),
        provenance(subject),
        permissions(subject),
        publisher(subject),
        adoption(subject),
        ratings(subject),
    ];
    let points = lines.iter().map(|line| line.points).sum();
    let possible = lines.iter().map(|line| line.possible).sum();
    TrustScore { points, possible, lines }
}

fn line(subject: &'static str, possible: u32, points: u32, text: impl Into<String>) -> TrustLine {
    TrustLine { subject, points, possible, checked: true, text: text.into() }
}

fn signature(subject: &TrustSubject<'_>) -> TrustLine {
    let is_release = |signature: &&crate::signatures::StoredSignature| !signature.is_audit;
    let known = subject.version.signatures.iter().filter(is_release);
    let (mut known, mut unknown) = (
        known.clone().filter(|it| it.standing == "trusted"),
        known.filter(|it| it.standing != "trusted"),
    );
    match (known.next(), unknown.next()) {
        (Some(signature), _) => {
            let text = format!("signed with a key of its publisher ({})", signature.scheme);
            line("signature", 25, 25, text)
        }
        (None, Some(_)) => {
            line("signature", 25, 5, "signed with a key that its publisher has not registered")
        }
        (None, None) => line("signature", 25, 0, "not signed"),
    }
}

fn audit(subject: &TrustSubject<'_>) -> TrustLine {
    let is_verified = subject.version.tier == "verified";
    if is_verified {
        line("audit", 15, 15, "an auditor has signed off on this version")
    } else {
        TrustLine { checked: false, ..line("audit", 15, 0, "not audited") }
    }
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn scan(subject: &TrustSubject<'_>) -> TrustLine {
    let Some(scan) = &subject.version.scan else {
        return TrustLine { checked: false, ..line("scan", 20, 0, "not scanned") };
    };
    let serious =
        scan.findings.iter().filter(|it| matches!(it.severity.as_str(), "high" | "critical"));
    let serious = serious.count();
    let gaps = scan.not_analysed.len();
    match (serious, gaps, scan.findings.len()) {
        (0, 0, 0) => line("scan", 20, 20, "the scan found nothing"),
        (0, 0, count) => {
            line("scan", 20, 16, format!("the scan has {}", counted(count, "minor finding")))
        }
        (0, gaps, _) => {
            line("scan", 20, 8, format!("the scan could not analyse {}", counted(gaps, "part")))
        }
        (serious, _, _) => {
            line("scan", 20, 0, format!("the scan has {}", counted(serious, "serious finding")))
        }
    }
}

fn provenance(subject: &TrustSubject<'_>) -> TrustLine {
    match &subject.version.provenance {
        Some(provenance) => line(
            "provenance",
            10,
            10,
            format!("built and published by CI of `{}`", provenance.repository),
        ),
        None => TrustLine {
            checked: false,
            ..line("provenance", 10, 0, "its source is not proven: it was uploaded by hand")
        },
    }
}

fn permissions(subject: &TrustSubject<'_>) -> TrustLine {
    let now = &subject.version.facts.permissions;
    if let Some(earlier) = subject.earlier {
        let before = &earlier.facts.permissions;
        let added = now.iter().filter(|permission| !before.contains(permission)).count();
        if added > 0 {
            let text = format!("asks for {added} more than {} did", earlier.version);
            return line("permissions", 10, 2, text);
        }
    }
    match now.len() {
        0 => line("permissions", 10, 10, "asks for nothing"),
        count if now.iter().any(|it| it == "shell:execute" || it == "network:write:*") => line(
            "permissions",
            10,
            2,
            format!("asks for {count} permissions, one of them without a limit"),
        ),
        count => line("permissions", 10, 6, format!("asks for {count} permissions")),
    }
}

fn publisher(subject: &TrustSubject<'_>) -> TrustLine {
    let days = (subject.now - subject.publisher_since) / DAY;
    if days < NEW_PUBLISHER_DAYS {
        return line("publisher", 10, 0, "its publisher is new here");
    }
    let others = subject.other_skills.max(0);
    let points = if others > 0 { 10 } else { 7 };
    line(
        "publisher",
        10,
        points,
        format!("its publisher joined {days} days ago and has {others} other skills"),
    )
}

fn adoption(subject: &TrustSubject<'_>) -> TrustLine {
    match subject.downloads {
        0 => line("use", 5, 0, "not downloaded yet"),
        count if count >= MANY_DOWNLOADS => line("use", 5, 5, format!("downloaded {count} times")),
        count => line("use", 5, 2, format!("downloaded {count} times")),
    }
}

fn ratings(subject: &TrustSubject<'_>) -> TrustLine {
    match subject.rating_hundredths {
        Some(mean) if subject.rating_count >= ENOUGH_RATINGS => {
            let points = u32::try_from((mean - 100).max(0) / 80).unwrap_or(0).min(5);
            let text = format!(
                "{}.{:02} of 5 from {} ratings",
                mean / 100,
                mean % 100,
                subject.rating_count
            );
            line("ratings", 5, points, text)
        }
        _ => TrustLine { checked: false, ..line("ratings", 5, 0, "too few ratings to count") },
    }
}
