//! Bytes to a document, as Markdown, JSON and YAML.

#![no_main]

use libfuzzer_sys::fuzz_target;
use prowess_format::diagnostic::Findings;
use prowess_format::document::{Document, Form, decode};
use prowess_fuzz::{FORMS, diagnostics_fit, document_fits};

fuzz_target!(|bytes: &[u8]| {
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
