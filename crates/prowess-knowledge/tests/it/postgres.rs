//! The same suite on a real database: Postgres with pgvector, started by the test and ended with it.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use prowess_core::Retriever;
use prowess_knowledge::embed::{EmbedError, Embedder, EmbedderIdentity, EmbedderSource};
use prowess_knowledge::{
    AddOutcome, BaseName, BaseSettings, KnowledgeDocument, Language, PostgresBases,
};

use crate::shelf::{Shelf, Words, document, query, suite, wait};

/// Postgres refuses to run as root; `nobody` has this number on every system that matters.
const NOBODY: u32 = 65_534;

/// A database that goes with its folder. It listens on a socket in the folder and nowhere else.
struct Database {
    server: Child,
    folder: tempfile::TempDir,
}

impl Database {
    /// Starts one, when `cargo xtask test` has installed it.
    #[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
    fn start() -> Option<Self> {
        let Some(installed) = std::env::var_os("PROWESS_PGVECTOR").map(PathBuf::from) else {
            eprintln!(
                "SKIPPED: no Postgres with pgvector: `cargo xtask test` sets PROWESS_PGVECTOR"
            );
            return None;
        };
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let is_root = {
            use std::os::unix::fs::MetadataExt as _;
            folder.path().metadata().expect("it is ours").uid() == 0
        };
        let programs = if is_root { own_copy(&installed, folder.path()) } else { installed };
        let data = folder.path().join("data");
        let command = |program: &str| {
            let mut command = Command::new(programs.join("bin").join(program));
            command.arg("-D").arg(&data).env("LC_ALL", "C").current_dir(folder.path());
            if is_root {
                command.uid(NOBODY).gid(NOBODY);
            }
            command
        };
        let made = command("initdb")
            .args(["--username=test", "--auth=trust", "--no-sync", "--encoding=UTF8"])
            .output()
            .expect("initdb starts");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let mut server = command("postgres")
            .args(["-c", "listen_addresses=", "-c", "fsync=off", "-k"])
            .arg(folder.path())
            .stderr(Stdio::piped())
            .spawn()
            .expect("postgres starts");
        let mut log = BufReader::new(server.stderr.take().expect("it is a pipe"));
        let mut said = String::new();
        while !said.contains("ready to accept connections") {
            let count = log.read_line(&mut said).expect("its log is text");
            assert!(count > 0, "{said}");
        }
        // What it says later has to go somewhere, or it would wait for a reader.
        std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        Some(Self { server, folder })
    }

