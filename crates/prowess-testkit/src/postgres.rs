//! A Postgres of its own for a test: a fresh cluster on a free port of the loopback address, in a temporary folder.
//!
//! ```no_run
//! let Some(postgres) = prowess_testkit::postgres::PrivatePostgres::start() else { return };
//! // … pass `postgres.url()` to a server …
//! ```

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, ErrorKind};
use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};

use tempfile::TempDir;

/// The user of clusters, who needs no password.
const USER: &str = "prowess";

/// The system's user that Debian's package creates. Postgres refuses to run as root.
const SYSTEM_USER: &str = "postgres";

/// Ports to try: another process may take one between its choice and the start.
const ATTEMPTS: usize = 5;

/// The log line of a server that accepts connections.
const READY: &str = "database system is ready to accept connections";

/// A running cluster. Dropping it stops it and removes its files.
pub struct PrivatePostgres {
    programs: PathBuf,
    folder: TempDir,
    port: u16,
    server: Option<Child>,
}

impl PrivatePostgres {
    /// Starts a cluster. `None`, with a line on standard error, if Postgres is not installed.
    pub fn start() -> Option<Self> {
        let Some(programs) = programs() else {
            say("SKIPPED: Postgres is not installed (`cargo xtask test` installs it)");
            return None;
        };
        let folder = tempfile::tempdir().expect("a temporary folder");
        let template = template(&programs);
        run(Command::new("cp").arg("-r").arg(&template).arg(folder.path().join("data")));
        let mut postgres = Self { programs, folder, port: 0, server: None };
        postgres.give_to_system_user();
        postgres.launch();
        Some(postgres)
    }

    /// The URL of the database `postgres` of the cluster.
    pub fn url(&self) -> String {
        self.url_of("postgres")
    }

    /// Creates another database and returns its URL.
    pub fn create_database(&self, name: &str) -> String {
        create_database(&self.url(), name)
    }

    fn url_of(&self, database: &str) -> String {
        format!("postgres://{USER}@127.0.0.1:{}/{database}", self.port)
    }

    /// Stops the server at once, as a crash would; [`PrivatePostgres::restart`] starts it again on the same port.
    pub fn crash(&mut self) {
        let Some(mut server) = self.server.take() else {
            return;
        };
        let process = rustix::process::Pid::from_child(&server);
        // It may have ended by itself.
        let _ = rustix::process::kill_process(process, rustix::process::Signal::QUIT);
        let _ = server.wait();
    }

    /// Starts a stopped server again.
    pub fn restart(&mut self) {
        assert!(self.server.is_none(), "the server is running");
        let started = self.try_launch(self.port);
        assert!(started, "Postgres does not start again on port {}", self.port);
    }

    /// Starts the server again with TLS: with a certificate and its key, both as PEM.
    pub fn enable_tls(&mut self, certificate: &str, key: &str) {
        use std::io::Write as _;
        use std::os::unix::fs::PermissionsExt as _;
        self.crash();
        let data = self.folder.path().join("data");
        for (name, text) in [("server.crt", certificate), ("server.key", key)] {
            let path = data.join(name);
            fs::write(&path, text).expect("a file");
            // Postgres refuses a key that others can read.
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("its mode");
        }
        let settings = data.join("postgresql.conf");
        let mut settings = fs::OpenOptions::new().append(true).open(settings).expect("the file");
        settings.write_all(b"ssl = on\n").expect("a setting");
        self.give_to_system_user();
        self.restart();
    }

    fn launch(&mut self) {
        for _ in 0..ATTEMPTS {
            let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
            let port = free.local_addr().expect("an address").port();
            drop(free);
            if self.try_launch(port) {
                return;
            }
        }
        panic!("Postgres does not start");
    }

