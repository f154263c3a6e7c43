//! Bytes to a document, as Markdown, JSON and YAML.

#![no_main]

use libfuzzer_sys::fuzz_target;
use prowess_format::diagnostic::Findings;
use prowess_format::document::{Document, Form, decode};
use prowess_fuzz::{FORMS, both_readers_agree, diagnostics_fit, document_fits};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = std::str::from_utf8(bytes) {
        // Inputs are mostly whole files; what stands between their fences is YAML.
        both_readers_agree(text);
        both_readers_agree(
            text.trim_start_matches("---\n").split("---").next().unwrap_or_default(),
        );
    }
    for form in FORMS {
        let mut findings = Findings::default();
        let text = decode(bytes, &mut findings);
        let document = match form {
            Form::Markdown => Document::markdown(&text, &mut findings),
            Form::Json => Document::json(&text, &mut findings),
            Form::Yaml => Document::yaml(&text, &mut findings),
        };
        document_fits(&document);
        diagnostics_fit(&text, &findings.into_sorted());
        assert!(text.ends_with(document.body_text()), "the body is the end of the text");
    }
});
