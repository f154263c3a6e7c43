//! Random tokens and identifiers. Tokens are stored as their SHA-256 only.

use std::fmt;

use data_encoding::BASE32_NOPAD;
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

/// Random bytes of a token.
const TOKEN_BYTES: usize = 32;

/// Random bytes of an identifier.
const ID_BYTES: usize = 10;

/// Characters at the end of a token that follow from the others.
const CHECK_CHARACTERS: usize = 6;

/// A text that must not be shown or logged: a password, a token.
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Wraps a secret.
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(Zeroizing::new(text.into()))
    }

    /// The secret itself, for the one who is to get it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl<'de> serde::Deserialize<'de> for Secret {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Secret, D::Error> {
        String::deserialize(deserializer).map(Secret::new)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(…)")
    }
}

/// The SHA-256 of a token: what is stored of it.
pub(crate) type TokenHash = [u8; 32];

/// A new token: a prefix that names its kind, 256 random bits, and a checksum.
///
/// The prefix and the checksum let scanners find tokens that were published by mistake, and let a server refuse other
/// text without asking its database. The hash is that of [`token_hash`].
pub(crate) fn new_token(prefix: &str) -> (Secret, TokenHash) {
    let body = base32(&random::<TOKEN_BYTES>());
    let check = checksum(prefix, &body);
    let token = Secret::new(format!("{prefix}{body}{check}"));
    let hash = Sha256::digest(token.expose().as_bytes()).into();
    (token, hash)
}

/// The hash of a text that has the form of a token.
pub(crate) fn token_hash(prefix: &str, text: &str) -> Option<TokenHash> {
    let rest = text.strip_prefix(prefix)?;
    if !rest.is_ascii() || rest.len() != TOKEN_BYTES * 8 / 5 + 1 + CHECK_CHARACTERS {
        return None;
    }
    let (body, check) = rest.split_at(rest.len() - CHECK_CHARACTERS);
    (checksum(prefix, body) == check).then(|| Sha256::digest(text.as_bytes()).into())
}

fn checksum(prefix: &str, body: &str) -> String {
    let digest = Sha256::new().chain_update(prefix).chain_update(body).finalize();
    base32(&digest)[..CHECK_CHARACTERS].to_owned()
}

/// A new identifier that can't be guessed, with a prefix that names its kind: `u_…` for users.
pub(crate) fn new_id(prefix: &str) -> String {
    format!("{prefix}_{}", base32(&random::<ID_BYTES>()))
}

/// A new code that somebody may have to type: 80 random bits.
pub(crate) fn new_secret_code() -> Secret {
    Secret::new(base32(&random::<ID_BYTES>()))
}

/// Random bytes from the system.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    // A system without randomness can't run a server, and must not run one with guessable tokens.
    getrandom::fill(&mut bytes).expect("the system provides random bytes");
    bytes
}

/// Base32 in lower case and without padding: nothing has to be escaped, and a double click selects all of it.
fn base32(bytes: &[u8]) -> String {
    BASE32_NOPAD.encode(bytes).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::{Secret, new_id, new_token, token_hash};

    #[test]
    fn a_token_is_recognised_and_its_neighbours_are_not() {
        let (token, hash) = new_token("prw_");
        let text = token.expose();
        assert_eq!(token_hash("prw_", text), Some(hash));
        assert!(token_hash("prwr_", text).is_none());
        let last = if text.ends_with('a') { "b" } else { "a" };
        assert!(token_hash("prw_", &format!("{}{last}", &text[..text.len() - 1])).is_none());
        for other in ["", "prw_", "prw_ä", &text[1..], &text[..text.len() - 1]] {
            assert!(token_hash("prw_", other).is_none(), "{other}");
        }
    }

    #[test]
    fn tokens_and_identifiers_differ() {
        assert_ne!(new_token("prw_").1, new_token("prw_").1);
        assert_ne!(new_id("u"), new_id("u"));
        assert_eq!(new_id("u").len(), 18);
    }

    #[test]
    fn a_secret_is_not_shown() {
        assert_eq!(format!("{:?}", Secret::new("hunter2")), "Secret(…)");
    }
}
