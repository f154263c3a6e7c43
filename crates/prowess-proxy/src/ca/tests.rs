//! The names and the validity period of a run's certificate authority.

use std::sync::Arc;
use std::time::SystemTime;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, Error, RootCertStore};
use time::{Duration, OffsetDateTime};

use super::{CertificateAuthority, VALID_AFTER, VALID_BEFORE};
use crate::policy::{HostAccess, HostGrant};

fn authority(read: &[&str]) -> CertificateAuthority {
    let grants: Vec<HostGrant> = read
        .iter()
        .map(|host| HostGrant { host: host.parse().unwrap(), port: None, access: HostAccess::Read })
        .collect();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    CertificateAuthority::new(&grants, &[], provider, OffsetDateTime::now_utc()).unwrap().unwrap()
}

/// Verifies a certificate for a host that `signing` issued, with a client that trusts `trusted`.
fn believed(
    trusted: &CertificateAuthority,
    signing: &CertificateAuthority,
    host: &str,
    after: Duration,
) -> Result<(), Error> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(trusted.pem().as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier =
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
    let leaf = signing.leaf(&host.parse().unwrap()).unwrap();
    let now = SystemTime::now() + std::time::Duration::try_from(after).unwrap();
    let now = UnixTime::since_unix_epoch(now.duration_since(SystemTime::UNIX_EPOCH).unwrap());
    let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned()).unwrap();
    verifier.verify_server_cert(&leaf, &[], &name, &[], now).map(|_| ())
}

#[test]
fn certificates_are_valid_for_granted_names_only() {
    // sandbox-C34
    let table: [(&[&str], &str, bool); 14] = [
        (&["api.brave.test"], "api.brave.test", true),
        (&["api.brave.test"], "brave.test", false),
        (&["api.brave.test"], "evil.test", false),
        (&["api.brave.test"], "1.1.1.1", false),
        (&["*.brave.test"], "brave.test", true),
        (&["*.brave.test"], "api.brave.test", true),
        (&["*.brave.test"], "xbrave.test", false),
        (&["*.brave.test", "a.test"], "a.test", true),
        (&["*"], "anything.test", true),
        (&["*"], "1.1.1.1", false),
        (&["*"], "[2606:4700::1111]", false),
        (&["1.1.1.1"], "1.1.1.1", true),
        (&["1.1.1.1"], "1.1.1.2", false),
        (&["1.1.1.1"], "a.test", false),
    ];
    for (read, host, expected) in table {
        let authority = authority(read);
        let result = believed(&authority, &authority, host, Duration::ZERO);
        assert_eq!(result.is_ok(), expected, "{read:?} about {host}: {result:?}");
    }
}

#[test]
fn certificates_are_not_valid_in_another_run() {
    // sandbox-C35
    let (one, other) = (authority(&["api.test"]), authority(&["api.test"]));
    assert_eq!(believed(&one, &one, "api.test", Duration::ZERO), Ok(()));
    assert!(believed(&one, &other, "api.test", Duration::ZERO).is_err());
}

#[test]
fn certificates_expire_within_a_day() {
    // sandbox-C34
    assert!(VALID_BEFORE + VALID_AFTER <= Duration::DAY);
    let authority = authority(&["api.test"]);
    assert_eq!(believed(&authority, &authority, "api.test", Duration::hours(22)), Ok(()));
    let expired = believed(&authority, &authority, "api.test", Duration::hours(24)).unwrap_err();
    assert!(matches!(
        expired,
        Error::InvalidCertificate(
            CertificateError::Expired | CertificateError::ExpiredContext { .. }
        )
    ));
}

#[test]
fn no_authority_is_created_without_a_read_grant() {
    let grants = [HostGrant { host: "*".parse().unwrap(), port: None, access: HostAccess::Write }];
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let now = OffsetDateTime::now_utc();
    assert!(CertificateAuthority::new(&grants, &[], Arc::clone(&provider), now).unwrap().is_none());
    assert!(CertificateAuthority::new(&[], &[], provider, now).unwrap().is_none());
}

#[test]
fn leaf_certificates_are_cached_and_bounded() {
    let authority = authority(&["*.brave.test"]);
    let host = "a.brave.test".parse().unwrap();
    let first = authority.server_config(&host).unwrap();
    assert!(Arc::ptr_eq(&first, &authority.server_config(&host).unwrap()));
    for number in 0..=super::MAX_LEAVES {
        authority.server_config(&format!("h{number}.brave.test").parse().unwrap()).unwrap();
    }
    assert!(authority.leaves.lock().unwrap().len() <= super::MAX_LEAVES);
}
