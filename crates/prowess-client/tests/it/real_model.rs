//! A real model behind a real server, where there is one. `cargo xtask real-model` starts one and runs this.

use prowess_client::models::choose;
use prowess_engine::{Message, ModelRequest, Piece, Stop};

use crate::{next, run};

/// The base URL of an OpenAI-compatible server; `PROWESS_REAL_MODEL` names its model.
#[test]
fn a_real_model_answers() {
    let Ok(url) = std::env::var("PROWESS_REAL_MODEL_URL") else {
        return;
    };
    let name = std::env::var("PROWESS_REAL_MODEL").unwrap_or_else(|_| "model".to_owned());
    let variables = vec![("OPENAI_BASE_URL".to_owned(), url)];
    let model =
        choose(Some(&format!("openai/{name}")), &variables, std::path::Path::new("/nowhere"));
    let model = model.expect("a model");
    let request = ModelRequest {
        system: Some("Answer with one word.".to_owned()),
        messages: vec![Message::User("What is the capital of France?".to_owned())],
        temperature: Some(0.0),
        max_tokens: Some(24),
        ..ModelRequest::default()
    };
    run(async {
        let mut stream = model.answer(&request).await.expect("an answer");
        let (mut text, mut pieces, mut usage, mut end) = (String::new(), 0, None, None);
        while let Some(piece) = next(&mut stream).await {
            match piece.expect("a whole answer") {
                Piece::Text(more) => {
                    text.push_str(&more);
                    pieces += 1;
                }
                Piece::Usage(counted) => usage = Some(counted),
                Piece::End(stop) => end = Some(stop),
                Piece::ToolCall(call) => panic!("no tools were offered: {call:?}"),
            }
        }
        assert!(text.contains("Paris"), "{text}");
        assert!(pieces > 1, "the answer came in one piece");
        assert!(matches!(end, Some(Stop::Done | Stop::Length)), "{end:?}");
        if let Some(usage) = usage {
            assert!(usage.input > 10 && usage.output > 0, "{usage:?}");
        }
    });
}
