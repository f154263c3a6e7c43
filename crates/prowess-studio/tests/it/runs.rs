//! Runs: the frames of their events, replay, limits, and clients that leave.

use std::time::{Duration, Instant};

use prowess_testkit::{Answer, Ending, Reply, Script, ScriptedProvider};
use serde_json::{Value, json};

use crate::support::{ARTICLE_SUMMARY, TestStudio, parse_events, text_of, wait_for};

fn article() -> Value {
    json!({ "inputs": { "article": "Zwölf Boxkämpfer" } })
}

#[test]
fn the_frames_are_those_of_the_specification() {
    // AFL-7.1-1, AFL-8-1, AFL-8-3, AFL-3.2-2
    let provider =
        ScriptedProvider::start(Answer::text(["Grüße, ", "Welt </script>"]).usage(12, 2));
    let studio = TestStudio::with_model(&provider);
    let ada = studio.user("ada");
    ada.create_skill("article-summary", ARTICLE_SUMMARY);
    let run = ada.events("/skills/article-summary/run", &article());
    assert_eq!(run.head.status, 200);
    let header = |name| run.head.header(name).to_owned();
    assert_eq!(header("content-type"), "text/event-stream; charset=utf-8");
    assert_eq!(header("cache-control"), "no-cache");
    assert_eq!(header("x-accel-buffering"), "no");
    let id = run.run_id();
    assert_eq!(id.len(), 32);
    let text = run.read().text();
    let (before, after) = text.split_once("id: 8\nevent: usage\n").expect("usage before the end");
    assert_eq!(
        before,
        "id: 1\nevent: thought\ndata: {\"type\":\"validation\",\"status\":\"start\"}\n\n\
         id: 2\nevent: thought\ndata: {\"type\":\"validation\",\"status\":\"complete\",\"message\":\"All required inputs provided\"}\n\n\
         id: 3\nevent: thought\ndata: {\"type\":\"substitution\",\"status\":\"start\"}\n\n\
         id: 4\nevent: thought\ndata: {\"type\":\"substitution\",\"status\":\"complete\",\"message\":\"Variables substituted\"}\n\n\
         id: 5\nevent: thought\ndata: {\"type\":\"generation\",\"status\":\"start\"}\n\n\
         id: 6\nevent: token\ndata: {\"content\":\"Grüße, \"}\n\n\
         id: 7\nevent: token\ndata: {\"content\":\"Welt </script>\"}\n\n"
    );
    assert!(after.ends_with(
        "id: 9\nevent: done\ndata: {\"status\":\"success\",\"message\":\"Skill execution completed successfully\"}\n\n"
    ));
    // Mistake 1 of the reference implementation: both settings reach the model.
    let request = provider.request(0).json();
    assert_eq!((&request["temperature"], &request["max_tokens"]), (&json!(0.3), &json!(1000)));

    // A finished run is replayed, all of it or from any event.
    assert_eq!(ada.get(&format!("/runs/{id}/events")).text(), text);
    let rest = ada.send("GET", &format!("/runs/{id}/events"), &[("last-event-id", "7")], None);
    assert!(rest.text().starts_with("id: 8\nevent: usage\n"), "{}", rest.text());
    assert_eq!(rest.header("x-run-id"), id);
    let record = ada.get(&format!("/runs/{id}")).json();
    assert_eq!(
        (&record["status"], &record["output"], &record["output_tokens"], &record["inputs"]),
        (&json!("success"), &json!("Grüße, Welt </script>"), &json!(2), &article()["inputs"])
    );
    assert_eq!(ada.get("/runs?skill=article-summary").json()["runs"][0]["id"], id);
    assert_eq!(ada.delete(&format!("/runs/{id}")).status, 204);
    assert_eq!(ada.get(&format!("/runs/{id}/events")).status, 404);
}

#[test]
fn a_missing_input_is_told_in_the_stream() {
    // AFL-8-4
    let provider = ScriptedProvider::start(Answer::text(["never"]));
    let studio = TestStudio::with_model(&provider);
    let ada = studio.user("ada");
    ada.create_skill("article-summary", ARTICLE_SUMMARY);
    let run = ada.events("/skills/article-summary/run", &json!({ "inputs": {} })).read();
    assert_eq!(run.status, 200);
    assert_eq!(
        run.text(),
        "id: 1\nevent: thought\ndata: {\"type\":\"validation\",\"status\":\"start\"}\n\n\
         id: 2\nevent: thought\ndata: {\"type\":\"validation\",\"status\":\"error\",\"message\":\"Missing required input: 'article'\"}\n\n\
         id: 3\nevent: done\ndata: {\"status\":\"error\",\"message\":\"Missing required input: 'article'\"}\n\n"
    );
    assert!(provider.requests().is_empty());
}

#[test]
fn a_failed_model_is_an_error_and_then_the_end() {
    // AFL-8-5
    let error = json!({ "error": { "message": "the key is invalid" } });
    let provider = ScriptedProvider::start(Script::by(move |_| Reply::json(401, &error)));
    let studio = TestStudio::with_model(&provider);
    let ada = studio.user("ada");
    ada.create_skill("article-summary", ARTICLE_SUMMARY);
    let events = parse_events(&ada.events("/skills/article-summary/run", &article()).read().text());
    let last: Vec<&str> = events.iter().rev().take(2).map(|(name, _)| name.as_str()).collect();
    assert_eq!(last, ["done", "error"]);
    assert_eq!(events[events.len() - 1].1["status"], "error");
}

