//! `prowess doctor`: what this machine can enforce.

use crate::scene;

#[test]
fn every_wall_is_tried() {
    let scene = scene();
    let text = scene.stdout("doctor");
    for layer in ["user", "namespaces", "Landlock", "seccomp", "control groups", "all together"] {
        assert!(text.lines().any(|line| line.starts_with(layer)), "{layer} is missing in\n{text}");
    }
    assert!(text.contains("a sandbox was built, tested from inside and taken down"), "{text}");
    let json: serde_json::Value =
        serde_json::from_str(&scene.stdout("doctor --format json")).expect("JSON");
    assert_eq!(json["enforceable"], true);
    assert_eq!(json["layers"][5]["state"], "enforced");
}

#[test]
fn a_profile_names_the_program() {
    let profile = scene().stdout("doctor --apparmor-profile");
    assert!(profile.contains("/prowess\" flags=(unconfined) {\n  userns,\n}"), "{profile}");
}
