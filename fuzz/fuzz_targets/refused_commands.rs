//! Command lines against the table of refused commands: it never panics, and a shell around a command changes nothing.

#![no_main]

use libfuzzer_sys::fuzz_target;
use prowess_policy::binaries;

fuzz_target!(|text: &str| {
    let words: Vec<&str> = text.split_whitespace().collect();
    if let Some((program, arguments)) = words.split_first() {
        let refused = binaries::refused_command(program, arguments);
        let is_plain = |word: &&str| word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if refused.is_some() && words.len() < 1_000 && words.iter().all(is_plain) {
            assert!(binaries::refused_command("sh", &["-c", &words.join(" ")]).is_some(), "{words:?}");
        }
    }
    binaries::refused_in_script(text);
});
