//! Logging in: a password, perhaps a code, and limits on how often both may be wrong.

use std::net::IpAddr;
use std::sync::Arc;

use prowess_core::{Problem, ProblemKind};
use serde_json::json;

use crate::accounts::{Accounts, User, Username};
use crate::audit::{AuditEntry, AuditLog};
use crate::limits::{Limit, Limits, address_subject};
use crate::secret::Secret;

/// Failed log-ins of one user from one address.
const PER_USER_AND_ADDRESS: Limit = Limit::per_minute("log-in", 10);

/// Failed log-ins from one address, for all users: somebody who tries common passwords.
const PER_ADDRESS: Limit = Limit::per_minute("log-in-address", 60);

/// Failed log-ins of one user from all addresses: somebody who has many of them.
const PER_USER: Limit = Limit::per_hour("log-in-user", 100);

const WRONG_PASSWORD: &str = "wrong-password";
const WRONG_CODE: &str = "wrong-code";

/// A request to log in.
#[derive(Clone, Debug)]
pub struct LogIn {
    /// The name, as it was entered.
    pub username: String,
    /// The password.
    pub password: Secret,
    /// The code of the authenticator app, or a recovery code.
    pub code: Option<Secret>,
    /// The address of the client: see [`crate::identity::ClientAddress`].
    pub address: IpAddr,
}

/// Checks log-ins.
pub struct LogIns {
    pub(crate) accounts: Arc<Accounts>,
    pub(crate) limits: Arc<Limits>,
    pub(crate) audit: Arc<AuditLog>,
}

impl LogIns {
    /// The user, if all that is asked for is right.
    ///
    /// The problems are `wrong-password`, which does not say whether the user exists; `code-required` and `wrong-code` of a
    /// user with a second factor; and `rate-limited`.
    pub async fn authenticate(&self, log_in: LogIn) -> Result<User, Problem> {
        let LogIn { username, password, code, address } = log_in;
        // What is no username has no account that needs protection, but the address counts.
        let account = username.parse::<Username>().map_or("-".to_owned(), |name| name.to_string());
        let address_subject = address_subject(address);
        let both = format!("{account} {address_subject}");
        let limits = [
            (PER_USER_AND_ADDRESS, both.as_str()),
            (PER_ADDRESS, address_subject.as_str()),
            (PER_USER, account.as_str()),
        ];
        for (limit, subject) in limits {
            self.limits.peek(limit, subject).await?;
        }
        let checked = self.check(&username, &password, code.as_ref()).await;
        // Failures count, and not requests: many programs of one user may log in at the same time. Attempts that were let
        // through together are all counted, so that they win nothing.
        if checked.as_ref().is_err_and(is_failed_attempt) {
            tracing::info!(%address, "a log-in failed");
            for (limit, subject) in limits {
                self.limits.charge(limit, subject).await?;
            }
        }
        let user = checked?;
        self.audit
            .append(AuditEntry {
                actor: user.id.clone(),
                action: "log-in",
                subject: user.id.clone(),
                address: Some(address),
                details: json!({}),
            })
            .await?;
        Ok(user)
    }

    async fn check(
        &self,
        username: &str,
        password: &Secret,
        code: Option<&Secret>,
    ) -> Result<User, Problem> {
        let user = self.accounts.verify_password(username, password).await?;
        let user = user.ok_or_else(wrong_password)?;
        if user.has_totp {
            let code = code.ok_or_else(code_required)?;
            if !self.accounts.verify_totp(&user.id, code.expose()).await? {
                return Err(wrong_code());
            }
        }
        Ok(user)
    }
}

/// Not a database that does not answer, and not the question for a code.
fn is_failed_attempt(problem: &Problem) -> bool {
    matches!(problem.code, WRONG_PASSWORD | WRONG_CODE)
}

fn wrong_password() -> Problem {
    Problem::new(
        WRONG_PASSWORD,
        ProblemKind::Unauthorized,
        "the username or the password is not right",
    )
    .advice("check both; an administrator can set a new password")
}

fn code_required() -> Problem {
    Problem::new(
        "code-required",
        ProblemKind::Unauthorized,
        "the code of your authenticator app is needed",
    )
}

fn wrong_code() -> Problem {
    Problem::new(WRONG_CODE, ProblemKind::Unauthorized, "the code is not right")
        .advice("enter the code that your authenticator shows now, and check its clock")
}
