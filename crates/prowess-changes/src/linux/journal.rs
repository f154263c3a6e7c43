//! The journal of a transaction as text: which steps, from what to what. It needs no log of what was done, because the
//! inode at a path tells: the new one (done), the old one (to do), or another (somebody else's).

use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use super::entry::{State, Time};
use super::{Action, Operation, TreeSize};

/// The first line; another one is of a format that is not known here.
const HEADER: &str = "prowess-changes 1";
/// Maximum size of a journal: 200,000 steps with long paths.
pub(crate) const MAX_BYTES: u64 = 1 << 30;

/// What a journal is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Changes are applied.
    Apply,
    /// Changes that could not all be applied are taken back.
    RollBack,
    /// Applied changes are undone.
    Undo,
}

/// What was decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Journal {
    pub(crate) direction: Direction,
    pub(crate) operations: Vec<Operation>,
}

impl Journal {
    pub(crate) fn write(&self) -> String {
        let mut text = String::with_capacity(200 * self.operations.len());
        let direction = match self.direction {
            Direction::Apply => "apply",
            Direction::RollBack => "roll-back",
            Direction::Undo => "undo",
        };
        // Writing to a string can't fail.
        let _ = writeln!(text, "{HEADER}\n{direction}");
        for operation in &self.operations {
            let action = match operation.action {
                Action::Add => "add",
                Action::Replace => "replace",
                Action::Delete => "delete",
                Action::Attributes => "attributes",
            };
            let _ = writeln!(
                text,
                "{action} {} {} {} {} {}",
                operation.layer,
                escape(&operation.path),
                state(operation.old.as_ref()),
                state(operation.new.as_ref()),
                tree(operation.tree.as_ref())
            );
        }
        let _ = writeln!(text, "end {}", self.operations.len());
        text
    }

    /// `None` if it is damaged or of another format.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        if lines.next()? != HEADER {
            return None;
        }
        let direction = match lines.next()? {
            "apply" => Direction::Apply,
            "roll-back" => Direction::RollBack,
            "undo" => Direction::Undo,
            _ => return None,
        };
        let mut operations = Vec::new();
        loop {
            let line = lines.next()?;
            if let Some(count) = line.strip_prefix("end ") {
                let is_whole = count.parse() == Ok(operations.len()) && lines.next().is_none();
                return is_whole.then_some(Self { direction, operations });
            }
            operations.push(read_operation(line)?);
        }
    }
}

fn read_operation(line: &str) -> Option<Operation> {
    let mut fields = line.split(' ');
    let action = match fields.next()? {
        "add" => Action::Add,
        "replace" => Action::Replace,
        "delete" => Action::Delete,
        "attributes" => Action::Attributes,
        _ => return None,
    };
    let layer = fields.next()?.parse().ok()?;
    let path = unescape(fields.next()?)?;
    let old = optional(fields.next()?, read_state).ok()?;
    let new = optional(fields.next()?, read_state).ok()?;
    let tree = optional(fields.next()?, read_tree).ok()?;
    // What each step needs.
    let is_whole = match action {
        Action::Add => old.is_none() && new.is_some(),
        Action::Replace | Action::Attributes => old.is_some() && new.is_some(),
        Action::Delete => old.is_some() && new.is_none(),
    };
    (is_whole && fields.next().is_none() && is_below(&path)).then_some(Operation {
        layer,
        path,
        action,
        old,
        new,
        tree,
    })
}

/// Whether a path stays below its folder.
fn is_below(path: &Path) -> bool {
    path.components().all(|part| matches!(part, std::path::Component::Normal(_)))
}

fn state(state: Option<&State>) -> String {
    let Some(state) = state else { return "-".to_owned() };
    let State { device, inode, size, modified, changed, mode, links } = state;
    format!(
        "{device}:{inode}:{size}:{}:{}:{}:{}:{mode:o}:{links}",
        modified.0, modified.1, changed.0, changed.1
    )
}

/// A field that may be absent.
fn optional<T>(text: &str, read: impl FnOnce(&str) -> Option<T>) -> Result<Option<T>, ()> {
    if text == "-" { Ok(None) } else { read(text).map(Some).ok_or(()) }
}

