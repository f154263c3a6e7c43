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
    ("PuTTY-User-Key-File", r"PuTTY-User-Key-File-[23]: [a-z0-9@.-]+\s", "a private key"),
    (
        "AGE-SECRET-KEY-1",
        r"\bAGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}\b",
        "a private key",
    ),
    ("AKIA", r"\bAKIA[0-9A-Z]{16}\b", "a key of AWS"),
    ("ASIA", r"\bASIA[0-9A-Z]{16}\b", "a key of AWS"),
    ("ghp_", r"\bghp_[A-Za-z0-9]{36}\b", "a token of GitHub"),
    ("gho_", r"\bgho_[A-Za-z0-9]{36}\b", "a token of GitHub"),
    ("ghs_", r"\bghs_[A-Za-z0-9]{36}\b", "a token of GitHub"),
    ("ghu_", r"\bghu_[A-Za-z0-9]{36}\b", "a token of GitHub"),
    ("ghr_", r"\bghr_[A-Za-z0-9]{36}\b", "a token of GitHub"),
    ("glptt-", r"\bglptt-[a-f0-9]{40}\b", "a token of GitLab"),
    ("gldt-", r"\bgldt-[A-Za-z0-9_-]{20}\b", "a token of GitLab"),
    ("ATATT3x", r"\bATATT3x[A-Za-z0-9_=-]{150,}", "a token of Atlassian"),
    ("dop_v1_", r"\bdop_v1_[a-f0-9]{64}\b", "a token of a cloud"),
    ("dapi", r"\bdapi[a-f0-9]{32}\b", "a token of a cloud"),
    ("GOCSPX-", r"\bGOCSPX-[A-Za-z0-9_-]{28}\b", "a client secret of Google"),
    ("ya29.", r"\bya29\.[A-Za-z0-9_-]{60,}", "a token of Google"),
    ("hvs.", r"\bhvs\.[A-Za-z0-9_-]{90,}", "a token of a vault"),
    ("dp.pt.", r"\bdp\.pt\.[A-Za-z0-9]{40,}\b", "a token of a vault"),
    ("shpat_", r"\bshpat_[a-f0-9]{32}\b", "a token of a shop"),
    ("lin_api_", r"\blin_api_[A-Za-z0-9]{40}\b", "a key of an issue tracker"),
    ("ntn_", r"\bntn_[A-Za-z0-9]{40,}\b", "a token of a workspace"),
    ("sk-or-v1-", r"\bsk-or-v1-[a-f0-9]{64}\b", "a key of a model"),
    ("gsk_", r"\bgsk_[A-Za-z0-9]{52}\b", "a key of a model"),
    ("xai-", r"\bxai-[A-Za-z0-9]{80}\b", "a key of a model"),
    ("r8_", r"\br8_[A-Za-z0-9]{37}\b", "a key of a model"),
    (
        "hooks.slack.com/services/T",
        r"hooks\.slack\.com/services/T[A-Z0-9]{8,}/B[A-Z0-9]{8,}/[A-Za-z0-9]{24}",
        "an address of Slack that anybody can post to",
    ),
    (
        "discord.com/api/webhooks/",
        r"discord(?:app)?\.com/api/webhooks/[0-9]{17,20}/[A-Za-z0-9_-]{60,}",
        "an address of Discord that anybody can post to",
    ),
    (
        "\"type\": \"service_account\"",
        r#""private_key_id":\s*"[a-f0-9]{40}""#,
        "a key of a service account",
    ),
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
