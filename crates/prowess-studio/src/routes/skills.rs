//! Skills: create, read, list, update, delete, versions (specification §9).

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Problems;
use crate::caller::Caller;
use crate::problem::ApiProblem;
use crate::request::{Body, UrlPath, UrlQuery, revision};
use crate::skills::{
    SkillDetail, SkillFileError, SkillName, SkillSummary, SkillVersion, SkillVersionText,
    StoredSkill, check_content, model_of, owner_of,
};
use crate::studio::Studio;

/// The part of the path that asks for a valid name, unless there is a skill of that name.
const NORMALIZE: &str = "normalize";

pub(super) fn routes() -> OpenApiRouter<Studio> {
    OpenApiRouter::new()
        .routes(routes!(list_skills, create_skill))
        .routes(routes!(get_skill, update_skill, delete_skill))
        .routes(routes!(list_versions))
        .routes(routes!(get_version))
        .routes(routes!(diff_versions))
        .routes(routes!(get_quizzes))
}

#[derive(Deserialize, ToSchema)]
struct CreateSkill {
    name: String,
    content: String,
}

#[derive(Deserialize, ToSchema)]
struct UpdateSkill {
    content: String,
}

#[derive(Serialize, ToSchema)]
struct SkillList {
    skills: Vec<SkillSummary>,
    total: usize,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct SkillQuery {
    /// Words that must be in the name, the description or the tags.
    search: Option<String>,
    /// A tag.
    tag: Option<String>,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct NormalizeQuery {
    /// For the path `normalize`: any text.
    name: Option<String>,
}

#[derive(Serialize, ToSchema)]
struct VersionList {
    versions: Vec<SkillVersion>,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct DiffQuery {
    from: i64,
    to: Option<i64>,
}

/// The differences between two versions.
#[derive(Serialize, ToSchema)]
struct VersionDiff {
    from: i64,
    to: i64,
    hunks: Vec<DiffHunk>,
}

/// Lines that changed, with some around them.
#[derive(Serialize, ToSchema)]
struct DiffHunk {
    old_start: usize,
    new_start: usize,
    lines: Vec<DiffLine>,
}

/// A line.
#[derive(Serialize, ToSchema)]
struct DiffLine {
    /// `same`, `add` or `del`.
    kind: &'static str,
    old: Option<usize>,
    new: Option<usize>,
    text: String,
}

#[derive(Serialize, ToSchema)]
struct QuizList {
    quizzes: Vec<QuizView>,
}

#[derive(Serialize, ToSchema)]
struct QuizView {
    title: Option<String>,
    pass_percent: f64,
    questions: Vec<QuizQuestionView>,
}

#[derive(Serialize, ToSchema)]
struct QuizQuestionView {
    /// Its number, from 1.
    id: usize,
    text: String,
    options: Vec<String>,
}

impl From<SkillFileError> for ApiProblem {
    fn from(error: SkillFileError) -> Self {
        match error {
            SkillFileError::Missing(name) => skill_not_found(name.as_str()),
            SkillFileError::Exists(name) => {
                let message = format!("Skill '{name}' already exists");
                ApiProblem::conflict("skill-exists", "name", message)
            }
            SkillFileError::Database(error) => error.into(),
            error @ SkillFileError::Disk { .. } => ApiProblem::internal("using a skill", &error),
        }
    }
}

pub(super) fn skill_not_found(name: &str) -> ApiProblem {
    ApiProblem::not_found("skill-not-found", "name", "Skill", name)
}

/// Runs something that uses the disk.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ApiProblem> + Send + 'static,
) -> Result<T, ApiProblem> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| Err(ApiProblem::internal("a task", &error)))
}

/// Reads a skill that the caller may see. Somebody else's is answered like one that does not exist (NEG-9), and so is a
/// file that is not a skill.
pub(super) async fn visible_skill(
    studio: &Studio,
    caller: &Caller,
    name: &str,
) -> Result<StoredSkill, ApiProblem> {
    // What is no name names nothing, and the disk is not asked.
    let parsed: SkillName = name.parse().map_err(|_| skill_not_found(name))?;
    let (files, caller) = (studio.shared.skills.clone(), caller.clone());
    blocking(move || {
        let stored = files.read(&parsed)?;
        require_visible(&stored, &caller)?;
        Ok(stored)
    })
    .await
}

