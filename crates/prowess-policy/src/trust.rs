//! How far a skill is trusted, on three axes that have nothing to do with each other (R19).

use std::fmt;
use std::str::FromStr;

use prowess_format::skill::Skill;

/// The security tier (GAIA §4), proved by signatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tier {
    /// Nobody vouches for it (GAIA §4.3).
    Experimental,
    /// Signed by its publisher (GAIA §4.2).
    Community,
    /// Audited and signed by a root of trust (GAIA §4.1).
    Verified,
}

/// The badge that a registry gives (SKL layer 3). It is shown and decides nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Badge {
    /// Published by somebody.
    Community,
    /// Looked at by the registry.
    Verified,
    /// Published by the registry's owner.
    Official,
}

/// How the skill came to this machine (GIB §6.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// It ships with this program.
    Bundled,
    /// The user put it there.
    Local,
    /// It was fetched from somewhere else.
    Downloaded,
}

/// A word that is no tier.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a tier, expected `verified`, `community` or `experimental`")]
pub struct TierError(String);

/// What is known about a skill's trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trust {
    claimed: Option<Tier>,
    attested: Tier,
    badge: Option<Badge>,
    origin: Origin,
}

impl Trust {
    /// Trust from what the file claims, what signatures prove, what the registry says, and how it came here.
    pub fn new(
        claimed: Option<Tier>,
        attested: Tier,
        badge: Option<Badge>,
        origin: Origin,
    ) -> Self {
        Self { claimed, attested, badge, origin }
    }

    /// The trust in a skill, with the claim taken from its file.
    ///
    /// Most dialects know no tiers, so that a missing claim is no claim of being experimental: then the signature alone counts. A claim that is no tier counts as the lowest.
    pub fn of(skill: &Skill, attested: Tier, badge: Option<Badge>, origin: Origin) -> Self {
        let claimed = skill
            .security_tier
            .as_ref()
            .map(|word| word.as_str().parse().unwrap_or(Tier::Experimental));
        Self::new(claimed, attested, badge, origin)
    }

    /// The tier that counts: the lower of the claimed and the attested one (R19). What ships with this program is attested by it.
    pub fn tier(self) -> Tier {
        let attested = match self.origin {
            Origin::Bundled => Tier::Verified,
            Origin::Local | Origin::Downloaded => self.attested,
        };
        self.claimed.map_or(attested, |claimed| claimed.min(attested))
    }

    /// What the file claims.
    pub fn claimed(self) -> Option<Tier> {
        self.claimed
    }

    /// What signatures prove.
    pub fn attested(self) -> Tier {
        self.attested
    }

    /// What the registry says.
    pub fn badge(self) -> Option<Badge> {
        self.badge
    }

    /// How it came here.
    pub fn origin(self) -> Origin {
        self.origin
    }

    /// Whether somebody vouches for the files: a signature, or their being part of this program.
    pub fn is_signed(self) -> bool {
        self.origin == Origin::Bundled || self.attested > Tier::Experimental
    }
}

impl Tier {
    /// Every tier, the lowest first.
    pub const ALL: [Tier; 3] = [Tier::Experimental, Tier::Community, Tier::Verified];

    /// The word for the tier.
    pub fn as_str(self) -> &'static str {
        match self {
            Tier::Experimental => "experimental",
            Tier::Community => "community",
            Tier::Verified => "verified",
        }
    }
}

impl FromStr for Tier {
    type Err = TierError;

    fn from_str(text: &str) -> Result<Self, TierError> {
        let known = Self::ALL.into_iter().find(|tier| tier.as_str() == text);
        known.ok_or_else(|| TierError(text.to_owned()))
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Badge {
    /// The word for the badge.
    pub fn as_str(self) -> &'static str {
        match self {
            Badge::Community => "community",
            Badge::Verified => "verified",
            Badge::Official => "official",
        }
    }
}

impl Origin {
    /// The word for the origin.
    pub fn as_str(self) -> &'static str {
        match self {
            Origin::Bundled => "bundled",
            Origin::Local => "local",
            Origin::Downloaded => "downloaded",
        }
    }
}
