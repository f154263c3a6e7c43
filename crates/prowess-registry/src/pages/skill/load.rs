//! Reads a skill for any of its pages, and makes what they all have.

use prowess_capabilities::{Capability, CapabilityKind};
use semver::Version;

use super::{Banner, Frame, OutsideLink, Part, PartCounts, tabs};
use crate::app::AppState;
use crate::facts::CapabilityFacts;
use crate::names::SkillId;
use crate::pages::card::{TierWords, count, grants, level_of, runs_itself};
use crate::pages::layout::Layout;
use crate::pages::links::{SkillLinks, web_address};
use crate::pages::permission_words::{self, PermissionRow};
use crate::pages::response::PageError;
use crate::pages::visitor::Visitor;
use crate::pages::words::{Moment, counted};
use crate::query::{SkillView, VersionView};
use crate::store::{Role, VersionState};

/// A skill as its pages need it.
pub(crate) struct Loaded {
    pub(crate) id: SkillId,
    pub(crate) view: SkillView,
    pub(crate) chosen: VersionView,
    pub(crate) links: SkillLinks,
    pub(crate) permissions: Vec<PermissionRow>,
    now: i64,
}

/// How many names a banner has.
const MAX_BANNER_ROWS: usize = 3;

impl Loaded {
    /// Reads a skill. What the visitor may not see is not there.
    pub(crate) async fn read(
        state: &AppState,
        visitor: &Visitor,
        namespace: &str,
        name: &str,
        version: Option<&str>,
    ) -> Result<Self, PageError> {
        // What can't be a name has no skill, so the database is not asked.
        let id = SkillId::new(namespace, name).map_err(|_| PageError::not_found())?;
        let version = version.filter(|version| !version.is_empty());
        let wanted = match version {
            Some(text) => Some(Version::parse(text).map_err(|_| PageError::not_found())?),
            None => None,
        };
        let found = state.registry.skill(&id, wanted.as_ref(), &visitor.viewer()).await?;
        let Some(mut view) = found else { return Err(PageError::not_found()) };
        let Some(chosen) = view.chosen.take() else { return Err(PageError::not_found()) };
        let links = SkillLinks::new(namespace, name, version);
        let mut permissions = rows(&chosen);
        if let Some(before) = earlier(&view.versions, &chosen) {
            permission_words::mark_new(
                &mut permissions,
                &rows(before),
                &chosen.version.to_string(),
            );
        }
        Ok(Loaded { id, view, chosen, links, permissions, now: visitor.visit.now })
    }

    /// `namespace/name`.
    pub(crate) fn full_name(&self) -> String {
        self.id.to_string()
    }

    pub(crate) fn version(&self) -> String {
        self.chosen.version.to_string()
    }

    /// The version before the chosen one that everybody could install.
    pub(crate) fn earlier(&self) -> Option<&VersionView> {
        earlier(&self.view.versions, &self.chosen)
    }

    /// Whether the viewer publishes this skill.
    pub(crate) fn can_publish(&self) -> bool {
        self.view.viewer_is_administrator || self.view.viewer_role >= Some(Role::Publisher)
    }

    /// The frame of a page that is about a part of the skill.
    pub(crate) fn layout(&self, visitor: &Visitor, part: Part, title: String) -> Layout {
        let path = match part {
            Part::Overview => self.links.page(),
            _ => self.links.tab(part.label().to_lowercase().as_str()),
        };
        let mut layout = Layout::new(&visitor.visit, title, &self.chosen.facts.description);
        layout.feed = Some((
            format!("{}/-/feed.atom", self.links.latest()),
            format!("New versions of {}", self.id),
        ));
        if self.view.card.restricted.is_some() || self.chosen.revoked.is_some() {
            return layout;
        }
        layout = layout.at(path);
        // A new skill that nobody vouches for is not worth a link from a search engine; spam lives from those.
        if self.chosen.tier == "experimental" { layout.unlisted() } else { layout }
    }

