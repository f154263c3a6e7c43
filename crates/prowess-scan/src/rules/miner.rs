//! `miner`.

use super::code_phrases::MINER as PHRASE;
use super::simple::code;
use crate::findings::Findings;
use crate::rule::scan_rule;
use crate::severity::Severity;
use crate::subject::Subject;

scan_rule! {
    /// ## What it does
    /// Flags programs and protocols that mine crypto-currencies.
    ///
    /// ## Why is this bad?
    /// They take the machine's computing time for somebody else's purse.
    ///
    /// ## Example
    /// `xmrig --url stratum+tcp://\u{2026}`
    MINER = "miner", Critical, Harm, check;
    matching: &[
        ("SKILL.md", "```bash\nxmrig --url stratum+tcp://pool.example:3333 --user abc\n```\n"),
    ],
    clean: &[
        ("SKILL.md", "This skill explains proof of work.\n"),
    ],
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    code(subject, findings, &MINER, &PHRASE, Severity::Critical, "mines crypto-currency");
}
