//! `byte-order-mark`.

use crate::client;
use crate::diagnostic::{Edit, Findings, Fix, rule};
use crate::document::Form;
use crate::rules::Subject;
use crate::span::Span;
use crate::specification::SKILLRT;

rule! {
    /// ## What it does
    /// Flags a byte order mark before the front matter.
    ///
    /// ## Why is this bad?
    /// Prowess skips it, as skillrt requires, but several agents expect `---` at the very first byte and drop the skill.
    ///
    /// ## Example
    /// Save the file as UTF-8 without a byte order mark; `prowess check --fix` removes it.
    BYTE_ORDER_MARK = "byte-order-mark", Warning / Warning, check;
    SKILLRT.at("6")
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let document = subject.document;
    let marked = document.form == Form::Markdown && document.text.starts_with('\u{feff}');
    if !marked || !subject.has_front_matter() {
        return;
    }
    let mark = Span::new(0, '\u{feff}'.len_utf8());
    findings.push(
        BYTE_ORDER_MARK
            .at(
                mark,
                format!(
                    "a byte order mark before the front matter: {} drop this file",
                    client::that_drop(|opening| !opening.byte_order_mark)
                ),
            )
            .help("save the file as UTF-8 without a byte order mark")
            .fix(Fix::safe("remove the byte order mark", vec![Edit::replace(mark, "")])),
    );
}
