//! GAIA: permissions, requirements, tiers and declared tools (seed 001).

use insta::assert_snapshot;
use prowess_format::permission::{DOMAINS, Domain, Level, Permission};
use prowess_format::rules::SkillLocation;
use prowess_format::skill::{Skill, SkillKind};
use prowess_format::{ReadOptions, check};

use crate::{
    Fixture, options, problems, problems_as, problems_in, shown, skill, skill_of,
    strict_problems_as,
};

/// A skill with every required field.
const WHOLE: &str = "---\nname: words\nversion: 1.0.0\ndescription: Count words\nauthor: Kim\nlicense: MIT\npermissions:\n  - filesystem:none\ntools:\n  - name: count_words\n    description: Count words\n    parameters:\n      text: {type: string, required: true}\nsecurity_tier: community\n---\n\n# Words\n";

fn texts(texts: &[prowess_format::span::Spanned<String>]) -> Vec<&str> {
    texts.iter().map(|text| text.as_str()).collect()
}

fn permissions(skill: &Skill) -> Vec<String> {
    skill.permissions.iter().map(|permission| permission.to_string()).collect()
}

// GAIA-2.1-1
#[test]
fn the_full_example_is_read_with_every_field() {
    let skill = skill_of("gaia/2.1/web-search/SKILL.md");
    assert_eq!(skill.dialect.id, "gaia");
    assert_eq!(skill.kind, SkillKind::Tools);
    assert_eq!(skill.name_text(), Some("web-search"));
    assert_eq!(skill.version_or_default(), "1.0.0");
    assert_eq!(skill.description_or(""), "Search the web using Brave Search API");
    assert_eq!(texts(&skill.authors), ["AMD"]);
    assert_eq!(skill.license.as_ref().map(|text| text.as_str()), Some("MIT"));
    assert_eq!(permissions(&skill), ["network:read", "filesystem:none"]);
    let wanted = &skill.requirements;
    assert_eq!(wanted.model.as_ref().map(|text| text.as_str()), Some(">=7B"));
    assert_eq!(wanted.context.as_ref().map(|text| text.as_str()), Some(">=8K"));
    assert_eq!(wanted.python.as_ref().map(|text| text.as_str()), Some(">=3.10"));
    assert_eq!(texts(&wanted.python_packages), ["requests>=2.31"]);
    assert_eq!(texts(&wanted.node_packages), ["@brave/brave-search-mcp-server"]);
    assert_eq!(texts(&wanted.env_vars), ["BRAVE_API_KEY"]);
    let hardware = serde_json::json!({ "npu": "optional", "gpu_vram": ">=0GB" });
    assert_eq!(wanted.hardware, Some(hardware));
    assert_eq!(skill.security_tier.as_ref().map(|text| text.as_str()), Some("verified"));
    assert_eq!(
        skill.registry.as_ref().map(|text| text.as_str()),
        Some("https://registry.amd-gaia.ai")
    );
    assert_eq!(texts(&skill.tags), ["search", "web", "brave"]);
    assert!(skill.homepage.is_some() && skill.repository.is_some());
    let tool = &skill.tools[0];
    assert_eq!((tool.name.as_str(), tool.atomic), ("search_web", Some(false)));
    assert_eq!(tool.returns, Some(serde_json::json!({ "type": "object" })));
    let limit = &tool.parameters[1];
    assert_eq!((limit.kind.as_str(), limit.required), ("integer", false));
    assert_eq!(limit.default, Some(serde_json::json!(5)));
    assert_eq!(skill.extra, []);
}

