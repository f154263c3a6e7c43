//! Finding skills: lists, search, `.well-known`, conditional requests.

use reqwest::Method;
use serde_json::{Value, json};

use crate::scene::{Scene, manifest, package_of, sha256, skill};

/// A skill with a description and tags.
fn described(name: &str, description: &str, tags: &str) -> Vec<u8> {
    let text = format!(
        "---\nname: {name}\ndescription: {description}\nversion: 1.0.0\ntags: [{tags}]\n---\n\n# {name}\n\nHelps.\n"
    );
    package_of(&[("SKILL.md", &text)])
}

fn names(found: &Value) -> Vec<String> {
    let results = found["results"].as_array().expect("results");
    results.iter().map(|it| it["name"].as_str().expect("a name").to_owned()).collect()
}

async fn search(scene: &Scene, query: &str) -> Value {
    let answer = scene.get(&format!("/api/v1/search?{query}")).await;
    assert_eq!(answer.status, 200, "{query}: {}", answer.text());
    answer.json()
}

async fn settle(scene: &Scene, total: usize) {
    scene.until("all are indexed", || async { search(scene, "q=").await["total"] == total }).await;
}

// GAIA-10.4-4.
#[tokio::test(flavor = "multi_thread")]
async fn words_prefixes_and_typing_errors_find_skills() {
    let scene = Scene::with_settings("new_names = 100\n").await;
    let token = scene.user("acme").await;
    for (name, description, tags) in [
        ("pdf-forms", "Fills in and flattens PDF forms", "documents, pdf"),
        ("web-search", "Searches the web and cites pages", "research"),
        ("release-notes", "Writes release notes from commits", "git, writing"),
        ("git-insights", "Explains the history of a repository", "git"),
    ] {
        scene.publish_ok(&token, "acme", &described(name, description, tags)).await;
    }
    settle(&scene, 4).await;
    for (query, first) in [
        ("q=web+search", "web-search"),
        ("q=searching", "web-search"),
        ("q=pdf", "pdf-forms"),
        ("q=pdf-form", "pdf-forms"),
        ("q=relea", "release-notes"),
        ("q=relaese+notes", "release-notes"),
        ("q=acme%2Fgit-insights", "git-insights"),
        ("q=repository+history", "git-insights"),
    ] {
        let found = names(&search(&scene, query).await);
        assert_eq!(found.first().map(String::as_str), Some(first), "{query}: {found:?}");
    }
    assert_eq!(search(&scene, "q=relaese").await["did_you_mean"], "release");
    let tagged = search(&scene, "q=&tag=git").await;
    assert_eq!(tagged["total"], 2);
    assert_eq!(search(&scene, "q=git&tag=git,writing").await["total"], 1);
    assert_eq!(search(&scene, "q=&tier=verified").await["total"], 0);
    let facets = &search(&scene, "q=").await["facets"];
    assert_eq!(facets["tag"][0], json!({ "value": "git", "count": 2 }));
    assert_eq!(facets["tier"], json!([{ "value": "experimental", "count": 4 }]));
    let first = search(&scene, "q=&limit=3&sort=created").await;
    assert_eq!((names(&first).len(), &first["next"]), (3, &json!("3")));
    assert_eq!(names(&search(&scene, "q=&limit=3&cursor=3&sort=created").await).len(), 1);
    let suggested = scene.get("/api/v1/search/suggest?q=web").await.json();
    assert_eq!(suggested["suggestions"][0]["name"], "web-search");
}

// Attack registry-A13: repeating words does not beat a name.
#[tokio::test(flavor = "multi_thread")]
async fn stuffed_texts_do_not_win() {
    let scene = Scene::with_settings("new_names = 100\n").await;
    let (acme, spam) = (scene.user("acme").await, scene.user("spam").await);
    scene
        .publish_ok(
            &acme,
            "acme",
            &described("weather", "Says how it will be tomorrow", "forecast"),
        )
        .await;
    let stuffed = "weather ".repeat(100);
    let text = format!(
        "---\nname: best-tool\ndescription: {stuffed}\nversion: 1.0.0\ntags: [weather]\n---\n\n# X\n\n{}\n",
        "weather ".repeat(2000)
    );
    scene.publish_ok(&spam, "spam", &package_of(&[("SKILL.md", &text)])).await;
    settle(&scene, 2).await;
    assert_eq!(names(&search(&scene, "q=weather").await), ["weather", "best-tool"]);
}

