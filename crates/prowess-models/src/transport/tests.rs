use std::time::Duration;

use super::{ClientKey, Clients, MOST_CLIENTS};

fn key(seconds: u64) -> ClientKey {
    ClientKey {
        connect: Duration::from_secs(seconds),
        proxy: None,
        no_proxy: None,
        needs_roots: false,
    }
}

/// The number of clients that are built for these settings, one after the other.
fn built(keys: impl IntoIterator<Item = ClientKey>) -> usize {
    let mut clients = Clients(Vec::new());
    let mut built = 0;
    for key in keys {
        let client = clients.get(key, |key| {
            built += 1;
            key.build()
        });
        client.expect("it can be built");
        assert!(clients.0.len() <= MOST_CLIENTS);
    }
    built
}

#[test]
fn equal_settings_share_a_client() {
    assert_eq!(built([key(1), key(1), key(1)]), 1);
}

#[test]
fn different_settings_have_different_clients() {
    let proxy: url::Url = "http://user:password@127.0.0.1:8080".parse().expect("a URL");
    let behind = ClientKey { proxy: Some(proxy), ..key(1) };
    let except = ClientKey { no_proxy: Some("example.com".to_owned()), ..behind.clone() };
    assert_eq!(built([key(1), key(2), behind.clone(), except, behind, key(1)]), 4);
}

#[test]
fn the_least_recently_used_client_is_dropped_first() {
    let most = MOST_CLIENTS as u64;
    // The first is used again before the cache is full, so the second one is evicted.
    let keys = (0..most).chain([0, most, 0, 1]).map(key);
    assert_eq!(built(keys), MOST_CLIENTS + 2);
}
