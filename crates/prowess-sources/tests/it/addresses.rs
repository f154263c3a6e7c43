//! Single files at addresses, and the rules that hold for every request.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use insta::assert_snapshot;
use prowess_package::limits::PackageLimits;
use prowess_sources::Sources;
use prowess_store::reference::Reference;
use prowess_store::source::{Pinned, Source as _};
use prowess_testkit::tls::TlsServer;
use prowess_testkit::{Reply, Script, ScriptedProvider};
use tempfile::TempDir;

use super::{manifest, only, options, shown, told};

fn show(server: &ScriptedProvider, path: &str) -> String {
    let home = TempDir::new().expect("a folder");
    let mut options = options(home.path(), &Arc::default());
    options.limits = PackageLimits { archive_bytes: 4096, ..PackageLimits::PACKAGE };
    let reference = Reference::Address(format!("{}{path}", server.url()));
    shown(&Sources::new(options), &reference, &[(server.url(), "URL")])
}

fn page(server: Script, path: &str, body: impl Into<Vec<u8>>) -> Script {
    server.page(path, Reply::bytes(200, "text/plain", body))
}

#[test]
fn a_file_at_an_address_is_a_skill() {
    let script = page(Script::new([]), "/one/SKILL.md", manifest("one"));
    let script = page(script, "/page.md", "<html>");
    let script = page(script, "/big.md", manifest("one") + &"x".repeat(5000));
    let server = ScriptedProvider::start(script);
    assert_snapshot!(show(&server, "/one/SKILL.md"), @"
    one from URL/one/SKILL.md
      SKILL.md
    ");
    assert_eq!(server.requests().len(), 1, "what was offered is not fetched again");
    assert_snapshot!(show(&server, "/page.md"), @"Unusable: `URL/page.md`: this is neither an archive nor a `SKILL.md`, which begins with `---`");
    assert_snapshot!(show(&server, "/big.md"), @"Unusable: `URL/big.md` has more than 4 KiB");
    assert_snapshot!(show(&server, "/nothing.md"), @"
    NotFound: there is nothing at `URL/nothing.md`
      hint: check the spelling
    ");
}

#[test]
fn other_bytes_than_were_recorded_are_refused() {
    let home = TempDir::new().expect("a folder");
    let server = ScriptedProvider::start(page(Script::new([]), "/SKILL.md", manifest("one")));
    let location = format!("{}/SKILL.md", server.url());
    let sources = super::sources(home.path());
    let pinned =
        Pinned::File { location: location.clone(), sha256: format!("sha256:{}", "0".repeat(64)) };
    let error = sources.fetch("one", &pinned).expect_err("other bytes");
    assert!(told(&error).starts_with("Mismatch: "), "{}", told(&error));
    let right = only(&sources, &Reference::Address(location));
    assert!(sources.fetch("one", &right).is_ok());
}

#[test]
fn nothing_is_asked_in_the_clear_or_where_nobody_pointed() {
    // Attack registry-D12.
    let redirect = |status: u16, target: &str| {
        Reply::bytes(status, "text/plain", "x").header("location", target)
    };
    let script = page(Script::new([]), "/SKILL.md", manifest("one"))
        .page("/near", redirect(302, "/SKILL.md"))
        .page("/clear", redirect(301, "http://host.example/SKILL.md"))
        .page("/metadata", redirect(307, "http://169.254.169.254/latest"))
        .page("/file", redirect(308, "file:///etc/passwd"))
        .page("/loop", redirect(302, "/loop"));
    let server = ScriptedProvider::start(script);
    for (path, expected) in [
        ("/near", "one from URL/near\n  SKILL.md"),
        ("/clear", "Unusable: `http://host.example/SKILL.md` is not encrypted"),
        ("/metadata", "Unusable: `http://169.254.169.254/latest` is not encrypted"),
        ("/file", "Unusable: `file:///etc/passwd` is not encrypted"),
        ("/loop", "Unusable: `URL/loop` redirects more than 5 times"),
    ] {
        let text = show(&server, path);
        assert!(text.starts_with(expected), "{path}: {text}");
    }
    let home = TempDir::new().expect("a folder");
    for (address, expected) in [
        ("http://host.example/SKILL.md", "`http://host.example/SKILL.md` is not encrypted"),
        (
            "https://ada:secret@host.example/SKILL.md",
            "`https://host.example/SKILL.md` contains a user name or a password",
        ),
    ] {
        let error = super::sources(home.path())
            .offers(&Reference::Address(address.to_owned()))
            .expect_err(address);
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn a_busy_server_is_asked_again_for_a_while() {
    let busy = |pause: &str| Reply::bytes(429, "text/plain", "busy").header("retry-after", pause);
    let good = || Reply::bytes(200, "text/plain", manifest("one"));
    for (replies, expected, expected_pauses) in [
        (vec![busy("2"), good()], "one from", vec![2]),
        (
            vec![busy("2"), busy("3"), busy("4")],
            "Unreachable: `HOST` is busy (status 429) and asks to retry in 4 seconds",
            vec![2, 3],
        ),
        (
            vec![busy("3600")],
            "Unreachable: `HOST` is busy (status 429) and asks to retry in 3600 seconds",
            vec![],
        ),
        (vec![busy("soon"), good()], "one from", vec![1]),
    ] {
        let server = ScriptedProvider::start(replies);
        let home = TempDir::new().expect("a folder");
        let pauses = Arc::new(Mutex::new(Vec::new()));
        let sources = Sources::new(options(home.path(), &pauses));
        let host = server.url().trim_start_matches("http://");
        let reference = Reference::Address(format!("{}/SKILL.md", server.url()));
        let text = shown(&sources, &reference, &[(host, "HOST")]);
        assert!(text.starts_with(expected), "{text}");
        let expected_pauses: Vec<Duration> =
            expected_pauses.into_iter().map(Duration::from_secs).collect();
        assert_eq!(*pauses.lock().expect("a list"), expected_pauses);
    }
}

#[test]
fn other_hosts_are_reached_through_the_proxy() {
    let proxy = ScriptedProvider::start(Script::by(|_| Reply::bytes(403, "text/plain", "no")));
    let home = TempDir::new().expect("a folder");
    let mut options = options(home.path(), &Arc::default());
    options.variables.push(("HTTPS_PROXY".to_owned(), proxy.url().to_owned()));
    let reference = Reference::Address("https://host.example/SKILL.md".to_owned());
    Sources::new(options).offers(&reference).expect_err("the proxy says no");
    let asked = proxy.request(0);
    assert_eq!((asked.method.as_str(), asked.target.as_str()), ("CONNECT", "host.example:443"));
}

#[test]
fn a_certificate_that_nobody_vouches_for_is_refused() {
    let server = TlsServer::start("127.0.0.1", "nobody", |_| {
        "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_owned()
    });
    let home = TempDir::new().expect("a folder");
    let reference = Reference::Address(format!("https://127.0.0.1:{}/SKILL.md", server.port));
    let error = super::sources(home.path()).offers(&reference).expect_err("not trusted");
    assert!(told(&error).starts_with("Unreachable: cannot reach `127.0.0.1:"), "{}", told(&error));
    assert!(told(&error).to_lowercase().contains("certificate"), "{}", told(&error));
    assert!(server.requests().is_empty());
}

/// A server that answers one request, and says how long its answer is.
fn counted_server(body: String) -> (String, std::thread::JoinHandle<()>) {
    use std::io::{BufRead as _, BufReader, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let host = listener.local_addr().expect("it listens").to_string();
    let server = std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().expect("somebody asks");
        let request = BufReader::new(connection.try_clone().expect("a copy"));
        let head = request.lines().map(|line| line.expect("a line"));
        assert!(head.take_while(|line| !line.is_empty()).count() > 0);
        let length = body.len();
        write!(connection, "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}")
            .expect("sent");
    });
    (host, server)
}

#[test]
fn a_download_tells_how_far_it_is() {
    let page = format!("{}\n{}\n", super::manifest("greet"), "x".repeat(300 << 10));
    let length = page.len().div_ceil(1024);
    let listen = |address: &str| {
        let home = tempfile::TempDir::new().expect("a folder");
        let told: std::sync::Arc<std::sync::Mutex<Vec<Option<String>>>> = std::sync::Arc::default();
        let mut options = super::options(home.path(), &std::sync::Arc::default());
        let heard = std::sync::Arc::clone(&told);
        options.progress = prowess_sources::Progress::new(move |line| {
            heard.lock().expect("a list").push(line.map(str::to_owned));
        });
        let sources = prowess_sources::Sources::new(options);
        super::only(&sources, &super::reference(address));
        let mut told = told.lock().expect("a list").clone();
        assert_eq!(told.pop(), Some(None), "the line goes away at the end");
        assert!(told.len() > 1, "{told:?}");
        told.into_iter().flatten().collect::<Vec<String>>()
    };
    // Of how much, where the server says it.
    let (host, server) = counted_server(page.clone());
    let lines = listen(&format!("http://{host}/SKILL.md"));
    server.join().expect("the server ends");
    assert!(lines.iter().all(|line| line.ends_with(&format!(" of {length} KiB"))), "{lines:?}");
    assert_eq!(lines.last(), Some(&format!("{host}: {length} KiB of {length} KiB")));
    // And only how much where it does not.
    let script = prowess_testkit::Script::new([])
        .page("/SKILL.md", prowess_testkit::Reply::bytes(200, "text/markdown", page));
    let server = prowess_testkit::ScriptedProvider::start(script);
    let lines = listen(&format!("{}/SKILL.md", server.url()));
    let host = server.url().trim_start_matches("http://");
    assert_eq!(lines.last(), Some(&format!("{host}: {length} KiB")));
}
