//! Complete, fragmented and malformed `ClientHello` messages.

use std::sync::Arc;

use proptest::prelude::*;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore};

use super::{Hello, HelloError, MAX_HELLO, read};

/// The `ClientHello` of a real client.
fn real(host: &str) -> Vec<u8> {
    let config =
        ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(RootCertStore::empty())
            .with_no_client_auth();
    let name = ServerName::try_from(host.to_owned()).unwrap();
    let mut client = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut bytes = Vec::new();
    client.write_tls(&mut bytes).unwrap();
    bytes
}

/// A `ClientHello` with these extensions, in one record.
fn made(extensions: &[(u16, Vec<u8>)]) -> Vec<u8> {
    let mut list = Vec::new();
    for (kind, content) in extensions {
        list.extend(kind.to_be_bytes());
        list.extend(length16(content));
        list.extend(content);
    }
    let mut body = vec![3, 3];
    body.extend([7; 32]);
    body.extend([0, 0, 2, 0x13, 1, 1, 0]);
    body.extend(length16(&list));
    body.extend(list);
    let mut message = vec![1, 0];
    message.extend(length16(&body));
    message.extend(body);
    records(&message, usize::MAX)
}

fn server_name(names: &[&str]) -> (u16, Vec<u8>) {
    let mut list = Vec::new();
    for name in names {
        list.push(0);
        list.extend(length16(name.as_bytes()));
        list.extend(name.as_bytes());
    }
    (0, [length16(&list).to_vec(), list].concat())
}

fn length16(bytes: &[u8]) -> [u8; 2] {
    u16::try_from(bytes.len()).unwrap().to_be_bytes()
}

/// Splits a message into records of at most this size.
fn records(message: &[u8], size: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for piece in message.chunks(size) {
        bytes.extend([22, 3, 1]);
        bytes.extend(length16(piece));
        bytes.extend(piece);
    }
    bytes
}

fn complete(name: &str) -> Hello {
    Hello::Complete { server_name: Some(name.to_owned()) }
}

#[test]
fn the_server_name_is_found_in_fragmented_messages() {
    // sandbox-C16
    let whole = real("api.brave.test");
    for end in 0..whole.len() {
        assert_eq!(read(&whole[..end]), Ok(Hello::Incomplete), "{end} bytes");
    }
    assert_eq!(read(&whole), Ok(complete("api.brave.test")));
    for size in 1..64 {
        let bytes = records(&whole[5..], size);
        if bytes.len() < MAX_HELLO {
            assert_eq!(read(&bytes), Ok(complete("api.brave.test")), "records of {size}");
        }
    }
}

#[test]
fn the_server_name_is_found_after_a_large_key_share() {
    // sandbox-C16
    let hello = made(&[(51, vec![0; 1300]), (21, vec![0; 4000]), server_name(&["api.test"])]);
    assert_eq!(read(&hello), Ok(complete("api.test")));
}

#[test]
fn an_encrypted_client_hello_is_checked_by_its_outer_name() {
    // sandbox-C16
    let hello = made(&[(0xfe0d, vec![1; 200]), server_name(&["public.test"])]);
    assert_eq!(read(&hello), Ok(complete("public.test")));
}

#[test]
fn bytes_after_the_client_hello_are_ignored() {
    let mut bytes = made(&[server_name(&["api.test"])]);
    bytes.extend([23, 3, 3, 0, 1, 0]);
    assert_eq!(read(&bytes), Ok(complete("api.test")));
}

#[test]
fn a_client_hello_may_have_no_server_name() {
    // sandbox-C15
    assert_eq!(read(&made(&[(10, vec![0, 0])])), Ok(Hello::Complete { server_name: None }));
}

#[test]
fn other_bytes_are_an_error() {
    // sandbox-C15
    let two_names = made(&[server_name(&["api.test", "evil.test"])]);
    let twice = made(&[server_name(&["api.test"]), server_name(&["evil.test"])]);
    let mut followed = real("api.test")[5..].to_vec();
    followed.extend([2, 0, 0, 0]);
    let table: [(&str, Vec<u8>, HelloError); 12] = [
        ("ssh", b"SSH-2.0-x\r\n".to_vec(), HelloError::NotTls),
        ("http", b"GET / HTTP/1.1\r\n\r\n".to_vec(), HelloError::NotTls),
        ("sslv2", vec![0x80, 0x2e, 1, 3, 1], HelloError::NotTls),
        ("alert", vec![21, 3, 1, 0, 2, 1, 0], HelloError::NotTls),
        ("version", vec![22, 2, 0], HelloError::NotTls),
        ("server hello", vec![22, 3, 3, 0, 1, 2], HelloError::NotTls),
        ("empty record", vec![22, 3, 3, 0, 0], HelloError::Malformed),
        ("huge record", vec![22, 3, 3, 0x40, 1], HelloError::Malformed),
        ("huge message", vec![22, 3, 3, 0, 4, 1, 1, 0, 0], HelloError::TooLong),
        ("two names", two_names, HelloError::Malformed),
        ("two extensions", twice, HelloError::Malformed),
        ("followed", records(&followed, usize::MAX), HelloError::Malformed),
    ];
    for (what, bytes, error) in table {
        assert_eq!(read(&bytes), Err(error), "{what}");
    }
    let changed = [22, 3, 1, 0, 1, 1, 23, 3, 1];
    assert_eq!(read(&changed), Err(HelloError::NotTls), "a record of another kind in between");
}

#[test]
fn an_endless_client_hello_is_refused() {
    // sandbox-C29
    let mut bytes = vec![22, 3, 1, 0x40, 0, 1, 0, 0x40, 0];
    bytes.resize(MAX_HELLO - 1, 0);
    assert_eq!(read(&bytes), Ok(Hello::Incomplete));
    bytes.push(0);
    assert_eq!(read(&bytes), Err(HelloError::TooLong));
}

proptest! {
    #[test]
    fn reading_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = read(&bytes);
        let _ = read(&records(&bytes, 50));
        let _ = read(&records(&[&[1, 0, 1, 0x40][..], &bytes].concat(), 50));
    }

    /// A damaged `ClientHello` may be unreadable, but a name that is read occurs in it.
    #[test]
    fn damage_never_yields_a_name_that_is_not_there(
        at in 0..200_usize,
        value in any::<u8>(),
        cut in 0..20_usize,
    ) {
        let mut bytes = made(&[(10, vec![0; 60]), server_name(&["evil.test"]), (11, vec![1, 0])]);
        let length = bytes.len();
        bytes[at % length] = value;
        bytes.truncate(length - cut);
        if let Ok(Hello::Complete { server_name: Some(name) }) = read(&bytes) {
            prop_assert!(bytes.windows(name.len()).any(|window| window == name.as_bytes()));
            prop_assert_ne!(name, "api.brave.test");
        }
    }
}
