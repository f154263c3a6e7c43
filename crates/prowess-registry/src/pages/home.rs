//! The home page.

use askama::Template;
use axum::extract::State;

use super::card::CardView;
use super::layout::{Layout, Visit};
use super::links;
use super::publish_guide::login_command;
use super::response::{PageResult, page};
use super::visitor::Visitor;
use super::words::{Moment, capitalised, counted, rounded};
use crate::app::AppState;
use crate::query::{Home, SkillCard};

/// How many skills a list has; the rest is one click away.
const SHOWN: usize = 5;

/// The home page.
#[derive(Debug, Template)]
#[template(path = "page/home.html")]
pub(crate) struct HomePage {
    pub(crate) layout: Layout,
    pub(crate) total: String,
    pub(crate) categories: Vec<CategoryView>,
    pub(crate) lists: Vec<HomeList>,
    pub(crate) revoked: Vec<RevokedView>,
    /// How to sign in to this registry.
    pub(crate) login: String,
}

/// A category with a link to its skills.
#[derive(Clone, Debug)]
pub(crate) struct CategoryView {
    pub(crate) label: String,
    pub(crate) address: String,
    pub(crate) count: String,
}

/// A list of the home page.
#[derive(Clone, Debug)]
pub(crate) struct HomeList {
    pub(crate) title: &'static str,
    pub(crate) address: &'static str,
    pub(crate) skills: Vec<CardView>,
    /// What is said while there are none.
    pub(crate) empty: &'static str,
}

/// A version that was revoked lately.
#[derive(Clone, Debug)]
pub(crate) struct RevokedView {
    pub(crate) skill: String,
    pub(crate) version: String,
    pub(crate) address: String,
    pub(crate) reason: String,
    pub(crate) at: Moment,
}

impl HomePage {
    fn new(visit: &Visit, home: &Home) -> Self {
        let now = visit.now;
        let description = "Skills for agents: what they can do on your machine, who signed them, and how to install them.";
        HomePage {
            layout: Layout::new(visit, "Skills for agents", description)
                .at("/")
                .with_feed("/feed.atom", "New versions"),
            total: counted(home.total, "skill"),
            categories: home
                .categories
                .iter()
                .map(|category| CategoryView {
                    label: capitalised(&category.category),
                    address: format!("/search?category={}", links::encode(&category.category)),
                    count: rounded(category.skills),
                })
                .collect(),
            lists: lists(home, now),
            revoked: home
                .revoked_this_week
                .iter()
                .map(|version| RevokedView {
                    skill: format!("{}/{}", version.namespace, version.name),
                    version: version.version.clone(),
                    address: links::version(&version.namespace, &version.name, &version.version),
                    reason: version.reason.clone(),
                    at: Moment::new(version.revoked_at, now),
                })
                .collect(),
            login: login_command(&visit.public_url),
        }
    }
}

/// The lists that have something to show. On a registry without installs and signatures these are the latest versions alone.
fn lists(home: &Home, now: i64) -> Vec<HomeList> {
    let cards = |cards: &[SkillCard], is_shown: fn(&SkillCard) -> bool| {
        let cards = cards.iter().filter(|card| is_shown(card)).take(SHOWN);
        cards.map(|card| CardView::of(card, now)).collect::<Vec<_>>()
    };
    let latest = HomeList {
        title: "Recently updated",
        address: "/search?sort=updated",
        skills: cards(&home.recently_updated, |_| true),
        empty: "Nobody has published a skill yet.",
    };
    let optional = [
        HomeList {
            title: "Most installed",
            address: "/search?sort=downloads",
            skills: cards(&home.most_installed, |card| card.downloads > 0),
            empty: "",
        },
        HomeList {
            title: "New and signed",
            address: "/search?sort=created&tier=community&tier=verified",
            skills: cards(&home.new_and_signed, |_| true),
            empty: "",
        },
    ];
    optional.into_iter().filter(|list| !list.skills.is_empty()).chain([latest]).collect()
}

/// The home page.
pub(super) async fn get_home(State(state): State<AppState>, visitor: Visitor) -> PageResult {
    let home = state.registry.home().await?;
    page(&visitor, &HomePage::new(&visitor.visit, &home))
}