fn require_visible(stored: &StoredSkill, caller: &Caller) -> Result<(), ApiProblem> {
    let name = stored.name.as_str();
    let owner = crate::skills::stored_owner(stored);
    if caller.may_see(owner.as_deref()) { Ok(()) } else { Err(skill_not_found(name)) }
}

async fn detail(
    studio: &Studio,
    stored: &StoredSkill,
    user: &str,
) -> Result<SkillDetail, ApiProblem> {
    let facts = studio.shared.history.record(stored, user).await?;
    SkillDetail::of(stored, facts.created_at.as_deref(), facts.version).ok_or_else(|| {
        // Put there by hand, and not valid.
        skill_not_found(stored.name.as_str())
    })
}

fn with_etag(status: StatusCode, version: i64, body: impl Serialize) -> Response {
    let mut response = (status, Json(body)).into_response();
    let tag = HeaderValue::from_str(&format!("\"{version}\"")).expect("a number in quotes");
    response.headers_mut().insert(header::ETAG, tag);
    response
}

/// List skills
#[utoipa::path(get, path = "/skills", tag = "skills", params(SkillQuery),
    responses((status = 200, body = SkillList), Problems))]
async fn list_skills(
    State(studio): State<Studio>,
    caller: Caller,
    UrlQuery(query): UrlQuery<SkillQuery>,
) -> Result<Json<SkillList>, ApiProblem> {
    let facts = studio.shared.history.all().await?;
    let files = studio.shared.skills.clone();
    let listed = blocking(move || {
        let mut stored = files.all()?;
        // AFL-9.3-1: the latest change first; names settle ties.
        stored.sort_by(|one, other| {
            other.modified.cmp(&one.modified).then_with(|| one.name.cmp(&other.name))
        });
        let none = crate::skills::SkillFacts::default();
        let skills: Vec<SkillSummary> = stored
            .iter()
            .filter_map(|stored| {
                let (skill, _) = model_of(&stored.text, stored.name.as_str()).ok()?;
                // AFL-9.3-2
                if !caller.may_see(owner_of(&skill)) {
                    return None;
                }
                let facts = facts.get(stored.name.as_str()).unwrap_or(&none);
                Some(SkillSummary::of(stored, &skill, facts.created_at.as_deref(), facts.version))
            })
            .filter(|skill| matches(skill, &query))
            .collect();
        Ok(skills)
    })
    .await?;
    Ok(Json(SkillList { total: listed.len(), skills: listed }))
}

fn matches(skill: &SkillSummary, query: &SkillQuery) -> bool {
    let has_tag = |tag: &str| skill.tags.iter().any(|it| it.eq_ignore_ascii_case(tag));
    let text =
        || format!("{} {} {}", skill.name, skill.description, skill.tags.join(" ")).to_lowercase();
    query.tag.as_deref().is_none_or(has_tag)
        && query.search.as_deref().is_none_or(|search| {
            let text = text();
            search.to_lowercase().split_whitespace().all(|word| text.contains(word))
        })
}

/// Create a skill
#[utoipa::path(post, path = "/skills", tag = "skills", request_body = CreateSkill,
    responses((status = 201, body = SkillDetail), Problems))]
async fn create_skill(
    State(studio): State<Studio>,
    caller: Caller,
    Body(new): Body<CreateSkill>,
) -> Result<Response, ApiProblem> {
    // In the order of the specification: name, size, uniqueness, content.
    let name: SkillName = new.name.parse()?;
    if new.content.len() > crate::skills::MAX_CONTENT_BYTES {
        check_content(&new.content, &name, None, None)?;
    }
    let (files, owner) = (studio.shared.skills.clone(), caller.id.clone());
    let stored = blocking(move || {
        if files.is_taken(&name)? {
            return Err(SkillFileError::Exists(name).into());
        }
        let content = check_content(&new.content, &name, Some(&owner), None)?;
        files.create(&name, &content.text)?;
        Ok(files.read(&name)?)
    })
    .await?;
    let facts = studio.shared.history.record(&stored, &caller.id).await?;
    studio.audit(&caller, "skill-create", stored.name.as_str()).await;
    let detail = SkillDetail::of(&stored, facts.created_at.as_deref(), facts.version)
        .ok_or_else(|| ApiProblem::internal("reading a new skill", &stored.name))?;
    Ok(with_etag(StatusCode::CREATED, facts.version, detail))
}

/// Show a skill
#[utoipa::path(get, path = "/skills/{name}", tag = "skills",
    params(("name" = String, Path), NormalizeQuery),
    responses((status = 200, body = SkillDetail), Problems))]
