//! Where a skill comes from, as far as a file tells, and what is said about it before it is shown.

use std::path::Path;

use prowess_format::skill::{Kind, Skill};

use crate::skill::skill_ref::Loaded;
use crate::terminal::printer::Printer;

/// What browsers and `curl --xattr` write down with a file from the internet.
#[cfg(target_os = "linux")]
const DOWNLOADED_FROM: &str = "user.xdg.origin.url";

/// SRT §9: a prose skill is nothing but instructions, and whoever reads it may follow them. One from an untrusted source
/// is shown with a warning before it. Everything else has permissions, which say what it can do.
pub(crate) fn warn_of_prose(skill: &Skill, loaded: &Loaded, printer: &mut Printer) {
    if skill.kind != Kind::Prose {
        return;
    }
    if let Some(source) = untrusted(&loaded.path) {
        printer.warning(&format!(
            "this text comes from {source}, and nobody vouches for it: it may tell an agent to do harm, so read it before one does"
        ));
    }
}

/// The source of a file that is not the user's own.
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

/// Not told there.
#[cfg(not(target_os = "linux"))]
fn downloaded_from(_path: &Path) -> Option<String> {
    None
}