// GAIA-2.2-1 GAIA-2.2-2
#[test]
fn each_required_field_is_missed() {
    assert_eq!(strict_problems_as(WHOLE, "gaia"), "");
    let without = |lines: &str| {
        let text = WHOLE.replace(lines, "");
        (problems(&text), strict_problems_as(&text, "gaia"))
    };
    let fields = [
        ("version", "version: 1.0.0\n"),
        ("author", "author: Kim\n"),
        ("license", "license: MIT\n"),
        ("permissions", "permissions:\n  - filesystem:none\n"),
        ("security_tier", "security_tier: community\n"),
    ];
    for (field, lines) in fields {
        let (usual, strict) = without(lines);
        assert_eq!(usual, format!("1:1 warning missing-field `{field}` is missing\n"));
        assert_eq!(strict, format!("1:1 error missing-field `{field}` is missing\n"));
    }
    let (usual, strict) = without("description: Count words\nauthor: Kim\n");
    assert!(usual.contains("1:1 error missing-field `description` is missing\n"), "{usual}");
    assert!(strict.contains("1:1 error missing-field `description` is missing\n"), "{strict}");
    let (usual, strict) = without("name: words\n");
    assert_snapshot!(usual, @"1:1 warning name-from-directory the skill has no name and is not in a directory");
    assert_snapshot!(strict, @"1:1 error name-from-directory the skill has no name and is not in a directory");
    let tools = "tools:\n  - name: count_words\n    description: Count words\n    parameters:\n      text: {type: string, required: true}\n";
    assert_snapshot!(without(tools).1, @r"
    1:1 error missing-field `tools` is missing
    11:1 error no-tools no tool is defined
    ");
    assert_snapshot!(strict_problems_as(&WHOLE.replace(tools, "tools: []\n"), "gaia"), @"12:1 error no-tools no tool is defined");
}

// GAIA-2.2-3
#[test]
fn a_description_over_two_hundred_characters_is_an_error_only_in_strict() {
    let long = |length: usize| {
        WHOLE.replace(
            "description: Count words\na",
            &format!("description: {}\na", "d".repeat(length)),
        )
    };
    assert_eq!(strict_problems_as(&long(200), "gaia"), "");
    assert_snapshot!(problems(&long(201)), @"4:14 warning description-over-limit the description has 201 characters, GAIA allows at most 200");
    assert_snapshot!(strict_problems_as(&long(201), "gaia"), @"4:14 error description-over-limit the description has 201 characters, GAIA allows at most 200");
    assert_snapshot!(problems(&long(1025)), @r"
    4:14 warning description-over-limit the description has 1025 characters, GAIA allows at most 200
    4:14 error description-too-long `description` has 1025 characters, at most 1024 are allowed
    ");
}

// GAIA-2.2-4
#[test]
fn there_are_three_tiers() {
    for tier in ["verified", "community", "experimental"] {
        assert_eq!(problems(&WHOLE.replace("tier: community", &format!("tier: {tier}"))), "");
    }
    assert_snapshot!(problems(&WHOLE.replace("tier: community", "tier: nuclear")), @"14:16 error invalid-security-tier `security_tier` is `nuclear`, expected `verified`, `community` or `experimental`");
    assert_snapshot!(problems(&WHOLE.replace("tier: community", "tier: Verified")), @"14:16 error invalid-security-tier `security_tier` is `Verified`, expected `verified`, `community` or `experimental`");
}

#[test]
fn requirements_are_checked() {
    let with = |lines: &str| {
        problems(&WHOLE.replace("tools:\n", &format!("requirements:\n{lines}\ntools:\n")))
    };
    assert_eq!(with("  model: '>=7B'\n  context: 8K\n  hardware: {npu: none, gpu_vram: 8GB}"), "");
    assert_snapshot!(with("  model: '>=large'"), @"10:10 error wrong-format `>=large` is not a number followed by K, M, B or T (`requirements.model`)");
    assert_snapshot!(with("  hardware: {npu: maybe}"), @"10:19 error not-a-choice `requirements.hardware.npu` is `maybe`, expected `required`, `optional` or `none`");
    assert_snapshot!(with("  - python"), @"10:5 error wrong-type `requirements` is a list, expected a map");
    assert_snapshot!(with("  skills: [{name: other, version: '>=v2'}]"), @"10:35 error invalid-range `>=v2` is not a version comparison (`requirements.skills[0].version`)");
}

// GAIA-2.3-1
#[test]
fn names_begin_with_a_letter() {
    let judge = |name: &str| {
        strict_problems_as(&WHOLE.replace("name: words", &format!("name: {name}")), "gaia")
    };
    assert_eq!(judge(&format!("a{}", "b".repeat(63))), "");
    assert_eq!(judge("a-1"), "");
    assert_snapshot!(judge("1password"), @"2:7 error invalid-name `1password` is not a valid name for GAIA: it begins with `1`, not with a letter");
    assert_snapshot!(judge("Web_Search"), @"2:7 error invalid-name `name` is not a name of lower-case letters, digits and hyphens: it contains upper-case letters");
    assert_snapshot!(judge(&"a".repeat(65)), @"2:7 error invalid-name `name` is not a name of lower-case letters, digits and hyphens: it has 65 characters, at most 64 are allowed");
    assert_snapshot!(problems(&WHOLE.replace("name: words", "name: words-")), @"2:7 warning name-not-canonical `words-` is installed and published as `words`");
    assert_snapshot!(problems(&WHOLE.replace("name: words", "name: 1password")), @"2:7 warning invalid-name `1password` is not a valid name for GAIA: it begins with `1`, not with a letter");
}

#[test]
fn reserved_prefixes_are_noted() {
    assert_snapshot!(problems(&WHOLE.replace("name: words", "name: amd-words")), @"2:7 info reserved-name-prefix names beginning with `amd-` are reserved");
    assert_snapshot!(problems_in("other", WHOLE), @"2:7 warning name-directory-mismatch the name is `words`, the directory is `other`");
}

// GAIA-3-1
#[test]
fn a_permission_is_domain_level_and_perhaps_scope() {
    let scoped: Permission = "filesystem:read:C:\\data:x".parse().expect("a scope may hold colons");
    assert_eq!(scoped, Permission::new(Domain::Filesystem, Level::Read, Some("C:\\data:x")));
    let judge = |permission: &str| {
        problems(&WHOLE.replace("filesystem:none", &format!("\"{permission}\"")))
    };
    assert_eq!(judge("network:read:*.example.com"), "");
    assert_snapshot!(judge("networkread"), @"8:5 error invalid-permission `networkread` is not of the form `domain:level` (`permissions[0]`)");
    assert_snapshot!(judge("teleport:read"), @"8:5 error invalid-permission `teleport` is not a permission domain, expected `filesystem`, `network`, `shell`, `desktop`, `mcp`, `env` or `database` (`permissions[0]`)");
    assert_snapshot!(judge("network:teleport"), @"8:5 error invalid-permission `network:teleport` is not a permission, expected `network:read`, `network:write` or `network:none` (`permissions[0]`)");
    assert_snapshot!(judge("shell:read"), @"8:5 error invalid-permission `shell:read` is not a permission, expected `shell:execute` or `shell:none` (`permissions[0]`)");
    assert_snapshot!(judge("network:"), @"8:5 error invalid-permission `network:` is not a permission, expected `network:read`, `network:write` or `network:none` (`permissions[0]`)");
    assert_snapshot!(judge("network:read:"), @"8:5 error invalid-permission `network:read:` ends with an empty scope (`permissions[0]`)");
    assert_snapshot!(judge("network:none:example.com"), @"8:5 error invalid-permission `network:none` grants nothing and takes no scope (`permissions[0]`)");
    assert_snapshot!(judge("Network:Read"), @"8:5 error invalid-permission `Network` is not a permission domain, expected `filesystem`, `network`, `shell`, `desktop`, `mcp`, `env` or `database` (`permissions[0]`)");
    assert_snapshot!(judge(""), @"8:5 error invalid-permission `` is not of the form `domain:level` (`permissions[0]`)");
    let suggestion = "network:wirte".parse::<Permission>().expect_err("misspelt").suggestion;
    assert_eq!(suggestion.as_deref(), Some("network:write"));
}

// GAIA-3.1-1
#[test]
fn each_domain_has_exactly_its_levels_and_none_grants_nothing() {
    let listed = [
        ("filesystem", &["read", "write", "none"][..]),
        ("network", &["read", "write", "none"]),
        ("shell", &["execute", "none"]),
        ("desktop", &["control", "none"]),
        ("mcp", &["connect", "none"]),
        ("env", &["read", "none"]),
        ("database", &["read", "write", "none"]),
    ];
    assert_eq!(DOMAINS.len(), listed.len());
    for (domain, levels) in listed {
        for level in ["read", "write", "execute", "control", "connect", "none", "all"] {
            let text = format!("{domain}:{level}");
            let parsed = text.parse::<Permission>();
            assert_eq!(parsed.is_ok(), levels.contains(&level), "{text}");
            assert_eq!(
                parsed.map(|permission| permission.to_string()),
                if levels.contains(&level) {
                    Ok(text.clone())
                } else {
                    text.parse::<Permission>().map(|_| text.clone())
                }
            );
        }
        let none: Permission = format!("{domain}:none").parse().expect("none");
        for level in levels.iter().filter(|level| **level != "none") {
            let grant: Permission = format!("{domain}:{level}").parse().expect("a grant");
            assert!(!none.covers(&grant) && grant.covers(&none));
        }
    }
    assert_snapshot!(problems(&WHOLE.replace("  - filesystem:none", "  - filesystem:none\n  - filesystem:read")), @"8:5 warning contradictory-permissions `filesystem:none` contradicts `filesystem:read`");
}

// GAIA-B-1
#[test]
fn every_line_of_appendix_b_is_a_permission() {
    let appendix = "filesystem:read filesystem:read:~/data/** filesystem:write filesystem:write:./out/** filesystem:none network:read network:read:*.example.com network:write network:none shell:execute shell:execute:git,npm shell:none desktop:control desktop:none mcp:connect mcp:none env:read env:none database:read database:write database:none";
    let parsed: Vec<String> = appendix
        .split(' ')
        .map(|text| text.parse::<Permission>().expect(text).to_string())
        .collect();
    assert_eq!(parsed.join(" "), appendix);
    assert_eq!(parsed.len(), 21);
    for text in &parsed {
        let read = crate::skill_as(&WHOLE.replace("filesystem:none", text), "gaia");
        assert!(permissions(&read).iter().any(|permission| permission == text), "{text}");
    }
}

#[test]
fn wide_grants_are_reported() {
    let judge = |permission: &str| problems(&WHOLE.replace("filesystem:none", permission));
    assert_snapshot!(judge("shell:execute"), @"8:5 warning unscoped-shell `shell:execute` covers every program on the machine");
    assert_snapshot!(judge("network:read:*.co.uk"), @"8:5 error public-suffix-wildcard `*.co.uk` covers names that anyone can register");
    assert_snapshot!(judge("filesystem:write:/**"), @"8:5 warning unscoped-files `/**` covers every file; it is read as `./**` unless the skill is signed by a trusted publisher");
    assert_eq!(judge("network:read:*.brave.com"), "");
    assert_eq!(judge("filesystem:write:/srv/**"), "");
}

#[test]
fn dependencies_are_maps_or_names_with_ranges() {
    let text = WHOLE.replace("tools:\n", "requirements:\n  skills:\n    - {name: auth, version: '>=1.0.0', required: false}\n    - notes@^2.0.0\n    - plain\ntools:\n");
    assert_eq!(problems(&text), "");
    let shown: Vec<_> = skill(&text)
        .requirements
        .skills
        .iter()
        .map(|skill| format!("{} {} {}", skill.name.value, skill.range, skill.required))
        .collect();
    assert_eq!(shown, ["auth >=1.0.0 false", "notes ^2.0.0 true", "plain  true"]);
}

// GAIX-1
#[test]
fn the_nested_shape_means_the_same_as_the_top_level() {
    let fields = "security_tier: community\npermissions:\n  - network:read:api.example.com\nrequirements:\n  model: '>=7B'\ntools:\n  - name: greet\n    description: Return a greeting\n    parameters:\n      name: {type: string, required: true}\n";
    let head = "---\nname: greet\nversion: 1.0.0\ndescription: Greet\nauthor: Kim\nlicense: MIT\n";
    let top = format!("{head}{fields}---\n\nGreet.\n");
    let indented: String = fields.lines().map(|line| ["    ", line, "\n"].concat()).collect();
    let nested = format!("{head}metadata:\n  gaia:\n{indented}---\n\nGreet.\n");
    let (top, nested) = (skill(&top), skill(&nested));
    assert_eq!((top.dialect.id, nested.dialect.id), ("gaia", "gaia"));
    assert_eq!(nested.security_tier, top.security_tier);
    assert_eq!(nested.permissions, top.permissions);
    assert_eq!(nested.requirements, top.requirements);
    assert_eq!(nested.tools, top.tools);
    assert_eq!(nested.kind, top.kind);
    let wrong = format!(
        "{head}metadata:\n  gaia:\n    security_tier: nuclear\n    permissions: [shell:read]\n---\n\nGreet.\n"
    );
    assert_snapshot!(problems(&wrong), @"
    9:20 error invalid-security-tier `metadata.gaia.security_tier` is `nuclear`, expected `verified`, `community` or `experimental`
    10:19 error invalid-permission `shell:read` is not a permission, expected `shell:execute` or `shell:none` (`metadata.gaia.permissions[0]`)
    ");
    // `tools_required` names tools of the host; it is kept where it stands.
    let kept = skill_of("gaia/gaix-1/metadata-gaia/SKILL.md");
    assert_eq!(kept.tools[0].name.as_str(), "greet");
}

#[test]
fn a_bare_standard_skill_is_instructions_without_permissions() {
    let text = "---\nname: words\ndescription: Count words\n---\n\nCount.\n";
    let skill = crate::skill_as(text, "gaia");
    assert_eq!(skill.kind, SkillKind::Instructions);
    assert_eq!(skill.security_tier, None);
    assert_eq!(skill.permissions, []);
    assert_eq!(skill.tools, []);
    assert!(!problems_as(text, "gaia").contains("error"));
}

#[test]
fn declared_tools_need_a_tools_file() {
    let fixture = Fixture::open("gaia/invalid/GAIA-5.1-2/no-tools-py/SKILL.md");
    let found = fixture.check(None, |text, checked| shown(text, &checked.diagnostics, false));
    assert_snapshot!(found, @"11:11 error missing-tools-file tools are declared, but there is no `tools.py`");
    // A text without a place says nothing about its neighbours.
    let checked = check(WHOLE, ReadOptions { place: SkillLocation::default(), ..options("gaia") });
    assert_eq!(checked.diagnostics, []);
}

#[test]
fn a_parameter_keeps_every_key_in_each_dialect_that_writes_it_by_name() {
    let parameter = "{type: string, required: true, default: a, label: City, description: Where, source: context.url, unit: km}";
    let gaia = format!(
        "---\nname: words\nversion: 1.0.0\ndescription: Count\ntools:\n  - name: count\n    description: Count\n    parameters: {{city: {parameter}}}\n---\n\nText\n"
    );
    let openclaw = format!(
        "---\nname: words\ndescription: Count\nclaw_version: 1\nactions:\n  - name: count\n    description: Count\n    handler: count.py\n    parameters: {{city: {parameter}}}\n---\n\nText\n"
    );
    for (text, dialect) in [(gaia, "gaia"), (openclaw, "openclaw")] {
        let skill = crate::skill_as(&text, dialect);
        let written = (skill.dialect.write)(&skill).text;
        let again = crate::skill_as(&written, dialect);
        assert_eq!(again.tools[0].parameters, skill.tools[0].parameters, "{written}");
        assert_eq!(again.tools[0].parameters[0].label.as_deref(), Some("City"), "{written}");
    }
}

/// Skills that another one can't do without would vanish without a word.
#[test]
fn requirements_by_another_name_are_pointed_out() {
    let with = |line: &str| WHOLE.replace("security_tier:", &format!("{line}\nsecurity_tier:"));
    let requires = "requires:\n  skills:\n    - name: web-search\n      version: '>=1.0.0'";
    assert_snapshot!(problems(&with(requires)), @"14:1 warning misspelt-field `requires` has no effect");
    // A text behind it is something else.
    assert_snapshot!(problems(&with("requires: courage")), @"");
    let right = requires.replace("requires", "requirements");
    assert_snapshot!(problems(&with(&right)), @"");
}
