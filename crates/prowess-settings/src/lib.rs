//! Settings that several clients share: the file `config.toml`, environment variables, and API keys.

mod key;
mod keys;

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use prowess_core::system_reason;
use toml::Table;

pub use key::{KeySource, read_key_file};

/// The name of the settings file, in the folder for settings.
pub const CONFIG_FILE: &str = "config.toml";

/// The key that disables commands in the texts of skills.
pub const DISABLE_SHELL_EXECUTION: &str = "disable_skill_shell_execution";

/// Maximum size of a settings file, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// The trimmed value of an environment variable; `None` if it is not set or empty.
pub fn variable<'v>(variables: &'v [(String, String)], name: &str) -> Option<&'v str> {
    let found = variables.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
}

/// Reads a settings file; `None` if it does not exist. The error is a lowercase phrase.
pub fn read_config(path: &Path) -> Result<Option<String>, String> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(system_reason(&error)),
    };
    let mut text = String::new();
    file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(|error| system_reason(&error))?;
    if text.len() as u64 > MAX_BYTES {
        return Err("it is longer than 1 MiB".to_owned());
    }
    Ok(Some(text))
}

/// Parses a settings file and refuses keys that are not settings. The error names the line without quoting it, because it may contain a key.
pub fn parse_config(text: &str) -> Result<Table, String> {
    let table = text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map_or(0, |span| text[..span.start].matches('\n').count() + 1);
        format!("line {line}: {}", error.message().trim())
    })?;
    keys::check_keys(text)?;
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::{parse_config, read_config, variable};

    #[test]
    fn a_parse_error_names_the_line_and_does_not_quote_it() {
        let error = parse_config("model = 'a'\nkey = sk-secret-5d41402a\n").expect_err("not TOML");
        assert!(error.starts_with("line 2: "), "{error}");
        assert!(!error.contains("5d41402a"), "{error}");
    }

    #[test]
    fn a_settings_file_may_be_missing_but_not_huge() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("config.toml");
        assert_eq!(read_config(&path), Ok(None));
        std::fs::write(&path, "model = 'a/b'\n").expect("it can be written");
        assert_eq!(read_config(&path), Ok(Some("model = 'a/b'\n".to_owned())));
        std::fs::write(&path, "#".repeat((1 << 20) + 1)).expect("it can be written");
        assert_eq!(read_config(&path), Err("it is longer than 1 MiB".to_owned()));
    }

    #[test]
    fn an_empty_variable_is_not_set() {
        let variables = [("A".to_owned(), "  ".to_owned()), ("B".to_owned(), " x ".to_owned())];
        assert_eq!(variable(&variables, "A"), None);
        assert_eq!(variable(&variables, "B"), Some("x"));
        assert_eq!(variable(&variables, "C"), None);
    }
}
