//! What an answer leads to: a section of the body, a file of the skill, another skill, a message.

use std::io;
use std::path::{Component, Path};

use prowess_files::atomic::read_open;
use prowess_files::folder::{EntryKind, Folder};
use prowess_format::document::Document;
use prowess_format::document::markdown;
use prowess_format::skill::QuizBranch;

use crate::loaded::LoadedSkill;

/// The most bytes of a section that are given.
const MAX_SECTION_BYTES: usize = 64 << 10;
/// The largest file that is given.
const MAX_REFERENCE_BYTES: u64 = 256 << 10;
/// The most bytes of sections and files in one reply, for answers to many questions at once.
const MAX_REPLY_BYTES: usize = 1 << 20;

/// What an answer leads to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuizActions {
    /// A section of the body.
    pub goto: Option<QuizText>,
    /// A file of the skill.
    pub load_reference: Option<QuizText>,
    /// The name of another skill. It is loaded like any skill, with its own gates.
    pub load_skill: Option<String>,
    /// A message of the author.
    pub message: Option<String>,
}

/// A text that an answer leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuizText {
    /// The heading, or the path in the skill, as the author wrote it.
    pub name: String,
    /// Its text, or why there is none.
    pub text: Result<String, String>,
}

/// The room for texts in one reply.
#[derive(Debug)]
pub(super) struct ReplyRoom(usize);

impl ReplyRoom {
    pub(super) fn new() -> Self {
        Self(MAX_REPLY_BYTES)
    }

    fn take(&mut self, text: String) -> Result<String, String> {
        match self.0.checked_sub(text.len()) {
            Some(left) => {
                self.0 = left;
                Ok(text)
            }
            None => Err("it is left out: the texts are too long for one reply".to_owned()),
        }
    }
}

/// The actions of a branch. It reads the disk where one names a file.
pub(super) fn actions(
    branch: &QuizBranch,
    skill: &LoadedSkill,
    document: &Document<'_>,
    room: &mut ReplyRoom,
) -> QuizActions {
    let text = |text: &prowess_format::skill::OptionalText| {
        text.as_ref().map(|text| text.value.trim().to_owned()).filter(|text| !text.is_empty())
    };
    let mut given = |name: String, found: Result<String, String>| QuizText {
        name,
        text: found.and_then(|found| room.take(found)),
    };
    QuizActions {
        goto: text(&branch.goto).map(|name| {
            let found = section(document, &name);
            given(name, found)
        }),
        load_reference: text(&branch.load_reference).map(|name| {
            let found = reference(skill, &name);
            given(name, found)
        }),
        load_skill: text(&branch.load_skill),
        message: text(&branch.message),
    }
}

/// The text of a section, with its heading.
fn section(document: &Document<'_>, anchor: &str) -> Result<String, String> {
    let span = markdown::section(document.blocks(), anchor)
        .ok_or_else(|| "the body has no such section".to_owned())?;
    let text = span.slice(document.text).trim();
    let end = text.floor_char_boundary(MAX_SECTION_BYTES);
    let cut = if end < text.len() { "\n\n(the rest is left out)" } else { "" };
    Ok(format!("{}{cut}", &text[..end]))
}

/// The text of a file of the skill. Links are not followed, hidden files are not read, and nothing outside of the folder
/// can be reached. The main file has the answers, and is never given.
fn reference(skill: &LoadedSkill, path: &str) -> Result<String, String> {
    let nowhere = || "the skill has no such file".to_owned();
    let directory = skill.directory.as_deref().ok_or_else(nowhere)?;
    let parts: Option<Vec<&str>> = Path::new(path)
        .components()
        .filter(|part| *part != Component::CurDir)
        .map(|part| match part {
            Component::Normal(part) => part.to_str().filter(|part| !part.starts_with('.')),
            _ => None,
        })
        .collect();
    let parts = parts.ok_or_else(|| "it is not a file of the skill".to_owned())?;
    let [folders @ .., last] = parts.as_slice() else { return Err(nowhere()) };
    let read = || {
        let mut folder = Folder::open(directory)?;
        for part in folders {
            folder = folder.folder(part)?;
        }
        if folder.kind(last.as_bytes())? != Some(EntryKind::File) {
            return Err(io::Error::from(io::ErrorKind::NotFound));
        }
        let file = folder.file(last.as_bytes())?;
        if is_same_file(&file.metadata()?, &std::fs::metadata(&skill.file)?) {
            return Err(io::Error::from(io::ErrorKind::PermissionDenied));
        }
        read_open(file, MAX_REFERENCE_BYTES)
    };
    let bytes = read().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => nowhere(),
        io::ErrorKind::PermissionDenied => "it can't be read".to_owned(),
        _ => prowess_core::system_reason(&error),
    })?;
    String::from_utf8(bytes).map_err(|_| "it is not text".to_owned())
}

#[cfg(unix)]
fn is_same_file(one: &std::fs::Metadata, other: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn is_same_file(one: &std::fs::Metadata, other: &std::fs::Metadata) -> bool {
    (one.len(), one.modified().ok()) == (other.len(), other.modified().ok())
}
