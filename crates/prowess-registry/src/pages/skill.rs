//! The pages of a skill: what it is, who made it, what it can do, why to believe that, how to install it.

pub(crate) mod compare;
pub(crate) mod dependencies;
pub(crate) mod files;
pub(crate) mod load;
pub(crate) mod overview;
pub(crate) mod reviews;
pub(crate) mod security;
pub(crate) mod tools;
pub(crate) mod versions;

use super::card::TierWords;
use super::links::SkillLinks;
use super::permission_words::RiskLevel;
use super::words::Moment;

/// What all pages of a skill have above their content.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) publisher: String,
    pub(crate) description: String,
    pub(crate) tier: TierWords,
    /// The worst that it asks for; none for instructions that name nothing.
    pub(crate) risk: Option<RiskLevel>,
    pub(crate) published: Moment,
    pub(crate) installs: String,
    pub(crate) license: Option<String>,
    pub(crate) banners: Vec<Banner>,
    pub(crate) tabs: Vec<Tab>,
    pub(crate) outside: Vec<OutsideLink>,
    pub(crate) links: SkillLinks,
}

/// A warning above everything else.
#[derive(Clone, Debug)]
pub(crate) struct Banner {
    /// `danger`, `warn` or `info`.
    pub(crate) class: &'static str,
    pub(crate) icon: &'static str,
    /// The first words, in bold.
    pub(crate) title: String,
    pub(crate) text: String,
    /// What to do, with an address.
    pub(crate) action: Option<(String, String)>,
}

/// A part of a skill's pages.
#[derive(Clone, Debug)]
pub(crate) struct Tab {
    pub(crate) label: &'static str,
    pub(crate) address: String,
    pub(crate) count: Option<usize>,
    pub(crate) is_current: bool,
}

/// A link that the author has set.
#[derive(Clone, Debug)]
pub(crate) struct OutsideLink {
    pub(crate) label: &'static str,
    pub(crate) icon: &'static str,
    pub(crate) address: String,
    /// Whether somebody proved that it belongs to the publisher (attack registry-A11).
    pub(crate) is_verified: bool,
}

/// The parts, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Overview,
    Tools,
    Files,
    Versions,
    Dependencies,
    Security,
    Reviews,
}

/// How many of each part there are.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PartCounts {
    pub(crate) tools: usize,
    pub(crate) files: usize,
    pub(crate) versions: usize,
    pub(crate) dependencies: usize,
    pub(crate) findings: usize,
    pub(crate) reviews: usize,
}

impl Part {
    const ALL: [Part; 7] = [
        Part::Overview,
        Part::Tools,
        Part::Files,
        Part::Versions,
        Part::Dependencies,
        Part::Security,
        Part::Reviews,
    ];

    pub(crate) fn label(self) -> &'static str {
        match self {
            Part::Overview => "Overview",
            Part::Tools => "Tools",
            Part::Files => "Files",
            Part::Versions => "Versions",
            Part::Dependencies => "Dependencies",
            Part::Security => "Security",
            Part::Reviews => "Reviews",
        }
    }
}

/// The links between the parts.
pub(crate) fn tabs(links: &SkillLinks, current: Part, counts: PartCounts) -> Vec<Tab> {
    let tab = |part: Part| {
        let count = match part {
            Part::Overview => None,
            Part::Tools => Some(counts.tools),
            Part::Files => Some(counts.files),
            Part::Versions => Some(counts.versions),
            Part::Dependencies => Some(counts.dependencies),
            Part::Security => Some(counts.findings),
            Part::Reviews => Some(counts.reviews),
        };
        let address = match part {
            Part::Overview => links.page(),
            _ => links.tab(&part.label().to_lowercase()),
        };
        let count = count.filter(|count| *count > 0);
        Tab { label: part.label(), address, count, is_current: part == current }
    };
    Part::ALL.into_iter().map(tab).collect()
}
