//! Rules that a phrase decides: each is a few lines, so they share one way to report.

use crate::findings::Findings;
use crate::phrase::{Hit, Phrase};
use crate::rule::ScanRule;
use crate::segment::UnitKind;
use crate::severity::Severity;
use crate::subject::Subject;
use crate::{context, context::Context};

/// Reports every hit of a phrase about code: a fence is no excuse, a section about attacks is one.
pub(crate) fn code(
    subject: &Subject<'_>,
    findings: &mut Findings,
    rule: &'static ScanRule,
    phrase: &'static Phrase,
    severity: Severity,
    message: &str,
) {
    for hit in subject.hits(phrase) {
        subject.report_as(findings, rule, code_context(subject, hit).apply(severity), hit, message);
    }
}

/// The context of a phrase that is code.
pub(crate) fn code_context(subject: &Subject<'_>, hit: &Hit) -> Context {
    let document = subject.document(hit);
    let is_text = document
        .unit_at(hit.view.start)
        .is_some_and(|unit| !matches!(unit.kind, UnitKind::Fence | UnitKind::Code));
    let range = document.view.original(&hit.view);
    let as_code = context::of_code(document, &range);
    // Code in a line of text is an order unless the sentence says otherwise.
    if is_text
        && as_code == Context::Plain
        && context::of_phrase(document, &hit.view) == Context::Mentioned
    {
        let quoted_only =
            document.unit_at(hit.view.start).is_some_and(|unit| unit.kind != UnitKind::Row)
                && !context::is_talked_about(document, &hit.view);
        return if quoted_only { Context::Plain } else { Context::Mentioned };
    }
    as_code
}
