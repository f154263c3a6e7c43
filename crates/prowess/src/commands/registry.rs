//! `prowess registry`: runs a registry, and manages one.

use std::ffi::OsString;
use std::future::Future;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};
use prowess_registry::actor::Action as TokenScope;
use prowess_registry::backup;
use prowess_registry::host::{self, HostOptions};
use prowess_registry::serve;
use prowess_server::Secret;
use prowess_server::accounts::{NewUser, Role};
use prowess_server::tokens::Scope;
use serde_json::json;

use super::Outcome;
use crate::error::Error;
use crate::packages::options::Format;
use crate::terminal::confirm::can_ask;
use crate::terminal::passphrase;
use crate::terminal::printer::Printer;

/// The variables with the folder, the database, the storage and the registry to mirror.
const DATA_VARIABLE: &str = "PROWESS_REGISTRY_DATA";
const DATABASE_VARIABLE: &str = "PROWESS_REGISTRY_DATABASE";
const STORAGE_VARIABLE: &str = "PROWESS_REGISTRY_STORAGE";
const UPSTREAM_VARIABLE: &str = "PROWESS_REGISTRY_UPSTREAM";
/// A day.
const DAY: Duration = Duration::from_hours(24);

/// Run a registry of skills, and manage its users
///
/// A registry stores, scans, searches and serves skills. Everything is in one
/// folder: the database, the packages and the search index. Users and tokens can
/// be added while it runs.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess registry serve --data ./registry
  prowess registry user add acme --data ./registry
  prowess registry token new --user acme --data ./registry
  prowess registry backup ./monday --data ./registry")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    Serve(ServeArguments),
    User(UserArguments),
    Token(TokenArguments),
    Doctor(DoctorArguments),
    Reindex(ReindexArguments),
    /// Write a backup into a new folder, also while the registry runs
    ///
    /// It has the database, the settings and every package, each compared with its
    /// digest. The search index is built anew from the database.
    Backup {
        /// The folder to create
        #[arg(value_name = "FOLDER")]
        folder: PathBuf,
        #[command(flatten)]
        place: Place,
    },
    /// Restore a backup into a new data folder
    ///
    /// The database may be of another kind than the one that the backup is from.
    Restore {
        /// The folder that `prowess registry backup` wrote
        #[arg(value_name = "FOLDER")]
        folder: PathBuf,
        #[command(flatten)]
        place: Place,
    },
}

/// Where the registry is.
#[derive(Args)]
struct Place {
    #[arg(
        long,
        value_name = "DIR",
        help = "The folder with the database, the packages and the search index [default: registry] \
                [env: PROWESS_REGISTRY_DATA]"
    )]
    data: Option<PathBuf>,
    #[arg(
        long,
        value_name = "URL",
        help = "The database: a file in the folder by default, or a URL of Postgres \
                [env: PROWESS_REGISTRY_DATABASE]"
    )]
    database: Option<String>,
    #[arg(
        long,
        value_name = "URL",
        help = "The storage of packages: the folder by default, or a bucket such as s3://skills \
                [env: PROWESS_REGISTRY_STORAGE]"
    )]
    storage: Option<String>,
}

/// Serve the registry
///
/// Stops on Ctrl-C, after running requests have ended. Without users, it prints a
/// link with which the administrator makes an account. `registry.toml` in the data
/// folder has the settings. A bucket is reached with the usual `AWS_…` variables.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess registry serve
  prowess registry serve --database postgres://db/skills --storage s3://skills
  prowess registry serve --data /srv/skills --public-url https://skills.example")]
struct ServeArguments {
    #[command(flatten)]
    place: Place,
    /// The address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8788")]
    listen: SocketAddr,
    /// The address under which clients reach the registry, behind a reverse proxy
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
    #[arg(
        long,
        value_name = "URL",
        help = "Mirror another registry: fetch from it what is not here, and keep it \
                [env: PROWESS_REGISTRY_UPSTREAM]"
    )]
    upstream: Option<String>,
}

/// Manage users
#[derive(Args)]
struct UserArguments {
    #[command(subcommand)]
    action: UserAction,
}

#[derive(Subcommand)]
enum UserAction {
    /// Add a user, who owns the namespace of that name
    ///
    /// The password is read from the terminal or, with `--password-stdin`, from
    /// standard input. A user without a password publishes with tokens only.
    Add {
        /// The name of the user
        #[arg(value_name = "NAME")]
        name: String,
        /// Let the user administer the registry
        #[arg(long)]
        admin: bool,
        /// Read the password from standard input
        #[arg(long)]
        password_stdin: bool,
        #[command(flatten)]
        place: Place,
    },
}

