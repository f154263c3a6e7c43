//! `prowess serve`: the studio on this machine.

mod user;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use prowess_core::Problem;
use prowess_knowledge::KnowledgeBases;
use prowess_server::database::{Database, DatabaseUrl};
use prowess_server::http::{ServeOptions, Shutdown};
use prowess_server::{Secret, Server, ServerOptions};
use prowess_studio::{CompanySettings, OfferedEmbedder, Studio, StudioLimits, StudioOptions};
use tokio::net::TcpListener;

use super::Outcome;
use crate::error::Error;
use crate::session;
use crate::terminal::printer::Printer;

/// How long requests and runs may take to end after the first signal.
const GRACE: Duration = Duration::from_secs(30);
/// The file of the database in the folder of data.
const DATABASE_FILE: &str = "studio.db";

/// Serve prompt skills, chat, knowledge and workflows to a team
///
/// The studio is a server with a web app and an HTTP API. Skills are files below
/// the folder of data, and everything else is in one database beside them, so
/// that a copy of the folder is a copy of the studio. Models are those of
/// `prowess models`.
///
/// The first start prints a link that makes the first administrator. The link
/// works once, for a day. `prowess serve user add` adds users without it.
///
/// The server speaks HTTP. To reach it from other machines, put a proxy with
/// TLS in front of it.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_long_help = "\
Examples:
  prowess serve
  prowess serve --data /srv/studio --listen 127.0.0.1:8787
  prowess serve user add ada --admin --data /srv/studio
  prowess serve backup /backup/monday --data /srv/studio"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    place: PlaceOptions,
    /// The address to listen on; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8787")]
    listen: SocketAddr,
    /// A table of embeddings, or the URL of a server of them, for knowledge bases
    #[arg(long, value_name = "FILE|URL")]
    embedder: Option<String>,
    /// The embedding model, if the embedder is a server
    #[arg(long, value_name = "MODEL", requires = "embedder")]
    embedding_model: Option<String>,
    /// The OpenID Connect issuer of a company whose users may log in
    #[arg(long, value_name = "URL", requires = "oidc_client", requires = "public_url")]
    oidc_issuer: Option<String>,
    /// The name of this server at the issuer
    #[arg(long, value_name = "ID", requires = "oidc_issuer")]
    oidc_client: Option<String>,
    /// A file with the password of this server at the issuer
    #[arg(long, value_name = "FILE", requires = "oidc_issuer")]
    oidc_secret_file: Option<PathBuf>,
    /// The domain of mail addresses that may log in; all without one
    #[arg(long, value_name = "DOMAIN", requires = "oidc_issuer")]
    oidc_mail_domain: Vec<String>,
    /// The address of this server as browsers know it
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
    /// Runs of skills per minute and user
    #[arg(long, value_name = "NUMBER", default_value_t = StudioLimits::USUAL.runs_per_minute)]
    runs_per_minute: usize,
    /// Runs at a time, of all users
    #[arg(long, value_name = "NUMBER", default_value_t = StudioLimits::USUAL.running)]
    runs: usize,
    /// Runs at a time, of one user
    #[arg(long, value_name = "NUMBER", default_value_t = StudioLimits::USUAL.running_per_user)]
    runs_per_user: usize,
}

#[derive(Subcommand)]
enum Action {
    /// Manage the users of a studio
    User(user::Arguments),
    /// Write a backup into a new folder, also while the server runs
    Backup {
        /// The folder to create
        #[arg(value_name = "FOLDER")]
        folder: PathBuf,
        #[command(flatten)]
        place: PlaceOptions,
    },
    /// Restore a backup into a new folder of data
    Restore {
        /// The folder that `prowess serve backup` wrote
        #[arg(value_name = "FOLDER")]
        folder: PathBuf,
        #[command(flatten)]
        place: PlaceOptions,
    },
}

/// Where the data of a studio is.
#[derive(Args, Clone)]
pub(super) struct PlaceOptions {
    /// The folder with all data [default: `studio` in your data folder]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// A database of Postgres instead of a file, for several servers
    #[arg(long, value_name = "URL")]
    database: Option<String>,
}

impl PlaceOptions {
    fn data(&self) -> Result<PathBuf, Error> {
        match &self.data {
            Some(data) => Ok(data.clone()),
            None => Ok(session::world()?.state.data.join("studio")),
        }
    }

    /// Opens the database. This blocks.
    fn database(&self) -> Result<Database, Error> {
        let data = self.data()?;
        prowess_files::private::private_folder(&data)
            .map_err(|error| Error::io("create", &data, &error))?;
        let url: DatabaseUrl = match &self.database {
            Some(url) => url.parse().map_err(|error| failed(Problem::from(error)))?,
            None => DatabaseUrl::Sqlite(data.join(DATABASE_FILE)),
        };
        Database::open(&url).map_err(|error| failed(Problem::from(error)))
    }

