//! Many publishers and readers at once, and input that is made to cost much.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::json;

use crate::scene::{Scene, manifest, package_of, skill};

const PUBLISHERS: usize = 50;
const READERS: usize = 50;
/// Requests of each reader.
const READS: usize = 10;

// Attack registry-D16: nothing is lost and no request fails while many publish.
#[tokio::test(flavor = "multi_thread")]
async fn fifty_publishers_and_readers_get_along() {
    let scene = Scene::start().await;
    let mut publishers = Vec::new();
    for number in 0..PUBLISHERS {
        let name = format!("publisher-{number}");
        publishers.push((scene.user(&name).await, name));
    }
    // Names that differ in more than a few letters, which would be held for review.
    let packages: Vec<Vec<u8>> = (0..PUBLISHERS)
        .map(|number| skill(&format!("skill-of-publisher-{number}"), "1.0.0"))
        .collect();
    let writes = join_all(publishers.iter().zip(&packages).map(|((token, name), package)| async {
        scene.publish(Some(token), name, package).await.status
    }));
    let reads = join_all((0..READERS).map(|_| async {
        let mut statuses = Vec::new();
        for number in 0..READS {
            let paths = ["/api/v1/skills", "/api/v1/search?q=weather", "/", "/health"];
            statuses.push(scene.get(paths[number % paths.len()]).await.status);
        }
        statuses
    }));
    let (written, read) = futures_util::future::join(writes, reads).await;
    assert_eq!(written, [201; PUBLISHERS]);
    let read: Vec<u16> = read.into_iter().flatten().collect();
    assert_eq!(read, [200; READERS * READS]);
    for (number, (token, name)) in publishers.iter().enumerate() {
        let path = format!("/api/v1/skills/{name}/skill-of-publisher-{number}/1.0.0/download");
        assert_eq!(scene.get_as(&path, token).await.body, packages[number], "{path}");
    }
}

/// What an upload of a bomb may take on a busy machine; one that is expanded takes minutes.
const FAST: Duration = Duration::from_secs(2);

// Attack registry-D9.
#[tokio::test(flavor = "multi_thread")]
async fn yaml_bombs_are_refused_at_once() {
    let scene = Scene::start().await;
    let token = scene.user("acme").await;
    let mut aliases = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..40 {
        let alias = vec![format!("*a{}", level - 1); 9].join(", ");
        writeln!(aliases, "a{level}: &a{level} [{alias}]").expect("a text");
    }
    let deep = format!("x: {}{}\n", "[".repeat(100_000), "]".repeat(100_000));
    for (what, more) in [
        ("aliases", aliases),
        ("depth", deep),
        ("a recursive alias", "x: &x [*x]\n".to_owned()),
        ("a key twice", "license: MIT\n".to_owned()),
    ] {
        let package = package_of(&[("SKILL.md", &manifest("weather", "1.0.0", &more))]);
        let started = Instant::now();
        let refused = scene.publish(Some(&token), "acme", &package).await;
        let time = started.elapsed();
        assert_eq!(refused.status, 400, "{what}: {}", refused.text());
        assert!(time < FAST, "{what}: {time:?}");
    }
    assert!(scene.packages().await.is_empty());
}

// Attack registry-E7: the place is named, and the secret is shown to nobody.
#[tokio::test(flavor = "multi_thread")]
async fn a_secret_in_a_skill_is_refused_and_masked() {
    let scene = Scene::start().await;
    let token = scene.user("acme").await;
    // In two parts, so that no scanner takes this file for one with a secret.
    let secret = ["ghp_", "x7Kq2mVb9Rt4Wz1Yc6Nd3Pf8Hs5Jg0LaQeUi"].concat();
    let script = format!("#!/bin/sh\n# Asks for the weather.\nexport GITHUB_TOKEN={secret}\n");
    let package = package_of(&[
        ("SKILL.md", &manifest("weather", "1.0.0", "")),
        ("scripts/weather.sh", &script),
    ]);
    let refused = scene.publish(Some(&token), "acme", &package).await;
    assert_eq!((refused.status, refused.code().as_str()), (422, "scan-refused"));
    let finding = &refused.json()["findings"][0];
    assert_eq!(finding["category"], "secret", "{finding}");
    assert_eq!(
        (&finding["file"], &finding["line"]),
        (&json!("scripts/weather.sh"), &json!(3)),
        "{finding}"
    );
    assert!(!refused.text().contains(&secret), "{}", refused.text());
    assert_eq!(scene.get("/api/v1/skills/acme/weather").await.status, 404);
}
