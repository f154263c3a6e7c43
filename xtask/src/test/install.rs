//! Puts on the machine what the tests need and cargo does not bring; what is there already stays as it is.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use super::Tools;
use crate::process::{self, cargo, command, succeeds};
use crate::terminal::say;
use crate::web;

/// Whether the developer lets us install things.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Permission {
    Granted,
    Withheld,
}

/// The reference validator of the open standard. Verdicts are compared with exactly this version.
const REFERENCE_VALIDATOR: &str = "skills-ref";
const REFERENCE_VERSION: &str = "0.1.1";

/// The reference implementation of OpenSSF Model Signing, and a package that it needs for certificates and does not name.
const MODEL_SIGNING: (&str, &str) = ("model-signing", "1.1.1");
const MODEL_SIGNING_NEEDS: &str = "pyopenssl==26.4.0";

/// Installs Python packages where it is there; the tests of that use exactly this version.
const UV_VERSION: &str = "0.13.7";

/// A package that carries a table of static embeddings (16 MB), and where it lies in it.
const WORDLLAMA: (&str, &str) = ("wordllama", "0.4.0.post1");
const WORDLLAMA_TABLE: &str = "weights/l2_supercat_256.safetensors";

/// A package that carries Postgres with pgvector, and where they lie in it.
const PGVECTOR: (&str, &str) = ("pgserver", "0.1.4");
const PGVECTOR_FOLDER: &str = "pginstall";

/// A crate that carries the official JSON Schema of SARIF 2.1.0, and where it lies in it.
const SARIF_CRATE: &str = "serde-sarif";
const SARIF_VERSION: &str = "0.8.0";
const SARIF_SCHEMA: &str = "src/schema.json";

/// Two validators of JSON Schemas, which test ours: one for Python and one for Node.
const JSONSCHEMA: (&str, &str) = ("jsonschema", "4.26.0");
const AJV: (&str, &str) = ("ajv", "8.20.0");
/// The official SDK of MCP for Python.
const MCP: (&str, &str) = ("mcp", "2.3.0");
/// The official test suite of MCP, and the Node.js that it needs, which is newer than that of most systems.
const MCP_CONFORMANCE: (&str, &str) = ("@modelcontextprotocol/conformance", "0.2.0-alpha.12");
const MCP_NODE: &str = "node@24";
/// A client of MCP by the protocol's makers, which tests call from the command line.
const MCP_INSPECTOR: (&str, &str) = ("@modelcontextprotocol/inspector", "2.12.0");

/// The clients of other registries, which are run against ours. The newest of the second one needs a newer Node.js than most
/// systems have.
const SKILL_CLIENTS: [(&str, &str); 2] = [("clawhub", "0.23.3"), ("skills", "1.5.7")];

/// The program that tests servers against their own descriptions.
const SCHEMATHESIS: (&str, &str) = ("schemathesis", "4.32.5");

/// A storage with the interface of S3, and what its server needs. Its own list of that would bring all of AWS.
const MOTO: (&str, &str) = ("moto", "5.2.5");
const MOTO_SERVER: [&str; 2] = ["flask==3.1.3", "flask-cors==6.0.5"];

pub(super) fn tools(permission: Permission) -> Result<Tools> {
    toolchain_component("rustfmt", "fmt", permission)?;
    toolchain_component("clippy", "clippy", permission)?;
    cargo_subcommand("nextest", permission)?;
    cargo_subcommand("fuzz", permission)?;
    // libFuzzer is C++ and is compiled together with the fuzz targets.
    system_program("c++", "g++", permission)?;
    system_program("python3", "python3", permission)?;
    postgres(permission)?;
    let reference_python = reference_validator(permission)?;
    let model_signing_python = model_signing(permission)?;
    let uv = uv(&reference_python, permission)?;
    let sarif_schema = sarif_schema(permission)?;
    let jsonschema_python = jsonschema(permission)?;
    let ajv = ajv(permission)?;
    let mcp_conformance = mcp_conformance(permission)?;
    let mcp_inspector = mcp_inspector(&mcp_conformance, permission)?;
    let mcp_python = mcp_sdk(permission)?;
    let skill_clients = skill_clients(permission)?;
    let schemathesis = schemathesis(permission)?;
    let moto = moto(permission)?;
    let wordllama = wordllama(&reference_python, permission)?;
    let pgvector = pgvector(&reference_python, permission)?;
    let node = web::node(permission)?;
    found("Node.js for the web app");
    Ok(Tools {
        reference_python,
        model_signing_python,
        uv,
        sarif_schema,
        jsonschema_python,
        ajv,
        mcp_conformance,
        mcp_inspector,
        mcp_python,
        skill_clients,
        schemathesis,
        moto,
        wordllama,
        node,
        permission,
        pgvector,
    })
}

