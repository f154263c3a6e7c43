//! The certificate authority of one run.
//!
//! `network:read` over TLS can only be enforced by reading the requests, for which the client has to
//! accept a certificate of this authority. It is created for one run, kept in memory, constrained to
//! the granted names, and expires within a day (attacks sandbox-C34, sandbox-C35).

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};

use rcgen::{
    BasicConstraints, CertificateParams, CidrSubnet, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, GeneralSubtree, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    NameConstraints, SanType, SerialNumber,
};
use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use time::{Duration, OffsetDateTime};

use crate::credentials::HostCredential;
use crate::host::Host;
use crate::policy::{HostAccess, HostGrant, HostMatcher};

/// Tolerance for clock skew; both together stay below 24 hours.
const VALID_BEFORE: Duration = Duration::minutes(5);
const VALID_AFTER: Duration = Duration::hours(23);
/// Maximum number of leaf certificates: under `*.example.com` the sandbox chooses the names.
const MAX_LEAVES: usize = 512;

/// Signs certificates for the hosts whose TLS is terminated.
pub(crate) struct CertificateAuthority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
    provider: Arc<CryptoProvider>,
    // One key for all leaf certificates: generating a key costs more than signing.
    leaf_key: KeyPair,
    not_before: OffsetDateTime,
    not_after: OffsetDateTime,
    leaves: Mutex<HashMap<Host, Arc<ServerConfig>>>,
}

/// A certificate could not be created.
pub(crate) type CertificateError = Box<dyn std::error::Error + Send + Sync>;

impl CertificateAuthority {
    /// Creates an authority for the hosts that are granted for reading or have a credential, or
    /// `None` if there are none.
    pub(crate) fn new(
        grants: &[HostGrant],
        credentials: &[HostCredential],
        provider: Arc<CryptoProvider>,
        now: OffsetDateTime,
    ) -> Result<Option<Self>, CertificateError> {
        let mut read: Vec<HostMatcher> = grants
            .iter()
            .filter(|grant| grant.access == HostAccess::Read)
            .map(|grant| grant.host.clone())
            .collect();
        let bound = credentials.iter().map(|credential| credential.host.clone());
        read.extend(bound.map(HostMatcher::Exact));
        if read.is_empty() {
            return Ok(None);
        }
        let mut params = CertificateParams::default();
        params.distinguished_name = common_name("Prowess sandbox, one run");
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        params.use_authority_key_identifier_extension = true;
        params.name_constraints = Some(constraints(&read));
        params.not_before = now - VALID_BEFORE;
        params.not_after = now + VALID_AFTER;
        params.serial_number = Some(serial(&provider)?);
        let key = KeyPair::generate()?;
        Ok(Some(CertificateAuthority {
            pem: params.self_signed(&key)?.pem(),
            not_before: params.not_before,
            not_after: params.not_after,
            issuer: Issuer::new(params, key),
            provider,
            leaf_key: KeyPair::generate()?,
            leaves: Mutex::default(),
        }))
    }

    pub(crate) fn pem(&self) -> &str {
        &self.pem
    }

    /// The TLS configuration for connections to this host.
    pub(crate) fn server_config(&self, host: &Host) -> Result<Arc<ServerConfig>, CertificateError> {
        let mut leaves = self.leaves.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(config) = leaves.get(host) {
            return Ok(Arc::clone(config));
        }
        let config = Arc::new(self.sign(host)?);
        if leaves.len() >= MAX_LEAVES {
            leaves.clear();
        }
        leaves.insert(host.clone(), Arc::clone(&config));
        Ok(config)
    }

    fn sign(&self, host: &Host) -> Result<ServerConfig, CertificateError> {
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(self.leaf_key.serialize_der()));
        let mut config = ServerConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![self.leaf(host)?], key)?;
        // Requests are parsed as HTTP/1.1; clients that don't support it get no connection.
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        // Session resumption would be safe but is not needed.
        config.send_tls13_tickets = 0;
        Ok(config)
    }

    fn leaf(&self, host: &Host) -> Result<CertificateDer<'static>, CertificateError> {
        let mut params = CertificateParams::default();
        // Its own subject: with the issuer's it would look self-signed.
        params.distinguished_name = common_name("Prowess sandbox");
        params.subject_alt_names = vec![match host {
            Host::Name(name) => SanType::DnsName(name.as_str().try_into()?),
            Host::Address(address) => SanType::IpAddress(*address),
        }];
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        params.not_before = self.not_before;
        params.not_after = self.not_after;
        // The default serial number is derived from the key, which is the same for all
        // certificates.
        params.serial_number = Some(serial(&self.provider)?);
        Ok(params.signed_by(&self.leaf_key, &self.issuer)?.der().clone())
    }
}

/// Name constraints (RFC 5280 §4.2.1.10): no certificate of this authority is valid for other
/// names. A permitted name includes its subdomains; `*` permits all names.
fn constraints(read: &[HostMatcher]) -> NameConstraints {
    let mut permitted = Vec::new();
    let mut excluded = Vec::new();
    for pattern in read {
        permitted.push(match pattern {
            HostMatcher::Exact(Host::Name(name)) | HostMatcher::Suffix(name) => {
                GeneralSubtree::DnsName(name.as_str().to_owned())
            }
            HostMatcher::Exact(Host::Address(address)) => {
                let bits = if address.is_ipv4() { 32 } else { 128 };
                GeneralSubtree::IpAddress(CidrSubnet::from_addr_prefix(*address, bits))
            }
            HostMatcher::Any => GeneralSubtree::DnsName(String::new()),
        });
    }
    // A kind of name that is not mentioned is unconstrained, so both kinds are listed.
    let names = permitted.iter().any(|subtree| matches!(subtree, GeneralSubtree::DnsName(_)));
    if !names {
        excluded.push(GeneralSubtree::DnsName(String::new()));
    }
    let addresses = permitted.iter().any(|subtree| matches!(subtree, GeneralSubtree::IpAddress(_)));
    if !addresses {
        for all in [IpAddr::from(Ipv4Addr::UNSPECIFIED), Ipv6Addr::UNSPECIFIED.into()] {
            excluded.push(GeneralSubtree::IpAddress(CidrSubnet::from_addr_prefix(all, 0)));
        }
    }
    NameConstraints { permitted_subtrees: permitted, excluded_subtrees: excluded }
}

fn common_name(text: &str) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, text);
    name
}

fn serial(provider: &CryptoProvider) -> Result<SerialNumber, CertificateError> {
    let mut bytes = [0; 16];
    provider.secure_random.fill(&mut bytes).map_err(|_| "no random numbers")?;
    bytes[0] = bytes[0] & 0x7f | 1; // positive, and never shortened
    Ok(SerialNumber::from_slice(&bytes))
}

#[cfg(test)]
mod tests;
