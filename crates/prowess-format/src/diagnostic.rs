//! Diagnostics: one type for every finding of the reader and the rules.

use crate::span::Span;
use crate::specification::Section;

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; nothing is wrong.
    Info,
    /// The skill works, but perhaps not everywhere or not as intended.
    Warning,
    /// The specification forbids it.
    Error,
}

impl Severity {
    /// The name used in every output format.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// One rule: a stable code, its usual severity and its documentation page.
#[derive(Debug)]
pub struct Rule {
    /// The code, in kebab case, naming the problem.
    pub name: &'static str,
    /// Severity of an ordinary check.
    pub severity: Severity,
    /// Severity under `--strict`, which enforces the specification to the letter.
    pub strict: Severity,
    /// The first release that knows the rule.
    pub since: &'static str,
    /// The page: the doc comment of the rule, as Markdown.
    pub page: &'static str,
    /// The sections of the specifications that the rule enforces.
    pub sections: &'static [Section],
    /// Checks a parsed skill. `None` for rules that only the reader can detect.
    pub check: Option<fn(&crate::rules::Subject<'_>, &mut Findings)>,
}

impl Rule {
    /// Creates a finding of this rule.
    pub fn at(&'static self, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            rule: self,
            severity: self.severity,
            strict: self.strict,
            message: message.into(),
            span,
            file: None,
            help: None,
            fix: None,
        }
    }

    /// The one-line summary: the first sentence of the page's first section.
    pub fn summary(&self) -> &'static str {
        self.page
            .lines()
            .map(str::trim)
            .find(|line| !line.is_empty() && !line.starts_with('#'))
            .unwrap_or(self.name)
    }
}

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// Declares a rule; its doc comment becomes its page. The sections of specifications that it enforces
/// follow after a semicolon.
macro_rules! rule {
    ($(#[doc = $doc:literal])+ $name:ident = $code:literal, $severity:ident / $strict:ident $(, $check:path)? $(; $($section:expr),+)?) => {
        $(#[doc = $doc])+
        pub(crate) static $name: $crate::diagnostic::Rule = $crate::diagnostic::Rule {
            name: $code,
            severity: $crate::diagnostic::Severity::$severity,
            strict: $crate::diagnostic::Severity::$strict,
            since: "0.1.0",
            page: concat!($($doc, "\n"),+),
            sections: &[$($($section),+)?],
            check: rule!(@check $($check)?),
        };
    };
    (@check) => { None };
    (@check $check:path) => { Some($check) };
}
pub(crate) use rule;

/// One finding in one file.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// The rule that found it.
    pub rule: &'static Rule,
    /// Severity of an ordinary check.
    pub severity: Severity,
    /// Severity under `--strict`.
    pub strict: Severity,
    /// A lowercase phrase without a full stop.
    pub message: String,
    /// Where, in the file named by `file`.
    pub span: Span,
    /// A file of the skill other than its SKILL.md, relative to the skill's directory.
    pub file: Option<String>,
    /// What to do next.
    pub help: Option<String>,
    /// An edit that resolves the finding.
    pub fix: Option<Fix>,
}

impl Diagnostic {
    /// Adds the next step.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds a fix.
    #[must_use]
    pub fn fix(mut self, fix: Fix) -> Self {
        self.fix = Some(fix);
        self
    }

    /// Overrides the severities, for a dialect that is more or less strict about the rule.
    #[must_use]
    pub fn severity(mut self, severity: Severity, strict: Severity) -> Self {
        self.severity = severity;
        self.strict = strict;
        self
    }

    /// Places the finding in another file of the skill.
    #[must_use]
    pub fn in_file(mut self, file: impl Into<String>) -> Self {
        self.file = Some(file.into());
        self
    }

    /// The severity of an ordinary or a strict check.
    pub fn effective(&self, strict: bool) -> Severity {
        if strict { self.strict } else { self.severity }
    }
}

/// A change to the text that resolves a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// What the change does, as an imperative phrase.
    pub title: String,
    /// Whether `check --fix` may apply it without asking.
    pub safety: FixSafety,
    /// The replacements, in ascending order, never overlapping.
    pub edits: Vec<Edit>,
}

