//! `prowess kb`: knowledge bases through the real binary.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;

use insta::assert_snapshot;
use prowess_testkit::Scene;

use crate::scene;

/// Some documents, and a home with nothing in it.
fn library() -> Scene {
    scene()
        .home("home")
        .file("notes/wings.md", "# Wings\n\nHeated wings in a slipstream gain lift.\n")
        .file("notes/bread.txt", "Sourdough bread needs a starter.\nFeed it daily.\n")
        .file("notes/.hidden.md", "# Not read\n")
        .file(
            "notes/deep/page.html",
            "<title>Boats</title><p>Sailing boats have <b>keels</b>.<script>no()</script>",
        )
        .file("notes/picture.png", "not a document")
}

/// What several commands say, one after the other.
fn story(scene: &Scene, commands: &[&str]) -> String {
    let tell = |command: &&str| format!("$ prowess {command}\n{}\n", scene.run(command));
    let story: String = commands.iter().map(tell).collect();
    // How many files the index has depends on how many cores there are.
    let lines = story.lines().map(|line| match line.find("disk") {
        Some(at) => format!("{}disk [SIZE]\n", &line[..at]),
        None => format!("{line}\n"),
    });
    lines.collect()
}

#[test]
fn a_base_is_made_filled_searched_and_taken_away() {
    let scene = library();
    assert_snapshot!(story(
        &scene,
        &[
            "kb list",
            "kb new papers",
            "kb add papers notes",
            "kb add papers notes",
            "kb list",
            "kb search papers what is known about a heated wing",
            "kb search papers sailing --filter format=html",
            "kb search papers sailing --filter format=pdf",
            "kb info papers --verify",
            "kb remove papers notes/bread.txt",
            "kb search papers sourdough starter",
            "kb remove papers",
            "kb remove papers --yes",
            "kb list",
        ]
    ));
}

#[test]
fn json_has_everything() {
    let scene = library();
    assert_snapshot!(story(
        &scene,
        &[
            "kb new papers --quiet",
            "kb add papers notes --field team=lab --format json",
            "kb list --format json",
            "kb search papers wings keels --top 2 --filter team=lab --format json",
            "kb info papers --verify --format json --quiet",
        ]
    ));
}

#[test]
fn mistakes_are_met_with_the_next_step() {
    let scene = library().file("table.safetensors", "no table").file("tokenizer.json", "{}");
    assert_snapshot!(story(
        &scene,
        &[
            "kb new ../papers",
            "kb new papers --language klingon",
            "kb new papers --embedder nowhere.safetensors",
            "kb new papers --embedder /nofile",
            "kb new papers --embedder table.safetensors",
            "kb new papers --embedder http://127.0.0.1:9/v1/embeddings",
            "kb new papers --embedder table.safetensors --embedding-model m",
            "kb new papers",
            "kb new papers",
            "kb add nothing notes",
            "kb add papers nowhere",
            "kb search nothing at all",
            "kb search papers at all",
            "kb search papers x --filter nonsense",
            "kb search papers x --fliter a=b",
            "kb add papers notes --field year=",
            "kb add papers notes --field format=pdf",
            "kb add papers notes --field doc=x",
            "kb remove papers nowhere.md",
            "kb remove nothing",
            "kb info nothing",
        ]
    ));
}

#[test]
fn a_file_that_cannot_be_read_does_not_stop_the_others() {
    let scene = library()
        .file("notes/broken.pdf", "%PDF-1.7 and nothing else")
        .file("notes/broken.docx", "PK\x03\x04 and nothing else")
        .file("notes/empty.txt", "  \n")
        .file("notes/binary.txt", b"a\0b");
    assert_snapshot!(story(
        &scene,
        &["kb new papers --quiet", "kb add papers notes notes/picture.png", "kb list",]
    ));
}

#[cfg(unix)]
#[test]
fn links_in_folders_are_named_and_not_followed() {
    let scene = library();
    let link = |name: &str, target: &str| {
        std::os::unix::fs::symlink(target, scene.path().join("notes").join(name)).expect("a link");
    };
    link("again.md", "wings.md");
    link("up", "..");
    assert_snapshot!(story(&scene, &["kb new papers --quiet", "kb add papers notes"]));
    assert_snapshot!(story(&scene, &["kb add papers notes/again.md"]));
}

