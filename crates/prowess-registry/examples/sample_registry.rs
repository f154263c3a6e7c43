//! A registry with invented users and skills on a free port, for journeys through its pages and for a first look at them:
//! `cargo run -p prowess-registry --example sample_registry`. It prints its address and ends with its standard input.
//!
//! Users: `ada` (administrator), `acme`, `grace` and `mallory`; the password of each is `correct horse battery`.

use std::error::Error;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use prowess_package::limits::PackageLimits;
use prowess_package::pack::pack;
use prowess_package::tree::{Tree, TreeFile};
use prowess_registry::actor::Actor;
use prowess_registry::host::{HostOptions, add_user};
use prowess_registry::manage::Decision;
use prowess_registry::publish::Upload;
use prowess_registry::{Registry, app};
use prowess_server::Secret;
use prowess_server::accounts::{NewUser, Role};
use prowess_server::http::{ServeOptions, Shutdown, serve};
use tokio::net::TcpListener;

/// The password of everybody.
const PASSWORD: &str = "correct horse battery";
/// Every skill counts as popular, so that a name close to one is held.
const SETTINGS: &str = "popular_downloads = 0\n";
/// Texts that are markup, for every place where a publisher can write something.
const PAYLOADS: &str = include_str!("../src/pages/samples/payloads.txt");

type Files = Vec<(String, Vec<u8>)>;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let data = folder.path().join("data");
    std::fs::create_dir(&data)?;
    std::fs::write(data.join("registry.toml"), SETTINGS)?;
    let options =
        HostOptions { data, database: None, storage: None, upstream: None, public_url: None };
    let registry = options.registry().await?;
    registry.start();
    fill(&registry).await?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    writeln!(std::io::stdout(), "http://{}", listener.local_addr()?)?;
    let shutdown = Shutdown::new();
    let stop = shutdown.clone();
    std::thread::spawn(move || {
        // The end of the input is the end of whoever started this.
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        stop.request();
    });
    let (router, server) = (app::router(&registry), registry.server().clone());
    serve(listener, router, &server, ServeOptions::default(), shutdown).await?;
    registry.stop();
    Ok(())
}

async fn fill(registry: &Registry) -> Result<(), Box<dyn Error>> {
    let ada = user(registry, "ada", Role::Admin).await?;
    let acme = user(registry, "acme", Role::User).await?;
    let grace = user(registry, "grace", Role::User).await?;
    let mallory = user(registry, "mallory", Role::User).await?;

    for name in ["git-insights", "greeting", "api-onboarding", "commit-messages"] {
        publish(registry, &ada, example(name)?).await?;
    }
    for name in ["text-stats", "unit-converter", "word-count"] {
        publish(registry, &grace, example(name)?).await?;
    }
    publish(registry, &acme, forms("1.0.0", "  - filesystem:read\n")).await?;
    publish(
        registry,
        &acme,
        forms(
            "2.0.0",
            "  - filesystem:write\n  - shell:execute:qpdf\n  - network:write:api.acme.dev\n",
        ),
    )
    .await?;
    publish(registry, &acme, invoices()).await?;
    publish(registry, &mallory, hostile()).await?;
    // One edit away from `pdf-forms` of `acme`: it is held for a moderator.
    publish(registry, &mallory, named("pdf-form", "1.0.0")).await?;
    publish(registry, &mallory, named("helper-kit", "1.2.0")).await?;
    publish(registry, &grace, named("quiet-notes", "1.0.0")).await?;

    let forms = "acme/pdf-forms".parse()?;
    registry.rate(&grace, &forms, 5, Some("Filled in forty forms without a mistake.")).await?;
    registry.rate(&ada, &forms, 4, Some("Slow with large forms.")).await?;
    let helper = "mallory/helper-kit".parse()?;
    registry
        .report(&grace, &helper, Some("1.2.0"), "malicious", "It reads ~/.ssh, see line 12.")
        .await?;
    registry.moderate(&ada, &"grace/quiet-notes".parse()?, Decision::Hide, "on request").await?;
    registry.add_organisation(&ada, "skill-makers").await?;
    registry.catch_up().await?;
    Ok(())
}

async fn user(registry: &Registry, name: &str, role: Role) -> Result<Actor, Box<dyn Error>> {
    let new = NewUser { username: name.parse()?, role, password: Some(Secret::new(PASSWORD)) };
    let user = add_user(registry.server(), registry.settings(), new)
        .await
        .map_err(|problem| problem.message)?;
    Ok(Actor {
        user_id: user.id,
        username: name.to_owned(),
        created: user.created_at.seconds(),
        is_administrator: role == Role::Admin,
        scopes: None,
        provenance: None,
    })
}

async fn publish(registry: &Registry, actor: &Actor, files: Files) -> Result<(), Box<dyn Error>> {
    let manifest = files.iter().find(|(path, _)| path == "SKILL.md");
    let manifest =
        manifest.map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned()).unwrap_or_default();
    let name =
        manifest.lines().find_map(|line| line.strip_prefix("name: ")).unwrap_or("?").to_owned();
    let mut listed = Vec::new();
    for (path, bytes) in files {
        let executable = path.starts_with("scripts/");
        listed.push((path.parse()?, TreeFile { bytes, executable }));
    }
    let tree = Tree::from_files(listed, &PackageLimits::PACKAGE)?;
    let upload = Upload { namespace: actor.username.clone(), package: pack(&tree).into() };
    let published = registry.publish(actor, upload).await;
    published.map_err(|error| format!("`{name}` of {}: {error}", actor.username))?;
    Ok(())
}

