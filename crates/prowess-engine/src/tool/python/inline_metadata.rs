//! Inline script metadata (PEP 723): what a Python script says about the packages and the Python that it needs.

/// What a script needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct InlineMetadata {
    /// `requires-python`.
    pub(crate) python: Option<String>,
    /// `dependencies`.
    pub(crate) packages: Vec<String>,
}

/// The line that begins the block.
const BEGIN: &str = "# /// script";
/// The line that ends it.
const END: &str = "# ///";

/// Reads the metadata of a script; nothing where it has none. The error is a clause.
pub(crate) fn inline_metadata(text: &str) -> Result<InlineMetadata, String> {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let mut blocks = lines.iter().enumerate().filter(|(_, line)| **line == BEGIN);
    let Some((begin, _)) = blocks.next() else { return Ok(InlineMetadata::default()) };
    let rest = &lines[begin + 1..];
    let comments = rest.iter().take_while(|line| **line == "#" || line.starts_with("# ")).count();
    // The last one counts: a line of the metadata may look like the end.
    let Some(end) = rest[..comments].iter().rposition(|line| *line == END) else {
        return Err(format!("`{BEGIN}` has no `{END}` that ends it"));
    };
    if blocks.any(|(at, _)| at > begin + 1 + end) {
        return Err("there are two blocks `script`".to_owned());
    }
    let content: Vec<&str> =
        rest[..end].iter().map(|line| line.strip_prefix("# ").unwrap_or_default()).collect();
    let table: toml::Table = content
        .join("\n")
        .parse()
        .map_err(|error: toml::de::Error| format!("it is not TOML: {}", error.message()))?;
    let python = match table.get("requires-python") {
        None => None,
        Some(toml::Value::String(range)) => Some(range.clone()),
        Some(_) => return Err("`requires-python` is not a string".to_owned()),
    };
    let packages = match table.get("dependencies") {
        None => Vec::new(),
        Some(toml::Value::Array(items)) => items
            .iter()
            .map(|item| item.as_str().map(str::to_owned))
            .collect::<Option<_>>()
            .ok_or("`dependencies` contains something that is not a string")?,
        Some(_) => return Err("`dependencies` is not a list".to_owned()),
    };
    Ok(InlineMetadata { python, packages })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(Option<String>, String), String> {
        inline_metadata(text).map(|it| (it.python, it.packages.join(",")))
    }

    #[test]
    fn blocks_are_read_as_pep_723_says() {
        let none = Ok((None, String::new()));
        for (text, expected) in [
            ("print(1)\n", none.clone()),
            ("# /// script\n# ///\n", none.clone()),
            (
                "#!/usr/bin/env python3\n# /// script\n# requires-python = \">=3.11\"\n# dependencies = [\n#   \"rich\",\n#   \"requests<3\",\n# ]\n# ///\nimport rich\n",
                Ok((Some(">=3.11".to_owned()), "rich,requests<3".to_owned())),
            ),
            ("# /// script\r\n# dependencies = ['a']\r\n# ///\r\n", Ok((None, "a".to_owned()))),
            ("# /// other\n# dependencies = ['a']\n# ///\n", none.clone()),
            (
                "# /// script\n# dependencies = ['a']\n",
                Err("`# /// script` has no `# ///` that ends it".to_owned()),
            ),
            (
                "# /// script\n# dependencies = 'a'\n# ///\n",
                Err("`dependencies` is not a list".to_owned()),
            ),
            (
                "# /// script\n# dependencies = [1]\n# ///\n",
                Err("`dependencies` contains something that is not a string".to_owned()),
            ),
            (
                "# /// script\n# ///\n\n# /// script\n# ///\n",
                Err("there are two blocks `script`".to_owned()),
            ),
        ] {
            assert_eq!(read(text), expected, "{text:?}");
        }
        assert!(read("# /// script\n# a b\n# ///\n").unwrap_err().starts_with("it is not TOML"));
    }
}
