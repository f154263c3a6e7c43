//! `prowess migrate`: OpenClaw skills to GAIA (GAIA §8.2).

use std::fmt::Write as _;

use prowess_format::diagnostic::Severity;
use prowess_format::migrate::{
    Migration, PublishedSkill, Surroundings, as_instructions, in_place, migrate, migrate_in,
    obstacle,
};
use prowess_format::permission::Level;
use prowess_format::skill::Skill;
use prowess_format::{ReadOptions, check};

use crate::{Fixture, named};

/// Migrates a text in a directory with these files.
fn migrated(text: &str, listing: &[&str]) -> Migration {
    let listing: Vec<String> = listing.iter().map(|path| (*path).to_owned()).collect();
    migrate(&check(text, ReadOptions::DETECT), &listing, Some("a-directory"))
}

/// Migrates a fixture with the files that lie beside it.
fn migrated_fixture(fixture: &Fixture) -> Migration {
    let listing: Vec<String> = prowess_testkit::files_below(&fixture.folder.path, &|_| true)
        .iter()
        .map(|path| crate::relative(path, &fixture.folder.path))
        .collect();
    fixture.check(None, |_, checked| migrate(checked, &listing, fixture.directory()))
}

fn fixture(path: &str) -> Migration {
    migrated_fixture(&Fixture::open(path))
}

fn review(migration: &Migration) -> String {
    migration.review.iter().fold(String::new(), |mut text, item| {
        let _ = writeln!(text, "{}: {}", item.what, item.why);
        text
    })
}

/// Everything that a migration gives.
fn report(migration: &Migration) -> String {
    let mut report = format!("name {}\n", migration.name);
    for path in &migration.copied {
        let _ = writeln!(report, "copy {path}");
    }
    for (from, to) in &migration.renamed {
        let _ = writeln!(report, "rename {from} to {to}");
    }
    for (path, text) in &migration.files {
        let _ = write!(report, "=== {path}\n{text}");
    }
    format!("{report}=== review\n{}", review(migration))
}

/// The migrated SKILL.md, read again.
fn skill(migration: &Migration) -> Skill {
    check(&migration.files[0].1, ReadOptions::DETECT).skill
}

fn permissions(migration: &Migration) -> Vec<String> {
    skill(migration).permissions.iter().map(|permission| permission.to_string()).collect()
}

fn openclaw_fixtures() -> impl Iterator<Item = Fixture> {
    Fixture::all().into_iter().filter(|fixture| fixture.name.starts_with("openclaw/"))
}