async fn get_skill(
    State(studio): State<Studio>,
    caller: Caller,
    UrlPath(name): UrlPath<String>,
    UrlQuery(query): UrlQuery<NormalizeQuery>,
) -> Result<Response, ApiProblem> {
    if let (NORMALIZE, Some(text)) = (name.as_str(), &query.name) {
        let text = prowess_format::text::shorten(text, 1_000);
        let mut name = prowess_format::text::normalize_name(&text);
        name.truncate(64);
        let name = name.trim_end_matches('-');
        return Ok(Json(json!({ "name": name })).into_response());
    }
    let stored = visible_skill(&studio, &caller, &name).await?;
    let detail = detail(&studio, &stored, &caller.id).await?;
    Ok(with_etag(StatusCode::OK, detail.summary.version, detail))
}

/// Change a skill
#[utoipa::path(put, path = "/skills/{name}", tag = "skills", params(("name" = String, Path)),
    request_body = UpdateSkill, responses((status = 200, body = SkillDetail), Problems))]
async fn update_skill(
    State(studio): State<Studio>,
    caller: Caller,
    UrlPath(name): UrlPath<String>,
    headers: HeaderMap,
    Body(update): Body<UpdateSkill>,
) -> Result<Response, ApiProblem> {
    let expected = revision(&headers)?;
    let before = visible_skill(&studio, &caller, &name).await?;
    let known = studio.shared.history.record(&before, &caller.id).await?;
    if expected.is_some_and(|expected| expected != known.version) {
        let current = detail(&studio, &before, &caller.id).await?;
        let message = format!("The skill was changed: it is at version {}", known.version);
        return Err(ApiProblem::conflict("version-conflict", "if-match", message)
            .member("current", serde_json::to_value(current).unwrap_or_default()));
    }
    let files = studio.shared.skills.clone();
    let (changer, seen) = (caller.clone(), before.text.clone());
    let stored = blocking(move || {
        let name = before.name;
        files.update(&name, |stored| {
            require_visible(stored, &changer)?;
            if expected.is_some() && stored.text != seen {
                let message = "The skill was changed meanwhile";
                return Err(ApiProblem::conflict("version-conflict", "if-match", message));
            }
            // AFL-9.4-1: the owner stays.
            let owner = crate::skills::stored_owner(stored);
            let content =
                check_content(&update.content, &name, owner.as_deref(), Some(&stored.text))?;
            let said = owner_of(&content.skill).map(str::to_owned);
            if said != owner && !changer.is_admin {
                let message = "The owner of a skill cannot be changed";
                return Err(ApiProblem::invalid("user_id", message));
            }
            Ok((content.text, ()))
        })?;
        Ok(files.read(&name)?)
    })
    .await?;
    let detail = detail(&studio, &stored, &caller.id).await?;
    studio.audit(&caller, "skill-update", stored.name.as_str()).await;
    Ok(with_etag(StatusCode::OK, detail.summary.version, detail))
}

/// Delete a skill
#[utoipa::path(delete, path = "/skills/{name}", tag = "skills", params(("name" = String, Path)),
    responses((status = 204), Problems))]
async fn delete_skill(
    State(studio): State<Studio>,
    caller: Caller,
    UrlPath(name): UrlPath<String>,
) -> Result<StatusCode, ApiProblem> {
    let stored = visible_skill(&studio, &caller, &name).await?;
    let (files, user, name) = (studio.shared.skills.clone(), caller.clone(), stored.name);
    let deleted = name.clone();
    blocking(move || files.delete(&deleted, |stored| require_visible(stored, &user))).await?;
    studio.shared.history.forget(&name).await?;
    studio.audit(&caller, "skill-delete", name.as_str()).await;
    Ok(StatusCode::NO_CONTENT)
}

/// List the versions of a skill
#[utoipa::path(get, path = "/skills/{name}/versions", tag = "skills", params(("name" = String, Path)),
    responses((status = 200, body = VersionList), Problems))]
async fn list_versions(
    State(studio): State<Studio>,
    caller: Caller,
    UrlPath(name): UrlPath<String>,
) -> Result<Json<VersionList>, ApiProblem> {
    let stored = visible_skill(&studio, &caller, &name).await?;
    studio.shared.history.record(&stored, &caller.id).await?;
    Ok(Json(VersionList { versions: studio.shared.history.versions(&stored.name).await? }))
}

