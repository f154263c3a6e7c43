//! A `tools.py` to its functions.

#![no_main]

use libfuzzer_sys::fuzz_target;
use prowess_fuzz::span_fits;

fuzz_target!(|text: &str| {
    match prowess_python::read(text) {
        Ok(module) => {
            for function in &module.functions {
                span_fits(text, function.span);
                function.parameters.iter().for_each(|parameter| span_fits(text, parameter.span));
            }
        }
        Err(error) => {
            span_fits(text, error.span);
            assert!(!error.message.is_empty());
        }
    }
});
