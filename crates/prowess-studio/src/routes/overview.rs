//! What agents see of the skills, usage per day, settings, the audit log.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use prowess_engine::manifest::{Catalogue, ManifestContent, ManifestFormat, ManifestOptions};
use prowess_engine::{LoadedSkill, SkillResolver as _};
use prowess_format::tokens::estimated_tokens;
use prowess_policy::Mode;
use prowess_server::audit::AuditVerification;
use prowess_server::database::{DatabaseError, values};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Problems;
use super::skills::blocking;
use crate::caller::{AdminCaller, Caller};
use crate::problem::ApiProblem;
use crate::request::{UrlQuery, limit};
use crate::skills::MAX_CONTENT_BYTES;
use crate::studio::Studio;
use crate::timestamp;

pub(super) fn routes() -> OpenApiRouter<Studio> {
    OpenApiRouter::new()
        .routes(routes!(get_agent_view))
        .routes(routes!(get_usage))
        .routes(routes!(get_settings))
        .routes(routes!(list_audit))
}

#[derive(Serialize, ToSchema)]
struct AgentView {
    skills: Vec<AgentSkill>,
    /// What a model is told about the skills.
    manifest: String,
    format: &'static str,
    tokens: usize,
    left_out: Vec<LeftOut>,
}

#[derive(Serialize, ToSchema)]
struct AgentSkill {
    name: String,
    description: String,
    /// What its text costs an agent that uses it.
    tokens: usize,
    /// What its entry in the list costs in every session.
    listed_tokens: usize,
}

#[derive(Serialize, ToSchema)]
struct LeftOut {
    name: String,
    message: String,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct UsageQuery {
    /// The first date, such as `2026-11-01`.
    from: Option<String>,
    /// The last date.
    to: Option<String>,
    /// A user's id; only for administrators.
    user: Option<String>,
}

#[derive(Serialize, ToSchema)]
struct UsageDay {
    date: String,
    user_id: String,
    username: Option<String>,
    runs: i64,
    input_tokens: i64,
    output_tokens: i64,
    cost: Option<f64>,
}

#[derive(Default, Serialize, ToSchema)]
struct UsageTotals {
    runs: i64,
    input_tokens: i64,
    output_tokens: i64,
    cost: Option<f64>,
}

#[derive(Serialize, ToSchema)]
struct UsageQuota {
    tokens_per_day: Option<i64>,
    used_today: i64,
}

#[derive(Serialize, ToSchema)]
struct UsageView {
    days: Vec<UsageDay>,
    totals: UsageTotals,
    quota: UsageQuota,
}

#[derive(Serialize, ToSchema)]
struct SettingsView {
    version: &'static str,
    limits: LimitsView,
    language: &'static str,
}

#[derive(Serialize, ToSchema)]
struct LimitsView {
    skill_bytes: usize,
    upload_bytes: u64,
    runs_per_minute: usize,
    chat_seconds: u64,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct AuditQuery {
    limit: Option<i64>,
    /// The `next` of the previous page.
    before: Option<u64>,
}

#[derive(Serialize, ToSchema)]
struct AuditList {
    entries: Vec<Value>,
    next: Option<u64>,
    is_intact: bool,
}

/// Show what agents see
#[utoipa::path(get, path = "/agent-view", tag = "overview",
    responses((status = 200, body = AgentView), Problems))]
async fn get_agent_view(
    State(studio): State<Studio>,
    caller: Caller,
) -> Result<Json<AgentView>, ApiProblem> {
    let view = blocking(move || {
        let files = studio.shared.skills.clone();
        let resolver = studio.skills_of(Some(&caller.id));
        let mut skills: Vec<Arc<LoadedSkill>> = Vec::new();
        let mut left_out = Vec::new();
        for stored in files.all()? {
            let owner = crate::skills::stored_owner(&stored);
            match resolver.resolve(stored.name.as_str()) {
                Ok(skill) => skills.push(skill),
                // Of a broken file nobody knows the owner.
                Err(problem) if caller.is_admin && owner.is_none() => left_out
                    .push(LeftOut { name: stored.name.to_string(), message: problem.message }),
                Err(_) => {}
            }
        }
        let list = |skills| {
            let options =
                ManifestOptions { format: ManifestFormat::Xml, level: None, budget: None };
            Catalogue::new(skills, Mode::Global, Vec::new()).manifest(options)
        };
        let frame = list(Vec::new()).tokens;
        let listed = skills
            .iter()
            .map(|skill| AgentSkill {
                name: skill.name.clone(),
                description: skill.skill.description_or(&skill.name).to_owned(),
                tokens: estimated_tokens(&skill.skill.body),
                listed_tokens: list(vec![skill.clone()]).tokens.saturating_sub(frame),
            })
            .collect();
        let manifest = list(skills);
        let text = match manifest.content {
            ManifestContent::Text(text) => text,
            ManifestContent::Json(value) => value.to_string(),
        };
        Ok(AgentView {
            skills: listed,
            manifest: text,
            format: "xml",
            tokens: manifest.tokens,
            left_out,
        })
    });
    view.await.map(Json)
}

