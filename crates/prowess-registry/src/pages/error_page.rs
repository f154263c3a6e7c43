//! Pages for what went wrong: what failed and a next step, never more than the visitor may know.

use askama::Template;

use super::layout::Layout;

/// A page for an error.
#[derive(Debug, Template)]
#[template(path = "error/error.html")]
pub(crate) struct ErrorPage {
    pub(crate) layout: Layout,
    pub(crate) status: u16,
    pub(crate) title: String,
    pub(crate) text: String,
    /// The next steps: words and an address.
    pub(crate) steps: Vec<(String, String)>,
}
