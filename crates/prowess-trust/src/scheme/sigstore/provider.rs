//! The cryptography provider for the Sigstore crate, based on `ring`, which TLS needs anyway.

use std::sync::Once;

use p256::ecdsa::signature::hazmat::PrehashVerifier;
use ring::digest::{Context, SHA256, SHA384, SHA512};
use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA384_ASN1, ECDSA_P384_SHA256_ASN1, ECDSA_P384_SHA384_ASN1,
    ED25519, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512,
    RSA_PSS_2048_8192_SHA256, RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512,
    UnparsedPublicKey, VerificationAlgorithm,
};
use sigstore_verify::crypto::{
    CryptoProvider, Error, HashContext, Result, SigningScheme, install_default_provider,
};
use sigstore_verify::types::HashAlgorithm;

/// Registers the provider, once per process. If one is registered already, that one is used.
pub(super) fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let _ = install_default_provider(&Ring);
    });
}

#[derive(Debug)]
struct Ring;

struct Hash(Context);

impl HashContext for Hash {
    fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    fn finalize(self: Box<Self>) -> Vec<u8> {
        self.0.finish().as_ref().to_vec()
    }
}

impl CryptoProvider for Ring {
    fn hash(&self, algorithm: HashAlgorithm) -> Result<Box<dyn HashContext>> {
        let algorithm = match algorithm {
            HashAlgorithm::Sha2256 => &SHA256,
            HashAlgorithm::Sha2384 => &SHA384,
            HashAlgorithm::Sha2512 => &SHA512,
            other => return Err(Error::UnsupportedAlgorithm(other.to_string())),
        };
        Ok(Box::new(Hash(Context::new(algorithm))))
    }

    fn verify_raw(
        &self,
        scheme: SigningScheme,
        key: &[u8],
        data: &[u8],
        signature: &[u8],
    ) -> Result<()> {
        let algorithm: &dyn VerificationAlgorithm = match scheme {
            SigningScheme::EcdsaP256Sha256 => &ECDSA_P256_SHA256_ASN1,
            SigningScheme::EcdsaP256Sha384 => &ECDSA_P256_SHA384_ASN1,
            SigningScheme::EcdsaP384Sha256 => &ECDSA_P384_SHA256_ASN1,
            SigningScheme::EcdsaP384Sha384 => &ECDSA_P384_SHA384_ASN1,
            SigningScheme::Ed25519 => &ED25519,
            SigningScheme::RsaPssSha256 => &RSA_PSS_2048_8192_SHA256,
            SigningScheme::RsaPssSha384 => &RSA_PSS_2048_8192_SHA384,
            SigningScheme::RsaPssSha512 => &RSA_PSS_2048_8192_SHA512,
            SigningScheme::RsaPkcs1Sha256 => &RSA_PKCS1_2048_8192_SHA256,
            SigningScheme::RsaPkcs1Sha384 => &RSA_PKCS1_2048_8192_SHA384,
            SigningScheme::RsaPkcs1Sha512 => &RSA_PKCS1_2048_8192_SHA512,
            other => return Err(Error::UnsupportedAlgorithm(other.name().to_owned())),
        };
        let key = UnparsedPublicKey::new(algorithm, key);
        key.verify(data, signature).map_err(|_| invalid(scheme))
    }

    /// `ring` can't verify prehashed signatures, so these use another crate.
    fn verify_prehashed(
        &self,
        scheme: SigningScheme,
        key: &[u8],
        digest: &[u8],
        signature: &[u8],
    ) -> Result<()> {
        let verified = match scheme {
            SigningScheme::EcdsaP256Sha256 | SigningScheme::EcdsaP256Sha384 => {
                let key = p256::ecdsa::VerifyingKey::from_sec1_bytes(key);
                let signature = p256::ecdsa::DerSignature::from_bytes(signature);
                match (key, signature) {
                    (Ok(key), Ok(signature)) => key.verify_prehash(digest, &signature).is_ok(),
                    _ => false,
                }
            }
            SigningScheme::EcdsaP384Sha256 | SigningScheme::EcdsaP384Sha384 => {
                let key = p384::ecdsa::VerifyingKey::from_sec1_bytes(key);
                let signature = p384::ecdsa::DerSignature::from_bytes(signature);
                match (key, signature) {
                    (Ok(key), Ok(signature)) => key.verify_prehash(digest, &signature).is_ok(),
                    _ => false,
                }
            }
            other => return Err(Error::UnsupportedAlgorithm(other.name().to_owned())),
        };
        if verified { Ok(()) } else { Err(invalid(scheme)) }
    }
}

fn invalid(scheme: SigningScheme) -> Error {
    Error::Verification(format!("the {} signature is invalid", scheme.name()))
}