fn read_state(text: &str) -> Option<State> {
    let mut fields = text.split(':');
    let mut number = || fields.next()?.parse::<i128>().ok();
    let [device, inode, size] = [number()?, number()?, number()?];
    let [seconds, nanoseconds, change_seconds, change_nanoseconds] =
        [number()?, number()?, number()?, number()?];
    let mode = u32::from_str_radix(fields.next()?, 8).ok()?;
    let links = fields.next()?.parse().ok()?;
    let time = |seconds: i128, nanoseconds: i128| -> Option<Time> {
        Some((seconds.try_into().ok()?, nanoseconds.try_into().ok()?))
    };
    let state = State {
        device: device.try_into().ok()?,
        inode: inode.try_into().ok()?,
        size: size.try_into().ok()?,
        modified: time(seconds, nanoseconds)?,
        changed: time(change_seconds, change_nanoseconds)?,
        mode,
        links,
    };
    fields.next().is_none().then_some(state)
}

fn tree(tree: Option<&TreeSize>) -> String {
    let Some(TreeSize { entries, bytes, latest }) = tree else { return "-".to_owned() };
    format!("{entries}:{bytes}:{}:{}", latest.0, latest.1)
}

fn read_tree(text: &str) -> Option<TreeSize> {
    let mut fields = text.split(':');
    let entries = fields.next()?.parse().ok()?;
    let bytes = fields.next()?.parse().ok()?;
    let latest = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    fields.next().is_none().then_some(TreeSize { entries, bytes, latest })
}

/// A path as one word: other bytes than those of ordinary names as `%XX`. An empty path is `%`.
pub(crate) fn escape(path: &Path) -> String {
    let bytes = path.as_os_str().as_bytes();
    if bytes.is_empty() {
        return "%".to_owned();
    }
    let mut text = String::with_capacity(bytes.len());
    for byte in bytes {
        if byte.is_ascii_alphanumeric() || b"/._-+=@,~".contains(byte) {
            text.push(char::from(*byte));
        } else {
            let _ = write!(text, "%{byte:02x}");
        }
    }
    text
}

pub(crate) fn unescape(text: &str) -> Option<PathBuf> {
    if text == "%" {
        return Some(PathBuf::new());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte == b'%' {
            let (digits, after) = rest.split_at_checked(2)?;
            bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
            rest = after;
        } else {
            bytes.push(*byte);
        }
    }
    Some(PathBuf::from(OsString::from_vec(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn journal() -> Journal {
        let state = State {
            device: 1,
            inode: u64::MAX,
            size: 3,
            modified: (-5, 7),
            changed: (9, 999_999_999),
            mode: 0o100_644,
            links: 1,
        };
        let tree = TreeSize { entries: 2, bytes: 3, latest: (4, 5) };
        let path = |bytes: &[u8]| PathBuf::from(OsString::from_vec(bytes.to_vec()));
        let step =
            |action, path, old, new, tree| Operation { layer: 1, path, action, old, new, tree };
        Journal {
            direction: Direction::Undo,
            operations: vec![
                step(Action::Add, path(b"a b\n\xff%"), None, Some(state), Some(tree)),
                step(Action::Replace, path(b"x/y"), Some(state), Some(state), None),
                step(Action::Delete, path(b"z"), Some(state), None, None),
                step(Action::Attributes, path(b""), Some(state), Some(state), None),
            ],
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        assert_eq!(Journal::read(&journal().write()), Some(journal()));
    }

    #[test]
    fn a_damaged_journal_is_not_followed() {
        let text = journal().write();
        for cut in 0..text.len() - 1 {
            assert_eq!(Journal::read(&text[..cut]), None, "{cut}");
        }
        for (from, to) in [
            ("x/y", "../y"),
            ("x/y", "/etc"),
            ("add", "replace"),
            ("apply 1", "apply 2"),
            ("end 4", "end 3"),
        ] {
            let damaged = text.replacen(from, to, 1);
            assert!(damaged == text || Journal::read(&damaged).is_none(), "{from} {to}");
        }
    }
}
