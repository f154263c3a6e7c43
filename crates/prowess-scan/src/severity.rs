//! How bad a finding is, what a set of findings means for a tier, and what is at stake.

use std::fmt;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// A bad habit.
    Low,
    /// Suspicious together with something else.
    Medium,
    /// A person has to look at it.
    High,
    /// An attack as far as a text can show one.
    Critical,
}

impl Severity {
    /// The word for it in every output format.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }

    /// One step lower, never nothing.
    #[must_use]
    pub fn lowered(self) -> Self {
        match self {
            Self::Critical => Self::High,
            Self::High => Self::Medium,
            Self::Medium => Self::Low,
            Self::Low | Self::Info => Self::Info,
        }
    }

    /// One step higher.
    #[must_use]
    pub fn raised(self) -> Self {
        match self {
            Self::Info => Self::Low,
            Self::Low => Self::Medium,
            Self::Medium => Self::High,
            Self::High | Self::Critical => Self::Critical,
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// The tier for which a skill is judged (GAIA §4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ScanTier {
    /// Nobody vouches for it; the user has said that this is all right.
    Experimental,
    /// Its publisher is known.
    Community,
    /// A reviewer vouches for it.
    Verified,
}

/// What to do with a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// Nothing stands against it.
    Allow,
    /// A person has to look at it.
    Review,
    /// It must not be used.
    Block,
}

impl Verdict {
    /// The word for it in every output format.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "ALLOW",
            Self::Review => "REVIEW",
            Self::Block => "BLOCK",
        }
    }

    /// What one finding means for a tier (GAIX-9).
    pub fn of(severity: Severity, tier: ScanTier) -> Self {
        match (severity, tier) {
            (Severity::Critical, _) | (Severity::High, ScanTier::Verified) => Self::Block,
            (Severity::High, ScanTier::Community) | (Severity::Medium, ScanTier::Verified) => {
                Self::Review
            }
            (Severity::High, ScanTier::Experimental)
            | (Severity::Medium, ScanTier::Experimental | ScanTier::Community)
            | (Severity::Low | Severity::Info, _) => Self::Allow,
        }
    }

    /// What a skill without any finding gets: the highest tier is never given by a program alone.
    pub fn least(tier: ScanTier) -> Self {
        match tier {
            ScanTier::Experimental | ScanTier::Community => Self::Allow,
            ScanTier::Verified => Self::Review,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// What a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Category {
    /// A lure that makes a person or an agent run something.
    FakePrerequisite,
    /// Something encoded that is run.
    DecodeExec,
    /// Something downloaded that is run.
    DownloadExec,
    /// A way in for somebody else.
    ReverseShell,
    /// Secrets or private data that leave the machine.
    Exfiltration,
    /// Text that changes what the agent obeys.
    InstructionOverride,
    /// Something that a person should not see.
    Concealment,
    /// What stays after the skill is gone.
    Persistence,
    /// More than was declared or asked for.
    Permissions,
    /// Packages and settings from elsewhere.
    SupplyChain,
    /// Code or text that is made hard to read.
    Obfuscation,
    /// Damage: deleted data, disabled protection, stolen computing time.
    Harm,
    /// A secret in the skill itself.
    Secret,
    /// What could not be analysed.
    Completeness,
}

impl Category {
    /// The word for it in every output format.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FakePrerequisite => "fake-prerequisite",
            Self::DecodeExec => "decode-exec",
            Self::DownloadExec => "download-exec",
            Self::ReverseShell => "reverse-shell",
            Self::Exfiltration => "exfiltration",
            Self::InstructionOverride => "instruction-override",
            Self::Concealment => "concealment",
            Self::Persistence => "persistence",
            Self::Permissions => "permissions",
            Self::SupplyChain => "supply-chain",
            Self::Obfuscation => "obfuscation",
            Self::Harm => "harm",
            Self::Secret => "secret",
            Self::Completeness => "completeness",
        }
    }
}
