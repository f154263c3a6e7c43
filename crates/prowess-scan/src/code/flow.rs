//! Values through a program: what is read, decoded or downloaded, and where it ends up. One reader for all languages whose
//! programs come as an outline.

use std::collections::HashMap;
use std::ops::Range;

use prowess_format::permission::{Domain, Level};
use prowess_python::{Expression, ExpressionKind, Statement};

use super::assemble::unescape;
use super::shell;
use crate::decode;
use crate::fact::{Fact, FactKind, Labels};
use crate::input::has_extension;
use crate::known::{hosts, secrets};

/// The most expressions that are looked at, and the longest text that is put together.
const MAX_STEPS: usize = 400_000;
const MAX_TEXT: usize = 64 << 10;
/// How deep programs in programs are read.
const MAX_DEPTH: usize = 3;
/// The most names of secrets in one value.
const MAX_SECRETS: usize = 8;

/// Reads a program in a text that is run by another one.
pub(crate) type Inner = fn(usize, &str, usize) -> Result<Vec<Fact>, String>;

/// The name of what a function without a name gets from the call that it is passed to.
pub(crate) const PASSED: &str = "\u{0}passed";

/// Which variables an assignment inside a function reaches.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scopes {
    /// Those of the function alone.
    Functions,
    /// Also those around it.
    Closures,
}

/// The facts of a program that begins at an offset of a document.
pub(crate) fn follow(
    document: usize,
    base: usize,
    statements: &[Statement],
    inner: Inner,
    scopes: Scopes,
) -> Vec<Fact> {
    let mut reader = Reader {
        document,
        base,
        inner,
        scopes,
        frames: vec![HashMap::new()],
        functions: HashMap::new(),
        files: HashMap::new(),
        returns: Vec::new(),
        facts: Vec::new(),
        steps: 0,
        current: None,
    };
    // Twice, so that functions are known before they are called.
    reader.block(statements);
    reader.facts.clear();
    reader.steps = 0;
    reader.block(statements);
    reader.facts.dedup();
    reader.facts
}

/// What is known of a value.
#[derive(Clone, Debug, Default, PartialEq)]
struct Value {
    labels: Labels,
    /// Its text, if that is known.
    text: Option<String>,
    /// What it is called, from the module on.
    path: Option<String>,
    /// The secret variables and files in it.
    secrets: Vec<String>,
    /// Where it was downloaded from.
    url: Option<String>,
    /// The parameters of the current function in it.
    parameters: u32,
    /// The texts of its elements.
    items: Vec<Option<String>>,
}

impl Value {
    fn text(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { text: (text.len() <= MAX_TEXT).then_some(text), ..Self::default() }
    }

    fn add(&mut self, other: &Self) {
        self.labels.add(other.labels);
        self.parameters |= other.parameters;
        if self.url.is_none() {
            self.url.clone_from(&other.url);
        }
        for secret in &other.secrets {
            if self.secrets.len() < MAX_SECRETS && !self.secrets.contains(secret) {
                self.secrets.push(secret.clone());
            }
        }
    }

    /// The same origin, without text and name.
    fn derived(&self) -> Self {
        Self { text: None, path: None, items: Vec::new(), ..self.clone() }
    }
}

/// What a function does with its parameters.
#[derive(Clone, Debug, Default)]
struct Summary {
    returns: Value,
    sends: u32,
    runs: u32,
}

struct Reader {
    document: usize,
    base: usize,
    inner: Inner,
    scopes: Scopes,
    frames: Vec<HashMap<String, Value>>,
    functions: HashMap<String, Summary>,
    files: HashMap<String, Value>,
    returns: Vec<Value>,
    facts: Vec<Fact>,
    steps: usize,
    /// The function whose body is read.
    current: Option<String>,
}

const RUN: &[&str] = &[
    "os.system",
    "os.popen",
    "os.popen2",
    "os.popen3",
    "subprocess.run",
    "subprocess.call",
    "subprocess.check_call",
    "subprocess.check_output",
    "subprocess.Popen",
    "subprocess.getoutput",
    "subprocess.getstatusoutput",
    "commands.getoutput",
    "asyncio.create_subprocess_shell",
    "asyncio.create_subprocess_exec",
    "pty.spawn",
    "os.execl",
    "os.execlp",
    "os.execv",
    "os.execve",
    "os.execvp",
    "os.execvpe",
    "os.spawnl",
    "os.spawnlp",
    "os.spawnv",
    "os.spawnvp",
    "os.posix_spawn",
    "os.startfile",
    "child_process.exec",
    "child_process.execSync",
    "child_process.spawn",
    "child_process.spawnSync",
    "child_process.execFile",
    "child_process.execFileSync",
    "child_process.fork",
    "execa",
    "execaCommand",
    "execaSync",
    "execaCommandSync",
    "shelljs.exec",
    "Bun.spawn",
    "Bun.spawnSync",
    "Deno.Command",
    "Deno.run",
    "zx.$",
    "nt.system",
    "posix.system",
    "sh",
    "runpy.run_path",
];
const EVALUATE: &[&str] = &[
    "exec",
    "eval",
    "builtins.exec",
    "builtins.eval",
    "__builtins__.exec",
    "__builtins__.eval",
    "execfile",
    "Function",
    "vm.runInNewContext",
    "vm.runInThisContext",
    "vm.runInContext",
    "vm.Script",
    "setTimeout",
    "setInterval",
    "window.eval",
    "globalThis.eval",
    "global.eval",
    "marshal.loads",
    "types.FunctionType",
    "pickle.loads",
    "runpy.run_module",
    "importlib.import_module.exec",
];
const FETCH: &[&str] = &[
    "requests.get",
    "requests.request",
    "urllib.request.urlopen",
    "urllib2.urlopen",
    "urlopen",
    "httpx.get",
    "httpx.request",
    "httpx.stream",
    "fetch",
    "axios.get",
    "axios",
    "axios.request",
    "http.get",
    "https.get",
    "http.request",
    "https.request",
    "got",
    "got.get",
    "node-fetch",
    "superagent.get",
    "urllib.request.Request",
    "urllib.request.urlretrieve",
    "aiohttp.request",
    "wget.download",
    "needle",
    "needle.get",
    "undici.fetch",
    "undici.request",
    "ky.get",
    "ky",
    "urllib3.request",
];
const SEND: &[&str] = &[
    "requests.post",
    "requests.put",
    "requests.patch",
    "requests.request",
    "requests.delete",
    "httpx.post",
    "httpx.put",
    "httpx.request",
    "urllib.request.urlopen",
    "urllib.request.Request",
    "urllib2.urlopen",
    "urlopen",
    "fetch",
    "axios.post",
    "axios.put",
    "axios",
    "axios.request",
    "http.request",
    "https.request",
    "got.post",
    "got",
    "superagent.post",
    "node-fetch",
    "navigator.sendBeacon",
    "aiohttp.request",
    "needle.post",
    "undici.fetch",
    "undici.request",
    "ky.post",
    "requests.get",
    "httpx.get",
    "axios.get",
    "https.get",
    "http.get",
    "smtplib.sendmail",
];
/// Methods that send, whatever they are called on.
const SEND_METHODS: &[&str] = &[
    "post",
    "put",
    "sendall",
    "sendto",
    "sendmail",
    "send_message",
    "storbinary",
    "sendBeacon",
    "patch",
    "urlopen",
    "send",
    "upload_file",
    "upload_fileobj",
    "put_object",
];
const RESOLVE: &[&str] = &[
    "socket.gethostbyname",
    "socket.getaddrinfo",
    "socket.gethostbyname_ex",
    "dns.resolver.resolve",
    "dns.resolver.query",
    "dns.lookup",
    "dns.resolve",
    "dns.resolve4",
    "dns.resolveTxt",
    "dns.promises.lookup",
    "dns.promises.resolve",
];
const DECODE: &[&str] = &[
    "base64.b64decode",
    "base64.decodebytes",
    "base64.standard_b64decode",
    "base64.urlsafe_b64decode",
    "base64.b85decode",
    "base64.a85decode",
    "base64.b32decode",
    "base64.b16decode",
    "binascii.a2b_base64",
    "binascii.unhexlify",
    "binascii.a2b_hex",
    "bytes.fromhex",
    "bytearray.fromhex",
    "codecs.decode",
    "zlib.decompress",
    "gzip.decompress",
    "lzma.decompress",
    "bz2.decompress",
    "atob",
    "Buffer.from",
    "unescape",
    "decodeURIComponent",
    "String.fromCharCode",
    "String.fromCodePoint",
    "zlib.gunzipSync",
    "zlib.inflateSync",
    "zlib.brotliDecompressSync",
    "window.atob",
    "urllib.parse.unquote",
];
const ENCODE: &[&str] = &[
    "base64.b64encode",
    "base64.encodebytes",
    "base64.urlsafe_b64encode",
    "base64.b32encode",
    "base64.b85encode",
    "binascii.hexlify",
    "btoa",
    "zlib.compress",
    "gzip.compress",
    "zlib.gzipSync",
    "zlib.deflateSync",
    "codecs.encode",
];
const OPEN: &[&str] = &[
    "open",
    "io.open",
    "codecs.open",
    "pathlib.Path",
    "Path",
    "fs.readFileSync",
    "fs.readFile",
    "fs.promises.readFile",
    "fs.createReadStream",
    "fs.readdirSync",
    "fs.readdir",
    "fs.promises.readdir",
    "shutil.copy",
    "shutil.copyfile",
    "shutil.copy2",
    "shutil.copytree",
    "shutil.make_archive",
    "sqlite3.connect",
    "os.listdir",
    "os.walk",
    "os.scandir",
    "glob.glob",
    "glob.iglob",
    "os.open",
    "builtins.open",
    "Deno.readTextFile",
    "Deno.readTextFileSync",
    "Bun.file",
    "zipfile.ZipFile",
    "tarfile.open",
    "configparser.read",
    "fs/promises.readFile",
    "linecache.getlines",
];
const WRITE: &[&str] = &[
    "fs.writeFileSync",
    "fs.writeFile",
    "fs.appendFileSync",
    "fs.appendFile",
    "fs.promises.writeFile",
    "fs.promises.appendFile",
    "Deno.writeTextFile",
    "Deno.writeTextFileSync",
    "fs/promises.writeFile",
    "fs/promises.appendFile",
    "fs.createWriteStream",
];
const SPY: &[&str] = &[
    "pyperclip.paste",
    "PIL.ImageGrab.grab",
    "ImageGrab.grab",
    "pyautogui.screenshot",
    "mss.mss",
    "clipboardy.read",
    "clipboardy.readSync",
    "sounddevice.rec",
    "browser_cookie3.chrome",
    "browser_cookie3.load",
    "browser_cookie3.firefox",
    "keyring.get_password",
    "win32clipboard.GetClipboardData",
    "navigator.clipboard.readText",
    "getpass.getpass",
];
/// Calls that open a database.
const DATABASES: &[&str] = &[
    "sqlite3.connect",
    "aiosqlite.connect",
    "duckdb.connect",
    "psycopg.connect",
    "psycopg2.connect",
    "asyncpg.connect",
    "asyncpg.create_pool",
    "pymysql.connect",
    "MySQLdb.connect",
    "mysql.connector.connect",
    "pymongo.MongoClient",
    "motor.motor_asyncio.AsyncIOMotorClient",
    "sqlalchemy.create_engine",
    "redis.Redis",
    "redis.StrictRedis",
    "redis.from_url",
    "cx_Oracle.connect",
    "oracledb.connect",
    "pyodbc.connect",
    "better-sqlite3",
    "pg.Client",
    "pg.Pool",
    "mysql.createConnection",
    "mysql2.createConnection",
    "mongodb.MongoClient",
    "mongodb.MongoClient.connect",
    "redis.createClient",
    "ioredis",
];
/// Modules that control mouse, keyboard and screen.
const DESKTOP: &[&str] = &[
    "pyautogui",
    "pynput",
    "mss",
    "ImageGrab",
    "pywinauto",
    "uiautomation",
    "pydirectinput",
    "robotjs",
    "keyboard",
    "mouse",
    "@nut-tree/nut-js",
    "Xlib",
];
/// Calls that connect to servers of the Model Context Protocol.
const MCP_CLIENTS: &[&str] = &[
    "mcp.ClientSession",
    "mcp.client.session.ClientSession",
    "mcp.client.stdio.stdio_client",
    "mcp.stdio_client",
    "mcp.client.sse.sse_client",
    "mcp.client.streamable_http.streamablehttp_client",
    "fastmcp.Client",
];
/// Calls that change files without writing a text to them.
const CHANGES_FILES: &[&str] = &[
    "os.remove",
    "os.unlink",
    "os.rename",
    "os.replace",
    "os.rmdir",
    "os.removedirs",
    "os.mkdir",
    "os.makedirs",
    "os.symlink",
    "os.chmod",
    "shutil.rmtree",
    "shutil.move",
    "fs.unlinkSync",
    "fs.unlink",
    "fs.rmSync",
    "fs.rm",
    "fs.rmdirSync",
    "fs.renameSync",
    "fs.mkdirSync",
    "fs.mkdir",
    "Deno.remove",
];
/// Ends of names of files that hold no program.
const MEDIA: &[&str] = &[
    "png", "jpg", "jpeg", "gif", "ico", "bmp", "webp", "wav", "mp3", "pdf", "woff", "woff2", "ttf",
];
const SERIALIZE: &[&str] = &[
    "json.dumps",
    "JSON.stringify",
    "str",
    "repr",
    "pickle.dumps",
    "yaml.dump",
    "json.dump",
    "urllib.parse.urlencode",
];
/// Names under which a request takes what is a way to log in.
const LOGIN: &[&str] = &[
    "headers",
    "auth",
    "cookies",
    "cert",
    "Authorization",
    "authorization",
    "x-api-key",
    "X-API-Key",
    "api_key",
    "apiKey",
    "credentials",
];

