//! `smart-quotes`.

use crate::diagnostic::{Edit, Findings, Fix, rule};
use crate::document::yaml::YamlStyle;
use crate::emit::scalar;
use crate::rules::Subject;
use crate::text::shorten;

rule! {
    /// ## What it does
    /// Flags a value in typographic quotes.
    ///
    /// ## Why is this bad?
    /// YAML treats “ and ” as part of the text.
    ///
    /// ## Example
    /// `name: “a”` becomes `name: "a"`; `prowess check --fix` does it.
    SMART_QUOTES = "smart-quotes", Warning / Warning, check
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for entry in &subject.document.root.entries {
        let Some(text) = entry
            .value
            .scalar()
            .filter(|scalar| scalar.style == YamlStyle::Plain)
            .map(|scalar| scalar.text.trim())
        else {
            continue;
        };
        let inner = text
            .strip_prefix(['“', '”', '‘', '’', '„'])
            .and_then(|text| text.strip_suffix(['“', '”', '‘', '’']))
            // `“a” or “b”` is a text with quotes in it, and not in quotes.
            .filter(|inner| !inner.contains(['“', '”', '„', '"']));
        if let Some(inner) = inner {
            let quoted = scalar(inner);
            let fix = Fix::safe(
                "use plain quotes",
                vec![Edit::replace(entry.value.span, quoted.clone())],
            );
            findings.push(
                SMART_QUOTES
                    .at(
                        entry.value.span,
                        format!(
                            "`{}` is in typographic quotes, which are part of the text",
                            entry.key
                        ),
                    )
                    .help(format!("write `{}: {}`", entry.key, shorten(&quoted, 60)))
                    .fix(fix),
            );
        }
    }
}
