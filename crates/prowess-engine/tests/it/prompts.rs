//! Prompt skills: the events of AFL §8, the prompt of AFL §6, what reaches the model, and what can go wrong.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Poll};
use std::time::Duration;

use prowess_core::{
    BoxFuture, Envelope, Event, Message, Model, ModelDelta, ModelError, ModelErrorKind, ModelFacts,
    ModelRequest, ModelStream, Passage, Query, RetrieveError, Retriever, RunOutcome, StopReason,
    Usage, wire,
};
use prowess_core::{Remedy, RetrieveErrorKind};
use prowess_engine::quiz::Quizzes;
use prowess_engine::{
    CancellationToken, CommandOutputs, LoadedSkill, PromptCall, PromptContext, SkillFolders, World,
    run_prompt,
};
use prowess_format::skill::Skill;
use prowess_policy::{Origin, Tier, Trust};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

/// Says what it is told to say, and remembers what it was asked.
#[derive(Default)]
struct Scripted {
    answers: Mutex<VecDeque<Vec<Result<ModelDelta, ModelError>>>>,
    facts: ModelFacts,
    asked: Mutex<Vec<ModelRequest>>,
    /// Says nothing more after the last piece, and does not end either.
    hangs: bool,
}

impl Scripted {
    fn saying(answers: &[&[&str]]) -> Self {
        let answers = answers.iter().map(|pieces| {
            let end = [
                Ok(ModelDelta::Usage(Usage { input: 7, output: 3 })),
                Ok(ModelDelta::End(StopReason::Done)),
            ];
            pieces.iter().map(|text| Ok(ModelDelta::Text((*text).to_owned()))).chain(end).collect()
        });
        Self { answers: Mutex::new(answers.collect()), ..Self::default() }
    }

    fn pieces(pieces: Vec<Result<ModelDelta, ModelError>>) -> Self {
        Self { answers: Mutex::new([pieces].into()), ..Self::default() }
    }

    fn asked(&self) -> Vec<ModelRequest> {
        self.asked.lock().expect("nobody panicked").clone()
    }
}

struct Pieces(VecDeque<Result<ModelDelta, ModelError>>, bool);

impl futures_core::Stream for Pieces {
    type Item = Result<ModelDelta, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.0.pop_front() {
            None if self.1 => Poll::Pending,
            next => Poll::Ready(next),
        }
    }
}

impl Model for Scripted {
    fn name(&self) -> &'static str {
        "test/scripted"
    }

    fn facts(&self) -> BoxFuture<'_, Result<ModelFacts, ModelError>> {
        Box::pin(async { Ok(self.facts.clone()) })
    }

    fn answer<'m>(
        &'m self,
        request: &'m ModelRequest,
    ) -> BoxFuture<'m, Result<ModelStream, ModelError>> {
        self.asked.lock().expect("nobody panicked").push(request.clone());
        let pieces = self.answers.lock().expect("nobody panicked").pop_front();
        let pieces = Pieces(pieces.unwrap_or_default().into(), self.hangs);
        Box::pin(async { Ok(Box::pin(pieces) as ModelStream) })
    }
}

/// A base with some passages, or one that can't be searched.
struct Shelved(Result<Vec<&'static str>, RetrieveError>, Mutex<Vec<(String, Query)>>);

impl Retriever for Shelved {
    fn search<'r>(
        &'r self,
        base: &'r str,
        query: &'r Query,
    ) -> BoxFuture<'r, Result<Vec<Passage>, RetrieveError>> {
        self.1.lock().expect("nobody panicked").push((base.to_owned(), query.clone()));
        let found = self.0.clone().map(|texts| {
            let passages = texts.iter().enumerate().map(|(at, text)| Passage {
                doc_id: format!("doc-{at}"),
                chunk_index: at as u64,
                score: 0.5,
                text: (*text).to_owned(),
                range: 10..10 + text.len() as u64,
                pages: None,
            });
            passages.collect()
        });
        Box::pin(async { found })
    }
}

