//! `prowess trawl` and `search`: finding skills.

use insta::assert_snapshot;
use prowess_testkit::{Reply, Script, ScriptedProvider, TestRegistry};
use serde_json::Value;

use crate::packages::{home, home_with, installed, manifest, release, steady};

/// A domain that publishes one skill.
fn domain(name: &str) -> ScriptedProvider {
    let page = Reply::bytes(200, "text/markdown", manifest(name, "1.0.0", ""));
    ScriptedProvider::start(Script::new([]).page("/.well-known/skills/default/skill.md", page))
}

fn host(server: &ScriptedProvider) -> &str {
    server.url().trim_start_matches("http://")
}

#[test]
fn domains_are_asked_and_failures_are_counted() {
    // SKL-WK-1.
    let (one, two) = (domain("one"), domain("another-one"));
    let none = ScriptedProvider::start(Script::new([]));
    let address =
        |listener: &std::net::TcpListener| listener.local_addr().expect("it listens").to_string();
    // One takes connections and never answers, the other is gone.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let silent = address(&listener);
    let gone = address(&std::net::TcpListener::bind("127.0.0.1:0").expect("a free port"));
    let scene = home();
    let words = ["trawl", host(&one), host(&none), &silent, &gone, host(&two), "--timeout", "1"];
    assert_snapshot!(steady(&scene.run_with(&words, "")), @"
    exit 0
    --- stdout
    one          [HOST]
    another-one  [HOST]
    --- stderr
    note: `[HOST]`: it publishes no skill
    note: `[HOST]`: `http://[HOST]/.well-known/skills/default/skill.md` took longer than 1 seconds
    note: `[HOST]`: cannot reach `[HOST]`: connection refused
    hint: `prowess install [HOST]` installs one
    ");
    let words = ["trawl", host(&two), host(&none), "--format", "json"];
    let said = scene.run_with(&words, "");
    let json = said.strip_prefix("exit 0\n--- stdout\n").unwrap_or_else(|| panic!("{said}"));
    let json: Value = serde_json::from_str(json).expect("nothing but JSON is said");
    assert_eq!(json["skills"][0]["name"], "another-one");
    assert_eq!(json["skills"][0]["domain"], host(&two));
    assert_eq!(json["failed"], 1);
    assert!(installed(&scene).is_empty());
    assert!(scene.run("trawl").starts_with("exit 2"));
    assert!(scene.run("trawl example.com --timeout 0").starts_with("exit 2"));
}

#[test]
fn a_registry_is_searched() {
    let registry = TestRegistry::start();
    registry.publish(release("greet", "1.0.0", ""));
    registry.publish(release("part", "1.0.0", ""));
    let scene = home_with(&registry);
    assert_snapshot!(scene.run("search greet"), @"
    exit 0
    --- stdout
    acme/greet 1.0.0
      The skill greet.
    ");
    assert_snapshot!(scene.run("search nothing"), @"
    exit 0
    --- stderr
    note: no skills found
    ");
    assert_snapshot!(home().run("search greet"), @"
    exit 1
    --- stderr
    error: there is no registry to search
    hint: set PROWESS_REGISTRY, or add `[registries.NAME]` with `url` to config.toml
    ");
}
