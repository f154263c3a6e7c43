//! `dynamic-code`.

use crate::fact::FactKind;
use crate::findings::Findings;
use crate::rule::scan_rule;
use crate::severity::Severity;
use crate::subject::Subject;

scan_rule! {
    /// ## What it does
    /// Flags code that computes what it runs: `exec` and `eval` of values that are put together or come from outside, functions that are looked up by a computed name.
    ///
    /// ## Why is this bad?
    /// Nobody can say what it does without running it. If the name of a dangerous function was put together from parts, it was hidden on purpose.
    ///
    /// ## Example
    /// `getattr(__import__('o' + 's'), 'sys' + 'tem')(command)`
    DYNAMIC_CODE = "dynamic-code", Medium, Obfuscation, check;
    matching: &[
        ("scripts/a.py", "getattr(__import__('o' + 's'), 'sys' + 'tem')('id')\n"),
    ],
    clean: &[
        ("scripts/a.py", "value = getattr(options, 'name')\n"),
    ],
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for fact in subject.facts {
        if let FactKind::DynamicExec { how, is_disguised } = &fact.kind {
            let severity = if *is_disguised { Severity::High } else { Severity::Medium };
            subject.report_fact(findings, &DYNAMIC_CODE, severity, fact, *how);
        }
    }
}