    pub(crate) fn frame(&self, part: Part) -> Frame {
        let card = &self.view.card;
        let facts = &self.chosen.facts;
        let downloads = count(card.downloads);
        let counts = PartCounts {
            tools: facts.tools.len(),
            files: self.chosen.files.len(),
            versions: self.view.versions.len(),
            dependencies: self.view.dependencies.len(),
            findings: self.chosen.scan.as_ref().map_or(0, |scan| scan.findings.len()),
            reviews: usize::try_from(card.rating_count).unwrap_or(0),
        };
        Frame {
            namespace: card.namespace.clone(),
            name: card.name.clone(),
            version: self.version(),
            publisher: self.view.publisher_name.clone().unwrap_or_else(|| card.namespace.clone()),
            description: facts.description.clone(),
            tier: TierWords::of(&self.chosen.tier),
            risk: level_of(&card.kind, permission_words::worst(&self.permissions)),
            published: Moment::new(self.chosen.published, self.now),
            installs: counted(downloads, "install"),
            license: facts.license.clone(),
            banners: self.banners(),
            tabs: tabs(&self.links, part, counts),
            outside: self.outside(),
            links: self.links.clone(),
        }
    }

    fn outside(&self) -> Vec<OutsideLink> {
        let facts = &self.chosen.facts;
        let link = |label, icon, address: &Option<String>, is_verified| {
            let address = web_address(address.as_deref()?)?;
            Some(OutsideLink { label, icon, address, is_verified })
        };
        let repository =
            link("Repository", "git-branch", &facts.repository, self.chosen.repository_verified);
        repository.into_iter().chain(link("Homepage", "globe", &facts.homepage, false)).collect()
    }

    fn banners(&self) -> Vec<Banner> {
        let mut banners = Vec::new();
        let banner = |class, icon, title: &str, text: String| Banner {
            class,
            icon,
            title: title.to_owned(),
            text,
            action: None,
        };
        if let Some(reason) = &self.chosen.revoked {
            let text = format!(
                "It can't be installed any more. Remove it where it is installed. Reason: {reason}"
            );
            let mut found = banner(
                "danger",
                "octagon-alert",
                &format!("{} was revoked.", self.chosen.version),
                text,
            );
            found.action = self.other_version();
            banners.push(found);
        }
        if let Some(what) = self.view.card.restricted {
            let reason =
                self.view.state_reason.as_deref().map(crate::pages::moderation::reason_words);
            let text = match reason {
                Some(reason) => format!("This skill is {what}: {reason}."),
                None => format!("This skill is {what}."),
            };
            banners.push(banner(
                "info",
                "lock",
                "Only members and moderators see this page.",
                text,
            ));
        }
        match self.chosen.state {
            VersionState::Visible => {}
            VersionState::Pending => {
                banners.push(banner(
                    "info",
                    "clock",
                    "This version is being scanned.",
                    "It becomes visible afterwards.".to_owned(),
                ));
            }
            VersionState::Held => {
                let reason = self.chosen.state_reason.as_deref().unwrap_or_default();
                let text = format!(
                    "A moderator has to look at it: {}.",
                    crate::pages::moderation::reason_words(reason)
                );
                banners.push(banner("info", "clock", "This version is held for review.", text));
            }
            VersionState::Refused => {
                let reason = self.chosen.state_reason.clone().unwrap_or_default();
                banners.push(banner("danger", "ban", "This version was refused.", reason));
            }
        }
        if self.chosen.yanked {
            let reason =
                self.chosen.yank_reason.clone().unwrap_or_else(|| "no reason given".to_owned());
            let text = format!("It is not chosen for new installations. Reason: {reason}");
            let mut found = banner(
                "warn",
                "triangle-alert",
                &format!("{} was yanked.", self.chosen.version),
                text,
            );
            found.action = self.other_version();
            banners.push(found);
        }
        if let Some(reason) = &self.view.card.deprecated {
            banners.push(banner("warn", "triangle-alert", "Deprecated.", reason.clone()));
        }
        // GAIA-4.3-4: the marketplace page shows a warning on experimental skills.
        if self.chosen.tier != "verified"
            && self.chosen.tier != "community"
            && self.chosen.revoked.is_none()
        {
            let signed = if self.view.card.signed {
                "Its signature does not promote it."
            } else {
                "Nobody has signed it."
            };
            let text = format!(
                "{signed} It runs in a sandbox, and installing it needs --allow-experimental."
            );
            let mut found = banner("warn", "shield-alert", "Experimental.", text);
            found.action = Some(("What the tiers mean".to_owned(), "/publish#after".to_owned()));
            banners.push(found);
        }
        banners.extend(self.more_permissions());
        banners.extend(self.weaker_proof());
        banners.extend(self.newer_version());
        banners
    }

