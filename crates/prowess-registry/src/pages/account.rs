//! The pages of a signed-in user: namespaces, tokens, trusted publishers, two-factor sign-in.

use std::time::Duration;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::SET_COOKIE;
use prowess_core::{Problem, ProblemKind};
use prowess_server::Secret;
use prowess_server::clock::Timestamp;
use prowess_server::log_in::LogIn;
use prowess_server::tokens::{ApiToken, NewApiToken};

use super::layout::{Layout, Section};
use super::qr::QrDrawing;
use super::response::{PageError, PageResult, page, page_with_status, see_other, sentence};
use super::visitor::{Fields, Posted, Visitor};
use super::words::Moment;
use crate::actor::Action;
use crate::app::AppState;
use crate::error::RegistryError;
use crate::names::SkillId;
use crate::store::NamespaceKind;

/// A link between the account pages.
#[derive(Clone, Debug)]
pub(crate) struct AccountTab {
    pub(crate) label: &'static str,
    pub(crate) address: &'static str,
    pub(crate) is_current: bool,
}

/// The links between the account pages.
pub(crate) fn tabs(current: &str) -> Vec<AccountTab> {
    [
        ("Account", "/account"),
        ("Tokens", "/account/tokens"),
        ("Trusted publishers", "/account/trusted-publishers"),
        ("Two-factor sign-in", "/account/two-factor"),
    ]
    .into_iter()
    .map(|(label, address)| AccountTab { label, address, is_current: address == current })
    .collect()
}

/// The account itself.
#[derive(Debug, Template)]
#[template(path = "page/account/account.html")]
pub(crate) struct AccountPage {
    pub(crate) layout: Layout,
    pub(crate) tabs: Vec<AccountTab>,
    pub(crate) username: String,
    pub(crate) memberships: Vec<MembershipView>,
    pub(crate) invitations: Vec<InvitationView>,
    pub(crate) error: Option<String>,
}

/// A namespace of the user.
#[derive(Clone, Debug)]
pub(crate) struct MembershipView {
    pub(crate) namespace: String,
    pub(crate) kind: &'static str,
    pub(crate) role: &'static str,
}

/// An invitation.
#[derive(Clone, Debug)]
pub(crate) struct InvitationView {
    pub(crate) namespace: String,
    pub(crate) role: &'static str,
    pub(crate) invited_by: String,
    pub(crate) is_transfer: bool,
    pub(crate) expires: Moment,
}

/// The tokens of the user.
#[derive(Debug, Template)]
#[template(path = "page/account/tokens.html")]
pub(crate) struct TokensPage {
    pub(crate) layout: Layout,
    pub(crate) tabs: Vec<AccountTab>,
    pub(crate) tokens: Vec<TokenView>,
    /// A token that was just made. It is shown once.
    pub(crate) made: Option<String>,
    pub(crate) namespace: String,
    pub(crate) error: Option<String>,
}

/// A token, without its secret.
#[derive(Clone, Debug)]
pub(crate) struct TokenView {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) scopes: Vec<String>,
    pub(crate) created: Moment,
    pub(crate) expires: Option<Moment>,
    pub(crate) last_used: Option<Moment>,
}

/// Two-factor sign-in.
#[derive(Debug, Template)]
#[template(path = "page/account/two_factor.html")]
pub(crate) struct TwoFactorPage {
    pub(crate) layout: Layout,
    pub(crate) tabs: Vec<AccountTab>,
    pub(crate) state: TwoFactorState,
    pub(crate) error: Option<String>,
}

/// How far two-factor sign-in is set up.
#[derive(Clone, Debug)]
pub(crate) enum TwoFactorState {
    /// It is off.
    Off,
    /// A secret was made and waits for its first code.
    Confirming {
        /// In groups of four.
        secret: String,
        /// For an authenticator.
        uri: String,
        /// The same as a picture.
        picture: Option<QrDrawing>,
    },
    /// The code was wrong; the authenticator has the secret already.
    Retry,
    /// It was turned on just now. The codes for the day on which the phone is lost are shown once.
    Confirmed { codes: Vec<String> },
    /// It is on.
    On,
}

