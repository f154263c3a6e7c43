//! What a bucket promises, on a real server.

use bytes::Bytes;
use prowess_blobs::{Bucket, BucketError, BucketSettings, CreateResult};
use prowess_testkit::s3::{BUCKET, PrivateS3};

fn open(storage: &PrivateS3, address: &str) -> Bucket {
    let settings = BucketSettings {
        endpoint: Some(storage.endpoint()),
        access_key_id: Some("test".to_owned()),
        secret_access_key: Some("test".to_owned()),
        ..BucketSettings::default()
    };
    Bucket::open(address.parse().expect("an address"), &settings).expect("a bucket")
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_are_created_once_and_replaced_on_request() {
    let Some(storage) = PrivateS3::start() else { return };
    let bucket = open(&storage, &format!("s3://{BUCKET}/a"));
    bucket.check().await.expect("it answers");
    let (key, first) = ("packages/9f/one", Bytes::from_static(b"0123456789"));
    assert_eq!(bucket.create(key, first.clone()).await, Ok(CreateResult::Created));
    let second = Bytes::from_static(b"other");
    assert_eq!(bucket.create(key, second.clone()).await, Ok(CreateResult::Exists));
    assert_eq!(bucket.read(key, 10).await.as_deref(), Ok(&first[..]));
    let large = bucket.read(key, 9).await;
    assert!(matches!(large, Err(BucketError::TooLarge { size: 10, limit: 9, .. })), "{large:?}");

    let info = bucket.info(key).await.expect("an answer").expect("an object");
    assert_eq!((info.key.as_str(), info.size), (key, 10));
    bucket.write(key, second.clone()).await.expect("it is written");
    assert_eq!(bucket.read(key, 10).await, Ok(second));

    // Another prefix of the same bucket sees nothing of it.
    let other = open(&storage, &format!("s3://{BUCKET}/ab"));
    assert_eq!(other.list("packages").await, Ok(Vec::new()));
    let listed = bucket.list("packages").await.expect("a list");
    assert_eq!(listed.iter().map(|info| info.key.as_str()).collect::<Vec<_>>(), [key]);
    bucket.delete(key).await.expect("it is deleted");
    bucket.delete(key).await.expect("it is gone already");
    assert_eq!(bucket.info(key).await, Ok(None));
    assert_eq!(bucket.read(key, 10).await, Err(BucketError::Missing(key.to_owned())));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_that_is_missing_does_not_pass_for_an_empty_one() {
    let Some(storage) = PrivateS3::start() else { return };
    let missing = open(&storage, "s3://no-such-bucket");
    assert!(missing.check().await.is_err());
    assert!(missing.create("packages/one", Bytes::new()).await.is_err());
    assert!(missing.list("packages").await.is_err());
}
