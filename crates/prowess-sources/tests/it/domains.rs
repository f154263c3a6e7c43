//! Skills that domains publish.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use insta::assert_snapshot;
use prowess_package::digest::Sha256Digest;
use prowess_package::limits::PackageLimits;
use prowess_package::pack::pack;
use prowess_package::tree::{Tree, TreeFile};
use prowess_sources::Sources;
use prowess_store::source::{Pinned, Source as _};
use prowess_testkit::{Reply, Script, ScriptedProvider};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{manifest, options, reference, shown, told};

const SCHEMA: &str = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";
const CURRENT: &str = "/.well-known/agent-skills/index.json";
const OLDER: &str = "/.well-known/skills/index.json";
const OLDEST: &str = "/.well-known/skills/default/skill.md";

fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", Sha256Digest::of(bytes))
}

fn text(body: impl Into<Vec<u8>>) -> Reply {
    Reply::bytes(200, "text/markdown", body)
}

fn index(entries: &Value) -> Reply {
    Reply::json(200, &json!({ "$schema": SCHEMA, "skills": entries, "later": true }))
}

/// What a domain with these pages offers; `more` stands behind its address.
fn show(script: Script, more: &str) -> String {
    let server = ScriptedProvider::start(script);
    let home = TempDir::new().expect("a folder");
    let reference = reference(&format!("{}{more}", server.url()));
    shown(&super::sources(home.path()), &reference, &[(server.url(), "URL")])
}