fn is(path: &str, known: &[&str]) -> bool {
    let path = path.strip_prefix("node:").unwrap_or(path);
    known.contains(&path)
}

impl Reader {
    fn fact(&mut self, span: &Range<usize>, kind: FactKind) {
        if self.facts.len() < 4_000 {
            self.facts.push(Fact {
                document: self.document,
                range: self.base + span.start..self.base + span.end,
                kind,
            });
        }
    }

    /// Notes what a permission stands for.
    fn used(&mut self, span: &Range<usize>, domain: Domain, level: Level, object: String) {
        self.fact(span, FactKind::Use { domain, level, object });
    }

    /// Calls that a permission stands for and whose values are not followed.
    fn plain_uses(&mut self, span: &Range<usize>, path: &str, method: &str, values: &[Value]) {
        let root = path.split('.').next().unwrap_or(path);
        let first = || values.first().and_then(|value| value.text.clone()).unwrap_or_default();
        if is(path, DATABASES) {
            self.used(span, Domain::Database, Level::Read, first());
        } else if matches!(
            method,
            "execute" | "executemany" | "executescript" | "prepare" | "query"
        ) && shell::writes_database(&first())
        {
            self.used(span, Domain::Database, Level::Write, String::new());
        } else if DESKTOP.contains(&root) && method != root {
            self.used(span, Domain::Desktop, Level::Control, String::new());
        } else if is(path, MCP_CLIENTS) || path.starts_with("@modelcontextprotocol/sdk/client") {
            self.used(span, Domain::Mcp, Level::Connect, String::new());
        } else if is(path, CHANGES_FILES) {
            self.used(span, Domain::Filesystem, Level::Write, first());
        }
    }

    fn set(&mut self, name: &str, value: Value) {
        // A member of an object is seen by all of its methods.
        if name.starts_with("self.")
            && let Some(frame) = self.frames.first_mut()
        {
            let known = frame.get(name).map(Value::derived).unwrap_or_default();
            let mut value = value;
            value.add(&known);
            frame.insert(name.to_owned(), value);
            return;
        }
        if self.scopes == Scopes::Closures {
            let last = self.frames.len() - 1;
            if let Some(outer) =
                self.frames[..last].iter_mut().rev().find_map(|frame| frame.get_mut(name))
            {
                outer.add(&value);
            }
        }
        if let Some(frame) = self.frames.last_mut() {
            frame.insert(name.to_owned(), value);
        }
    }

    /// Adds a value to a variable that holds several.
    fn put_into(&mut self, name: &str, value: &Value) {
        for frame in self.frames.iter_mut().rev() {
            if let Some(known) = frame.get_mut(name) {
                known.add(value);
                if known.items.len() < 64 {
                    known.items.push(value.text.clone());
                }
                return;
            }
        }
        if name.starts_with("self.") {
            self.set(name, value.derived());
        }
    }

    fn get(&self, name: &str) -> Option<&Value> {
        self.frames.iter().rev().find_map(|frame| frame.get(name))
    }

    fn block(&mut self, statements: &[Statement]) {
        for statement in statements {
            self.steps += 1;
            if self.steps > MAX_STEPS {
                return;
            }
            match statement {
                Statement::Assign { targets, value } => {
                    // A function that gets a name.
                    if let (ExpressionKind::Function(body), [name]) =
                        (&value.kind, targets.as_slice())
                    {
                        self.function(name, &[], body);
                    }
                    let mut value = self.value(value);
                    for target in targets {
                        // An element of a map is a part of the map.
                        let known = self.get(target).map(Value::derived);
                        if let Some(known) = known
                            && value.text.is_none()
                        {
                            value.add(&known);
                        }
                        let leaf = target.rsplit('.').next().unwrap_or(target);
                        if leaf != target {
                            self.set(leaf, value.derived());
                        }
                        self.set(target, value.clone());
                    }
                }
                Statement::Import { path, name } => {
                    self.set(name, Value { path: Some(path.clone()), ..Value::default() });
                }
                Statement::Expression(value) => {
                    self.value(value);
                }
                Statement::Return(value) => {
                    let value = self.value(value);
                    if let Some(returned) = self.returns.last_mut() {
                        if returned.text.is_none() && returned.labels == Labels::NONE {
                            returned.text.clone_from(&value.text);
                        }
                        returned.add(&value);
                        for secret in &value.secrets {
                            if !returned.secrets.contains(secret)
                                && returned.secrets.len() < MAX_SECRETS
                            {
                                returned.secrets.push(secret.clone());
                            }
                        }
                    }
                }
                Statement::Function { name, parameters, body } => {
                    self.function(name, parameters, body);
                }
                Statement::Block(body) => self.block(body),
            }
        }
    }

