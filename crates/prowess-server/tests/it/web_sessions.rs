use std::time::Duration;

use http::HeaderMap;
use http::header::{COOKIE, HeaderValue};
use prowess_server::Server;
use prowess_server::accounts::Role;
use prowess_server::web_sessions::{NewWebSession, WebSession};

use crate::support::{Bed, on_both};

on_both! {
    a_cookie_proves_a_session,
    a_session_ends_when_it_is_unused_or_old,
    ending_a_session_removes_the_cookie,
    forms_of_other_sessions_are_refused,
    a_cookie_that_is_there_twice_counts_for_nothing,
}

fn with_cookies(cookies: &[&str]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for cookie in cookies {
        headers.append(COOKIE, HeaderValue::from_str(cookie).expect("a header"));
    }
    headers
}

/// What a browser sends back.
fn cookie(new: &NewWebSession) -> String {
    let text = new.set_cookie.to_str().expect("text");
    text.split(';').next().expect("a cookie").to_owned()
}

async fn session(server: &Server, headers: &HeaderMap) -> Option<WebSession> {
    server.web_sessions().verify(headers).await.expect("an answer")
}

async fn start(bed: &Bed, name: &str) -> NewWebSession {
    let user = bed.user(name, Role::User).await;
    bed.server.web_sessions().start(&user).await.expect("a session")
}

async fn a_cookie_proves_a_session(bed: Bed) {
    let new = start(&bed, "ada").await;
    let text = new.set_cookie.to_str().expect("text");
    assert!(text.starts_with("prowess-test=prws_"), "{text}");
    assert!(text.ends_with("; Path=/; Max-Age=2592000; HttpOnly; SameSite=Lax"), "{text}");
    let cookie = cookie(&new);
    let found = session(&bed.server, &with_cookies(&[&format!("a=b; {cookie}; c=d")])).await;
    assert_eq!(found.expect("the session").user_id, new.session.user_id);
    assert!(session(&bed.node().await, &with_cookies(&["a=b", &cookie])).await.is_some());
    for other in [format!("x{cookie}"), format!("{cookie}x"), "prowess-test=".to_owned()] {
        assert!(session(&bed.server, &with_cookies(&[&other])).await.is_none(), "{other}");
    }
}

async fn a_session_ends_when_it_is_unused_or_old(bed: Bed) {
    const DAY: Duration = Duration::from_hours(24);
    let ada = with_cookies(&[&cookie(&start(&bed, "ada").await)]);
    let grace = with_cookies(&[&cookie(&start(&bed, "grace").await)]);
    bed.clock.advance(DAY * 6);
    assert!(session(&bed.server, &ada).await.is_some());
    bed.clock.advance(DAY * 2);
    assert!(session(&bed.server, &ada).await.is_some(), "it was used two days ago");
    assert!(session(&bed.server, &grace).await.is_none(), "it was unused for eight days");
    for _ in 0..4 {
        bed.clock.advance(DAY * 5);
        assert!(session(&bed.server, &ada).await.is_some());
    }
    bed.clock.advance(DAY * 2);
    assert!(session(&bed.server, &ada).await.is_none(), "it is thirty days old");
    bed.server.maintain().await.expect("what has expired is removed");
    let left = bed
        .database()
        .read(|connection| {
            connection.query_one("SELECT COUNT(*) FROM web_sessions", &[])?.get::<i64>(0)
        })
        .await;
    assert_eq!(left, Ok(0));
}

async fn ending_a_session_removes_the_cookie(bed: Bed) {
    let new = start(&bed, "ada").await;
    let headers = with_cookies(&[&cookie(&new)]);
    let found = session(&bed.server, &headers).await.expect("the session");
    let removal = bed.server.web_sessions().end(&found).await.expect("the end");
    let removal = removal.to_str().expect("text");
    assert!(removal.starts_with("prowess-test=; Path=/; Max-Age=0;"), "{removal}");
    assert!(session(&bed.server, &headers).await.is_none());
}

async fn forms_of_other_sessions_are_refused(bed: Bed) {
    let ada = start(&bed, "ada").await.session;
    let grace = start(&bed, "grace").await.session;
    ada.check_csrf(ada.csrf()).expect("its own form");
    for token in [grace.csrf(), "", "x"] {
        assert_eq!(ada.check_csrf(token).expect_err("not its form").code, "forged-request");
    }
}

async fn a_cookie_that_is_there_twice_counts_for_nothing(bed: Bed) {
    let ada = cookie(&start(&bed, "ada").await);
    let eve = cookie(&start(&bed, "eve").await);
    assert!(session(&bed.server, &with_cookies(&[&format!("{eve}; {ada}")])).await.is_none());
    assert!(session(&bed.server, &with_cookies(&[&eve, &ada])).await.is_none());
}
