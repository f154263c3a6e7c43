//! A proxy between clients and servers, and what each of them saw.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Read, Write as _};
use std::net::{IpAddr, Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use prowess_proxy::{
    HostAccess, HostGrant, NetworkReport, Proxy, ProxyListener, ProxyPolicy, Resolver,
    RunningProxy, UpstreamRoots,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::server::{Answer, Authority, Server, usual_answers};

/// Names that resolve to forbidden addresses. All other names resolve to the test servers.
const ELSEWHERE: [(&str, &str); 5] = [
    ("loopback.brave.test", "127.0.0.9"),
    ("metadata.brave.test", "169.254.169.254"),
    ("private.brave.test", "10.1.2.3"),
    ("mapped.brave.test", "::ffff:127.0.0.1"),
    ("unique-local.brave.test", "fd00:ec2::254"),
];

/// Resolves names from a list and records the queries.
#[derive(Default)]
pub(crate) struct Names {
    pub(crate) asked: Mutex<Vec<String>>,
}

impl Resolver for Names {
    fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        self.asked.lock().unwrap().push(host.to_owned());
        if host == "missing.brave.test" {
            return Err(io::Error::new(io::ErrorKind::NotFound, "no such name"));
        }
        let found = ELSEWHERE.iter().find(|(name, _)| *name == host);
        Ok(vec![found.map_or(Ipv4Addr::LOCALHOST.into(), |(_, address)| address.parse().unwrap())])
    }
}

/// A policy for these grants: `read *.brave.test:8080`.
pub(crate) fn policy(grants: &[String]) -> ProxyPolicy {
    let grants = grants.iter().map(|grant| {
        let (access, scope) = grant.split_once(' ').expect("an access and a host");
        let (host, port) = match scope.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, Some(port.parse().unwrap())),
            _ => (scope, None),
        };
        let access = match access {
            "read" => HostAccess::Read,
            "write" => HostAccess::Write,
            other => panic!("no such access: {other}"),
        };
        HostGrant { host: host.parse().unwrap(), port, access }
    });
    ProxyPolicy {
        hosts: grants.collect(),
        credentials: Vec::new(),
        byte_cap: None,
        bytes_per_second: None,
        connections: 16,
        head_timeout: Duration::from_mins(1),
        upstream_roots: UpstreamRoots::System,
        private_hosts: Vec::new(),
        permit_addresses: vec![Ipv4Addr::LOCALHOST.into()],
    }
}

/// Servers, a proxy, and the ports between them. Texts name the ports `{http}` and `{https}`.
pub(crate) struct World {
    http: Server,
    https: Server,
    names: Arc<Names>,
    running: RunningProxy,
    /// The ports of the proxy: for configured clients, and for transparent connections.
    pub(crate) proxy: u16,
    transparent: BTreeMap<u16, u16>,
    pub(crate) ca: Option<String>,
}

