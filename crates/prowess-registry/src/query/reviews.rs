//! Ratings and reviews: one for each user, none by a publisher (NEG-14, attack registry-A14).

use std::time::Duration;

use prowess_core::ProblemKind;
use prowess_server::database::{DatabaseError, Transaction};
use prowess_server::values;

use crate::actor::Actor;
use crate::error::{Outcome, RegistryError};
use crate::names::SkillId;
use crate::registry::Registry;
use crate::store::record_change;
use crate::viewer::Viewer;

/// Reviews on a page.
const PAGE: usize = 20;
/// The last offset of a page.
const MAX_OFFSET: usize = 10_000;
/// Maximum length of a review, in characters.
const MAX_REVIEW_CHARACTERS: usize = 4_000;
/// Maximum number of open reports of a user (attack registry-A14).
const MAX_OPEN_REPORTS: i64 = 20;
/// Reports of so many users hide a skill until a moderator has looked at it.
const HIDING_REPORTS: i64 = 4;
/// The reasons that a report can have.
pub const REPORT_REASONS: &[&str] = &[
    "malicious",
    "impersonation",
    "secrets",
    "license",
    "spam",
    "abuse",
    "false-positive",
    "other",
];
/// Maximum length of a report, in characters.
const MAX_REPORT_CHARACTERS: usize = 4_000;

/// The ratings of a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RatingView {
    /// The mean in hundredths; `None` without ratings that count.
    pub mean_hundredths: Option<i64>,
    /// How many count.
    pub count: i64,
    /// The rating of the viewer.
    pub own: Option<i64>,
}

/// A review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewView {
    /// The user.
    pub username: String,
    /// From 1 to 5.
    pub rating: i64,
    /// The text.
    pub text: String,
    /// The version that it is about.
    pub version: Option<String>,
    /// When it was written.
    pub written: i64,
    /// Whether it is the viewer's own.
    pub is_own: bool,
}

/// A page of reviews, the newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewList {
    /// The reviews.
    pub reviews: Vec<ReviewView>,
    /// The offset of the next page.
    pub next: Option<usize>,
}

impl Registry {
    /// The ratings of a skill.
    pub async fn rating(&self, skill: &SkillId, viewer: &Viewer) -> Outcome<Option<RatingView>> {
        let (skill, viewer) = (skill.clone(), viewer.clone());
        let found = self.database().read(move |connection| {
            let Some(row) = viewer.find(connection, &skill)? else { return Ok(None) };
            let own = match &viewer.user_id {
                Some(user) => connection.query_optional(
                    "SELECT rating FROM ratings WHERE skill_id = ?1 AND user_id = ?2",
                    &values![row.id, user],
                )?,
                None => None,
            };
            let own = own.map(|row| row.get("rating")).transpose()?;
            let view = RatingView {
                mean_hundredths: row.rating_hundredths(),
                count: row.rating_count,
                own,
            };
            Ok::<_, DatabaseError>(Some(view))
        });
        Ok(found.await?)
    }

    /// The reviews of a skill, from an offset.
    pub async fn reviews(
        &self,
        skill: &SkillId,
        offset: usize,
        viewer: &Viewer,
    ) -> Outcome<Option<ReviewList>> {
        let (skill, viewer) = (skill.clone(), viewer.clone());
        let offset = offset.min(MAX_OFFSET);
        let found = self.database().read(move |connection| {
            let Some(row) = viewer.find(connection, &skill)? else { return Ok(None) };
            let rows = connection.query(
                &format!(
                    "SELECT user_id, username, rating, review, version, rated FROM ratings
                     WHERE skill_id = ?1 AND review IS NOT NULL AND hidden = 0
                     ORDER BY rated DESC, user_id LIMIT {} OFFSET {offset}",
                    PAGE + 1
                ),
                &values![row.id],
            )?;
            let mut reviews = Vec::new();
            for row in rows.iter().take(PAGE) {
                let user: String = row.get("user_id")?;
                reviews.push(ReviewView {
                    username: row.get("username")?,
                    rating: row.get("rating")?,
                    text: row.get("review")?,
                    version: row.get("version")?,
                    written: row.get("rated")?,
                    is_own: viewer.user_id.as_deref() == Some(&user),
                });
            }
            let next = (rows.len() > PAGE).then_some(offset + PAGE);
            Ok::<_, DatabaseError>(Some(ReviewList { reviews, next }))
        });
        Ok(found.await?)
    }

