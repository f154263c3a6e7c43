use std::time::Duration;

use prowess_server::Secret;
use prowess_server::accounts::{Role, User};
use prowess_server::tokens::{ApiToken, NewApiToken};

use crate::support::{Bed, on_both};

on_both! {
    a_token_is_found_by_its_secret_only,
    a_token_expires,
    a_revoked_token_is_void_on_all_nodes_within_a_second,
    the_last_use_is_noted,
    a_user_has_a_bounded_number_of_tokens,
    requests_that_make_no_sense_are_refused,
}

fn new(user: &User, lifetime: Option<Duration>) -> NewApiToken {
    NewApiToken {
        user_id: user.id.clone(),
        name: "laptop".to_owned(),
        scopes: vec!["publish:ada/*".parse().expect("a scope"), "yank".parse().expect("a scope")],
        lifetime,
    }
}

async fn create(bed: &Bed, user: &User, lifetime: Option<Duration>) -> (ApiToken, Secret) {
    bed.server.tokens().create(new(user, lifetime)).await.expect("a token")
}

async fn is_valid(bed: &Bed, secret: &Secret) -> bool {
    bed.server.tokens().verify(secret.expose()).await.expect("an answer").is_some()
}

/// Attack registry-D1.
async fn a_token_is_found_by_its_secret_only(bed: Bed) {
    let ada = bed.user("ada", Role::User).await;
    let (token, secret) = create(&bed, &ada, None).await;
    assert!(secret.expose().starts_with("prw_"));
    let found = bed.server.tokens().verify(secret.expose()).await.expect("an answer");
    let found = found.expect("the token");
    assert_eq!(found.id, token.id);
    assert!(found.allows("publish", "ada/weather") && found.allows("yank", "x/y"));
    assert!(!found.allows("publish", "grace/weather"));
    // Neither the identifier nor the hash can be used, and the database has no more than the hash.
    for guess in [token.id.clone(), format!("prw_{}", token.id), "prw_".to_owned()] {
        assert_eq!(bed.server.tokens().verify(&guess).await, Ok(None));
    }
    let stored = bed
        .database()
        .read(|connection| connection.query("SELECT * FROM api_tokens", &[]))
        .await
        .expect("rows");
    assert!(!format!("{stored:?}").contains(&secret.expose()[4..]));
}

async fn a_token_expires(bed: Bed) {
    let ada = bed.user("ada", Role::User).await;
    let (_, secret) = create(&bed, &ada, Some(Duration::from_mins(1))).await;
    bed.clock.advance(Duration::from_secs(59));
    assert!(is_valid(&bed, &secret).await);
    bed.clock.advance(Duration::from_secs(1));
    assert!(!is_valid(&bed, &secret).await);
}

async fn a_revoked_token_is_void_on_all_nodes_within_a_second(bed: Bed) {
    let ada = bed.user("ada", Role::User).await;
    let grace = bed.user("grace", Role::User).await;
    let node = bed.node().await;
    let (token, secret) = create(&bed, &ada, None).await;
    assert!(node.tokens().verify(secret.expose()).await.expect("an answer").is_some());
    let stranger = bed.server.tokens().revoke(&grace.id, &token.id).await;
    assert_eq!(stranger.expect_err("it is not hers").code, "token-not-found");
    bed.server.tokens().revoke(&ada.id, &token.id).await.expect("it is revoked");
    assert!(!is_valid(&bed, &secret).await);
    bed.clock.advance(Duration::from_secs(1));
    assert_eq!(node.tokens().verify(secret.expose()).await, Ok(None));
    assert_eq!(bed.server.tokens().of_user(&ada.id).await, Ok(Vec::new()));
    let again = bed.server.tokens().revoke(&ada.id, &token.id).await;
    assert_eq!(again.expect_err("it is revoked").code, "token-not-found");
}

async fn the_last_use_is_noted(bed: Bed) {
    let ada = bed.user("ada", Role::User).await;
    let (_, secret) = create(&bed, &ada, None).await;
    let used = async || bed.server.tokens().of_user(&ada.id).await.expect("tokens")[0].last_used_at;
    assert_eq!(used().await, None);
    assert!(is_valid(&bed, &secret).await);
    let first = used().await.expect("it was used");
    bed.clock.advance(Duration::from_mins(1));
    assert!(is_valid(&bed, &secret).await);
    assert_eq!(used().await, Some(first), "a write for each request");
    bed.clock.advance(Duration::from_hours(1));
    assert!(is_valid(&bed, &secret).await);
    assert!(used().await.expect("it was used") > first);
}

async fn a_user_has_a_bounded_number_of_tokens(bed: Bed) {
    let ada = bed.user("ada", Role::User).await;
    for _ in 0..99 {
        create(&bed, &ada, None).await;
    }
    create(&bed, &ada, Some(Duration::from_mins(1))).await;
    let problem = bed.server.tokens().create(new(&ada, None)).await.expect_err("too many");
    assert_eq!(problem.code, "too-many-tokens");
    // One that has expired makes room.
    bed.clock.advance(Duration::from_secs(61));
    create(&bed, &ada, None).await;
}

async fn requests_that_make_no_sense_are_refused(bed: Bed) {
    let ada = bed.user("ada", Role::User).await;
    let refused = async |new: NewApiToken| {
        bed.server.tokens().create(new).await.expect_err("it is refused").code
    };
    for name in ["", "  ", "a\nb", &"x".repeat(101)] {
        let new = NewApiToken { name: name.to_owned(), ..new(&ada, None) };
        assert_eq!(refused(new).await, "invalid-token-request");
    }
    let no_scopes = NewApiToken { scopes: Vec::new(), ..new(&ada, None) };
    assert_eq!(refused(no_scopes).await, "invalid-token-request");
    assert_eq!(refused(new(&ada, Some(Duration::ZERO))).await, "invalid-token-request");
}
