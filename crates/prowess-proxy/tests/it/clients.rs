//! Real programs that use the proxy. They are part of every supported system, so a missing one is a
//! failure and not a reason to skip.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use insta::assert_snapshot;
use tempfile::TempDir;

use crate::server::Answer;
use crate::world::{Seen, World};

const BOTH: &[&str] = &["read *.brave.test:{http}", "read *.brave.test:{https}"];

/// Runs a program with the proxy in its environment, as the sandbox does.
fn run(world: &World, program: &str, arguments: &[&str]) -> String {
    let folder = TempDir::new().unwrap();
    run_in(world, folder.path(), program, arguments)
}

fn run_in(world: &World, folder: &Path, program: &str, arguments: &[&str]) -> String {
    let ca = folder.join("ca.pem");
    std::fs::write(&ca, world.ca.as_deref().unwrap_or("")).unwrap();
    let proxy = format!("http://127.0.0.1:{}", world.proxy);
    let arguments: Vec<String> = arguments.iter().map(|argument| world.fill_in(argument)).collect();
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .envs(
            std::env::vars().filter(|(name, _)| matches!(name.as_str(), "PATH" | "PYENV_VERSION")),
        )
        .env("HOME", folder)
        .env("http_proxy", &proxy)
        .env("https_proxy", &proxy)
        .envs(["SSL_CERT_FILE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO"].map(|name| (name, &ca)))
        .envs([("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_TERMINAL_PROMPT", "0")])
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("can't run {program}: {error}"));
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    let code = output.status.code().unwrap();
    format!("exit {code}\n{}\n{}", said.trim_end(), complained.trim_end()).trim_end().to_owned()
}

/// What the client printed and what reached the servers, without details that depend on versions.
fn show(seen: &Seen) -> String {
    let mut text = seen.client.clone();
    for request in &seen.servers {
        let line = request.split(" [").next().unwrap();
        text.push_str("\nserver: ");
        text.push_str(line);
    }
    text
}

fn curl(arguments: &[&str]) -> String {
    let world = World::new(BOTH);
    let answer = run(&world, "curl", &[&["-sS"], arguments].concat());
    show(&world.end(answer))
}