    /// The version to take instead of one that is yanked or revoked.
    fn other_version(&self) -> Option<(String, String)> {
        let latest = &self.view.card.version;
        let is_other = !latest.is_empty() && *latest != self.version();
        is_other.then(|| (format!("Go to {latest}"), self.links.latest()))
    }

    fn more_permissions(&self) -> Option<Banner> {
        let before = self.earlier()?;
        let new: Vec<String> = self
            .permissions
            .iter()
            .filter(|row| row.new_in.is_some())
            .map(PermissionRow::text)
            .collect();
        if new.is_empty() {
            return None;
        }
        let more = new.len().saturating_sub(MAX_BANNER_ROWS);
        let listed = new.into_iter().take(MAX_BANNER_ROWS).collect::<Vec<_>>().join("; ");
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        Some(Banner {
            class: "warn",
            icon: "triangle-alert",
            title: format!("Asks for more than {} did:", before.version),
            text: format!("{listed}{more}."),
            action: Some((
                "See what changed".to_owned(),
                self.links.compare(&before.version.to_string(), &self.version()),
            )),
        })
    }

    /// A version with weaker proof than the one before may come from somebody who took an account over.
    fn weaker_proof(&self) -> Option<Banner> {
        let before = self.earlier()?;
        let lost = if is_signed(before) && !is_signed(&self.chosen) {
            "a signature of its publisher"
        } else if before.provenance.is_some() && self.chosen.provenance.is_none() {
            "proof of the commit that it was built from"
        } else {
            return None;
        };
        Some(Banner {
            class: "warn",
            icon: "shield-alert",
            title: "Weaker proof than before.".to_owned(),
            text: format!("{} had {lost}, and this version has not.", before.version),
            action: Some((
                format!("Go to {}", before.version),
                SkillLinks::new(
                    self.id.namespace.as_str(),
                    self.id.name.as_str(),
                    Some(&before.version.to_string()),
                )
                .page(),
            )),
        })
    }

    fn newer_version(&self) -> Option<Banner> {
        let newer = self
            .view
            .versions
            .iter()
            .filter(|version| is_installable(version) && version.version > self.chosen.version);
        let behind = newer.count();
        if behind == 0 {
            return None;
        }
        Some(Banner {
            class: "info",
            icon: "history",
            title: format!("{} behind.", counted(behind, "version")),
            text: format!("You are looking at {}.", self.chosen.version),
            action: Some((format!("Go to {}", self.view.card.version), self.links.latest())),
        })
    }

    /// A moment of this skill.
    pub(crate) fn moment(&self, seconds: i64) -> Moment {
        Moment::new(seconds, self.now)
    }
}

/// Whether a signature with a key of its publisher covers a version.
pub(crate) fn is_signed(version: &VersionView) -> bool {
    version
        .signatures
        .iter()
        .any(|signature| !signature.is_audit && signature.standing == "trusted")
}

/// Whether everybody can install a version.
pub(crate) fn is_installable(version: &VersionView) -> bool {
    version.state == VersionState::Visible && version.revoked.is_none() && !version.yanked
}

fn earlier<'v>(versions: &'v [VersionView], chosen: &VersionView) -> Option<&'v VersionView> {
    let before = versions
        .iter()
        .filter(|version| version.version < chosen.version && is_installable(version));
    before.max_by(|a, b| a.version.cmp(&b.version))
}

/// What a version asks for.
pub(crate) fn rows(version: &VersionView) -> Vec<PermissionRow> {
    let facts = &version.facts;
    let capabilities: Vec<Capability> = facts.capabilities.iter().filter_map(capability).collect();
    permission_words::rows(&grants(&facts.permissions), &capabilities, runs_itself(&facts.kind))
}

fn capability(facts: &CapabilityFacts) -> Option<Capability> {
    let kind = CapabilityKind::ALL.into_iter().find(|kind| kind.as_str() == facts.kind)?;
    Some(Capability {
        kind,
        text: facts.text.clone(),
        note: facts.note.clone(),
        file: facts.file.clone(),
        line: facts.line,
    })
}