fn toolchain_component(component: &str, subcommand: &str, permission: Permission) -> Result<()> {
    if succeeds(cargo().args([subcommand, "--version"])) {
        found(component);
        return Ok(());
    }
    let mut rustup = command("rustup");
    rustup.args(["component", "add", component]);
    install(component, &mut rustup, permission)
}

fn cargo_subcommand(name: &str, permission: Permission) -> Result<()> {
    let package = format!("cargo-{name}");
    if succeeds(cargo().args([name, "--version"])) {
        found(&package);
        return Ok(());
    }
    let mut cargo = cargo();
    cargo.args(["install", &package, "--locked"]);
    install(&package, &mut cargo, permission)
}

pub(crate) fn system_program(program: &str, package: &str, permission: Permission) -> Result<()> {
    // Not every program knows `--version`.
    let folders = std::env::var_os("PATH").unwrap_or_default();
    if std::env::split_paths(&folders).any(|folder| folder.join(program).is_file()) {
        found(program);
        return Ok(());
    }
    system_package(package, permission)
}

/// The database that servers with several nodes use. Debian keeps its programs out of PATH.
fn postgres(permission: Permission) -> Result<()> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    if versions.map(|version| version.path()).any(|version| version.join("bin/initdb").is_file()) {
        found("postgresql");
        return Ok(());
    }
    system_program("initdb", "postgresql", permission)
}

/// Debian and its relatives; elsewhere the message says what to install.
fn system_package(package: &str, permission: Permission) -> Result<()> {
    if !succeeds(command("apt-get").arg("--version")) {
        bail!(
            "`{package}` is missing; install it with your system's package manager, then run this again"
        );
    }
    let as_root = || {
        let is_root = succeeds(command("sh").args(["-c", "test \"$(id -u)\" = 0"]));
        let mut apt = command(if is_root { "apt-get" } else { "sudo" });
        if !is_root {
            apt.arg("apt-get");
        }
        apt.env("DEBIAN_FRONTEND", "noninteractive");
        apt
    };
    if permission == Permission::Granted {
        // Package lists of a fresh machine are empty or old. A failure shows again, clearer, below.
        let _ = process::run(as_root().args(["update", "--quiet"]));
    }
    install(
        package,
        as_root().args(["install", "--yes", "--no-install-recommends", package]),
        permission,
    )
}

/// A virtual environment of our own, so that nothing of the system's Python changes.
pub(crate) fn reference_validator(permission: Permission) -> Result<PathBuf> {
    let folder = process::target_dir().join("tools/venv");
    let python = folder.join("bin/python");
    let wanted = format!("{REFERENCE_VALIDATOR} {REFERENCE_VERSION}");
    if has_reference_validator(&python) {
        found(&wanted);
        return Ok(python);
    }
    let package = format!("{REFERENCE_VALIDATOR}=={REFERENCE_VERSION}");
    environment(&folder, &[&package], &wanted, permission)?;
    if !has_reference_validator(&python) {
        bail!("`{wanted}` was installed into `{}` but cannot be imported there", folder.display());
    }
    Ok(python)
}

/// An environment apart from the other, so that neither changes what the other has installed.
fn model_signing(permission: Permission) -> Result<PathBuf> {
    let (name, version) = MODEL_SIGNING;
    let folder = process::target_dir().join("tools/model-signing");
    let python = folder.join("bin/python");
    let wanted = format!("{name} {version}");
    let script = format!(
        "import importlib.metadata, model_signing, OpenSSL; \
         assert importlib.metadata.version('{name}') == '{version}'"
    );
    let is_there = || succeeds(command(&python).args(["-c", &script]));
    if is_there() {
        found(&wanted);
        return Ok(python);
    }
    let package = format!("{name}=={version}");
    environment(&folder, &[&package, MODEL_SIGNING_NEEDS], &wanted, permission)?;
    if !is_there() {
        bail!("`{wanted}` was installed into `{}` but cannot be imported there", folder.display());
    }
    Ok(python)
}