#[test]
fn the_newest_shape_comes_first() {
    let one = manifest("one");
    let path = "SKILL.md".parse().expect("a path");
    let file = TreeFile { bytes: manifest("two").into_bytes(), executable: false };
    let two = pack(&Tree::from_files([(path, file)], &PackageLimits::PACKAGE).expect("a skill"));
    let script = || {
        Script::new([])
            .page(
                CURRENT,
                index(&json!([
                    { "name": "two", "type": "archive", "description": "d", "url": "/files/two.tar.gz", "digest": digest(&two) },
                    { "name": "one", "type": "skill-md", "description": "d", "url": "one/SKILL.md", "digest": digest(one.as_bytes()) },
                ])),
            )
            .page("/.well-known/agent-skills/one/SKILL.md", text(one.clone()))
            .page("/files/two.tar.gz", Reply::bytes(200, "application/gzip", two.clone()))
            .page(OLDEST, text(manifest("old")))
    };
    assert_snapshot!(show(script(), ""), @"
    one from URL/.well-known/agent-skills/one/SKILL.md
      SKILL.md
    two from URL/files/two.tar.gz
      SKILL.md
    ");
    assert_snapshot!(show(script(), "#one"), @"
    one from URL/.well-known/agent-skills/one/SKILL.md
      SKILL.md
    ");
    assert_snapshot!(show(script(), "#three"), @"
    NotFound: `URL` publishes no skill `three`
      hint: it publishes `one`, `two`
    ");
    // A path without an index of its own has that of the domain.
    assert_snapshot!(show(script(), "/some/path#one"), @"
    one from URL/.well-known/agent-skills/one/SKILL.md
      SKILL.md
    ");
}

#[test]
fn entries_that_can_not_be_trusted_are_skipped_with_a_note() {
    // NEG-5; attack registry-D13.
    let good = manifest("good");
    let hash = digest(good.as_bytes());
    let script = Script::new([])
        .page(
            CURRENT,
            index(&json!([
                { "name": "../../evil", "type": "skill-md", "url": "x", "digest": hash },
                { "name": "a/b", "type": "skill-md", "url": "x", "digest": hash },
                { "name": "elsewhere", "type": "archive", "url": "https://host.example/x.tar.gz", "digest": hash },
                { "name": "metadata", "type": "archive", "url": "http://169.254.169.254/x", "digest": hash },
                { "name": "undigested", "type": "skill-md", "url": "x" },
                { "name": "md5", "type": "skill-md", "url": "x", "digest": "md5:00" },
                { "name": "new", "type": "bundle", "url": "x", "digest": hash },
                { "type": "skill-md", "url": "x", "digest": hash },
                { "name": "good", "type": "skill-md", "url": "good.md", "digest": hash },
                { "name": "good", "type": "skill-md", "url": "other.md", "digest": hash },
            ])),
        )
        .page("/.well-known/agent-skills/good.md", text(good.clone()));
    assert_snapshot!(show(script, ""), @"
    good from URL/.well-known/agent-skills/good.md
      SKILL.md
    note: `URL/.well-known/agent-skills/index.json`: an entry is skipped: `../../evil` is not a valid skill name, expected lower case letters and digits with single hyphens between them, at most 64 (did you mean `evil`?)
    note: `URL/.well-known/agent-skills/index.json`: an entry is skipped: `a/b` is not a valid skill name, expected lower case letters and digits with single hyphens between them, at most 64 (did you mean `a-b`?)
    note: `URL/.well-known/agent-skills/index.json`: an entry is skipped: `elsewhere` lies on another host, at `https://host.example/x.tar.gz`
    note: `URL/.well-known/agent-skills/index.json`: an entry is skipped: `metadata` lies on another host, at `http://169.254.169.254/x`
    note: `URL/.well-known/agent-skills/index.json`: an entry is skipped: `undigested` has no digest, which has to look like `sha256:` and 64 digits
    note: `URL/.well-known/agent-skills/index.json`: an entry is skipped: `md5` has no digest, which has to look like `sha256:` and 64 digits
    note: `URL/.well-known/agent-skills/index.json`: an entry is skipped: `new` has the type `bundle`, which is not known
    note: `URL/.well-known/agent-skills/index.json`: an entry is skipped: it has no name
    note: `URL/.well-known/agent-skills/index.json` has `good` more than once; the first counts
    ");
}

#[test]
fn other_bytes_than_the_index_promises_are_refused() {
    let entry = json!([{ "name": "one", "type": "skill-md", "url": "/one.md", "digest": digest(b"other") }]);
    let script =
        Script::new([]).page(CURRENT, index(&entry)).page("/one.md", text(manifest("one")));
    let shown = show(script, "");
    assert!(shown.contains("Mismatch: `URL/one.md` does not match its digest"), "{shown}");
}

#[test]
fn an_index_of_an_unknown_format_is_not_processed() {
    let unknown = Reply::json(
        200,
        &json!({
            "$schema": "https://schemas.agentskills.io/discovery/9.0.0/schema.json",
            "skills": [{ "name": "one", "type": "skill-md", "url": "/one.md", "digest": digest(b"") }],
        }),
    );
    assert_snapshot!(show(Script::new([]).page(CURRENT, unknown.clone()), ""), @"
    NotFound: `URL` publishes no skills that can be used: `URL/.well-known/agent-skills/index.json` has the format `https://schemas.agentskills.io/discovery/9.0.0/schema.json`, which is not known, and is ignored
      hint: look at the spelling of the domain, or name a repository
    ");
    // The older shapes are still asked for.
    let script = Script::new([]).page(CURRENT, unknown).page(OLDEST, text(manifest("old")));
    assert_snapshot!(show(script, ""), @"
    old from URL/.well-known/skills/default/skill.md
      SKILL.md
    note: `URL/.well-known/agent-skills/index.json` has the format `https://schemas.agentskills.io/discovery/9.0.0/schema.json`, which is not known, and is ignored
    ");
    assert_snapshot!(show(Script::new([]).page(CURRENT, Reply::json(200, &json!({"skills": []}))), ""), @"
    NotFound: `URL` publishes no skills that can be used: `URL/.well-known/agent-skills/index.json` does not say which format it has and is ignored
      hint: look at the spelling of the domain, or name a repository
    ");
    // A start page for everything is no index and no skill.
    let page = || Reply::bytes(200, "text/html", "<html>---</html>");
    let script = Script::new([]).page(CURRENT, page()).page(OLDER, page()).page(OLDEST, page());
    assert_snapshot!(show(script, ""), @"
    NotFound: `URL` publishes no skills
      hint: look at the spelling of the domain, or name a repository
    ");
    let long = Reply::bytes(200, "application/json", vec![b' '; (1 << 20) + 1]);
    assert_snapshot!(show(Script::new([]).page(CURRENT, long), ""), @"Unusable: `URL/.well-known/agent-skills/index.json` has more than 1024 KiB");
}

#[test]
fn files_of_the_older_shape_are_fetched_one_by_one() {
    let listing = |files: &[&str]| {
        Reply::json(
            200,
            &json!({ "skills": [
            { "name": "one", "description": "d", "files": files },
            { "name": "bad", "description": "d", "files": ["SKILL.md", "../../x"] },
            { "name": "empty", "description": "d", "files": ["README.md"] },
        ] }),
        )
    };
    let script = Script::new([])
        .page(OLDER, listing(&["SKILL.md", "references/a b.md", ".env"]))
        .page("/.well-known/skills/one/SKILL.md", text(manifest("one")))
        .page("/.well-known/skills/one/references/a%20b.md", text("x"));
    assert_snapshot!(show(script, ""), @"
    one from URL/.well-known/skills/one/
      SKILL.md references/a b.md
    note: `URL/.well-known/skills/index.json`: an entry is skipped: `bad`: the path `../../x` has a part `.` or `..`
    note: `URL/.well-known/skills/index.json`: an entry is skipped: `empty` lists no `SKILL.md`
    note: `URL/.well-known/skills/index.json` has the format 0.1.0, which promises no digests
    note: hidden files and links of `URL/.well-known/skills/one/` are not installed: `.env`
    ");
    let script = Script::new([])
        .page(OLDER, listing(&["SKILL.md", "gone.md"]))
        .page("/.well-known/skills/one/SKILL.md", text(manifest("one")));
    assert_snapshot!(show(script, ""), @"
    one from URL/.well-known/skills/one/
      NotFound: there is nothing at `URL/.well-known/skills/one/gone.md`
      hint: the domain may not publish it any more
    note: `URL/.well-known/skills/index.json`: an entry is skipped: `bad`: the path `../../x` has a part `.` or `..`
    note: `URL/.well-known/skills/index.json`: an entry is skipped: `empty` lists no `SKILL.md`
    note: `URL/.well-known/skills/index.json` has the format 0.1.0, which promises no digests
    ");
}

#[test]
fn the_oldest_shape_has_one_skill() {
    let server = ScriptedProvider::start(Script::new([]).page(OLDEST, text(manifest("old"))));
    let home = TempDir::new().expect("a folder");
    let sources = super::sources(home.path());
    let pinned = super::only(&sources, &reference(server.url()));
    let Pinned::WellKnown { url, digest, .. } = &pinned else { panic!("a domain") };
    assert_eq!((url.as_str(), digest), (format!("{}{OLDEST}", server.url()).as_str(), &None));
    assert!(sources.fetch("old", &pinned).is_ok());
}

#[test]
fn many_domains_are_asked_at_once_and_failures_are_counted() {
    // SKL-WK-1.
    let one = ScriptedProvider::start(Script::new([]).page(OLDEST, text(manifest("one"))));
    let two = ScriptedProvider::start(Script::new([]).page(OLDEST, text(manifest("two"))));
    let nothing = ScriptedProvider::start(Script::new([]));
    let page = ScriptedProvider::start(
        Script::new([]).page(OLDEST, Reply::bytes(200, "text/html", "<html>")),
    );
    // Accepts and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let domain = |server: &ScriptedProvider| server.url().trim_start_matches("http://").to_owned();
    let domains = vec![
        domain(&two),
        domain(&nothing),
        silent.local_addr().expect("an address").to_string(),
        "http://host.example".to_owned(),
        "not a domain".to_owned(),
        domain(&page),
        domain(&one),
    ];
    let home = TempDir::new().expect("a folder");
    let trawl = super::sources(home.path()).trawl(&domains, Duration::from_secs(1));
    let found: Vec<(&str, &str)> = trawl
        .found
        .iter()
        .map(|trawled| (trawled.domain.as_str(), trawled.offer.name.as_str()))
        .collect();
    assert_eq!(found, [(domains[0].as_str(), "two"), (domains[6].as_str(), "one")]);
    assert_eq!((trawl.failed.len(), trawl.skipped), (5, 0));
    assert_eq!(one.request(0).target, OLDEST);

    let many: Vec<String> = (0..1_200).map(|_| "not a domain".to_owned()).collect();
    let trawl = super::sources(home.path()).trawl(&many, Duration::from_secs(1));
    assert_eq!((trawl.failed.len(), trawl.skipped), (1_000, 200));
}

#[test]
fn offline_nobody_is_asked() {
    let server = ScriptedProvider::start(Script::new([]));
    let home = TempDir::new().expect("a folder");
    let mut options = options(home.path(), &Arc::default());
    options.offline = true;
    let error = Sources::new(options).offers(&reference(server.url())).expect_err("offline");
    assert!(told(&error).contains("while offline"), "{}", told(&error));
    assert!(server.requests().is_empty());
}
