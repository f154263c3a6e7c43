//! The description of the API, tested by a program that believes it.

use prowess_testkit::schemathesis::{self, ApiUnderTest};

use crate::scene::{Scene, skill};

#[tokio::test(flavor = "multi_thread")]
async fn schemathesis_finds_nothing_that_the_description_does_not_say() {
    let Some(program) = schemathesis::schemathesis() else { return };
    let scene = Scene::start().await;
    let token = scene.administrator("acme").await;
    scene.publish_ok(&token, "acme", &skill("weather", "1.0.0")).await;
    let api = ApiUnderTest {
        description: format!("http://{}/api/v1/openapi.json", scene.address),
        token,
        // A document can't say which packages, keys, signatures and passwords are right, or which skills are known.
        excluded_checks: vec!["positive_data_acceptance"],
        // The pages have addresses of the same form.
        excluded_paths: vec![r"^/\{namespace\}/"],
    };
    tokio::task::spawn_blocking(move || schemathesis::run(&program, &api)).await.expect("it runs");
}