/// The frame of an account page.
pub(super) fn layout(visitor: &Visitor, title: &str) -> Layout {
    Layout::new(&visitor.visit, title, "Your account on this registry.")
        .in_section(Section::Account)
}

/// The account itself.
pub(super) async fn get_account(State(state): State<AppState>, visitor: Visitor) -> PageResult {
    let template = AccountPage::new(&state, &visitor, None).await?;
    page(&visitor, &template)
}

impl AccountPage {
    async fn new(
        state: &AppState,
        visitor: &Visitor,
        error: Option<String>,
    ) -> Result<Self, PageError> {
        let actor = visitor.actor()?;
        let found = state.registry.account(&actor).await?;
        let now = visitor.visit.now;
        Ok(AccountPage {
            layout: layout(visitor, "Account"),
            tabs: tabs("/account"),
            username: actor.username,
            memberships: found
                .memberships
                .into_iter()
                .map(|membership| MembershipView {
                    namespace: membership.namespace,
                    kind: match membership.kind {
                        NamespaceKind::User => "User",
                        NamespaceKind::Organisation => "Organisation",
                    },
                    role: membership.role.as_str(),
                })
                .collect(),
            invitations: found
                .invitations
                .into_iter()
                .map(|invitation| InvitationView {
                    namespace: invitation.namespace,
                    role: invitation.role.as_str(),
                    invited_by: invitation.invited_by,
                    is_transfer: invitation.is_transfer,
                    expires: Moment::new(invitation.expires, now),
                })
                .collect(),
            error,
        })
    }
}

/// Changes the password. All sessions end, and this browser gets a new one.
pub(super) async fn post_password(
    State(state): State<AppState>,
    Posted { visitor, fields }: Posted,
) -> PageResult {
    let actor = visitor.actor()?;
    let changed = change_password(&state, &visitor, &actor.username, &actor.user_id, &fields).await;
    if let Err(problem) = changed {
        let Some(status) = form_status(&problem) else { return Err(problem.into()) };
        let template = AccountPage::new(&state, &visitor, Some(sentence(&problem))).await?;
        return page_with_status(&visitor, status, &template);
    }
    let Some(user) = state.server.accounts().user(&actor.user_id).await? else {
        return Err(PageError::sign_in());
    };
    let new = state.server.web_sessions().start(&user).await?;
    let mut response = see_other("/account?done=password");
    response.headers_mut().append(SET_COOKIE, new.set_cookie);
    Ok(response)
}

/// Checks the current password within the limits of log-ins, so that a borrowed session can't try passwords.
async fn change_password(
    state: &AppState,
    visitor: &Visitor,
    username: &str,
    user_id: &str,
    fields: &Fields,
) -> Result<(), Problem> {
    let log_in = LogIn {
        username: username.to_owned(),
        password: Secret::new(fields.exact("current")),
        code: None,
        address: visitor.address,
    };
    match state.server.log_ins().authenticate(log_in).await {
        Ok(_) => {}
        // The password was right; the second factor was asked for when the session began.
        Err(problem) if problem.code == "code-required" => {}
        Err(problem) => return Err(problem),
    }
    state.server.accounts().set_password(user_id, &Secret::new(fields.exact("new"))).await
}

/// The status of a page that shows a form again with its problem; none for problems that are no mistake of the visitor.
pub(super) fn form_status(problem: &Problem) -> Option<StatusCode> {
    match problem.kind {
        ProblemKind::InvalidInput => Some(StatusCode::BAD_REQUEST),
        ProblemKind::Unauthorized | ProblemKind::Refused => Some(StatusCode::FORBIDDEN),
        ProblemKind::Conflict => Some(StatusCode::CONFLICT),
        ProblemKind::RateLimited { .. } => Some(StatusCode::TOO_MANY_REQUESTS),
        _ => None,
    }
}

