//! Log-in, refresh with rotation, roles, tokens.

use serde_json::json;

use crate::support::{PASSWORD, TestStudio};

#[test]
fn a_user_logs_in_refreshes_and_logs_out() {
    let studio = TestStudio::start();
    let user = studio.user_with_password("ada");
    let nobody = studio.nobody();
    let credentials = json!({ "username": "ada", "password": PASSWORD });
    let tokens = nobody.post("/auth/login", &credentials);
    assert_eq!(tokens.status, 200);
    let tokens = tokens.json();
    let word = |key: &str| tokens[key].as_str().expect("a token").to_owned();
    let ada = nobody.with_token(&word("access_token"));
    assert_eq!(
        ada.get("/auth/me").json(),
        json!({ "id": user.id, "username": "ada", "role": "user" })
    );

    let refreshed =
        nobody.post("/auth/refresh", &json!({ "refresh_token": word("refresh_token") }));
    assert_eq!(refreshed.status, 200);
    let newer = refreshed.json()["refresh_token"].as_str().expect("a token").to_owned();
    // A token that is used twice was stolen: the whole family ends.
    let reused = nobody.post("/auth/refresh", &json!({ "refresh_token": word("refresh_token") }));
    assert_eq!(reused.problem().0, 401);
    assert_eq!(nobody.post("/auth/refresh", &json!({ "refresh_token": newer })).problem().0, 401);

    let tokens = nobody.post("/auth/login", &credentials).json();
    let refresh = json!({ "refresh_token": tokens["refresh_token"] });
    assert_eq!(nobody.post("/auth/logout", &refresh).status, 204);
    assert_eq!(nobody.post("/auth/refresh", &refresh).status, 401);

    let wrong =
        nobody.post("/auth/login", &json!({ "username": "ada", "password": "wrong wrong wrong" }));
    let unknown =
        nobody.post("/auth/login", &json!({ "username": "eve", "password": "wrong wrong wrong" }));
    assert_eq!(wrong.problem(), unknown.problem(), "no one learns which names exist");
    assert_eq!(wrong.problem().0, 401);
}

#[test]
fn everything_needs_a_token() {
    // AFL-7.1-3
    let studio = TestStudio::start();
    let nobody = studio.nobody();
    let description = nobody.get("/openapi.json").json();
    let open = [
        "/auth/login",
        "/auth/refresh",
        "/auth/logout",
        "/auth/setup",
        "/auth/options",
        "/auth/company/start",
        "/auth/company/finish",
    ];
    let mut seen = 0;
    for (path, methods) in description["paths"].as_object().expect("paths") {
        let path = path.replace("{name}", "x").replace("{id}", "x").replace("{version}", "1");
        if open.iter().any(|open| path.ends_with(open)) {
            continue;
        }
        for method in methods.as_object().expect("methods").keys() {
            let method = method.to_uppercase();
            let body = json!({});
            let body = (method != "GET" && method != "DELETE").then_some(&body);
            for client in [&nobody, &nobody.with_token("prw_wrong"), &nobody.with_token("a.b.c")] {
                let response = client.send(&method, &path, &[], body);
                assert_eq!(response.status, 401, "{method} {path}: {response:?}");
                assert_eq!(response.header("www-authenticate"), "Bearer");
                response.problem();
            }
            seen += 1;
        }
    }
    assert!(seen > 20, "only {seen} routes");
    assert_eq!(nobody.get("/health").status, 200);
    assert_eq!(nobody.get("/metrics").status, 200);
}

#[test]
fn administrators_manage_users() {
    let studio = TestStudio::start();
    let (root, ada) = (studio.admin("root"), studio.user("ada"));
    let new = json!({ "username": "grace", "password": "a long password", "role": "user" });
    assert_eq!(ada.post("/users", &new).problem().0, 403);
    let created = root.post("/users", &new);
    assert_eq!(created.status, 201, "{created:?}");
    assert_eq!(root.post("/users", &new).problem().0, 409);
    let id = created.json()["id"].as_str().expect("an id").to_owned();
    let changed = root.patch(&format!("/users/{id}"), &json!({ "disabled": true }));
    assert_eq!(changed.json()["disabled"], true);
    assert_eq!(ada.get("/users").problem().0, 403);
    let names: Vec<_> = root.get("/users").json()["users"]
        .as_array()
        .expect("users")
        .iter()
        .map(|user| user["username"].as_str().expect("a name").to_owned())
        .collect();
    assert_eq!(names, ["ada", "grace", "root"]);
    let log_in = json!({ "username": "grace", "password": "a long password" });
    assert_eq!(studio.nobody().post("/auth/login", &log_in).status, 401);
}

#[test]
fn tokens_are_shown_once_and_revoked() {
    let studio = TestStudio::start();
    let ada = studio.user("ada");
    let created = ada.post("/tokens", &json!({ "name": "ci", "expires_in_days": 7 }));
    assert_eq!(created.status, 201, "{created:?}");
    let created = created.json();
    let secret = created["token"].as_str().expect("a token");
    assert!(secret.starts_with("prw_"));
    let by_token = studio.nobody().with_token(secret);
    assert_eq!(by_token.get("/auth/me").status, 200);
    let listed = ada.get("/tokens").text();
    assert!(listed.contains("\"ci\"") && !listed.contains(secret));
    // A stolen token must not make others.
    assert_eq!(by_token.post("/tokens", &json!({ "name": "more" })).problem().0, 403);
    let path = format!("/tokens/{}", created["id"].as_str().expect("an id"));
    assert_eq!(studio.user("eve").delete(&path).status, 404);
    assert_eq!(ada.delete(&path).status, 204);
    studio.clock.advance(std::time::Duration::from_secs(2));
    assert_eq!(by_token.get("/auth/me").status, 401);
}