#[test]
fn changed_files_are_updated_and_gone_ones_pruned_when_asked() {
    let scene = library();
    let before = story(&scene, &["kb new papers --quiet", "kb add papers notes"]);
    let scene = scene.file("notes/wings.md", "# Wings\n\nCold wings.\n");
    std::fs::remove_file(scene.path().join("notes/bread.txt")).expect("it is ours");
    let after =
        story(&scene, &["kb add papers ./notes", "kb add papers notes --prune", "kb info papers"]);
    assert_snapshot!(before + &after);
}

#[test]
fn fields_stay_when_a_document_changes() {
    let scene = library();
    let before = story(
        &scene,
        &["kb new papers --quiet", "kb add papers notes --field team=lab --field year=2026"],
    );
    let scene = scene.file("notes/wings.md", "# Wings\n\nCold wings.\n");
    let after = story(
        &scene,
        &[
            "kb add papers notes",
            "kb search papers cold wings --top 1 --filter team=lab --filter year=2026",
            // Who names some means exactly those.
            "kb add papers notes --field team=shop",
            "kb search papers cold wings --top 1 --filter year=2026",
            "kb search papers cold wings --top 1 --filter team=shop",
        ],
    );
    assert_snapshot!(before + &after);
}

#[test]
fn a_word_may_begin_with_a_hyphen() {
    let scene = library().file("notes/flags.txt", "The option -word means nothing here.\n");
    story(&scene, &["kb new papers", "kb add papers notes"]);
    let plain = scene.run("kb search papers --top 1 -- -word option");
    assert!(plain.contains("notes/flags.txt"), "{plain}");
    for question in ["-word option --top 1", "--top=1 -word option", "--top 1 -word option -q"] {
        assert_eq!(scene.run(&format!("kb search papers {question}")), plain, "{question}");
    }
}

#[test]
fn a_damaged_base_says_how_to_make_it_anew() {
    let scene = library();
    story(&scene, &["kb new papers", "kb add papers notes"]);
    let root = scene.path().join("home/.local/share/prowess/knowledge/papers");
    let lists = prowess_testkit::files_below(&root, &|name| name == "meta.json");
    assert_eq!(lists.len(), 1);
    std::fs::write(&lists[0], "nonsense").expect("it is ours");
    let broken = scene;
    assert_snapshot!(story(
        &broken,
        &["kb info papers", "kb remove papers --yes", "kb new papers", "kb add papers notes"]
    ));
}

