use super::{BUILT_IN, base_url, is_loopback, ollama_host};

fn shown(url: Result<url::Url, String>) -> String {
    url.map_or_else(|why| format!("error: {why}"), |url| url.to_string())
}

#[test]
fn base_urls() {
    let keys = "error: it must not contain a key: use `key_env` or `key_file`";
    for (text, wanted) in [
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080/v1"),
        ("http://127.0.0.1:8080/", "http://127.0.0.1:8080/v1"),
        ("https://example.com/v1/", "https://example.com/v1"),
        ("https://example.com/api/openai", "https://example.com/api/openai"),
        ("https://example.com/v1#part", "https://example.com/v1"),
        ("https://user:secret@example.com/v1", keys),
        ("https://example.com/v1?key=secret", keys),
        ("example.com", "error: relative URL without a base"),
        ("ftp://example.com", "error: it must begin with `http://` or `https://` and name a host"),
    ] {
        assert_eq!(shown(base_url(text)), wanted, "{text}");
    }
}

#[test]
fn the_host_variable_of_ollama() {
    for (text, wanted) in [
        ("127.0.0.1", "http://127.0.0.1:11434/v1"),
        ("example.com:1234", "http://example.com:1234/v1"),
        (":1234", "http://127.0.0.1:1234/v1"),
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0:1234", "http://127.0.0.1:1234/v1"),
        ("[::1]", "http://[::1]:11434/v1"),
        ("[::1]:1234", "http://[::1]:1234/v1"),
        ("http://example.com", "http://example.com/v1"),
        ("https://example.com", "https://example.com/v1"),
        ("https://example.com:8443/", "https://example.com:8443/v1"),
        ("http://example.com/below", "http://example.com/below/v1"),
        ("http://example.com/v1", "http://example.com/v1"),
    ] {
        assert_eq!(shown(ollama_host(text)), wanted, "{text}");
    }
}

#[test]
fn built_in_urls_are_valid_and_local_ones_are_loopback() {
    for known in &BUILT_IN {
        let url = base_url(known.base_url).expect("a known address");
        assert_eq!(url.as_str(), known.base_url);
        assert_eq!(is_loopback(&url), known.is_local, "{}", known.name);
    }
}

#[test]
fn loopback_addresses() {
    for (text, wanted) in [
        ("http://127.8.8.8/v1", true),
        ("http://[::1]:5/v1", true),
        ("http://localhost/v1", true),
        ("http://a.localhost/v1", true),
        ("http://localhost.example.com/v1", false),
        ("http://10.0.0.1/v1", false),
        ("http://0.0.0.0:5/v1", true),
        ("http://[::]:5/v1", true),
        ("http://[::ffff:127.0.0.1]:5/v1", true),
        ("http://[::ffff:10.0.0.1]:5/v1", false),
    ] {
        assert_eq!(is_loopback(&base_url(text).expect("a URL")), wanted, "{text}");
    }
}
