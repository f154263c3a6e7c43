//! Which addresses are connected to, and how they are shown. Conversations are tested through the `prowess` binary.

use prowess_mcp_client::{check_endpoint, shown_endpoint};

#[test]
fn addresses_are_checked_before_anything_is_sent() {
    for (url, expected) in [
        ("https://mcp.example/mcp", "ok"),
        ("https://10.0.0.1/mcp", "ok"),
        ("http://localhost:8000/mcp", "ok"),
        ("http://127.0.0.1:8000/mcp", "ok"),
        ("http://[::1]:8000/mcp", "ok"),
        (
            "http://mcp.example/mcp?key=secret",
            "has the URL `http://mcp.example/mcp?…`, which is not encrypted: use `https`",
        ),
        (
            "http://10.0.0.1/mcp",
            "has the URL `http://10.0.0.1/mcp`, which is not encrypted: use `https`",
        ),
        ("ftp://mcp.example/", "has the URL `ftp://mcp.example/`, which is not an HTTP address"),
        ("file:///etc/passwd", "has the URL `file:///etc/passwd`, which names no host"),
        ("mcp.example", "has a URL that is not valid (relative URL without a base)"),
    ] {
        let checked = check_endpoint(url);
        let said = checked.map_or_else(|error| error.message, |()| "ok".to_owned());
        assert_eq!(said, expected, "{url}");
    }
}

#[test]
fn an_address_is_shown_without_what_could_be_a_secret() {
    for (url, expected) in [
        ("https://user:pw@mcp.example/mcp?key=secret#x", "https://mcp.example/mcp?…"),
        ("https://mcp.example", "https://mcp.example/"),
        ("not a url", "an invalid URL"),
    ] {
        assert_eq!(shown_endpoint(url), expected);
    }
}
