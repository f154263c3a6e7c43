//! Knowledge bases: upload, search, citations, hostile files and names.

use std::io::Write as _;

use prowess_testkit::{Answer, ScriptedProvider};
use serde_json::{Value, json};

use crate::support::{Client, Response, TestStudio, parse_events};

const HANDBOOK: &str = "# Handbook\n\nThe boiler in Lindau is serviced by Marta Vogel every autumn.\n\nTravel is booked two weeks ahead.\n";

fn create(client: &Client, name: &str) -> String {
    let created = client.post("/knowledge", &json!({ "name": name }));
    assert_eq!(created.status, 201, "{created:?}");
    created.json()["id"].as_str().expect("an id").to_owned()
}

fn upload(
    client: &Client,
    base: &str,
    files: &[(&str, &[u8])],
    headers: &[(&str, &str)],
) -> Response {
    let mut body = Vec::new();
    for (name, bytes) in files {
        write!(
            body,
            "--limit\r\ncontent-disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n"
        )
        .expect("memory has room");
        body.extend_from_slice(bytes);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(b"--limit--\r\n");
    let kind = "multipart/form-data; boundary=limit";
    client.stream("POST", &format!("/knowledge/{base}/upload"), headers, Some((kind, &body))).read()
}

#[test]
fn documents_are_found_and_cited() {
    // AFL-8-2, AFL-6-1, AFL-6-2, AFL-6-3
    let provider = ScriptedProvider::start(Answer::text(["Marta Vogel [1]"]));
    let studio = TestStudio::with_model(&provider);
    let ada = studio.user("ada");
    let base = create(&ada, "handbook");
    let added = upload(&ada, &base, &[("handbook.md", HANDBOOK.as_bytes())], &[]);
    assert_eq!(added.status, 201, "{added:?}");
    assert_eq!(added.json()["documents"][0]["status"], "added");
    let found =
        ada.get(&format!("/knowledge/{base}/search?query=who%20services%20the%20boiler")).json();
    let first = &found["results"][0];
    let text = first["text"].as_str().expect("text");
    assert!(text.contains("Marta Vogel"), "{found}");
    assert_eq!((&first["words_rank"], &first["injected"]), (&json!(1), &json!(true)));
    let units: Vec<u16> = text.encode_utf16().collect();
    let marked: Vec<String> = first["highlights"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|at| {
            let at =
                |end: usize| usize::try_from(at[end].as_u64().expect("a number")).expect("small");
            String::from_utf16_lossy(&units[at(0)..at(1)])
        })
        .collect();
    assert!(marked.contains(&"boiler".to_owned()), "{marked:?}");
    // By its name, and with the events of the specification's section 8 in their order.
    ada.create_skill(
        "ask",
        "---\ndescription: x\nknowledge_base: handbook\ninputs:\n  - name: q\n---\n{{q}}\n",
    );
    let run =
        ada.events("/skills/ask/run", &json!({ "inputs": { "q": "Who services the boiler?" } }));
    let events = parse_events(&run.read().text());
    let steps: Vec<String> = events
        .iter()
        .map(|(name, data)| {
            let word = |key: &str| data[key].as_str().unwrap_or_default().to_owned();
            format!("{name} {} {}", word("type"), word("status")).trim().to_owned()
        })
        .collect();
    assert_eq!(
        steps,
        [
            "thought validation start",
            "thought validation complete",
            "thought substitution start",
            "thought substitution complete",
            "thought retrieval start",
            "thought retrieval searching",
            "thought retrieval complete",
            "citation",
            "thought generation start",
            "token",
            "done  success",
        ]
    );
    let source = &events[7].1["sources"][0];
    assert_eq!((&source["doc_id"], &source["injected"]), (&json!("handbook.md"), &json!(true)));
    let (start, end) = (source["start"].as_u64().expect("a"), source["end"].as_u64().expect("b"));
    let range = usize::try_from(start).expect("small")..usize::try_from(end).expect("small");
    assert_eq!(&HANDBOOK[range], source["text"].as_str().expect("text"));
    let system = provider.request(0).json()["messages"][0]["content"].clone();
    assert!(system.as_str().expect("text").starts_with(
        "You are a helpful AI assistant.\n\nAnswer the user's request based on the provided context. If the context doesn't contain relevant information, say so clearly.\n\nContext:\n[1] "
    ));
}

#[test]
fn the_same_file_is_added_once() {
    let studio = TestStudio::start();
    let ada = studio.user("ada");
    let base = create(&ada, "handbook");
    let status = |files: &[(&str, &[u8])]| -> Vec<Value> {
        let uploaded = upload(&ada, &base, files, &[]).json();
        let documents = uploaded["documents"].as_array().expect("a list").clone();
        documents.iter().map(|document| document["status"].clone()).collect()
    };
    assert_eq!(
        status(&[("a.md", HANDBOOK.as_bytes()), ("b.txt", b"Another text.")]),
        ["added", "added"]
    );
    assert_eq!(status(&[("a.md", HANDBOOK.as_bytes())]), ["unchanged"]);
    assert_eq!(status(&[("copy.md", HANDBOOK.as_bytes())]), ["duplicate"]);
    assert_eq!(status(&[("a.md", b"# New\n\nA new text.")]), ["replaced"]);
    let listed = ada.get(&format!("/knowledge/{base}/documents")).json();
    assert_eq!(listed["total"], 2);
    let document = ada.get(&format!("/knowledge/{base}/documents/a.md")).json();
    assert_eq!(document["text"], "# New\n\nA new text.");
    let chunks = ada.get(&format!("/knowledge/{base}/documents/a.md/chunks")).json();
    assert_eq!((&chunks["total"], &chunks["chunks"][0]["start"]), (&json!(1), &json!(0)));
    let file = ada.get(&format!("/knowledge/{base}/documents/a.md/file"));
    assert_eq!(file.body, b"# New\n\nA new text.");
    assert_eq!(file.header("content-disposition"), "attachment");
    assert_eq!(file.header("content-type"), "application/octet-stream");
    assert_eq!(ada.delete(&format!("/knowledge/{base}/documents/a.md")).status, 204);
    assert_eq!(ada.delete(&format!("/knowledge/{base}/documents/a.md")).problem().0, 404);
    assert_eq!(ada.delete(&format!("/knowledge/{base}")).status, 204);
    assert_eq!(ada.get(&format!("/knowledge/{base}")).problem().0, 404);
}

#[test]
fn names_and_bases_are_ones_own() {
    let studio = TestStudio::start();
    let (ada, eve) = (studio.user("ada"), studio.user("eve"));
    let base = create(&ada, "secret");
    assert_eq!(ada.post("/knowledge", &json!({ "name": "secret" })).problem().0, 409);
    create(&eve, "secret");
    for path in ["", "/documents", "/search?query=x"] {
        assert_eq!(eve.get(&format!("/knowledge/{base}{path}")).problem().0, 404, "{path}");
    }
    assert_eq!(upload(&eve, &base, &[("a.md", b"x")], &[]).problem().0, 404);
    assert_eq!(eve.delete(&format!("/knowledge/{base}")).problem().0, 404);
    assert_eq!(eve.get("/knowledge").json()["total"], 1);
}

#[test]
fn hostile_files_are_refused() {
    let studio = TestStudio::start();
    let ada = studio.user("ada");
    let base = create(&ada, "handbook");
    for name in ["../a.md", "a/b.md", "..", "c:a.md", "a\u{202e}dm.md", "..\\a.md"] {
        let refused = upload(&ada, &base, &[(name, b"x")], &[]);
        assert_eq!((refused.problem().0, refused.problem().1.as_str()), (400, "file"), "{name}");
    }
    // A document of a few kilobytes that unpacks to gigabytes.
    let bomb = {
        use std::io::Cursor;
        let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
        let options = zip::write::SimpleFileOptions::default();
        zip.start_file("word/document.xml", options).expect("a file");
        let block = vec![b' '; 1 << 20];
        for _ in 0..200 {
            zip.write_all(&block).expect("memory has room");
        }
        zip.finish().expect("an archive").into_inner()
    };
    assert!(bomb.len() < 1 << 20, "{}", bomb.len());
    for (name, bytes) in [
        ("bomb.docx", bomb.as_slice()),
        ("broken.pdf", b"%PDF-1.7\nnothing"),
        ("program.exe", b"MZ"),
        ("empty.md", b""),
    ] {
        let refused = upload(&ada, &base, &[(name, bytes)], &[]);
        assert_eq!(refused.status, 400, "{name}: {refused:?}");
        assert_eq!(refused.json()["documents"][0]["status"], "refused", "{name}");
    }
    assert_eq!(ada.get(&format!("/knowledge/{base}")).json()["documents"], 0);
    let form = ada.post(&format!("/knowledge/{base}/upload"), &json!({}));
    assert_eq!(form.problem().0, 415);
    let markup = "<script>alert(1)</script>";
    upload(&ada, &base, &[("x.md", format!("# {markup}\n\nHello\n").as_bytes())], &[]);
    let listed = ada.get(&format!("/knowledge/{base}/documents"));
    assert_eq!(listed.header("content-type"), "application/json");
    assert_eq!(listed.header("x-content-type-options"), "nosniff");
}

#[test]
fn an_upload_tells_its_progress() {
    let studio = TestStudio::start();
    let ada = studio.user("ada");
    let base = create(&ada, "handbook");
    let files: [(&str, &[u8]); 2] = [("a.md", HANDBOOK.as_bytes()), ("b.exe", b"MZ")];
    let told = upload(&ada, &base, &files, &[("accept", "text/event-stream")]);
    let events = parse_events(&told.text());
    let steps: Vec<String> = events
        .iter()
        .map(|(name, data)| {
            let word = |key: &str| data[key].as_str().unwrap_or_default().to_owned();
            format!("{name} {} {}{}", word("doc_id"), word("stage"), word("status"))
        })
        .collect();
    assert_eq!(
        steps,
        [
            "progress a.md received",
            "progress b.exe received",
            "progress a.md extracting",
            "progress a.md indexing",
            "document a.md added",
            "document b.exe refused",
            "done  success",
        ]
    );
}
