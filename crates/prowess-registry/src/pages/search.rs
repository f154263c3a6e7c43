//! The search with its filters. The form is a GET form, so the address holds the whole state.

use askama::Template;
use axum::extract::{RawQuery, State};
use prowess_server::identity::ClientAddress;
use serde_json::json;
use tokio::task::spawn_blocking;

use super::card::CardView;
use super::layout::{Layout, Section, Visit};
use super::links;
use super::response::{PageError, PageResult, document, page};
use super::visitor::Visitor;
use super::words::{capitalised, counted, rounded};
use crate::api::limit_reads;
use crate::app::AppState;
use crate::registry::Registry;
use crate::search::{SearchError, SearchFilters, SearchRequest, SearchResults, SearchSort};

/// The page of a search.
#[derive(Debug, Template)]
#[template(path = "page/search.html")]
pub(crate) struct SearchPage {
    pub(crate) layout: Layout,
    pub(crate) query: String,
    /// `214 skills`.
    pub(crate) total: String,
    pub(crate) sorts: Vec<Choice>,
    pub(crate) facets: Vec<FacetView>,
    pub(crate) results: Vec<CardView>,
    /// What was probably meant, with its address.
    pub(crate) did_you_mean: Option<(String, String)>,
    /// The filters that are on, each with the address without it.
    pub(crate) active: Vec<(String, String)>,
    /// The address without any filter.
    pub(crate) without_filters: String,
    /// Skills with names close to the words, if nothing was found.
    pub(crate) near: Vec<CardView>,
    pub(crate) next: Option<String>,
}

/// An entry of a list of choices.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub(crate) value: String,
    pub(crate) label: String,
    pub(crate) count: Option<String>,
    pub(crate) is_chosen: bool,
}

/// A filter.
#[derive(Clone, Debug)]
pub(crate) struct FacetView {
    /// The name of its field in the form.
    pub(crate) field: &'static str,
    pub(crate) title: &'static str,
    pub(crate) choices: Vec<Choice>,
}

impl FacetView {
    /// Whether one of its choices is on.
    fn is_used(&self) -> bool {
        self.choices.iter().any(|choice| choice.is_chosen)
    }
}

/// A filter: the field of the form, its title, and the facet of the index that has its values.
struct Filter {
    field: &'static str,
    title: &'static str,
    facet: &'static str,
}

/// The filters in the order of the page.
const FILTERS: [Filter; 9] = [
    Filter { field: "can", title: "Does without", facet: "permission" },
    Filter { field: "tier", title: "Tier", facet: "tier" },
    Filter { field: "category", title: "Category", facet: "category" },
    Filter { field: "agent", title: "Agent", facet: "agent" },
    Filter { field: "license", title: "Licence", facet: "license" },
    Filter { field: "tag", title: "Tag", facet: "tag" },
    Filter { field: "permission", title: "Asks for", facet: "permission" },
    Filter { field: "badge", title: "Badge", facet: "badge" },
    Filter { field: "dialect", title: "Dialect", facet: "dialect" },
];
/// The filter without a facet: the namespace.
const PUBLISHER: &str = "publisher";
/// How many values of a facet are offered.
const MAX_CHOICES: usize = 10;
/// How many filters an address may have.
const MAX_FILTERS: usize = 40;
/// The longest words and values, in characters.
const MAX_CHARACTERS: usize = 200;
/// Results on a page.
const PAGE: usize = 20;
/// How many skills with a name that is close are shown, and how many letters of the words they have in common.
const NEAR: usize = 3;
const NEAR_CHARACTERS: usize = 3;

/// A search as its address has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct SearchState {
    text: String,
    /// Field and value, in the order of the address.
    filters: Vec<(String, String)>,
    sort: String,
    offset: usize,
}