// Attack registry-A12: a whole name that nobody uses does not outrank what is in use.
#[tokio::test(flavor = "multi_thread")]
async fn an_unused_squat_does_not_outrank_what_is_used() {
    let scene = Scene::with_settings("new_names = 100\npopular_downloads = 1000000\n").await;
    let (acme, squat) = (scene.user("acme").await, scene.user("squat").await);
    scene.publish_ok(&acme, "acme", &described("pdf-tools", "Works with pdf files", "pdf")).await;
    scene.publish_ok(&squat, "squat", &described("pdf", "Works with files", "x")).await;
    settle(&scene, 2).await;
    assert_eq!(names(&search(&scene, "q=pdf").await), ["pdf", "pdf-tools"]);
    scene
        .registry
        .database()
        .write(|transaction| {
            transaction
                .execute("UPDATE skills SET downloads = 5000 WHERE name = 'pdf-tools'", &[])?;
            transaction.execute(
                "UPDATE registry_counters SET value = value + 1 WHERE name = 'change'",
                &[],
            )?;
            transaction.execute(
                "INSERT INTO changes SELECT c.value, s.id, 0 FROM registry_counters c, skills s
                 WHERE c.name = 'change' AND s.name = 'pdf-tools'",
                &[],
            )
        })
        .await
        .expect("downloads");
    scene
        .until("the order changes", || async {
            names(&search(&scene, "q=pdf").await) == ["pdf-tools", "pdf"]
        })
        .await;
}

// Attacks registry-D7 and D8: no query is an error of the server.
#[tokio::test(flavor = "multi_thread")]
async fn odd_queries_are_answered() {
    let scene = Scene::start().await;
    let token = scene.user("acme").await;
    scene.publish_ok(&token, "acme", &skill("weather", "1.0.0")).await;
    settle(&scene, 1).await;
    for query in [
        "q=%22",
        "q=*",
        "q=NEAR(",
        "q=name%3Aweather",
        "q=%00",
        "q=' OR 1=1 --",
        "q=%F0%9F%8C%A7",
        "q=%FF",
        "q=AND OR NOT",
        "tag=%22%3B--",
        "q=weather&tag=",
        "q=weather&unknown=1",
        "limit=1",
        "q=a%0Ab",
        "tier=../../x",
    ] {
        let query = query.replace(' ', "%20");
        assert_eq!(scene.get(&format!("/api/v1/search?{query}")).await.status, 200, "{query}");
    }
    let long = format!("/api/v1/search?q={}", "x".repeat(20_000));
    assert_eq!(scene.get(&long).await.status, 200);
    for query in [
        "search?limit=0",
        "search?limit=101",
        "search?limit=-1",
        "search?limit=x",
        "search?offset=1000000000",
        "search?cursor=abc",
        "search?sort=random",
        "skills?cursor=u.1",
        "skills?cursor=zzz",
        "skills?cursor=u.-1.5",
        "skills?cursor=u.1.2.3",
        "skills?limit=1000",
        "skills?sort=evil",
        "resolve?sha256=x",
    ] {
        let refused = scene.get(&format!("/api/v1/{query}")).await;
        assert_eq!(refused.status, 400, "{query}: {}", refused.text());
        assert_eq!(refused.header("content-type"), "application/problem+json", "{query}");
    }
}

// GAIA-10.4-1.
#[tokio::test(flavor = "multi_thread")]
async fn the_list_has_pages() {
    let scene = Scene::with_settings("new_names = 100\n").await;
    let token = scene.user("acme").await;
    for number in 0..7 {
        scene.publish_ok(&token, "acme", &skill(&format!("weather-n{number}"), "1.0.0")).await;
    }
    let mut seen = std::collections::BTreeSet::new();
    let mut path = "/api/v1/skills?limit=3".to_owned();
    let mut pages = 0;
    loop {
        let page = scene.get(&path).await.json();
        for skill in page["skills"].as_array().expect("skills") {
            assert_eq!(skill["downloads"], 0);
            assert!(seen.insert(skill["name"].as_str().expect("a name").to_owned()));
        }
        pages += 1;
        match page["next"].as_str() {
            Some(next) => path = format!("/api/v1/skills?limit=3&cursor={next}"),
            None => break,
        }
    }
    assert_eq!((seen.len(), pages), (7, 3));
}

// SKL-WK-2, R23.
#[tokio::test(flavor = "multi_thread")]
async fn well_known_has_all_three_shapes() {
    let scene = Scene::start().await;
    let token = scene.user("acme").await;
    let text = manifest("weather", "1.0.0", "");
    let package = package_of(&[("SKILL.md", &text), ("references/places.md", "# Places\n")]);
    scene.publish_ok(&token, "acme", &package).await;
    let index = scene.get("/.well-known/agent-skills/index.json").await.json();
    assert_eq!(index["$schema"], "https://schemas.agentskills.io/discovery/0.2.0/schema.json");
    let entry = &index["skills"][0];
    assert_eq!((&entry["name"], &entry["type"]), (&json!("weather"), &json!("archive")));
    assert_eq!(entry["digest"], format!("sha256:{}", sha256(&package)));
    assert_eq!(scene.get(entry["url"].as_str().expect("a url")).await.body, package);
    let index = scene.get("/.well-known/skills/index.json").await.json();
    assert_eq!(index["skills"][0]["files"], json!(["SKILL.md", "references/places.md"]));
    assert_eq!(
        scene.get("/.well-known/skills/weather/references/places.md").await.text(),
        "# Places\n"
    );
    let default = scene.get("/.well-known/skills/default/skill.md").await;
    assert_eq!(
        (default.text(), default.header("content-type")),
        (text, "text/markdown; charset=utf-8")
    );
    assert_eq!(scene.get("/.well-known/skills/weather/../../../etc/passwd").await.status, 404);
}