    fn address(&self) -> String {
        format!("host={} user=test dbname=postgres", self.folder.path().display())
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // Its children end when it does.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// Programs that another user can reach, whoever may see the folder that they were installed in.
fn own_copy(installed: &Path, folder: &Path) -> PathBuf {
    std::os::unix::fs::chown(folder, Some(NOBODY), Some(NOBODY)).expect("root may do that");
    let packages = installed.parent().and_then(Path::parent).expect("it is a package of Python");
    let target = folder.join("packages/pgserver");
    std::fs::create_dir_all(&target).expect("it is ours");
    // The programs look for their libraries relative to themselves.
    let copy = |from: PathBuf, to: &Path| {
        let status = Command::new("cp").arg("-r").arg(from).arg(to).status().expect("cp starts");
        assert!(status.success());
    };
    copy(installed.to_owned(), &target);
    copy(packages.join("pgserver.libs"), &folder.join("packages"));
    target.join("pginstall")
}

struct InDatabase {
    bases: PostgresBases,
    name: BaseName,
}

impl Shelf for InDatabase {
    fn add(&mut self, document: &KnowledgeDocument) -> AddOutcome {
        self.bases.add(&self.name, document).expect("it can be added")
    }

    fn remove(&mut self, id: &str) -> bool {
        self.bases.remove(&self.name, id).expect("it can be removed")
    }

    fn retriever(&self) -> (&dyn Retriever, &str) {
        (&self.bases, self.name.as_str())
    }
}

#[test]
fn a_base_in_postgres_keeps_every_promise() {
    let Some(database) = Database::start() else { return };
    let address = database.address();
    let bases = PostgresBases::connect(&address, Arc::new(Words::new())).expect("it connects");
    let name: BaseName = "test".parse().expect("it is a name");
    let settings =
        BaseSettings { language: Language::English, embedder: Some(Words::new().stamp().clone()) };
    bases.create(&name, &settings).expect("it can be made");
    let again = bases.create(&name, &settings).expect_err("it is there");
    assert_eq!(again.to_string(), "the knowledge base `test` already exists");
    suite(&mut InDatabase { bases: bases.clone(), name: name.clone() });

    let missing = wait(bases.search("nope", &query("x", 1))).expect_err("there is none");
    assert_eq!(missing.message, "there is no knowledge base `nope`");
    let other = PostgresBases::connect(&address, Arc::new(Other)).expect("it connects");
    let error = other.add(&name, &document("x", "text", &[])).expect_err("it is refused");
    assert!(error.to_string().contains("with 256 dimensions"), "{error}");
    assert!(matches!(&error.remedies()[..], [prowess_core::Remedy::ReplaceEmbedder(_)]), "{error}");
}

#[test]
fn a_base_with_words_only_is_embedded_later() {
    let Some(database) = Database::start() else { return };
    let embedder = Arc::new(Words::new());
    let stamp = embedder.stamp().clone();
    let bases = PostgresBases::connect(&database.address(), embedder).expect("it connects");
    assert!(bases.has_vectors());
    let name: BaseName = "words".parse().expect("it is a name");
    let settings = BaseSettings { language: Language::English, embedder: None };
    bases.create(&name, &settings).expect("it can be made");
    let text = "Bees hum in the garden.\u{0} They are busy.";
    bases.add(&name, &document("a", text, &[])).expect("it can be added");
    let stored = bases.document_by_id("words", "a").expect("a document").expect("it is there");
    // The database has no NUL characters; everything else stays in its place.
    assert_eq!(stored.text, text.replace('\0', " "));
    let listed = bases.documents("words").expect("a list");
    assert_eq!((listed.len(), listed[0].bytes), (1, text.len() as u64));
    assert_eq!(bases.chunks_of("words", "a").expect("chunks").len(), 1);
    let figures = bases.figures("words").expect("figures");
    assert_eq!((figures.documents, figures.chunks), (1, 1));
    assert_eq!(figures.text_bytes, text.len() as u64);
    let found = bases.search_now("words", &query("bees", 3)).expect("a search");
    assert!(found.len() == 1 && found[0].score > 0.0, "{found:?}");
    assert!(bases.search_vectors("words", &query("bees", 3)).expect("a search").is_empty());

    bases.reembed(&name, Some(&stamp)).expect("it is embedded");
    assert_eq!(bases.settings("words").expect("settings").embedder, Some(stamp));
    assert_eq!(bases.search_vectors("words", &query("bees", 3)).expect("a search").len(), 1);
    bases.reembed(&name, None).expect("the vectors are removed");
    assert!(bases.search_vectors("words", &query("bees", 3)).expect("a search").is_empty());
    assert!(bases.delete(&name).expect("it is deleted"));
    assert!(!bases.delete(&name).expect("it is gone"));
    let missing = bases.figures("words").expect_err("it is gone");
    assert_eq!(missing.to_string(), "there is no knowledge base `words`");
}

/// An embedder that no base was made with.
struct Other;

impl Embedder for Other {
    fn stamp(&self) -> &EmbedderIdentity {
        static STAMP: std::sync::OnceLock<EmbedderIdentity> = std::sync::OnceLock::new();
        STAMP.get_or_init(|| EmbedderIdentity {
            source: EmbedderSource::Table { digest: "other".to_owned() },
            dimension: 3,
        })
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        Ok(texts.iter().map(|_| vec![1.0; 3]).collect())
    }
}