impl SearchState {
    /// Reads an address. Words such as `tag:pdf` are filters.
    fn parse(query: &str) -> Self {
        let mut state = SearchState::default();
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            let value: String = value.trim().chars().take(MAX_CHARACTERS).collect();
            match &*name {
                _ if value.is_empty() => {}
                "q" => state.read_words(&value),
                "sort" => state.sort = value,
                "offset" => state.offset = value.parse().unwrap_or(0),
                field => state.add(field, &value),
            }
        }
        state
    }

    fn read_words(&mut self, text: &str) {
        let mut words = Vec::new();
        for word in text.split_whitespace() {
            match word.split_once(':') {
                Some((field, value)) if is_filter(field) && !value.is_empty() => {
                    self.add(field, value);
                }
                _ => words.push(word),
            }
        }
        self.text = words.join(" ");
    }

    fn add(&mut self, field: &str, value: &str) {
        let filter = (field.to_owned(), value.to_owned());
        if is_filter(field) && self.filters.len() < MAX_FILTERS && !self.filters.contains(&filter) {
            self.filters.push(filter);
        }
    }

    fn has(&self, field: &str, value: &str) -> bool {
        self.filters.iter().any(|(known, chosen)| known == field && chosen == value)
    }

    /// The address of this search from an offset, without one filter.
    fn address(&self, without: Option<usize>, offset: usize) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        if !self.text.is_empty() {
            query.append_pair("q", &self.text);
        }
        for (index, (field, value)) in self.filters.iter().enumerate() {
            if Some(index) != without {
                query.append_pair(field, value);
            }
        }
        if !self.sort.is_empty() {
            query.append_pair("sort", &self.sort);
        }
        if offset > 0 {
            query.append_pair("offset", &offset.to_string());
        }
        let query = query.finish();
        if query.is_empty() { "/search".to_owned() } else { format!("/search?{query}") }
    }

    fn request(&self) -> SearchRequest {
        let values = |fields: &[&str]| -> Vec<String> {
            let chosen = self.filters.iter().filter(|(field, _)| fields.contains(&field.as_str()));
            chosen.map(|(_, value)| value.clone()).collect()
        };
        SearchRequest {
            text: self.text.clone(),
            filters: SearchFilters {
                tag: values(&["tag"]),
                permission: values(&["can", "permission"]),
                category: values(&["category"]),
                tier: values(&["tier"]),
                badge: values(&["badge"]),
                dialect: values(&["dialect"]),
                agent: values(&["agent"]),
                license: values(&["license"]),
                namespace: values(&[PUBLISHER]),
            },
            sort: SearchSort::parse(&self.sort).unwrap_or_default(),
            offset: self.offset,
            limit: PAGE,
            facets: true,
        }
    }
}

fn is_filter(field: &str) -> bool {
    field == PUBLISHER || FILTERS.iter().any(|filter| filter.field == field)
}

/// A value in words.
fn label(field: &str, value: &str) -> String {
    match (field, value.strip_prefix("no-")) {
        ("can", Some("network")) => "Network access".to_owned(),
        ("can", Some("program")) => "Programs".to_owned(),
        ("can", Some(rest)) => capitalised(&rest.replace('-', " ")),
        ("tier" | "category", _) => capitalised(value),
        _ => value.to_owned(),
    }
}

fn facets(state: &SearchState, results: &SearchResults) -> Vec<FacetView> {
    let view = |filter: &Filter| {
        let counted = results.facets.get(filter.facet).map(Vec::as_slice).unwrap_or_default();
        // Absences and permissions are one facet of the index and two filters of the page.
        let belongs = |value: &str| match filter.field {
            "can" => value.starts_with("no-"),
            "permission" => !value.starts_with("no-"),
            _ => true,
        };
        let mut choices: Vec<Choice> = counted
            .iter()
            .filter(|(value, _)| belongs(value))
            .take(MAX_CHOICES)
            .map(|(value, count)| Choice {
                value: value.clone(),
                label: label(filter.field, value),
                count: Some(rounded(*count)),
                is_chosen: state.has(filter.field, value),
            })
            .collect();
        // What is on stays visible, also where nothing has it.
        for (field, value) in &state.filters {
            if field == filter.field && choices.iter().all(|choice| choice.value != *value) {
                choices.push(Choice {
                    value: value.clone(),
                    label: label(field, value),
                    count: None,
                    is_chosen: true,
                });
            }
        }
        FacetView { field: filter.field, title: filter.title, choices }
    };
    FILTERS.iter().map(view).filter(|facet| !facet.choices.is_empty()).collect()
}

impl SearchPage {
    fn new(
        visit: &Visit,
        state: &SearchState,
        results: &SearchResults,
        near: &SearchResults,
    ) -> Self {
        let title = if state.text.is_empty() {
            "Browse skills".to_owned()
        } else {
            format!("{}: skills", state.text)
        };
        let mut layout =
            Layout::new(visit, title, "Skills for agents, with what they can do on your machine.")
                .at("/search")
                .in_section(Section::Browse);
        if !state.text.is_empty() || !state.filters.is_empty() {
            layout = layout.unlisted();
        }
        layout.query.clone_from(&state.text);
        let now = visit.now;
        let at_least = if results.total_is_exact { "" } else { "more than " };
        let sorts = [
            ("relevance", "Best match"),
            ("downloads", "Most installed"),
            ("updated", "Recently updated"),
            ("created", "Newest"),
        ];
        let chosen = if state.sort.is_empty() { "relevance" } else { &state.sort };
        let active = state.filters.iter().enumerate();
        SearchPage {
            layout,
            query: state.text.clone(),
            total: format!("{at_least}{}", counted(results.total, "skill")),
            sorts: sorts
                .map(|(value, label)| Choice {
                    value: value.to_owned(),
                    label: label.to_owned(),
                    count: None,
                    is_chosen: value == chosen,
                })
                .to_vec(),
            facets: facets(state, results),
            results: results.hits.iter().map(|hit| CardView::of_hit(hit, now)).collect(),
            did_you_mean: results.did_you_mean.as_ref().map(|text| {
                (text.clone(), SearchState { text: text.clone(), ..state.clone() }.address(None, 0))
            }),
            active: active
                .map(|(index, (field, value))| {
                    let title = FILTERS.iter().find(|filter| filter.field == field);
                    let title = title.map_or("Publisher", |filter| filter.title);
                    (format!("{title}: {}", label(field, value)), state.address(Some(index), 0))
                })
                .collect(),
            without_filters: SearchState { filters: Vec::new(), ..state.clone() }.address(None, 0),
            near: near.hits.iter().map(|hit| CardView::of_hit(hit, now)).collect(),
            next: results.next.map(|offset| state.address(None, offset)),
        }
    }
}

