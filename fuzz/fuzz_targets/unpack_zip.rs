//! A `.zip`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use prowess_fuzz::unpacking_is_safe;

fuzz_target!(|bytes: &[u8]| unpacking_is_safe(bytes));
