//! Proxies: which requests go through one.

use std::path::Path;

use prowess_models::{ModelSettings, RemoteModel, RetryPolicy};
use prowess_testkit::{Answer, ScriptedProvider};

use crate::{AT_ONCE, all, request, run};

/// What the proxy was asked for, or that it was not asked.
fn check(base_url: &str, set: &[(&str, &str)]) -> String {
    let proxy = ScriptedProvider::start(Answer::text(["through the proxy"]));
    let mut variables = vec![("OPENAI_BASE_URL".to_owned(), base_url.to_owned())];
    for (name, value) in set {
        variables.push(((*name).to_owned(), value.replace("[PROXY]", proxy.url())));
    }
    let settings = ModelSettings::of(&variables, None, Path::new("/nowhere")).expect("settings");
    let choice = settings.choose(Some("openai/m")).expect("a choice");
    match RemoteModel::open(&choice, &variables) {
        Err(error) => return error.message,
        Ok(model) => {
            run(all(&model.with_retries(RetryPolicy { attempts: 1, ..AT_ONCE }), &request("Hi")))
        }
    };
    match proxy.requests().first() {
        Some(asked) => format!("{} {}", asked.method, asked.target),
        None => "not asked".to_owned(),
    }
}

#[test]
fn requests_use_the_configured_proxy() {
    // Names that nobody has: whoever does not go through the proxy fails at once.
    let plain = "http://llm.invalid/v1";
    let asked = "POST http://llm.invalid/v1/chat/completions";
    for (base_url, set, wanted) in [
        (plain, &[("HTTP_PROXY", "[PROXY]")][..], asked),
        (plain, &[("http_proxy", "[PROXY]")], asked),
        (plain, &[("ALL_PROXY", "[PROXY]")], asked),
        (plain, &[("HTTPS_PROXY", "[PROXY]")], "not asked"),
        (plain, &[("HTTP_PROXY", "[PROXY]"), ("NO_PROXY", "other.invalid")], asked),
        (plain, &[("HTTP_PROXY", "[PROXY]"), ("NO_PROXY", "llm.invalid")], "not asked"),
        (plain, &[("HTTP_PROXY", "[PROXY]"), ("no_proxy", "a,.invalid")], "not asked"),
        (plain, &[("HTTP_PROXY", "[PROXY]"), ("NO_PROXY", "*")], "not asked"),
        (plain, &[], "not asked"),
        ("https://llm.invalid/v1", &[("HTTPS_PROXY", "[PROXY]")], "CONNECT llm.invalid:443"),
        ("https://llm.invalid/v1", &[("HTTP_PROXY", "[PROXY]")], "not asked"),
        ("http://127.0.0.1:1/v1", &[("HTTP_PROXY", "[PROXY]")], "not asked"),
        ("http://localhost:1/v1", &[("ALL_PROXY", "[PROXY]")], "not asked"),
        (plain, &[("HTTP_PROXY", "u:pass-word@::")], "`HTTP_PROXY` is not a valid proxy"),
        (plain, &[("HTTP_PROXY", "socks5://h")], "`HTTP_PROXY` is not a valid proxy"),
    ] {
        assert_eq!(check(base_url, set), wanted, "{base_url} {set:?}");
    }
}
