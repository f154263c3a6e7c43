//! The second factor: codes of an authenticator app (RFC 6238), and recovery codes for the day it is lost.

use data_encoding::BASE32_NOPAD;
use prowess_core::{Problem, ProblemKind};
use ring::hmac;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use super::{Accounts, User, no_such_user, user_by_id};
use crate::clock::Timestamp;
use crate::database::{DatabaseError, Transaction, values};
use crate::secret::{Secret, new_secret_code, random};

/// Seconds per code, and digits: what every authenticator app supports.
const STEP_SECONDS: i64 = 30;
const DIGITS: u32 = 6;

/// Codes before and after the current one that are accepted, for clocks that differ.
const DRIFT: i64 = 1;

/// Bytes of a secret (RFC 4226 §4 recommends 20).
const SECRET_BYTES: usize = 20;

const RECOVERY_CODES: usize = 10;

/// A second factor that is not active yet: the user has to enter a code first.
#[derive(Clone, Debug)]
pub struct TotpEnrolment {
    /// The secret in base32, for typing it in.
    pub secret: Secret,
    /// The `otpauth:` address, for a QR code.
    pub address: Secret,
}

/// Codes that each replace the authenticator app once.
#[derive(Clone, Debug)]
pub struct RecoveryCodes(pub Vec<Secret>);

impl Accounts {
    /// Makes a new secret for a user. It becomes active with [`Accounts::confirm_totp`].
    pub async fn begin_totp(&self, user: &User, issuer: &str) -> Result<TotpEnrolment, Problem> {
        let secret: [u8; SECRET_BYTES] = random();
        let id = user.id.clone();
        let changed = self
            .database
            .write(move |transaction| {
                transaction.execute(
                    "UPDATE users SET totp_secret = ?2 WHERE id = ?1 AND totp_enabled = 0",
                    &values![&id, secret],
                )
            })
            .await?;
        if changed == 0 {
            return Err(Problem::new(
                "two-factor-active",
                ProblemKind::Conflict,
                "two-factor authentication is already active",
            ));
        }
        let text = BASE32_NOPAD.encode(&secret);
        let address = address(issuer, user, &text);
        Ok(TotpEnrolment { secret: Secret::new(text), address: Secret::new(address) })
    }

    /// Activates the second factor, if the code shows that the user's app has the secret.
    pub async fn confirm_totp(&self, id: &str, code: &str) -> Result<RecoveryCodes, Problem> {
        let codes: Vec<Secret> = (0..RECOVERY_CODES).map(|_| new_secret_code()).collect();
        let hashes: Vec<[u8; 32]> = codes.iter().map(|code| hash(code.expose())).collect();
        let (owned, code, now) = (id.to_owned(), code.to_owned(), self.clock.now());
        let is_confirmed = self
            .database
            .write(move |transaction| {
                let Some(factor) = Factor::read(transaction, &owned)? else {
                    return Ok(false);
                };
                let Some(step) = factor.matching_step(&code, now) else {
                    return Ok(false);
                };
                transaction.execute(
                    "UPDATE users SET totp_enabled = 1, totp_last_step = ?2 WHERE id = ?1",
                    &values![&owned, step],
                )?;
                transaction
                    .execute("DELETE FROM recovery_codes WHERE user_id = ?1", &values![&owned])?;
                for hash in &hashes {
                    transaction.execute(
                        "INSERT INTO recovery_codes (user_id, hash) VALUES (?1, ?2)",
                        &values![&owned, hash],
                    )?;
                }
                Ok::<_, DatabaseError>(true)
            })
            .await?;
        self.remembered.remove(id);
        if is_confirmed { Ok(RecoveryCodes(codes)) } else { Err(wrong_code()) }
    }

    /// Removes the second factor of a user.
    pub async fn disable_totp(&self, id: &str) -> Result<(), Problem> {
        let owned = id.to_owned();
        let changed = self
            .database
            .write(move |transaction| {
                transaction
                    .execute("DELETE FROM recovery_codes WHERE user_id = ?1", &values![&owned])?;
                transaction.execute(
                    "UPDATE users SET totp_enabled = 0, totp_secret = NULL WHERE id = ?1",
                    &values![&owned],
                )
            })
            .await?;
        self.remembered.remove(id);
        if changed == 0 { Err(no_such_user()) } else { Ok(()) }
    }

