//! Dropping an answer, or the future that opens one, ends the request at the provider.

use prowess_core::{Model as _, ModelDelta};
use prowess_testkit::{Answer, Ending, ScriptedProvider};

use crate::{DIALECTS, model, next, request, run};

#[test]
fn dropping_an_answer_closes_the_connection() {
    for dialect in DIALECTS {
        let provider = ScriptedProvider::start(Answer::text(["first"]).then_stall());
        let model = model(dialect, &provider);
        run(async {
            let request = request("Hi");
            let mut stream = model.answer(&request).await.expect("an answer begins");
            assert_eq!(next(&mut stream).await, Some(Ok(ModelDelta::Text("first".to_owned()))));
            drop(stream);
            // The runtime goes on: it is not its end that closes the connection.
            let ended = tokio::task::spawn_blocking(move || provider.ending(0)).await;
            assert_eq!(ended.expect("the provider noticed"), Ending::ClientLeft, "{dialect}");
        });
    }
}

#[test]
fn dropping_the_wait_for_an_answer_closes_the_connection() {
    for dialect in DIALECTS {
        let provider = ScriptedProvider::start(Answer::text([]).then_stall());
        let model = model(dialect, &provider);
        run(async {
            let request = request("Hi");
            let arrived = async {
                let provider = tokio::task::spawn_blocking(move || {
                    provider.request(0);
                    provider
                });
                provider.await.expect("the request arrived")
            };
            let provider = tokio::select! {
                _ = model.answer(&request) => panic!("no token was sent"),
                provider = arrived => provider,
            };
            let ended = tokio::task::spawn_blocking(move || provider.ending(0)).await;
            assert_eq!(ended.expect("the provider noticed"), Ending::ClientLeft, "{dialect}");
        });
    }
}

/// An answer is told piece by piece, as it comes.
#[test]
fn deltas_arrive_without_delay() {
    for dialect in DIALECTS {
        let provider = ScriptedProvider::start(
            Answer::text(["a"]).gate("one").then("b").gate("two").then("c"),
        );
        let model = model(dialect, &provider);
        run(async {
            let request = request("Hi");
            let mut stream = model.answer(&request).await.expect("an answer begins");
            for (wanted, gate) in [("a", "one"), ("b", "two"), ("c", "")] {
                assert_eq!(next(&mut stream).await, Some(Ok(ModelDelta::Text(wanted.to_owned()))));
                provider.open(gate);
            }
        });
    }
}
