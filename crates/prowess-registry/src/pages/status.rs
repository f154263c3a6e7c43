//! How the registry is doing.

use askama::Template;
use axum::extract::State;

use super::layout::Layout;
use super::response::{PageResult, page};
use super::visitor::Visitor;
use super::words::{counted, hundredths};
use crate::app::AppState;

/// The state of this node.
#[derive(Debug, Template)]
#[template(path = "page/status.html")]
pub(crate) struct StatusPage {
    pub(crate) layout: Layout,
    /// The class of the banner, its icon and its words.
    pub(crate) summary: (&'static str, &'static str, String),
    /// A label, a value, and what it means.
    pub(crate) lines: Vec<(&'static str, String, &'static str)>,
}

/// By how many changes the index may be behind while everything is well.
const USUAL_DELAY: i64 = 50;

/// The state of this node.
pub(super) async fn get_status(State(state): State<AppState>, visitor: Visitor) -> PageResult {
    let status = state.registry.status().await?;
    let summary = if status.search_behind > USUAL_DELAY {
        (
            "warn",
            "triangle-alert",
            "The search is behind: new versions are found later than usual.".to_owned(),
        )
    } else {
        ("ok", "circle-check", "Everything works.".to_owned())
    };
    let search = match status.search_behind {
        0 => "up to date".to_owned(),
        behind => format!("{} behind", counted(behind, "change")),
    };
    // Hundredths of a millisecond.
    let latency = hundredths(status.database_micros / 10);
    let template = StatusPage {
        layout: Layout::new(&visitor.visit, "Status", "How this registry is doing.").at("/status"),
        summary,
        lines: vec![
            (
                "Database",
                format!("{}, {latency} ms", status.database),
                "the time that a query takes",
            ),
            ("Storage", status.storage.to_owned(), "where packages are"),
            ("Search", search, "how far its index is behind the database"),
            ("Publications", counted(status.pending_jobs, "job"), "uploads that are being scanned"),
            ("Skills", counted(status.skills, "skill"), "that everybody can see"),
            ("Versions", counted(status.versions, "version"), "that can be installed"),
            ("Publishers", counted(status.publishers, "publisher"), "with at least one skill"),
            ("Up since", uptime(status.uptime), "when this node was started"),
            ("Version", format!("prowess {}", status.version), "the program that serves this page"),
        ],
    };
    page(&visitor, &template)
}

fn uptime(seconds: u64) -> String {
    match seconds {
        0..60 => "less than a minute ago".to_owned(),
        60..3_600 => format!("{} ago", counted(seconds / 60, "minute")),
        3_600..86_400 => format!("{} ago", counted(seconds / 3_600, "hour")),
        _ => format!("{} ago", counted(seconds / 86_400, "day")),
    }
}
