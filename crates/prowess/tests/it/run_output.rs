//! `prowess run`: what becomes of odd output, and where scripts are found.

use crate::run::{envelope, probe};

#[test]
fn bytes_that_are_not_text_are_kept_and_flagged() {
    // NEG-8
    let scene = probe("", &[("odd", &[], r"printf 'a\377b'")]);
    let result = envelope(&scene, "odd", "{}");
    assert_eq!((&result["output"], &result["encoding"]), (&"a\u{fffd}b".into(), &"lossy".into()));
}

#[test]
fn truncation_splits_no_character() {
    // NEG-7: with one byte in front, both cuts fall into the middle of a character.
    let long = format!("a{}b", "é".repeat(3_000));
    let scene = probe("", &[("say", &[("text", "string", "yes")], "echo {{text}}")]);
    let inputs = serde_json::json!({ "text": long }).to_string();
    let result = envelope(&scene, "say", &inputs);
    let output = result["output"].as_str().expect("it is text");
    assert!(output.starts_with("aé") && output.ends_with("éb\n"), "{output}");
    assert!(output.contains("[truncated ") && !output.contains('\u{fffd}'), "{output}");
}

#[test]
fn a_script_is_found_in_the_skill_wherever_the_tool_works() {
    // GIB-3.5-5: the working directory is the repository, which has another script of that name.
    let scene = probe("", &[("who", &[], "./scripts/who.sh")])
        .script("skills/probe/scripts/who.sh", "#!/bin/sh\necho skill\n")
        .script("repo/scripts/who.sh", "#!/bin/sh\necho repository\n");
    let result = envelope(&scene, "who", "{}");
    assert_eq!(result["output"], "skill\n", "{result}");
}
