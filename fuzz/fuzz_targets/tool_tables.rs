//! A Markdown body to the tools that its sections define.

#![no_main]

use libfuzzer_sys::fuzz_target;
use prowess_format::skill::ToolKind;
use prowess_format::{ReadOptions, command, dialect};
use prowess_fuzz::read_lawfully;

const FRONT_MATTER: &str =
    "---\nname: git\nversion: 1.0.0\ndescription: Show changes\nmodes: [Dev]\n---\n";

fuzz_target!(|body: &str| {
    let gibberish = dialect::by_id("gibberish");
    let options = ReadOptions { dialect: gibberish, ..ReadOptions::DETECT };
    let text = format!("{FRONT_MATTER}{body}");
    let checked = read_lawfully(&text, options);
    for tool in &checked.skill.tools {
        assert_eq!(tool.kind, ToolKind::Command);
        assert!(tool.parameters.is_empty() || tool.parameters_declared);
        assert!(tool.parameters.iter().all(|parameter| !parameter.name.is_empty()));
        if let Some(command) = &tool.command {
            assert!(!command.contains('\n'), "a command is one line");
            let _ = command::parse(command);
        }
    }
    let write = gibberish.expect("the dialect is known").write;
    let written = write(&checked.skill).text;
    let again = read_lawfully(&written, options);
    let names = |checked: &prowess_format::Checked<'_>| {
        checked.skill.tools.iter().map(|tool| tool.name.value.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(&again), names(&checked), "the same tools after writing\n{written}");
});
