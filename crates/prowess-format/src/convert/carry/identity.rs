//! Name, description and version in the form that the target requires.

use super::{Carried, computed};
use crate::dialect::{self, Dialect, NameStyle};
use crate::document::markdown::Block;
use crate::formats;
use crate::read::Checked;
use crate::shape::{Need, Shape};
use crate::skill::Skill;
use crate::text::{shorten, slug};

pub(super) fn identity(
    carried: &mut Carried,
    checked: &Checked<'_>,
    to: &'static Dialect,
    directory: Option<&str>,
) {
    let skill = &mut carried.skill;
    let notes = &mut carried.notes;
    let blocks = checked.document.blocks();
    let heading = blocks.iter().find_map(|block| match block {
        Block::Heading { text, .. } if !text.trim().is_empty() => Some(text.trim()),
        _ => None,
    });
    // A slug has ASCII letters and digits only. The directory says more than a slug in which nothing is left of the name.
    let is_lost = |name: &str| {
        to.name != NameStyle::Free
            && name_for(name, to) != name
            && !name.chars().any(|character| character.is_ascii_alphanumeric())
    };
    let has_slug = |text: &&str| text.chars().any(|character| character.is_ascii_alphanumeric());
    match &skill.name {
        Some(name) if is_lost(name) && directory.is_some_and(|directory| has_slug(&directory)) => {
            let fit = slug(directory.unwrap_or_default());
            notes.push((
                "name",
                format!(
                    "the name `{}` has no letter that is allowed in a name: `{fit}` comes from the directory",
                    shorten(name, 80)
                ),
            ));
            skill.name = Some(computed(fit));
        }
        Some(name) => {
            let fit = name_for(name, to);
            if fit != name.value {
                notes.push((
                    "name",
                    format!("the name `{}` is written as `{fit}`", shorten(name, 80)),
                ));
                skill.name = Some(computed(fit));
            }
        }
        None => {
            let (name, source) = match (directory, heading) {
                (Some(directory), _) => (slug(directory), "comes from the directory"),
                (None, Some(heading)) => (slug(heading), "comes from the first heading"),
                (None, None) => {
                    ("unnamed-skill".to_owned(), "is a placeholder, because the source has none")
                }
            };
            let name = name_for(&name, to);
            notes.push(("name", format!("the name `{name}` {source}")));
            skill.name = Some(computed(name));
        }
    }
    if skill.description.is_none() {
        let paragraph = blocks.iter().find_map(|block| match block {
            Block::Text { text, .. } if !text.trim().is_empty() => Some(text.trim()),
            _ => None,
        });
        let most = to.description.most.min(1024) - 1;
        let (text, source) = match (paragraph, heading) {
            (Some(paragraph), _) => (shorten(paragraph, most), "the first paragraph"),
            (None, Some(heading)) => (shorten(heading, most), "the first heading"),
            (None, None) => (skill.name_text().unwrap_or("skill").to_owned(), "the name"),
        };
        notes.push(("description", format!("the description comes from {source}")));
        skill.description = Some(computed(text));
    }
    version(skill, notes, to);
    if skill.checksum.take().is_some() {
        notes.push((
            "checksum",
            "the checksum is omitted: it was computed for the source".to_owned(),
        ));
    }
}

/// A name that the dialect allows: unchanged if it is valid, otherwise a slug (R2).
fn name_for(name: &str, to: &Dialect) -> String {
    let format = match to.name {
        NameStyle::Kebab => &formats::NAME,
        NameStyle::UnicodeKebab => &formats::UNICODE_NAME,
        NameStyle::LetterFirst => &formats::GAIA_NAME,
        NameStyle::Dotted => &formats::DOTTED_NAME,
        NameStyle::Free => return name.to_owned(),
    };
    if (format.check)(name).is_ok() {
        return name.to_owned();
    }
    slug(name)
}

/// Versions that are checked must be SemVer; `0.0.0` means "no version" and can't be published
/// (R5).
fn version(skill: &mut Skill, notes: &mut Vec<(&'static str, String)>, to: &'static Dialect) {
    let layers = dialect::layers_of(to);
    let field = layers.iter().flat_map(|layer| layer.fields).find(|field| field.name == "version");
    let field = field.filter(|field| matches!(field.shape, Shape::Format(_)));
    let needed = field.is_some_and(|field| matches!(field.need, Need::Required | Need::Expected));
    match &skill.version {
        // If it is not required, omit it.
        Some(version) if !needed && **version == *"0.0.0" => skill.version = None,
        Some(_) if field.is_none() => {}
        Some(version) if (formats::VERSION.check)(version).is_ok() => {}
        Some(version) => {
            let normal = formats::normal_version(version);
            let note = match &normal {
                Some(normal) => {
                    format!("the version `{}` is written as `{normal}`", shorten(version, 40))
                }
                None => {
                    format!("`{}` is not a version: `0.0.0` is used instead", shorten(version, 40))
                }
            };
            notes.push(("version", note));
            skill.version = Some(computed(normal.unwrap_or_else(|| "0.0.0".to_owned())));
        }
        None if needed => {
            notes
                .push(("version", "the source has no version: `0.0.0` is used instead".to_owned()));
            skill.version = Some(computed("0.0.0"));
        }
        None => {}
    }
}