    fn function(&mut self, name: &str, parameters: &[String], body: &[Statement]) {
        if self.frames.len() > 12 {
            return;
        }
        let mut frame = HashMap::new();
        for (at, parameter) in parameters.iter().enumerate() {
            let bit = if at < 32 { 1 << at } else { 0 };
            frame.insert(parameter.clone(), Value { parameters: bit, ..Value::default() });
        }
        self.frames.push(frame);
        self.returns.push(Value::default());
        let outer = self.current.replace(name.to_owned());
        self.block(body);
        self.current = outer;
        self.frames.pop();
        let mut returns = self.returns.pop().unwrap_or_default();
        returns.parameters = 0;
        self.functions.entry(name.to_owned()).or_default().returns = returns;
    }

    fn value(&mut self, expression: &Expression) -> Value {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return Value::default();
        }
        match &expression.kind {
            ExpressionKind::Text(text) => Value::text(text.clone()),
            ExpressionKind::Number(number) => {
                Value { text: Some(number.to_string()), ..Value::default() }
            }
            ExpressionKind::Name(name) if name == PASSED => {
                self.get(PASSED).cloned().unwrap_or_default()
            }
            ExpressionKind::Name(name) => match self.get(name) {
                Some(known) => {
                    let mut known = known.clone();
                    known.path.get_or_insert_with(|| name.clone());
                    known
                }
                None => Value { path: Some(name.clone()), ..Value::default() },
            },
            ExpressionKind::Member(owner, member) => self.member(owner, member),
            ExpressionKind::Element(owner, index) => self.element(owner, index),
            ExpressionKind::Call { function, arguments, named } => {
                self.call(expression, function, arguments, named)
            }
            ExpressionKind::Sum(left, right) => {
                let (left, right) = (self.value(left), self.value(right));
                let mut sum = left.derived();
                sum.add(&right);
                sum.items = left.items.iter().chain(&right.items).take(64).cloned().collect();
                // What is computed is marked, so that the rest can be read.
                let is_known = left.text.is_some() && right.text.is_some();
                let (one, other) = (left.text.as_deref(), right.text.as_deref());
                let is_path = [one, other].iter().flatten().any(|text| text.contains(['/', '.']));
                if (is_known || is_path)
                    && one.map_or(2, str::len) + other.map_or(2, str::len) <= MAX_TEXT
                {
                    sum.text = Some(format!("{}{}", one.unwrap_or("{}"), other.unwrap_or("{}")));
                    if is_known {
                        sum.labels.add(Labels::ASSEMBLED);
                    }
                }
                sum
            }
            ExpressionKind::Template(parts) => {
                let mut result = Value::default();
                let mut text = Some(String::new());
                for part in parts {
                    let part = self.value(part);
                    result.add(&part);
                    match (&mut text, &part.text) {
                        (Some(text), Some(part)) if text.len() + part.len() <= MAX_TEXT => {
                            text.push_str(part);
                        }
                        // What is computed is marked, so that the rest can be read.
                        (Some(text), None) => text.push_str("{}"),
                        _ => text = None,
                    }
                }
                result.text = text;
                result
            }
            ExpressionKind::List(elements) => {
                let mut result = Value::default();
                for element in elements {
                    let element = self.value(element);
                    result.add(&element);
                    if result.items.len() < 4_096 {
                        result.items.push(element.text);
                    }
                }
                result
            }
            ExpressionKind::Map(entries) => {
                let mut result = Value::default();
                for (key, value) in entries {
                    let key = key.as_ref().map(|key| self.value(key));
                    let value = self.value(value);
                    let is_login = key
                        .as_ref()
                        .and_then(|key| key.text.as_deref().or(key.path.as_deref()))
                        .is_some_and(|key| LOGIN.contains(&key));
                    if let Some(key) = &key {
                        result.items.push(key.text.clone().or_else(|| key.path.clone()));
                    }
                    // A secret that is encoded is not sent to log in.
                    let is_odd_header = key.as_ref().and_then(|key| key.text.as_deref())
                        == Some("headers")
                        && value.labels.has(
                            Labels::ENCODED.with(Labels::SECRET_FILE).with(Labels::ENVIRONMENT),
                        );
                    if !is_login || is_odd_header {
                        result.add(&value);
                    }
                }
                result
            }
            ExpressionKind::Reversed(inner) => {
                let inner = self.value(inner);
                let mut result = inner.derived();
                result.text = inner.text.map(|text| text.chars().rev().collect());
                result.items = inner.items.into_iter().rev().collect();
                result.labels.add(Labels::ASSEMBLED);
                result
            }
            ExpressionKind::Function(body) => {
                self.returns.push(Value::default());
                self.frames.push(HashMap::new());
                if self.frames.len() < 12 {
                    self.block(body);
                }
                self.frames.pop();
                self.returns.pop().unwrap_or_default()
            }
            ExpressionKind::Other(inner) => {
                let mut result = Value::default();
                let mut texts = Vec::new();
                for inner in inner {
                    let inner = self.value(inner);
                    result.add(&inner);
                    texts.push(inner.text);
                }
                // `home / ".ssh" / "id_rsa"`
                let known: Vec<String> = texts.into_iter().flatten().collect();
                if !known.is_empty() {
                    let path = known.join("/");
                    if path.contains('.') || path.contains('/') {
                        result.text = Some(path).filter(|path| path.len() < 4_096);
                    }
                }
                result
            }
        }
    }

    fn member(&mut self, owner: &Expression, member: &str) -> Value {
        let whole = owner.span.clone();
        let owner = self.value(owner);
        let path = owner.path.as_ref().map(|path| format!("{path}.{member}"));
        if let Some(path) = &path {
            if let Some(known) = self.get(path) {
                let mut known = known.clone();
                known.path = Some(path.clone());
                return known;
            }
            if is_environment(path) {
                return Value {
                    labels: Labels::ENVIRONMENT,
                    path: Some(path.clone()),
                    ..Value::default()
                };
            }
        }
        if owner.path.as_deref().is_some_and(is_environment)
            && !matches!(
                member,
                "get" | "items" | "copy" | "keys" | "values" | "pop" | "setdefault" | "toObject"
            )
        {
            self.used(&whole, Domain::Env, Level::Read, member.to_owned());
            return variable(member);
        }
        if is_request(owner.path.as_deref()) {
            return Value { labels: Labels::REQUEST, path: path.clone(), ..Value::default() };
        }
        let mut result = owner.derived();
        result.text = owner.text.clone().filter(|_| matches!(member, "value" | "text" | "name"));
        result.path = path.or_else(|| Some(format!("?.{member}")));
        result
    }

    fn element(&mut self, owner: &Expression, index: &Expression) -> Value {
        let whole = owner.span.clone();
        let owner = self.value(owner);
        let index = self.value(index);
        if owner.path.as_deref().is_some_and(is_environment) {
            self.used(&whole, Domain::Env, Level::Read, index.text.clone().unwrap_or_default());
            return match &index.text {
                Some(name) => variable(name),
                // Every name is used one after the other.
                None if index.labels.has(Labels::ENVIRONMENT) => {
                    Value { labels: Labels::ENVIRONMENT, ..Value::default() }
                }
                None => Value { labels: Labels::VARIABLE, ..Value::default() },
            };
        }
        if is_request(owner.path.as_deref()) {
            return Value { labels: Labels::REQUEST, ..Value::default() };
        }
        let mut result = owner.derived();
        if let Some(name) = &index.text {
            let base = owner.path.as_deref().unwrap_or("?");
            let is_global = matches!(
                base,
                "globals"
                    | "__builtins__"
                    | "builtins"
                    | "window"
                    | "globalThis"
                    | "global"
                    | "locals"
                    | "vars"
                    | "globals()"
                    | "this"
            );
            result.path = Some(if is_global { name.clone() } else { format!("{base}.{name}") });
            if index.labels.has(Labels::ASSEMBLED.with(Labels::DECODED)) {
                result.labels.add(Labels::ASSEMBLED);
            }
            if let (Ok(at), true) = (name.parse::<usize>(), !owner.items.is_empty()) {
                result.text = owner.items.get(at).cloned().flatten();
            }
        }
        result
    }

    fn call(
        &mut self,
        whole: &Expression,
        function: &Expression,
        arguments: &[Expression],
        named: &[(String, Expression)],
    ) -> Value {
        let callee = self.value(function);
        // What a method is called on.
        let owner = match &function.kind {
            ExpressionKind::Member(owner, _) => Some(self.value(owner)),
            _ => None,
        };
        let passed = Self::passed(&callee, owner.as_ref(), arguments);
        if let (Some(passed), Some(frame)) = (&passed, self.frames.last_mut()) {
            frame.insert(PASSED.to_owned(), passed.clone());
        }
        let values: Vec<Value> = arguments.iter().map(|argument| self.value(argument)).collect();
        if passed.is_some()
            && let Some(frame) = self.frames.last_mut()
        {
            frame.remove(PASSED);
        }
        let named: Vec<(&str, Value)> =
            named.iter().map(|(name, value)| (name.as_str(), self.value(value))).collect();
        let path = callee.path.clone().unwrap_or_default();
        let path = path.strip_prefix("node:").map(str::to_owned).unwrap_or(path);
        let method = path.rsplit('.').next().unwrap_or(&path).to_owned();
        let span = &whole.span;
        let is_disguised = callee.labels.has(Labels::ASSEMBLED);
        let mut all = Value::default();
        for value in values.iter().chain(named.iter().map(|(_, value)| value)) {
            all.add(value);
        }

        let is_dump = |value: &Value| value.path.as_deref().is_some_and(is_environment);
        let is_listed =
            matches!(method.as_str(), "items" | "copy" | "keys" | "values" | "toObject");
        if values.iter().any(is_dump) || is_listed && owner.as_ref().is_some_and(is_dump) {
            self.used(span, Domain::Env, Level::Read, String::new());
        }
        self.plain_uses(span, &path, &method, &values);
        // Names that are looked up.
        match path.as_str() {
            "__import__" | "importlib.import_module" | "require" | "import" => {
                let module = values.first().and_then(|value| value.text.clone());
                let module = module.map(|module| {
                    module.strip_prefix("node:").map(str::to_owned).unwrap_or(module)
                });
                let labels = values.first().map_or(Labels::NONE, |value| value.labels);
                let is_hidden = labels.has(Labels::ASSEMBLED.with(Labels::DECODED));
                return Value {
                    path: module,
                    labels: if is_hidden { Labels::ASSEMBLED } else { Labels::NONE },
                    ..Value::default()
                };
            }
            "getattr" if values.len() >= 2 => {
                let base = values[0].path.clone().unwrap_or_else(|| "?".to_owned());
                let is_hidden = values[1].labels.has(Labels::ASSEMBLED.with(Labels::DECODED))
                    || values[0].labels.has(Labels::ASSEMBLED);
                if let Some(name) = &values[1].text {
                    let base = if matches!(base.as_str(), "__builtins__" | "builtins") {
                        String::new()
                    } else {
                        format!("{base}.")
                    };
                    let path = format!("{base}{name}");
                    let mut labels = if is_hidden { Labels::ASSEMBLED } else { Labels::NONE };
                    if is_environment(&path) {
                        labels.add(Labels::ENVIRONMENT);
                    }
                    return Value { path: Some(path), labels, ..Value::default() };
                }
                return values[0].derived();
            }
            "functools.partial" | "partial" if !values.is_empty() => {
                let mut result = values[0].clone();
                for value in &values[1..] {
                    result.add(value);
                }
                return result;
            }
            "globals" | "locals" | "vars" => return Value { path: Some(path), ..Value::default() },
            _ => {}
        }

        if is(&path, RUN)
            || (is_disguised
                && matches!(
                    method.as_str(),
                    "system"
                        | "popen"
                        | "run"
                        | "Popen"
                        | "call"
                        | "check_output"
                        | "exec"
                        | "execSync"
                        | "spawn"
                        | "eval"
                ))
        {
            let is_connected = |(name, value): &(&str, Value)| {
                matches!(*name, "stdin" | "stdout" | "stderr") && value.labels.has(Labels::SOCKET)
            };
            if named.iter().any(is_connected) {
                self.fact(span, FactKind::ReverseShell);
            }
            self.run(span, &path, &values, &all, is_disguised);
            let mut result = all.derived();
            result.labels = Labels(result.labels.0 & !Labels::ASSEMBLED.0);
            if let Some(line) = whole_line(&values) {
                let made = shell_output(&line);
                result.labels.add(made.labels);
                result.url = result.url.or(made.url);
                if made.labels.has(Labels::SECRET_FILE.with(Labels::SECRET_VARIABLE)) {
                    result.secrets.push("a file".to_owned());
                }
            }
            return result;
        }
        if is(&path, EVALUATE) {
            self.evaluate(span, &path, &values, &all, is_disguised);
            return all.derived();
        }
        if let Some(result) = Self::text_method(&path, &method, owner.as_ref(), &values) {
            return result;
        }
        if is(&path, RESOLVE) {
            let is_secret = all.labels.has(
                Labels::SECRET_VARIABLE
                    .with(Labels::SECRET_FILE)
                    .with(Labels::ENVIRONMENT)
                    .with(Labels::ENCODED)
                    .with(Labels::SPIED),
            );
            if is_secret {
                self.fact(span, FactKind::ResolveSend { what: all.labels });
            }
        }
        let is_written = method == "request"
            && values
                .first()
                .and_then(|value| value.text.as_deref())
                .is_some_and(|verb| matches!(verb, "POST" | "PUT" | "PATCH"))
            || method == "write" && owner.as_ref().is_some_and(is_of_request);
        let is_method_send = owner.is_some()
            && (SEND_METHODS.contains(&method.as_str()) || is_written)
            && path != "send"
            && !is(&path, SEND);
        if is(&path, SEND) || is_method_send {
            self.send(span, &values, &named, owner.as_ref(), is_method_send, &method);
        }
        if is(&path, FETCH)
            || matches!(method.as_str(), "recv" | "recvfrom" | "urlretrieve")
            || (owner.is_some()
                && matches!(method.as_str(), "get" | "request")
                && values
                    .first()
                    .and_then(|value| value.text.as_deref())
                    .is_some_and(|text| text.starts_with("http")))
        {
            let url = values
                .first()
                .and_then(|value| value.text.clone().or_else(|| value.url.clone()))
                .filter(|url| url.contains("://"));
            let host = url.as_deref().map(|url| hosts::split(url).0).unwrap_or_default();
            self.used(span, Domain::Network, Level::Read, host);
            self.hidden_endpoint(span, values.first());
            let result = Value { labels: Labels::NETWORK, url, ..Value::default() };
            if matches!(method.as_str(), "urlretrieve" | "download")
                && let Some(file) = values.get(1).and_then(|value| value.text.clone())
            {
                self.files.insert(file, result.clone());
            }
            return result;
        }
        if is(&path, DECODE) {
            return decoded(&path, &values, &all);
        }
        if is(&path, ENCODE)
            || (method == "toString"
                && values
                    .first()
                    .and_then(|value| value.text.as_deref())
                    .is_some_and(|text| matches!(text, "base64" | "hex" | "base64url")))
        {
            let mut result = all.derived();
            if let Some(owner) = &owner {
                result.add(owner);
            }
            result.labels.add(Labels::ENCODED);
            return result;
        }
        if matches!(path.as_str(), "os.homedir" | "Path.home" | "pathlib.Path.home") {
            return Value { text: Some("~".to_owned()), path: Some(path), ..Value::default() };
        }
        if path.ends_with("constructor.constructor") {
            let how = "hides the name of the function that it runs";
            self.fact(span, FactKind::DynamicExec { how, is_disguised: true });
        }
        if matches!(method.as_str(), "exec_module" | "load_module" | "load_source")
            && all
                .labels
                .with(owner.as_ref().map_or(Labels::NONE, |owner| owner.labels))
                .has(Labels::NETWORK)
        {
            let url = all.url.clone();
            self.fact(span, FactKind::DownloadExec { url });
        }
        // `fetch(url).then(answer => answer.text()).then(eval)`
        if method == "then"
            && let Some(owner) = &owner
            && owner.labels.has(Labels::NETWORK)
            && values
                .iter()
                .any(|value| value.path.as_deref().is_some_and(|path| is(path, EVALUATE)))
        {
            self.fact(span, FactKind::DownloadExec { url: owner.url.clone() });
        }
        if matches!(
            path.as_str(),
            "shutil.rmtree"
                | "fs.rmSync"
                | "fs.rm"
                | "fs.rmdirSync"
                | "fs.promises.rm"
                | "rimraf"
                | "rimraf.sync"
        ) && values.first().and_then(|value| value.text.as_deref()).is_some_and(|target| {
            matches!(
                target.trim_end_matches(['/', '*']),
                "" | "~" | "/home" | "/etc" | "/usr" | "/var" | "C:\\"
            )
        }) {
            let what = "deletes a whole home or system folder";
            self.fact(span, FactKind::Destroy { what });
        }
        if let ExpressionKind::Member(holder, _) = &function.kind
            && matches!(
                method.as_str(),
                "append"
                    | "add"
                    | "extend"
                    | "update"
                    | "insert"
                    | "push"
                    | "unshift"
                    | "set"
                    | "add_header"
                    | "setHeader"
            )
            && let Some(name) = dotted(holder)
        {
            for value in &values {
                self.put_into(&name, value);
            }
        }
        if is(&path, SPY) {
            return Value { labels: Labels::SPIED, ..Value::default() };
        }
        if is(&path, SERIALIZE) {
            let mut vendors: Vec<&str> = all
                .secrets
                .iter()
                .map(|secret| secret.split('_').next().unwrap_or(secret))
                .collect();
            vendors.sort_unstable();
            vendors.dedup();
            if vendors.len() >= 2
                && all.secrets.len() >= 2
                && all.labels.has(Labels::SECRET_VARIABLE)
            {
                self.fact(span, FactKind::CollectSecrets { count: all.secrets.len() });
            }
            return all.derived();
        }
        if matches!(
            path.as_str(),
            "os.getenv"
                | "os.environ.get"
                | "os.environ.pop"
                | "os.environ.setdefault"
                | "Deno.env.get"
                | "os.getenvb"
        ) {
            let name = values.first().and_then(|value| value.text.clone());
            self.used(span, Domain::Env, Level::Read, name.unwrap_or_default());
            return match values.first().and_then(|value| value.text.as_deref()) {
                Some(name) => variable(name),
                None => Value { labels: Labels::VARIABLE, ..Value::default() },
            };
        }
        if matches!(path.as_str(), "Deno.env.toObject") {
            return Value { labels: Labels::ENVIRONMENT, ..Value::default() };
        }
        if matches!(
            path.as_str(),
            "socket.socket"
                | "socket.create_connection"
                | "net.connect"
                | "net.Socket"
                | "net.createConnection"
                | "tls.connect"
                | "WebSocket"
                | "ws"
                | "ws.WebSocket"
                | "websocket.create_connection"
                | "websockets.connect"
                | "socket.io-client"
                | "socket.io-client.io"
                | "paramiko.SSHClient"
                | "ftplib.FTP"
        ) {
            let host = values.first().and_then(|value| value.items.first().cloned().flatten());
            self.used(span, Domain::Network, Level::Write, host.unwrap_or_default());
            return Value { labels: Labels::SOCKET, path: Some(path), ..Value::default() };
        }
        if is(&path, WRITE) {
            self.written(span, &values, 0);
            return Value::default();
        }
        if is(&path, OPEN) {
            return self.open(span, &path, &values, &named);
        }
        // A method that writes to a file that was opened.
        if let Some(owner) = &owner
            && matches!(method.as_str(), "write" | "write_text" | "write_bytes" | "writelines")
        {
            let file = owner.text.clone();
            if let Some(file) = file {
                self.files.insert(file.clone(), all.derived());
                let content =
                    values.first().and_then(|value| value.text.clone()).unwrap_or_default();
                self.start(span, &file, &content, all.labels);
            } else if let ExpressionKind::Member(holder, _) = &function.kind
                && let Some(name) = dotted(holder)
            {
                self.put_into(&name, &all.derived());
            }
            return Value::default();
        }
        if let Some(summary) =
            self.functions.get(&path).or_else(|| self.functions.get(&method)).cloned()
        {
            return self.known_function(span, &summary, &values, &all);
        }
        let mut result = all.derived();
        if let Some(owner) = &owner {
            result.add(owner);
        }
        if callee.labels.has(Labels::REQUEST) {
            result.labels.add(Labels::REQUEST);
        }
        result.path = Some(path).filter(|path| !path.is_empty());
        if let Some(owner) = &owner
            && matches!(
                method.as_str(),
                "expanduser"
                    | "resolve"
                    | "absolute"
                    | "read"
                    | "read_text"
                    | "read_bytes"
                    | "joinpath"
                    | "open"
                    | "toString"
                    | "readlines"
            )
        {
            result.text.clone_from(&owner.text);
        }
        if matches!(
            path_end(result.path.as_deref()),
            "expanduser" | "join" | "joinpath" | "expandvars" | "resolve" | "abspath" | "normpath"
        ) {
            // What is computed is marked, so that the rest can be read.
            let is_known = values.iter().any(|value| value.text.is_some());
            let texts: Vec<String> = values
                .iter()
                .map(|value| value.text.clone().unwrap_or_else(|| "{}".to_owned()))
                .filter(|_| is_known)
                .collect();
            if !texts.is_empty() {
                let base = owner
                    .as_ref()
                    .and_then(|owner| owner.text.clone())
                    .map(|base| format!("{base}/"))
                    .unwrap_or_default();
                result.text =
                    Some(format!("{base}{}", texts.join("/"))).filter(|text| text.len() < 4_096);
            }
            if let Some(text) = &result.text
                && matches!(path_end(result.path.as_deref()), "joinpath")
                && let Some(file) = secrets::file(text)
            {
                result.labels.add(Labels::SECRET_FILE);
                result.secrets.push(file.to_owned());
            }
        }
        if matches!(
            method.as_str(),
            "read" | "read_text" | "read_bytes" | "readlines" | "text" | "json" | "content"
        ) {
            let files: Vec<String> = match result.text.clone() {
                Some(file) => vec![file],
                None => owner
                    .iter()
                    .flat_map(|owner| owner.items.iter().flatten().cloned())
                    .take(64)
                    .collect(),
            };
            for file in files {
                self.read_file(span, &file, &mut result);
            }
            result.text = None;
        }
        if matches!(method.as_str(), "glob" | "rglob" | "iterdir")
            && let Some(folder) = owner.as_ref().and_then(|owner| owner.text.clone())
        {
            self.read_file(span, &folder, &mut result);
        }
        result.items.clear();
        result
    }

    /// What a function gets that is passed to a call: the answer of a request, or what its method is called on.
    fn passed(callee: &Value, owner: Option<&Value>, arguments: &[Expression]) -> Option<Value> {
        let has_function =
            arguments.iter().any(|it| matches!(it.kind, ExpressionKind::Function(_)));
        if !has_function {
            return None;
        }
        let path = callee.path.as_deref().unwrap_or_default();
        if is(path, FETCH) {
            return Some(Value { labels: Labels::NETWORK, ..Value::default() });
        }
        if path.ends_with("createServer") {
            return Some(Value { path: Some("req".to_owned()), ..Value::default() });
        }
        // `app.get('/x', (req, res) => …)` keeps the names of its parameters.
        if path.starts_with("app.") || path.starts_with("router.") {
            return Some(Value { path: None, ..Value::default() });
        }
        owner.map(Value::derived)
    }

    fn known_function(
        &mut self,
        span: &Range<usize>,
        summary: &Summary,
        values: &[Value],
        all: &Value,
    ) -> Value {
        for (at, value) in values.iter().enumerate().take(32) {
            if summary.sends & (1 << at) != 0
                && value.labels.has(
                    Labels::ENVIRONMENT
                        .with(Labels::SECRET_FILE)
                        .with(Labels::SPIED)
                        .with(Labels::SECRET_VARIABLE),
                )
            {
                self.fact(
                    span,
                    FactKind::Send {
                        what: value.labels,
                        host: None,
                        is_encoded: value.labels.has(Labels::ENCODED),
                    },
                );
            }
            if summary.runs & (1 << at) != 0 {
                if value.labels.has(Labels::NETWORK) {
                    self.fact(span, FactKind::DownloadExec { url: value.url.clone() });
                } else if value.labels.has(Labels::DECODED) {
                    self.fact(span, FactKind::DecodeExec { decoded: value.text.clone() });
                } else if let Some(line) = line_of(Some(value)) {
                    self.command(span, &line);
                }
            }
        }
        let mut result = summary.returns.clone();
        result.add(&all.derived());
        result
    }

    /// A program that is started.
    fn run(
        &mut self,
        span: &Range<usize>,
        path: &str,
        values: &[Value],
        all: &Value,
        is_disguised: bool,
    ) {
        let _ = path;
        let program = line_of(values.first())
            .and_then(|line| line.split_whitespace().next().map(str::to_owned))
            .filter(|program| !program.contains(['{', '}', '\'', '"', '$']));
        self.used(span, Domain::Shell, Level::Execute, program.unwrap_or_default());
        self.mark(all.parameters, false);
        if is_disguised {
            self.fact(
                span,
                FactKind::DynamicExec {
                    how: "hides the name of the function that it runs",
                    is_disguised: true,
                },
            );
        }
        let first = values.first();
        let names_file = first.and_then(|value| {
            value.text.clone().or_else(|| value.items.iter().flatten().next_back().cloned())
        });
        let file = names_file.and_then(|name| {
            self.files
                .get(&name)
                .or_else(|| {
                    self.files
                        .iter()
                        .find(|(file, _)| name.split_whitespace().any(|word| word == file.as_str()))
                        .map(|(_, value)| value)
                })
                .cloned()
        });
        let labels = first
            .map_or(Labels::NONE, |value| value.labels)
            .with(file.as_ref().map_or(Labels::NONE, |file| file.labels));
        if labels.has(Labels::NETWORK) {
            let url = first
                .and_then(|value| value.url.clone())
                .or_else(|| file.and_then(|file| file.url));
            self.fact(span, FactKind::DownloadExec { url });
            return;
        }
        if labels.has(Labels::REQUEST) && first.is_some_and(|first| first.text.is_none()) {
            self.fact(span, FactKind::RemoteCommand);
        }
        if labels.has(Labels::DECODED) {
            self.fact(
                span,
                FactKind::DecodeExec { decoded: first.and_then(|value| value.text.clone()) },
            );
        }
        if first.is_some_and(|first| first.labels.has(Labels::SOCKET) && first.text.is_none()) {
            self.fact(span, FactKind::RemoteCommand);
        }
        if let Some(line) = whole_line(values) {
            self.command(span, &line);
        }
        // `os.popen(f"dig {secret}.example")`
        if let (Some(text), true) = (
            first.and_then(|value| value.text.as_deref()),
            all.labels.has(
                Labels::SECRET_VARIABLE
                    .with(Labels::ENVIRONMENT)
                    .with(Labels::SECRET_FILE)
                    .with(Labels::ENCODED),
            ),
        ) {
            let program = text.split_whitespace().next().unwrap_or_default();
            if matches!(program, "dig" | "nslookup" | "host" | "ping") {
                self.fact(span, FactKind::ResolveSend { what: all.labels });
            } else if matches!(program, "curl" | "wget" | "nc" | "ncat")
                && (all
                    .labels
                    .has(Labels::ENVIRONMENT.with(Labels::SECRET_FILE).with(Labels::ENCODED))
                    || !text.contains("Authorization"))
            {
                let host = text
                    .split_whitespace()
                    .find(|word| word.contains("://"))
                    .map(|url| hosts::split(url.trim_matches(['"', '\''])).0);
                let own = host.as_deref().is_some_and(|host| {
                    all.secrets.iter().any(|secret| secrets::belongs_to(secret, host))
                        || hosts::is_local(host)
                });
                if !own {
                    self.fact(
                        span,
                        FactKind::Send {
                            what: all.labels,
                            host,
                            is_encoded: all.labels.has(Labels::ENCODED),
                        },
                    );
                }
            }
        }
    }

    /// A line for a shell, whose facts are those of the call.
    fn command(&mut self, span: &Range<usize>, line: &str) {
        for fact in shell::read(self.document, line, 0).facts {
            self.fact(span, fact.kind);
        }
    }

    /// A text that is run as a program.
    fn evaluate(
        &mut self,
        span: &Range<usize>,
        path: &str,
        values: &[Value],
        all: &Value,
        is_disguised: bool,
    ) {
        // A timer gets a function, and only sometimes a text.
        let first = if path == "Function" { values.last() } else { values.first() };
        let Some(first) = first else { return };
        if matches!(path, "setTimeout" | "setInterval")
            && first.text.is_none()
            && !first.labels.has(Labels::DECODED.with(Labels::NETWORK))
        {
            return;
        }
        if matches!(path, "setTimeout" | "setInterval") && first.text.is_none() {
            return;
        }
        let labels = if path == "Function" { all.labels } else { first.labels };
        self.mark(first.parameters, false);
        if matches!(path, "marshal.loads" | "pickle.loads") {
            if labels.has(Labels::DECODED.with(Labels::NETWORK)) {
                self.fact(span, FactKind::DecodeExec { decoded: None });
            }
            return;
        }
        if is_disguised {
            self.fact(
                span,
                FactKind::DynamicExec {
                    how: "hides the name of the function that it runs",
                    is_disguised: true,
                },
            );
        }
        if labels.has(Labels::NETWORK) {
            self.fact(span, FactKind::DownloadExec { url: first.url.clone() });
        } else if labels.has(Labels::DECODED) {
            self.fact(span, FactKind::DecodeExec { decoded: first.text.clone() });
        } else if labels.has(Labels::REQUEST) {
            self.fact(span, FactKind::RemoteCommand);
        } else if labels.has(Labels::MEDIA) {
            self.fact(span, FactKind::DecodeExec { decoded: None });
        } else if labels.has(Labels::SHARED) {
            self.fact(
                span,
                FactKind::DynamicExec {
                    how: "runs a file that any program can write",
                    is_disguised: true,
                },
            );
        } else if first.text.is_none()
            && matches!(
                path,
                "exec"
                    | "eval"
                    | "builtins.exec"
                    | "builtins.eval"
                    | "Function"
                    | "vm.runInNewContext"
                    | "vm.runInThisContext"
            )
        {
            let is_disguised = first.labels.has(Labels::ASSEMBLED);
            self.fact(
                span,
                FactKind::DynamicExec { how: "runs a text that it computes", is_disguised },
            );
        }
        if let Some(text) = &first.text
            && text.len() > 8
            && self.frames.len() < MAX_DEPTH + 8
            && self.base < usize::MAX
            && text.len() < MAX_TEXT
            && !text.contains("exec(exec")
        {
            // What a program in a text does, the call does. Its own texts are not followed further than this.
            if self.steps < MAX_STEPS / 2 {
                self.steps += 1_000;
                let inner =
                    if text.matches("exec").count() + text.matches("eval").count() > MAX_DEPTH {
                        Ok(Vec::new())
                    } else {
                        (self.inner)(self.document, text, 0)
                    };
                for fact in inner.unwrap_or_default() {
                    self.fact(span, fact.kind);
                }
            }
        }
    }

    /// Notes that parameters of the current function are sent or run.
    fn mark(&mut self, parameters: u32, is_send: bool) {
        if parameters == 0 {
            return;
        }
        if let Some(name) = self.current.clone() {
            let summary = self.functions.entry(name).or_default();
            if is_send { summary.sends |= parameters } else { summary.runs |= parameters }
        }
    }

    fn hidden_endpoint(&mut self, span: &Range<usize>, url: Option<&Value>) {
        if let Some(url) = url
            && url.labels.has(Labels::DECODED)
            && url.text.as_deref().is_none_or(|text| text.contains("://") || text.contains('.'))
        {
            self.fact(span, FactKind::HiddenEndpoint { url: url.text.clone() });
        }
    }

    fn send(
        &mut self,
        span: &Range<usize>,
        values: &[Value],
        named: &[(&str, Value)],
        owner: Option<&Value>,
        is_method: bool,
        method: &str,
    ) {
        let url = values
            .iter()
            .find_map(|value| value.text.as_deref().filter(|text| text.contains("://")))
            .or_else(|| {
                named
                    .iter()
                    .find(|(name, _)| *name == "url")
                    .and_then(|(_, value)| value.text.as_deref())
            })
            .map(str::to_owned);
        let host = url
            .as_deref()
            .map(|url| hosts::split(url).0)
            .filter(|host| !host.is_empty() && !host.contains(['{', '$']));
        let level = if changes_server(method, values, named) { Level::Write } else { Level::Read };
        self.used(span, Domain::Network, level, host.clone().unwrap_or_default());
        self.hidden_endpoint(span, values.first());
        let mut body = Value::default();
        for (at, value) in values.iter().enumerate() {
            let is_address = at == 0
                && (value.text.as_deref().is_some_and(|text| text.contains("://"))
                    || values.len() + named.len() > 1 && !is_method);
            if is_address {
                let strong = Labels(
                    value.labels.0
                        & (Labels::ENVIRONMENT.0
                            | Labels::SECRET_FILE.0
                            | Labels::SPIED.0
                            | Labels::ENCODED.0),
                );
                // A variable that is the address is no secret that is sent to it.
                let is_foreign = |secret: &String| {
                    secrets::is_of_service(secret)
                        && host.as_deref().is_some_and(|host| !secrets::belongs_to(secret, host))
                };
                if value.text.is_some() && value.secrets.iter().any(is_foreign) {
                    body.add(value);
                }
                if value.text.is_some() {
                    body.labels.add(strong);
                    if strong.has(Labels::ENCODED) {
                        body.add(value);
                    }
                }
            } else {
                body.add(value);
            }
        }
        for (name, value) in named {
            let is_content = !LOGIN.contains(name) && *name != "url";
            let taken = Labels::ENVIRONMENT.with(Labels::SECRET_FILE).with(Labels::SPIED);
            if is_content || (value.labels.has(taken) && *name != "auth") {
                body.add(value);
            }
        }
        self.mark(body.parameters, true);
        let labels = body.labels;
        if host.as_deref().is_some_and(hosts::is_local) {
            return;
        }
        let is_socket = owner.is_some_and(|owner| owner.labels.has(Labels::SOCKET));
        let is_strong =
            labels.has(Labels::ENVIRONMENT.with(Labels::SECRET_FILE).with(Labels::SPIED));
        let own = host.as_deref().is_some_and(|host| {
            body.secrets.iter().any(|secret| secrets::belongs_to(secret, host))
        });
        let is_oauth = values.iter().chain(named.iter().map(|(_, value)| value)).any(|value| {
            value
                .items
                .iter()
                .flatten()
                .any(|key| matches!(key.as_str(), "grant_type" | "client_id" | "refresh_token"))
        });
        let is_weak = labels.has(Labels::SECRET_VARIABLE)
            && !own
            && !is_oauth
            && (host.is_some()
                || labels.has(Labels::ENCODED)
                || is_socket
                || url.is_none()
                    && values.first().is_some_and(|value| value.labels.has(Labels::DECODED)));
        // A method called `send` or `put` belongs to many things.
        let is_plausible = !is_method
            || is_strong
                && matches!(
                    method,
                    "post"
                        | "request"
                        | "sendall"
                        | "sendto"
                        | "sendmail"
                        | "send_message"
                        | "storbinary"
                        | "sendBeacon"
                        | "write"
                        | "upload_file"
                        | "put_object"
                        | "upload_blob"
                )
            || host.is_some()
            || is_socket
            || url.is_some()
            || is_strong
                && values.first().is_some_and(|value| {
                    value.text.as_deref().is_some_and(|text| text.contains("://"))
                });
        if (is_strong || is_weak) && is_plausible {
            self.fact(
                span,
                FactKind::Send { what: labels, host, is_encoded: labels.has(Labels::ENCODED) },
            );
        }
    }

    fn open(
        &mut self,
        span: &Range<usize>,
        path: &str,
        values: &[Value],
        named: &[(&str, Value)],
    ) -> Value {
        let Some(first) = values.first() else { return Value::default() };
        let mut result = first.derived();
        let texts: Vec<String> = if matches!(path, "Path" | "pathlib.Path") {
            values.iter().filter_map(|value| value.text.clone()).collect()
        } else {
            first.text.clone().into_iter().collect()
        };
        let Some(file) = Some(texts.join("/")).filter(|file| !file.is_empty()) else {
            // One of several files, one after the other.
            for file in first.items.iter().flatten().take(64) {
                self.read_file(span, file, &mut result);
            }
            return result;
        };
        let mode = values
            .get(1)
            .and_then(|value| value.text.as_deref())
            .or_else(|| {
                named
                    .iter()
                    .find(|(name, _)| *name == "mode")
                    .and_then(|(_, value)| value.text.as_deref())
            })
            .unwrap_or("r");
        let is_write = matches!(path, "open" | "io.open" | "codecs.open")
            && mode.len() <= 3
            && mode.contains(['w', 'a', 'x', '+']);
        result.text = Some(file.clone());
        if is_write {
            self.used(span, Domain::Filesystem, Level::Write, file);
            return result;
        }
        if ["/tmp/", "/var/tmp/", "/dev/shm/"].iter().any(|shared| file.starts_with(shared)) {
            result.labels.add(Labels::SHARED);
        }
        if !matches!(path, "Path" | "pathlib.Path") {
            self.read_file(span, &file, &mut result);
        }
        match path {
            // The names in a folder are not the folder.
            "os.listdir" | "os.walk" | "os.scandir" | "glob.glob" | "glob.iglob"
            | "fs.readdirSync" | "fs.readdir" => {
                result.text = None;
            }
            "shutil.copy" | "shutil.copyfile" | "shutil.copy2" | "shutil.copytree" => {
                if let Some(target) = values.get(1).and_then(|value| value.text.clone()) {
                    self.files.insert(target, result.derived());
                }
            }
            "shutil.make_archive" => {
                for folder in values.iter().skip(1).filter_map(|value| value.text.clone()) {
                    self.read_file(span, &folder, &mut result);
                }
                result.text = None;
            }
            _ => {}
        }
        result
    }

    fn read_file(&mut self, span: &Range<usize>, file: &str, result: &mut Value) {
        self.used(span, Domain::Filesystem, Level::Read, file.to_owned());
        if MEDIA.iter().any(|end| has_extension(file, end)) {
            result.labels.add(Labels::MEDIA);
        }
        if let Some(known) = secrets::file(file) {
            self.fact(span, FactKind::ReadSecret { path: known.to_owned() });
            result.labels.add(Labels::SECRET_FILE);
            result.secrets.push(known.to_owned());
        } else if let Some(known) = secrets::weak_file(file) {
            result.labels.add(Labels::SECRET_FILE);
            result.secrets.push(known.to_owned());
        } else if let Some(known) = self.files.get(file).cloned() {
            result.add(&known);
        }
    }

    fn written(&mut self, span: &Range<usize>, values: &[Value], at: usize) {
        let Some(file) = values.get(at).and_then(|value| value.text.clone()) else { return };
        let content = values.get(at + 1).cloned().unwrap_or_default();
        self.used(span, Domain::Filesystem, Level::Write, file.clone());
        self.start(span, &file, content.text.as_deref().unwrap_or_default(), content.labels);
        self.files.insert(file, content.derived());
    }

    /// A file that something starts or that an agent obeys.
    fn start(&mut self, span: &Range<usize>, file: &str, content: &str, labels: Labels) {
        if let Some(what) = shell::start_file(file) {
            let is_remote = labels.has(Labels::NETWORK.with(Labels::DECODED))
                || ["curl ", "wget ", "http", "/dev/tcp", "base64", "python"]
                    .iter()
                    .any(|word| content.contains(word));
            self.fact(span, FactKind::Persist { what, is_remote });
        }
        if shell::is_agent_file(file) {
            self.fact(span, FactKind::WriteAgentFile { path: file.to_owned() });
        }
    }

    /// Methods and functions that make texts.
    fn text_method(
        path: &str,
        method: &str,
        owner: Option<&Value>,
        values: &[Value],
    ) -> Option<Value> {
        let first = values.first();
        if is(path, DECODE) && path != "String.fromCharCode" && path != "String.fromCodePoint" {
            return None;
        }
        if matches!(path, "chr" | "String.fromCharCode" | "String.fromCodePoint") {
            let codes: Option<String> = values
                .iter()
                .flat_map(|value| {
                    if value.items.is_empty() {
                        vec![value.text.clone()]
                    } else {
                        value.items.clone()
                    }
                })
                .map(|text| text.and_then(|text| text.parse::<u32>().ok()).and_then(char::from_u32))
                .collect();
            let labels = if path == "chr" {
                Labels::ASSEMBLED
            } else {
                Labels::DECODED.with(Labels::ASSEMBLED)
            };
            return Some(Value { text: codes, labels, ..Value::default() });
        }
        if matches!(path, "bytes" | "bytearray" | "Uint8Array.from") {
            let codes: Option<String> = first?
                .items
                .iter()
                .map(|text| {
                    text.as_ref().and_then(|text| text.parse::<u32>().ok()).and_then(char::from_u32)
                })
                .collect();
            let mut result = first?.derived();
            result.text = codes.filter(|text| !text.is_empty());
            result.labels.add(Labels::ASSEMBLED);
            return Some(result);
        }
        if path == "map" && first.is_some_and(|first| first.path.as_deref() == Some("chr")) {
            let list = values.get(1)?;
            let mut result = list.derived();
            result.items = list
                .items
                .iter()
                .map(|text| {
                    text.as_ref()
                        .and_then(|text| text.parse::<u32>().ok())
                        .and_then(char::from_u32)
                        .map(String::from)
                })
                .collect();
            result.labels.add(Labels::DECODED.with(Labels::ASSEMBLED));
            return Some(result);
        }
        if matches!(path, "reversed" | "list" | "tuple") {
            let mut result = first?.clone();
            result.path = None;
            if path == "reversed" {
                result.text = result.text.map(|text| text.chars().rev().collect());
                result.items.reverse();
                result.labels.add(Labels::ASSEMBLED);
            }
            return Some(result);
        }
        let owner = owner?;
        let text = owner.text.as_deref();
        let mut result = owner.derived();
        for value in values {
            result.add(value);
        }
        result.text = match method {
            "join"
                if text.is_some()
                    && first
                        .is_some_and(|first| !first.items.is_empty() || first.text.is_some())
                    && !path.starts_with("os.path")
                    && !path.starts_with("path.") =>
            {
                let first = first?;
                result.labels.add(Labels::ASSEMBLED);
                if first.items.is_empty() {
                    first.text.clone()
                } else {
                    let parts: Option<Vec<&str>> =
                        first.items.iter().map(Option::as_deref).collect();
                    parts.map(|parts| parts.join(text.unwrap_or_default()))
                }
            }
            // In JavaScript the list is what has the method.
            "join" if !owner.items.is_empty() => {
                result.labels.add(Labels::ASSEMBLED);
                let parts: Option<Vec<&str>> = owner.items.iter().map(Option::as_deref).collect();
                parts.map(|parts| {
                    parts.join(first.and_then(|first| first.text.as_deref()).unwrap_or(","))
                })
            }
            "replace" | "replaceAll" if values.len() >= 2 => {
                match (text, &values[0].text, &values[1].text) {
                    (Some(text), Some(from), Some(to)) if !from.is_empty() => {
                        result.labels.add(Labels::ASSEMBLED);
                        Some(text.replace(from.as_str(), to))
                    }
                    _ => None,
                }
            }
            "decode"
                if first.and_then(|first| first.text.as_deref()).is_some_and(|codec| {
                    codec.contains("rot")
                        || codec.contains("hex")
                        || codec.contains("base64")
                        || codec.contains("unicode_escape")
                }) =>
            {
                result.labels.add(Labels::DECODED);
                text.map(
                    |text| if text.contains('\\') { unescape(text) } else { decode::rot13(text) },
                )
            }
            "decode" | "encode" | "strip" | "trim" | "lower" | "toLowerCase" | "upper"
            | "rstrip" | "lstrip" | "toString" => text.map(|text| match method {
                "lower" | "toLowerCase" => text.to_lowercase(),
                "upper" => text.to_uppercase(),
                "strip" | "trim" | "rstrip" | "lstrip" => text.trim().to_owned(),
                _ => text.to_owned(),
            }),
            "concat" => {
                result.labels.add(Labels::ASSEMBLED);
                let parts: Option<String> = values.iter().map(|value| value.text.clone()).collect();
                text.zip(parts).map(|(text, rest)| format!("{text}{rest}"))
            }
            "reverse" => {
                result.items = owner.items.iter().rev().cloned().collect();
                result.labels.add(Labels::ASSEMBLED);
                return Some(result);
            }
            "split" if first.is_some_and(|first| first.text.as_deref() == Some("")) => {
                result.items = text?
                    .chars()
                    .take(4_096)
                    .map(|character| Some(character.to_string()))
                    .collect();
                return Some(result);
            }
            "format" => text.map(str::to_owned),
            "fromhex" if path.ends_with("bytes.fromhex") || path.ends_with("bytearray.fromhex") => {
                return None;
            }
            _ => return None,
        };
        if method == "toString" && first.is_some_and(|first| first.text.is_some()) {
            return None;
        }
        result.text = result.text.filter(|text| text.len() <= MAX_TEXT);
        Some(result)
    }
}

