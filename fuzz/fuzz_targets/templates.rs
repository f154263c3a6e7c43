//! A command template and a value to an argv; a prompt to its placeholders.
//!
//! The first line of the input is the template, the second a value, the rest a prompt.

#![no_main]

use libfuzzer_sys::fuzz_target;
use prowess_format::command::{self, TemplateFragment};
use prowess_format::skill::Parameter;
use prowess_format::span::{Span, Spanned};
use prowess_format::template::{PlaceholderSpelling, placeholders, tighten};
use prowess_fuzz::span_fits;
use serde_json::{Map, Value};

fuzz_target!(|text: &str| {
    let mut parts = text.splitn(3, '\n');
    let template = parts.next().unwrap_or_default();
    let value = parts.next().unwrap_or_default();
    let prompt = parts.next().unwrap_or_default();
    argv(template, value);
    prompt_placeholders(prompt);
    assert!(!command::first_command(text).contains('\n'));
});

fn argv(template: &str, value: &str) {
    let Ok(template) = command::parse(template) else { return };
    let parameters: Vec<Parameter> = template
        .variables()
        .map(|name| Parameter {
            name: Spanned::new(name.to_owned(), Span::default()),
            kind: Spanned::new("string".to_owned(), Span::default()),
            required: true,
            ..Parameter::default()
        })
        .collect();
    let values: Map<String, Value> =
        template.variables().map(|name| (name.to_owned(), Value::from(value))).collect();
    let rendered = command::render(&template, &parameters, &values).expect("every value is given");
    // GIB-3.4-4: one word of the template is one argument, whatever the value holds.
    assert_eq!(rendered.argv.len(), template.arguments.len());
    for (argument, word) in template.arguments.iter().zip(&rendered.argv) {
        if let Some((_, modifier)) = argument.lone_variable() {
            assert!(word == value || modifier.is_some_and(|modifier| modifier.starts_with('-')));
        }
        if let Some(literal) = argument.literal() {
            assert_eq!(literal, word);
        }
    }
    // What a preview shows is what runs.
    let line = command::join(&rendered.argv);
    if !line.contains("{{") {
        let again = command::parse(&line).expect("a preview can be taken apart");
        let words: Vec<&str> = again.arguments.iter().filter_map(|word| word.literal()).collect();
        assert_eq!(words, rendered.argv, "{line}");
    }
    let variables = template
        .arguments
        .iter()
        .flat_map(|argument| &argument.fragments)
        .filter(|fragment| matches!(fragment, TemplateFragment::Variable { .. }));
    assert_eq!(variables.count(), template.variables().count());
}

fn prompt_placeholders(prompt: &str) {
    for spelling in [PlaceholderSpelling::Tight, PlaceholderSpelling::Spaced] {
        let found = placeholders(prompt, spelling);
        for placeholder in &found {
            span_fits(prompt, placeholder.span);
            let written = placeholder.span.slice(prompt);
            assert!(written.starts_with("{{") && written.ends_with("}}"), "{written}");
            assert!(written.contains(placeholder.name));
        }
        assert!(found.windows(2).all(|pair| pair[0].span.end <= pair[1].span.start));
    }
    // Every placeholder of the loose spelling is one of the tight spelling afterwards.
    let names = |text: &str, spelling| {
        placeholders(text, spelling).iter().map(|found| found.name.to_owned()).collect::<Vec<_>>()
    };
    let tight = tighten(prompt);
    assert_eq!(names(&tight, PlaceholderSpelling::Tight), names(prompt, PlaceholderSpelling::Spaced));
}
