//! Measures a registry beside bare servers on the same stack, for `cargo xtask bench registry`: one `name value` a line.
//!
//! The servers are processes of their own, so that their processor time is not that of the requests' sender.

use std::error::Error;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{Path as Part, State};
use axum::response::IntoResponse;
use axum::routing::get;
use bytes::Bytes;
use futures_util::StreamExt as _;
use http::StatusCode;
use http::header::{CONTENT_TYPE, ETAG};
use prowess_http::{AddressFilter, Authorities, ClientOptions, ProxySetting};
use prowess_package::limits::PackageLimits;
use prowess_package::pack::pack;
use prowess_package::tree::{Tree, TreeFile};
use prowess_registry::host::{HostOptions, add_user, new_token};
use prowess_registry::search::{SearchDocument, SearchIndex, SearchRequest};
use prowess_registry::serve;
use prowess_server::accounts::{NewUser, Role};
use prowess_server::tokens::Scope;
use reqwest::Client;
use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, Occur, Query, TermQuery};
use tantivy::schema::{IndexRecordOption, STORED, Schema, TEXT, Value as _};
use tantivy::{Index, ReloadPolicy, TantivyDocument, Term};

/// Requests at a time.
const CLIENTS: usize = 16;
/// Publishers and readers who use a registry at once.
const PUBLISHERS: usize = 50;
const READERS: usize = 500;
/// Words of the invented texts, the first ones much more often than the last.
const WORDS: usize = 5_000;
/// Results of a search.
const RESULTS: usize = 20;
/// Searches of each kind.
const SEARCHES: usize = 300;
/// How long a server rests before its memory is read: longer than it keeps anything for the next request.
const REST: Duration = Duration::from_secs(5);

type Failure = Box<dyn Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["serve", data] => serve_registry(Path::new(data)),
        ["serve-bare", folder] => serve_bare(Path::new(folder)),
        ["searches", count] => searches(count.parse()?),
        ["servers", skills, requests] => {
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
            runtime.block_on(servers(skills.parse()?, requests.parse()?))
        }
        ["load", seconds] => {
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
            runtime.block_on(load(Duration::from_secs(seconds.parse()?)))
        }
        _ => Err("usage: registry_figures servers SKILLS REQUESTS | searches COUNT | load SECONDS"
            .into()),
    }
}

fn print(name: &str, value: f64) -> std::io::Result<()> {
    writeln!(std::io::stdout(), "{name} {value:.3}")
}

// What is measured.

fn host(data: &Path) -> HostOptions {
    HostOptions {
        data: data.to_owned(),
        database: None,
        storage: None,
        upstream: None,
        public_url: None,
    }
}

fn serve_registry(data: &Path) -> Result<(), Failure> {
    serve::run(&host(data), "127.0.0.1:0".parse()?, |started| {
        let _ = writeln!(std::io::stdout(), "http://{}", started.address);
    })?;
    Ok(())
}

/// A file by its name, and the bytes of one that stays in memory: what a server does at least.
fn serve_bare(folder: &Path) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let metadata = Bytes::from(std::fs::read(folder.join("metadata.json"))?);
    let folder = folder.to_owned();
    runtime.block_on(async {
        let router = Router::new()
            .route("/files/{name}", get(file))
            .route(
                "/metadata",
                get(
                    move || async move { ([(CONTENT_TYPE, "application/json")], metadata.clone()) },
                ),
            )
            .with_state(folder);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        writeln!(std::io::stdout(), "http://{}", listener.local_addr()?)?;
        axum::serve(listener, router).await?;
        Ok(())
    })
}

async fn file(State(folder): State<PathBuf>, Part(name): Part<String>) -> impl IntoResponse {
    let path = folder.join(&name);
    match tokio::task::spawn_blocking(move || std::fs::read(path)).await {
        Ok(Ok(bytes)) => {
            let headers =
                [(CONTENT_TYPE, "application/gzip".to_owned()), (ETAG, format!("\"{name}\""))];
            Ok((headers, bytes))
        }
        _ => Err(StatusCode::NOT_FOUND),
    }
}

