//! What runs on a peer's thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fairpath::vector::Planar;
use tokio::sync::oneshot;

use super::{Mesh, PeerEvent};
use crate::client::{self, Caller, ConnectionState, NetClientConfig};
use crate::identity::Fingerprint;
use crate::server;

/// The whole life of a peer. Whether everything was confirmed at its end.
pub(super) async fn run<V: Planar>(mesh: Arc<Mesh<V>>, stop: oneshot::Receiver<Duration>) -> bool {
    server::serve(&mesh.own, &mesh.endpoint);
    let within = stop.await.unwrap_or_default();
    let calls = async {
        let views: Vec<_> = mesh.others().values().map(|other| Arc::clone(&other.shared)).collect();
        let mut is_all_confirmed = true;
        let began = Instant::now();
        for view in views {
            is_all_confirmed &= client::flush(&view, within.saturating_sub(began.elapsed())).await;
        }
        is_all_confirmed
    };
    let are_calls_confirmed = calls.await;
    // What is called from here hears of the end as well: it is the same socket.
    let is_confirmed = server::finish(&mesh.own, &mesh.endpoint, within).await;
    are_calls_confirmed && is_confirmed
}

/// Another peer, as it is watched over.
pub(super) struct Watched<V: Planar> {
    pub(super) peer: Fingerprint,
    pub(super) shared: Arc<client::Shared<V>>,
    pub(super) has_been_met: Arc<AtomicBool>,
}

/// Keeps the way to one other peer open until it is over, and says what happens to it.
pub(super) async fn keep<V: Planar>(
    mesh: Arc<Mesh<V>>,
    watched: Watched<V>,
    caller: Caller,
    config: NetClientConfig,
    dropped: oneshot::Receiver<()>,
) {
    // Nobody stops this one: it ends with the rest.
    let (_never, stop) = oneshot::channel();
    tokio::select! {
        _ = client::run(Arc::clone(&watched.shared), caller, config, stop) => {}
        () = watch(&mesh, &watched) => mesh.forget(watched.peer),
        _ = dropped => {}
    }
    watched.shared.leave_at_once();
}

/// How often it is looked whether a peer is still there.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How often a relay is asked for while there is no way: an answer may have been lost with a lobby
/// that was started again.
const ASK_EVERY: Duration = Duration::from_secs(5);

/// Says what happens to a peer, until it is gone.
async fn watch<V: Planar>(mesh: &Mesh<V>, watched: &Watched<V>) {
    let Watched { peer, shared, has_been_met } = watched;
    let mut was_there = false;
    let (mut there_at, mut asked_at) = (Instant::now(), None::<Instant>);
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let has_failed = match shared.reach() {
            ConnectionState::Over(_) => return,
            ConnectionState::Connecting { failed } => failed > 0,
            ConnectionState::Connected => false,
        };
        let is_there = shared.is_in_session();
        match (was_there, is_there) {
            (false, true) if has_been_met.swap(true, Ordering::Relaxed) => mesh.tell(PeerEvent::Back(*peer)),
            (false, true) => mesh.tell(PeerEvent::Met(*peer)),
            (true, false) => mesh.tell(PeerEvent::Silent(*peer)),
            _ => {}
        }
        was_there = is_there;
        if is_there {
            there_at = Instant::now();
        } else if there_at.elapsed() > mesh.config.gone_after {
            return;
        }
        if has_failed && asked_at.is_none_or(|at| at.elapsed() > ASK_EVERY) {
            asked_at = Some(Instant::now());
            mesh.ask_for_relay(*peer);
        }
    }
}
