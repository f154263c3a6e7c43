//! The other tests once more with packages in a bucket, and what is particular to one.

use std::process::{Child, Command, Stdio};

use prowess_registry::backup;
use prowess_registry::blobs::{BlobError, BlobKind};
use prowess_registry::host::diagnose;
use prowess_testkit::postgres::PrivatePostgres;
use prowess_testkit::s3::PrivateS3;
use reqwest::Method;

use crate::scene::{CLUSTER, STORAGE, Scene, sha256, skill};

/// What stores, reads or serves packages.
const MODULES: [&str; 4] = ["publishing::", "revocation::", "visibility::", "migrations::"];
/// Fewer passed tests would mean that the filter has hidden them.
const LEAST_TESTS: usize = 15;

/// {SQLite, Postgres} × {bucket}: both at once, on one storage. The tests in a folder are the ordinary ones and those of
/// `the_other_tests_pass_on_postgres`.
#[test]
fn the_other_tests_pass_in_a_bucket() {
    let Some(storage) = PrivateS3::start() else { return };
    let postgres = PrivatePostgres::start();
    let on_sqlite = again(&storage, None);
    let on_postgres = postgres.as_ref().map(|cluster| again(&storage, Some(cluster.url())));
    for tests in [Some(on_sqlite), on_postgres].into_iter().flatten() {
        let output = tests.wait_with_output().expect("the tests run");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
        let passed = text.split("test result: ok. ").nth(1);
        let passed = passed.and_then(|rest| rest.split(' ').next()?.parse::<usize>().ok());
        assert!(passed.expect("a result") >= LEAST_TESTS, "{text}");
    }
}

fn again(storage: &PrivateS3, cluster: Option<String>) -> Child {
    let mut tests = Command::new(std::env::current_exe().expect("the path of this program"));
    tests.args(MODULES).env(STORAGE, storage.endpoint());
    if let Some(cluster) = cluster {
        tests.env(CLUSTER, cluster);
    }
    tests.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the tests start")
}

const DOWNLOAD: &str = "/api/v1/skills/acme/weather/1.0.0/download";

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_moves_to_a_bucket_and_back_by_a_backup() {
    let Some(storage) = PrivateS3::start() else { return };
    let scene = Scene::on("", None, None).await;
    let token = scene.user("acme").await;
    scene.publish_ok(&token, "acme", &skill("weather", "1.0.0")).await;
    scene.publish_ok(&token, "acme", b"# Prose\n\nSay hello.\n").await;

    let folder = tempfile::tempdir().expect("a folder");
    let first = folder.path().join("first");
    let registry = &scene.registry;
    let copied = backup::backup(registry.database(), registry.blobs(), &scene.data, &first).await;
    assert_eq!(copied.expect("a backup"), 2);

    let moved = Scene::restored(&first, Some(storage.endpoint())).await;
    assert_eq!(moved.registry.blobs().name(), "s3");
    assert_eq!(moved.get(DOWNLOAD).await.body, skill("weather", "1.0.0"));
    assert!(!moved.data.join("packages").exists());
    moved.publish_ok(&token, "acme", &skill("weather", "1.1.0")).await;
    moved
        .until("it is found", || async {
            let found = moved.get("/api/v1/search?q=weather").await.json();
            found["results"].as_array().map_or(0, Vec::len) == 1
        })
        .await;
    let found = diagnose(moved.registry.server(), moved.registry.blobs()).await;
    let found = found.expect("a diagnosis");
    assert_eq!((found.versions, found.problems), (2, Vec::new()));

    let second = folder.path().join("second");
    let registry = &moved.registry;
    let copied = backup::backup(registry.database(), registry.blobs(), &moved.data, &second).await;
    assert_eq!(copied.expect("a backup"), 3);
    // Into a storage with packages nothing is restored.
    let refused =
        backup::restore(registry.database(), registry.blobs(), &moved.data, &second).await;
    assert!(refused.expect_err("it is refused").message.contains("has packages already"));
    let back = Scene::restored(&second, None).await;
    assert_eq!(back.registry.blobs().name(), "folder");
    assert_eq!(back.get(DOWNLOAD).await.body, skill("weather", "1.0.0"));
    let newer = "/api/v1/skills/acme/weather/1.1.0/download";
    assert_eq!(back.get(newer).await.body, skill("weather", "1.1.0"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_range_and_a_condition_are_answered_from_a_bucket() {
    let Some(storage) = PrivateS3::start() else { return };
    let scene = Scene::on("", None, Some(storage.endpoint())).await;
    let token = scene.user("acme").await;
    let package = skill("weather", "1.0.0");
    scene.publish_ok(&token, "acme", &package).await;
    let whole = scene.get(DOWNLOAD).await;
    assert_eq!((whole.status, &whole.body), (200, &package));
    let part = scene.request(Method::GET, DOWNLOAD, None).header("range", "bytes=10-19");
    let part = scene.send(part).await;
    assert_eq!((part.status, &part.body[..]), (206, &package[10..20]));
    let again = scene.request(Method::GET, DOWNLOAD, None);
    let again = scene.send(again.header("if-none-match", whole.header("etag"))).await;
    assert_eq!((again.status, again.body.len()), (304, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_object_is_never_served_and_the_doctor_names_it() {
    let Some(storage) = PrivateS3::start() else { return };
    let scene = Scene::on("", None, Some(storage.endpoint())).await;
    let token = scene.user("acme").await;
    let package = skill("weather", "1.0.0");
    scene.publish_ok(&token, "acme", &package).await;
    let digest: prowess_package::digest::Sha256Digest = sha256(&package).parse().expect("a digest");
    let blobs = scene.registry.blobs();
    // Nothing is stored under a digest of other bytes: the object that is there stays.
    let other = blobs.put(BlobKind::Package, digest, b"other".to_vec().into()).await;
    assert!(matches!(other, Err(BlobError::Damaged(_))), "{other:?}");
    assert_eq!(blobs.get(BlobKind::Package, digest).await.expect("an object"), package);

    scene.damage(&storage, digest).await;
    let refused = scene.get(DOWNLOAD).await;
    assert_eq!((refused.status, refused.code().as_str()), (503, "storage-failed"));
    let found = diagnose(scene.registry.server(), blobs).await.expect("a diagnosis");
    assert_eq!(found.problems.len(), 1, "{found:?}");
    assert!(found.problems[0].contains("`acme/weather` 1.0.0"), "{found:?}");
    // The right bytes repair it.
    blobs.put(BlobKind::Package, digest, package.clone().into()).await.expect("it is repaired");
    assert_eq!(scene.get(DOWNLOAD).await.body, package);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_its_bucket_a_registry_is_not_ready() {
    let Some(storage) = PrivateS3::start() else { return };
    let scene = Scene::on("", None, Some(storage.endpoint())).await;
    let token = scene.user("acme").await;
    assert_eq!(scene.get("/ready").await.status, 200);
    scene.publish_ok(&token, "acme", &skill("weather", "1.0.0")).await;
    drop(storage);
    scene.until("it is not ready", || async { scene.get("/ready").await.status == 503 }).await;
    let ready = scene.get("/ready").await;
    assert!(!ready.text().contains("127.0.0.1"), "{}", ready.text());
    // What needs no package still works.
    assert_eq!(scene.get("/health").await.status, 200);
    assert_eq!(scene.get("/api/v1/index/acme/weather").await.status, 200);
    let found = diagnose(scene.registry.server(), scene.registry.blobs()).await;
    assert_eq!(found.expect("a diagnosis").problems.len(), 1);
}
