//! `spyware`.

use super::code_phrases::KEYLOGGER;
use super::simple::code;
use crate::findings::Findings;
use crate::rule::scan_rule;
use crate::severity::Severity;
use crate::subject::Subject;

scan_rule! {
    /// ## What it does
    /// Flags code that records what the user types, copies or shows, or that reads the stores of browsers.
    ///
    /// ## Why is this bad?
    /// Few skills have a reason to, and those say so in their description.
    ///
    /// ## Example
    /// `pynput.keyboard.Listener(on_press=\u{2026})`
    SPYWARE = "spyware", High, Exfiltration, check;
    matching: &[
        ("scripts/a.py", "import browser_cookie3\njar = browser_cookie3.chrome()\n"),
    ],
    clean: &[
        ("scripts/a.py", "import keyring\n"),
    ],
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    code(
        subject,
        findings,
        &SPYWARE,
        &KEYLOGGER,
        Severity::High,
        "records what the user types, copies or shows",
    );
}
