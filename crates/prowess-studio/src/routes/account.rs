//! Log-in, sessions, users and tokens.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use prowess_server::Secret;
use prowess_server::accounts::{NewUser, Role, User, Username};
use prowess_server::identity::ClientAddress;
use prowess_server::log_in::LogIn;
use prowess_server::tokens::{ApiToken, NewApiToken, Scope};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Problems;
use crate::caller::{AdminCaller, Caller};
use crate::problem::ApiProblem;
use crate::request::{Body, UrlPath, line};
use crate::studio::Studio;

/// The longest lifetime of a token.
const MAX_TOKEN_DAYS: u64 = 3_650;

pub(super) fn routes() -> OpenApiRouter<Studio> {
    OpenApiRouter::new()
        .routes(routes!(log_in))
        .routes(routes!(refresh))
        .routes(routes!(log_out))
        .routes(routes!(set_up))
        .routes(routes!(log_in_options))
        .routes(routes!(get_me))
        .routes(routes!(change_password))
        .routes(routes!(list_users, add_user))
        .routes(routes!(change_user))
        .routes(routes!(list_tokens, create_token))
        .routes(routes!(revoke_token))
}

#[derive(Deserialize, ToSchema)]
struct Credentials {
    username: String,
    password: String,
    /// The code of an authenticator app, for accounts that have one.
    code: Option<String>,
}

#[derive(Deserialize, ToSchema)]
struct RefreshToken {
    refresh_token: String,
}

#[derive(Deserialize, ToSchema)]
struct SetUp {
    token: String,
    username: String,
    password: String,
}

#[derive(Deserialize, ToSchema)]
struct ChangePassword {
    current_password: String,
    new_password: String,
}

/// A pair of tokens.
#[derive(Serialize, ToSchema)]
struct Tokens {
    access_token: String,
    refresh_token: String,
    token_type: String,
    expires_in: u64,
}

#[derive(Serialize, ToSchema)]
struct LogInOptions {
    /// Whether there is no user yet.
    setup_needed: bool,
    /// Log-ins of companies.
    oidc: Vec<CompanyLogIn>,
}

#[derive(Serialize, ToSchema)]
struct CompanyLogIn {
    name: String,
    start_url: String,
}

#[derive(Serialize, ToSchema)]
struct Me {
    id: String,
    username: String,
    role: &'static str,
}

#[derive(Serialize, ToSchema)]
struct UserView {
    id: String,
    username: String,
    role: &'static str,
    disabled: bool,
    created_at: String,
}

#[derive(Serialize, ToSchema)]
struct UserList {
    users: Vec<UserView>,
}

#[derive(Deserialize, ToSchema)]
struct AddUser {
    username: String,
    password: String,
    role: Option<String>,
}

#[derive(Deserialize, ToSchema)]
struct ChangeUser {
    role: Option<String>,
    disabled: Option<bool>,
    password: Option<String>,
}

#[derive(Deserialize, ToSchema)]
struct CreateToken {
    name: String,
    expires_in_days: Option<u64>,
}

#[derive(Serialize, ToSchema)]
struct TokenView {
    id: String,
    name: String,
    created_at: String,
    expires_at: Option<String>,
    last_used_at: Option<String>,
}

#[derive(Serialize, ToSchema)]
struct TokenList {
    tokens: Vec<TokenView>,
}

#[derive(Serialize, ToSchema)]
struct NewTokenView {
    id: String,
    name: String,
    token: String,
    expires_at: Option<String>,
}

/// Log in
#[utoipa::path(post, path = "/auth/login", tag = "account", security(()), request_body = Credentials,
    responses((status = 200, body = Tokens), Problems))]
async fn log_in(
    State(studio): State<Studio>,
    ClientAddress(address): ClientAddress,
    Body(credentials): Body<Credentials>,
) -> Result<Json<Value>, ApiProblem> {
    let Credentials { username, password, code } = credentials;
    let log_in =
        LogIn { username, password: Secret::new(password), code: code.map(Secret::new), address };
    let user = studio.server().log_ins().authenticate(log_in).await.map_err(|problem| {
        let problem = ApiProblem::from(problem);
        if problem.status == StatusCode::UNAUTHORIZED { problem.at("password") } else { problem }
    })?;
    Ok(Json(studio.server().sessions().start(&user).await?.to_json()))
}

/// Get new tokens
#[utoipa::path(post, path = "/auth/refresh", tag = "account", security(()), request_body = RefreshToken,
    responses((status = 200, body = Tokens), Problems))]
async fn refresh(
    State(studio): State<Studio>,
    Body(body): Body<RefreshToken>,
) -> Result<Json<Value>, ApiProblem> {
    let tokens = studio.server().sessions().refresh(&body.refresh_token).await;
    let tokens = tokens.map_err(|problem| ApiProblem::from(problem).at("refresh_token"))?;
    Ok(Json(tokens.to_json()))
}

/// Log out
#[utoipa::path(post, path = "/auth/logout", tag = "account", security(()), request_body = RefreshToken,
    responses((status = 204), Problems))]
