//! A text to a skill, detected and under every dialect, and back to text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use prowess_format::{ReadOptions, dialect, form_of};
use prowess_fuzz::{FORMS, read_lawfully};

fuzz_target!(|text: &str| {
    for form in FORMS {
        read_lawfully(text, ReadOptions { form, ..ReadOptions::DETECT });
    }
    for &dialect in dialect::ALL {
        let form = if dialect.id == "tool-pack" { FORMS[1] } else { FORMS[0] };
        let options = ReadOptions { form, dialect: Some(dialect), ..ReadOptions::DETECT };
        let checked = read_lawfully(text, options);
        let written = (dialect.write)(&checked.skill);
        let options = ReadOptions { form: form_of(&written.file_name), ..options };
        let again = read_lawfully(&written.text, options);
        if dialect.id == "prose" {
            // Prose that begins with a fence can't be told from front matter.
            continue;
        }
        assert!(
            again.is_skill(),
            "what `{}` writes can be read\n{}\n{:#?}",
            dialect.id,
            written.text,
            again.diagnostics
        );
        assert_eq!(again.skill.name, checked.skill.name, "{}\n{}", dialect.id, written.text);
    }
});