/// Manage tokens
#[derive(Args)]
struct TokenArguments {
    #[command(subcommand)]
    action: TokenAction,
}

#[derive(Subcommand)]
enum TokenAction {
    /// Create a token, and print it
    ///
    /// The token is shown this once. A scope is an action (`publish`, `yank`,
    /// `manage`, `review`, `moderate`), optionally with what it is for.
    New {
        /// The name of the user
        #[arg(long, value_name = "NAME")]
        user: String,
        /// What the token may do; everything that the user may do by default
        #[arg(long, value_name = "SCOPE")]
        scope: Vec<String>,
        /// For how many days it is valid
        #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=3650))]
        days: Option<u32>,
        /// What it is for
        #[arg(long, value_name = "TEXT", default_value = "command line")]
        name: String,
        #[command(flatten)]
        place: Place,
    },
}

/// Check the database, the audit log and every package
#[derive(Args)]
struct DoctorArguments {
    #[command(flatten)]
    place: Place,
    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Build the search index anew
///
/// The index is a cache. The registry must not run meanwhile.
#[derive(Args)]
struct ReindexArguments {
    #[command(flatten)]
    place: Place,
}

impl Place {
    fn options(&self) -> HostOptions {
        let data = self.data.clone().or_else(|| variable(DATA_VARIABLE).map(PathBuf::from));
        HostOptions {
            data: data.unwrap_or_else(|| PathBuf::from("registry")),
            database: self.database.clone().or_else(|| text_variable(DATABASE_VARIABLE)),
            storage: self.storage.clone().or_else(|| text_variable(STORAGE_VARIABLE)),
            upstream: None,
            public_url: None,
        }
    }

