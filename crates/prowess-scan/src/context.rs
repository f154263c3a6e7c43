//! What a hit is part of: an order, or a text that talks about one. Structure decides, not what a skill says about itself,
//! and all of it together lowers a finding by one step.

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder};

use crate::document::Document;
use crate::segment::{Unit, UnitKind};
use crate::severity::Severity;

/// How the surroundings of a hit change its severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Context {
    /// An order like any other.
    Plain,
    /// It is quoted, denied, or an example of what not to do.
    Mentioned,
    /// A person who reads the file does not see it.
    Hidden,
}

impl Context {
    /// The severity of a finding in this context.
    pub(crate) fn apply(self, severity: Severity) -> Severity {
        match self {
            Self::Plain => severity,
            Self::Mentioned => severity.lowered(),
            Self::Hidden => severity.raised(),
        }
    }
}

fn regex(pattern: &str) -> Regex {
    RegexBuilder::new(pattern)
        .unicode(false)
        .build()
        .expect("the patterns are constants, and a test uses each")
}

/// Titles of sections about attacks.
static TITLES: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"malicious|attack|vulnerab|exploit|injection|threat|detect|danger|anti-?pattern|insecure|unsafe|\bbad\b|avoid|wrong|red flag|suspicious|indicator|\bioc|payload|forbidden|prohibit|never|do not|don't|\brisk|jailbreak|adversar|mistake|bypass|red team|penetration|pentest|security test|what to look|warning sign|block(ed|list)|abuse|security (check|rule|consider|best|review|note|guid)|security$",
    )
});
/// Words before a hit in its sentence that make it a mention.
static LEAD: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"\b(such as|e\.g|for example|examples? (of|include)|phrases?|attempts? (to|at|like)|tr(y|ies|ying) to|detect(s|ed|ing|ion)?|look(s|ing)? (for|like)|flag(s|ged|ging)?|contain(s|ing)?|say(s|ing)?|attack(er)?s?|malicious|injection|injected|injects?|reject|ignore (any|all|every)?\s?(text|request|attempt)s?|if (a|an|any|the) (content|page|text|file|document|comment|issue|message|output|result|email|website|data|input|prompt)|if (a|an|any|the) (user|person|attacker|tool|server) ([a-z\']+ ){0,3}?(says?|asks?|tells?|requests?|tries|attempts?|pastes?|sends?|claims?|types?|writes?|wants|instructs?|demands?|mentions?)|treat(ed)? as (data|untrusted|suspicious)|pattern|regex|grep|rule|signature|check(s|ing)? (for|whether|if)|scan(s|ning)? for|warn(s|ing)? (about|if|when)|red flags?|indicat(es?|ors?)|vulnerab|could|would|might|may try|prevent|protect|refuse|blocks?|test(s|ing)? (for|whether|that)|search(es)? for|matches|tricks?)\b",
    )
});
static NEGATION: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(\bnot|n't|\bnever|\bavoid|\brefuse to|\bcannot|\bwithout|\bno|\bnor|\bneither|\binstead of|\brather than|\bprohibited|\bforbidden|\bmust not|\bstop|\breject) ([a-z'/,-]+ ){0,5}$",
    )
});
/// Negations that are none.
static DOUBLE: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(\bnot|n't|\bnever) (forget|hesitate|fail|only|worry|just|be afraid|mind|skip|stop|omit|neglect|tell|mention|inform|ask|wait|let|reveal|show|notify|warn)\b",
    )
});

/// The context of a hit of a phrase.
pub(crate) fn of_phrase(document: &Document, view: &Range<usize>) -> Context {
    let Some(unit) = document.unit_at(view.start) else { return Context::Plain };
    if is_hidden(document, unit) {
        return Context::Hidden;
    }
    let is_mention = matches!(unit.kind, UnitKind::Fence | UnitKind::Row)
        || document.origin.as_ref().is_some_and(|origin| origin.is_example || origin.is_quoted)
        || is_listed(document, unit)
        || is_quoted(document, unit, view)
        || is_denied(document, unit, view)
        || is_led(document, unit, view)
        || has_title(document, unit);
    if is_mention { Context::Mentioned } else { Context::Plain }
}

