//! `prowess owner`: who may publish to a namespace.

use clap::{Args, Subcommand, ValueEnum};
use prowess_package::name::SkillName;
use serde_json::{Value, json};

use super::Outcome;
use crate::error::Error;
use crate::packages::account::{Account, Token};
use crate::packages::names::skill_name;
use crate::terminal::printer::{Printer, inline};

/// Manage who may publish to a namespace
///
/// A namespace belongs to a user or to an organisation. Its owners invite others;
/// an invitation counts when it is accepted.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess owner new acme-tools
  prowess owner add acme-tools bob
  prowess owner add acme-tools carol --role owner
  prowess owner accept acme-tools
  prowess owner remove acme-tools bob
  prowess owner transfer acme-tools dave")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Create an organisation, which you own
    New {
        /// Its name
        #[arg(value_name = "NAMESPACE")]
        namespace: String,
    },
    /// List the namespaces that you belong to
    List,
    /// Invite a user
    Add {
        /// The namespace
        #[arg(value_name = "NAMESPACE")]
        namespace: String,
        /// The user
        #[arg(value_name = "USER")]
        user: String,
        /// What the user may do
        #[arg(long, value_enum, default_value_t = MemberRole::Publisher)]
        role: MemberRole,
    },
    /// Accept an invitation
    Accept {
        /// The namespace
        #[arg(value_name = "NAMESPACE")]
        namespace: String,
    },
    /// Remove a user, or leave
    Remove {
        /// The namespace
        #[arg(value_name = "NAMESPACE")]
        namespace: String,
        /// The user
        #[arg(value_name = "USER")]
        user: String,
    },
    /// Offer a namespace to another user, who becomes its only owner
    Transfer {
        /// The namespace
        #[arg(value_name = "NAMESPACE")]
        namespace: String,
        /// The new owner
        #[arg(value_name = "USER")]
        user: String,
    },
}

/// What a member may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum MemberRole {
    /// See private skills
    Reader,
    /// Also publish, yank and deprecate
    Publisher,
    /// Also invite and remove members
    Owner,
}

impl MemberRole {
    fn as_str(self) -> &'static str {
        match self {
            Self::Reader => "reader",
            Self::Publisher => "publisher",
            Self::Owner => "owner",
        }
    }
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    match &arguments.action {
        Action::New { namespace } => {
            let (account, namespace) = open(namespace, printer)?;
            let body = json!({ "name": namespace.as_str() });
            account.post(&["organisations"], &body, Token::Own)?;
            printer.say(&format!("created `{namespace}`, which you own"));
        }
        Action::List => {
            let found = Account::open(None, printer)?.get(&["whoami"], Token::Own)?;
            for membership in found["namespaces"].as_array().into_iter().flatten() {
                let text = |key: &str| membership[key].as_str().unwrap_or_default().to_owned();
                printer.data(&format!(
                    "{}  {}\n",
                    inline(&text("namespace")),
                    inline(&text("role"))
                ));
            }
        }
        Action::Add { namespace, user, role } => {
            invite(namespace, user, *role, false, printer)?;
            printer.say(&format!("invited `{}` to `{namespace}`", inline(user)));
        }
        Action::Transfer { namespace, user } => {
            invite(namespace, user, MemberRole::Owner, true, printer)?;
            printer
                .say(&format!("offered `{namespace}` to `{}`, who has to accept it", inline(user)));
        }
        Action::Accept { namespace } => {
            let (account, namespace) = open(namespace, printer)?;
            account.post(&["namespaces", namespace.as_str(), "accept"], &json!({}), Token::Own)?;
            printer.say(&format!("you belong to `{namespace}` now"));
        }
        Action::Remove { namespace, user } => {
            let (account, namespace) = open(namespace, printer)?;
            let path = ["namespaces", namespace.as_str(), "members", user, "remove"];
            account.post(&path, &json!({}), Token::Own)?;
            printer.say(&format!("removed `{}` from `{namespace}`", inline(user)));
        }
    }
    Ok(Outcome::Fine)
}

fn open(namespace: &str, printer: &mut Printer) -> Result<(Account, SkillName), Error> {
    let namespace = skill_name(namespace)?;
    Ok((Account::open(Some(&namespace), printer)?, namespace))
}

fn invite(
    namespace: &str,
    user: &str,
    role: MemberRole,
    is_transfer: bool,
    printer: &mut Printer,
) -> Result<Value, Error> {
    let (account, namespace) = open(namespace, printer)?;
    let body = json!({ "username": user, "role": role.as_str(), "transfer": is_transfer });
    account.post(&["namespaces", namespace.as_str(), "invitations"], &body, Token::Own)
}