    /// The options of a registry that is there: a misspelt folder must not become a new one.
    fn existing(&self) -> Result<HostOptions, Error> {
        let options = self.options();
        if options.exists() {
            return Ok(options);
        }
        let message = format!("there is no registry in `{}`", options.data.display());
        Err(Error::not_found(message)
            .hint("name its folder with `--data`, or make one with `prowess registry serve`"))
    }
}

/// The value of an environment variable that is set and not empty.
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

fn text_variable(name: &str) -> Option<String> {
    variable(name)?.into_string().ok()
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    match &arguments.action {
        Action::Serve(arguments) => serve(arguments, printer),
        Action::User(UserArguments { action }) => {
            let UserAction::Add { name, admin, password_stdin, place } = action;
            add_user(place, name, *admin, *password_stdin, printer)
        }
        Action::Token(TokenArguments { action }) => new_token(action, printer),
        Action::Doctor(arguments) => doctor(arguments, printer),
        Action::Reindex(arguments) => reindex(&arguments.place, printer),
        Action::Backup { folder, place } => back_up(place, folder, printer),
        Action::Restore { folder, place } => restore(place, folder, printer),
    }
}

fn serve(arguments: &ServeArguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let options = HostOptions {
        public_url: arguments.public_url.clone(),
        upstream: arguments.upstream.clone().or_else(|| text_variable(UPSTREAM_VARIABLE)),
        ..arguments.place.options()
    };
    let data = options.data.display().to_string();
    let served = serve::run(&options, arguments.listen, |started| {
        printer.data(&format!("listening on http://{}\n", started.address));
        printer.note(&format!("the data are in `{data}`"));
        if let Some(link) = &started.setup_link {
            printer.data(&format!("no users yet: open {link} to make the first administrator\n"));
        }
    });
    served.map_err(|error| Error::failed(error.to_string()))?;
    Ok(Outcome::Fine)
}

fn add_user(
    place: &Place,
    name: &str,
    admin: bool,
    password_stdin: bool,
    printer: &mut Printer,
) -> Result<Outcome, Error> {
    let username = name.parse().map_err(|error: prowess_server::accounts::UsernameError| {
        Error::usage(error.to_string())
    })?;
    let password = if password_stdin {
        Some(first_line()?)
    } else if can_ask(printer) {
        Some(passphrase::choose_password(printer)?)
    } else {
        None
    };
    let new = NewUser {
        username,
        role: if admin { Role::Admin } else { Role::User },
        password: password.map(Secret::new),
    };
    let options = place.options();
    let user = wait(async {
        let server = options.server().await.map_err(failed)?;
        let settings = options.settings().map_err(failed)?;
        host::add_user(&server, &settings, new).await.map_err(Error::from)
    })?;
    let what = if admin { "administrator" } else { "user" };
    let name = &user.username;
    let namespace = if host::has_own_namespace(&user) {
        format!("with the namespace `{name}`")
    } else {
        "without a namespace, since the name is reserved".to_owned()
    };
    printer.say(&format!("added the {what} `{name}` {namespace}"));
    Ok(Outcome::Fine)
}

fn new_token(action: &TokenAction, printer: &mut Printer) -> Result<Outcome, Error> {
    let TokenAction::New { user, scope, days, name, place } = action;
    let scopes: Result<Vec<Scope>, _> =
        scope.iter().map(|scope| TokenScope::parse_scope(scope)).collect();
    let mut scopes =
        scopes.map_err(|error| Error::usage(error).hint("such as `publish:acme/*`"))?;
    if scopes.is_empty() {
        scopes.push(Scope::everything());
    }
    let options = place.existing()?;
    let lifetime = days.map(|days| DAY * days);
    let secret = wait(async {
        let server = options.server().await.map_err(failed)?;
        host::new_token(&server, user, name, scopes, lifetime).await.map_err(Error::from)
    })?;
    printer.data(&format!("{}\n", secret.expose()));
    Ok(Outcome::Fine)
}

fn doctor(arguments: &DoctorArguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let options = arguments.place.existing()?;
    let found = wait(async {
        let server = options.server().await.map_err(failed)?;
        host::diagnose(&server, &options.blobs().map_err(failed)?)
            .await
            .map_err(|error| Error::failed(error.to_string()))
    })?;
    match arguments.format {
        Format::Json => printer.json(&json!({
            "versions": found.versions,
            "unnamed_packages": found.unnamed,
            "problems": found.problems,
        })),
        Format::Text => {
            for problem in &found.problems {
                printer.data(&format!("{problem}\n"));
            }
            if found.problems.is_empty() {
                let versions = match found.versions {
                    1 => "1 version is".to_owned(),
                    count => format!("{count} versions are"),
                };
                printer.say(&format!("{versions} in order"));
            }
        }
    }
    Ok(if found.problems.is_empty() { Outcome::Fine } else { Outcome::Findings })
}

fn reindex(place: &Place, printer: &mut Printer) -> Result<Outcome, Error> {
    let options = place.existing()?;
    let count = wait(async {
        let registry = options.registry().await.map_err(failed)?;
        registry.search_index().clear().map_err(|error| {
            Error::failed(error.to_string()).hint("stop the registry first: it has the index open")
        })?;
        while registry.catch_up().await.map_err(|error| Error::failed(error.to_string()))? > 0 {}
        Ok(registry.search_index().len())
    })?;
    printer.say(&format!("indexed {count} skills"));
    Ok(Outcome::Fine)
}

fn back_up(place: &Place, folder: &Path, printer: &mut Printer) -> Result<Outcome, Error> {
    let options = place.existing()?;
    let count = wait(async {
        let database = options.database().await.map_err(failed)?;
        let blobs = options.blobs().map_err(failed)?;
        let written = backup::backup(&database, &blobs, &options.data, folder).await;
        written.map_err(Error::from)
    })?;
    printer.say(&format!("wrote the database and {} to `{}`", packages(count), folder.display()));
    Ok(Outcome::Fine)
}

fn restore(place: &Place, folder: &Path, printer: &mut Printer) -> Result<Outcome, Error> {
    let options = place.options();
    let count = wait(async {
        let database = options.database().await.map_err(failed)?;
        let blobs = options.blobs().map_err(failed)?;
        let restored = backup::restore(&database, &blobs, &options.data, folder).await;
        restored.map_err(Error::from)
    })?;
    printer.say(&format!(
        "restored the database and {} from `{}`",
        packages(count),
        folder.display()
    ));
    Ok(Outcome::Fine)
}

fn packages(count: usize) -> String {
    if count == 1 { "1 package".to_owned() } else { format!("{count} packages") }
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::failed(error.to_string())
}

/// Runs a future to its end on this thread.
fn wait<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Error::failed(format!("cannot start: {error}")))?;
    runtime.block_on(work)
}

/// The first line of standard input.
fn first_line() -> Result<String, Error> {
    let mut line = String::new();
    std::io::stdin()
        .read_line(&mut line)
        .map_err(|error| Error::failed(format!("cannot read the password: {error}")))?;
    Ok(line.trim_end_matches(['\n', '\r']).to_owned())
}
