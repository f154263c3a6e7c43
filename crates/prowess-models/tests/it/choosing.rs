//! The way from settings on disk to a model.

use std::os::unix::fs::PermissionsExt as _;

use prowess_core::ModelErrorKind;
use prowess_models::choose;

use crate::told;

fn check(config: Option<&[u8]>, wanted: Option<&str>, set: &[(&str, &str)]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    if let Some(config) = config {
        std::fs::write(folder.path().join("config.toml"), config).expect("it is ours");
    }
    let variables: Vec<_> =
        set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    match choose(wanted, &variables, folder.path()) {
        Ok(model) => model.name().to_owned(),
        Err(error) => {
            assert_eq!(error.kind, ModelErrorKind::NotConfigured);
            told(&error).replace(&*folder.path().to_string_lossy(), "[CONFIG]")
        }
    }
}

#[test]
fn the_chosen_model_is_opened() {
    let file = b"model = \"ollama/llama3.2\"".as_slice();
    assert_eq!(check(Some(file), None, &[]), "ollama/llama3.2");
    assert_eq!(check(Some(file), Some("vllm/org/name"), &[]), "vllm/org/name");
    assert_eq!(check(None, None, &[("PROWESS_MODEL", "lmstudio/a")]), "lmstudio/a");
}

#[test]
fn without_a_choice_the_error_has_advice() {
    insta::assert_snapshot!(check(None, None, &[]), @r#"
    NotConfigured: no model is chosen
      hint: choose a model, such as `ollama/NAME`
      hint: or write `model = "ollama/NAME"` into `[CONFIG]/config.toml`
      hint: list the available models
    "#);
}

#[test]
fn unreadable_settings_are_reported() {
    let long = vec![b'#'; (1 << 20) + 1];
    insta::assert_snapshot!(check(Some(&long), None, &[]), @"NotConfigured: cannot read `[CONFIG]/config.toml`: it is longer than 1 MiB");
    insta::assert_snapshot!(check(Some(b"\xff"), None, &[]), @"NotConfigured: cannot read `[CONFIG]/config.toml`: stream did not contain valid UTF-8");
}

#[test]
fn an_inaccessible_folder_is_reported() {
    // Whoever may do everything can enter it, and there is nothing to see.
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("config.toml");
    std::fs::create_dir(&path).expect("it is ours");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).expect("it is ours");
    let error = choose(None, &[], folder.path()).err().expect("a folder is no file");
    assert!(error.message.ends_with("config.toml`: is a directory"), "{error}");
}
