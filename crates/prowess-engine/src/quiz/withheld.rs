//! The main file of a skill without what a closed gate withholds.

use prowess_format::diagnostic::Findings;
use prowess_format::document::{Document, FrontMatter};
use prowess_format::emit::YamlWriter;
use prowess_format::skill::{Quiz, Skill};
use serde_json::{Map, Value, json};

/// The comment that says where the rest is.
const NOTICE: &str =
    "# The instructions and files of this skill are withheld until its quiz is passed.";

/// The front matter without answers, explanations, branches and comments, and no body.
///
/// It is written anew from the values: a comment, an unknown key of a question or a value that can't be read could have the
/// answers.
pub(super) fn main_file(text: &str, skill: &Skill, quizzes: &[Quiz]) -> String {
    let document = Document::markdown(text, &mut Findings::default());
    let mut yaml = YamlWriter::new();
    yaml.raw(NOTICE);
    if document.front_matter == FrontMatter::Read {
        for entry in &document.root.entries {
            match entry.key.as_ref() {
                "quiz" => yaml.value("quiz", &Value::from(served(quizzes))),
                key => yaml.value(key, &entry.value.to_json()),
            }
        }
    } else {
        // Where a part can't be read, nobody knows what it is.
        yaml.text("name", skill.name_text());
        yaml.text("description", skill.description.as_ref().map(|text| text.as_str()));
        yaml.value("quiz", &Value::from(served(quizzes)));
    }
    format!("---\n{}---\n", yaml.as_str())
}

/// The quizzes in the words of the front matter.
fn served(quizzes: &[Quiz]) -> Vec<Value> {
    quizzes
        .iter()
        .map(|quiz| {
            let mut map = Map::new();
            for (key, text) in [("title", &quiz.title), ("description", &quiz.description)] {
                map.extend(text.clone().map(|text| (key.to_owned(), Value::from(text))));
            }
            map.insert("gate".to_owned(), quiz.gate.into());
            map.insert("passing-score".to_owned(), super::json::number(quiz.passing_score));
            let questions = quiz.questions.iter().map(|question| {
                let options: Vec<Value> =
                    question.options.iter().map(|it| json!({ "label": it.label })).collect();
                json!({ "question": question.question.value, "options": options })
            });
            map.insert("questions".to_owned(), questions.collect());
            Value::Object(map)
        })
        .collect()
}
