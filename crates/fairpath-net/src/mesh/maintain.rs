//! The tasks on a peer's thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fairpath::vector::Planar;
use tokio::sync::oneshot;

use super::{Mesh, PeerEvent};
use crate::client::{self, ConnectionState, Connector, NetClientConfig};
use crate::identity::Fingerprint;
use crate::lock;
use crate::quinn_server;

/// Runs a peer from start to end. Returns whether every reliable message was confirmed.
pub(super) async fn run<V: Planar>(mesh: Arc<Mesh<V>>, stop: oneshot::Receiver<Duration>) -> bool {
    quinn_server::serve(&mesh.own, &mesh.endpoint);
    let within = stop.await.unwrap_or_default();
    let calls = async {
        let views: Vec<_> = lock(&mesh.others).values().map(|other| Arc::clone(&other.shared)).collect();
        let mut is_all_confirmed = true;
        let began = Instant::now();
        for view in views {
            is_all_confirmed &= client::flush(&view, within.saturating_sub(began.elapsed())).await;
        }
        is_all_confirmed
    };
    let are_calls_confirmed = calls.await;
    // This closes the outgoing connections too: they share the socket.
    let is_confirmed = quinn_server::finish(&mesh.own, &mesh.endpoint, within).await;
    are_calls_confirmed && is_confirmed
}

pub(super) struct WatchedPeer<V: Planar> {
    pub(super) peer: Fingerprint,
    pub(super) shared: Arc<client::SharedClient<V>>,
    pub(super) has_connected: Arc<AtomicBool>,
}

/// Keeps the connection to one peer open until it is given up, and reports its events.
pub(super) async fn maintain<V: Planar>(
    mesh: Arc<Mesh<V>>,
    watched: WatchedPeer<V>,
    connector: Connector,
    config: NetClientConfig,
    dropped: oneshot::Receiver<()>,
) {
    // Never stopped: it ends with this task.
    let (_never, stop) = oneshot::channel();
    tokio::select! {
        _ = client::run(Arc::clone(&watched.shared), connector, config, stop) => {}
        () = watch(&mesh, &watched) => mesh.forget(watched.peer),
        _ = dropped => {}
    }
    watched.shared.leave_at_once();
}

const WATCH_EVERY: Duration = Duration::from_millis(50);
/// Interval of relay requests while disconnected. A restarted lobby may have lost the last one.
const ASK_EVERY: Duration = Duration::from_secs(5);

/// Reports what happens to a peer. Returns when it has left or is given up.
async fn watch<V: Planar>(mesh: &Mesh<V>, watched: &WatchedPeer<V>) {
    let WatchedPeer { peer, shared, has_connected } = watched;
    let mut was_connected = false;
    let (mut seen_at, mut asked_at) = (Instant::now(), None::<Instant>);
    loop {
        tokio::time::sleep(WATCH_EVERY).await;
        let has_failed = match shared.connection_state() {
            ConnectionState::Over(_) => return,
            ConnectionState::Connecting { failed, .. } => failed > 0,
            ConnectionState::Connected => false,
        };
        let is_connected = shared.is_in_session();
        match (was_connected, is_connected) {
            (false, true) if has_connected.swap(true, Ordering::Relaxed) => {
                mesh.report(PeerEvent::Reconnected(*peer));
            }
            (false, true) => mesh.report(PeerEvent::Connected(*peer)),
            (true, false) => mesh.report(PeerEvent::Silent(*peer)),
            _ => {}
        }
        was_connected = is_connected;
        if is_connected {
            seen_at = Instant::now();
        } else if seen_at.elapsed() > mesh.config.give_up_after {
            return;
        }
        if has_failed && asked_at.is_none_or(|at| at.elapsed() > ASK_EVERY) {
            asked_at = Some(Instant::now());
            mesh.ask_for_relay(*peer);
        }
    }
}