    /// Rates a skill, or replaces the caller's rating. `review` is its text; `None` keeps the one that is there.
    pub async fn rate(
        &self,
        actor: &Actor,
        skill: &SkillId,
        rating: i64,
        review: Option<&str>,
    ) -> Outcome<RatingView> {
        if !(1..=5).contains(&rating) {
            return Err(RegistryError::invalid(
                "invalid-rating",
                "a rating is a whole number from 1 to 5",
            ));
        }
        let review = review.map(str::trim).filter(|text| !text.is_empty());
        if review.is_some_and(|text| text.chars().count() > MAX_REVIEW_CHARACTERS) {
            let message = format!("a review has at most {MAX_REVIEW_CHARACTERS} characters");
            return Err(RegistryError::invalid("review-too-long", message));
        }
        let (actor, skill, review) = (actor.clone(), skill.clone(), review.map(str::to_owned));
        let now = self.now();
        let young = now - self.settings().new_account_seconds;
        let viewer = actor.viewer();
        let rated = self.database().write(move |transaction| {
            let Some(row) = viewer.find(transaction, &skill)? else { return Err(RegistryError::no_skill()); };
            if viewer.role(transaction, skill.namespace.as_str())?.is_some() {
                let error = RegistryError::refused("own-skill", "you can't rate a skill of your own namespace");
                return Err(error);
            }
            let weight = i64::from(actor.created <= young);
            transaction.execute(
                "INSERT INTO ratings (skill_id, user_id, username, rating, weight, review, version, hidden, rated)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, ?8)
                 ON CONFLICT (skill_id, user_id) DO UPDATE SET rating = excluded.rating, weight = excluded.weight,
                 review = COALESCE(excluded.review, ratings.review), version = excluded.version, rated = excluded.rated",
                &values![row.id, &actor.user_id, &actor.username, rating, weight, review.as_ref(), row.latest, now],
            )?;
            let (count, sum) = recount(transaction, row.id)?;
            record_change(transaction, row.id, now)?;
            Ok::<_, RegistryError>(RatingView {
                mean_hundredths: (count > 0).then(|| sum * 100 / count),
                count,
                own: Some(rating),
            })
        });
        let rated = rated.await?;
        self.wake_search();
        Ok(rated)
    }

    /// Deletes the caller's rating and review.
    pub async fn unrate(&self, actor: &Actor, skill: &SkillId) -> Outcome<()> {
        let (actor, skill, now) = (actor.clone(), skill.clone(), self.now());
        let done = self.database().write(move |transaction| {
            let Some(row) = actor.viewer().find(transaction, &skill)? else {
                return Err(RegistryError::no_skill());
            };
            transaction.execute(
                "DELETE FROM ratings WHERE skill_id = ?1 AND user_id = ?2",
                &values![row.id, &actor.user_id],
            )?;
            recount(transaction, row.id)?;
            record_change(transaction, row.id, now)?;
            Ok::<_, RegistryError>(())
        });
        done.await
    }

    /// Reports a skill to the moderators. A second report of the same user replaces the first.
    pub async fn report(
        &self,
        actor: &Actor,
        skill: &SkillId,
        version: Option<&str>,
        reason: &str,
        detail: &str,
    ) -> Outcome<()> {
        if !REPORT_REASONS.contains(&reason) {
            let message = format!("`reason` is one of {}", REPORT_REASONS.join(", "));
            return Err(RegistryError::invalid("invalid-reason", message));
        }
        let detail: String = detail.trim().chars().take(MAX_REPORT_CHARACTERS).collect();
        let (actor, skill, now) = (actor.clone(), skill.clone(), self.now());
        let (version, reason) = (version.map(str::to_owned), reason.to_owned());
        let reported = self.database().write(move |transaction| {
            let Some(row) = actor.viewer().find(transaction, &skill)? else {
                return Err(RegistryError::no_skill());
            };
            let open = transaction.query_one(
                "SELECT COUNT(*) AS total FROM reports WHERE user_id = ?1 AND state = 'open'",
                &values![&actor.user_id],
            )?;
            if open.get::<i64>("total")? >= MAX_OPEN_REPORTS {
                return Err(RegistryError::of(
                    "too-many-reports",
                    ProblemKind::RateLimited { retry_after: Some(Duration::from_hours(1)) },
                    format!("you have {MAX_OPEN_REPORTS} open reports"),
                ));
            }
            transaction.execute(
                "INSERT INTO reports (skill_id, user_id, username, version, reason, detail, state, reported)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'open', ?7)
                 ON CONFLICT (skill_id, user_id) DO UPDATE SET version = excluded.version, reason = excluded.reason,
                 detail = excluded.detail, state = 'open', reported = excluded.reported",
                &values![row.id, &actor.user_id, &actor.username, version.as_ref(), &reason, &detail, now],
            )?;
            let reports = transaction.query_one(
                "SELECT COUNT(*) AS total FROM reports
                 WHERE skill_id = ?1 AND state = 'open' AND reason <> 'false-positive'",
                &values![row.id],
            )?;
            if reports.get::<i64>("total")? >= HIDING_REPORTS {
                transaction.execute(
                    "UPDATE skills SET state = 'hidden', state_reason = 'reports' WHERE id = ?1 AND state = 'visible'",
                    &values![row.id],
                )?;
                record_change(transaction, row.id, now)?;
            }
            Ok::<_, RegistryError>(())
        });
        reported.await?;
        self.wake_search();
        Ok(())
    }
}

/// Counts the ratings of accounts that are old enough; younger ones have the weight 0 until they are.
fn recount(transaction: &mut Transaction<'_>, skill: i64) -> Result<(i64, i64), DatabaseError> {
    let row = transaction.query_one(
        "SELECT COUNT(*) AS total, CAST(COALESCE(SUM(rating), 0) AS BIGINT) AS points
         FROM ratings WHERE skill_id = ?1 AND weight > 0 AND hidden = 0",
        &values![skill],
    )?;
    let (count, sum): (i64, i64) = (row.get("total")?, row.get("points")?);
    transaction.execute(
        "UPDATE skills SET rating_count = ?1, rating_sum = ?2 WHERE id = ?3",
        &values![count, sum, skill],
    )?;
    Ok((count, sum))
}
