use std::time::Duration;

use super::environment::{is_kept, registry_settings};
use super::{Options, Task, children_time, options};

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn runs_both_commands_unless_one_is_named() {
    let read = |text| options(&words(text)).unwrap();
    assert_eq!(read(""), Options { tasks: vec![Task::Start, Task::Test], keep: false });
    assert_eq!(read("start"), Options { tasks: vec![Task::Start], keep: false });
    assert_eq!(read("--keep test"), Options { tasks: vec![Task::Test], keep: true });
    assert!(options(&words("strat")).is_err());
}

#[test]
fn keeps_the_language_and_the_way_to_registries_only() {
    for name in
        ["TERM", "LC_ALL", "HTTPS_PROXY", "https_proxy", "PIP_INDEX_URL", "CARGO_HTTP_CAINFO"]
    {
        assert!(is_kept(name), "{name}");
    }
    for name in [
        "PATH",
        "HOME",
        "CARGO_HOME",
        "CARGO_TARGET_DIR",
        "RUSTFLAGS",
        "RUSTC_WRAPPER",
        "PROWESS_UV",
        "PIP_CACHE_DIR",
    ] {
        assert!(!is_kept(name), "{name}");
    }
}

#[test]
fn carries_over_what_cargo_knows_about_registries() {
    let config = "\
source.crates-io.replace-with = \"mirror\"
build.rustc-wrapper = \"sccache\"

[build]
target-dir = \"/somewhere\"

[source.mirror]
registry = \"sparse+https://registry.example/\"

[target.x86_64-unknown-linux-gnu]
linker = \"clang\"
[\"http\"]
cainfo = \"/etc/ca.pem\"
[registries-of-mine]
a = 1
";
    assert_eq!(
        registry_settings(config),
        "\
source.crates-io.replace-with = \"mirror\"
[source.mirror]
registry = \"sparse+https://registry.example/\"

[\"http\"]
cainfo = \"/etc/ca.pem\"
"
    );
}

#[test]
fn reads_the_processor_time_of_children() {
    let stat = "71 (cargo (x) y) S 1 71 71 0 -1 4194560 1 2 3 4 5 6 700 50 20 0 1 0 9 8 7";
    assert_eq!(children_time(stat), Some(Duration::from_millis(7500)));
    assert_eq!(children_time("71 (cargo) S 1"), None);
}
