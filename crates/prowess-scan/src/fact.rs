//! Facts: what code does, whatever language it is written in. Rules are made of them.

use std::ops::Range;

use prowess_format::permission::{Domain, Level};
use prowess_policy::binaries::RefusedCommand;

/// Something that a piece of code does.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fact {
    /// The index of the document.
    pub(crate) document: usize,
    /// The bytes of its text.
    pub(crate) range: Range<usize>,
    /// What it does.
    pub(crate) kind: FactKind,
}

/// What code can do.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FactKind {
    /// It runs what it downloads; the address, if it is written out.
    DownloadExec { url: Option<String> },
    /// It runs what it decodes; the text, if it could be decoded.
    DecodeExec { decoded: Option<String> },
    /// It connects a shell with the network.
    ReverseShell,
    /// It runs what others send to it.
    RemoteCommand,
    /// A command line that the table of refused commands names.
    Refused(RefusedCommand),
    /// Data of a kind leaves the machine.
    Send { what: Labels, host: Option<String>, is_encoded: bool },
    /// Data leaves in names that are resolved.
    ResolveSend { what: Labels },
    /// The address that it talks to is encoded.
    HiddenEndpoint { url: Option<String> },
    /// It reads a file of secrets.
    ReadSecret { path: String },
    /// It collects several secrets.
    CollectSecrets { count: usize },
    /// It starts something by itself later on.
    Persist { what: &'static str, is_remote: bool },
    /// It changes what an agent obeys.
    WriteAgentFile { path: String },
    /// It switches off what protects the machine.
    DisableProtection { what: &'static str },
    /// It deletes what it did not make.
    Destroy { what: &'static str },
    /// It lets everybody write.
    WorldWritable,
    /// It computes what it runs.
    DynamicExec { how: &'static str, is_disguised: bool },
    /// It uses something that a permission stands for (GAIA §3.3).
    Use { domain: Domain, level: Level, object: String },
}

/// What is known about a value: where it comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Labels(pub(crate) u32);

impl Labels {
    pub(crate) const NONE: Self = Self(0);
    /// It came over the network.
    pub(crate) const NETWORK: Self = Self(1);
    /// It was decoded.
    pub(crate) const DECODED: Self = Self(1 << 1);
    /// It was encoded.
    pub(crate) const ENCODED: Self = Self(1 << 2);
    /// It is a variable whose name says that it is secret.
    pub(crate) const SECRET_VARIABLE: Self = Self(1 << 3);
    /// It is a file of secrets.
    pub(crate) const SECRET_FILE: Self = Self(1 << 4);
    /// It is the whole environment.
    pub(crate) const ENVIRONMENT: Self = Self(1 << 5);
    /// It is some variable.
    pub(crate) const VARIABLE: Self = Self(1 << 6);
    /// It is what the user copied, typed or showed.
    pub(crate) const SPIED: Self = Self(1 << 7);
    /// It is what the user said, or files found by a search.
    pub(crate) const PRIVATE: Self = Self(1 << 8);
    /// It is a connection.
    pub(crate) const SOCKET: Self = Self(1 << 9);
    /// It is what somebody sends to a server of the skill.
    pub(crate) const REQUEST: Self = Self(1 << 12);
    /// It is the content of a picture, a font or a recording.
    pub(crate) const MEDIA: Self = Self(1 << 13);
    /// It is a file that any program of the machine can write.
    pub(crate) const SHARED: Self = Self(1 << 11);
    /// It was put together from parts.
    pub(crate) const ASSEMBLED: Self = Self(1 << 10);

    pub(crate) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }

    #[must_use]
    pub(crate) fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// What it is, for a message.
    pub(crate) fn in_words(self) -> &'static str {
        if self.has(Self::SECRET_FILE) {
            "a file with secrets"
        } else if self.has(Self::ENVIRONMENT) {
            "the whole environment"
        } else if self.has(Self::SECRET_VARIABLE) {
            "a secret variable"
        } else if self.has(Self::SPIED) {
            "what the user types, copies or sees"
        } else if self.has(Self::PRIVATE) {
            "private data"
        } else {
            "data of this machine"
        }
    }
}
