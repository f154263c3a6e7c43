//! Names that try to be more than names: of skills, of folders, in values.

use std::path::Path;

use prowess_testkit::Scene;

use crate::scene;

/// A command tool that says its value.
fn command_skill(name: &str) -> String {
    format!(
        "---\nname: {name}\nversion: 1.0.0\ndescription: Says it\n---\n\n### say\n\nSays it.\n\n#### Parameters\n\n| Name | Type | Required | Description |\n|---|---|---|---|\n| text | string | no | Words |\n\n#### Command\n\n```bash\n./say.sh {{{{text}}}}\n```\n"
    )
}

/// A function that returns its value.
fn python_skill(name: &str) -> String {
    format!(
        "---\nname: {name}\nversion: 1.0.0\ndescription: Says it\nauthor: a\nlicense: MIT\nsecurity_tier: experimental\npermissions: [filesystem:none, network:none]\ntools:\n  - name: say\n    description: Says it\n    parameters:\n      text: {{type: string, required: false}}\n---\n\n# Say\n"
    )
}

const SCRIPT: &str = "#!/bin/sh\nprintf '%s\\n' \"$1\"\n";
const PYTHON: &str = "from gaia.agents.base.tools import tool\n\n@tool\ndef say(text: str = \"\") -> str:\n    \"\"\"Says it.\"\"\"\n    return text\n";

/// Both skills in folders of these names, beside a repository in which the binary runs.
fn place(commands: &str, command: &str, python: &str) -> Scene {
    scene()
        .home("home")
        .variable("PATH", "/usr/local/bin:/usr/bin:/bin")
        .file("repo/.git/HEAD", "ref: refs/heads/main\n")
        .file(&format!("skills/{commands}/SKILL.md"), command)
        .script(&format!("skills/{commands}/say.sh"), SCRIPT)
        .file(&format!("skills/{commands}-python/SKILL.md"), python)
        .file(&format!("skills/{commands}-python/tools.py"), PYTHON)
        .inside("repo")
}

/// Every file of the scene that is not in the folders that are ours to write.
fn files_of_others(scene: &Scene) -> Vec<String> {
    let ours = ["home/.local/share/prowess", "home/.cache/prowess", "home/.config/prowess"];
    let all = prowess_testkit::files_below(scene.path(), &|_| true);
    let relative = all.iter().map(|file| file.strip_prefix(scene.path()).expect("it is below"));
    let foreign = relative.filter(|file| !ours.iter().any(|folder| file.starts_with(folder)));
    foreign.map(|file| file.display().to_string()).collect()
}

#[test]
fn a_name_never_leads_out_of_our_folders() {
    // NEG-1: the name of a skill is in approvals and in what is prepared for it. Whether such a skill runs is another
    // question; nothing of it is written anywhere else.
    for name in ["../../../x", "/../x", "\"..\"", "a/../../../b", "\"x\\0y\"", "~/x", "-rf"] {
        let scene = place("say", &command_skill(name), &python_skill(name));
        let before = files_of_others(&scene);
        assert_eq!(before.len(), 5, "{before:?}");
        for skill in ["../skills/say", "../skills/say-python"] {
            scene.output(&["run", skill, "--input", "text=a", "--yes"], "");
            scene.run_on_terminal(&["run", skill, "--input", "text=a"], "y\n");
            scene.output(&["policy", skill], "");
        }
        scene.run("approvals list");
        assert_eq!(files_of_others(&scene), before, "{name}");
    }
}

/// What a shell would make something of.
const EVIL: &str = "a\"$(touch canary)`touch canary`;touch canary;'|touch canary&&touch canary\n*";

#[test]
fn no_path_and_no_value_reaches_a_shell() {
    // NEG-4: the folder of the skill, the folder that is worked in and the values are words and nothing else.
    let scene = place(EVIL, &command_skill("say"), &python_skill("say"))
        .file(&format!("{EVIL}/.git/HEAD"), "ref: refs/heads/main\n")
        .inside(EVIL);
    let value = format!("text={EVIL}");
    for (skill, expected) in [
        (EVIL.to_owned(), format!("{EVIL}\n")),
        (format!("{EVIL}-python"), format!("{}\n", serde_json::Value::from(EVIL))),
    ] {
        let path = format!("../skills/{skill}");
        let output = scene.output(&["run", &path, "--input", &value, "--yes"], "");
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{skill}: {complaint}");
    }
    let canaries = files_of_others(&scene);
    let canaries: Vec<&String> =
        canaries.iter().filter(|file| Path::new(file).ends_with("canary")).collect();
    assert_eq!(canaries, Vec::<&String>::new());
}
