//! The open standard and skillli: layers 1, 3 and 4 of seed 004. Layer 2 is in `claude_code.rs`.

use insta::assert_snapshot;
use prowess_format::skill::{OptionalText, Quiz};

use crate::{
    Fixture, problems, problems_as, problems_in, skill, skill_as, skill_of, strict_problems_as,
};

/// A skill with these lines in its front matter.
fn with(fields: &str) -> String {
    format!(
        "---\nname: desk\ndescription: Tidy a desk\n{fields}---\n\n# Desk\n\n## Setup Steps\n\nKeep it tidy.\n"
    )
}

fn texts(texts: &[prowess_format::span::Spanned<String>]) -> Vec<&str> {
    texts.iter().map(|text| text.as_str()).collect()
}

// SKL-L1-1
#[test]
fn a_name_and_a_description_are_enough() {
    assert_eq!(problems_in("desk", &with("")), "");
    assert_eq!(strict_problems_as(&with(""), "agent-skills"), "");
    assert_eq!(strict_problems_as(&with(""), "skillli"), "");
}

// SKL-L1-2
#[test]
fn a_name_has_64_characters_at_most_and_single_hyphens_between_words() {
    let judge = |name: &str| {
        let text = with("").replace("name: desk", &format!("name: {name}"));
        (problems_as(&text, "agent-skills"), problems_as(&text, "skillli"))
    };
    let fine = (String::new(), String::new());
    for name in ["a", "a1", "my-skill", &"s".repeat(64)] {
        assert_eq!(judge(name), fine, "{name}");
    }
    for name in ["MySkill", "-bad", "bad-", "my--skill", "my_skill", "my skill", &"s".repeat(65)] {
        let (standard, registry) = judge(name);
        assert!(standard.contains("error invalid-name"), "{name}: {standard}");
        assert!(registry.contains("error invalid-name"), "{name}: {registry}");
    }
    // R2: the standard takes letters of every script, publishing does not.
    assert_snapshot!(judge("überraschung").0, @"2:7 warning name-not-canonical `überraschung` is installed and published as `berraschung`");
    assert_snapshot!(judge("überraschung").1, @"2:7 error invalid-name `name` is not a name of lower-case letters, digits and single hyphens: it contains `ü`");
    assert_snapshot!(problems_in("table", &with("")), @"2:7 error name-directory-mismatch the name is `desk`, the directory is `table`");
}

// SKL-L1-3
#[test]
fn a_description_has_1_to_1024_characters() {
    let judge = |description: &str| problems(&with("").replace("Tidy a desk", description));
    assert_eq!(judge(&"ü".repeat(1024)), "");
    assert_snapshot!(judge(&"d".repeat(1025)), @"3:14 error description-too-long `description` has 1025 characters, at most 1024 are allowed");
    assert_snapshot!(judge("''"), @"3:1 error missing-field `description` is empty");
    assert_snapshot!(judge("'  '"), @"3:1 error missing-field `description` is empty");
    assert_snapshot!(judge("[a]"), @"3:14 error wrong-type `description` is a list, expected text of at most 1024 characters");
    assert_snapshot!(problems(&with("").replace("description: Tidy a desk\n", "")), @"1:1 error missing-field `description` is missing");
}

// SKL-L1-4
#[test]
fn compatibility_is_text_or_a_list() {
    assert_eq!(texts(&skill(&with("compatibility: Node 20\n")).compatibility), ["Node 20"]);
    assert_eq!(
        texts(&skill(&with("compatibility: [Node 20, git]\n")).compatibility),
        ["Node 20", "git"]
    );
    assert_eq!(problems(&with("compatibility: Node 20\n")), "");
    assert_snapshot!(problems(&with("compatibility: [Node 20, git]\n")), @"4:16 info nonstandard-value `compatibility` is a list; the open standard requires text");
    assert_snapshot!(strict_problems_as(&with("compatibility: [Node 20, git]\n"), "agent-skills"), @"4:16 error nonstandard-value `compatibility` is a list; the open standard requires text");
    assert_snapshot!(problems(&with(&format!("compatibility: {}\n", "c".repeat(501)))), @"4:16 error compatibility-too-long `compatibility` has 501 characters, at most 500 are allowed");
}

