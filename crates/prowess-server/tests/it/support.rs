//! A server with a database of its own, and a clock that the test moves.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use prowess_server::accounts::{NewUser, Role, User};
use prowess_server::clock::{ManualClock, Timestamp};
use prowess_server::database::{Database, DatabaseUrl};
use prowess_server::{Secret, Server, ServerOptions};
use prowess_testkit::postgres::PrivatePostgres;
use tempfile::TempDir;

/// The password of every user of the tests.
pub(crate) const PASSWORD: &str = "correct horse battery";

/// A server, its database and its clock.
pub(crate) struct Bed {
    pub(crate) server: Server,
    pub(crate) clock: ManualClock,
    pub(crate) url: DatabaseUrl,
    pub(crate) folder: TempDir,
    pub(crate) postgres: Option<Cluster>,
}

/// A cluster of Postgres, in which each case has a database of its own: to start one takes longer than most cases.
pub(crate) type Cluster = Arc<Mutex<PrivatePostgres>>;

/// `None` where Postgres is not installed.
pub(crate) fn cluster() -> Option<Cluster> {
    PrivatePostgres::start().map(|postgres| Arc::new(Mutex::new(postgres)))
}

impl Bed {
    pub(crate) async fn sqlite() -> Bed {
        let folder = tempfile::tempdir().expect("a folder");
        let url = DatabaseUrl::Sqlite(folder.path().join("server.db"));
        Bed::on(url, folder, None).await
    }

    /// A server with a new database of a cluster. The name is that of the case.
    pub(crate) async fn postgres(cluster: &Cluster, name: &str) -> Bed {
        // Longer names are cut off, to the same one for two cases.
        assert!(name.len() <= 63, "{name}");
        let folder = tempfile::tempdir().expect("a folder");
        let url = cluster.lock().expect("a lock").create_database(name);
        Bed::on(DatabaseUrl::Postgres(url), folder, Some(Arc::clone(cluster))).await
    }

    async fn on(url: DatabaseUrl, folder: TempDir, postgres: Option<Cluster>) -> Bed {
        let clock = ManualClock::new(Timestamp::from_seconds(1_800_000_000));
        let server = start(&url, &clock).await;
        Bed { server, clock, url, folder, postgres }
    }

    /// Another node on the same database, or the same node after a restart.
    pub(crate) async fn node(&self) -> Server {
        start(&self.url, &self.clock).await
    }

    pub(crate) fn database(&self) -> &Database {
        self.server.database()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) async fn user(&self, name: &str, role: Role) -> User {
        let new = NewUser {
            username: name.parse().expect("a username"),
            role,
            password: Some(Secret::new(PASSWORD)),
        };
        self.server.accounts().add_user(new).await.expect("the user is added")
    }
}

async fn start(url: &DatabaseUrl, clock: &ManualClock) -> Server {
    let database = Database::open(url).expect("the database opens");
    let options = ServerOptions {
        clock: Arc::new(clock.clone()),
        ..ServerOptions::new("prowess-test", database)
    };
    Server::start(options).await.expect("the server starts")
}

/// Runs each case on SQLite and on Postgres.
macro_rules! on_both {
    ($($name:ident),+ $(,)?) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                super::$name($crate::support::Bed::sqlite().await).await;
            })+
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn postgres() {
            let Some(cluster) = $crate::support::cluster() else { return };
            $({
                // Shown when the case fails.
                eprintln!("postgres: {}", stringify!($name));
                $name($crate::support::Bed::postgres(&cluster, stringify!($name)).await).await;
            })+
        }
    };
}

pub(crate) use on_both;