/// The files of one of the project's examples.
fn example(name: &str) -> Result<Files, Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
    let mut files = Vec::new();
    let mut open: Vec<PathBuf> = vec![folder.clone()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(next)? {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
                continue;
            }
            let relative = path.strip_prefix(&folder)?.to_string_lossy().replace('\\', "/");
            let mut bytes = std::fs::read(&path)?;
            let manifest = String::from_utf8_lossy(&bytes);
            // Where the version is in `metadata`, the registry asks for it at the top.
            if relative == "SKILL.md" && !manifest.lines().any(|line| line.starts_with("version:"))
            {
                bytes = manifest.replacen("---\n", "---\nversion: 1.0.0\n", 1).into_bytes();
            }
            files.push((relative, bytes));
        }
    }
    Ok(files)
}

fn text(path: &str, text: impl Into<String>) -> (String, Vec<u8>) {
    (path.to_owned(), text.into().into_bytes())
}

fn named(name: &str, version: &str) -> Files {
    let manifest = format!(
        "---\nname: {name}\ndescription: Keeps notes in a folder and finds them again\nversion: {version}\nlicense: MIT\n---\n\n\
         # {name}\n\nWrite notes to the working folder.\n"
    );
    vec![text("SKILL.md", manifest)]
}

fn forms(version: &str, permissions: &str) -> Files {
    let manifest = format!(
        "---\nname: pdf-forms\nversion: {version}\ndescription: Fill in, check and flatten PDF forms\nauthor: acme\n\
         license: Apache-2.0\nrepository: https://code.example/acme/skills\nhomepage: https://acme.example\n\
         tags: [pdf, forms]\npermissions:\n{permissions}  - env:none\n---\n\n# PDF forms\n\nFills in forms of version {version}. \
         See [the fields](references/fields.md).\n\n## Fields\n\n| Field | Type |\n|---|---|\n| name | text |\n\n\
         ## In a script\n\n```python\nfill(\"form.pdf\")  # returns a path\n```\n\n## Limits\n\nNo encryption.\n\n## Questions\n\n\
         Ask the author.\n\n### fill\n\nFill in a form.\n\n#### Parameters\n\n| Name | Type | Required | Description |\n\
         |---|---|---|---|\n| path | string | yes | The form |\n\n#### Command\n\n```bash\nqpdf --check {{{{path}}}}\n```\n"
    );
    let fields: String =
        (1..40).map(|line| format!("{line}. A field\n")).collect::<Vec<_>>().concat();
    let mut files = vec![
        text("SKILL.md", manifest),
        text("references/fields.md", format!("# Fields of {version}\n\n{fields}")),
    ];
    if version != "1.0.0" {
        files.push(text(
            "scripts/check.sh",
            "#!/bin/sh\n# Checks a form.\nset -eu\nqpdf --check \"$1\"\n",
        ));
    }
    files
}

fn invoices() -> Files {
    let manifest = "---\nname: invoices\nversion: 1.0.0\ndescription: Write invoices as PDF forms\nauthor: acme\nlicense: MIT\n\
                    permissions:\n  - filesystem:write\nrequirements:\n  skills:\n    - name: pdf-forms\n      version: \"^2.0.0\"\n---\n\n# Invoices\n\n\
                    ### write_invoice\n\nWrite an invoice.\n\n#### Command\n\n```bash\nqpdf --empty out.pdf\n```\n";
    vec![text("SKILL.md", manifest)]
}

/// A skill that tries to be a script on every page that shows it.
fn hostile() -> Files {
    let payloads: Vec<&str> = PAYLOADS.lines().filter(|line| !line.is_empty()).collect();
    let readme = payloads
        .iter()
        .map(|payload| format!("{payload}\n\n[{payload}]({payload})\n\n"))
        .collect::<Vec<_>>();
    let quoted = |payload: &str| serde_json::Value::from(payload).to_string();
    let manifest = format!(
        "---\nname: hostile-words\nversion: 1.0.0\ndescription: {}\nauthor: {}\nlicense: {}\ntags: [{}]\n\
         homepage: \"javascript:alert(1)\"\nrepository: \"javascript:alert(1)\"\n---\n\n# Hostile\n\n{}",
        quoted("<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"),
        quoted("<svg onload=alert(1)>"),
        quoted("<b>MIT</b>"),
        quoted("<i>tag</i>"),
        readme.concat()
    );
    vec![
        text("SKILL.md", manifest),
        text(
            "assets/picture.svg",
            "<svg xmlns=\"http://www.w3.org/2000/svg\" onload=\"alert(1)\"><script>alert(1)</script></svg>\n",
        ),
        text("assets/page.html", "<script>alert(1)</script>\n"),
        text("notes/a & 'b'.md", "<script>alert(1)</script>\n"),
    ]
}
