//! Cuts a manifest down to a budget of tokens.

use std::borrow::Cow;

/// The shortest length to which descriptions are shortened: below, they no longer say when a skill is useful.
const SHORTEST: usize = 40;

/// Something that was left out of a manifest to stay within the budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestCut {
    /// The skill.
    pub skill: String,
    /// The tool, in formats of tools.
    pub tool: Option<String>,
    /// What was left out.
    pub part: CutPart,
}

/// A part of an entry that can be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutPart {
    /// The body of the skill.
    Body,
    /// The end of the description.
    Description {
        /// Its number of characters.
        characters: usize,
        /// The number of characters that were kept, including the ellipsis.
        kept: usize,
    },
    /// The whole entry.
    Entry,
}

impl CutPart {
    /// The word for it in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Body => "body",
            Self::Description { .. } => "description",
            Self::Entry => "entry",
        }
    }
}

/// The size of a manifest without a budget.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    pub(super) entries: usize,
    pub(super) bodies: usize,
    /// The length of the longest description, in characters.
    pub(super) longest: usize,
}

/// The part of a manifest that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct View {
    /// The first entries are kept.
    pub(super) entries: usize,
    /// The bodies of the first entries are kept.
    pub(super) bodies: usize,
    /// Descriptions have at most this many characters.
    pub(super) longest: usize,
}

impl Extent {
    pub(super) fn everything(self) -> View {
        View { entries: self.entries, bodies: self.bodies, longest: self.longest }
    }
}

impl View {
    pub(super) fn shortened(self, description: &str) -> String {
        self.short(description).into_owned()
    }

    pub(super) fn short(self, description: &str) -> Cow<'_, str> {
        if description.chars().nth(self.longest).is_none() {
            return Cow::Borrowed(description);
        }
        let kept: String = description.chars().take(self.longest.saturating_sub(1)).collect();
        Cow::Owned(format!("{}…", kept.trim_end()))
    }
}

/// The largest view that fits, by the rule of [`super::Catalogue::manifest`]. Nothing but the frame may remain.
pub(super) fn fit(extent: Extent, fits: impl Fn(View) -> bool) -> View {
    let mut view = extent.everything();
    if fits(view) {
        return view;
    }
    view.bodies = largest(0, extent.bodies, |bodies| fits(View { bodies, ..view }));
    if fits(view) {
        return view;
    }
    let shortest = SHORTEST.min(extent.longest);
    view.longest = largest(shortest, extent.longest, |longest| fits(View { longest, ..view }));
    if fits(view) {
        return view;
    }
    view.entries = largest(0, extent.entries, |entries| fits(View { entries, ..view }));
    view
}

/// The largest number in a range that fits, or the smallest of the range if none does. Whatever is larger than a number that
/// does not fit does not fit either.
fn largest(mut low: usize, mut high: usize, fits: impl Fn(usize) -> bool) -> usize {
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if fits(middle) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    low
}