/// Whether a fix keeps the meaning of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FixSafety {
    /// Preserves what the author meant; applied by `check --fix`.
    Safe,
    /// Probably right; only shown.
    Suggested,
}

/// One replacement of a byte range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The bytes to replace.
    pub span: Span,
    /// The text to put there.
    pub text: String,
}

impl Fix {
    /// A fix that keeps the file's meaning.
    pub fn safe(title: impl Into<String>, edits: Vec<Edit>) -> Self {
        Self { title: title.into(), safety: FixSafety::Safe, edits }
    }

    /// A fix that a person should review.
    pub fn suggested(title: impl Into<String>, edits: Vec<Edit>) -> Self {
        Self { title: title.into(), safety: FixSafety::Suggested, edits }
    }
}

impl Edit {
    /// Replaces `span` with `text`.
    pub fn replace(span: Span, text: impl Into<String>) -> Self {
        Self { span, text: text.into() }
    }
}

/// Applies edits to a text. Edits that overlap an earlier one are skipped, so that two fixes of the
/// same text never garble it.
pub fn apply_edits(text: &str, edits: &[Edit]) -> String {
    let mut edits: Vec<&Edit> = edits.iter().collect();
    edits.sort_by_key(|edit| (edit.span.start, edit.span.end));
    let mut result = String::with_capacity(text.len() + 64);
    let mut copied = 0;
    for edit in edits {
        let range = edit.span.range();
        if range.start < copied || text.get(range.clone()).is_none() {
            continue;
        }
        result.push_str(&text[copied..range.start]);
        result.push_str(&edit.text);
        copied = range.end;
    }
    result.push_str(&text[copied..]);
    result
}

/// A bounded collection of findings.
#[derive(Debug, Default)]
pub struct Findings {
    found: Vec<Diagnostic>,
}

/// Maximum number of findings kept per file: a hostile file must not exhaust memory.
const MOST_FINDINGS: usize = 1_000;

impl Findings {
    /// Adds a finding.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if self.found.len() < MOST_FINDINGS {
            self.found.push(diagnostic);
        }
    }

    /// Adds several findings.
    pub fn extend(&mut self, diagnostics: impl IntoIterator<Item = Diagnostic>) {
        for diagnostic in diagnostics {
            self.push(diagnostic);
        }
    }

    /// Whether a rule has already fired.
    pub fn has(&self, rule: &Rule) -> bool {
        self.found.iter().any(|diagnostic| diagnostic.rule == rule)
    }

    /// Whether a rule has already fired at this position, so that a mistake is reported once.
    pub fn has_at(&self, rule: &Rule, span: Span) -> bool {
        self.found.iter().any(|diagnostic| {
            diagnostic.rule == rule && diagnostic.span == span && diagnostic.file.is_none()
        })
    }

    /// The positions in the skill's own file at which a rule has fired.
    pub fn places(&self, rule: &Rule) -> impl Iterator<Item = Span> {
        let own = self.found.iter().filter(|diagnostic| diagnostic.file.is_none());
        own.filter(move |diagnostic| diagnostic.rule == rule).map(|diagnostic| diagnostic.span)
    }

    /// All findings, sorted by position.
    pub fn into_sorted(mut self) -> Vec<Diagnostic> {
        self.found.sort_by(|a, b| {
            (&a.file, a.span.start, a.span.end, a.rule.name, &a.message).cmp(&(
                &b.file,
                b.span.start,
                b.span.end,
                b.rule.name,
                &b.message,
            ))
        });
        // Two layers may report the same problem; keep the more severe one.
        self.found.dedup_by(|later, kept| {
            let same = (&later.file, later.span, later.rule, &later.message)
                == (&kept.file, kept.span, kept.rule, &kept.message);
            if same {
                kept.severity = kept.severity.max(later.severity);
                kept.strict = kept.strict.max(later.strict);
            }
            same
        });
        self.found
    }
}