/// Show usage per day
#[utoipa::path(get, path = "/usage", tag = "overview", params(UsageQuery),
    responses((status = 200, body = UsageView), Problems))]
async fn get_usage(
    State(studio): State<Studio>,
    caller: Caller,
    UrlQuery(query): UrlQuery<UsageQuery>,
) -> Result<Json<UsageView>, ApiProblem> {
    const MONTH_MS: i64 = 30 * 24 * 60 * 60 * 1_000;
    let now = studio.now();
    let date = |field: &str, text: Option<String>, default: i64| match text {
        None => Ok(timestamp::date_of_millis(default)),
        Some(text) if timestamp::start_of_date(&text).is_some() => Ok(text),
        Some(_) => Err(ApiProblem::invalid(field, "Expected a date such as 2026-11-19")),
    };
    let from = date("from", query.from, now - MONTH_MS)?;
    let to = date("to", query.to, now)?;
    let user = if caller.is_admin { query.user.unwrap_or_default() } else { caller.id.clone() };
    let user = user.replace('\0', "");
    let mut days: Vec<UsageDay> = studio
        .server()
        .database()
        .read(move |connection| {
            let sql = "SELECT date, owner, runs, input_tokens, output_tokens, cost FROM studio_usage \
                       WHERE date >= ?1 AND date <= ?2 AND (?3 = '' OR owner = ?3) \
                       ORDER BY date, owner LIMIT 10000";
            let rows = connection.query(sql, &values![from.clone(), to.clone(), user.clone()])?;
            rows.iter()
                .map(|row| {
                    Ok(UsageDay {
                        date: row.get("date")?,
                        user_id: row.get("owner")?,
                        username: None,
                        runs: row.get("runs")?,
                        input_tokens: row.get("input_tokens")?,
                        output_tokens: row.get("output_tokens")?,
                        cost: row.get("cost")?,
                    })
                })
                .collect::<Result<_, DatabaseError>>()
        })
        .await?;
    let mut totals = UsageTotals::default();
    for day in &mut days {
        let user = studio.server().accounts().recent_user(&day.user_id).await?;
        day.username = user.map(|user| user.username.to_string());
        totals.runs += day.runs;
        totals.input_tokens += day.input_tokens;
        totals.output_tokens += day.output_tokens;
        if let Some(cost) = day.cost {
            *totals.cost.get_or_insert(0.0) += cost;
        }
    }
    let today = timestamp::date_of_millis(now);
    let quota = UsageQuota {
        tokens_per_day: studio.shared.settings.cached().tokens_per_day,
        used_today: studio.shared.runs.inner.store.tokens_on(&caller.id, &today).await?,
    };
    Ok(Json(UsageView { days, totals, quota }))
}

/// Show settings and limits
#[utoipa::path(get, path = "/settings", tag = "overview",
    responses((status = 200, body = SettingsView), Problems))]
async fn get_settings(State(studio): State<Studio>, _caller: Caller) -> Json<SettingsView> {
    let limits = studio.shared.limits;
    Json(SettingsView {
        version: env!("CARGO_PKG_VERSION"),
        limits: LimitsView {
            skill_bytes: MAX_CONTENT_BYTES,
            upload_bytes: limits.upload_bytes,
            runs_per_minute: limits.runs_per_minute,
            chat_seconds: prowess_engine::CHAT_LIMIT.as_secs(),
        },
        language: "en",
    })
}

/// Show the audit log
#[utoipa::path(get, path = "/audit", tag = "overview", params(AuditQuery),
    responses((status = 200, body = AuditList), Problems))]
async fn list_audit(
    State(studio): State<Studio>,
    _administrator: AdminCaller,
    UrlQuery(query): UrlQuery<AuditQuery>,
) -> Result<Json<AuditList>, ApiProblem> {
    let limit = usize::try_from(limit(query.limit)?).unwrap_or(1);
    let before = query.before.map(|before| before.min(i64::MAX.unsigned_abs()));
    let records = studio.server().audit().entries(before, limit).await?;
    let next = records.last().filter(|last| records.len() == limit && last.sequence > 1);
    let next = next.map(|last| last.sequence);
    let is_intact =
        matches!(studio.server().audit().verify().await?, AuditVerification::Intact { .. });
    let mut entries = Vec::new();
    for record in &records {
        // The chain has ids, which stay; people look for names.
        let user = studio.server().accounts().recent_user(&record.actor).await?;
        entries.push(serde_json::json!({
            "id": record.sequence, "at": timestamp::of_millis(record.at.millis()), "user": record.actor,
            "username": user.map(|user| user.username.to_string()),
            "action": record.action, "subject": record.subject, "address": record.address,
        }));
    }
    Ok(Json(AuditList { entries, next, is_intact }))
}
