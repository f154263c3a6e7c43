//! What rules look at: the documents of a skill, hits of phrases, facts about code.

use std::collections::HashMap;
use std::ops::Range;

use crate::context::{self, Context};
use crate::document::Document;
use crate::fact::Fact;
use crate::findings::Findings;
use crate::manifest::Manifest;
use crate::phrase::{Hit, Phrase};
use crate::rule::ScanRule;
use crate::severity::Severity;

/// A skill as rules see it.
#[derive(Debug)]
pub(crate) struct Subject<'s> {
    /// Its texts, and what was decoded from them.
    pub(crate) documents: &'s [Document],
    /// What its code does.
    pub(crate) facts: &'s [Fact],
    /// What it says it is and may do.
    pub(crate) manifest: &'s Manifest,
    hits: HashMap<*const Phrase, Vec<Hit>>,
}

impl<'s> Subject<'s> {
    pub(crate) fn new(
        documents: &'s [Document],
        facts: &'s [Fact],
        manifest: &'s Manifest,
        all: Vec<Hit>,
    ) -> Self {
        let mut hits: HashMap<*const Phrase, Vec<Hit>> = HashMap::new();
        for hit in all {
            hits.entry(std::ptr::from_ref(hit.phrase)).or_default().push(hit);
        }
        // In the order of the texts, so that those near a place are found by halving.
        for found in hits.values_mut() {
            found.sort_by_key(|hit| (hit.document, hit.view.start, hit.view.end));
        }
        Self { documents, facts, manifest, hits }
    }

    /// The hits of a phrase.
    pub(crate) fn hits(&self, phrase: &'static Phrase) -> &[Hit] {
        self.hits.get(&std::ptr::from_ref(phrase)).map(Vec::as_slice).unwrap_or_default()
    }

    /// The document of a hit.
    pub(crate) fn document(&self, hit: &Hit) -> &Document {
        &self.documents[hit.document]
    }

    /// The context of a hit.
    pub(crate) fn context(&self, hit: &Hit) -> Context {
        context::of_phrase(self.document(hit), &hit.view)
    }

    /// Adds a finding at a hit, in its context.
    pub(crate) fn report(
        &self,
        findings: &mut Findings,
        rule: &'static ScanRule,
        severity: Severity,
        hit: &Hit,
        message: impl Into<String>,
    ) {
        let severity = self.context(hit).apply(severity);
        self.report_as(findings, rule, severity, hit, message);
    }

    /// Adds a finding at a hit with a severity that no context changes.
    pub(crate) fn report_as(
        &self,
        findings: &mut Findings,
        rule: &'static ScanRule,
        severity: Severity,
        hit: &Hit,
        message: impl Into<String>,
    ) {
        let document = self.document(hit);
        let place = document.place(&document.view.original(&hit.view));
        findings.add(rule, severity, &document.path, place, message);
    }

    /// Adds a finding at a fact, in its context.
    pub(crate) fn report_fact(
        &self,
        findings: &mut Findings,
        rule: &'static ScanRule,
        severity: Severity,
        fact: &Fact,
        message: impl Into<String>,
    ) {
        let document = &self.documents[fact.document];
        let severity = context::of_code(document, &fact.range).apply(severity);
        findings.add(rule, severity, &document.path, document.place(&fact.range), message);
    }

    /// A hit of one of some phrases in a range of the view of a document.
    pub(crate) fn any_in(
        &self,
        document: usize,
        range: &Range<usize>,
        phrases: &[&'static Phrase],
    ) -> Option<&Hit> {
        phrases.iter().find_map(|phrase| {
            let hits = self.hits(phrase);
            let first = hits
                .partition_point(|hit| (hit.document, hit.view.start) < (document, range.start));
            let near = hits[first..]
                .iter()
                .take_while(|hit| hit.document == document && hit.view.start < range.end);
            near.into_iter().find(|hit| hit.view.end <= range.end)
        })
    }

    /// A hit of one of some phrases in the units around a hit.
    pub(crate) fn near(
        &self,
        hit: &Hit,
        before: usize,
        after: usize,
        phrases: &[&'static Phrase],
    ) -> Option<&Hit> {
        let document = self.document(hit);
        let unit = document.unit_at(hit.view.start)?;
        let range = document.around(unit, before, after);
        self.any_in(hit.document, &range, phrases)
    }
}
