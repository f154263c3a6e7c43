//! The warning before a prose skill from an untrusted source is shown.

use std::path::Path;

use prowess_format::skill::{Skill, SkillKind};

use crate::skill::skill_ref::Loaded;
use crate::terminal::printer::Printer;

/// The extended attribute that browsers and `curl --xattr` set on downloaded files.
#[cfg(target_os = "linux")]
const DOWNLOADED_FROM: &str = "user.xdg.origin.url";

/// Warns before a prose skill from an untrusted source is shown (SRT §9).
///
/// It consists of instructions only, and an agent that reads them may follow them. Other skills have permissions, which
/// limit what they can do.
pub(crate) fn warn_of_prose(skill: &Skill, loaded: &Loaded, printer: &mut Printer) {
    if skill.kind != SkillKind::Prose {
        return;
    }
    if let Some(source) = untrusted(&loaded.path) {
        printer.warning(&format!(
            "this text comes from {source}, which is not trusted: it may instruct an agent to do harm, so read it before you give it to one"
        ));
    }
}

/// The source of a file, if it is not the user's own.
fn untrusted(path: &Path) -> Option<String> {
    if path == Path::new("-") {
        return Some("standard input".to_owned());
    }
    downloaded_from(path).map(|address| format!("`{address}`"))
}

#[cfg(target_os = "linux")]
fn downloaded_from(path: &Path) -> Option<String> {
    let mut buffer = [0; 4096];
    let length = rustix::fs::getxattr(path, DOWNLOADED_FROM, &mut buffer[..]).ok()?;
    Some(String::from_utf8_lossy(&buffer[..length]).into_owned())
}

/// Other systems have no such attribute.
#[cfg(not(target_os = "linux"))]
fn downloaded_from(_path: &Path) -> Option<String> {
    None
}