async fn log_out(
    State(studio): State<Studio>,
    Body(body): Body<RefreshToken>,
) -> Result<StatusCode, ApiProblem> {
    studio.server().sessions().log_out(&body.refresh_token).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Make the first administrator with the link that the server printed
#[utoipa::path(post, path = "/auth/setup", tag = "account", security(()), request_body = SetUp,
    responses((status = 201, body = Tokens), Problems))]
async fn set_up(
    State(studio): State<Studio>,
    Body(body): Body<SetUp>,
) -> Result<(StatusCode, Json<Value>), ApiProblem> {
    let username = username(&body.username)?;
    let password = Secret::new(body.password);
    let user = studio.server().accounts().use_setup_link(&body.token, username, &password).await?;
    let tokens = studio.server().sessions().start(&user).await?;
    Ok((StatusCode::CREATED, Json(tokens.to_json())))
}

/// Show how to log in
#[utoipa::path(get, path = "/auth/options", tag = "account", security(()),
    responses((status = 200, body = LogInOptions), Problems))]
async fn log_in_options(State(studio): State<Studio>) -> Result<Json<LogInOptions>, ApiProblem> {
    let setup_needed = studio.server().accounts().is_empty().await?;
    let oidc = studio.shared.company.iter().map(|company| CompanyLogIn {
        name: company.name.clone(),
        start_url: "/api/v1/auth/company/start".to_owned(),
    });
    Ok(Json(LogInOptions { setup_needed, oidc: oidc.collect() }))
}

/// Show who is logged in
#[utoipa::path(get, path = "/auth/me", tag = "account",
    responses((status = 200, body = Me), Problems))]
async fn get_me(caller: Caller) -> Json<Me> {
    let User { id, username, role, .. } = caller.identity.user;
    Json(Me { id, username: username.to_string(), role: role.as_str() })
}

/// Change the own password
#[utoipa::path(put, path = "/auth/password", tag = "account", request_body = ChangePassword,
    responses((status = 204), Problems))]
async fn change_password(
    State(studio): State<Studio>,
    ClientAddress(address): ClientAddress,
    caller: Caller,
    Body(body): Body<ChangePassword>,
) -> Result<StatusCode, ApiProblem> {
    caller.identity.require_person()?;
    // The limits of log-ins hold here too: this is a way to try passwords.
    let log_in = LogIn {
        username: caller.identity.user.username.to_string(),
        password: Secret::new(body.current_password),
        code: None,
        address,
    };
    let confirmed = studio.server().log_ins().authenticate(log_in).await;
    match confirmed.map_err(ApiProblem::from) {
        Ok(_) => {}
        // The password was right, and a second factor is not asked for again.
        Err(problem) if problem.code == "code-required" => {}
        Err(problem) if problem.status == StatusCode::UNAUTHORIZED => {
            return Err(ApiProblem::invalid("current_password", "The password is wrong"));
        }
        Err(problem) => return Err(problem),
    }
    let password = Secret::new(body.new_password);
    let changed = studio.server().accounts().set_password(&caller.id, &password).await;
    changed.map_err(|problem| ApiProblem::from(problem).at("new_password"))?;
    studio.audit(&caller, "password-change", &caller.id).await;
    Ok(StatusCode::NO_CONTENT)
}

/// List users
#[utoipa::path(get, path = "/users", tag = "account",
    responses((status = 200, body = UserList), Problems))]
async fn list_users(
    State(studio): State<Studio>,
    _administrator: AdminCaller,
) -> Result<Json<UserList>, ApiProblem> {
    const PAGE: usize = 200;
    const MOST: usize = 10_000;
    let mut users: Vec<User> = Vec::new();
    loop {
        let after = users.last().map(|user| user.username.clone());
        let page = studio.server().accounts().users(after.as_ref(), PAGE).await?;
        let is_last = page.len() < PAGE || users.len() >= MOST;
        users.extend(page);
        if is_last {
            break;
        }
    }
    Ok(Json(UserList { users: users.iter().map(view).collect() }))
}

/// Add a user
#[utoipa::path(post, path = "/users", tag = "account", request_body = AddUser,
    responses((status = 201, body = UserView), Problems))]
async fn add_user(
    State(studio): State<Studio>,
    AdminCaller(caller): AdminCaller,
    Body(body): Body<AddUser>,
) -> Result<(StatusCode, Json<UserView>), ApiProblem> {
    let new = NewUser {
        username: username(&body.username)?,
        role: body.role.as_deref().map_or(Ok(Role::User), role)?,
        password: Some(Secret::new(body.password)),
    };
    let user = studio.server().accounts().add_user(new).await.map_err(|problem| {
        let problem = ApiProblem::from(problem);
        let field = if problem.status == StatusCode::CONFLICT { "username" } else { "password" };
        problem.at(field)
    })?;
    studio.audit(&caller, "user-add", &user.id).await;
    Ok((StatusCode::CREATED, Json(view(&user))))
}

/// Change a user
#[utoipa::path(patch, path = "/users/{id}", tag = "account", params(("id" = String, Path)),
    request_body = ChangeUser, responses((status = 200, body = UserView), Problems))]
