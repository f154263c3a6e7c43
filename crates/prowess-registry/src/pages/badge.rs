//! Badges for README files: a label and a value as a small SVG drawing.

use askama::Template;

/// The width of a character of the badge's font, in tenths of a unit; the widest ones are rare in what badges say.
const CHARACTER_TENTHS: usize = 68;
const PADDING: usize = 6;
/// The longest label or value, in characters.
const MAX_CHARACTERS: usize = 40;

/// A badge.
#[derive(Debug, Template)]
#[template(path = "badge.svg")]
pub(crate) struct Badge {
    label: String,
    value: String,
    colour: &'static str,
    label_width: usize,
    value_width: usize,
}

/// What a badge's colour says beside its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadgeColour {
    Good,
    Neutral,
    Warning,
    Bad,
}

impl Badge {
    pub(crate) fn new(label: &str, value: &str, colour: BadgeColour) -> Self {
        let cut = |text: &str| -> String { text.chars().take(MAX_CHARACTERS).collect() };
        let width = |text: &str| text.chars().count() * CHARACTER_TENTHS / 10 + 2 * PADDING;
        let (label, value) = (cut(label), cut(value));
        // White text on each of these reaches 4.5:1.
        let colour = match colour {
            BadgeColour::Good => "#2c6a2e",
            BadgeColour::Neutral => "#0b6470",
            BadgeColour::Warning => "#7d5200",
            BadgeColour::Bad => "#b3261e",
        };
        Badge { label_width: width(&label), value_width: width(&value), label, value, colour }
    }

    fn width(&self) -> usize {
        self.label_width + self.value_width
    }

    fn label_middle(&self) -> usize {
        self.label_width / 2
    }

    fn value_middle(&self) -> usize {
        self.label_width + self.value_width / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_badge_is_text_whatever_it_says() {
        let badge = Badge::new("prowess", "<script>\"&", BadgeColour::Bad).render().unwrap();
        insta::assert_snapshot!(badge, @r##"<svg xmlns="http://www.w3.org/2000/svg" width="139" height="20" role="img" aria-label="prowess: &#60;script&#62;&#34;&#38;"><title>prowess: &#60;script&#62;&#34;&#38;</title><clipPath id="r"><rect width="139" height="20" rx="4"/></clipPath><g clip-path="url(#r)"><rect width="59" height="20" fill="#3b4045"/><rect x="59" width="80" height="20" fill="#b3261e"/></g><g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11"><text x="29" y="14">prowess</text><text x="99" y="14">&#60;script&#62;&#34;&#38;</text></g></svg>"##);
    }
}