// GAIA-8.2-1 GAIA-8.2-2 GAIA-8.2-3 GAIA-8.2-4 GAIA-8.2-7
#[test]
fn the_older_shape_becomes_tools_that_call_its_handlers() {
    insta::assert_snapshot!(report(&fixture("openclaw/section-8/shelf-search/SKILL.md")), @r#"
    name shelf-search
    copy handlers/search.py
    === SKILL.md
    ---
    name: shelf-search
    version: 1.3.0
    description: Look things up on a shelf
    permissions:
      - network:read
      - network:write
    requirements:
      dependencies:
        - requests>=2.31
        - beautifulsoup4
    tools:
      - name: search
        description: Search the shelf
        parameters:
          query:
            type: string
            required: true
          limit:
            type: integer
            required: false
            default: 5
      - name: fetch
        description: Say what would be fetched
        parameters:
          url:
            type: string
            required: true
    security_tier: experimental
    ---

    # Shelf

    Look things up on the shelf.
    === tools.py
    """Tools of the skill shelf-search, which call its original handlers."""

    import asyncio
    import importlib.util
    import inspect
    import sys
    from pathlib import Path
    from typing import Any

    from gaia.agents.base.tools import tool

    _DIRECTORY = Path(__file__).resolve().parent
    _MODULES: dict = {}


    def _handler(path: str, function: str) -> Any:
        """Load a handler file of this skill once and return one of its functions."""
        if path not in _MODULES:
            file = _DIRECTORY / path
            name = f"openclaw_{len(_MODULES)}_{file.stem}"
            spec = importlib.util.spec_from_file_location(name, file)
            if spec is None or spec.loader is None:
                raise ImportError(f"{path} is not a Python file")
            # Handlers import their neighbours; appended, their folder hides no installed module.
            if str(file.parent) not in sys.path:
                sys.path.append(str(file.parent))
            module = importlib.util.module_from_spec(spec)
            sys.modules[name] = module
            spec.loader.exec_module(module)
            _MODULES[path] = module
        return getattr(_MODULES[path], function)


    def _call(path: str, function: str, arguments: dict) -> Any:
        """Call a handler with the given arguments."""
        given = {name: value for name, value in arguments.items() if value is not None}
        result = _handler(path, function)(**given)
        return asyncio.run(result) if inspect.iscoroutine(result) else result


    def _as_dict(result: Any) -> dict:
        """Return the result of a handler as a dict."""
        return result if isinstance(result, dict) else {"result": result}


    @tool
    def search(query: str, limit: int = 5) -> dict:
        """Search the shelf"""
        return _as_dict(_call("handlers/search.py", "search", {"query": query, "limit": limit}))


    @tool
    def fetch(url: str) -> dict:
        """Say what would be fetched"""
        return _as_dict(_call("handlers/search.py", "fetch", {"url": url}))
    === review
    network access: `network: true` names no hosts: narrow `network:read` and `network:write` to the hosts it needs
    handlers: they get no files, programs or variables: read the code and declare what it needs
    identity: GAIA requires `author`, `license`, which the source does not have (GAIA SKILL.md Format Specification, section 2.2)
    "#);
}

#[test]
fn the_published_shape_becomes_instructions_with_requirements() {
    insta::assert_snapshot!(report(&fixture("openclaw/OC-4/requires-everything/SKILL.md")), @r#"
    name requires-everything
    === SKILL.md
    ---
    name: requires-everything
    version: 0.0.0
    description: Note the weather of a town in one sentence.
    permissions:
      - shell:execute:curl,jq
    requirements:
      env_vars:
        - WEATHER_API_KEY
    tools: []
    security_tier: experimental
    homepage: https://example.com/weather-notes
    metadata:
      openclaw:
        emoji: 🌦️
        skillKey: weather
        primaryEnv: WEATHER_API_KEY
        os:
          - linux
          - darwin
          - win32
        nix:
          plugin: github:example/nix-weather
          systems:
            - x86_64-linux
            - aarch64-darwin
        config:
          requiredEnv:
            - WEATHER_API_KEY
          stateDirs:
            - .config/weather
          example: config = { units = "metric"; };
        requires:
          bins:
            - curl
            - jq
          anyBins:
            - bat
            - cat
          env:
            - WEATHER_API_KEY
          config:
            - channels.weather.enabled
            - browser.enabled
        envVars:
          - name: WEATHER_API_KEY
            required: true
            description: Key of the weather service
          - name: WEATHER_UNITS
            required: false
            description: metric or imperial
    ---

    # Weather notes

    Ask the service for the weather and write one sentence.
    === review
    version: the source has no version: `0.0.0` is used instead
    running programs: `shell:execute:curl,jq` is granted because the skill requires these programs: remove those that it only checks for
    environment variables: optional: `WEATHER_UNITS`; GAIA only has required variables
    running programs: one of `bat`, `cat` is needed: choose one and add it to `shell:execute:…`
    settings: OpenClaw gates the skill on `channels.weather.enabled`, `browser.enabled`: GAIA has no such gate
    operating system: the skill is for `linux`, `darwin`, `win32` only: GAIA has no such gate, so mention it in the body
    main secret: `WEATHER_API_KEY` is the skill's own key: the user must set it; GAIA stores no keys
    tools: the skill has instructions only: GAIA loads it, but its specification requires at least one tool (GAIA SKILL.md Format Specification, section 2.2)
    identity: GAIA requires `author`, `license`, which the source does not have (GAIA SKILL.md Format Specification, section 2.2)
    "#);
}

// GAIA-8.2-3 GAIX-22
#[test]
fn a_claimed_tier_is_reset_and_said_so() {
    let migration = fixture("openclaw/section-8/tier-claimed/SKILL.md");
    let tier = skill(&migration).security_tier.map(|tier| tier.value);
    assert_eq!(tier.as_deref(), Some("experimental"));
    assert!(!migration.files[0].1.contains("verified"));
    insta::assert_snapshot!(review(&migration), @"
    security tier: the file claims `verified`: a migrated skill is experimental until it is signed
    handlers: they get no files, programs or variables: read the code and declare what it needs
    identity: GAIA requires `author`, `license`, which the source does not have (GAIA SKILL.md Format Specification, section 2.2)
    ");
}

/// Whatever is read without an error migrates to a GAIA skill that is read without an error, and is experimental.
// GAIA-8.2-3
#[test]
fn every_good_skill_migrates_without_errors() {
    let mut seen = 0;
    for fixture in openclaw_fixtures() {
        let bad = fixture.check(None, |_, checked| {
            !checked.is_skill()
                || checked.diagnostics.iter().any(|found| found.severity == Severity::Error)
        });
        if bad {
            continue;
        }
        let migration = migrated_fixture(&fixture);
        for dialect in [None, Some(named("gaia"))] {
            let place = prowess_format::rules::SkillLocation {
                directory: Some(&migration.name),
                files: None,
            };
            let checked =
                check(&migration.files[0].1, ReadOptions { dialect, place, ..ReadOptions::DETECT });
            let errors: Vec<&str> = checked
                .diagnostics
                .iter()
                .filter(|found| found.severity == Severity::Error)
                .map(|found| found.message.as_str())
                .collect();
            assert_eq!(errors, [""; 0], "{}", fixture.name);
            assert_eq!(checked.skill.dialect.id, "gaia", "{}", fixture.name);
            assert_eq!(
                checked.skill.security_tier.as_ref().map(|tier| tier.as_str()),
                Some("experimental")
            );
        }
        seen += 1;
    }
    assert!(seen > 40, "only {seen}");
}

/// The body, other people's metadata and unknown fields go along.
#[test]
fn what_gaia_does_not_know_is_kept() {
    let text = "---\nname: notes\ndescription: Takes notes.\nuser-invocable: false\ncommand-dispatch: tool\ncommand-tool: notes_add # the only one\n# Asked for by the desk.\nteam: desk\nmetadata:\n  acme: {shelf: 3}\n  clawdbot: {emoji: \"📝\", nix: {plugin: x}}\n---\n\n# Notes\n\nRun {baseDir}/notes.sh.\n";
    insta::assert_snapshot!(report(&migrated(text, &["notes.sh", "SKILL.md", "SKILL.md.lock"])), @"
    name notes
    copy notes.sh
    === SKILL.md
    ---
    name: notes
    version: 0.0.0
    description: Takes notes.
    permissions: []
    tools: []
    security_tier: experimental
    metadata:
      clawdbot:
        emoji: 📝
        nix:
          plugin: x
        command-dispatch: tool
        command-tool: notes_add
      acme:
        shelf: 3
    # Asked for by the desk.
    team: desk
    user-invocable: false
    ---

    # Notes

    Run {baseDir}/notes.sh.
    === review
    version: the source has no version: `0.0.0` is used instead
    body: `{baseDir}` in the body is not substituted by gaia: write paths relative to the skill
    command dispatch: OpenClaw sends the command straight to `notes_add`: GAIA has no such dispatch
    tools: the skill has instructions only: GAIA loads it, but its specification requires at least one tool (GAIA SKILL.md Format Specification, section 2.2)
    identity: GAIA requires `author`, `license`, which the source does not have (GAIA SKILL.md Format Specification, section 2.2)
    ");
}

// OC-8
#[test]
fn names_and_versions_are_made_canonical_with_a_note() {
    let mut table = String::new();
    for fixture in openclaw_fixtures().filter(|fixture| fixture.name.contains("/OC-8/")) {
        let migration = migrated_fixture(&fixture);
        let version = skill(&migration).version.map(|version| version.value).unwrap_or_default();
        let _ = writeln!(table, "{}: {} {version}", fixture.name, migration.name);
        for item in
            migration.review.iter().filter(|item| ["name", "version"].contains(&item.what.as_str()))
        {
            let _ = writeln!(table, "  {}: {}", item.what, item.why);
        }
    }
    insta::assert_snapshot!(table, @r"
    openclaw/OC-8/directory-differs/SKILL.md: weather-notes 0.0.0
      version: the source has no version: `0.0.0` is used instead
    openclaw/OC-8/my-weather-notes/SKILL.md: my-weather-notes 0.0.0
      name: the name `My Weather Notes` is written as `my-weather-notes`
      version: the source has no version: `0.0.0` is used instead
    openclaw/OC-8/no-name/SKILL.md: no-name 0.0.0
      name: the name `no-name` comes from the directory
      version: the source has no version: `0.0.0` is used instead
    openclaw/OC-8/version-date/SKILL.md: version-date 2026.2.11
      version: the version `2026.02.11` is written as `2026.2.11`
    openclaw/OC-8/version-one-part/SKILL.md: version-one-part 3.0.0
      version: the version `3` is written as `3.0.0`
    openclaw/OC-8/version-quoted/SKILL.md: version-quoted 1.4.2
      version: the version `v1.4.2` is written as `1.4.2`
    openclaw/OC-8/version-two-parts/SKILL.md: version-two-parts 2.1.0
      version: the version `2.1` is written as `2.1.0`
    openclaw/OC-8/version-v2-1/SKILL.md: version-v2-1 2.1.0
      version: the version `v2.1` is written as `2.1.0`
    openclaw/OC-8/version-word/SKILL.md: version-word 0.0.0
      version: `latest` is not a version: `0.0.0` is used instead
    openclaw/OC-8/weather-notes-x/SKILL.md: weather-notes-x 0.0.0
      name: the name `Weather -- Notes (x)` is written as `weather-notes-x`
      version: the source has no version: `0.0.0` is used instead
    openclaw/OC-8/weathernotes/SKILL.md: weather-notes 0.0.0
      name: the name `weather_notes` is written as `weather-notes`
      version: the source has no version: `0.0.0` is used instead
    openclaw/OC-8/weathertools/SKILL.md: weathertools 0.0.0
      name: the name `WeatherTools` is written as `weathertools`
      version: the source has no version: `0.0.0` is used instead
    ");
}

// OC-5
#[test]
fn packages_become_requirements_and_other_steps_are_for_a_person() {
    let migration = fixture("openclaw/OC-5/install-known-kinds/SKILL.md");
    let wanted = skill(&migration).requirements;
    let names = |texts: &[prowess_format::span::Spanned<String>]| {
        texts.iter().map(|text| text.value.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(&wanted.python_packages), ["weather-cli"]);
    assert_eq!(names(&wanted.node_packages), ["@example/weather"]);
    let steps = |path: &str| {
        let migration = fixture(path);
        let steps = migration.review.iter().filter(|item| item.what.starts_with("install step"));
        steps.map(|item| format!("{}: {}", item.what, item.why)).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(steps("openclaw/OC-5/install-known-kinds/SKILL.md"), @r"
    install step `Install (brew)`: GAIA does not install it; to install it, run `brew install weather-cli`
    install step `Install (go)`: GAIA does not install it; to install it, run `go install example.com/weather/cmd/weather@latest`
    install step `Download the archive`: GAIA does not install it; to install it, download `https://example.com/weather-1.2.0.tar.gz`, compare its SHA-256 with `e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855` and unpack it to `~/.local/share/weather`
    ");
    insta::assert_snapshot!(steps("openclaw/OC-5/install-other-kinds/SKILL.md"), @r#"
    install step `Install (apt)`: GAIA does not install it; to install it, run `sudo apt-get install weather-cli`
    install step `Install (cargo)`: GAIA does not install it; to install it, run `cargo install weather-cli`
    install step `Install (snap)`: GAIA does not install it; to install it, run `sudo snap install weather-cli`
    install step `Install (winget)`: GAIA does not install it; to install it, run `winget install weather-cli`
    install step `Install (choco)`: GAIA does not install it; to install it, run `choco install weather-cli`
    install step `Install (scoop)`: GAIA does not install it; to install it, run `scoop install weather-cli`
    install step `Install (dnf)`: GAIA does not install it; to install it, run `sudo dnf install weather-cli`
    install step `Install (pacman)`: GAIA does not install it; to install it, run `sudo pacman -S weather-cli`
    install step `Install (gem)`: GAIA does not install it; to install it, run `gem install weather-cli`
    install step `Install (shell)`: GAIA does not install it; to install it, read `curl -fsSL https://example.com/install.sh | sh` before running it
    install step `Install (script)`: GAIA does not install it; to install it, read `scripts/install.sh` before running it
    install step `By hand`: GAIA does not install it; to install it, follow: See the home page
    install step `Clone`: GAIA does not install it; to install it, read {"id":"git","kind":"git","url":"https://example.com/weather.git","label":"Clone"}
    install step `Container`: GAIA does not install it; to install it, read {"id":"docker","kind":"docker","image":"example/weather:1.2.0","label":"Container"}
    "#);
    insta::assert_snapshot!(steps("openclaw/OC-5/install-download-unpinned/SKILL.md"), @r"install step `download`: GAIA does not install it; to install it, download `http://example.com/weather.zip` (not over https), check its origin, because no SHA-256 is given and unpack it to `../../bin`");
}

// GAIA-8.2-2
#[test]
fn coarse_network_access_becomes_two_levels_or_none() {
    let cases = [
        ("true", vec!["network:read", "network:write"]),
        ("false", vec!["network:none"]),
        ("sometimes", vec![]),
    ];
    for (word, expected) in cases {
        let text = format!(
            "---\nname: a\nclaw_version: 1.0.0\ndescription: A.\nnetwork: {word}\nactions: []\n---\n\nText.\n"
        );
        assert_eq!(permissions(&migrated(&text, &[])), expected, "{word}");
    }
}

/// Programs that the skill requires are granted by name; an interpreter would be a grant for everything.
#[test]
fn required_programs_are_granted_by_name_only() {
    let text = "---\nname: a\ndescription: A.\nmetadata:\n  openclaw:\n    requires: {bins: [jq, bash, python3, \"rm -rf /\", \"*\", \"a,b\"], anyBins: [bat, cat], env: [TOKEN]}\n---\n\nText.\n";
    let migration = migrated(text, &[]);
    assert_eq!(permissions(&migration), ["shell:execute:jq"]);
    insta::assert_snapshot!(review(&migration), @"
    version: the source has no version: `0.0.0` is used instead
    running programs: `shell:execute:jq` is granted because the skill requires these programs: remove those that it only checks for
    running programs: `bash`, `python3` can run anything, so no grant was written: add `shell:execute:…` if the skill really needs it
    running programs: nothing is granted for `rm -rf /`, `*`, `a,b`: not a program name
    running programs: one of `bat`, `cat` is needed: choose one and add it to `shell:execute:…`
    tools: the skill has instructions only: GAIA loads it, but its specification requires at least one tool (GAIA SKILL.md Format Specification, section 2.2)
    identity: GAIA requires `author`, `license`, which the source does not have (GAIA SKILL.md Format Specification, section 2.2)
    ");
}

/// No migration grants more than the source names: network as the flag says, programs by name, nothing else.
#[test]
fn migration_never_widens() {
    for fixture in openclaw_fixtures() {
        let (network, programs, readable) = fixture.check(None, |_, checked| {
            let programs: Vec<String> = checked
                .skill
                .requirements
                .programs
                .iter()
                .map(|program| program.value.clone())
                .collect();
            (
                checked.skill.network.as_ref().is_some_and(|network| network.value),
                programs,
                checked.is_skill(),
            )
        });
        if !readable {
            continue;
        }
        for permission in &skill(&migrated_fixture(&fixture)).permissions {
            let scope = permission.scope.as_deref().unwrap_or_default();
            let allowed = match permission.level {
                Level::None => true,
                Level::Read | Level::Write => network && permission.domain.as_str() == "network",
                Level::Execute => {
                    !scope.is_empty()
                        && scope
                            .split(',')
                            .all(|program| programs.iter().any(|known| known == program))
                }
                Level::Control | Level::Connect => false,
            };
            assert!(allowed, "{}: {}", fixture.name, permission.value);
        }
    }
}

// GAIA-8.2-5
#[test]
fn handlers_that_cannot_be_called_are_for_review() {
    for name in [
        "action-without-handler",
        "handler-javascript",
        "handler-missing-file",
        "handler-outside",
        "handler-without-function",
    ] {
        let migration = fixture(&format!("openclaw/section-8/{name}/SKILL.md"));
        let tool = migration.review.iter().find(|item| item.what == "tool `search`");
        assert!(tool.is_some(), "{name}: {}", review(&migration));
    }
    insta::assert_snapshot!(review(&fixture("openclaw/section-8/handler-outside/SKILL.md")), @"
    tool `search`: the handler `../shelf-search/handlers/search.py:search` is outside the skill: copy it into the skill and fix the path
    handlers: they get no files, programs or variables: read the code and declare what it needs
    identity: GAIA requires `author`, `license`, which the source does not have (GAIA SKILL.md Format Specification, section 2.2)
    ");
    let python = &fixture("openclaw/section-8/handler-javascript/SKILL.md").files[1].1;
    insta::assert_snapshot!(python, @r#"
    """Tools of the skill handler-javascript, which call its original handlers."""

    from gaia.agents.base.tools import tool


    @tool
    def search(query: str) -> dict:
        """Search the shelf"""
        raise NotImplementedError("search: the handler was not written in Python")
    "#);
}

/// Names that Python refuses, types that JSON does not have, and defaults of every kind.
// GAIA-8.2-1 GAIA-8.2-4
#[test]
fn odd_actions_become_valid_python() {
    let text = r#"---
name: odd
claw_version: 1.0.0
description: Odd.
network: false
actions:
  - name: do-it
    description: |
      Says "hello" to C:\new
      and """ends""".
    handler: ./tools.py:do_it
    parameters:
      class: {type: str, required: true, description: "A keyword"}
      max-results: {type: int, default: 5}
      flag: {type: bool, default: false}
      note: {type: string, default: "a \"b\" \\ 🧹"}
      tags: {type: list, default: [1, null, true]}
      more: {type: thing}
    returns: {type: string}
  - {name: import, description: Import, handler: "handlers/a.py:import_it"}
  - {name: import, description: Again, handler: "handlers/a.py:not a function"}
---

Text.
"#;
    let migration = migrated(text, &["tools.py", "handlers/a.py", "SKILL.md"]);
    insta::assert_snapshot!(report(&migration), @r#"
    name odd
    copy handlers/a.py
    rename tools.py to openclaw_tools.py
    === SKILL.md
    ---
    name: odd
    version: 1.0.0
    description: Odd.
    permissions:
      - network:none
    tools:
      - name: do_it
        description: |-
          Says "hello" to C:\new
          and """ends""".
        parameters:
          value_class:
            type: string
            required: true
            description: A keyword
          max_results:
            type: integer
            required: false
            default: 5
          flag:
            type: boolean
            required: false
            default: false
          note:
            type: string
            required: false
            default: a "b" \ 🧹
          tags:
            type: array
            required: false
            default:
              - 1
              - null
              - true
          more:
            type: string
            required: false
        returns:
          type: string
      - name: run_import
        description: Import
        parameters: {}
      - name: run_import_
        description: Again
        parameters: {}
    security_tier: experimental
    ---

    Text.
    === tools.py
    """Tools of the skill odd, which call its original handlers."""

    import asyncio
    import importlib.util
    import inspect
    import sys
    from pathlib import Path
    from typing import Any, Optional

    from gaia.agents.base.tools import tool

    _DIRECTORY = Path(__file__).resolve().parent
    _MODULES: dict = {}


    def _handler(path: str, function: str) -> Any:
        """Load a handler file of this skill once and return one of its functions."""
        if path not in _MODULES:
            file = _DIRECTORY / path
            name = f"openclaw_{len(_MODULES)}_{file.stem}"
            spec = importlib.util.spec_from_file_location(name, file)
            if spec is None or spec.loader is None:
                raise ImportError(f"{path} is not a Python file")
            # Handlers import their neighbours; appended, their folder hides no installed module.
            if str(file.parent) not in sys.path:
                sys.path.append(str(file.parent))
            module = importlib.util.module_from_spec(spec)
            sys.modules[name] = module
            spec.loader.exec_module(module)
            _MODULES[path] = module
        return getattr(_MODULES[path], function)


    def _call(path: str, function: str, arguments: dict) -> Any:
        """Call a handler with the given arguments."""
        given = {name: value for name, value in arguments.items() if value is not None}
        result = _handler(path, function)(**given)
        return asyncio.run(result) if inspect.iscoroutine(result) else result


    def _as_dict(result: Any) -> dict:
        """Return the result of a handler as a dict."""
        return result if isinstance(result, dict) else {"result": result}


    @tool
    def do_it(
        value_class: str,
        max_results: int = 5,
        flag: bool = False,
        note: str = "a \"b\" \\ 🧹",
        tags: list = [1, None, True],
        more: Optional[str] = None,
    ) -> str:
        """Says \"hello\" to C:\\new and \"\"\"ends\"\"\"."""
        return _call("openclaw_tools.py", "do_it", {
            "class": value_class,
            "max-results": max_results,
            "flag": flag,
            "note": note,
            "tags": tags,
            "more": more,
        })


    @tool
    def run_import() -> dict:
        """Import"""
        return _as_dict(_call("handlers/a.py", "import_it", {}))


    @tool
    def run_import_() -> dict:
        """Again"""
        raise NotImplementedError("import: the handler named no function")
    === review
    tool `do-it`: this is not a valid Python function name: it is renamed to `do_it`
    tool `do-it`: the parameter `class` is renamed to `value_class`, and passed on under its old name
    tool `do-it`: the parameter `max-results` is renamed to `max_results`, and passed on under its old name
    tool `do-it`: the type `thing` of `more` is unknown: it is declared as text
    tool `import`: this is not a valid Python function name: it is renamed to `run_import`
    tool `import`: this is not a valid Python function name: it is renamed to `run_import_`
    tool `import`: `not a function` is not a function name: fix the handler
    handlers: they get no files, programs or variables: read the code and declare what it needs
    identity: GAIA requires `author`, `license`, which the source does not have (GAIA SKILL.md Format Specification, section 2.2)
    "#);
}

#[test]
fn a_file_that_cannot_be_read_says_so_and_gives_nothing() {
    let migration = migrated("---\n- a list\n---\n", &["notes.txt"]);
    assert!(migration.files.is_empty() && migration.copied.is_empty());
    insta::assert_snapshot!(report(&migration), @r"
    name a-directory
    === review
    SKILL.md: it can't be read: run `prowess check` and fix the errors first
    ");
}

#[test]
fn the_registrys_entry_is_read_within_bounds() {
    let read = |text: &str| PublishedSkill::read(text.as_bytes());
    let entry = read(r#"{"owner": " ann ", "slug": "a", "latest": {"version": "1.2.3"}}"#);
    let entry = entry.expect("an entry");
    assert_eq!(entry.owner.as_deref(), Some("ann"));
    assert_eq!((entry.slug.as_deref(), entry.version.as_deref()), (Some("a"), Some("1.2.3")));
    let other =
        read(r#"{"ownerHandle": "bob", "version": "2.0.0", "slug": ""}"#).expect("an entry");
    assert_eq!(
        (other.owner.as_deref(), other.slug, other.version.as_deref()),
        (Some("bob"), None, Some("2.0.0"))
    );
    let long = format!(r#"{{"owner": "{}"}}"#, "x".repeat(201));
    assert_eq!(read(&long), Some(PublishedSkill::default()));
    for text in ["", "[]", "null", "{", r#""a""#] {
        assert_eq!(read(text), None, "{text}");
    }
    assert_eq!(PublishedSkill::read(&vec![b' '; 5 << 20]), None);
}

#[test]
fn the_published_version_and_another_name_are_used() {
    let text = "---\nname: a\ndescription: Says a\nversion: 1.0.0\n---\n\n# A\n";
    let published =
        PublishedSkill { version: Some("v2.1".to_owned()), ..PublishedSkill::default() };
    let surroundings = Surroundings {
        listing: &[],
        directory: None,
        published: Some(&published),
        name: Some("b"),
    };
    let migration = migrate_in(&check(text, ReadOptions::DETECT), surroundings);
    let skill = skill(&migration);
    assert_eq!(skill.version.as_ref().map(|version| version.as_str()), Some("2.1.0"));
    assert_eq!((skill.name_text(), migration.name.as_str()), (Some("b"), "b"));
    assert!(review(&migration).contains("this one is called `b`"), "{}", review(&migration));
}

#[test]
fn only_what_cannot_be_read_is_an_obstacle() {
    let reason = |text: &str| {
        let checked = check(text, ReadOptions::DETECT);
        obstacle(&checked).map(|obstacle| obstacle.reason)
    };
    for text in [
        "# A\n",
        "---\nname: a\ndescription: b\n\n# A\n",
        "---\nname: [a]\n---\n\n# A\n",
        "---\n---\n# A\n",
    ] {
        assert_eq!(reason(text), None, "{text}");
    }
    for (text, wanted) in [
        ("", "it has neither a description nor instructions"),
        ("---\nname: a\n---\n\n", "it has neither a description nor instructions"),
        (
            "---\n- a\n- b\n---\n\n# A\n",
            "the front matter can't be read: line 2: the front matter is a list, not a map",
        ),
    ] {
        assert_eq!(reason(text).as_deref(), Some(wanted), "{text}");
    }
}

#[test]
fn a_ruler_is_no_fence_and_a_misspelt_fence_is_one() {
    let ruler = "---\n\n# Title\n\nText\n\n---\n\nMore\n";
    let text = as_instructions(&check(ruler, ReadOptions::DETECT));
    let text = text.expect("it is prose");
    assert_eq!(text, format!("\n{ruler}"));
    assert!(check(&text, ReadOptions::DETECT).is_skill());
    let (text, _) =
        in_place(&check("----\nname: a\ndescription: b\n----\n\n# A\n", ReadOptions::DETECT))
            .expect("front matter");
    assert_eq!(text, "---\nname: a\ndescription: b\n---\n\n# A\n");
    let read = check("---\nname: a\ndescription: b\n---\n\n# A\n", ReadOptions::DETECT);
    assert!(in_place(&read).is_none() && as_instructions(&read).is_none());
}