/// A server in a process of its own, which ends with this value.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start(kind: &str, folder: &Path) -> Result<Self, Failure> {
        let mut command = Command::new(std::env::current_exe()?);
        let mut child = command.arg(kind).arg(folder).stdout(Stdio::piped()).spawn()?;
        let mut url = String::new();
        BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut url)?;
        Ok(Self { child, url: url.trim().to_owned() })
    }

    fn read(&self, file: &str) -> Result<String, Failure> {
        Ok(std::fs::read_to_string(format!("/proc/{}/{file}", self.child.id()))?)
    }

    /// The processor time so far, in seconds: ticks of a hundredth.
    fn processor_time(&self) -> Result<f64, Failure> {
        let text = self.read("stat")?;
        let (_, fields) = text.rsplit_once(')').ok_or("no fields")?;
        let ticks: Vec<&str> = fields.split_whitespace().skip(11).take(2).collect();
        let ticks: Result<Vec<f64>, _> = ticks.iter().map(|ticks| ticks.parse::<f64>()).collect();
        Ok(ticks?.iter().sum::<f64>() / 100.0)
    }

    /// The memory in MiB.
    fn memory(&self) -> Result<f64, Failure> {
        let text = self.read("status")?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no memory")?;
        let kibibytes: f64 = line.trim().trim_end_matches("kB").trim().parse()?;
        Ok(kibibytes / 1024.0)
    }

    /// Requests per second of the server's processor time.
    async fn rate(
        &self,
        client: &Client,
        paths: &[String],
        requests: usize,
    ) -> Result<f64, Failure> {
        let urls: Vec<String> = paths.iter().map(|path| format!("{}{path}", self.url)).collect();
        // Once without measuring: connections, caches, pages of memory.
        ask(client, &urls, requests / 10 + 1).await?;
        let before = self.processor_time()?;
        ask(client, &urls, requests).await?;
        #[expect(clippy::cast_precision_loss, reason = "the numbers are small")]
        let requests = requests as f64;
        Ok(requests / (self.processor_time()? - before).max(0.01))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn ask(client: &Client, urls: &[String], requests: usize) -> Result<(), Failure> {
    let mut answers = futures_util::stream::iter((0..requests).map(|number| {
        let request = client.get(&urls[number % urls.len()]);
        async move { request.send().await?.error_for_status()?.bytes().await }
    }))
    .buffer_unordered(CLIENTS);
    while let Some(answer) = answers.next().await {
        answer?;
    }
    Ok(())
}

// Servers beside each other.

async fn servers(skills: usize, requests: usize) -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let data = folder.path().join("data");
    std::fs::create_dir(&data)?;
    std::fs::write(
        data.join("registry.toml"),
        "new_names = 1000000\npopular_downloads = 1000000000\n",
    )?;
    let tokens = users(&data, CLIENTS).await?;
    let registry = Server::start("serve", &data)?;
    let client = client()?;
    let published = publish(&registry, &client, &tokens, skills).await?;
    print("publish", published)?;

    let download = |number: usize| format!("/api/v1/skills/{}/download", versioned(number));
    let downloads: Vec<String> = (0..skills).map(download).collect();
    let metadata = format!("/api/v1/skills/{}", name_of(0));
    let bare_folder = folder.path().join("bare");
    std::fs::create_dir(&bare_folder)?;
    let mut files = Vec::new();
    for (number, path) in downloads.iter().enumerate() {
        let bytes = client.get(format!("{}{path}", registry.url)).send().await?.bytes().await?;
        std::fs::write(bare_folder.join(format!("{number}.tar.gz")), bytes)?;
        files.push(format!("/files/{number}.tar.gz"));
    }
    let text = client.get(format!("{}{metadata}", registry.url)).send().await?.bytes().await?;
    std::fs::write(bare_folder.join("metadata.json"), text)?;
    let bare = Server::start("serve-bare", &bare_folder)?;

    print("download", registry.rate(&client, &downloads, requests).await?)?;
    print("bare-download", bare.rate(&client, &files, requests).await?)?;
    print("metadata", registry.rate(&client, std::slice::from_ref(&metadata), requests).await?)?;
    print("bare-metadata", bare.rate(&client, &["/metadata".to_owned()], requests).await?)?;
    let few = requests / 10 + 1;
    print("home-milliseconds", 1000.0 / registry.rate(&client, &["/".to_owned()], few).await?)?;
    let pages: Vec<String> = (0..skills).map(|number| format!("/{}", name_of(number))).collect();
    print("page-milliseconds", 1000.0 / registry.rate(&client, &pages, few).await?)?;
    tokio::time::sleep(REST).await;
    print("memory", registry.memory()?)?;
    Ok(())
}

