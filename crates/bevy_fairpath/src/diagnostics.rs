//! Numbers about the session, for an overlay or a log.

use std::collections::VecDeque;
use std::fmt;
use std::time::{Duration, Instant};

use bevy_app::{App, Last};
use bevy_ecs::prelude::*;

use crate::connection::RemoteClient;
use crate::plugin::{Fairpath, FairpathSystems};
use fairpath::session::ClientId;

/// Numbers about the session, measured every half second: at a client one link, to the server; at
/// a server one for each client. Its `Display` text is an overlay's.
#[derive(Resource, Clone, Debug, Default)]
pub struct FairpathDiagnostics {
    /// The links.
    pub links: Vec<LinkDiagnostics>,
    /// Replicated entities that this app knows.
    pub entities: usize,
    measured_at: Option<Instant>,
    before: VecDeque<(Option<ClientId>, u64, u64, u64)>,
}

/// Numbers about the link to a peer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkDiagnostics {
    /// At a server the entity of the client.
    pub client: Option<Entity>,
    /// The mean round trip; `None` before the first receipt.
    pub round_trip: Option<Duration>,
    /// The share of the peer's datagrams that were lost since the session began.
    pub loss: f64,
    /// UDP payload bytes a second to the peer.
    pub bytes_out_per_sec: f64,
    /// UDP payload bytes a second from the peer.
    pub bytes_in_per_sec: f64,
    /// Updates of motion a second to the peer.
    pub updates_out_per_sec: f64,
    /// How wrong the peer is about all entities that this app sends it, summed up, in world units:
    /// from the ledger, over the last half minute or so.
    pub error_sum: f64,
    /// Bytes of reliable messages that the peer has not confirmed.
    pub unconfirmed_bytes: u64,
}

/// One line for each link: put it into a text on the screen.
impl fmt::Display for FairpathDiagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} entities", self.entities)?;
        for link in &self.links {
            let millis = link.round_trip.map_or(f64::NAN, |round_trip| round_trip.as_secs_f64() * 1e3);
            write!(
                f,
                "\n{millis:.0} ms, {:.1} % lost, out {:.0} B/s, in {:.0} B/s, {:.0} updates/s, error {:.2}",
                link.loss * 100.0,
                link.bytes_out_per_sec,
                link.bytes_in_per_sec,
                link.updates_out_per_sec,
                link.error_sum,
            )?;
        }
        Ok(())
    }
}

/// How often numbers are measured.
const MEASURE_EVERY: Duration = Duration::from_millis(500);

pub(crate) fn build(app: &mut App) {
    app.init_resource::<FairpathDiagnostics>().add_systems(Last, measure.after(FairpathSystems::Send));
}

fn measure(
    fairpath: Res<Fairpath>,
    mut diagnostics: ResMut<FairpathDiagnostics>,
    clients: Query<(Entity, &RemoteClient)>,
) {
    let Some(end) = &fairpath.end else { return };
    let now = Instant::now();
    let since = diagnostics.measured_at.map(|at| now - at);
    if since.is_some_and(|since| since < MEASURE_EVERY) {
        return;
    }
    let secs = since.map_or(f64::INFINITY, |since| since.as_secs_f64());
    let readings = end.link_statistics();
    let before = std::mem::take(&mut diagnostics.before);
    diagnostics.links = readings
        .iter()
        .map(|reading| {
            let (_, sent, received, vectors) =
                before.iter().find(|before| before.0 == reading.client).copied().unwrap_or_default();
            let per_sec = |count: u64, before: u64| count.saturating_sub(before) as f64 / secs;
            let session = &reading.session;
            LinkDiagnostics {
                client: clients
                    .iter()
                    .find(|(_, client)| Some(client.id) == reading.client)
                    .map(|(entity, _)| entity),
                round_trip: session
                    .round_trip
                    .map(|span| Duration::from_secs_f64(span.as_secs_f64().max(0.0))),
                loss: session.loss_ratio(),
                bytes_out_per_sec: per_sec(reading.udp_bytes_sent, sent),
                bytes_in_per_sec: per_sec(reading.udp_bytes_received, received),
                updates_out_per_sec: per_sec(session.vectors_sent, vectors),
                error_sum: session.error_per_sec,
                unconfirmed_bytes: session.outbox_bytes,
            }
        })
        .collect();
    diagnostics.before = readings
        .iter()
        .map(|it| (it.client, it.udp_bytes_sent, it.udp_bytes_received, it.session.vectors_sent))
        .collect();
    diagnostics.entities = fairpath.objects.len();
    diagnostics.measured_at = Some(now);
}