async fn change_user(
    State(studio): State<Studio>,
    AdminCaller(caller): AdminCaller,
    UrlPath(id): UrlPath<String>,
    Body(body): Body<ChangeUser>,
) -> Result<Json<UserView>, ApiProblem> {
    let missing = || ApiProblem::not_found("user-not-found", "id", "User", &id);
    let accounts = studio.server().accounts();
    accounts.user(&id).await?.ok_or_else(missing)?;
    if let Some(word) = &body.role {
        accounts.set_role(&id, role(word)?).await?;
    }
    if let Some(password) = body.password {
        let changed = accounts.set_password(&id, &Secret::new(password)).await;
        changed.map_err(|problem| ApiProblem::from(problem).at("password"))?;
    }
    if let Some(disabled) = body.disabled {
        accounts.set_disabled(&id, disabled).await?;
    }
    studio.audit(&caller, "user-change", &id).await;
    Ok(Json(view(&accounts.user(&id).await?.ok_or_else(missing)?)))
}

/// List the own tokens
#[utoipa::path(get, path = "/tokens", tag = "account",
    responses((status = 200, body = TokenList), Problems))]
async fn list_tokens(
    State(studio): State<Studio>,
    caller: Caller,
) -> Result<Json<TokenList>, ApiProblem> {
    let tokens = studio.server().tokens().of_user(&caller.id).await?;
    let tokens = tokens.iter().filter(|token| token.revoked_at.is_none()).map(token_view).collect();
    Ok(Json(TokenList { tokens }))
}

/// Create a token
#[utoipa::path(post, path = "/tokens", tag = "account", request_body = CreateToken,
    responses((status = 201, body = NewTokenView), Problems))]
async fn create_token(
    State(studio): State<Studio>,
    caller: Caller,
    Body(body): Body<CreateToken>,
) -> Result<(StatusCode, Json<NewTokenView>), ApiProblem> {
    caller.identity.require_person()?;
    let days = body.expires_in_days;
    if days.is_some_and(|days| !(1..=MAX_TOKEN_DAYS).contains(&days)) {
        let message = format!("Expected 1 to {MAX_TOKEN_DAYS}");
        return Err(ApiProblem::invalid("expires_in_days", message));
    }
    let new = NewApiToken {
        user_id: caller.id.clone(),
        name: line("name", &body.name)?,
        scopes: vec![Scope::everything()],
        lifetime: days.map(|days| Duration::from_secs(days * 24 * 60 * 60)),
    };
    let (token, secret) = studio.server().tokens().create(new).await?;
    studio.audit(&caller, "token-create", &token.id).await;
    let TokenView { id, name, expires_at, .. } = token_view(&token);
    let view = NewTokenView { id, name, token: secret.expose().to_owned(), expires_at };
    Ok((StatusCode::CREATED, Json(view)))
}

/// Revoke a token
#[utoipa::path(delete, path = "/tokens/{id}", tag = "account", params(("id" = String, Path)),
    responses((status = 204), Problems))]
async fn revoke_token(
    State(studio): State<Studio>,
    caller: Caller,
    UrlPath(id): UrlPath<String>,
) -> Result<StatusCode, ApiProblem> {
    studio.server().tokens().revoke(&caller.id, &id).await.map_err(|problem| {
        let problem = ApiProblem::from(problem);
        if problem.status == StatusCode::NOT_FOUND { problem.at("id") } else { problem }
    })?;
    studio.audit(&caller, "token-revoke", &id).await;
    Ok(StatusCode::NO_CONTENT)
}

fn username(text: &str) -> Result<Username, ApiProblem> {
    text.parse().map_err(|error: prowess_server::accounts::UsernameError| {
        ApiProblem::invalid("username", error.to_string())
    })
}

fn role(word: &str) -> Result<Role, ApiProblem> {
    word.parse().map_err(|_| ApiProblem::invalid("role", "Expected `user` or `admin`"))
}

fn view(user: &User) -> UserView {
    UserView {
        id: user.id.clone(),
        username: user.username.to_string(),
        role: user.role.as_str(),
        disabled: user.disabled,
        created_at: crate::timestamp::of_millis(user.created_at.millis()),
    }
}

fn token_view(token: &ApiToken) -> TokenView {
    let time = |time: prowess_server::clock::Timestamp| crate::timestamp::of_millis(time.millis());
    TokenView {
        id: token.id.clone(),
        name: token.name.clone(),
        created_at: time(token.created_at),
        expires_at: token.expires_at.map(time),
        last_used_at: token.last_used_at.map(time),
    }
}

impl Studio {
    /// Writes into the audit log. What was done is done, so a failure is logged and not answered.
    pub(crate) async fn audit(&self, caller: &Caller, action: &'static str, subject: &str) {
        let entry = prowess_server::audit::AuditEntry {
            actor: caller.id.clone(),
            action,
            subject: subject.to_owned(),
            address: None,
            details: json!({}),
        };
        if let Err(error) = self.server().audit().append(entry).await {
            tracing::error!(%error, action, "an action is missing from the audit log");
        }
    }
}