/// Makes an organisation.
pub(super) async fn post_organisation(
    State(state): State<AppState>,
    Posted { visitor, fields }: Posted,
) -> PageResult {
    let actor = visitor.actor()?;
    let made = state.registry.add_organisation(&actor, fields.get("namespace")).await;
    if let Err(RegistryError::Problem(problem)) = made {
        let Some(status) = form_status(&problem) else { return Err(problem.into()) };
        let template = AccountPage::new(&state, &visitor, Some(sentence(&problem))).await?;
        return page_with_status(&visitor, status, &template);
    }
    made?;
    Ok(see_other("/account?done=organisation"))
}

/// Accepts an invitation. One that is not accepted expires.
pub(super) async fn post_invitation(
    State(state): State<AppState>,
    Posted { visitor, fields }: Posted,
) -> PageResult {
    let actor = visitor.actor()?;
    state.registry.accept_invitation(&actor, fields.get("namespace")).await?;
    Ok(see_other("/account?done=joined"))
}

/// The tokens of the user.
pub(super) async fn get_tokens(State(state): State<AppState>, visitor: Visitor) -> PageResult {
    let template = TokensPage::new(&state, &visitor).await?;
    page(&visitor, &template)
}

impl TokensPage {
    async fn new(state: &AppState, visitor: &Visitor) -> Result<Self, PageError> {
        let actor = visitor.actor()?;
        let now = visitor.visit.now;
        let tokens = state.server.tokens().of_user(&actor.user_id).await?;
        Ok(TokensPage {
            layout: layout(visitor, "Tokens"),
            tabs: tabs("/account/tokens"),
            tokens: tokens.iter().map(|token| TokenView::of(token, now)).collect(),
            made: None,
            namespace: actor.username,
            error: None,
        })
    }
}

impl TokenView {
    fn of(token: &ApiToken, now: i64) -> Self {
        let moment = |at: Timestamp| Moment::new(at.seconds(), now);
        TokenView {
            id: token.id.clone(),
            name: token.name.clone(),
            scopes: token.scopes.iter().map(ToString::to_string).collect(),
            created: moment(token.created_at),
            expires: token.expires_at.map(moment),
            last_used: token.last_used_at.map(moment),
        }
    }
}

/// The longest life of a token, in days.
const MAX_TOKEN_DAYS: u64 = 366;
/// Seconds in a day.
const DAY: u64 = 86_400;

/// Makes or revokes a token. A new one is shown in this response and never again.
pub(super) async fn post_token(
    State(state): State<AppState>,
    Posted { visitor, fields }: Posted,
) -> PageResult {
    let actor = visitor.actor()?;
    if fields.get("action") == "revoke" {
        state.server.tokens().revoke(&actor.user_id, fields.get("id")).await?;
        return Ok(see_other("/account/tokens?done=token-revoked"));
    }
    let made = match new_token(&actor.user_id, &fields) {
        Ok(new) => state.server.tokens().create(new).await,
        Err(problem) => Err(problem),
    };
    match made {
        Ok((_, secret)) => {
            let mut template = TokensPage::new(&state, &visitor).await?;
            template.made = Some(secret.expose().to_owned());
            page(&visitor, &template)
        }
        Err(problem) => {
            let Some(status) = form_status(&problem) else { return Err(problem.into()) };
            let mut template = TokensPage::new(&state, &visitor).await?;
            template.error = Some(sentence(&problem));
            page_with_status(&visitor, status, &template)
        }
    }
}