/// Show a version of a skill
#[utoipa::path(get, path = "/skills/{name}/versions/{version}", tag = "skills",
    params(("name" = String, Path), ("version" = i64, Path)),
    responses((status = 200, body = SkillVersionText), Problems))]
async fn get_version(
    State(studio): State<Studio>,
    caller: Caller,
    UrlPath((name, version)): UrlPath<(String, i64)>,
) -> Result<Json<SkillVersionText>, ApiProblem> {
    let stored = visible_skill(&studio, &caller, &name).await?;
    Ok(Json(version_of(&studio, &stored.name, version).await?))
}

/// A version of a skill that the caller may see.
pub(super) async fn version_of(
    studio: &Studio,
    name: &SkillName,
    version: i64,
) -> Result<SkillVersionText, ApiProblem> {
    let found = studio.shared.history.version(name, version).await?;
    let what = || format!("{name} version {version}");
    found.ok_or_else(|| ApiProblem::not_found("version-not-found", "version", "Skill", &what()))
}

/// Compare two versions of a skill
#[utoipa::path(get, path = "/skills/{name}/diff", tag = "skills",
    params(("name" = String, Path), DiffQuery),
    responses((status = 200, body = VersionDiff), Problems))]
async fn diff_versions(
    State(studio): State<Studio>,
    caller: Caller,
    UrlPath(name): UrlPath<String>,
    UrlQuery(query): UrlQuery<DiffQuery>,
) -> Result<Json<VersionDiff>, ApiProblem> {
    let stored = visible_skill(&studio, &caller, &name).await?;
    let latest = studio.shared.history.record(&stored, &caller.id).await?.version;
    let to = query.to.unwrap_or(latest);
    let old = version_of(&studio, &stored.name, query.from).await?;
    let new = version_of(&studio, &stored.name, to).await?;
    let hunks = blocking(move || Ok(hunks(&old.content, &new.content))).await?;
    Ok(Json(VersionDiff { from: query.from, to, hunks }))
}

/// Show the quizzes of a skill
///
/// What is asked, without the right answers.
#[utoipa::path(get, path = "/skills/{name}/quiz", tag = "skills", params(("name" = String, Path)),
    responses((status = 200, body = QuizList), Problems))]
async fn get_quizzes(
    State(studio): State<Studio>,
    caller: Caller,
    UrlPath(name): UrlPath<String>,
) -> Result<Json<QuizList>, ApiProblem> {
    let stored = visible_skill(&studio, &caller, &name).await?;
    let (skill, _) = model_of(&stored.text, stored.name.as_str())
        .map_err(|_| skill_not_found(stored.name.as_str()))?;
    let quizzes = skill.quiz.iter().map(|quiz| QuizView {
        title: quiz.title.clone(),
        pass_percent: quiz.passing_score,
        questions: quiz
            .questions
            .iter()
            .enumerate()
            .map(|(at, question)| QuizQuestionView {
                id: at + 1,
                text: question.question.value.clone(),
                options: question.options.iter().map(|option| option.label.clone()).collect(),
            })
            .collect(),
    });
    Ok(Json(QuizList { quizzes: quizzes.collect() }))
}

fn hunks(old: &str, new: &str) -> Vec<DiffHunk> {
    /// Unchanged lines around a change.
    const AROUND: usize = 3;
    /// Texts are small; a comparison that takes longer is finished coarsely.
    const TIME: std::time::Duration = std::time::Duration::from_millis(500);
    let diff = similar::TextDiff::configure().timeout(TIME).diff_lines(old, new);
    let groups = diff.grouped_ops(AROUND);
    groups
        .iter()
        .map(|group| {
            let first = group.first();
            let lines = group.iter().flat_map(|op| diff.iter_changes(op)).map(|change| DiffLine {
                kind: match change.tag() {
                    similar::ChangeTag::Equal => "same",
                    similar::ChangeTag::Insert => "add",
                    similar::ChangeTag::Delete => "del",
                },
                old: change.old_index().map(|at| at + 1),
                new: change.new_index().map(|at| at + 1),
                text: change.value().trim_end_matches(['\r', '\n']).to_owned(),
            });
            DiffHunk {
                old_start: first.map_or(0, |op| op.old_range().start + 1),
                new_start: first.map_or(0, |op| op.new_range().start + 1),
                lines: lines.collect(),
            }
        })
        .collect()
}
