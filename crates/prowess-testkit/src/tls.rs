//! A TLS server with its own certificate authority. It records its requests.

use std::io::{Read, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use rcgen::{BasicConstraints, Certificate, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// A server for one host name or address.
pub struct TlsServer {
    /// Its port on the loopback address.
    pub port: u16,
    root: Certificate,
    requests: Arc<Mutex<Vec<String>>>,
}

impl TlsServer {
    /// Starts a server for this name. The subject of the authority is `authority`, and `answer` creates the whole reply
    /// to each request.
    pub fn start<R: Into<Vec<u8>>>(
        name: &str,
        authority: &str,
        answer: impl Fn(&str) -> R + Send + 'static,
    ) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, authority);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let root = params.self_signed(&key).expect("a certificate");
        let config = Arc::new(config(name, &Issuer::new(params, key)));
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
        let port = listener.local_addr().expect("it has an address").port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let connection = ServerConnection::new(Arc::clone(&config)).expect("it is valid");
                let mut stream = StreamOwned::new(connection, stream);
                // A client that rejects the certificate sends no request.
                let Some(request) = read(&mut stream) else { continue };
                let reply: Vec<u8> = answer(&request).into();
                seen.lock().expect("nobody panics with it").push(request);
                let _ = stream.write_all(&reply);
                stream.conn.send_close_notify();
                let _ = stream.flush();
            }
        });
        Self { port, root, requests }
    }

    /// The root certificate as DER.
    pub fn root(&self) -> Vec<u8> {
        self.root.der().to_vec()
    }

    /// The root certificate as PEM.
    pub fn root_pem(&self) -> String {
        self.root.pem()
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().expect("nobody panics with it").clone()
    }
}

/// A whole HTTP response with this body.
pub fn reply(body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
}

fn config(name: &str, issuer: &Issuer<'_, KeyPair>) -> ServerConfig {
    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
    // A name different from the authority's: otherwise the certificate would look self-signed.
    params.distinguished_name.push(DnType::CommonName, "server");
    let leaf = params.signed_by(&key, issuer).expect("a certificate");
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider has them")
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], key)
        .expect("key and certificate belong together")
}

/// Reads a request with its body.
fn read(stream: &mut impl Read) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length = length.map_or(0, |length| length.trim().parse().unwrap_or(0));
            if body.len() >= length {
                return Some(text);
            }
        }
        let mut piece = [0; 4096];
        match stream.read(&mut piece) {
            Ok(count) if count > 0 => bytes.extend_from_slice(&piece[..count]),
            _ => return None,
        }
    }
}
