use std::net::IpAddr;
use std::time::Duration;

use prowess_core::{Problem, ProblemKind};
use prowess_server::Secret;
use prowess_server::accounts::{Role, User};
use prowess_server::log_in::LogIn;
use ring::hmac;

use crate::support::{Bed, PASSWORD, on_both};

on_both! {
    eleven_wrong_passwords_are_too_many,
    log_ins_that_succeed_do_not_count,
    limits_hold_for_an_address_and_for_a_user,
    the_second_factor_is_asked_for,
    a_code_is_accepted_once,
    recovery_codes_replace_the_app_once,
    the_second_factor_is_confirmed_before_it_is_active,
    log_ins_are_in_the_audit_log,
}

async fn attempt(
    bed: &Bed,
    name: &str,
    password: &str,
    address: [u8; 4],
    code: Option<&str>,
) -> Result<User, Problem> {
    let log_in = LogIn {
        username: name.to_owned(),
        password: Secret::new(password),
        code: code.map(Secret::new),
        address: IpAddr::from(address),
    };
    bed.server.log_ins().authenticate(log_in).await
}

async fn eleven_wrong_passwords_are_too_many(bed: Bed) {
    bed.user("ada", Role::User).await;
    let wrong = async || {
        attempt(&bed, "ada", "wrong password", [203, 0, 113, 7], None).await.expect_err("wrong")
    };
    for _ in 0..10 {
        assert_eq!(wrong().await.code, "wrong-password");
    }
    let refused = wrong().await;
    assert_eq!(
        refused.kind,
        ProblemKind::RateLimited { retry_after: Some(Duration::from_secs(6)) }
    );
    // The right password does not help either, but another address does.
    let right = async |address| attempt(&bed, "ada", PASSWORD, address, None).await;
    assert_eq!(right([203, 0, 113, 7]).await.expect_err("limited").code, "rate-limited");
    right([203, 0, 113, 8]).await.expect("another address");
    bed.clock.advance(Duration::from_secs(6));
    right([203, 0, 113, 7]).await.expect("six seconds later");
}

async fn log_ins_that_succeed_do_not_count(bed: Bed) {
    bed.user("ada", Role::User).await;
    let attempts = (0..20).map(|_| attempt(&bed, "ada", PASSWORD, [203, 0, 113, 7], None));
    for attempt in futures_util::future::join_all(attempts).await {
        attempt.expect("the password is right");
    }
}

async fn limits_hold_for_an_address_and_for_a_user(bed: Bed) {
    bed.user("ada", Role::User).await;
    // One address that tries many names.
    let mut refused = 0;
    for number in 0..62 {
        let name = format!("user-{number}");
        let problem = attempt(&bed, &name, "12345678", [203, 0, 113, 7], None).await;
        refused += u32::from(problem.expect_err("no such user").code == "rate-limited");
    }
    assert_eq!(refused, 2);
    // Many addresses that try one name.
    let mut refused = 0;
    for number in 0..102 {
        let problem = attempt(&bed, "ada", "12345678", [198, 51, 100, number], None).await;
        refused += u32::from(problem.expect_err("wrong").code == "rate-limited");
    }
    assert_eq!(refused, 2);
}

/// The code of an authenticator app that has a secret.
fn app(secret: &str, seconds: i64) -> String {
    let secret = data_encoding::BASE32_NOPAD.decode(secret.as_bytes()).expect("base32");
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &secret);
    let tag = hmac::sign(&key, &(seconds / 30).to_be_bytes());
    let tag = tag.as_ref();
    let offset = usize::from(tag[19] & 15);
    let number = u32::from_be_bytes(tag[offset..offset + 4].try_into().expect("four bytes"));
    format!("{:06}", (number & 0x7fff_ffff) % 1_000_000)
}