/// Whether a request changes something on the server, as far as its method and its content say.
fn changes_server(method: &str, values: &[Value], named: &[(&str, Value)]) -> bool {
    let names_method = |value: &Value| {
        value.text.as_deref().is_some_and(|text| {
            matches!(text.to_ascii_uppercase().as_str(), "POST" | "PUT" | "PATCH" | "DELETE")
        })
    };
    let has_content =
        |key: &str| matches!(key, "data" | "json" | "body" | "files" | "content" | "form");
    matches!(
        method,
        "post"
            | "put"
            | "patch"
            | "delete"
            | "sendBeacon"
            | "sendall"
            | "sendto"
            | "send"
            | "sendmail"
            | "send_message"
            | "storbinary"
    ) || values.iter().take(1).any(names_method)
        || named
            .iter()
            .any(|(name, value)| has_content(name) || *name == "method" && names_method(value))
        || values.iter().flat_map(|value| value.items.iter().flatten()).any(|key| has_content(key))
        || method == "urlopen" && values.len() > 1
}

/// The name of a variable or of a member of one, as it is assigned.
fn dotted(expression: &Expression) -> Option<String> {
    match &expression.kind {
        ExpressionKind::Name(name) => Some(name.clone()),
        ExpressionKind::Member(owner, member) => Some(format!("{}.{member}", dotted(owner)?)),
        ExpressionKind::Element(owner, _) => dotted(owner),
        _ => None,
    }
}

