//! `prowess publish`: checks, scans, packs, signs and uploads a skill.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use prowess_package::digest::Sha256Digest;
use prowess_package::limits::PackageLimits;
use prowess_package::name::SkillName;
use prowess_package::pack::pack;
use prowess_package::tree::{Tree, TreeFile};
use prowess_store::install::contents_of;
use prowess_store::metadata::SkillMetadata;
use prowess_store::suspicion::Suspicions;
use prowess_trust::{KeyName, Purpose, SecretKey, sign_dated, sign_oms};
use serde_json::{Value, json};

use super::Outcome;
use super::key::{key_name, open};
use crate::error::Error;
use crate::packages::account::{Account, Token};
use crate::packages::names::{author_skill, skill_name};
use crate::packages::options::Format;
use crate::packages::{author_scan, manager, now};
use crate::python_requirements;
use crate::render::change_text::size;
use crate::terminal::confirm::confirm;
use crate::terminal::printer::{Channel, Printer, inline};

/// Publish a skill to the registry
///
/// The skill is checked, scanned and packed; with `--key` it is signed as well,
/// which makes it a community skill. You see what is uploaded before you confirm.
/// A published version never changes and can't be published again.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess publish ./greet --dry-run
  prowess publish ./greet
  prowess publish ./greet --key release --yes

Exit codes:
  0  it was published, or `--dry-run` found no problem
  1  it can't be published
  3  the folder does not exist
  4  the registry refuses you, or nobody could be asked")]
