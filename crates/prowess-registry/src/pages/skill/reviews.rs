//! The ratings and reviews of a skill.

use askama::Template;
use axum::extract::{Path, Query, State};
use serde::Deserialize;

use super::load::Loaded;
use super::{Frame, Part};
use crate::app::AppState;
use crate::names::SkillId;
use crate::pages::card::count;
use crate::pages::layout::Layout;
use crate::pages::links::{self, encode};
use crate::pages::response::{PageError, PageResult, page, see_other};
use crate::pages::visitor::{Posted, Visitor};
use crate::pages::words::{Moment, counted, grouped, hundredths};

/// The reviews of a skill.
#[derive(Debug, Template)]
#[template(path = "page/skill/reviews.html")]
pub(crate) struct ReviewsPage {
    pub(crate) layout: Layout,
    pub(crate) frame: Frame,
    /// The mean, such as `4.25`.
    pub(crate) mean: Option<String>,
    pub(crate) count: String,
    /// From five down to one: the rating, how many, and the share in percent.
    pub(crate) histogram: Vec<(u32, String, u64)>,
    pub(crate) reviews: Vec<ReviewRow>,
    pub(crate) next: Option<String>,
    pub(crate) form: ReviewForm,
}

/// A review.
#[derive(Clone, Debug)]
pub(crate) struct ReviewRow {
    pub(crate) username: String,
    pub(crate) rating: i64,
    pub(crate) text: String,
    pub(crate) version: Option<String>,
    pub(crate) written: Moment,
    pub(crate) is_own: bool,
}

/// Whether the viewer can write a review.
#[derive(Clone, Debug)]
pub(crate) enum ReviewForm {
    /// They have to sign in, at this address.
    SignIn(String),
    /// They publish the skill.
    OwnSkill,
    /// They can, and perhaps have rated it already.
    Open(Option<i64>),
}

/// What the page can be asked for.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct ReviewsQuery {
    /// The version; the newest if it is missing.
    #[serde(default)]
    version: String,
    /// How many reviews are skipped.
    #[serde(default)]
    offset: usize,
}

/// The reviews of a skill.
pub(crate) async fn get_reviews(
    State(state): State<AppState>,
    visitor: Visitor,
    Path((namespace, name)): Path<(String, String)>,
    Query(query): Query<ReviewsQuery>,
) -> PageResult {
    let loaded = Loaded::read(&state, &visitor, &namespace, &name, Some(&query.version)).await?;
    let viewer = visitor.viewer();
    let listed = state.registry.reviews(&loaded.id, query.offset, &viewer).await?;
    let rating = state.registry.rating(&loaded.id, &viewer).await?;
    let (Some(listed), Some(rating)) = (listed, rating) else { return Err(PageError::not_found()) };
    let address = format!("{}/-/reviews", loaded.links.latest());
    let form = if visitor.user.is_none() {
        ReviewForm::SignIn(format!("/sign-in?next={}", encode(&address)))
    } else if loaded.view.viewer_role.is_some() {
        ReviewForm::OwnSkill
    } else {
        ReviewForm::Open(rating.own)
    };
    let template = ReviewsPage {
        layout: loaded.layout(&visitor, Part::Reviews, format!("Reviews of {}", loaded.id)),
        frame: loaded.frame(Part::Reviews),
        mean: rating.mean_hundredths.map(|mean| hundredths(count(mean))),
        count: counted(rating.count, "rating"),
        histogram: histogram(loaded.view.histogram),
        reviews: listed
            .reviews
            .into_iter()
            .map(|review| ReviewRow {
                username: review.username,
                rating: review.rating,
                text: review.text,
                version: review.version,
                written: loaded.moment(review.written),
                is_own: review.is_own,
            })
            .collect(),
        next: listed.next.map(|offset| format!("{address}?offset={offset}")),
        form,
    };
    page(&visitor, &template)
}

/// From five down to one, with shares of the sum.
fn histogram(counts: [i64; 5]) -> Vec<(u32, String, u64)> {
    let total: u64 = counts.iter().map(|number| count(*number)).sum();
    let row = |(rating, number): (u32, i64)| {
        let number = count(number);
        (rating, grouped(number), (number * 100).checked_div(total).unwrap_or(0))
    };
    [1, 2, 3, 4, 5].into_iter().zip(counts).map(row).rev().collect()
}

/// Saves or deletes the visitor's rating and review.
pub(crate) async fn post_review(
    State(state): State<AppState>,
    Path((namespace, name)): Path<(String, String)>,
    Posted { visitor, fields }: Posted,
) -> PageResult {
    let id = SkillId::new(&namespace, &name).map_err(|_| PageError::not_found())?;
    let actor = visitor.actor()?;
    let address = format!("{}/-/reviews", links::skill(&namespace, &name));
    if fields.get("action") == "delete" {
        state.registry.unrate(&actor, &id).await?;
        return Ok(see_other(&format!("{address}?done=review-deleted")));
    }
    let rating = fields.get("rating").parse().unwrap_or(0);
    state.registry.rate(&actor, &id, rating, fields.optional("review")).await?;
    Ok(see_other(&format!("{address}?done=review")))
}