/// The Python validator, in an environment of its own.
fn jsonschema(permission: Permission) -> Result<PathBuf> {
    let (name, version) = JSONSCHEMA;
    let folder = process::target_dir().join("tools/jsonschema");
    let python = folder.join("bin/python");
    let wanted = format!("{name} {version}");
    let script = format!(
        "import importlib.metadata, jsonschema; \
         assert importlib.metadata.version('{name}') == '{version}'"
    );
    let is_there = || succeeds(command(&python).args(["-c", &script]));
    if is_there() {
        found(&wanted);
        return Ok(python);
    }
    environment(&folder, &[&format!("{name}=={version}")], &wanted, permission)?;
    if !is_there() {
        bail!("`{wanted}` was installed into `{}` but cannot be imported there", folder.display());
    }
    Ok(python)
}

/// The program that serves a storage, in an environment of its own.
fn moto(permission: Permission) -> Result<PathBuf> {
    let (name, version) = MOTO;
    let folder = process::target_dir().join("tools/moto");
    let (python, program) = (folder.join("bin/python"), folder.join("bin/moto_server"));
    let wanted = format!("{name} {version}");
    let script = format!(
        "import importlib.metadata, flask, flask_cors; \
         assert importlib.metadata.version('{name}') == '{version}'"
    );
    let is_there = || program.is_file() && succeeds(command(&python).args(["-c", &script]));
    if is_there() {
        found(&wanted);
        return Ok(program);
    }
    let [flask, cors] = MOTO_SERVER;
    environment(&folder, &[&format!("{name}[s3]=={version}"), flask, cors], &wanted, permission)?;
    if !is_there() {
        bail!("`{wanted}` was installed into `{}` but cannot be run there", folder.display());
    }
    Ok(program)
}

/// The SDK of MCP, in an environment of its own.
fn mcp_sdk(permission: Permission) -> Result<PathBuf> {
    let (name, version) = MCP;
    let folder = process::target_dir().join("tools/mcp");
    let python = folder.join("bin/python");
    let wanted = format!("{name} {version}");
    let script = format!(
        "import importlib.metadata, mcp; \
         assert importlib.metadata.version('{name}') == '{version}'"
    );
    let is_there = || succeeds(command(&python).args(["-c", &script]));
    if is_there() {
        found(&wanted);
        return Ok(python);
    }
    environment(&folder, &[&format!("{name}=={version}")], &wanted, permission)?;
    if !is_there() {
        bail!("`{wanted}` was installed into `{}` but cannot be imported there", folder.display());
    }
    Ok(python)
}

/// Schemathesis, in an environment of its own.
fn schemathesis(permission: Permission) -> Result<PathBuf> {
    let (name, version) = SCHEMATHESIS;
    let folder = process::target_dir().join("tools/schemathesis");
    let program = folder.join("bin/schemathesis");
    let wanted = format!("{name} {version}");
    let script = format!(
        "import importlib.metadata, schemathesis; \
         assert importlib.metadata.version('{name}') == '{version}'"
    );
    let is_there = || succeeds(command(folder.join("bin/python")).args(["-c", &script]));
    if is_there() {
        found(&wanted);
        return Ok(program);
    }
    environment(&folder, &[&format!("{name}=={version}")], &wanted, permission)?;
    if !is_there() {
        bail!("`{wanted}` was installed into `{}` but cannot be imported there", folder.display());
    }
    Ok(program)
}

/// The test suite of MCP, in a folder of its own. The package with Node.js fetches it by a script, so scripts are run.
fn mcp_conformance(permission: Permission) -> Result<PathBuf> {
    let (name, version) = MCP_CONFORMANCE;
    let folder = process::target_dir().join("tools/mcp-conformance");
    let node = folder.join("node_modules/node/bin/node");
    let wanted = format!("{name} {version}");
    let script =
        format!("process.exit(require('{name}/package.json').version === '{version}' ? 0 : 1)");
    let is_there = || {
        let modules = folder.join("node_modules");
        succeeds(command(&node).env("NODE_PATH", modules).args(["-e", &script]))
    };
    if is_there() {
        found(&wanted);
        return Ok(folder);
    }
    system_program("npm", "npm", permission)?;
    let mut npm = command("npm");
    npm.args(["install", "--silent", "--no-audit", "--no-fund", "--prefix"]);
    npm.arg(&folder).arg(format!("{name}@{version}")).arg(MCP_NODE);
    install(&wanted, &mut npm, permission)?;
    if !is_there() {
        bail!("`{wanted}` was installed into `{}` but cannot be run there", folder.display());
    }
    Ok(folder)
}

