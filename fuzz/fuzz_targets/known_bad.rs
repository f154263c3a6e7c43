//! Lists of known malware: any text is a list or an error, and never both.

#![no_main]

use libfuzzer_sys::fuzz_target;
use prowess_scan::KnownBad;

fuzz_target!(|text: &str| {
    if let Ok(list) = KnownBad::parse(text) {
        assert!(list.len() <= text.lines().count());
    }
});
