//! Agent Flow Lite: prompt templates with inputs (seed 002).

use insta::assert_snapshot;
use prowess_format::skill::SkillKind;
use prowess_format::template::{PlaceholderSpelling, placeholders};
use prowess_format::text::normalize_name;

use crate::{problems, problems_as, problems_in, skill, skill_as, skill_of};

/// A prompt with these lines in its front matter.
fn with(fields: &str) -> String {
    format!(
        "---\nname: about\ndescription: Write about a topic\ninputs:\n  - name: topic\n    label: Topic\n    type: text\n{fields}---\n\nWrite about {{{{topic}}}}.\n"
    )
}

// AFL-2-1
#[test]
fn everything_behind_the_second_delimiter_is_the_body() {
    let skill = skill_of("agent-flow/edge/AFL-2-1/third-delimiter-in-body/SKILL.md");
    assert!(skill.body.contains("\n---\n"), "{:?}", skill.body);
    let text = prowess_testkit::fixture("agent-flow/edge/AFL-2-1/third-delimiter-in-body/SKILL.md");
    assert!(text.ends_with(&skill.body));
}

// AFL-2-2
#[test]
fn content_without_front_matter_is_all_body_and_no_skill_of_this_dialect() {
    let text = "# About\n\nWrite about {{topic}}.\n";
    assert_eq!(skill_as(text, "agent-flow").body, text);
    assert_snapshot!(problems_as(text, "agent-flow"), @"1:1 error missing-front-matter no front matter, which Agent Flow Lite needs");
    assert_snapshot!(problems_as("---\n---\n\nBody.\n", "agent-flow"), @r"
    1:1 warning name-from-directory the skill has no name and is not in a directory
    1:1 error front-matter-not-a-map the front matter is empty
    ");
}

// AFL-2-3
#[test]
fn hyphens_in_a_quoted_value_do_not_end_the_front_matter() {
    let skill = skill_of("agent-flow/edge/AFL-2-3/dashes-in-quoted-value/SKILL.md");
    assert!(skill.description_or("").contains("---"));
    assert_eq!(skill.inputs.len(), 1);
}

#[test]
fn a_file_holds_at_most_51_200_bytes() {
    let text = |size: usize| {
        let head = with("");
        format!("{head}{}", "x".repeat(size - head.len()))
    };
    assert!(!problems(&text(51_200)).contains("file-too-large"));
    assert!(problems(&text(51_201)).contains("warning file-too-large 51201 bytes, at most 51200"));
}

// AFL-3.1-1
#[test]
fn the_name_defaults_to_the_directory_and_the_description_to_the_name() {
    let text = with("").replace("name: about\ndescription: Write about a topic\n", "");
    let skill = skill(&text);
    assert_eq!(skill.name_or("some-topic"), "some-topic");
    assert_eq!(skill.description_or(skill.name_or("some-topic")), "some-topic");
    assert_snapshot!(problems_in("some-topic", &text), @"1:1 info name-from-directory the skill has no name, so `some-topic` is used");
}

// AFL-3.1-2
#[test]
fn long_descriptions_and_licences_are_refused() {
    let description = |length: usize| with("").replace("Write about a topic", &"d".repeat(length));
    let license = |length: usize| with(&format!("license: {}\n", "L".repeat(length)));
    assert_eq!(problems(&description(1024)), "");
    assert_eq!(problems(&license(64)), "");
    assert_snapshot!(problems(&description(1025)), @"3:14 error description-too-long `description` has 1025 characters, at most 1024 are allowed");
    assert_snapshot!(problems(&license(65)), @"8:10 error license-too-long `license` has 65 characters, at most 64 are allowed");
}

// AFL-3.2-1
#[test]
fn a_model_is_a_map_with_bounds_and_a_text_is_ignored() {
    let text = with("model: gpt-4\n");
    assert_snapshot!(problems(&text), @"8:8 info ignored-model `model` as text is ignored by Agent Flow Lite");
    let ignored = skill(&text);
    assert_eq!((ignored.temperature_or_default(), ignored.max_tokens_or_default()), (0.7, 2000));
    let model = |settings: &str| problems(&with(&format!("model: {settings}\n")));
    assert_eq!(model("{temperature: 0.0, max_tokens: 1}"), "");
    assert_eq!(model("{temperature: 2, max_tokens: 8192}"), "");
    assert_snapshot!(model("{temperature: 2.1}"), @"8:22 error invalid-sampling `model.temperature` is 2.1, expected 0 to 2");
    assert_snapshot!(model("{temperature: -0.1}"), @"8:22 error invalid-sampling `model.temperature` is -0.1, expected 0 to 2");
    assert_snapshot!(model("{temperature: hot}"), @"8:22 error wrong-type `model.temperature` is text, expected a number from 0 to 2");
    assert_snapshot!(model("{max_tokens: 0}"), @"8:21 error invalid-sampling `model.max_tokens` is 0, expected 1 to 8192");
    assert_snapshot!(model("{max_tokens: 8193}"), @"8:21 error invalid-sampling `model.max_tokens` is 8193, expected 1 to 8192");
    assert_snapshot!(model("{max_tokens: 1.5}"), @"8:21 error wrong-type `model.max_tokens` is a number, expected a whole number from 1 to 8192");
    let set = skill(&with("model: {temperature: 0.5, max_tokens: 500}\n"));
    assert_eq!((set.temperature_or_default(), set.max_tokens_or_default()), (0.5, 500));
}

// AFL-3.3-1
#[test]
fn inputs_are_read_leniently() {
    let text = "---\nname: about\ndescription: Write\ninputs:\n  - name: topic\n    type: colour\n  - label: Nameless\n  - name: tone\n    type: textarea\n    required: true\n    default: calm\n---\n\n{{topic}} {{tone}}\n";
    let skill = skill(text);
    let inputs: Vec<String> = skill
        .inputs
        .iter()
        .map(|input| {
            let label = input.label.as_deref().unwrap_or(&input.name);
            format!(
                "{} {label} {} {} {:?}",
                input.name.value, input.kind.value, input.required, input.default
            )
        })
        .collect();
    assert_snapshot!(inputs.join("\n"), @r#"
    topic topic text false None
    tone tone textarea true Some(String("calm"))
    "#);
    assert_snapshot!(problems(text), @r"
    6:11 warning unknown-input-type `inputs[0].type` is `colour`, expected `text` or `textarea`
    7:5 warning input-without-name an input without a name is skipped
    8:11 warning required-with-default `tone` is required, so its default is never used
    ");
}

// AFL-3.3-2
#[test]
fn inputs_have_length_limits() {
    let input = |key: &str, length: usize| {
        let value = "x".repeat(length);
        let lines = if key == "name" {
            format!("  - name: {value}\n")
        } else {
            format!("  - name: tone\n    {key}: {value}\n")
        };
        problems(&with(&lines))
    };
    for (key, most) in [("name", 64), ("label", 128), ("default", 1024), ("description", 512)] {
        assert_eq!(input(key, most), "", "{key}");
        let found = input(key, most + 1);
        let message = format!("has {} characters, at most {most} are allowed\n", most + 1);
        assert!(found.contains("error invalid-input") && found.ends_with(&message), "{found}");
    }
}

// AFL-4-1
#[test]
fn the_six_name_rules_have_their_own_sentence() {
    let judge = |name: &str| problems(&with("").replace("name: about", &format!("name: {name}")));
    assert_snapshot!(judge("\"\""), @"2:7 error invalid-name `name` is not a name of lower-case letters, digits and single hyphens: it is empty");
    assert_snapshot!(judge(&"n".repeat(65)), @"2:7 error invalid-name `name` is not a name of lower-case letters, digits and single hyphens: it has 65 characters, at most 64 are allowed");
    assert_snapshot!(judge("Article"), @"2:7 error invalid-name `name` is not a name of lower-case letters, digits and single hyphens: it contains upper-case letters");
    assert_snapshot!(judge("my skill"), @"2:7 error invalid-name `name` is not a name of lower-case letters, digits and single hyphens: it contains a space");
    assert_snapshot!(judge("-about"), @"2:7 error invalid-name `name` is not a name of lower-case letters, digits and single hyphens: it starts with a hyphen");
    assert_snapshot!(judge("about-"), @"2:7 error invalid-name `name` is not a name of lower-case letters, digits and single hyphens: it ends with a hyphen");
    assert_snapshot!(judge("my--skill"), @"2:7 error invalid-name `name` is not a name of lower-case letters, digits and single hyphens: it contains two hyphens in a row");
    assert_eq!(judge(&"n".repeat(64)), "");
}

// AFL-4-3
#[test]
fn names_are_normalised_as_measured() {
    for (text, name) in [
        ("Article Summary!", "article-summary"),
        ("__", "skill"),
        ("A--B", "a-b"),
        ("a.b", "ab"),
        ("  Über  Töne ", "ber-tne"),
        ("-x-", "x"),
        ("", "skill"),
    ] {
        assert_eq!(normalize_name(text), name, "{text:?}");
    }
}

// AFL-5.1-1
#[test]
fn placeholders_are_word_characters_and_hyphens_between_double_braces() {
    let names = |text: &'static str| {
        placeholders(text, PlaceholderSpelling::Tight)
            .into_iter()
            .map(|found| found.name)
            .collect::<Vec<_>>()
    };
    assert_eq!(names("{{a}} {{A_1-b}} {{{c}}}"), ["a", "A_1-b", "c"]);
    assert!(names("{a} {{}} {{ a }} {{a b}} {{a.b}} {{thème}} {{a} } {{").is_empty());
    let text = "ü {{topic}}";
    let found = placeholders(text, PlaceholderSpelling::Tight);
    assert_eq!(found[0].span.slice(text), "{{topic}}");
}

// AFL-5.3-1
#[test]
fn undeclared_placeholders_are_listed_in_order() {
    let body = |body: &str| problems(&with("").replace("Write about {{topic}}.", body));
    assert_snapshot!(body("{{zeta}} {{topic}} {{alpha}} {{zeta}} {{tone}}"), @"10:1 error undeclared-placeholder undeclared placeholders: `alpha`, `tone`, `zeta`");
    assert_snapshot!(body("{{topics}}"), @"10:1 error undeclared-placeholder undeclared placeholders: `topics`");
    assert_eq!(body("{{ zeta }} {{thème}}"), "");
}

// AFL-5.3-2
#[test]
fn an_undeclared_placeholder_with_a_hyphen_is_a_warning() {
    let text = with("").replace("{{topic}}", "{{my-topic}}");
    assert_snapshot!(problems(&text), @"10:13 warning hyphenated-placeholder `{{my-topic}}` is not declared and becomes empty at run time");
}

#[test]
fn a_required_input_with_a_default_is_pointed_out() {
    assert_snapshot!(problems(&with("    required: true\n    default: x\n")), @"5:11 warning required-with-default `topic` is required, so its default is never used");
}

#[test]
fn the_examples_of_the_specification_are_prompts() {
    let examples = [
        ("11.1/article-summary", 2, None),
        ("11.2/code-review", 3, None),
        ("11.3/product-qa", 1, Some("product-docs")),
        ("11.4/daily-standup", 0, None),
    ];
    for (path, inputs, knowledge_base) in examples {
        let skill = skill_of(&format!("agent-flow/{path}/SKILL.md"));
        assert_eq!((skill.dialect.id, skill.kind), ("agent-flow", SkillKind::Prompt), "{path}");
        assert_eq!(skill.inputs.len(), inputs, "{path}");
        let base = skill.knowledge_base.as_ref().map(|base| base.as_str());
        assert_eq!(base, knowledge_base, "{path}");
    }
}
