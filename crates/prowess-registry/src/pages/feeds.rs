//! Atom feeds, the sitemap, and what else programs read.

use askama::Template;
use axum::extract::{Path, State};
use prowess_package::name::SkillName;

use super::badge::{Badge, BadgeColour};
use super::links;
use super::response::{PageError, PageResult, document};
use super::visitor::Visitor;
use super::words::{day, iso};
use crate::app::AppState;
use crate::names::SkillId;
use crate::query::{FeedEntry, SitemapEntry};
use crate::viewer::Viewer;

/// An Atom feed of versions.
#[derive(Debug, Template)]
#[template(path = "feed.xml")]
pub(crate) struct Feed {
    pub(crate) title: String,
    /// The address of the feed, which is also its identifier.
    pub(crate) address: String,
    /// The page that it belongs to.
    pub(crate) page: String,
    /// The time of the newest entry.
    pub(crate) updated: String,
    pub(crate) entries: Vec<FeedItem>,
}

/// A version in a feed.
#[derive(Clone, Debug)]
pub(crate) struct FeedItem {
    pub(crate) title: String,
    pub(crate) address: String,
    pub(crate) updated: String,
    pub(crate) author: String,
    pub(crate) summary: String,
}

/// A list of addresses for search engines.
#[derive(Debug, Template)]
#[template(path = "sitemap.xml")]
pub(crate) struct Sitemap {
    /// Each address with the day of its last change.
    pub(crate) addresses: Vec<(String, Option<String>)>,
}

/// A list of sitemaps.
#[derive(Debug, Template)]
#[template(path = "sitemap_index.xml")]
pub(crate) struct SitemapIndex {
    pub(crate) sitemaps: Vec<String>,
}

/// How a browser adds the search.
#[derive(Debug, Template)]
#[template(path = "opensearch.xml")]
pub(crate) struct OpenSearch {
    pub(crate) public_url: String,
}

/// The text without characters that XML can't hold.
pub(crate) fn xml_text(text: &str) -> String {
    text.chars()
        .filter(|c| {
            matches!(c, '\t' | '\n' | '\r') || (*c >= ' ' && !matches!(c, '\u{fffe}' | '\u{ffff}'))
        })
        .collect()
}

/// How long feeds and badges may be kept, in seconds.
const FRESH: u32 = 300;
/// How long a sitemap may be kept, in seconds.
const DAILY: u32 = 3_600;
const ATOM: &str = "application/atom+xml; charset=utf-8";
const XML: &str = "application/xml; charset=utf-8";
const SVG: &str = "image/svg+xml";

/// The feed of all new versions.
pub(super) async fn get_feed(State(state): State<AppState>, visitor: Visitor) -> PageResult {
    let entries = state.registry.feed(None, None).await?;
    feed(&visitor, "New versions".to_owned(), "/feed.atom", "/", &entries)
}

/// The feed of a publisher.
pub(super) async fn get_publisher_feed(
    State(state): State<AppState>,
    visitor: Visitor,
    Path(namespace): Path<String>,
) -> PageResult {
    // A feed shows what everybody may see, also to members.
    if namespace.parse::<SkillName>().is_err()
        || state.registry.publisher(&namespace, 0, &Viewer::ANONYMOUS).await?.is_none()
    {
        return Err(PageError::not_found());
    }
    let entries = state.registry.feed(Some(&namespace), None).await?;
    let page = links::publisher(&namespace);
    feed(
        &visitor,
        format!("New versions of {namespace}"),
        &format!("{page}/-/feed.atom"),
        &page,
        &entries,
    )
}

/// The feed of a skill.
pub(super) async fn get_skill_feed(
    State(state): State<AppState>,
    visitor: Visitor,
    Path((namespace, name)): Path<(String, String)>,
) -> PageResult {
    let id = SkillId::new(&namespace, &name).map_err(|_| PageError::not_found())?;
    if state.registry.skill(&id, None, &Viewer::ANONYMOUS).await?.is_none() {
        return Err(PageError::not_found());
    }
    let entries = state.registry.feed(Some(&namespace), Some(&name)).await?;
    let page = links::skill(&namespace, &name);
    feed(&visitor, format!("New versions of {id}"), &format!("{page}/-/feed.atom"), &page, &entries)
}

fn feed(
    visitor: &Visitor,
    title: String,
    path: &str,
    page: &str,
    entries: &[FeedEntry],
) -> PageResult {
    let url = &visitor.visit.public_url;
    let newest = entries.first().map_or(0, |entry| entry.published);
    let item = |entry: &FeedEntry| FeedItem {
        title: format!("{}/{} {}", entry.namespace, entry.name, entry.version),
        address: format!("{url}{}", links::version(&entry.namespace, &entry.name, &entry.version)),
        updated: iso(entry.published),
        author: entry.namespace.clone(),
        summary: xml_text(&format!("{} ({})", entry.description, entry.tier)),
    };
    let feed = Feed {
        title,
        address: format!("{url}{path}"),
        page: format!("{url}{page}"),
        updated: iso(newest),
        entries: entries.iter().map(item).collect(),
    };
    rendered(ATOM, FRESH, &feed)
}

fn rendered<T: Template>(content_type: &'static str, seconds: u32, template: &T) -> PageResult {
    let text = template.render().map_err(|error| {
        tracing::error!(%error, "a document can't be rendered");
        PageError::internal()
    })?;
    Ok(document(content_type, seconds, text))
}