/// The context of a fact about code: a fence is how a skill says what to run.
pub(crate) fn of_code(document: &Document, range: &Range<usize>) -> Context {
    if let Some(origin) = &document.origin {
        return match (origin.is_hidden, origin.is_example) {
            (true, _) => Context::Hidden,
            (false, true) => Context::Mentioned,
            (false, false) => Context::Plain,
        };
    }
    let next = document.units.partition_point(|unit| unit.range.start <= range.start);
    let at = document.units[..next].iter().rposition(|unit| range.start < unit.range.end);
    let Some(at) = at else { return Context::Plain };
    let unit = &document.units[at];
    if is_hidden(document, unit) {
        return Context::Hidden;
    }
    if unit.kind == UnitKind::Code {
        return Context::Plain;
    }
    if unit.kind == UnitKind::Row
        || is_listed(document, unit)
        || has_title(document, unit)
        || is_marked_bad(document, unit, range)
    {
        return Context::Mentioned;
    }
    if unit.kind == UnitKind::Fence {
        // The paragraph before a fence says what it is.
        let before = at.checked_sub(1).and_then(|at| document.units.get(at));
        let is_bad = before.is_some_and(|before| {
            let text = &document.view.text.as_bytes()[before.view.clone()];
            let tail = &text[text.len().saturating_sub(200)..];
            before.section == unit.section && BAD_LEAD.is_match(tail)
        });
        return if is_bad { Context::Mentioned } else { Context::Plain };
    }
    // A command in a line of text.
    let text = &document.text[unit.range.start..range.start.min(unit.range.end)];
    let lead = crate::view::folded(text);
    let sentence = lead.rsplit(['.', '!', '?', ';']).next().unwrap_or_default();
    let is_denied = NEGATION.is_match(format!("{sentence} ").as_bytes())
        && !DOUBLE.is_match(sentence.as_bytes());
    if is_denied || LEAD.is_match(sentence.as_bytes()) || BAD_LEAD.is_match(sentence.as_bytes()) {
        return Context::Mentioned;
    }
    Context::Plain
}

/// Words in the paragraph before a fence that say that it is an example of what not to do.
static BAD_LEAD: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"\b(malicious|attack(er|s)?|vulnerable|insecure|unsafe|dangerous|bad|wrong|never (do|use|run)|don't|do not|avoid|exploit|suspicious|injection|instead of|payload|red flag|indicators?|would be (blocked|flagged)|anti-?pattern|detects?|blocked|flags?)\b",
    )
});

/// Whether a unit is an item of a list whose first words talk about attacks.
fn is_listed(document: &Document, unit: &Unit) -> bool {
    if unit.kind != UnitKind::Prose {
        return false;
    }
    let at = document.units.partition_point(|known| known.range.start < unit.range.start);
    let is_item = |unit: &Unit| {
        let text = document.text[unit.range.clone()].trim_start();
        text.starts_with(['-', '*', '+']) || text.starts_with(|first: char| first.is_ascii_digit())
    };
    if !is_item(unit) {
        return false;
    }
    let before = document.units[..at].iter().rev().take(MAX_ITEMS);
    let head =
        before.take_while(|known| known.section == unit.section).find(|known| !is_item(known));
    let Some(head) = head.filter(|head| head.kind == UnitKind::Prose) else { return false };
    let text = document.view.text[head.view.clone()].trim_end();
    let tail = &text.as_bytes()[text.len().saturating_sub(200)..];
    text.ends_with(':') && (BAD_LEAD.is_match(tail) || LEAD.is_match(tail))
}

/// How many items of a list are looked at.
const MAX_ITEMS: usize = 40;

fn is_hidden(document: &Document, unit: &Unit) -> bool {
    unit.kind == UnitKind::Comment
        || document.origin.as_ref().is_some_and(|origin| origin.is_hidden)
}

