//! Traffic and bandwidth limits, with a paused clock.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::Instant;

use super::{Bucket, Meter, Metered};

const MIB: u64 = 1024 * 1024;

/// Downloads this many bytes, and returns the virtual seconds and the result.
fn download(
    length: usize,
    cap: Option<u64>,
    rate: Option<u64>,
) -> (f64, Result<usize, String>, Arc<Meter>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let meter = Arc::new(Meter::new(cap, rate));
        let (server, mut client) = tokio::io::duplex(256 * 1024);
        let mut server = Metered::new(server, Arc::clone(&meter));
        let sending = tokio::spawn(async move {
            let _ = client.write_all(&vec![7; length]).await;
        });
        let start = Instant::now();
        let mut buf = vec![0; 64 * 1024];
        let mut received = 0;
        let result = loop {
            match server.read(&mut buf).await {
                Ok(0) => break Ok(received),
                Ok(length) => received += length,
                Err(error) => break Err(error.to_string()),
            }
        };
        drop(server);
        sending.await.unwrap();
        (start.elapsed().as_secs_f64(), result, meter)
    })
}

#[test]
fn a_download_keeps_to_the_rate() {
    // sandbox-C30: within a tenth
    for (length, rate, seconds) in [(10 * MIB, MIB, 10.0), (MIB, 64 * 1024, 16.0), (500, 100, 5.0)]
    {
        let length = usize::try_from(length).unwrap();
        let (took, result, _) = download(length, None, Some(rate));
        assert_eq!(result, Ok(length));
        assert!((took - seconds).abs() <= seconds / 10.0, "{length} bytes took {took} s");
    }
}

#[test]
fn without_a_rate_there_is_no_delay() {
    let (took, result, meter) = download(1_000_000, None, None);
    assert_eq!((took, result), (0.0, Ok(1_000_000)));
    assert_eq!((meter.bytes_up(), meter.bytes_down(), meter.cap_reached()), (0, 1_000_000, false));
}

#[test]
fn a_transfer_beyond_the_cap_is_aborted() {
    // sandbox-C30
    let cut = Err("the traffic limit of the run is reached".to_owned());
    let (_, result, meter) = download(100_001, Some(100_000), None);
    assert_eq!(result, cut);
    assert_eq!((meter.bytes_down(), meter.cap_reached()), (100_000, true));

    let (_, result, meter) = download(100_000, Some(100_000), None);
    assert_eq!(result, Ok(100_000));
    assert!(!meter.cap_reached());
    assert_eq!(meter.exhausted(), Some(100_000));
}

#[tokio::test(start_paused = true)]
async fn both_directions_and_all_connections_share_one_cap() {
    let meter = Arc::new(Meter::new(Some(10), None));
    let (first, mut first_client) = tokio::io::duplex(100);
    let (second, _second_client) = tokio::io::duplex(100);
    let mut first = Metered::new(first, Arc::clone(&meter));
    let mut second = Metered::new(second, Arc::clone(&meter));
    first_client.write_all(b"1234").await.unwrap();
    assert_eq!(first.read(&mut [0; 100]).await.unwrap(), 4);
    first.write_all(b"12345").await.unwrap();
    assert_eq!(second.write(b"123").await.unwrap(), 1);
    let error = second.write(b"3").await.unwrap_err();
    assert_eq!(error.to_string(), "the traffic limit of the run is reached");
    assert_eq!((meter.bytes_up(), meter.bytes_down(), meter.cap_reached()), (6, 4, true));
}

#[tokio::test(start_paused = true)]
async fn two_connections_share_one_rate() {
    let meter = Arc::new(Meter::new(None, Some(1000)));
    let start = Instant::now();
    let mut writing = tokio::task::JoinSet::new();
    for _ in 0..2 {
        let (stream, mut other) = tokio::io::duplex(10_000);
        let mut stream = Metered::new(stream, Arc::clone(&meter));
        writing.spawn(async move {
            stream.write_all(&[0; 2000]).await.unwrap();
            drop(stream);
            other.read_to_end(&mut Vec::new()).await.unwrap();
        });
    }
    while writing.join_next().await.is_some() {}
    let took = start.elapsed().as_secs_f64();
    assert!((3.6..=4.4).contains(&took), "{took} s");
}

proptest! {
    /// The bucket never grants more than the rate allows, however often it is asked.
    #[test]
    fn the_bucket_never_exceeds_its_rate(
        rate in 1..10_000_000_u64,
        steps in proptest::collection::vec((0..50_000_000_u64, 1..100_000_u64), 1..100),
    ) {
        let start = Instant::now();
        let mut bucket = Bucket::new(rate);
        bucket.filled = start;
        let mut now = start;
        let mut given = 0;
        for (nanos, wanted) in steps {
            now += Duration::from_nanos(nanos);
            if let Ok(granted) = bucket.available(wanted, now) {
                prop_assert!(granted > 0 && granted <= wanted);
                bucket.take(granted);
                given += granted;
            }
        }
        let elapsed = (now - start).as_nanos();
        let inflow = elapsed * u128::from(rate) / 1_000_000_000 + u128::from(bucket.capacity);
        prop_assert!(u128::from(given) <= inflow);
    }

    /// After waiting for the returned time, something is granted.
    #[test]
    fn waiting_for_the_returned_time_is_enough(
        rate in 1..10_000_000_u64,
        taken in 0..1_000_000_u64,
        wanted in 1..1_000_000_u64,
    ) {
        let now = Instant::now();
        let mut bucket = Bucket::new(rate);
        bucket.filled = now;
        bucket.take(taken);
        if let Err(wait) = bucket.available(wanted, now) {
            prop_assert!(bucket.available(wanted, now + wait).is_ok());
        }
    }
}
