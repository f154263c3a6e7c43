use prowess_core::{McpError, McpErrorKind, McpServerFacts, McpSession};
use prowess_package::digest::Sha256Digest;
use prowess_package::limits::PackageLimits;
use serde_json::{Map, Value, json};

use super::{entry, get, list, read_all};

const TEXT: &str = "---\nname: a\ndescription: A test.\n---\nBody.\n";

/// A server that answers by a function.
struct Server<F>(F, McpServerFacts, usize);

impl<F: Fn(&str, &Map<String, Value>, usize) -> Value> McpSession for Server<F> {
    fn server(&self) -> &McpServerFacts {
        &self.1
    }

    fn request(&mut self, method: &str, params: Map<String, Value>) -> Result<Value, McpError> {
        self.2 += 1;
        match (self.0)(method, &params, self.2) {
            Value::Null => Err(McpError::new(McpErrorKind::Answered(-32602), "says: unknown")),
            value => Ok(value),
        }
    }
}

fn server<F: Fn(&str, &Map<String, Value>, usize) -> Value>(answer: F) -> Server<F> {
    Server(answer, McpServerFacts::default(), 0)
}

fn file(uri: &str, text: &str) -> Value {
    let digest = format!("sha256:{}", Sha256Digest::of(text.as_bytes()));
    json!({ "uri": uri, "digest": digest, "size": text.len() })
}

fn skill(resources: &Value) -> Value {
    json!({
        "uri": "skill://x/a/SKILL.md",
        "frontmatter": { "name": "a", "description": "A test." },
        "resources": resources,
    })
}

fn main_file() -> Value {
    file("skill://x/a/SKILL.md", TEXT)
}

fn changed(key: &str, value: Value) -> Value {
    let mut skill = skill(&json!([main_file()]));
    skill[key] = value;
    skill
}

#[test]
fn an_entry_is_refused_before_anything_is_fetched() {
    let path = |uri: &str| skill(&json!([main_file(), file(uri, "x")]));
    let many: Vec<Value> = (0..513).map(|n| file(&format!("skill://x/a/{n}"), "x")).collect();
    let sized = |size: Value| {
        let mut file = file("skill://x/a/b", "x");
        file["size"] = size;
        skill(&json!([main_file(), file]))
    };
    let cases = [
        (path("skill://x/a/b c.md"), "ok"),
        (path("skill://x/a/b%20c.md"), "ok"),
        (path("skill://x/../../y"), "`skill://x/../../y` is not a file of the skill"),
        (path("skill://x/a/../../y"), "`../../y`"),
        (path("skill://x/a/%2e%2e/y"), "`../y`"),
        (path("skill://x/a/b%2Fc"), "is not a file of the skill"),
        (path("skill://x/ab/c"), "is not a file of the skill"),
        (path("file:///etc/passwd"), "is not a file of the skill"),
        (path("skill://x/a//etc/passwd"), "`/etc/passwd`"),
        (path("skill://x/a/SKILL.md"), "is listed twice"),
        (skill(&json!("dynamic")), "its files are `dynamic`, so no digest says which they are"),
        (skill(&json!(3)), "it lists no files"),
        (skill(&json!([])), "it does not list its `SKILL.md`"),
        (skill(&json!(many)), "it has more than 512 files"),
        (sized(json!(17 << 20)), "its files have more than 16 MiB"),
        (sized(json!(u64::MAX)), "its files have more than 16 MiB"),
        (sized(json!(-1)), "`b` has no size"),
        (sized(Value::Null), "`b` has no size"),
        (changed("uri", json!("skill://x/b/SKILL.md")), "does not end with `/a/SKILL.md`"),
        (changed("uri", json!("file:///a/SKILL.md")), "does not end with `/a/SKILL.md`"),
        (changed("uri", Value::Null), "it has no address"),
        (changed("frontmatter", json!({})), "its front matter has no name"),
        (changed("frontmatter", json!({ "name": "../a" })), ""),
        (json!(null), "it has no address"),
    ];
    for (value, expected) in cases {
        match entry(&value) {
            Ok(_) => assert_eq!(expected, "ok", "{value}"),
            Err(why) => assert!(why.contains(expected) && expected != "ok", "{why}: {value}"),
        }
    }
}

#[test]
fn a_list_ends_however_many_cursors_a_server_gives() {
    let page =
        |_: &str, _: &Map<String, Value>, _: usize| json!({ "skills": [], "nextCursor": "x" });
    let error = list(&mut server(page)).expect_err("an endless list");
    assert_eq!(error.what, "its list of skills has more than 200 pages");

    let many = |_: &str, _: &Map<String, Value>, page: usize| {
        let skills: Vec<Value> = (0..100)
            .map(|n| {
                let name = format!("s{page}-{n}");
                let uri = format!("skill://{name}/SKILL.md");
                json!({ "uri": uri, "frontmatter": { "name": name }, "resources": [file(&uri, "x")] })
            })
            .collect();
        json!({ "skills": skills, "nextCursor": "x" })
    };
    let error = list(&mut server(many)).expect_err("too many skills");
    assert_eq!(error.what, "it lists more than 2000 skills");
}

#[test]
fn a_list_skips_what_can_not_be_used() {
    let page = |_: &str, _: &Map<String, Value>, _: usize| {
        json!({ "skills": [
            skill(&json!([main_file()])),
            skill(&json!([main_file()])),
            { "uri": "skill://b/SKILL.md", "frontmatter": { "name": "b" }, "resources": "dynamic" },
        ] })
    };
    let (entries, notes) = list(&mut server(page)).expect("a list");
    assert_eq!(entries.len(), 1);
    assert_eq!(
        notes,
        [
            "`a` is published more than once; the first counts",
            "`skill://b/SKILL.md` is skipped: its files are `dynamic`, so no digest says which they are",
        ]
    );
}

#[test]
fn files_are_compared_with_what_was_listed() {
    let fetch = |listed: Value, sent: Value| {
        let answer = move |method: &str, _: &Map<String, Value>, _: usize| match method {
            "skills/get" => json!({ "skill": listed.clone() }),
            _ => json!({ "contents": [sent.clone()] }),
        };
        let mut server = server(answer);
        let entry = get(&mut server, "skill://x/a/SKILL.md").map_err(|error| error.what)?;
        read_all(&mut server, &entry, &PackageLimits::PACKAGE).map_err(|error| error.what)
    };
    let whole = skill(&json!([main_file()]));
    let text = |text: &str| json!({ "text": text });
    assert_eq!(fetch(whole.clone(), text(TEXT)).map(|files| files.len()), Ok(1));
    let other = "---\nname: a\ndescription: B test.\n---\nBody.\n";
    let another = changed("frontmatter", json!({ "name": "a", "description": "Harmless." }));
    for (listed, sent, expected) in [
        (whole.clone(), text("x"), "`skill://x/a/SKILL.md` has another size than the server lists"),
        (
            whole.clone(),
            text(other),
            "`skill://x/a/SKILL.md` has another digest than the server lists",
        ),
        (
            another,
            text(TEXT),
            "`skill://x/a/SKILL.md` has another front matter than the server lists",
        ),
        (whole.clone(), json!({ "blob": "***" }), "`skill://x/a/SKILL.md` is not valid base64"),
        (whole.clone(), json!({}), "`skill://x/a/SKILL.md` has no content"),
        (json!(null), text(TEXT), "`skill://x/a/SKILL.md` can't be used: it has no address"),
    ] {
        assert_eq!(fetch(listed, sent), Err(expected.to_owned()));
    }
}