/// What the client, the servers, the resolver and the proxy recorded.
pub(crate) struct Seen {
    pub(crate) client: String,
    pub(crate) servers: Vec<String>,
    pub(crate) lookups: Vec<String>,
    pub(crate) report: NetworkReport,
    ports: [(u16, &'static str); 2],
}

impl World {
    pub(crate) fn new(grants: &[&str]) -> Self {
        Self::with(grants, usual_answers(), |_| {})
    }

    pub(crate) fn with(
        grants: &[&str],
        answer: Answer,
        adjust: impl FnOnce(&mut ProxyPolicy),
    ) -> Self {
        let authority = Authority::new(&["brave.test", "*.brave.test", "127.0.0.1"]);
        let http = Server::http(Arc::clone(&answer));
        let https = Server::https(&authority, answer);
        let grants: Vec<String> =
            grants.iter().map(|grant| fill_in(grant, http.port, https.port)).collect();
        let mut policy = policy(&grants);
        policy.upstream_roots = UpstreamRoots::Only(vec![authority.der]);
        adjust(&mut policy);
        let names = Arc::new(Names::default());
        let proxy = Proxy::new(policy, Arc::clone(&names) as Arc<dyn Resolver>).unwrap();
        let ca = proxy.ca_certificate_pem().map(ToOwned::to_owned);
        let listen = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let knowing = listen();
        let proxy_port = knowing.local_addr().unwrap().port();
        let mut listeners = vec![ProxyListener::Proxy(knowing)];
        let mut transparent = BTreeMap::new();
        for port in [http.port, https.port] {
            let listener = listen();
            transparent.insert(port, listener.local_addr().unwrap().port());
            listeners.push(ProxyListener::Transparent { listener, port });
        }
        let running = proxy.start(listeners).unwrap();
        World { http, https, names, running, proxy: proxy_port, transparent, ca }
    }

    pub(crate) fn fill_in(&self, text: &str) -> String {
        fill_in(text, self.http.port, self.https.port)
    }

    pub(crate) fn report(&self) -> NetworkReport {
        self.running.report()
    }

    /// A connection to the proxy.
    pub(crate) fn connect(&self) -> TcpStream {
        patient((Ipv4Addr::LOCALHOST, self.proxy))
    }

    /// A connection of a client that is not configured to use a proxy: `{http}` or `{https}`.
    pub(crate) fn connect_transparent(&self, port: &str) -> TcpStream {
        let port: u16 = self.fill_in(port).parse().unwrap();
        patient((Ipv4Addr::LOCALHOST, self.transparent[&port]))
    }

    /// Stops everything.
    pub(crate) fn end(self, client: String) -> Seen {
        let report = self.running.stop();
        let ports = [(self.http.port, "{http}"), (self.https.port, "{https}")];
        let mut servers = self.http.stop();
        servers.extend(self.https.stop());
        let lookups = std::mem::take(&mut *self.names.asked.lock().unwrap());
        Seen { client, servers, lookups, report, ports }
    }
}

/// A connection with a timeout, so that a test that hangs fails.
fn patient(address: (Ipv4Addr, u16)) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream
}

fn fill_in(text: &str, http: u16, https: u16) -> String {
    text.replace("{https}", &https.to_string()).replace("{http}", &http.to_string())
}

/// How a client talks to the proxy.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Via<'a> {
    /// Bytes to the proxy.
    Proxy,
    /// Bytes to a transparent listener for this port.
    Transparent(&'a str),
    /// Bytes after a `CONNECT`.
    Tunnel(&'a str),
    /// Bytes inside TLS with this server name, after a `CONNECT`.
    Tls { connect: &'a str, server_name: &'a str },
    /// Bytes inside TLS to a transparent listener for this port.
    TransparentTls { port: &'a str, server_name: &'a str },
}

/// Sends a text to a proxy with these grants, and returns what the client, the servers and the
/// resolver saw, and what was refused.
pub(crate) fn check(grants: &[&str], via: Via<'_>, text: &str) -> String {
    exchange(World::new(grants), via, text).show()
}

pub(crate) fn exchange(world: World, via: Via<'_>, text: &str) -> Seen {
    let client = speak(&world, via, &world.fill_in(text));
    world.end(client)
}

/// The response that a client receives.
pub(crate) fn speak(world: &World, via: Via<'_>, text: &str) -> String {
    match via {
        Via::Proxy => send(world.connect(), text.as_bytes()),
        Via::Transparent(port) => send(world.connect_transparent(port), text.as_bytes()),
        Via::Tunnel(authority) => match tunnel(world, authority) {
            Ok(stream) => format!("(tunnel) {}", send(stream, text.as_bytes())),
            Err(answer) => answer,
        },
        Via::Tls { connect, server_name } => match tunnel(world, connect) {
            Ok(stream) => send_tls(stream, world.ca.as_deref(), server_name, text),
            Err(answer) => answer,
        },
        Via::TransparentTls { port, server_name } => {
            let stream = world.connect_transparent(port);
            send_tls(stream, world.ca.as_deref(), server_name, text)
        }
    }
}

/// Sends everything, then reads everything.
pub(crate) fn send(mut stream: TcpStream, bytes: &[u8]) -> String {
    // The proxy may have closed the connection already; its response can still be read.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(Shutdown::Write);
    read_all(&mut stream)
}

pub(crate) fn read_all(stream: &mut impl Read) -> String {
    let mut received = Vec::new();
    let end = match stream.read_to_end(&mut received) {
        Ok(_) => "",
        Err(_) => "(broke off)",
    };
    format!("{}{end}", String::from_utf8_lossy(&received))
}

/// A tunnel, or the response of a proxy that refuses it.
pub(crate) fn tunnel(world: &World, authority: &str) -> Result<TcpStream, String> {
    let authority = world.fill_in(authority);
    let mut stream = world.connect();
    let request = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    if head.starts_with("HTTP/1.1 200") {
        return Ok(stream);
    }
    stream.shutdown(Shutdown::Write).unwrap();
    Err(format!("{head}{}", read_all(&mut stream)))
}

/// A TLS client that trusts the run's authority, or any certificate if there is none.
pub(crate) fn tls(stream: TcpStream, ca: Option<&str>, server_name: &str) -> TlsClient {
    let mut roots = RootCertStore::empty();
    if let Some(ca) = ca {
        roots.add(CertificateDer::from_pem_slice(ca.as_bytes()).unwrap()).unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap();
    let mut config = match ca {
        Some(_) => builder.with_root_certificates(roots).with_no_client_auth(),
        None => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(trusting::Anybody))
            .with_no_client_auth(),
    };
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    config.enable_sni = !server_name.is_empty();
    let name = if server_name.is_empty() { "brave.test" } else { server_name };
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let connection = ClientConnection::new(Arc::new(config), name).unwrap();
    StreamOwned::new(connection, stream)
}

pub(crate) type TlsClient = StreamOwned<ClientConnection, TcpStream>;

fn send_tls(stream: TcpStream, ca: Option<&str>, server_name: &str, text: &str) -> String {
    let mut client = tls(stream, ca, server_name);
    if let Err(error) = client.write_all(text.as_bytes()).and_then(|()| client.flush()) {
        // The error for a closed connection depends on timing.
        let error = error.to_string();
        let gone = ["reset", "Broken pipe", "eof"].iter().any(|word| error.contains(word));
        // The proxy records the refusal before it closes the connection.
        read_all(&mut client.sock);
        return if gone { "(closed)".to_owned() } else { format!("({error})") };
    }
    client.conn.send_close_notify();
    let _ = client.flush();
    read_all(&mut client)
}

mod trusting {
    //! For tunnels in which the server's certificate is not tested.

    use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
    use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
    use rustls::{DigitallySignedStruct, Error, SignatureScheme};

    #[derive(Debug)]
    pub(super) struct Anybody;

    impl ServerCertVerifier for Anybody {
        fn verify_server_cert(
            &self,
            _: &CertificateDer<'_>,
            _: &[CertificateDer<'_>],
            _: &ServerName<'_>,
            _: &[u8],
            _: UnixTime,
        ) -> Result<ServerCertVerified, Error> {
            Ok(ServerCertVerified::assertion())
        }

        fn verify_tls12_signature(
            &self,
            _: &[u8],
            _: &CertificateDer<'_>,
            _: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            Ok(HandshakeSignatureValid::assertion())
        }

        fn verify_tls13_signature(
            &self,
            _: &[u8],
            _: &CertificateDer<'_>,
            _: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            Ok(HandshakeSignatureValid::assertion())
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            rustls::crypto::ring::default_provider()
                .signature_verification_algorithms
                .supported_schemes()
        }
    }
}

impl Seen {
    pub(crate) fn show(&self) -> String {
        let mut text = String::new();
        let mut list = |what: &str, items: &[String]| {
            for item in items {
                let item = item.replace("\r\n", "\n");
                // The length of a message depends on the number of digits of a port.
                let lines = item.lines().map(|line| match line.strip_prefix("content-length: ") {
                    Some(digits) if digits.len() > 1 => "content-length: N",
                    _ => line,
                });
                let item = lines.collect::<Vec<_>>().join("\n");
                let item = item.trim_end().replace('\n', "\n        ");
                writeln!(text, "{what:<7} {item}").unwrap();
            }
        };
        list("client", std::slice::from_ref(&self.client));
        list("lookup", &self.lookups);
        list("server", &self.servers);
        let refusals: Vec<String> =
            self.report.refusals.iter().map(|refusal| format!("{:?}", refusal.kind)).collect();
        list("refused", &refusals);
        list("note", &self.report.notes);
        for (port, name) in self.ports {
            text = text.replace(&port.to_string(), name);
        }
        text
    }
}
