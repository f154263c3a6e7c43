//! The way out: what is granted gets through, and nothing else (GAIA §3.2).

use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::sync::{Arc, Mutex};

use prowess_core::RunOutcome;
use prowess_engine::ApprovalReply;
use prowess_policy::Remember;
use prowess_proxy::Resolver;
use prowess_testkit::tls::{self, TlsServer};

use crate::world::{Scene, Scripted};

/// A server for `*.brave.test` that answers every request with the request.
pub(crate) fn echo() -> TlsServer {
    TlsServer::start("*.brave.test", "an authority", tls::reply)
}

/// Every name is this machine, and what was asked for is remembered.
#[derive(Default)]
pub(crate) struct Names(Mutex<Vec<String>>);

impl Resolver for Names {
    fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        self.0.lock().expect("nobody panics with it").push(host.to_owned());
        Ok(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)])
    }
}

/// Answers every request with its first line, for as long as the test lasts.
fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
    let port = listener.local_addr().expect("it has an address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let mut request = [0; 4096];
            let count = stream.read(&mut request).unwrap_or(0);
            let text = String::from_utf8_lossy(&request[..count]).into_owned();
            let line = text.lines().next().unwrap_or_default().to_owned();
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{line}",
                line.len()
            );
        }
    });
    port
}

/// Runs curl with these arguments under these permissions; its envelope, and the names that were looked up.
fn curl(permissions: &str, arguments: &str) -> (prowess_core::Envelope, Vec<String>) {
    curl_with(&format!("permissions: [{permissions}]\n"), arguments)
}

fn curl_with(front_matter: &str, arguments: &str) -> (prowess_core::Envelope, Vec<String>) {
    let mut scene = Scene::new(
        front_matter,
        &[("get", &format!("curl --silent --show-error --max-time 20 {arguments}"))],
    );
    let names = Arc::new(Names::default());
    scene.outside = Some(Arc::clone(&names) as Arc<dyn Resolver>);
    let mut approver = Scripted::new(ApprovalReply::Yes(Remember::Once));
    let (envelope, _) = scene.run("get", None, &mut approver).expect("it starts");
    let asked = names.0.lock().expect("nobody panics with it").clone();
    (envelope, asked)
}

#[test]
fn granted_hosts_are_reached_and_others_are_not_even_looked_up() {
    // GAIA-3.2-3
    let port = server();
    let grant = format!("\"network:read:*.brave.test:{port}\"");
    let (envelope, asked) = curl(&grant, &format!("http://api.brave.test:{port}/a"));
    assert_eq!(envelope.output, "GET /a HTTP/1.1", "{envelope:?}");
    assert_eq!(asked, ["api.brave.test"]);
    let (envelope, asked) = curl(&grant, &format!("http://evil.test:{port}/a"));
    assert!(!envelope.output.contains("GET /a"), "{envelope:?}");
    assert_eq!(asked, Vec::<String>::new());
    assert!(envelope.warnings.iter().any(|warning| warning.contains("evil.test")), "{envelope:?}");
    // Without the proxy there is no way at all.
    let direct = format!("--noproxy * http://127.0.0.1:{port}/a");
    let (envelope, _) = curl(&grant, &direct);
    assert_eq!(envelope.outcome, RunOutcome::Failed, "{envelope:?}");
}

#[test]
fn reading_is_not_writing() {
    // GAIA-3.2-5
    let port = server();
    let arguments = format!("--data x=1 http://api.brave.test:{port}/a");
    let (envelope, _) = curl(&format!("\"network:read:api.brave.test:{port}\""), &arguments);
    assert!(!envelope.output.contains("POST /a"), "{envelope:?}");
    let (envelope, _) = curl(&format!("\"network:write:api.brave.test:{port}\""), &arguments);
    assert_eq!(envelope.output, "POST /a HTTP/1.1", "{envelope:?}");
}

#[test]
fn a_star_is_any_host_and_an_empty_list_is_none() {
    // SRT-4.7-1: both on the usual ports, where nobody serves here; what counts is who was looked up.
    let url = "http://any.where.test/a";
    let (_, asked) = curl_with("permissions:\n  network: [\"*\"]\n", url);
    assert_eq!(asked, ["any.where.test"]);
    let (envelope, asked) = curl_with("permissions:\n  network: []\n", url);
    assert_eq!(asked, Vec::<String>::new());
    assert_eq!(envelope.outcome, RunOutcome::Failed);
}

#[test]
fn without_a_grant_nothing_speaks_of_a_network() {
    let scene = Scene::new("", &[("show", "env"), ("list", "ls /run")]);
    let output = scene.envelope("show").output;
    assert!(!output.to_lowercase().contains("proxy"), "{output}");
    assert!(!output.contains("CERT"), "{output}");
    assert_eq!(scene.envelope("list").outcome, RunOutcome::Failed);
}

#[test]
fn with_a_grant_programs_find_proxy_and_certificates() {
    let scene = Scene::new(
        "permissions: [\"network:read:api.brave.test\", \"filesystem:none\"]\n",
        &[
            ("show", "env"),
            ("bundle", "tail -n 1 /run/prowess/ca-certificates.crt"),
            ("hosts", "cat /etc/hosts"),
        ],
    );
    let output = scene.envelope("show").output;
    assert!(output.contains("HTTPS_PROXY=http://127.0.0.1:3128\n"), "{output}");
    assert!(output.contains("SSL_CERT_FILE=/run/prowess/ca-certificates.crt\n"), "{output}");
    assert_eq!(scene.envelope("bundle").output, "-----END CERTIFICATE-----\n");
    let hosts = scene.envelope("hosts").output;
    assert_eq!(hosts, "127.0.0.1 localhost skill\n127.0.0.1 api.brave.test\n");
}
