//! Facts that stand only in a knowledge base, asked of a real model: with the base they are answered, without it they are
//! not. `cargo xtask real-model` starts a server and sets `PROWESS_REAL_MODEL_URL`.

use prowess_testkit::Scene;

use crate::scene;

const BASE: &str = "knowledge_base: facts\n";

/// A very small model takes short and plain questions only.
fn skill(base: &str) -> String {
    format!(
        "---\nname: facts\ndescription: Answers\ninputs:\n  - name: question\n    required: true\n{base}model:\n  temperature: 0\n  max_tokens: 40\n---\n\n{{{{question}}}}\n"
    )
}

/// What is asked, and a word of the answer that nobody can guess.
const FACTS: &[(&str, &str, &str)] = &[
    (
        "What is the name of the cat of Captain Brandt?",
        "The cat of Captain Brandt is called Zorbix.",
        "Zorbix",
    ),
    (
        "In which city is the Quellmann factory?",
        "The Quellmann factory is in the city of Vurnholt.",
        "Vurnholt",
    ),
    (
        "What colour is the door of house Tannek?",
        "The door of house Tannek is turquoise.",
        "turquoise",
    ),
    (
        "What is the password of the archive?",
        "The password of the archive is plinth-ferret.",
        "plinth",
    ),
    ("Who invented the drobelscope?", "The drobelscope was invented by Maria Ostrow.", "Ostrow"),
];

fn answers(scene: &Scene, folder: &str) -> usize {
    let said = |question: &str| {
        scene.output(&["run", folder, "--input", &format!("question={question}")], "").stdout
    };
    FACTS
        .iter()
        .filter(|(question, _, answer)| String::from_utf8_lossy(&said(question)).contains(answer))
        .count()
}

#[test]
#[expect(clippy::print_stderr, reason = "a test that does nothing says so")]
fn real_model_answers_what_only_the_knowledge_base_says() {
    let Ok(url) = std::env::var("PROWESS_REAL_MODEL_URL") else {
        eprintln!("SKIPPED: `cargo xtask real-model` runs this with a real model");
        return;
    };
    let mut scene = scene()
        .home("home")
        .file("with/SKILL.md", skill(BASE).replace("name: facts", "name: with"))
        .file("without/SKILL.md", skill("").replace("name: facts", "name: without"))
        .variable("OPENAI_BASE_URL", &url)
        .variable("PROWESS_MODEL", "openai/small");
    for (number, (_, fact, _)) in FACTS.iter().enumerate() {
        scene = scene.file(&format!("notes/{number}.md"), format!("{fact}\n"));
    }
    scene.stdout("kb new facts");
    scene.stdout("kb add facts notes");
    let (with, without) = (answers(&scene, "with"), answers(&scene, "without"));
    eprintln!("with the base {with} of {}, without it {without}", FACTS.len());
    assert_eq!((with, without), (FACTS.len(), 0));
}
