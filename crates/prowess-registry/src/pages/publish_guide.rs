//! How to publish a skill, in the order in which one does it.

use askama::Template;

use super::layout::{Layout, Section};
use super::response::{PageResult, page};
use super::visitor::Visitor;

/// The guide.
#[derive(Debug, Template)]
#[template(path = "page/publish.html")]
pub(crate) struct PublishPage {
    pub(crate) layout: Layout,
    pub(crate) login: String,
    /// The namespace of whoever reads, or an example.
    pub(crate) namespace: String,
}

/// The command that signs in to this registry.
pub(crate) fn login_command(public_url: &str) -> String {
    format!("prowess login --registry {public_url}")
}

/// The guide.
pub(super) async fn get_publish(visitor: Visitor) -> PageResult {
    let visit = &visitor.visit;
    let description = "From a folder with a SKILL.md to a signed, scanned, searchable skill.";
    let template = PublishPage {
        layout: Layout::new(visit, "Publish a skill", description)
            .at("/publish")
            .in_section(Section::Publish),
        login: login_command(&visit.public_url),
        namespace: visit.viewer.as_ref().map_or("your-name", |viewer| &viewer.username).to_owned(),
    };
    page(&visitor, &template)
}