#[test]
fn a_client_that_leaves_ends_the_request_to_the_model() {
    let provider = ScriptedProvider::start(Answer::text(["one"]).gate("never").then("two"));
    let studio = TestStudio::with_model(&provider);
    let ada = studio.user("ada");
    ada.create_skill("article-summary", ARTICLE_SUMMARY);
    let mut run = ada.events("/skills/article-summary/run", &article());
    run.until("one");
    let id = run.run_id();
    let left = Instant::now();
    drop(run);
    assert_eq!(provider.ending(0), Ending::ClientLeft);
    // Usually a few milliseconds; the bound of 100 ms is measured by the benchmark on an idle machine.
    assert!(left.elapsed() < Duration::from_secs(5), "{:?}", left.elapsed());
    let record = wait_for("the record", || {
        Some(ada.get(&format!("/runs/{id}")).json()).filter(|run| run["status"] == "cancelled")
    });
    assert_eq!(record["error"], "Skill execution was cancelled");
}

#[test]
fn a_run_that_continues_is_followed_again() {
    let provider = ScriptedProvider::start(Answer::text(["one "]).gate("more").then("two"));
    let studio = TestStudio::with_model(&provider);
    let ada = studio.user("ada");
    ada.create_skill("article-summary", ARTICLE_SUMMARY);
    let mut body = article();
    body["on_disconnect"] = json!("continue");
    let mut run = ada.events("/skills/article-summary/run", &body);
    let so_far = run.until("one ");
    let id = run.run_id();
    drop(run);
    let last = parse_events(&so_far).len().to_string();
    let path = format!("/runs/{id}/events");
    let again = ada.stream("GET", &path, &[("last-event-id", &last)], None);
    provider.open("more");
    let rest = again.read().text();
    assert_eq!(text_of(&parse_events(&rest)), "two");
    // No event is lost and none comes twice.
    assert_eq!(so_far + &rest, ada.get(&path).text());
}

#[test]
fn a_run_is_cancelled_by_its_id() {
    let provider = ScriptedProvider::start(Answer::text(["one"]).gate("never").then("two"));
    let studio = TestStudio::with_model(&provider);
    let ada = studio.user("ada");
    ada.create_skill("article-summary", ARTICLE_SUMMARY);
    let mut run = ada.events("/skills/article-summary/run", &article());
    run.until("one");
    let id = run.run_id();
    assert_eq!(ada.delete(&format!("/runs/{id}")).problem().0, 409);
    assert_eq!(ada.post(&format!("/runs/{id}/cancel"), &json!({})).status, 202);
    let events = parse_events(&run.read().text());
    assert_eq!(events[events.len() - 1].1["status"], "error");
    assert_eq!(provider.ending(0), Ending::ClientLeft);
}

#[test]
fn the_eleventh_run_within_a_minute_is_refused() {
    // AFL-7.1-2
    let provider = ScriptedProvider::start(Script::by(|_| Answer::text(["ok"]).into()));
    let studio = TestStudio::with_model(&provider);
    let (ada, grace) = (studio.user("ada"), studio.user("grace"));
    ada.create_skill("article-summary", ARTICLE_SUMMARY);
    let run = || ada.events("/skills/article-summary/run", &article()).read();
    for _ in 0..10 {
        studio.clock.advance(Duration::from_secs(5));
        assert_eq!(run().status, 200);
    }
    let refused = run();
    assert_eq!(refused.problem().0, 429);
    // The first run was 45 seconds ago.
    assert_eq!(refused.header("retry-after"), "15");
    assert_eq!(provider.requests().len(), 10);
    grace.create_skill("mine", ARTICLE_SUMMARY.replace("article-summary", "mine").as_str());
    assert_eq!(grace.events("/skills/mine/run", &article()).read().status, 200);
    studio.clock.advance(Duration::from_secs(14));
    assert_eq!(run().status, 429);
    studio.clock.advance(Duration::from_secs(1));
    assert_eq!(run().status, 200);
}

#[test]
fn who_waits_is_told_the_position() {
    let provider =
        ScriptedProvider::start(Script::by(|_| Answer::text([]).gate("go").then("ok").into()));
    let limits = prowess_studio::StudioLimits { running: 1, ..prowess_studio::StudioLimits::USUAL };
    let studio = TestStudio::with_limits(&provider, limits);
    let (ada, grace) = (studio.user("ada"), studio.user("grace"));
    ada.create_skill("article-summary", ARTICLE_SUMMARY);
    grace.create_skill("mine", ARTICLE_SUMMARY.replace("article-summary", "mine").as_str());
    let first = ada.events("/skills/article-summary/run", &article());
    provider.request(0);
    let mut second = grace.events("/skills/mine/run", &article());
    assert!(second.until("queued").contains("event: queued\ndata: {\"position\":0}\n\n"));
    assert_eq!(provider.requests().len(), 1);
    provider.open("go");
    assert_eq!(text_of(&parse_events(&first.read().text())), "ok");
    assert_eq!(text_of(&parse_events(&second.read().text())), "ok");
}

#[test]
fn records_survive_a_restart() {
    let folder = prowess_testkit::temporary();
    let provider = ScriptedProvider::start(Answer::text(["kept"]));
    let config = crate::support::config(&provider);
    let (token, id, events) = {
        let studio = TestStudio::at(folder.path(), &config, prowess_studio::StudioLimits::USUAL);
        let ada = studio.user("ada");
        ada.create_skill("article-summary", ARTICLE_SUMMARY);
        let token = ada.post("/tokens", &json!({ "name": "t" })).json()["token"].clone();
        let run = ada.events("/skills/article-summary/run", &article());
        let id = run.run_id();
        (token.as_str().expect("a token").to_owned(), id, run.read().text())
    };
    let studio = TestStudio::at(folder.path(), &config, prowess_studio::StudioLimits::USUAL);
    let ada = studio.nobody().with_token(&token);
    assert_eq!(ada.get(&format!("/runs/{id}/events")).text(), events);
}
