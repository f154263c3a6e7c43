//! The journal of a change, on disk before the change starts, so that recovery can complete it.

use prowess_package::digest::Sha256Digest;
use prowess_package::name::SkillName;

/// The first line. A journal of another version is left to the program that wrote it.
const HEADER: &str = "prowess-store-journal 1";
/// The last line: a journal without it is incomplete.
const FOOTER: &str = "end\n";

/// A step of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum JournalStep {
    /// Puts a staged folder in the place of a skill.
    Install {
        /// The skill.
        name: SkillName,
        /// The staged folder.
        slot: String,
        /// The digest of the staged files, which distinguishes old from new after an exchange.
        digest: Sha256Digest,
    },
    /// Removes a skill.
    Remove {
        /// The skill.
        name: SkillName,
    },
    /// Puts the staged lock file in place. Always last.
    LockFile,
}

/// Writes a journal as text.
pub(crate) fn write(steps: &[JournalStep]) -> String {
    let mut text = format!("{HEADER}\n");
    for step in steps {
        let line = match step {
            JournalStep::Install { name, slot, digest } => {
                format!("install {name} {slot} {digest}\n")
            }
            JournalStep::Remove { name } => format!("remove {name}\n"),
            JournalStep::LockFile => "lock-file\n".to_owned(),
        };
        text.push_str(&line);
    }
    text.push_str(FOOTER);
    text
}

/// Parses a journal; `None` if it is not one of this version.
///
/// Slots are validated like names: a journal is a file on disk that may have been modified, and nothing in it may lead
/// out of the store (attack registry-B13).
pub(crate) fn read(text: &str) -> Option<Vec<JournalStep>> {
    let lines = text.strip_prefix(HEADER)?.strip_prefix('\n')?.strip_suffix(FOOTER)?;
    lines.lines().map(step).collect()
}

fn step(line: &str) -> Option<JournalStep> {
    let words: Vec<&str> = line.split(' ').collect();
    match words.as_slice() {
        ["install", name, slot, digest] => {
            // Slots are named by us and have the form of skill names.
            slot.parse::<SkillName>().ok()?;
            let (name, digest) = (name.parse().ok()?, digest.parse().ok()?);
            Some(JournalStep::Install { name, slot: (*slot).to_owned(), digest })
        }
        ["remove", name] => Some(JournalStep::Remove { name: name.parse().ok()? }),
        ["lock-file"] => Some(JournalStep::LockFile),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_what_leads_out_is_not() {
        let steps = vec![
            JournalStep::Install {
                name: "a-b".parse().unwrap(),
                slot: "skill-0".into(),
                digest: Sha256Digest::of(b""),
            },
            JournalStep::Remove { name: "c".parse().unwrap() },
            JournalStep::LockFile,
        ];
        let text = write(&steps);
        assert_eq!(read(&text), Some(steps));
        for (from, to) in [
            ("remove c", "remove ../c"),
            ("skill-0", "../../x"),
            ("journal 1", "journal 2"),
            ("end\n", ""),
            ("end\n", "end"),
            ("lock-file", "format-disk"),
        ] {
            assert_eq!(read(&text.replace(from, to)), None, "{to}");
        }
    }
}
