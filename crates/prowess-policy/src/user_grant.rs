//! Grants that a user gives a skill in addition to what it declares, in the same grammar.

use std::ops::Range;

use prowess_format::permission::{Level, Permission};

use crate::grant::{Grant, GrantError, GrantScope, GrantSource};
use crate::scope::{HostError, PathError, PathRoot, ProgramError, RootedPath, VariableError};

/// Why a text is not a grant that a user can give.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct UserGrantError {
    /// The text, trimmed.
    pub text: String,
    /// The bytes of the text that are wrong.
    pub at: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// What was probably meant.
    pub suggestion: Option<String>,
    /// Whether it is well-formed, but nobody can grant it.
    pub is_refused: bool,
}

/// Parses one grant of the user. `standing` is the folder that relative paths refer to, as a path
/// below the working directory or an absolute one; `None` if it is the working directory.
pub fn parse_user_grant(
    text: &str,
    standing: Option<&RootedPath>,
) -> Result<Vec<Grant>, UserGrantError> {
    let text = text.trim();
    let error = |at: Range<usize>, message: String| UserGrantError {
        text: text.to_owned(),
        at,
        message,
        suggestion: None,
        is_refused: false,
    };
    let permission: Permission =
        text.parse().map_err(|wrong: prowess_format::permission::PermissionError| {
            UserGrantError {
                suggestion: wrong.suggestion.clone(),
                ..error(wrong.at.clone(), wrong.message)
            }
        })?;
    let scope_start = text.len() - permission.scope.as_deref().map_or(0, str::len);
    if permission.level == Level::None {
        return Err(error(0..text.len(), format!("`{text}` grants nothing")));
    }
    let grants =
        Grant::read(&permission, &GrantSource::User(text.to_owned())).map_err(|wrong| {
            let item = item_of(&wrong);
            let found = item.filter(|item| !item.is_empty()).and_then(|item| {
                text[scope_start..].find(item).map(|at| {
                    let start = scope_start + at;
                    start..start + item.len()
                })
            });
            UserGrantError {
                is_refused: nobody_can_grant(&wrong),
                suggestion: suggestion(&permission, &wrong),
                ..error(found.unwrap_or(scope_start..text.len()), wrong.to_string())
            }
        })?;
    let Some(standing) = standing else { return Ok(grants) };
    let place = |grant: Grant| match grant.scope() {
        GrantScope::Path(path) if path.root() == PathRoot::Working => {
            let below = path.below(standing).ok_or_else(|| {
                let message = "the current folder has `*` or `?` in its name, so a relative path would be a pattern: write an absolute path outside of it";
                error(scope_start..text.len(), message.to_owned())
            })?;
            Ok(grant.with_scope(GrantScope::Path(below)))
        }
        _ => Ok(grant),
    };
    grants.into_iter().map(place).collect()
}

/// The part of a scope that an error is about.
fn item_of(error: &GrantError) -> Option<&str> {
    match error {
        GrantError::Path(
            PathError::Climbs(item)
            | PathError::OtherHome(item)
            | PathError::Variable(item)
            | PathError::Backslash(item)
            | PathError::UnknownWildcard(item, _)
            | PathError::PartialDoubleStar(item)
            | PathError::Braces(item),
        )
        | GrantError::Host(
            HostError::Url(item)
            | HostError::Invalid(item)
            | HostError::Wildcard(item)
            | HostError::WildcardAddress(item)
            | HostError::PublicSuffix(item)
            | HostError::Port(item)
            | HostError::Forbidden(item),
        )
        | GrantError::Program(
            ProgramError::Relative(item)
            | ProgramError::Invalid(item)
            | ProgramError::Outside(item),
        )
        | GrantError::Variable(
            VariableError::Invalid(item) | VariableError::Control(item) | VariableError::Own(item),
        )
        | GrantError::Name(item) => Some(item),
        GrantError::Path(PathError::Empty | PathError::TooLong | PathError::ControlCharacter)
        | GrantError::Host(HostError::Empty)
        | GrantError::Program(ProgramError::Empty)
        | GrantError::Unscopable(_)
        | GrantError::Permission(_) => None,
    }
}

/// Whether the text is well-formed, and what it asks for is closed to everybody.
fn nobody_can_grant(error: &GrantError) -> bool {
    matches!(
        error,
        GrantError::Host(HostError::Forbidden(_))
            | GrantError::Variable(VariableError::Control(_) | VariableError::Own(_))
    )
}

fn suggestion(permission: &Permission, error: &GrantError) -> Option<String> {
    let scope = permission.scope.as_deref()?;
    let with = |scope: &str| {
        let plain = Permission { scope: Some(scope.to_owned()), ..permission.clone() };
        plain.to_string()
    };
    match error {
        GrantError::Host(HostError::Url(url)) => {
            let rest = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
            let host = rest.split(['/', '?', '#']).next().filter(|host| !host.is_empty())?;
            Some(with(&scope.replacen(url, host, 1)))
        }
        GrantError::Path(PathError::Variable(path)) => {
            let rest = path.strip_prefix("$HOME").or_else(|| path.strip_prefix("${HOME}"))?;
            Some(with(&format!("~{rest}")))
        }
        GrantError::Unscopable(_) => {
            Some(Permission { scope: None, ..permission.clone() }.to_string())
        }
        _ => None,
    }
}