struct Scene {
    _folder: TempDir,
    root: PathBuf,
    skill: Skill,
    values: Map<String, Value>,
    time: Option<Duration>,
    history: Vec<Message>,
}

impl Scene {
    fn new(front_matter: &str, body: &str) -> Self {
        let text = format!("---\nname: probe\ndescription: Asks\n{front_matter}---\n\n{body}\n");
        Self::text(&text)
    }

    fn text(text: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let root = folder.path().canonicalize().expect("it is there");
        for name in ["home", "repo/.git", "skills/probe"] {
            std::fs::create_dir_all(root.join(name)).expect("a folder can be made");
        }
        std::fs::write(root.join("skills/probe/SKILL.md"), text).expect("it can be written");
        let skill = prowess_format::check(text, prowess_format::ReadOptions::DETECT).skill;
        let values = Map::new();
        Self { _folder: folder, root, skill, values, time: None, history: Vec::new() }
    }

    fn with(mut self, values: &Value) -> Self {
        self.values = values.as_object().cloned().unwrap_or_default();
        self
    }

    /// Runs it and gives the envelope and the frames, one per line, as the wire has them.
    fn run(
        &self,
        model: &Scripted,
        retriever: Option<&dyn Retriever>,
        cancel: &CancellationToken,
    ) -> (Envelope, String) {
        self.run_watched(Ok(model), retriever, cancel, &mut |_| ())
    }