fn path_end(path: Option<&str>) -> &str {
    path.and_then(|path| path.rsplit('.').next()).unwrap_or_default()
}

/// Whether a value is a request that is written to piece by piece.
fn is_of_request(value: &Value) -> bool {
    value.labels.has(Labels::NETWORK.with(Labels::SOCKET))
        && value.path.as_deref().is_none_or(|path| !path.contains("stdout"))
}

/// Whether a value is what somebody sends to a server.
fn is_request(path: Option<&str>) -> bool {
    matches!(
        path,
        Some(
            "req.query"
                | "req.body"
                | "req.params"
                | "request.query"
                | "request.body"
                | "request.args"
                | "request.form"
                | "request.values"
                | "request.params"
                | "flask.request.args"
                | "flask.request.form"
                | "flask.request.values"
                | "flask.request.json"
                | "flask.request.data"
                | "ctx.query"
                | "ctx.request.body"
                | "self.rfile"
        )
    )
}

fn is_environment(path: &str) -> bool {
    matches!(
        path,
        "os.environ"
            | "os.environb"
            | "process.env"
            | "environ"
            | "Bun.env"
            | "import.meta.env"
            | "process.environ"
    )
}

fn variable(name: &str) -> Value {
    if secrets::is_variable(name) {
        Value {
            labels: Labels::SECRET_VARIABLE,
            secrets: vec![name.to_owned()],
            ..Value::default()
        }
    } else {
        let is_home = matches!(name, "HOME" | "USERPROFILE");
        Value {
            labels: Labels::VARIABLE,
            text: is_home.then(|| "~".to_owned()),
            ..Value::default()
        }
    }
}

