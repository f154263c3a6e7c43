use std::fmt::Write as _;
use std::path::Path;

use prowess_core::ModelError;

use super::{KeySource, ModelSettings};

fn variables(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// The choice on one line, or the error.
fn check(wanted: Option<&str>, set: &[(&str, &str)], config: Option<&str>) -> String {
    let settings = ModelSettings::of(&variables(set), config, Path::new("/config"));
    match settings.and_then(|settings| settings.choose(wanted)) {
        Ok(choice) => {
            let key = match &choice.provider.key {
                KeySource::None => "no key".to_owned(),
                KeySource::Variable { name, is_needed: true } => format!("key {name}"),
                KeySource::Variable { name, is_needed: false } => format!("key {name} if set"),
                KeySource::File(path) => format!("key file {}", path.display()),
            };
            format!(
                "{} {} ({}), {} {} ({}), {key}",
                choice.provider.name,
                choice.model,
                choice.origin,
                choice.provider.kind.word(),
                choice.provider.base_url,
                choice.provider.origin,
            )
        }
        Err(error) => told(&error),
    }
}

fn told(error: &ModelError) -> String {
    let mut text = format!("{:?}: {}", error.kind, error.message);
    for hint in error.remedies.iter().map(ToString::to_string) {
        let _ = write!(text, "\n  hint: {hint}");
    }
    text
}

#[test]
fn a_model_is_chosen_by_argument_then_variable_then_file() {
    let file = Some("model = \"ollama/of-the-file\"");
    let set = [("PROWESS_MODEL", "vllm/of-the-variable")];
    for (wanted, set, config, chosen) in [
        (Some("openai/a"), &set[..], file, "openai a (from the command line)"),
        (None, &set[..], file, "vllm of-the-variable (from PROWESS_MODEL)"),
        (None, &[], file, "ollama of-the-file (from config.toml)"),
        (None, &[("PROWESS_MODEL", " ")], file, "ollama of-the-file (from config.toml)"),
        (Some("lmstudio/qwen/qwen3:8b"), &[], None, "lmstudio qwen/qwen3:8b (from the command"),
    ] {
        let found = check(wanted, set, config);
        assert!(found.starts_with(chosen), "{found}\n{chosen}");
    }
}

#[test]
fn urls_and_keys_come_from_the_usual_variables_and_the_file() {
    let file = "\
        [providers.openai]\nkey_file = \"keys/openai\"\nomit = [\"temperature\"]\n\
        [providers.ollama]\nbase_url = \"http://10.0.0.2:11434\"\n\
        [providers.work]\nkind = \"anthropic\"\nbase_url = \"https://llm.example.com\"\n\
        key_env = \"WORK_KEY\"\n\
        [providers.home]\nkind = \"openai\"\nbase_url = \"http://10.0.0.3:9/api/v1\"\n\
        key_file = \"~/.keys/home\"\n";
    let set = [
        ("HOME", "/home/ada"),
        ("OPENAI_BASE_URL", "http://127.0.0.1:9/v1"),
        ("ANTHROPIC_BASE_URL", "http://127.0.0.1:8"),
        ("OLLAMA_HOST", "127.0.0.1:7"),
    ];
    let mut found = String::new();
    for provider in ["openai", "anthropic", "ollama", "llamacpp", "lmstudio", "lemonade", "vllm"] {
        let model = format!("{provider}/m");
        let _ = writeln!(found, "{}", check(Some(&model), &[], None));
        let _ = writeln!(found, "  {}", check(Some(&model), &set, None));
        let _ = writeln!(found, "  {}", check(Some(&model), &[], Some(file)));
    }
    for model in ["work/m", "home/m"] {
        let _ = writeln!(found, "{}", check(Some(model), &set, Some(file)));
    }
    insta::assert_snapshot!(found);
}

#[test]
fn errors_about_settings_have_advice() {
    let mut found = String::new();
    for (wanted, set, config) in [
        (None, &[][..], None),
        (None, &[("ANTHROPIC_API_KEY", "sk-secret")][..], None),
        (Some("gpt"), &[], None),
        (Some("openai"), &[], None),
        (Some("openai/"), &[], None),
        (Some("opnai/gpt"), &[], None),
        (None, &[("PROWESS_MODEL", "gpt")], None),
        (Some("openai/m"), &[("OPENAI_BASE_URL", "https://u:sk-secret@h/v1")], None),
        (Some("openai/m"), &[("OPENAI_BASE_URL", "sk-secret")], None),
        (None, &[], Some("model = 5")),
        (None, &[], Some("model = \"a/b\"\nkey = sk-secret\n")),
        (None, &[], Some("providers = 1")),
        (None, &[], Some("[providers.a]\nkind = \"openai\"")),
        (None, &[], Some("[providers.a]\nbase_url = \"http://h\"")),
        (None, &[], Some("[providers.a]\nkind = \"grpc\"")),
        (None, &[], Some("[providers.a]\nkey = \"sk-secret\"")),
        (None, &[], Some("[providers.a]\nkey_env = \"A\"\nkey_file = \"b\"")),
        (None, &[], Some("[providers.a]\nbase_url = \"http://sk-secret@h\"\nkind = \"openai\"")),
        (None, &[], Some("[providers.a]\nstall_timeout_secs = 0")),
        (None, &[], Some("[providers.a]\nomit = [\"messages\"]")),
        (None, &[], Some("[providers.\"a/b\"]\nkind = \"openai\"")),
    ] {
        let _ = writeln!(found, "{wanted:?} {set:?} {config:?}\n{}\n", check(wanted, set, config));
    }
    let said = found.lines().filter(|line| !line.starts_with("None") && !line.starts_with("Some"));
    assert!(!said.collect::<String>().contains("sk-secret"), "{found}");
    insta::assert_snapshot!(found);
}

#[test]
fn unknown_settings_are_errors_and_those_of_registries_are_ignored() {
    let read = |file| ModelSettings::of(&[], Some(file), Path::new("/config"));
    let file = "[registries.x]\nurl = \"https://x.example\"\n[providers.openai]\nkey_fil = \"x\"\n";
    let said = read(file).expect_err("it is misspelt").to_string();
    assert!(
        said.contains(
            "line 4: `providers.openai.key_fil` is not a setting; did you mean `key_file`?"
        ),
        "{said}"
    );
    assert!(read("[registries.x]\nurl = \"https://x.example\"\n").is_ok());
}