/// The Inspector, in a folder of its own. It runs on the Node.js of the test suite.
fn mcp_inspector(conformance: &Path, permission: Permission) -> Result<PathBuf> {
    let (name, version) = MCP_INSPECTOR;
    let folder = process::target_dir().join("tools/mcp-inspector");
    let node = conformance.join("node_modules/node/bin/node");
    let wanted = format!("{name} {version}");
    let package = folder.join("node_modules").join(name).join("package.json");
    let is_there = || {
        let script = "process.exit(require(process.argv[1]).version === process.argv[2] ? 0 : 1)";
        succeeds(command(&node).args(["-e", script]).arg(&package).arg(version))
    };
    if is_there() {
        found(&wanted);
        return Ok(folder);
    }
    let mut npm = command("npm");
    npm.args(["install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"]);
    npm.arg(&folder).arg(format!("{name}@{version}"));
    install(&wanted, &mut npm, permission)?;
    if !is_there() {
        bail!("`{wanted}` was installed into `{}` but cannot be run there", folder.display());
    }
    Ok(folder)
}

/// The Node validator, in a folder of its own. Scripts of packages are not run while it is installed.
fn ajv(permission: Permission) -> Result<PathBuf> {
    let (name, version) = AJV;
    system_program("node", "nodejs", permission)?;
    let folder = process::target_dir().join("tools/ajv");
    let wanted = format!("{name} {version}");
    let script =
        format!("process.exit(require('{name}/package.json').version === '{version}' ? 0 : 1)");
    let is_there = || {
        let modules = folder.join("node_modules");
        succeeds(command("node").env("NODE_PATH", modules).args(["-e", &script]))
    };
    if is_there() {
        found(&wanted);
        return Ok(folder);
    }
    system_program("npm", "npm", permission)?;
    let mut npm = command("npm");
    npm.args(["install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"]);
    npm.arg(&folder).arg(format!("{name}@{version}"));
    install(&wanted, &mut npm, permission)?;
    if !is_there() {
        bail!("`{wanted}` was installed into `{}` but cannot be loaded there", folder.display());
    }
    Ok(folder)
}

/// The clients of other registries, in a folder of their own. Scripts of packages are not run while they are installed.
fn skill_clients(permission: Permission) -> Result<PathBuf> {
    system_program("node", "nodejs", permission)?;
    let folder = process::target_dir().join("tools/skill-clients");
    let packages = SKILL_CLIENTS.map(|(name, version)| format!("{name}@{version}"));
    let wanted = packages.join(" and ");
    let is_there = || {
        SKILL_CLIENTS.iter().all(|(name, version)| {
            let package = folder.join("node_modules").join(name).join("package.json");
            let script =
                "process.exit(require(process.argv[1]).version === process.argv[2] ? 0 : 1)";
            succeeds(command("node").args(["-e", script]).arg(&package).arg(version))
        })
    };
    if is_there() {
        found(&wanted);
        return Ok(folder);
    }
    system_program("npm", "npm", permission)?;
    let mut npm = command("npm");
    npm.args(["install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"]);
    npm.arg(&folder).args(&packages);
    install(&wanted, &mut npm, permission)?;
    if !is_there() {
        bail!("`{wanted}` were installed into `{}` but cannot be loaded there", folder.display());
    }
    Ok(folder)
}

