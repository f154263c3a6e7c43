//! The protocols of other clients: the requests that they send, in the shapes that they read.

use reqwest::Method;
use serde_json::json;

use crate::scene::{Scene, manifest, package_of, sha256, skill};

#[tokio::test(flavor = "multi_thread")]
async fn clawhubs_clients_find_inspect_and_download() {
    let scene = Scene::start().await;
    let token = scene.user("acme").await;
    let text = manifest("weather", "1.0.0", "");
    let package = package_of(&[("SKILL.md", &text), ("notes.md", "# Notes\n")]);
    scene.publish_ok(&token, "acme", &package).await;
    scene.publish_ok(&token, "acme", &skill("weather", "1.1.0")).await;

    let discovery = scene.get("/.well-known/clawhub.json").await.json();
    assert_eq!(discovery["apiBase"], format!("http://{}/clawhub", scene.address));
    scene
        .until("it is found", || async {
            let found = scene.get("/clawhub/api/v1/search?q=weather&limit=25").await.json();
            found["results"][0]["slug"] == "weather" && found["results"][0]["version"] == "1.1.0"
        })
        .await;
    let listed = scene.get("/clawhub/api/v1/skills?limit=25&sort=createdAt").await.json();
    assert_eq!(listed["items"][0]["latestVersion"]["version"], "1.1.0");
    let found = scene.get("/clawhub/api/v1/skills/weather?ownerHandle=acme").await.json();
    assert_eq!(
        (&found["owner"]["handle"], &found["skill"]["slug"]),
        (&json!("acme"), &json!("weather"))
    );
    assert_eq!(found["latestVersion"]["version"], "1.1.0");
    let version =
        scene.get("/clawhub/api/v1/skills/weather/versions/1.0.0?ownerHandle=acme").await.json();
    assert_eq!(version["version"]["files"][1]["path"], "notes.md");
    let zip =
        scene.get("/clawhub/api/v1/download?slug=weather&ownerHandle=acme&version=1.0.0").await;
    assert_eq!((zip.status, zip.header("content-type")), (200, "application/zip"));
    let mut zip = zip::ZipArchive::new(std::io::Cursor::new(zip.body)).expect("a zip");
    assert_eq!(zip.len(), 2);
    assert!(zip.by_name("SKILL.md").is_ok() && zip.by_name("notes.md").is_ok());

    // An installed copy is recognised by its files, as for `update`.
    let tree = prowess_package::tree::Tree::from_files(
        [("SKILL.md", text.as_str()), ("notes.md", "# Notes\n")].map(|(path, text)| {
            let file = prowess_package::tree::TreeFile { bytes: text.into(), executable: false };
            (path.parse().expect("a path"), file)
        }),
        &prowess_package::limits::PackageLimits::PACKAGE,
    );
    let hash = prowess_package::digest::clawhub_fingerprint(&tree.expect("a tree").hashes());
    let resolved = scene
        .get(&format!("/clawhub/api/v1/resolve?slug=weather&ownerHandle=acme&hash={hash}"))
        .await
        .json();
    assert_eq!(resolved["match"]["version"], "1.0.0");
    assert_eq!(resolved["latestVersion"]["version"], "1.1.0");

    let me = scene.get_as("/clawhub/api/v1/whoami", &token).await.json();
    assert_eq!(me["user"]["handle"], "acme");
    assert_eq!(scene.get("/clawhub/api/v1/whoami").await.status, 401);
    let missing = scene.get("/clawhub/api/v1/skills/nothing").await;
    assert_eq!(
        (missing.status, missing.header("content-type")),
        (404, "text/plain; charset=utf-8")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_skills_command_line_searches() {
    let scene = Scene::start().await;
    let token = scene.user("acme").await;
    scene.publish_ok(&token, "acme", &skill("weather", "1.0.0")).await;
    scene
        .until("it is found", || async {
            let found = scene.get("/api/search?q=weather&limit=10").await.json();
            found["skills"][0]["name"] == "weather" && found["skills"][0]["source"] == "acme"
        })
        .await;
    let other = scene.get("/api/search?q=weather&owner=nobody").await.json();
    assert_eq!(other["skills"], json!([]));
}

// Files are uploaded one by one; nobody publishes what somebody else has uploaded.
#[tokio::test(flavor = "multi_thread")]
async fn clawhubs_uploads_belong_to_their_user() {
    let scene = Scene::start().await;
    let (acme, other) = (scene.user("acme").await, scene.user("other").await);
    let text = manifest("weather", "1.0.0", "");
    let hash = sha256(text.as_bytes());
    let wanted = json!({ "path": "SKILL.md", "size": text.len(), "sha256": hash });
    let path = "/clawhub/api/v1/skills/-/upload-url";
    assert_eq!(scene.call(Method::POST, path, "prw_wrong", &wanted).await.status, 401);
    let offered = scene.call(Method::POST, path, &acme, &wanted).await.json();
    let url = offered["uploadUrl"].as_str().expect("an address").to_owned();
    let url = url.strip_prefix(&format!("http://{}", scene.address)).expect("ours").to_owned();
    let wrong = scene.request(Method::POST, &url, Some(&acme)).body("something else");
    assert_eq!(scene.send(wrong).await.status, 400);
    let sent = scene.request(Method::POST, &url, Some(&acme)).body(text.clone());
    let stored = scene.send(sent).await.json()["storageId"].clone();
    let publish = |owner: &str, version: &str, stored: &serde_json::Value| {
        json!({
            "slug": "weather",
            "ownerHandle": owner,
            "version": version,
            "files": [{ "path": "SKILL.md", "sha256": hash, "storageId": stored }],
        })
    };
    let skills = "/clawhub/api/v1/skills";
    let stolen =
        scene.call(Method::POST, skills, &other, &publish("other", "1.0.0", &stored)).await;
    assert_eq!((stolen.status, stolen.text().contains("not uploaded")), (400, true));
    let foreign =
        scene.call(Method::POST, skills, &acme, &publish("other", "1.0.0", &stored)).await;
    assert_eq!(foreign.status, 403, "{}", foreign.text());
    let renamed = scene.call(Method::POST, skills, &acme, &publish("acme", "2.0.0", &stored)).await;
    assert_eq!((renamed.status, renamed.text().contains("version")), (400, true));
    let published =
        scene.call(Method::POST, skills, &acme, &publish("acme", "1.0.0", &stored)).await;
    assert_eq!(published.status, 200, "{}", published.text());
    assert_eq!(published.json()["publicationStatus"], "published");
    let again = scene.call(Method::POST, skills, &acme, &publish("acme", "1.0.0", &stored)).await;
    assert_eq!(again.status, 409);
    // No version names an upload, so it does not stay.
    assert_eq!(scene.registry.sweep(std::time::Duration::ZERO).await.expect("a sweep"), 1);
    let gone =
        scene.call(Method::DELETE, "/clawhub/api/v1/skills/weather", &other, &json!({})).await;
    assert_eq!(gone.status, 403);
    let gone =
        scene.call(Method::DELETE, "/clawhub/api/v1/skills/weather", &acme, &json!({})).await;
    assert_eq!((gone.status, gone.json()["ok"].clone()), (200, json!(true)));
}