    fn try_launch(&mut self, port: u16) -> bool {
        let mut command = Command::new(self.programs.join("postgres"));
        command.arg("-D").arg(self.folder.path().join("data"));
        command.args(["-p", &port.to_string()]);
        // A test has nothing that must survive a power cut.
        for setting in [
            "listen_addresses=127.0.0.1",
            "unix_socket_directories=",
            "fsync=off",
            "full_page_writes=off",
            "max_connections=200",
            "shared_buffers=16MB",
            "logging_collector=off",
        ] {
            command.args(["-c", setting]);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        as_system_user(&mut command);
        let mut server = command.spawn().expect("Postgres can be started");
        let log = server.stderr.take().expect("it is piped");
        if !is_ready(log) {
            let _ = server.wait();
            return false;
        }
        self.port = port;
        self.server = Some(server);
        true
    }

    fn give_to_system_user(&self) {
        if let Some((user, group)) = system_user() {
            let owner = format!("{user}:{group}");
            run(Command::new("chown").arg("-R").arg(owner).arg(self.folder.path()));
        }
    }
}

impl Drop for PrivatePostgres {
    fn drop(&mut self) {
        self.crash();
    }
}

/// Creates another database in the cluster of a URL, which another process may have started, and returns its URL.
pub fn create_database(cluster: &str, name: &str) -> String {
    let programs = programs().expect("Postgres is installed");
    let mut createdb = Command::new(programs.join("createdb"));
    run(createdb.arg("--maintenance-db").arg(cluster).arg(name));
    let (server, _) = cluster.rsplit_once('/').expect("the URL names a database");
    format!("{server}/{name}")
}

/// Reads the log until the server is ready, and then for as long as it runs.
fn is_ready(log: ChildStderr) -> bool {
    let mut lines = BufReader::new(log).lines();
    let mut seen = Vec::new();
    while let Some(Ok(line)) = lines.next() {
        if line.contains(READY) {
            // A full pipe would stop the server.
            std::thread::spawn(move || lines.for_each(drop));
            return true;
        }
        seen.push(line);
    }
    say(&seen.join("\n"));
    false
}

/// A cluster that was never started, made once per version of Postgres: to copy it is faster than to make another.
fn template(programs: &Path) -> PathBuf {
    let digest: String = programs
        .display()
        .to_string()
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' })
        .collect();
    let root = std::env::temp_dir().join(format!("prowess-test-postgres{digest}"));
    match fs::create_dir(&root) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => panic!("cannot create `{}`: {error}", root.display()),
    }
    let lock = File::create(root.join("lock")).expect("a lock file");
    lock.lock().expect("the lock");
    let data = root.join("data");
    let done = root.join("done");
    if done.exists() {
        return data;
    }
    let _ = fs::remove_dir_all(&data);
    fs::create_dir(&data).expect("a folder");
    if let Some((user, group)) = system_user() {
        run(Command::new("chown").arg(format!("{user}:{group}")).arg(&data));
    }
    let mut initdb = Command::new(programs.join("initdb"));
    initdb.arg("-D").arg(&data);
    initdb.args(["-U", USER, "--auth=trust", "--encoding=UTF8", "--locale=C"]);
    initdb.args(["--no-sync", "--wal-segsize=1"]);
    as_system_user(&mut initdb);
    run(&mut initdb);
    fs::write(&done, "").expect("a file");
    data
}

/// The folder with the newest server that is installed.
fn programs() -> Option<PathBuf> {
    let has_server = |folder: &Path| {
        ["initdb", "postgres", "createdb"].iter().all(|program| folder.join(program).is_file())
    };
    let versions = fs::read_dir("/usr/lib/postgresql").ok();
    let mut folders: Vec<(u32, PathBuf)> = versions
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path())))
        .map(|(version, folder)| (version, folder.join("bin")))
        .filter(|(_, folder)| has_server(folder))
        .collect();
    folders.sort();
    let elsewhere = || {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).find(|folder| has_server(folder))
    };
    folders.pop().map(|(_, folder)| folder).or_else(elsewhere)
}

/// The user and group to run as, if this process is root.
fn system_user() -> Option<(u32, u32)> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let accounts = fs::read_to_string("/etc/passwd").ok()?;
    let line = accounts.lines().find(|line| line.split(':').next() == Some(SYSTEM_USER))?;
    let mut numbers = line.split(':').skip(2).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

fn as_system_user(command: &mut Command) {
    if let Some((user, group)) = system_user() {
        command.uid(user).gid(group);
    }
    // Its own folder may be closed to that user.
    command.current_dir("/");
}

#[expect(clippy::print_stderr, reason = "a test that was skipped must say so")]
fn say(text: &str) {
    eprintln!("{text}");
}

fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