/// Makes a Python environment anew, with some packages in it.
pub(crate) fn environment(
    folder: &Path,
    packages: &[&str],
    wanted: &str,
    permission: Permission,
) -> Result<()> {
    if permission == Permission::Granted
        && !succeeds(command("python3").args(["-c", "import venv, ensurepip"]))
    {
        system_package("python3-venv", permission)?;
    }
    let mut create = command("python3");
    create.args(["-m", "venv", "--clear"]).arg(folder);
    install("a Python environment", &mut create, permission)?;
    let mut pip = command(folder.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    install(wanted, pip.args(packages), permission)
}

fn has_reference_validator(python: &Path) -> bool {
    let script = format!(
        "import importlib.metadata, skills_ref; \
         assert importlib.metadata.version('{REFERENCE_VALIDATOR}') == '{REFERENCE_VERSION}'"
    );
    succeeds(command(python).args(["-c", &script]))
}

/// uv, beside the interpreter of our own environment.
fn uv(python: &Path, permission: Permission) -> Result<PathBuf> {
    let program = python.with_file_name("uv");
    let wanted = format!("uv {UV_VERSION}");
    let says = command(&program).arg("--version").output();
    if says.is_ok_and(|output| output.stdout.starts_with(wanted.as_bytes())) {
        found(&wanted);
        return Ok(program);
    }
    let mut pip = command(python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    install(&wanted, pip.arg(format!("uv=={UV_VERSION}")), permission)?;
    Ok(program)
}

/// The table of static embeddings. Nothing of its package is run.
fn wordllama(python: &Path, permission: Permission) -> Result<PathBuf> {
    let table = package(python, WORDLLAMA, permission)?.join(WORDLLAMA_TABLE);
    if !table.exists() {
        bail!("`{}` was installed, but `{}` is not in it", WORDLLAMA.0, table.display());
    }
    Ok(table)
}

/// Postgres with pgvector. There is none for every system; without it one test says that it was skipped.
fn pgvector(python: &Path, permission: Permission) -> Result<Option<PathBuf>> {
    match package(python, PGVECTOR, permission) {
        Ok(folder) => Ok(Some(folder.join(PGVECTOR_FOLDER))),
        Err(error) if permission == Permission::Withheld => Err(error),
        Err(error) => {
            say(&format!("{} {}: not for this system ({error})", PGVECTOR.0, PGVECTOR.1));
            Ok(None)
        }
    }
}

/// The folder of a Python package in our own environment. What it depends on is left out: only its files are wanted.
fn package(
    python: &Path,
    (name, version): (&str, &str),
    permission: Permission,
) -> Result<PathBuf> {
    let wanted = format!("{name} {version}");
    let script = format!(
        "import importlib.metadata as m, importlib.util as u; assert m.version('{name}') == '{version}'; \
         print(u.find_spec('{name}').submodule_search_locations[0])"
    );
    let folder = || {
        let output = command(python).args(["-c", &script]).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| PathBuf::from(text.trim()))
    };
    if let Some(folder) = folder() {
        found(&wanted);
        return Ok(folder);
    }
    let mut pip = command(python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]);
    install(&wanted, pip.arg(format!("{name}=={version}")), permission)?;
    folder().with_context(|| format!("`{wanted}` was installed but cannot be found"))
}

/// The schema as a file. Cargo fetches the crate that carries it, and nothing of it is built.
fn sarif_schema(permission: Permission) -> Result<PathBuf> {
    let folder = process::target_dir().join("tools/sarif");
    let sources = folder.join("sources");
    let schema = sources.join(SARIF_CRATE).join(SARIF_SCHEMA);
    let wanted = format!("the schema of SARIF from {SARIF_CRATE} {SARIF_VERSION}");
    // A fetch that was interrupted does not leave this behind.
    let done = folder.join("done");
    if done.exists() && schema.exists() {
        found(&wanted);
        return Ok(schema);
    }
    if permission == Permission::Granted {
        let manifest = format!(
            "[package]\nname = \"sarif-schema\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
             [lib]\npath = \"lib.rs\"\n\n\
             [dependencies]\n{SARIF_CRATE} = {{ version = \"={SARIF_VERSION}\", default-features = false }}\n\n\
             [workspace]\n"
        );
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            fs::write(&path, text).with_context(|| format!("cannot write `{}`", path.display()))
        };
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot create `{}`", folder.display()))?;
        write("Cargo.toml", &manifest)?;
        write("lib.rs", "")?;
    }
    let mut vendor = cargo();
    vendor.args(["vendor", "--quiet", "--manifest-path"]).arg(folder.join("Cargo.toml"));
    vendor.arg(&sources);
    install(&wanted, &mut vendor, permission)?;
    if !schema.exists() {
        bail!("`{SARIF_CRATE}` was fetched, but `{}` is not in it", schema.display());
    }
    fs::write(&done, "").with_context(|| format!("cannot write `{}`", done.display()))?;
    Ok(schema)
}

fn found(what: &str) {
    say(&format!("{what}: found"));
}

pub(crate) fn install(
    what: &str,
    installer: &mut std::process::Command,
    permission: Permission,
) -> Result<()> {
    if permission == Permission::Withheld {
        bail!(
            "{what} is missing and `--no-install` was given\nhint: install it with `{}`",
            process::describe(installer)
        );
    }
    say(&format!("{what}: missing, installing"));
    process::run(installer).with_context(|| format!("could not install {what}"))
}
