//! The log-in of a company: the button, the way to the provider, and what is refused on the way back.

use prowess_testkit::{Answer, Reply, Script, ScriptedProvider};
use serde_json::json;

use crate::support::TestStudio;

#[test]
fn a_company_is_offered_and_its_log_in_is_bound_to_the_browser() {
    let issuer = ScriptedProvider::start(
        Script::by(|request| {
            let host = request.header("host").unwrap_or_default().to_owned();
            if !request.path().contains("openid-configuration") {
                return Reply::answer(Answer::text(["never"]));
            }
            let url = format!("http://{host}");
            Reply::json(
                200,
                &json!({
                    "issuer": url, "authorization_endpoint": format!("{url}/authorize"),
                    "token_endpoint": format!("{url}/token"), "jwks_uri": format!("{url}/keys"),
                }),
            )
        })
        .page("/keys", Reply::json(200, &json!({ "keys": [] }))),
    );
    let studio = TestStudio::with_company(issuer.url());
    let nobody = studio.nobody();
    let options = nobody.get("/auth/options").json();
    assert_eq!(
        options["oidc"],
        json!([{ "name": "Example", "start_url": "/api/v1/auth/company/start" }])
    );
    let begun = nobody.get("/auth/company/start?return_to=/skills");
    assert_eq!(begun.status, 303, "{begun:?}");
    let location = begun.header("location");
    let expected = format!("{}/authorize?response_type=code&client_id=studio&", issuer.url());
    assert!(location.starts_with(&expected), "{location}");
    assert!(location.contains("redirect_uri=https%3A%2F%2Fstudio.example%2Fsign-in"), "{location}");
    assert!(begun.header("set-cookie").contains("; HttpOnly; SameSite=Lax"), "{begun:?}");
    let state = location.split("state=").nth(1).and_then(|rest| rest.split('&').next());
    let state = state.expect("a state");
    // Without the cookie, somebody could log a stranger in as themselves.
    let body = json!({ "code": "x", "state": state });
    let refused = nobody.post("/auth/company/finish", &body).problem();
    assert!((400..404).contains(&refused.0), "{refused:?}");

    let without = TestStudio::start();
    assert_eq!(without.nobody().get("/auth/options").json()["oidc"], json!([]));
    assert_eq!(without.nobody().get("/auth/company/start").problem().0, 404);
}
