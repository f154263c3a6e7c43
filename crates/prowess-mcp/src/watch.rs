//! Changes of skills: noticed, read again, and told to clients.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use rmcp::RoleServer;
use rmcp::service::{Peer, SubscriptionContext};
use tokio::sync::watch::Receiver;

use crate::server::{Changes, SkillServer};

/// How long it has to be quiet before the skills are read again.
const QUIET: Duration = Duration::from_millis(150);
/// The longest wait when it never gets quiet.
const LONGEST: Duration = Duration::from_secs(2);
/// How often folders that were replaced are looked for: a watch belongs to the former folder.
const LOOK: Duration = Duration::from_millis(500);

/// The watched folders, each with which one it was.
type Watched = BTreeMap<PathBuf, FolderIdentity>;

/// Watches while it is kept.
#[derive(Debug)]
pub(crate) struct Watch {
    /// Its end ends the thread.
    _stop: mpsc::Sender<()>,
}

/// Watches the folders of the skills on a thread. Where a folder can't be watched, its changes are seen on the next start.
pub(crate) fn start(server: &SkillServer) -> Watch {
    let (stop, stopped) = mpsc::channel::<()>();
    let server = server.clone();
    std::thread::spawn(move || {
        let (sender, events) = mpsc::channel();
        let handler = move |event: notify::Result<notify::Event>| {
            // What programs only read changes nothing.
            if event.as_ref().is_ok_and(|event| event.kind.is_access()) {
                return;
            }
            let _ = sender.send(());
        };
        let Ok(mut notifier) = notify::recommended_watcher(handler) else { return };
        let mut watched = Watched::new();
        read_while_new(&server, &mut notifier, &mut watched);
        loop {
            match events.recv_timeout(LOOK) {
                Ok(()) => {}
                Err(mpsc::RecvTimeoutError::Timeout) if is_open(&stopped) => {
                    read_while_new(&server, &mut notifier, &mut watched);
                    continue;
                }
                Err(_) => return,
            }
            let first = Instant::now();
            while first.elapsed() < LONGEST && events.recv_timeout(QUIET).is_ok() {}
            // A folder that is gone may come back: what was served stays until it can be read again.
            let _ = server.reload();
            read_while_new(&server, &mut notifier, &mut watched);
        }
    });
    Watch { _stop: stop }
}

fn is_open(stopped: &mpsc::Receiver<()>) -> bool {
    matches!(stopped.try_recv(), Err(mpsc::TryRecvError::Empty))
}

/// Watches the folders that are not watched yet, and reads the skills again: what has changed in a folder between its reading
/// and its watching would be noticed by nobody.
fn read_while_new(server: &SkillServer, notifier: &mut RecommendedWatcher, watched: &mut Watched) {
    while follow(notifier, watched, server.watched()) {
        let _ = server.reload();
    }
}

/// Watches folders, and tells whether one of them was not watched before, or was another folder.
fn follow(notifier: &mut RecommendedWatcher, watched: &mut Watched, now: Vec<PathBuf>) -> bool {
    let mut is_new = false;
    for folder in now {
        let Some(identity) = FolderIdentity::of(&folder) else { continue };
        match watched.get(&folder) {
            Some(known) if *known == identity => continue,
            // The former folder may be somewhere else by now, or gone with its watch.
            Some(_) => drop(notifier.unwatch(&folder)),
            None => {}
        }
        if notifier.watch(&folder, RecursiveMode::Recursive).is_ok() {
            watched.insert(folder, identity);
            is_new = true;
        }
    }
    is_new
}

/// Which folder a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FolderIdentity(u64, u64);

impl FolderIdentity {
    /// `None` if there is no folder.
    #[cfg(unix)]
    fn of(folder: &Path) -> Option<Self> {
        use std::os::unix::fs::MetadataExt as _;
        let metadata = folder.metadata().ok()?;
        Some(Self(metadata.dev(), metadata.ino()))
    }

    /// Without numbers of files, a folder at the same path counts as the same.
    #[cfg(not(unix))]
    fn of(folder: &Path) -> Option<Self> {
        folder.is_dir().then_some(Self(0, 0))
    }
}

/// Tells a client that listens (from 2026-07-28 on), until it stops listening.
pub(crate) async fn tell_subscriber(server: &SkillServer, context: &SubscriptionContext) {
    let mut changes = server.shared.changes.subscribe();
    let mut known = *changes.borrow_and_update();
    loop {
        tokio::select! {
            () = context.cancelled() => return,
            result = changes.changed() => if result.is_err() { return },
        }
        let now = *changes.borrow_and_update();
        let (sink, accepted) = (context.sink(), context.accepted());
        let wants = |flag: Option<bool>, changed: bool| changed && flag == Some(true);
        let mut told = Ok(());
        if wants(accepted.tools_list_changed, now.tools != known.tools) {
            told = told.and(sink.notify_tool_list_changed().await);
        }
        if wants(accepted.prompts_list_changed, now.prompts != known.prompts) {
            told = told.and(sink.notify_prompt_list_changed().await);
        }
        if wants(accepted.resources_list_changed, now.resources != known.resources) {
            told = told.and(sink.notify_resource_list_changed().await);
        }
        if told.is_err() {
            return;
        }
        known = now;
    }
}

/// Tells a client with a session (before 2026-07-28), until its connection ends.
pub(crate) async fn tell_session(
    mut known: Changes,
    mut changes: Receiver<Changes>,
    peer: Peer<RoleServer>,
) {
    while changes.changed().await.is_ok() && !peer.is_transport_closed() {
        let now: Changes = *changes.borrow_and_update();
        let mut told = Ok(());
        if now.tools != known.tools {
            told = told.and(peer.notify_tool_list_changed().await);
        }
        if now.prompts != known.prompts {
            told = told.and(peer.notify_prompt_list_changed().await);
        }
        if now.resources != known.resources {
            told = told.and(peer.notify_resource_list_changed().await);
        }
        if told.is_err() {
            return;
        }
        known = now;
    }
}
