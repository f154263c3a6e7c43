//! The keys of the settings file. A misspelt key would silently change nothing, so an unknown one is an error.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

/// The keys at the top of the file.
const TOP: &[&str] =
    &["model", "providers", "registry", "registries", "hooks", super::DISABLE_SHELL_EXECUTION];
/// The keys of the table `hooks`.
const HOOKS: &[&str] = &["strict"];
/// The keys of a table below `providers`.
const PROVIDER: &[&str] = &[
    "kind",
    "base_url",
    "key_env",
    "key_file",
    "connect_timeout_secs",
    "first_token_timeout_secs",
    "stall_timeout_secs",
    "omit",
];
/// The keys of a table below `registries`.
const REGISTRY: &[&str] = &["url", "kind", "namespaces", "token_env", "token_file"];
/// Keys that are refused with a reason of their own: secrets don't belong in this file.
const SECRETS: &[&str] = &["key", "api_key", "token"];

/// Reports the first key that is not a setting, with its line and a similar key.
pub(crate) fn check_keys(text: &str) -> Result<(), String> {
    // The caller reports syntax errors.
    let Ok(table) = DeTable::parse(text) else { return Ok(()) };
    let table = table.get_ref();
    check_table(text, "", table, TOP)?;
    if let Some(DeValue::Table(hooks)) = table.get("hooks").map(toml::Spanned::get_ref) {
        check_table(text, "hooks.", hooks, HOOKS)?;
    }
    for (key, known) in [("providers", PROVIDER), ("registries", REGISTRY)] {
        let Some(DeValue::Table(named)) = table.get(key).map(toml::Spanned::get_ref) else {
            continue;
        };
        for (name, fields) in named {
            if let DeValue::Table(fields) = fields.get_ref() {
                check_table(text, &format!("{key}.{}.", name.get_ref()), fields, known)?;
            }
        }
    }
    Ok(())
}

fn check_table(text: &str, place: &str, table: &DeTable<'_>, known: &[&str]) -> Result<(), String> {
    let is_unknown =
        |key: &str| !known.contains(&key) && (place.is_empty() || !SECRETS.contains(&key));
    let unknown = table.iter().filter(|(key, _)| is_unknown(key.get_ref()));
    // The first one of the file: a table is sorted by its keys.
    let Some((key, _)) = unknown.min_by_key(|(key, _)| key.span().start) else { return Ok(()) };
    let name: &str = key.get_ref();
    let help = match similar(name, known) {
        Some(similar) => format!("did you mean `{similar}`?"),
        None => format!("known here: `{}`", known.join("`, `")),
    };
    Err(format!("line {}: `{place}{name}` is not a setting; {help}", line(text, &key.span())))
}

fn line(text: &str, span: &Range<usize>) -> usize {
    text.get(..span.start).map_or(1, |before| before.matches('\n').count() + 1)
}

/// The known key that a word was probably meant to be: at most a third of it is wrong.
fn similar<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    const LONGEST: usize = 64;
    if word.len() > LONGEST {
        return None;
    }
    let plain = |text: &str| text.to_lowercase().replace('-', "_");
    let word = plain(word);
    let distances = known.iter().map(|key| (distance(&word, key), *key));
    let (distance, key) = distances.min_by_key(|(distance, _)| *distance)?;
    (distance <= key.len().div_ceil(3)).then_some(key)
}

/// How many letters have to be inserted, removed, replaced or swapped with their neighbour.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut rows = vec![(0..=other.len()).collect::<Vec<usize>>()];
    for (i, a) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in other.iter().enumerate() {
            let mut best =
                (rows[i][j] + usize::from(a != b)).min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == other[j - 1] && one[i - 1] == *b {
                best = best.min(rows[i - 1][j - 1] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[one.len()][other.len()]
}

#[cfg(test)]
mod tests {
    use super::check_keys;

    #[track_caller]
    fn check(text: &str, expected: Result<(), &str>) {
        assert_eq!(check_keys(text), expected.map_err(str::to_owned), "{text}");
    }

    #[test]
    fn a_misspelt_key_is_named_with_its_line_and_a_similar_one() {
        check(
            "model = 'a/b'\n[providers.work]\nbase_url = 'x'\n[registries.x]\nurl = 'y'\n",
            Ok(()),
        );
        check("\nmodle = 'a/b'\n", Err("line 2: `modle` is not a setting; did you mean `model`?"));
        check(
            "[provider.work]\n",
            Err("line 1: `provider` is not a setting; did you mean `providers`?"),
        );
        check(
            "[providers.work]\nkind = 'openai'\nbase-url = 'x'\n",
            Err("line 3: `providers.work.base-url` is not a setting; did you mean `base_url`?"),
        );
        check(
            "[registries.x]\nnamspaces = []\n",
            Err("line 2: `registries.x.namspaces` is not a setting; did you mean `namespaces`?"),
        );
        check(
            "[registries.x]\ncolour = 1\n",
            Err(
                "line 2: `registries.x.colour` is not a setting; known here: `url`, `kind`, `namespaces`, `token_env`, `token_file`",
            ),
        );
        // The first one in the file is named, and secrets have an error of their own.
        check(
            "zz = 1\naa = 2\n",
            Err(
                "line 1: `zz` is not a setting; known here: `model`, `providers`, `registry`, `registries`, `hooks`, `disable_skill_shell_execution`",
            ),
        );
        check("[providers.work]\napi_key = 'x'\n", Ok(()));
        check("not TOML", Ok(()));
    }
}