/// What a decoder gives.
fn decoded(path: &str, values: &[Value], all: &Value) -> Value {
    let first = values.first().cloned().unwrap_or_default();
    let mut result = all.derived();
    let codec = values.get(1).and_then(|value| value.text.as_deref()).unwrap_or_default();
    let text = first.text.as_deref();
    result.text = match path {
        "Buffer.from" => {
            if codec.is_empty() || codec.starts_with("utf") || codec == "ascii" || codec == "latin1"
            {
                return Value { text: first.text.clone(), ..result };
            }
            if codec == "hex" { text.and_then(decode::hex) } else { text.and_then(decode::base64) }
        }
        "unescape" | "decodeURIComponent" | "urllib.parse.unquote" => {
            let is_encoded = text.is_some_and(|text| text.matches('%').count() > 4);
            if !is_encoded {
                return Value { text: first.text.clone(), ..result };
            }
            None
        }
        "codecs.decode" if codec.contains("rot") => text.map(decode::rot13),
        "codecs.decode" if codec.contains("hex") => text.and_then(decode::hex),
        "codecs.decode"
            if !codec.contains("base64")
                && !codec.contains("zlib")
                && !codec.contains("escape") =>
        {
            return Value { text: first.text.clone(), ..result };
        }
        "base64.b85decode" => {
            text.and_then(decode::base85).and_then(|bytes| String::from_utf8(bytes).ok())
        }
        "base64.a85decode" => {
            text.and_then(decode::ascii85).and_then(|bytes| String::from_utf8(bytes).ok())
        }
        "base64.b32decode" => {
            text.and_then(decode::base32).and_then(|bytes| String::from_utf8(bytes).ok())
        }
        "binascii.unhexlify" | "bytes.fromhex" | "bytearray.fromhex" | "base64.b16decode"
        | "binascii.a2b_hex" => text.and_then(decode::hex),
        "zlib.decompress" | "gzip.decompress" | "lzma.decompress" | "bz2.decompress" => {
            first.text.clone()
        }
        _ => text.and_then(decode::base64),
    };
    result.labels.add(Labels::DECODED);
    result
}