#[test]
fn curl_can_read_granted_hosts() {
    // GAIA §3.2, GAIA-3.2-5
    assert_snapshot!(curl(&["http://api.brave.test:{http}/"]), @"
    exit 0
    hello
    server: GET / HTTP/1.1
    ");
    assert_snapshot!(curl(&["https://api.brave.test:{https}/"]), @"
    exit 0
    hello
    server: GET / HTTP/1.1
    ");
    assert_snapshot!(curl(&["-I", "-o", "/dev/null", "https://brave.test:{https}/"]), @"
    exit 0
    server: HEAD / HTTP/1.1
    ");
}

#[test]
fn curl_cannot_write_with_read_access() {
    // GAIA-3.2-5, sandbox-C18, sandbox-C19
    for scheme in ["http", "https"] {
        let url = format!("{scheme}://api.brave.test:{{{scheme}}}/");
        for method in ["POST", "PUT", "DELETE", "PATCH"] {
            let seen = curl(&["-X", method, "-d", "x", &url]);
            assert!(seen.starts_with("exit 0\nrefused: "), "{method} {url}: {seen}");
            assert!(!seen.contains("server:"), "{method} {url}: {seen}");
        }
    }
}

#[test]
fn curl_cannot_access_other_hosts() {
    // GAIA §3.2, sandbox-C08, sandbox-C10
    assert_snapshot!(curl(&["http://example.com/"]), @"
    exit 0
    refused: no grant covers the host `example.com`
    hint: `network:read:example.com` would allow reading from it, `network:write:example.com` everything
    ");
    for url in [
        "https://example.com/",
        "http://api.brave.test@evil.test/",
        "http://2130706433:{http}/",
        "https://[::ffff:127.0.0.1]:{https}/",
    ] {
        let seen = curl(&["-f", url]);
        assert!(!seen.starts_with("exit 0") && !seen.contains("server:"), "{url}: {seen}");
    }
}

#[test]
fn curl_cannot_use_another_server_name() {
    // sandbox-C14: `CONNECT` and `ClientHello` name different hosts.
    let seen =
        curl(&["--connect-to", "evil.test:443:api.brave.test:{https}", "https://evil.test/"]);
    assert!(!seen.starts_with("exit 0") && !seen.contains("server:"), "{seen}");
}

#[test]
fn curl_without_the_certificate_of_the_run_is_refused() {
    // sandbox-C19
    let mut world = World::new(BOTH);
    world.ca = World::new(BOTH).ca;
    let answer = run(&world, "curl", &["-sS", "https://api.brave.test:{https}/"]);
    assert!(answer.starts_with("exit 60"), "{answer}");
    assert_eq!(world.end(answer).servers, Vec::<String>::new());
}

const PYTHON: &str = "
import sys, urllib.request, urllib.error
for method, url in zip(sys.argv[1::2], sys.argv[2::2]):
    request = urllib.request.Request(url, method=method)
    try:
        print(method, urllib.request.urlopen(request).read().decode())
    except urllib.error.HTTPError as error:
        print(method, error.code, error.read().decode().splitlines()[0])
    except urllib.error.URLError as error:
        print(method, error.reason)
";

#[test]
fn python_can_read_but_not_write() {
    // GAIA §3.2, GAIA-3.2-5
    let world = World::new(BOTH);
    let arguments = [
        "-c",
        PYTHON,
        "GET",
        "http://api.brave.test:{http}/",
        "GET",
        "https://api.brave.test:{https}/",
        "POST",
        "http://api.brave.test:{http}/",
        "DELETE",
        "https://api.brave.test:{https}/",
        "GET",
        "http://example.com/",
        "GET",
        "https://example.com/",
    ];
    let answer = run(&world, "python3", &arguments);
    let port = world.fill_in("{https}");
    assert_snapshot!(show(&world.end(answer.replace(&port, "{https}"))), @"
    exit 0
    GET hello
    GET hello
    POST 403 refused: `POST` needs write access to `api.brave.test`
    DELETE 403 refused: `DELETE` needs write access to `api.brave.test`
    GET 403 refused: no grant covers the host `example.com`
    GET Tunnel connection failed: 403 Forbidden
    server: GET / HTTP/1.1
    server: GET / HTTP/1.1
    ");
}

/// A git server: hands each request to git's own CGI program.
fn git_server(repositories: &Path) -> Answer {
    let repositories = repositories.to_owned();
    Arc::new(move |first, head, body| {
        let mut words = first.split(' ');
        let (method, target) = (words.next().unwrap(), words.next().unwrap());
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let field = |name: &str| {
            head.lines()
                .filter_map(|line| line.split_once(": "))
                .find(|(key, _)| key.eq_ignore_ascii_case(name))
                .map_or("", |(_, value)| value)
        };
        let mut child = Command::new("git")
            .arg("http-backend")
            .env("GIT_PROJECT_ROOT", &repositories)
            .env("GIT_HTTP_EXPORT_ALL", "1")
            .env("REQUEST_METHOD", method)
            .env("PATH_INFO", path)
            .env("QUERY_STRING", query)
            .env("CONTENT_TYPE", field("content-type"))
            .env("CONTENT_LENGTH", body.len().to_string())
            .env("HTTP_CONTENT_ENCODING", field("content-encoding"))
            .env("GIT_PROTOCOL", field("git-protocol"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(body).unwrap();
        let output = child.wait_with_output().unwrap().stdout;
        let end = output.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
        let (fields, content) = (&output[..end], &output[end + 4..]);
        let mut response =
            format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n", content.len()).into_bytes();
        response.extend(fields);
        response.extend(b"\r\n\r\n");
        response.extend(content);
        response
    })
}

#[test]
fn git_can_clone_but_not_push() {
    // sandbox-C23
    let folder = TempDir::new().unwrap();
    let repositories = folder.path().join("repositories");
    std::fs::create_dir(&repositories).unwrap();
    let world = World::with(BOTH, git_server(&repositories), |_| {});
    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@b.test"];
        run_in(&world, folder.path(), "git", &[&identity, arguments].concat())
    };
    let local = |arguments: &[&str]| {
        let said = git(arguments);
        assert!(said.starts_with("exit 0"), "{arguments:?}: {said}");
    };
    local(&["init", "-q", "-b", "main", "work"]);
    local(&["-C", "work", "commit", "-q", "--allow-empty", "-m", "first"]);
    local(&["clone", "-q", "--bare", "work", "repositories/r.git"]);
    local(&["-C", "repositories/r.git", "config", "http.receivepack", "true"]);

    local(&["clone", "-q", "https://api.brave.test:{https}/r.git", "cloned"]);
    local(&["-C", "cloned", "log", "-1", "--format=%s", "main"]);
    local(&["-C", "cloned", "commit", "-q", "--allow-empty", "-m", "second"]);
    let pushed = git(&["-C", "cloned", "push", "-q", "origin", "main"]);
    assert!(!pushed.starts_with("exit 0"), "{pushed}");
    assert!(pushed.contains("403"), "{pushed}");

    let refusals: Vec<String> = {
        let seen = world.end(pushed);
        assert!(seen.servers.iter().any(|line| line.starts_with("POST /r.git/git-upload-pack ")));
        assert!(!seen.servers.iter().any(|line| line.contains("receive-pack")));
        seen.report.refusals.iter().map(|refusal| refusal.message.clone()).collect()
    };
    assert_eq!(refusals, ["`git push` needs write access to `api.brave.test`"]);
}
