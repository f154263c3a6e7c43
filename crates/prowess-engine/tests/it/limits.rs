//! What an experimental skill may use of the machine (GAIA §4.3), all the way from its file to its end.

use std::sync::Arc;
use std::time::Duration;

use prowess_core::{Envelope, RunOutcome};
use prowess_engine::ApprovalReply;
use prowess_policy::{Remember, Tier};
use prowess_proxy::{Resolver, UpstreamRoots};

use crate::network::{Names, echo};
use crate::world::{Scene, Scripted};

fn skill(front_matter: &str, script: &str) -> Scene {
    let scene = Scene::new(front_matter, &[("go", "./go.py")])
        .script("skill/go.py", &format!("#!/usr/bin/python3\n{script}"));
    assert_eq!(scene.attested, Tier::Experimental);
    scene
}

fn ran(scene: &Scene) -> Envelope {
    let mut yes = Scripted::new(ApprovalReply::Yes(Remember::Once));
    scene.run("go", None, &mut yes).expect("it starts").0
}

#[test]
fn computing_is_limited_by_the_policy() {
    // GAIA-4.3-3: two seconds of computing for each second on the clock. The clock stands back here, so that it is the
    // computing that ends it.
    let mut scene = skill("timeout: 1\n", "print('up', flush=True)\nwhile True: pass\n");
    scene.patience = Some((Duration::from_mins(5), Duration::from_secs(1)));
    let envelope = ran(&scene);
    assert_eq!(envelope.output, "up\n", "{envelope:?}");
    assert_eq!((envelope.outcome, envelope.exit_code), (RunOutcome::Failed, 152), "{envelope:?}");
    assert_eq!(envelope.error.as_deref(), Some("Command exceeded its CPU time limit"));
}

#[test]
fn memory_is_limited_by_the_policy() {
    // GAIA-4.3-3: 2 GiB. The children share the work, so that a limit for each process alone would not do.
    let script = "
import os, time
print('up', flush=True)
for _ in range(5):
    if os.fork() == 0:
        held = b'x' * (600 << 20)
        print('held', flush=True)
        time.sleep(1000)
os.wait()
time.sleep(1000)
";
    let mut scene = skill("", script);
    scene.patience = Some((Duration::from_mins(5), Duration::from_secs(1)));
    let envelope = ran(&scene);
    assert_eq!(envelope.outcome, RunOutcome::OutOfMemory, "{envelope:?}");
    assert!(envelope.output.starts_with("up\n"), "{envelope:?}");
    assert!(envelope.output.matches("held").count() < 4, "{envelope:?}");
    assert_eq!(envelope.error.as_deref(), Some("Command exceeded its memory limit"));
}

#[test]
fn traffic_is_limited_by_the_policy() {
    // GAIA-4.3-3. 256 MiB take long, so the number is smaller here; the way to the proxy is the same.
    let server = echo();
    let script = "
import urllib.request
print('up', flush=True)
for _ in range(20):
    urllib.request.urlopen('https://api.brave.test:PORT/', data=b'x' * 10000).read()
print('done')
";
    let port = server.port.to_string();
    let front = format!("permissions: [\"network:write:api.brave.test:{port}\"]\n");
    let mut scene = skill(&front, &script.replace("PORT", &port));
    scene.outside = Some(Arc::new(Names::default()) as Arc<dyn Resolver>);
    // A credential makes the proxy the one who speaks TLS with the server, whose certificate the tool does not know.
    scene.roots = UpstreamRoots::Only(vec![server.root()]);
    scene.credentials = vec!["API_TOKEN=api.brave.test"];
    let mut scene = scene.variable("API_TOKEN", "0123456789abcdef");
    assert!(ran(&scene).output.ends_with("done\n"), "{:?}", ran(&scene));
    scene.traffic = Some(200_000);
    let envelope = ran(&scene);
    assert_eq!(envelope.outcome, RunOutcome::Failed, "{envelope:?}");
    assert!(
        envelope.output.starts_with("up\n") && !envelope.output.contains("done\n"),
        "{envelope:?}"
    );
    let told = "the limit of bytes sent and received was reached";
    assert!(envelope.warnings.iter().any(|warning| warning == told), "{envelope:?}");
}

#[test]
fn without_a_grant_there_is_no_network_to_limit() {
    let script = "
import socket
for address in [('127.0.0.1', PORT), ('192.0.2.1', 443)]:
    try:
        socket.create_connection(address, 5)
        print('connected')
    except OSError as error:
        print('refused')
";
    let port = echo().port.to_string();
    let envelope = ran(&skill("", &script.replace("PORT", &port)));
    assert_eq!(envelope.output, "refused\nrefused\n", "{envelope:?}");
}

/// What is said about a tool before it runs.
fn explained() -> Vec<String> {
    let scene = Scene::new("permissions: [\"shell:execute:true\"]\n", &[("probe", "true")]);
    let (world, skill) = (std::sync::Arc::new(scene.world()), scene.skill());
    let tool = skill.tool("probe").expect("the skill has the tool").clone();
    let trust = prowess_policy::Trust::of(&skill, scene.attested, None, scene.origin);
    let (skill, values) = (scene.loaded(trust), serde_json::Map::new());
    let call = prowess_engine::Call { skill, tool, values, mode: scene.mode };
    let prepared = prowess_engine::prepare(call, &world).expect("it can be prepared");
    let engine = prowess_engine::Engine::new(world);
    match prepared.decide(&engine, prowess_engine::Consent::None).expect("it is decided") {
        prowess_engine::RunDecision::Ask(pending) => {
            pending.request().lines.iter().map(|line| line.text.clone()).collect()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_limit_that_is_only_watched_is_said_to_be() {
    // Attack sandbox-E07.
    let counts = prowess_sandbox::probe().layers.into_iter().any(|layer| {
        layer.name == "control groups" && layer.state == prowess_sandbox::LayerState::Enforced
    });
    let lines = explained();
    assert!(lines.iter().any(|line| line.contains("of memory")), "{lines:?}");
    let is_said = lines.iter().any(|line| line.contains("best effort on this machine"));
    assert_eq!(is_said, !counts, "{lines:?}");
}

#[test]
fn a_limit_that_is_only_watched_is_said_to_be_to_an_ordinary_user() {
    crate::world::repeat_as_nobody("limits::a_limit_that_is_only_watched_is_said_to_be");
}