fn client() -> Result<Client, Failure> {
    Ok(prowess_http::client(ClientOptions {
        authorities: Authorities::None,
        proxy: ProxySetting::None,
        addresses: AddressFilter::All,
        connect_timeout: Duration::from_secs(10),
    })?)
}

/// Adds the publishers, each with the token that they publish with.
async fn users(data: &Path, count: usize) -> Result<Vec<String>, Failure> {
    let options = host(data);
    let (server, settings) = (options.server().await?, options.settings()?);
    let mut tokens = Vec::new();
    for number in 0..count {
        let name = format!("user-{number}");
        let new = NewUser { username: name.parse()?, role: Role::User, password: None };
        add_user(&server, &settings, new).await.map_err(|problem| problem.message)?;
        let token = new_token(&server, &name, "bench", vec![Scope::everything()], None).await;
        tokens.push(token.map_err(|problem| problem.message)?.expose().to_owned());
    }
    Ok(tokens)
}

fn name_of(number: usize) -> String {
    format!("user-{}/{}", number % CLIENTS, skill_name(number))
}

/// Two numbers far from each other: names that differ in a letter would wait for a moderator.
fn skill_name(number: usize) -> String {
    format!("skill-{number}-of-{}", number.wrapping_mul(2_654_435_761) % 1_000_003)
}

fn versioned(number: usize) -> String {
    format!("{}/1.0.0", name_of(number))
}

/// Publishes all skills, and returns how many there were in a second.
async fn publish(
    registry: &Server,
    client: &Client,
    tokens: &[String],
    skills: usize,
) -> Result<f64, Failure> {
    let started = Instant::now();
    let mut answers = futures_util::stream::iter((0..skills).map(|number| {
        let owner = number % CLIENTS;
        let request = client.post(format!("{}/api/v1/skills", registry.url));
        let (kind, body) = form(&format!("user-{owner}"), &package(number));
        let request = request.bearer_auth(&tokens[owner]).header(CONTENT_TYPE, kind).body(body);
        async move {
            let answer = request.send().await?;
            let status = answer.status();
            Ok::<_, reqwest::Error>((status, answer.text().await?))
        }
    }))
    .buffer_unordered(CLIENTS);
    while let Some(answer) = answers.next().await {
        let (status, text) = answer?;
        if status != StatusCode::CREATED {
            return Err(format!("publishing failed: {status} {text}").into());
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "the numbers are small")]
    Ok(skills as f64 / started.elapsed().as_secs_f64())
}

fn form(namespace: &str, package: &[u8]) -> (&'static str, Vec<u8>) {
    let mut body = format!(
        "--bench\r\nContent-Disposition: form-data; name=\"namespace\"\r\n\r\n{namespace}\r\n--bench\r\n\
         Content-Disposition: form-data; name=\"package\"; filename=\"p\"\r\n\r\n"
    )
    .into_bytes();
    body.extend_from_slice(package);
    body.extend_from_slice(b"\r\n--bench--\r\n");
    ("multipart/form-data; boundary=bench", body)
}