    /// Opens the server's part of the database. This blocks.
    fn server(&self) -> Result<Server, Error> {
        Server::new(ServerOptions::new("prowess-studio", self.database()?))
            .map_err(|error| failed(Problem::from(error)))
    }
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    match &arguments.action {
        Some(Action::User(user)) => user::run(user, printer),
        Some(Action::Backup { folder, place }) => {
            let files = prowess_studio::backup(&place.database()?, &place.data()?, folder);
            let files = files.map_err(failed)?;
            printer.data(&format!("wrote {files} files to `{}`\n", folder.display()));
            Ok(Outcome::Fine)
        }
        Some(Action::Restore { folder, place }) => {
            let files = prowess_studio::restore(&place.database()?, &place.data()?, folder);
            let files = files.map_err(failed)?;
            printer.data(&format!("restored {files} files from `{}`\n", folder.display()));
            Ok(Outcome::Fine)
        }
        None => serve(arguments, printer),
    }
}

fn failed(problem: Problem) -> Error {
    problem.into()
}

fn serve(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let world = session::world()?;
    let server = arguments.place.server()?;
    let studio = Studio::open(
        server.clone(),
        StudioOptions {
            data: arguments.place.data()?,
            config: world.state.config.clone(),
            environment: world.environment.clone(),
            node: node_name(arguments),
            embedders: embedder(arguments)?,
            objects: None,
            company: company(arguments)?,
            limits: StudioLimits {
                runs_per_minute: arguments.runs_per_minute.max(1),
                running: arguments.runs.max(1),
                running_per_user: arguments.runs_per_user.max(1),
                ..StudioLimits::USUAL
            },
        },
    )
    .map_err(failed)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::failed(format!("cannot start the async runtime: {error}")))?;
    runtime.block_on(async {
        let cannot = |error| {
            Error::failed(format!("cannot listen on `{}`: {error}", arguments.listen))
                .hint("choose another address with `--listen`")
        };
        let listener = TcpListener::bind(arguments.listen).await.map_err(cannot)?;
        let address = listener.local_addr().map_err(cannot)?;
        let shutdown = Shutdown::on_signals()
            .map_err(|error| Error::failed(format!("cannot wait for signals: {error}")))?;
        printer.data(&format!("listening on http://{address}\n"));
        let link = server.accounts().create_setup_link().await;
        if let Some(token) = link.map_err(|error| failed(Problem::from(error)))? {
            // After `#`, so that it is in no log of a proxy.
            printer.data(&format!(
                "no users yet: open http://{address}/setup#{} to make the first administrator\n",
                token.expose()
            ));
        }
        if !address.ip().is_loopback() {
            printer.warning("the address is reachable from other machines, without TLS");
        }
        let options = ServeOptions { grace: GRACE, ..ServeOptions::default() };
        let report = studio
            .serve(listener, options, shutdown)
            .await
            .map_err(|error| Error::failed(format!("the server failed: {error}")))?;
        if report.cut_off > 0 {
            printer.warning(&format!("{} connections were cut off", report.cut_off));
        }
        Ok(Outcome::Fine)
    })
}

/// The name of this server among several.
fn node_name(arguments: &Arguments) -> String {
    if arguments.place.database.is_none() {
        return "local".to_owned();
    }
    // Not the same after a restart: the others continue what was running before, and this server is a new one.
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let started = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let started = started.map_or(0, |time| time.as_nanos());
    format!("{} {} {} {started}", host.trim(), arguments.listen, std::process::id())
}

/// The company whose users may log in.
fn company(arguments: &Arguments) -> Result<Option<CompanySettings>, Error> {
    let (Some(issuer), Some(client_id), Some(public_url)) =
        (&arguments.oidc_issuer, &arguments.oidc_client, &arguments.public_url)
    else {
        return Ok(None);
    };
    let client_secret = match &arguments.oidc_secret_file {
        None => None,
        Some(path) => {
            let text = std::fs::read_to_string(path);
            let text = text.map_err(|error| Error::io("read", path, &error))?;
            Some(Secret::new(text.trim_end_matches(['\r', '\n'])))
        }
    };
    let host = issuer.split("//").nth(1).and_then(|rest| rest.split(['/', ':']).next());
    Ok(Some(CompanySettings {
        name: host.unwrap_or(issuer).to_owned(),
        issuer: issuer.clone(),
        client_id: client_id.clone(),
        client_secret,
        public_url: public_url.clone(),
        mail_domains: arguments.oidc_mail_domain.clone(),
    }))
}

/// The embedder that knowledge bases may use.
fn embedder(arguments: &Arguments) -> Result<Vec<OfferedEmbedder>, Error> {
    let Some(given) = &arguments.embedder else { return Ok(Vec::new()) };
    let bases = KnowledgeBases::open(&arguments.place.data()?.join("knowledge"));
    let model = arguments.embedding_model.as_deref();
    let identity = crate::commands::kb::embedder(&bases, given, model)?;
    Ok(vec![OfferedEmbedder { id: "default".to_owned(), identity }])
}
