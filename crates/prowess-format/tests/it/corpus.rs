//! Real files: nothing panics, and nearly all of them are skills.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use insta::assert_snapshot;
use prowess_format::document::{Form, FrontMatter};
use prowess_format::rules::{SkillFiles, SkillLocation};
use prowess_format::{ReadOptions, check_bytes};

use crate::{Folder, is_skill_file};

/// Counts of everything that is told about the corpus; paths and contents stay out of the repository.
#[derive(Default)]
struct Counts {
    files: usize,
    skills: usize,
    dialects: BTreeMap<&'static str, usize>,
    /// Why files are no skills.
    rejected: BTreeMap<&'static str, usize>,
    /// How many files raise an error, by rule.
    errors: BTreeMap<&'static str, usize>,
}

fn count(map: &mut BTreeMap<&'static str, usize>, key: &'static str) {
    *map.entry(key).or_default() += 1;
}

fn listed(map: &BTreeMap<&'static str, usize>) -> String {
    let mut rows: Vec<_> = map.iter().collect();
    rows.sort_by_key(|(key, count)| (std::cmp::Reverse(**count), **key));
    rows.iter().fold(String::new(), |mut text, (key, count)| {
        let _ = writeln!(text, "  {key} {count}");
        text
    })
}

#[test]
#[expect(clippy::print_stderr, clippy::disallowed_macros, reason = "a skipped test must be seen")]
fn nearly_every_real_file_is_a_skill() {
    let Some(corpus) = prowess_testkit::corpus() else {
        eprintln!("SKIPPED the corpus test: 0 files read, the corpus is not beside the repository");
        return;
    };
    let mut counts = Counts::default();
    for path in prowess_testkit::files_below(&corpus, &is_skill_file) {
        let bytes = prowess_testkit::bytes(&path);
        let folder = path.parent().expect("a file lies in a folder");
        let directory = folder.file_name().and_then(|name| name.to_str());
        let files = Folder { path: folder.to_owned(), python: None };
        let place = SkillLocation { directory, files: Some(&files as &dyn SkillFiles) };
        let mut text = std::borrow::Cow::Borrowed("");
        let options = ReadOptions { form: Form::Markdown, dialect: None, place };
        let checked = check_bytes(&bytes, &mut text, options);
        counts.files += 1;
        count(&mut counts.dialects, checked.skill.dialect.id);
        let named = checked.skill.name.is_some() || directory.is_some();
        if checked.is_skill() && named {
            counts.skills += 1;
        } else {
            let reason = checked.diagnostics.first().map_or("unknown", |found| found.rule.name);
            count(&mut counts.rejected, reason);
        }
        // A file that was read has a description, or somebody is told.
        if checked.document.front_matter == FrontMatter::Read && checked.skill.description.is_none()
        {
            assert!(!checked.diagnostics.is_empty(), "{}", path.display());
        }
        let mut codes = crate::codes(&checked.diagnostics);
        codes.retain(|code| {
            let of_code = checked.diagnostics.iter().filter(|found| found.rule.name == *code);
            of_code
                .into_iter()
                .any(|found| found.severity == prowess_format::diagnostic::Severity::Error)
        });
        for code in codes {
            count(&mut counts.errors, code);
        }
    }
    assert!(counts.files > 100, "only {} files in the corpus", counts.files);
    assert!(
        counts.skills * 100 >= counts.files * 99,
        "{} of {} files are skills, rejected:\n{}",
        counts.skills,
        counts.files,
        listed(&counts.rejected),
    );
    assert_snapshot!(format!("files {}\nskills {}\ndialects\n{}rejected\n{}errors\n{}", counts.files, counts.skills, listed(&counts.dialects), listed(&counts.rejected), listed(&counts.errors)), @"
    files 400
    skills 400
    dialects
      agent-skills 315
      claude-code 54
      openclaw 23
      prose 4
      gaia 2
      agent-flow 1
      skillli 1
    rejected
    errors
      name-directory-mismatch 21
      invalid-name 18
      unterminated-front-matter 5
      missing-field 2
      invalid-yaml 1
      merge-conflict 1
      wrong-type 1
    ");
}
