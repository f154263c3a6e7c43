//! Addresses and settings of buckets.

use prowess_blobs::{Bucket, BucketError, BucketSettings, BucketUrl};

#[test]
fn addresses_of_buckets_are_checked() {
    for (text, shown) in [
        ("s3://skills", Some("s3://skills")),
        ("s3://skills/", Some("s3://skills")),
        ("s3://skills/registry/eu", Some("s3://skills/registry/eu")),
        ("s3://my.skills-2/a_b.c", Some("s3://my.skills-2/a_b.c")),
        ("skills", None),
        ("https://skills", None),
        ("s3://", None),
        ("s3://ab", None),
        ("s3://Skills", None),
        ("s3://-skills", None),
        ("s3://a..b", None),
        ("s3://skills//a", None),
        ("s3://skills/../other", None),
        ("s3://skills/a b", None),
        ("s3://skills/a%2fb", None),
        ("s3://skills?x", None),
    ] {
        let found = text.parse::<BucketUrl>().ok().map(|url| url.to_string());
        assert_eq!(found.as_deref(), shown, "{text}");
    }
}

#[test]
fn a_storage_elsewhere_is_not_reached_without_tls() {
    let open = |endpoint: &str, allow_http| {
        let settings = BucketSettings {
            endpoint: Some(endpoint.to_owned()),
            access_key_id: Some("key".to_owned()),
            secret_access_key: Some("secret".to_owned()),
            allow_http,
            ..BucketSettings::default()
        };
        Bucket::open("s3://skills".parse().expect("an address"), &settings).map(|_| ())
    };
    for endpoint in ["https://storage.example", "http://127.0.0.1:9000", "http://localhost:9000"] {
        assert_eq!(open(endpoint, false), Ok(()), "{endpoint}");
    }
    let refused = open("http://storage.example", false);
    let Err(BucketError::Settings(text)) = refused else { panic!("{refused:?}") };
    assert!(text.contains("AWS_ALLOW_HTTP"), "{text}");
    assert_eq!(open("http://storage.example", true), Ok(()));
    for endpoint in ["ftp://storage.example", "storage.example", "http://"] {
        assert!(matches!(open(endpoint, true), Err(BucketError::Settings(_))), "{endpoint}");
    }
}

#[test]
fn the_key_is_not_shown() {
    let settings = BucketSettings {
        secret_access_key: Some("hunter2".to_owned()),
        ..BucketSettings::default()
    };
    assert!(!format!("{settings:?}").contains("hunter2"));
}
