//! What must hold for any input: the laws that the fuzz targets assert beyond "does not panic".

#[cfg(feature = "unpacking")]
mod unpacking;

use prowess_format::diagnostic::{Diagnostic, Edit, Findings, FixSafety, apply_edits};
use prowess_format::document::markdown::Block;
use prowess_format::document::yaml::{self, YamlContent, Mapping, Node};
use prowess_format::document::{Document, Form};
use prowess_format::skill::{Parameter, Skill};
use prowess_format::span::{Span, Spanned};
use prowess_format::{Checked, ReadOptions, check};

#[cfg(feature = "unpacking")]
pub use unpacking::unpacking_is_safe;

/// A span lies inside the text and cuts no character.
pub fn span_fits(text: &str, span: Span) {
    let fits = text.get(span.range()).is_some();
    assert!(fits, "the span {span:?} does not fit a text of {} bytes", text.len());
}

/// Every place a document knows fits its text.
pub fn document_fits(document: &Document<'_>) {
    let text = document.text;
    for span in [document.yaml, document.opening, document.body] {
        span_fits(text, span);
    }
    mapping_fits(text, &document.root);
    for block in document.blocks() {
        span_fits(text, block.span());
        match block {
            Block::Code { content, .. } => span_fits(text, *content),
            Block::Table { header, rows, .. } => {
                rows.iter().flatten().chain(header).for_each(|cell| span_fits(text, cell.span));
            }
            Block::Heading { .. } | Block::Text { .. } => {}
        }
    }
}

fn mapping_fits(text: &str, mapping: &Mapping<'_>) {
    for entry in &mapping.entries {
        span_fits(text, entry.key_span);
        node_fits(text, &entry.value);
    }
}

fn node_fits(text: &str, node: &Node<'_>) {
    span_fits(text, node.span);
    match &node.content {
        YamlContent::Scalar(_) => {}
        YamlContent::Sequence(items) => items.iter().for_each(|item| node_fits(text, item)),
        YamlContent::Mapping(mapping) => mapping_fits(text, mapping),
    }
}

/// Every place the model points at fits the text it was read from.
pub fn skill_fits(text: &str, skill: &Skill) {
    let fits = |value: &Spanned<String>| span_fits(text, value.span);
    let parameter_fits = |parameter: &Parameter| {
        fits(&parameter.name);
        fits(&parameter.kind);
    };
    for value in [&skill.name, &skill.version, &skill.description, &skill.license] {
        value.iter().for_each(fits);
    }
    for list in [&skill.authors, &skill.tags, &skill.modes, &skill.allowed_tools] {
        list.iter().for_each(fits);
    }
    skill.inputs.iter().for_each(parameter_fits);
    for tool in &skill.tools {
        fits(&tool.name);
        tool.command.iter().for_each(fits);
        tool.parameters.iter().for_each(parameter_fits);
    }
    skill.permissions.iter().for_each(|permission| span_fits(text, permission.span));
}

/// Findings stand in the order of their places and inside the text, and so do their fixes.
pub fn diagnostics_fit(text: &str, diagnostics: &[Diagnostic]) {
    for diagnostic in diagnostics.iter().filter(|diagnostic| diagnostic.file.is_none()) {
        span_fits(text, diagnostic.span);
        for edit in diagnostic.fix.iter().flat_map(|fix| &fix.edits) {
            span_fits(text, edit.span);
        }
        let edits = diagnostic.fix.as_ref().map_or(&[][..], |fix| &fix.edits);
        let ascending = edits.windows(2).all(|pair| pair[0].span.end <= pair[1].span.start);
        assert!(ascending, "the edits of `{}` overlap: {edits:?}", diagnostic.rule.name);
        assert!(!diagnostic.message.is_empty());
    }
    let sorted = diagnostics
        .windows(2)
        .all(|pair| (&pair[0].file, pair[0].span.start) <= (&pair[1].file, pair[1].span.start));
    assert!(sorted, "the findings are not in the order of their places");
}

/// All safe fixes together leave a text that can be read at least as well.
pub fn fixes_keep_the_text_readable(checked: &Checked<'_>, options: ReadOptions<'_>) {
    let fixes = checked.diagnostics.iter().filter_map(|diagnostic| diagnostic.fix.as_ref());
    let safe: Vec<Edit> =
        fixes.filter(|fix| fix.safety == FixSafety::Safe).flat_map(|fix| fix.edits.clone()).collect();
    if safe.is_empty() {
        return;
    }
    let fixed = apply_edits(checked.document.text, &safe);
    let again = check(&fixed, options);
    diagnostics_fit(&fixed, &again.diagnostics);
    assert!(
        again.is_skill() || !checked.is_skill(),
        "the fixes break the text\n--- before\n{}\n--- after\n{fixed}\n",
        checked.document.text
    );
}

/// Reads one text in one way and asserts what must hold of any reading.
pub fn read_lawfully<'a>(text: &'a str, options: ReadOptions<'_>) -> Checked<'a> {
    let checked = check(text, options);
    document_fits(&checked.document);
    skill_fits(text, &checked.skill);
    diagnostics_fit(text, &checked.diagnostics);
    fixes_keep_the_text_readable(&checked, options);
    // NEG-3: the same text gives the same findings.
    assert_eq!(check(text, options).diagnostics, checked.diagnostics);
    checked
}

/// All kinds of text.
pub const FORMS: [Form; 3] = [Form::Markdown, Form::Json, Form::Yaml];

/// Plain front matter is read by a fast lane and everything else by a library. An entry in braces at the end sends a
/// text to the library: all other entries have to stay the same.
pub fn both_readers_agree(text: &str) {
    let at_margin = text.starts_with(|first: char| first.is_ascii_alphanumeric());
    // Block scalars are the library's anyway, and its place for an empty one depends on what follows.
    if !at_margin || !text.ends_with('\n') || text.contains(['|', '>']) {
        return;
    }
    let read = |text: &str| match yaml::parse(text, 0, &mut Findings::default()) {
        Ok(Some(Node { content: YamlContent::Mapping(mapping), .. })) if !mapping.flow => {
            Some(mapping.into_owned().entries)
        }
        _ => None,
    };
    let longer = format!("{text}last-entry: {{}}\n");
    if let (Some(entries), Some(mut all)) = (read(text), read(&longer))
        && all.last().is_some_and(|entry| entry.key == "last-entry")
    {
        all.pop();
        assert_eq!(entries, all);
    }
}