/// The results of a search.
pub(super) async fn get_search(
    State(state): State<AppState>,
    visitor: Visitor,
    RawQuery(query): RawQuery,
) -> PageResult {
    limit_reads(&state.server, &visitor.viewer(), ClientAddress(visitor.address)).await?;
    let search = SearchState::parse(&query.unwrap_or_default());
    let (registry, wanted) = (state.registry.clone(), search.clone());
    let found = spawn_blocking(move || search_with_near(&registry, &wanted)).await;
    let (results, near) =
        found.map_err(|_| PageError::internal())?.map_err(|error| failed(&error))?;
    page(&visitor, &SearchPage::new(&visitor.visit, &search, &results, &near))
}

/// The results, and skills with names that are close if there are none.
fn search_with_near(
    registry: &Registry,
    search: &SearchState,
) -> Result<(SearchResults, SearchResults), SearchError> {
    let index = registry.search_index();
    let results = index.search(&search.request())?;
    if !results.hits.is_empty() || search.text.is_empty() {
        return Ok((results, SearchResults::default()));
    }
    // The first letters of the first word find names that are close.
    let text: String = search.text.chars().take(NEAR_CHARACTERS).collect();
    let near = SearchRequest { text, limit: NEAR, ..SearchRequest::default() };
    Ok((results, index.search(&near)?))
}

fn failed(error: &SearchError) -> PageError {
    tracing::error!(%error, "a search failed");
    PageError::internal()
}

/// Names while typing: rows for our script, or the shape of `OpenSearch` for browsers.
pub(super) async fn get_suggestions(
    State(state): State<AppState>,
    visitor: Visitor,
    RawQuery(query): RawQuery,
) -> PageResult {
    limit_reads(&state.server, &visitor.viewer(), ClientAddress(visitor.address)).await?;
    let query = query.unwrap_or_default();
    let field = |name: &str| {
        let found = url::form_urlencoded::parse(query.as_bytes()).find(|(known, _)| known == name);
        found.map(|(_, value)| value.chars().take(MAX_CHARACTERS).collect::<String>())
    };
    let text = field("q").unwrap_or_default();
    let (registry, wanted) = (state.registry.clone(), text.clone());
    let found = spawn_blocking(move || registry.search_index().suggest(&wanted)).await;
    let found = found.map_err(|_| PageError::internal())?.map_err(|error| failed(&error))?;
    if field("full").is_some() {
        let rows: Vec<_> = found
            .iter()
            .map(|skill| {
                json!({
                    "name": format!("{}/{}", skill.namespace, skill.name),
                    "description": skill.description,
                    "href": links::skill(&skill.namespace, &skill.name),
                })
            })
            .collect();
        return Ok(document("application/json", 60, json!(rows).to_string()));
    }
    let names: Vec<_> =
        found.iter().map(|skill| format!("{}/{}", skill.namespace, skill.name)).collect();
    Ok(document("application/x-suggestions+json", 60, json!([text, names]).to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_the_whole_search() {
        let state = SearchState::parse(
            "q=pdf+form+tag%3Aocr&tier=community&x=1&sort=updated&offset=20&can=no-network",
        );
        assert_eq!(state.text, "pdf form");
        let filters: Vec<_> = state.filters.iter().map(|(f, v)| (f.as_str(), v.as_str())).collect();
        assert_eq!(filters, [("tag", "ocr"), ("tier", "community"), ("can", "no-network")]);
        assert_eq!(
            state.address(Some(1), 0),
            "/search?q=pdf+form&tag=ocr&can=no-network&sort=updated"
        );
        assert_eq!(state.request().filters.permission, ["no-network"]);
        assert_eq!(SearchState::parse("").address(None, 0), "/search");
    }

    #[test]
    fn an_address_is_bounded() {
        let many: Vec<String> = (0..500).map(|number| format!("tag={number}")).collect();
        assert_eq!(SearchState::parse(&many.join("&")).filters.len(), MAX_FILTERS);
        let long = SearchState::parse(&format!("q={}", "a".repeat(5_000)));
        assert_eq!(long.text.len(), MAX_CHARACTERS);
    }
}
