//! Registries of every earlier version, brought up to date. Their backups were written by the programs of that time.

use prowess_package::digest::Sha256Digest;
use prowess_registry::host::diagnose;
use prowess_registry::store::MIGRATIONS;
use prowess_server::audit::AuditVerification;
use prowess_server::database::DatabaseError;

use crate::scene::{STORAGE, Scene, skill};

/// The versions of the tables of which there are backups in `tests/backups`.
const EARLIER: [usize; 2] = [1, 2];
/// The digest of the newest version in them.
const NEWEST: &str = "50671eabf4e51e8b89ca0a59d07b9bcf86f1d9a6dcd76cc898203a8035f2cf4c";

#[test]
fn there_is_a_backup_of_every_earlier_version() {
    let wanted: Vec<usize> = (1..MIGRATIONS.len()).collect();
    assert_eq!(EARLIER[..], wanted, "before a migration is added, back up a registry without it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_of_every_earlier_version_is_brought_up_to_date() {
    for version in EARLIER {
        let backups = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/backups");
        let backup = format!("{backups}/v{version}");
        let scene = Scene::restored(backup.as_ref(), std::env::var(STORAGE).ok()).await;
        let applied = scene.registry.database().read(|connection| {
            let sql = "SELECT MAX(version) AS newest FROM prowess_migrations WHERE component = 'registry'";
            connection.query_one(sql, &[])?.get::<i64>("newest")
        });
        let applied = applied.await.expect("a version");
        assert_eq!(usize::try_from(applied).expect("a number"), MIGRATIONS.len(), "{version}");

        // What was there is there.
        let index = scene.get("/api/v1/index/acme/weather").await.text();
        let lines: Vec<&str> = index.lines().collect();
        assert_eq!(lines.len(), 4, "{version}: {index}");
        assert!(lines[1].contains("malware") && lines[2].contains(r#""yanked":true"#), "{index}");
        let path = "/api/v1/skills/acme/weather/2.0.0/download";
        let package = scene.get(path).await;
        assert_eq!((package.status, package.header("content-type")), (200, "application/gzip"));
        assert_eq!(Sha256Digest::of(&package.body).to_string(), NEWEST, "{version}");
        assert_eq!(scene.get(&path.replace("2.0.0", "1.0.0")).await.status, 410, "{version}");
        assert_eq!(scene.get("/acme/weather").await.status, 200, "{version}");
        let rating = scene.get("/api/v1/skills/acme/weather/rating").await.json();
        assert_eq!(rating["count"], 1, "{version}: {rating}");
        let audit = scene.registry.server().audit().verify().await.expect("the audit log");
        assert!(matches!(audit, AuditVerification::Intact { .. }), "{version}: {audit:?}");
        let trusted = scene.registry.database().read(|connection| {
            let sql = "SELECT COUNT(*) AS count FROM trusted_publishers WHERE owner_id IS NULL";
            connection.query_one(sql, &[])?.get::<i64>("count")
        });
        let trusted: Result<i64, DatabaseError> = trusted.await;
        assert_eq!(trusted, Ok(i64::from(version == 1)), "{version}");

        // And it goes on.
        let token = scene.token("acme", &["*"]).await;
        scene.publish_ok(&token, "acme", &skill("weather", "2.1.0")).await;
        let next = scene.get("/api/v1/index/acme/weather").await.text();
        assert!(sequence(&next) > sequence(&index), "{version}: {next}");
        scene
            .until("it is found", || async {
                let found = scene.get("/api/v1/search?q=weather").await.json();
                found["results"][0]["version"] == "2.1.0"
            })
            .await;
        let found = diagnose(scene.registry.server(), scene.registry.blobs()).await;
        assert_eq!(found.expect("a diagnosis").problems, Vec::<String>::new(), "{version}");
    }
}

fn sequence(index: &str) -> i64 {
    let head = index.lines().next().unwrap_or_default();
    let head: serde_json::Value = serde_json::from_str(head).expect("a header");
    head["sequence"].as_i64().expect("a number")
}
