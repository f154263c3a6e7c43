//! Refusals: what was refused, why, and which grant would allow it.

use std::fmt;

use crate::address;
use crate::host::{Host, HostParseError};
use crate::policy::Ungranted;

/// A connection or request that the proxy refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkRefusal {
    /// The reason, for programs.
    pub kind: RefusalKind,
    /// The host, if a valid one was named.
    pub host: Option<Host>,
    /// The port.
    pub port: Option<u16>,
    /// The reason in words. It never contains paths, headers or bodies.
    pub message: String,
    /// What would allow it, if possible.
    pub hint: Option<String>,
}

/// The kind of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RefusalKind {
    /// No grant names the host.
    Host,
    /// A grant names the host, but not this port.
    Port,
    /// The host's address is private, local or special.
    Address,
    /// The request is a write, and the host is granted for reading only.
    Method,
    /// A read request has a part that only writes need: a body, an upgrade, a method override.
    Smuggling,
    /// The request names two hosts.
    HostMismatch,
    /// The TLS `ClientHello` names another host than requested, or none.
    ServerName,
    /// The client did not send TLS.
    NotTls,
    /// The client did not accept the certificate of this run.
    Certificate,
    /// The request is not well-formed HTTP/1.1.
    Malformed,
    /// The client took too long.
    Slow,
    /// The traffic limit is reached.
    ByteCap,
    /// A credential's placeholder was sent to another host.
    Credential,
}

impl NetworkRefusal {
    /// The HTTP status: the request is malformed, or not allowed.
    pub(crate) fn status(&self) -> u16 {
        match self.kind {
            RefusalKind::Malformed | RefusalKind::Slow => 400,
            RefusalKind::Host
            | RefusalKind::Port
            | RefusalKind::Address
            | RefusalKind::Method
            | RefusalKind::Smuggling
            | RefusalKind::HostMismatch
            | RefusalKind::ServerName
            | RefusalKind::NotTls
            | RefusalKind::Certificate
            | RefusalKind::ByteCap
            | RefusalKind::Credential => 403,
        }
    }

    fn about(kind: RefusalKind, host: &Host, port: u16, message: String) -> Self {
        NetworkRefusal { kind, host: Some(host.clone()), port: Some(port), message, hint: None }
    }

    fn with_hint(self, hint: String) -> Self {
        NetworkRefusal { hint: Some(hint), ..self }
    }

    pub(crate) fn malformed(what: &str) -> Self {
        NetworkRefusal {
            kind: RefusalKind::Malformed,
            host: None,
            port: None,
            message: what.to_owned(),
            hint: None,
        }
    }

    pub(crate) fn bad_host(error: HostParseError) -> Self {
        Self::malformed(&error.to_string())
    }

    pub(crate) fn slow() -> Self {
        NetworkRefusal {
            kind: RefusalKind::Slow,
            ..Self::malformed("the request's head took too long to arrive")
        }
    }

    pub(crate) fn ungranted(reason: Ungranted, host: &Host, port: u16) -> Self {
        // Such a grant would be refused too, so don't suggest one.
        let never = match host {
            Host::Address(address) => address::forbidden(*address),
            Host::Name(name) => address::is_localhost(name).then_some("a loopback address"),
        };
        if let Some(what) = never {
            return Self::address(host, port, what);
        }
        let grant = scope(host, port);
        let (kind, message) = match reason {
            Ungranted::Host => (RefusalKind::Host, format!("no grant covers the host `{host}`")),
            Ungranted::Port => {
                (RefusalKind::Port, format!("no grant covers port {port} of `{host}`"))
            }
        };
        Self::about(kind, host, port, message).with_hint(format!(
            "`network:read:{grant}` would allow reading from it, `network:write:{grant}` everything"
        ))
    }

    pub(crate) fn address(host: &Host, port: u16, what: &str) -> Self {
        let verb = match host {
            Host::Name(_) => "resolves to",
            Host::Address(_) => "is",
        };
        Self::about(RefusalKind::Address, host, port, format!("`{host}` {verb} {what}"))
            .with_hint(
                "it can't be granted: such addresses belong to this machine, its network or its cloud, and only public ones can be granted"
                    .to_owned(),
            )
    }

    pub(crate) fn method(host: &Host, port: u16, method: &str) -> Self {
        Self::needs_write(RefusalKind::Method, host, port, &format!("`{method}`"))
    }

    pub(crate) fn smuggling(host: &Host, port: u16, what: &str) -> Self {
        Self::needs_write(RefusalKind::Smuggling, host, port, what)
    }

    fn needs_write(kind: RefusalKind, host: &Host, port: u16, what: &str) -> Self {
        Self::about(kind, host, port, format!("{what} needs write access to `{host}`"))
            .with_hint(format!("`network:write:{}` would allow it", scope(host, port)))
    }

    /// A refusal of something that no grant allows, not even one for writing.
    pub(crate) fn never(host: &Host, port: u16, what: &str) -> Self {
        Self::about(RefusalKind::Smuggling, host, port, what.to_owned())
    }

    pub(crate) fn host_mismatch(host: &Host, port: u16) -> Self {
        let message = format!("the `Host` field does not name `{host}`, the target of the request");
        Self::about(RefusalKind::HostMismatch, host, port, message)
    }

    pub(crate) fn server_name(host: &Host, port: u16) -> Self {
        let message =
            format!("the TLS ClientHello does not name `{host}`, the target of the tunnel");
        Self::about(RefusalKind::ServerName, host, port, message)
    }

    pub(crate) fn not_tls(host: Option<&Host>, port: u16, what: &str) -> Self {
        NetworkRefusal {
            kind: RefusalKind::NotTls,
            host: host.cloned(),
            port: Some(port),
            message: what.to_owned(),
            hint: None,
        }
    }

    pub(crate) fn certificate(host: &Host, port: u16) -> Self {
        let message = format!("the client did not accept this run's certificate for `{host}`");
        Self::about(RefusalKind::Certificate, host, port, message).with_hint(format!(
            "reading is enforced inside TLS; `network:write:{}` needs no certificate of this run",
            scope(host, port)
        ))
    }

    /// The certificate was not accepted, so no credential can be inserted.
    pub(crate) fn certificate_for_credential(host: &Host, port: u16) -> Self {
        NetworkRefusal {
            hint: Some(format!(
                "credentials for `{host}` are inserted inside TLS; run it without them"
            )),
            ..Self::certificate(host, port)
        }
    }

    pub(crate) fn credential(host: &Host, port: u16, name: &str, bound: &Host) -> Self {
        let message = format!(
            "the tool tried to send the placeholder of `{name}` to `{host}`, but it is for `{bound}`"
        );
        Self::about(RefusalKind::Credential, host, port, message)
    }

    pub(crate) fn credential_without_tls(host: &Host, port: u16, name: &str) -> Self {
        let message =
            format!("the tool tried to send the placeholder of `{name}` to `{host}` without TLS");
        Self::about(RefusalKind::Credential, host, port, message)
            .with_hint(format!("use `https://{host}`"))
    }

    pub(crate) fn byte_cap(host: &Host, port: u16, cap: u64) -> Self {
        let message = format!("this run reached its limit of {cap} bytes of network traffic");
        Self::about(RefusalKind::ByteCap, host, port, message)
    }
}

/// The message for the client and the terminal.
impl fmt::Display for NetworkRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "refused: {}", self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

/// The scope that a permission needs for this host and port.
fn scope(host: &Host, port: u16) -> String {
    match port {
        80 | 443 => host.to_string(),
        _ => format!("{host}:{port}"),
    }
}
