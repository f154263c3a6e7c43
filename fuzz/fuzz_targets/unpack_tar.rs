//! A `.tar.gz`, as it is and as what a compressed stream unpacks to.

#![no_main]

use std::io::Write as _;

use libfuzzer_sys::fuzz_target;
use prowess_fuzz::unpacking_is_safe;

fuzz_target!(|bytes: &[u8]| {
    unpacking_is_safe(bytes);
    // The checksum of a compressed stream is hard to guess, so that the archive inside is tried as well.
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    encoder.write_all(&with_checksums(bytes)).expect("writing to memory does not fail");
    unpacking_is_safe(&encoder.finish().expect("writing to memory does not fail"));
});

/// The same archive with right checksums, which are hard to guess too, and an end.
fn with_checksums(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes.resize(bytes.len().next_multiple_of(512) + 1024, 0);
    for block in bytes.chunks_mut(512).filter(|block| block[257..].starts_with(b"ustar")) {
        block[148..156].fill(b' ');
        let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    }
    bytes
}