/// The line that starts a program: a text, or a list of words.
fn line_of(value: Option<&Value>) -> Option<String> {
    let value = value?;
    if let Some(text) = &value.text {
        return Some(text.clone());
    }
    if value.items.is_empty() {
        return None;
    }
    // The script after `-c` is one word.
    let words = value.items.iter().map(|word| word.as_deref().unwrap_or("{}"));
    let words: Vec<String> = words
        .map(|word| {
            if word.contains([' ', '|', ';', '&', '$']) && !word.contains('\'') {
                format!("'{word}'")
            } else {
                word.to_owned()
            }
        })
        .collect();
    Some(words.join(" "))
}

/// The line of a call that takes a program and a list of its arguments.
fn whole_line(values: &[Value]) -> Option<String> {
    let line = line_of(values.first())?;
    let is_program =
        values.first().is_some_and(|first| first.text.is_some()) && !line.contains(' ');
    let rest = values.get(1).filter(|rest| is_program && rest.text.is_none());
    Some(match line_of(rest) {
        Some(rest) => format!("{line} {rest}"),
        None => line,
    })
}

/// What a command line prints.
fn shell_output(line: &str) -> Value {
    let mut result = Value::default();
    let words: Vec<&str> = line.split_whitespace().collect();
    match words.first().copied().unwrap_or_default() {
        "env" | "printenv" | "set" if words.len() == 1 => result.labels.add(Labels::ENVIRONMENT),
        "cat" | "head" | "tail"
            if words.iter().any(|word| {
                secrets::file(word).is_some() || secrets::weak_file(word).is_some()
            }) =>
        {
            result.labels.add(Labels::SECRET_FILE);
        }
        "curl" | "wget" => {
            result.labels.add(Labels::NETWORK);
            result.url = words
                .iter()
                .find(|word| word.contains("://"))
                .map(|url| url.trim_matches(['"', '\'']).to_owned());
        }
        "pbpaste" | "xclip" | "security" => result.labels.add(Labels::SPIED),
        _ => {}
    }
    result
}
