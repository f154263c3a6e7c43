//! Passwords as argon2id hashes, with a bound on how many are computed at the same time.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use argon2::password_hash::{PasswordHash, PasswordHasher as _, PasswordVerifier as _, SaltString};
use argon2::{Algorithm, Argon2, Params, Version};
use prowess_core::{Problem, ProblemKind};
use tokio::sync::Semaphore;

use crate::secret::{Secret, random};

/// The shortest password, in characters (NIST SP 800-63B asks for 8).
pub const SHORTEST_PASSWORD: usize = 8;

/// The longest password, in bytes: more would only keep a processor busy.
pub const MOST_PASSWORD_BYTES: usize = 1024;

/// Memory in KiB, passes and lanes: the first choice of OWASP's password storage page.
const MEMORY: u32 = 19 * 1024;
const PASSES: u32 = 2;
const LANES: u32 = 1;

/// Hashes that are computed at the same time. Each needs 19 MiB and a processor for tens of milliseconds.
const AT_ONCE: usize = 2;

/// Log-ins that may wait for their turn.
const MOST_WAITING: usize = 64;

/// How long a log-in waits for its turn.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// What a check came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PasswordOutcome {
    Right,
    Wrong,
}

/// Computes hashes on blocking threads.
pub(super) struct PasswordHashing {
    at_once: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
}

impl PasswordHashing {
    pub(super) fn new() -> PasswordHashing {
        PasswordHashing {
            at_once: Arc::new(Semaphore::new(AT_ONCE)),
            waiting: Arc::new(Semaphore::new(MOST_WAITING)),
        }
    }

    pub(super) async fn hash(&self, password: &Secret) -> Result<String, Problem> {
        let password = password.clone();
        self.run(move || hash(&password)).await?
    }

    /// Compares a password with a hash. Without a hash the same work is done for nothing, so that the time does not tell
    /// which users exist.
    pub(super) async fn verify(
        &self,
        password: &Secret,
        hash: Option<String>,
    ) -> Result<PasswordOutcome, Problem> {
        let password = password.clone();
        self.run(move || {
            let is_right = verify(&password, hash.as_deref().unwrap_or_else(|| nobody()));
            if is_right && hash.is_some() { PasswordOutcome::Right } else { PasswordOutcome::Wrong }
        })
        .await
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let _waiting = self.waiting.try_acquire().map_err(|_| overloaded())?;
        let acquire = Arc::clone(&self.at_once).acquire_owned();
        let permit = tokio::time::timeout(LONGEST_WAIT, acquire)
            .await
            .map_err(|_| overloaded())?
            .map_err(|_| overloaded())?;
        let task = tokio::task::spawn_blocking(move || {
            let result = work();
            drop(permit);
            result
        });
        task.await.map_err(|_| overloaded())
    }
}

fn overloaded() -> Problem {
    Problem::new("log-in-busy", ProblemKind::Unavailable, "too many log-ins at the same time")
        .advice("try again in a moment")
}

/// Refuses passwords that are too short or too long.
pub(super) fn check(password: &Secret) -> Result<(), Problem> {
    let password = password.expose();
    if password.chars().count() < SHORTEST_PASSWORD {
        return Err(invalid(format!("a password has at least {SHORTEST_PASSWORD} characters")));
    }
    if password.len() > MOST_PASSWORD_BYTES {
        return Err(invalid(format!("a password has at most {MOST_PASSWORD_BYTES} bytes")));
    }
    Ok(())
}

fn invalid(message: String) -> Problem {
    Problem::new("invalid-password", ProblemKind::InvalidInput, message)
}

fn argon2() -> Argon2<'static> {
    let params = Params::new(MEMORY, PASSES, LANES, None).expect("the parameters are in range");
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
}

/// The hash with its parameters and a random salt, in PHC format.
pub(super) fn hash(password: &Secret) -> Result<String, Problem> {
    let failed = |_| Problem::new("hash-failed", ProblemKind::Internal, "cannot hash a password");
    let salt = SaltString::encode_b64(&random::<16>()).map_err(failed)?;
    let hash = argon2().hash_password(password.expose().as_bytes(), &salt).map_err(failed)?;
    Ok(hash.to_string())
}

fn verify(password: &Secret, hash: &str) -> bool {
    if password.expose().len() > MOST_PASSWORD_BYTES {
        return false;
    }
    let Ok(hash) = PasswordHash::new(hash) else {
        return false;
    };
    argon2().verify_password(password.expose().as_bytes(), &hash).is_ok()
}

/// The hash of a password that nobody knows, with the same parameters.
fn nobody() -> &'static str {
    static HASH: OnceLock<String> = OnceLock::new();
    HASH.get_or_init(|| {
        let password = Secret::new(crate::secret::new_id("nobody"));
        hash(&password).unwrap_or_default()
    })
}

#[cfg(test)]
mod tests {
    use super::{PasswordHashing, PasswordOutcome, check, hash};
    use crate::secret::Secret;

    #[tokio::test]
    async fn the_right_password_is_recognised() {
        let hashing = PasswordHashing::new();
        let hash = hash(&Secret::new("correct horse")).expect("a hash");
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        let verify = async |password: &str, hash: Option<String>| {
            hashing.verify(&Secret::new(password), hash).await.expect("an outcome")
        };
        assert_eq!(verify("correct horse", Some(hash.clone())).await, PasswordOutcome::Right);
        assert_eq!(verify("correct horsf", Some(hash.clone())).await, PasswordOutcome::Wrong);
        assert_eq!(verify("correct horse", None).await, PasswordOutcome::Wrong);
        assert_eq!(verify("correct horse", Some(String::new())).await, PasswordOutcome::Wrong);
    }

    #[test]
    fn hashes_of_the_same_password_differ() {
        let password = Secret::new("correct horse");
        assert_ne!(hash(&password).expect("a hash"), hash(&password).expect("a hash"));
    }

    #[test]
    fn lengths_have_limits() {
        assert!(check(&Secret::new("1234567")).is_err());
        assert!(check(&Secret::new("12345678")).is_ok());
        // Characters count, not bytes.
        assert!(check(&Secret::new("ääää")).is_err());
        assert!(check(&Secret::new("x".repeat(1024))).is_ok());
        assert!(check(&Secret::new("x".repeat(1025))).is_err());
    }
}
