//! A provider behind TLS, as all public ones are.

use prowess_testkit::tls::TlsServer;

use crate::scene;

const ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n\
    data: {\"choices\":[{\"delta\":{\"content\":\"yes\"}}]}\n\n\
    data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n\
    data: [DONE]\n\n";

/// A provider that gives every request the same answer, and the authority of this name that vouches for it.
fn server(authority: &str) -> (u16, String) {
    let server = TlsServer::start("127.0.0.1", authority, |_| ANSWER.to_owned());
    (server.port, server.root_pem())
}

#[test]
fn a_provider_is_believed_when_the_machine_trusts_its_authority() {
    let (port, root) = server("an authority");
    let (_, stranger) = server("another authority");
    let check = |authority: &str| {
        let scene = scene().home("home").file("root.pem", authority);
        let file = scene.path().join("root.pem").to_string_lossy().into_owned();
        let scene = scene
            .variable("SSL_CERT_FILE", &file)
            .variable("OPENAI_BASE_URL", &format!("https://127.0.0.1:{port}/v1"))
            .variable("OPENAI_API_KEY", "sk-test-5d41402abc4b2a76");
        scene.run("models --test openai/m").replace(&port.to_string(), "[PORT]")
    };
    let believed = check(&root);
    assert!(believed.starts_with("exit 0\n--- stdout\nopenai/m answers\n"), "{believed}");
    insta::assert_snapshot!(check(&stranger));
}
