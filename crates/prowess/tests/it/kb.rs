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

#[cfg(target_os = "linux")]
#[test]
fn a_person_is_asked_before_a_base_goes() {
    let scene = library();
    story(&scene, &["kb new papers", "kb add papers notes"]);
    assert_snapshot!(scene.run_on_terminal(&["kb", "remove", "papers"], "n\n"), @r"
    exit 0
    --- terminal
    take away `papers` with 3 documents? [y]es / [N]o: note: `papers` stays
    ");
    assert_snapshot!(scene.run_on_terminal(&["kb", "remove", "papers"], "y\n"), @r"
    exit 0
    --- terminal
    take away `papers` with 3 documents? [y]es / [N]o: removed knowledge base `papers`
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