/// A package of the usual size: 3 files, 10 kB (REGISTRY.md §4).
fn package(number: usize) -> Vec<u8> {
    package_of(&skill_name(number), "1.0.0", number)
}

fn package_of(name: &str, version: &str, number: usize) -> Vec<u8> {
    let manifest = format!(
        "---\nname: {name}\ndescription: {}\nversion: {version}\nlicense: MIT\n---\n\n# {name}\n\n{}\n",
        sentence(number, 12),
        sentence(number + 1, 400)
    );
    let files = [
        ("SKILL.md", manifest),
        ("guide.md", sentence(number + 2, 600)),
        ("more.md", sentence(number + 3, 400)),
    ];
    let files = files.map(|(path, text)| {
        (path.parse().expect("a path"), TreeFile { bytes: text.into_bytes(), executable: false })
    });
    pack(&Tree::from_files(files, &PackageLimits::PACKAGE).expect("a tree"))
}

// Many publishers and readers at once.

/// What one of them has seen.
#[derive(Default)]
struct Seen {
    times: Vec<Duration>,
    /// Answers that no client should get.
    failures: usize,
    /// Answers that ask to wait.
    limited: usize,
    /// Versions that were accepted.
    published: usize,
}

impl Seen {
    async fn note(&mut self, request: reqwest::RequestBuilder) -> Option<StatusCode> {
        let started = Instant::now();
        let status = match request.send().await {
            Ok(answer) => {
                let status = answer.status();
                let read = answer.bytes().await;
                read.ok().map(|_| status)
            }
            Err(_) => None,
        };
        self.times.push(started.elapsed());
        match status {
            Some(StatusCode::TOO_MANY_REQUESTS) => self.limited += 1,
            Some(status) if !status.is_server_error() => {}
            _ => self.failures += 1,
        }
        status
    }
}

async fn load(duration: Duration) -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let data = folder.path().join("data");
    std::fs::create_dir(&data)?;
    std::fs::write(
        data.join("registry.toml"),
        "new_names = 1000000\npopular_downloads = 1000000000\n",
    )?;
    let tokens = users(&data, PUBLISHERS).await?;
    let registry = Server::start("serve", &data)?;
    let client = client()?;
    let end = Instant::now() + duration;
    let publishers = (0..PUBLISHERS).map(|number| {
        tokio::spawn(keep_publishing(
            client.clone(),
            registry.url.clone(),
            tokens[number].clone(),
            number,
            end,
        ))
    });
    let publishers: Vec<_> = publishers.collect();
    let readers = (0..READERS).map(|number| {
        let token = tokens[number % PUBLISHERS].clone();
        tokio::spawn(keep_reading(client.clone(), registry.url.clone(), token, number, end))
    });
    let readers: Vec<_> = readers.collect();
    let (mut writing, mut reading) = (Seen::default(), Seen::default());
    let mut lost = 0;
    for (number, publisher) in publishers.into_iter().enumerate() {
        let seen = publisher.await?;
        let url = format!("{}/api/v1/index/user-{number}/load-{number}", registry.url);
        let index = client.get(url).send().await?.text().await?;
        let kept = index.lines().filter(|line| line.starts_with("{\"version\"")).count();
        lost += seen.published.saturating_sub(kept);
        writing.merge(seen);
    }
    for reader in readers {
        reading.merge(reader.await?);
    }
    #[expect(clippy::cast_precision_loss, reason = "the numbers are small")]
    for (name, number) in [
        ("published", writing.published),
        ("lost", lost),
        ("failures", writing.failures + reading.failures),
        ("limited", writing.limited + reading.limited),
        ("reads", reading.times.len()),
    ] {
        print(name, number as f64)?;
    }
    print("publish-p99", percentile(&mut writing.times, 99))?;
    print("read-p50", percentile(&mut reading.times, 50))?;
    print("read-p99", percentile(&mut reading.times, 99))?;
    Ok(())
}

impl Seen {
    fn merge(&mut self, other: Self) {
        self.times.extend(other.times);
        self.failures += other.failures;
        self.limited += other.limited;
        self.published += other.published;
    }
}

