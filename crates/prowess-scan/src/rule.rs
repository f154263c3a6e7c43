//! What a rule is: a name, a severity, a page, samples, and a check.

use prowess_format::diagnostic::{Rule, Severity as CheckSeverity};

use crate::findings::Findings;
use crate::severity::{Category, Severity};
use crate::subject::Subject;

/// A rule of the scanner.
#[derive(Debug)]
pub struct ScanRule {
    /// Its name and page, in the shape that every rule of the project has.
    pub rule: Rule,
    /// How bad a finding of it usually is.
    pub severity: Severity,
    /// What it is about.
    pub category: Category,
    /// Files that it has to find, each as path and content.
    pub matching: &'static [Sample],
    /// Files in which it must not find anything.
    pub clean: &'static [Sample],
    /// Adds its findings; `None` if another part of the scanner reports it.
    pub(crate) check: Option<fn(&Subject<'_>, &mut Findings)>,
}

/// A file as a sample of a rule.
pub type Sample = (&'static str, &'static str);

impl PartialEq for ScanRule {
    fn eq(&self, other: &Self) -> bool {
        self.rule.name == other.rule.name
    }
}

/// The severity that renderers of `check` show for one of the scanner.
pub const fn shown_severity(severity: Severity) -> CheckSeverity {
    match severity {
        Severity::Critical | Severity::High => CheckSeverity::Error,
        Severity::Medium => CheckSeverity::Warning,
        Severity::Low | Severity::Info => CheckSeverity::Info,
    }
}

/// Declares a rule; its doc comment becomes its page.
macro_rules! scan_rule {
    (
        $(#[doc = $doc:literal])+
        $name:ident = $code:literal, $severity:ident, $category:ident $(, $check:path)?;
        matching: $matching:expr, clean: $clean:expr $(,)?
    ) => {
        $(#[doc = $doc])+
        pub(crate) static $name: $crate::rule::ScanRule = $crate::rule::ScanRule {
            rule: prowess_format::diagnostic::Rule {
                name: $code,
                severity: $crate::rule::shown_severity($crate::severity::Severity::$severity),
                strict: $crate::rule::shown_severity($crate::severity::Severity::$severity),
                since: "0.1.0",
                page: concat!($($doc, "\n"),+),
                sections: &[],
                check: None,
            },
            severity: $crate::severity::Severity::$severity,
            category: $crate::severity::Category::$category,
            matching: $matching,
            clean: $clean,
            check: scan_rule!(@check $($check)?),
        };
    };
    (@check) => { None };
    (@check $check:path) => { Some($check) };
}
pub(crate) use scan_rule;