// SKL-L1-5
#[test]
fn allowed_tools_are_separated_outside_parentheses() {
    let tools = |value: &str| {
        let skill = skill(&with(&format!("allowed-tools: {value}\n")));
        skill.allowed_tools.iter().map(|tool| tool.value.clone()).collect::<Vec<_>>().join(" | ")
    };
    assert_snapshot!(tools("Bash(git:*) Read Grep Glob"), @"Bash(git:*) | Read | Grep | Glob");
    assert_snapshot!(tools("Read, Bash(git log:*, git diff:*), Grep"), @"Read | Bash(git log:*, git diff:*) | Grep");
    assert_snapshot!(tools("[Read, 'Bash(npm run:*)', Grep, Glob]"), @"Read | Bash(npm run:*) | Grep | Glob");
    assert_eq!(problems(&with("allowed-tools: Bash(git:*) Read Grep Glob\n")), "");
}

// SKL-L1-6
#[test]
fn metadata_keeps_whatever_it_holds() {
    let text = with("metadata:\n  team: desk\n  nested: {deep: [1, {a: b}]}\n");
    let metadata = serde_json::json!(skill(&text).metadata);
    assert_snapshot!(metadata, @r#"[["team","desk"],["nested",{"deep":[1,{"a":"b"}]}]]"#);
    assert!(!problems(&text).contains("error"));
    assert_snapshot!(problems(&with("metadata: [a]\n")), @"4:11 error wrong-type `metadata` is a list, expected a map");
}

#[test]
fn unknown_fields_are_notes_until_the_standard_is_named() {
    let text = with("flavour: sweet\n");
    assert_eq!(skill(&text).extra, [("flavour".to_owned(), serde_json::json!("sweet"))]);
    assert_snapshot!(problems(&text), @"4:1 info unknown-field `flavour` is not a field of Agent Skills open standard");
    assert_snapshot!(problems_as(&text, "agent-skills"), @"4:1 warning unknown-field `flavour` is not a field of Agent Skills open standard");
    assert_snapshot!(strict_problems_as(&text, "agent-skills"), @"4:1 error unknown-field `flavour` is not a field of Agent Skills open standard");
}

// SKL-PD-2
#[test]
fn a_skill_over_500_lines_or_5000_tokens_is_long() {
    let lines = |count: usize| {
        let head = with("");
        let more = count - head.lines().count();
        format!("{head}{}", "x\n".repeat(more))
    };
    assert_eq!(problems(&lines(500)), "");
    assert_snapshot!(problems(&lines(501)), @"5:1 warning long-skill 501 lines, at most 500 are recommended");
    let words = |count: usize| format!("{}{}", with(""), "word ".repeat(count));
    assert_eq!(problems(&words(4_200)), "");
    assert_snapshot!(problems(&words(4_300)), @"5:1 warning long-skill about 5031 tokens in the body, at most 5000 are recommended");
    // Only the body enters the context when the skill is used.
    let described = with("metadata:\n  notes: ");
    let front = described.replacen("notes: ", &format!("notes: {}\n", "word ".repeat(4_300)), 1);
    assert!(!problems(&front).contains("long-skill"), "{}", problems(&front));
}

// SKL-L3-1
#[test]
fn registry_fields_stand_at_the_top_or_in_metadata_and_the_top_wins() {
    let declared = |text: &OptionalText| text.as_ref().map_or("-", |text| text.as_str()).to_owned();
    let registry = |skill: &prowess_format::skill::Skill| {
        format!(
            "{} {} {} {:?} {}",
            skill.version_or_default(),
            texts(&skill.authors).join(","),
            declared(&skill.category),
            texts(&skill.tags),
            declared(&skill.trust_level)
        )
    };
    let top = "version: 1.2.3\nauthor: kim\ntags: [a, b]\ncategory: data\ntrust-level: verified\n";
    let nested: String = top.lines().map(|line| ["  ", line, "\n"].concat()).collect();
    assert_snapshot!(registry(&skill(&with(top))), @r#"1.2.3 kim data ["a", "b"] verified"#);
    assert_eq!(
        registry(&skill(&with(&format!("metadata:\n{nested}")))),
        registry(&skill(&with(top)))
    );
    let wins = skill_of("skillli/edge/SKL-L3-1/top-level-wins/SKILL.md");
    assert_eq!(
        (wins.version_or_default(), texts(&wins.authors), declared(&wins.category).as_str()),
        ("2.0.0", vec!["desk-team"], "development")
    );
}

// SKL-L3-2
#[test]
fn registry_fields_have_defaults() {
    let skill = skill_as(&with(""), "skillli");
    assert_eq!(skill.version_or_default(), "0.0.0");
    assert_eq!(skill.tags, []);
    // What `prowess schema skillli` prints.
    let schema = skill.dialect.schema();
    let default = |field: &str| schema["properties"][field]["default"].clone();
    assert_eq!(default("version"), "0.0.0");
    assert_eq!(default("author"), "unknown");
    assert_eq!(default("tags"), serde_json::json!([]));
    assert_eq!(default("category"), "other");
    assert_eq!(default("trust-level"), "community");
}

// SKL-L3-3
#[test]
fn tags_are_a_list_or_separated_by_commas() {
    let tags = |value: &str| {
        let skill = skill_as(&with(&format!("tags: {value}\n")), "skillli");
        skill.tags.iter().map(|tag| tag.value.clone()).collect::<Vec<_>>()
    };
    assert_eq!(tags("\"typescript, testing, ci\""), ["typescript", "testing", "ci"]);
    assert_eq!(tags("[typescript, testing]"), ["typescript", "testing"]);
    let judge = |value: &str| problems_as(&with(&format!("tags: {value}\n")), "skillli");
    let many = |count: usize| {
        format!("[{}]", (0..count).map(|at| format!("t{at}")).collect::<Vec<_>>().join(", "))
    };
    assert_eq!(judge(&many(20)), "");
    assert_eq!(judge(&format!("[{}]", "t".repeat(50))), "");
    assert_snapshot!(judge(&many(21)), @"4:7 error invalid-tags `tags` has 21 entries, expected 1 to 20");
    assert_snapshot!(judge(&many(21).replace(['[', ']'], "\"")), @"4:7 error invalid-tags `tags` is not 1 to 20 tags of 1 to 50 characters: there are 21");
    assert_snapshot!(judge("[]"), @"4:7 error invalid-tags `tags` is empty, expected 1 to 20 entries");
    assert_snapshot!(judge("['']"), @"4:8 error invalid-tags `tags[0]` is not a tag of 1 to 50 characters: it is empty");
    assert_snapshot!(judge(&format!("[{}]", "t".repeat(51))), @"4:8 error invalid-tags `tags[0]` is not a tag of 1 to 50 characters: it has 51 characters");
    assert_snapshot!(judge(&format!("a, {}", "t".repeat(51))), @"4:7 error invalid-tags `tttttttttttttttttttt…`: it has 51 characters (`tags`)");
}

// SKL-L3-4
#[test]
fn categories_and_trust_levels_are_fixed_words() {
    let judge = |fields: &str| problems_as(&with(fields), "skillli");
    for category in ["development", "creative", "enterprise", "data", "devops", "other"] {
        assert_eq!(judge(&format!("category: {category}\n")), "");
    }
    for level in ["community", "verified", "official"] {
        assert_eq!(judge(&format!("trust-level: {level}\n")), "");
    }
    assert_snapshot!(judge("category: gardening\n"), @"4:11 error invalid-category `category` is `gardening`, expected `development`, `creative`, `enterprise`, `data`, `devops` or `other`");
    assert_snapshot!(judge("trust-level: platinum\n"), @"4:14 error invalid-trust-level `trust-level` is `platinum`, expected `community`, `verified` or `official`");
    assert_snapshot!(judge("trust-level: community\nmetadata:\n  category: gardening\n"), @"6:13 error invalid-category `metadata.category` is `gardening`, expected `development`, `creative`, `enterprise`, `data`, `devops` or `other`");
}

// SKL-L3-5
#[test]
fn repository_and_homepage_are_urls() {
    let judge = |fields: &str| problems_as(&with(fields), "skillli");
    assert_eq!(judge("repository: https://github.com/x/y\nhomepage: http://example.com\n"), "");
    assert_snapshot!(judge("repository: github.com/x\n"), @"4:13 error invalid-url `repository` is not a URL such as `https://example.com`: relative URL without a base");
    assert_snapshot!(judge("homepage: not a url\n"), @"4:11 error invalid-url `homepage` is not a URL such as `https://example.com`: it contains spaces");
}

/// A skill with a quiz of one question.
fn quiz(settings: &str, question: &str) -> String {
    with(&format!(
        "quiz:\n  title: Check\n{settings}  questions:\n    - question: Why?\n{question}"
    ))
}

const OPTIONS: &str =
    "      options:\n        - {label: Yes please, correct: true}\n        - {label: Never}\n";

fn quizzes(text: &str) -> Vec<Quiz> {
    skill(text).quiz
}

// SKL-L4-1
#[test]
fn a_quiz_is_one_block_or_a_list() {
    let one = quizzes(&quiz("", OPTIONS));
    let listed = with(
        "quiz:\n  - title: Check\n    questions:\n      - question: Why?\n        options: [{label: Yes please, correct: true}, {label: Never}]\n",
    );
    assert_eq!(
        one,
        quizzes(&listed)
            .into_iter()
            .map(|block| Quiz { span: one[0].span, ..block })
            .collect::<Vec<_>>()
    );
    assert_eq!(skill_of("skillli/edge/SKL-L4-1/quiz-list-of-two/SKILL.md").quiz.len(), 2);
    assert_eq!(problems(&quiz("", OPTIONS)), "");
}

// SKL-L4-2
#[test]
fn a_quiz_is_no_gate_and_wants_a_hundred_percent_unless_it_says_so() {
    let block = &quizzes(&quiz("", OPTIONS))[0];
    assert_eq!((block.gate, block.passing_score), (false, 100.0));
    let block = &quizzes(&quiz("  gate: true\n  passing-score: 50\n", OPTIONS))[0];
    assert_eq!((block.gate, block.passing_score), (true, 50.0));
    let judge = |score: &str| problems(&quiz(&format!("  passing-score: {score}\n"), OPTIONS));
    assert_eq!(
        (judge("0"), judge("100"), judge("66.6")),
        (String::new(), String::new(), String::new())
    );
    assert_snapshot!(judge("101"), @"6:18 error quiz-passing-score `quiz.passing-score` is 101, expected 0 to 100");
    assert_snapshot!(judge("-1"), @"6:18 error quiz-passing-score `quiz.passing-score` is -1, expected 0 to 100");
    assert_snapshot!(judge("most"), @"6:18 error wrong-type `quiz.passing-score` is text, expected a number from 0 to 100");
}

// SKL-L4-3 SKL-L4-4
#[test]
fn a_question_has_two_to_six_options_and_a_correct_one() {
    let options = |count: usize| {
        (0..count).fold("      options:\n".to_owned(), |text, at| {
            format!("{text}        - {{label: l{at}, correct: {}}}\n", at == 0)
        })
    };
    assert_eq!(
        (problems(&quiz("", &options(2))), problems(&quiz("", &options(6)))),
        (String::new(), String::new())
    );
    assert_snapshot!(problems(&quiz("", &options(1))), @"9:11 error quiz-option-count `quiz.questions[0].options` has 1 entry, expected 2 to 6");
    assert_snapshot!(problems(&quiz("", &options(7))), @"9:11 error quiz-option-count `quiz.questions[0].options` has 7 entries, expected 2 to 6");
    assert_snapshot!(problems(&quiz("", "")), @"7:7 error missing-field `options` is missing in `quiz.questions[0]`");
    assert_snapshot!(problems(&quiz("", &OPTIONS.replace("true", "false"))), @"7:17 error quiz-no-correct-option no option of this question is correct");
    assert_snapshot!(problems(&with("quiz:\n  title: Check\n  questions: []\n")), @"6:14 error quiz-without-questions `quiz.questions` is empty, expected 1 to 1000 entries");
    assert_snapshot!(problems(&with("quiz:\n  title: Check\n")), @"5:3 error missing-field `questions` is missing in `quiz`");
    assert_snapshot!(problems(&quiz("", &OPTIONS.replace("label: Never", "text: Never"))), @"10:11 error missing-field `label` is missing in `quiz.questions[0].options[1]`");
}

// SKL-L4-9
#[test]
fn a_goto_names_a_section_of_the_body() {
    let judge = |anchor: &str| {
        problems(&quiz("", &format!("{OPTIONS}      on-incorrect: {{goto: \"{anchor}\"}}\n")))
    };
    for anchor in ["## Setup Steps", "Setup Steps", "setup-steps", "# Desk"] {
        assert_eq!(judge(anchor), "", "{anchor}");
    }
    assert_snapshot!(judge("## Cellar"), @"11:28 error quiz-unknown-anchor the body has no section `## Cellar`");
    assert_snapshot!(judge("### Setup Steps"), @"11:28 error quiz-unknown-anchor the body has no section `### Setup Steps`");
    let fixture = Fixture::open("skillli/invalid/SKL-L4-9/goto-only-in-fence/SKILL.md");
    let found = fixture.check(None, |_, checked| crate::codes(&checked.diagnostics));
    assert_eq!(found, ["quiz-unknown-anchor"]);
    let text = quiz("", OPTIONS);
    let document = prowess_format::check(&text, prowess_format::ReadOptions::DETECT).document;
    let section = prowess_format::document::markdown::section(document.blocks(), "## Setup Steps");
    assert_eq!(section.map(|span| span.slice(&text)), Some("## Setup Steps\n\nKeep it tidy.\n"));
}

// SKL-L4-10
#[test]
fn a_reference_stays_inside_the_skill() {
    let judge = |path: &str| {
        problems(&quiz("", &format!("{OPTIONS}      on-incorrect: {{load-reference: '{path}'}}\n")))
    };
    for path in ["references/guide.md", "./references/../guide.md"] {
        assert_eq!(judge(path), "", "{path}");
    }
    for path in [
        "../../secret",
        "/etc/passwd",
        "references/../../x",
        "~/x",
        "C:\\x",
        "..\\x",
        "\\\\host\\share",
    ] {
        let found = judge(path);
        assert!(found.contains("error quiz-reference-outside"), "{path}: {found}");
    }
    let missing = Fixture::open("skillli/invalid/SKL-L4-10/reference-missing/SKILL.md");
    assert_eq!(
        missing.check(None, |_, checked| crate::codes(&checked.diagnostics)),
        ["quiz-missing-reference"]
    );
}

// SKL-TPL-1
#[test]
fn the_four_templates_are_valid() {
    for path in [
        "agent-skills/template-minimal/my-skill",
        "claude-code/template-claude-code/my-skill",
        "skillli/template-full/my-skill",
        "skillli/template-quiz/api-onboarding",
    ] {
        let fixture = Fixture::open(&format!("{path}/SKILL.md"));
        let found =
            fixture.check(None, |text, checked| crate::shown(text, &checked.diagnostics, false));
        assert!(!found.contains("error") && !found.contains("warning"), "{path}:\n{found}");
    }
}