/// The badge of a skill for a README. One that is missing and one that is hidden have the same.
pub(super) async fn get_badge(
    State(state): State<AppState>,
    Path((namespace, name)): Path<(String, String)>,
) -> PageResult {
    let id = SkillId::new(&namespace, &name).map_err(|_| PageError::not_found())?;
    let found = state.registry.skill(&id, None, &Viewer::ANONYMOUS).await?;
    let badge = match found {
        None => Badge::new("prowess", "not found", BadgeColour::Warning),
        Some(found) => {
            let value = format!("{} {}", found.card.version, found.card.tier);
            let colour = match found.card.tier.as_str() {
                "verified" => BadgeColour::Good,
                "community" => BadgeColour::Neutral,
                _ => BadgeColour::Warning,
            };
            let revoked = found.chosen.is_some_and(|chosen| chosen.revoked.is_some());
            if revoked {
                Badge::new("prowess", "revoked", BadgeColour::Bad)
            } else {
                Badge::new("prowess", &value, colour)
            }
        }
    };
    rendered(SVG, FRESH, &badge)
}

/// The list of sitemaps, or the sitemap itself while one is enough.
pub(super) async fn get_sitemap(State(state): State<AppState>, visitor: Visitor) -> PageResult {
    let url = visitor.visit.public_url.clone();
    let (entries, next) = state.registry.sitemap(0).await?;
    if next.is_some() {
        let mut sitemaps = vec![format!("{url}/sitemap/0.xml")];
        let mut after = next;
        while let Some(number) = after {
            sitemaps.push(format!("{url}/sitemap/{number}.xml"));
            if sitemaps.len() >= MAX_SITEMAPS {
                break;
            }
            after = state.registry.sitemap(number).await?.1;
        }
        return rendered(XML, DAILY, &SitemapIndex { sitemaps });
    }
    let fixed = ["/", "/search", "/publish", "/status"].map(|path| (format!("{url}{path}"), None));
    let skills = entries.iter().map(|entry| address(&url, entry));
    rendered(XML, DAILY, &Sitemap { addresses: fixed.into_iter().chain(skills).collect() })
}

/// The most sitemaps that a list may have: a hundred million skills.
const MAX_SITEMAPS: usize = 2_000;

/// The skills after a number.
pub(super) async fn get_sitemap_part(
    State(state): State<AppState>,
    visitor: Visitor,
    Path(file): Path<String>,
) -> PageResult {
    let number = file.strip_suffix(".xml").and_then(|number| number.parse::<i64>().ok());
    let Some(number) = number.filter(|number| *number >= 0) else {
        return Err(PageError::not_found());
    };
    let (entries, _) = state.registry.sitemap(number).await?;
    let addresses = entries.iter().map(|entry| address(&visitor.visit.public_url, entry)).collect();
    rendered(XML, DAILY, &Sitemap { addresses })
}

fn address(url: &str, entry: &SitemapEntry) -> (String, Option<String>) {
    (format!("{url}{}", links::skill(&entry.namespace, &entry.name)), Some(day(entry.updated)))
}

/// How a browser adds the search.
pub(super) async fn get_opensearch(visitor: Visitor) -> PageResult {
    let template = OpenSearch { public_url: visitor.visit.public_url };
    rendered("application/opensearchdescription+xml", DAILY, &template)
}

/// What robots may read: pages, but neither forms nor endless combinations of filters.
pub(super) async fn get_robots(visitor: Visitor) -> PageResult {
    let url = visitor.visit.public_url;
    let text = format!(
        "User-agent: *\nDisallow: /account\nDisallow: /moderation\nDisallow: /search?\nDisallow: /sign-in\n\
         Disallow: /*/-/compare\nSitemap: {url}/sitemap.xml\n"
    );
    Ok(document("text/plain; charset=utf-8", DAILY, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feeds_are_xml_whatever_skills_say() {
        let feed = Feed {
            title: "acme".to_owned(),
            address: "http://localhost/feed.atom".to_owned(),
            page: "http://localhost/".to_owned(),
            updated: "2026-01-01T00:00:00Z".to_owned(),
            entries: vec![FeedItem {
                title: "a/b 1.0.0".to_owned(),
                address: "http://localhost/a/b/1.0.0".to_owned(),
                updated: "2026-01-01T00:00:00Z".to_owned(),
                author: "a".to_owned(),
                summary: xml_text("]]><script>\u{0}\u{b}&\"'"),
            }],
        };
        insta::assert_snapshot!(feed.render().unwrap(), @r#"
        <?xml version="1.0" encoding="utf-8"?>
        <feed xmlns="http://www.w3.org/2005/Atom">
        <title>acme</title>
        <id>http://localhost/feed.atom</id>
        <link rel="self" href="http://localhost/feed.atom"/>
        <link rel="alternate" type="text/html" href="http://localhost/"/>
        <updated>2026-01-01T00:00:00Z</updated>
        <entry>
        <title>a/b 1.0.0</title>
        <id>http://localhost/a/b/1.0.0</id>
        <link href="http://localhost/a/b/1.0.0"/>
        <updated>2026-01-01T00:00:00Z</updated>
        <author><name>a</name></author>
        <summary>]]&#62;&#60;script&#62;&#38;&#34;&#39;</summary>
        </entry>
        </feed>
        "#);
    }
}
