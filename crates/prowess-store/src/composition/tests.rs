use std::collections::BTreeMap;
use std::fmt::Write as _;

use prowess_format::manifest;

use super::*;

/// Compares a manifest with skills (name, version, further lines of front matter): one line per skill and diagnostic.
fn shown(text: &str, skills: &[(&str, &str, &str)]) -> String {
    let present: BTreeMap<&str, InstalledVersion> = skills
        .iter()
        .map(|(name, version, more)| {
            let version_line = match *version {
                "" => String::new(),
                version => format!("version: {version}\n"),
            };
            let text =
                format!("---\nname: {name}\ndescription: D\n{version_line}{more}---\n\n# S\n");
            let described = parse_installed_metadata(text.as_bytes(), name, None).expect("a skill");
            let present = InstalledVersion {
                directory: PathBuf::from("/skills").join(name),
                version: described.declares_version.then(|| described.version.to_string()),
                requirements: described.skill.requirements,
                broken: (*more == "broken: yes\n").then(|| "no text".to_owned()),
            };
            (*name, present)
        })
        .collect();
    let checked = manifest::check(text);
    let active = checked.manifest.active_skills(None, None).expect("a set");
    let composition = compose(&active, &checked.manifest.model, |name| present.get(name).cloned());
    let mut page = String::new();
    for member in &composition.members {
        let _ = writeln!(page, "{} {}", member.dependency.name.as_str(), member.fit.as_str());
    }
    for found in &composition.diagnostics {
        let _ = writeln!(page, "{} {} {}", found.severity.as_str(), found.rule.name, found.message);
    }
    let _ = write!(page, "errors: {}", composition.has_errors());
    page
}

#[test]
fn required_skills_are_errors_and_optional_ones_warnings() {
    // GAIA-9.1-1
    let text = "name: a\nskills:\n  - {name: here, version: \">=1.0.0\"}\n  - {name: gone}\n  - {name: acme/nice, required: false}\n  - {name: old, version: \"^2.0.0\"}\n  - {name: older, version: \"^2.0.0\", required: false}\n  - {name: torn}\n";
    let skills = [
        ("here", "1.4.0", ""),
        ("old", "1.0.0", ""),
        ("older", "1.0.0", ""),
        ("torn", "1.0.0", "broken: yes\n"),
    ];
    insta::assert_snapshot!(shown(text, &skills), @"
    here fits
    gone missing
    acme/nice missing
    old other-version
    older other-version
    torn broken
    error skill-not-installed `gone` is not installed
    warning skill-not-installed `acme/nice` is not installed
    error skill-version-mismatch `old` is installed as 1.0.0, which is not in `^2.0.0`
    warning skill-version-mismatch `older` is installed as 1.0.0, which is not in `^2.0.0`
    error skill-not-installed `torn` is installed but broken: no text
    errors: true
    ");
    let text = "name: a\nskills:\n  - {name: acme/nice, required: false}\n";
    insta::assert_snapshot!(shown(text, &[("nice", "", "")]), @"
    acme/nice fits
    errors: false
    ");
}

#[test]
fn a_pin_needs_a_version() {
    // GAIX-19
    let text = "name: a\nskills: [\"bare@==1.0.0\"]\n";
    insta::assert_snapshot!(shown(text, &[("bare", "", "")]), @"
    bare unversioned
    error skill-version-mismatch `bare` is installed without a version, but `==1.0.0` is required
    errors: true
    ");
    // Without a range, no version is needed.
    insta::assert_snapshot!(shown("name: a\nskills: [bare]\n", &[("bare", "", "")]), @"
    bare fits
    errors: false
    ");
}

#[test]
fn the_model_is_held_against_what_skills_require() {
    // GAIA-9.1-2
    let large = "requirements:\n  model: \">=13B\"\n  context: \">=64K\"\n";
    let small = "requirements:\n  model: \">=7B\"\n  context: \">=32K\"\n";
    let skills = [("large", "1.0.0", large), ("nice", "1.0.0", large), ("small", "1.0.0", small)];
    let text = "name: a\nskills:\n  - {name: large}\n  - {name: nice, required: false}\n  - {name: small}\n";
    let model = "model: {minimum: \">=7B\", context: \">=32K\"}\n";
    insta::assert_snapshot!(shown(&format!("{text}{model}"), &skills), @"
    large fits
    nice fits
    small fits
    error model-below-requirement `large` needs a model of >=13B, and the agent's is >=7B
    error model-below-requirement `large` needs a context of >=64K, and the agent's is >=32K
    warning model-below-requirement `nice` needs a model of >=13B, and the agent's is >=7B
    warning model-below-requirement `nice` needs a context of >=64K, and the agent's is >=32K
    errors: true
    ");
    // An agent that names no minimum promises nothing.
    insta::assert_snapshot!(shown(text, &skills), @"
    large fits
    nice fits
    small fits
    errors: false
    ");
}