// Package addresses that caches can carry: entity tags, conditional requests, ranges, zip.
#[tokio::test(flavor = "multi_thread")]
async fn archives_can_be_cached_and_continued() {
    let scene = Scene::start().await;
    let token = scene.user("acme").await;
    let package = skill("weather", "1.0.0");
    scene.publish_ok(&token, "acme", &package).await;
    for path in [
        "/api/v1/skills/acme/weather/1.0.0/download",
        "/api/v1/index/acme/weather",
        "/api/v1/skills/acme/weather",
        "/acme/weather/1.0.0/SKILL.md",
        "/api/v1/skills/acme/weather/1.0.0/archive.zip",
    ] {
        let first = scene.get(path).await;
        assert!(first.header("cache-control").starts_with("public"), "{path}");
        let tag = first.header("etag").to_owned();
        let again = scene.request(Method::GET, path, None).header("if-none-match", &tag);
        let again = scene.send(again).await;
        assert_eq!(
            (again.status, again.body.len(), again.header("etag")),
            (304, 0, tag.as_str()),
            "{path}"
        );
        let head = scene.send(scene.request(Method::HEAD, path, None)).await;
        assert_eq!(
            (head.status, head.body.len(), head.header("etag")),
            (200, 0, tag.as_str()),
            "{path}"
        );
    }
    let path = "/api/v1/skills/acme/weather/1.0.0/download";
    let ranged = |range: &'static str| {
        scene.send(scene.request(Method::GET, path, None).header("range", range))
    };
    let part = ranged("bytes=10-19").await;
    assert_eq!((part.status, part.body.as_slice()), (206, &package[10..20]));
    assert_eq!(part.header("content-range"), format!("bytes 10-19/{}", package.len()));
    assert_eq!(ranged("bytes=99999999-").await.status, 416);
    let zip = scene.get("/api/v1/skills/acme/weather/1.0.0/archive.zip").await;
    let mut zip = zip::ZipArchive::new(std::io::Cursor::new(zip.body)).expect("a zip");
    let mut text = String::new();
    std::io::Read::read_to_string(&mut zip.by_name("SKILL.md").expect("a file"), &mut text)
        .expect("text");
    assert_eq!(text, manifest("weather", "1.0.0", ""));
    // Attack registry-D11.
    for path in [
        "/acme/weather/1.0.0/%2e%2e/%2e%2e/registry.db",
        "/acme/weather/1.0.0/..%2f..%2fregistry.db",
        "/acme/weather/1.0.0/%252e%252e%252fregistry.db",
        "/acme/..%2f/1.0.0/SKILL.md",
        "/acme/weather/1.0.0/registry.toml",
    ] {
        let refused = scene.get(path).await;
        assert!(matches!(refused.status, 400 | 404), "{path}: {}", refused.status);
    }
}

// Whoever changes a route sees it in the document that clients are generated from.
#[tokio::test(flavor = "multi_thread")]
async fn the_openapi_document_is_known() {
    let scene = Scene::start().await;
    let document = scene.get("/api/v1/openapi.json").await.json();
    let text = serde_json::to_string_pretty(&document).expect("JSON");
    let version = format!("\"version\": \"{}\"", env!("CARGO_PKG_VERSION"));
    insta::assert_snapshot!("openapi", text.replace(&version, "\"version\": \"VERSION\""));
}

// A deleted skill leaves the index, and what comes after it is found, also by an index that starts from nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_skill_does_not_stop_the_search() {
    let scene = Scene::start().await;
    let token = scene.user("acme").await;
    scene.publish_ok(&token, "acme", &skill("weather", "1.0.0")).await;
    settle(&scene, 1).await;
    let path = "/api/v1/skills/acme/weather";
    assert_eq!(scene.call(Method::DELETE, path, &token, &json!({})).await.status, 204);
    scene.publish_ok(&token, "acme", &skill("umbrella", "1.0.0")).await;
    scene
        .until("only the other one is found", || async {
            names(&search(&scene, "q=").await) == ["umbrella"]
        })
        .await;
    scene.registry.search_index().clear().expect("an empty index");
    while scene.registry.catch_up().await.expect("the log is read") > 0 {}
    assert_eq!(scene.registry.search_index().len(), 1);
}