    fn run_watched(
        &self,
        model: Result<&dyn Model, &ModelError>,
        retriever: Option<&dyn Retriever>,
        cancel: &CancellationToken,
        watch: &mut (dyn FnMut(&Event) + Send),
    ) -> (Envelope, String) {
        let home = self.root.join("home");
        let path = std::ffi::OsStr::new("/usr/bin:/bin");
        let world = World::at(&home, &self.root.join("repo"), path, Vec::new()).expect("folders");
        let directory = self.root.join("skills/probe");
        let call = PromptCall {
            skill: &LoadedSkill {
                skill: self.skill.clone(),
                name: "probe".to_owned(),
                file: directory.join("SKILL.md"),
                directory: Some(directory),
                trust: Trust::of(&self.skill, Tier::Experimental, None, Origin::Local),
                diagnostics: Vec::new(),
                digest: None,
            },
            values: &self.values,
            arguments: None,
            history: &self.history,
            commands: CommandOutputs::NotRun,
            time: self.time,
        };
        let beside = SkillFolders { folders: vec![self.root.join("skills")] };
        let quizzes = Quizzes::of_user(&world);
        let (world, quizzes) = (&world, &quizzes);
        let around = PromptContext {
            world,
            model,
            retriever,
            skills: &beside,
            quizzes,
            cancel,
            hooks: None,
        };
        let mut writer = wire::EventWriter::default();
        let mut lines = Vec::new();
        let mut sink = |event: &Event| {
            watch(event);
            lines.extend(writer.write(event).iter().map(|frame| {
                format!("{} {}", frame["event"].as_str().unwrap_or_default(), frame["data"])
            }));
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let envelope = runtime.expect("a runtime").block_on(run_prompt(&call, &around, &mut sink));
        (envelope, lines.join("\n"))
    }
}

const QUESTION: &str = "inputs:\n  - name: question\n    required: true\nknowledge_base: product-docs\nmodel:\n  temperature: 0.5\n  max_tokens: 1500\n";

#[test]
fn a_run_without_knowledge_is_the_sequence_of_the_specification() {
    // AFL-8-3, AFL-3.2-2, AFL-8-1
    let front_matter = "inputs:\n  - name: article\n    required: true\n  - name: style\n    default: short\nmodel:\n  temperature: 0.3\n  max_tokens: 1000\n";
    let scene = Scene::new(front_matter, "Summarise in a {{style}} tone:\n\n{{article}}");
    let scene = scene.with(&json!({ "article": "Käse {{style}}" }));
    let model = Scripted::saying(&[&["Hal", "lo 世界"]]);
    let (envelope, frames) = scene.run(&model, None, &CancellationToken::default());
    insta::assert_snapshot!(frames, @r#"
    thought {"type":"validation","status":"start"}
    thought {"type":"validation","status":"complete","message":"All required inputs provided"}
    thought {"type":"substitution","status":"start"}
    thought {"type":"substitution","status":"complete","message":"Variables substituted"}
    thought {"type":"generation","status":"start"}
    token {"content":"Hal"}
    token {"content":"lo 世界"}
    done {"status":"success","message":"Skill execution completed successfully"}
    "#);
    assert_eq!(envelope.output, "Hallo 世界");
    let [request] = model.asked().try_into().expect("one request");
    assert_eq!(request.temperature, Some(0.3));
    assert_eq!(request.max_tokens, Some(1000));
    // A value with a placeholder in it is a value.
    let prompt = "Summarise in a short tone:\n\nKäse {{style}}".to_owned();
    assert_eq!(request.messages, [Message::User(prompt)]);
    let answer = envelope.answer.expect("a model has answered");
    assert_eq!(
        (answer.model.as_str(), answer.usage),
        ("test/scripted", Some(Usage { input: 7, output: 3 }))
    );
}

#[test]
fn a_run_with_knowledge_is_the_sequence_of_the_specification() {
    // AFL-8-2, AFL-6-1, AFL-6-2, AFL-6-3
    let body = format!("Frage: {{{{question}}}}\n{}", "ä".repeat(600));
    let scene = Scene::new(QUESTION, &body).with(&json!({ "question": "Was?" }));
    let model = Scripted::saying(&[&["Das."]]);
    let base = Shelved(
        Ok(vec!["first", "second\nline", "third", "fourth", "fifth", "sixth"]),
        Mutex::default(),
    );
    let (envelope, frames) = scene.run(&model, Some(&base), &CancellationToken::default());
    let query = format!("Frage: Was?\n{}", "ä".repeat(488));
    let frames = frames.replace(&query.replace('\n', "\\n"), "QUERY");
    insta::assert_snapshot!(frames, @r#"
    thought {"type":"validation","status":"start"}
    thought {"type":"validation","status":"complete","message":"All required inputs provided"}
    thought {"type":"substitution","status":"start"}
    thought {"type":"substitution","status":"complete","message":"Variables substituted"}
    thought {"type":"retrieval","status":"start","kb_id":"product-docs"}
    thought {"type":"retrieval","status":"searching","kb_id":"product-docs","query":"QUERY"}
    thought {"type":"retrieval","status":"complete","kb_id":"product-docs","results_count":5,"top_results":[{"doc_id":"doc-0","chunk_index":0,"score":0.5,"text":"first"},{"doc_id":"doc-1","chunk_index":1,"score":0.5,"text":"second\nline"},{"doc_id":"doc-2","chunk_index":2,"score":0.5,"text":"third"}]}
    citation {"sources":[{"doc_id":"doc-0","chunk_index":0,"score":0.5,"text":"first","start":10,"end":15,"injected":true},{"doc_id":"doc-1","chunk_index":1,"score":0.5,"text":"second\nline","start":10,"end":21,"injected":true},{"doc_id":"doc-2","chunk_index":2,"score":0.5,"text":"third","start":10,"end":15,"injected":true},{"doc_id":"doc-3","chunk_index":3,"score":0.5,"text":"fourth","start":10,"end":16,"injected":false},{"doc_id":"doc-4","chunk_index":4,"score":0.5,"text":"fifth","start":10,"end":15,"injected":false}]}
    thought {"type":"generation","status":"start"}
    token {"content":"Das."}
    done {"status":"success","message":"Skill execution completed successfully"}
    "#);
    let searched = base.1.lock().expect("nobody panicked").clone();
    assert_eq!(
        searched,
        [("product-docs".to_owned(), Query { text: query, top_k: 5, filters: Vec::new() })]
    );
    let [request] = model.asked().try_into().expect("one request");
    let system = "You are a helpful AI assistant.\n\nAnswer the user's request based on the provided context. If the context doesn't contain relevant information, say so clearly.\n\nContext:\n[1] first\n\n[2] second\nline\n\n[3] third";
    assert_eq!(request.system.as_deref(), Some(system));
    assert_eq!(envelope.answer.expect("an answer").sources.len(), 5);
}

#[test]
fn without_its_knowledge_base_a_run_goes_on() {
    // AFL-6-4
    let scene = Scene::new(QUESTION, "{{question}}").with(&json!({ "question": "Was?" }));
    let model = Scripted::saying(&[&["Das."]]);
    let base = Shelved(
        Err(RetrieveError::new(RetrieveErrorKind::Unavailable, "it is locked")
            .remedy(Remedy::Advice("wait".to_owned()))),
        Mutex::default(),
    );
    let (envelope, frames) = scene.run(&model, Some(&base), &CancellationToken::default());
    assert!(envelope.is_success());
    insta::assert_snapshot!(frames.lines().skip(4).collect::<Vec<_>>().join("\n"), @r#"
    thought {"type":"retrieval","status":"start","kb_id":"product-docs"}
    thought {"type":"retrieval","status":"searching","kb_id":"product-docs","query":"Was?"}
    thought {"type":"retrieval","status":"error","message":"the knowledge base `product-docs` was not searched: it is locked","kb_id":"product-docs"}
    warning {"message":"the knowledge base `product-docs` was not searched: it is locked (wait)"}
    thought {"type":"generation","status":"start"}
    token {"content":"Das."}
    done {"status":"success","message":"Skill execution completed successfully"}
    "#);
    assert_eq!(model.asked()[0].system.as_deref(), Some("You are a helpful AI assistant."));
}

#[test]
fn a_missing_input_is_told_by_a_thought() {
    // AFL-8-4
    let scene = Scene::new(QUESTION, "{{question}}").with(&json!({ "qestion": "x" }));
    let model = Scripted::default();
    let (envelope, frames) = scene.run(&model, None, &CancellationToken::default());
    insta::assert_snapshot!(frames, @r#"
    thought {"type":"validation","status":"start"}
    thought {"type":"validation","status":"error","message":"Missing required input: 'question'; no input is called `qestion` (did you mean `question`?)"}
    done {"status":"error","message":"Missing required input: 'question'; no input is called `qestion` (did you mean `question`?)"}
    "#);
    assert_eq!((envelope.outcome, envelope.exit_code), (RunOutcome::MissingParameter, 2));
    assert_eq!(envelope.remedies, [Remedy::GiveInput("question".to_owned())]);
    assert!(model.asked().is_empty());
    let alone = Scene::new(QUESTION, "{{question}}");
    let (envelope, _) = alone.run(&model, None, &CancellationToken::default());
    assert_eq!(envelope.error.as_deref(), Some("Missing required input: 'question'"));
}

#[test]
fn a_model_that_fails_is_an_error_before_the_end() {
    // AFL-8-5
    let scene = Scene::new("model:\n  temperature: 1\n", "Hello");
    let error = ModelError::new(ModelErrorKind::Provider, "the provider is on fire").advice("wait");
    let model = Scripted::pieces(vec![Ok(ModelDelta::Text("He".to_owned())), Err(error.clone())]);
    let (envelope, frames) = scene.run(&model, None, &CancellationToken::default());
    insta::assert_snapshot!(frames.lines().skip(4).collect::<Vec<_>>().join("\n"), @r#"
    thought {"type":"generation","status":"start"}
    token {"content":"He"}
    error {"message":"the provider is on fire"}
    done {"status":"error","message":"the provider is on fire"}
    "#);
    assert_eq!((envelope.outcome, envelope.exit_code), (RunOutcome::Failed, 1));
    assert_eq!(envelope.remedies, [Remedy::Advice("wait".to_owned())]);
    // One that just stops has not answered.
    let model = Scripted::pieces(vec![Ok(ModelDelta::Text("He".to_owned()))]);
    let (envelope, _) = scene.run(&model, None, &CancellationToken::default());
    assert_eq!(envelope.error.as_deref(), Some("the model stopped in the middle of its answer"));
    // And no model at all is told when everything else is in order.
    let none = ModelError::new(ModelErrorKind::NotConfigured, "there is no model");
    let (envelope, frames) =
        scene.run_watched(Err(&none), None, &CancellationToken::default(), &mut |_| ());
    assert_eq!(envelope.exit_code, 125);
    assert!(frames.ends_with("done {\"status\":\"error\",\"message\":\"there is no model\"}"));
}

#[test]
fn time_and_cancelling_end_a_run() {
    // AFL-7.2-3: error, then done.
    let mut scene = Scene::new("model:\n  temperature: 1\n", "Hello");
    let hanging = || Scripted {
        hangs: true,
        ..Scripted::pieces(vec![Ok(ModelDelta::Text("He".to_owned()))])
    };
    scene.time = Some(Duration::from_millis(50));
    let (envelope, frames) = scene.run(&hanging(), None, &CancellationToken::default());
    assert_eq!((envelope.outcome, envelope.exit_code), (RunOutcome::TimedOut, 124));
    insta::assert_snapshot!(frames.lines().skip(5).collect::<Vec<_>>().join("\n"), @r#"
    token {"content":"He"}
    error {"message":"Skill execution timed out after 0.05 s"}
    done {"status":"error","message":"Skill execution timed out after 0.05 s"}
    "#);
    scene.time = None;
    let cancel = CancellationToken::default();
    let model = hanging();
    let (envelope, _) = scene.run_watched(Ok(&model), None, &cancel, &mut |event| {
        if matches!(event, Event::Token { .. }) {
            cancel.cancel_by(15);
        }
    });
    assert_eq!((envelope.outcome, envelope.exit_code), (RunOutcome::Cancelled, 143));
    // Also one that nobody has started to wait for.
    cancel.cancel();
    let (envelope, _) = scene.run(&hanging(), None, &cancel);
    assert_eq!(envelope.outcome, RunOutcome::Cancelled);
    assert_eq!(prowess_engine::CHAT_LIMIT, Duration::from_mins(3));
}

const JSON: &str = "version: 1.0.0\noutputs:\n  type: json\n  schema:\n    type: object\n    required: [verdict]\n    properties:\n      verdict: {enum: [yes, no]}\n";

#[test]
fn an_answer_that_has_to_be_json_is_repaired_once() {
    // SRT-4.5-1
    let scene = Scene::new(JSON, "Judge.");
    let model =
        Scripted::saying(&[&["I think", " yes"], &["```json\n{\"verdict\": ", "\"yes\"}\n```"]]);
    let (envelope, frames) = scene.run(&model, None, &CancellationToken::default());
    assert!(envelope.is_success(), "{envelope:?}");
    assert_eq!(envelope.parsed, Some(json!({ "verdict": "yes" })));
    // Only the answer that counts is told.
    let tokens: Vec<&str> = frames.lines().filter(|line| line.starts_with("token")).collect();
    assert_eq!(tokens, [r#"token {"content":"```json\n{\"verdict\": \"yes\"}\n```"}"#]);
    let asked = model.asked();
    assert!(asked[0].schema.is_some());
    let Some(Message::User(again)) = asked[1].messages.last() else { panic!("{asked:?}") };
    assert!(again.starts_with("Your answer can't be used: it is not JSON"), "{again}");
    assert_eq!(envelope.answer.expect("an answer").usage, Some(Usage { input: 14, output: 6 }));
    let model = Scripted::saying(&[&["{\"verdict\": \"maybe\"}"], &["{}"]]);
    let (envelope, frames) = scene.run(&model, None, &CancellationToken::default());
    assert_eq!((envelope.outcome, envelope.exit_code), (RunOutcome::InvalidOutput, 1));
    assert_eq!(envelope.output, "{}");
    assert_eq!(model.asked().len(), 2, "once is enough");
    assert!(frames.contains("\"verdict\\\" is a required property"), "{frames}");
}

#[test]
fn what_a_skill_depends_on_is_looked_for_first() {
    // SRT-4.6-1, SRT-4.6-2
    let check = |lines: &str, expected: &str| {
        let scene = Scene::new(
            &format!("version: 1.0.0\nruntime: {{type: markdown-skill}}\ndependencies:\n{lines}"),
            "Go.",
        );
        let other = "---\nname: helper\nversion: 1.4.2\ndescription: Helps\n---\n\nHelp.\n";
        std::fs::create_dir(scene.root.join("skills/helper")).expect("it can be made");
        std::fs::write(scene.root.join("skills/helper/SKILL.md"), other).expect("it is ours");
        let model = Scripted::saying(&[&["fine"]]);
        let (envelope, _) = scene.run(&model, None, &CancellationToken::default());
        let error =
            envelope.error.unwrap_or_default().replace(&scene.root.display().to_string(), "ROOT");
        assert_eq!(error, expected, "{lines}");
        assert_eq!(model.asked().is_empty(), !expected.is_empty(), "{lines}");
    };
    check("  tools: [sh]\n  skills: [\"helper@^1.2\"]\n", "");
    check(
        "  tools: [no-such-tool]\n",
        "`probe` can't run here: the program `no-such-tool` is not on PATH",
    );
    check(
        "  skills: [\"helper@^2\"]\n",
        "`probe` can't run here: it needs `helper` ^2, but `ROOT/skills/helper/SKILL.md` is version 1.4.2",
    );
    check(
        "  skills: [\"nobody@*\"]\n",
        "`probe` can't run here: there is no skill `nobody` in `ROOT/skills`",
    );
}

#[test]
fn files_have_to_be_readable() {
    // SRT-4.4-1
    let front_matter = "version: 1.0.0\nruntime: {type: markdown-skill}\ninputs:\n  - {name: notes, type: file, required: true}\n";
    let scene = Scene::new(front_matter, "Read {{ notes }}");
    let model = Scripted::saying(&[&["fine"]]);
    let (envelope, _) =
        scene.with(&json!({ "notes": "no.txt" })).run(&model, None, &CancellationToken::default());
    assert_eq!(envelope.outcome, RunOutcome::InvalidParameter);
    assert!(envelope.error.unwrap_or_default().contains("`no.txt`, which can't be read"));
    assert!(model.asked().is_empty());
}

#[test]
fn what_a_person_should_know_is_a_warning() {
    let front_matter =
        "requirements:\n  model: \">=7B\"\n  context: \">=8K\"\nmodel:\n  max_tokens: 20\n";
    let mut scene = Scene::new(front_matter, "Hello {{nobody}}");
    scene.history = vec![Message::User("before".to_owned())];
    let pieces =
        vec![Ok(ModelDelta::Text("cut".to_owned())), Ok(ModelDelta::End(StopReason::Length))];
    let facts = ModelFacts { parameters: Some(135_000_000), context: Some(2048) };
    let model = Scripted { facts, ..Scripted::pieces(pieces) };
    let (envelope, _) = scene.run(&model, None, &CancellationToken::default());
    insta::assert_snapshot!(envelope.warnings.join("\n"));
    assert_eq!(model.asked()[0].messages[0], Message::User("before".to_owned()));
}

#[test]
fn code_fences_are_text() {
    // SRT-5-2
    let scene = Scene::new(
        "version: 1.0.0\nruntime: {type: markdown-skill}\n",
        "Do:\n\n```bash\ntouch marker\n```",
    );
    let model = Scripted::saying(&[&["fine"]]);
    let (envelope, _) = scene.run(&model, None, &CancellationToken::default());
    assert!(envelope.is_success());
    assert_eq!(
        model.asked()[0].messages,
        [Message::User("Do:\n\n```bash\ntouch marker\n```".to_owned())]
    );
    assert!(!scene.root.join("repo/marker").exists());
}
