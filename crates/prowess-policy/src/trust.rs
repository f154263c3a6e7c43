//! The trust in a skill, on three independent axes (R19).

use std::fmt;
use std::str::FromStr;

use prowess_format::skill::Skill;

/// The security tier (GAIA §4), proven by signatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tier {
    /// Not signed by a trusted key (GAIA §4.3).
    Experimental,
    /// Signed by its publisher (GAIA §4.2).
    Community,
    /// Audited and signed by a root of trust (GAIA §4.1).
    Verified,
}

/// The badge of a registry. It is shown but has no effect on decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Badge {
    /// Published by anyone.
    Community,
    /// Reviewed by the registry.
    Verified,
    /// Published by the registry's owner.
    Official,
}

/// The origin of a skill (GIB §6.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// It ships with this program.
    Bundled,
    /// The user put it there.
    Local,
    /// It was downloaded.
    Downloaded,
}

/// An unknown tier.
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
    /// Creates the trust from the claim of the file, the tier proven by signatures, the badge of
    /// the registry, and the origin.
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
    /// Most dialects have no tiers, so without a claim only the signature matters. An unknown tier
    /// is treated as the lowest.
    pub fn of(skill: &Skill, attested: Tier, badge: Option<Badge>, origin: Origin) -> Self {
        let claimed = skill
            .security_tier
            .as_ref()
            .map(|word| word.as_str().parse().unwrap_or(Tier::Experimental));
        Self::new(claimed, attested, badge, origin)
    }

    /// The effective tier: the lower of the claimed and the attested one (R19). Bundled skills are
    /// attested by this program.
    pub fn tier(self) -> Tier {
        let attested = match self.origin {
            Origin::Bundled => Tier::Verified,
            Origin::Local | Origin::Downloaded => self.attested,
        };
        self.claimed.map_or(attested, |claimed| claimed.min(attested))
    }

    /// The tier that the file claims.
    pub fn claimed(self) -> Option<Tier> {
        self.claimed
    }

    /// The tier proven by signatures.
    pub fn attested(self) -> Tier {
        self.attested
    }

    /// The registry's badge.
    pub fn badge(self) -> Option<Badge> {
        self.badge
    }

    /// The origin.
    pub fn origin(self) -> Origin {
        self.origin
    }

    /// Whether the files are signed or bundled with this program.
    pub fn is_signed(self) -> bool {
        self.origin == Origin::Bundled || self.attested > Tier::Experimental
    }
}

impl Tier {
    /// Every tier, the lowest first.
    pub const ALL: [Tier; 3] = [Tier::Experimental, Tier::Community, Tier::Verified];

    /// The name of the tier.
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
    /// The name of the badge.
    pub fn as_str(self) -> &'static str {
        match self {
            Badge::Community => "community",
            Badge::Verified => "verified",
            Badge::Official => "official",
        }
    }
}

impl Origin {
    /// The name of the origin.
    pub fn as_str(self) -> &'static str {
        match self {
            Origin::Bundled => "bundled",
            Origin::Local => "local",
            Origin::Downloaded => "downloaded",
        }
    }
}
