//! The other tests once more on Postgres, and several nodes on one database.

use std::process::Command;

use prowess_testkit::postgres::PrivatePostgres;
use reqwest::Method;
use serde_json::json;

use crate::scene::{CLUSTER, Scene, skill};

/// Fewer passed tests would mean that the filter has hidden them.
const LEAST_TESTS: usize = 30;

/// One cluster for all tests, with a database for each: to start a cluster takes longer than most tests.
#[test]
fn the_other_tests_pass_on_postgres() {
    let Some(postgres) = PrivatePostgres::start() else { return };
    let mut tests = Command::new(std::env::current_exe().expect("the path of this program"));
    // Clients of other projects don't see the database.
    for module in ["postgres::", "clients::", "storages::the_other"] {
        tests.args(["--skip", module]);
    }
    let output = tests.env(CLUSTER, postgres.url()).output().expect("the tests run");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    let passed = text.split("test result: ok. ").nth(1).and_then(|rest| rest.split(' ').next());
    let passed: usize = passed.and_then(|number| number.parse().ok()).expect("a result");
    assert!(passed >= LEAST_TESTS, "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn several_nodes_on_one_database_are_one_registry() {
    let Some(postgres) = PrivatePostgres::start() else { return };
    let first = Scene::on_postgres(postgres.url()).await;
    let (second, third) = (first.another_node().await, first.another_node().await);
    assert_eq!(first.registry.database_name(), "postgres");
    let (acme, root) = (first.user("acme").await, first.administrator("root").await);

    // What is published at one is found and served by all.
    first.publish_ok(&acme, "acme", &skill("weather", "1.0.0")).await;
    for node in [&first, &second, &third] {
        node.until("it is found", || async { found(node).await == 1 }).await;
        assert_eq!(node.get(DOWNLOAD).await.status, 200);
    }

    // New names are counted over all nodes (attack registry-D2).
    for (node, name) in [(&first, "one"), (&second, "two"), (&second, "three"), (&third, "four")] {
        node.publish_ok(&acme, "acme", &skill(&format!("clock-{name}"), "1.0.0")).await;
    }
    let sixth = third.publish(Some(&acme), "acme", &skill("clock-five", "1.0.0")).await;
    assert_eq!((sixth.status, sixth.code().as_str()), (429, "too-many-names"));

    // Wrong passwords, too (attack registry-D4).
    let guess = json!({ "username": "acme", "password": "a wrong password" });
    let mut statuses = Vec::new();
    let begin = std::time::Instant::now();
    for node in [&first, &second, &third].into_iter().cycle().take(MOST_GUESSES) {
        let request = node.request(Method::POST, "/api/v1/log-in", None);
        let request = request.header("content-type", "application/json").body(guess.to_string());
        statuses.push(node.send(request).await.status);
    }
    assert_eq!(statuses[0], 401);
    // Ten at once, and one more every six seconds, however slow the machine is.
    let most = 10 + begin.elapsed().as_secs() / 6;
    let guesses = statuses.iter().filter(|status| **status == 401).count();
    assert!(statuses.contains(&429), "{statuses:?}");
    assert!(statuses.iter().all(|status| [401, 429].contains(status)), "{statuses:?}");
    assert!(u64::try_from(guesses).is_ok_and(|count| count <= most), "{statuses:?}");

    // The same version at all nodes at once: one wins.
    let packages = ["1.1.0"; 3].map(|version| skill("weather", version));
    let uploads = [&first, &second, &third].into_iter().zip(&packages);
    let uploads = uploads.map(|(node, package)| node.publish(Some(&acme), "acme", package));
    let mut statuses: Vec<u16> =
        futures_util::future::join_all(uploads).await.iter().map(|it| it.status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 409, 409]);

    // One node is gone; the others go on, and continue what it has begun.
    drop(third);
    interrupt(&first).await;
    second
        .until("the publication", || async {
            second.get("/api/v1/skills/acme/weather/1.1.0/download").await.status == 200
        })
        .await;

    // A revocation at one counts at the other with its next request (attack registry-D20).
    let path = "/api/v1/skills/acme/weather/1.0.0/revoke";
    let revoked = second.call(Method::POST, path, &root, &json!({ "reason": "malware" })).await;
    assert_eq!(revoked.status, 204);
    assert_eq!(first.get(DOWNLOAD).await.status, 410);

    // A revoked token is refused everywhere within a second.
    let tokens = first.registry.server().tokens();
    let name = "acme".parse().expect("a name");
    let user = first.registry.server().accounts().user_by_name(&name);
    let user = user.await.expect("the database").expect("the user");
    assert_eq!(second.get_as("/api/v1/whoami", &acme).await.status, 200);
    for token in tokens.of_user(&user.id).await.expect("tokens") {
        tokens.revoke(&user.id, &token.id).await.expect("a revocation");
    }
    let started = std::time::Instant::now();
    second
        .until("the token is refused", || async {
            second.get_as("/api/v1/whoami", &acme).await.status == 401
        })
        .await;
    assert!(started.elapsed() < MOST_STALE, "{:?}", started.elapsed());
    let audit = first.registry.server().audit().verify().await.expect("the audit log");
    assert!(matches!(audit, prowess_server::audit::AuditVerification::Intact { .. }), "{audit:?}");
}

const DOWNLOAD: &str = "/api/v1/skills/acme/weather/1.0.0/download";
/// More attempts than anybody has.
const MOST_GUESSES: usize = 15;
/// A second, and what a busy machine needs for a request.
const MOST_STALE: std::time::Duration = std::time::Duration::from_millis(1500);

async fn found(node: &Scene) -> usize {
    let found = node.get("/api/v1/search?q=weather").await.json();
    found["results"].as_array().map_or(0, Vec::len)
}

/// The state that a node leaves behind that ends between the upload and the scan.
async fn interrupt(node: &Scene) {
    let changed = node.registry.database().write(|transaction| {
        transaction.execute(
            "UPDATE versions SET state = 'pending', scan = NULL WHERE version = '1.1.0'",
            &[],
        )?;
        transaction.execute(
            "INSERT INTO jobs (version_id, attempts, leased_until, created)
             SELECT id, 1, 0, 0 FROM versions WHERE version = '1.1.0'",
            &[],
        )
    });
    changed.await.expect("a change");
}
