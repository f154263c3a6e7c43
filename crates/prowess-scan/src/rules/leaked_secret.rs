//! `leaked-secret`.

use std::sync::LazyLock;

use regex::bytes::Regex;

use crate::findings::Findings;
use crate::rule::scan_rule;
use crate::severity::Severity;
use crate::subject::Subject;

scan_rule! {
    /// ## What it does
    /// Flags private keys and tokens of clouds, forges and models, by the formats in which they are really issued. Placeholders and examples of documentation are left out.
    ///
    /// ## Why is this bad?
    /// Whoever gets the skill gets the key.
    ///
    /// ## Example
    /// A file that begins with `-----BEGIN OPENSSH PRIVATE KEY-----`. Revoke the key, and remove it.
    LEAKED_SECRET = "leaked-secret", High, Secret, check;
    matching: &[
        ("SKILL.md", "Token: ghp_a8Zk3LqP0xYtR5uWvB2nMc7dEfGh1IjK4lSo\n"),
    ],
    clean: &[
        ("SKILL.md", "Token: ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\nexport AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE\n"),
    ],
}

/// Formats: a word that begins it, the whole, and what it is.
const FORMATS: &[(&str, &str, &str)] = &[
    (
        "PRIVATE KEY-----",
        r"-----BEGIN (?:RSA |EC |DSA |OPENSSH |PGP )?PRIVATE KEY(?: BLOCK)?-----\s+[A-Za-z0-9+/=\s:,-]{120}",
        "a private key",
    ),
    ("AKIA", r"\bAKIA[0-9A-Z]{16}\b", "a key of AWS"),
    ("ghp_", r"\bghp_[A-Za-z0-9]{36}\b", "a token of GitHub"),
    ("gho_", r"\bgho_[A-Za-z0-9]{36}\b", "a token of GitHub"),
    ("github_pat_", r"\bgithub_pat_[A-Za-z0-9_]{82}\b", "a token of GitHub"),
    ("glpat-", r"\bglpat-[A-Za-z0-9_-]{20}\b", "a token of GitLab"),
    ("xox", r"\bxox[baprs]-[0-9]{8,}-[0-9A-Za-z-]{16,}", "a token of Slack"),
    ("sk-ant-", r"\bsk-ant-(?:api|admin)[0-9]{2}-[A-Za-z0-9_-]{80,}", "a key of a model"),
    ("sk-proj-", r"\bsk-proj-[A-Za-z0-9_-]{60,}", "a key of a model"),
    ("AIza", r"\bAIza[0-9A-Za-z_-]{35}\b", "a key of Google"),
    ("npm_", r"\bnpm_[A-Za-z0-9]{36}\b", "a token of a package registry"),
    ("pypi-", r"\bpypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50,}", "a token of a package registry"),
    ("sk_live_", r"\bsk_live_[0-9a-zA-Z]{24,}", "a key of a payment service"),
    ("rk_live_", r"\brk_live_[0-9a-zA-Z]{24,}", "a key of a payment service"),
    ("SG.", r"\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}\b", "a key of a mail service"),
    ("hf_", r"\bhf_[A-Za-z0-9]{34,}\b", "a token of a model hub"),
    ("AccountKey=", r"AccountKey=[A-Za-z0-9+/]{86}==", "a key of Azure"),
];

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    static COMPILED: LazyLock<Vec<Option<Regex>>> = LazyLock::new(|| {
        FORMATS
            .iter()
            .map(|(_, pattern, _)| {
                regex::bytes::RegexBuilder::new(pattern).unicode(false).build().ok()
            })
            .collect()
    });
    for document in subject.documents.iter().filter(|document| document.origin.is_none()) {
        let bytes = document.text.as_bytes();
        for ((word, _, what), regex) in FORMATS.iter().zip(COMPILED.iter()) {
            if memchr::memmem::find(bytes, word.as_bytes()).is_none() {
                continue;
            }
            let Some(regex) = regex else { continue };
            for found in regex.find_iter(bytes).take(16).filter(|found| is_real(found.as_bytes())) {
                findings.add(
                    &LEAKED_SECRET,
                    Severity::High,
                    &document.path,
                    found.range(),
                    format!("has {what} in it"),
                );
            }
        }
    }
}

/// Whether a token is none that somebody made up: those repeat letters, count, or say so.
fn is_real(token: &[u8]) -> bool {
    let upper = token.to_ascii_uppercase();
    let says_so = [
        &b"EXAMPLE"[..],
        b"XXXX",
        b"0000",
        b"1234567",
        b"ABCDEFG",
        b"YOUR",
        b"FAKE",
        b"TEST",
        b"DUMMY",
        b"PLACEHOLDER",
        b"REDACTED",
        b"SAMPLE",
    ];
    let mut different = upper.clone();
    different.sort_unstable();
    different.dedup();
    different.len() >= 10
        && !says_so.iter().any(|word| memchr::memmem::find(&upper, word).is_some())
}