async fn with_second_factor(bed: &Bed) -> (User, String, Vec<Secret>) {
    let ada = bed.user("ada", Role::User).await;
    let accounts = bed.server.accounts();
    let enrolment = accounts.begin_totp(&ada, "Prowess").await.expect("an enrolment");
    let secret = enrolment.secret.expose().to_owned();
    assert_eq!(
        enrolment.address.expose(),
        format!("otpauth://totp/Prowess:ada?secret={secret}&issuer=Prowess&digits=6&period=30")
    );
    let codes =
        accounts.confirm_totp(&ada.id, &now(bed, &secret)).await.expect("the code is right");
    // The code that confirmed it is used up.
    bed.clock.advance(Duration::from_secs(30));
    (ada, secret, codes.0)
}

fn now(bed: &Bed, secret: &str) -> String {
    app(secret, bed.server.clock().now().seconds())
}

async fn with_code(bed: &Bed, code: Option<&str>) -> Result<User, Problem> {
    attempt(bed, "ada", PASSWORD, [203, 0, 113, 7], code).await
}

async fn the_second_factor_is_asked_for(bed: Bed) {
    let (ada, secret, _) = with_second_factor(&bed).await;
    assert_eq!(with_code(&bed, None).await.expect_err("no code").code, "code-required");
    assert_eq!(with_code(&bed, Some("000000x")).await.expect_err("wrong").code, "wrong-code");
    // Whoever does not know the password does not learn that there is a second factor.
    let wrong = attempt(&bed, "ada", "wrong password", [203, 0, 113, 7], None).await;
    assert_eq!(wrong.expect_err("wrong").code, "wrong-password");
    with_code(&bed, Some(&now(&bed, &secret))).await.expect("the code is right");
    bed.server.accounts().disable_totp(&ada.id).await.expect("it is removed");
    with_code(&bed, None).await.expect("no code is needed");
}

async fn a_code_is_accepted_once(bed: Bed) {
    let (_, secret, _) = with_second_factor(&bed).await;
    let code = now(&bed, &secret);
    with_code(&bed, Some(&code)).await.expect("the code is right");
    assert_eq!(with_code(&bed, Some(&code)).await.expect_err("it is used").code, "wrong-code");
    bed.clock.advance(Duration::from_mins(5));
    assert_eq!(with_code(&bed, Some(&code)).await.expect_err("it is old").code, "wrong-code");
}

async fn recovery_codes_replace_the_app_once(bed: Bed) {
    let (_, _, codes) = with_second_factor(&bed).await;
    assert_eq!(codes.len(), 10);
    let code = codes[3].expose().to_uppercase();
    with_code(&bed, Some(&format!(" {} {}", &code[..8], &code[8..]))).await.expect("it is right");
    assert_eq!(with_code(&bed, Some(&code)).await.expect_err("it is used").code, "wrong-code");
    with_code(&bed, Some(codes[4].expose())).await.expect("another one");
}

async fn the_second_factor_is_confirmed_before_it_is_active(bed: Bed) {
    let ada = bed.user("ada", Role::User).await;
    let accounts = bed.server.accounts();
    let first = accounts.begin_totp(&ada, "Prowess").await.expect("an enrolment");
    with_code(&bed, None).await.expect("it is not active");
    let second = accounts.begin_totp(&ada, "Prowess").await.expect("another enrolment");
    let old = now(&bed, first.secret.expose());
    assert_eq!(accounts.confirm_totp(&ada.id, &old).await.expect_err("old").code, "wrong-code");
    let new = now(&bed, second.secret.expose());
    accounts.confirm_totp(&ada.id, &new).await.expect("the code is right");
    let problem = accounts.begin_totp(&ada, "Prowess").await.expect_err("it is active");
    assert_eq!(problem.code, "two-factor-active");
}

async fn log_ins_are_in_the_audit_log(bed: Bed) {
    let ada = bed.user("ada", Role::User).await;
    attempt(&bed, "ada", PASSWORD, [203, 0, 113, 7], None).await.expect("the password is right");
    let entries = bed.server.audit().entries(None, 10).await.expect("entries");
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0].action, "log-in");
    assert_eq!(entries[0].actor, ada.id);
    assert_eq!(entries[0].address.as_deref(), Some("203.0.113.7"));
}
