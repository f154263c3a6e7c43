//! A provider behind TLS, as all public ones are.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::scene;

const ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n\
    data: {\"choices\":[{\"delta\":{\"content\":\"yes\"}}]}\n\n\
    data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n\
    data: [DONE]\n\n";

/// Starts a server that gives every request the same answer; gives its port and the authority of this name that vouches
/// for it.
fn server(name: &str) -> (u16, String) {
    let mut authority = CertificateParams::default();
    authority.distinguished_name.push(rcgen::DnType::CommonName, name);
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    let root = authority.self_signed(&key).expect("a certificate").pem();
    let issuer = Issuer::new(authority, key);
    let config = Arc::new(config(&issuer));
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
    let port = listener.local_addr().expect("it has an address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { continue };
            let connection = ServerConnection::new(Arc::clone(&config)).expect("it is valid");
            let mut stream = StreamOwned::new(connection, stream);
            // A request of this size comes in one piece, and what it says does not matter here.
            if matches!(stream.read(&mut [0; 16 * 1024]), Ok(count) if count > 0) {
                let _ = stream.write_all(ANSWER.as_bytes());
                stream.conn.send_close_notify();
                let _ = stream.flush();
            }
        }
    });
    (port, root)
}

fn config(issuer: &Issuer<'_, KeyPair>) -> ServerConfig {
    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("an address");
    // Another name than the authority's, or the certificate would look self-signed.
    params.distinguished_name.push(rcgen::DnType::CommonName, "server");
    let leaf = params.signed_by(&key, issuer).expect("a certificate");
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider has them")
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], key)
        .expect("key and certificate belong together")
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
