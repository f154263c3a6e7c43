//! Detects rollback and freeze attacks: a mirror that serves an old index hides revocations and newer versions (attack
//! registry-C17). Clients and mirrors reject an index for the same reasons.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::{IndexHeader, RegistryIndex};

/// Why an index is rejected.
#[derive(Debug, PartialEq, Eq)]
pub enum Doubt {
    /// It is older than the last accepted one, or can't be proved to be newer.
    Older(String),
    /// A version that was seen before has different bytes now (attack registry-C21).
    OtherBytes(String),
    /// It has expired.
    Expired(String),
}

/// Compares an index with the last accepted one.
pub fn compare(before: &RegistryIndex, now: &RegistryIndex) -> Result<(), Doubt> {
    for line in &before.lines {
        let version = &line.version;
        let Some(same) = now.lines.iter().find(|other| other.version == *version) else {
            return Err(Doubt::Older(format!("version {version} is gone")));
        };
        if same.sha256 != line.sha256 {
            return Err(Doubt::OtherBytes(version.to_string()));
        }
        if line.revoked.is_some() && same.revoked.is_none() {
            return Err(Doubt::Older(format!("version {version} is no longer revoked")));
        }
    }
    match (&before.head, &now.head) {
        (None, _) => Ok(()),
        (Some(_), None) => Err(Doubt::Older("it no longer has a sequence number".to_owned())),
        (Some(before_head), Some(head)) => {
            let (was, is) = (before_head.sequence, head.sequence);
            if is < was {
                Err(Doubt::Older(format!("the index went backwards ({is}, last seen {was})")))
            } else if is == was && before.lines != now.lines {
                Err(Doubt::Older(format!(
                    "its content changed, but its sequence number {is} did not"
                )))
            } else {
                Ok(())
            }
        }
    }
}

/// Checks that a fetched index has not expired.
pub fn fresh(head: Option<&IndexHeader>, now: SystemTime) -> Result<(), Doubt> {
    let Some(expires) = head.and_then(|head| head.expires) else { return Ok(()) };
    let end = UNIX_EPOCH.checked_add(Duration::from_secs(expires));
    match end {
        Some(end) if end < now => {
            let ago = now.duration_since(end).unwrap_or_default().as_secs();
            let ago = match ago / 3600 {
                0 => "less than an hour ago".to_owned(),
                hours @ 1..48 => format!("{hours} hours ago"),
                hours => format!("{} days ago", hours / 24),
            };
            Err(Doubt::Expired(format!("it expired {ago}")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(head: &str, lines: &[&str]) -> RegistryIndex {
        let lines: Vec<String> = lines
            .iter()
            .map(|line| {
                let (version, more) = line.split_once(' ').unwrap_or((line, ""));
                let digit = if more.contains("other") { "b" } else { "a" };
                let revoked = if more.contains("revoked") { r#","revoked":"bad""# } else { "" };
                let yanked = more.contains("yanked");
                let sha256 = digit.repeat(64);
                format!(
                    r#"{{"version":"{version}","sha256":"{sha256}","yanked":{yanked}{revoked}}}"#
                )
            })
            .collect();
        let text = format!("{head}\n{}\n", lines.join("\n"));
        RegistryIndex::read(text.as_bytes(), "acme/greet").expect("an index")
    }

    fn numbered(sequence: u64) -> String {
        format!(r#"{{"index":"acme/greet","sequence":{sequence}}}"#)
    }

    #[test]
    fn an_older_index_is_told_from_a_newer_one() {
        // Attack registry-C17.
        let (six, seven) = (numbered(6), numbered(7));
        let older = |why: &str| Err(Doubt::Older(why.to_owned()));
        for (before, now, expected) in [
            (index("", &["1.0.0"]), index("", &["1.0.0", "1.1.0"]), Ok(())),
            (index("", &["1.0.0"]), index("", &["1.0.0 yanked"]), Ok(())),
            (index("", &["1.0.0"]), index(&six, &["1.0.0"]), Ok(())),
            (index(&six, &["1.0.0"]), index(&six, &["1.0.0"]), Ok(())),
            (index(&six, &["1.0.0 yanked"]), index(&seven, &["1.0.0"]), Ok(())),
            (index("", &["1.0.0", "1.1.0"]), index("", &["1.0.0"]), older("version 1.1.0 is gone")),
            (
                index("", &["1.0.0 revoked"]),
                index("", &["1.0.0"]),
                older("version 1.0.0 is no longer revoked"),
            ),
            (
                index(&seven, &["1.0.0"]),
                index(&six, &["1.0.0"]),
                older("the index went backwards (6, last seen 7)"),
            ),
            // A hidden yank.
            (
                index(&seven, &["1.0.0 yanked"]),
                index(&seven, &["1.0.0"]),
                older("its content changed, but its sequence number 7 did not"),
            ),
            (
                index(&seven, &["1.0.0"]),
                index("", &["1.0.0"]),
                older("it no longer has a sequence number"),
            ),
            // Attack registry-C21.
            (
                index(&six, &["1.0.0"]),
                index(&seven, &["1.0.0 other"]),
                Err(Doubt::OtherBytes("1.0.0".to_owned())),
            ),
        ] {
            assert_eq!(compare(&before, &now), expected);
        }
    }

    #[test]
    fn an_index_that_nobody_renews_is_not_believed_for_ever() {
        // Attack registry-C17, freeze.
        let head = IndexHeader { sequence: 1, expires: Some(1_000_000) };
        let at = |seconds| fresh(Some(&head), UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(1_000_000), Ok(()));
        assert_eq!(
            at(1_000_060),
            Err(Doubt::Expired("it expired less than an hour ago".to_owned()))
        );
        assert_eq!(
            at(1_000_000 + 5 * 3600),
            Err(Doubt::Expired("it expired 5 hours ago".to_owned()))
        );
        assert_eq!(at(2_000_000), Err(Doubt::Expired("it expired 11 days ago".to_owned())));
        assert_eq!(fresh(None, SystemTime::now()), Ok(()));
    }
}
