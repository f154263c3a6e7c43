use std::time::Duration;

use prowess_server::Server;
use prowess_server::accounts::Role;
use prowess_server::sessions::TokenPair;

use crate::support::{Bed, on_both};

on_both! {
    an_access_token_expires,
    a_refreshed_pair_replaces_the_other,
    a_refresh_token_that_comes_twice_ends_the_session,
    logging_out_ends_both_tokens,
    a_disabled_user_loses_the_session,
    a_session_does_not_last_for_ever,
    tokens_survive_the_rotation_of_keys,
    other_nodes_accept_the_tokens_and_notice_the_end,
    forged_tokens_are_refused,
    sessions_survive_a_restart,
}

async fn user_of(server: &Server, pair: &TokenPair) -> Option<String> {
    let identity = server.sessions().verify(pair.access_token.expose()).await.expect("an answer");
    identity.map(|identity| identity.user_id)
}

async fn refresh(server: &Server, pair: &TokenPair) -> Result<TokenPair, &'static str> {
    let refreshed = server.sessions().refresh(pair.refresh_token.expose()).await;
    refreshed.map_err(|problem| problem.code)
}

const INVALID: &str = "invalid-refresh-token";

async fn an_access_token_expires(bed: Bed) {
    let ada = bed.user("ada", Role::User).await;
    let pair = bed.server.sessions().start(&ada).await.expect("a session");
    assert_eq!(pair.to_json()["expires_in"], 900);
    assert_eq!(user_of(&bed.server, &pair).await, Some(ada.id.clone()));
    bed.clock.advance(Duration::from_secs(899));
    assert_eq!(user_of(&bed.server, &pair).await, Some(ada.id));
    bed.clock.advance(Duration::from_secs(1));
    assert_eq!(user_of(&bed.server, &pair).await, None);
}

async fn a_refreshed_pair_replaces_the_other(bed: Bed) {
    let ada = bed.user("ada", Role::User).await;
    let first = bed.server.sessions().start(&ada).await.expect("a session");
    bed.clock.advance(Duration::from_secs(1000));
    let second = refresh(&bed.server, &first).await.expect("a new pair");
    assert_ne!(first.refresh_token.expose(), second.refresh_token.expose());
    assert_eq!(user_of(&bed.server, &first).await, None);
    assert_eq!(user_of(&bed.server, &second).await, Some(ada.id));
    refresh(&bed.server, &second).await.expect("a third pair");
}

async fn a_refresh_token_that_comes_twice_ends_the_session(bed: Bed) {
    let ada = bed.user("ada", Role::User).await;
    let other = bed.server.sessions().start(&ada).await.expect("another session");
    let first = bed.server.sessions().start(&ada).await.expect("a session");
    let second = refresh(&bed.server, &first).await.expect("a new pair");
    let stolen = refresh(&bed.server, &first).await;
    assert_eq!(stolen.err(), Some(INVALID));
    // The session has ended for both, the other one has not.
    assert_eq!(refresh(&bed.server, &second).await.err(), Some(INVALID));
    assert_eq!(user_of(&bed.server, &second).await, None);
    assert!(user_of(&bed.server, &other).await.is_some());
}

async fn logging_out_ends_both_tokens(bed: Bed) {
    let ada = bed.user("ada", Role::User).await;
    let pair = bed.server.sessions().start(&ada).await.expect("a session");
    assert!(user_of(&bed.server, &pair).await.is_some());
    let sessions = bed.server.sessions();
    sessions.log_out(pair.refresh_token.expose()).await.expect("the end");
    assert_eq!(user_of(&bed.server, &pair).await, None);
    assert_eq!(refresh(&bed.server, &pair).await.err(), Some(INVALID));
    // Twice, or with nonsense, is no error.
    sessions.log_out(pair.refresh_token.expose()).await.expect("the end");
    sessions.log_out("prwr_nonsense").await.expect("the end");
}

async fn a_disabled_user_loses_the_session(bed: Bed) {
    let ada = bed.user("ada", Role::User).await;
    bed.user("root", Role::Admin).await;
    let pair = bed.server.sessions().start(&ada).await.expect("a session");
    bed.server.accounts().set_disabled(&ada.id, true).await.expect("a change");
    bed.clock.advance(Duration::from_secs(1));
    assert_eq!(user_of(&bed.server, &pair).await, None);
    assert_eq!(refresh(&bed.server, &pair).await.err(), Some(INVALID));
    bed.server.accounts().set_disabled(&ada.id, false).await.expect("a change");
    assert_eq!(refresh(&bed.server, &pair).await.err(), Some(INVALID));
}