/// Publishes one version after another of a skill of its own.
async fn keep_publishing(
    client: Client,
    url: String,
    token: String,
    number: usize,
    end: Instant,
) -> Seen {
    let mut seen = Seen::default();
    let name = format!("load-{number}");
    while Instant::now() < end {
        let version = format!("1.{}.0", seen.published);
        let (kind, body) = form(&format!("user-{number}"), &package_of(&name, &version, number));
        let request = client.post(format!("{url}/api/v1/skills")).bearer_auth(&token);
        let status = seen.note(request.header(CONTENT_TYPE, kind).body(body)).await;
        if status == Some(StatusCode::CREATED) {
            seen.published += 1;
        } else {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
    seen
}

/// Reads lists, metadata, files, pages, and sometimes searches.
async fn keep_reading(
    client: Client,
    url: String,
    token: String,
    number: usize,
    end: Instant,
) -> Seen {
    let mut seen = Seen::default();
    let owner = number % PUBLISHERS;
    let skill = format!("user-{owner}/load-{owner}");
    let paths = [
        format!("/api/v1/skills/{skill}"),
        "/api/v1/skills?limit=20".to_owned(),
        format!("/api/v1/index/{skill}"),
        format!("/api/v1/skills/{skill}/download"),
        format!("/{skill}"),
        "/".to_owned(),
        "/health".to_owned(),
        "/api/v1/search?q=load".to_owned(),
    ];
    for path in paths.iter().cycle().skip(number) {
        if Instant::now() >= end {
            break;
        }
        seen.note(client.get(format!("{url}{path}")).bearer_auth(&token)).await;
    }
    seen
}

// Searches beside bare tantivy.

/// Numbers that look random and are the same each time.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// A word; low ranks are frequent, as in real texts.
fn word(rank: u64) -> String {
    const SYLLABLES: [&str; 16] = [
        "ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe", "ri", "so", "tu",
        "va",
    ];
    let mut text = String::new();
    let mut rest = rank + 16;
    while rest > 0 {
        text.push_str(SYLLABLES[usize::try_from(rest % 16).unwrap_or(0)]);
        rest /= 16;
    }
    text
}

fn sentence(seed: usize, length: usize) -> String {
    let mut state = seed as u64 ^ 0x9e37_79b9_7f4a_7c15;
    let words = (0..length).map(|_| {
        // The square makes low ranks frequent.
        let place = random(&mut state) % 10_000;
        word(place * place * WORDS as u64 / 100_000_000)
    });
    words.collect::<Vec<_>>().join(" ")
}

fn document(number: usize) -> SearchDocument {
    let time = 1_700_000_000 + i64::try_from(number).unwrap_or(0);
    SearchDocument {
        namespace: format!("user-{}", number % 1_000),
        name: skill_name(number),
        version: "1.0.0".to_owned(),
        description: sentence(number, 12),
        tier: "experimental".to_owned(),
        category: "other".to_owned(),
        dialect: "agent-skills".to_owned(),
        kind: "instructions".to_owned(),
        license: Some("MIT".to_owned()),
        tags: vec![word(number as u64 % 100)],
        published: time,
        created: time,
        updated: time,
        publisher_since: time,
        body: sentence(number + 1, 200),
        ..SearchDocument::default()
    }
}

/// The queries: a frequent word, a rare one, and two words.
fn queries() -> Vec<(&'static str, Vec<String>)> {
    let mut state = 7;
    let mut texts = |from: u64, to: u64, words: usize| -> Vec<String> {
        let mut text = || {
            let words = (0..words).map(|_| word(from + random(&mut state) % (to - from)));
            words.collect::<Vec<_>>().join(" ")
        };
        (0..SEARCHES).map(|_| text()).collect()
    };
    vec![
        ("frequent", texts(10, 100, 1)),
        ("rare", texts(2_000, 5_000, 1)),
        ("two", texts(100, 1_000, 2)),
    ]
}

fn searches(count: usize) -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let ours = SearchIndex::open(&folder.path().join("ours"))?;
    let started = Instant::now();
    let mut batch = Vec::new();
    for number in 0..count {
        batch.push((i64::try_from(number)?, Some(document(number))));
        if batch.len() == 10_000 || number + 1 == count {
            ours.apply(&batch, i64::try_from(number + 1)?)?;
            batch.clear();
        }
    }
    ours.rest();
    print("build-seconds", started.elapsed().as_secs_f64())?;
    let bare = Bare::build(&folder.path().join("bare"), count)?;
    for (kind, texts) in queries() {
        let (mut own, mut other) = (Vec::new(), Vec::new());
        // In turn, so that whatever else the machine does concerns both.
        for text in &texts {
            let request = SearchRequest {
                text: text.clone(),
                limit: RESULTS,
                facets: false,
                ..SearchRequest::default()
            };
            let started = Instant::now();
            ours.search(&request)?;
            own.push(started.elapsed());
            let started = Instant::now();
            bare.search(text)?;
            other.push(started.elapsed());
        }
        let total = |times: &[Duration]| times.iter().sum::<Duration>().as_secs_f64();
        print(&format!("{kind}-ratio"), total(&other) / total(&own))?;
        print(&format!("{kind}-p50"), percentile(&mut own, 50))?;
        print(&format!("{kind}-p99"), percentile(&mut own, 99))?;
        print(&format!("bare-{kind}-p99"), percentile(&mut other, 99))?;
    }
    Ok(())
}

/// In milliseconds.
fn percentile(times: &mut [Duration], percent: usize) -> f64 {
    times.sort_unstable();
    let place = (times.len() * percent / 100).min(times.len().saturating_sub(1));
    times.get(place).map_or(0.0, |time| time.as_secs_f64() * 1000.0)
}

/// The same texts in an index of tantivy without anything of ours.
struct Bare {
    reader: tantivy::IndexReader,
    fields: [tantivy::schema::Field; 3],
    card: tantivy::schema::Field,
}

impl Bare {
    fn build(folder: &Path, count: usize) -> Result<Self, Failure> {
        std::fs::create_dir(folder)?;
        let mut schema = Schema::builder();
        let fields = ["name", "description", "body"].map(|name| schema.add_text_field(name, TEXT));
        let card = schema.add_text_field("card", STORED);
        let index = Index::create_in_dir(folder, schema.build())?;
        let mut writer = index.writer_with_num_threads(1, 64 << 20)?;
        for number in 0..count {
            let source = document(number);
            let mut document = TantivyDocument::default();
            let texts = [&source.name, &source.description, &source.body];
            for (field, text) in fields.iter().zip(texts) {
                document.add_text(*field, text);
            }
            document.add_text(card, serde_json::to_string(&source)?);
            writer.add_document(document)?;
        }
        writer.commit()?;
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        Ok(Self { reader, fields, card })
    }

    /// All words in any of the fields, the best results with what is shown of them.
    fn search(&self, text: &str) -> Result<usize, Failure> {
        let searcher = self.reader.searcher();
        let words = text.split_whitespace().map(|word| {
            let fields = self.fields.iter().map(|field| {
                let term = Term::from_field_text(*field, word);
                let query = TermQuery::new(term, IndexRecordOption::WithFreqs);
                (Occur::Should, Box::new(query) as Box<dyn Query>)
            });
            (Occur::Must, Box::new(BooleanQuery::new(fields.collect())) as Box<dyn Query>)
        });
        let query = BooleanQuery::new(words.collect());
        let found = searcher.search(&query, &TopDocs::with_limit(RESULTS).order_by_score())?;
        let mut size = 0;
        for (_, address) in found {
            let document: TantivyDocument = searcher.doc(address)?;
            size += document.get_first(self.card).and_then(|it| it.as_str()).map_or(0, str::len);
        }
        Ok(size)
    }
}
