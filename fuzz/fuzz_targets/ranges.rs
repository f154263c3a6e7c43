//! A range of versions, and what it accepts.
//!
//! The first line of the input is the range, each further line a version.

#![no_main]

use libfuzzer_sys::fuzz_target;
use prowess_format::range;
use prowess_resolve::{Range, comparable};
use semver::Version;

fuzz_target!(|text: &str| {
    let mut lines = text.lines();
    let written = lines.next().unwrap_or_default();
    let range = match Range::parse(written) {
        Ok(range) => range,
        Err(error) => {
            // What is suggested can be read, and what can't be read is so for both.
            assert!(range::parse(written).is_err());
            if let Some(meant) = error.suggestion {
                assert!(Range::parse(&meant).is_ok(), "{written:?} as {meant:?}");
            }
            return;
        }
    };
    assert_eq!(Range::parse(range.as_str()).as_ref(), Ok(&range), "it reads its own text");
    let parts: Vec<Range> = written
        .split(',')
        .map(|part| Range::parse(part).expect("the parts of a range are ranges"))
        .collect();
    for version in lines.filter_map(|line| Version::parse(line).ok()) {
        let contained = range.contains(&version);
        assert_eq!(contained, range.contains(&comparable(&version)), "builds do not count");
        let between = parts.iter().all(|part| part.versions().contains(&comparable(&version)));
        assert!(!contained || between, "a list accepts no more than each of its parts");
        if version.pre.is_empty() {
            assert_eq!(contained, between);
        }
        assert!(Range::exactly(&version).contains(&version));
        if contained {
            assert!(range.versions().contains(&comparable(&version)));
        }
    }
});