async fn a_session_does_not_last_for_ever(bed: Bed) {
    let ada = bed.user("ada", Role::User).await;
    let mut pair = bed.server.sessions().start(&ada).await.expect("a session");
    for _ in 0..29 {
        bed.clock.advance(Duration::from_hours(24));
        pair = refresh(&bed.server, &pair).await.expect("a new pair");
    }
    bed.clock.advance(Duration::from_hours(24));
    assert_eq!(refresh(&bed.server, &pair).await.err(), Some(INVALID));
    bed.server.maintain().await.expect("what has expired is removed");
    let left = bed
        .database()
        .read(|connection| {
            connection.query_one("SELECT COUNT(*) FROM refresh_tokens", &[])?.get::<i64>(0)
        })
        .await;
    assert_eq!(left, Ok(0));
}

async fn tokens_survive_the_rotation_of_keys(bed: Bed) {
    let ada = bed.user("ada", Role::User).await;
    let sessions = bed.server.sessions();
    let before = sessions.start(&ada).await.expect("a session");
    sessions.rotate_key().await.expect("a new key");
    let after = sessions.start(&ada).await.expect("a session");
    let kid = |pair: &TokenPair| {
        jsonwebtoken::decode_header(pair.access_token.expose()).expect("a header").kid
    };
    assert_ne!(kid(&before), kid(&after));
    assert!(user_of(&bed.server, &before).await.is_some());
    assert!(user_of(&bed.server, &after).await.is_some());
    // When the last token of the old key has expired, the key goes.
    bed.clock.advance(Duration::from_hours(3));
    bed.server.maintain().await.expect("old keys are removed");
    let kids = bed
        .database()
        .read(|connection| {
            let rows = connection.query("SELECT kid FROM signing_keys", &[])?;
            rows.iter().map(|row| row.get::<String>("kid")).collect::<Result<Vec<_>, _>>()
        })
        .await
        .expect("keys");
    assert_eq!(kids, [kid(&after).expect("a key")]);
    // A month later there is a new one without anybody asking.
    bed.clock.advance(Duration::from_hours(30 * 24));
    bed.server.maintain().await.expect("a new key");
    let later = sessions.start(&ada).await.expect("a session");
    assert_ne!(kid(&later), kid(&after));
}

async fn other_nodes_accept_the_tokens_and_notice_the_end(bed: Bed) {
    let ada = bed.user("ada", Role::User).await;
    let node = bed.node().await;
    let pair = bed.server.sessions().start(&ada).await.expect("a session");
    assert!(user_of(&node, &pair).await.is_some());
    // A key that the other node has not seen yet.
    bed.server.sessions().rotate_key().await.expect("a new key");
    let new = bed.server.sessions().start(&ada).await.expect("a session");
    bed.clock.advance(Duration::from_secs(1));
    assert!(user_of(&node, &new).await.is_some());
    node.sessions().log_out(pair.refresh_token.expose()).await.expect("the end");
    bed.clock.advance(Duration::from_secs(1));
    assert_eq!(user_of(&bed.server, &pair).await, None);
}

async fn forged_tokens_are_refused(bed: Bed) {
    use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
    let ada = bed.user("ada", Role::User).await;
    let pair = bed.server.sessions().start(&ada).await.expect("a session");
    let token = pair.access_token.expose();
    let parts: Vec<&str> = token.split('.').collect();
    let header = jsonwebtoken::decode_header(token).expect("a header");
    let claims: serde_json::Value = serde_json::from_slice(
        &data_encoding::BASE64URL_NOPAD.decode(parts[1].as_bytes()).expect("base64"),
    )
    .expect("claims");
    let own_key = EncodingKey::from_secret(b"a key of the attacker, thirty-two");
    let signed = |header: &Header| encode(header, &claims, &own_key).expect("a token");
    let part = |json: &str| data_encoding::BASE64URL_NOPAD.encode(json.as_bytes());
    let kid = header.kid.clone().expect("a key");
    let forged = [
        String::new(),
        "a.b.c".to_owned(),
        format!("{}.{}.", parts[0], parts[1]),
        // No signature at all.
        format!(
            "{}.{}.",
            part(&format!(r#"{{"alg":"none","typ":"at+jwt","kid":"{kid}"}}"#)),
            parts[1]
        ),
        // Other claims under the same signature.
        format!("{}.{}.{}", parts[0], part(r#"{"sub":"u_root"}"#), parts[2]),
        // The right identifier with another key.
        signed(&header),
        signed(&Header { kid: Some("k_unknown".to_owned()), ..header.clone() }),
        signed(&Header { kid: None, ..header.clone() }),
        signed(&Header { alg: Algorithm::HS512, ..header.clone() }),
        "x".repeat(100_000),
        pair.refresh_token.expose().to_owned(),
    ];
    for token in forged {
        let identity = bed.server.sessions().verify(&token).await.expect("an answer");
        assert_eq!(identity, None, "{token}");
    }
}

async fn sessions_survive_a_restart(bed: Bed) {
    let ada = bed.user("ada", Role::User).await;
    let pair = bed.server.sessions().start(&ada).await.expect("a session");
    let again = bed.node().await;
    assert!(user_of(&again, &pair).await.is_some());
    refresh(&again, &pair).await.expect("a new pair");
}
