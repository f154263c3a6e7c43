//! TLS with `ring` and the certificate authorities of the system.

use std::sync::{Arc, OnceLock};

use rustls::{ClientConfig, RootCertStore};

/// Which certificate authorities are trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authorities {
    /// Those of the system, read once per process. Reading them takes longer than a request to a server on this machine.
    System,
    /// None, for connections that are not encrypted.
    None,
}

/// TLS can't be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TlsError {
    /// There is no certificate to check others with.
    #[error("this machine has no trusted certificate authorities")]
    NoAuthorities,
    /// The library has no protocol version in common with its own settings.
    #[error("TLS can't be set up")]
    Setup,
}

/// Settings for connections, with the same authorities for the whole process.
pub fn tls(authorities: Authorities) -> Result<ClientConfig, TlsError> {
    static SYSTEM: OnceLock<Arc<RootCertStore>> = OnceLock::new();
    let roots = match authorities {
        Authorities::System => Arc::clone(SYSTEM.get_or_init(|| {
            let mut roots = RootCertStore::empty();
            // Single unreadable certificates are usual; only none at all is a problem.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            Arc::new(roots)
        })),
        Authorities::None => Arc::new(RootCertStore::empty()),
    };
    if authorities == Authorities::System && roots.is_empty() {
        return Err(TlsError::NoAuthorities);
    }
    let ring = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(ring)
        .with_safe_default_protocol_versions()
        .map_err(|_| TlsError::Setup)?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}
