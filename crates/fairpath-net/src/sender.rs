//! Sends to one peer: stream messages as fast as the streams take them, and never more than one
//! datagram ahead of the wire.

use std::sync::Arc;
use std::time::{Duration, Instant};

use fairpath::session::{Client, CloseReason, ConnectionId, Server};
use fairpath::time::{LocalInstant, SharedInstant};
use fairpath::vector::Planar;
use tokio::sync::{Notify, mpsc};

use crate::connection::{Connection, SendStream};

pub(crate) trait Outbound {
    fn poll_stream(&mut self) -> Option<Vec<u8>>;
    fn poll_unordered(&mut self) -> Option<Vec<u8>>;
    fn poll_datagram(&mut self, bytes_max: usize) -> Option<Vec<u8>>;
}

pub(crate) struct ClientOutbound<'a, V: Planar> {
    pub(crate) session: &'a mut Client<V>,
    pub(crate) now: LocalInstant,
}

impl<V: Planar> Outbound for ClientOutbound<'_, V> {
    fn poll_stream(&mut self) -> Option<Vec<u8>> {
        self.session.poll_stream(self.now)
    }

    fn poll_unordered(&mut self) -> Option<Vec<u8>> {
        self.session.poll_unordered()
    }

    fn poll_datagram(&mut self, bytes_max: usize) -> Option<Vec<u8>> {
        self.session.poll_datagram(self.now, bytes_max)
    }
}

pub(crate) struct ServerOutbound<'a, V: Planar> {
    pub(crate) session: &'a mut Server<V>,
    pub(crate) id: ConnectionId,
    pub(crate) now: SharedInstant,
}

impl<V: Planar> Outbound for ServerOutbound<'_, V> {
    fn poll_stream(&mut self) -> Option<Vec<u8>> {
        self.session.poll_stream(self.id, self.now)
    }

    fn poll_unordered(&mut self) -> Option<Vec<u8>> {
        self.session.poll_unordered(self.id)
    }

    fn poll_datagram(&mut self, bytes_max: usize) -> Option<Vec<u8>> {
        self.session.poll_datagram(self.id, self.now, bytes_max)
    }
}

/// How long datagrams waited between the session and the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Departures {
    /// Datagrams sent.
    pub count: u64,
    /// Total time they waited.
    pub waited: Duration,
    /// Longest time that one of them waited.
    pub waited_max: Duration,
    /// Datagrams that waited longer than a 60 Hz tick: held back, or the machine was busy.
    pub late: u64,
    /// Datagrams that were held back: still waiting after the connection had its turn.
    pub held_back: u64,
}

impl Departures {
    /// Counts a datagram that waited for this long.
    pub(crate) fn count(&mut self, waited: Duration, is_held_back: bool) {
        self.count += 1;
        self.waited += waited;
        self.waited_max = self.waited_max.max(waited);
        self.late += u64::from(waited > TICK);
        self.held_back += u64::from(is_held_back);
    }
}

#[derive(Debug)]
pub(crate) struct PeerSender {
    connection: Arc<Connection>,
    stream: mpsc::Sender<Vec<u8>>,
    unordered: mpsc::Sender<Vec<u8>>,
    /// When the last datagram was handed over, until it is known to have left.
    handed_at: Option<Instant>,
    is_held_back: bool,
    departures: Departures,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SendProgress {
    /// Something was sent; there may be more.
    pub(crate) has_sent: bool,
    /// A datagram waits to leave; check again soon.
    pub(crate) is_blocked: bool,
}

/// Messages that wait for the streams. The session's outbox holds and bounds the rest.
const WAITING_MAX: usize = 32;
/// One tick of 60 Hz. A datagram that waits longer is older than the next frame.
const TICK: Duration = Duration::from_micros(16_667);

impl PeerSender {
    /// Starts to send. Notifies `wake` whenever there is room again.
    pub(crate) fn open(connection: Arc<Connection>, sending: SendStream, wake: &Arc<Notify>) -> Self {
        let (stream, waiting) = mpsc::channel(WAITING_MAX);
        tokio::spawn(write_stream(sending, waiting, Arc::clone(wake)));
        let (unordered, waiting) = mpsc::channel(WAITING_MAX);
        tokio::spawn(write_unordered(Arc::clone(&connection), waiting, Arc::clone(wake)));
        Self {
            connection,
            stream,
            unordered,
            handed_at: None,
            is_held_back: false,
            departures: Departures::default(),
        }
    }

    /// Sends whatever `outbound` has, as far as it can leave now.
    pub(crate) fn pump(&mut self, outbound: &mut impl Outbound) -> SendProgress {
        let mut progress = SendProgress::default();
        progress.has_sent |= fill(&self.stream, || outbound.poll_stream());
        progress.has_sent |= fill(&self.unordered, || outbound.poll_unordered());
        if !self.has_left() {
            progress.is_blocked = true;
            return progress;
        }
        let Some(bytes_max) = self.connection.datagram_bytes_max() else { return progress };
        if let Some(bytes) = outbound.poll_datagram(bytes_max) {
            if self.connection.send_datagram(bytes) {
                self.departures.count(Duration::ZERO, false);
            } else {
                self.handed_at = Some(Instant::now());
            }
            progress.has_sent = true;
        }
        progress
    }

    /// Whether a datagram was handed over and is not yet known to have left.
    #[cfg(feature = "peer")]
    pub(crate) fn is_sending(&self) -> bool {
        self.handed_at.is_some()
    }

    /// Whether the last datagram has left. Counts it if so.
    pub(crate) fn has_left(&mut self) -> bool {
        if self.handed_at.is_none() {
            return true;
        }
        let is_clear = self.connection.is_clear();
        if is_clear {
            self.count_departure();
        } else {
            self.is_held_back = true;
        }
        is_clear
    }

    pub(crate) fn departures(&self) -> Departures {
        self.departures
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    pub(crate) fn close(&self, reason: CloseReason) {
        self.connection.close(reason);
    }

    fn count_departure(&mut self) {
        let Some(handed_at) = self.handed_at.take() else { return };
        let is_held_back = std::mem::take(&mut self.is_held_back);
        self.departures.count(handed_at.elapsed(), is_held_back);
    }
}

/// Moves messages to a queue while there is room. Returns whether a message moved.
fn fill(queue: &mpsc::Sender<Vec<u8>>, mut poll: impl FnMut() -> Option<Vec<u8>>) -> bool {
    let mut has_sent = false;
    while let Ok(place) = queue.try_reserve()
        && let Some(bytes) = poll()
    {
        place.send(bytes);
        has_sent = true;
    }
    has_sent
}

async fn write_stream(mut stream: SendStream, mut waiting: mpsc::Receiver<Vec<u8>>, wake: Arc<Notify>) {
    while let Some(bytes) = waiting.recv().await {
        if stream.write(&bytes).await.is_err() {
            return;
        }
        wake.notify_one();
    }
}

async fn write_unordered(
    connection: Arc<Connection>,
    mut waiting: mpsc::Receiver<Vec<u8>>,
    wake: Arc<Notify>,
) {
    while let Some(bytes) = waiting.recv().await {
        if connection.send_unordered(&bytes).await.is_err() {
            return;
        }
        wake.notify_one();
    }
}