fn new_token(user_id: &str, fields: &Fields) -> Result<NewApiToken, Problem> {
    let invalid =
        |message: &str| Problem::new("invalid-token-request", ProblemKind::InvalidInput, message);
    let target = fields.optional("skill");
    let is_target = |target: &str| {
        let namespace = target.strip_suffix("/*").map(|namespace| format!("{namespace}/x"));
        namespace.as_deref().unwrap_or(target).parse::<SkillId>().is_ok()
    };
    if !target.is_none_or(is_target) {
        return Err(invalid("a limit is `namespace/*` or `namespace/name`"));
    }
    let mut scopes = Vec::new();
    for action in [Action::Publish, Action::Yank, Action::Review, Action::Manage] {
        if fields.get(action.as_str()) != "yes" {
            continue;
        }
        // Only publishing and yanking are about one skill.
        let text = match (action, target) {
            (Action::Publish | Action::Yank, Some(target)) => {
                format!("{}:{target}", action.as_str())
            }
            _ => action.as_str().to_owned(),
        };
        scopes.push(Action::parse_scope(&text).map_err(|error| invalid(&error))?);
    }
    let days = fields.get("days").parse::<u64>().unwrap_or(0);
    if !(1..=MAX_TOKEN_DAYS).contains(&days) {
        return Err(invalid("a token expires after 1 to 366 days"));
    }
    Ok(NewApiToken {
        user_id: user_id.to_owned(),
        name: fields.get("name").to_owned(),
        scopes,
        lifetime: Some(Duration::from_secs(days * DAY)),
    })
}

/// Two-factor sign-in.
pub(super) async fn get_two_factor(visitor: Visitor) -> PageResult {
    let is_on = visitor.user.as_ref().ok_or_else(PageError::sign_in)?.has_totp;
    let state = if is_on { TwoFactorState::On } else { TwoFactorState::Off };
    page(&visitor, &TwoFactorPage::new(&visitor, state))
}

impl TwoFactorPage {
    fn new(visitor: &Visitor, state: TwoFactorState) -> Self {
        TwoFactorPage {
            layout: layout(visitor, "Two-factor sign-in"),
            tabs: tabs("/account/two-factor"),
            state,
            error: None,
        }
    }
}

/// What an authenticator calls this registry.
const ISSUER: &str = "Prowess";

/// Sets two-factor sign-in up, or turns it off.
pub(super) async fn post_two_factor(
    State(state): State<AppState>,
    Posted { visitor, fields }: Posted,
) -> PageResult {
    let user = visitor.user.clone().ok_or_else(PageError::sign_in)?;
    let accounts = state.server.accounts();
    let code = fields.get("code");
    match fields.get("action") {
        "begin" => {
            let enrolment = accounts.begin_totp(&user, ISSUER).await?;
            let (secret, uri) = (enrolment.secret.expose(), enrolment.address.expose());
            let begun = TwoFactorState::Confirming {
                secret: in_groups(secret),
                uri: uri.to_owned(),
                picture: QrDrawing::new(uri),
            };
            page(&visitor, &TwoFactorPage::new(&visitor, begun))
        }
        "confirm" => match accounts.confirm_totp(&user.id, code).await {
            Ok(codes) => {
                let codes = codes.0.iter().map(|code| code.expose().to_owned()).collect();
                page(&visitor, &TwoFactorPage::new(&visitor, TwoFactorState::Confirmed { codes }))
            }
            Err(problem) => wrong_code(&visitor, TwoFactorState::Retry, problem),
        },
        "disable" => {
            if accounts.verify_totp(&user.id, code).await? {
                accounts.disable_totp(&user.id).await?;
                return Ok(see_other("/account/two-factor?done=two-factor-off"));
            }
            let problem = Problem::new("wrong-code", ProblemKind::Refused, "the code is not right");
            wrong_code(&visitor, TwoFactorState::On, problem)
        }
        _ => Err(PageError::invalid("The form has no known action.")),
    }
}

fn wrong_code(visitor: &Visitor, state: TwoFactorState, problem: Problem) -> PageResult {
    let Some(status) = form_status(&problem) else { return Err(problem.into()) };
    let mut template = TwoFactorPage::new(visitor, state);
    template.error = Some(sentence(&problem));
    page_with_status(visitor, status, &template)
}

/// A secret in groups of four, for typing it in.
fn in_groups(secret: &str) -> String {
    let characters: Vec<char> = secret.chars().collect();
    characters.chunks(4).map(|group| group.iter().collect::<String>()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_easy_to_type() {
        assert_eq!(in_groups("JBSWY3DPEHPK3PXPA"), "JBSW Y3DP EHPK 3PXP A");
    }
}
