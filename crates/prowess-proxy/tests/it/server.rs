//! Servers that record the requests they receive.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// Creates the response from the first line, the head and the body of a request.
pub(crate) type Answer = Arc<dyn Fn(&str, &str, &[u8]) -> Vec<u8> + Send + Sync>;

/// A server in its own threads.
pub(crate) struct Server {
    pub(crate) port: u16,
    address: SocketAddr,
    seen: Arc<Mutex<Vec<String>>>,
    stopping: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Server {
    pub(crate) fn http(answer: Answer) -> Self {
        Self::start(Ipv4Addr::LOCALHOST.into(), 0, None, answer)
    }

    pub(crate) fn https(authority: &Authority, answer: Answer) -> Self {
        Self::start(Ipv4Addr::LOCALHOST.into(), 0, Some(authority.config()), answer)
    }

    pub(crate) fn start(
        address: IpAddr,
        port: u16,
        tls: Option<Arc<ServerConfig>>,
        answer: Answer,
    ) -> Self {
        let listener = TcpListener::bind((address, port)).unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let stopping = Arc::new(AtomicBool::new(false));
        let thread = {
            let (seen, stopping) = (Arc::clone(&seen), Arc::clone(&stopping));
            std::thread::spawn(move || {
                let mut connections = Vec::new();
                for stream in listener.incoming() {
                    let stream = stream.unwrap();
                    if stopping.load(Ordering::SeqCst) {
                        break;
                    }
                    let (seen, answer, tls) = (Arc::clone(&seen), Arc::clone(&answer), tls.clone());
                    connections.push(std::thread::spawn(move || {
                        serve(stream, tls, &seen, &answer);
                    }));
                }
                for connection in connections {
                    connection.join().unwrap();
                }
            })
        };
        Server { port: address.port(), address, seen, stopping, thread }
    }

    /// Everything the server received. Waits until its connections have ended.
    pub(crate) fn stop(self) -> Vec<String> {
        self.stopping.store(true, Ordering::SeqCst);
        // A connection that was still waiting has ended the loop already, and then this one is refused or reset.
        let _ = TcpStream::connect(self.address);
        self.thread.join().unwrap();
        std::mem::take(&mut self.seen.lock().unwrap())
    }
}

fn serve(
    stream: TcpStream,
    tls: Option<Arc<ServerConfig>>,
    seen: &Mutex<Vec<String>>,
    answer: &Answer,
) {
    let result = match tls {
        None => serve_requests(stream, seen, answer),
        Some(config) => {
            let connection = ServerConnection::new(config).unwrap();
            let mut stream = StreamOwned::new(connection, stream);
            let result = serve_requests(&mut stream, seen, answer);
            stream.conn.send_close_notify();
            let _ = stream.flush();
            result
        }
    };
    // A client may disconnect at any time.
    if let Err(error) = result {
        let kind = error.kind();
        seen.lock().unwrap().push(format!("(connection ended: {kind:?})"));
    }
}

fn serve_requests(
    mut stream: impl Read + Write,
    seen: &Mutex<Vec<String>>,
    answer: &Answer,
) -> io::Result<()> {
    let mut bytes = Vec::new();
    loop {
        let end = loop {
            if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
                break end + 4;
            }
            if !read_more(&mut stream, &mut bytes)? {
                if !bytes.is_empty() {
                    let text = String::from_utf8_lossy(&bytes).into_owned();
                    seen.lock().unwrap().push(format!("(raw) {text:?}"));
                }
                return Ok(());
            }
        };
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        bytes.drain(..end);
        let lower = head.to_lowercase();
        let length = lower.lines().find_map(|line| line.strip_prefix("content-length: "));
        let body: Vec<u8> = if lower.contains("transfer-encoding: chunked") {
            let end = loop {
                let found = bytes.windows(5).position(|window| window == b"0\r\n\r\n");
                if let Some(found) = found {
                    break found + 5;
                }
                if !read_more(&mut stream, &mut bytes)? {
                    seen.lock().unwrap().push(format!("{} (broke off)", first_line(&head)));
                    return Ok(());
                }
            };
            bytes.drain(..end).collect()
        } else {
            let length = length.map_or(0, |length| length.trim().parse().unwrap());
            while bytes.len() < length {
                if !read_more(&mut stream, &mut bytes)? {
                    seen.lock().unwrap().push(format!("{} (broke off)", first_line(&head)));
                    return Ok(());
                }
            }
            bytes.drain(..length).collect()
        };
        let mut fields: Vec<&str> = head.lines().skip(1).filter(|line| !line.is_empty()).collect();
        fields.sort_unstable();
        let shown = if body.len() > 100 {
            format!("{} bytes", body.len())
        } else {
            format!("{:?}", String::from_utf8_lossy(&body))
        };
        let line = format!("{} [{}] {shown}", first_line(&head), fields.join("; "));
        seen.lock().unwrap().push(line);
        let response = answer(first_line(&head), &head, &body);
        let lasts = !lower.contains("connection: close")
            && (response.windows(16).any(|window| window == b"Content-Length: ")
                || response.ends_with(b"0\r\n\r\n"));
        stream.write_all(&response)?;
        stream.flush()?;
        if !lasts {
            return Ok(());
        }
    }
}

fn read_more(stream: &mut impl Read, bytes: &mut Vec<u8>) -> io::Result<bool> {
    let mut piece = [0; 16 * 1024];
    let length = match stream.read(&mut piece) {
        // A reset counts as the end of the connection.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => 0,
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => 0,
        result => result?,
    };
    bytes.extend_from_slice(&piece[..length]);
    Ok(length > 0)
}

fn first_line(head: &str) -> &str {
    head.lines().next().unwrap_or("")
}

/// The responses that most tests use, by path.
pub(crate) fn usual_answers() -> Answer {
    Arc::new(|first, _, body| {
        let path = first.split(' ').nth(1).unwrap_or("");
        let text: Vec<u8> = match path {
            "/chunked" => {
                return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
                         3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"
                    .to_vec();
            }
            "/until-close" => return b"HTTP/1.1 200 OK\r\n\r\nhello".to_vec(),
            "/broken" => {
                return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhe".to_vec();
            }
            "/nothing" => return b"HTTP/1.1 204 No Content\r\n\r\n".to_vec(),
            "/inject" => {
                return b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n\
                         okHTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\ninjected"
                    .to_vec();
            }
            "/switch" => {
                return b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\
                         Connection: upgrade\r\n\r\n"
                    .to_vec();
            }
            "/big" => vec![b'x'; 100_000],
            "/echo" => body.to_vec(),
            _ => b"hello".to_vec(),
        };
        let mut response =
            format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nX-From: server\r\n\r\n", text.len())
                .into_bytes();
        if !first.starts_with("HEAD ") {
            response.extend(text);
        }
        response
    })
}

/// The certificate authority of the test servers.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub(crate) der: Vec<u8>,
    names: Vec<String>,
}

impl Authority {
    pub(crate) fn new(names: &[&str]) -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let der = params.self_signed(&key).unwrap().der().to_vec();
        let names = names.iter().map(|&name| name.to_owned()).collect();
        Authority { issuer: Issuer::new(params, key), der, names }
    }

    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(self.names.clone()).unwrap();
        // Its own subject: with the issuer's it would look self-signed.
        params.distinguished_name.push(rcgen::DnType::CommonName, "server");
        let leaf = params.signed_by(&key, &self.issuer).unwrap();
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![leaf.der().clone()], key)
            .unwrap();
        Arc::new(config)
    }
}
