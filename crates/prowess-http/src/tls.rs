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
    /// The system has no trusted certificate.
    #[error("this machine has no trusted certificate authorities")]
    NoAuthorities,
    /// The TLS library rejects its own protocol versions.
    #[error("TLS can't be set up")]
    Setup,
}

/// The TLS configuration, with the certificate authorities cached for the whole process.
pub fn tls(authorities: Authorities) -> Result<ClientConfig, TlsError> {
    static SYSTEM: OnceLock<Arc<RootCertStore>> = OnceLock::new();
    let roots = match authorities {
        Authorities::System => Arc::clone(SYSTEM.get_or_init(|| {
            let mut roots = RootCertStore::empty();
            // Some unreadable certificates are common; it is only an error if none can be read.
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
