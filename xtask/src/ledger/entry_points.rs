//! The entry points of library crates: the functions through which a test shows what the product does.

use std::collections::BTreeMap;

use anyhow::{Result, bail};

use super::product::Product;

/// How somebody who is not a test gets to a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Code of another crate uses it.
    Product,
    /// A page presents it as the API of the library: the path of the page.
    Documented(String),
    /// The tests of the binary start it this way.
    Binary,
    /// Nobody: it is public so that tests can replace a part of the world. A test that uses it shows nothing by that.
    Test,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EntryPoint {
    pub(super) krate: String,
    pub(super) name: String,
    pub(super) way: Way,
    /// Counted from 1.
    pub(super) line: usize,
}

/// Lines of `crate`, `function`, `way` and a reason, separated by tabs; `#` begins a comment.
pub(super) fn parse(text: &str) -> Result<Vec<EntryPoint>> {
    let mut entries: Vec<EntryPoint> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line_number = index + 1;
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let [krate, name, way, reason] = line.split('\t').collect::<Vec<_>>()[..] else {
            bail!(
                "line {line_number}: expected crate, function, way and reason, separated by tabs"
            );
        };
        if reason.trim().is_empty() {
            bail!("line {line_number}: `{name}` has no reason");
        }
        let way = match way {
            "product" => Way::Product,
            "binary" => Way::Binary,
            "test" => Way::Test,
            page if is_page(page) => Way::Documented(page.to_owned()),
            other => bail!(
                "line {line_number}: `{other}` is not a way; expected `product`, `binary`, `test` or the path of a page"
            ),
        };
        if entries.iter().any(|entry| entry.krate == krate && entry.name == name) {
            bail!("line {line_number}: `{name}` of {krate} is there twice");
        }
        let (krate, name) = (krate.to_owned(), name.to_owned());
        entries.push(EntryPoint { krate, name, way, line: line_number });
    }
    Ok(entries)
}

/// Whether a way is the path of a documentation page or a source file.
fn is_page(way: &str) -> bool {
    let extension = std::path::Path::new(way).extension();
    extension.is_some_and(|extension| extension == "md" || extension == "rs")
}

/// Entries that are not true: `pages` are the texts of the pages that entries name.
pub(super) fn problems(
    entries: &[EntryPoint],
    product: &Product,
    pages: &BTreeMap<String, String>,
) -> Vec<String> {
    let mut problems = Vec::new();
    for entry in entries {
        let EntryPoint { krate, name, way, line } = entry;
        if *way != Way::Binary && !product.has(krate, name) {
            problems.push(format!("line {line}: {krate} has no public item `{name}`"));
            continue;
        }
        match way {
            Way::Product if !product.is_used_outside(krate, name) => {
                problems.push(format!("line {line}: no code outside of {krate} uses `{name}`"));
            }
            Way::Documented(page) if !pages.get(page).is_some_and(|text| text.contains(name)) => {
                problems.push(format!("line {line}: `{page}` does not name `{name}`"));
            }
            Way::Product | Way::Documented(_) | Way::Binary | Way::Test => {}
        }
    }
    problems
}
