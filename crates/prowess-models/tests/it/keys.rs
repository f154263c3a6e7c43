//! Keys: where they come from, and that nobody sees them.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use prowess_core::ModelErrorKind;
use prowess_models::{ModelSettings, RemoteModel, choose};
use prowess_testkit::{Answer, Reply, ScriptedProvider};
use serde_json::json;

use crate::{AT_ONCE, DIALECTS, KEY, all, model, request, run, told, variables};

/// A provider that repeats the key wherever it can say something.
#[test]
fn a_provider_that_repeats_the_key_is_not_quoted() {
    let encoded = "c2stdGVzdC01ZDQxNDAyYWJjNGIyYTc2";
    let spoken = format!("bad key {KEY}, also {encoded} and \"{KEY}\"");
    let error = json!({ "error": { "message": spoken, "type": "invalid_request_error" } });
    let mut replies: Vec<Reply> =
        [400, 401, 403, 404, 413, 418, 422, 429, 500, 503, 529, 599, 300, 302]
            .into_iter()
            .flat_map(|status| {
                [
                    Reply::json(status, &error),
                    Reply::json(status, &json!({ "detail": spoken })),
                    Reply::bytes(status, "text/plain", spoken.clone()),
                    Reply::bytes(status, &format!("text/{KEY}"), spoken.clone()),
                ]
            })
            .collect();
    replies.extend([
        Reply::bytes(200, &format!("text/{KEY}"), ""),
        Reply::bytes(200, "text/plain", spoken.clone()),
        Reply::json(200, &error),
        Reply::bytes(200, "text/event-stream", format!("data: {{{KEY}\n\n")),
        Reply::answer(Answer::text([]).then_error(json!({ "message": spoken }))),
        Reply::answer(Answer::text(["a"]).then_error(json!({ "message": spoken }))),
        Reply::answer(Answer::text(["a"]).then_error(json!(spoken))),
    ]);
    for dialect in DIALECTS {
        for reply in &replies {
            let provider = ScriptedProvider::start(vec![reply.clone(); 3]);
            // `told` looks for the key as it is; here for its other spelling too.
            let said = run(all(&model(dialect, &provider), &request("Hi")));
            assert!(!said.contains(KEY) && !said.contains(encoded), "{said}");
        }
    }
}

#[test]
fn a_short_key_withholds_the_whole_text() {
    let reply = Reply::json(401, &json!({ "error": { "message": "bad key k9" } }));
    let provider = ScriptedProvider::start(reply);
    let mut set = variables(provider.url());
    set.retain(|(name, _)| name != "OPENAI_API_KEY");
    set.push(("OPENAI_API_KEY".to_owned(), "k9".to_owned()));
    let settings = ModelSettings::of(&set, None, Path::new("/nowhere")).expect("settings");
    let choice = settings.choose(Some("openai/m")).expect("a choice");
    let model = RemoteModel::open(&choice, &set).expect("a model").with_retries(AT_ONCE);
    let said = run(all(&model, &request("Hi")));
    assert!(!said.contains("k9"), "{said}");
    assert_eq!(provider.request(0).header("authorization"), Some("Bearer k9"));
}

#[test]
fn debug_output_contains_no_key() {
    let provider = ScriptedProvider::start(Answer::text(["a"]));
    let set = variables(provider.url());
    let settings = ModelSettings::of(&set, None, Path::new("/nowhere")).expect("settings");
    let choice = settings.choose(Some("openai/m")).expect("a choice");
    let model = RemoteModel::open(&choice, &set).expect("a model");
    for shown in [format!("{settings:?}"), format!("{choice:?}"), format!("{model:?}")] {
        assert!(!shown.contains(KEY), "{shown}");
    }
}

/// A folder with settings that name a key file of this mode and content.
fn folder(mode: u32, content: &str, base_url: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let config = format!(
        "model = \"work/m\"\n[providers.work]\nkind = \"openai\"\nbase_url = \"{base_url}\"\n\
         key_file = \"key\"\n"
    );
    std::fs::write(folder.path().join("config.toml"), config).expect("it is ours");
    let key = folder.path().join("key");
    std::fs::write(&key, content).expect("it is ours");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(mode)).expect("it is ours");
    folder
}

#[test]
fn a_key_from_a_file_is_used() {
    let provider = ScriptedProvider::start(Answer::text(["a"]));
    let folder = folder(0o600, &format!("{KEY}\n"), provider.url());
    let model = choose(None, &[], folder.path()).expect("a model");
    run(async {
        drop(model.answer(&request("Hi")).await.expect("an answer"));
    });
    let bearer = format!("Bearer {KEY}");
    assert_eq!(provider.request(0).header("authorization"), Some(bearer.as_str()));
}

#[test]
fn a_key_file_that_others_can_read_is_refused() {
    for mode in [0o644, 0o640, 0o604, 0o660, 0o601] {
        let folder = folder(mode, KEY, "http://127.0.0.1:1");
        let error = choose(None, &[], folder.path()).err().expect("it is refused");
        assert_eq!(error.kind, ModelErrorKind::Unauthorized, "{mode:o}");
        let said = told(&error).replace(&*folder.path().to_string_lossy(), "[CONFIG]");
        insta::allow_duplicates! {
            insta::assert_snapshot!(said, @r"
            Unauthorized: others can read the key file `[CONFIG]/key`
              hint: fix it with `chmod 600 [CONFIG]/key`
              hint: others may have read it already: get a new key
            ");
        }
    }
}

#[test]
fn invalid_key_files_are_refused() {
    let too_long = "x".repeat(20_000);
    for (content, wanted) in [
        ("", "is empty"),
        ("\n \n", "is empty"),
        (too_long.as_str(), "is too long to hold a key"),
        ("two\nlines", "contains invalid characters"),
        ("schlüssel", "contains invalid characters"),
    ] {
        let folder = folder(0o600, content, "http://127.0.0.1:1");
        let error = choose(None, &[], folder.path()).err().expect("it is refused");
        assert!(error.message.ends_with(wanted), "{error}");
    }
    let folder = folder(0o600, "", "http://127.0.0.1:1");
    std::fs::remove_file(folder.path().join("key")).expect("it is ours");
    let error = choose(None, &[], folder.path()).err().expect("it is refused");
    assert!(error.message.contains("cannot read the key file"), "{error}");
}

#[test]
fn a_missing_key_is_reported_before_sending() {
    let error = choose(Some("openai/m"), &[], Path::new("/nowhere")).err().expect("no key");
    insta::assert_snapshot!(told(&error), @"
    Unauthorized: `openai` requires a key, but `OPENAI_API_KEY` is not set
      hint: set `OPENAI_API_KEY`
      hint: or set `key_file` in `[providers.openai]` of config.toml
    ");
}
