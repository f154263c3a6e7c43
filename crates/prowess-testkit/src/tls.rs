//! A server behind TLS, with an authority of its own that vouches for it. It remembers what it was asked.

use std::io::{Read, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use rcgen::{BasicConstraints, Certificate, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// A server for one name or address, for as long as the test lasts.
pub struct TlsServer {
    /// Where it listens, on the loopback.
    pub port: u16,
    root: Certificate,
    requests: Arc<Mutex<Vec<String>>>,
}

impl TlsServer {
    /// A server for this name. The authority is called `authority`, and every request gets the whole reply that `answer`
    /// makes of it.
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
                // Who does not believe the certificate asks nothing.
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

    /// The certificate that it has to be believed because of, as DER.
    pub fn root(&self) -> Vec<u8> {
        self.root.der().to_vec()
    }

    /// The same as PEM.
    pub fn root_pem(&self) -> String {
        self.root.pem()
    }

    /// Everything that it was asked.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().expect("nobody panics with it").clone()
    }
}

/// The whole reply with this body.
pub fn reply(body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
}

fn config(name: &str, issuer: &Issuer<'_, KeyPair>) -> ServerConfig {
    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
    // Another name than the authority's, or the certificate would look self-signed.
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

/// A request with its body.
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