#[cfg(target_os = "linux")]
#[cfg(target_os = "linux")]
#[test]
#[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
fn a_disk_that_can_not_be_written_is_no_damage() {
    let scene = library();
    let script = "exec 2>&1; mount -t tmpfs -o size=8m tmpfs home
        $1 kb new papers --quiet; $1 kb add papers notes --quiet
        dd if=/dev/zero of=home/filler bs=4k 2> /dev/null
        $1 kb new more; echo new $?
        rm home/filler; mount -o remount,ro home
        $1 kb search papers wings; echo search $?
        $1 kb add papers notes/wings.md --field year=2026; echo add $?
        $1 kb info papers --verify | grep -v disk; echo info $?";
    let Some(said) = crate::installing::run_with_mounts(&scene, script) else {
        eprintln!(
            "SKIPPED a disk that can't be written: this system gives nobody mounts of their own"
        );
        return;
    };
    // The base is made beside its place first.
    let said = match said.split_once("/.new-") {
        Some((before, after)) => format!("{before}/.new-[NAME]{}", after.get(6..).unwrap_or(after)),
        None => said,
    };
    assert_snapshot!(said);
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_says_what_it_has_kept() {
    let scene = library();
    story(&scene, &["kb new papers"]);
    // A pipe is read as long as somebody writes into it: the run is in the middle of its files then.
    let pipe = scene.path().join("notes/m.txt");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo is there").success());
    let files = ["notes/bread.txt", "notes/m.txt", "notes/wings.md"];
    let mut child = scene
        .command(&[&["kb", "add", "papers"][..], &files[..]].concat())
        .stdin(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut open = std::fs::File::options().write(true).open(&pipe).expect("somebody reads");
    let id = child.id().to_string();
    let sent = std::process::Command::new("kill").args(["-INT", &id]).status();
    assert!(sent.expect("kill is there").success());
    open.write_all(b"Rye bread keeps longer.\n").expect("it is read");
    drop(open);
    let mut said = String::new();
    let mut errors = child.stderr.take().expect("a pipe");
    errors.read_to_string(&mut said).expect("it is text");
    assert_eq!(child.wait().expect("it ends").code(), Some(130), "{said}");
    assert!(said.contains("stopped after 2 of 3 files, which are kept"), "{said}");
    let found = scene.run("kb search papers rye bread --top 5");
    assert!(found.contains("notes/m.txt") && !found.contains("wings"), "{found}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_person_is_asked_before_a_base_goes() {
    let scene = library();
    story(&scene, &["kb new papers", "kb add papers notes"]);
    assert_snapshot!(scene.run_on_terminal(&["kb", "remove", "papers"], "n\n"), @r"
    exit 0
    --- terminal
    Delete `papers` with 3 documents? [y]es / [N]o: note: `papers` was not removed
    ");
    assert_snapshot!(scene.run_on_terminal(&["kb", "remove", "papers"], "y\n"), @r"
    exit 0
    --- terminal
    Delete `papers` with 3 documents? [y]es / [N]o: removed knowledge base `papers`
    ");
}

/// A server that turns every text into how often it has the letters a to d.
fn letters(listener: &TcpListener) {
    for connection in listener.incoming().flatten() {
        let mut reader = BufReader::new(connection);
        let (mut length, mut key, mut line) = (0, String::new(), String::new());
        while reader.read_line(&mut line).is_ok_and(|count| count > 2) {
            let lower = line.to_lowercase();
            if let Some(value) = lower.strip_prefix("content-length:") {
                length = value.trim().parse().expect("it is a number");
            }
            if let Some(value) = lower.strip_prefix("authorization:") {
                value.trim().clone_into(&mut key);
            }
            line.clear();
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).expect("the body comes");
        let body: serde_json::Value = serde_json::from_slice(&body).expect("the body is JSON");
        let vector = |text: &serde_json::Value| -> Vec<usize> {
            let text = text.as_str().expect("a text is a text");
            let dimension = if body["model"] == "changes" { text.len() } else { 4 };
            ('a'..).take(dimension).map(|letter| text.matches(letter).count()).collect()
        };
        let data: Vec<_> = body["input"]
            .as_array()
            .expect("texts are a list")
            .iter()
            .map(|text| serde_json::json!({ "embedding": vector(text) }))
            .collect();
        let (status, answer) = match key.as_str() {
            "bearer secret" => ("200 OK", serde_json::json!({ "data": data })),
            _ => ("401 Unauthorized", serde_json::json!({ "error": "no key" })),
        };
        let answer = answer.to_string();
        let length = answer.len();
        let head =
            format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
        let _ = reader.get_mut().write_all((head + &answer).as_bytes());
    }
}

#[test]
fn a_server_gives_vectors() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
    let port = listener.local_addr().expect("it has an address").port();
    std::thread::spawn(move || letters(&listener));
    let url = format!("http://127.0.0.1:{port}/v1/embeddings");
    let scene = library().file("doc/b.txt", "bbb").file("doc/d.txt", "ddd");
    let make = format!("kb new server --embedder {url} --embedding-model letters");
    let make_changing = format!("kb new changing --embedder {url} --embedding-model changes");
    let refused = story(&scene, &[&make]);
    let scene = scene.variable("PROWESS_EMBEDDER_KEY", "secret");
    // No word of the question is in the document: the vectors alone find it.
    let told = story(
        &scene,
        &[
            &make,
            "kb add server doc",
            "kb search server --top 1 dxdxd",
            "kb info server",
            &make_changing,
            "kb add changing doc",
        ],
    );
    let told = (refused + &told).replace(&port.to_string(), "[PORT]");
    assert!(!told.contains("secret"), "{told}");
    assert_snapshot!(told);
}
