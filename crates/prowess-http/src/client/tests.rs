use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use super::{AddressFilter, ClientOptions, HttpClient, HttpRequest, ProxySetting};
use crate::error::HttpError;
use crate::tls::Authorities;

fn client(addresses: AddressFilter) -> HttpClient {
    HttpClient::new(ClientOptions {
        authorities: Authorities::None,
        proxy: ProxySetting::None,
        addresses,
        connect_timeout: Duration::from_secs(5),
    })
    .expect("a client")
}

/// Serves one response and returns its address.
fn serve(response: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut buffer = [0; 4096];
        let _ = stream.read(&mut buffer);
        let _ = stream.write_all(response.as_bytes());
        // Kept open: only the limit or the length ends the body.
        let _ = stream.read(&mut buffer);
    });
    port
}

fn get(client: &HttpClient, url: &str, timeout: Duration, most: u64) -> Result<String, HttpError> {
    let response = client.send(HttpRequest { url, headers: &[], body: None, timeout })?;
    let status = response.status();
    let body = response.read(most, &mut |_, _| ())?;
    Ok(format!("{status} {}", String::from_utf8_lossy(&body)))
}

const PATIENCE: Duration = Duration::from_secs(10);
const HELLO: &str = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello";

#[test]
fn a_body_is_read_up_to_its_bound() {
    let client = client(AddressFilter::All);
    let read = |most| get(&client, &format!("http://127.0.0.1:{}/", serve(HELLO)), PATIENCE, most);
    assert_eq!(read(5).expect("a body"), "200 hello");
    assert!(matches!(read(4), Err(HttpError::TooLarge(4))));
}

#[test]
fn redirects_are_not_followed() {
    let port =
        serve("HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:9/\r\ncontent-length: 0\r\n\r\n");
    let answer =
        get(&client(AddressFilter::All), &format!("http://127.0.0.1:{port}/"), PATIENCE, 9);
    assert_eq!(answer.expect("a response"), "302 ");
}

#[test]
fn addresses_that_are_not_allowed_are_not_connected_to() {
    let public = client(AddressFilter::Only(|address| !address.is_loopback()));
    let answer = get(&public, &format!("http://localhost:{}/", serve(HELLO)), PATIENCE, 9);
    assert!(matches!(answer, Err(HttpError::HostNotFound)), "{answer:?}");
}

#[test]
fn the_time_limit_covers_the_body() {
    let port = serve("HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\nhello");
    let limit = Duration::from_millis(200);
    let answer = get(&client(AddressFilter::All), &format!("http://127.0.0.1:{port}/"), limit, 99);
    assert!(matches!(answer, Err(HttpError::TimedOut)), "{answer:?}");
}

#[test]
fn refused_connections_say_so() {
    let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("it").port();
    let answer =
        get(&client(AddressFilter::All), &format!("http://127.0.0.1:{port}/"), PATIENCE, 9);
    let Err(HttpError::Io(error)) = answer else { panic!("{answer:?}") };
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
}

/// A server calls library functions on the threads of its own runtime.
#[test]
fn works_inside_another_runtime() {
    let url = format!("http://127.0.0.1:{}/", serve(HELLO));
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let answer = runtime.block_on(async { get(&client(AddressFilter::All), &url, PATIENCE, 9) });
    assert_eq!(answer.expect("a body"), "200 hello");
}