pub(crate) struct Arguments {
    /// The skill's folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The namespace to publish to; your own by default
    #[arg(long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// Sign it with this key, see `prowess key`
    #[arg(long, value_name = "NAME", value_parser = key_name)]
    key: Option<KeyName>,
    /// Publish without asking
    #[arg(long, short)]
    yes: bool,
    /// Show what would be published, and send nothing
    #[arg(long)]
    dry_run: bool,
    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// What is uploaded.
struct Package {
    archive: Vec<u8>,
    sha256: Sha256Digest,
    files: usize,
    metadata: SkillMetadata,
    /// The public key of the signature that was made.
    key: Option<String>,
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let namespace = arguments.namespace.as_deref().map(skill_name).transpose()?;
    let package = prepare(arguments, printer)?;
    if arguments.dry_run {
        show(&package, namespace.as_ref(), arguments, printer);
        printer.say("nothing was uploaded (`--dry-run`)");
        return Ok(Outcome::Fine);
    }
    let account = Account::open(namespace.as_ref(), printer)?;
    let namespace = match namespace {
        Some(namespace) => namespace,
        None => skill_name(&super::whoami::username(&account, Token::Own)?)?,
    };
    if arguments.format == Format::Text {
        show(&package, Some(&namespace), arguments, printer);
    }
    let question = format!("Publish it to {}? [y/N] ", account.registry.url);
    match arguments.yes.then_some(true).or_else(|| confirm(&question, printer)) {
        Some(true) => {}
        Some(false) => return Err(Error::refused("nothing was published")),
        None => {
            return Err(Error::refused(
                "refusing to publish without confirmation (not a terminal)",
            )
            .hint("run it with `--yes`"));
        }
    }
    if let Some(key) = &package.key {
        let path = ["namespaces", namespace.as_str(), "keys"];
        account.post(&path, &json!({ "key": key }), Token::Own)?;
    }
    let (kind, body) = form(namespace.as_str(), &package);
    printer.note(&format!("uploading {}", size(body.len())));
    let receipt = account.upload(&["skills"], &kind, body)?;
    // SKL-L3-7: what the registry stores are the bytes that were sent.
    let stored = receipt["sha256"].as_str().unwrap_or_default();
    if stored != package.sha256.to_string() && !package.metadata.is_prose {
        return Err(Error::failed("the registry stored other bytes than were uploaded")
            .hint("ask whoever runs the registry, and don't install this version"));
    }
    report(&receipt, arguments, printer);
    Ok(Outcome::Fine)
}

/// Checks, scans, signs and packs.
fn prepare(arguments: &Arguments, printer: &mut Printer) -> Result<Package, Error> {
    let folder = &arguments.folder;
    let failed = |error: &dyn std::fmt::Display| {
        Error::failed(format!("`{}` can't be published: {error}", folder.display()))
    };
    let (read, metadata) = author_skill(folder, "published")?;
    let mut tree = read.tree;
    if let Some(error) = metadata.errors.first() {
        return Err(
            failed(&inline(error)).hint(format!("run `prowess check {}`", folder.display()))
        );
    }
    if metadata.is_prose {
        let archive = tree.manifest().to_vec();
        let sha256 = Sha256Digest::of(&archive);
        return Ok(Package { archive, sha256, files: 1, metadata, key: None });
    }
    if !metadata.declares_version {
        return Err(failed(&"it has no version").hint("add `version: 1.0.0` to its front matter"));
    }
    if metadata.version == semver::Version::new(0, 0, 0) {
        return Err(failed(&"its version is `0.0.0`, which means that it has none")
            .hint("publish `0.1.0` or later"));
    }
    for warning in &metadata.warnings {
        printer.warning(warning);
    }
    if let Some(text) = python_requirements::missing(&tree, &metadata, printer) {
        tree = with_file(&tree, python_requirements::FILE, text.into_bytes())
            .map_err(|why| failed(&why))?;
    }
    author_scan::warn(&tree, printer);
    if let Some(found) = Suspicions::of(&tree, &author_scan::known_bad()).blocking.first() {
        return Err(failed(&format!("it {}", inline(&found.to_string())))
            .hint(format!("`prowess scan {}` shows everything that was found", folder.display())));
    }
    let mut key = None;
    if let Some(name) = &arguments.key {
        let secret = open(&manager()?, name, printer)?;
        let contents = contents_of(&metadata, &tree.hashes(), None);
        let (file, text) = match &secret {
            SecretKey::P256 { .. } => ("skill.oms.sig", sign_oms(&contents, &secret)),
            SecretKey::Ed25519(_) => (
                "SIGNATURE.json",
                sign_dated(&contents, &secret, "", Purpose::Release, Some(now())),
            ),
        };
        let text = text.map_err(|error| failed(&error))?;
        tree = with_file(&tree, file, text.into_bytes()).map_err(|why| failed(&why))?;
        key = Some(secret.public().line());
    }
    let archive = pack(&tree);
    Ok(Package {
        sha256: Sha256Digest::of(&archive),
        files: tree.files().count(),
        archive,
        metadata,
        key,
    })
}

/// The tree with one more file, or with another content of it.
fn with_file(tree: &Tree, path: &str, bytes: Vec<u8>) -> Result<Tree, String> {
    let added =
        path.parse().map_err(|error: prowess_package::path::PackagePathError| error.to_string())?;
    let others = tree.files().filter(|(known, _)| known.as_str() != path);
    let others = others.map(|(path, file)| (path.clone(), file.clone()));
    let file = TreeFile { bytes, executable: false };
    Tree::from_files(others.chain([(added, file)]), &PackageLimits::PACKAGE)
        .map_err(|error| error.to_string())
}

/// Says what is published.
fn show(
    package: &Package,
    namespace: Option<&SkillName>,
    arguments: &Arguments,
    printer: &mut Printer,
) {
    let metadata = &package.metadata;
    let permissions: std::collections::BTreeSet<String> =
        metadata.grants.grants().iter().map(ToString::to_string).collect();
    if arguments.format == Format::Json {
        printer.json(&json!({
            "namespace": namespace.map(SkillName::as_str),
            "name": metadata.name.as_str(),
            "version": metadata.version.to_string(),
            "files": package.files,
            "bytes": package.archive.len(),
            "sha256": package.sha256.to_string(),
            "permissions": permissions,
            "signed": package.key.is_some(),
        }));
        return;
    }
    let owner = namespace.map(|namespace| format!("{namespace}/")).unwrap_or_default();
    let files =
        if package.files == 1 { "1 file".to_owned() } else { format!("{} files", package.files) };
    let mut text = if metadata.is_prose {
        format!("a text without front matter ({})\n", size(package.archive.len()))
    } else {
        format!(
            "{owner}{} {} ({files}, {})\n",
            metadata.name,
            metadata.version,
            size(package.archive.len())
        )
    };
    let permissions: Vec<String> = permissions.into_iter().collect();
    let may = if permissions.is_empty() {
        "nothing that needs a permission".to_owned()
    } else {
        permissions.join(", ")
    };
    let signed = if package.key.is_some() { "yes" } else { "no" };
    let _ = writeln!(text, "  may        {}", inline(&may));
    let _ = writeln!(text, "  signed     {signed}\n  sha256     {}", package.sha256);
    printer.piece(Channel::Err, text.as_bytes());
}

fn report(receipt: &Value, arguments: &Arguments, printer: &mut Printer) {
    if arguments.format == Format::Json {
        printer.json(receipt);
        return;
    }
    let text = |key: &str| inline(receipt[key].as_str().unwrap_or_default()).into_owned();
    let what = format!("{}/{}", text("namespace"), text("name"));
    match receipt["state"].as_str() {
        Some("held") => {
            printer.say(&format!(
                "uploaded `{what}` {}, which a moderator has to approve ({})",
                text("version"),
                text("reason")
            ));
        }
        _ => printer.say(&format!("published `{what}` {} ({})", text("version"), text("tier"))),
    }
}

/// A form with the fields `namespace` and `package`.
fn form(namespace: &str, package: &Package) -> (String, Vec<u8>) {
    // The hash of the content can't be in the content.
    let boundary = format!("prowess-{}", &package.sha256.to_string()[..32]);
    let mut body = format!(
        "--{boundary}\r\ncontent-disposition: form-data; name=\"namespace\"\r\n\r\n{namespace}\r\n\
         --{boundary}\r\ncontent-disposition: form-data; name=\"package\"; filename=\"package.tar.gz\"\r\n\
         content-type: application/octet-stream\r\n\r\n"
    )
    .into_bytes();
    body.extend_from_slice(&package.archive);
    body.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
    (format!("multipart/form-data; boundary={boundary}"), body)
}