    /// Checks a code of the app, or a recovery code. Each is accepted once.
    pub async fn verify_totp(&self, id: &str, code: &str) -> Result<bool, Problem> {
        let (id, code, now) = (id.to_owned(), normalised(code), self.clock.now());
        let is_right = self
            .database
            .write(move |transaction| {
                if !user_by_id(transaction, &id)?.is_some_and(|user| user.has_totp) {
                    return Ok(false);
                }
                if let Some(factor) = Factor::read(transaction, &id)?
                    && let Some(step) = factor.matching_step(&code, now)
                {
                    transaction.execute(
                        "UPDATE users SET totp_last_step = ?2 WHERE id = ?1",
                        &values![&id, step],
                    )?;
                    return Ok(true);
                }
                let removed = transaction.execute(
                    "DELETE FROM recovery_codes WHERE user_id = ?1 AND hash = ?2",
                    &values![&id, hash(&code)],
                )?;
                Ok::<_, DatabaseError>(removed == 1)
            })
            .await?;
        Ok(is_right)
    }
}

/// The address that authenticator apps read from a QR code.
fn address(issuer: &str, user: &User, secret: &str) -> String {
    let mut address = url::Url::parse("otpauth://totp/").expect("the address is valid");
    address.set_path(&format!("/{issuer}:{}", user.username));
    address
        .query_pairs_mut()
        .append_pair("secret", secret)
        .append_pair("issuer", issuer)
        .append_pair("digits", &DIGITS.to_string())
        .append_pair("period", &STEP_SECONDS.to_string());
    address.to_string()
}

/// The secret of a user, and the last code that was used.
struct Factor {
    secret: Vec<u8>,
    last_step: i64,
}

impl Factor {
    fn read(transaction: &mut Transaction<'_>, id: &str) -> Result<Option<Factor>, DatabaseError> {
        let row = transaction.query_optional(
            "SELECT totp_secret, totp_last_step FROM users WHERE id = ?1",
            &values![id],
        )?;
        let Some(row) = row else {
            return Ok(None);
        };
        let secret: Option<Vec<u8>> = row.get("totp_secret")?;
        let last_step = row.get("totp_last_step")?;
        Ok(secret.map(|secret| Factor { secret, last_step }))
    }

    /// The step whose code it is, if that is near the current one and later than the last used one.
    fn matching_step(&self, code: &str, now: Timestamp) -> Option<i64> {
        let current = now.seconds() / STEP_SECONDS;
        (current - DRIFT..=current + DRIFT)
            .filter(|step| *step > self.last_step)
            .find(|step| totp(&self.secret, *step).as_bytes().ct_eq(code.as_bytes()).into())
    }
}

/// The code of a step (RFC 4226 §5.3 with the time of RFC 6238 §4).
fn totp(secret: &[u8], step: i64) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, secret);
    let tag = hmac::sign(&key, &step.to_be_bytes());
    let tag = tag.as_ref();
    let offset = usize::from(tag[tag.len() - 1] & 15);
    let bytes = [tag[offset] & 0x7f, tag[offset + 1], tag[offset + 2], tag[offset + 3]];
    let number = u32::from_be_bytes(bytes) % 10_u32.pow(DIGITS);
    format!("{number:0width$}", width = DIGITS as usize)
}

/// People type spaces and hyphens into codes, and capital letters.
fn normalised(code: &str) -> String {
    let letters = code.chars().filter(|letter| !matches!(letter, ' ' | '-'));
    letters.take(64).flat_map(char::to_lowercase).collect()
}

fn hash(code: &str) -> [u8; 32] {
    Sha256::digest(normalised(code).as_bytes()).into()
}

fn wrong_code() -> Problem {
    Problem::new("wrong-code", ProblemKind::Refused, "the code is not right")
        .advice("check the time of your phone, and enter the newest code")
}

#[cfg(test)]
mod tests {
    use super::{Factor, normalised, totp};
    use crate::clock::Timestamp;

    const SECRET: &[u8] = b"12345678901234567890";

    /// RFC 6238, appendix B, the last six of its eight digits.
    #[test]
    fn codes_are_those_of_the_rfc() {
        for (seconds, code) in [
            (59, "287082"),
            (1_111_111_109, "081804"),
            (1_111_111_111, "050471"),
            (1_234_567_890, "005924"),
            (2_000_000_000, "279037"),
            (20_000_000_000, "353130"),
        ] {
            assert_eq!(totp(SECRET, seconds / 30), code);
        }
    }

    #[test]
    fn a_code_is_accepted_near_its_time_and_once() {
        let at = |last_step, seconds| {
            let factor = Factor { secret: SECRET.to_vec(), last_step };
            factor.matching_step("081804", Timestamp::from_seconds(seconds))
        };
        let step = 1_111_111_109 / 30;
        assert_eq!(at(0, 1_111_111_109), Some(step));
        assert_eq!(at(0, 1_111_111_109 + 30), Some(step));
        assert_eq!(at(0, 1_111_111_109 - 30), Some(step));
        assert_eq!(at(0, 1_111_111_109 + 61), None);
        assert_eq!(at(step, 1_111_111_109), None);
    }

    #[test]
    fn codes_are_compared_without_what_people_add() {
        assert_eq!(normalised(" ABCD-efgh 12"), "abcdefgh12");
    }
}
