//! Safe fixes: they resolve what they belong to, touch nothing else, and are done after one round.

use std::borrow::Cow;

use prowess_format::diagnostic::{Diagnostic, Edit, FixSafety, apply_edits};
use prowess_format::rules::SkillLocation;
use prowess_format::{ReadOptions, check, form_of};

use crate::Fixture;

/// The findings of a text where its fixture lies.
fn findings(fixture: &Fixture, text: &str) -> Vec<Diagnostic> {
    let place = SkillLocation { directory: fixture.directory(), files: Some(&fixture.folder) };
    let form = form_of(&fixture.name);
    check(text, ReadOptions { form, place, ..ReadOptions::DETECT }).diagnostics
}

/// The edits of all safe fixes, in ascending order, without those that overlap an earlier one.
fn safe_edits(diagnostics: &[Diagnostic]) -> Vec<Edit> {
    let fixes = diagnostics.iter().filter(|found| found.file.is_none());
    let fixes = fixes.filter_map(|found| found.fix.as_ref());
    let safe = fixes.filter(|fix| fix.safety == FixSafety::Safe);
    let mut edits: Vec<Edit> = safe.flat_map(|fix| fix.edits.clone()).collect();
    edits.sort_by_key(|edit| (edit.span.start, edit.span.end));
    let mut kept: Vec<Edit> = Vec::new();
    for edit in edits {
        if kept.last().is_none_or(|last| last.span.end <= edit.span.start) {
            kept.push(edit);
        }
    }
    kept
}

/// The text between the edits, which must be the same before and after.
fn untouched(text: &str, spans: impl Iterator<Item = (usize, usize)>) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut from = 0;
    for (start, end) in spans {
        pieces.push(&text[from..start]);
        from = end;
    }
    pieces.push(&text[from..]);
    pieces
}

#[test]
fn safe_fixes_resolve_their_findings_and_nothing_else_changes() {
    let mut fixed_files = 0;
    for fixture in Fixture::all() {
        let Ok(text) = std::str::from_utf8(&fixture.bytes) else { continue };
        let before = findings(&fixture, text);
        let edits = safe_edits(&before);
        if edits.is_empty() {
            continue;
        }
        fixed_files += 1;
        let name = &fixture.name;
        let fixed = apply_edits(text, &edits);
        assert_ne!(fixed, text, "{name}: a fix changes nothing");

        // Every byte outside the edits is the author's.
        let mut shift = 0_isize;
        let new_spans = edits.iter().map(|edit| {
            let start = edit.span.range().start.checked_add_signed(shift).expect("in range");
            shift += edit.text.len().cast_signed() - edit.span.range().len().cast_signed();
            (start, start + edit.text.len())
        });
        let new_spans: Vec<_> = new_spans.collect();
        let old_spans = edits.iter().map(|edit| (edit.span.range().start, edit.span.range().end));
        assert_eq!(untouched(text, old_spans), untouched(&fixed, new_spans.into_iter()), "{name}");

        // A second look may find what a broken file hid, but not the same again.
        let after = findings(&fixture, &fixed);
        for found in before
            .iter()
            .filter(|found| found.fix.as_ref().is_some_and(|fix| fix.safety == FixSafety::Safe))
        {
            let again = after
                .iter()
                .any(|later| later.rule == found.rule && later.message == found.message);
            assert!(!again, "{name}: {} is still there:\n{fixed}", found.rule.name);
        }
        let rest = safe_edits(&after);
        let settled = apply_edits(&fixed, &rest);
        assert_eq!(safe_edits(&findings(&fixture, &settled)), [], "{name}: never done\n{settled}");
        // Until these are fixed, the fields are not read at all.
        let unread = ["front-matter-language", "misplaced-front-matter"];
        if before.iter().all(|found| !unread.contains(&found.rule.name)) {
            assert_eq!(rest, [], "{name}: not done after one round\n{fixed}");
        }
    }
    assert!(fixed_files >= 25, "only {fixed_files} fixtures have safe fixes");
}

#[test]
fn a_fix_keeps_what_the_reader_had_understood() {
    for fixture in Fixture::all() {
        let Ok(text) = std::str::from_utf8(&fixture.bytes) else { continue };
        let place = SkillLocation { directory: fixture.directory(), files: Some(&fixture.folder) };
        let options = ReadOptions { form: form_of(&fixture.name), place, ..ReadOptions::DETECT };
        let checked = check(text, options);
        let values = |code: &str| checked.diagnostics.iter().any(|found| found.rule.name == code);
        // These change the value on purpose: to the text without quotes or hidden characters, or to the word that was meant.
        let meant = [
            "smart-quotes",
            "hidden-characters",
            "front-matter-language",
            "misplaced-front-matter",
            "invalid-mode",
            "invalid-security-tier",
            "not-a-choice",
        ];
        if meant.iter().any(|code| values(code)) {
            continue;
        }
        let fixed = apply_edits(text, &safe_edits(&checked.diagnostics));
        let again = check(&fixed, options);
        assert_eq!(again.skill, checked.skill, "{}", fixture.name);
    }
}

#[test]
fn edits_of_one_place_never_garble_it() {
    let edit =
        |start, end, text: &str| Edit::replace(prowess_format::span::Span::new(start, end), text);
    assert_eq!(
        apply_edits("abcdef", &[edit(1, 3, "X"), edit(2, 4, "Y"), edit(5, 5, "!")]),
        "aXde!f"
    );
    assert_eq!(apply_edits("äb", &[edit(1, 2, "X")]), "äb");
    assert_eq!(apply_edits("ab", &[edit(5, 9, "X")]), "ab");
    let kept: Cow<'_, str> = apply_edits("ab", &[]).into();
    assert_eq!(kept, "ab");
}