fn has_title(document: &Document, unit: &Unit) -> bool {
    // The title of the whole text is what a skill says about itself.
    document.titles(unit).any(|title| !title.is_empty() && TITLES.is_match(title.as_bytes()))
        && document.sections.get(unit.section).is_some_and(|section| section.level > 1)
        && document.titles(unit).next().is_some_and(|title| {
            TITLES.is_match(title.as_bytes())
                || document.sections[unit.section]
                    .parent
                    .and_then(|parent| document.sections.get(parent))
                    .is_some_and(|parent| {
                        parent.level > 1 && TITLES.is_match(parent.title.as_bytes())
                    })
        })
}

/// Whether the line of a command, or the one before it, calls it bad.
fn is_marked_bad(document: &Document, unit: &Unit, range: &Range<usize>) -> bool {
    static MARKS: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?m)(^|[ \t])(#|//|-- |<!--|; |\* |rem )[^\n]{0,30}(\b(bad|wrong|vulnerable|insecure|unsafe|dangerous|never|don't|do not|malicious|attack|blocked|avoid|flagged|incorrect)\b|\xe2\x9d\x8c|\xf0\x9f\x9a\xab)",
        )
    });
    let text = &document.text.as_bytes()[unit.range.clone()];
    let at = range.start.saturating_sub(unit.range.start).min(text.len());
    let line = memchr::memrchr(b'\n', &text[..at]).map_or(0, |end| end + 1);
    let before = memchr::memrchr(b'\n', &text[..line.saturating_sub(1)]).map_or(0, |end| end + 1);
    let end = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |end| at + end);
    let window = text[before..end.min(before + 600)].to_ascii_lowercase();
    MARKS.is_match(&window)
}

/// Whether a hit is between quotation marks or in code in a line of text.
fn is_quoted(document: &Document, unit: &Unit, view: &Range<usize>) -> bool {
    let bytes = document.view.text.as_bytes();
    let before = &bytes[unit.view.start..view.start];
    let after = &bytes[view.end.min(unit.view.end)..unit.view.end];
    if memchr::memchr_iter(b'"', before).count() % 2 == 1 && memchr::memchr(b'"', after).is_some() {
        return true;
    }
    let is_single = before.ends_with(b"'")
        && after.first().is_some_and(|_| memchr::memchr(b'\'', after).is_some());
    if is_single {
        return true;
    }
    let place = document.view.original(view);
    let source = document.text.as_bytes();
    let before = source.get(unit.range.start..place.start).unwrap_or_default();
    let after = source.get(place.end..unit.range.end).unwrap_or_default();
    memchr::memchr_iter(b'`', before).count() % 2 == 1 && memchr::memchr(b'`', after).is_some()
}

/// The part of a sentence before a hit.
fn sentence<'d>(document: &'d Document, unit: &Unit, view: &Range<usize>) -> &'d [u8] {
    let bytes = document.view.text.as_bytes();
    let before = &bytes[unit.view.start..view.start];
    let before = &before[before.len().saturating_sub(200)..];
    let start =
        before.windows(2).rposition(|pair| matches!(pair, b". " | b"! " | b"? " | b"; " | b": "));
    start.map_or(before, |start| &before[start + 2..])
}

fn is_denied(document: &Document, unit: &Unit, view: &Range<usize>) -> bool {
    let before = sentence(document, unit, view);
    NEGATION.is_match(before) && !DOUBLE.is_match(before)
}

fn is_led(document: &Document, unit: &Unit, view: &Range<usize>) -> bool {
    LEAD.is_match(sentence(document, unit, view))
}

/// Whether the sentence around a hit denies it or talks about attacks; being quoted alone does not count.
pub(crate) fn is_talked_about(document: &Document, view: &Range<usize>) -> bool {
    let Some(unit) = document.unit_at(view.start) else { return false };
    is_denied(document, unit, view)
        || is_led(document, unit, view)
        || is_listed(document, unit)
        || has_title(document, unit)
}
